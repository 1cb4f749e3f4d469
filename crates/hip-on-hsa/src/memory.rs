//! Memory: what has been allocated and by whom, and the functions that allocate, register and free.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hip_sys::{hipDeviceptr_t, hipError_t, hipExtent, hipMemAccessFlags, hipPitchedPtr, hipStream_t};
use hsa_sys::hsa_agent_t;

use crate::caller::{self, Access};
use crate::device::{Device, current_device};
use crate::devices;
use crate::error::{Result, entry};
use crate::graph::{self, Capturing};
use crate::managed::managed;
use crate::mem_pool::Pool;
use crate::mem_pool::pools;
use crate::runtime::{Runtime, active, runtime};
use crate::stream::resolve;
use crate::stub::is_managed;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Rows of pitched memory start at multiples of this.
const PITCH_ALIGN: usize = 256;

/// Where memory came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// `hipMalloc` and its kin.
    Device,
    /// `hipMallocManaged`.
    Managed,
    /// `hipHostMalloc` and its kin.
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
    /// Flags that it was allocated or registered with.
    pub(crate) flags: u32,
    /// The pool that it goes back to.
    pub(crate) pool: Option<Arc<Pool>>,
    /// Tells it from every other one that there has been; given when it becomes known.
    pub(crate) serial: u64,
    /// What devices may do with it, by ordinal; `None` for memory that every device may use that reaches it.
    pub(crate) access: Option<Arc<BTreeMap<i32, hipMemAccessFlags>>>,
}

/// What is done with memory, and the device whose stream does it, if that is known yet.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) writes: bool,
    pub(crate) device: Option<&'static Device>,
}

impl Allocation {
    fn is_host(&self) -> bool {
        matches!(self.origin, Origin::Host | Origin::Registered | Origin::Managed | Origin::Signal)
    }

    /// Whether it may be used so. What a device that was not told anything does is done by the device whose memory it is.
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

    /// The device whose memory it is; none for host memory.
    pub(crate) fn memory_of(&self) -> Option<&'static Device> {
        (!self.is_host()).then_some(self.device)
    }
}

/// All memory that programs have.
pub(crate) fn memory(_started: &Runtime) -> &'static Memory {
    static MEMORY: Memory = Memory { map: RwLock::new(BTreeMap::new()) };
    &MEMORY
}

/// All memory that the runtime knows, by address.
#[derive(Default)]
pub(crate) struct Memory {
    map: RwLock<BTreeMap<usize, Arc<Allocation>>>,
}

