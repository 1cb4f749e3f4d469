//! Virtual memory: reserved addresses, memory mapped there, and sharing it with other processes.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;

use hip::{
    Access, AddressRange, Device, DeviceBuffer, Error, Graph, HostBuffer, PhysicalMemory, RectLayout,
    VirtualMemoryError,
};
use test_skip::{Lack, skip};

use crate::common;

/// `None` if the device has no virtual memory management.
fn with_virtual_memory() -> Option<Device> {
    let device = common::device();
    let has = device.table().has("hipMemAddressReserve") && device.granularity().is_ok();
    if !has {
        skip(Lack::Device, format_args!("{device} has no virtual memory management"));
    }
    has.then_some(device)
}

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32).map(|index| index.wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn memory_keeps_its_contents_while_it_moves() {
    let Some(device) = with_virtual_memory() else { return };
    let stream = device.stream().unwrap();
    let range = AddressRange::reserve(&device, 64 << 20).unwrap();
    let granularity = range.granularity();
    assert!(range.size() >= 64 << 20 && granularity.recommended.is_multiple_of(granularity.minimum));
    let memory = [1, granularity.recommended + 1].map(|bytes| PhysicalMemory::new(&device, bytes).unwrap());
    assert!(memory.iter().all(|memory| memory.size().is_multiple_of(granularity.minimum)));
    let mut buffer = range.map::<u32>(granularity.recommended, &memory).unwrap();
    assert_eq!(buffer.size_in_bytes(), memory[0].size() + memory[1].size());
    assert_eq!(buffer.address().0, range.address().0 + granularity.recommended as u64);
    // Copies and fills cross the border of two pieces.
    let (values, border) = (numbers(buffer.len()), memory[0].size() / 4);
    buffer.copy_from_host(&stream, &values).unwrap();
    buffer.slice_mut(border - 3..border + 5).unwrap().fill(&stream, 7).unwrap();
    let mut expected = values.clone();
    expected[border - 3..border + 5].fill(7);
    assert!(buffer.to_vec(&stream).unwrap() == expected);
    // The two pieces the other way around.
    drop(buffer);
    let [first, second] = memory;
    let buffer = range.map::<u32>(0, &[second, first]).unwrap();
    expected.rotate_left(border);
    assert!(buffer.to_vec(&stream).unwrap() == expected);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn kernels_use_mapped_memory_which_is_unmapped_behind_them() {
    let Some(device) = with_virtual_memory() else { return };
    let module = common::module(&device);
    let scale = module.function("saxpy").unwrap();
    let stream = device.stream().unwrap();
    let range = AddressRange::reserve(&device, 1).unwrap();
    let memory = PhysicalMemory::new(&device, 4096).unwrap();
    for round in 0..20 {
        let mut y = range.map::<f32>(0, std::slice::from_ref(&memory)).unwrap();
        if round == 0 {
            y.fill(&stream, 0.0).unwrap();
        }
        let x = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; y.len()]).unwrap();
        let n = y.len() as u32;
        let launch = scale.launch(&stream).elements(y.len(), 256).arg(n).arg(2.0_f32).arg(&x).arg(&mut y);
        // SAFETY: `saxpy` reads n elements of x, and reads and writes as many of y.
        unsafe { launch.enqueue().unwrap() };
    }
    let y = range.map::<f32>(0, &[memory]).unwrap();
    assert!(y.to_vec(&stream).unwrap().iter().all(|value| *value == 40.0));
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn what_is_mapped_twice_or_somewhere_else_is_refused() {
    let Some(device) = with_virtual_memory() else { return };
    let range = AddressRange::reserve(&device, 1).unwrap();
    let memory = PhysicalMemory::new(&device, 1).unwrap();
    let buffer = range.map::<u8>(0, std::slice::from_ref(&memory)).unwrap();
    let other = PhysicalMemory::new(&device, 1).unwrap();
    let occupied = range.map::<u8>(0, std::slice::from_ref(&other));
    assert!(matches!(occupied, Err(Error::VirtualMemory(VirtualMemoryError::Occupied { .. }))));
    let elsewhere = AddressRange::reserve(&device, 1).unwrap();
    let twice = elsewhere.map::<u8>(0, std::slice::from_ref(&memory));
    assert!(matches!(twice, Err(Error::VirtualMemory(VirtualMemoryError::AlreadyMapped))));
    assert!(matches!(elsewhere.map::<u8>(elsewhere.size(), &[other]), Err(Error::OutOfRange { .. })));
    drop((range, memory));
    let stream = device.stream().unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap().len(), buffer.len(), "the buffer keeps both");
    let huge = PhysicalMemory::new(&device, device.properties().memory + (1 << 30));
    assert!(matches!(huge, Err(Error::OutOfMemory { .. })), "{huge:?}");
}

