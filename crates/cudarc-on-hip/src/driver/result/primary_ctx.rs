//! The primary contexts of devices (`cuDevicePrimaryCtx…`).

use super::super::sys;
use super::{DriverError, doing, returning};

/// The device's primary context (`cuDevicePrimaryCtxRetain`).
pub unsafe fn retain(dev: sys::CUdevice) -> Result<sys::CUcontext, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuDevicePrimaryCtxRetain(place, dev))
}

/// Ends a use of the device's primary context (`cuDevicePrimaryCtxRelease`).
pub unsafe fn release(dev: sys::CUdevice) -> Result<(), DriverError> {
    doing!(sys::cuDevicePrimaryCtxRelease_v2(dev))
}
