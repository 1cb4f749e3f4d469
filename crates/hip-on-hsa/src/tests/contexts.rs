//! Contexts, settings, and functions by name.

use std::ffi::c_void;
use std::ptr::null_mut;

use hip_sys::{hipDriverProcAddressQueryResult, hipError_t};

use super::{E, OK, hip, start};

#[test]
fn contexts_are_pushed_and_popped() {
    let hip = start();
    let (mut context, mut current, mut popped) = (null_mut(), null_mut(), null_mut());
    assert_eq!(hip!(hip, hipCtxPopCurrent(&mut popped)), E::hipErrorInvalidContext);
    assert_eq!(hip!(hip, hipCtxCreate(&mut context, 0, 0)), OK);
    assert_eq!(hip!(hip, hipCtxGetCurrent(&mut current)), OK);
    assert_eq!(current, context);
    assert_eq!(hip!(hip, hipDevicePrimaryCtxRetain(&mut current, 0)), OK);
    assert_eq!(current, context);
    assert_eq!(hip!(hip, hipCtxPushCurrent(context)), OK);
    assert_eq!(hip!(hip, hipCtxPopCurrent(&mut popped)), OK);
    assert_eq!(popped, context);
    assert_eq!(hip!(hip, hipCtxPopCurrent(null_mut())), OK);
    assert_eq!(hip!(hip, hipCtxPopCurrent(&mut popped)), E::hipErrorInvalidContext);
    for invented in [1usize, 0x1000, (0x55 << 56) + 99, usize::MAX] {
        assert_eq!(hip!(hip, hipCtxPushCurrent(invented as *mut _)), E::hipErrorInvalidContext);
    }
    assert_eq!(hip!(hip, hipCtxCreate(&mut context, 0, 99)), E::hipErrorInvalidValue);
}

#[test]
fn device_flags_are_kept_and_checked() {
    let hip = start();
    let mut flags = 77;
    assert_eq!(hip!(hip, hipSetDeviceFlags(hip_sys::hipDeviceScheduleBlockingSync)), OK);
    assert_eq!(hip!(hip, hipGetDeviceFlags(&mut flags)), OK);
    assert_eq!(flags, hip_sys::hipDeviceScheduleBlockingSync);
    for bad in [3, 1 << 20] {
        assert_eq!(hip!(hip, hipSetDeviceFlags(bad)), E::hipErrorInvalidValue);
    }
    assert_eq!(hip!(hip, hipSetDeviceFlags(0)), OK);
}

#[test]
fn functions_are_found_by_name() {
    type Answer = hipDriverProcAddressQueryResult;
    let hip = start();
    let look_up = |name: &std::ffi::CStr, version: i32, flags: u64| {
        let (mut found, mut status): (*mut c_void, _) = (null_mut(), hipDriverProcAddressQueryResult(99));
        let code = hip!(hip, hipGetProcAddress(name.as_ptr(), &mut found, version, flags, &mut status));
        (code, found as usize, status)
    };
    let (code, found, status) = look_up(c"hipGetLastError", 70_200_000, 0);
    assert_eq!((code, status), (OK, Answer::HIP_GET_PROC_ADDRESS_SUCCESS));
    assert_eq!(found, hip.table.hipGetLastError as usize);
    // SAFETY: the function has this type.
    let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn() -> hipError_t>(found) };
    // SAFETY: the function has no preconditions.
    let _ = unsafe { function() };
    assert_eq!(look_up(c"hipMemcpyAsync", 0, 0).1, hip.table.hipMemcpyAsync as usize);
    assert_eq!(look_up(c"hipMemcpyAsync", 0, 2).1, hip.table.hipMemcpyAsync_spt as usize);
    let (old, new) =
        (hip.table.hipGetDeviceProperties as usize, hip.table.hipGetDevicePropertiesR0600 as usize);
    assert_eq!(look_up(c"hipGetDeviceProperties", 500, 0).1, old);
    assert_eq!(look_up(c"hipGetDeviceProperties", 600, 0).1, new);
    assert_eq!(look_up(c"", 70_200_000, 0).0, E::hipErrorInvalidValue);
    for missing in [c"hipNoSuchFunction", c"hipBindTexture2D"] {
        let (code, found, status) = look_up(missing, 70_200_000, 0);
        assert_eq!((code, found), (E::hipErrorInvalidValue, 0), "{missing:?}");
        assert_eq!(status, Answer::HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    }
}

#[test]
fn a_reset_ends_streams_and_memory_of_the_device() {
    let hip = start();
    let free = || {
        let (mut free, mut total) = (0, 0);
        assert_eq!(hip!(hip, hipMemGetInfo(&mut free, &mut total)), OK);
        free
    };
    let before = free();
    let (memory, stream) = (hip.malloc(1 << 20), hip.stream(0));
    let mut pinned = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut pinned, 64, 0)), OK);
    assert_eq!(hip!(hip, hipMemsetAsync(memory, 1, 64, stream)), OK);
    assert!(free() < before);
    assert_eq!(hip!(hip, hipDeviceReset()), OK);
    assert_eq!(free(), before);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), E::hipErrorContextIsDestroyed);
    assert_eq!(hip!(hip, hipFree(memory)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipHostFree(pinned)), E::hipErrorInvalidValue);
    // The device goes on.
    let memory = hip.malloc(64);
    assert_eq!(hip!(hip, hipMemset(memory, 2, 64)), OK);
    hip.free(memory);
}

#[test]
fn calls_by_context_are_those_of_its_device() {
    let hip = start();
    let (mut context, mut version) = (null_mut(), 0);
    assert_eq!(hip!(hip, hipDevicePrimaryCtxRetain(&mut context, 0)), OK);
    assert_eq!(hip!(hip, hipCtxGetApiVersion(context, &mut version)), OK);
    assert!(version >= 70_000_000);
    assert_eq!(hip!(hip, hipCtxGetApiVersion(null_mut(), &mut version)), E::hipErrorInvalidContext);
    assert_eq!(hip!(hip, hipCtxSynchronize()), OK);
    assert_eq!(hip!(hip, hipCtxEnablePeerAccess(context, 0)), E::hipErrorInvalidDevice, "its own peer");
    assert_eq!(hip!(hip, hipCtxEnablePeerAccess(null_mut(), 0)), E::hipErrorInvalidContext);
    assert_eq!(hip!(hip, hipCtxDisablePeerAccess(context)), E::hipErrorInvalidDevice, "its own peer");
}
