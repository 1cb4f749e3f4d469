//! Why a run ends without a record.

use std::fmt;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a run ended without a record.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP layer failed: a device cannot be opened, memory ran out, a kernel faulted.
    #[error(transparent)]
    Hip(#[from] hip::Error),
    /// A kernel of this project was refused.
    #[error(transparent)]
    Kernels(#[from] kernels::Error),
    /// A layout of a tensor is invalid.
    #[error(transparent)]
    Layout(#[from] kernels::LayoutError),
    /// A product was refused or failed.
    #[error(transparent)]
    Blas(#[from] rocblas::Error),
    /// A collective was refused or failed.
    #[error(transparent)]
    Rccl(#[from] rccl::Error),
    /// A result differs from arithmetic in f64.
    #[error("{group}: {name}: the result is off by {error:e}; a correct one is off by at most {bound:e}")]
    Wrong {
        /// The group of measurements.
        group: &'static str,
        /// The measurement.
        name: String,
        /// The error.
        error: f64,
        /// The largest error of a correct result.
        bound: f64,
    },
    /// The file for the record cannot be written.
    #[error("{}: {problem}", path.display())]
    Output {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the system.
        problem: String,
    },
    /// An invalid option.
    #[error("{option}: {problem}")]
    Option {
        /// The option's name on the command line.
        option: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// Whether the request is malformed (an option, a device URI, or a variable that holds one), as opposed
    /// to a failure.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Option { .. } | Self::Hip(hip::Error::Uri(_) | hip::Error::Environment { .. }))
    }
}

/// Same as `Display`, because a program whose `main` returns the error prints this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
