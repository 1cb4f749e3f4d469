//! Allocations, and the functions they came from.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hip_sys::{hipError_t, hipMemAccessFlags};
use hsa_sys::{hsa_agent_t, hsa_amd_memory_pool_t};

use crate::devices;
use crate::devices::device::{Device, current_device};
use crate::error::Result;
use crate::memory::managed::managed;
use crate::memory::pool::{Pool, pools};
use crate::runtime::Runtime;

/// The origin of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// `hipMalloc` and similar functions.
    Device,
    /// `hipMallocManaged`.
    Managed,
    /// `hipHostMalloc` and similar functions.
    Host,
    /// `hipHostRegister`.
    Registered,
    /// `hipExtMallocWithFlags` with `hipMallocSignalMemory`.
    Signal,
    /// A variable of a module.
    Global,
    /// `hipMemMap` and `hipMemSetAccess`.
    Mapped,
    /// `hipIpcOpenMemHandle`.
    Imported,
    /// `hipImportExternalMemory`.
    External,
    /// `hipMallocArray` and similar functions.
    Array,
}

impl Origin {
    /// Whether the memory was allocated from a device's pool for the program, so that it counts as the
    /// device's, and peers share it.
    fn is_own_of_device(self) -> bool {
        matches!(self, Self::Device | Self::Array)
    }
}

/// A range of memory that the runtime knows.
#[derive(Clone)]
pub(crate) struct Allocation {
    /// Address by which the program knows it.
    pub(crate) base: usize,
    pub(crate) size: usize,
    pub(crate) origin: Origin,
    pub(crate) device: &'static Device,
    /// Address for devices.
    pub(crate) device_base: usize,
    /// Flags of its allocation or registration.
    pub(crate) flags: u32,
    /// The pool that it returns to.
    pub(crate) pool: Option<Arc<Pool>>,
    /// A unique number, assigned when the allocation is registered.
    pub(crate) serial: u64,
    /// Access rights of devices, by ordinal; `None` for memory without restrictions.
    pub(crate) access: Option<Arc<BTreeMap<i32, hipMemAccessFlags>>>,
}

/// A kind of access, and the device whose stream makes it, if already known.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) writes: bool,
    pub(crate) device: Option<&'static Device>,
}

impl Allocation {
    pub(crate) fn is_host(&self) -> bool {
        matches!(self.origin, Origin::Host | Origin::Registered | Origin::Managed | Origin::Signal)
    }

    /// Whether this access is allowed. If the device is unknown, the owner of the memory counts.
    fn allows(&self, what: Use) -> bool {
        let Some(access) = &self.access else { return true };
        let suffices = |flags: &hipMemAccessFlags| match *flags {
            hipMemAccessFlags::hipMemAccessFlagsProtReadWrite => true,
            hipMemAccessFlags::hipMemAccessFlagsProtRead => !what.writes,
            _ => false,
        };
        match what.device {
            Some(device) => {
                let own = access.get(&device.ordinal).or_else(|| access.get(&self.device.ordinal));
                own.is_some_and(suffices)
            }
            None => access.values().any(suffices),
        }
    }

    /// The device that owns the memory; `None` for host memory.
    pub(crate) fn memory_of(&self) -> Option<&'static Device> {
        (!self.is_host()).then_some(self.device)
    }
}

/// All memory that programs have.
pub(crate) fn memory(_started: &Runtime) -> &'static Memory {
    static MEMORY: Memory = Memory { map: RwLock::new(BTreeMap::new()) };
    &MEMORY
}

/// Gives all GPUs access to host memory that was allocated before some of them were there.
pub(crate) fn share_host_memory(runtime: &Runtime, gpus: &[hsa_agent_t]) {
    memory(runtime).share_host_memory(runtime, gpus);
}

/// All memory that the runtime knows, by address.
#[derive(Default)]
pub(crate) struct Memory {
    map: RwLock<BTreeMap<usize, Arc<Allocation>>>,
}

