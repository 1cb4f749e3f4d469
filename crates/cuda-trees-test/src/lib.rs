//! CUDA sources of this workspace's own that know nothing of AMD, as `kernel-build` compiles them.
//!
//! `trainer` is a tree of host code with launchers, `ops` one of kernels alone, and `headers` has a source for each of CUDA's libraries
//! for device code.

pub mod trainer;

/// The modules of `ops`.
pub mod ops {
    include!(concat!(env!("OUT_DIR"), "/ops.rs"));
}

/// The modules of `headers`.
pub mod headers {
    include!(concat!(env!("OUT_DIR"), "/headers.rs"));
}
