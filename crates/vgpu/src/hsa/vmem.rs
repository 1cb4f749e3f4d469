//! Virtual memory: reserved addresses, memory without an address, and mappings between them.
//!
//! Memory is an unnamed file, so it can be mapped at several addresses and passed to other processes. Kernels
//! can access a mapping, with exact bounds, while some device has access rights to it. Accessing other
//! reserved addresses is a fault.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use hsa_sys::*;

use super::agent::Agent;
use super::event::lock;
use super::pool::{PAGE, Pool, status_of};
use super::{S, call, machine, write};
use crate::machine::{Memory, MemoryKind, keeps_its_size, map_fixed, memory_file};

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const INVALID_ALLOCATION: S = S::HSA_STATUS_ERROR_INVALID_ALLOCATION;

/// Memory that is not mapped to an address.
struct Physical {
    handle: u64,
    file: File,
    size: u64,
    pool: Pool,
    /// The memory type that the program passed when creating it.
    sort: hsa_amd_memory_type_t,
    /// What it counts against a device. Imported memory is counted where it was created.
    _charge: Option<Charge>,
}

/// An amount of memory counted against a device.
struct Charge {
    /// This is stored, not looked up when dropped. Code that the drop of a `static` can reach is compiled
    /// into every program. A path from there to [`machine`] would pull the executor into the library's unit
    /// tests, which would then take minutes to build.
    memory: &'static Memory,
    size: u64,
    device: Option<usize>,
}

impl Charge {
    fn new(size: u64, device: Option<usize>) -> Result<Charge, S> {
        let memory = machine().memory();
        memory.charge(size, device).map_err(|error| status_of(&error))?;
        Ok(Charge { memory, size, device })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.refund(self.size, self.device);
    }
}

/// Memory, or a part of it, mapped at an address.
struct Mapped {
    physical: Arc<Physical>,
    size: u64,
    /// The access rights of each agent, by handle.
    access: HashMap<u64, hsa_access_permission_t>,
    /// How the machine knows it: writable or readable for kernels, or not at all.
    known: Option<MemoryKind>,
}

#[derive(Default)]
struct State {
    mapped: BTreeMap<u64, Mapped>,
    /// The program's memory handles and their reference counts.
    handles: HashMap<u64, (Arc<Physical>, u64)>,
}

/// This lock is held while the machine waits for copies to leave a mapping.
static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
/// The sizes of reserved ranges. They have their own lock, because copies need them and others wait for
/// copies while holding `STATE`.
static RESERVED: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
static NEXT_HANDLE: AtomicU64 = AtomicU64::new(0x3E30_0000_0001);

impl State {
    /// Whether anything is mapped within the range.
    fn maps(&self, address: u64, size: u64) -> bool {
        let below = self.mapped.range(..address.saturating_add(size)).next_back();
        below.is_some_and(|(&start, mapped)| start + mapped.size > address)
    }

    /// The mapping that contains an address, and its start.
    fn mapping_of(&self, address: u64) -> Option<(u64, &Mapped)> {
        let (&start, mapped) = self.mapped.range(..=address).next_back()?;
        (address - start < mapped.size).then_some((start, mapped))
    }

