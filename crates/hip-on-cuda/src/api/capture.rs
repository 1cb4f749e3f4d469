//! Graphs from the work of streams.

use std::ffi::c_ulonglong;

use cuda_sys::CUstreamCaptureMode;
use hip_sys::{
    hipError_t, hipGraph_t, hipGraphNode_t, hipStream_t, hipStreamCaptureMode, hipStreamCaptureStatus,
};

use crate::call::{call, same};

/// `hipStreamGetCaptureInfo_v2`: the driver of CUDA 13 has the older form, too.
pub(crate) unsafe extern "C" fn hipStreamGetCaptureInfo_v2(
    stream: hipStream_t,
    status: *mut hipStreamCaptureStatus,
    id: *mut c_ulonglong,
    graph: *mut hipGraph_t,
    dependencies: *mut *const hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    // SAFETY: the stream is the caller's, who passes null or places.
    call(|cuda| unsafe {
        (cuda.cuStreamGetCaptureInfo_v2)(
            stream.cast(),
            status.cast(),
            id.cast(),
            graph.cast(),
            dependencies.cast(),
            count,
        )
    })
}

/// `hipStreamGetCaptureInfo`.
pub(crate) unsafe extern "C" fn hipStreamGetCaptureInfo(
    stream: hipStream_t,
    status: *mut hipStreamCaptureStatus,
    id: *mut c_ulonglong,
) -> hipError_t {
    let (graph, dependencies, count) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: as there.
    unsafe { hipStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count) }
}

same! {
    hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode)
        => cuStreamBeginCapture_v2(stream.cast(), CUstreamCaptureMode(mode.0 as _));
    hipStreamEndCapture(stream: hipStream_t, graph: *mut hipGraph_t) => cuStreamEndCapture(stream.cast(), graph.cast());
    hipStreamIsCapturing(stream: hipStream_t, status: *mut hipStreamCaptureStatus)
        => cuStreamIsCapturing(stream.cast(), status.cast());
    hipThreadExchangeStreamCaptureMode(mode: *mut hipStreamCaptureMode)
        => cuThreadExchangeStreamCaptureMode(mode.cast());
}
