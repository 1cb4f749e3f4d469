//! Vector instructions.
//!
//! | module | holds |
//! |---|---|
//! | `lanewise` | the one body of all instructions that work lane by lane |
//! | `operand`, `result` | types of sources and results: the location of their lanes, modifiers |
//! | `settle` | the NaN that an operation returns, rounding modes |
//! | `integer`, `half`, `single`, `double`, `eight`, `convert`, `compare`, `dot` | the operations |
//! | `function`, `minmax` | code shared by several types of operations |
//! | `scaled` | conversions with a scale |
//! | `cross` | operations across lanes |
//! | `parts` | DPP and SDWA |
//! | `wide_add` | 64-bit additions of two instructions |

mod compare;
mod convert;
mod cross;
mod dot;
mod double;
mod eight;
mod function;
mod half;
mod integer;
mod lanewise;
mod minmax;
mod operand;
mod packed;
mod parts;
mod result;
mod scaled;
mod select;
mod settle;
mod single;
mod uniform;
pub(super) mod wide_add;

use super::lower::{Context, inline_float, operands};
use super::program::Pool;
use super::wave::Row;
pub(crate) use lanewise::INVERT;
pub use uniform::is_uniform;

use super::{Body, Code, Flow, Src, TEMPS, Wave, handler};
use vgpu_isa::Generation;
use vgpu_isa::{Elem, Fact, Format, Inst, Modifiers, Op, Operand, Signature, Type, scalar};

// NEW-OP: vector operations, in the table of their type: `integer`, `half`, `single`, `double`, `convert`,
// `compare`, `dot`….
/// Lowers a vector instruction.
pub(super) fn lower(
    inst: &Inst,
    number: u32,
    context: &Context,
    pool: &mut Pool,
    codes: &mut Vec<Code>,
) -> Option<()> {
    if matches!(inst.op, Op::VNop | Op::VPipeflush | Op::VClrexcp) {
        return Some(());
    }
    if inst.dual.is_some() {
        return dual(inst, number, context, pool, codes);
    }
    let signature = inst.op.signature();
    let mut code = resolve(inst, number, context, codes)?;
    if inst.op.is_compare_exec() && context.generation.is_cdna() {
        // Since gfx10, EXEC is the only destination.
        code.sdst = scalar::EXEC;
    }
    if let Some(dpp) = inst.dpp {
        return with_dpp(inst, dpp, code, context, pool, codes);
    }
    if let Some(sdwa) = inst.sdwa {
        code.mods.op_sel = 0;
        let mut plain = code;
        for i in 0..2 {
            if signature.src[i].exists() {
                codes.push(parts::extract(sdwa, i, &code, context));
                plain.src[i] = Src::Temp(2 * i as u8);
            }
        }
        let whole = sdwa.dst_sel == 6 || signature.dst.elem == Elem::Mask;
        let [before, after] = parts::around_sdwa(sdwa, &code, context);
        codes.extend((!whole).then_some(before));
        // The result is exactly what the operation returns, not merged with the old value.
        plain.run = choose(inst.op, &mut plain, context, true)?;
        arrange(&mut plain, signature, context, pool);
        codes.push(plain);
        codes.extend((!whole).then_some(after));
        return Some(());
    }
    // A source of more than 64 bits must be in registers.
    if (0..4).any(|i| {
        signature.src[i].dwords() > 2
            && signature.src[i].elem != Elem::Mask
            && !matches!(code.src[i], Src::Vector(_))
    }) {
        return None;
    }
    code.run = choose(inst.op, &mut code, context, false)?;
    arrange(&mut code, signature, context, pool);
    codes.push(code);
    Some(())
}

/// An instruction whose source 0 comes from other lanes.
fn with_dpp(
    inst: &Inst,
    dpp: vgpu_isa::Dpp,
    mut code: Code,
    context: &Context,
    pool: &mut Pool,
    codes: &mut Vec<Code>,
) -> Option<()> {
    if !parts::supported(dpp, context.generation) || !matches!(code.src[0], Src::Vector(_)) {
        return None;
    }
    if inst.op == Op::VMovB32
        && inst.mods == Modifiers::default()
        && let Some(run) = parts::move_row(dpp, context)
    {
        codes.push(Code { run, imm: parts::encode(dpp), ..code });
        return Some(());
    }
    let signature = inst.op.signature();
    let words = signature.src[0].dwords() as usize;
    if words > 2 {
        return None;
    }
    let [before, after] = parts::around_dpp(dpp, words, &code, context);
    codes.push(before);
    code.src[0] = Src::Temp(0);
    code.run = choose(inst.op, &mut code, context, false)?;
    arrange(&mut code, signature, context, pool);
    codes.push(code);
    // An instruction that writes EXEC gives disabled lanes zero, and that is correct for the lanes removed
    // from the narrowed EXEC.
    let exec = Operand::Sgpr(scalar::EXEC);
    if inst.dst != exec && inst.sdst != exec {
        codes.push(after);
    }
    Some(())
}

