//! Functions whose default stream is the thread's own (`…_spt`). Programs compiled with
//! `-fgpu-default-stream=per-thread` call them.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use hip_sys::{
    dim3, hipArray_const_t, hipArray_t, hipError_t, hipEvent_t, hipExtent, hipGraph_t, hipGraphExec_t,
    hipGraphNode_t, hipHostFn_t, hipMemcpy3DParms, hipMemcpyKind, hipPitchedPtr, hipStream_t,
    hipStreamCallback_t, hipStreamCaptureMode, hipStreamCaptureStatus,
};

use crate::api::table::table;
use crate::devices::stream::PER_THREAD;

/// The stream of a handle in these functions.
fn own(stream: hipStream_t) -> hipStream_t {
    if stream.is_null() { PER_THREAD as hipStream_t } else { stream }
}

/// Functions that take a stream, at `@`.
macro_rules! with_stream {
    ($($name:ident = $plain:ident($($before:ident: $before_type:ty,)* @ $(, $after:ident: $after_type:ty)*);)+) => {$(
        #[doc = concat!("`", stringify!($name), "`: [`hip_sys::Table::", stringify!($plain), "`] on the thread's stream.")]
        pub(crate) unsafe extern "C" fn $name(
            $($before: $before_type,)*
            stream: hipStream_t,
            $($after: $after_type,)*
        ) -> hipError_t {
            // SAFETY: the caller keeps the contract of the function.
            unsafe { (table().$plain)($($before,)* own(stream) $(, $after)*) }
        }
    )+};
}

/// Synchronous functions without a stream: they call the variant with a stream, and wait for it.
macro_rules! waiting {
    ($($name:ident = $plain:ident($($argument:ident: $type:ty),*);)+) => {$(
        #[doc = concat!("`", stringify!($name), "`: [`hip_sys::Table::", stringify!($plain), "`] on the thread's stream, and waits.")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type,)*) -> hipError_t {
            let stream = own(std::ptr::null_mut());
            // SAFETY: the caller keeps the contract of the function.
            match unsafe { (table().$plain)($($argument,)* stream) } {
                // SAFETY: the stream is the thread's.
                hipError_t::hipSuccess => unsafe { (table().hipStreamSynchronize)(stream) },
                code => code,
            }
        }
    )+};
}

with_stream! {
    hipEventRecord_spt = hipEventRecord(event: hipEvent_t, @);
    hipLaunchCooperativeKernel_spt = hipLaunchCooperativeKernel(
        stub: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared_bytes: c_uint,
        @
    );
    hipLaunchHostFunc_spt = hipLaunchHostFunc(@, function: hipHostFn_t, data: *mut c_void);
    hipLaunchKernel_spt = hipLaunchKernel(
        stub: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared_bytes: usize,
        @
    );
    hipGraphLaunch_spt = hipGraphLaunch(exec: hipGraphExec_t, @);
    hipMemcpy2DAsync_spt = hipMemcpy2DAsync(
        dst: *mut c_void,
        dst_pitch: usize,
        src: *const c_void,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: hipMemcpyKind,
        @
    );
    hipMemcpy2DFromArrayAsync_spt = hipMemcpy2DFromArrayAsync(
        dst: *mut c_void,
        pitch: usize,
        src: hipArray_const_t,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: hipMemcpyKind,
        @
    );
    hipMemcpy2DToArrayAsync_spt = hipMemcpy2DToArrayAsync(
        dst: hipArray_t,
        x: usize,
        y: usize,
        src: *const c_void,
        pitch: usize,
        width: usize,
        height: usize,
        kind: hipMemcpyKind,
        @
    );
    hipMemcpy3DAsync_spt = hipMemcpy3DAsync(parameters: *const hipMemcpy3DParms, @);
    hipMemcpyAsync_spt = hipMemcpyAsync(
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: hipMemcpyKind,
        @
    );
    hipMemcpyFromSymbolAsync_spt = hipMemcpyFromSymbolAsync(
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: hipMemcpyKind,
        @
    );
    hipMemcpyToSymbolAsync_spt = hipMemcpyToSymbolAsync(
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: hipMemcpyKind,
        @
    );
    hipMemset2DAsync_spt = hipMemset2DAsync(
        dst: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        @
    );
    hipMemset3DAsync_spt = hipMemset3DAsync(pointer: hipPitchedPtr, value: c_int, extent: hipExtent, @);
    hipMemsetAsync_spt = hipMemsetAsync(dst: *mut c_void, value: c_int, size: usize, @);
    hipStreamAddCallback_spt = hipStreamAddCallback(
        @,
        callback: hipStreamCallback_t,
        data: *mut c_void,
        flags: c_uint
    );
    hipStreamBeginCapture_spt = hipStreamBeginCapture(@, mode: hipStreamCaptureMode);
    hipStreamEndCapture_spt = hipStreamEndCapture(@, graph: *mut hipGraph_t);
    hipStreamGetCaptureInfo_spt = hipStreamGetCaptureInfo(
        @,
        status: *mut hipStreamCaptureStatus,
        id: *mut c_ulonglong
    );
    hipStreamGetCaptureInfo_v2_spt = hipStreamGetCaptureInfo_v2(
        @,
        status: *mut hipStreamCaptureStatus,
        id: *mut c_ulonglong,
        graph: *mut hipGraph_t,
        dependencies: *mut *const hipGraphNode_t,
        count: *mut usize
    );
    hipStreamGetFlags_spt = hipStreamGetFlags(@, flags: *mut c_uint);
    hipStreamGetPriority_spt = hipStreamGetPriority(@, priority: *mut c_int);
    hipStreamIsCapturing_spt = hipStreamIsCapturing(@, status: *mut hipStreamCaptureStatus);
    hipStreamQuery_spt = hipStreamQuery(@);
    hipStreamSynchronize_spt = hipStreamSynchronize(@);
    hipStreamWaitEvent_spt = hipStreamWaitEvent(@, event: hipEvent_t, flags: c_uint);
}

waiting! {
    hipMemcpy_spt = hipMemcpyAsync(dst: *mut c_void, src: *const c_void, size: usize, kind: hipMemcpyKind);
    hipMemcpy2D_spt = hipMemcpy2DAsync(
        dst: *mut c_void,
        dst_pitch: usize,
        src: *const c_void,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: hipMemcpyKind
    );
    hipMemcpy2DFromArray_spt = hipMemcpy2DFromArrayAsync(
        dst: *mut c_void,
        pitch: usize,
        src: hipArray_const_t,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: hipMemcpyKind
    );
    hipMemcpy2DToArray_spt = hipMemcpy2DToArrayAsync(
        dst: hipArray_t,
        x: usize,
        y: usize,
        src: *const c_void,
        pitch: usize,
        width: usize,
        height: usize,
        kind: hipMemcpyKind
    );
    hipMemcpy3D_spt = hipMemcpy3DAsync(parameters: *const hipMemcpy3DParms);
    hipMemcpyFromSymbol_spt = hipMemcpyFromSymbolAsync(
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: hipMemcpyKind
    );
    hipMemcpyToSymbol_spt = hipMemcpyToSymbolAsync(
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: hipMemcpyKind
    );
    hipMemset_spt = hipMemsetAsync(dst: *mut c_void, value: c_int, size: usize);
    hipMemset3D_spt = hipMemset3DAsync(pointer: hipPitchedPtr, value: c_int, extent: hipExtent);
    hipMemset2D_spt = hipMemset2DAsync(
        dst: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize
    );
}
