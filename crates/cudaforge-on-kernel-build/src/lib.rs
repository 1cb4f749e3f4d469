//! cudaforge's API over [`kernel_build`]: build scripts that compile CUDA kernels with nvcc compile them for AMD GPUs, unchanged.
//!
//! A `[patch.crates-io]` section puts this crate in the place of cudaforge 0.1, for every crate of a program that asks for it:
//!
//! ```toml
//! [patch.crates-io]
//! cudaforge = { git = "https://github.com/ferrocm/ferrocm" }
//! ```
//!
//! # What comes out
//! - [`KernelBuilder::build_ptx`] writes the constants that such scripts write. Each `&str` has code objects for AMD targets in the place
//!   of PTX, compressed and [in base64](code_object::text). cudarc, by way of `cudarc-on-hip`, loads them as it loads PTX.
//! - [`KernelBuilder::build_lib`] writes a static library of host code with its kernels. Its calls of CUDA's runtime are calls of HIP, which
//!   `cudarc-on-hip` brings. Scripts of this kind have `cudart` linked; an empty library of that name is put beside.
//!
//! Sources are compiled for the targets in `FERROCM_TARGETS`, or for the common ones; [`kernel_build`] lists all variables. nvcc's
//! options are understood.
//!
//! # What differs
//! - Nothing looks for CUDA or for an NVIDIA GPU. [`detect_compute_cap`] says 8.9, which is what `__CUDA_ARCH__` is in the device code,
//!   unless `CUDA_COMPUTE_CAP` says otherwise. Compute capabilities change nothing in the code.
//! - Compiled code is kept in [`kernel_build`]'s cache, so that there is no `BuildCache`. There is no `CudaToolkit` either.
//! - CUTLASS is written for NVIDIA's instructions: a builder that is [told to use it](KernelBuilder::with_cutlass) fails when it builds.
//! - A git dependency is fetched by `git`, whole, into the output folder.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod arch;
mod builder;
mod dependency;
mod error;
mod parallel;
mod pattern;
mod source;

pub use arch::{ComputeCapability, GpuArch, detect_compute_cap, get_gpu_arch_string};
pub use builder::{KernelBuilder, PtxOutput};
pub use dependency::{DependencyManager, ExternalDependency, resolve_cutlass_from_cargo_checkouts};
pub use error::{Error, Result};
pub use parallel::ParallelConfig;
pub use source::{SourceSelector, collect_headers};

/// Another name of [`KernelBuilder`].
pub type Builder = KernelBuilder;

/// Another name of [`PtxOutput`].
pub type Bindings = PtxOutput;
