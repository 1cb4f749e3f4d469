//! Debian's packages without installing them: resolved by apt on a state of its own, verified, and unpacked into a
//! folder. What `setup` and the ROCm releases have in common.

pub(crate) mod apt;
pub(crate) mod index;
pub(crate) mod os;
pub(crate) mod package;
pub(crate) mod sources;
pub(crate) mod store;
pub(crate) mod tested;

use std::io;
use std::path::{Path, PathBuf};

use self::sources::Mirrors;
use crate::run;

/// Why packages could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("packages cannot be fetched here: {reason}")]
    Unsupported { reason: String },
    #[error("none of this machine's apt sources serves Debian 12's main archive (read: {})", files.join(", "))]
    NoMirror { files: Vec<String> },
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no room left in {}", folder.display())]
    DiskFull { folder: PathBuf },
    #[error("the package indexes could not be fetched and verified: {source}")]
    Index {
        #[source]
        source: run::Error,
    },
    #[error("apt cannot resolve the packages: {source}")]
    Resolve {
        #[source]
        source: run::Error,
    },
    #[error("apt's answer is not understood: {0}")]
    UnknownAptAnswer(String),
    #[error("not found in {}: {}", suites.join(", "), packages.join(", "))]
    NotFound { packages: Vec<String>, suites: Vec<String> },
    #[error("the download failed: {source}")]
    Download {
        #[source]
        source: run::Error,
    },
    #[error("{file} is not the file that the signed index names (SHA-256 {found}, expected {expected})")]
    Hash { file: String, expected: String, found: String },
    #[error("{file} cannot be unpacked: {source}")]
    Unpack {
        file: String,
        #[source]
        source: run::Error,
    },
}

/// Makes an error of what went wrong with `path`.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// The mirrors that this machine uses, where packages can be fetched at all.
pub(crate) fn mirrors() -> Result<Mirrors, Error> {
    if let os::Support::Unsupported(reason) = os::support_of_this_machine() {
        return Err(Error::Unsupported { reason });
    }
    let (sources, files) = sources::read_sources(Path::new("/etc/apt"));
    sources::debian_mirrors(&sources)
        .ok_or_else(|| Error::NoMirror { files: files.iter().map(|f| f.display().to_string()).collect() })
}
