//! The packets of one submission, and how they get into a ring.

use std::borrow::Cow;

use hsa::raw::{
    Packet, PacketRing, SCOPE_SYSTEM, acquire, barrier_packet, complete_with, is_dispatch, is_incomplete,
    is_ordered, take_header,
};
use hsa_sys::hsa_signal_t;

use super::{Patch, put};

/// The packets of a block between packets of its own.
///
/// The block's packets stay where they are; what a submission changes is copied: the first and the last one,
/// or all if [`packets_mut`](Self::packets_mut) is called.
#[derive(Debug)]
pub struct Submission<'a> {
    before: Vec<Packet>,
    packets: Cow<'a, [Packet]>,
    /// In place of the first and the last packet, as long as the others are not copied.
    first: Option<Packet>,
    last: Option<Packet>,
    behind: Vec<Packet>,
    /// What kernels complete, and the arguments that say what.
    patches: &'a [Patch],
    arguments: &'a mut [u8],
}

impl<'a> Submission<'a> {
    /// A submission of packets in their final form.
    #[must_use]
    #[inline]
    pub fn of(packets: &'a [Packet]) -> Self {
        Self {
            before: Vec::new(),
            packets: Cow::Borrowed(packets),
            first: None,
            last: None,
            behind: Vec::new(),
            patches: &[],
            arguments: &mut [],
        }
    }

    pub(super) fn patch(&mut self, patches: &'a [Patch], arguments: &'a mut [u8]) {
        (self.patches, self.arguments) = (patches, arguments);
    }

    /// Adds a packet in front of the block's, behind earlier ones that were added in front.
    pub fn add_before(&mut self, packet: Packet) {
        self.before.push(packet);
    }

    /// Adds a packet behind all.
    pub fn add_behind(&mut self, packet: Packet) {
        self.behind.push(packet);
    }

