//! Address ranges and memory to map there: bookkeeping only. The bytes belong to the addresses, so nothing
//! moves with the memory.

use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{c_int, c_ulonglong, c_void};
use std::fs::File;
use std::os::fd::{FromRawFd, IntoRawFd};

use hip_sys::*;

use super::{OK, state};

const INVALID: hipError_t = hipError_t::hipErrorInvalidValue;
/// The minimum and the recommended granularity of sizes.
pub(crate) const GRANULARITY: (usize, usize) = (4096, 8192);

#[derive(Default)]
pub(super) struct VirtualMemory {
    /// Sizes of reserved addresses, by their start.
    reserved: HashMap<usize, usize>,
    /// Sizes of memory, by handle.
    physical: HashMap<usize, usize>,
    /// Mappings by address, with their size and each device's access.
    mapped: HashMap<usize, (usize, HashMap<c_int, hipMemAccessFlags>)>,
    /// How many of the next calls of `hipMemUnmap` fail.
    failing: usize,
    /// How many of the next calls of `hipMemSetAccess` fail.
    refusing: usize,
}

/// The numbers of reserved ranges, pieces of memory and mappings in the whole process.
pub(crate) fn virtual_memory() -> (usize, usize, usize) {
    let VirtualMemory { reserved, physical, mapped, .. } = &state().virtual_memory;
    (reserved.len(), physical.len(), mapped.len())
}

/// Makes the next unmapping fail.
pub(crate) fn fail_to_unmap() {
    state().virtual_memory.failing = 1;
}

/// Makes the next call that gives access to memory fail.
pub(crate) fn refuse_access() {
    state().virtual_memory.refusing = 1;
}

/// Forgets everything, for a test that leaks on purpose.
pub(crate) fn forget_virtual_memory() {
    state().virtual_memory = VirtualMemory::default();
}

pub(super) fn provide(builder: &mut Builder) {
    builder
        .hipMemGetAllocationGranularity(granularity)
        .hipMemAddressReserve(reserve)
        .hipMemAddressFree(free)
        .hipMemCreate(create)
        .hipMemRelease(release)
        .hipMemMap(map)
        .hipMemUnmap(unmap)
        .hipMemSetAccess(set_access)
        .hipMemGetAccess(get_access)
        .hipMemExportToShareableHandle(export)
        .hipMemImportFromShareableHandle(import);
}

unsafe extern "C" fn granularity(
    out: *mut usize,
    _properties: *const hipMemAllocationProp,
    which: hipMemAllocationGranularity_flags,
) -> hipError_t {
    let least = which == hipMemAllocationGranularity_flags::hipMemAllocationGranularityMinimum;
    // SAFETY: the caller gives a place.
    unsafe { *out = if least { GRANULARITY.0 } else { GRANULARITY.1 } };
    OK
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, GRANULARITY.1).ok().filter(|_| size.is_multiple_of(GRANULARITY.0))
}

unsafe extern "C" fn reserve(
    out: *mut *mut c_void,
    size: usize,
    _alignment: usize,
    _address: *mut c_void,
    _flags: c_ulonglong,
) -> hipError_t {
    let Some(layout) = layout(size).filter(|layout| layout.size() > 0) else { return INVALID };
    // SAFETY: there are bytes, and the caller gives a place.
    let start = unsafe {
        *out = std::alloc::alloc_zeroed(layout).cast();
        (*out).expose_provenance()
    };
    state().virtual_memory.reserved.insert(start, size);
    OK
}

unsafe extern "C" fn free(start: *mut c_void, size: usize) -> hipError_t {
    let memory = &mut state().virtual_memory;
    let inside = |at: &usize| (start.addr()..start.addr() + size).contains(at);
    if memory.reserved.get(&start.addr()) != Some(&size) || memory.mapped.keys().any(inside) {
        return INVALID;
    }
    memory.reserved.remove(&start.addr());
    // SAFETY: it was allocated with this layout.
    unsafe { std::alloc::dealloc(start.cast(), Layout::from_size_align_unchecked(size, GRANULARITY.1)) };
    OK
}

