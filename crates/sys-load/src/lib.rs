//! Finds and opens a vendor's shared library at run time, records every attempt, and fills a table with its
//! functions.
//!
//! A `-sys` crate describes its library with [`table_api!`], which gives it a `Table` with `load`, `has` and
//! the rest, and a `Builder` for implementations inside the process. Underneath, [`Library::find`] looks for
//! what a [`Search`] describes, in this order:
//!
//! 1. the file that the library's own variable names, and nothing else if the variable is set;
//! 2. a library that is already in the process, under one of its names or as a file called `lib<name>.so*`;
//! 3. the folders that other libraries of its [`Stack`] in the process were loaded from;
//! 4. the system's loader, newest name first;
//! 5. the installations that the stack's variables name: `ROCM_PATH` and `HIP_PATH`, or `CUDA_PATH` and
//!    `CUDA_HOME`;
//! 6. the stack's usual folders: `/opt/rocm`, then `/opt/rocm-*` and `/opt/rocm/core-*`, newest first; or
//!    `/usr/local/cuda`, then `/usr/local/cuda-*`;
//! 7. Python packages with parts of the stack: those of `PYTHONPATH`, of the active environment
//!    (`VIRTUAL_ENV`, `CONDA_PREFIX`), of the user, of the machine; newest Python first.
//!
//! A library of no stack, such as a driver's, is looked for in steps 1, 2 and 4 only.
//!
//! An opened library stays in the process, because threads and exit handlers may call its functions at any
//! time. Nothing here panics or ends the process, whatever the environment and the files contain.
#![warn(missing_docs)]

use std::ffi::CStr;
use std::fmt;

mod api;
mod flags;
mod library;
mod places;
mod process;
mod stack;
pub mod table;
mod version;

pub use bitflags;
pub use flags::debug_flags;
pub use library::Library;
pub use places::Places;
pub use process::is_library_name;
pub use stack::Stack;
pub use table::{Availability, Functions, Loaded, Origin, Set, Symbol};
pub use version::{Ask, ParseVersionError, Version, Versioning};

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// The library's common name, as in "the HIP runtime".
    pub what: &'static str,
    /// Environment variable that names the one file to use instead of searching.
    pub variable: &'static str,
    /// File names, in the order to try at each place: newest version first, other libraries that hold the
    /// same functions last.
    pub names: &'static [&'static str],
    /// A symbol that every version has; a file without it is some other library.
    pub required: &'static CStr,
    /// How to find its version.
    pub versioning: Versioning,
    /// What it is part of, and so where else it may be: steps 3 and 5 to 7 of [the crate](crate)'s list.
    pub stack: Stack,
}

/// How a file came to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The caller named it.
    Caller,
    /// This environment variable named it.
    Variable(&'static str),
    /// The library was already in the process.
    Process,
    /// The library is in the folder of another library of its stack that the process has.
    Beside,
    /// The system's loader looked for the name.
    Loader,
    /// It is in an installation of its stack that this environment variable names, or in this usual folder.
    Installation(&'static str),
    /// It is in a Python package; what named the package's folder.
    Wheel(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Caller => f.write_str("named by the caller"),
            Source::Variable(name) => f.write_str(name),
            Source::Process => f.write_str("already loaded"),
            Source::Beside => f.write_str("beside a loaded library of the same stack"),
            Source::Loader => f.write_str("the system's loader"),
            Source::Installation(origin) => write!(f, "installation, {origin}"),
            Source::Wheel(origin) => write!(f, "Python package, {origin}"),
        }
    }
}

/// One place that was tried, and why it was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The file name or path; for a folder without a candidate, the folder.
    pub place: String,
    /// Why it was tried.
    pub source: Source,
    /// The reason it was passed over.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.place, self.source, self.reason)
    }
}

/// No usable library was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    /// What was looked for.
    pub what: &'static str,
    /// The variable that would name a file.
    pub variable: &'static str,
    /// Every place that was tried, in order.
    pub attempts: Vec<Attempt>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was not found (set {} to name its file); tried:", self.what, self.variable)?;
        for attempt in &self.attempts {
            write!(f, "\n  {attempt}")?;
        }
        Ok(())
    }
}
