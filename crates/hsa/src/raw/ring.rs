//! The packets of a queue: slots are reserved, waited for and written, and the doorbell rung.

use std::sync::atomic::{AtomicU32, Ordering};

use hsa_sys::*;

use super::Packet;

/// The ring of a queue that has one writer at a time.
#[derive(Debug)]
pub struct PacketRing {
    table: &'static Table,
    queue: *mut hsa_queue_t,
    packets: *mut Packet,
    capacity: u64,
    doorbell: hsa_signal_t,
    /// The read index as last seen.
    consumed: u64,
    /// Packets written.
    written: u64,
}

// SAFETY: the pointers are to a queue that is tied to no thread.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// The ring of a queue; `None` if the queue is none, because it has no address or a size that no queue has.
    ///
    /// # Safety
    /// The queue is null or one of the table's, it lives as long as the ring is used, and nobody else writes packets to it.
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

    /// Packets that it holds.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Packets that have been written.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Reserves slots, at most as many as the ring holds; returns the first one's number. They are written in any case, unless the
    /// queue takes no more packets.
    #[inline]
    pub fn reserve(&mut self, count: u64) -> u64 {
        // SAFETY: the queue is live, as `of` was promised.
        unsafe { (self.table.hsa_queue_add_write_index_screlease)(self.queue, count) }
    }

    /// Whether the packets that were in reserved slots before have been consumed.
    #[inline]
    pub fn has_room(&mut self, first: u64, count: u64) -> bool {
        if (first + count).wrapping_sub(self.consumed) <= self.capacity {
            return true;
        }
        // SAFETY: the queue is live, as `of` was promised.
        self.consumed = unsafe { (self.table.hsa_queue_load_read_index_scacquire)(self.queue) };
        (first + count).wrapping_sub(self.consumed) <= self.capacity
    }

    /// Writes packets to reserved slots, in the order of their numbers, and rings the doorbell.
    ///
    /// # Safety
    /// The slots were reserved for as many packets and [have room](Self::has_room). What the packets name is there until they have been
    /// processed.
    #[inline]
    pub unsafe fn write(&mut self, first: u64, packets: &[Packet]) {
        for (index, packet) in (first..).zip(packets) {
            // SAFETY: the slot lies within the ring of `capacity` packets and belongs to this writer until its header is
            // valid. The header goes last, with release order, as the packet processor reads it first.
            unsafe {
                let slot = self.packets.add((index & (self.capacity - 1)) as usize).cast::<u32>();
                slot.add(1).copy_from_nonoverlapping(packet.as_ptr().add(1), 15);
                AtomicU32::from_ptr(slot).store(packet[0], Ordering::Release);
            }
        }
        let count = packets.len() as u64;
        // SAFETY: the doorbell lives as long as the queue.
        unsafe { (self.table.hsa_signal_store_screlease)(self.doorbell, (first + count - 1) as i64) };
        self.written += count;
    }
}
