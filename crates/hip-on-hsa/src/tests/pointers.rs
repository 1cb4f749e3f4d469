//! Queries about pointers.

use std::ffi::c_void;
use std::ptr::{from_mut, null_mut};

use hip_sys::hipPointer_attribute as A;

use super::*;

impl Hip {
    fn ask<T: Default>(&self, which: A, pointer: *mut c_void) -> (E, T) {
        let mut value = T::default();
        let code = hip!(self, hipPointerGetAttribute(from_mut(&mut value).cast(), which, pointer));
        (code, value)
    }
}

#[test]
fn every_attribute_is_told_of_what_has_it() {
    let hip = start();
    let (device, second) = (hip.malloc(300), hip.malloc(300));
    let inner = device.wrapping_byte_add(99);
    let kind = hip_sys::hipMemoryType::hipMemoryTypeDevice.0;
    assert_eq!(hip.ask::<u32>(A::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, inner), (OK, kind));
    assert_eq!(hip.ask::<usize>(A::HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, inner), (OK, inner as usize));
    assert_eq!(hip.ask::<usize>(A::HIP_POINTER_ATTRIBUTE_HOST_POINTER, inner).0, E::hipErrorInvalidValue);
    assert_eq!(hip.ask::<usize>(A::HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, inner), (OK, device as usize));
    assert_eq!(hip.ask::<usize>(A::HIP_POINTER_ATTRIBUTE_RANGE_SIZE, inner), (OK, 300));
    assert_eq!(hip.ask::<i32>(A::HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inner), (OK, 0));
    assert_eq!(hip.ask::<bool>(A::HIP_POINTER_ATTRIBUTE_IS_MANAGED, inner), (OK, false));
    assert_eq!(hip.ask::<bool>(A::HIP_POINTER_ATTRIBUTE_MAPPED, inner), (OK, true));
    assert_eq!(hip.ask::<u32>(A::HIP_POINTER_ATTRIBUTE_CONTEXT, inner).0, E::hipErrorNotSupported);
    assert_eq!(hip.ask::<u32>(A(77), inner).0, E::hipErrorInvalidValue);
    let (_, id) = hip.ask::<u64>(A::HIP_POINTER_ATTRIBUTE_BUFFER_ID, inner);
    assert_eq!(hip.ask::<u64>(A::HIP_POINTER_ATTRIBUTE_BUFFER_ID, device), (OK, id));
    assert_ne!(hip.ask::<u64>(A::HIP_POINTER_ATTRIBUTE_BUFFER_ID, second).1, id);
    let (mut pooled, mut pool) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipMallocAsync(&mut pooled, 64, NULL)), OK);
    assert_eq!(hip!(hip, hipDeviceGetMemPool(&mut pool, 0)), OK);
    assert_eq!(hip.ask::<usize>(A::HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled), (OK, pool as usize));
    assert_eq!(hip.ask::<usize>(A::HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, device), (OK, 0));
    let sync = A::HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS;
    let one = 1u32;
    let value = (&raw const one).cast();
    assert_eq!(hip!(hip, hipPointerSetAttribute(value, sync, device)), OK);
    assert_eq!(
        hip!(hip, hipPointerSetAttribute(value, A::HIP_POINTER_ATTRIBUTE_MAPPED, device)),
        E::hipErrorInvalidValue
    );
    for memory in [device, second, pooled] {
        hip.free(memory);
    }
    assert_eq!(hip.ask::<bool>(A::HIP_POINTER_ATTRIBUTE_MAPPED, device), (OK, false));
    assert_eq!(hip.ask::<u32>(A::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, device).0, E::hipErrorInvalidValue);
}

#[test]
fn several_attributes_at_once_are_zero_for_unknown_memory() {
    let hip = start();
    let device = hip.malloc(64);
    let (mut kind, mut start, mut managed) = (9u32, 9usize, 9u8);
    let mut which = [
        A::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE,
        A::HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        A::HIP_POINTER_ATTRIBUTE_IS_MANAGED,
    ];
    let mut ask = |pointer: *mut c_void| {
        let mut data = [
            from_mut(&mut kind).cast::<c_void>(),
            from_mut(&mut start).cast(),
            from_mut(&mut managed).cast(),
        ];
        let code = hip!(hip, hipDrvPointerGetAttributes(3, which.as_mut_ptr(), data.as_mut_ptr(), pointer));
        (code, kind, start, managed)
    };
    let of_device = hip_sys::hipMemoryType::hipMemoryTypeDevice.0;
    assert_eq!(ask(device.wrapping_byte_add(8)), (OK, of_device, device as usize, 0));
    hip.free(device);
    assert_eq!(ask(device), (OK, 0, 0, 0));
    let none = hip!(hip, hipDrvPointerGetAttributes(0, which.as_mut_ptr(), null_mut(), device));
    assert_eq!(none, E::hipErrorInvalidValue);
}
