//! Vector instructions.

use super::Code;
use super::lower::Context;
use crate::isa::Inst;

/// Lowers a vector instruction.
pub(super) fn lower(_inst: &Inst, _number: u32, _context: &Context, _codes: &mut Vec<Code>) -> Option<()> {
    None
}
