//! Tests of `hip` on NVIDIA's hardware. Each skips itself on a machine without it.

mod alone;
#[cfg(feature = "rtc")]
mod caches;
mod faults;

use std::ffi::c_void;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hip::code_object::bundle;
use hip::code_object::embedded::{self, CudaImage, CudaKind};
use hip::{
    AddressRange, Backend, Device, DeviceBuffer, Error, Event, Graph, HostBuffer, HostOptions, HostSignal,
    LaunchError, ManagedBuffer, MappedBuffer, MemoryPool, Module, PhysicalMemory, RectLayout, Region,
    SharedHostBuffer,
};
use test_skip::{Lack, skip};

const PTX: &str = include_str!("kernels.ptx");

/// The first NVIDIA GPU, or none, with the reason printed.
fn device() -> Option<Device> {
    match Device::open("cuda") {
        Ok(device) => Some(device),
        Err(error) => {
            skip(Lack::Machine, format_args!("no NVIDIA GPU: {error}"));
            None
        }
    }
}

fn module(device: &Device) -> Module {
    Module::load(device, PTX.as_bytes()).unwrap()
}

#[test]
fn a_device_is_found_by_every_uri_and_tells_what_it_is() {
    let Some(device) = device() else { return };
    let properties = device.properties();
    println!("{device}: {properties:#?}");
    assert_eq!(device.backend(), Backend::Cuda);
    assert_eq!(properties.wave_size, 32);
    assert!(device.target().processor.starts_with("sm_"), "{}", device.target());
    assert!(
        properties.memory > 1 << 30 && properties.compute_units > 0 && properties.lds_per_block > 48 << 10
    );
    let uuid = properties.uuid.clone().unwrap();
    assert_eq!(Device::open(format!("cuda://{uuid}")).unwrap(), device);
    assert_eq!(Device::open("cuda:0").unwrap(), device);
    let text = Device::open("cuda:77").unwrap_err().to_string();
    assert!(text.contains("cuda:77") && text.contains(&uuid), "{text}");
    let auto = Device::open("auto").unwrap();
    assert!(auto.backend() != Backend::Virtual);
    println!("auto: {auto}, skipped: {:?}", auto.skipped());
    let memory = device.memory_info().unwrap();
    assert!(memory.free > 0 && memory.total >= memory.free);
    println!("limits: stack {:?}", device.limit(hip::Limit::Stack));
}

#[test]
fn the_driver_has_every_function_that_is_called() {
    let Some(_) = device() else { return };
    let cuda = cuda_sys::Table::load().unwrap();
    let missing: Vec<_> = cuda_sys::Table::symbols().filter(|name| !cuda.has(name)).collect();
    println!("CUDA {:?} at {:?} lacks {missing:?}", cuda.version(), cuda.path());
    for name in
        ["cuLaunchKernel", "cuFuncGetParamInfo", "cuGraphAddKernelNode_v2", "cuMemAlloc_v2", "cuMemAdvise"]
    {
        assert!(cuda.has(name), "{name}");
    }
}

