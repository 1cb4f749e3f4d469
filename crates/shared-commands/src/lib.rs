//! Commands shared by the program `ferrocm` and this project's `cargo xtask`.
//!
//! - [`rocm`] runs programs on AMD's own ROCm libraries, which it fetches from Debian, over virtual GPUs.
//! - [`patch`] replaces the crates through which a Rust program uses CUDA by this project's.
//! - [`libraries`] lists this project's shared libraries that replace AMD's.
//!
//! The programs differ in where the libraries and crates come from: `ferrocm` finds them beside itself,
//! `cargo xtask` builds them from its checkout. Each passes the place as an argument. Other shared commands
//! are in `ferrocm-setup` (setup, doctor, hipcc) and `ferrocm-hipify`.
//!
//! It is published because the program `ferrocm` needs it. Its API follows that program and may change with
//! every version.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod libraries;
pub mod patch;
pub mod rocm;
