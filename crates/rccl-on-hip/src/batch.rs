//! What is to be done at once: the operations of one communicator in one group, on whatever streams.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Failure, Result};
use crate::number::{Reduction, Type};

/// An address in a device's memory, which this crate only hands to HIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) usize);

impl Address {
    pub(crate) fn offset(self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes) as *mut u8
    }
}

/// What all ranks do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    AllReduce = 1,
    Reduce,
    Broadcast,
    AllGather,
    ReduceScatter,
    AllToAll,
    Gather,
    Scatter,
    Split,
}

/// The number that a rank's elements are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    None,
    Value(u64),
    /// Where the device has it when the operation runs.
    Device(Address),
}

/// One collective operation. `count` is that of the elements that a rank sends to, or gets from, one other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Collective {
    pub(crate) kind: Kind,
    pub(crate) send: Address,
    pub(crate) receive: Address,
    pub(crate) count: usize,
    pub(crate) element: Type,
    pub(crate) reduction: Reduction,
    pub(crate) scale: Scale,
    pub(crate) root: usize,
}

/// One side of a transfer between two ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) sends: bool,
    pub(crate) peer: usize,
    pub(crate) address: Address,
    pub(crate) count: usize,
    pub(crate) element: Type,
}

impl Transfer {
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.element.size()
    }
}

/// An operation of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    Collective(Collective),
    Transfer(Transfer),
}

/// What one communicator does at once. Collectives go first, in their order; then all transfers at once.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) collectives: Vec<Collective>,
    pub(crate) transfers: Vec<Transfer>,
    /// Handles of the streams, each once.
    pub(crate) streams: Vec<usize>,
}

impl Work {
    pub(crate) fn add(&mut self, operation: Operation, stream: usize) {
        match operation {
            Operation::Collective(collective) => self.collectives.push(collective),
            Operation::Transfer(transfer) => self.transfers.push(transfer),
        }
        if !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
    }

    /// What a rank sends to itself it has to receive in the same group: nothing else would ever do.
    pub(crate) fn check_own_transfers(&self, rank: usize) -> Result {
        let own = |sends| {
            let of_side = move |transfer: &&Transfer| transfer.sends == sends && transfer.peer == rank;
            self.transfers.iter().filter(of_side)
        };
        let same = |(sent, received): (&Transfer, &Transfer)| {
            (sent.count, sent.element) == (received.count, received.element)
        };
        if own(true).count() == own(false).count() && own(true).zip(own(false)).all(same) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "rank {rank} sends to itself and does not receive the same in the same group, or the other way round"
        )))
    }
}

/// Work that begins when all its streams have come to it.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) work: Work,
    /// Streams that have not come yet.
    awaited: AtomicUsize,
    failure: Mutex<Option<Failure>>,
}

impl Batch {
    pub(crate) fn new(work: Work) -> Self {
        let awaited = AtomicUsize::new(work.streams.len());
        Self { work, awaited, failure: Mutex::new(None) }
    }

    /// A stream has come, or failed before.
    pub(crate) fn arrive(&self, failure: Option<Failure>) {
        if let Some(failure) = failure {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
        self.awaited.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether all streams have come, and if so whether they have come well.
    pub(crate) fn is_ready(&self) -> Option<Result> {
        if self.awaited.load(Ordering::Acquire) != 0 {
            return None;
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(failure.map_or(Ok(()), Err))
    }
}
