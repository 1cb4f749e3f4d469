//! A virtual AMD GPU: executes real AMDGPU machine code on the CPU behind the HSA API.
//!
//! | module | holds |
//! |---|---|
//! | [`isa`] | decoding of the gfx9, gfx10, gfx11 and gfx12 encodings into one set of operations, and a disassembler |
//! | `exec` | what each operation does to a wave, a whole wave at a time |
//! | [`machine`] | device memory, workgroups, waves, LDS, barriers, scratch, faults |
//! | [`hsa`] | the HSA function table on top |
#![warn(missing_docs)]

/// The optimisation level (`opt-level` of Cargo's profile) that the virtual GPU was compiled with: `3`, or
/// `0`, which is about a hundred times slower. If the machine and the executor differ, this is the slower
/// level.
pub const OPT_LEVEL: &str = match env!("FERROCM_VGPU_OPT_LEVEL").as_bytes() {
    b"2" | b"3" => vgpu_exec::OPT_LEVEL,
    _ => env!("FERROCM_VGPU_OPT_LEVEL"),
};

#[cfg(doctest)]
mod compile_fail;
mod config;
pub mod environment;
pub mod hsa;
mod identity;
pub mod machine;

pub use config::{ConfigError, DEFAULT_TARGET, DeviceConfig, MAX_COMPUTE_UNITS, MAX_COUNT};
pub use gpu_report::{CounterFormat, CounterFormatError};
pub use identity::Identity;
pub use machine::attach;
// For the tests of this crate and of the executor.
#[doc(hidden)]
pub use vgpu_exec as exec;
pub use vgpu_isa as isa;
