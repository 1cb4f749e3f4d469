//! Memory pools (`cuMemPool…`).

use std::ffi::c_void;

use super::super::sys;
use super::{DriverError, doing, returning};

/// Creates a pool (`cuMemPoolCreate`).
pub unsafe fn create(pool_props: *const sys::CUmemPoolProps) -> Result<sys::CUmemoryPool, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuMemPoolCreate(place, pool_props))
}

/// Destroys a pool (`cuMemPoolDestroy`).
pub unsafe fn destroy(pool: sys::CUmemoryPool) -> Result<(), DriverError> {
    doing!(sys::cuMemPoolDestroy(pool))
}

/// Releases unused memory (`cuMemPoolTrimTo`).
pub unsafe fn trim_to(pool: sys::CUmemoryPool, min_bytes_to_keep: usize) -> Result<(), DriverError> {
    doing!(sys::cuMemPoolTrimTo(pool, min_bytes_to_keep))
}

/// An attribute of a pool (`cuMemPoolGetAttribute`).
pub unsafe fn get_attribute(
    pool: sys::CUmemoryPool,
    attr: sys::CUmemPool_attribute,
    value: *mut c_void,
) -> Result<(), DriverError> {
    doing!(sys::cuMemPoolGetAttribute(pool, attr, value))
}

/// Sets an attribute of a pool (`cuMemPoolSetAttribute`).
pub unsafe fn set_attribute(
    pool: sys::CUmemoryPool,
    attr: sys::CUmemPool_attribute,
    value: *mut c_void,
) -> Result<(), DriverError> {
    doing!(sys::cuMemPoolSetAttribute(pool, attr, value))
}

/// Allocates memory of a pool in stream order (`cuMemAllocFromPoolAsync`).
pub unsafe fn alloc_async(
    pool: sys::CUmemoryPool,
    num_bytes: usize,
    stream: sys::CUstream,
) -> Result<sys::CUdeviceptr, DriverError> {
    returning!(0, |place| sys::cuMemAllocFromPoolAsync(place, num_bytes, pool, stream))
}