#[test]
fn access_is_taken_and_given() {
    let Some(device) = with_virtual_memory() else { return };
    let stream = device.stream().unwrap();
    let range = AddressRange::reserve(&device, 1).unwrap();
    let memory = PhysicalMemory::new(&device, 1).unwrap();
    let mut buffer = range.map::<u32>(0, std::slice::from_ref(&memory)).unwrap();
    buffer.fill(&stream, 3).unwrap();
    assert_eq!(range.access(0, &device).unwrap(), Access::ReadWrite);
    range.set_access(0..memory.size(), &device, Access::Read).unwrap();
    assert_eq!(range.access(5, &device).unwrap(), Access::Read);
    if common::finds_faults(&device) {
        let module = common::module(&device);
        let x = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
        stream.synchronize().unwrap();
        let (n, faulting) = (64_u32, device.stream().unwrap());
        let saxpy = module.function("saxpy").unwrap();
        let launch =
            saxpy.launch(&faulting).elements(64, 64).arg(n).arg(2.0_f32).arg(&x).arg(buffer.address());
        // SAFETY: the memory has room for 64 elements; the test checks that the device may not write it.
        unsafe { launch.enqueue().unwrap() };
        let fault = faulting.synchronize().unwrap_err();
        assert!(matches!(fault, Error::Fault(_)), "{fault}");
        only_reads(&device, &mut buffer);
    }
    range.set_access(0..memory.size(), &device, Access::ReadWrite).unwrap();
    buffer.slice_mut(..1).unwrap().fill(&stream, 4).unwrap();
    assert_eq!(buffer.slice(..2).unwrap().to_vec(&stream).unwrap(), [4, 3]);
}

/// Copies and fills never write memory that the device may only read, by any path: the host, copy engines,
/// graphs.
fn only_reads(device: &Device, buffer: &mut DeviceBuffer<u32>) {
    let stream = device.stream().unwrap();
    let before = buffer.to_vec(&stream).unwrap();
    let refused = |result: hip::Result<()>| {
        let code = hip::hip_sys::hipError_t::hipErrorInvalidValue;
        assert!(matches!(&result, Err(Error::Hip { code: got, .. }) if *got == code), "{result:?}");
    };
    let other = DeviceBuffer::<u32>::zeroed(&stream, buffer.len()).unwrap();
    let pinned = || HostBuffer::<u32>::zeroed(device, before.len()).unwrap();
    let rows = RectLayout::plane([4, 4], 8);
    refused(buffer.fill(&stream, 1));
    refused(buffer.copy_from(&stream, &other));
    refused(buffer.copy_from_host(&stream, &vec![1; before.len()]));
    refused(buffer.upload(&stream, pinned()).map(drop));
    refused(buffer.as_mut_rect(rows).unwrap().fill(&stream, 1));
    refused(buffer.as_mut_rect(rows).unwrap().copy_from_host(&stream, &[1; 16]));
    let mut graph = Graph::new(device).unwrap();
    refused(graph.add_fill(&mut *buffer, 1, &[]).map(drop));
    refused(graph.add_copy(&mut *buffer, &other, &[]).map(drop));
    // Each on its own stream, so that no failure remains.
    for stream in [stream, device.stream().unwrap()] {
        assert_eq!(buffer.to_vec(&stream).unwrap(), before);
        let host = buffer.download(&stream, pinned()).unwrap().wait().unwrap();
        assert_eq!(host[..], before);
    }
}

