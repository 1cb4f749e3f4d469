//! Memory pools, their allocations, and host memory locked for devices.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use hsa_sys::*;

use super::agent::Agent;
use super::event::lock;
use super::pointer::Notifier;
use super::{S, call, machine, write};
use crate::machine::{Device, MemoryError, MemoryKind};

pub(super) const PAGE: usize = 4096;
/// The recommended granularity of allocations.
const LARGE_PAGE: usize = 2 << 20;
/// A pool's handle: this, plus the agent's number times 16, plus the pool's number at the agent.
const FIRST_POOL: u64 = 0xB001_0000_0000;

/// A memory pool.
#[derive(Clone, Debug)]
pub(super) enum Pool {
    HostFine,
    HostKernarg,
    HostCoarse,
    DeviceCoarse(Arc<Device>),
    DeviceFine(Arc<Device>),
    /// LDS, which cannot be allocated.
    Group(Arc<Device>),
}

impl Pool {
    fn all_of(agent: &Agent) -> Vec<Pool> {
        match agent {
            Agent::Host => vec![Pool::HostFine, Pool::HostKernarg, Pool::HostCoarse],
            Agent::Gpu(device) => vec![
                Pool::DeviceCoarse(Arc::clone(device)),
                Pool::DeviceFine(Arc::clone(device)),
                Pool::Group(Arc::clone(device)),
            ],
        }
    }

    pub(super) fn from_handle(handle: hsa_amd_memory_pool_t) -> Result<Pool, S> {
        let invalid = S::HSA_STATUS_ERROR_INVALID_MEMORY_POOL;
        let number = handle.handle.checked_sub(FIRST_POOL).ok_or(invalid)?;
        let agent =
            Agent::from_handle(hsa_agent_t { handle: Agent::host_handle().handle.wrapping_add(number / 16) });
        let pools = Pool::all_of(&agent.map_err(|_| invalid)?);
        pools.get((number % 16) as usize).cloned().ok_or(invalid)
    }

    /// A number that distinguishes the pool from the process's other pools. It also identifies the pool in
    /// another process with the same devices.
    pub(super) fn number(&self) -> Option<u8> {
        u8::try_from(self.handle().handle - FIRST_POOL).ok()
    }

    pub(super) fn from_number(number: u8) -> Option<Pool> {
        Pool::from_handle(hsa_amd_memory_pool_t { handle: FIRST_POOL + u64::from(number) }).ok()
    }

    /// The name of files that hold the pool's memory.
    pub(super) fn name(&self) -> String {
        format!("vgpu-pool-{}", self.handle().handle - FIRST_POOL)
    }

    pub(super) fn from_name(name: &str) -> Option<Pool> {
        let number: u64 = name.strip_prefix("vgpu-pool-")?.parse().ok()?;
        Pool::from_handle(hsa_amd_memory_pool_t { handle: FIRST_POOL.checked_add(number)? }).ok()
    }

    /// The device whose memory it is.
    pub(super) fn device(&self) -> Option<usize> {
        match self.owner() {
            Agent::Host => None,
            Agent::Gpu(device) => Some(device.index()),
        }
    }

    pub(super) fn handle(&self) -> hsa_amd_memory_pool_t {
        let number = match self {
            Pool::HostFine | Pool::DeviceCoarse(_) => 0,
            Pool::HostKernarg | Pool::DeviceFine(_) => 1,
            Pool::HostCoarse | Pool::Group(_) => 2,
        };
        let agent = self.owner().handle().handle.wrapping_sub(Agent::host_handle().handle);
        hsa_amd_memory_pool_t { handle: FIRST_POOL + agent * 16 + number }
    }

    pub(super) fn owner(&self) -> Agent {
        match self {
            Pool::HostFine | Pool::HostKernarg | Pool::HostCoarse => Agent::Host,
            Pool::DeviceCoarse(device) | Pool::DeviceFine(device) | Pool::Group(device) => {
                Agent::Gpu(Arc::clone(device))
            }
        }
    }

    pub(super) fn flags(&self) -> u32 {
        use hsa_amd_memory_pool_global_flag_t as F;
        let fine = F::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED.0;
        match self {
            Pool::HostFine | Pool::DeviceFine(_) => fine,
            Pool::HostKernarg => fine | F::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT.0,
            Pool::HostCoarse | Pool::DeviceCoarse(_) => F::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED.0,
            Pool::Group(_) => 0,
        }
    }

    pub(super) fn kind(&self) -> Option<MemoryKind> {
        match self {
            Pool::HostFine | Pool::HostCoarse => Some(MemoryKind::Host),
            Pool::HostKernarg => Some(MemoryKind::Kernarg),
            Pool::DeviceCoarse(_) => Some(MemoryKind::Coarse),
            Pool::DeviceFine(_) => Some(MemoryKind::Fine),
            Pool::Group(_) => None,
        }
    }