unsafe extern "C" fn create(
    out: *mut hipMemGenericAllocationHandle_t,
    size: usize,
    properties: *const hipMemAllocationProp,
    _flags: c_ulonglong,
) -> hipError_t {
    // SAFETY: the caller's properties are valid.
    let ordinal = unsafe { (*properties).location.id };
    let mut state = state();
    if size > super::MEMORY {
        return hipError_t::hipErrorOutOfMemory;
    }
    if layout(size).is_none() || ordinal < 0 {
        return INVALID;
    }
    let handle = state.handle();
    state.virtual_memory.physical.insert(handle, size);
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn release(handle: hipMemGenericAllocationHandle_t) -> hipError_t {
    state().virtual_memory.physical.remove(&handle.addr()).map_or(INVALID, |_| OK)
}

unsafe extern "C" fn map(
    start: *mut c_void,
    size: usize,
    _offset: usize,
    handle: hipMemGenericAllocationHandle_t,
    _flags: c_ulonglong,
) -> hipError_t {
    let memory = &mut state().virtual_memory;
    let (start, end) = (start.addr(), start.addr() + size);
    let free = memory.mapped.iter().all(|(other, (size, _))| end <= *other || other + size <= start);
    let reserved = memory.reserved.iter().any(|(base, size)| *base <= start && end <= base + size);
    if !free || !reserved || memory.physical.get(&handle.addr()) != Some(&size) {
        return INVALID;
    }
    memory.mapped.insert(start, (size, HashMap::new()));
    OK
}

unsafe extern "C" fn unmap(start: *mut c_void, size: usize) -> hipError_t {
    let memory = &mut state().virtual_memory;
    if memory.failing > 0 {
        memory.failing -= 1;
        return hipError_t::hipErrorUnknown;
    }
    if memory.mapped.get(&start.addr()).is_none_or(|(mapped, _)| *mapped != size) {
        return INVALID;
    }
    memory.mapped.remove(&start.addr());
    OK
}

unsafe extern "C" fn set_access(
    start: *mut c_void,
    size: usize,
    wanted: *const hipMemAccessDesc,
    count: usize,
) -> hipError_t {
    // SAFETY: the caller's list has that many entries.
    let wanted = unsafe { std::slice::from_raw_parts(wanted, count) };
    let memory = &mut state().virtual_memory;
    if memory.refusing > 0 {
        memory.refusing -= 1;
        return INVALID;
    }
    let (mut next, end) = (start.addr(), start.addr() + size);
    while next < end {
        let Some((size, access)) = memory.mapped.get_mut(&next) else { return INVALID };
        access.extend(wanted.iter().map(|wanted| (wanted.location.id, wanted.flags)));
        next += *size;
    }
    if next == end { OK } else { INVALID }
}

unsafe extern "C" fn get_access(
    out: *mut c_ulonglong,
    location: *const hipMemLocation,
    address: *mut c_void,
) -> hipError_t {
    let memory = &state().virtual_memory;
    let holds =
        |(start, (size, _)): &(&usize, &(usize, _))| (**start..**start + size).contains(&address.addr());
    let Some((_, (_, access))) = memory.mapped.iter().find(holds) else { return INVALID };
    // SAFETY: the caller gives a place and a location.
    unsafe { *out = access.get(&(*location).id).map_or(0, |flags| flags.0.into()) };
    OK
}

/// A file of the memory's size.
unsafe extern "C" fn export(
    out: *mut c_void,
    handle: hipMemGenericAllocationHandle_t,
    _kind: hipMemAllocationHandleType,
    _flags: c_ulonglong,
) -> hipError_t {
    let Some(size) = state().virtual_memory.physical.get(&handle.addr()).copied() else { return INVALID };
    let Ok(file) = tempfile::tempfile() else { return hipError_t::hipErrorOperatingSystem };
    if file.set_len(size as u64).is_err() {
        return hipError_t::hipErrorOperatingSystem;
    }
    // SAFETY: the caller gives a place for a descriptor.
    unsafe { out.cast::<c_int>().write(file.into_raw_fd()) };
    OK
}

unsafe extern "C" fn import(
    out: *mut hipMemGenericAllocationHandle_t,
    descriptor: *mut c_void,
    _kind: hipMemAllocationHandleType,
) -> hipError_t {
    // SAFETY: the caller's descriptor is open, and the caller keeps it.
    let file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor.addr() as c_int) });
    let Ok(size) = file.metadata().map(|found| found.len() as usize) else { return INVALID };
    let mut state = state();
    let handle = state.handle();
    state.virtual_memory.physical.insert(handle, size);
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}
