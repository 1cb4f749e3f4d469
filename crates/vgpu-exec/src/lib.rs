//! The executor of ferrocm's virtual AMD GPU: what each operation does to a wave, written once for all
//! generations.
//!
//! This crate is a part of [`vgpu`](https://docs.rs/ferrocm-vgpu). It is separate so that changes to the
//! machine or to its HSA do not recompile the executor. Its API changes with `vgpu`, and most of it is
//! `unsafe`, because a wave follows any pointer that it is given.
//!
//! Each decoded instruction is lowered once into [`Code`]: a handler, chosen for the operation, the wave size
//! and the CPU's vector extensions, and operands resolved to offsets. Running a wave is a loop over handlers.
//!
//! | module | holds |
//! |---|---|
//! | `access` | what a wave can access besides its registers |
//! | `fault` | what a wave reports when an instruction fails |
//! | `interrupt` | how a kernel signals a change to the host |
//! | `wave_sync` | global wave sync: how the waves of a dispatch wait for each other |
//! | `barrier` | the barrier of a workgroup |
//! | `wave` | the state of a wave, the lowered form of an instruction |
//! | `compiled` | native code of units that waves enter often |
//! | `native` | what a compiler of native code is told and makes |
//! | `program` | finding reachable code, lowering it when a wave first reaches it, the run loop |
//! | `watch` | what the run loop tells observers of a wave |
//! | `stillness` | which waves only wait for others |
//! | `settle` | where waves stop after a barrier, so that all read LDS before one overwrites it |
//! | `lower` | operands and modifiers; the choice of a handler |
//! | `level` | compiling one body for each CPU level |
//! | `rows` | building arrays of lanes |
//! | `simd` | sixteen lanes at a time, for each CPU level |
//! | `float` | exact floating-point arithmetic and conversions, one number at a time |
//! | `salu` | scalar instructions |
//! | `valu` | vector instructions |
//! | `matrix` | matrix instructions |
//! | `memory` | loads, stores, atomics |
#![allow(clippy::precedence, reason = "shifts beside masks are what bit fields look like")]

/// The optimisation level (`opt-level` of Cargo's profile) that the executor was compiled with: `3`, or `0`,
/// which is about a hundred times slower.
pub const OPT_LEVEL: &str = env!("FERROCM_VGPU_OPT_LEVEL");

mod access;
mod barrier;
mod compiled;
mod fault;
pub mod float;
mod interrupt;
mod level;
pub mod lower;
pub mod matrix;
mod memory;
pub mod native;
pub mod program;
mod rows;
mod salu;
mod settle;
mod simd;
mod stillness;
pub mod valu;
mod watch;
mod wave;
mod wave_sync;

pub(crate) use access::SH_MEM_BASES;
pub use access::{Access, Arguments, GlobalMemory, PRIVATE_APERTURE, SHARED_APERTURE};
pub use barrier::Barrier;
pub use fault::{Elsewhere, WaveFault};
pub(crate) use interrupt::interrupt;
pub use interrupt::on_interrupt;
pub use level::Level;
pub(crate) use level::{Body, handler, scalar_handler};
pub use lower::no_inst;
pub use lower::{resolved, text};
pub use memory::{
    Accesses, LaneAccess, Moved, TILE_ELEMENTS, TILE_LANES, is_known, is_memory, transposed,
    transposed_from_lds,
};
pub use program::{FORM_MODES, Place, location};
pub use program::{Fetched, Form, Program, Unit, enter, run, run_unwatched};
pub use salu::Hardware;
pub use settle::Since;
pub use watch::{Unwatched, Watch};
pub use wave::{Code, Flow, Handler, Src, Wave};
pub(crate) use wave::{TEMPS, all};
pub use wave_sync::WaveSync;