impl Memory {
    /// The allocation that contains an address, and the address's offset in it.
    pub(crate) fn find(&self, address: usize) -> Option<(Arc<Allocation>, usize)> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let (&start, allocation) = map.range(..=address).next_back()?;
        let offset = address - start;
        (offset < allocation.size).then(|| (allocation.clone(), offset))
    }

    /// Whether an allocation, together with adjacent mappings behind it, has this many bytes after an offset,
    /// and all of them allow this access.
    pub(crate) fn holds(&self, found: &Allocation, offset: usize, size: usize, what: Use) -> bool {
        if !found.allows(what) {
            return false;
        }
        let mut left = size.saturating_sub(found.size - offset);
        if left == 0 || found.origin != Origin::Mapped {
            return left == 0;
        }
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let mut next = found.base + found.size;
        while let Some(more) = map.get(&next) {
            let alike = more.origin == Origin::Mapped && std::ptr::eq(more.device, found.device);
            if !alike || !more.allows(what) {
                return false;
            }
            left = left.saturating_sub(more.size);
            if left == 0 {
                return true;
            }
            next += more.size;
        }
        false
    }

    pub(crate) fn insert(&self, mut allocation: Allocation) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if allocation.serial == 0 {
            allocation.serial = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        let allocation = Arc::new(allocation);
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        map.insert(allocation.base, allocation.clone());
        if allocation.device_base != allocation.base {
            map.insert(allocation.device_base, allocation);
        }
    }

    /// Removes the allocation that starts exactly at an address, if it has one of the origins.
    pub(crate) fn remove(&self, address: usize, origins: &[Origin]) -> Option<Arc<Allocation>> {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let found = map.get(&address)?;
        if !origins.contains(&found.origin) || found.base != address {
            return None;
        }
        let found = map.remove(&address)?;
        if found.device_base != found.base {
            map.remove(&found.device_base);
        }
        Some(found)
    }

    /// Removes exactly this allocation, unless another thread has.
    pub(crate) fn remove_known(&self, allocation: &Arc<Allocation>) -> bool {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let is_there = map.get(&allocation.base).is_some_and(|found| Arc::ptr_eq(found, allocation));
        if is_there {
            map.remove(&allocation.base);
        }
        is_there
    }

    /// The start of each allocation of a device.
    pub(crate) fn bases_of(&self, device: &Device) -> Vec<usize> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let of_device = map.values().filter(|found| std::ptr::eq(found.device, device));
        of_device.map(|found| found.base).collect()
    }

    /// Whether any byte of the range belongs to an allocation.
    pub(crate) fn overlaps(&self, start: usize, size: usize) -> bool {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let end = start.saturating_add(size);
        map.range(..end).next_back().is_some_and(|(&base, found)| base + found.size > start)
    }

    /// Gives all devices access to host memory that was allocated before some of them were there.
    fn share_host_memory(&self, runtime: &Runtime, gpus: &[hsa_agent_t]) {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        for allocation in map.values() {
            if matches!(allocation.origin, Origin::Host | Origin::Managed | Origin::Signal)
                && runtime.hsa.allow_access(gpus, allocation.base as *const c_void).is_err()
            {
                tracing::warn!(address = allocation.base, "a new device has no access to this host memory");
            }
        }
    }

    /// Applies the current peer access to all memory of a device, as far as HSA permits.
    pub(crate) fn share_device_memory(&self, runtime: &Runtime, owner: &Device) -> Result {
        let agents = accessors(runtime, owner);
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let mut done = Ok(());
        for found in map.values() {
            if !found.origin.is_own_of_device() || !std::ptr::eq(found.device, owner) {
                continue;
            }
            let base = found.base as *const c_void;
            done = done.and(match &found.pool {
                Some(pool) => runtime.hsa.allow_access(&pool.agents(runtime), base),
                None => runtime.hsa.allow_access(&agents, base),
            });
        }
        done
    }
}

/// Agents that may access the memory of a device: its own, its peers', and the host's if possible.
pub(crate) fn accessors(runtime: &Runtime, owner: &Device) -> Vec<hsa_agent_t> {
    let mut agents = vec![owner.agent];
    if owner.host_visible {
        agents.push(runtime.cpu);
    }
    for device in devices::all(runtime) {
        let peers = device.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.contains(&owner.ordinal) {
            agents.push(device.agent);
        }
    }
    agents
}

