//! Handles for other processes, which open the memory of this one.

use std::ffi::{c_char, c_uint, c_void};

use hip_sys::*;

use super::{OK, State, state};

pub(super) fn provide(builder: &mut Builder) {
    builder
        .hipMemGetAddressRange(address_range)
        .hipIpcGetMemHandle(get_memory)
        .hipIpcOpenMemHandle(open_memory)
        .hipIpcCloseMemHandle(close_memory)
        .hipIpcGetEventHandle(get_event)
        .hipIpcOpenEventHandle(open_event);
}

/// How often the allocation that starts at an address is open.
pub(crate) fn opened(address: crate::DeviceAddress) -> usize {
    state().opened.get(&(address.0 as usize)).copied().unwrap_or(0)
}

/// The allocation that holds an address.
fn allocation(state: &State, address: usize) -> Option<(usize, usize)> {
    let found = state.memory.iter().find(|(base, (size, _))| (**base..**base + size).contains(&address));
    found.map(|(base, (size, _))| (*base, *size))
}

/// A handle is the object's number, then `i`s.
fn handle_of(number: usize) -> [c_char; 64] {
    let bytes = number.to_le_bytes();
    std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(b'i') as c_char)
}

fn number_of(handle: [c_char; 64]) -> Option<usize> {
    let bytes = handle.map(|byte| byte as u8);
    let (number, rest) = bytes.split_first_chunk()?;
    rest.iter().all(|byte| *byte == b'i').then(|| usize::from_le_bytes(*number))
}

unsafe extern "C" fn address_range(
    base: *mut hipDeviceptr_t,
    size: *mut usize,
    address: hipDeviceptr_t,
) -> hipError_t {
    let Some(found) = allocation(&state(), address.addr()) else { return hipError_t::hipErrorInvalidValue };
    // SAFETY: the caller gives two places.
    unsafe { (*base, *size) = (std::ptr::with_exposed_provenance_mut(found.0), found.1) };
    OK
}

unsafe extern "C" fn get_memory(out: *mut hipIpcMemHandle_t, address: *mut c_void) -> hipError_t {
    if !state().memory.contains_key(&address.addr()) {
        return hipError_t::hipErrorInvalidValue;
    }
    // SAFETY: the caller gives a place.
    unsafe { (*out).reserved = handle_of(address.addr()) };
    OK
}

unsafe extern "C" fn open_memory(
    out: *mut *mut c_void,
    handle: hipIpcMemHandle_t,
    flags: c_uint,
) -> hipError_t {
    let mut state = state();
    let known = number_of(handle.reserved).filter(|address| state.memory.contains_key(address));
    let Some(address) = known.filter(|_| flags == hipIpcMemLazyEnablePeerAccess) else {
        return hipError_t::hipErrorInvalidHandle;
    };
    *state.opened.entry(address).or_default() += 1;
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::with_exposed_provenance_mut(address) };
    OK
}

unsafe extern "C" fn close_memory(address: *mut c_void) -> hipError_t {
    match state().opened.get_mut(&address.addr()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            OK
        }
        _ => hipError_t::hipErrorInvalidValue,
    }
}

unsafe extern "C" fn get_event(out: *mut hipIpcEventHandle_t, event: hipEvent_t) -> hipError_t {
    // SAFETY: the caller gives a place.
    unsafe { (*out).reserved = handle_of(event.addr()) };
    OK
}

unsafe extern "C" fn open_event(out: *mut hipEvent_t, handle: hipIpcEventHandle_t) -> hipError_t {
    let Some(event) = number_of(handle.reserved) else { return hipError_t::hipErrorInvalidHandle };
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(event) };
    OK
}
