//! Handles and memory of other code that calls HIP itself, and other code that uses ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hip::hip_sys::{hipError_t, hipEvent_t, hipStream_t};
use hip::{Device, DeviceAddress, DeviceBuffer, Error, Event, Module, Stream};

use crate::common;

const OK: hipError_t = hipError_t::hipSuccess;

/// Memory allocated with HIP. Its owner frees it and records that.
struct Foreign {
    device: Device,
    address: usize,
    freed: Arc<AtomicBool>,
}

impl Foreign {
    fn new(device: &Device, bytes: usize) -> Self {
        device.make_current().unwrap();
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the result is a place to write to.
        assert_eq!(unsafe { (device.table().hipMalloc)(&raw mut pointer, bytes) }, OK);
        Self { device: device.clone(), address: pointer.expose_provenance(), freed: Arc::default() }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.device.make_current().unwrap();
        let pointer = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: the memory came from `hipMalloc` and is freed once.
        assert_eq!(unsafe { (self.device.table().hipFree)(pointer) }, OK);
        self.freed.store(true, Ordering::SeqCst);
    }
}

#[test]
fn streams_of_other_code_are_used_and_left_alone() {
    let device = common::device();
    let table = device.table();
    let mut raw: hipStream_t = std::ptr::null_mut();
    device.make_current().unwrap();
    // SAFETY: the result is a place to write to; the stream is destroyed after the wrapper is dropped.
    let stream = unsafe {
        assert_eq!((table.hipStreamCreate)(&raw mut raw), OK);
        Stream::from_raw(&device, raw).unwrap()
    };
    assert_eq!(stream.as_raw(), raw);
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3]).unwrap();
    let own = device.stream().unwrap();
    buffer.fill(&own, 4).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), [4; 3]);
    drop(stream);
    // SAFETY: the handle is valid until it is destroyed here.
    unsafe {
        assert_eq!((table.hipStreamSynchronize)(raw), OK);
        assert_eq!((table.hipStreamDestroy)(raw), OK);
    }
    assert_eq!(buffer.to_vec(&own).unwrap(), [4; 3]);
    // SAFETY: these denote HIP's own streams.
    unsafe {
        assert_eq!(&Stream::from_raw(&device, std::ptr::null_mut()).unwrap(), device.default_stream());
        let per_thread = Stream::from_raw(&device, std::ptr::without_provenance_mut(2));
        assert!(matches!(per_thread, Err(Error::Unsupported { .. })));
    }
}

#[test]
fn streams_and_events_are_given_away_when_nobody_else_has_them() {
    let device = common::device();
    let table = device.table();
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    buffer.fill(&stream, 7).unwrap();
    let clone = stream.clone();
    let stream = stream.into_raw().unwrap_err();
    drop(clone);
    let raw = stream.into_raw().unwrap();
    // Objects that were used on the stream can be used and released without it.
    let other = device.stream().unwrap();
    assert_eq!(buffer.to_vec(&other).unwrap(), [7; 4]);
    buffer.fill(&other, 8).unwrap();
    let event = other.record().unwrap();
    let raw_event: hipEvent_t = event.into_raw().unwrap();
    // SAFETY: the caller owns both handles now, and destroys each once.
    unsafe {
        assert_eq!((table.hipStreamSynchronize)(raw), OK);
        assert_eq!((table.hipStreamDestroy)(raw), OK);
        let event = Event::from_raw(&device, raw_event);
        event.synchronize().unwrap();
        other.wait_event(&event).unwrap();
        event.record(&other).unwrap();
        assert_eq!(event.elapsed_since(&event).unwrap(), Duration::ZERO);
        drop(event);
        assert_eq!((table.hipEventSynchronize)(raw_event), OK);
        assert_eq!((table.hipEventDestroy)(raw_event), OK);
    }
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn memory_of_other_code_is_a_buffer_until_nothing_uses_it() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let slow = common::module(&device).function("slow").unwrap();
    let foreign = Foreign::new(&device, 64 * 4);
    let (address, freed) = (DeviceAddress(foreign.address as u64), foreign.freed.clone());
    // SAFETY: the memory has 64 elements, until `foreign` is dropped.
    let mut buffer = unsafe { DeviceBuffer::<u32>::from_raw_parts(&device, address, 64, foreign).unwrap() };
    assert_eq!((buffer.address(), buffer.len()), (address, 64));
    let launch = slow.launch(&stream).grid(1).block(64).arg(20_000_u32).arg(&mut buffer);
    // SAFETY: the kernel writes 64 elements.
    unsafe { launch.enqueue().unwrap() };
    buffer.fill(&stream, 3).unwrap();
    assert_eq!(buffer.to_vec(&device.stream().unwrap()).unwrap(), [3; 64]);
    // A graph keeps the owner.
    let exec = device.capture(|stream| buffer.fill(stream, 5)).unwrap().instantiate().unwrap();
    drop(buffer);
    exec.launch(&stream).unwrap();
    assert!(!freed.load(Ordering::SeqCst));
    drop(exec);
    assert!(freed.load(Ordering::SeqCst));
    assert!(stream.is_done().unwrap());
}

