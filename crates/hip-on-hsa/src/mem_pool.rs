//! Memory pools: device memory that is allocated and freed in the order of streams.
//!
//! A block that a stream frees stays with its pool. It is used again, at exactly its size, by an allocation that is ordered
//! behind the free: on the same stream at once, on another one when the free has completed or where an event or the null
//! stream orders it. Blocks are neither split nor joined, so that an allocation's bounds are what the program asked for: the
//! virtual GPU checks them. What a pool holds beyond its release threshold goes back to HSA when the program synchronises.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hip_sys::{
    hipError_t, hipMemAccessDesc, hipMemAccessFlags, hipMemAllocationHandleType, hipMemAllocationType,
    hipMemLocation, hipMemLocationType, hipMemPool_t, hipMemPoolAttr, hipMemPoolProps, hipStream_t,
};
use hsa_sys::hsa_agent_t;

use crate::caller;
use crate::device::{Device, by_ordinal};
use crate::devices;
use crate::error::{Result, entry};
use crate::graph::{self, Capturing};
use crate::memory::memory;
use crate::memory::{Allocation, Origin, accessors, allocate_to};
use crate::peer::apply_or_undo;
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, active};
use crate::signal::{Marker, Point};
use crate::stream::{Stream, resolve};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const OUT_OF_MEMORY: hipError_t = hipError_t::hipErrorOutOfMemory;

/// Memory that was freed and that its pool still holds.
struct Block {
    base: usize,
    size: usize,
    /// The free, until the program has synchronised with it.
    freed: Option<Arc<Marker>>,
    /// Points of other queues that are behind the free.
    behind: Vec<Point>,
    /// [`Pools::access_epoch`] when the block was given to its agents.
    epoch: u64,
}

impl Block {
    /// Whether work after a point of a queue is behind the free by the order of streams alone.
    fn is_before(&self, point: Point, follow_events: bool) -> bool {
        let own = self.freed.as_ref().and_then(|freed| freed.point());
        own.is_some_and(|own| own.is_before(point))
            || (follow_events && self.behind.iter().any(|behind| behind.is_before(point)))
    }

    /// Whether the stream that freed it has failed before it got there. Copies may still write such memory.
    fn has_failed(&self) -> bool {
        self.freed.as_ref().is_some_and(|freed| freed.failure().is_some())
    }

    /// Whether the free has completed.
    fn is_free(&self, runtime: &Runtime) -> bool {
        self.is_over(runtime) && !self.has_failed()
    }

    /// Whether nothing in any stream can use the memory any more.
    fn is_over(&self, runtime: &Runtime) -> bool {
        self.freed.as_ref().is_none_or(|freed| freed.is_over(runtime))
    }
}

struct State {
    /// Freed blocks by size, the latest last.
    free: BTreeMap<usize, Vec<Block>>,
    /// Bytes taken from HSA, and how many of them the program holds.
    reserved: u64,
    used: u64,
    reserved_high: u64,
    used_high: u64,
    /// Bytes that a synchronising call leaves.
    threshold: u64,
    follow_events: bool,
    opportunistic: bool,
    internal_dependencies: bool,
    /// Devices besides the owner that may access the pool's memory.
    access: Vec<&'static Device>,
    destroyed: bool,
}

/// A memory pool of a device.
pub(crate) struct Pool {
    device: &'static Device,
    handle: OnceLock<usize>,
    is_default: bool,
    /// The most that it takes from HSA.
    max_size: u64,
    state: Mutex<State>,
}

/// All pools by their handles.
fn mem_pools(_started: &Runtime) -> &'static Registry<Pool> {
    static NAMED: Registry<Pool> = Registry::new(Kind::MemPool);
    &NAMED
}

/// All pools.
pub(crate) fn pools(_started: &Runtime) -> &'static Pools {
    static POOLS: Pools =
        Pools { all: Mutex::new(Vec::new()), held: AtomicUsize::new(0), access_epoch: AtomicU64::new(0) };
    &POOLS
}

/// All pools of the process.
#[derive(Default)]
pub(crate) struct Pools {
    all: Mutex<Vec<Arc<Pool>>>,
    /// Freed blocks that pools hold.
    held: AtomicUsize,
    /// Changes whenever other agents may access some pool's memory.
    access_epoch: AtomicU64,
}

/// The pools that a device allocates from.
#[derive(Default)]
pub(crate) struct DevicePools {
    default: OnceLock<Arc<Pool>>,
    /// What `hipDeviceSetMemPool` set, if it is not the default.
    current: Mutex<Option<Arc<Pool>>>,
}

