//! Where buffers get their memory: from a cache, from the device, or in stream order from the driver's pool.

use std::ffi::c_void;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_sys::hipError_t;

use super::blocks::{Blocks, Request, Segment, Tag, Taken, Uses};
use super::interop::Owner;
use super::{DeviceAddress, MemoryPool};
use crate::call::{call, dropped, leaked};
use crate::device::{Device, MemoryInfo};
use crate::error::{Error, Result};
use crate::stream::Stream;
use crate::usage::{PriorUses, Usage};

/// The environment variable that chooses the [`Allocator`] of every device: `caching`, `direct` or
/// `stream-ordered`.
pub const ALLOCATOR_VARIABLE: &str = variables::ALLOCATOR.name;

/// Where a device's buffers get their memory.
///
/// [`Device::set_allocator`] chooses it for one device, the environment variable [`ALLOCATOR_VARIABLE`] for
/// all. Memory always goes back to where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Allocator {
    /// From this crate's cache, which takes memory from the device in segments (`hipMalloc`) and keeps the
    /// memory of dropped buffers. The default on real GPUs, where allocating and freeing wait for the whole
    /// device.
    ///
    /// Dropping a buffer does not wait. The next user of its memory is ordered after the work that still uses
    /// it: on the same stream this costs nothing, and another stream waits on the device. The cache prefers
    /// memory that the requesting stream used last, then memory that nothing uses, then any other, then more
    /// memory from the device.
    Caching,
    /// From the device, separately for each buffer (`hipMalloc`, `hipFree`). The default on devices with
    /// [exact bounds](Device::has_exact_bounds), which are virtual GPUs. There it catches every access
    /// outside a buffer, and every use of a dropped one.
    Direct,
    /// From the driver's pool, in the order of a stream (`hipMallocAsync`, `hipFreeAsync`). Buffers made
    /// without a stream are allocated as with [`Direct`](Self::Direct).
    StreamOrdered,
}

impl Allocator {
    /// The name in [`ALLOCATOR_VARIABLE`].
    fn name(self) -> &'static str {
        match self {
            Self::Caching => "caching",
            Self::Direct => "direct",
            Self::StreamOrdered => "stream-ordered",
        }
    }

    fn default_of(exact_bounds: bool) -> Self {
        if exact_bounds { Self::Direct } else { Self::Caching }
    }
}

impl fmt::Display for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Allocator {
    type Err = Error;

    /// # Errors
    /// [`Error::Environment`], which lists the valid names.
    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Caching, Self::Direct, Self::StreamOrdered];
        all.into_iter().find(|allocator| allocator.name() == text).ok_or_else(|| Error::Environment {
            variable: ALLOCATOR_VARIABLE,
            problem: format!("`{text}` is not an allocator; use `caching`, `direct` or `stream-ordered`"),
        })
    }
}

/// How much memory [`Allocator::Caching`] may hold, in bytes. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheLimits {
    /// All segments, whether in use or not. A request that exceeds it first frees unused segments, then fails
    /// as if the device had no more memory.
    pub reserved: Option<usize>,
    /// Unused memory. When a buffer is dropped, the excess is returned to the device, which may wait for the
    /// device. Only segments that no stream works on are returned.
    pub unused: Option<usize>,
}

/// This crate's use of a device's memory, in bytes unless stated otherwise: [`Device::memory_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Memory of buffers, rounded up by their allocator.
    pub allocated: usize,
    /// The most memory that buffers held at once.
    pub peak_allocated: usize,
    /// Memory taken from the device and not returned: buffers and the cache.
    pub reserved: usize,
    /// The most memory reserved at once.
    pub peak_reserved: usize,
    /// How many allocations there are.
    pub allocations: usize,
    /// How many allocations were served by the cache.
    pub hits: u64,
    /// How many allocations took memory from the device.
    pub misses: u64,
    /// How many segments the cache has returned to the device.
    pub segments_released: u64,
}

