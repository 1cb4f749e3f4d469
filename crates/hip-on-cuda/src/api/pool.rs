//! Pools, and memory that is allocated in the order of a stream.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUmemAccess_flags, CUmemAccessDesc, CUmemPool_attribute, CUresult};
use hip_sys::{
    hipError_t, hipMemAccessDesc, hipMemAccessFlags, hipMemLocation, hipMemPool_t, hipMemPoolAttr,
    hipMemPoolProps, hipStream_t,
};

use super::convert::{self, address, place};
use crate::call::{call, failed, same, steps};
use crate::runtime::check;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// `hipMallocAsync`: of no bytes, null.
pub(crate) unsafe extern "C" fn hipMallocAsync(
    pointer: *mut *mut c_void,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    steps(|cuda| {
        if bytes == 0 {
            // SAFETY: the caller passes null or a place.
            *unsafe { pointer.as_mut() }.ok_or(INVALID)? = null_mut();
            return Ok(());
        }
        // SAFETY: the stream is the caller's, who passes a place.
        check(unsafe { (cuda.cuMemAllocAsync)(place(pointer), bytes, stream.cast()) })
    })
}

/// `hipFreeAsync`.
pub(crate) unsafe extern "C" fn hipFreeAsync(pointer: *mut c_void, stream: hipStream_t) -> hipError_t {
    if pointer.is_null() {
        return hipError_t::hipSuccess;
    }
    // SAFETY: the caller vouches for the memory and the stream.
    call(|cuda| unsafe { (cuda.cuMemFreeAsync)(address(pointer), stream.cast()) })
}

/// `hipMemPoolCreate`.
pub(crate) unsafe extern "C" fn hipMemPoolCreate(
    pool: *mut hipMemPool_t,
    properties: *const hipMemPoolProps,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or properties.
        let properties = convert::pool(unsafe { properties.as_ref() }.ok_or(INVALID)?)?;
        // SAFETY: the caller passes a place; the properties are read during the call.
        check(unsafe { (cuda.cuMemPoolCreate)(pool.cast(), &raw const properties) })
    })
}

/// An attribute that CUDA has with the same number and type.
fn attribute(of: hipMemPoolAttr) -> Option<CUmemPool_attribute> {
    (1..=8).contains(&of.0).then_some(CUmemPool_attribute(of.0 as _))
}

/// `hipMemPoolGetAttribute`.
pub(crate) unsafe extern "C" fn hipMemPoolGetAttribute(
    pool: hipMemPool_t,
    which: hipMemPoolAttr,
    value: *mut c_void,
) -> hipError_t {
    let Some(which) = attribute(which) else { return failed(hipError_t::hipErrorInvalidValue) };
    // SAFETY: the pool is the caller's, who passes a place of the attribute's type.
    call(|cuda| unsafe { (cuda.cuMemPoolGetAttribute)(pool.cast(), which, value) })
}

/// `hipMemPoolSetAttribute`.
pub(crate) unsafe extern "C" fn hipMemPoolSetAttribute(
    pool: hipMemPool_t,
    which: hipMemPoolAttr,
    value: *mut c_void,
) -> hipError_t {
    let Some(which) = attribute(which) else { return failed(hipError_t::hipErrorInvalidValue) };
    // SAFETY: the pool is the caller's, who passes a value of the attribute's type.
    call(|cuda| unsafe { (cuda.cuMemPoolSetAttribute)(pool.cast(), which, value) })
}

/// `hipMemPoolSetAccess`.
pub(crate) unsafe extern "C" fn hipMemPoolSetAccess(
    pool: hipMemPool_t,
    wanted: *const hipMemAccessDesc,
    count: usize,
) -> hipError_t {
    steps(|cuda| {
        if wanted.is_null() || !wanted.is_aligned() {
            return Err(INVALID);
        }
        // SAFETY: the caller passes so many.
        let wanted = unsafe { std::slice::from_raw_parts(wanted, count) };
        let wanted: Vec<CUmemAccessDesc> = wanted.iter().map(convert::access).collect();
        // SAFETY: the pool is the caller's; the list is read during the call.
        check(unsafe { (cuda.cuMemPoolSetAccess)(pool.cast(), wanted.as_ptr(), count) })
    })
}

/// `hipMemPoolGetAccess`.
pub(crate) unsafe extern "C" fn hipMemPoolGetAccess(
    flags: *mut hipMemAccessFlags,
    pool: hipMemPool_t,
    location: *mut hipMemLocation,
) -> hipError_t {
    steps(|cuda| {
        let mut found = CUmemAccess_flags(0);
        // SAFETY: the caller passes null or a location.
        let mut location = convert::location(*unsafe { location.as_ref() }.ok_or(INVALID)?);
        // SAFETY: the pool is the caller's, and the result a place to write to.
        check(unsafe { (cuda.cuMemPoolGetAccess)(&raw mut found, pool.cast(), &raw mut location) })?;
        // SAFETY: the caller passes null or a place.
        *unsafe { flags.as_mut() }.ok_or(INVALID)? = hipMemAccessFlags(found.0 as _);
        Ok(())
    })
}

same! {
    hipMallocFromPoolAsync(pointer: *mut *mut c_void, bytes: usize, pool: hipMemPool_t, stream: hipStream_t)
        => cuMemAllocFromPoolAsync(place(pointer), bytes, pool.cast(), stream.cast());
    hipMemPoolDestroy(pool: hipMemPool_t) => cuMemPoolDestroy(pool.cast());
    hipMemPoolTrimTo(pool: hipMemPool_t, keep: usize) => cuMemPoolTrimTo(pool.cast(), keep);
    hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, device: c_int) => cuDeviceGetDefaultMemPool(pool.cast(), device);
    hipDeviceGetMemPool(pool: *mut hipMemPool_t, device: c_int) => cuDeviceGetMemPool(pool.cast(), device);
    hipDeviceSetMemPool(device: c_int, pool: hipMemPool_t) => cuDeviceSetMemPool(device, pool.cast());
}
