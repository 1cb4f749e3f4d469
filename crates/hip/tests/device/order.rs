//! What streams do to memory when others fail, and what drops wait for. On virtual GPUs, because there
//! streams fail separately.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use hip::{
    AddressRange, Allocator, Device, DeviceBuffer, Error, Graph, HostBuffer, HostOptions, ManagedBuffer,
    MappedBuffer, Module, PhysicalMemory, RegisteredBuffer, Stream,
};

use crate::common;

/// A device whose allocator no other test changes.
fn device(units: u32) -> Device {
    common::check_leaks();
    let uri = format!("vgpu:gfx1100?cus={units}");
    Device::open(&uri).unwrap_or_else(|error| panic!("{error}"))
}

/// Blocks a stream until something is sent through the result, or it is dropped. The receiver gets whether
/// something was sent.
fn hold(stream: &Stream) -> (Sender<()>, Receiver<bool>) {
    let (go, wait) = channel();
    let (told, result) = channel();
    stream
        .host_function(move || {
            let _ = told.send(wait.recv_timeout(Duration::from_secs(20)).is_ok());
        })
        .unwrap();
    (go, result)
}

/// A stream that fails before the waits that `enqueue` adds.
fn failed(device: &Device, module: &Module, enqueue: impl FnOnce(&Stream)) -> Stream {
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let (go, _) = hold(&stream);
    let write_at = module.function("write_at").unwrap();
    let launch = write_at.launch(&stream).grid(1).block(64).arg(&mut data).arg(1_i64 << 30);
    // SAFETY: the access out of bounds is an error that harms nothing.
    unsafe { launch.enqueue().unwrap() };
    enqueue(&stream);
    go.send(()).unwrap();
    let result = stream.synchronize();
    assert!(matches!(result, Err(Error::Fault(_))), "{result:?}");
    stream
}

#[test]
fn the_host_does_not_get_what_a_stream_writes_whose_successor_has_failed() {
    let device = device(3);
    let module = common::module(&device);
    let (first, third) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = ManagedBuffer::<f32>::zeroed(&device, 4096).unwrap();
    let (go, _held) = hold(&first);
    buffer.as_mut_slice().fill(&first, 1.0).unwrap();
    // A kernel, because the host's work for a failed stream waits for everything before it.
    let second = failed(&device, &module, |stream| {
        let write_at = module.function("write_at").unwrap();
        let launch = write_at.launch(stream).grid(1).block(64).arg(buffer.as_mut_slice()).arg(0_i64);
        // SAFETY: the kernel writes elements of the buffer.
        unsafe { launch.enqueue().unwrap() };
    });
    // The second stream's data is missing, and the error comes without waiting for the first.
    assert!(matches!(buffer.host_mut().map(drop), Err(Error::Fault(_))));
    assert!(!first.is_done().unwrap());
    // It comes after both, however far the second one got.
    buffer.as_mut_slice().fill(&third, 3.0).unwrap();
    let writes = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let host = scope.spawn(|| {
            let elements = buffer.host_mut().unwrap();
            writes.store(true, Ordering::SeqCst);
            assert!(elements.iter().all(|element| *element == 3.0));
            elements.fill(4.0);
        });
        std::thread::sleep(Duration::from_millis(200));
        assert!(!writes.load(Ordering::SeqCst) && !third.is_done().unwrap());
        go.send(()).unwrap();
        host.join().unwrap();
    });
    first.synchronize().unwrap();
    assert!(buffer.host().unwrap().iter().all(|element| *element == 4.0));
    drop(second);
}

#[test]
fn memory_that_a_stream_writes_whose_successor_has_failed_is_nobody_elses() {
    let device = device(4);
    let module = common::module(&device);
    // The cache keeps a segment for each buffer of that size.
    const LEN: usize = 5 << 20;
    for allocator in [Allocator::Caching, Allocator::StreamOrdered] {
        device.set_allocator(allocator).unwrap();
        let (first, third) = (device.stream().unwrap(), device.stream().unwrap());
        let (go, _held) = hold(&first);
        let mut buffer = DeviceBuffer::<u32>::uninit_on(&first, LEN).unwrap();
        buffer.fill(&first, 1).unwrap();
        let address = buffer.address();
        let late = failed(&device, &module, |stream| {
            buffer.fill(stream, 2).unwrap();
            drop(buffer);
        });
        let mut next = DeviceBuffer::<u32>::uninit_on(&third, LEN).unwrap();
        next.fill(&third, 3).unwrap();
        assert!(next.address() == address || allocator == Allocator::StreamOrdered);
        std::thread::sleep(Duration::from_millis(50));
        go.send(()).unwrap();
        first.synchronize().unwrap();
        assert!(next.to_vec(&third).unwrap().iter().all(|element| *element == 3), "{allocator}");
        drop((late, next));
    }
    device.set_allocator(Allocator::Direct).unwrap();
    device.trim_memory(0).unwrap();
    assert_eq!(hip::drop_failures(), 0);
}