impl Memory {
    /// The allocation that holds an address, and how far the address is behind its start.
    pub(crate) fn find(&self, address: usize) -> Option<(Arc<Allocation>, usize)> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let (&start, allocation) = map.range(..=address).next_back()?;
        let offset = address - start;
        (offset < allocation.size).then(|| (allocation.clone(), offset))
    }

    /// Whether an allocation holds so many bytes behind an offset, together with mappings that follow it without gaps, and all of them
    /// may be used so.
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

    /// Takes the allocation that starts exactly at an address, if it has one of the origins.
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

    /// Takes out exactly this allocation, unless somebody else has.
    pub(crate) fn remove_known(&self, allocation: &Arc<Allocation>) -> bool {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let is_there = map.get(&allocation.base).is_some_and(|found| Arc::ptr_eq(found, allocation));
        if is_there {
            map.remove(&allocation.base);
        }
        is_there
    }

    /// Where each allocation of a device starts.
    fn bases_of(&self, device: &Device) -> Vec<usize> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let of_device = map.values().filter(|found| std::ptr::eq(found.device, device));
        of_device.map(|found| found.base).collect()
    }

    /// Whether any byte of the range is known.
    fn overlaps(&self, start: usize, size: usize) -> bool {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let end = start.saturating_add(size);
        map.range(..end).next_back().is_some_and(|(&base, found)| base + found.size > start)
    }

    /// Gives all devices access to host memory that was allocated before some of them were there.
    pub(crate) fn share_host_memory(&self, runtime: &Runtime, gpus: &[hsa_agent_t]) {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        for allocation in map.values() {
            if matches!(allocation.origin, Origin::Host | Origin::Managed | Origin::Signal)
                && runtime.hsa.allow_access(gpus, allocation.base as *const c_void).is_err()
            {
                tracing::warn!(address = allocation.base, "a new device has no access to this host memory");
            }
        }
    }

    /// Applies the present peer access to all memory of a device, as far as HSA agrees.
    pub(crate) fn share_device_memory(&self, runtime: &Runtime, owner: &Device) -> Result {
        let agents = accessors(runtime, owner);
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let mut done = Ok(());
        for found in map.values() {
            if found.origin != Origin::Device || !std::ptr::eq(found.device, owner) {
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

/// Agents that may access the memory of a device: its own, its peers', and the host's where it can.
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

/// Bytes of a staging buffer.
pub(crate) const STAGING_BYTES: usize = 1 << 20;
/// Staging buffers that a device keeps for the next copies.
const STAGING_KEEP: usize = 8;

/// Host memory through which a device's copies of pageable memory go.
#[derive(Default)]
pub(crate) struct StagingBuffers {
    free: Mutex<Vec<usize>>,
}

/// One staging buffer, given back on drop. Whoever drops it has waited for the copies that use it.
pub(crate) struct Staging {
    device: &'static Device,
    address: usize,
}

impl Staging {
    pub(crate) fn new(runtime: &Runtime, device: &'static Device) -> Result<Self> {
        let free = device.staging.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let address = match free {
            Some(address) => address,
            None => {
                let pointer = runtime.hsa.allocate(runtime.host_pool, STAGING_BYTES)?;
                if let Err(code) = runtime.hsa.allow_access(&[device.agent], pointer) {
                    // SAFETY: the memory was just allocated.
                    let _ = unsafe { runtime.hsa.free(pointer) };
                    return Err(code);
                }
                pointer as usize
            }
        };
        Ok(Self { device, address })
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.address as *mut u8
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let mut free = self.device.staging.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < STAGING_KEEP {
            free.push(self.address);
        } else if let Some(runtime) = runtime() {
            drop(free);
            // SAFETY: the buffer came from the host pool and no copy uses it any more.
            let _ = unsafe { runtime.hsa.free(self.address as *mut c_void) };
        }
    }
}

/// Allocates memory of a device.
pub(crate) fn allocate_device(
    runtime: &'static Runtime,
    device: &'static Device,
    size: usize,
    fine: bool,
    flags: u32,
) -> Result<usize> {
    if size as u64 > device.info.max_allocation {
        return Err(hipError_t::hipErrorOutOfMemory);
    }
    let pool = if fine { device.fine_pool.unwrap_or(device.pool) } else { device.pool };
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
        origin: Origin::Device,
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
fn allocate_host(runtime: &'static Runtime, size: usize, origin: Origin, flags: u32) -> Result<usize> {
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

/// Gives memory back to its pool or to HSA. Nothing uses it any more.
pub(crate) fn release(runtime: &Runtime, allocation: &Allocation) -> Result {
    if let Some(pool) = &allocation.pool {
        pool.give_back(runtime, allocation, None);
        return Ok(());
    }
    if allocation.origin == Origin::Managed {
        managed(runtime).forget(allocation);
    }
    if allocation.origin == Origin::Device {
        allocation.device.allocated.subtract(allocation.size as u64);
    }
    // SAFETY: the allocation came from HSA's pools and was taken out of the map, so that this happens once.
    unsafe { runtime.hsa.free(allocation.base as *mut c_void) }
}

/// Writes an address to a caller's pointer; `size` 0 gives null.
///
/// # Safety
/// `out` is null or valid for writing.
pub(crate) unsafe fn allocate_to(
    out: *mut *mut c_void,
    size: usize,
    allocate: impl FnOnce(&'static Runtime) -> Result<usize>,
) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    *out = std::ptr::null_mut();
    if size != 0 {
        *out = allocate(runtime)? as *mut c_void;
    }
    Ok(())
}

/// `hipMalloc`: of the current device. 0 bytes give a null pointer.
pub(crate) unsafe extern "C" fn hipMalloc(out: *mut *mut c_void, size: usize) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        graph::permit()?;
        allocate_to(out, size, |runtime| allocate_device(runtime, current_device(runtime)?, size, false, 0))
    })
}

/// `hipExtMallocWithFlags`: default and fine-grained memory, and the 8 bytes of signal memory, which are the host's.
pub(crate) unsafe extern "C" fn hipExtMallocWithFlags(
    out: *mut *mut c_void,
    size: usize,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        graph::permit()?;
        let fine = match flags {
            hip_sys::hipDeviceMallocDefault => false,
            hip_sys::hipDeviceMallocFinegrained | hip_sys::hipDeviceMallocUncached => true,
            hip_sys::hipMallocSignalMemory if size == 8 => {
                return allocate_to(out, size, |runtime| allocate_host(runtime, size, Origin::Signal, flags));
            }
            hip_sys::hipDeviceMallocContiguous => return Err(hipError_t::hipErrorNotSupported),
            _ => return Err(INVALID_VALUE),
        };
        allocate_to(out, size, |runtime| {
            allocate_device(runtime, current_device(runtime)?, size, fine, flags)
        })
    })
}

