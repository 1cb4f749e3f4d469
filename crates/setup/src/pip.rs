//! Python packages as downloads: pip fetches them, from the index that it is configured with; versions and
//! hashes are fixed. Nothing is installed into a Python environment, and pip's cache is not used.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian::io_error;
use crate::debian::package::sha256_of;
use crate::{debian, run};

/// A package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wheel<'w> {
    /// Its name.
    pub name: &'w str,
    /// Its version.
    pub version: &'w str,
    /// The SHA-256 of its file, in hexadecimal digits.
    pub sha256: &'w str,
}

/// Why packages were not fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Python or pip is missing.
    #[error("pip cannot be run: {0}\nInstall Python 3 with pip (on Debian: apt-get install python3-pip).")]
    NoPip(run::Error),
    /// pip could not fetch a package, or its hash is wrong.
    #[error(
        "the packages could not be fetched: {0}\npip uses its own configuration (`python3 -m pip config list`): if this \
         machine reaches the network through a proxy or has an index of its own, set it there, or https_proxy, and try \
         again."
    )]
    Fetch(run::Error),
    /// A file is not the one that this version of the program knows.
    #[error("{} is not the package that it should be (its SHA-256 is wrong)", .0.display())]
    Hash(PathBuf),
    /// A package cannot be unpacked.
    #[error("a package cannot be unpacked: {0}")]
    Unpack(run::Error),
    /// A file system is full.
    #[error("no room left in {}", folder.display())]
    DiskFull {
        /// A folder on it.
        folder: PathBuf,
    },
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Files(debian::Error),
}

impl From<debian::Error> for Error {
    fn from(error: debian::Error) -> Self {
        match error {
            debian::Error::DiskFull { folder } => Self::DiskFull { folder },
            other => Self::Files(other),
        }
    }
}

/// How pip is run.
#[derive(Debug, Clone)]
pub struct Pip {
    /// The interpreter.
    pub python: PathBuf,
    /// More variables.
    pub variables: Vec<(&'static str, OsString)>,
}

impl Default for Pip {
    fn default() -> Self {
        Self { python: "python3".into(), variables: Vec::new() }
    }
}

impl Pip {
    /// A command of a module of Python, in a folder where no other module is found.
    pub(crate) fn module(&self, name: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-m", name]).current_dir(folder).envs(self.variables.iter().cloned());
        command
    }

    /// Has pip download the files into an empty folder, and verifies them. Their order is not that of
    /// `wheels`.
    ///
    /// # Errors
    /// [`Error`] says which step failed. Files may be left in the folder.
    pub fn fetch(&self, folder: &Path, wheels: &[Wheel<'_>]) -> Result<Vec<PathBuf>, Error> {
        let version = run::capture(self.module("pip", folder).arg("--version"));
        version.map_err(Error::NoPip)?;
        let line =
            |wheel: &Wheel<'_>| format!("{}=={} --hash=sha256:{}\n", wheel.name, wheel.version, wheel.sha256);
        let list: String = wheels.iter().map(line).collect();
        let requirements = folder.join("requirements.txt");
        fs::write(&requirements, list).map_err(io_error("write", &requirements))?;
        let mut download = self.module("pip", folder);
        download.args(["download", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]);
        download.args(["--no-deps", "--require-hashes", "--only-binary", ":all:", "--dest", "wheels"]);
        download.args(["--requirement", "requirements.txt"]);
        run::capture(&mut download).map_err(|error| match error.is_disk_full() {
            true => Error::DiskFull { folder: folder.to_owned() },
            false => Error::Fetch(error),
        })?;
        let place = folder.join("wheels");
        let entries = fs::read_dir(&place).map_err(io_error("read", &place))?;
        let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        for file in &files {
            let hash = sha256_of(file).map_err(io_error("read", file))?;
            if !wheels.iter().any(|wheel| wheel.sha256 == hash) {
                return Err(Error::Hash(file.clone()));
            }
        }
        Ok(files)
    }

    /// Unpacks a package into a folder.
    ///
    /// # Errors
    /// [`Error::Unpack`], [`Error::DiskFull`].
    pub fn unpack(&self, wheel: &Path, tree: &Path) -> Result<(), Error> {
        let folder = wheel.parent().unwrap_or(tree);
        let mut unzip = self.module("zipfile", folder);
        run::capture(unzip.arg("-e").arg(wheel).arg(tree)).map(drop).map_err(|error| {
            match error.is_disk_full() {
                true => Error::DiskFull { folder: tree.to_owned() },
                false => Error::Unpack(error),
            }
        })
    }
}