#[test]
fn what_is_copied_and_filled_comes_back() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let numbers: Vec<u32> = (0..100_000).collect();
    let mut buffer = DeviceBuffer::from_slice(&stream, &numbers).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), numbers);
    let copy = buffer.try_clone(&stream).unwrap();
    for value in [7_u32, 0x0101_0101, 0x1234_1234, 0] {
        buffer.fill(&stream, value).unwrap();
        assert!(buffer.to_vec(&stream).unwrap().iter().all(|found| *found == value));
    }
    let mut wide = DeviceBuffer::<[u32; 3]>::zeroed(&stream, 1000).unwrap();
    wide.fill(&stream, [1, 2, 3]).unwrap();
    assert_eq!(wide.to_vec(&stream).unwrap(), vec![[1, 2, 3]; 1000]);
    let mut bytes = DeviceBuffer::<u8>::zeroed(&stream, 1001).unwrap();
    bytes.slice_mut(1..1000).unwrap().fill(&stream, 9).unwrap();
    let found = bytes.to_vec(&stream).unwrap();
    assert!(found[0] == 0 && found[1000] == 0 && found[1..1000].iter().all(|byte| *byte == 9));
    assert_eq!(copy.to_vec(&stream).unwrap(), numbers);

    // Pinned memory travels with the copy.
    let host = HostBuffer::from_slice(&device, &numbers).unwrap();
    let host = buffer.upload(&stream, host).unwrap().wait().unwrap();
    let host = buffer.download(&stream, host).unwrap().wait().unwrap();
    assert_eq!(&host[..], &numbers[..]);

    // Rectangles and boxes.
    let mut table = DeviceBuffer::<u32>::zeroed(&stream, 12).unwrap();
    let mut rect = table.as_mut_rect(RectLayout::dense([4, 3, 1])).unwrap();
    rect.part_mut(Region::rectangle([1, 1], [2, 2])).unwrap().fill(&stream, 5).unwrap();
    rect.part_mut(Region::rectangle([3, 0], [1, 3])).unwrap().copy_from_host(&stream, &[7, 8, 9]).unwrap();
    assert_eq!(table.to_vec(&stream).unwrap(), [0, 0, 0, 7, 0, 5, 5, 8, 0, 5, 5, 9]);
    let mut pitched = hip::PitchedBuffer::<u32>::zeroed(&stream, [5, 4, 3]).unwrap();
    let whole = pitched.region();
    let all: Vec<u32> = (0..60).collect();
    pitched.copy_from_host(&stream, whole, &all).unwrap();
    assert_eq!(pitched.to_vec(&stream, whole).unwrap(), all);
    pitched.fill(&stream, whole, 3).unwrap();
    assert_eq!(pitched.to_vec(&stream, whole).unwrap(), vec![3; 60]);

    // Nothing is no error.
    let mut empty = DeviceBuffer::<u32>::zeroed(&stream, 0).unwrap();
    empty.fill(&stream, 1).unwrap();
    assert!(empty.to_vec(&stream).unwrap().is_empty());
}

#[cfg(feature = "rtc")]
#[test]
fn kernels_are_compiled_at_run_time() {
    let Some(device) = device() else { return };
    let program = hip::rtc::Program::new(
        "template <typename T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }",
    )
    .expression("fill<float>");
    let compiler = match hip::rtc::Compiler::open_for(&device) {
        Ok(compiler) => compiler,
        Err(error) => return skip(Lack::Machine, format_args!("no NVRTC: {error}")),
    };
    let compiled = compiler.compile(&program, device.target()).unwrap();
    let module = compiled.load(&device).unwrap();
    let fill = module.function(compiled.lowered_name("fill<float>").unwrap()).unwrap();
    let stream = device.stream().unwrap();
    let mut x = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    // SAFETY: `fill` writes x[0..64].
    unsafe { fill.launch(&stream).elements(64, 64).arg(&mut x).arg(3.0_f32).enqueue().unwrap() };
    assert_eq!(x.to_vec(&stream).unwrap(), vec![3.0; 64]);
    let text = device.compile("__global__ void k() { unknown(); }").unwrap_err().to_string();
    assert!(text.contains("unknown"), "{text}");
}

#[test]
fn launches_are_checked_against_what_the_driver_tells() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let module = module(&device);
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["large_lds", "mixed", "nothing", "saxpy", "write_to"]);
    assert!(module.code_object().is_none());
    let saxpy = module.function("saxpy").unwrap();
    println!("{saxpy}: {:?}", saxpy.attributes());
    let found: Vec<_> = saxpy.parameters().iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(found, [(0, 4), (4, 4), (8, 8), (16, 8)]);
    let n = 1000_u32;
    let x = DeviceBuffer::from_slice(&stream, &vec![2.0_f32; n as usize]).unwrap();
    let mut y = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n as usize]).unwrap();
    let launch = saxpy.launch(&stream).elements(n as usize, 128).arg(n).arg(3.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue().unwrap() };
    assert_eq!(y.to_vec(&stream).unwrap(), vec![7.0; n as usize]);

    let few = saxpy.launch(&stream).elements(4, 64).arg(n).arg(3.0_f32).arg(&x).prepare().unwrap_err();
    println!("too few: {few}");
    assert!(matches!(&few, Error::Launch(error) if matches!(**error, LaunchError::ArgumentCount { .. })));
    let many = saxpy.launch(&stream).elements(4, 64).arg(n).arg(3.0_f32).arg(&x).arg(&y).arg(1_u32).prepare();
    assert!(
        matches!(many.unwrap_err(), Error::Launch(error) if matches!(*error, LaunchError::ArgumentCount { .. }))
    );
    let size = saxpy.launch(&stream).elements(4, 64).arg(4_u64).prepare().unwrap_err();
    println!("wrong size: {size}");
    let pointer = saxpy.launch(&stream).elements(4, 64).arg(n).arg(&x).prepare().unwrap_err();
    println!("a pointer for a float: {pointer}");
    let block =
        saxpy.launch(&stream).grid(1).block(2048).arg(n).arg(3.0_f32).arg(&x).arg(&y).prepare().unwrap_err();
    println!("a large block: {block}");
    let missing = module.function("saxpi").unwrap_err();
    println!("{missing}");
    assert!(missing.to_string().contains("saxpy"));

    // A byte, a structure and a variable of the module.
    let mixed = module.function("mixed").unwrap();
    let found: Vec<_> = mixed.parameters().iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(found, [(0, 1), (8, 16), (24, 8)]);
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    module.global_mut::<u32>("factor").unwrap().as_mut_slice().copy_from_host(&stream, &[10]).unwrap();
    let launch = mixed.launch(&stream).grid(1).block(1).arg(2_u8).arg([0_u64, 40]).arg(&mut out);
    // SAFETY: `mixed` writes out[0].
    unsafe { launch.enqueue().unwrap() };
    assert_eq!(out.to_vec(&stream).unwrap(), [420]);
}