impl MemoryStats {
    /// Memory in the cache that no buffer uses.
    pub fn unused(&self) -> usize {
        self.reserved - self.allocated
    }
}

/// How an allocation was made, which decides how it is freed.
#[derive(Debug, Default)]
pub(crate) enum Origin {
    /// There are no bytes.
    #[default]
    Nowhere,
    /// `hipMalloc`.
    Device,
    /// A block of the cache.
    Cache,
    /// `hipMallocAsync`.
    Stream,
    /// `hipMallocFromPoolAsync`; the pool lives as long as its memory.
    Pool(MemoryPool),
    /// Other code.
    Owner(Owner),
    /// A node of this graph, which allocates it when it runs.
    Graph(u64),
}

/// An allocated block; by default none.
#[derive(Default)]
pub(crate) struct Allocated {
    pub(crate) address: DeviceAddress,
    pub(crate) size: usize,
    pub(crate) origin: Origin,
    pub(crate) usage: Usage,
}

/// The memory of one device.
#[derive(Debug)]
pub(crate) struct Heap(Mutex<State>);

#[derive(Debug)]
struct State {
    allocator: Allocator,
    limits: CacheLimits,
    blocks: Blocks<PriorUses>,
    /// Bytes allocated outside the cache.
    outside: usize,
    stats: MemoryStats,
}

impl Uses for PriorUses {
    fn tag(&self) -> Tag {
        let mut all = self.iter();
        match (all.next(), all.next(), self.only()) {
            (None, ..) => Tag::Idle,
            // Past uses come before the present work, and so their points come before all that follows.
            (.., Some(stream)) => Tag::Stream(stream.id()),
            (Some(past), None, _) => Tag::Stream(past.stream.id()),
            _ => Tag::Several,
        }
    }

    fn join(&mut self, other: Self) {
        self.merge(other);
    }

    fn forget(&mut self, done: &[u64]) {
        PriorUses::forget(self, done);
    }

    fn is_changed_by(&self, done: &[u64]) -> bool {
        PriorUses::is_changed_by(self, done)
    }
}

impl State {
    /// Updates the counters and peaks.
    fn update(&mut self) {
        let (taken, reserved) = (self.blocks.taken() as usize, self.blocks.reserved() as usize);
        let stats = &mut self.stats;
        (stats.allocated, stats.reserved) = (taken + self.outside, reserved + self.outside);
        stats.peak_allocated = stats.peak_allocated.max(stats.allocated);
        stats.peak_reserved = stats.peak_reserved.max(stats.reserved);
    }

    /// Counts an allocation.
    fn count(&mut self, hit: bool) {
        self.stats.allocations += 1;
        if hit {
            self.stats.hits += 1;
        } else {
            self.stats.misses += 1;
        }
        self.update();
    }
}

impl Heap {
    /// Makes it with the default allocator of devices with or without exact bounds.
    pub(crate) fn new(exact_bounds: bool) -> Self {
        Self(Mutex::new(State {
            allocator: Allocator::default_of(exact_bounds),
            limits: CacheLimits::default(),
            blocks: Blocks::default(),
            outside: 0,
            stats: MemoryStats::default(),
        }))
    }

    /// Allocates `bytes` bytes, more than 0. If `stream` is known, prefers memory that it used last.
    pub(crate) fn allocate(
        &self,
        device: &Device,
        bytes: usize,
        stream: Option<&Stream>,
    ) -> Result<Allocated> {
        // Do not hold the lock across the calls below: they may wait for work that itself drops buffers.
        let allocator = self.lock().allocator;
        // A captured stream would allocate only when the graph runs.
        let stream = stream.filter(|stream| stream.capture().is_none());
        let allocated = match (allocator, stream) {
            (Allocator::Caching, _) => self.take_cached(device, bytes, stream),
            (Allocator::StreamOrdered, Some(stream)) => self.take_in_order(bytes, stream),
            (Allocator::Direct | Allocator::StreamOrdered, _) => self.take_direct(device, bytes),
        };
        allocated.map_err(|error| self.explain(error, device, bytes))
    }

