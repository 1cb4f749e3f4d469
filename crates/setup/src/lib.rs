//! The library behind `ferrocm setup` and `ferrocm doctor`: finds or installs the device compiler, and
//! reports what a machine lacks.
//!
//! [`install`] looks for a complete toolchain as every build does ([`device_compiler::toolchain`]) and, if
//! there is none, fetches Debian's packages, verifies them and unpacks them into the user's cache. With
//! [`Options::cuda`] it does the same for NVIDIA's compiler, from Python packages ([`cuda`]). It needs no
//! root and changes nothing else on the machine. [`doctor::report`] makes a table of every tool and library.
//! [`hipcc`] and [`nvcc`] compile host programs with the toolchain. All are also commands of this project's `cargo
//! xtask`; messages name the [`Program`] in use.
//!
//! It is published because the program `ferrocm` needs it. Its API follows that program and may change with
//! every version.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

#[macro_use]
pub mod progress;
pub mod cuda;
pub mod debian;
pub mod doctor;
pub mod hipcc;
mod install;
pub mod nvcc;
pub mod pip;
mod prefix;
mod program;
pub mod run;
pub mod table;
mod tested;
pub mod toolchain;

pub use install::{Error, LIBRARY_FOLDER, Options, install};
pub use program::Program;