#[test]
fn a_block_has_all_the_lds_of_the_device() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let kernel = module(&device).function("large_lds").unwrap();
    for bytes in [4096, 100 << 10, device.properties().lds_per_block] {
        let mut out = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
        let launch = kernel.launch(&stream).grid(1).block(64).dynamic_lds(bytes).arg(bytes).arg(&mut out);
        // SAFETY: `large_lds` writes out[0..64] and the last 64 words of its LDS.
        unsafe { launch.enqueue().unwrap() };
        let expected: Vec<u32> = (0..64).map(|at| at ^ 1).collect();
        assert_eq!(out.to_vec(&stream).unwrap(), expected, "{bytes} bytes");
        println!(
            "{bytes} bytes of LDS: {} blocks a multiprocessor",
            kernel.max_active_blocks(64, bytes).unwrap()
        );
    }
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let bytes = device.properties().lds_per_block + 1;
    let error =
        kernel.launch(&stream).grid(1).block(64).dynamic_lds(bytes).arg(bytes).arg(&mut out).prepare();
    println!("{}", error.unwrap_err());
    // In a graph, too.
    let mut graph = Graph::new(&device).unwrap();
    let bytes = 90_u32 << 10;
    let launch = kernel.launch(&stream).grid(1).block(64).dynamic_lds(bytes).arg(bytes).arg(&mut out);
    // SAFETY: as above.
    unsafe { graph.add_kernel(launch, &[]).unwrap() };
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(out.to_vec(&stream).unwrap()[0], 1);
}

#[test]
fn cooperative_launches_and_occupancy() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let saxpy = module(&device).function("saxpy").unwrap();
    let suggested = saxpy.suggest_block(0, None).unwrap();
    println!("{suggested:?}");
    assert!(suggested.block >= 32 && suggested.grid > 0);
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32; 256]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 256).unwrap();
    let launch =
        saxpy.launch(&stream).grid(2).block(128).cooperative().arg(256_u32).arg(1.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue().unwrap() };
    assert_eq!(y.to_vec(&stream).unwrap(), [1.0; 256]);
    let large = saxpy
        .launch(&stream)
        .grid(1 << 20)
        .block(128)
        .cooperative()
        .arg(256_u32)
        .arg(1.0_f32)
        .arg(&x)
        .arg(&mut y);
    println!("{}", large.prepare().unwrap_err());
}

#[test]
fn streams_events_signals_and_functions_of_the_host() {
    let Some(device) = device() else { return };
    let range = device.stream_priorities().unwrap();
    println!("{range:?}");
    let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, 32 << 20).unwrap();
    let (start, end) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
    start.record(&first).unwrap();
    buffer.fill(&first, 5).unwrap();
    end.record(&first).unwrap();
    second.wait_event(&end).unwrap();
    let copy = buffer.try_clone(&second).unwrap();
    let time = end.elapsed_since(&start).unwrap();
    println!("a fill of 128 MiB: {time:?}");
    assert!(time > Duration::ZERO && end.is_done().unwrap());
    assert!(copy.to_vec(&second).unwrap().iter().all(|value| *value == 5));

    let called = Arc::new(AtomicU32::new(0));
    for _ in 0..10 {
        let called = called.clone();
        first.host_function(move || _ = called.fetch_add(1, Ordering::SeqCst)).unwrap();
    }
    first.synchronize().unwrap();
    assert_eq!(called.load(Ordering::SeqCst), 10);

    let signal = HostSignal::new(&device).unwrap();
    first.wait_signal(&signal, 3).unwrap();
    buffer.fill(&first, 6).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!first.is_done().unwrap());
    signal.raise(3);
    first.synchronize().unwrap();

    // Threads that have never named a device.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = device.stream().unwrap();
                let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3]).unwrap();
                assert_eq!(buffer.to_vec(&stream).unwrap(), [1, 2, 3]);
            });
        }
    });
    device.synchronize().unwrap();
}

