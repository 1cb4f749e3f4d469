//! The one error type of this crate.

use std::time::Duration;

use rccl_sys::ncclResult_t;

mod launch;

pub use launch::LaunchError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, named by operation, code and thing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call into the RCCL table failed.
    #[error("{operation} failed: {code:?}: {text}")]
    Rccl {
        /// The RCCL function that was called.
        operation: &'static str,
        /// What it returned.
        code: ncclResult_t,
        /// What `ncclGetLastError` says.
        text: String,
    },

    /// The communicator has failed after operations were enqueued: another rank is gone, or did something else. What was to be
    /// received is of unspecified value.
    #[error("rank {rank} of {size}: the communicator has failed: {code:?}: {text}")]
    Failed {
        /// This rank.
        rank: usize,
        /// How many there are.
        size: usize,
        /// What `ncclCommGetAsyncError` returned.
        code: ncclResult_t,
        /// What `ncclGetLastError` says.
        text: String,
    },

    /// Something that other ranks take part in has not ended in time. The communicator was aborted.
    #[error("{operation} has not ended within {limit:?}; the communicator was aborted")]
    TimedOut {
        /// What was waited for.
        operation: &'static str,
        /// How long.
        limit: Duration,
    },

    /// The communicator has been aborted.
    #[error("{operation}: the communicator has been aborted")]
    Aborted {
        /// What was to be done.
        operation: &'static str,
    },

    /// The communicator was made without waiting, and its ranks have not come together yet.
    #[error("{operation}: the ranks of the communicator have not come together yet")]
    NotReady {
        /// What was to be done.
        operation: &'static str,
    },

    /// A call into HIP failed.
    #[error(transparent)]
    Hip(#[from] hip::Error),

    /// There is no RCCL for the device.
    #[error("no RCCL for {device}: {reason}")]
    Unavailable {
        /// The device.
        device: String,
        /// What was tried.
        reason: String,
    },

    /// The RCCL in use lacks a function.
    #[error("the RCCL in use has no {function}")]
    Unsupported {
        /// The function.
        function: &'static str,
    },

    /// A number of elements that does not fit the operation.
    #[error("{operation}: {what} has {found} elements, and {expected} are needed")]
    Length {
        /// The operation.
        operation: &'static str,
        /// Which memory.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        expected: usize,
    },

    /// Elements that cannot be dealt out to all ranks.
    #[error("{operation}: {found} elements of {what} cannot be divided among {size} ranks")]
    Indivisible {
        /// The operation.
        operation: &'static str,
        /// Which memory.
        what: &'static str,
        /// How many elements there are.
        found: usize,
        /// How many ranks.
        size: usize,
    },

    /// A rank that there is not.
    #[error("{operation}: rank {rank} of {size}")]
    Rank {
        /// The operation.
        operation: &'static str,
        /// The rank that was named.
        rank: usize,
        /// How many there are.
        size: usize,
    },

    /// Memory for a result that only the root has, on another rank; or none on the root.
    #[error("{operation}: {what} is {}", if *is_root { "missing, and this rank is the root" } else { "there, and this rank is not the root" })]
    Root {
        /// The operation.
        operation: &'static str,
        /// Which memory.
        what: &'static str,
        /// This rank is the root.
        is_root: bool,
    },

    /// A stream or memory of another device than the communicator's.
    #[error("{operation}: the {what} is of {other}, and the communicator of {device}")]
    OtherDevice {
        /// The operation.
        operation: &'static str,
        /// What is another device's.
        what: &'static str,
        /// The communicator's device.
        device: String,
        /// The other device.
        other: String,
    },

    /// Communicators of two RCCLs in one group, or an operator of another communicator.
    #[error("{operation}: {what} of another communicator")]
    OtherCommunicator {
        /// The operation.
        operation: &'static str,
        /// What belongs elsewhere.
        what: &'static str,
    },

    /// What was to be sent to this rank itself is not received in the same group, or the other way round.
    #[error(
        "rank {rank} sends to itself and does not receive the same in the same group, or the other way round"
    )]
    OwnTransfer {
        /// The rank.
        rank: usize,
    },

    /// Streams of one communicator in a group, of which some are captured and others are not, or into another graph.
    #[error(
        "{operation}: of the streams of one communicator in a group, all are captured into one graph, or none is"
    )]
    Captured {
        /// The operation.
        operation: &'static str,
    },

    /// No devices, no ranks, or more than a number holds.
    #[error("{operation}: {size} ranks")]
    Size {
        /// The operation.
        operation: &'static str,
        /// How many were asked for.
        size: usize,
    },

    /// The environment does not say which rank this process is, or the ranks cannot find each other.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

impl Error {
    /// The code of the library, if one is known.
    pub fn code(&self) -> Option<ncclResult_t> {
        match self {
            Self::Rccl { code, .. } | Self::Failed { code, .. } => Some(*code),
            _ => None,
        }
    }
}
