//! Errors.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hsa_sys::hsa_status_t;

use crate::topology::{BadSelection, SelectError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed. A semaphore that fails has the error of the work that should have signalled it,
/// and everything that waits for it gets the same one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HSA implementation's error.
    #[error(transparent)]
    Hsa(#[from] hsa::Error),
    /// An HSA function returned an error.
    #[error("{operation}: {status:?}")]
    Status {
        /// The C function.
        operation: &'static str,
        /// What it returned.
        status: hsa_status_t,
    },
    /// A text names no device.
    #[error(transparent)]
    BadSelection(#[from] BadSelection),
    /// This machine has no such device.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// An option is outside its range.
    #[error("the option `{name}` is {value}; {least} to {most} is possible")]
    Option {
        /// Its name.
        name: &'static str,
        /// The value.
        value: u64,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
    /// No code object runs on the device.
    #[error("{what} has no code for {target}; it has {}", if have.is_empty() { "none".to_owned() } else { have.join(", ") })]
    NoCode {
        /// What should have it.
        what: &'static str,
        /// The device's target.
        target: String,
        /// The targets that are there.
        have: Vec<String>,
    },
    /// A code object is malformed.
    #[error("a code object is malformed: {0}")]
    BadCode(String),
    /// The executable has no such kernel.
    #[error("the executable has no kernel `{name}`; it has {}", have.join(", "))]
    NoKernel {
        /// The name.
        name: String,
        /// The kernels that it has.
        have: Vec<String>,
    },
    /// A command needs the device library, and the device was opened without one.
    #[error("{0} needs the device library: open the device with `Options::library`")]
    NoLibrary(&'static str),
    /// Arguments that do not match the kernel.
    #[error("kernel {kernel}: {problem}")]
    Arguments {
        /// Its name.
        kernel: String,
        /// What does not match.
        problem: String,
    },
    /// Sizes that the device or the kernel does not accept.
    #[error("kernel {kernel}: {what} {sizes:?}: {problem}")]
    Sizes {
        /// Its name.
        kernel: String,
        /// `grid` or `workgroup`.
        what: &'static str,
        /// Sizes by dimension.
        sizes: [u32; 3],
        /// What is wrong.
        problem: String,
    },
    /// A range is outside its buffer.
    #[error("{len} bytes at offset {offset} are outside {what} of {size} bytes")]
    OutOfRange {
        /// Which buffer.
        what: String,
        /// First byte.
        offset: u64,
        /// Bytes.
        len: u64,
        /// Size of the buffer.
        size: u64,
    },
    /// A binding table does not fit the command buffer.
    #[error("binding {slot}: {problem}")]
    Binding {
        /// The slot.
        slot: usize,
        /// What is wrong.
        problem: String,
    },
    /// A command buffer for one submission was submitted again.
    #[error("the command buffer was recorded for one submission, and has had it")]
    OneShot,
    /// Objects of different devices were used together.
    #[error("{0} belongs to another device")]
    OtherDevice(&'static str),
    /// A pool may not grow further.
    #[error("{asked} bytes are too many: the {pool} pool has {used} of {limit} bytes in use")]
    Limit {
        /// Which pool.
        pool: &'static str,
        /// Bytes that were asked for.
        asked: u64,
        /// Bytes in use.
        used: u64,
        /// Its limit.
        limit: u64,
    },
    /// Memory of others cannot be a buffer.
    #[error("importing {size} bytes at {address:#x}: {problem}")]
    Import {
        /// The first byte.
        address: u64,
        /// Bytes.
        size: u64,
        /// Why.
        problem: String,
    },
    /// A semaphore only goes forward.
    #[error("a semaphore cannot be signalled with {asked}: it is at {value}, or will be")]
    Backwards {
        /// The value it has, or that work will signal.
        value: u64,
        /// The value that was asked for.
        asked: u64,
    },
    /// Nobody can signal a value any more.
    #[error("a semaphore was dropped before anything signalled it with {asked}")]
    Abandoned {
        /// The value that was waited for.
        asked: u64,
    },
    /// The time limit of a wait has passed.
    #[error("nothing happened within {0:?}")]
    TimedOut(Duration),
    /// The queue has stopped: a kernel faulted, or a queue that it waited for has.
    #[error("queue {queue} has stopped{}{report}", if report.is_empty() { "" } else { ": " })]
    QueueLost {
        /// Its number.
        queue: u64,
        /// The fault report, if the implementation has one.
        report: Arc<str>,
    },
    /// A file could not be opened, or not read or written as a whole.
    #[error("opening {}: {reason}", path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// The kind of error.
        kind: std::io::ErrorKind,
        /// The system's reason.
        reason: Arc<str>,
    },
    /// Bytes of a file could not be read or written. Those before them have been.
    #[error("{operation} {len} bytes at offset {offset} of {}: {reason}", path.display())]
    File {
        /// `reading` or `writing`.
        operation: &'static str,
        /// Its path.
        path: PathBuf,
        /// The first byte that could not.
        offset: u64,
        /// Bytes that were left to move.
        len: u64,
        /// The kind of error.
        kind: std::io::ErrorKind,
        /// The system's reason, or that the file ends there.
        reason: Arc<str>,
    },
    /// The device cannot have a scheduler.
    #[error("no scheduling on the device: {0}")]
    Scheduler(Arc<str>),
    /// A run cannot be captured or replayed.
    #[error("{0}")]
    Replay(Arc<str>),
    /// The file of `FERROCM_TRACE` cannot be written.
    #[error("{0}")]
    Timeline(Arc<str>),
    /// A host call failed, or a program failed the semaphore itself.
    #[error("{0}")]
    Failed(Arc<str>),
}

/// Converts failures of [`hsa::raw::Calls`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes;

impl hsa::raw::Errors for Codes {
    type Error = Error;

    fn error(failure: hsa::raw::Failure) -> Error {
        Error::Status { operation: failure.operation, status: failure.status }
    }
}

impl Error {
    /// A file could not be opened.
    pub(crate) fn open(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Open { path: path.to_owned(), kind: error.kind(), reason: error.to_string().into() }
    }
}

/// The calls of an HSA implementation with this crate's errors.
pub(crate) type Calls = hsa::raw::Calls<Codes>;

/// An error unless a range is inside a buffer.
pub(crate) fn check_range(what: &str, offset: u64, len: u64, size: u64) -> Result<()> {
    if offset > size || len > size - offset {
        return Err(Error::OutOfRange { what: what.to_owned(), offset, len, size });
    }
    Ok(())
}