    /// How many packets there are.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.before.len() + self.packets.len() + self.behind.len()
    }

    /// The block's packets, for changes.
    pub fn packets_mut(&mut self) -> &mut [Packet] {
        let packets = self.packets.to_mut();
        if let (Some(first), Some(place)) = (self.first.take(), packets.first_mut()) {
            *place = first;
        }
        if let (Some(last), Some(place)) = (self.last.take(), packets.last_mut()) {
            *place = last;
        }
        packets
    }

    /// The first of the block's packets.
    fn first_mut(&mut self) -> Option<&mut Packet> {
        match &mut self.packets {
            Cow::Owned(packets) => packets.first_mut(),
            Cow::Borrowed(packets) => {
                let first = packets.first()?;
                Some(self.first.get_or_insert(*first))
            }
        }
    }

    /// The last of them.
    fn last_mut(&mut self) -> Option<&mut Packet> {
        if self.packets.len() == 1 {
            return self.first_mut();
        }
        match &mut self.packets {
            Cow::Owned(packets) => packets.last_mut(),
            Cow::Borrowed(packets) => {
                let last = packets.last()?;
                Some(self.last.get_or_insert(*last))
            }
        }
    }

    /// Lets the first of the block's packets wait for all packets before it, and see writes of others within
    /// a scope.
    #[inline]
    pub fn acquire(&mut self, scope: u32) {
        if let Some(first) = self.first_mut() {
            acquire(first, scope);
        }
    }

    /// Has a signal decremented when everything has ended and its writes are there for all: by the last
    /// packet, if that is a kernel that waits for all before it, or one that waits for others and nothing is
    /// behind it, else by one more.
    pub fn complete(&mut self, done: hsa_signal_t) {
        let is_behind = !self.behind.is_empty();
        if let Some(last) = self.before.last_mut().filter(|_| !is_behind && self.packets.is_empty()) {
            // It waits for all before it, too.
            complete_with(last, done);
            return;
        }
        let is_last = |packet: &&mut Packet| !is_behind && is_dispatch(packet) && is_ordered(packet);
        match self.last_mut().filter(is_last) {
            Some(last) => complete_with(last, done),
            None => self.behind.push(barrier_packet(&[], done, SCOPE_SYSTEM)),
        }
    }

    /// The packets, for somebody else to write. Those that kernels complete are incomplete; the list says
    /// where the addresses of which packets are to be written first.
    pub(crate) fn into_packets(mut self) -> (Vec<Packet>, Vec<(u64, usize)>) {
        let start = self.before.len();
        let mut addresses = Vec::with_capacity(self.patches.len());
        if !self.patches.is_empty() {
            self.packets_mut();
            for patch in self.patches {
                let packet = &mut self.packets.to_mut()[patch.packet];
                put(self.arguments, patch.header_at, take_header(packet).into());
                let address = self.arguments[patch.address_at..].as_mut_ptr() as u64;
                addresses.push((address, start + patch.packet));
            }
        }
        let mut packets = Vec::with_capacity(self.count());
        loop {
            match self.run(packets.len()) {
                [] => return (packets, addresses),
                run => packets.extend_from_slice(run),
            }
        }
    }

    /// Reserves the slots of a ring. Then [`Writing::advance`] must be called until all packets are written,
    /// unless the queue accepts no more.
    ///
    /// # Safety
    /// Everything that the packets name exists until they have been processed. `advance` gets the same ring,
    /// to which nothing else is written until then.
    #[inline]
    pub unsafe fn begin(mut self, ring: &mut PacketRing) -> Writing<'a> {
        let next = ring.reserve(self.count() as u64);
        if !self.patches.is_empty() {
            let start = next + self.before.len() as u64;
            self.packets_mut();
            for patch in self.patches {
                let packet = &mut self.packets.to_mut()[patch.packet];
                put(self.arguments, patch.header_at, take_header(packet).into());
                put(self.arguments, patch.address_at, ring.slot(start + patch.packet as u64));
            }
        }
        Writing { submission: self, done: 0, next, rung: next }
    }

    /// The packets from one on that are next to each other in memory.
    #[inline]
    fn run(&self, mut from: usize) -> &[Packet] {
        let inner = usize::from(self.first.is_some())..self.packets.len() - usize::from(self.last.is_some());
        let first = self.first.as_slice();
        for run in [&self.before[..], first, &self.packets[inner], self.last.as_slice(), &self.behind] {
            match run.get(from..) {
                Some(rest) if !rest.is_empty() => return rest,
                _ => from -= run.len(),
            }
        }
        &[]
    }
}

/// Packets on their way into a ring.
#[derive(Debug)]
#[must_use]
pub struct Writing<'a> {
    submission: Submission<'a>,
    /// Packets that are written.
    done: usize,
    /// The slot of the next one.
    next: u64,
    /// Slots before it have been announced.
    rung: u64,
}

impl Writing<'_> {
    /// The number that the first of the block's packets has, or will have, in the queue.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.next - self.done as u64 + self.submission.before.len() as u64
    }

    /// Writes as many packets as there is room for, and rings the doorbell. Returns whether all are written;
    /// if not, somebody has to wait for room.
    #[inline]
    pub fn advance(&mut self, ring: &mut PacketRing) -> bool {
        let is_patched = !self.submission.patches.is_empty();
        let has_all = loop {
            let run = self.submission.run(self.done);
            if run.is_empty() {
                break true;
            }
            let mut count = ring.room(self.next, run.len() as u64) as usize;
            // An incomplete packet is there before the kernel runs that completes it, two packets ahead.
            while is_patched && count != 0 && run[count..].iter().take(2).any(is_incomplete) {
                count -= 1;
            }
            let (run, _) = run.split_at(count);
            match run {
                [] => break false,
                // The processor may look at packets before the doorbell rings: it sees all of these or none.
                [first, rest @ ..] if is_patched => {
                    // SAFETY: the slots are reserved and have room; who began this vouches for the packets.
                    unsafe {
                        ring.fill(self.next + 1, rest);
                        ring.fill(self.next, std::slice::from_ref(first));
                    }
                }
                // SAFETY: as above.
                run => unsafe { ring.fill(self.next, run) },
            }
            self.done += count;
            self.next += count as u64;
        };
        if self.rung != self.next {
            self.rung = self.next;
            ring.ring(self.next);
        }
        has_all
    }
}
