//! What can go wrong.

use std::fmt;

use hsa_sys::{Table, hsa_status_t};

use crate::raw::{Errors, Failure, is_success};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was not done.
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
        /// What the runtime says the status means.
        text: String,
    },
    /// The queue has stopped: a kernel did something wrong, or a packet was malformed.
    #[error("the queue has stopped: {status:?}{}{report}", if report.is_empty() { "" } else { ": " })]
    QueueFault {
        /// What the queue's callback was told.
        status: hsa_status_t,
        /// What happened, where the implementation says; else empty.
        report: String,
    },
    /// A range lies outside the memory it is to be in.
    #[error("{len} bytes at offset {offset} are outside {what} of {size} bytes")]
    OutOfRange {
        /// The memory.
        what: &'static str,
        /// First byte.
        offset: usize,
        /// Bytes asked for.
        len: usize,
        /// Bytes there are.
        size: usize,
    },
    /// The agent has no memory pool of that kind.
    #[error("{agent} has no {pool} memory pool")]
    NoPool {
        /// Name of the agent.
        agent: String,
        /// What was looked for.
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
    /// An agent's instruction set has a name that is no target id.
    #[error("the instruction set {0:?} of the agent is no target id")]
    BadIsa(String),
    /// Sizes of a dispatch that no device takes.
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
    /// More signals than a barrier packet takes.
    #[error("a barrier waits for at most 5 signals, not {0}")]
    TooManyDependencies(usize),
    /// Objects of two runtimes that work on different tables.
    #[error("the objects belong to different HSA implementations")]
    DifferentRuntimes,
}

/// As its text: it is what a program prints whose `main` returns it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What this crate makes of failures of [`raw::Calls`](crate::raw::Calls).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named;

impl Errors for Named {
    type Error = Error;

    fn error(failure: Failure) -> Error {
        let Failure { table, operation, status, .. } = failure;
        Error::Status { operation, status, text: text_of(table, status) }
    }
}

/// What the implementation says that a status means.
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

/// Notes a failure that nobody can be told, as in `Drop`.
pub(crate) fn note(result: Result<()>) {
    if let Err(error) = result {
        tracing::error!(%error, "releasing an HSA object");
    }
}