#[test]
fn memory_is_given_away_with_what_keeps_it() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0]).unwrap();
    buffer.fill(&stream, 4.0).unwrap();
    let (address, len, owner) = buffer.into_raw_parts().unwrap();
    assert_eq!((owner.address(), owner.device(), len), (address, &device, 2));
    // All uses are done, so the new owner sees the result without a stream.
    let mut host = [0.0_f32; 2];
    // SAFETY: the memory has that many bytes, and `owner` keeps it.
    let copied = unsafe {
        (device.table().hipMemcpy)(
            host.as_mut_ptr().cast(),
            std::ptr::with_exposed_provenance(address.0 as usize),
            8,
            hip::hip_sys::hipMemcpyKind::hipMemcpyDeviceToHost,
        )
    };
    assert_eq!((copied, host), (OK, [4.0; 2]));
    // SAFETY: the parts come from a buffer, and `owner` keeps its memory.
    let buffer = unsafe { DeviceBuffer::<f32>::from_raw_parts(&device, address, len, owner).unwrap() };
    assert_eq!(buffer.to_vec(&stream).unwrap(), [4.0; 2]);
    let empty = DeviceBuffer::<f32>::zeroed(&stream, 0).unwrap();
    let (address, len, owner) = empty.into_raw_parts().unwrap();
    assert_eq!((address, len), (DeviceAddress::NULL, 0));
    drop(owner);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn devices_are_found_by_their_table() {
    let device = common::device();
    // SAFETY: the table belongs to an open device.
    let same = unsafe { Device::of_table(device.table(), device.ordinal()) }.unwrap();
    assert_eq!(same, device);
    // SAFETY: as above.
    unsafe {
        assert!(Device::of_table(device.table(), 1000).is_err());
        assert!(Device::of_table(device.table(), u32::MAX).is_err());
        assert!(Device::of_table(hip::hip_sys::Table::unsupported(), 0).is_err());
    }
}

#[test]
fn modules_of_other_code_are_launched_with_checks_and_stay_loaded() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let code = common::compile(&device.target().processor);
    let table = device.table();
    device.make_current().unwrap();
    let mut raw = std::ptr::null_mut();
    // SAFETY: the bytes are a code object for the device, and live as long as the module.
    assert_eq!(unsafe { (table.hipModuleLoadData)(&raw mut raw, code.as_ptr().cast()) }, OK);
    let run = || {
        // SAFETY: the module was made of this code, and is unloaded below.
        let module = unsafe { Module::from_raw(&device, raw, &code).unwrap() };
        assert_eq!(module.as_raw(), raw);
        let function = module.function("add_one").unwrap();
        assert!(!function.as_raw().is_null());
        let mut data = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
        let launch = || function.launch(&stream).grid(1).block(64).arg(64_u32);
        // SAFETY: the buffer has as many elements as the kernel accesses; the other launch is refused.
        unsafe {
            assert!(matches!(launch().enqueue(), Err(Error::Launch(_))));
            launch().arg(&mut data).enqueue().unwrap();
        }
        drop((module, function));
        data.to_vec(&stream).unwrap()
    };
    assert_eq!(run(), [1; 64]);
    assert_eq!(run(), [1; 64]);
    // SAFETY: the module is unloaded once, and no kernel of it runs.
    assert_eq!(unsafe { (table.hipModuleUnload)(raw) }, OK);
}
