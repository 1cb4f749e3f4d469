//! Collective operations over the shared memory.
//!
//! Data goes through the ranks' slots piece by piece. A rank copies a piece from its device to its slot, and
//! all ranks meet. Each then copies what it needs from the other slots, or the reduction of them, to its
//! device. A rank has two slots, used in turn, so it reuses a slot two pieces later. In between, all ranks
//! have met, and a rank gets there only after it has read the earlier piece.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::batch::{Address, Collective, Kind, Scale, Work};
use crate::device::{Copies, HostMemory, Pinned};
use crate::error::{Failure, Result};
use crate::number;
use crate::segment::{Reason, Segment};

/// Below this size of all inputs together, every rank does the whole reduction itself. That saves one
/// meeting.
const SMALL: usize = 32 << 10;

/// The state of a rank's worker.
pub(crate) struct Machine {
    /// Pins the segment, which lives longer.
    _pinned: Option<Pinned>,
    pub(crate) segment: Arc<Segment>,
    pub(crate) copies: Copies,
    /// The number of operations so far that all ranks meet for.
    operations: u64,
    /// The number of pieces so far.
    pieces: u64,
    /// Two areas, each as large as a slot: the results, and their bias.
    scratch: HostMemory,
    bias: HostMemory,
}

impl Machine {
    pub(crate) fn new(hip: &'static hip_sys::Table, segment: Arc<Segment>, copies: Copies) -> Result<Self> {
        let memory = || HostMemory::new(hip, segment.slot_bytes());
        let (scratch, bias) = (memory()?, memory()?);
        let (start, bytes) = segment.memory();
        // SAFETY: the machine keeps the segment as long as this.
        let pinned = unsafe { Pinned::new(hip, start.as_ptr(), bytes) };
        let _pinned = pinned
            .inspect_err(|failure| {
                tracing::debug!("copies through shared memory will be slow: {}", failure.text)
            })
            .ok();
        Ok(Self { _pinned, segment, copies, operations: 0, pieces: 0, scratch, bias })
    }

    /// Does all operations of the work.
    ///
    /// # Safety
    /// Until this returns, every address points to memory that the device can access, with as many elements
    /// as the operation needs.
    pub(crate) unsafe fn run(&mut self, work: &Work) -> Result {
        for collective in &work.collectives {
            // SAFETY: the caller's promise.
            unsafe { self.collective(collective)? };
        }
        // SAFETY: the caller's promise.
        unsafe { crate::transfer::run(self, &work.transfers) }
    }

    fn ranks(&self) -> usize {
        self.segment.ranks()
    }

    /// The number of operations so far that all ranks have met for.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Announces this rank's next operation. `same` must be equal on all ranks.
    fn announce(&mut self, same: [u64; 4], own: [u64; 2]) {
        let notice = &self.segment.control(self.segment.rank).notices[(self.operations & 1) as usize];
        let words = [self.operations, same[0], same[1], same[2], same[3], 0];
        notice.same.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        notice.own.iter().zip(own).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        self.operations += 1;
    }

    /// The rank's own words about the last announced operation.
    fn told(&self, rank: usize) -> [u64; 2] {
        let notice = &self.segment.control(rank).notices[(self.operations & 1 ^ 1) as usize];
        [notice.own[0].load(Ordering::Relaxed), notice.own[1].load(Ordering::Relaxed)]
    }

    /// After the first meeting of an operation: checks that all ranks have announced the same.
    fn agree(&self) -> Result {
        let words = |rank| {
            let notice = &self.segment.control(rank).notices[(self.operations & 1 ^ 1) as usize];
            notice.same.each_ref().map(|word| word.load(Ordering::Relaxed))
        };
        let own = words(self.segment.rank);
        let Some(other) = (0..self.ranks()).find(|&rank| words(rank) != own) else { return Ok(()) };
        self.segment.break_up(Reason::Disagree, self.segment.rank);
        Err(Failure::usage(format!(
            "ranks {} and {other} called different operations: kind, type, operator, count or root differ",
            self.segment.rank
        )))
    }

