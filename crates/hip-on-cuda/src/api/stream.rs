//! Streams, and functions of the host in their order.

use std::ffi::{c_int, c_uint, c_void};

use cuda_sys::{CUresult, CUstream};
use hip_sys::{hipDevice_t, hipError_t, hipHostFn_t, hipStream_t, hipStreamCallback_t};

use super::convert::address;
use crate::call::{call, failed, same, steps};
use crate::error::hip_error;
use crate::runtime::{self, check};

/// A callback of HIP's, and what it gets.
struct Callback {
    function: unsafe extern "C" fn(hipStream_t, hipError_t, *mut c_void),
    data: *mut c_void,
}

/// Calls a callback of HIP's, with HIP's status.
///
/// # Safety
/// The data is a `Callback` that was made for this call.
unsafe extern "C" fn call_back(stream: CUstream, status: CUresult, data: *mut c_void) {
    // SAFETY: `hipStreamAddCallback` has made it, and CUDA calls once.
    let callback = unsafe { Box::from_raw(data.cast::<Callback>()) };
    // SAFETY: who has given the function vouches for it.
    unsafe { (callback.function)(stream.cast(), hip_error(status), callback.data) };
}

/// `hipStreamAddCallback`.
pub(crate) unsafe extern "C" fn hipStreamAddCallback(
    stream: hipStream_t,
    function: hipStreamCallback_t,
    data: *mut c_void,
    flags: c_uint,
) -> hipError_t {
    let Some(function) = function else { return failed(hipError_t::hipErrorInvalidValue) };
    let callback = Box::into_raw(Box::new(Callback { function, data }));
    let status = call(|cuda| {
        // SAFETY: the function frees the callback; the stream is the caller's.
        unsafe { (cuda.cuStreamAddCallback)(stream.cast(), Some(call_back), callback.cast(), flags) }
    });
    if status != hipError_t::hipSuccess {
        // SAFETY: it was not taken, so nobody else has it.
        drop(unsafe { Box::from_raw(callback) });
    }
    status
}

/// `hipStreamGetDevice`.
pub(crate) unsafe extern "C" fn hipStreamGetDevice(
    stream: hipStream_t,
    device: *mut hipDevice_t,
) -> hipError_t {
    steps(|cuda| {
        let mut context = std::ptr::null_mut();
        // SAFETY: the stream is the caller's, and the result a place to write to.
        check(unsafe { (cuda.cuStreamGetCtx)(stream.cast(), &raw mut context) })?;
        let ordinal = runtime::ordinal_of(context).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        // SAFETY: the caller passes null or a place.
        *unsafe { device.as_mut() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)? = ordinal;
        Ok(())
    })
}

/// `hipStreamWaitValue64`. CUDA compares all bits: another mask is not supported.
pub(crate) unsafe extern "C" fn hipStreamWaitValue64(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u64,
    flags: c_uint,
    mask: u64,
) -> hipError_t {
    if mask != u64::MAX {
        return failed(hipError_t::hipErrorNotSupported);
    }
    // SAFETY: the caller keeps HIP's contract, which is CUDA's.
    call(|cuda| unsafe { (cuda.cuStreamWaitValue64_v2)(stream.cast(), address(pointer), value, flags) })
}

/// `hipStreamWaitValue32`. CUDA compares all bits: another mask is not supported.
pub(crate) unsafe extern "C" fn hipStreamWaitValue32(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u32,
    flags: c_uint,
    mask: u32,
) -> hipError_t {
    if mask != u32::MAX {
        return failed(hipError_t::hipErrorNotSupported);
    }
    // SAFETY: the caller keeps HIP's contract, which is CUDA's.
    call(|cuda| unsafe { (cuda.cuStreamWaitValue32_v2)(stream.cast(), address(pointer), value, flags) })
}

same! {
    hipStreamCreate(stream: *mut hipStream_t) => cuStreamCreate(stream.cast(), 0);
    hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) => cuStreamCreate(stream.cast(), flags);
    hipStreamCreateWithPriority(stream: *mut hipStream_t, flags: c_uint, priority: c_int)
        => cuStreamCreateWithPriority(stream.cast(), flags, priority);
    hipStreamDestroy(stream: hipStream_t) => cuStreamDestroy_v2(stream.cast());
    hipStreamSynchronize(stream: hipStream_t) => cuStreamSynchronize(stream.cast());
    hipStreamQuery(stream: hipStream_t) => cuStreamQuery(stream.cast());
    hipStreamGetPriority(stream: hipStream_t, priority: *mut c_int) => cuStreamGetPriority(stream.cast(), priority);
    hipStreamGetFlags(stream: hipStream_t, flags: *mut c_uint) => cuStreamGetFlags(stream.cast(), flags);
    hipLaunchHostFunc(stream: hipStream_t, function: hipHostFn_t, data: *mut c_void)
        => cuLaunchHostFunc(stream.cast(), function, data);
    hipStreamWriteValue64(stream: hipStream_t, pointer: *mut c_void, value: u64, flags: c_uint)
        => cuStreamWriteValue64_v2(stream.cast(), address(pointer), value, flags);
    hipStreamWriteValue32(stream: hipStream_t, pointer: *mut c_void, value: u32, flags: c_uint)
        => cuStreamWriteValue32_v2(stream.cast(), address(pointer), value, flags);
    hipStreamAttachMemAsync(stream: hipStream_t, pointer: *mut c_void, length: usize, flags: c_uint)
        => cuStreamAttachMemAsync(stream.cast(), address(pointer), length, flags);
}
