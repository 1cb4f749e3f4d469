//! Limits of the current device, and what its nearest memory is used for.

use hip_sys::{hipError_t, hipFuncCache_t, hipLimit_t};

use cuda_sys::{CUfunc_cache, CUlimit};

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

/// `hipDeviceGetCacheConfig`.
pub(crate) unsafe extern "C" fn hipDeviceGetCacheConfig(config: *mut hipFuncCache_t) -> hipError_t {
    // SAFETY: the driver writes one number, and the caller passes a place for the answer.
    call(|cuda| unsafe {
        let mut found = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
        let status = (cuda.cuCtxGetCacheConfig)(&raw mut found);
        // Both vendors number them alike.
        config.write(hipFuncCache_t(found.0 as _));
        status
    })
}

/// `hipDeviceSetCacheConfig`.
pub(crate) unsafe extern "C" fn hipDeviceSetCacheConfig(config: hipFuncCache_t) -> hipError_t {
    // SAFETY: the call takes a number.
    call(|cuda| unsafe { (cuda.cuCtxSetCacheConfig)(CUfunc_cache(config.0 as _)) })
}
