//! Memory.

use std::ffi::{c_uchar, c_uint, c_void};

use super::super::sys;
use super::{DriverError, doing, returning};

/// Allocates memory in stream order (`cuMemAllocAsync`).
pub unsafe fn malloc_async(stream: sys::CUstream, num_bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
    returning!(0, |place| sys::cuMemAllocAsync(place, num_bytes, stream))
}

/// Allocates memory (`cuMemAlloc`).
pub unsafe fn malloc_sync(num_bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
    returning!(0, |place| sys::cuMemAlloc_v2(place, num_bytes))
}

/// Allocates memory that the host can also access (`cuMemAllocManaged`).
pub unsafe fn malloc_managed(
    num_bytes: usize,
    flags: sys::CUmemAttach_flags,
) -> Result<sys::CUdeviceptr, DriverError> {
    returning!(0, |place| sys::cuMemAllocManaged(place, num_bytes, flags as c_uint))
}

/// Allocates pinned host memory (`cuMemHostAlloc`).
pub unsafe fn malloc_host(num_bytes: usize, flags: c_uint) -> Result<*mut c_void, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuMemHostAlloc(place, num_bytes, flags))
}

/// Frees pinned host memory (`cuMemFreeHost`).
pub unsafe fn free_host(host_ptr: *mut c_void) -> Result<(), DriverError> {
    doing!(sys::cuMemFreeHost(host_ptr))
}

/// Advises how managed memory will be used (`cuMemAdvise`).
pub unsafe fn mem_advise(
    dptr: sys::CUdeviceptr,
    num_bytes: usize,
    advice: sys::CUmem_advise,
    location: sys::CUmemLocation,
) -> Result<(), DriverError> {
    doing!(sys::cuMemAdvise_v2(dptr, num_bytes, advice, location))
}

/// Moves managed memory to where it will be used (`cuMemPrefetchAsync`).
pub unsafe fn mem_prefetch_async(
    dptr: sys::CUdeviceptr,
    num_bytes: usize,
    location: sys::CUmemLocation,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    doing!(sys::cuMemPrefetchAsync_v2(dptr, num_bytes, location, 0, stream))
}

/// Frees memory in stream order (`cuMemFreeAsync`).
pub unsafe fn free_async(dptr: sys::CUdeviceptr, stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuMemFreeAsync(dptr, stream))
}

/// Frees memory (`cuMemFree`).
pub unsafe fn free_sync(dptr: sys::CUdeviceptr) -> Result<(), DriverError> {
    doing!(sys::cuMemFree_v2(dptr))
}

/// Frees memory (`cuMemFree`).
pub unsafe fn memory_free(device_ptr: sys::CUdeviceptr) -> Result<(), DriverError> {
    doing!(sys::cuMemFree_v2(device_ptr))
}

/// Fills memory with a byte, on a stream (`cuMemsetD8Async`).
pub unsafe fn memset_d8_async(
    dptr: sys::CUdeviceptr,
    uc: c_uchar,
    num_bytes: usize,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    doing!(sys::cuMemsetD8Async(dptr, uc, num_bytes, stream))
}

/// Fills memory with a byte (`cuMemsetD8`).
pub unsafe fn memset_d8_sync(
    dptr: sys::CUdeviceptr,
    uc: c_uchar,
    num_bytes: usize,
) -> Result<(), DriverError> {
    doing!(sys::cuMemsetD8_v2(dptr, uc, num_bytes))
}

/// Copies from the host, on a stream (`cuMemcpyHtoDAsync`). Memory that is not pinned has been read when this
/// returns.
pub unsafe fn memcpy_htod_async<T>(
    dst: sys::CUdeviceptr,
    src: &[T],
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyHtoDAsync_v2(dst, src.as_ptr().cast(), size_of_val(src), stream))
}

/// Copies from the host (`cuMemcpyHtoD`).
pub unsafe fn memcpy_htod_sync<T>(dst: sys::CUdeviceptr, src: &[T]) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyHtoD_v2(dst, src.as_ptr().cast(), size_of_val(src)))
}

/// Copies to the host, on a stream (`cuMemcpyDtoHAsync`). Memory that is not pinned has been written when
/// this returns.
pub unsafe fn memcpy_dtoh_async<T>(
    dst: &mut [T],
    src: sys::CUdeviceptr,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), src, size_of_val(dst), stream))
}

/// Copies to the host (`cuMemcpyDtoH`).
pub unsafe fn memcpy_dtoh_sync<T>(dst: &mut [T], src: sys::CUdeviceptr) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyDtoH_v2(dst.as_mut_ptr().cast(), src, size_of_val(dst)))
}

/// Copies within the device, on a stream (`cuMemcpyDtoDAsync`).
pub unsafe fn memcpy_dtod_async(
    dst: sys::CUdeviceptr,
    src: sys::CUdeviceptr,
    num_bytes: usize,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyDtoDAsync_v2(dst, src, num_bytes, stream))
}

/// Copies within the device (`cuMemcpyDtoD`).
pub unsafe fn memcpy_dtod_sync(
    dst: sys::CUdeviceptr,
    src: sys::CUdeviceptr,
    num_bytes: usize,
) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyDtoD_v2(dst, src, num_bytes))
}

/// Copies between devices, on a stream (`cuMemcpyPeerAsync`).
pub unsafe fn memcpy_peer_async(
    dst_ctx: sys::CUcontext,
    dst: sys::CUdeviceptr,
    src_ctx: sys::CUcontext,
    src: sys::CUdeviceptr,
    num_bytes: usize,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    doing!(sys::cuMemcpyPeerAsync(dst, dst_ctx, src, src_ctx, num_bytes, stream))
}

/// The free and the total memory of the device, in bytes (`cuMemGetInfo`).
pub fn mem_get_info() -> Result<(usize, usize), DriverError> {
    let (mut free, mut total) = (0, 0);
    doing!(sys::cuMemGetInfo_v2(&raw mut free, &raw mut total))?;
    Ok((free, total))
}