/// A VOPD pair. Both halves read before either writes: if the second reads what the first writes, it reads a
/// copy.
fn dual(inst: &Inst, number: u32, context: &Context, pool: &mut Pool, codes: &mut Vec<Code>) -> Option<()> {
    let (op, dst, [a, b, c]) = inst.dual?;
    let first = Inst { dual: None, format: Format::Vop2, ..*inst };
    let second = Inst { op, dst, src: [a, b, c, Operand::None], sdst: Operand::None, ..first };
    let mut one = resolve(&first, number, context, codes)?;
    let mut two = resolve(&second, number, context, codes)?;
    let mut copied = false;
    for i in 0..two.src.len() {
        if two.src[i] == Src::Vector(one.dst) {
            if !copied {
                let run = handler::<Copy>(context.lanes, context.level);
                codes.push(Code { run, src: [two.src[i]; 4], ..two });
                copied = true;
            }
            two.src[i] = Src::Temp(COPY as u8);
        }
    }
    for (code, op) in [(&mut one, first.op), (&mut two, second.op)] {
        code.run = choose(op, code, context, false)?;
        arrange(code, op.signature(), context, pool);
        codes.push(*code);
    }
    Some(())
}

/// The row that [`Copy`] writes; no broadcast source uses it.
const COPY: usize = TEMPS - 1;

/// Copies a register to a row.
struct Copy;

impl Body for Copy {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: operands were lowered for this wave.
        let value = unsafe { cross::read::<W>(wave, code.src[0]) };
        wave.temp[COPY][..W].copy_from_slice(&value);
        Flow::Next
    }
}

/// The code of an instruction with all operands resolved.
fn resolve(inst: &Inst, number: u32, context: &Context, codes: &mut Vec<Code>) -> Option<Code> {
    let mut code = operands(inst, number, context, codes)?;
    special_constants(inst, &mut code, context.generation);
    Some(code)
}

/// Inline constants whose format does not follow from the type of the source. Those of `v_fma_mix` have the
/// format in which the source is read. From gfx11 on, `v_pk_fmac_f16` and dot products have a 16-bit constant
/// in both halves. Constants of other VOP3P instructions, and of `v_dot2_f32_f16`, stay in the lower half.
fn special_constants(inst: &Inst, code: &mut Code, generation: Generation) {
    let mix = matches!(inst.op, Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16);
    let dot = matches!(
        inst.op,
        Op::VDot2F16F16 | Op::VDot2Bf16Bf16 | Op::VDot2F32Bf16 | Op::VDot2accF32F16 | Op::VDot2accF32Bf16
    );
    let both = (dot || inst.op == Op::VPkFmacF16) && generation >= Generation::Gfx11;
    let signature = inst.op.signature();
    for (i, operand) in inst.src.iter().enumerate() {
        let ty = signature.src[i];
        let twice = both && ty.count == 2;
        let bits = match *operand {
            Operand::Float(number) if twice => inline_float(number, ty),
            Operand::Float(number) if mix && inst.mods.op_sel_hi >> i & 1 != 0 => inline_float(number, HALF),
            // gfx11 uses the upper half of 32 bits there, for integers as well as floats.
            Operand::Int(value)
                if twice && inst.op == Op::VDot2F32Bf16 && generation == Generation::Gfx11 =>
            {
                Some(u64::from(value as u32 >> 16))
            }
            Operand::Int(value) if twice && dot => Some(u64::from(value as u16)),
            _ => None,
        };
        if let Some(bits) = bits {
            code.src[i] = Src::Const(if twice { bits << 16 | bits } else { bits });
        }
    }
}

/// The type of one f16.
const HALF: Type = Type { elem: Elem::F16, count: 1 };

