//! Memory pools: device memory that is allocated and freed in the order of streams.
//!
//! A block that a stream frees stays with its pool. An allocation of exactly its size reuses it if it is
//! ordered behind the free: on the same stream at once, on another stream when the free has completed or an
//! event or the null stream orders it. Blocks are neither split nor joined, so an allocation has the bounds
//! that the program asked for, and the virtual GPU checks them. When the program synchronises, the pool
//! returns memory beyond its release threshold to HSA.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hip_sys::{hipError_t, hipMemPool_t};
use hsa_sys::hsa_agent_t;

use crate::devices::device::Device;
use crate::devices::per_device::PerDevice;
use crate::devices::stream::Stream;
use crate::error::Result;
use crate::memory::allocation::{Allocation, Origin, accessors, memory};
use crate::queue::marker::{Marker, Point};
use crate::queue::order;
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, runtime};

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
    /// [`Pools::access_epoch`] when agents got access to the block.
    epoch: u64,
}

impl Block {
    /// Whether stream order alone puts work after a point of a queue behind the free.
    fn is_before(&self, point: Point, follow_events: bool) -> bool {
        let own = self.freed.as_ref().and_then(|freed| freed.point());
        own.is_some_and(|own| own.is_before(point))
            || (follow_events && self.behind.iter().any(|behind| behind.is_before(point)))
    }

    /// Whether the stream that freed it failed before it reached the free. Copies may still write such
    /// memory.
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

pub(crate) struct State {
    /// Freed blocks by size, the newest last.
    free: BTreeMap<usize, Vec<Block>>,
    /// Bytes allocated from HSA, and how many of them the program holds.
    pub(crate) reserved: u64,
    pub(crate) used: u64,
    pub(crate) reserved_high: u64,
    pub(crate) used_high: u64,
    /// Bytes that a synchronising call keeps.
    pub(crate) threshold: u64,
    pub(crate) follow_events: bool,
    pub(crate) opportunistic: bool,
    pub(crate) internal_dependencies: bool,
    /// Devices besides the owner that may access the pool's memory.
    pub(crate) access: Vec<&'static Device>,
    pub(crate) destroyed: bool,
}

/// A memory pool of a device.
pub(crate) struct Pool {
    pub(crate) device: &'static Device,
    handle: OnceLock<usize>,
    pub(crate) is_default: bool,
    /// The maximum that it allocates from HSA.
    max_size: u64,
    state: Mutex<State>,
}

/// All pools by their handles.
pub(crate) fn mem_pools(_started: &Runtime) -> &'static Registry<Pool> {
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
    /// Changes whenever the agents with access to some pool's memory change.
    access_epoch: AtomicU64,
}

/// The pools that a device allocates from.
#[derive(Default)]
pub(crate) struct DevicePools {
    default: OnceLock<Arc<Pool>>,
    /// The pool set with `hipDeviceSetMemPool`, if not the default.
    current: Mutex<Option<Arc<Pool>>>,
}

impl DevicePools {
    /// The pools of a device.
    pub(crate) fn of(device: &Device) -> &'static Self {
        static POOLS: PerDevice<DevicePools> = PerDevice::new();
        POOLS.of(device)
    }

    pub(crate) fn current(&self) -> MutexGuard<'_, Option<Arc<Pool>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pools {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Pool>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that work behind `after` in its queue waits for `before` of another queue.
    fn order(&self, before: Point, after: Point) {
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

    /// Records that access to memory has changed, so that blocks get it again.
    pub(crate) fn access_changed(&self) {
        self.access_epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Called when the program synchronises: shrinks pools to their release threshold.
    pub(crate) fn synchronized(&self, runtime: &Runtime) {
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

    /// Returns the unused memory of a device's pools to HSA. Returns whether there was any.
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
                // The stream's own calls report its failure.
                let _ = freed.wait(runtime);
            }
        }
    }
}

/// See [`Pools::order`].
fn note_order(before: Point, after: Point) {
    if let Some(runtime) = runtime() {
        pools(runtime).order(before, after);
    }
}

impl Pool {
    pub(crate) fn new(
        runtime: &Runtime,
        device: &'static Device,
        is_default: bool,
        max_size: u64,
    ) -> Result<Arc<Self>> {
        order::listen(note_order);
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
    pub(crate) fn default_of(runtime: &Runtime, device: &'static Device) -> Result<Arc<Self>> {
        if let Some(pool) = DevicePools::of(device).default.get() {
            return Ok(pool.clone());
        }
        // The lock keeps two threads from creating two.
        let _current = DevicePools::of(device).current();
        if let Some(pool) = DevicePools::of(device).default.get() {
            return Ok(pool.clone());
        }
        let pool = Self::new(runtime, device, true, u64::MAX)?;
        Ok(DevicePools::of(device).default.get_or_init(|| pool).clone())
    }

    /// The pool that `hipMallocAsync` uses.
    pub(crate) fn current_of(runtime: &Runtime, device: &'static Device) -> Result<Arc<Self>> {
        let current = DevicePools::of(device).current().clone();
        current.map_or_else(|| Self::default_of(runtime, device), Ok)
    }

    pub(crate) fn find(runtime: &Runtime, handle: hipMemPool_t) -> Result<Arc<Self>> {
        mem_pools(runtime).get(handle as usize).ok_or(INVALID_VALUE)
    }

    pub(crate) fn handle(&self) -> hipMemPool_t {
        self.handle.get().copied().unwrap_or(0) as hipMemPool_t
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
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

    /// Takes a freed block that `suits`, the newest first. Blocks freed by failed streams are not reused.
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

    /// Allocates a new block from HSA.
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
        let ready = stream.submit(runtime, |submitter| {
            let point = submitter.point();
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
        // Only blocks with pending frees are left: the stream waits for one, or else the program does.
        let later = stream.submit(runtime, |submitter| {
            let found = self.take(runtime, size, |state, _| state.internal_dependencies);
            let Some(block) = found else { return Ok(None) };
            if let Some(freed) = block.freed.clone()
                && let Err(code) = submitter.wait_for(freed)
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

    /// Takes back memory that the program has freed, at a point of a stream or immediately.
    pub(crate) fn give_back(&self, runtime: &Runtime, allocation: &Allocation, freed: Option<Arc<Marker>>) {
        // Give agents access to the block again if that may have changed meanwhile.
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

    /// Returns completely free blocks to HSA, the longest unused of each size first, until the pool holds no
    /// more than `keep` bytes. Returns whether there were any.
    pub(crate) fn trim(&self, runtime: &Runtime, keep: u64) -> bool {
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
            // SAFETY: the block came from HSA, its free has completed, and it is no longer in the pool.
            if unsafe { runtime.hsa.free(base as *mut c_void) }.is_err() {
                tracing::warn!(address = base, "memory of a pool could not be freed");
            }
        }
        !over.is_empty()
    }
}
