//! Memory of other drivers: any descriptor is accepted, and each part is an allocation.

use std::cell::Cell;
use std::ffi::c_void;
use std::os::fd::{FromRawFd, OwnedFd};

use hip_sys::*;

use super::{OK, malloc, state};

thread_local! {
    static FAILING: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn provide(builder: &mut Builder) {
    builder
        .hipImportExternalMemory(import)
        .hipExternalMemoryGetMappedBuffer(map)
        .hipDestroyExternalMemory(destroy);
}

/// Makes this thread's next import or mapping fail.
pub(crate) fn fail_external() {
    FAILING.set(true);
}

unsafe extern "C" fn import(
    out: *mut hipExternalMemory_t,
    description: *const hipExternalMemoryHandleDesc,
) -> hipError_t {
    if FAILING.take() {
        return hipError_t::hipErrorInvalidValue;
    }
    let mut state = state();
    let handle = state.handle();
    state.imported.insert(handle);
    // SAFETY: the caller gives a place and a description, and the descriptor away.
    unsafe {
        drop(OwnedFd::from_raw_fd((*description).handle.fd));
        *out = std::ptr::without_provenance_mut(handle);
    }
    OK
}

unsafe extern "C" fn map(
    out: *mut *mut c_void,
    memory: hipExternalMemory_t,
    description: *const hipExternalMemoryBufferDesc,
) -> hipError_t {
    if FAILING.take() || !state().imported.contains(&memory.addr()) {
        return hipError_t::hipErrorInvalidValue;
    }
    // SAFETY: the caller gives a place and a description.
    unsafe { malloc(out, (*description).size as usize) }
}

unsafe extern "C" fn destroy(memory: hipExternalMemory_t) -> hipError_t {
    if state().imported.remove(&memory.addr()) { OK } else { hipError_t::hipErrorInvalidValue }
}