/// The handler of an operation; sets what it expects in `Code::imm`. With `whole`, 16-bit results have zeros
/// above.
fn choose(op: Op, code: &mut Code, context: &Context, whole: bool) -> Option<super::Handler> {
    let signature = op.signature();
    let mods = &mut code.mods;
    if let Some((run, imm)) = uniform::handler(op, context) {
        code.imm = i64::from(imm);
        if op == Op::SCvtHiF32F16 {
            mods.op_sel = 1;
        }
        return Some(run);
    }
    if let Some(run) = cross::find(op, context) {
        return Some(run);
    }
    if let Some((run, imm)) = scaled::handler(op, context) {
        code.imm = imm;
        return Some(run);
    }
    if matches!(
        op,
        Op::VPkFmacF16
            | Op::VDot2accF32F16
            | Op::VDot2accF32Bf16
            | Op::VDot2cI32I16
            | Op::VDot2F16F16
            | Op::VDot2Bf16Bf16
    ) {
        // In these encodings, each half feeds its own result, and the signs apply to both.
        mods.op_sel_hi = 7;
        mods.neg_hi = mods.neg;
    }
    let signs = mods.neg | mods.neg_hi | mods.abs != 0;
    let pairs_modified = signs || mods.omod != 0 || mods.clamp;
    if let Some(run) = half::packed(op, context).or_else(|| single::packed(op, context, pairs_modified)) {
        return Some(run);
    }
    code.imm = i64::from(match op {
        _ if whole => WHOLE,
        Op::VFmaMixloF16 => LOW,
        Op::VFmaMixhiF16 => HIGH,
        Op::VCvtPkFp8F32
        | Op::VCvtPkBf8F32
        | Op::VCvtPkFp8F32Gfx950
        | Op::VCvtPkBf8F32Gfx950
        | Op::VAshrPkI8I32
        | Op::VAshrPkU8I32 => {
            if mods.op_sel & 8 != 0 {
                HIGH
            } else {
                LOW
            }
        }
        _ if signature.dst.is_half() && mods.op_sel & 8 != 0 => HIGH,
        _ if signature.dst.is_half() && keeps_high_half(op, context.generation) => LOW,
        _ => WHOLE,
    });
    if let Some(run) = dot::handler(op, context) {
        return Some(run);
    }
    if op.has(Fact::FLOAT8) {
        // In this encoding, negation of the high half means the absolute value.
        mods.abs = mods.neg_hi & 4;
    }
    if let Some(run) = eight::handler(op, context) {
        return Some(run);
    }
    if signature.dst.elem == Elem::Mask {
        // Output modifiers of comparisons only affect exceptions.
        mods.clamp = false;
        mods.omod = 0;
    }
    if matches!(op, Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16) {
        return convert::handler(op, context, true);
    }
    let modified = mods.neg | mods.abs | mods.omod | mods.op_sel & 7 != 0 || mods.clamp;
    if let Some((run, imm)) = compare::handler(op, context, modified) {
        code.imm = i64::from(imm);
        return Some(run);
    }
    integer::handler(op, context, modified)
        .or_else(|| single::handler(op, context, modified))
        .or_else(|| half::handler(op, context, modified))
        .or_else(|| convert::handler(op, context, modified))
        .or_else(|| double::handler(op, context, modified))
}

/// How a 16-bit result is written: with zeros above, to the low half, or to the high half.
const WHOLE: u8 = 0;
const LOW: u8 = 1;
const HIGH: u8 = 2;

/// Whether a 16-bit result leaves the other half of its register unchanged: always since gfx10; in gfx9 if
/// the operation was redefined there.
fn keeps_high_half(op: Op, generation: Generation) -> bool {
    !generation.is_cdna()
        || matches!(
            op,
            Op::VMadF16
                | Op::VMadakF16
                | Op::VMadmkF16
                | Op::VMacF16
                | Op::VFmamkF16
                | Op::VFmaakF16
                | Op::VFmacF16
                | Op::VFmaF16
                | Op::VMadU16
                | Op::VMadI16
                | Op::VDivFixupF16
                | Op::VBitop3B16
        )
}

/// Determines the rows of the sources.
fn arrange(code: &mut Code, signature: &Signature, context: &Context, pool: &mut Pool) {
    let lanes = context.lanes as u32;
    code.plain = true;
    for i in 0..code.rows.len() {
        if signature.src[i].elem == Elem::Mask {
            continue;
        }
        code.plain &= !signature.src[i].exists() || matches!(code.src[i], Src::Vector(_));
        code.rows[i] = match code.src[i] {
            Src::Vector(first) => Row { offset: first * 4, high: (lanes * 4) as u16, base: 0, stride: 64 },
            Src::Temp(row) => Row { offset: u32::from(row) * 256, high: 256, base: 1, stride: 64 },
            Src::Const(value) => pool.row(value),
            Src::Scalar(scalar::NULL) => pool.row(0),
            Src::Scalar(slot) => Row { offset: u32::from(slot) * 4, high: 4, base: Row::SCALAR, stride: 0 },
        };
    }
}
