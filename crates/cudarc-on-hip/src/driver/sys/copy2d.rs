//! Copies of rows that lie a pitch apart.

use std::ffi::c_void;

use hip_sys::{hip_Memcpy2D, hipMemoryType};

use super::{CUarray, CUdeviceptr, CUmemorytype, CUresult, CUstream, address, functions};
use crate::backend::{Outcome, hip_call, table};

#[repr(C)]
#[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
pub struct CUDA_MEMCPY2D_st {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}
pub type CUDA_MEMCPY2D = CUDA_MEMCPY2D_v2;
pub type CUDA_MEMCPY2D_v2 = CUDA_MEMCPY2D_st;

functions! {
    fn cuMemcpy2D_v2(pCopy: *const CUDA_MEMCPY2D) {
        let (table, copy) = (table()?, rows(pCopy)?);
        hip_call!(table, hipMemcpyParam2D(&raw const copy))
    }

    fn cuMemcpy2DUnaligned_v2(pCopy: *const CUDA_MEMCPY2D) {
        let (table, copy) = (table()?, rows(pCopy)?);
        hip_call!(table, hipDrvMemcpy2DUnaligned(&raw const copy))
    }

    /// Like CUDA's and HIP's function, it no longer uses pageable memory when it returns.
    fn cuMemcpy2DAsync_v2(pCopy: *const CUDA_MEMCPY2D, hStream: CUstream) {
        let (table, copy) = (table()?, rows(pCopy)?);
        hip_call!(table, hipMemcpyParam2DAsync(&raw const copy, hStream.cast()))
    }
}

/// A copy as HIP describes it.
///
/// # Safety
/// The pointer must be null or lead to a description.
unsafe fn rows(copy: *const CUDA_MEMCPY2D) -> Outcome<hip_Memcpy2D> {
    // SAFETY: as the caller says.
    let copy = unsafe { copy.as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    Ok(hip_Memcpy2D {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcMemoryType: memory_type(copy.srcMemoryType)?,
        srcHost: copy.srcHost,
        srcDevice: address(copy.srcDevice),
        srcArray: std::ptr::null_mut(),
        srcPitch: copy.srcPitch,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstMemoryType: memory_type(copy.dstMemoryType)?,
        dstHost: copy.dstHost,
        dstDevice: address(copy.dstDevice),
        dstArray: std::ptr::null_mut(),
        dstPitch: copy.dstPitch,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
    })
}

/// HIP's number for where rows are. There are no functions for arrays here, so none can be copied.
fn memory_type(of: CUmemorytype) -> Outcome<hipMemoryType> {
    match of {
        CUmemorytype::CU_MEMORYTYPE_HOST => Ok(hipMemoryType::hipMemoryTypeHost),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => Ok(hipMemoryType::hipMemoryTypeDevice),
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => Ok(hipMemoryType::hipMemoryTypeUnified),
        CUmemorytype::CU_MEMORYTYPE_ARRAY => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}
