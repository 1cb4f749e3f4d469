//! The environment variables of ferrocm and the only code that reads them.
//!
//! [`ALL`] is the table: a row for each variable, with its meaning, its allowed values, and the default. Each
//! row is also a constant whose methods read the variable and check unit and range:
//!
//! ```
//! match variables::VGPU_TIMEOUT.time() {
//!     Ok(Some(limit)) => println!("no kernel runs longer than {limit:?}"),
//!     Ok(None) => println!("kernels may run for ever"),
//!     Err(error) => eprintln!("{error}"),
//! }
//! ```
//!
//! An empty or blank variable counts as not set. Any other invalid value is an [`Error`] that names the
//! variable, the value and what is expected: no value is silently ignored, whatever its bytes.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod read;
mod table;

pub use read::Error;
pub use table::*;

use std::time::Duration;

/// An environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    /// Its allowed values.
    pub values: Values,
    /// What applies if it is not set, in words.
    pub default: &'static str,
    /// Who reads it.
    pub reader: Reader,
}

/// The allowed values of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Values {
    /// A time in seconds (`30`, `1.5s`) or milliseconds (`500ms`).
    Time {
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
    /// A whole number.
    Count {
        /// The least.
        least: u64,
        /// The greatest.
        most: u64,
    },
    /// A number of bytes, with a unit or without: `1073741824`, `512MiB`, `4GiB`.
    Bytes {
        /// The least.
        least: u64,
        /// The greatest.
        most: u64,
    },
    /// A limit: one of these values, or `none`.
    Limit(&'static Values),
    /// On (`1`, `true`, `on`) or off (`0`, `false`, `off`).
    Switch,
    /// One of some words, in any case.
    Word(&'static [&'static str]),
    /// A text, described in words. Its reader knows the grammar.
    Text(&'static str),
    /// A path: `a file`, `a folder`.
    Path(&'static str),
}

/// Who reads a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reader {
    /// Programs that use a GPU, including the drop-in libraries.
    Program,
    /// The virtual GPU.
    VirtualGpu,
    /// Builds of device code.
    Build,
    /// The commands of `ferrocm` that run models: each is an option of theirs.
    Models,
    /// `ferrocm` and `cargo xtask`.
    Tool,
    /// Tests of this workspace.
    Test,
}