    /// Allocates `bytes` bytes separately, whatever the allocator.
    pub(crate) fn allocate_direct(&self, device: &Device, bytes: usize) -> Result<Allocated> {
        self.take_direct(device, bytes).map_err(|error| self.explain(error, device, bytes))
    }

    fn take_direct(&self, device: &Device, bytes: usize) -> Result<Allocated> {
        let address = self.or_after_trim(device, || malloc(device, bytes))?;
        Ok(self.outside(address, bytes, Origin::Device, Usage::default()))
    }

    /// Allocates `bytes` bytes, more than 0, from a pool, in the order of a stream of its device.
    pub(crate) fn allocate_from(
        &self,
        pool: &MemoryPool,
        bytes: usize,
        stream: &Stream,
    ) -> Result<Allocated> {
        let allocated = self.in_order(stream, bytes, Origin::Pool(pool.clone()), |pointer| {
            // SAFETY: the result is a place to write to, and pool and stream are valid and belong to one
            // device.
            unsafe {
                call!(stream.table(), hipMallocFromPoolAsync(pointer, bytes, pool.handle(), stream.handle()))
            }
        });
        allocated.map_err(|error| self.explain(error, stream.device(), bytes))
    }

    fn take_in_order(&self, bytes: usize, stream: &Stream) -> Result<Allocated> {
        self.in_order(stream, bytes, Origin::Stream, |pointer| {
            // SAFETY: the result is a place to write to, and the stream is valid.
            unsafe { call!(stream.table(), hipMallocAsync(pointer, bytes, stream.handle())) }
        })
    }

    fn in_order(
        &self,
        stream: &Stream,
        bytes: usize,
        origin: Origin,
        allocate: impl Fn(*mut *mut c_void) -> Result<()>,
    ) -> Result<Allocated> {
        let address = self.or_after_trim(stream.device(), || {
            let mut pointer: *mut c_void = std::ptr::null_mut();
            stream.make_current()?;
            stream.check(allocate(&raw mut pointer))?;
            Ok(DeviceAddress(pointer.expose_provenance() as u64))
        })?;
        // Other streams can use the memory once this one has reached the allocation.
        let usage = Usage::default();
        usage.write(stream)?;
        Ok(self.outside(address, bytes, origin, usage))
    }

    fn outside(&self, address: DeviceAddress, size: usize, origin: Origin, usage: Usage) -> Allocated {
        let mut state = self.lock();
        state.outside += size;
        state.count(false);
        Allocated { address, size, origin, usage }
    }

    fn take_cached(&self, device: &Device, bytes: usize, stream: Option<&Stream>) -> Result<Allocated> {
        let request = Request::of(bytes);
        let taken = match self.reuse(request, stream) {
            Some(taken) => taken,
            None => self.grow(device, request)?,
        };
        Ok(Allocated {
            address: DeviceAddress(taken.address),
            size: taken.size as usize,
            origin: Origin::Cache,
            usage: Usage::after(taken.uses),
        })
    }

    /// Takes a free block: the stream's own, else an unused one, else any other.
    fn reuse(&self, request: Request, stream: Option<&Stream>) -> Option<Taken<PriorUses>> {
        let (until, uses) = {
            let mut state = self.lock();
            let blocks = &mut state.blocks;
            let own = stream.and_then(|stream| blocks.take(request, Tag::Stream(stream.id())));
            if let Some(taken) = own.or_else(|| blocks.take(request, Tag::Idle)) {
                state.count(true);
                return Some(taken);
            }
            (blocks.now(), blocks.candidates(request).cloned().collect::<Vec<_>>())
        };
        let done = idle(&uses);
        let mut state = self.lock();
        let blocks = &mut state.blocks;
        blocks.settle(&done, until);
        let taken = blocks.take(request, Tag::Idle).or_else(|| blocks.take_any(request)).or_else(|| {
            blocks.join_all();
            blocks.take_any(request)
        })?;
        state.count(true);
        Some(taken)
    }

