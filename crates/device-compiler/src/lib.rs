//! The compiler of code for AMD GPUs: finding it, running it, and keeping what it has compiled.
//!
//! Both that compile kernels stand on this crate: [`kernel-build`](https://docs.rs/ferrocm-kernel-build), for build scripts, and
//! run-time compilation in [`hip`](https://docs.rs/ferrocm-hip). A program that compiles at run time thereby has no build tool in it.
//!
//! * [`toolchain`] finds clang, lld, HIP's headers and the device libraries, and says what is missing.
//! * [`cuda`] has CUDA's headers for AMD targets, and tells CUDA's sources from HIP's; [`ptx`] turns inline PTX into C++.
//! * [`facts`] runs clang so that the code object tells what each kernel takes, and counts what kernels do where that is asked for.
//! * [`reads`] learns which files a compilation depends on; [`cache`] finds what it gave by them.
//! * [`limits`] ends a compiler that takes too much; [`Diagnostic`] is one of its messages.
//!
//! ```no_run
//! use std::process::Command;
//!
//! let toolchain = device_compiler::toolchain::find()?;
//! let mut clang: Command = toolchain.command();
//! let done = clang.args(["--offload-arch=gfx1100", "--offload-device-only", "-c", "a.hip"]).output()?;
//! for message in device_compiler::Diagnostic::read_all(&String::from_utf8_lossy(&done.stderr)) {
//!     println!("{message}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contract
//! Nothing here writes outside of the folders that it is given and the cache's. Every failure is an [`Error`] that names what is at
//! fault.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod cache;
pub mod cuda;
pub mod depfile;
pub mod diagnostics;
mod error;
pub mod facts;
pub mod files;
mod ir;
#[cfg(test)]
mod layers;
pub mod limits;
mod metrics;
pub mod overlay;
mod private;
pub mod ptx;
pub mod reads;
pub mod toolchain;

pub use diagnostics::{Diagnostic, Place, Severity};
pub use error::Error;
