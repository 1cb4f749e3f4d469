//! Errors about files.

use std::path::{Path, PathBuf};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// There is no source below a path.
    #[error("there is no source in {}; sources end in {}", .0.display(), crate::files::EXTENSIONS.join(", "))]
    NoSources(PathBuf),
    /// There are several sources, but no place for their translations.
    #[error("{0} sources: use --in-place, --output DIR, --diff, --check or --examine")]
    SeveralSources(usize),
    /// An installed hipify-perl lacks the expected names.
    #[error("{} has no recognisable table of names", .0.display())]
    NoFacts(PathBuf),
    /// A report cannot be written as JSON.
    #[error("cannot write the report: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
