//! Matrix instructions: MFMA and SMFMAC of CDNA, WMMA and SWMMAC of RDNA.
//!
//! Each instruction has one row of [`table`], with its shape and types. [`layout`] turns it into a plan: the
//! position of each chunk of sixteen lanes of each register. A handler follows the plan. It gathers operands
//! into panels of f32 or f64, multiplies and accumulates rows, sixteen columns at a time, and scatters the
//! results. It reads all operands before it writes anything, so registers may overlap.
//!
//! | module | holds |
//! |---|---|
//! | `table` | the instructions |
//! | `layout` | the register and the lane of each element |
//! | `eight` | 8-bit floating-point formats |
//! | `operand` | registers to panels, results to registers |
//! | `multiply` | the arithmetic |
//! | `body` | the handlers |
//!
//! # What is exact and what is not
//! Vendors do not document the order of summation. Here it is:
//! * f32, xf32 and f64: a chain of fused multiply-adds in the order of K, starting with C. Measurements of
//!   gfx90a and gfx942 show this for f32 and f64. xf32 operands are truncated to ten digits after the point.
//! * f16 and bf16 on gfx90a: subnormal operands count as zero. The products of each four columns (two for the
//!   old bf16 instructions) are added pairwise, then to the accumulator. Every sum is rounded, and subnormal
//!   sums become zero. This matches measurements of gfx90a.
//! * f16 and bf16 in dense instructions of RDNA: dot products of two (gfx11) or four (gfx12), one after
//!   another in the order of K, each with the rules and NaNs of `float::dot`. 16-bit results are rounded
//!   after each.
//! * f16 and bf16 on gfx942 and gfx950 and in sparse instructions, and floats of 8 or fewer bits: the same
//!   chain of f32 fused multiply-adds, with exact products. The result differs from the exact sum by at most
//!   `K * 2^-24 * (|C| + sum of |A * B|)`. Real devices round differently, within about the same bound.
//!   16-bit results are rounded once, at the end, to nearest even.
//! * Scales of gfx950 multiply the elements of A and B, as f32, before the products are added. Values that
//!   are then too large or too small for f32 become infinite or lose digits, which may not happen on devices.
//! * Integers: exact. Sums wrap, or saturate with `clamp`.
//!
//! MODE is ignored, except for FP16_OVFL and for its rule about subnormal f32 sources, which applies to A and
//! B of MFMA but not to C and D. Rounding is to nearest even, and subnormals are kept, except in the cases
//! above. Other NaN results are the default quiet NaN. EXEC is ignored: MFMA reads and writes all lanes in
//! any case, as CDNA specifies. WMMA requires EXEC to be all ones, and is executed as if it were.
//!
//! Undefined behaviour of instructions is defined here as follows. Fields that select a nonexistent block
//! wrap around. Lanes of gfx11's A and B above the first sixteen, which must repeat those, are not read.

mod body;
mod eight;
pub mod layout;
mod multiply;
mod operand;
pub mod table;

pub(super) use eight::widen;
pub(super) use table::Format;

use vgpu_isa::{Elem, Fact, Generation, Inst, Modifiers, Op, Operand, Type};

use super::lower::{Context, bare, source};
use super::{Code, Src};
use table::{Family, Sum};

/// Differences between generations that have the same instructions.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether f16 and bf16 products are added pairwise, without subnormal numbers.
    pub pairwise: bool,
    /// Whether `blgp` of f64 instructions negates operands.
    pub negates: bool,
}

impl Rules {
    fn of(generation: Generation) -> Rules {
        match generation {
            Generation::Gfx9 => Rules { pairwise: true, negates: false },
            Generation::Gfx940 | Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx12 => {
                Rules { pairwise: false, negates: true }
            }
        }
    }
}

/// Whether an instruction is one of these.
pub(super) fn is_matrix(inst: &Inst) -> bool {
    inst.op.has(Fact::MFMA) || inst.op.has(Fact::WMMA)
}

/// Lowers a matrix instruction.
pub(super) fn lower(inst: &Inst, number: u32, context: &Context, codes: &mut Vec<Code>) -> Option<()> {
    let code = lower_with(inst, number, context, Rules::of(context.generation), codes)?;
    codes.push(code);
    Some(())
}

/// What the immediate of a lowered matrix instruction says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lowered {
    /// The number of its row in [`table::INSTRUCTIONS`].
    pub row: usize,
    /// Whether products are added pairwise.
    pub pairwise: bool,
    /// Whether the elements of A and B are scaled.
    pub scaled: bool,
}