/// What a program allocates and frees.
const ALLOCATED: [Origin; 4] = [Origin::Device, Origin::Managed, Origin::Host, Origin::Signal];

/// Frees memory of any kind: the functions for host and for device memory are the same, as AMD's are. RCCL frees uncached device memory
/// with `hipHostFree`.
fn free(pointer: *mut c_void) -> Result {
    let runtime = active()?;
    graph::permit()?;
    if pointer.is_null() {
        return Ok(());
    }
    if let Some(memory) = graph::memory_at(pointer as usize) {
        return memory.end_and_wait();
    }
    let found = memory(runtime).remove(pointer as usize, &ALLOCATED).ok_or(INVALID_VALUE)?;
    quiesce_for_release(runtime, &found);
    release(runtime, &found)?;
    if found.pool.is_some() {
        pools(runtime).synchronized(runtime);
    }
    Ok(())
}

/// `hipFree`: waits until the device is idle, then frees memory of the host or of a device. Null is allowed.
pub(crate) unsafe extern "C" fn hipFree(pointer: *mut c_void) -> hipError_t {
    entry(|| free(pointer))
}

/// Frees all memory that was allocated while the device was current, but managed variables and what graphs keep for their
/// next launches.
pub(crate) fn free_all_of(runtime: &'static Runtime, device: &'static Device) -> Result {
    let mut result = Ok(());
    for base in memory(runtime).bases_of(device) {
        if is_managed(base) {
            continue;
        }
        if let Some(memory) = graph::memory_at(base) {
            // The graph keeps it for its next launch.
            let _ = memory.end();
            continue;
        }
        if let Some(found) = memory(runtime).remove(base, &ALLOCATED) {
            quiesce_users(runtime, &found);
            result = result.and(release(runtime, &found));
        }
    }
    pools(runtime).synchronized(runtime);
    result
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

/// As [`quiesce_users`], before the memory is released, unless the thread has vouched that nothing uses it.
pub(crate) fn quiesce_for_release(runtime: &'static Runtime, allocation: &Allocation) {
    if crate::release::waits() {
        quiesce_users(runtime, allocation);
    }
}

/// `hipFreeAsync`: a pool's memory is the pool's again, for work behind what the stream has so far. Other memory is freed once
/// all of that has completed. Captured, a node that frees memory of a graph.
pub(crate) unsafe extern "C" fn hipFreeAsync(pointer: *mut c_void, stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        if pointer.is_null() {
            return Ok(());
        }
        if let Some(capture) = Capturing::of(&stream)? {
            return capture.add(graph::free(pointer)?);
        }
        if let Some(memory) = graph::memory_at(pointer as usize) {
            return memory.end();
        }
        let found = memory(runtime).remove(pointer as usize, &[Origin::Device]).ok_or(INVALID_VALUE)?;
        let freed = match &found.pool {
            Some(pool) => stream
                .submit(runtime, |engine| engine.tail())
                .map(|freed| pool.give_back(runtime, &found, Some(freed))),
            None => {
                let later = found.clone();
                stream.run_on_host(runtime, false, move |_| {
                    if release(runtime, &later).is_err() {
                        tracing::warn!(address = later.base, "a stream-ordered free failed");
                    }
                })
            }
        };
        if freed.is_err() {
            // The memory is still the program's.
            memory(runtime).insert((*found).clone());
        }
        freed
    })
}

