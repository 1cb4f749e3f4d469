//! Memory of graphics APIs.

use super::super::sys;
use super::{DriverError, doing};

/// Imports memory by a file descriptor, which the implementation then owns (`cuImportExternalMemory`).
#[cfg(unix)]
pub unsafe fn import_external_memory_opaque_fd(
    fd: std::os::fd::RawFd,
    size: u64,
) -> Result<sys::CUexternalMemory, DriverError> {
    // SAFETY: the caller vouches for the descriptor.
    unsafe { sys::import_file(fd, size) }.map_err(DriverError)
}

/// Destroys imported memory (`cuDestroyExternalMemory`).
pub unsafe fn destroy_external_memory(external_memory: sys::CUexternalMemory) -> Result<(), DriverError> {
    doing!(sys::cuDestroyExternalMemory(external_memory))
}

/// Maps a part of imported memory (`cuExternalMemoryGetMappedBuffer`).
pub unsafe fn get_mapped_buffer(
    external_memory: sys::CUexternalMemory,
    offset: u64,
    size: u64,
) -> Result<sys::CUdeviceptr, DriverError> {
    // SAFETY: the caller vouches for the memory.
    unsafe { sys::map_buffer(external_memory, offset, size) }.map_err(DriverError)
}
