//! Execution: what each operation does to a wave, written once for all generations.
//!
//! Decoded instructions are lowered once into [`Code`]: a handler chosen for the operation, the wave size and the CPU's vector
//! extensions, with operands resolved to offsets. Running a wave is a loop over handlers.
//!
//! | module | holds |
//! |---|---|
//! | `barrier` | the barrier of a workgroup |
//! | `wave` | the state of a wave, the lowered form of an instruction |
//! | `program` | finding reachable code, lowering it when a wave first comes there, the run loop |
//! | `watch` | what the run loop tells whoever watches a wave |
//! | `stillness` | which waves only wait for others |
//! | `settle` | where waves stop after a barrier, so that all have read LDS |
//! | `lower` | operands and modifiers; the choice of a handler |
//! | `level` | one body compiled for each CPU level |
//! | `simd` | sixteen lanes at a time, for each CPU level |
//! | `float` | exact floating-point arithmetic and conversions, one number at a time |
//! | `salu` | scalar instructions |
//! | `valu` | vector instructions |
//! | `matrix` | matrix instructions |
//! | `memory` | loads, stores, atomics |
#![allow(clippy::precedence, reason = "shifts beside masks are what bit fields look like")]

mod barrier;
pub mod float;
mod level;
pub mod lower;
pub mod matrix;
mod memory;
pub mod program;
mod salu;
mod settle;
mod simd;
mod stillness;
pub mod valu;
mod watch;
mod wave;

pub use barrier::Barrier;
pub use level::Level;
pub(crate) use level::{Body, handler, scalar_handler};
pub use lower::no_inst;
pub(crate) use lower::{resolved, text};
pub(crate) use memory::{TILE_ELEMENTS, TILE_LANES, View, buffer_flags, element_bytes, transposed};
pub(crate) use program::{FORM_MODES, Place, location};
pub use program::{Fetched, Form, Program, Unit, enter, run};
pub use salu::Hardware;
pub use watch::{Unwatched, Watch};
pub use wave::{Code, Flow, Handler, Src, Wave};
pub(crate) use wave::{TEMPS, all};
