//! The environment variables of ferrocm, and the one reader of them all.
//!
//! [`ALL`] is the table: a row for each variable, with its meaning, what may stand in it, and what holds without it. Each
//! row is a constant too, and is read through its own methods, which check unit and range:
//!
//! ```
//! match variables::VGPU_TIMEOUT.time() {
//!     Ok(Some(limit)) => println!("no kernel runs longer than {limit:?}"),
//!     Ok(None) => println!("kernels may run for ever"),
//!     Err(error) => eprintln!("{error}"),
//! }
//! ```
//!
//! A variable that is set to nothing, or to blanks only, counts as not set. Any other value that cannot be used is an [`Error`],
//! which names the variable, the value and what would be right: no value is silently ignored, whatever its bytes.
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
    /// What may stand in it.
    pub values: Values,
    /// What holds where it is not set, in words.
    pub default: &'static str,
    /// Who reads it.
    pub reader: Reader,
}

/// What may stand in a variable.
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
    /// One of some words, in capitals or not.
    Word(&'static [&'static str]),
    /// A text, described in words. Whoever reads it knows its grammar.
    Text(&'static str),
    /// A path: `a file`, `a folder`.
    Path(&'static str),
}

/// Who reads a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reader {
    /// Programs that use a GPU, the drop-in libraries among them.
    Program,
    /// The virtual GPU.
    VirtualGpu,
    /// Builds of device code.
    Build,
    /// `ferrocm` and `cargo xtask`.
    Tool,
    /// Tests of this workspace.
    Test,
}