/// What the immediate of a lowered matrix instruction says.
pub fn row_of(imm: i64) -> Lowered {
    Lowered {
        row: (imm & (body::PAIRWISE - 1)) as usize,
        pairwise: imm & body::PAIRWISE != 0,
        scaled: imm & body::SCALED != 0,
    }
}

/// The number of bits of an element of A and B.
pub fn source_bits(op: Op) -> Option<u32> {
    let row = table::INSTRUCTIONS.iter().find(|row| row.op == op)?;
    Some(row.a.bits() as u32)
}

/// Lowers an instruction under the rules of any generation. Codes that must run before it are added to
/// `codes`.
pub fn lower_with(
    inst: &Inst,
    number: u32,
    context: &Context,
    rules: Rules,
    codes: &mut Vec<Code>,
) -> Option<Code> {
    let index = table::find(inst)?;
    let row = &table::INSTRUCTIONS[index];
    if row.family == Family::Mfma && context.lanes != 64 {
        return None;
    }
    let plan = layout::plan(index, context.lanes);
    let tuple = |operand, count| registers(operand, count, context.lanes);
    let words = if row.sum == Sum::F64 { 2 } else { 1 };
    let result = words * u32::from(plan.d_count);
    let dst = tuple(inst.dst, result)?;
    let a = tuple(inst.src[0], words * u32::from(plan.a_count))?;
    let b = tuple(inst.src[1], words * u32::from(plan.b_count))?;
    let (c, index_register) = if row.sparse {
        (Src::Vector(tuple(inst.src[3], result)?), Src::Vector(tuple(inst.src[2], 1)?))
    } else if let Some(first) = tuple(inst.src[2], result) {
        (Src::Vector(first), Src::Const(0))
    } else {
        (scalar(inst.src[2], row.sum, number, context, codes)?, Src::Const(0))
    };
    let mut imm = index as i64;
    if rules.pairwise && row.family == Family::Mfma && matches!(row.a, Format::F16 | Format::Bf16) {
        imm |= body::PAIRWISE;
    }
    if let Src::Vector(c) = c
        && matches!(row.sum, Sum::F32 | Sum::I32)
        && (c == dst || c.abs_diff(dst) >= result * context.lanes as u32)
    {
        imm |= body::DIRECT;
    }
    let mut mods = inst.mods;
    if inst.op.has(Fact::FORMATS) {
        (mods.cbsz, mods.blgp) = (0, 0);
    }
    if let Some((_, _, [Operand::Vgpr(of_a), Operand::Vgpr(of_b), _])) = inst.dual {
        imm |= body::SCALED | i64::from(of_a) << body::SCALE_A | i64::from(of_b) << body::SCALE_B;
    }
    if row.sum == Sum::F64 {
        mods = Modifiers { neg: if rules.negates { mods.blgp } else { 0 }, ..Modifiers::default() };
    }
    Some(Code {
        src: [Src::Vector(a), Src::Vector(b), c, index_register],
        dst,
        mods,
        sdst: vgpu_isa::scalar::NULL,
        ..bare(body::handler(row.sum, context.level), imm, number)
    })
}

/// The index of the first lane of a tuple of registers that lies within one register file.
fn registers(operand: Operand, count: u32, lanes: usize) -> Option<u32> {
    let (base, first) = match operand {
        Operand::Vgpr(first) => (0, u32::from(first)),
        Operand::Agpr(first) => (256, u32::from(first)),
        _ => return None,
    };
    (first + count <= 256).then_some((base + first) * lanes as u32)
}

/// The value of all elements of C if it is not in registers: a constant, or a special value, which `codes`
/// read.
fn scalar(operand: Operand, sum: Sum, number: u32, context: &Context, codes: &mut Vec<Code>) -> Option<Src> {
    let elem = match sum {
        Sum::F32 => Elem::F32,
        Sum::F64 => Elem::F64,
        Sum::F16 => Elem::F16,
        Sum::Bf16 => Elem::Bf16,
        Sum::I32 => Elem::I32,
    };
    match operand {
        Operand::Int(_) | Operand::Float(_) | Operand::Literal(_) | Operand::Special(_) => {
            source(operand, Type { elem, count: 1 }, 2, context, codes, number)
        }
        _ => None,
    }
}
