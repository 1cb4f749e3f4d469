//! Work that is done at once: the operations of one communicator in one group, on any streams.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Failure, Result};
use crate::number::{Reduction, Type};

/// The shortest time of an operation, and how much all ranks together copy in a microsecond. Measured as 8
/// bytes by two ranks, and an all-reduce of 16 MiB by eight, on two cores of a server processor (`cargo xtask
/// bench rccl`, November 2026).
const MICROS: f32 = 300.0;
const BYTES_PER_MICRO: f32 = 6400.0;

/// An address in a device's memory, which this crate only hands to HIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) usize);

impl Address {
    pub(crate) fn offset(self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes) as *mut u8
    }
}

/// A collective operation.
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
    AllReduceWithBias,
}

impl Kind {
    /// How many blocks of elements a rank sends and receives.
    pub(crate) fn blocks(self, is_root: bool, ranks: usize) -> (usize, usize) {
        let at_root = |blocks| if is_root { blocks } else { 0 };
        match self {
            Self::Reduce => (1, at_root(1)),
            Self::Broadcast => (at_root(1), 1),
            Self::AllGather => (1, ranks),
            Self::ReduceScatter => (ranks, 1),
            Self::AllToAll => (ranks, ranks),
            Self::Gather => (1, at_root(ranks)),
            Self::Scatter => (at_root(ranks), 1),
            Self::AllReduce | Self::AllReduceWithBias | Self::Split => (1, 1),
        }
    }
}

/// The factor for a rank's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    None,
    Value(u64),
    /// Its address on the device, read when the operation runs.
    Device(Address),
}

/// One collective operation. `count` is the number of elements that a rank sends to, or receives from, one
/// other.
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
    /// Only for [`Kind::AllReduceWithBias`].
    pub(crate) bias: Address,
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

/// The work that one communicator does at once: first the collectives, in their order, then all transfers at
/// once.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) collectives: Vec<Collective>,
    pub(crate) transfers: Vec<Transfer>,
    /// The handles of the streams, without duplicates.
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

    /// The estimated time in microseconds, if all ranks transfer as much as this one.
    pub(crate) fn estimate(&self, ranks: usize) -> f32 {
        let collective = |what: &Collective| {
            let blocks = |is_root| {
                let (sent, received) = what.kind.blocks(is_root, ranks);
                sent + received
            };
            (blocks(true) + (ranks - 1) * blocks(false)) as f32 * (what.count * what.element.size()) as f32
        };
        let transfer = |what: &Transfer| (ranks * what.bytes()) as f32;
        let bytes: f32 =
            self.collectives.iter().map(collective).chain(self.transfers.iter().map(transfer)).sum();
        let operations = self.collectives.len() + usize::from(!self.transfers.is_empty());
        operations as f32 * MICROS + bytes / BYTES_PER_MICRO
    }

    /// Checks that a rank receives in the same group what it sends to itself. Otherwise nothing would ever
    /// receive it.
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
            "rank {rank}'s sends to itself and receives from itself do not match within the group"
        )))
    }
}

/// Work that begins when all its streams have reached it.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) work: Work,
    /// The number of streams that have not reached it yet.
    awaited: AtomicUsize,
    failure: Mutex<Option<Failure>>,
}

impl Batch {
    pub(crate) fn new(work: Work) -> Self {
        let awaited = AtomicUsize::new(work.streams.len());
        Self { work, awaited, failure: Mutex::new(None) }
    }

    /// Records that a stream has reached it, or failed before.
    pub(crate) fn arrive(&self, failure: Option<Failure>) {
        if let Some(failure) = failure {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
        self.awaited.fetch_sub(1, Ordering::AcqRel);
    }

    /// `None` until all streams have reached it, then whether any failed.
    pub(crate) fn is_ready(&self) -> Option<Result> {
        if self.awaited.load(Ordering::Acquire) != 0 {
            return None;
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(failure.map_or(Ok(()), Err))
    }
}
