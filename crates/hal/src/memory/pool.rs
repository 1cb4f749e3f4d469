//! Memory of one HSA pool, in blocks that are divided.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hsa::{Agent, Allocation, MemoryPool};
use hsa_sys::hsa_amd_memory_pool_t;

use super::tlsf::{Taken, Tlsf};
use crate::error::{Error, Result};

/// Ranges begin at multiples of this: whole cache lines of every device.
pub(super) const GRANULE: u64 = 256;
/// Blocks are whole pages.
pub(super) const PAGE: u64 = 4096;

/// What a pool has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Bytes in use.
    pub used: u64,
    /// The most bytes that were in use at a time.
    pub most: u64,
    /// Bytes that the pool has from HSA.
    pub reserved: u64,
    /// How often memory was taken.
    pub taken: u64,
    /// How often HSA was asked for it.
    pub asked: u64,
}

/// Memory of one HSA pool.
pub(crate) struct Pool {
    name: &'static str,
    memory: MemoryPool,
    /// Who may access it besides the memory's own agent.
    access: Vec<Agent>,
    block: u64,
    /// 0 if there is none.
    limit: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    blocks: Vec<Option<Block>>,
    statistics: Statistics,
    /// Those that wait for memory, in order.
    waiting: VecDeque<Waiting>,
}

struct Block {
    memory: Allocation,
    ranges: Tlsf,
}

struct Waiting {
    size: u64,
    work: Box<dyn FnOnce(Result<Piece>) + Send>,
}

/// Memory of a pool; given back on drop.
pub(crate) struct Piece {
    pool: Arc<Pool>,
    block: usize,
    taken: Option<Taken>,
    pub(crate) address: u64,
    /// What was asked for, bytes.
    pub(crate) size: u64,
}

impl Pool {
    pub(crate) fn new(
        name: &'static str,
        memory: MemoryPool,
        access: Vec<Agent>,
        block: u64,
        limit: u64,
    ) -> Arc<Self> {
        Arc::new(Self { name, memory, access, block, limit, state: Mutex::default() })
    }

    /// Another pool of the same memory, without a limit.
    pub(crate) fn like(&self, name: &'static str, block: u64) -> Arc<Self> {
        Self::new(name, self.memory.clone(), self.access.clone(), block, 0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent whose memory it is.
    pub(crate) fn agent(&self) -> &Agent {
        self.memory.agent()
    }

    /// The HSA pool.
    pub(crate) fn raw(&self) -> hsa_amd_memory_pool_t {
        self.memory.raw()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.lock().statistics
    }

    /// Takes memory.
    ///
    /// # Errors
    /// The limit is reached, or HSA has no more.
    pub(crate) fn take(self: &Arc<Self>, size: u64) -> Result<Piece> {
        self.take_from(&mut self.lock(), size)
    }

    /// Takes memory now, or as soon as somebody gives enough back; in order. If nothing is in use, waiting
    /// would not help, and the error comes at once.
    pub(crate) fn take_later(self: &Arc<Self>, size: u64, work: impl FnOnce(Result<Piece>) + Send + 'static) {
        let mut state = self.lock();
        let taken = match state.waiting.is_empty() {
            true => self.take_from(&mut state, size),
            false => Err(self.limit_error(&state, size)),
        };
        let may_come = state.statistics.used != 0 && (self.limit == 0 || size <= self.limit);
        if taken.is_err() && may_come {
            state.waiting.push_back(Waiting { size, work: Box::new(work) });
            return;
        }
        drop(state);
        work(taken);
    }

    fn limit_error(&self, state: &State, size: u64) -> Error {
        Error::Limit { pool: self.name, asked: size, used: state.statistics.used, limit: self.limit }
    }

    fn take_from(self: &Arc<Self>, state: &mut State, size: u64) -> Result<Piece> {
        let rounded = size.max(1).checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
        if self.limit != 0 && rounded > self.limit.saturating_sub(state.statistics.used) {
            return Err(self.limit_error(state, size));
        }
        for (index, block) in state.blocks.iter_mut().enumerate() {
            let Some(block) = block else { continue };
            if let Some(taken) = block.ranges.take(rounded, GRANULE) {
                let address = block.memory.as_ptr() as u64 + taken.offset;
                state.statistics.took(taken.size);
                return Ok(Piece { pool: self.clone(), block: index, taken: Some(taken), address, size });
            }
        }
        let whole = rounded.max(if rounded > self.block / 2 { 0 } else { self.block });
        let whole = whole.checked_next_multiple_of(PAGE).ok_or_else(|| self.limit_error(state, size))?;
        let memory = self.memory.allocate(usize::try_from(whole).unwrap_or(usize::MAX))?;
        if !self.access.is_empty() {
            memory.allow_access(&self.access.iter().collect::<Vec<_>>())?;
        }
        let mut ranges = Tlsf::new(whole, GRANULE);
        let taken = ranges.take(rounded, GRANULE).unwrap_or_else(|| unreachable!("the block is empty"));
        let address = memory.as_ptr() as u64 + taken.offset;
        state.statistics.asked += 1;
        state.statistics.reserved += whole;
        state.statistics.took(taken.size);
        let index = match state.blocks.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                state.blocks.push(None);
                state.blocks.len() - 1
            }
        };
        state.blocks[index] = Some(Block { memory, ranges });
        Ok(Piece { pool: self.clone(), block: index, taken: Some(taken), address, size })
    }

    fn give_back(self: &Arc<Self>, index: usize, taken: Taken) {
        let mut state = self.lock();
        state.statistics.used -= taken.size;
        let Some(block) = state.blocks[index].as_mut() else {
            unreachable!("a block with a taken range is kept");
        };
        block.ranges.give_back(taken);
        let mut empty = None;
        // One empty block of the usual size is kept for what comes next.
        if block.ranges.is_empty() {
            let size = block.ranges.size();
            let is_empty =
                |other: &&Option<Block>| other.as_ref().is_some_and(|block| block.ranges.is_empty());
            if size > self.block || state.blocks.iter().filter(is_empty).count() > 1 {
                state.statistics.reserved -= size;
                empty = state.blocks[index].take();
            }
        }
        let mut ready = Vec::new();
        while let Some(first) = state.waiting.front() {
            let size = first.size;
            let piece = self.take_from(&mut state, size);
            // Nothing else would give memory back, so the error is final.
            if piece.is_err() && state.statistics.used != 0 {
                break;
            }
            ready.extend(state.waiting.pop_front().map(|waiting| (waiting.work, piece)));
        }
        drop(state);
        // Without the lock: HSA may take long, and the work is foreign.
        drop(empty);
        for (work, piece) in ready {
            work(piece);
        }
    }
}

impl Statistics {
    fn took(&mut self, size: u64) {
        self.used += size;
        self.most = self.most.max(self.used);
        self.taken += 1;
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(taken) = self.taken.take() {
            self.pool.give_back(self.block, taken);
        }
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}", self.size, self.address)
    }
}
