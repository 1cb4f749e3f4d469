use std::path::PathBuf;

mod not_found;

pub use not_found::{Attempt, NotFound};

/// Why the device compiler cannot be used. Each variant names the thing at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no compiler.
    #[error(transparent)]
    Toolchain(#[from] NotFound),
    /// A variable has an invalid value.
    #[error(transparent)]
    Variable(#[from] variables::Error),
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}{}", path.display(), hint(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Others could put code into the cache folder.
    #[error(
        "the cache folder {} is not private: {reason}; or set FERROCM_CACHE to a folder that only you can write to",
        folder.display()
    )]
    NotPrivate {
        /// The folder.
        folder: PathBuf,
        /// Who may write to it.
        reason: String,
    },
    /// The counters of kernels could not be described.
    #[error("cannot add counters to kernels: {reason}")]
    Metrics {
        /// What went wrong.
        reason: String,
    },
    /// A program could not be run, or was killed.
    #[error("cannot run {}: {reason}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// What happened.
        reason: String,
    },
    /// The compiler was stopped because it exceeded a limit.
    #[error("{0}")]
    Limit(crate::limits::Exceeded),
}

impl Error {
    /// An error about a file or folder: what was tried, the path, and the system's error.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// Whether a full disk or quota is the cause.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        use std::io::ErrorKind as K;
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), K::StorageFull | K::QuotaExceeded))
    }
}

fn hint(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => "; make room there, or set FERROCM_CACHE to a folder elsewhere",
        K::PermissionDenied | K::ReadOnlyFilesystem => {
            "; make it writable, or set FERROCM_CACHE to a folder that is"
        }
        _ => "",
    }
}
