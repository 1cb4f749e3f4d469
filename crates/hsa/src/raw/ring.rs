//! The packet ring of a queue: reserving slots, waiting for room, writing packets and ringing the doorbell.

use std::sync::atomic::{AtomicU32, Ordering};

use hsa_sys::*;

use super::Packet;

/// Slots that are fetched ahead of the one that is written.
const AHEAD: u64 = 24;

/// The ring of a queue with one writer at a time.
#[derive(Debug)]
pub struct PacketRing {
    table: &'static Table,
    queue: *mut hsa_queue_t,
    packets: *mut Packet,
    capacity: u64,
    doorbell: hsa_signal_t,
    /// The last seen read index.
    consumed: u64,
    /// The number of packets written.
    written: u64,
}

// SAFETY: the pointers refer to a queue that is not tied to a thread.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// The ring of a queue; `None` if the queue is invalid, because its address is null or its size
    /// impossible.
    ///
    /// # Safety
    /// The queue is null or belongs to the table. It lives as long as the ring is used, and nothing else
    /// writes packets to it.
    pub unsafe fn of(table: &'static Table, queue: *mut hsa_queue_t) -> Option<Self> {
        // SAFETY: as this function's contract; HSA's queues begin with this structure.
        let fields = unsafe { queue.as_ref() }?;
        (fields.size.is_power_of_two() && !fields.base_address.is_null()).then(|| Self {
            table,
            queue,
            packets: fields.base_address.cast(),
            capacity: fields.size.into(),
            doorbell: fields.doorbell_signal,
            consumed: 0,
            written: 0,
        })
    }

    /// The capacity in packets.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The number of packets written.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Reserves slots, and returns the number of the first. There may be more of them than the ring has: they
    /// are written as they get [room](Self::room). The caller must write all, unless the queue accepts no
    /// more packets.
    #[inline]
    pub fn reserve(&mut self, count: u64) -> u64 {
        // SAFETY: the queue is live, as promised to `of`.
        unsafe { (self.table.hsa_queue_add_write_index_screlease)(self.queue, count) }
    }

    /// Whether the earlier packets in these slots have been consumed.
    #[inline]
    pub fn has_room(&mut self, first: u64, count: u64) -> bool {
        if (first + count).wrapping_sub(self.consumed) <= self.capacity {
            return true;
        }
        // SAFETY: the queue is live, as promised to `of`.
        self.consumed = unsafe { (self.table.hsa_queue_load_read_index_scacquire)(self.queue) };
        (first + count).wrapping_sub(self.consumed) <= self.capacity
    }

    /// How many of these slots have room, from the first one on.
    #[inline]
    pub fn room(&mut self, first: u64, count: u64) -> u64 {
        match self.has_room(first, count) {
            true => count,
            false => (self.consumed + self.capacity).saturating_sub(first),
        }
    }

    /// Writes packets to reserved slots, in the order of their numbers, and rings the doorbell.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill).
    #[inline]
    pub unsafe fn write(&mut self, first: u64, packets: &[Packet]) {
        // SAFETY: as this function's contract.
        unsafe { self.fill(first, packets) };
        self.ring(first + packets.len() as u64);
    }

    /// Writes packets to reserved slots, in the order of their numbers. The processor may not notice them
    /// before [`ring`](Self::ring).
    ///
    /// # Safety
    /// As many slots were reserved and [have room](Self::has_room). Everything that the packets name exists
    /// until they have been processed.
    #[inline]
    pub unsafe fn fill(&mut self, first: u64, packets: &[Packet]) {
        for (index, packet) in (first..).zip(packets) {
            self.fetch(index + AHEAD);
            // SAFETY: the slot is inside the ring of `capacity` packets and belongs to this writer until its
            // header is valid. The header is written last, with release order, because the packet processor
            // reads it first.
            unsafe {
                let slot = self.packets.add((index & (self.capacity - 1)) as usize).cast::<u32>();
                slot.add(1).copy_from_nonoverlapping(packet.as_ptr().add(1), 15);
                AtomicU32::from_ptr(slot).store(packet[0], Ordering::Release);
            }
        }
        self.written += packets.len() as u64;
    }

    /// Has the cache take a slot, which the packet processor had last, from it for writing.
    #[inline]
    fn fetch(&self, index: u64) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};

            let slot = self.packets.wrapping_add((index & (self.capacity - 1)) as usize);
            // SAFETY: a prefetch accesses nothing, and processors without this one ignore it.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(slot.cast()) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = index;
    }

    /// Rings the doorbell: the slots before `end` are written.
    #[inline]
    pub fn ring(&mut self, end: u64) {
        // SAFETY: the doorbell lives as long as the queue.
        unsafe { (self.table.hsa_signal_store_screlease)(self.doorbell, end as i64 - 1) };
    }

    /// The address of a slot, for kernels that write it.
    #[inline]
    #[must_use]
    pub fn slot(&self, index: u64) -> u64 {
        self.packets.wrapping_add((index & (self.capacity - 1)) as usize) as u64
    }
}