/// `hipMallocManaged`: host memory that every device can access, for both sides at the same address.
pub(crate) unsafe extern "C" fn hipMallocManaged(
    out: *mut *mut c_void,
    size: usize,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        if size == 0 || (flags != hip_sys::hipMemAttachGlobal && flags != hip_sys::hipMemAttachHost) {
            return Err(INVALID_VALUE);
        }
        graph::permit()?;
        allocate_to(out, size, |runtime| allocate_host(runtime, size, Origin::Managed, flags))
    })
}

/// # Safety
/// `out` and `pitch` are null or valid for writing.
unsafe fn malloc_pitch(out: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) -> Result {
    graph::permit()?;
    // SAFETY: as this function's contract.
    let pitch = unsafe { caller::place(pitch) }?;
    let row = width.checked_next_multiple_of(PITCH_ALIGN).ok_or(INVALID_VALUE)?;
    let size = row.checked_mul(height).ok_or(hipError_t::hipErrorOutOfMemory)?;
    // SAFETY: as this function's contract.
    unsafe {
        allocate_to(out, size, |runtime| allocate_device(runtime, current_device(runtime)?, size, false, 0))?;
    }
    *pitch = row;
    Ok(())
}

/// `hipMallocPitch`: rows start at multiples of 256 bytes.
pub(crate) unsafe extern "C" fn hipMallocPitch(
    out: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    entry(|| unsafe { malloc_pitch(out, pitch, width, height) })
}

/// `hipMalloc3D`: rows start at multiples of 256 bytes, rectangles follow each other.
pub(crate) unsafe extern "C" fn hipMalloc3D(out: *mut hipPitchedPtr, extent: hipExtent) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let hipExtent { width, height, depth } = extent;
        let rows = height.checked_mul(depth).ok_or(INVALID_VALUE)?;
        let (mut pointer, mut pitch) = (std::ptr::null_mut(), 0);
        // SAFETY: both places are valid.
        unsafe { malloc_pitch(&mut pointer, &mut pitch, width, rows)? };
        *out = hipPitchedPtr { ptr: pointer, pitch, xsize: width, ysize: height };
        Ok(())
    })
}

/// `hipMemAllocPitch`.
pub(crate) unsafe extern "C" fn hipMemAllocPitch(
    out: *mut hipDeviceptr_t,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    entry(|| unsafe {
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(INVALID_VALUE);
        }
        malloc_pitch(out, pitch, width, height)
    })
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn host_malloc(out: *mut *mut c_void, size: usize, flags: u32) -> Result {
    use hip_sys::*;
    let both = hipHostMallocCoherent | hipHostMallocNonCoherent;
    if flags & both == both {
        return Err(INVALID_VALUE);
    }
    graph::permit()?;
    // SAFETY: as this function's contract.
    unsafe { allocate_to(out, size, |runtime| allocate_host(runtime, size, Origin::Host, flags)) }
}

/// `hipHostMalloc`: pinned, coherent, mapped for all devices whatever the flags say. Bits that are no flag are not looked at, as with
/// AMD's runtime.
pub(crate) unsafe extern "C" fn hipHostMalloc(out: *mut *mut c_void, size: usize, flags: u32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { host_malloc(out, size, flags) })
}

/// `hipHostAlloc`.
pub(crate) unsafe extern "C" fn hipHostAlloc(out: *mut *mut c_void, size: usize, flags: u32) -> hipError_t {
    use hip_sys::*;
    let known = hipHostAllocPortable
        | hipHostAllocMapped
        | hipHostAllocWriteCombined
        | hipHostMallocUncached
        | hipHostMallocNumaUser
        | hipHostMallocCoherent;
    entry(|| match flags & !known {
        // SAFETY: the caller passes null or a valid place for a pointer.
        0 => unsafe { host_malloc(out, size, flags) },
        _ => Err(INVALID_VALUE),
    })
}

/// `hipMallocHost`.
pub(crate) unsafe extern "C" fn hipMallocHost(out: *mut *mut c_void, size: usize) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { host_malloc(out, size, hip_sys::hipHostMallocDefault) })
}

/// `hipMemAllocHost`.
pub(crate) unsafe extern "C" fn hipMemAllocHost(out: *mut *mut c_void, size: usize) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { host_malloc(out, size, hip_sys::hipHostMallocDefault) })
}

