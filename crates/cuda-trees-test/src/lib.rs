//! CUDA sources of this workspace without any adaptation to AMD, compiled by `kernel-build`.
//!
//! `trainer` is a tree of host code with launchers, `ops` a tree of kernels only, and `headers` has a source
//! for each of CUDA's device libraries.

pub mod trainer;

/// The modules of `ops`.
pub mod ops {
    include!(concat!(env!("OUT_DIR"), "/ops.rs"));
}

/// The modules of `headers`.
pub mod headers {
    include!(concat!(env!("OUT_DIR"), "/headers.rs"));
}
