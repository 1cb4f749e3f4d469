//! Compiles CUDA kernels for many AMD targets and embeds the code objects.
//!
//! Sources are plain CUDA: `cuda_runtime.h`, `cuda_fp16.h`, `cooperative_groups.h` and the like come along, and warps have
//! 32 lanes on every target. A source that includes a header of HIP's is compiled as HIP. [`Dialect`] says what that means.
//!
//! A [`Builder`] finds the `.cu` files in a folder, compiles each for each target, in parallel, with the device
//! toolchain that [`toolchain`] finds, and keeps the results in a cache, so that only what changed is compiled again.
//! A build script ends with [`Builder::embed`], which writes a Rust module with everything in it; tools take the
//! [`Build`] and what it knows about each kernel.
//!
//! [`Builder::embed_prebuilt`] is for packages that are published with their code, so that who builds them needs no compiler for GPUs.
//!
//! [`Builder::nvidia`] has nvcc compile the same sources for NVIDIA GPUs, too; [`Builder::features`] leaves it to features of the crate for
//! which GPUs. [`Builder::offload_compress`] embeds code for many targets in a fraction of the room.
//!
//! Sources may also have host code that launches their kernels: [`Builder::build_lib`] makes a static library of both. Several
//! sources are not linked into one code object.
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
//! `docs/use/own-crate.md` shows the whole of such a crate.
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
//! | `FERROCM_TARGETS` | targets, separated by commas, where the caller names none |
//! | `FERROCM_TARGETS_FOR` | targets of single sources, whatever the caller says: [patterns](Builder::source) with targets or `none`, as in `mmq_*=none moe_*=gfx1100,gfx90a`. A source without targets is compiled for the host alone, where it is compiled for that: a quick build of a program that does not launch its kernels |
//! | `FERROCM_KERNEL_METRICS` | `1`: kernels [count what they do](Builder::metrics), where the caller does not say |
//! | `FERROCM_KERNEL_LINES` | `0`: code objects hold no [source lines](Builder::source_lines), where the caller does not say |
//! | `FERROCM_CLANG`, `FERROCM_HIP_PATH` | compiler and HIP headers to use, and no others |
//! | `ROCM_PATH`, `HIP_PATH` | where ROCm is installed |
//! | `NVCC`; `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` | the [nvcc](Builder::nvidia) to use, and no other; where CUDA is installed |
//! | `FERROCM_CUDA_ARCHS`, `CUDA_COMPUTE_CAP` | [architectures](Nvidia::archs) of NVIDIA GPUs, separated by commas, where the caller names none |
//! | `NVCC_CCBIN`, `NVCC_PREPEND_FLAGS`, `NVCC_APPEND_FLAGS` | what nvcc itself reads; they are parts of what code is found again by |
//! | `FERROCM_CACHE` | folder of compiled kernels and of the toolchain that `ferrocm setup` installs |
//! | `FERROCM_SETUP` | what messages call the command that installs a toolchain, where it is not `ferrocm setup` |
//!
//! # The cache
//! Code is found again by the content of its source and of every file that the compiler read, by what it looked for and did not
//! find, by options, target and compiler; all of that as the compiler tells it. Where it does not tell, code is compiled each time:
//! where a macro makes the name that `__has_include` asks for, where inline assembly may read a file (`.incbin`), and where an option
//! names a file that is no header.
//!
//! It is in `kernels` in the [cache folder](toolchain::cache_root) and may be deleted at any time; several builds of a user may use it at
//! once. Files appear complete or not at all and are verified when read. The folder must belong to the user, and nobody else may write
//! to it: [`CompilerError::NotPrivate`] says what is wrong with one. Instead of the usual one, a build script then uses one in `OUT_DIR`, with a
//! warning; so it does where the environment names no cache folder, and a tool, one for that build alone.
//!
//! # Contract
//! Compiler messages name file and line of the original source, also after a [translation](Translate). Warnings are
//! kept with cached code and returned each time. Every failure is an [`Error`] that names what is at fault.
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

// What a builder takes, gives and fails with.
pub use device_compiler::cuda::Dialect;
pub use device_compiler::{Diagnostic, Error as CompilerError, Place, Severity, toolchain};

pub use build::{Build, BuiltBundle, BuiltImage, BuiltModule, BuiltObject, KernelUse};
pub use builder::{Builder, Event};
pub use cuda_arch::{CudaArch, ParseArchError};
pub use error::{CompileFailure, Error};
pub use glob::Glob;
pub use nvidia::{DEFAULT_CUDA_ARCHS, Nvcc, Nvidia};
pub use target::Target;
pub use targets::{DEFAULT_TARGETS, targets_from_env};
pub use translate::Translate;
