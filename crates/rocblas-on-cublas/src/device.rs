//! Device memory by the driver's own functions.

use std::ffi::c_void;

use cuda_sys::{CUDA_MEMCPY2D, CUdeviceptr, CUmemorytype, CUresult, CUstream, CUstreamCaptureStatus, Table};

/// A matrix in device memory, by columns: its address, and the bytes from one column to the next.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) address: *const c_void,
    pub(crate) pitch: usize,
}

/// Reads device memory in the order of a stream, and waits for it. No if that is impossible, as while the
/// stream is captured.
///
/// # Safety
/// As many bytes are in device memory at the address, and the stream belongs to the current context.
pub(crate) unsafe fn read(stream: CUstream, from: *const c_void, to: &mut [u8]) -> bool {
    let Ok(cuda) = Table::load() else { return false };
    let mut capture = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    // SAFETY: the stream is the caller's, and the others are places to write to, until the stream is idle.
    unsafe {
        (cuda.cuStreamIsCapturing)(stream, &raw mut capture) == CUresult::CUDA_SUCCESS
            && capture == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
            && (cuda.cuMemcpyDtoHAsync_v2)(
                to.as_mut_ptr().cast(),
                from.addr() as CUdeviceptr,
                to.len(),
                stream,
            ) == CUresult::CUDA_SUCCESS
            && (cuda.cuStreamSynchronize)(stream) == CUresult::CUDA_SUCCESS
    }
}

/// Copies the columns of a matrix, `width` bytes of each, in the order of a stream. No if the driver refuses.
///
/// # Safety
/// Both are matrices of that size in device memory, which do not overlap, and the stream belongs to the
/// current context.
pub(crate) unsafe fn copy(
    stream: CUstream,
    [from, to]: [Columns; 2],
    (width, columns): (usize, usize),
) -> bool {
    let Ok(cuda) = Table::load() else { return false };
    let copy = CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: from.address.addr() as CUdeviceptr,
        srcPitch: from.pitch,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: to.address.addr() as CUdeviceptr,
        dstPitch: to.pitch,
        WidthInBytes: width,
        Height: columns,
        // SAFETY: all fields are numbers and pointers, which may be zero.
        ..unsafe { std::mem::zeroed() }
    };
    // SAFETY: the caller's promise.
    unsafe { (cuda.cuMemcpy2DAsync_v2)(&raw const copy, stream) == CUresult::CUDA_SUCCESS }
}
