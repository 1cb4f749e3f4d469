//! What the program `ferrocm` and this project's `cargo xtask` both do.
//!
//! - [`rocm`] runs programs on AMD's own ROCm libraries, which it fetches from Debian, over virtual GPUs.
//! - [`patch`] puts this project's crates in the place of those through which a Rust program reaches CUDA.
//! - [`libraries`] lists the shared libraries of this project that take the place of AMD's.
//!
//! The two programs differ in where the libraries and crates come from: they lie beside `ferrocm`, and `cargo xtask` builds them from its
//! checkout. Each says so when it calls. The other commands that both have are in `ferrocm-setup` (setup, doctor, hipcc) and `ferrocm-hipify`.
//!
//! It is published because the program `ferrocm` needs it. Its API follows that program and may change with every version.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod libraries;
pub mod patch;
pub mod rocm;