#[test]
fn graphs_are_captured_made_changed_and_launched() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let saxpy = module(&device).function("saxpy").unwrap();
    let n = 1000;
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; n]).unwrap();
    let mut y = DeviceBuffer::<f32>::uninit(&device, n).unwrap();
    let called = Arc::new(AtomicU32::new(0));
    let graph = device
        .capture(|stream| {
            y.fill(stream, 0.0)?;
            for _ in 0..50 {
                let launch =
                    saxpy.launch(stream).elements(n, 256).arg(n as u32).arg(0.5_f32).arg(&x).arg(&mut y);
                // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
                unsafe { launch.enqueue()? };
            }
            let called = called.clone();
            stream.capture_host_function(move || _ = called.fetch_add(1, Ordering::SeqCst))
        })
        .unwrap();
    println!("{} nodes captured", graph.len());
    let exec = graph.instantiate().unwrap();
    exec.upload(&stream).unwrap();
    for _ in 0..3 {
        exec.launch(&stream).unwrap();
    }
    assert_eq!(y.to_vec(&stream).unwrap(), vec![25.0; n]);
    assert_eq!(called.load(Ordering::SeqCst), 3);

    // The same by nodes.
    let shared = SharedHostBuffer::new(HostBuffer::<f32>::zeroed(&device, n).unwrap());
    let mut z = DeviceBuffer::<f32>::uninit(&device, n).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&mut y, 2.0, &[]).unwrap();
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(3.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    let kernel = unsafe { graph.add_kernel(launch, &[fill]).unwrap() };
    graph.add_copy(&mut z, &y, &[kernel]).unwrap();
    graph.add_download(&shared, &z, &[]).unwrap();
    let count = called.clone();
    graph.add_host_function(move || _ = count.fetch_add(1, Ordering::SeqCst), &[kernel]).unwrap();
    let last = Event::new(&device).unwrap();
    graph.add_event_record(&last, &[kernel]).unwrap();
    graph.add_empty(&[kernel]).unwrap();
    println!("priority {:?}", graph.kernel_priority(kernel));
    let mut exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    shared.lock(|host| assert!(host.iter().all(|value| *value == 5.0))).unwrap();
    assert_eq!(called.load(Ordering::SeqCst), 4);
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(8.0_f32).arg(&x).arg(&mut y);
    // SAFETY: as above.
    unsafe { exec.set_kernel(kernel, launch).unwrap() };
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    shared.lock(|host| assert!(host.iter().all(|value| *value == 10.0))).unwrap();
    exec.set_enabled(kernel, false).unwrap();
    assert!(!exec.is_enabled(kernel).unwrap());
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    shared.lock(|host| assert!(host.iter().all(|value| *value == 2.0))).unwrap();
    let clone = graph.try_clone().unwrap();
    clone.instantiate().unwrap().launch(&stream).unwrap();
    stream.synchronize().unwrap();
    shared.lock(|host| assert!(host.iter().all(|value| *value == 5.0))).unwrap();
    exec.update(&clone).unwrap();
    let mut parent = Graph::new(&device).unwrap();
    parent.add_child(&clone, &[]).unwrap();
    parent.instantiate().unwrap().launch(&stream).unwrap();
    stream.synchronize().unwrap();

    // Memory that a graph allocates.
    let mut graph = Graph::new(&device).unwrap();
    let (allocated, mut inner) = graph.add_allocation::<f32>(n, &[]).unwrap();
    let filled = graph.add_fill(inner.as_mut_slice(), 4.0, &[allocated]).unwrap();
    let copied = graph.add_copy(&mut z, inner.as_slice(), &[filled]).unwrap();
    graph.add_free(inner, &[copied]).unwrap();
    let exec = graph.instantiate().unwrap();
    for _ in 0..2 {
        exec.launch(&stream).unwrap();
    }
    assert_eq!(z.to_vec(&stream).unwrap(), vec![4.0; n]);
    println!("memory of graphs: {:?}", device.graph_memory().unwrap());
    device.trim_graph_memory().unwrap();
}

