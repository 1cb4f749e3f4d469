//! What can go wrong with files.

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
    /// A path has no source below it.
    #[error("there is no source in {}; sources end in {}", .0.display(), crate::files::EXTENSIONS.join(", "))]
    NoSources(PathBuf),
    /// Several sources, and no place for their translations.
    #[error("{0} sources: say --in-place, --output DIR, --diff, --check or --examine")]
    SeveralSources(usize),
    /// An installed hipify-perl has none of the names that it should have.
    #[error("{} has no table of names that is understood", .0.display())]
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
