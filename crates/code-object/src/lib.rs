//! Reads AMDGPU code objects: ELF, kernel metadata, kernel descriptors and target ids.
//!
//! A *code object* is the ELF shared object that holds machine code for one AMD target, as written by
//! clang and lld for `amdgcn-amd-amdhsa`. [`CodeObject::parse`] reads versions 4, 5 and 6 of the format
//! and answers what a loader, a launch check or a build report asks: which target it is for, which kernels
//! it holds with their arguments and resource use, which segments to map and which relocations to apply.
//!
//! It does **not** load, relocate or disassemble anything, and an offload bundle (`__CLANG_OFFLOAD_BUNDLE__`)
//! is reported as [`Error::OffloadBundle`]; [`bundle`] reads those, compressed ones too.
//!
//! Code objects come from outside, so parsing never panics. Every fault is an [`Error`] that names
//! the part at fault. What a returned [`CodeObject`] says is consistent: file
//! ranges lie within the file, descriptors within loaded segments, arguments within the kernel's argument
//! segment. Every size, offset and index of the ELF headers, used here or not, stays within the file too, so
//! a library that gets an accepted file's address without its length reads nothing behind its end.
//!
//! ```no_run
//! use code_object::CodeObject;
//!
//! let bytes = std::fs::read("gemm.hsaco")?;
//! let object = CodeObject::parse(&bytes)?;
//! println!("{} (code object v{})", object.target(), object.version());
//! for kernel in object.kernels() {
//!     println!("{}: {} VGPRs, {} bytes of LDS", kernel.name, kernel.vgpr_count, kernel.group_segment_size);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod bounds;
pub mod bundle;
pub mod cuda;
pub mod cuda_arch;
mod descriptor;
pub mod embedded;
mod error;
mod image;
mod kernel;
mod metadata;
pub mod metrics;
pub mod occupancy;
mod parse;
mod processors;
mod target;
pub mod text;

pub use descriptor::KernelDescriptor;
pub use error::Error;
pub use image::{Binding, Relocation, RelocationKind, Segment, Symbol, SymbolKind};
pub use kernel::{Access, Arg, ArgKind, HiddenArg, Kernel};
pub use parse::CodeObject;
pub use processors::{Architecture, Limits, PROCESSORS, Processor, gfx_version};
pub use target::{Feature, Match, ParseArchitectureError, ParseTargetError, TargetId};