#[test]
fn every_kind_of_memory() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let saxpy = module(&device).function("saxpy").unwrap();
    let n = 1000;
    let mut x = MappedBuffer::<f32>::zeroed(&device, n, HostOptions::default()).unwrap();
    x.host_mut().unwrap().fill(2.0);
    let mut y = ManagedBuffer::from_slice(&device, &vec![1.0_f32; n]).unwrap();
    y.prefetch(&stream, hip::Location::Device(&device)).unwrap();
    let launch = saxpy.launch(&stream).elements(n, 256).arg(n as u32).arg(3.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue().unwrap() };
    assert!(y.host().unwrap().iter().all(|value| *value == 7.0));
    y.prefetch(&stream, hip::Location::Host).unwrap();

    let pool = MemoryPool::new(&device).unwrap();
    pool.set_release_threshold(1 << 20).unwrap();
    assert_eq!(pool.release_threshold().unwrap(), 1 << 20);
    let mut buffer = pool.allocate::<u32>(&stream, 1 << 16).unwrap();
    buffer.fill(&stream, 3).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap()[65535], 3);
    println!("pool: {:?}, {:?}", pool.stats().unwrap(), pool.reuse().unwrap());
    drop(buffer);
    stream.synchronize().unwrap();
    pool.trim(0).unwrap();
    println!("default pool: {:?}", MemoryPool::default_of(&device).unwrap().stats().unwrap());

    let granularity = device.granularity().unwrap();
    println!("{granularity:?}");
    let range = AddressRange::reserve(&device, 3 * granularity.recommended).unwrap();
    let memory = PhysicalMemory::exportable(&device, granularity.recommended).unwrap();
    let descriptor = memory.export().unwrap();
    // SAFETY: the descriptor was exported just now.
    println!("{}", unsafe { PhysicalMemory::import(&device, &descriptor) }.unwrap_err());
    // SAFETY: as above, of memory of this size.
    let imported = unsafe { PhysicalMemory::import_of_size(&device, &descriptor, memory.size()).unwrap() };
    let mut mapped = range.map::<u32>(0, std::slice::from_ref(&memory)).unwrap();
    let again = range.map::<u32>(granularity.recommended, std::slice::from_ref(&imported)).unwrap();
    mapped.fill(&stream, 77).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(again.to_vec(&stream).unwrap()[5], 77);
    assert_eq!(range.access(0, &device).unwrap(), hip::Access::ReadWrite);

    let direct = DeviceBuffer::<u32>::uninit_direct(&device, 1 << 20).unwrap();
    println!("ipc: {:?}", direct.ipc_handle().map(|handle| handle.to_bytes().len()));
    let event = Event::with(&device, hip::EventOptions::new().timing(false).interprocess(true)).unwrap();
    println!("ipc event: {:?}", event.ipc_handle().map(|handle| handle.to_bytes().len()));

    let total = device.memory_info().unwrap().total;
    let error = DeviceBuffer::<u8>::uninit(&device, 2 * total).unwrap_err();
    println!("{error}");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32]).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), [1], "the device works on");
}

/// The numbers of a handle, for an environment variable.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names the handles of memory and of an event to the process that opens them.
const HANDLES: &str = "FERROCM_TEST_HANDLES";

#[test]
fn another_process_opens_memory_and_an_event() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let mut shared = DeviceBuffer::<u32>::uninit_direct(&device, 1 << 20).unwrap();
    shared.fill(&stream, 41).unwrap();
    let event = Event::with(&device, hip::EventOptions::new().timing(false).interprocess(true)).unwrap();
    event.record(&stream).unwrap();
    stream.synchronize().unwrap();
    let memory = hex(&shared.ipc_handle().unwrap().to_bytes());
    let handles = format!("{memory} {}", hex(&event.ipc_handle().unwrap().to_bytes()));
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "the_other_process", "--nocapture"])
        .env(HANDLES, handles)
        .output()
        .unwrap();
    println!("{}{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success());
    assert!(shared.to_vec(&stream).unwrap().iter().all(|value| *value == 42));
}