/// `hipHostFree`: the same as `hipFree`.
pub(crate) unsafe extern "C" fn hipHostFree(pointer: *mut c_void) -> hipError_t {
    entry(|| free(pointer))
}

/// `hipFreeHost`.
pub(crate) unsafe extern "C" fn hipFreeHost(pointer: *mut c_void) -> hipError_t {
    entry(|| free(pointer))
}

/// What devices may do with memory that the host may read only.
fn read_only(runtime: &Runtime) -> Arc<BTreeMap<i32, hipMemAccessFlags>> {
    let devices = devices::all(runtime).into_iter();
    Arc::new(devices.map(|device| (device.ordinal, hipMemAccessFlags::hipMemAccessFlagsProtRead)).collect())
}

/// `hipHostRegister`: pins memory of the program for the devices there are now. It must be mapped for reads and writes; with
/// `hipHostRegisterReadOnly` for reads at least, and then is not written by anyone.
pub(crate) unsafe extern "C" fn hipHostRegister(pointer: *mut c_void, size: usize, flags: u32) -> hipError_t {
    entry(|| {
        use hip_sys::*;
        let runtime = active()?;
        graph::permit()?;
        let known = hipHostRegisterPortable
            | hipHostRegisterMapped
            | hipHostRegisterReadOnly
            | hipExtHostRegisterUncached;
        if pointer.is_null() || size == 0 || flags & !(known | hipHostRegisterIoMemory) != 0 {
            return Err(INVALID_VALUE);
        }
        if flags & hipHostRegisterIoMemory != 0 {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let base = pointer as usize;
        if base.checked_add(size).is_none() {
            return Err(INVALID_VALUE);
        }
        let device = current_device(runtime)?;
        let is_writable = caller::is_accessible(base, size, Access::Write);
        let is_readable =
            flags & hipHostRegisterReadOnly != 0 && caller::is_accessible(base, size, Access::Read);
        if !is_writable && !is_readable {
            return Err(INVALID_VALUE);
        }
        if memory(runtime).overlaps(base, size) {
            return Err(hipError_t::hipErrorHostMemoryAlreadyRegistered);
        }
        let mut agents = devices::agents(runtime);
        // SAFETY: the caller vouches that the memory is there until it is unregistered.
        let mapped = unsafe { runtime.hsa.lock(pointer, size, &mut agents, runtime.host_pool) }?;
        memory(runtime).insert(Allocation {
            base,
            size,
            origin: Origin::Registered,
            device,
            device_base: mapped as usize,
            flags,
            pool: None,
            serial: 0,
            access: (!is_writable).then(|| read_only(runtime)),
        });
        Ok(())
    })
}

/// `hipHostUnregister`: waits until the devices are idle first.
pub(crate) unsafe extern "C" fn hipHostUnregister(pointer: *mut c_void) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        let found = memory(runtime)
            .remove(pointer as usize, &[Origin::Registered])
            .ok_or(hipError_t::hipErrorHostMemoryNotRegistered)?;
        quiesce_for_release(runtime, &found);
        // SAFETY: the range was locked when it entered the map, and all devices are idle, or the caller vouches that none uses it.
        let unlocked = unsafe { runtime.hsa.unlock(pointer) };
        if unlocked.is_err() {
            // It is still locked.
            memory(runtime).insert((*found).clone());
        }
        unlocked
    })
}

/// `hipHostGetDevicePointer`.
pub(crate) unsafe extern "C" fn hipHostGetDevicePointer(
    out: *mut *mut c_void,
    pointer: *mut c_void,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a pointer.
        let out = unsafe { caller::place(out) }?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let (found, offset) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if !found.is_host() {
            return Err(INVALID_VALUE);
        }
        *out = (found.device_base + offset) as *mut c_void;
        Ok(())
    })
}

/// `hipHostGetFlags`.
pub(crate) unsafe extern "C" fn hipHostGetFlags(flags: *mut u32, pointer: *mut c_void) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let flags = unsafe { caller::place(flags) }?;
        let (found, _) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if !matches!(found.origin, Origin::Host | Origin::Registered) {
            return Err(INVALID_VALUE);
        }
        *flags = found.flags;
        Ok(())
    })
}
