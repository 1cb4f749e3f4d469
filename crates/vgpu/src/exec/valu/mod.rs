//! Vector instructions: what they do to the lanes of a wave.
//!
//! | module | holds |
//! |---|---|
//! | `lane` | typed access to operands, modifiers |
//! | `maps` | the shapes of instructions: a function of lanes becomes a handler |
//! | `vector` | operations whose lanes do not look at each other |
//! | `compare` | comparisons |
//! | `cross` | operations across lanes, DPP and SDWA |
//! | `modify` | negation, absolute value, output multiplier and clamp |
//! | `special` | operations with shapes of their own |
//! | `numbers` | number formats and functions |
#![allow(
    clippy::needless_range_loop,
    reason = "a lane is an index into several arrays, and such loops become vector code"
)]

mod compare;
mod cross;
mod lane;
mod maps;
mod modify;
mod numbers;
mod special;
#[cfg(test)]
mod tests;
mod vector;

use std::ptr::NonNull;

use super::lower::{Context, operands};
use super::{Body, Code, Handler, Level, handler};
use crate::isa::{Format, Inst, Operand, scalar};
use crate::machine::Generation;

/// What handlers are chosen for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Engine {
    level: Level,
    lanes: usize,
}

impl Engine {
    fn handler<B: Body>(self) -> Handler {
        handler::<B>(self.lanes, self.level)
    }
}

/// The one value of a closure type that captures nothing: so that closures can be type parameters of [`Body`]s.
#[inline(always)]
fn conjure<F: Copy + 'static>() -> F {
    const { assert!(size_of::<F>() == 0, "the closure captures something") };
    // SAFETY: reading no bytes is valid at any aligned address, and the caller had a value of the type, so it is inhabited.
    unsafe { NonNull::<F>::dangling().read() }
}

/// Lowers a vector instruction.
pub(super) fn lower(inst: &Inst, number: u32, context: &Context, codes: &mut Vec<Code>) -> Option<()> {
    let engine = Engine { level: context.level, lanes: context.lanes };
    if inst.format == Format::Vopd {
        return special::pair(inst, number, context, engine, codes);
    }
    let mut code = operands(inst, number, context, codes)?;
    if context.generation != Generation::Gfx9 {
        code.imm |= lane::KEEP;
    }
    if inst.dpp.is_some() || inst.sdwa.is_some() {
        return cross::modified(inst, code, engine, codes);
    }
    code.run = plain(inst, engine)?;
    modify::wrap(inst, code, engine, codes)
}

/// The handler of an instruction, which applies no modifiers but those of VOP3P.
fn plain(inst: &Inst, engine: Engine) -> Option<Handler> {
    if inst.format == Format::Vop3p {
        return special::packed(inst, engine);
    }
    compare::handler(inst.op, engine)
        .or_else(|| vector::handler(inst.op, engine))
        .or_else(|| special::handler(inst, engine))
        .or_else(|| cross::handler(inst.op, engine))
}

/// The scalar slot of an operand, if it is one.
fn slot(operand: Operand) -> u8 {
    if let Operand::Sgpr(slot) = operand { slot } else { scalar::NULL }
}
