//! Recorded packets, for crates that build a runtime on HSA: this crate's command buffers and the graphs of
//! `hip-on-hsa` are blocks.
//!
//! A [`Draft`] takes kernels and their arguments. The [`Block`] that it becomes has the packets in their
//! final form, once its arguments have a place: one for ever, or one for each submission. A [`Submission`] is
//! the packets of a block between packets of its own, and [`Writing`] copies them into the ring of a queue.
//!
//! As in [`hsa::raw`], nothing here keeps anything alive, and this module may change with any version.

mod submission;
#[cfg(test)]
mod tests;

use std::ops::Range;

use hsa::raw::{Dispatch, NO_SIGNAL, Packet, SCOPE_AGENT, barrier_packet, prepared_packet, set_arguments};

pub use self::submission::{Submission, Writing};

/// Arguments take whole cache lines, so that no two kernels share one.
const LINE: usize = 64;

/// Kernels and their arguments, while they are recorded.
#[derive(Debug)]
pub struct Draft {
    block: Block,
    /// The next kernel waits for all packets before it.
    is_ordered: bool,
}

/// Packets with the bytes of their arguments.
#[derive(Default, Debug)]
pub struct Block {
    packets: Vec<Packet>,
    /// The arguments, unless they have a place for ever.
    arguments: Vec<u8>,
    /// The arguments of packets: which packet, and where they begin.
    places: Vec<(usize, usize)>,
    /// Addresses of the arguments themselves: where each is written, and what it points to.
    own: Vec<(usize, usize)>,
    patches: Vec<Patch>,
}

/// A packet that a kernel completes, while the queue runs.
#[derive(Clone, Copy, Debug)]
struct Patch {
    /// The packet to complete.
    packet: usize,
    /// Where the kernel's arguments have the packet's address, 8 bytes.
    address_at: usize,
    /// Where they have its first word, in 8 bytes.
    header_at: usize,
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}

impl Draft {
    /// A draft without kernels.
    #[must_use]
    pub fn new() -> Self {
        Self { block: Block::default(), is_ordered: true }
    }

    /// The number of packets so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.block.packets.len()
    }

    /// Whether there is no packet yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.block.packets.is_empty()
    }

    /// Lets the next kernel wait for all packets before it. Others may run concurrently with those since the
    /// last one that waited.
    pub fn barrier(&mut self) {
        self.is_ordered = true;
    }

    /// Room for arguments, which are 0 at first. They begin at a cache line, or further apart if `align` says
    /// so. Returns where they are.
    pub fn arguments(&mut self, size: usize, align: usize) -> Range<usize> {
        let start = self.block.arguments.len().next_multiple_of(LINE.max(align));
        self.block.arguments.resize(start + size, 0);
        start..start + size
    }

    /// The bytes of arguments.
    ///
    /// # Panics
    /// If there are no such arguments.
    pub fn bytes(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.block.arguments[range]
    }

    /// Has an address of the arguments themselves written to 8 of their bytes.
    ///
    /// # Panics
    /// If there are no such arguments.
    pub fn refer(&mut self, at: usize, to: usize) {
        let end = self.block.arguments.len();
        assert!(at + 8 <= end && to <= end, "both places are inside the arguments");
        self.block.own.push((at, to));
    }

    /// Adds a kernel, with the arguments in a range, and returns the number of its packet.
    pub fn kernel(&mut self, dispatch: &Dispatch, arguments: Range<usize>) -> usize {
        let packet = self.len();
        if !arguments.is_empty() {
            self.block.places.push((packet, arguments.start));
        }
        self.block.packets.push(prepared_packet(dispatch, 0, self.is_ordered));
        self.is_ordered = false;
        packet
    }

    /// Adds a kernel that an earlier one completes: the packets before it have ended when it is looked at.
    /// That kernel's packet is the last so far, and finds the address and the first word of this one at two
    /// places of its arguments.
    ///
    /// # Panics
    /// If there are no such arguments.
    pub fn completed_kernel(
        &mut self,
        dispatch: &Dispatch,
        arguments: Range<usize>,
        [address_at, header_at]: [usize; 2],
    ) -> usize {
        let end = self.block.arguments.len();
        assert!(address_at + 8 <= end && header_at + 8 <= end, "both places are inside the arguments");
        self.block.packets.push(barrier_packet(&[], NO_SIGNAL, SCOPE_AGENT));
        self.is_ordered = true;
        let packet = self.kernel(dispatch, arguments);
        self.block.patches.push(Patch { packet, address_at, header_at });
        packet
    }

    /// Ends the recording.
    #[must_use]
    pub fn finish(self) -> Block {
        self.block
    }
}

impl Block {
    /// The packets. If the arguments have no place, their addresses are 0.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Bytes of the arguments that have no place yet.
    #[must_use]
    pub fn arguments(&self) -> usize {
        self.arguments.len()
    }

    /// Whether kernels complete packets: then each submission needs arguments of its own.
    #[must_use]
    pub fn has_patches(&self) -> bool {
        !self.patches.is_empty()
    }

    /// Gives the arguments their place for ever: submissions then change nothing but packets.
    ///
    /// # Panics
    /// If the memory has fewer bytes than [`arguments`](Self::arguments), or the block has patches.
    pub fn place(&mut self, memory: &mut [u8]) {
        assert!(!self.has_patches(), "each submission of a block with patches has its own arguments");
        let base = self.write_arguments(memory);
        for &(packet, start) in &self.places {
            set_arguments(&mut self.packets[packet], base + start as u64);
        }
        (self.arguments, self.own, self.places) = Default::default();
    }

    /// Copies the arguments, and returns their address.
    fn write_arguments(&self, memory: &mut [u8]) -> u64 {
        let base = memory.as_ptr() as u64;
        memory[..self.arguments.len()].copy_from_slice(&self.arguments);
        for &(at, to) in &self.own {
            put(memory, at, base + to as u64);
        }
        base
    }

    /// A submission of the packets in a range, whose arguments have a place.
    ///
    /// # Panics
    /// If arguments have no place, or there are no such packets.
    #[must_use]
    pub fn submission(&self, range: Range<usize>) -> Submission<'_> {
        assert!(self.places.is_empty() && self.patches.is_empty(), "the arguments have a place");
        Submission::of(&self.packets[range])
    }

    /// A submission of all packets, with arguments of its own at `memory`. `fill` may change them first.
    ///
    /// # Panics
    /// If the memory has fewer bytes than [`arguments`](Self::arguments).
    #[must_use]
    pub fn submission_with<'a>(
        &'a self,
        memory: &'a mut [u8],
        fill: impl FnOnce(&mut [u8]),
    ) -> Submission<'a> {
        let base = self.write_arguments(memory);
        fill(memory);
        let mut submission = Submission::of(&self.packets);
        for &(packet, start) in &self.places {
            set_arguments(&mut submission.packets_mut()[packet], base + start as u64);
        }
        submission.patch(&self.patches, memory);
        submission
    }
}

/// Writes a number into arguments.
///
/// # Panics
/// If it is not inside.
pub fn put(arguments: &mut [u8], at: usize, value: u64) {
    arguments[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