impl DevicePools {
    fn current(&self) -> MutexGuard<'_, Option<Arc<Pool>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pools {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Pool>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that what follows `after` in its queue waits for `before` of another one.
    pub(crate) fn order(&self, before: Point, after: Point) {
        if self.held.load(Ordering::Acquire) == 0 {
            return;
        }
        for pool in self.all().iter() {
            for block in pool.state().free.values_mut().flatten() {
                let known = block.behind.iter().any(|behind| behind.is_before(after));
                if !known && block.is_before(before, true) {
                    block.behind.push(after);
                }
            }
        }
    }

    /// Notes that access to memory has changed, so that blocks are given to their agents anew.
    pub(crate) fn access_changed(&self) {
        self.access_epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Does what a pool does when the program synchronises: goes down to its release threshold.
    pub(crate) fn synchronized(&self, runtime: &Runtime) {
        graph::synchronized(runtime);
        if self.held.load(Ordering::Acquire) == 0 {
            return;
        }
        let pools = self.all().clone();
        for pool in &pools {
            let mut state = pool.state();
            if !state.opportunistic {
                for block in state.free.values_mut().flatten() {
                    if block.is_free(runtime) {
                        block.freed = None;
                    }
                }
            }
            let keep = state.threshold;
            drop(state);
            pool.trim(runtime, keep);
        }
        self.all().retain(|pool| {
            let state = pool.state();
            !(state.destroyed && state.reserved == 0)
        });
    }

    /// Gives everything that pools of a device hold without need back to HSA. Returns whether that was anything.
    pub(crate) fn release(&self, runtime: &Runtime, device: &Device) -> bool {
        let pools = self.all().clone();
        let of_device = pools.iter().filter(|pool| std::ptr::eq(pool.device, device));
        of_device.fold(false, |any, pool| pool.trim(runtime, 0) | any)
    }

    /// Waits for all frees of a device's pools.
    fn wait_for_frees(&self, runtime: &Runtime, device: &Device) {
        let pools = self.all().clone();
        for pool in pools.iter().filter(|pool| std::ptr::eq(pool.device, device)) {
            let frees: Vec<Arc<Marker>> =
                pool.state().free.values().flatten().filter_map(|block| block.freed.clone()).collect();
            for freed in frees {
                // What became of the stream is for its own calls to tell.
                let _ = freed.wait(runtime);
            }
        }
    }
}

impl Pool {
    fn new(runtime: &Runtime, device: &'static Device, is_default: bool, max_size: u64) -> Result<Arc<Self>> {
        let pool = Arc::new(Self {
            device,
            handle: OnceLock::new(),
            is_default,
            max_size,
            state: Mutex::new(State {
                free: BTreeMap::new(),
                reserved: 0,
                used: 0,
                reserved_high: 0,
                used_high: 0,
                threshold: 0,
                follow_events: true,
                opportunistic: true,
                internal_dependencies: true,
                access: Vec::new(),
                destroyed: false,
            }),
        });
        let handle = mem_pools(runtime).insert(pool.clone()).ok_or(OUT_OF_MEMORY)?;
        let _ = pool.handle.set(handle);
        pools(runtime).all().push(pool.clone());
        Ok(pool)
    }

    /// The default pool of a device.
    fn default_of(runtime: &Runtime, device: &'static Device) -> Result<Arc<Self>> {
        if let Some(pool) = device.pools.default.get() {
            return Ok(pool.clone());
        }
        // The lock keeps two threads from making two.
        let _current = device.pools.current();
        if let Some(pool) = device.pools.default.get() {
            return Ok(pool.clone());
        }
        let pool = Self::new(runtime, device, true, u64::MAX)?;
        Ok(device.pools.default.get_or_init(|| pool).clone())
    }

    /// The pool that `hipMallocAsync` takes from.
    pub(crate) fn current_of(runtime: &Runtime, device: &'static Device) -> Result<Arc<Self>> {
        let current = device.pools.current().clone();
        current.map_or_else(|| Self::default_of(runtime, device), Ok)
    }

    fn find(runtime: &Runtime, handle: hipMemPool_t) -> Result<Arc<Self>> {
        mem_pools(runtime).get(handle as usize).ok_or(INVALID_VALUE)
    }

