//! Memory behind a file descriptor: for other APIs, other processes, and back.
//!
//! Memory is a file of the host's memory here, not a dma-buf of a driver; whoever has the descriptor can map it.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

use hsa_sys::*;

use super::agent::Agent;
use super::pool::{Pool, attached, detached, status_of};
use super::{S, call, machine, write};
use crate::machine::keeps_its_size;

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

/// Whether a descriptor is one of memory: this library closes no others.
fn is_memory(descriptor: c_int) -> bool {
    let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}"));
    name.is_ok_and(|name| name.to_string_lossy().starts_with("/memfd:vgpu-"))
}

unsafe extern "C" fn close(descriptor: c_int) -> S {
    call(|| {
        if descriptor < 0 || !is_memory(descriptor) {
            return Err(S::HSA_STATUS_ERROR_RESOURCE_FREE);
        }
        // SAFETY: the descriptor is open, and its owner gives it away.
        drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        Ok(())
    })
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
        if descriptor < 0 || !is_memory(descriptor) {
            return Err(INVALID);
        }
        // SAFETY: the descriptor is open, and the caller keeps it so during the call.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
        let file = File::from(file.map_err(|_| S::HSA_STATUS_ERROR_OUT_OF_RESOURCES)?);
        let length = file.metadata().map_err(|_| INVALID)?.len();
        if !keeps_its_size(&file) {
            return Err(INVALID);
        }
        let pool = Pool::DeviceCoarse(owner);
        let kind = pool.kind().ok_or(INVALID)?;
        let address = machine().memory().adopt(file, length, kind, pool.device());
        let address = address.map_err(|error| status_of(&error))?;
        machine().memory().wrote(address, length);
        attached(address, pool, length);
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

unsafe extern "C" fn unmap(pointer: *mut c_void) -> S {
    call(|| {
        if pointer.is_null() {
            return Ok(());
        }
        if !detached(pointer as u64) {
            return Err(INVALID);
        }
        // SAFETY: it was mapped for the caller, who says here that nobody uses it any more.
        unsafe { machine().memory().free(pointer as u64) }.map_err(|error| status_of(&error))
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_portable_export_dmabuf(export).hsa_amd_portable_export_dmabuf_v2(export_flags);
    builder.hsa_amd_portable_close_dmabuf(close);
    builder.hsa_amd_interop_map_buffer(import).hsa_amd_interop_unmap_buffer(unmap);
}
