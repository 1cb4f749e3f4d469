//! Debian's packages without installing them: resolved by apt with a private state, verified, and unpacked
//! into a folder. Set-up uses it for the toolchain, this project's `cargo xtask` for ROCm's own headers and
//! libraries.

pub mod apt;
pub mod index;
pub mod os;
pub mod package;
pub mod sources;
pub mod store;
pub mod tested;

use std::io;
use std::path::{Path, PathBuf};

use self::sources::Mirrors;
use crate::run;

/// Why packages could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Packages for this system are not known.
    #[error("packages cannot be fetched here: {reason}")]
    Unsupported {
        /// The system, or what it lacks.
        reason: String,
    },
    /// The machine names no mirror.
    #[error("no apt source serves Debian 12's main archive (read: {})", files.join(", "))]
    NoMirror {
        /// The files that were read.
        files: Vec<String>,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file system is full.
    #[error("no room left in {}", folder.display())]
    DiskFull {
        /// A folder on it.
        folder: PathBuf,
    },
    /// The mirror cannot be reached, or its indexes do not verify.
    #[error("the package indexes could not be fetched and verified: {source}")]
    Index {
        /// What apt said.
        #[source]
        source: run::Error,
    },
    /// A dependency is missing.
    #[error("apt cannot resolve the packages: {source}")]
    Resolve {
        /// What apt said.
        #[source]
        source: run::Error,
    },
    /// A line of apt's output does not name a file and its hash as expected.
    #[error("apt's answer is not understood: {0}")]
    UnknownAptAnswer(String),
    /// No suite has these packages.
    #[error("not found in {}: {}", suites.join(", "), packages.join(", "))]
    NotFound {
        /// The packages.
        packages: Vec<String>,
        /// The searched suites.
        suites: Vec<String>,
    },
    /// A package could not be fetched.
    #[error("the download failed: {source}")]
    Download {
        /// What apt said.
        #[source]
        source: run::Error,
    },
    /// A file is not the one that the index names.
    #[error("{file} is not the file that the signed index names (SHA-256 {found}, expected {expected})")]
    Hash {
        /// The file's name.
        file: String,
        /// The hash in the index.
        expected: String,
        /// The hash of the file.
        found: String,
    },
    /// A package is broken.
    #[error("{file} cannot be unpacked: {source}")]
    Unpack {
        /// The package's file.
        file: String,
        /// What dpkg-deb or tar said.
        #[source]
        source: run::Error,
    },
}

/// Expected reasons for missing packages, which need no investigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Packages for its system are not known.
    Never,
    /// The mirror or the network is unavailable.
    NotNow,
}

impl Error {
    /// The expected reason for missing packages; `None` for real faults.
    pub fn reach(&self) -> Option<Reach> {
        match self {
            Self::Unsupported { .. } => Some(Reach::Never),
            Self::NoMirror { .. } | Self::Index { .. } | Self::Download { .. } | Self::NotFound { .. } => {
                Some(Reach::NotNow)
            }
            _ => None,
        }
    }
}

/// Converts an I/O error about `path`.
pub fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// The variable that names a folder like `/etc/apt` whose sources replace the machine's own.
pub const SOURCES_VARIABLE: &str = variables::APT_SOURCES.name;

/// The folder named in the environment that replaces `/etc/apt`.
fn given_sources() -> Option<PathBuf> {
    variables::APT_SOURCES.path()
}

/// The origin of the mirrors, for messages.
pub fn sources_owner() -> &'static str {
    if given_sources().is_some() { SOURCES_VARIABLE } else { "this machine's apt" }
}

/// The mirrors that this machine uses, if packages can be fetched at all.
///
/// # Errors
/// [`Error::Unsupported`] on other systems than Debian 12, [`Error::NoMirror`] if no source names its
/// archive.
pub fn mirrors() -> Result<Mirrors, Error> {
    if let os::Support::Unsupported(reason) = os::support_of_this_machine() {
        return Err(Error::Unsupported { reason });
    }
    let folder = given_sources().unwrap_or_else(|| PathBuf::from("/etc/apt"));
    let (sources, files) = sources::read_sources(&folder);
    let files = if files.is_empty() { vec![folder] } else { files };
    sources::debian_mirrors(&sources)
        .ok_or_else(|| Error::NoMirror { files: files.iter().map(|f| f.display().to_string()).collect() })
}
