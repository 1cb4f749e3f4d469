//! The device compiler: finding it, running it, and caching its results.
//!
//! Two crates use it to compile kernels: [`kernel-build`](https://docs.rs/ferrocm-kernel-build) in build
//! scripts, and [`hip`](https://docs.rs/ferrocm-hip) at run time. So a program that compiles at run time
//! contains no build tool.
//!
//! * [`toolchain`] finds clang, lld, HIP's headers and the device libraries, and reports what is missing.
//! * [`nvcc`] finds NVIDIA's compiler and knows its options; [`nvrtc`] knows those of its run-time compiler.
//! * [`cuda`] has CUDA's headers for AMD targets, and tells CUDA sources from HIP sources; [`ptx`] turns
//!   inline PTX into C++, and [`launches`], [`members`] and [`pragmas`] make launches, calls and pragmas of
//!   macros readable for clang. [`retries`] compiles again what fails only by what nvcc does without.
//! * [`facts`] runs clang so that code objects describe each kernel's arguments, and optionally makes kernels
//!   count what they do.
//! * [`reads`] records which files a compilation depends on; [`cache`] finds earlier results by them.
//! * [`limits`] stops a compiler that exceeds a limit; [`Diagnostic`] is one of its messages.
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
//! Nothing here writes outside the given folders and the cache's. Every failure is an [`Error`] that names
//! what is at fault.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod bodies;
pub mod cache;
pub mod cuda;
pub mod depfile;
pub mod diagnostics;
mod error;
pub mod facts;
pub mod files;
mod ir;
pub mod launches;
#[cfg(test)]
mod layers;
pub mod limits;
pub mod members;
mod metrics;
pub mod nvcc;
pub mod nvrtc;
pub mod overlay;
pub mod pragmas;
mod private;
pub mod ptx;
pub mod reads;
pub mod retries;
mod rewrites;
pub mod toolchain;
mod typenames;

pub use diagnostics::{Diagnostic, Place, Severity};
pub use error::Error;
