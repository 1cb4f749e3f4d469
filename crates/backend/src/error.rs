//! The errors of this crate.

use std::fmt;

use crate::DType;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend has no such operation for these types. Nothing else computes it instead.
    #[error("{backend} has no {operation} of {what}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// The operation.
        operation: &'static str,
        /// The types and shapes that were asked for.
        what: String,
    },

    /// A tensor does not have the shape that the operation needs.
    #[error("{operation}: `{tensor}` is {got}, but must be {expected}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        tensor: &'static str,
        /// What the operation needs.
        expected: String,
        /// The type and shape that the tensor has.
        got: String,
    },

    /// A parameter that the operation cannot work with.
    #[error("{operation}: `{parameter}` is {got}, {problem}")]
    Value {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// What was given.
        got: String,
        /// What is wrong with it.
        problem: &'static str,
    },

    /// Captured work reads numbers that were kept of a quantised matrix, and the matrix has been written to
    /// since. It has to be captured again.
    #[error(
        "{operation}: a quantised matrix has changed since the work was captured, which reads its kept numbers"
    )]
    Stale {
        /// The operation.
        operation: &'static str,
    },

    /// A tensor belongs to another backend.
    #[error("{operation}: `{tensor}` is in the memory of another backend than {backend}")]
    OtherBackend {
        /// The backend.
        backend: &'static str,
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        tensor: &'static str,
    },

    /// A backend cannot be used on this machine.
    #[error("the backend `{backend}` is not available: {reason}")]
    Unavailable {
        /// The backend.
        backend: String,
        /// Why.
        reason: String,
    },

    /// A name of no backend.
    #[error("`{0}` is neither a backend (auto, rocm, cuda, virtual, cpu) nor the URI of a device")]
    UnknownBackend(String),

    /// No backend of a list can be used.
    #[error("no backend is available: {0}")]
    NoBackend(String),

    /// Something does not fit into memory.
    #[error("{what} needs {needed} bytes, but only {free} are free")]
    DoesNotFit {
        /// What.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },

    /// What fills a tensor failed.
    #[error("{bytes} bytes for a tensor could not be read: {error}")]
    Read {
        /// The bytes of the piece.
        bytes: usize,
        /// Why.
        #[source]
        error: std::io::Error,
    },

    /// Host memory could not be allocated.
    #[error("{bytes} bytes of host memory could not be allocated")]
    OutOfHostMemory {
        /// The bytes.
        bytes: usize,
    },

    /// The threads of the CPU could not be started.
    #[error("the threads of the CPU could not be started: {0}")]
    Threads(String),

    /// A kernel refused its arguments, or could not be launched.
    #[error(transparent)]
    Kernels(Box<kernels::Error>),

    /// The HIP layer failed.
    #[error(transparent)]
    Hip(Box<hip::Error>),

    /// A step that `hal` runs failed.
    #[error(transparent)]
    Hal(Box<hal::Error>),

    /// The ranks could not work together.
    #[cfg(feature = "rccl")]
    #[error(transparent)]
    Rccl(Box<rccl::Error>),

    /// The BLAS library refused its arguments or failed.
    #[error(transparent)]
    Blas(Box<rocblas::Error>),
}

/// Errors of the crates below are large, and boxed.
macro_rules! boxed {
    ($($(#[$meta:meta])* $variant:ident: $error:ty),*) => { $(
        $(#[$meta])*
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(Box::new(error))
            }
        }
    )* };
}
boxed!(Kernels: kernels::Error, Hip: hip::Error, Hal: hal::Error, Blas: rocblas::Error, #[cfg(feature = "rccl")] Rccl: rccl::Error);

/// Same as `Display`, because a program whose `main` returns the error prints this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A type and a shape, for messages.
pub(crate) fn described(dtype: DType, shape: &[usize]) -> String {
    format!("{dtype} {shape:?}")
}