#[test]
#[ignore = "the process of another test, which hands it memory"]
fn the_other_process() {
    let Ok(handles) = std::env::var(HANDLES) else { return };
    let device = device().unwrap();
    let stream = device.stream().unwrap();
    let bytes: Vec<Vec<u8>> = handles
        .split(' ')
        .map(|hex| {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        })
        .collect();
    // SAFETY: the other process waits for this one, and the event's is recorded.
    unsafe {
        let event = hip::IpcEvent::from_bytes(&bytes[1]).unwrap().open(&device).unwrap();
        stream.wait_event(&event).unwrap();
        let mut memory = hip::IpcMemory::from_bytes(&bytes[0]).unwrap().open::<u32>(&device).unwrap();
        assert!(memory.to_vec(&stream).unwrap().iter().all(|value| *value == 41));
        memory.fill(&stream, 42).unwrap();
        stream.synchronize().unwrap();
    }
}

#[test]
fn two_devices_use_each_others_memory() {
    let Some(_) = device() else { return };
    let devices = Device::open_all(&"cuda".parse().unwrap()).unwrap();
    let [first, second, ..] = &devices[..] else {
        skip(Lack::Device, "one GPU");
        return;
    };
    println!("{}", hip::PeerMatrix::of(&devices).unwrap());
    let (a, b) = (first.stream().unwrap(), second.stream().unwrap());
    let numbers: Vec<u32> = (0..1 << 20).collect();
    let x = DeviceBuffer::from_slice(&a, &numbers).unwrap();
    let mut y = DeviceBuffer::<u32>::uninit(second, numbers.len()).unwrap();
    y.copy_from(&b, &x).unwrap();
    assert_eq!(y.to_vec(&b).unwrap(), numbers);
    if !first.can_access_peer(second).unwrap() {
        skip(Lack::Device, "GPUs that do not reach each other");
        return;
    }
    let logical = Device::logical(&devices[..2]).unwrap();
    let saxpy = module(second).function("saxpy").unwrap();
    let n = 1000;
    let x = DeviceBuffer::from_slice(&a, &vec![2.0_f32; n]).unwrap();
    let mut y = DeviceBuffer::from_slice(&a, &vec![1.0_f32; n]).unwrap();
    let launch = saxpy.launch(&b).elements(n, 256).arg(n as u32).arg(3.0_f32).arg(&x).arg(&mut y);
    // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
    unsafe { launch.enqueue().unwrap() };
    assert_eq!(y.to_vec(&a).unwrap(), vec![7.0; n]);
    logical.synchronize().unwrap();
}

