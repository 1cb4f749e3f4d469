//! Why a model of the hub is not there.

use std::io;
use std::path::{Path, PathBuf};

/// Why a model was not found or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A name is malformed.
    #[error(
        "`{name}` {problem}; names of the hub are hf:OWNER/NAME, with @REVISION, and with :KIND or /FILE, if need be"
    )]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The environment names no folder for the cache.
    #[error("there is no folder to keep models of the hub in: set HF_HOME or HF_HUB_CACHE")]
    NoCache,
    /// Only the cache may be used, and the model is not there.
    #[error("{name} is not in the cache, and HF_HUB_OFFLINE forbids to fetch it")]
    Offline {
        /// The name.
        name: String,
    },
    /// The repository has no such file, or several.
    #[error("{name} {problem}")]
    Selection {
        /// The name.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// There is no such repository, revision or file.
    #[error("{name} was not fetched: the server has no such {what} ({url})")]
    NotFound {
        /// The name.
        name: String,
        /// What is missing.
        what: &'static str,
        /// What was asked for.
        url: String,
    },
    /// Nobody may fetch it without a token, or this token may not.
    #[error("{name} was not fetched: {problem} ({url}). {advice}")]
    Refused {
        /// The name.
        name: String,
        /// What the server says.
        problem: String,
        /// What was asked for.
        url: String,
        /// What to do.
        advice: String,
    },
    /// The server answered with an error.
    #[error("{name} was not fetched: the server answered {status} ({url})")]
    Status {
        /// The name.
        name: String,
        /// The answer's status, and its message if it has one.
        status: String,
        /// What was asked for.
        url: String,
    },
    /// The server's answer cannot be understood.
    #[error("{name} was not fetched: {problem} ({url})")]
    Answer {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
        /// What was asked for.
        url: String,
    },
    /// The server was not reached, or the connection broke.
    #[error(
        "{name} was not fetched: {problem} ({url})\nIf this machine reaches the network through a proxy, set https_proxy. \
         What is in the cache works without a network."
    )]
    Network {
        /// The name.
        name: String,
        /// What happened.
        problem: String,
        /// What was asked for.
        url: String,
    },
    /// A file is not the one that the server announced. It was deleted.
    #[error(
        "{name} was not fetched: its file {file} has the wrong {what}: {got}, not {expected}; it was deleted, so that another attempt starts anew"
    )]
    Checksum {
        /// The name.
        name: String,
        /// The file.
        file: String,
        /// Length or SHA-256.
        what: &'static str,
        /// What it is.
        got: String,
        /// What it should be.
        expected: String,
    },
    /// A file system is full.
    #[error("no room left in {}: {name} takes {size} bytes more", folder.display())]
    DiskFull {
        /// The name.
        name: String,
        /// A folder on it.
        folder: PathBuf,
        /// The bytes that are missing of the file.
        size: u64,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {operation} {}: {error}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
}

impl HubError {
    pub(super) fn io(operation: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), error }
    }
}
