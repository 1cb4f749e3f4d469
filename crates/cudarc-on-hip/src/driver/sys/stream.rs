//! Streams, and capturing them.

use std::ffi::{c_int, c_uint, c_void};

use hip_sys::{hipStreamCaptureMode, hipStreamCaptureStatus};

use super::{
    CUdeviceptr, CUevent, CUgraph, CUgraphNode, CUhostFn, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus, address, cuuint64_t, functions,
};
use crate::backend::{Outcome, give, hip_call, table, table_of_handle};

/// Handles up to this one are the default streams: null, `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const LAST_DEFAULT_STREAM: usize = 2;

functions! {
    fn cuStreamCreate(phStream: *mut CUstream, Flags: c_uint) {
        hip_call!(table()?, hipStreamCreateWithFlags(phStream.cast(), Flags))
    }

    fn cuStreamCreateWithPriority(phStream: *mut CUstream, flags: c_uint, priority: c_int) {
        hip_call!(table()?, hipStreamCreateWithPriority(phStream.cast(), flags, priority))
    }

    fn cuStreamDestroy_v2(hStream: CUstream) {
        hip_call!(table_of(hStream)?, hipStreamDestroy(hStream.cast()))
    }

    fn cuStreamSynchronize(hStream: CUstream) {
        let table = table_of(hStream)?;
        let outcome = hip_call!(table, hipStreamSynchronize(hStream.cast()));
        if outcome.is_err() {
            log_fault(table, hStream);
        }
        outcome
    }

    fn cuStreamQuery(hStream: CUstream) {
        hip_call!(table_of(hStream)?, hipStreamQuery(hStream.cast()))
    }

    fn cuStreamGetFlags(hStream: CUstream, flags: *mut c_uint) {
        hip_call!(table_of(hStream)?, hipStreamGetFlags(hStream.cast(), flags))
    }

    fn cuStreamGetPriority(hStream: CUstream, priority: *mut c_int) {
        hip_call!(table_of(hStream)?, hipStreamGetPriority(hStream.cast(), priority))
    }

    fn cuStreamWaitEvent(hStream: CUstream, hEvent: CUevent, Flags: c_uint) {
        hip_call!(table_of(hStream)?, hipStreamWaitEvent(hStream.cast(), hEvent.cast(), Flags))
    }

    fn cuStreamAttachMemAsync(hStream: CUstream, dptr: CUdeviceptr, length: usize, flags: c_uint) {
        hip_call!(table()?, hipStreamAttachMemAsync(hStream.cast(), address(dptr), length, flags))
    }

    fn cuLaunchHostFunc(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void) {
        hip_call!(table()?, hipLaunchHostFunc(hStream.cast(), fn_, userData))
    }

    fn cuStreamBeginCapture_v2(hStream: CUstream, mode: CUstreamCaptureMode) {
        hip_call!(table()?, hipStreamBeginCapture(hStream.cast(), hipStreamCaptureMode(mode as c_uint)))
    }

    fn cuStreamEndCapture(hStream: CUstream, phGraph: *mut CUgraph) {
        hip_call!(table()?, hipStreamEndCapture(hStream.cast(), phGraph.cast()))
    }

    fn cuStreamIsCapturing(hStream: CUstream, captureStatus: *mut CUstreamCaptureStatus) {
        let mut value = hipStreamCaptureStatus(0);
        hip_call!(table()?, hipStreamIsCapturing(hStream.cast(), &raw mut value))?;
        give(captureStatus, capture_status(value)?)
    }

    fn cuStreamGetCaptureInfo_v2(
        hStream: CUstream,
        captureStatus_out: *mut CUstreamCaptureStatus,
        id_out: *mut cuuint64_t,
        graph_out: *mut CUgraph,
        dependencies_out: *mut *const CUgraphNode,
        numDependencies_out: *mut usize,
    ) {
        let mut value = hipStreamCaptureStatus(0);
        hip_call!(
            table()?,
            hipStreamGetCaptureInfo_v2(
                hStream.cast(),
                &raw mut value,
                id_out.cast(),
                graph_out.cast(),
                dependencies_out.cast(),
                numDependencies_out,
            )
        )?;
        give(captureStatus_out, capture_status(value)?)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) {
        let wanted = *mode.as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let mut value = hipStreamCaptureMode(wanted as c_uint);
        hip_call!(table()?, hipThreadExchangeStreamCaptureMode(&raw mut value))?;
        let before = CUstreamCaptureMode::from_code(i64::from(value.0));
        give(mode, before.ok_or(CUresult::CUDA_ERROR_UNKNOWN)?)
    }
}

/// The table for a call on a stream. For default streams, the context determines the device.
fn table_of(stream: CUstream) -> Outcome<&'static hip_sys::Table> {
    if stream.addr() <= LAST_DEFAULT_STREAM { table() } else { table_of_handle() }
}

fn capture_status(status: hipStreamCaptureStatus) -> Outcome<CUstreamCaptureStatus> {
    CUstreamCaptureStatus::from_code(i64::from(status.0)).ok_or(CUresult::CUDA_ERROR_UNKNOWN)
}

/// Logs what the implementation knows about a fault of a stream.
fn log_fault(table: &hip_sys::Table, stream: CUstream) {
    let Some(report) = table.ext.stream_fault_report else { return };
    let mut text = vec![0_u8; 16 << 10];
    // SAFETY: the buffer has that many bytes, and the stream is one that the caller has just waited for.
    let length = unsafe { report(stream.cast(), text.as_mut_ptr().cast(), text.len()) };
    if length > 0 {
        text.truncate(length.min(text.len() - 1));
        tracing::error!("{}", String::from_utf8_lossy(&text));
    }
}
