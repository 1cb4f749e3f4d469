//! Addresses and the memory behind them, apart.

use std::ffi::{c_ulonglong, c_void};

use cuda_sys::{
    CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationHandleType,
    CUmemGenericAllocationHandle, CUresult,
};
use hip_sys::{
    hipError_t, hipMemAccessDesc, hipMemAllocationGranularity_flags, hipMemAllocationHandleType,
    hipMemAllocationProp, hipMemGenericAllocationHandle_t, hipMemLocation,
};

use super::convert::{self, address, place};
use crate::call::{same, steps};
use crate::runtime::check;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A handle: a number for CUDA, which HIP calls a pointer.
fn number(handle: hipMemGenericAllocationHandle_t) -> CUmemGenericAllocationHandle {
    handle.addr() as CUmemGenericAllocationHandle
}

/// `hipMemCreate`.
pub(crate) unsafe extern "C" fn hipMemCreate(
    handle: *mut hipMemGenericAllocationHandle_t,
    size: usize,
    properties: *const hipMemAllocationProp,
    flags: c_ulonglong,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or properties.
        let properties = convert::allocation(unsafe { properties.as_ref() }.ok_or(INVALID)?)?;
        // SAFETY: the caller passes a place of 64 bits; the properties are read during the call.
        check(unsafe { (cuda.cuMemCreate)(handle.cast(), size, &raw const properties, flags) })
    })
}

/// `hipMemGetAllocationGranularity`.
pub(crate) unsafe extern "C" fn hipMemGetAllocationGranularity(
    granularity: *mut usize,
    properties: *const hipMemAllocationProp,
    option: hipMemAllocationGranularity_flags,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or properties.
        let properties = convert::allocation(unsafe { properties.as_ref() }.ok_or(INVALID)?)?;
        let option = CUmemAllocationGranularity_flags(option.0 as _);
        // SAFETY: the caller passes a place; the properties are read during the call.
        check(unsafe { (cuda.cuMemGetAllocationGranularity)(granularity, &raw const properties, option) })
    })
}

/// `hipMemSetAccess`.
pub(crate) unsafe extern "C" fn hipMemSetAccess(
    pointer: *mut c_void,
    size: usize,
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
        // SAFETY: the caller vouches for the memory; the list is read during the call.
        check(unsafe { (cuda.cuMemSetAccess)(address(pointer), size, wanted.as_ptr(), count) })
    })
}

/// `hipMemGetAccess`.
pub(crate) unsafe extern "C" fn hipMemGetAccess(
    flags: *mut c_ulonglong,
    location: *const hipMemLocation,
    pointer: *mut c_void,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a location.
        let location = convert::location(*unsafe { location.as_ref() }.ok_or(INVALID)?);
        // SAFETY: the caller passes a place; the location is read during the call.
        check(unsafe { (cuda.cuMemGetAccess)(flags, &raw const location, address(pointer)) })
    })
}

same! {
    hipMemAddressReserve(pointer: *mut *mut c_void, size: usize, alignment: usize, wish: *mut c_void, flags: c_ulonglong)
        => cuMemAddressReserve(place(pointer), size, alignment, address(wish), flags);
    hipMemAddressFree(pointer: *mut c_void, size: usize) => cuMemAddressFree(address(pointer), size);
    hipMemMap(pointer: *mut c_void, size: usize, offset: usize, handle: hipMemGenericAllocationHandle_t, flags: c_ulonglong)
        => cuMemMap(address(pointer), size, offset, number(handle), flags);
    hipMemUnmap(pointer: *mut c_void, size: usize) => cuMemUnmap(address(pointer), size);
    hipMemRelease(handle: hipMemGenericAllocationHandle_t) => cuMemRelease(number(handle));
    hipMemExportToShareableHandle(
        shared: *mut c_void,
        handle: hipMemGenericAllocationHandle_t,
        kind: hipMemAllocationHandleType,
        flags: c_ulonglong,
    ) => cuMemExportToShareableHandle(shared, number(handle), CUmemAllocationHandleType(kind.0 as _), flags);
    hipMemImportFromShareableHandle(
        handle: *mut hipMemGenericAllocationHandle_t,
        shared: *mut c_void,
        kind: hipMemAllocationHandleType,
    ) => cuMemImportFromShareableHandle(handle.cast(), shared, CUmemAllocationHandleType(kind.0 as _));
}
