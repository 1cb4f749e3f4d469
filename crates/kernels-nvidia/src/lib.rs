//! The compiled code of `ferrocm-kernels` for NVIDIA GPUs, for its build script, which depends on this crate
//! if the feature `nvidia` is on.
//!
//! The published package has the code in a folder; a checkout has the sources, from which `ferrocm-kernels`
//! compiles it. Both crates have the same version: the code must be of the same build.
#![warn(missing_docs)]
#![no_std]

/// The folder with the code, as `kernel_build::Build::write_prebuilt` wrote it. It does not exist in a
/// checkout, nor in a package that was made without nvcc.
pub const PREBUILT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/prebuilt");
