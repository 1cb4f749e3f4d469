//! Events (`cuEvent…`).

use std::ffi::c_uint;

use super::super::sys;
use super::{DriverError, doing, returning};

/// Creates an event (`cuEventCreate`).
pub fn create(flags: sys::CUevent_flags) -> Result<sys::CUevent, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuEventCreate(place, flags as c_uint))
}

/// Records the work enqueued on a stream so far (`cuEventRecord`).
pub unsafe fn record(event: sys::CUevent, stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuEventRecord(event, stream))
}

/// The milliseconds between two events (`cuEventElapsedTime`).
pub unsafe fn elapsed(start: sys::CUevent, end: sys::CUevent) -> Result<f32, DriverError> {
    returning!(0.0, |place| sys::cuEventElapsedTime_v2(place, start, end))
}

/// The error `CUDA_ERROR_NOT_READY` until the recorded work is done (`cuEventQuery`).
pub unsafe fn query(event: sys::CUevent) -> Result<(), DriverError> {
    doing!(sys::cuEventQuery(event))
}

/// Waits until the recorded work is done (`cuEventSynchronize`).
pub unsafe fn synchronize(event: sys::CUevent) -> Result<(), DriverError> {
    doing!(sys::cuEventSynchronize(event))
}

/// Destroys an event (`cuEventDestroy`).
pub unsafe fn destroy(event: sys::CUevent) -> Result<(), DriverError> {
    doing!(sys::cuEventDestroy_v2(event))
}
