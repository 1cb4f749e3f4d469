//! Memory as a file descriptor: exported to other APIs and processes, and imported from them.
//!
//! Here, memory is a file in host memory, not a driver's dma-buf; whoever holds the descriptor can map it.
//! The same is true of what Mesa's CPU drivers export ([`mesa`]). This is how buffers are shared with Vulkan
//! where there is no GPU.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use hsa_sys::*;

use super::agent::Agent;
use super::mesa;
use super::pool::{Pool, attached, detached, status_of};
use super::{S, call, machine, write};
use crate::machine::{Device, keeps_its_size};

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;

unsafe extern "C" fn export(
    pointer: *const c_void,
    size: usize,
    descriptor: *mut c_int,
    offset: *mut u64,
) -> S {
    // SAFETY: as this function's contract.
    unsafe { export_flags(pointer, size, descriptor, offset, 0) }
}

unsafe extern "C" fn export_flags(
    pointer: *const c_void,
    size: usize,
    descriptor: *mut c_int,
    offset: *mut u64,
    flags: u64,
) -> S {
    call(|| {
        let known = hsa_amd_dma_buf_mapping_type_t(u32::try_from(flags).map_err(|_| INVALID)?);
        let nothing = pointer.is_null() || size == 0 || descriptor.is_null() || offset.is_null();
        if nothing || known.name().is_none() {
            return Err(INVALID);
        }
        let no_allocation = S::HSA_STATUS_ERROR_INVALID_ALLOCATION;
        let (address, memory) = (pointer as u64, machine().memory());
        let found = memory.lookup(address).filter(|found| found.covers(address, size as u64));
        let found = found.ok_or(no_allocation)?;
        match super::pool::of(found.start).ok_or(no_allocation)?.0.owner() {
            Agent::Gpu(_) => {}
            Agent::Host => return Err(S::HSA_STATUS_ERROR_INVALID_AGENT),
        }
        let (file, _) = memory.share(found.start).map_err(|error| status_of(&error))?;
        let file = file.try_clone().map_err(|_| S::HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        // SAFETY: checked for null above; the caller's pointers are valid for writes.
        unsafe {
            write(offset, address - found.start)?;
            write(descriptor, file.into_raw_fd())
        }
    })
}

/// Prefix of the names of this library's own files.
const OWN: &str = "/memfd:vgpu-";

/// The system's name for the file of a descriptor.
fn name_of(descriptor: c_int) -> Option<String> {
    let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    Some(name.to_string_lossy().into_owned())
}

/// Whether a descriptor is memory of this library. It closes no others.
fn is_own_memory(descriptor: c_int) -> bool {
    descriptor >= 0 && name_of(descriptor).is_some_and(|name| name.starts_with(OWN))
}

unsafe extern "C" fn close(descriptor: c_int) -> S {
    call(|| {
        if !is_own_memory(descriptor) {
            return Err(S::HSA_STATUS_ERROR_RESOURCE_FREE);
        }
        // SAFETY: the descriptor is open, and its owner transfers it.
        drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        Ok(())
    })
}

/// The memory behind a descriptor: a file and the range within it.
struct Behind {
    file: File,
    offset: u64,
    size: u64,
}

impl Behind {
    /// This library's own files are memory as a whole. For Mesa's files, the header gives the range. Other
    /// files are not accepted.
    fn of(descriptor: c_int) -> Result<Behind, S> {
        let name = name_of(descriptor).ok_or(INVALID)?;
        let (own, mesa) = (name.starts_with(OWN), name.starts_with(mesa::NAME));
        if !own && !mesa {
            return Err(INVALID);
        }
        // SAFETY: the descriptor is open, and the caller keeps it open during the call.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
        let file = File::from(file.map_err(|_| S::HSA_STATUS_ERROR_OUT_OF_RESOURCES)?);
        if !keeps_its_size(&file) {
            return Err(INVALID);
        }
        let length = file.metadata().map_err(|_| INVALID)?.len();
        let (offset, size) = if own { (0, length) } else { mesa::memory_in(&file, length).ok_or(INVALID)? };
        Ok(Behind { file, offset, size })
    }

    /// Maps its first bytes for kernels and the host.
    fn map(self, owner: Arc<Device>, size: u64) -> Result<u64, S> {
        if size == 0 || size > self.size {
            return Err(INVALID);
        }
        let pool = Pool::DeviceCoarse(owner);
        let kind = pool.kind().ok_or(INVALID)?;
        let address = machine().memory().adopt(self.file, self.offset, size, kind, pool.device());
        let address = address.map_err(|error| status_of(&error))?;
        machine().memory().wrote(address, size);
        attached(address, pool, size);
        Ok(address)
    }
}

unsafe extern "C" fn import(
    count: u32,
    agents: *mut hsa_agent_t,
    descriptor: hsa_handle_t,
    flags: u32,
    size: *mut usize,
    pointer: *mut *mut c_void,
    metadata_size: *mut usize,
    metadata: *mut *const c_void,
) -> S {
    call(|| {
        if agents.is_null() || count == 0 || size.is_null() || pointer.is_null() || flags != 0 {
            return Err(INVALID);
        }
        let mut owner = None;
        for index in 0..count as usize {
            // SAFETY: the caller's list has that many agents.
            let agent = Agent::from_handle(unsafe { agents.add(index).read_unaligned() })?;
            owner = owner.or(agent.gpu().ok());
        }
        let owner = owner.ok_or(S::HSA_STATUS_ERROR_INVALID_AGENT)?;
        let behind = Behind::of(descriptor)?;
        let length = behind.size;
        let address = behind.map(owner, length)?;
        // SAFETY: checked for null above, or asked here; the caller's pointers are valid for writes.
        unsafe {
            if !metadata_size.is_null() {
                write(metadata_size, 0)?;
            }
            if !metadata.is_null() {
                write(metadata, std::ptr::null())?;
            }
            write(size, length as usize)?;
            write(pointer, address as *mut c_void)
        }
    })
}

/// The extension of the same name. It is like [`import`], but maps only the first bytes, so that kernels can
/// access no more.
pub(super) unsafe extern "C" fn map_descriptor(
    agent: hsa_agent_t,
    descriptor: c_int,
    size: usize,
    pointer: *mut *mut c_void,
) -> S {
    call(|| {
        if pointer.is_null() {
            return Err(INVALID);
        }
        let owner = Agent::from_handle(agent)?.gpu()?;
        let address = Behind::of(descriptor)?.map(owner, size as u64)?;
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(pointer, address as *mut c_void) }
    })
}

unsafe extern "C" fn unmap(pointer: *mut c_void) -> S {
    call(|| {
        if pointer.is_null() {
            return Ok(());
        }
        if !detached(pointer as u64) {
            return Err(INVALID);
        }
        // SAFETY: it was mapped for the caller, who declares by this call that it is unused.
        unsafe { machine().memory().free(pointer as u64) }.map_err(|error| status_of(&error))
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_portable_export_dmabuf(export).hsa_amd_portable_export_dmabuf_v2(export_flags);
    builder.hsa_amd_portable_close_dmabuf(close);
    builder.hsa_amd_interop_map_buffer(import).hsa_amd_interop_unmap_buffer(unmap);
}