    pub(crate) fn handle(&self) -> hipMemPool_t {
        self.handle.get().copied().unwrap_or(0) as hipMemPool_t
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Agents that may access the pool's memory.
    pub(crate) fn agents(&self, runtime: &Runtime) -> Vec<hsa_agent_t> {
        let mut agents = accessors(runtime, self.device);
        for device in &self.state().access {
            if !agents.iter().any(|agent| agent.handle == device.agent.handle) {
                agents.push(device.agent);
            }
        }
        agents
    }

    /// Takes out a freed block that `suits`, the latest first. What failed streams have freed is not used again.
    fn take(&self, runtime: &Runtime, size: usize, suits: impl Fn(&State, &Block) -> bool) -> Option<Block> {
        let mut state = self.state();
        let index =
            state.free.get(&size)?.iter().rposition(|block| !block.has_failed() && suits(&state, block))?;
        let blocks = state.free.get_mut(&size)?;
        let block = blocks.remove(index);
        if blocks.is_empty() {
            state.free.remove(&size);
        }
        state.used += size as u64;
        state.used_high = state.used_high.max(state.used);
        pools(runtime).held.fetch_sub(1, Ordering::AcqRel);
        Some(block)
    }

    /// Takes a new block from HSA.
    fn grow(&self, runtime: &Runtime, size: usize) -> Result<Block> {
        let bytes = size as u64;
        {
            let mut state = self.state();
            let total = state.reserved.checked_add(bytes).filter(|&total| total <= self.max_size);
            state.reserved = total.ok_or(OUT_OF_MEMORY)?;
        }
        let epoch = pools(runtime).access_epoch.load(Ordering::Acquire);
        let pointer = runtime.hsa.allocate(self.device.pool, size).and_then(|pointer| {
            let agents = self.agents(runtime);
            if agents.len() > 1
                && let Err(code) = runtime.hsa.allow_access(&agents, pointer)
            {
                // SAFETY: the memory was just allocated.
                let _ = unsafe { runtime.hsa.free(pointer) };
                return Err(code);
            }
            Ok(pointer)
        });
        let mut state = self.state();
        let Ok(pointer) = pointer else {
            state.reserved -= bytes;
            return Err(OUT_OF_MEMORY);
        };
        state.reserved_high = state.reserved_high.max(state.reserved);
        state.used += bytes;
        state.used_high = state.used_high.max(state.used);
        self.device.allocated.add(bytes);
        Ok(Block { base: pointer as usize, size, freed: None, behind: Vec::new(), epoch })
    }

    /// A block for work that follows on the stream.
    fn find_block(&self, runtime: &'static Runtime, stream: &Stream, size: usize) -> Result<Block> {
        let ready = stream.submit(runtime, |engine| {
            let point = engine.point();
            Ok(self.take(runtime, size, |state, block| {
                block.is_before(point, state.follow_events)
                    || block.freed.is_none()
                    || (state.opportunistic && block.is_free(runtime))
            }))
        })?;
        if let Some(block) = ready {
            return Ok(block);
        }
        if let Ok(block) = self.grow(runtime, size) {
            return Ok(block);
        }
        if pools(runtime).release(runtime, self.device)
            && let Ok(block) = self.grow(runtime, size)
        {
            return Ok(block);
        }
        // There is no memory but what will be free later: the stream waits for that, or else the program does.
        let later = stream.submit(runtime, |engine| {
            let found = self.take(runtime, size, |state, _| state.internal_dependencies);
            let Some(block) = found else { return Ok(None) };
            if let Some(freed) = block.freed.clone()
                && let Err(code) = engine.wait_for(freed)
            {
                self.put(runtime, block);
                return Err(code);
            }
            Ok(Some(block))
        })?;
        if let Some(block) = later {
            return Ok(block);
        }
        pools(runtime).wait_for_frees(runtime, self.device);
        pools(runtime).release(runtime, self.device);
        self.grow(runtime, size)
    }

    /// Allocates memory for work that follows on the stream.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        runtime: &'static Runtime,
        stream: &Stream,
        size: usize,
    ) -> Result<usize> {
        if size as u64 > self.device.info.max_allocation {
            return Err(OUT_OF_MEMORY);
        }
        let block = self.find_block(runtime, stream, size)?;
        let epoch = pools(runtime).access_epoch.load(Ordering::Acquire);
        if block.epoch != epoch
            && let Err(code) = runtime.hsa.allow_access(&self.agents(runtime), block.base as *const c_void)
        {
            self.put(runtime, block);
            return Err(code);
        }
        let base = block.base;
        memory(runtime).insert(Allocation {
            base,
            size,
            origin: Origin::Device,
            device: self.device,
            device_base: base,
            flags: 0,
            pool: Some(self.clone()),
            serial: 0,
            access: None,
        });
        Ok(base)
    }

