//! The one error type of this crate.

use std::time::Duration;

use rccl_sys::ncclResult_t;

mod launch;

pub use launch::LaunchError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the operation, the code and the object.
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
        /// The text of `ncclGetLastError`.
        text: String,
    },

    /// The communicator failed after operations were enqueued: another rank is gone, or did something
    /// different. Received values are unspecified.
    #[error("rank {rank} of {size}: the communicator has failed: {code:?}: {text}")]
    Failed {
        /// This rank.
        rank: usize,
        /// How many there are.
        size: usize,
        /// What `ncclCommGetAsyncError` returned.
        code: ncclResult_t,
        /// The text of `ncclGetLastError`.
        text: String,
    },

    /// A step that involves other ranks did not end in time. The communicator was aborted.
    #[error("{operation} did not end within {limit:?}; the communicator was aborted")]
    TimedOut {
        /// The operation that was waited for.
        operation: &'static str,
        /// How long it waited.
        limit: Duration,
    },

    /// The communicator has been aborted.
    #[error("{operation}: the communicator has been aborted")]
    Aborted {
        /// The operation that was called.
        operation: &'static str,
    },

    /// The communicator was made without waiting, and its ranks have not joined yet.
    #[error("{operation}: the ranks of the communicator have not come together yet")]
    NotReady {
        /// The operation that was called.
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
        /// What was tried, and why it failed.
        reason: String,
    },

    /// The RCCL in use lacks a function.
    #[error("the RCCL in use has no {function}")]
    Unsupported {
        /// The function.
        function: &'static str,
    },

    /// The library's simulation of a group may run the group.
    #[error("{library} may run the operations of a group whose time it estimates")]
    NoEstimate {
        /// The library.
        library: String,
    },

    /// The number of elements does not fit the operation.
    #[error("{operation}: {what} has {found} elements, and {expected} are needed")]
    Length {
        /// The operation.
        operation: &'static str,
        /// Which memory.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many are needed.
        expected: usize,
    },

    /// The elements cannot be divided evenly among the ranks.
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

    /// The rank does not exist, or is not allowed here.
    #[error("{operation}: rank {rank} of {size} is not allowed")]
    Rank {
        /// The operation.
        operation: &'static str,
        /// The rank that was named.
        rank: usize,
        /// How many there are.
        size: usize,
    },

    /// Only the root passes this memory: it is missing on the root, or present on another rank.
    #[error("{operation}: {what} is {}", if *is_root { "missing, and this rank is the root" } else { "set, but this rank is not the root" })]
    Root {
        /// The operation.
        operation: &'static str,
        /// Which memory.
        what: &'static str,
        /// This rank is the root.
        is_root: bool,
    },

    /// The stream or memory belongs to another device than the communicator.
    #[error("{operation}: the {what} belongs to {other}, but the communicator to {device}")]
    OtherDevice {
        /// The operation.
        operation: &'static str,
        /// What belongs to the other device.
        what: &'static str,
        /// The communicator's device.
        device: String,
        /// The other device.
        other: String,
    },

    /// The group has communicators of two RCCL libraries, or the operator belongs to another communicator.
    #[error("{operation}: {what} belongs to another communicator")]
    OtherCommunicator {
        /// The operation.
        operation: &'static str,
        /// What belongs elsewhere.
        what: &'static str,
    },

    /// A rank's sends to itself do not match its receives from itself in the group.
    #[error("rank {rank}'s sends to itself and receives from itself do not match within the group")]
    OwnTransfer {
        /// The rank.
        rank: usize,
    },

    /// Some streams of a communicator in the group are captured and others are not, or they are captured into
    /// different graphs.
    #[error(
        "{operation}: either all streams of a communicator in a group are captured into one graph, or none"
    )]
    Captured {
        /// The operation.
        operation: &'static str,
    },

    /// The number of ranks is 0 or too large.
    #[error("{operation}: {size} ranks are not allowed")]
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
