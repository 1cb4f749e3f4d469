//! Events.

use std::ffi::c_uint;

use super::{CUevent, CUipcEventHandle, CUstream, functions};
use crate::backend::{hip_call, table, table_of_handle};

functions! {
    fn cuEventCreate(phEvent: *mut CUevent, Flags: c_uint) {
        hip_call!(table()?, hipEventCreateWithFlags(phEvent.cast(), Flags))
    }

    fn cuEventDestroy_v2(hEvent: CUevent) {
        hip_call!(table_of_handle()?, hipEventDestroy(hEvent.cast()))
    }

    fn cuEventRecord(hEvent: CUevent, hStream: CUstream) {
        hip_call!(table()?, hipEventRecord(hEvent.cast(), hStream.cast()))
    }

    fn cuEventRecordWithFlags(hEvent: CUevent, hStream: CUstream, flags: c_uint) {
        hip_call!(table()?, hipEventRecordWithFlags(hEvent.cast(), hStream.cast(), flags))
    }

    fn cuEventQuery(hEvent: CUevent) {
        hip_call!(table_of_handle()?, hipEventQuery(hEvent.cast()))
    }

    fn cuEventSynchronize(hEvent: CUevent) {
        hip_call!(table_of_handle()?, hipEventSynchronize(hEvent.cast()))
    }

    fn cuEventElapsedTime(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent) {
        hip_call!(table_of_handle()?, hipEventElapsedTime(pMilliseconds, hStart.cast(), hEnd.cast()))
    }

    fn cuEventElapsedTime_v2(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent) {
        cuEventElapsedTime(pMilliseconds, hStart, hEnd).result().map_err(|error| error.0)
    }

    fn cuIpcGetEventHandle(pHandle: *mut CUipcEventHandle, event: CUevent) {
        hip_call!(table()?, hipIpcGetEventHandle(pHandle.cast(), event.cast()))
    }
}