    /// All ranks exchange two words.
    pub(crate) fn exchange(&mut self, kind: Kind, own: [u64; 2]) -> Result<Vec<[u64; 2]>> {
        self.announce([kind as u64, 0, 0, 0], own);
        self.segment.meet()?;
        self.agree()?;
        Ok((0..self.ranks()).map(|rank| self.told(rank)).collect())
    }

    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn collective(&mut self, what: &Collective) -> Result {
        let Collective { kind, send, receive, count, element, reduction, root, .. } = *what;
        let (rank, ranks, size) = (self.segment.rank, self.ranks(), element.size());
        let mut scale = [0; 8];
        match what.scale {
            Scale::None => {}
            Scale::Value(word) => scale = word.to_ne_bytes(),
            // SAFETY: the program has said that a number of the type is in memory.
            Scale::Device(at) => unsafe { self.copies.copy(scale.as_mut_ptr(), at.offset(0), size)? },
        }
        let tag = kind as u64 | (element as u64) << 8 | (reduction as u64) << 16;
        self.announce([tag, count as u64, root as u64, 0], [u64::from_ne_bytes(scale), 0]);

        // How many blocks of `count` elements a rank puts into its slot.
        let blocks = match kind {
            Kind::ReduceScatter | Kind::AllToAll | Kind::Scatter => ranks,
            _ => 1,
        };
        let sends = match kind {
            Kind::Broadcast | Kind::Scatter => rank == root,
            _ => true,
        };
        let receives = match kind {
            Kind::Reduce | Kind::Gather => rank == root,
            _ => true,
        };
        // The distance of blocks is a multiple of a cache line.
        let apart = self.segment.slot_bytes() / blocks / 64 * 64;
        let most = apart / size;
        let (mut start, mut is_first) = (0, true);
        while start < count || is_first {
            let piece = most.min(count - start);
            let turn = (self.pieces & 1) as usize;
            self.pieces += 1;
            let (from, bytes) = (start * size, piece * size);
            let own = self.segment.slot(rank, turn);
            if sends {
                for block in 0..blocks {
                    let source = send.offset(block * count * size + from);
                    // SAFETY: the slot has room for all blocks, and no rank reads it now; the caller vouches
                    // for the source.
                    unsafe { self.copies.copy(own.add(block * apart), source, bytes)? };
                }
            }
            self.segment.meet()?;
            if is_first {
                self.agree()?;
                is_first = false;
            }
            let slots = |block: usize| -> Vec<*const u8> {
                // SAFETY: the block is inside the slot.
                let at = |rank| unsafe { self.segment.slot(rank, turn).add(block * apart) }.cast_const();
                (0..ranks).map(at).collect()
            };
            let to = receive.offset(from);
            // SAFETY: ranks read slots after the meeting, and so after the writes; the caller vouches for the
            // addresses.
            unsafe {
                match kind {
                    Kind::AllReduce | Kind::AllReduceWithBias if bytes * ranks > SMALL => {
                        self.all_reduce_parts(what, turn, from, piece)?
                    }
                    Kind::AllReduce | Kind::AllReduceWithBias | Kind::Reduce if receives => {
                        self.reduce_to(what, &slots(0), from, piece)?
                    }
                    Kind::ReduceScatter => self.reduce_to(what, &slots(rank), from, piece)?,
                    Kind::Broadcast => self.copies.copy(to, slots(0)[root], bytes)?,
                    Kind::Scatter => self.copies.copy(to, slots(rank)[root], bytes)?,
                    Kind::AllGather | Kind::AllToAll | Kind::Gather if receives => {
                        let block = if kind == Kind::AllToAll { rank } else { 0 };
                        for (other, slot) in slots(block).into_iter().enumerate() {
                            let to = receive.offset(other * count * size + from);
                            self.copies.copy(to, slot, bytes)?;
                        }
                    }
                    _ => {}
                }
            }
            start += piece;
        }
        Ok(())
    }

    fn scales(&self) -> Vec<u64> {
        (0..self.ranks()).map(|rank| self.told(rank)[0]).collect()
    }

    /// Reduces elements of all inputs to memory of the device, `from` bytes after its beginning.
    ///
    /// # Safety
    /// All inputs and the output have this many elements.
    unsafe fn reduce_to(
        &mut self,
        what: &Collective,
        inputs: &[*const u8],
        from: usize,
        count: usize,
    ) -> Result {
        let scales = self.scales();
        let out = self.scratch.start();
        // SAFETY: the caller's promise; the scratch memory is as large as a slot, and only this rank uses it.
        unsafe {
            number::reduce(what.element, what.reduction, inputs, &scales, out, count);
            self.finish(what, from, count)
        }
    }

    /// Copies results from the scratch memory to the device, with the bias if there is one.
    ///
    /// # Safety
    /// As [`reduce_to`](Self::reduce_to).
    unsafe fn finish(&mut self, what: &Collective, from: usize, count: usize) -> Result {
        let (out, bytes) = (self.scratch.start(), count * what.element.size());
        if what.kind == Kind::AllReduceWithBias {
            let bias = self.bias.start();
            // SAFETY: both pieces of memory are as large as a slot, and only this rank uses them; the caller
            // vouches for the address.
            unsafe {
                self.copies.copy(bias, what.bias.offset(from), bytes)?;
                let inputs = [out.cast_const(), bias.cast_const()];
                number::reduce(what.element, what.reduction.combining(), &inputs, &[], out, count);
            }
        }
        // SAFETY: as above.
        unsafe { self.copies.copy(what.receive.offset(from), out, bytes) }
    }

    /// Each rank reduces one part of a piece into its own slot, where no other rank reads that part
    /// meanwhile. Then all ranks read all parts.
    ///
    /// # Safety
    /// The memory has room for this many elements after `from`, and so has every slot.
    unsafe fn all_reduce_parts(
        &mut self,
        what: &Collective,
        turn: usize,
        from: usize,
        count: usize,
    ) -> Result {
        let (rank, ranks, size) = (self.segment.rank, self.ranks(), what.element.size());
        let part = count.div_ceil(ranks).next_multiple_of(64 / size);
        let range = |rank: usize| (rank * part).min(count)..((rank + 1) * part).min(count);
        let own = range(rank);
        let at = |rank: usize, element: usize| {
            // SAFETY: the element is one of the slot.
            unsafe { self.segment.slot(rank, turn).add(element * size) }
        };
        let inputs: Vec<_> = (0..ranks).map(|other| at(other, own.start).cast_const()).collect();
        let scales = self.scales();
        // SAFETY: all slots hold the part, which this rank alone reads and writes until all meet again.
        unsafe {
            number::reduce(what.element, what.reduction, &inputs, &scales, at(rank, own.start), own.len());
        }
        self.segment.meet()?;
        let out = self.scratch.start();
        for other in 0..ranks {
            let range = range(other);
            // SAFETY: the part lies inside the piece, for which the scratch memory has room.
            unsafe {
                let source = self.segment.slot(other, turn).add(range.start * size);
                out.add(range.start * size).copy_from_nonoverlapping(source, range.len() * size);
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.finish(what, from, count) }
    }

    /// Copies memory of this rank's device.
    ///
    /// # Safety
    /// Both sides hold this many bytes.
    pub(crate) unsafe fn copy_own(&self, to: Address, from: Address, bytes: usize) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.copies.copy_inside(to.offset(0), from.offset(0), bytes) }
    }
}