#[test]
fn a_graph_writes_no_memory_that_its_device_may_no_longer_write() {
    let Some(device) = with_virtual_memory() else { return };
    if !common::finds_faults(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let range = AddressRange::reserve(&device, 1).unwrap();
    let memory = [1, 1].map(|bytes| PhysicalMemory::new(&device, bytes).unwrap());
    let mut buffer = range.map::<u32>(0, &memory).unwrap();
    buffer.fill(&stream, 3).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    graph.add_fill(&mut buffer, 4, &[]).unwrap();
    let exec = graph.instantiate().unwrap();
    // The second of two pieces is enough to refuse all of it.
    range.set_access(memory[0].size()..buffer.size_in_bytes(), &device, Access::Read).unwrap();
    let refused = exec.launch(&stream);
    assert!(matches!(refused, Err(Error::Hip { .. })), "{refused:?}");
    let first = memory[0].size() / 4;
    buffer.slice_mut(..first).unwrap().fill(&stream, 5).unwrap();
    assert!(buffer.slice_mut(first - 1..first + 1).unwrap().fill(&stream, 6).is_err());
    let values = buffer.to_vec(&stream).unwrap();
    assert!(
        values[..first].iter().all(|value| *value == 5) && values[first..].iter().all(|value| *value == 3)
    );
    range.set_access(0..buffer.size_in_bytes(), &device, Access::None).unwrap();
    assert!(buffer.to_vec(&stream).is_err());
    range.set_access(0..buffer.size_in_bytes(), &device, Access::ReadWrite).unwrap();
    exec.launch(&stream).unwrap();
    assert!(buffer.to_vec(&stream).unwrap().iter().all(|value| *value == 4));
}

#[test]
fn another_process_maps_memory_that_was_exported() {
    let Some(device) = with_virtual_memory() else { return };
    let stream = device.stream().unwrap();
    let refused = PhysicalMemory::new(&device, 1).unwrap().export();
    assert!(matches!(refused, Err(Error::VirtualMemory(VirtualMemoryError::NotExportable))));
    let memory = PhysicalMemory::exportable(&device, 1).unwrap();
    let descriptor = match memory.export() {
        Ok(descriptor) => descriptor,
        Err(error) => return skip(Lack::Device, format_args!("{device} exports no memory: {error}")),
    };
    let range = AddressRange::reserve(&device, 1).unwrap();
    let mut buffer = range.map::<u32>(0, std::slice::from_ref(&memory)).unwrap();
    let values = numbers(buffer.len());
    buffer.copy_from_host(&stream, &values).unwrap();
    // The other process inherits the descriptor as its standard input.
    let output = common::this_program()
        .args(["--exact", "virtual_memory::maps_what_was_exported", "--include-ignored", "--nocapture"])
        .stdin(Stdio::from(descriptor))
        .env(SIZE, memory.size().to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    let expected: Vec<u32> = values.iter().map(|value| !value).collect();
    assert!(buffer.to_vec(&stream).unwrap() == expected);
    assert_eq!(hip::drop_failures(), 0);
}

/// Names the memory's size to the process that imports it.
const SIZE: &str = "FERROCM_TEST_SIZE";

#[test]
#[ignore = "runs in the process that another test starts"]
fn maps_what_was_exported() {
    let device = with_virtual_memory().unwrap();
    let stream = device.stream().unwrap();
    let input = std::io::stdin().as_fd().as_raw_fd();
    // SAFETY: the standard input is the descriptor from the other process, and nothing else here uses it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(input) };
    let memory = match device.backend() {
        // CUDA does not tell the size.
        // SAFETY: it is memory of this device, which the other process does not use until this one has ended, and
        // of this size.
        hip::Backend::Cuda => unsafe {
            let size = std::env::var(SIZE).unwrap().parse().unwrap();
            PhysicalMemory::import_of_size(&device, &descriptor, size)
        },
        // SAFETY: as above.
        _ => unsafe { PhysicalMemory::import(&device, &descriptor) },
    };
    let memory = memory.unwrap();
    drop(descriptor);
    let range = AddressRange::reserve(&device, memory.size()).unwrap();
    let mut buffer = range.map::<u32>(0, &[memory]).unwrap();
    let values = buffer.to_vec(&stream).unwrap();
    assert!(values == numbers(buffer.len()));
    let inverted: Vec<u32> = values.iter().map(|value| !value).collect();
    buffer.copy_from_host(&stream, &inverted).unwrap();
    drop((buffer, range));
    assert_eq!((hip::drop_failures(), hip::live().virtual_memory), (0, 0));
}

#[test]
fn a_descriptor_of_something_else_is_refused() {
    let Some(device) = with_virtual_memory() else { return };
    let file = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: it is refused before it reaches the library.
    let error = unsafe { PhysicalMemory::import(&device, &file) }.unwrap_err();
    assert!(matches!(error, Error::VirtualMemory(VirtualMemoryError::NoMemory { .. })), "{error}");
}
