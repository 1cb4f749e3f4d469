//! Memory pools.

use std::ffi::{c_int, c_uint, c_void};

use hip_sys::{
    hipMemAllocationHandleType, hipMemAllocationType, hipMemLocation, hipMemLocationType, hipMemPoolAttr,
    hipMemPoolProps,
};

use super::{
    CUdeviceptr, CUmemAllocationType, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool,
    CUresult, CUstream, functions, number_of,
};
use crate::backend::{Outcome, backend, give, hip_call, table};

functions! {
    fn cuMemPoolCreate(pool: *mut CUmemoryPool, poolProps: *const CUmemPoolProps) {
        let props = poolProps.as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let is_device = props.location.type_ == CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        if props.allocType != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED || !is_device {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        let device = backend()?.device(props.location.id)?;
        let props = hipMemPoolProps {
            allocType: hipMemAllocationType::hipMemAllocationTypePinned,
            // HIP and CUDA use the same numbers for these.
            handleTypes: hipMemAllocationHandleType(props.handleTypes.0),
            location: hipMemLocation {
                type_: hipMemLocationType::hipMemLocationTypeDevice,
                id: device.ordinal() as c_int,
            },
            win32SecurityAttributes: props.win32SecurityAttributes,
            maxSize: props.maxSize,
            reserved: [0; 56],
        };
        hip_call!(table()?, hipMemPoolCreate(pool.cast(), &raw const props))
    }

    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        hip_call!(table()?, hipMemPoolDestroy(pool.cast()))
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, minBytesToKeep: usize) {
        hip_call!(table()?, hipMemPoolTrimTo(pool.cast(), minBytesToKeep))
    }

    fn cuMemPoolGetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void) {
        hip_call!(table()?, hipMemPoolGetAttribute(pool.cast(), attribute_of(attr)?, value))
    }

    fn cuMemPoolSetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void) {
        hip_call!(table()?, hipMemPoolSetAttribute(pool.cast(), attribute_of(attr)?, value))
    }

    fn cuMemAllocFromPoolAsync(
        dptr: *mut CUdeviceptr,
        bytesize: usize,
        pool: CUmemoryPool,
        hStream: CUstream,
    ) {
        let mut place = std::ptr::null_mut();
        hip_call!(table()?, hipMallocFromPoolAsync(&raw mut place, bytesize, pool.cast(), hStream.cast()))?;
        give(dptr, number_of(place))
    }
}

/// Where HIP has these, their numbers are CUDA's.
fn attribute_of(attribute: CUmemPool_attribute) -> Outcome<hipMemPoolAttr> {
    match attribute as c_uint {
        number @ 1..=8 => Ok(hipMemPoolAttr(number)),
        _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}
