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
#[cfg(test)]
mod bench;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod filetests;
mod float;
mod level;
mod lower;
mod matrix;
mod memory;
mod program;
mod salu;
mod simd;
mod stillness;
mod valu;
mod watch;
mod wave;

pub(crate) use barrier::Barrier;
pub(crate) use level::{Body, Level, handler, scalar_handler};
pub(crate) use lower::{no_inst, resolved, text};
pub(crate) use memory::{View, buffer_flags, element_bytes};
pub(crate) use program::{Fetched, Form, Place, Program, Unit, location, run};
pub(crate) use watch::{Unwatched, Watch};
pub(crate) use wave::{Code, Flow, Handler, Src, TEMPS, Wave, all};
