//! Memory imported from a driver's file descriptor. Here the device itself exports the memory, as Vulkan's
//! driver would; `crates/vulkan-test` has the tests with Vulkan.

use std::os::fd::OwnedFd;

use hip::{
    AddressRange, Backend, Device, DeviceBuffer, Error, ExternalMemory, ExternalMemoryError, PhysicalMemory,
};
use test_skip::{Lack, skip};

use crate::common;

/// Mapped memory and a descriptor of it; `None` if the device cannot export memory.
fn exported(device: &Device, bytes: usize) -> Option<(DeviceBuffer<u32>, OwnedFd, usize)> {
    let has = device.table().has("hipImportExternalMemory") && device.granularity().is_ok();
    if !has {
        skip(Lack::Device, format_args!("{device} exports no memory, or imports none"));
        return None;
    }
    let memory = PhysicalMemory::exportable(device, bytes).unwrap();
    let descriptor = memory.export().unwrap();
    let range = AddressRange::reserve(device, memory.size()).unwrap();
    let size = memory.size();
    Some((range.map(0, &[memory]).unwrap(), descriptor, size))
}

#[test]
fn what_is_imported_is_the_same_memory() {
    let device = common::device();
    let Some((mut own, descriptor, size)) = exported(&device, 64 << 10) else { return };
    let (stream, add_one) = (device.stream().unwrap(), common::module(&device).function("add_one").unwrap());
    let values: Vec<u32> = (0..own.len() as u32).map(|index| index.wrapping_mul(2_654_435_761)).collect();
    own.copy_from_host(&stream, &values).unwrap();
    stream.synchronize().unwrap();
    // SAFETY: the descriptor refers to the memory, and the two buffers are used one after the other.
    let memory = unsafe { ExternalMemory::import(&device, descriptor, size) }.unwrap();
    assert_eq!((memory.size(), memory.device()), (size, &device));
    let mut theirs = memory.buffer::<u32>(4096, 1000).unwrap();
    assert_ne!(theirs.address().0, own.address().0 + 4096);
    let launch = add_one.launch(&stream).elements(1000, 256).arg(1000_u32).arg(&mut theirs);
    // SAFETY: the kernel changes as many elements as the buffer has.
    unsafe { launch.enqueue().unwrap() };
    theirs.slice_mut(0..10).unwrap().fill(&stream, 7).unwrap();
    stream.synchronize().unwrap();
    let mut expected = values;
    expected[1024..2024].iter_mut().for_each(|value| *value = value.wrapping_add(1));
    expected[1024..1034].fill(7);
    assert_eq!(own.to_vec(&stream).unwrap(), expected);
    // The memory lives as long as any owner.
    drop((own, memory));
    assert_eq!(theirs.to_vec(&stream).unwrap(), expected[1024..2024]);
    drop(theirs);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn a_kernel_that_leaves_imported_memory_is_a_fault() {
    let device = common::device();
    let Some((_own, descriptor, _)) = exported(&device, 8192) else { return };
    if !common::finds_faults(&device) {
        return;
    }
    let bytes = 6000;
    // SAFETY: the descriptor refers to at least this much memory, which nothing else uses.
    let memory = unsafe { ExternalMemory::import(&device, descriptor, bytes) }.unwrap();
    let buffer = memory.buffer::<f32>(0, bytes / 4).unwrap();
    let write_at = common::module(&device).function("write_at").unwrap();
    let attempt = |index: i64| {
        let stream = device.stream().unwrap();
        // SAFETY: here an access out of bounds is an error that harms nothing.
        unsafe {
            write_at.launch(&stream).grid(1).block(64).arg(buffer.address()).arg(index).enqueue().unwrap()
        };
        stream.synchronize()
    };
    attempt(1499).unwrap();
    assert!(matches!(attempt(1500), Err(Error::Fault(_))));
    assert!(matches!(attempt(-1), Err(Error::Fault(_))));
}

#[test]
fn parts_that_cannot_be_had_are_refused_by_name() {
    let device = common::device();
    let Some((_own, descriptor, size)) = exported(&device, 8192) else { return };
    // SAFETY: the descriptor refers to the memory; the others are refused.
    let import = |descriptor: OwnedFd, bytes| unsafe { ExternalMemory::import(&device, descriptor, bytes) };
    let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let Err(Error::ExternalMemory(error)) = import(null(), 0) else { panic!("no bytes") };
    assert_eq!(*error, ExternalMemoryError::Empty);
    assert!(matches!(import(null(), usize::MAX), Err(Error::TooLarge { .. })));
    if device.backend() == Backend::Virtual {
        for (descriptor, bytes) in [(null(), 4096), (descriptor.try_clone().unwrap(), size + 1)] {
            let error = import(descriptor, bytes).unwrap_err();
            assert_eq!(error.operation(), Some("hipImportExternalMemory"));
            assert_eq!(error.code_name(), Some("hipErrorInvalidValue"));
        }
    }
    let memory = import(descriptor, size).unwrap();
    let refused = |result: hip::Result<DeviceBuffer<u32>>| match result {
        Err(Error::ExternalMemory(error)) => *error,
        other => panic!("{other:?}"),
    };
    let first = memory.buffer::<u32>(4, 10).unwrap();
    let end = size;
    assert_eq!(refused(memory.buffer(0, 2)), ExternalMemoryError::Occupied { start: 4, end: 44 });
    assert_eq!(refused(memory.buffer(40, 1)), ExternalMemoryError::Occupied { start: 4, end: 44 });
    let outside = ExternalMemoryError::OutOfRange { offset: end - 4, bytes: 8, size };
    assert_eq!(refused(memory.buffer(end - 4, 2)), outside);
    assert!(matches!(refused(memory.buffer(usize::MAX - 2, 1)), ExternalMemoryError::OutOfRange { .. }));
    assert!(matches!(refused(memory.buffer(101, 1)), ExternalMemoryError::Misaligned { align: 4, .. }));
    drop((memory.buffer::<u32>(44, 1).unwrap(), memory.buffer::<u32>(0, 1).unwrap()));
    drop(first);
    assert_eq!(memory.buffer::<u32>(0, end / 4).unwrap().len(), end / 4);
    assert!(memory.buffer::<u64>(end, 0).unwrap().is_empty());
    assert_eq!(hip::drop_failures(), 0);
}

/// The documentation of `ExternalMemory` describes this behaviour of AMD's library on Linux; this project's
/// library does the same.
#[test]
fn semaphores_of_other_drivers_are_not_imported() {
    use hip::hip_sys::{
        hipError_t, hipExternalSemaphore_t, hipExternalSemaphoreHandleDesc, hipExternalSemaphoreHandleType,
    };
    use std::os::fd::AsRawFd as _;
    let device = common::device();
    device.make_current().unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    for kind in [
        hipExternalSemaphoreHandleType::hipExternalSemaphoreHandleTypeOpaqueFd,
        hipExternalSemaphoreHandleType::hipExternalSemaphoreHandleTypeTimelineSemaphoreFd,
    ] {
        let mut description = hipExternalSemaphoreHandleDesc { type_: kind, ..Default::default() };
        description.handle.fd = reader.as_raw_fd();
        let mut semaphore: hipExternalSemaphore_t = std::ptr::null_mut();
        // SAFETY: the result is a place to write to, and the description is valid during the call.
        let code = unsafe {
            (device.table().hipImportExternalSemaphore)(&raw mut semaphore, &raw const description)
        };
        // AMD's library does not know the second.
        let refused = [hipError_t::hipErrorNotSupported, hipError_t::hipErrorInvalidValue];
        assert!(refused.contains(&code) && semaphore.is_null(), "{kind:?}: {code:?}");
    }
}
