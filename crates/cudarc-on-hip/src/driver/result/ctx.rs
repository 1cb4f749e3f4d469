//! Contexts (`cuCtx…`).

use std::ffi::c_uint;

use super::super::sys;
use super::{DriverError, doing, returning};

/// Creates a context in addition to the device's primary one (`cuCtxCreate_v3`).
pub unsafe fn create_v3(flags: c_uint, dev: sys::CUdevice) -> Result<sys::CUcontext, DriverError> {
    let none = std::ptr::null_mut();
    returning!(std::ptr::null_mut(), |place| sys::cuCtxCreate_v3(place, none, 0, flags, dev))
}

/// Creates a context in addition to the device's primary one (`cuCtxCreate_v4`).
pub unsafe fn create_v4(
    ctx_create_params: *mut sys::CUctxCreateParams,
    flags: c_uint,
    dev: sys::CUdevice,
) -> Result<sys::CUcontext, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuCtxCreate_v4(place, ctx_create_params, flags, dev))
}

/// Sets the calling thread's context (`cuCtxSetCurrent`).
pub unsafe fn set_current(ctx: sys::CUcontext) -> Result<(), DriverError> {
    doing!(sys::cuCtxSetCurrent(ctx))
}

/// The calling thread's context (`cuCtxGetCurrent`).
pub fn get_current() -> Result<Option<sys::CUcontext>, DriverError> {
    let current: Result<sys::CUcontext, DriverError> =
        returning!(std::ptr::null_mut(), |place| sys::cuCtxGetCurrent(place));
    current.map(|context| (!context.is_null()).then_some(context))
}

/// Sets how the calling thread's device waits (`cuCtxSetFlags`).
pub fn set_flags(flags: sys::CUctx_flags) -> Result<(), DriverError> {
    doing!(sys::cuCtxSetFlags(flags as c_uint))
}

/// Waits for all work of the calling thread's device (`cuCtxSynchronize`).
pub fn synchronize() -> Result<(), DriverError> {
    doing!(sys::cuCtxSynchronize())
}

/// The value of a limit (`cuCtxGetLimit`).
pub fn get_limit(limit: sys::CUlimit) -> Result<usize, DriverError> {
    returning!(0, |place| sys::cuCtxGetLimit(place, limit))
}

/// Sets a limit (`cuCtxSetLimit`).
pub fn set_limit(limit: sys::CUlimit, value: usize) -> Result<(), DriverError> {
    doing!(sys::cuCtxSetLimit(limit, value))
}

/// How memory is divided between caches and blocks (`cuCtxGetCacheConfig`).
pub fn get_cache_config() -> Result<sys::CUfunc_cache, DriverError> {
    returning!(sys::CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE, |place| sys::cuCtxGetCacheConfig(place))
}

/// Divides memory between caches and blocks, if the hardware allows it (`cuCtxSetCacheConfig`).
pub fn set_cache_config(config: sys::CUfunc_cache) -> Result<(), DriverError> {
    doing!(sys::cuCtxSetCacheConfig(config))
}