    /// The number of bytes of an allocation that kernels can access. Host memory for kernel arguments is
    /// rounded up to pages, as on hardware, because compilers read arguments in blocks that end beyond the
    /// last one. Other memory is exact to the byte.
    pub(super) fn reach(&self, size: u64) -> u64 {
        match self {
            Pool::HostFine | Pool::HostKernarg => size.next_multiple_of(PAGE as u64),
            Pool::HostCoarse | Pool::DeviceCoarse(_) | Pool::DeviceFine(_) | Pool::Group(_) => size,
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Pool::HostFine | Pool::HostKernarg | Pool::HostCoarse => host_memory(),
            Pool::DeviceCoarse(device) | Pool::DeviceFine(device) => device.memory_size(),
            Pool::Group(device) => u64::from(device.target().limits.unit.lds),
        }
    }
}

/// Bytes of memory the host has.
pub(super) fn host_memory() -> u64 {
    // SAFETY: plain queries of the system's configuration.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page).unwrap_or(0)).max(1 << 30)
}

/// Additional information about memory that came from a pool or was locked.
pub(super) struct Known {
    pub(super) pool: Pool,
    /// Bytes requested.
    pub(super) size: u64,
    /// The program's own value, as a number, because only the program knows what it points to.
    pub(super) user_data: usize,
    /// Whether another process allocated it.
    pub(super) attached: bool,
    /// Callbacks for its end.
    pub(super) notifiers: Vec<Notifier>,
}

#[derive(Default)]
pub(super) struct State {
    /// Allocations by address.
    pub(super) allocated: HashMap<u64, Known>,
    /// Locked host memory by address.
    pub(super) locked: HashMap<u64, Locked>,
}

pub(super) struct Locked {
    size: u64,
    count: u32,
    /// Whether it was registered with the machine; not if the machine already knew the memory.
    registered: bool,
    pub(super) user_data: usize,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

pub(super) fn state() -> MutexGuard<'static, State> {
    lock(&STATE)
}

impl Known {
    fn new(pool: Pool, size: u64, attached: bool) -> Known {
        Known { pool, size, user_data: 0, attached, notifiers: Vec::new() }
    }
}

/// The pool of the allocation at an address, and the requested size.
pub(super) fn of(address: u64) -> Option<(Pool, u64)> {
    state().allocated.get(&address).map(|known| (known.pool.clone(), known.size))
}

/// Records memory of another process.
pub(super) fn attached(address: u64, pool: Pool, size: u64) {
    state().allocated.insert(address, Known::new(pool, size, true));
}

/// Forgets memory of another process. Returns false if there is none at the address.
pub(super) fn detached(address: u64) -> bool {
    forget(address, true).is_some()
}

fn forget(address: u64, attached: bool) -> Option<Known> {
    let mut state = state();
    state.allocated.get(&address).filter(|known| known.attached == attached)?;
    state.allocated.remove(&address)
}