    /// Takes memory back that the program has freed, at a point of a stream or for good.
    pub(crate) fn give_back(&self, runtime: &Runtime, allocation: &Allocation, freed: Option<Arc<Marker>>) {
        // Blocks are given to their agents again where that may have changed meanwhile.
        let epoch = pools(runtime).access_epoch.load(Ordering::Acquire);
        let Allocation { base, size, .. } = *allocation;
        self.put(runtime, Block { base, size, freed, behind: Vec::new(), epoch });
    }

    fn put(&self, runtime: &Runtime, block: Block) {
        let mut state = self.state();
        state.used -= block.size as u64;
        pools(runtime).held.fetch_add(1, Ordering::AcqRel);
        state.free.entry(block.size).or_default().push(block);
    }

    /// Gives completely free blocks back to HSA, the longest unused of each size first, until the pool holds no more than
    /// `keep` bytes. Returns whether there were any.
    fn trim(&self, runtime: &Runtime, keep: u64) -> bool {
        let mut over = Vec::new();
        let mut state = self.state();
        let mut reserved = state.reserved;
        state.free.retain(|&size, blocks| {
            blocks.retain_mut(|block| {
                if reserved <= keep || !block.is_over(runtime) {
                    return true;
                }
                reserved -= size as u64;
                over.push((block.base, size));
                false
            });
            !blocks.is_empty()
        });
        state.reserved = reserved;
        drop(state);
        pools(runtime).held.fetch_sub(over.len(), Ordering::AcqRel);
        for &(base, size) in &over {
            self.device.allocated.subtract(size as u64);
            // SAFETY: the block came from HSA, its free has completed, and the pool knows it no more.
            if unsafe { runtime.hsa.free(base as *mut c_void) }.is_err() {
                tracing::warn!(address = base, "memory of a pool could not be freed");
            }
        }
        !over.is_empty()
    }
}

/// The device at a location, or the code if there is none of that number.
fn device_at(location: hipMemLocation, code: hipError_t) -> Result<&'static Device> {
    match location.type_ {
        hipMemLocationType::hipMemLocationTypeDevice => by_ordinal(location.id).map_err(|_| code),
        _ => Err(INVALID_VALUE),
    }
}

/// `hipDeviceGetDefaultMemPool`.
pub(crate) unsafe extern "C" fn hipDeviceGetDefaultMemPool(
    out: *mut hipMemPool_t,
    device: i32,
) -> hipError_t {
    entry(|| {
        let (runtime, device) = (active()?, by_ordinal(device)?);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = Pool::default_of(runtime, device)?.handle();
        Ok(())
    })
}

/// `hipDeviceGetMemPool`: the pool that `hipMallocAsync` allocates from.
pub(crate) unsafe extern "C" fn hipDeviceGetMemPool(out: *mut hipMemPool_t, device: i32) -> hipError_t {
    entry(|| {
        let (runtime, device) = (active()?, by_ordinal(device).map_err(|_| INVALID_VALUE)?);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = Pool::current_of(runtime, device)?.handle();
        Ok(())
    })
}

/// `hipDeviceSetMemPool`: a pool of that device.
pub(crate) unsafe extern "C" fn hipDeviceSetMemPool(device: i32, pool: hipMemPool_t) -> hipError_t {
    entry(|| {
        let (runtime, device) = (active()?, by_ordinal(device).map_err(|_| INVALID_VALUE)?);
        let pool = Pool::find(runtime, pool)?;
        if !std::ptr::eq(pool.device, device) {
            return Err(INVALID_VALUE);
        }
        *device.pools.current() = (!pool.is_default).then_some(pool);
        Ok(())
    })
}

/// `hipMemPoolCreate`: of pinned device memory that is not for other processes.
///
/// `hipErrorNotSupported` for handle types and for memory that is not a device's.
pub(crate) unsafe extern "C" fn hipMemPoolCreate(
    out: *mut hipMemPool_t,
    properties: *const hipMemPoolProps,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, properties) = unsafe { (caller::place(out)?, caller::value(properties)?) };
        if properties.allocType != hipMemAllocationType::hipMemAllocationTypePinned {
            return Err(INVALID_VALUE);
        }
        if properties.handleTypes != hipMemAllocationHandleType::hipMemHandleTypeNone {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let device = device_at(properties.location, INVALID_VALUE)?;
        let max_size = if properties.maxSize == 0 { u64::MAX } else { properties.maxSize as u64 };
        *out = Pool::new(runtime, device, false, max_size)?.handle();
        Ok(())
    })
}