/// A program that NVIDIA's toolkit has.
fn toolkit(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/local/cuda/bin".into()]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[test]
fn cubins_fatbins_and_embedded_modules_are_loaded() {
    let Some(device) = device() else { return };
    let arch: &'static str = device.target().processor.clone().leak();
    let with = |cuda: &'static [CudaImage]| embedded::Module {
        id: 0,
        name: "kernels",
        source: "kernels.ptx",
        kernels: &["nothing"],
        code_objects: &[],
        cuda,
    };
    let image = |arch, kind, bytes| CudaImage { arch, kind, bytes, hash: "" };
    let ptx = with(vec![image("sm_70", CudaKind::Ptx, PTX.as_bytes())].leak());
    assert!(Module::load_embedded(&device, &ptx).unwrap().function("nothing").is_ok());
    let newer = with(vec![image("sm_250", CudaKind::Ptx, PTX.as_bytes())].leak());
    let error = Module::load_embedded(&device, &newer).unwrap_err().to_string();
    println!("{error}");
    assert!(error.contains(arch) && error.contains("sm_250 (PTX)"), "{error}");
    println!("{}", Module::load_embedded(&device, &with(&[])).unwrap_err());

    // In a bundle, beside AMD's code.
    let amd = bundle::Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: b"AMD's" };
    let id = bundle::cuda_id("sm_70", CudaKind::Ptx);
    let both = bundle::bundle(&[amd, bundle::Entry { id: &id, bytes: PTX.as_bytes() }]);
    for bytes in [bundle::compressed(&both).unwrap(), both] {
        assert!(Module::load(&device, &bytes).unwrap().function("nothing").is_ok());
    }
    let error = Module::load(&device, &bundle::bundle(&[amd])).unwrap_err();
    assert!(matches!(error, Error::WrongTarget { .. }), "{error:?}");

    // What is no code, what is AMD's, and what does not compile.
    println!("{}", Module::load(&device, b"hello").unwrap_err());
    let error =
        Module::load(&device, b".version 7.0\n.target sm_70\n.address_size 64\nnonsense;\n").unwrap_err();
    println!("{error}");
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");

    let Some(ptxas) = toolkit("ptxas") else {
        skip(Lack::Tool, "no ptxas, which makes cubins");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (source, cubin) = (folder.path().join("kernels.ptx"), folder.path().join("kernels.cubin"));
    std::fs::write(&source, PTX).unwrap();
    let made = Command::new(ptxas).args(["-arch", arch, "-o"]).args([&cubin, &source]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bytes: &'static [u8] = std::fs::read(&cubin).unwrap().leak();
    let module = Module::load(&device, bytes).unwrap();
    assert_eq!(module.kernels().count(), 5);
    // The driver, the cubin and PTX agree on every kernel's parameters.
    for name in module.kernels() {
        let told = module.function(name).unwrap();
        let told: Vec<_> = told.parameters().iter().map(|p| (p.offset, p.size)).collect();
        for image in [bytes, PTX.as_bytes()] {
            let own = hip::code_object::cuda::parameters(image, name).unwrap();
            assert_eq!(own.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>(), told, "{name}");
        }
    }
    let (cut, _) = bytes.split_at(bytes.len() - 1);
    println!("{}", Module::load(&device, cut).unwrap_err());
    let both = with(vec![image("sm_70", CudaKind::Ptx, b"none"), image(arch, CudaKind::Cubin, bytes)].leak());
    assert!(Module::load_embedded(&device, &both).unwrap().function("saxpy").is_ok());
    if let Some(fatbinary) = toolkit("fatbinary") {
        let fatbin = folder.path().join("kernels.fatbin");
        let made = Command::new(fatbinary)
            .arg("-64")
            .arg(format!("--create={}", fatbin.display()))
            .arg(format!("--image3=kind=elf,sm={},file={}", arch.trim_start_matches("sm_"), cubin.display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let module = Module::load_file(&device, &fatbin).unwrap();
        assert_eq!(module.kernels().count(), 5);
    }
}

/// Kernels with parameters of every kind, one of more than 4 KiB.
const SOURCE: &str = r#"
struct Pair { char tag; double value; };
struct Large { float values[1200]; };
extern "C" __global__ void kinds(bool a, short b, Pair pair, const float *x, float3 v, void *y) {
    if (a) ((double *)y)[0] = b + pair.value + x[0] + v.y;
}
extern "C" __global__ void large(Large all, float *y) { y[threadIdx.x] = all.values[threadIdx.x]; }
extern "C" __global__ void none() {}
template <typename T> __global__ void fill(T *y, T value, unsigned n) {
    for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) y[at] = value;
}
template __global__ void fill<float>(float *, float, unsigned);
template __global__ void fill<unsigned char>(unsigned char *, unsigned char, unsigned);
"#;

#[test]
fn what_nvcc_compiles_is_described_alike_by_the_driver_the_cubin_and_ptx() {
    let Some(device) = device() else { return };
    let Some(nvcc) = toolkit("nvcc") else {
        skip(Lack::Tool, "no nvcc");
        return;
    };
    let arch = &device.target().processor;
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("kernels.cu");
    std::fs::write(&source, SOURCE).unwrap();
    let compile = |kind: &str| {
        let output = folder.path().join(kind);
        let made = Command::new(&nvcc)
            .args([format!("-{kind}"), format!("-arch={arch}"), "-o".to_owned()])
            .args([&output, &source])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        std::fs::read(output).unwrap()
    };
    let (cubin, ptx, fatbin) = (compile("cubin"), compile("ptx"), compile("fatbin"));
    let mut differ = Vec::new();
    for image in [&cubin, &ptx, &fatbin] {
        let module = match Module::load(&device, image) {
            Ok(module) => module,
            Err(error) => {
                // The driver may be older than the compiler, and then takes no PTX of it.
                println!("{error}");
                continue;
            }
        };
        assert_eq!(module.kernels().count(), 5);
        for name in module.kernels() {
            let function = module.function(name).unwrap();
            println!("{function}");
            let told: Vec<_> = function.parameters().iter().map(|p| (p.offset, p.size)).collect();
            for (what, image) in [("cubin", &cubin), ("PTX", &ptx)] {
                let own = hip::code_object::cuda::parameters(image, name);
                let own = own.map(|own| own.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>());
                if own.as_ref() != Some(&told) {
                    differ.push(format!("{name}: the driver says {told:?}, the {what} {own:?}"));
                }
            }
        }
        let stream = device.stream().unwrap();
        let mut y = DeviceBuffer::<f32>::zeroed(&stream, 1000).unwrap();
        let fill = module.function("_Z4fillIfEvPT_S0_j").unwrap();
        let launch = fill.launch(&stream).grid(2).block(128).arg(&mut y).arg(2.5_f32).arg(1000_u32);
        // SAFETY: `fill` writes y[0..n].
        unsafe { launch.enqueue().unwrap() };
        assert_eq!(y.to_vec(&stream).unwrap(), vec![2.5; 1000]);
        let large = module.function("large").unwrap();
        let all: [f32; 1200] = std::array::from_fn(|at| at as f32);
        let launch = large.launch(&stream).grid(1).block(1000).arg(all).arg(&mut y);
        // SAFETY: `large` writes y[0..1000].
        unsafe { launch.enqueue().unwrap() };
        assert_eq!(y.to_vec(&stream).unwrap(), all[..1000]);
    }
    assert!(differ.is_empty(), "{differ:#?}");
}

/// Figures, not limits: a launch through `hip` beside the driver's own call.
#[test]
fn what_a_launch_costs() {
    let Some(device) = device() else { return };
    const COUNT: u32 = 20_000;
    let stream = device.stream().unwrap();
    let function = module(&device).function("saxpy").unwrap();
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32; 32]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 32).unwrap();
    let cuda = cuda_sys::Table::load().unwrap();
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        let (mut n, mut a) = (32_u32, 1.0_f32);
        let (mut px, mut py) = (x.as_slice().address(), y.as_slice().address());
        let mut arguments: [*mut c_void; 4] =
            [(&raw mut n).cast(), (&raw mut a).cast(), (&raw mut px).cast(), (&raw mut py).cast()];
        device.make_current().unwrap();
        let start = Instant::now();
        for _ in 0..COUNT {
            let (function, stream) = (function.as_raw().cast(), stream.as_raw().cast());
            // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
            let status = unsafe {
                (cuda.cuLaunchKernel)(
                    function,
                    1,
                    1,
                    1,
                    32,
                    1,
                    1,
                    0,
                    stream,
                    arguments.as_mut_ptr(),
                    null_mut(),
                )
            };
            assert_eq!(status, cuda_sys::CUresult::CUDA_SUCCESS);
        }
        best[0] = best[0].min(start.elapsed());
        stream.synchronize().unwrap();
        let launch = function.launch(&stream).grid(1).block(32).arg(32_u32).arg(1.0_f32).arg(&x).arg(&mut y);
        let mut launch = launch.prepare().unwrap();
        let start = Instant::now();
        for _ in 0..COUNT {
            // SAFETY: as above.
            unsafe { launch.enqueue().unwrap() };
        }
        best[1] = best[1].min(start.elapsed());
        drop(launch);
        stream.synchronize().unwrap();
        let start = Instant::now();
        for _ in 0..COUNT {
            let launch =
                function.launch(&stream).grid(1).block(32).arg(32_u32).arg(1.0_f32).arg(&x).arg(&mut y);
            // SAFETY: as above.
            unsafe { launch.enqueue().unwrap() };
        }
        best[2] = best[2].min(start.elapsed());
        stream.synchronize().unwrap();
    }
    let graph = device
        .capture(|stream| {
            for _ in 0..COUNT / 10 {
                let launch =
                    function.launch(stream).grid(1).block(32).arg(32_u32).arg(1.0_f32).arg(&x).arg(&mut y);
                // SAFETY: as above.
                unsafe { launch.enqueue()? };
            }
            Ok(())
        })
        .unwrap();
    let exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    let start = Instant::now();
    for _ in 0..10 {
        exec.launch(&stream).unwrap();
    }
    stream.synchronize().unwrap();
    let nodes = start.elapsed();
    let each = |time: Duration| time.as_nanos() as f64 / f64::from(COUNT);
    println!("a node of a graph, run: {:.0} ns", each(nodes));
    println!(
        "a launch: driver {:.0} ns, prepared {:.0} ns ({:.3}), checked {:.0} ns ({:.3})",
        each(best[0]),
        each(best[1]),
        each(best[1]) / each(best[0]),
        each(best[2]),
        each(best[2]) / each(best[0]),
    );
}
