//! Errors.

use std::io;
use std::path::{Path, PathBuf};

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file of settings is invalid.
    #[error("{}: {reason}", .path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// The key, what is wrong with it, and what is expected.
        reason: String,
    },
    /// The description lacks the requested item.
    #[error("no {what} `{name}`; there are {known}")]
    Unknown {
        /// A component, stage, target …
        what: &'static str,
        /// Its name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// A step's output file is invalid.
    #[error("{}: {reason}", .path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A step on this machine failed.
    #[error("stage `{stage}`{row} failed in step `{step}` ({status})\n  what it left: {}", .out.display())]
    Step {
        /// The stage.
        stage: &'static str,
        /// The row of the matrix, with a space before it, or empty.
        row: String,
        /// The step.
        step: &'static str,
        /// How its process ended.
        status: String,
        /// The folder with the job's output.
        out: PathBuf,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn input(path: &Path, reason: impl Into<String>) -> Self {
        Self::Input { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        Self::Unknown {
            what,
            name: name.to_owned(),
            known: if known.is_empty() { "none".into() } else { known },
        }
    }
}

/// Reads a text.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(Error::io("read", path))
}

/// Writes a text and creates its folder.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
    }
    std::fs::write(path, text).map_err(Error::io("write", path))
}
