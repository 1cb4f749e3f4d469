//! Memory of graphics APIs.

use std::ffi::c_ulonglong;

use hip_sys::{hipExternalMemoryBufferDesc, hipExternalMemoryHandleDesc, hipExternalMemoryHandleType};

use super::{CUdeviceptr, CUexternalMemory, functions, number_of};
use crate::backend::{Outcome, give, hip_call, table};

functions! {
    fn cuDestroyExternalMemory(extMem: CUexternalMemory) {
        hip_call!(table()?, hipDestroyExternalMemory(extMem.cast()))
    }
}

/// Imports memory by a file descriptor, which HIP owns if that succeeds.
///
/// # Safety
/// As `cuImportExternalMemory`.
pub(crate) unsafe fn import_file(descriptor: i32, size: c_ulonglong) -> Outcome<CUexternalMemory> {
    // SAFETY: the structure only has numbers and a union of numbers.
    let mut description: hipExternalMemoryHandleDesc = unsafe { std::mem::zeroed() };
    description.type_ = hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueFd;
    description.handle.fd = descriptor;
    description.size = size;
    let mut memory = std::ptr::null_mut();
    // SAFETY: the caller vouches for the descriptor; the result is writable.
    unsafe { hip_call!(table()?, hipImportExternalMemory(&raw mut memory, &raw const description))? };
    Ok(memory.cast())
}

/// Maps a part of imported memory.
///
/// # Safety
/// As `cuExternalMemoryGetMappedBuffer`.
pub(crate) unsafe fn map_buffer(memory: CUexternalMemory, offset: u64, size: u64) -> Outcome<CUdeviceptr> {
    // SAFETY: the structure only has numbers.
    let mut description: hipExternalMemoryBufferDesc = unsafe { std::mem::zeroed() };
    (description.offset, description.size) = (offset, size);
    let (mut place, mut address) = (std::ptr::null_mut(), 0);
    // SAFETY: the caller vouches for the memory; the results are writable.
    unsafe {
        hip_call!(
            table()?,
            hipExternalMemoryGetMappedBuffer(&raw mut place, memory.cast(), &raw const description)
        )?;
        give(&raw mut address, number_of(place))?;
    }
    Ok(address)
}