unsafe extern "C" fn iterate(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let agent = Agent::from_handle(agent)?;
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        for pool in Pool::all_of(&agent) {
            // SAFETY: the caller's callback takes any pool and the caller's data.
            match unsafe { callback(pool.handle(), data) } {
                S::HSA_STATUS_SUCCESS => {}
                status => return Err(status),
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn pool_info(
    handle: hsa_amd_memory_pool_t,
    attribute: hsa_amd_memory_pool_info_t,
    value: *mut c_void,
) -> S {
    use hsa_amd_memory_pool_info_t as I;
    call(|| {
        let pool = Pool::from_handle(handle)?;
        let global = pool.kind().is_some();
        let host = matches!(pool.owner(), Agent::Host);
        // SAFETY: the caller's pointer is null or valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_AMD_MEMORY_POOL_INFO_SEGMENT => {
                    let segment = if global {
                        hsa_amd_segment_t::HSA_AMD_SEGMENT_GLOBAL
                    } else {
                        hsa_amd_segment_t::HSA_AMD_SEGMENT_GROUP
                    };
                    write(value.cast(), segment)
                }
                I::HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS => write(value.cast(), pool.flags()),
                I::HSA_AMD_MEMORY_POOL_INFO_SIZE => write(value.cast(), pool.size() as usize),
                I::HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE => {
                    write(value.cast(), if global { pool.size() as usize } else { 0 })
                }
                I::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED => write(value.cast(), global),
                I::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE
                | I::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT => {
                    write(value.cast(), if global { PAGE } else { 0 })
                }
                I::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE => write(
                    value.cast(),
                    if !global {
                        0
                    } else if host {
                        PAGE
                    } else {
                        LARGE_PAGE
                    },
                ),
                I::HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL => write(value.cast(), global && host),
                I::HSA_AMD_MEMORY_POOL_INFO_LOCATION => {
                    let location = if host {
                        hsa_amd_memory_pool_location_t::HSA_AMD_MEMORY_POOL_LOCATION_CPU
                    } else {
                        hsa_amd_memory_pool_location_t::HSA_AMD_MEMORY_POOL_LOCATION_GPU
                    };
                    write(value.cast(), location)
                }
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

unsafe extern "C" fn agent_pool_info(
    agent: hsa_agent_t,
    handle: hsa_amd_memory_pool_t,
    attribute: hsa_amd_agent_memory_pool_info_t,
    value: *mut c_void,
) -> S {
    use hsa_amd_agent_memory_pool_info_t as I;
    use hsa_amd_memory_pool_access_t as A;
    call(|| {
        let agent = Agent::from_handle(agent)?;
        let pool = Pool::from_handle(handle)?;
        let own = agent.handle() == pool.owner().handle();
        let reachable = own || pool.kind().is_some();
        // SAFETY: the caller's pointer is null or valid for a write of the attribute's type; for links, there
        // is room for one per hop.
        unsafe {
            match attribute {
                I::HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS => {
                    let access = if !reachable {
                        A::HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED
                    } else if own {
                        A::HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
                    } else {
                        A::HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
                    };
                    write(value.cast(), access)
                }
                I::HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS => {
                    write(value.cast(), u32::from(reachable && !own))
                }
                I::HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO if own || !reachable => {
                    if value.is_null() {
                        Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)
                    } else {
                        Ok(())
                    }
                }
                I::HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO => write(
                    value.cast(),
                    hsa_amd_memory_pool_link_info_t {
                        min_latency: 0,
                        max_latency: 0,
                        min_bandwidth: 0,
                        max_bandwidth: 0,
                        atomic_support_32bit: true,
                        atomic_support_64bit: true,
                        coherent_support: true,
                        link_type: hsa_amd_link_info_type_t::HSA_AMD_LINK_INFO_TYPE_PCIE,
                        numa_distance: 20,
                    },
                ),
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

/// The status for an error of the machine's memory.
pub(super) fn status_of(error: &MemoryError) -> S {
    match error {
        MemoryError::OutOfMemory { .. } | MemoryError::Host { .. } | MemoryError::InUse(_) => {
            S::HSA_STATUS_ERROR_OUT_OF_RESOURCES
        }
        MemoryError::NotAllocated(_) | MemoryError::FreedTwice(_) => S::HSA_STATUS_ERROR_INVALID_ALLOCATION,
        _ => S::HSA_STATUS_ERROR_INVALID_ARGUMENT,
    }
}

unsafe extern "C" fn allocate(
    handle: hsa_amd_memory_pool_t,
    size: usize,
    _flags: u32,
    pointer: *mut *mut c_void,
) -> S {
    call(|| {
        if pointer.is_null() || size == 0 {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let pool = Pool::from_handle(handle)?;
        let kind = pool.kind().ok_or(S::HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        let size = size as u64;
        if size > pool.size() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        let allocated = machine().memory().allocate(pool.reach(size), PAGE as u64, kind, pool.device());
        let address = allocated.map_err(|error| status_of(&error))?;
        state().allocated.insert(address, Known::new(pool, size, false));
        // SAFETY: checked for null above; the caller's pointer is valid for a write.
        unsafe { write(pointer, address as *mut c_void) }
    })
}

unsafe extern "C" fn free(pointer: *mut c_void) -> S {
    call(|| {
        if pointer.is_null() {
            return Ok(());
        }
        let address = pointer as u64;
        let known = forget(address, false).ok_or(S::HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        known.notifiers.into_iter().for_each(Notifier::tell);
        // SAFETY: it was allocated for the caller, who declares by this call that it is unused.
        unsafe { machine().memory().free(address) }.map_err(|error| status_of(&error))
    })
}

unsafe extern "C" fn allow_access(
    count: u32,
    agents: *const hsa_agent_t,
    flags: *const u32,
    pointer: *const c_void,
) -> S {
    call(|| {
        // No flags exist yet.
        if !flags.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's list has `count` agents.
        unsafe { check_agents(count as usize, agents) }?;
        // Every agent can access all memory. Still, a pointer outside all memory is an error.
        match machine().memory().lookup(pointer as u64) {
            Some(_) => Ok(()),
            None => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    })
}

/// # Safety
/// `agents` is null or has `count` entries.
unsafe fn check_agents(count: usize, agents: *const hsa_agent_t) -> Result<(), S> {
    if count == 0 || agents.is_null() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    for index in 0..count {
        // SAFETY: the caller's promise.
        Agent::from_handle(unsafe { agents.add(index).read_unaligned() })?;
    }
    Ok(())
}

unsafe extern "C" fn can_migrate(
    from: hsa_amd_memory_pool_t,
    to: hsa_amd_memory_pool_t,
    result: *mut bool,
) -> S {
    call(|| {
        Pool::from_handle(from)?;
        Pool::from_handle(to)?;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(result, false) }
    })
}

/// Makes host memory known to kernels. It can be locked several times; each lock is released by its own
/// [`unlock_range`].
///
/// # Safety
/// The memory must stay mapped until it is unlocked.
unsafe fn lock_range(address: u64, size: u64) -> Result<(), S> {
    if address == 0 || size == 0 || address.checked_add(size).is_none() {
        return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let mut state = state();
    if let Some(locked) = state.locked.get_mut(&address) {
        if size > locked.size {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        locked.count += 1;
        return Ok(());
    }
    let memory = machine().memory();
    let registered = !memory.contains(address, size);
    if registered {
        // SAFETY: the caller's promise.
        unsafe { memory.register(address, size) }.map_err(|error| status_of(&error))?;
    }
    state.locked.insert(address, Locked { size, count: 1, registered, user_data: 0 });
    Ok(())
}

fn unlock_range(address: u64) -> Result<(), S> {
    let mut state = state();
    let locked = state.locked.get_mut(&address).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
    locked.count -= 1;
    if locked.count > 0 {
        return Ok(());
    }
    let registered = locked.registered;
    state.locked.remove(&address);
    drop(state);
    if registered {
        machine().memory().unregister(address).map_err(|error| status_of(&error))
    } else {
        Ok(())
    }
}

unsafe extern "C" fn lock_memory(
    host: *mut c_void,
    size: usize,
    agents: *mut hsa_agent_t,
    count: i32,
    agent_pointer: *mut *mut c_void,
) -> S {
    call(|| {
        if agent_pointer.is_null() || (count == 0) != agents.is_null() || count < 0 {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if count > 0 {
            // SAFETY: the caller's list has `count` agents.
            unsafe { check_agents(count as usize, agents) }?;
        }
        // SAFETY: the caller keeps the memory mapped until `hsa_amd_memory_unlock`; the pointer is valid for
        // a write.
        unsafe {
            lock_range(host as u64, size as u64)?;
            write(agent_pointer, host)
        }
    })
}

unsafe extern "C" fn lock_to_pool(
    host: *mut c_void,
    size: usize,
    agents: *mut hsa_agent_t,
    count: i32,
    pool: hsa_amd_memory_pool_t,
    _flags: u32,
    agent_pointer: *mut *mut c_void,
) -> S {
    let valid = call(|| match Pool::from_handle(pool)?.owner() {
        Agent::Host => Ok(()),
        Agent::Gpu(_) => Err(S::HSA_STATUS_ERROR_INVALID_MEMORY_POOL),
    });
    if valid != S::HSA_STATUS_SUCCESS {
        return valid;
    }
    // SAFETY: as this function's contract.
    unsafe { lock_memory(host, size, agents, count, agent_pointer) }
}

unsafe extern "C" fn unlock_memory(host: *mut c_void) -> S {
    call(|| unlock_range(host as u64))
}

unsafe extern "C" fn register(pointer: *mut c_void, size: usize) -> S {
    call(|| {
        if pointer.is_null() {
            return Ok(());
        }
        // SAFETY: the caller keeps the memory mapped until `hsa_memory_deregister`.
        unsafe { lock_range(pointer as u64, size as u64) }
    })
}

unsafe extern "C" fn deregister(pointer: *mut c_void, _size: usize) -> S {
    call(|| match unlock_range(pointer as u64) {
        // HSA has no error for memory that was not registered.
        Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT) => Ok(()),
        result => result,
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_amd_agent_iterate_memory_pools(iterate).hsa_amd_memory_pool_get_info(pool_info);
    builder.hsa_amd_agent_memory_pool_get_info(agent_pool_info);
    builder.hsa_amd_memory_pool_allocate(allocate).hsa_amd_memory_pool_free(free).hsa_memory_free(free);
    builder.hsa_amd_agents_allow_access(allow_access).hsa_amd_memory_pool_can_migrate(can_migrate);
    builder.hsa_amd_memory_lock(lock_memory).hsa_amd_memory_lock_to_pool(lock_to_pool);
    builder.hsa_amd_memory_unlock(unlock_memory);
    builder.hsa_memory_register(register).hsa_memory_deregister(deregister);
}
