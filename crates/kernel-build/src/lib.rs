//! Compiles CUDA kernels for many AMD targets and embeds the code objects.
//!
//! Sources are plain CUDA: `cuda_runtime.h`, `cuda_fp16.h`, `cooperative_groups.h` and others are included,
//! and warps have 32 lanes on every target. A source that includes a HIP header is compiled as HIP.
//! [`Dialect`] explains the difference.
//!
//! A [`Builder`] finds the `.cu` files in a folder, compiles each for each target, in parallel, with the
//! device toolchain that [`toolchain`] finds, and caches the results, so that only changes are recompiled. A
//! build script ends with [`Builder::embed`], which writes a Rust module with all the code; tools use the
//! [`Build`] and its data about each kernel.
//!
//! [`Builder::embed_prebuilt`] is for packages that are published with compiled kernels, so that building
//! them needs no GPU compiler. [`Builder::prebuilt_nvidia`] says which other package has those for NVIDIA
//! GPUs.
//!
//! [`Builder::nvidia`] also compiles the same sources for NVIDIA GPUs, with nvcc; [`Builder::features`] lets
//! features of the crate choose the GPUs. [`Builder::offload_compress`] embeds code for many targets in a
//! fraction of the space.
//!
//! Sources may also contain host code that launches their kernels: [`Builder::build_lib`] compiles both into
//! a static library. Sources are never linked together into one code object.
//!
//! # In a build script
//! In `main` of `build.rs`:
//! ```no_run
//! kernel_build::Builder::new("kernels").include("kernels/include").embed_or_exit();
//! ```
//! `lib.rs` (the crate depends on `hip`, whose [`code_object::embedded`] types the module uses):
//! ```ignore
//! pub mod modules {
//!     include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
//! }
//! static GEMM: hip::LazyModule = hip::LazyModule::new(&modules::GEMM); // from kernels/gemm.cu
//! let gemm = GEMM.function(&device, "gemm_f32")?;
//! ```
//! `docs/use/own-crate.md` shows a complete crate.
//!
//! # In a tool
//! ```no_run
//! use kernel_build::{Builder, Event};
//!
//! let build = Builder::new("kernels")
//!     .targets(["gfx1100", "gfx90a"])
//!     .on_event(|event| {
//!         if let Event::Finished { module, target, cached, duration } = event {
//!             println!("{module} {target} {duration:?}{}", if cached { " (cached)" } else { "" });
//!         }
//!     })
//!     .build()?;
//! for kernel in build.kernel_uses() {
//!     println!("{} {}: {} VGPRs, {} SGPRs", kernel.target, kernel.kernel, kernel.vgprs, kernel.sgprs);
//! }
//! # Ok::<(), kernel_build::Error>(())
//! ```
//!
//! # Environment
//! | variable | means |
//! |---|---|
//! | `FERROCM_TARGETS` | targets, separated by commas, if the caller names none |
//! | `FERROCM_TARGETS_FOR` | targets of single sources, overriding the caller: [patterns](Builder::source) with targets or `none`, as in `mmq_*=none moe_*=gfx1100,gfx90a`. A source without targets gets no device code, only its host code, if any: a quick build of a program that does not launch its kernels |
//! | `FERROCM_KERNEL_METRICS` | `1`: kernels [count what they do](Builder::metrics), unless the caller decides |
//! | `FERROCM_KERNEL_LINES` | `0`: code objects contain no [source lines](Builder::source_lines), unless the caller decides |
//! | `FERROCM_CLANG`, `FERROCM_HIP_PATH` | the only compiler and HIP headers to use |
//! | `ROCM_PATH`, `HIP_PATH` | where ROCm is installed |
//! | `NVCC`; `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` | the only [nvcc](Builder::nvidia) to use; where CUDA is installed |
//! | `FERROCM_CUDA_ARCHS`, `CUDA_COMPUTE_CAP` | [architectures](Nvidia::archs) of NVIDIA GPUs, separated by commas, if the caller names none |
//! | `NVCC_CCBIN`, `NVCC_PREPEND_FLAGS`, `NVCC_APPEND_FLAGS` | read by nvcc itself; they are part of the cache key |
//! | `FERROCM_CACHE` | folder of compiled kernels and of the toolchain that `ferrocm setup` installs |
//! | `FERROCM_SETUP` | the command that messages name for installing a toolchain, if it is not `ferrocm setup` |
//!
//! # The cache
//! The key of cached code consists of the content of its source and of every file that the compiler read, the
//! files that it looked for and did not find, the options, the target and the compiler. The compiler reports
//! these. If it cannot, code is compiled each time: if a macro expands to the name in `__has_include`, if
//! inline assembly may read a file (`.incbin`), and if an option names a file that is not a header.
//!
//! The cache is `kernels` in the [cache folder](toolchain::cache_root). It may be deleted at any time, and
//! several builds of a user may share it. Files are published atomically and verified when read. The folder
//! must belong to the user, and nobody else may write to it; otherwise [`CompilerError::NotPrivate`] says
//! what is wrong. If the usual cache is not private or the environment names none, a build script uses one in
//! `OUT_DIR`, with a warning, and a tool uses a temporary one.
//!
//! # Contract
//! Compiler messages name file and line of the original source, also after a [translation](Translate).
//! Warnings are kept with cached code and returned each time. Every failure is an [`Error`] that names what
//! is at fault.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod build;
mod builder;
mod bundle;
mod compile;
mod cuda_arch;
mod discover;
mod embed;
mod error;
mod features;
mod glob;
mod inputs;
mod jobs;
#[cfg(test)]
mod layers;
mod library;
mod missing;
mod nvcc;
mod nvidia;
mod occupancy;
mod prebuilt;
mod prefix;
pub mod report;
mod select;
mod target;
mod targets;
mod translate;

// Types in the builder's API.
pub use device_compiler::cuda::Dialect;
pub use device_compiler::nvcc::Nvcc;
pub use device_compiler::{Diagnostic, Error as CompilerError, Place, Severity, toolchain};

pub use build::{Build, BuiltBundle, BuiltImage, BuiltModule, BuiltObject, KernelUse};
pub use builder::{Builder, Event};
pub use cuda_arch::{CudaArch, ParseArchError};
pub use error::{CompileFailure, Error};
pub use glob::Glob;
pub use nvidia::{DEFAULT_CUDA_ARCHS, Nvidia};
pub use target::Target;
pub use targets::{DEFAULT_TARGETS, targets_from_env};
pub use translate::Translate;
