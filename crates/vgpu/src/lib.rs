//! A virtual AMD GPU: executes real AMDGPU machine code on the CPU behind the HSA API.
//!
//! | module | holds |
//! |---|---|
//! | [`isa`] | decoding of the gfx9, gfx10, gfx11 and gfx12 encodings into one set of operations, and a disassembler |
//! | `exec` | what each operation does to a wave, a whole wave at a time |
//! | [`machine`] | device memory, workgroups, waves, LDS, barriers, scratch, faults |
//! | [`hsa`] | the HSA function table on top |
#![warn(missing_docs)]

/// The optimisation level (`opt-level` of Cargo's profile) that the engine was compiled with: `3`, or `0`, with which it is about a
/// hundred times slower.
pub const OPT_LEVEL: &str = env!("FERROCM_VGPU_OPT_LEVEL");

mod config;
pub mod environment;
// Public for the tests in `tests/exec` only: as unit tests they would have the engine compiled twice.
#[doc(hidden)]
pub mod exec;
pub mod hsa;
mod identity;
pub mod isa;
pub mod machine;

pub use config::{ConfigError, DEFAULT_TARGET, DeviceConfig, MAX_COMPUTE_UNITS, MAX_COUNT, attach};
pub use gpu_report::{CounterFormat, CounterFormatError};
pub use identity::Identity;