/// `hipMemPoolDestroy`: returns at once. Memory that the program holds stays valid; what the pool holds goes back to HSA when
/// it is free. A default pool cannot be destroyed.
pub(crate) unsafe extern "C" fn hipMemPoolDestroy(pool: hipMemPool_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let found = Pool::find(runtime, pool)?;
        if found.is_default {
            return Err(INVALID_VALUE);
        }
        let found = mem_pools(runtime).remove(pool as usize).ok_or(INVALID_VALUE)?;
        let mut current = found.device.pools.current();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &found)) {
            *current = None;
        }
        drop(current);
        let mut state = found.state();
        state.destroyed = true;
        state.threshold = 0;
        drop(state);
        found.trim(runtime, 0);
        Ok(())
    })
}

/// What a pool's attribute is, and how a program passes it.
enum Value {
    Flag(bool),
    Bytes(u64),
}

fn attribute(state: &State, which: hipMemPoolAttr) -> Result<Value> {
    type A = hipMemPoolAttr;
    Ok(match which {
        A::hipMemPoolReuseFollowEventDependencies => Value::Flag(state.follow_events),
        A::hipMemPoolReuseAllowOpportunistic => Value::Flag(state.opportunistic),
        A::hipMemPoolReuseAllowInternalDependencies => Value::Flag(state.internal_dependencies),
        A::hipMemPoolAttrReleaseThreshold => Value::Bytes(state.threshold),
        A::hipMemPoolAttrReservedMemCurrent => Value::Bytes(state.reserved),
        A::hipMemPoolAttrReservedMemHigh => Value::Bytes(state.reserved_high),
        A::hipMemPoolAttrUsedMemCurrent => Value::Bytes(state.used),
        A::hipMemPoolAttrUsedMemHigh => Value::Bytes(state.used_high),
        _ => return Err(INVALID_VALUE),
    })
}

/// `hipMemPoolGetAttribute`: an `int` for the reuse flags, else a `uint64_t` of bytes.
pub(crate) unsafe extern "C" fn hipMemPoolGetAttribute(
    pool: hipMemPool_t,
    which: hipMemPoolAttr,
    value: *mut c_void,
) -> hipError_t {
    entry(|| {
        let pool = Pool::find(active()?, pool)?;
        let found = attribute(&pool.state(), which)?;
        // SAFETY: the caller's place is one of the attribute's type.
        unsafe {
            match found {
                Value::Flag(flag) => caller::put(value, i32::from(flag)),
                Value::Bytes(bytes) => caller::put(value, bytes),
            }
        }
    })
}

