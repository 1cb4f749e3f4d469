//! Decoding: machine code of every generation into [`Inst`]s over one set of [`Op`]s.

mod inst;
mod op;

pub use inst::{Dpp, Format, Inst, Memory, Modifiers, Operand, Sdwa, Special, scalar};
pub use op::Op;
