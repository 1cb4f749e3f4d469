//! Memory of other drivers: `hipImportExternalMemory` and similar functions.

use std::ffi::c_void;
use std::os::fd::{FromRawFd, OwnedFd};

use hip_sys::{
    hipError_t, hipExternalMemory_t, hipExternalMemoryBufferDesc, hipExternalMemoryDedicated,
    hipExternalMemoryHandleDesc, hipExternalMemoryHandleType,
};

use crate::caller;
use crate::devices::device::current_device;
use crate::error::entry;
use crate::graph;
use crate::memory::external;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipImportExternalMemory`: memory behind a file descriptor, for the current device. On success HIP takes
/// the descriptor and closes it; after an error it still belongs to the caller. `size` is the size requested
/// from the other driver, or less: kernels on a virtual GPU can access exactly this much.
///
/// `hipErrorInvalidValue` for a descriptor without memory or with less memory, `hipErrorNotSupported` for
/// handles of Windows and NvSciBuf.
pub(crate) unsafe extern "C" fn hipImportExternalMemory(
    out: *mut hipExternalMemory_t,
    description: *const hipExternalMemoryHandleDesc,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        // SAFETY: the caller passes null or valid places.
        let (out, description) = unsafe { (caller::place(out)?, caller::value(description)?) };
        let size = usize::try_from(description.size).map_err(|_| INVALID_VALUE)?;
        if size == 0 || description.flags & !hipExternalMemoryDedicated != 0 {
            return Err(INVALID_VALUE);
        }
        match description.type_ {
            hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueFd => {}
            other if other.name().is_some() => return Err(hipError_t::hipErrorNotSupported),
            _ => return Err(INVALID_VALUE),
        }
        // SAFETY: with this type, the handle is a descriptor; the other members' first bytes may be read as a
        // number, too.
        let descriptor = unsafe { description.handle.fd };
        if descriptor < 0 {
            return Err(INVALID_VALUE);
        }
        let handle = external::import(runtime, current_device(runtime)?, descriptor, size)?;
        *out = handle as hipExternalMemory_t;
        // SAFETY: the descriptor is open, as it could be imported, and the caller gives it away with that.
        drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        Ok(())
    })
}

/// `hipExternalMemoryGetMappedBuffer`: the address of a part of imported memory. `hipFree` frees each buffer;
/// the memory stays until the last one is freed.
pub(crate) unsafe extern "C" fn hipExternalMemoryGetMappedBuffer(
    out: *mut *mut c_void,
    memory: hipExternalMemory_t,
    description: *const hipExternalMemoryBufferDesc,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, description) = unsafe { (caller::place(out)?, caller::value(description)?) };
        if description.flags != 0 {
            return Err(INVALID_VALUE);
        }
        let number = |value: u64| usize::try_from(value).map_err(|_| INVALID_VALUE);
        let (offset, size) = (number(description.offset)?, number(description.size)?);
        *out = external::map(runtime, memory as usize, offset, size)? as *mut c_void;
        Ok(())
    })
}

/// `hipDestroyExternalMemory`: buffers mapped from it stay. The last release waits until the devices are
/// idle.
pub(crate) unsafe extern "C" fn hipDestroyExternalMemory(memory: hipExternalMemory_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        external::destroy(runtime, memory as usize)
    })
}