    fn physical(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<&Arc<Physical>, S> {
        self.handles.get(&handle.handle).map(|(physical, _)| physical).ok_or(INVALID_ALLOCATION)
    }

    fn hold(&mut self, physical: &Arc<Physical>) -> hsa_amd_vmem_alloc_handle_t {
        let held = self.handles.entry(physical.handle).or_insert_with(|| (Arc::clone(physical), 0));
        held.1 += 1;
        hsa_amd_vmem_alloc_handle_t { handle: physical.handle }
    }
}

/// Whether the whole range is reserved.
fn reserves(address: u64, size: u64) -> bool {
    let reserved = lock(&RESERVED);
    let below = reserved.range(..=address).next_back();
    below.is_some_and(|(&start, &length)| address.checked_add(size).is_some_and(|end| end <= start + length))
}

/// Whether any of the addresses is reserved.
pub(super) fn is_reserved(address: u64, size: u64) -> bool {
    let reserved = lock(&RESERVED);
    let below = reserved.range(..address.saturating_add(size)).next_back();
    below.is_some_and(|(&start, &length)| start + length > address)
}

/// Information about an address in a reserved range, and who may access it; `None` for other addresses.
pub(super) fn describe(address: u64) -> Option<(hsa_amd_pointer_info_t, Vec<hsa_agent_t>)> {
    use hsa_amd_pointer_type_t as T;
    let state = lock(&STATE);
    let reserved = lock(&RESERVED);
    let (&start, &size) = reserved.range(..=address).next_back()?;
    if address - start >= size {
        return None;
    }
    let (start, size, type_, owner, global_flags, agents) = match state.mapping_of(address) {
        Some((start, mapped)) => {
            let pool = &mapped.physical.pool;
            let none = hsa_access_permission_t::HSA_ACCESS_PERMISSION_NONE;
            let allowed = mapped.access.iter().filter(|&(_, &permission)| permission != none);
            let agents = allowed.map(|(&handle, _)| hsa_agent_t { handle }).collect();
            let owner = pool.owner().handle();
            (start, mapped.size, T::HSA_EXT_POINTER_TYPE_HSA_VMEM, owner, pool.flags(), agents)
        }
        None => (start, size, T::HSA_EXT_POINTER_TYPE_RESERVED_ADDR, hsa_agent_t::default(), 0, Vec::new()),
    };
    let info = hsa_amd_pointer_info_t {
        type_,
        agentBaseAddress: start as *mut c_void,
        hostBaseAddress: start as *mut c_void,
        sizeInBytes: size as usize,
        agentOwner: owner,
        global_flags,
        ..Default::default()
    };
    Some((info, agents))
}

unsafe extern "C" fn reserve_align(
    out: *mut *mut c_void,
    size: usize,
    address: u64,
    alignment: u64,
    _flags: u64,
) -> S {
    call(|| {
        let (size, page) = (size as u64, PAGE as u64);
        let alignment = if alignment == 0 { page } else { alignment };
        if out.is_null() || size == 0 || !size.is_multiple_of(page) {
            return Err(INVALID);
        }
        if !alignment.is_power_of_two() || alignment < page {
            return Err(INVALID);
        }
        let length = size.checked_add(alignment).ok_or(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        let hint = if address.is_multiple_of(alignment) { address } else { 0 };
        // SAFETY: new mappings at addresses chosen by the system do not affect existing ones, and the parts
        // outside the aligned range are unmapped.
        let start = unsafe {
            let base = libc::mmap(
                hint as *mut c_void,
                length as usize,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            if base == libc::MAP_FAILED {
                return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
            }
            let base = base as u64;
            let start = base.next_multiple_of(alignment);
            if start != base {
                libc::munmap(base as *mut c_void, (start - base) as usize);
            }
            libc::munmap((start + size) as *mut c_void, (base + length - start - size) as usize);
            start
        };
        lock(&RESERVED).insert(start, size);
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(out, start as *mut c_void) }
    })
}

unsafe extern "C" fn reserve(out: *mut *mut c_void, size: usize, address: u64, flags: u64) -> S {
    // SAFETY: as this function's contract.
    unsafe { reserve_align(out, size, address, 0, flags) }
}

unsafe extern "C" fn address_free(address: *mut c_void, size: usize) -> S {
    call(|| {
        let (address, size) = (address as u64, size as u64);
        let state = lock(&STATE);
        if lock(&RESERVED).get(&address) != Some(&size) {
            return Err(INVALID_ALLOCATION);
        }
        if state.maps(address, size) {
            return Err(S::HSA_STATUS_ERROR_RESOURCE_FREE);
        }
        lock(&RESERVED).remove(&address);
        machine().memory().forget(address, size);
        // SAFETY: the range was reserved here, nothing is mapped in it, and its record was just removed.
        unsafe { libc::munmap(address as *mut c_void, size as usize) };
        Ok(())
    })
}

unsafe extern "C" fn handle_create(
    pool: hsa_amd_memory_pool_t,
    size: usize,
    sort: hsa_amd_memory_type_t,
    _flags: u64,
    out: *mut hsa_amd_vmem_alloc_handle_t,
) -> S {
    call(|| {
        let pool = Pool::from_handle(pool)?;
        if out.is_null() || size == 0 || !size.is_multiple_of(PAGE) || sort.name().is_none() {
            return Err(INVALID);
        }
        let size = size as u64;
        pool.kind().ok_or(INVALID_ALLOCATION)?;
        if size > pool.size() {
            return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        let device = pool.device();
        let name = CString::new(pool.name()).map_err(|_| S::HSA_STATUS_ERROR)?;
        let charge = Charge::new(size, device)?;
        let file = memory_file(&name, size).map_err(|error| status_of(&error))?;
        let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
        let physical = Arc::new(Physical { handle, file, size, pool, sort, _charge: Some(charge) });
        let handle = lock(&STATE).hold(&physical);
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(out, handle) }
    })
}

unsafe extern "C" fn handle_release(handle: hsa_amd_vmem_alloc_handle_t) -> S {
    call(|| {
        let mut state = lock(&STATE);
        let held = state.handles.get_mut(&handle.handle).ok_or(INVALID_ALLOCATION)?;
        held.1 -= 1;
        // Mappings keep the memory alive.
        let last = if held.1 == 0 { state.handles.remove(&handle.handle) } else { None };
        drop(state);
        drop(last);
        Ok(())
    })
}

unsafe extern "C" fn map(
    address: *mut c_void,
    size: usize,
    offset: usize,
    handle: hsa_amd_vmem_alloc_handle_t,
    _flags: u64,
) -> S {
    call(|| {
        let (address, size, offset) = (address as u64, size as u64, offset as u64);
        let mut state = lock(&STATE);
        let physical = Arc::clone(state.physical(handle)?);
        let pages = [address, size, offset].iter().all(|value| value.is_multiple_of(PAGE as u64));
        let holds = offset.checked_add(size).is_some_and(|end| end <= physical.size);
        if size == 0 || !pages || !holds || !reserves(address, size) || state.maps(address, size) {
            return Err(INVALID);
        }
        // SAFETY: the range is reserved and nothing is mapped in it.
        unsafe { map_fixed(address, size, libc::PROT_NONE, Some((&physical.file, offset))) }
            .map_err(|error| status_of(&error))?;
        state.mapped.insert(address, Mapped { physical, size, access: HashMap::new(), known: None });
        Ok(())
    })
}

unsafe extern "C" fn unmap(address: *mut c_void, size: usize) -> S {
    call(|| {
        let address = address as u64;
        let mut state = lock(&STATE);
        let found = state.mapped.get(&address).filter(|found| found.size == size as u64);
        if found.ok_or(INVALID_ALLOCATION)?.known.is_some() {
            machine().memory().unregister(address).map_err(|error| status_of(&error))?;
        }
        let removed = state.mapped.remove(&address);
        // SAFETY: the range belongs to this mapping, and kernels no longer use it.
        unsafe { map_fixed(address, size as u64, libc::PROT_NONE, None) }
            .map_err(|error| status_of(&error))?;
        drop(state);
        drop(removed);
        Ok(())
    })
}

/// Applies what the host and kernels may do with a mapping.
fn apply(address: u64, mapped: &mut Mapped) -> Result<(), S> {
    let may = |agent: &u64, bit: hsa_access_permission_t| {
        mapped.access.get(agent).is_some_and(|access| access.0 & bit.0 != 0)
    };
    let host = Agent::host_handle().handle;
    let gpus = || mapped.access.keys().filter(|&&agent| agent != host);
    let (read, write) = (
        hsa_access_permission_t::HSA_ACCESS_PERMISSION_RO,
        hsa_access_permission_t::HSA_ACCESS_PERMISSION_WO,
    );
    let writable = gpus().any(|agent| may(agent, write));
    let readable = writable || gpus().any(|agent| may(agent, read));
    let wanted = match (readable, writable) {
        (_, true) => mapped.physical.pool.kind(),
        (true, false) => Some(MemoryKind::Constant),
        _ => None,
    };
    let mut protection = libc::PROT_NONE;
    if readable || may(&host, read) {
        protection |= libc::PROT_READ;
    }
    if writable || may(&host, write) {
        protection |= libc::PROT_READ | libc::PROT_WRITE;
    }
    let size = mapped.size;
    let memory = machine().memory();
    if mapped.known != wanted && mapped.known.take().is_some() {
        memory.unregister(address).map_err(|error| status_of(&error))?;
    }
    // SAFETY: the range belongs to this mapping; accesses that kernels may still make are allowed before and
    // after.
    if unsafe { libc::mprotect(address as *mut c_void, size as usize, protection) } != 0 {
        return Err(S::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    }
    if mapped.known.is_none()
        && let Some(kind) = wanted
    {
        // SAFETY: the pages stay mapped with that protection until the memory is unregistered.
        unsafe { memory.register_mapping(address, size, kind, mapped.physical.pool.device()) }
            .map_err(|error| status_of(&error))?;
        // The memory was written through another address or by another process.
        memory.wrote(address, size);
        mapped.known = Some(kind);
    }
    Ok(())
}

unsafe extern "C" fn set_access(
    address: *mut c_void,
    size: usize,
    list: *const hsa_amd_memory_access_desc_t,
    count: usize,
) -> S {
    call(|| {
        // At most one entry for each agent.
        if list.is_null() || count == 0 || count > 1 + machine().devices().len() {
            return Err(INVALID);
        }
        let (address, size) = (address as u64, size as u64);
        let mut state = lock(&STATE);
        let end = address.checked_add(size).ok_or(INVALID)?;
        // Only whole, adjacent mappings.
        let mut next = address;
        while next < end {
            next += state.mapped.get(&next).ok_or(INVALID_ALLOCATION)?.size;
        }
        if next != end || size == 0 {
            return Err(INVALID);
        }
        // SAFETY: the caller's list has that many entries.
        let list: Vec<_> = (0..count).map(|index| unsafe { list.add(index).read_unaligned() }).collect();
        for entry in &list {
            Agent::from_handle(entry.agent_handle)?;
            if entry.permissions.0 > hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW.0 {
                return Err(INVALID);
            }
        }
        for (&start, mapped) in state.mapped.range_mut(address..end) {
            for entry in &list {
                mapped.access.insert(entry.agent_handle.handle, entry.permissions);
            }
            apply(start, mapped)?;
        }
        Ok(())
    })
}

unsafe extern "C" fn get_access(
    address: *mut c_void,
    permissions: *mut hsa_access_permission_t,
    agent: hsa_agent_t,
) -> S {
    call(|| {
        Agent::from_handle(agent)?;
        let state = lock(&STATE);
        let mapped = state.mapped.get(&(address as u64)).ok_or(INVALID_ALLOCATION)?;
        let none = hsa_access_permission_t::HSA_ACCESS_PERMISSION_NONE;
        let found = mapped.access.get(&agent.handle).copied().unwrap_or(none);
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(permissions, found) }
    })
}

unsafe extern "C" fn export(descriptor: *mut c_int, handle: hsa_amd_vmem_alloc_handle_t, _flags: u64) -> S {
    call(|| {
        if descriptor.is_null() {
            return Err(INVALID);
        }
        let state = lock(&STATE);
        let file = state.physical(handle)?.file.try_clone();
        let file = file.map_err(|_| S::HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(descriptor, file.into_raw_fd()) }
    })
}

unsafe extern "C" fn import(descriptor: c_int, out: *mut hsa_amd_vmem_alloc_handle_t) -> S {
    call(|| {
        if out.is_null() || descriptor < 0 {
            return Err(INVALID);
        }
        // SAFETY: the caller keeps the descriptor open during the call; if it is not open, there is an error
        // below.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().map_err(|_| INVALID)?;
        let file = File::from(file);
        let size = file.metadata().map_err(|_| INVALID)?.len();
        // The file's name identifies the kind of memory.
        let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).map_err(|_| INVALID)?;
        let name = name.to_string_lossy();
        let name = name.strip_prefix("/memfd:").and_then(|name| name.strip_suffix(" (deleted)"));
        let pool = name.and_then(Pool::from_name).ok_or(INVALID)?;
        if size == 0 || !size.is_multiple_of(PAGE as u64) || !keeps_its_size(&file) {
            return Err(INVALID);
        }
        let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
        let sort = hsa_amd_memory_type_t::MEMORY_TYPE_NONE;
        let physical = Arc::new(Physical { handle, file, size, pool, sort, _charge: None });
        let handle = lock(&STATE).hold(&physical);
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(out, handle) }
    })
}

