use std::path::{Path, PathBuf};

use kernel_build::{CompilerError, Error as Cause};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why kernels were not built. The variants are cudaforge's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no compiler for AMD GPUs.
    #[error("no compiler for AMD GPUs: {0}")]
    NvccNotFound(String),
    /// Never returned here: CUDA is not needed.
    #[error("CUDA is not in {}", .0.display())]
    CudaToolkitNotFound(PathBuf),
    /// A compute capability is missing or invalid.
    #[error("compute capability: {0}")]
    ComputeCapDetectionFailed(String),
    /// A source does not compile.
    #[error("{} does not compile:\n{message}", path.display())]
    CompilationFailed {
        /// The first such source.
        path: PathBuf,
        /// The compiler's messages for all such sources.
        message: String,
    },
    /// The library could not be created.
    #[error("{0}")]
    LinkingFailed(String),
    /// A source does not exist.
    #[error("there is no {}", .0.display())]
    SourcePathNotFound(PathBuf),
    /// A dependency could not be fetched.
    #[error("{0}")]
    GitOperationFailed(String),
    /// A file or folder could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The cache of compiled code could not be used.
    #[error("cache of compiled kernels: {0}")]
    CacheError(String),
    /// The builder was told to do something that it cannot do.
    #[error("{0}")]
    InvalidConfig(String),
}

impl From<Cause> for Error {
    fn from(error: Cause) -> Self {
        let message = error.to_string();
        match error {
            Cause::Compiler(CompilerError::Toolchain(_)) => Self::NvccNotFound(message),
            Cause::Compile { failures } => {
                let path = failures.first().map(|failure| failure.source.clone()).unwrap_or_default();
                Self::CompilationFailed { path, message }
            }
            Cause::HostCode { source_file, .. } => Self::CompilationFailed { path: source_file, message },
            Cause::Library { .. } => Self::LinkingFailed(message),
            Cause::Compiler(CompilerError::Io { source, .. }) => {
                Self::Io(std::io::Error::new(source.kind(), message))
            }
            _ => Self::InvalidConfig(message),
        }
    }
}

/// A system error, with the path.
pub(crate) fn io(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io(std::io::Error::new(error.kind(), format!("cannot {action} {}: {error}", path.display())))
}
