//! cudaforge's API over [`kernel_build`]: build scripts that compile CUDA kernels with nvcc compile them for
//! AMD GPUs, unchanged.
//!
//! A `[patch.crates-io]` section replaces cudaforge 0.1 with this crate, for every crate of a program that
//! uses it:
//!
//! ```toml
//! [patch.crates-io]
//! cudaforge = { git = "https://github.com/ferrocm/ferrocm" }
//! ```
//!
//! # Output
//! - [`KernelBuilder::build_ptx`] writes the usual constants. Each `&str` has code objects for AMD targets
//!   instead of PTX, compressed and [in base64](code_object::text). The cudarc of `cudarc-on-hip` loads them
//!   like PTX.
//! - [`KernelBuilder::build_lib`] writes a static library of host code with its kernels. Its calls of CUDA's
//!   runtime become calls of HIP, which `cudarc-on-hip` provides. Such scripts link `cudart`, so an empty
//!   library of that name is written, too.
//!
//! Sources are compiled for the targets in `FERROCM_TARGETS`, or for the common ones; [`kernel_build`] lists
//! all variables. nvcc's options are understood.
//!
//! If `FERROCM_CUDA_ARCHS` names architectures of NVIDIA GPUs, nvcc also compiles every source for these, and
//! the same constants and libraries hold both vendors' code. `FERROCM_TARGETS_FOR="*=none"` leaves out AMD's.
//!
//! # Differences
//! - This crate does not look for CUDA or for an NVIDIA GPU. [`detect_compute_cap`] returns 8.9, the value of
//!   `__CUDA_ARCH__` in the code for AMD GPUs, or the lowest of `FERROCM_CUDA_ARCHS` if that is lower, unless
//!   `CUDA_COMPUTE_CAP` is set. Compute capabilities change nothing in the code.
//! - [`kernel_build`]'s cache keeps compiled code, so there is no `BuildCache`. There is no `CudaToolkit`
//!   either.
//! - [CUTLASS](KernelBuilder::with_cutlass) is for NVIDIA's instructions. Those of GPUs up to Ada's are
//!   functions here, which compute the same without matrix units, and so slowly; kernels for Hopper and later
//!   GPUs do not compile.
//! - `git` fetches a git dependency completely, to the output folder.
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
