//! Streams (`cuStream…`).

use std::ffi::{c_uint, c_void};

use super::super::sys;
use super::{DriverError, doing, returning};

/// How a stream relates to the default one.
pub enum StreamKind {
    /// Its work and that of the default stream wait for each other.
    Default,
    /// It is independent of the default stream.
    NonBlocking,
}

impl StreamKind {
    fn flags(self) -> c_uint {
        let flags = match self {
            Self::Default => sys::CUstream_flags::CU_STREAM_DEFAULT,
            Self::NonBlocking => sys::CUstream_flags::CU_STREAM_NON_BLOCKING,
        };
        flags as c_uint
    }
}

/// The default stream.
pub fn null() -> sys::CUstream {
    std::ptr::null_mut()
}

/// Creates a stream (`cuStreamCreate`).
pub fn create(kind: StreamKind) -> Result<sys::CUstream, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuStreamCreate(place, kind.flags()))
}

/// Creates a stream with a priority; lower numbers mean higher priority (`cuStreamCreateWithPriority`).
pub fn create_with_priority(kind: StreamKind, priority: i32) -> Result<sys::CUstream, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuStreamCreateWithPriority(place, kind.flags(), priority))
}

/// The lowest and the highest priority (`cuCtxGetStreamPriorityRange`).
pub fn get_priority_range() -> Result<(i32, i32), DriverError> {
    let (mut least, mut greatest) = (0, 0);
    doing!(sys::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest))?;
    Ok((least, greatest))
}

/// Waits for the stream's work (`cuStreamSynchronize`).
pub unsafe fn synchronize(stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuStreamSynchronize(stream))
}

/// Destroys a stream once its work is done (`cuStreamDestroy`).
pub unsafe fn destroy(stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuStreamDestroy_v2(stream))
}

/// Makes later work on a stream wait for an event (`cuStreamWaitEvent`).
pub unsafe fn wait_event(
    stream: sys::CUstream,
    event: sys::CUevent,
    flags: sys::CUevent_wait_flags,
) -> Result<(), DriverError> {
    doing!(sys::cuStreamWaitEvent(stream, event, flags as c_uint))
}

/// Sets the stream that uses managed memory (`cuStreamAttachMemAsync`).
pub unsafe fn attach_mem_async(
    stream: sys::CUstream,
    dptr: sys::CUdeviceptr,
    num_bytes: usize,
    flags: sys::CUmemAttach_flags,
) -> Result<(), DriverError> {
    doing!(sys::cuStreamAttachMemAsync(stream, dptr, num_bytes, flags as c_uint))
}

/// Calls a host function in stream order (`cuLaunchHostFunc`).
pub unsafe fn launch_host_function(
    stream: sys::CUstream,
    func: unsafe extern "C" fn(*mut c_void),
    arg: *mut c_void,
) -> Result<(), DriverError> {
    doing!(sys::cuLaunchHostFunc(stream, Some(func), arg))
}

/// Makes a stream record its work as a graph (`cuStreamBeginCapture`).
pub unsafe fn begin_capture(
    stream: sys::CUstream,
    mode: sys::CUstreamCaptureMode,
) -> Result<(), DriverError> {
    doing!(sys::cuStreamBeginCapture_v2(stream, mode))
}

/// Ends recording and returns the graph (`cuStreamEndCapture`).
pub unsafe fn end_capture(stream: sys::CUstream) -> Result<sys::CUgraph, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuStreamEndCapture(stream, place))
}

/// Whether a stream records (`cuStreamIsCapturing`).
pub unsafe fn is_capturing(stream: sys::CUstream) -> Result<sys::CUstreamCaptureStatus, DriverError> {
    let none = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    returning!(none, |place| sys::cuStreamIsCapturing(stream, place))
}
