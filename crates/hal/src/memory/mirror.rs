//! Memory of the host that is mapped twice in a row, and the rings of arguments in it.
//!
//! What is written behind the end of the first mapping is at the beginning, so a range that wraps is
//! contiguous for the host and for GPUs.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hsa::Runtime;
use hsa::raw::PhysicalMemory;
use hsa_sys::{hsa_access_permission_t, hsa_amd_memory_access_desc_t, hsa_amd_memory_pool_info_t};

use super::pool::{GRANULE, PAGE, Piece};
use super::ring::{Ring, Taken};
use crate::context::Context;
use crate::error::{Calls, Error, Result};

/// What the ring of a queue has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RingStatistics {
    /// Bytes of the ring.
    pub size: u64,
    /// Bytes in use.
    pub used: u64,
    /// The most bytes that were in use at a time.
    pub most: u64,
    /// How often memory was taken.
    pub taken: u64,
    /// How many of these ranges went on at the beginning of the ring.
    pub wrapped: u64,
    /// How often there was no room, so that the pool had to give it.
    pub refused: u64,
}

/// Memory that is mapped at an address, and again behind that.
struct Mirrored {
    calls: Calls,
    address: usize,
    size: usize,
    handle: PhysicalMemory,
    /// The number of mappings.
    mapped: usize,
    /// Ends the runtime after everything else.
    _runtime: Runtime,
}

impl Mirrored {
    /// Maps new memory of a GPU's pool for arguments, at least `size` bytes.
    ///
    /// # Errors
    /// HSA has no virtual memory, or none for this pool.
    fn new(context: &Context, member: usize, size: u64) -> Result<Self> {
        let (calls, member) = (context.calls(), &context.members[member]);
        let pool = member.arguments.raw();
        // SAFETY: the attribute's type is size_t.
        let granule = unsafe {
            let granule = hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE;
            calls.pool_info(pool, granule, 0usize)
        };
        let size = (size as usize).next_multiple_of(granule.unwrap_or(0).max(PAGE as usize));
        let handle = calls.create_physical(pool, size)?;
        let address = match calls.reserve_addresses(2 * size, 0, 0) {
            Ok(address) => address,
            Err(error) => {
                // SAFETY: the memory was just made, and nothing uses it.
                report(unsafe { calls.release_physical(handle) });
                return Err(error);
            }
        };
        let runtime = member.agent.runtime().clone();
        // From here on, its drop undoes what was done.
        let mut mirrored = Self { calls, address, size, handle, mapped: 0, _runtime: runtime };
        let agents = [member.arguments.agent(), &member.agent];
        let access = agents.map(|agent| hsa_amd_memory_access_desc_t {
            permissions: hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW,
            agent_handle: agent.raw(),
        });
        for half in [address, address + size] {
            // SAFETY: the addresses were just reserved, and the memory is released after it is unmapped.
            unsafe { calls.map_physical(half, size, handle) }?;
            mirrored.mapped += 1;
            calls.set_physical_access(half, size, &access)?;
        }
        Ok(mirrored)
    }
}

/// What cannot be undone stays.
fn report(undone: Result<()>) {
    if let Err(error) = undone {
        tracing::error!(%error, "memory that is mapped twice could not be released");
    }
}

impl Drop for Mirrored {
    fn drop(&mut self) {
        let Self { calls, address, size, handle, mapped, _runtime: _ } = *self;
        let mut halves = [address, address + size].into_iter().take(mapped);
        // SAFETY: the mappings, the addresses and the memory are this object's, and submitted work held the
        // ring as long as it used it.
        let undone = unsafe {
            halves
                .try_for_each(|half| calls.unmap_physical(half, size))
                .and_then(|()| calls.free_addresses(address, 2 * size))
                .and_then(|()| calls.release_physical(handle))
        };
        report(undone);
    }
}

/// A ring of arguments.
pub(crate) struct ArgumentRing {
    memory: Mirrored,
    state: Mutex<(Ring, RingStatistics)>,
}

impl std::fmt::Debug for ArgumentRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}, twice", self.memory.size, self.memory.address)
    }
}

impl ArgumentRing {
    fn new(context: &Context, member: usize, size: u64) -> Result<Arc<Self>> {
        let memory = Mirrored::new(context, member, size)?;
        let size = memory.size as u64;
        let statistics = RingStatistics { size, ..RingStatistics::default() };
        let state = Mutex::new((Ring::new(size, GRANULE), statistics));
        Ok(Arc::new(Self { memory, state }))
    }

    fn lock(&self) -> MutexGuard<'_, (Ring, RingStatistics)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, size: u64) -> Option<Space> {
        let mut state = self.lock();
        let (ring, statistics) = &mut *state;
        let taken = ring.take(size)?;
        statistics.taken += 1;
        statistics.wrapped += u64::from(taken.offset + taken.size > ring.size());
        statistics.used = ring.used();
        statistics.most = statistics.most.max(statistics.used);
        let address = self.memory.address as u64 + taken.offset;
        Some(Space { address, size, _held: Held::Ring(Part { ring: self.clone(), taken: Some(taken) }) })
    }
}

/// Memory for the arguments of one submission, given back on drop.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) address: u64,
    pub(crate) size: u64,
    _held: Held,
}

#[derive(Debug)]
enum Held {
    Ring(#[expect(dead_code, reason = "it is held until it is dropped")] Part),
    Pool(#[expect(dead_code, reason = "as above")] Piece),
}

impl From<Piece> for Space {
    fn from(piece: Piece) -> Self {
        Self { address: piece.address, size: piece.size, _held: Held::Pool(piece) }
    }
}

/// A range of a ring.
#[derive(Debug)]
struct Part {
    ring: Arc<ArgumentRing>,
    taken: Option<Taken>,
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(taken) = self.taken.take() {
            let mut state = self.ring.lock();
            let (ring, statistics) = &mut *state;
            ring.give_back(taken);
            statistics.used = ring.used();
        }
    }
}

/// Where the submissions of a queue have their arguments: in a ring, which is made for the first of them, and
/// in the pool if that has no room.
#[derive(Default, Debug)]
pub(crate) struct Arguments {
    ring: OnceLock<Result<Arc<ArgumentRing>>>,
}

impl Arguments {
    /// Takes memory. `release` makes room in the ring if it can.
    ///
    /// # Errors
    /// HSA has no more memory.
    pub(crate) fn take(
        &self,
        context: &Context,
        member: usize,
        size: u64,
        release: impl FnOnce(),
    ) -> Result<Space> {
        let pool = || Ok(context.members[member].arguments.take(size)?.into());
        if context.options.ring == 0 {
            return pool();
        }
        let ring = self.ring.get_or_init(|| {
            ArgumentRing::new(context, member, context.options.ring)
                .inspect_err(|error| tracing::info!(%error, "arguments come from the pool, not from a ring"))
        });
        let Ok(ring) = ring else { return pool() };
        if let Some(space) = ring.take(size) {
            return Ok(space);
        }
        release();
        match ring.take(size) {
            Some(space) => Ok(space),
            None => {
                ring.lock().1.refused += 1;
                pool()
            }
        }
    }

    /// What the ring has, if there is one yet.
    ///
    /// # Errors
    /// Why HSA could not make it.
    pub(crate) fn statistics(&self) -> Result<Option<RingStatistics>> {
        match self.ring.get() {
            None => Ok(None),
            Some(Ok(ring)) => Ok(Some(ring.lock().1)),
            Some(Err(error)) => Err(Error::clone(error)),
        }
    }
}