/// Drops something while a host function on another stream waits for the drop.
fn is_dropped_at_once(device: &Device, what: &str, make: impl FnOnce(&Stream) -> Box<dyn std::any::Any>) {
    let (held, used) = (device.stream().unwrap(), device.stream().unwrap());
    let (go, told) = hold(&held);
    drop(make(&used));
    let _ = go.send(());
    assert!(told.recv().unwrap(), "dropping a {what} waits for streams that do not use it");
}

#[test]
fn dropping_something_waits_only_for_the_streams_that_use_it() {
    let device = device(5);
    let module = common::module(&device);
    let code = common::compile("gfx1100");
    is_dropped_at_once(&device, "device buffer", |stream| {
        Box::new(DeviceBuffer::from_slice(stream, &[1_u32; 100]).unwrap())
    });
    is_dropped_at_once(&device, "pinned buffer", |stream| {
        let buffer = DeviceBuffer::from_slice(stream, &[1_u32; 100]).unwrap();
        let host = HostBuffer::zeroed(stream.device(), 100).unwrap();
        Box::new(buffer.download(stream, host).unwrap().wait().unwrap())
    });
    is_dropped_at_once(&device, "managed buffer", |stream| {
        let mut buffer = ManagedBuffer::<u32>::zeroed(stream.device(), 100).unwrap();
        buffer.as_mut_slice().fill(stream, 1).unwrap();
        Box::new(buffer)
    });
    is_dropped_at_once(&device, "mapped buffer", |stream| {
        let mut buffer = MappedBuffer::<u32>::zeroed(stream.device(), 100, HostOptions::default()).unwrap();
        buffer.as_mut_slice().fill(stream, 1).unwrap();
        Box::new(buffer)
    });
    is_dropped_at_once(&device, "registered buffer", |stream| {
        let mut buffer = RegisteredBuffer::new(stream.device(), vec![0_u32; 100]).unwrap();
        buffer.as_mut_slice().fill(stream, 1).unwrap();
        Box::new(buffer)
    });
    is_dropped_at_once(&device, "module", |stream| {
        let module = Module::load(stream.device(), &code).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(stream, 64).unwrap();
        let function = module.function("add_one").unwrap();
        let launch = function.launch(stream).grid(1).block(64).arg(64_u32).arg(&mut data);
        // SAFETY: the kernel changes the 64 elements of the buffer.
        unsafe { launch.enqueue().unwrap() };
        Box::new((module, function))
    });
    is_dropped_at_once(&device, "mapping", |stream| {
        let range = AddressRange::reserve(stream.device(), 1).unwrap();
        let memory = PhysicalMemory::new(stream.device(), 1).unwrap();
        let mut buffer = range.map::<u32>(0, &[memory]).unwrap();
        buffer.fill(stream, 1).unwrap();
        Box::new(buffer)
    });
    is_dropped_at_once(&device, "graph", |stream| {
        let mut graph = Graph::new(stream.device()).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(stream, 64).unwrap();
        let (allocated, mut memory) = graph.add_allocation::<u32>(64, &[]).unwrap();
        let filled = graph.add_fill(memory.as_mut_slice(), 7, &[allocated]).unwrap();
        let copied = graph.add_copy(&mut data, memory.as_slice(), &[filled]).unwrap();
        graph.add_free(memory, &[copied]).unwrap();
        let exec = graph.instantiate().unwrap();
        exec.launch(stream).unwrap();
        Box::new((exec, graph, data))
    });
    drop(module);
    assert_eq!(hip::drop_failures(), 0);
}