unsafe extern "C" fn retain(out: *mut hsa_amd_vmem_alloc_handle_t, address: *mut c_void) -> S {
    call(|| {
        if out.is_null() {
            return Err(INVALID);
        }
        let mut state = lock(&STATE);
        let found = state.mapping_of(address as u64).ok_or(INVALID_ALLOCATION)?.1;
        let physical = Arc::clone(&found.physical);
        let handle = state.hold(&physical);
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(out, handle) }
    })
}

unsafe extern "C" fn properties(
    handle: hsa_amd_vmem_alloc_handle_t,
    pool: *mut hsa_amd_memory_pool_t,
    kind: *mut hsa_amd_memory_type_t,
) -> S {
    call(|| {
        let state = lock(&STATE);
        let found = state.physical(handle)?;
        // SAFETY: the caller's pointers are null or valid for writes.
        unsafe {
            write(pool, found.pool.handle())?;
            write(kind, found.sort)
        }
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_vmem_address_reserve(reserve).hsa_amd_vmem_address_reserve_align(reserve_align);
    builder.hsa_amd_vmem_address_free(address_free);
    builder.hsa_amd_vmem_handle_create(handle_create).hsa_amd_vmem_handle_release(handle_release);
    builder.hsa_amd_vmem_map(map).hsa_amd_vmem_unmap(unmap);
    builder.hsa_amd_vmem_set_access(set_access).hsa_amd_vmem_get_access(get_access);
    builder.hsa_amd_vmem_export_shareable_handle(export).hsa_amd_vmem_import_shareable_handle(import);
    builder.hsa_amd_vmem_retain_alloc_handle(retain);
    builder.hsa_amd_vmem_get_alloc_properties_from_handle(properties);
}
