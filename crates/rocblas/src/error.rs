//! What can be wrong with a call.

use std::fmt;

use rocblas_sys::rocblas_status;

use crate::layout::LayoutError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP layer below failed: memory could not be allocated, a stream has faulted, a buffer is another device's.
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
        /// It is the form for sizes beyond 32 bits.
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
        /// What was tried, and why it does not serve.
        reasons: Vec<String>,
    },

    /// A layout that cannot be.
    #[error("{operand}: {source}")]
    Layout {
        /// Which operand.
        operand: &'static str,
        /// What is wrong.
        source: LayoutError,
    },

    /// Sizes that do not fit together.
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

    /// Batches of different sizes, or one that is written where there are several results.
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

    /// Two matrices that must lie in the same order do not.
    #[error("{operation}: `{operand}` must be in the same order as `{other}`, row-major or column-major")]
    Order {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
        /// The one that it has to be like.
        other: &'static str,
    },

    /// What BLAS has no form for: a matrix that is to be conjugated and not transposed, seen as it lies in memory.
    #[error(
        "{operation}: `{operand}` would have to be conjugated without being transposed, for which BLAS has no form: \
         store it in the other order, or conjugate it first"
    )]
    Conjugation {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
    },

    /// A product with its own transpose that needs the other of the two.
    #[error("{operation}: `{operand}` is transposed in a way that the operation has no form for")]
    Transposition {
        /// The operation.
        operation: &'static str,
        /// The operand.
        operand: &'static str,
    },

    /// A band matrix that is to be one triangle and has diagonals on both sides, or is not square.
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

    /// An increment that the operation has no meaning for.
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

    /// A type that the operation does not compute in for these operands.
    #[error("{operation}: {compute:?} is not what {types} are computed in")]
    Compute {
        /// The operation.
        operation: &'static str,
        /// What was asked for.
        compute: crate::Compute,
        /// The types of the operands.
        types: &'static str,
    },
}

/// As its text: it is what a program prints whose `main` returns it.
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

    /// The name of that status, such as `rocblas_status_invalid_size`; none for a status that the headers do not have.
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
