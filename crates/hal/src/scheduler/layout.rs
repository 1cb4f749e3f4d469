//! The list as the kernel `hal_schedule` has it, in `crates/hal-library/device/schedule.cuh`.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

use hsa::raw::Packet;
use hsa_sys::*;

use super::list::Words;
use crate::error::{Error, Result};

/// A ring of packets.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    packets: u64,
    pub(super) size: u64,
    write_index: u64,
    read_index: u64,
    doorbell: u64,
}

/// What has to hold before an entry is issued.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) at: u64,
    pub(super) value: u64,
    pub(super) kind: u64,
}

/// A semaphore has reached a value.
pub(super) const REACHED: u64 = 0;
/// The progress signal of a queue that lives is at most a value.
pub(super) const PASSED: u64 = 1;

/// A semaphore's value from the device, and what an entry raises it to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Raise {
    pub(super) at: u64,
    pub(super) value: u64,
}

/// A packet whose address the device writes into arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    pub(super) at: u64,
    pub(super) packet: u64,
}

/// The states of an entry: the host may write it.
pub(super) const FREE: u32 = 0;
/// Whoever changes the state first has it: the device takes the entry, the host cancels it.
pub(super) const WAITING: u32 = 1;
/// The host changed its mind; the device frees the entry when it has seen that.
pub(super) const CANCELLED: u32 = 3;
/// All that it waits for has come, but its queue has no room yet.
pub(super) const READY: u32 = 4;
/// Its packets are on their way into the queue.
pub(super) const ISSUING: u32 = 5;

/// An entry.
#[repr(C)]
#[derive(Default, Debug)]
pub(super) struct Slot {
    pub(super) state: AtomicU32,
    pub(super) content: Content,
}

/// An entry but for its state, which the state's 4 bytes align.
#[repr(C, packed(4))]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Content {
    pub(super) queue: u32,
    pub(super) conditions: u32,
    pub(super) raises: u32,
    pub(super) patches: u32,
    pub(super) packets: u32,
    pub(super) ring: u64,
    pub(super) condition: u64,
    pub(super) raise: u64,
    pub(super) patch: u64,
    pub(super) packet: u64,
    pub(super) end: u64,
}

/// The list and what the kernel needs besides.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Control {
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) size: u64,
    pub(super) entries: u64,
    pub(super) kicks: u64,
    pub(super) ring: Ring,
    pub(super) wait: Packet,
    pub(super) again: Packet,
}

const _: () = {
    assert!(size_of::<Ring>() == 40 && size_of::<Condition>() == 24);
    assert!(offset_of!(Slot, content) == 4 && size_of::<Slot>() == 72);
    assert!(offset_of!(Content, ring) == 20 && offset_of!(Content, end) == 60);
    assert!(offset_of!(Control, ring) == 40 && offset_of!(Control, wait) == 80);
};

impl Ring {
    /// The ring of a queue for kernels: AMD's headers describe the queue and its doorbell signal.
    ///
    /// # Errors
    /// Kernels cannot ring the queue's doorbell.
    ///
    /// # Safety
    /// The queue is live.
    pub(super) unsafe fn of(queue: *mut hsa_queue_t) -> Result<Self> {
        // SAFETY: the queue is live; HSA's queues begin with this structure.
        let fields = unsafe { &*queue };
        let doorbell = fields.doorbell_signal.handle as *const amd_signal_t;
        // SAFETY: AMD's signals are these structures; neither field changes as long as the queue lives.
        let (kind, address) =
            unsafe { ((*doorbell).kind, (*doorbell).__bindgen_anon_1.hardware_doorbell_ptr as u64) };
        if kind != i64::from(amd_signal_kind_t::AMD_SIGNAL_KIND_DOORBELL.0) || address == 0 {
            return Err(Error::Scheduler(
                "the queue's doorbell is not one that a kernel can ring: a tool intercepts the queue, or the \
                 GPU is older than gfx9"
                    .into(),
            ));
        }
        let base = queue as u64;
        Ok(Self {
            packets: fields.base_address as u64,
            size: fields.size.into(),
            write_index: base + offset_of!(amd_queue_v2_t, write_dispatch_id) as u64,
            read_index: base + offset_of!(amd_queue_v2_t, read_dispatch_id) as u64,
            doorbell: address,
        })
    }
}

/// Where a list is: its [`Control`], its slots, and the rings of queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListMemory {
    address: u64,
    capacity: u64,
}

impl ListMemory {
    /// # Safety
    /// The memory has room for all, exists as long as this is used, and the words of a list in it are only
    /// accessed atomically.
    pub(super) unsafe fn new(address: u64, capacity: u64) -> Self {
        Self { address, capacity }
    }

    /// Where slots begin, from the beginning.
    pub(super) fn slots() -> u64 {
        (size_of::<Control>() as u64).next_multiple_of(64)
    }

    fn slot(&self, slot: u64) -> u64 {
        self.address + Self::slots() + slot * size_of::<Slot>() as u64
    }

    /// What the slot of an entry has besides its state.
    pub(super) fn content(&self, number: u64) -> *mut Content {
        let address = self.slot(number % self.capacity) as usize + offset_of!(Slot, content);
        std::ptr::with_exposed_provenance_mut(address)
    }

    /// Where rings begin.
    pub(super) fn rings(&self) -> u64 {
        self.slot(self.capacity)
    }

    fn number(&self, offset: usize) -> &AtomicU64 {
        let word = std::ptr::with_exposed_provenance_mut(self.address as usize + offset);
        // SAFETY: the offset is that of a field of 8 bytes, every access to which is atomic.
        unsafe { AtomicU64::from_ptr(word) }
    }
}

impl Words for ListMemory {
    type State = AtomicU32;
    type Number = AtomicU64;

    fn state(&self, slot: u64) -> &AtomicU32 {
        // SAFETY: a slot begins with its state, every access to which is atomic.
        unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(self.slot(slot) as usize)) }
    }

    fn head(&self) -> &AtomicU64 {
        self.number(offset_of!(Control, head))
    }

    fn tail(&self) -> &AtomicU64 {
        self.number(offset_of!(Control, tail))
    }
}