/// `hipMemPoolSetAttribute`: the release threshold, the reuse flags, and high water marks to zero.
pub(crate) unsafe extern "C" fn hipMemPoolSetAttribute(
    pool: hipMemPool_t,
    which: hipMemPoolAttr,
    value: *mut c_void,
) -> hipError_t {
    type A = hipMemPoolAttr;
    entry(|| {
        let pool = Pool::find(active()?, pool)?;
        let mut state = pool.state();
        // SAFETY: the caller's place is one of the attribute's type.
        let value = unsafe {
            match attribute(&state, which)? {
                Value::Flag(_) => Value::Flag(*caller::value(value.cast::<i32>())? != 0),
                Value::Bytes(_) => Value::Bytes(*caller::value(value.cast::<u64>())?),
            }
        };
        match (which, value) {
            (A::hipMemPoolReuseFollowEventDependencies, Value::Flag(flag)) => state.follow_events = flag,
            (A::hipMemPoolReuseAllowOpportunistic, Value::Flag(flag)) => state.opportunistic = flag,
            (A::hipMemPoolReuseAllowInternalDependencies, Value::Flag(flag)) => {
                state.internal_dependencies = flag;
            }
            (A::hipMemPoolAttrReleaseThreshold, Value::Bytes(bytes)) => state.threshold = bytes,
            // The marks begin anew at what there is.
            (A::hipMemPoolAttrReservedMemHigh, Value::Bytes(0)) => state.reserved_high = state.reserved,
            (A::hipMemPoolAttrUsedMemHigh, Value::Bytes(0)) => state.used_high = state.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

/// `hipMemPoolTrimTo`: gives memory whose free has completed back until the pool holds no more than so many bytes.
pub(crate) unsafe extern "C" fn hipMemPoolTrimTo(pool: hipMemPool_t, keep: usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        Pool::find(runtime, pool)?.trim(runtime, keep as u64);
        Ok(())
    })
}

/// `hipMemPoolSetAccess`: which devices may access the pool's memory, present and future. The owner always may.
///
/// `hipErrorNotSupported` for access that only reads, which HSA does not know.
pub(crate) unsafe extern "C" fn hipMemPoolSetAccess(
    pool: hipMemPool_t,
    list: *const hipMemAccessDesc,
    count: usize,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let pool = Pool::find(runtime, pool)?;
        if list.is_null() {
            return Err(INVALID_VALUE);
        }
        if count > devices::count(runtime) {
            return Err(hipError_t::hipErrorInvalidDevice);
        }
        // SAFETY: the caller's list has that many entries.
        let list = unsafe { caller::list(list, count) }?;
        let mut access = pool.state().access.clone();
        let before = access.clone();
        for wanted in list {
            let device = device_at(wanted.location, hipError_t::hipErrorInvalidDevice)?;
            let own = std::ptr::eq(device, pool.device);
            match wanted.flags {
                hipMemAccessFlags::hipMemAccessFlagsProtReadWrite if own => {}
                hipMemAccessFlags::hipMemAccessFlagsProtReadWrite => {
                    if !runtime.hsa.can_access(device.agent, pool.device.pool) {
                        return Err(hipError_t::hipErrorInvalidDevice);
                    }
                    if !access.iter().any(|known| std::ptr::eq(*known, device)) {
                        access.push(device);
                    }
                }
                hipMemAccessFlags::hipMemAccessFlagsProtNone if own => return Err(INVALID_VALUE),
                hipMemAccessFlags::hipMemAccessFlagsProtNone => {
                    access.retain(|known| !std::ptr::eq(*known, device));
                }
                hipMemAccessFlags::hipMemAccessFlagsProtRead => return Err(hipError_t::hipErrorNotSupported),
                _ => return Err(INVALID_VALUE),
            }
        }
        pool.state().access = access;
        let share = || {
            pools(runtime).access_changed();
            memory(runtime).share_device_memory(runtime, pool.device)
        };
        apply_or_undo(share, || pool.state().access = before)
    })
}

/// `hipMemPoolGetAccess`.
pub(crate) unsafe extern "C" fn hipMemPoolGetAccess(
    flags: *mut hipMemAccessFlags,
    pool: hipMemPool_t,
    location: *mut hipMemLocation,
) -> hipError_t {
    entry(|| {
        let pool = Pool::find(active()?, pool)?;
        // SAFETY: the caller passes null or valid places.
        let (flags, location) = unsafe { (caller::place(flags)?, caller::value(location)?) };
        let device = device_at(*location, INVALID_VALUE)?;
        let may = std::ptr::eq(device, pool.device)
            || pool.state().access.iter().any(|known| std::ptr::eq(*known, device));
        *flags = if may {
            hipMemAccessFlags::hipMemAccessFlagsProtReadWrite
        } else {
            hipMemAccessFlags::hipMemAccessFlagsProtNone
        };
        Ok(())
    })
}

/// `hipMallocAsync`: from the current pool of the stream's device. The memory is for work that follows on the stream. Captured,
/// a node that allocates memory of the graph.
pub(crate) unsafe extern "C" fn hipMallocAsync(
    out: *mut *mut c_void,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        let stream = resolve(active()?, stream)?;
        if let Some(capture) = Capturing::of(&stream)? {
            return allocate_to(out, size, |runtime| capture.allocate(runtime, stream.device, size));
        }
        stream.failure().map_or(Ok(()), Err)?;
        allocate_to(out, size, |runtime| {
            Pool::current_of(runtime, stream.device)?.allocate(runtime, &stream, size)
        })
    })
}

/// `hipMallocFromPoolAsync`: the pool may be another device's than the stream. Captured, the memory is the graph's.
pub(crate) unsafe extern "C" fn hipMallocFromPoolAsync(
    out: *mut *mut c_void,
    size: usize,
    pool: hipMemPool_t,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let pool = Pool::find(runtime, pool)?;
        if let Some(capture) = Capturing::of(&stream)? {
            return allocate_to(out, size, |runtime| capture.allocate(runtime, pool.device, size));
        }
        stream.failure().map_or(Ok(()), Err)?;
        allocate_to(out, size, |runtime| pool.allocate(runtime, &stream, size))
    })
}