/// Allocates memory of a device.
pub(crate) fn allocate_device(
    runtime: &'static Runtime,
    device: &'static Device,
    size: usize,
    fine: bool,
    flags: u32,
) -> Result<usize> {
    let pool = if fine { device.fine_pool.unwrap_or(device.pool) } else { device.pool };
    allocate_from(runtime, device, pool, size, Origin::Device, flags)
}

/// Allocates the memory of an array.
pub(crate) fn allocate_array(
    runtime: &'static Runtime,
    device: &'static Device,
    size: usize,
    flags: u32,
) -> Result<usize> {
    allocate_from(runtime, device, device.pool, size, Origin::Array, flags)
}

fn allocate_from(
    runtime: &'static Runtime,
    device: &'static Device,
    pool: hsa_amd_memory_pool_t,
    size: usize,
    origin: Origin,
    flags: u32,
) -> Result<usize> {
    if size as u64 > device.info.max_allocation {
        return Err(hipError_t::hipErrorOutOfMemory);
    }
    let mut pointer = runtime.hsa.allocate(pool, size);
    if pointer.is_err() && pools(runtime).release(runtime, device) {
        pointer = runtime.hsa.allocate(pool, size);
    }
    let pointer = pointer.map_err(|_| hipError_t::hipErrorOutOfMemory)?;
    let agents = accessors(runtime, device);
    if agents.len() > 1
        && let Err(code) = runtime.hsa.allow_access(&agents, pointer)
    {
        // SAFETY: the memory was just allocated.
        let _ = unsafe { runtime.hsa.free(pointer) };
        return Err(code);
    }
    let base = pointer as usize;
    device.allocated.add(size as u64);
    memory(runtime).insert(Allocation {
        base,
        size,
        origin,
        device,
        device_base: base,
        flags,
        pool: None,
        serial: 0,
        access: None,
    });
    Ok(base)
}

/// Allocates host memory that all devices can access.
pub(crate) fn allocate_host(
    runtime: &'static Runtime,
    size: usize,
    origin: Origin,
    flags: u32,
) -> Result<usize> {
    let device = current_device(runtime)?;
    let pointer =
        runtime.hsa.allocate(runtime.host_pool, size).map_err(|_| hipError_t::hipErrorOutOfMemory)?;
    if let Err(code) = runtime.hsa.allow_access(&devices::agents(runtime), pointer) {
        // SAFETY: the memory was just allocated.
        let _ = unsafe { runtime.hsa.free(pointer) };
        return Err(code);
    }
    let base = pointer as usize;
    memory(runtime).insert(Allocation {
        base,
        size,
        origin,
        device,
        device_base: base,
        flags,
        pool: None,
        serial: 0,
        access: None,
    });
    Ok(base)
}

/// Returns memory to its pool or to HSA. Nothing may use it any more.
pub(crate) fn release(runtime: &Runtime, allocation: &Allocation) -> Result {
    if let Some(pool) = &allocation.pool {
        pool.give_back(runtime, allocation, None);
        return Ok(());
    }
    if allocation.origin == Origin::Managed {
        managed(runtime).forget(allocation);
    }
    if allocation.origin.is_own_of_device() {
        allocation.device.allocated.subtract(allocation.size as u64);
    }
    // SAFETY: the allocation came from HSA's pools and was taken out of the map, so that this happens once.
    unsafe { runtime.hsa.free(allocation.base as *mut c_void) }
}

/// Waits for all devices that may be using the memory.
pub(crate) fn quiesce_users(runtime: &'static Runtime, allocation: &Allocation) {
    for device in devices::all(runtime) {
        let is_peer =
            device.peers.lock().unwrap_or_else(PoisonError::into_inner).contains(&allocation.device.ordinal);
        if allocation.is_host() || is_peer || std::ptr::eq(device, allocation.device) {
            device.quiesce(runtime);
        }
    }
}

/// As [`quiesce_users`], before the memory is released, unless the thread has promised that nothing uses it.
pub(crate) fn quiesce_for_release(runtime: &'static Runtime, allocation: &Allocation) {
    if crate::release::waits() {
        quiesce_users(runtime, allocation);
    }
}