    /// Gets more memory from the device, and takes a block of it.
    fn grow(&self, device: &Device, request: Request) -> Result<Taken<PriorUses>> {
        let mut failure = None;
        for size in request.segments() {
            let bytes = usize::try_from(size).unwrap_or(usize::MAX);
            let grown = self
                .make_room(device, bytes)
                .and_then(|()| self.or_after_trim(device, || malloc(device, bytes)));
            match grown {
                Ok(address) => {
                    let mut state = self.lock();
                    let taken = state.blocks.grow(address.0, size, request);
                    state.count(false);
                    return Ok(taken);
                }
                Err(error) if error.code() == Some(hipError_t::hipErrorOutOfMemory) => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or(OUT_OF_MEMORY))
    }

    /// Makes room for `bytes` more within the limit on reserved memory.
    fn make_room(&self, device: &Device, bytes: usize) -> Result<()> {
        let Some(limit) = self.lock().limits.reserved else { return Ok(()) };
        let keep = limit.checked_sub(bytes).ok_or(OUT_OF_MEMORY)?;
        self.release(device, keep as u64, |_| true)?;
        if self.lock().blocks.reserved() <= keep as u64 { Ok(()) } else { Err(OUT_OF_MEMORY) }
    }

    /// If the device has too little memory, releases the cache's free memory and tries again.
    fn or_after_trim<T>(&self, device: &Device, allocate: impl Fn() -> Result<T>) -> Result<T> {
        match allocate() {
            Err(error) if error.code() == Some(hipError_t::hipErrorOutOfMemory) => {
                if self.release(device, 0, |_| true)? == 0 { Err(error) } else { allocate() }
            }
            done => done,
        }
    }

    /// Returns free segments to the device until at most `keep` bytes are reserved. Waits for the streams
    /// that use them. Returns how many bytes were freed.
    fn release(&self, device: &Device, keep: u64, which: impl Fn(Tag) -> bool) -> Result<usize> {
        let segments = {
            let mut state = self.lock();
            state.blocks.join_all();
            let segments = state.blocks.release(keep, which);
            state.stats.segments_released += segments.len() as u64;
            state.update();
            segments
        };
        let (mut bytes, mut failure) = (0, Ok(()));
        for Segment { address, size, uses } in segments {
            match uses.wait() {
                Ok(()) => {
                    failure = failure.and(free(device, DeviceAddress(address)));
                    bytes += size as usize;
                }
                Err(error) => {
                    leaked("segment of the cache", &error);
                    failure = failure.and(Err(error));
                }
            }
        }
        failure.map(|()| bytes)
    }

    /// Frees a block from [`allocate`](Self::allocate) whose owner is gone.
    pub(crate) fn free(&self, device: &Device, mut block: Allocated) {
        let origin = std::mem::take(&mut block.origin);
        let cached = matches!(origin, Origin::Cache);
        match origin {
            Origin::Nowhere | Origin::Graph(_) => return,
            Origin::Owner(Owner(owner)) => return block.usage.finish("device buffer", owner, drop),
            Origin::Cache => self.keep(device, &mut block),
            Origin::Device => {
                if let Err(error) = block.usage.retire().wait() {
                    // It stays allocated, and is counted as such.
                    return leaked("device buffer", &error);
                }
                dropped("device buffer", free(device, block.address));
            }
            origin @ (Origin::Stream | Origin::Pool(_)) => {
                match free_in_order(device, block.address, block.usage.retire()) {
                    Ok(freed) => {
                        dropped("device buffer", freed);
                        // The pool lives as long as its memory.
                        if let Origin::Pool(pool) = origin {
                            drop(pool);
                        }
                    }
                    Err(error) => {
                        std::mem::forget(origin);
                        return leaked("device buffer", &error);
                    }
                }
            }
        }
        let mut state = self.lock();
        if !cached {
            state.outside -= block.size;
        }
        state.stats.allocations -= 1;
        state.update();
    }

    /// Puts a block into the cache.
    fn keep(&self, device: &Device, block: &mut Allocated) {
        // Not under the lock, because it queries streams.
        let uses = block.usage.retire();
        let too_much = {
            let mut state = self.lock();
            let known = state.blocks.give_back(block.address.0, uses);
            debug_assert!(known, "a block of the cache is given back once");
            let unused = state.blocks.reserved() - state.blocks.taken();
            let limit = state.limits.unused.map(|limit| limit as u64).filter(|limit| unused > *limit);
            limit.map(|limit| state.blocks.taken() + limit)
        };
        if let Some(keep) = too_much {
            let (until, uses) = {
                let state = self.lock();
                (state.blocks.now(), state.blocks.free_uses().cloned().collect::<Vec<_>>())
            };
            let done = idle(&uses);
            self.lock().blocks.settle(&done, until);
            dropped("cached memory", self.release(device, keep, |tag| tag == Tag::Idle).map(drop));
        }
    }

    /// Adds the amounts of memory to an out-of-memory error.
    #[cold]
    pub(crate) fn explain(&self, error: Error, device: &Device, requested: usize) -> Error {
        if error.code() != Some(hipError_t::hipErrorOutOfMemory) {
            return error;
        }
        let MemoryInfo { free, total } = device.memory_info().unwrap_or(MemoryInfo { free: 0, total: 0 });
        let MemoryStats { allocated, reserved, .. } = self.lock().stats;
        Error::OutOfMemory { device: device.to_string(), requested, free, total, allocated, reserved }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent at every point that could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The idle streams among those whose end matters. Points that were reached are remembered. Do not call this
/// under a lock: if it drops a stream's last handle, that waits for the stream's work.
fn idle(uses: &[PriorUses]) -> Vec<u64> {
    let (mut asked, mut done) = (Vec::new(), Vec::new());
    for user in uses.iter().flat_map(PriorUses::iter) {
        let id = user.stream.id();
        if user.point.is_some() {
            user.is_over();
        } else if !asked.contains(&id) {
            asked.push(id);
            done.extend(user.is_over().then_some(id));
        }
    }
    done
}

/// The error if a limit is exceeded.
const OUT_OF_MEMORY: Error = Error::Hip { operation: "hipMalloc", code: hipError_t::hipErrorOutOfMemory };

fn malloc(device: &Device, bytes: usize) -> Result<DeviceAddress> {
    let mut pointer: *mut c_void = std::ptr::null_mut();
    device.make_current()?;
    // SAFETY: the result is a place to write to, and the device is current on this thread.
    unsafe { call!(device.table(), hipMalloc(&raw mut pointer, bytes))? };
    Ok(DeviceAddress(pointer.expose_provenance() as u64))
}

/// Frees memory that nothing uses and nobody owns.
fn free(device: &Device, address: DeviceAddress) -> Result<()> {
    // SAFETY: the memory came from the device's allocation functions, its only owner frees it, and nothing
    // uses it: all streams were waited for, failed ones included, and so was the work before them.
    unsafe { device.release(|| call!(device.table(), hipFree(address.pointer()))) }
}

/// Frees memory of `hipMallocAsync` or a pool in stream order, after its uses, without waiting. The outer
/// error means that the memory may still be used, and was not freed.
fn free_in_order(device: &Device, address: DeviceAddress, uses: PriorUses) -> Result<Result<()>> {
    let mut others = Vec::new();
    for user in uses.iter().filter(|user| user.point.is_none() || !user.is_over()) {
        match user.stream.upgrade() {
            Some(stream) => others.push((stream, user.point.as_deref())),
            // An error if its work may still run. How it ended does not matter here.
            None => drop(user.stream.last_fault()?),
        }
    }
    let freed = match &others[..] {
        [] => None,
        [(only, _)] => Some(Ok(only.clone())),
        // A failed stream no longer waits, so it could free memory too early. For several streams, a stream
        // that runs nothing and cannot fail does the waiting.
        several => Some(device.frees().and_then(|frees| {
            for (stream, point) in several {
                match point {
                    Some(point) => frees.wait_for_point(point)?,
                    None => drop(frees.wait_for(stream)?),
                }
            }
            Ok(frees)
        })),
    };
    let freed = freed.map(|stream| {
        let stream = stream?;
        stream.make_current()?;
        // SAFETY: the memory was allocated in stream order, its only owner frees it, and the stream comes
        // after all uses. If the stream fails, its own uses are over. Uses by others are only waited for by a
        // stream that cannot fail.
        unsafe { call!(device.table(), hipFreeAsync(address.pointer(), stream.handle())) }
    });
    match freed {
        Some(Ok(())) => Ok(Ok(())),
        failed => {
            if let Some(Err(error)) = failed {
                tracing::debug!(%error, "a stream had failed before memory was freed on it");
            }
            uses.wait()?;
            Ok(free(device, address))
        }
    }
}

impl Device {
    /// The allocator of this device's buffers.
    pub fn allocator(&self) -> Allocator {
        self.memory().lock().allocator
    }

    /// Sets the allocator of this device's buffers from now on.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device cannot allocate in stream order, and [`Error::KnownFault`] if its
    /// library is known to corrupt memory or to hang when it does: [`Device::quirks`].
    pub fn set_allocator(&self, allocator: Allocator) -> Result<()> {
        if allocator == Allocator::StreamOrdered {
            self.allow(&["hipMallocAsync", "hipFreeAsync"])?;
        }
        self.set_allocator_despite_quirks(allocator)
    }

    /// As [`set_allocator`](Self::set_allocator), ignoring known faults of the library.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device cannot allocate in stream order.
    pub fn set_allocator_despite_quirks(&self, allocator: Allocator) -> Result<()> {
        if allocator == Allocator::StreamOrdered && !self.table().has("hipMallocAsync") {
            return Err(Error::Unsupported {
                what: format!("allocation in stream order on {self}"),
                instead: "its library has no `hipMallocAsync`; use `Allocator::Caching`".to_owned(),
            });
        }
        self.memory().lock().allocator = allocator;
        Ok(())
    }

    /// Sets the allocator that the environment names.
    pub(crate) fn allocator_of_environment(&self) -> Result<()> {
        variables::ALLOCATOR.text()?.map_or(Ok(()), |text| self.set_allocator(text.parse()?))
    }

    /// How much memory [`Allocator::Caching`] may hold.
    pub fn cache_limits(&self) -> CacheLimits {
        self.memory().lock().limits
    }

    /// Sets how much memory [`Allocator::Caching`] may hold from now on. This call itself releases nothing.
    pub fn set_cache_limits(&self, limits: CacheLimits) {
        self.memory().lock().limits = limits;
    }

    /// Returns unused memory of the cache to the device, the longest unused first, until at most `keep` bytes
    /// are reserved (`hipFree`). Returns how many bytes were freed.
    ///
    /// Waits for streams that still work on that memory. Only segments without any used part can be freed.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipMemPoolTrimTo")]
    #[doc(alias = "emptyCache")]
    #[doc(alias = "cuMemPoolTrimTo")]
    #[doc(alias = "cudaMemPoolTrimTo")]
    pub fn trim_memory(&self, keep: usize) -> Result<usize> {
        let memory = self.memory();
        let outside = memory.lock().outside;
        memory.release(self, keep.saturating_sub(outside) as u64, |_| true)
    }

    /// This crate's use of this device's memory.
    pub fn memory_stats(&self) -> MemoryStats {
        self.memory().lock().stats
    }

    /// Resets the peaks of [`memory_stats`](Self::memory_stats) to the present values, and its counts to
    /// zero.
    pub fn reset_memory_stats(&self) {
        let mut state = self.memory().lock();
        let MemoryStats { allocations, .. } = state.stats;
        state.stats = MemoryStats { allocations, ..MemoryStats::default() };
        state.update();
    }
}

#[cfg(test)]
mod tests;
