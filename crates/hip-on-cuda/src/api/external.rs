//! Memory of other drivers.

use std::ffi::c_void;

use cuda_sys::{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, CUexternalMemoryHandleType, CUresult,
};
use hip_sys::{hipError_t, hipExternalMemory_t, hipExternalMemoryBufferDesc, hipExternalMemoryHandleDesc};

use super::convert::place;
use crate::call::{same, steps};
use crate::runtime::check;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// `hipImportExternalMemory`: of a file descriptor.
pub(crate) unsafe extern "C" fn hipImportExternalMemory(
    memory: *mut hipExternalMemory_t,
    description: *const hipExternalMemoryHandleDesc,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a description.
        let from = unsafe { description.as_ref() }.ok_or(INVALID)?;
        if from.type_ != hip_sys::hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueFd {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        // SAFETY: the structure is made of numbers and a union of pointers and numbers, for which zeroes are
        // valid.
        let mut to: CUDA_EXTERNAL_MEMORY_HANDLE_DESC = unsafe { std::mem::zeroed() };
        to.type_ = CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        // SAFETY: the handle of this type is a file descriptor.
        to.handle.fd = unsafe { from.handle.fd };
        (to.size, to.flags) = (from.size, from.flags);
        // SAFETY: the caller passes a place; the description is read during the call.
        check(unsafe { (cuda.cuImportExternalMemory)(memory.cast(), &raw const to) })
    })
}

/// `hipExternalMemoryGetMappedBuffer`.
pub(crate) unsafe extern "C" fn hipExternalMemoryGetMappedBuffer(
    pointer: *mut *mut c_void,
    memory: hipExternalMemory_t,
    description: *const hipExternalMemoryBufferDesc,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a description.
        let from = unsafe { description.as_ref() }.ok_or(INVALID)?;
        // SAFETY: the structure is made of numbers.
        let mut to: CUDA_EXTERNAL_MEMORY_BUFFER_DESC = unsafe { std::mem::zeroed() };
        (to.offset, to.size, to.flags) = (from.offset, from.size, from.flags);
        // SAFETY: the memory is the caller's, who passes a place.
        check(unsafe { (cuda.cuExternalMemoryGetMappedBuffer)(place(pointer), memory.cast(), &raw const to) })
    })
}

same! {
    hipDestroyExternalMemory(memory: hipExternalMemory_t) => cuDestroyExternalMemory(memory.cast());
}
