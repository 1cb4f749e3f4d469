//! Errors.

use std::fmt;

use hsa_sys::{Table, hsa_status_t};

use crate::raw::{Errors, Failure, is_success};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No HSA library was found.
    #[error(transparent)]
    Load(#[from] hsa_sys::LoadError),
    /// An HSA function returned an error.
    #[error("{operation}: {status:?} ({text})")]
    Status {
        /// The C function.
        operation: &'static str,
        /// What it returned.
        status: hsa_status_t,
        /// The runtime's description of the status.
        text: String,
    },
    /// The queue has stopped: a kernel faulted, or a packet was malformed.
    #[error("the queue has stopped: {status:?}{}{report}", if report.is_empty() { "" } else { ": " })]
    QueueFault {
        /// The status that the queue's callback got.
        status: hsa_status_t,
        /// The fault report, if the implementation has one; else empty.
        report: String,
    },
    /// A range is outside its memory.
    #[error("{len} bytes at offset {offset} are outside {what} of {size} bytes")]
    OutOfRange {
        /// The memory.
        what: &'static str,
        /// First byte.
        offset: usize,
        /// Requested bytes.
        len: usize,
        /// Size of the memory.
        size: usize,
    },
    /// The agent has no memory pool of this kind.
    #[error("{agent} has no {pool} memory pool")]
    NoPool {
        /// Name of the agent.
        agent: String,
        /// The kind of pool.
        pool: &'static str,
    },
    /// The executable has no such symbol.
    #[error("the executable has no {kind} `{name}`")]
    NoSymbol {
        /// `kernel` or `variable`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name holds a NUL byte.
    #[error("the name {0:?} holds a NUL byte")]
    BadName(String),
    /// The name of an agent's instruction set is not a target id.
    #[error("the instruction set {0:?} of the agent is not a target id")]
    BadIsa(String),
    /// Sizes of a dispatch that no device accepts.
    #[error("{what} {sizes:?} of kernel {kernel}: {reason}")]
    BadDispatch {
        /// `grid` or `workgroup`.
        what: &'static str,
        /// Work-items per dimension.
        sizes: [u32; 3],
        /// Name of the kernel.
        kernel: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// More signals than a barrier packet can hold.
    #[error("a barrier waits for at most 5 signals, not {0}")]
    TooManyDependencies(usize),
    /// Objects of runtimes with different tables were used together.
    #[error("the objects belong to different HSA implementations")]
    DifferentRuntimes,
}

/// The same as `Display`: Rust prints an error that `main` returns with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Converts failures of [`raw::Calls`](crate::raw::Calls) to this crate's errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named;

impl Errors for Named {
    type Error = Error;

    fn error(failure: Failure) -> Error {
        let Failure { table, operation, status, .. } = failure;
        Error::Status { operation, status, text: text_of(table, status) }
    }
}

/// The implementation's description of a status.
fn text_of(table: &Table, status: hsa_status_t) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the pointer is valid for a write; the function takes any status.
    let known = unsafe { (table.hsa_status_string)(status, &mut text) };
    if known == hsa_status_t::HSA_STATUS_SUCCESS && !text.is_null() {
        // SAFETY: the runtime gave a NUL-terminated string that lives as long as it does.
        unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
    } else {
        "no description".to_owned()
    }
}

/// Turns a status into a result.
pub(crate) fn check(table: &Table, operation: &'static str, status: hsa_status_t) -> Result<()> {
    if is_success(status) {
        return Ok(());
    }
    Err(Error::Status { operation, status, text: text_of(table, status) })
}

/// Calls a function of a table and turns its status into a result; used inside `unsafe`.
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $crate::error::check($table, stringify!($function), ($table.$function)($($argument),*))
    };
}
pub(crate) use call;

/// Traces a failure that cannot be returned, as in `Drop`.
pub(crate) fn note(result: Result<()>) {
    if let Err(error) = result {
        tracing::error!(%error, "releasing an HSA object failed");
    }
}
