//! Limits of the current device.

use hip_sys::{hipError_t, hipLimit_t};

use cuda_sys::CUlimit;

use crate::call::{call, failed};

/// Stack, printf's buffer and the heap, which both vendors number alike.
fn limit(of: hipLimit_t) -> Option<CUlimit> {
    (0..=2).contains(&of.0).then_some(CUlimit(of.0 as _))
}

/// `hipDeviceGetLimit`.
pub(crate) unsafe extern "C" fn hipDeviceGetLimit(value: *mut usize, which: hipLimit_t) -> hipError_t {
    let Some(which) = limit(which) else { return failed(hipError_t::hipErrorUnsupportedLimit) };
    // SAFETY: the caller passes a place.
    call(|cuda| unsafe { (cuda.cuCtxGetLimit)(value, which) })
}

/// `hipDeviceSetLimit`.
pub(crate) unsafe extern "C" fn hipDeviceSetLimit(which: hipLimit_t, value: usize) -> hipError_t {
    let Some(which) = limit(which) else { return failed(hipError_t::hipErrorUnsupportedLimit) };
    // SAFETY: the call takes numbers.
    call(|cuda| unsafe { (cuda.cuCtxSetLimit)(which, value) })
}
