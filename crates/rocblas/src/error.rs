//! Errors.

use std::fmt;

use rocblas_sys::rocblas_status;

use crate::layout::LayoutError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP layer below failed: memory could not be allocated, a stream has faulted, a buffer belongs to
    /// another device.
    #[error(transparent)]
    Hip(#[from] hip::Error),

    /// A function of the library returned an error.
    #[error("{function} failed: {code:?} ({})", code.0)]
    Status {
        /// The function of rocBLAS that was called.
        function: &'static str,
        /// What it returned.
        code: rocblas_status,
    },

    /// The library does not have the function.
    #[error(
        "{function} is not in the rocBLAS library in use{}",
        if *wide { ", and a size, stride or increment here needs its 64 bits" } else { "" }
    )]
    Missing {
        /// The function of rocBLAS.
        function: &'static str,
        /// Whether the missing function is the form for sizes beyond 32 bits.
        wide: bool,
    },

    /// A size, stride or increment is beyond 32 bits, and the function has no form for that.
    #[error("{function} has no form for sizes, strides and increments beyond 32 bits")]
    Wide {
        /// The function of rocBLAS.
        function: &'static str,
    },

    /// A batch was given to a function that has no form for batches.
    #[error("{function} has no form for batches")]
    Batched {
        /// The function of rocBLAS.
        function: &'static str,
    },

    /// No implementation of rocBLAS can be used.
    #[error("no rocBLAS for {device}: {}", reasons.join("; "))]
    NoLibrary {
        /// The device.
        device: String,
        /// What was tried, and why it cannot be used.
        reasons: Vec<String>,
    },

    /// A layout is invalid.
    #[error("{operand}: {source}")]
    Layout {
        /// Which operand.
        operand: &'static str,
        /// What is wrong.
        source: LayoutError,
    },

    /// Sizes do not match.
    #[error("{operation}: `{operand}` has {got} {what}, {expected} are needed")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// Rows, columns or elements.
        what: &'static str,
        /// How many are needed.
        expected: usize,
        /// How many there are.
        got: usize,
    },

    /// Batches have different sizes, or a single operand is written for several results.
    #[error("{operation}: `{operand}` is a batch of {got}, {expected} are needed")]
    BatchCount {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// How many are needed.
        expected: usize,
        /// How many there are.
        got: usize,
    },

    /// Two matrices must have the same order, but do not.
    #[error("{operation}: `{operand}` must be in the same order as `{other}`, row-major or column-major")]
    Order {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// The operand whose order it must have.
        other: &'static str,
    },

    /// BLAS cannot express the operation: in terms of memory, a matrix would have to be conjugated but not
    /// transposed.
    #[error(
        "{operation}: `{operand}` would have to be conjugated without being transposed, which BLAS cannot express: \
         store it in the other order, or conjugate it first"
    )]
    Conjugation {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
    },

    /// A product of a matrix with its own transpose, with the transposition on the wrong side.
    #[error("{operation}: `{operand}` is transposed in a way that the operation has no form for")]
    Transposition {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
    },

    /// A triangular band matrix has diagonals on both sides, or is not square.
    #[error(
        "{operation}: `{operand}` must be one triangle of a square matrix, and has {lower} diagonals below the main one and \
         {upper} above it"
    )]
    Triangle {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// Diagonals below the main one.
        lower: usize,
        /// Diagonals above it.
        upper: usize,
    },

    /// The operation does not support this increment.
    #[error("{operation}: `{operand}` cannot have the increment {got} here")]
    Increment {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// What was given.
        got: isize,
    },

    /// One scalar is on the host and the other in device memory.
    #[error("{operation}: `alpha` and `beta` must both be values or both be in device memory")]
    Scalars {
        /// The operation.
        operation: &'static str,
    },

    /// The operation cannot compute in this type for these operands.
    #[error("{operation}: {types} cannot be computed in {compute:?}")]
    Compute {
        /// The operation.
        operation: &'static str,
        /// The requested type.
        compute: crate::Compute,
        /// The types of the operands.
        types: &'static str,
    },
}

/// The same as `Display`: Rust prints an error that `main` returns with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// The status behind this error, if a function of rocBLAS returned one.
    #[must_use]
    pub fn code(&self) -> Option<rocblas_status> {
        match self {
            Self::Status { code, .. } => Some(*code),
            Self::Missing { .. } => Some(rocblas_status::rocblas_status_not_implemented),
            _ => None,
        }
    }

    /// The name of that status, such as `rocblas_status_invalid_size`; `None` for a status that is not in the
    /// headers.
    #[must_use]
    pub fn code_name(&self) -> Option<&'static str> {
        self.code()?.name()
    }

    /// The function of rocBLAS, or the operation, that failed or was refused.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        match self {
            Self::Hip(error) => error.operation(),
            Self::Status { function, .. }
            | Self::Missing { function, .. }
            | Self::Wide { function }
            | Self::Batched { function } => Some(function),
            Self::Shape { operation, .. }
            | Self::BatchCount { operation, .. }
            | Self::Order { operation, .. }
            | Self::Conjugation { operation, .. }
            | Self::Transposition { operation, .. }
            | Self::Triangle { operation, .. }
            | Self::Increment { operation, .. }
            | Self::Scalars { operation }
            | Self::Compute { operation, .. } => Some(operation),
            Self::NoLibrary { .. } | Self::Layout { .. } => None,
        }
    }
}
