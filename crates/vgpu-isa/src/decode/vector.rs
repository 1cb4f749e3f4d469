//! VOP1, VOP2, VOPC, VOP3, VOP3P and VOPD, with DPP and SDWA.

use super::{DecodeErrorKind, Decoder, Result, bit, bits, unused, vgpr, vgpr_or_agpr};
use crate::tables::{Form, Row};
use crate::{Dpp, Elem, Fact, Format, Generation, Inst, Modifiers, Op, Operand, Sdwa, Special, Type, scalar};

const VCC: Operand = Operand::Sgpr(scalar::VCC);
const EXEC: Operand = Operand::Sgpr(scalar::EXEC);

/// Source codes that mean that another word describes source 0.
const SDWA: u32 = 249;
const DPP16: u32 = 250;
const DPP8: u32 = 233;
const DPP8_FETCH_INACTIVE: u32 = 234;

/// The sources that `neg` and `abs` have an effect on.
fn float_sources(op: Op) -> u8 {
    use Elem::{B16, B32, Bf16, F16, F32, F64};
    let signature = op.signature();
    // The types of `v_mov_b32`, `v_cndmask_b32` and `v_fma_mix` do not show it.
    let untyped = signature.dst.elem != Elem::I32;
    let is_float = |of: &Type| match of.elem {
        F16 | Bf16 | F32 | F64 => true,
        B32 => untyped,
        B16 => op == Op::VCndmaskB16,
        _ => false,
    };
    (0..3).filter(|&index| is_float(&signature.src[index])).fold(0, |mask, index| mask | 1 << index)
}

/// Comparisons for which LLVM, from gfx11 on, also accepts modifiers on the mask of classes, an integer.
fn is_half_class(op: Op) -> bool {
    matches!(op, Op::VCmpClassF16 | Op::VCmpxClassF16)
}

/// SDWA's modifiers of a source: negation and absolute value of floats, sign extension of integers.
fn is_sdwa_float(op: Op, of: &Type) -> bool {
    matches!(of.elem, Elem::F16 | Elem::Bf16 | Elem::F32) || op == Op::VCndmaskB32
}

/// Bit of `op_sel` that belongs to the destination.
const DST_HIGH: u8 = 8;

/// The halves that an 8-bit register field of a true16 encoding names: bit 7 is the half.
fn half(generation: Generation, row: &Row, of: Type, code: u32) -> Result<(u32, bool)> {
    let byte_pair = matches!(row.op, Op::VCvtPkF32Fp8 | Op::VCvtPkF32Bf8) && of.dwords() == 1;
    match of.is_half() || byte_pair {
        true if row.true16 => Ok((code & 0x7f, bit(code, 7))),
        true if generation == Generation::Gfx12 && code > 127 => {
            Err(DecodeErrorKind::BadOperand { code: code as u16 })
        }
        _ => Ok((code, false)),
    }
}

impl Decoder<'_> {
    /// Source 0 of the short encodings, and the modifiers from the word that follows. Source 1 must be set
    /// before.
    fn first_source(&mut self, inst: &mut Inst, row: &Row, code: u32) -> Result<()> {
        let of = row.op.signature().src[0];
        let register = match code {
            SDWA if self.generation <= Generation::Gfx10 && !row.form.sdwa => {
                return Err(DecodeErrorKind::UnknownForm);
            }
            DPP16 | DPP8 | DPP8_FETCH_INACTIVE if !row.form.dpp => {
                return Err(DecodeErrorKind::UnknownForm);
            }
            SDWA if self.generation <= Generation::Gfx10 => return self.sdwa(inst, row),
            DPP16 => self.dpp16(inst, Some(row))?,
            DPP8 | DPP8_FETCH_INACTIVE if !self.generation.is_cdna() => self.dpp8(inst, code)?,
            256.. => code - 256,
            _ => {
                inst.src[0] = self.source(code, of)?;
                return Ok(());
            }
        };
        let (register, high) = half(self.generation, row, of, register)?;
        inst.src[0] = vgpr(register);
        inst.mods.op_sel |= u8::from(high);
        Ok(())
    }

    /// The word after a DPP16 instruction; returns the register of source 0. It has the modifiers of the
    /// short encodings, which have no fields for them.
    fn dpp16(&mut self, inst: &mut Inst, short: Option<&Row>) -> Result<u32> {
        let word = self.word()?;
        inst.dpp = Some(Dpp::Row {
            ctrl: bits(word, 8, 9) as u16,
            row_mask: bits(word, 28, 4) as u8,
            bank_mask: bits(word, 24, 4) as u8,
            bound_ctrl: bit(word, 19),
            fetch_inactive: bit(word, 18),
        });
        if let Some(row) = short {
            let neg = u8::from(bit(word, 20)) | u8::from(bit(word, 22)) << 1;
            let abs = u8::from(bit(word, 21)) | u8::from(bit(word, 23)) << 1;
            absent((neg | abs) & !row.form.sources)?;
            let effective = if is_half_class(inst.op) { row.form.sources } else { float_sources(inst.op) };
            inst.mods.neg = neg & effective;
            inst.mods.abs = abs & effective;
        }
        Ok(bits(word, 0, 8))
    }

    /// The word after a DPP8 instruction; returns the register of source 0.
    fn dpp8(&mut self, inst: &mut Inst, code: u32) -> Result<u32> {
        let word = self.word()?;
        inst.dpp =
            Some(Dpp::Eight { selectors: bits(word, 8, 24), fetch_inactive: code == DPP8_FETCH_INACTIVE });
        Ok(bits(word, 0, 8))
    }

    /// The word after an SDWA instruction: source 0, and for VOPC the destination.
    fn sdwa(&mut self, inst: &mut Inst, row: &Row) -> Result<()> {
        let word = self.word()?;
        let signature = row.op.signature();
        let first = bits(word, 0, 8);
        inst.src[0] = if bit(word, 23) { self.inline_source(first, signature.src[0])? } else { vgpr(first) };
        if let Operand::Vgpr(code) = inst.src[1]
            && bit(word, 31)
        {
            inst.src[1] = self.inline_source(code.into(), signature.src[1])?;
        }
        let (mut dst_sel, mut dst_unused) = (bits(word, 8, 3) as u8, bits(word, 11, 2) as u8);
        if inst.format == Format::Vopc {
            (dst_sel, dst_unused) = (6, 0);
            if bit(word, 15) {
                if inst.dst == EXEC {
                    return Err(DecodeErrorKind::ReservedBits);
                }
                inst.dst = self.scalar(bits(word, 8, 7), signature.dst)?;
            }
        } else {
            inst.mods.clamp = bit(word, 13);
            inst.mods.omod = bits(word, 14, 2) as u8;
            absent(if row.form.omod { 0 } else { inst.mods.omod })?;
        }
        let selectors = [u32::from(dst_sel), bits(word, 16, 3), bits(word, 24, 3)];
        if selectors.contains(&7) || dst_unused == 3 {
            return Err(DecodeErrorKind::ReservedBits);
        }
        if inst.format == Format::Vop1 {
            unused(word, 24, 6)?;
            unused(word, 31, 1)?;
        }
        // LLVM sets these meaningless bits for the packed accumulation.
        let packed = inst.op == Op::VPkFmacF16;
        inst.mods.neg = u8::from(bit(word, 20)) | u8::from(bit(word, 28)) << 1;
        inst.mods.abs = u8::from(bit(word, 21)) | u8::from(bit(word, 29)) << 1;
        let extended = u8::from(bit(word, 19)) | u8::from(bit(word, 27)) << 1;
        for (index, of) in signature.src[..2].iter().enumerate() {
            let float = is_sdwa_float(inst.op, of);
            absent((if float || packed { extended } else { inst.mods.neg | inst.mods.abs }) >> index & 1)?;
        }
        if packed {
            (inst.mods.neg, inst.mods.abs) = (0, 0);
        }
        if inst.op.is_byte_conversion() && dst_sel != 6 {
            return Err(DecodeErrorKind::ReservedBits);
        }
        inst.sdwa = Some(Sdwa {
            dst_sel,
            dst_unused,
            src_sel: [bits(word, 16, 3) as u8, bits(word, 24, 3) as u8],
            src_sext: [bit(word, 19), bit(word, 27)],
        });
        Ok(())
    }

    pub(super) fn vop1(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Vop1, bits(word, 9, 8))?;
        let mut inst = self.start(Format::Vop1, row.op);
        let signature = row.op.signature();
        // Hardware ignores the fields of missing operands.
        if row.op.has(Fact::SCALAR_RESULT) {
            inst.dst = self.lane_result(row.op, bits(word, 17, 8), signature.dst)?;
        } else if signature.dst.exists() {
            let (register, high) = half(self.generation, row, signature.dst, bits(word, 17, 8))?;
            let acc = row.op == Op::VAccvgprMovB32;
            inst.dst = vgpr_or_agpr(register, acc);
            inst.mods.op_sel |= if high { DST_HIGH } else { 0 };
        }
        if signature.src[0].exists() {
            self.first_source(&mut inst, row, bits(word, 0, 9))?;
            if let (Op::VAccvgprMovB32, Operand::Vgpr(register)) = (row.op, inst.src[0]) {
                inst.src[0] = Operand::Agpr(register);
            }
        } else {
            // Instructions without operands, such as `v_nop`, can also have the word that describes source 0.
            match bits(word, 0, 9) {
                SDWA if self.generation <= Generation::Gfx10 => {
                    self.word()?;
                }
                DPP16 => {
                    self.dpp16(&mut inst, None)?;
                }
                code @ (DPP8 | DPP8_FETCH_INACTIVE) if !self.generation.is_cdna() => {
                    self.dpp8(&mut inst, code)?;
                }
                _ => {}
            }
        }
        check_kinds(&inst, self.generation)?;
        Ok(inst)
    }

    pub(super) fn vop2(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Vop2, bits(word, 25, 6))?;
        let mut inst = self.start(Format::Vop2, row.op);
        if row.op == Op::VIllegal {
            return Err(DecodeErrorKind::ReservedBits);
        }
        let signature = row.op.signature();
        let (dst, dst_high) = half(self.generation, row, signature.dst, bits(word, 17, 8))?;
        let (second, second_high) = half(self.generation, row, signature.src[1], bits(word, 9, 8))?;
        inst.dst = vgpr(dst);
        inst.mods.op_sel = if dst_high { DST_HIGH } else { 0 };
        match row.op {
            Op::VFmamkF16 | Op::VFmamkF32 | Op::VMadmkF16 | Op::VMadmkF32 => {
                self.first_source(&mut inst, row, bits(word, 0, 9))?;
                inst.src[1] = Operand::Literal(self.literal()?);
                inst.src[2] = vgpr(second);
                inst.mods.op_sel |= u8::from(second_high) << 2;
            }
            Op::VFmaakF16 | Op::VFmaakF32 | Op::VMadakF16 | Op::VMadakF32 => {
                self.first_source(&mut inst, row, bits(word, 0, 9))?;
                inst.src[1] = vgpr(second);
                inst.src[2] = Operand::Literal(self.literal()?);
                inst.mods.op_sel |= u8::from(second_high) << 1;
            }
            _ => {
                inst.src[1] = vgpr(second);
                inst.mods.op_sel |= u8::from(second_high) << 1;
                self.first_source(&mut inst, row, bits(word, 0, 9))?;
                if row.op.has(Fact::ACCUMULATES) {
                    inst.src[2] = inst.dst;
                    inst.mods.op_sel |= u8::from(dst_high) << 2;
                } else if signature.src[2].exists() {
                    inst.src[2] = VCC;
                }
                if signature.sdst.exists() {
                    inst.sdst = VCC;
                }
            }
        }
        Ok(inst)
    }

    pub(super) fn vopc(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Vopc, bits(word, 17, 8))?;
        let mut inst = self.start(Format::Vopc, row.op);
        let (second, high) = half(self.generation, row, row.op.signature().src[1], bits(word, 9, 8))?;
        inst.dst = if row.op.is_compare_exec() && !self.generation.is_cdna() { EXEC } else { VCC };
        inst.src[1] = vgpr(second);
        inst.mods.op_sel = u8::from(high) << 1;
        self.first_source(&mut inst, row, bits(word, 0, 9))?;
        Ok(inst)
    }

    pub(super) fn vop3(&mut self, word: u32) -> Result<Inst> {
        let opcode = bits(word, 16, 10);
        if self.table.row(Format::Vop3, opcode).is_none() && opcode > 0x1ff {
            return self.interpolate_long(word, opcode);
        }
        let second = self.word()?;
        let row = self.row(Format::Vop3, bits(word, 16, 10))?;
        let signature = row.op.signature();
        let scalar_result = signature.sdst.exists();
        let format = if scalar_result { Format::Vop3Sd } else { Format::Vop3 };
        let mut inst = self.start(format, row.op);
        inst.mods.clamp = bit(word, 15);
        inst.mods.omod = bits(second, 27, 2) as u8;
        inst.mods.neg = bits(second, 29, 3) as u8;
        if scalar_result {
            inst.sdst = self.scalar(bits(word, 8, 7), signature.sdst)?;
        } else {
            inst.mods.abs = bits(word, 8, 3) as u8;
            inst.mods.op_sel = if row.form.op_sel.is_some() { bits(word, 11, 4) as u8 } else { 0 };
        }
        let dpp = self.generation >= Generation::Gfx11
            && matches!(bits(second, 0, 9), DPP16 | DPP8 | DPP8_FETCH_INACTIVE);
        if row.op.has(Fact::TRUTH_TABLE) {
            let Modifiers { neg, abs, omod, .. } = inst.mods;
            inst.mods =
                Modifiers { truth_table: neg | abs << 3 | omod << 6, neg: 0, abs: 0, omod: 0, ..inst.mods };
        }
        long_modifiers(&mut inst.mods, row, self.generation, dpp)?;
        if row.op == Op::VCvtPkBf16F32 {
            // It has the bits, but they select nothing.
            inst.mods.op_sel = 0;
        }
        let dst = bits(word, 0, 8);
        if row.op.has(Fact::COMPARE) {
            let to_exec = row.op.is_compare_exec() && !self.generation.is_cdna();
            inst.dst = if to_exec { EXEC } else { self.scalar_result(dst, signature.dst)? };
        } else if row.op.has(Fact::SCALAR_RESULT) {
            inst.dst = self.lane_result(row.op, dst, signature.dst)?;
        } else if signature.dst.exists() {
            inst.dst = vgpr(dst);
        }
        self.three_sources(&mut inst, row, second)?;
        check_kinds(&inst, self.generation)?;
        if row.op.has(Fact::ACCUMULATES) {
            inst.src[2] = inst.dst;
            if row.true16 {
                // The accumulator is the half that is written, so it has no bit of its own.
                inst.mods.op_sel = inst.mods.op_sel & !4 | (inst.mods.op_sel & DST_HIGH) >> 1;
            }
        }
        if matches!(row.op, Op::VDivFmasF32 | Op::VDivFmasF64) {
            inst.src[3] = VCC;
        }
        Ok(inst)
    }

    /// The scalar destination of a vector instruction, if it is not a lane mask. A lane's value cannot go to
    /// M0, nor gfx12's scalar results to EXEC.
    fn lane_result(&mut self, op: Op, code: u32, of: Type) -> Result<Operand> {
        let result = self.scalar_result(code, of)?;
        let bad = match op {
            Op::VReadlaneB32 | Op::VReadfirstlaneB32 => result == Operand::Sgpr(scalar::M0),
            _ => matches!(code, 126 | 127),
        };
        if bad { Err(DecodeErrorKind::BadOperand { code: code as u16 }) } else { Ok(result) }
    }

    /// The sources of the long encodings, at most three. A DPP word may describe the first (gfx11 and later).
    fn three_sources(&mut self, inst: &mut Inst, row: &Row, word: u32) -> Result<()> {
        let signature = row.op.signature_of(self.generation, self.wave64);
        // The DPP word comes before a literal.
        if self.generation >= Generation::Gfx11 && signature.src[0].exists() {
            match bits(word, 0, 9) {
                DPP16 | DPP8 | DPP8_FETCH_INACTIVE if !row.form.dpp => {
                    return Err(DecodeErrorKind::UnknownForm);
                }
                DPP16 => inst.src[0] = vgpr(self.dpp16(inst, None)?),
                code @ (DPP8 | DPP8_FETCH_INACTIVE) => inst.src[0] = vgpr(self.dpp8(inst, code)?),
                _ => {}
            }
        }
        for index in 0..3 {
            let tied = index == 2 && row.op.has(Fact::ACCUMULATES);
            if !signature.src[index].exists() || tied || (index == 0 && inst.dpp.is_some()) {
                continue;
            }
            let code = bits(word, 9 * index as u32, 9);
            inst.src[index] = match self.generation.is_cdna() {
                true => self.inline_source(code, signature.src[index])?,
                false => self.source(code, signature.src[index])?,
            };
        }
        Ok(())
    }

    pub(super) fn vop3p(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let row = self.row(Format::Vop3p, bits(word, 16, 7))?;
        if row.op == Op::VMfmaLdScaleB32 {
            let position = self.position;
            if let Ok(inst) = self.scaled(word, second) {
                return Ok(inst);
            }
            self.position = position;
        }
        self.packed(row, word, second)
    }

    /// A matrix instruction that follows the load of its scales. The words are those of the load.
    fn scaled(&mut self, scales: u32, sources: u32) -> Result<Inst> {
        let (word, second) = (self.word()?, self.word()?);
        if bits(word, 23, 9) != bits(scales, 23, 9) || bits(word, 11, 4) != 1 {
            return Err(DecodeErrorKind::UnknownForm);
        }
        let row = self.row(Format::Vop3p, AFTER_SCALES + bits(word, 16, 7))?;
        let mut inst = self.packed(row, word & !(0xf << 11), second)?;
        let scale = |low| match self.generation.is_cdna() && bits(sources, low, 9) >= 256 {
            true => Ok(vgpr(bits(sources, low, 8))),
            false => Err(DecodeErrorKind::BadOperand { code: bits(sources, low, 9) as u16 }),
        };
        inst.dual = Some((Op::VMfmaLdScaleB32, Operand::None, [scale(0)?, scale(9)?, Operand::None]));
        inst.mods.op_sel = bits(scales, 11, 2) as u8;
        inst.mods.op_sel_hi = bits(sources, 27, 2) as u8;
        Ok(inst)
    }

    fn packed(&mut self, row: &'static Row, word: u32, second: u32) -> Result<Inst> {
        let mut inst = self.start(Format::Vop3p, row.op);
        if row.op.signature().dst.exists() {
            inst.dst = vgpr(bits(word, 0, 8));
        }
        self.three_sources(&mut inst, row, second)?;
        let accumulators = matches!(row.op, Op::VAccvgprReadB32 | Op::VAccvgprWriteB32);
        check_kinds(&inst, self.generation)?;
        if accumulators {
            unused(word, 8, 6)?;
            unused(second, 29, 3)?;
        }
        if row.op.has(Fact::MFMA) && row.op.has(Fact::SPARSE) {
            unused(second, 29, 3)?;
        }
        if row.op.has(Fact::FORMATS) {
            unused(word, 11, 4)?;
        }
        if accumulators || row.op.has(Fact::MFMA) {
            return Ok(accumulation(inst, word, second));
        }
        inst.mods = Modifiers {
            neg: bits(second, 29, 3) as u8,
            neg_hi: bits(word, 8, 3) as u8,
            op_sel: bits(word, 11, 3) as u8,
            op_sel_hi: (bits(second, 27, 2) | bits(word, 14, 1) << 2) as u8,
            clamp: bit(word, 15),
            ..Modifiers::default()
        };
        let mut form = row.form;
        if self.wave64 && row.op.is_sparse_wmma() && row.op != Op::VSwmmacI32_16x16x32Iu4 {
            // Each lane has half as many indices, so the register has twice as many sets.
            form.op_sel = form.op_sel.map(|bits| bits << 1 | 1);
        }
        packed_modifiers(&inst.mods, &form)?;
        if row.op == Op::VMfmaLdScaleB32 {
            unused(word, 0, 8)?;
            // A scale has no sign and no third half.
            let Modifiers { op_sel, op_sel_hi, .. } = inst.mods;
            inst.mods = Modifiers { op_sel, op_sel_hi: op_sel_hi & 3, ..Modifiers::default() };
        }
        if row.op.has(Fact::ACCUMULATES) {
            inst.src[2] = inst.dst;
        } else if row.op.signature().src[3].exists() {
            inst.src[3] = inst.dst;
        }
        Ok(inst)
    }

    pub(super) fn vopd(&mut self, word: u32) -> Result<Inst> {
        if self.wave64 {
            return Err(DecodeErrorKind::UnknownEncoding);
        }
        let second = self.word()?;
        let first_row = self.row(Format::Vopd, bits(word, 22, 4))?;
        let second_row = self.row(Format::Vopd, 0x20 + bits(word, 17, 5))?;
        let first_dst = bits(second, 24, 8);
        // The two halves write registers of different parity, so one bit is enough.
        let second_dst = bits(second, 17, 7) << 1 | (!first_dst & 1);
        let mut inst = self.start(Format::Vopd, first_row.op);
        inst.dst = vgpr(first_dst);
        let [a, b, c] = self.vopd_half(first_row.op, inst.dst, word)?;
        inst.src = [a, b, c, Operand::None];
        let dst = vgpr(second_dst);
        inst.dual = Some((second_row.op, dst, self.vopd_half(second_row.op, dst, second)?));
        Ok(inst)
    }

    fn vopd_half(&mut self, op: Op, dst: Operand, word: u32) -> Result<[Operand; 3]> {
        let signature = op.signature();
        let first = self.source(bits(word, 0, 9), signature.src[0])?;
        let second = vgpr(bits(word, 9, 8));
        Ok(match op {
            Op::VFmaakF32 => [first, second, Operand::Literal(self.literal()?)],
            Op::VFmamkF32 => [first, Operand::Literal(self.literal()?), second],
            _ if op.has(Fact::ACCUMULATES) => [first, second, dst],
            _ if signature.src[2].exists() => [first, second, VCC],
            _ if signature.src[1].exists() => [first, second, Operand::None],
            _ => [first, Operand::None, Operand::None],
        })
    }
}

/// The place in the tables of matrix instructions that follow the load of their scales.
const AFTER_SCALES: u32 = 0x80;

/// What a source may be, if it may not be everything that the field can name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A vector register.
    Vector,
    /// A vector register, or LDS that is read directly.
    VectorOrLds,
    /// A vector register or an inline constant.
    VectorOrConstant,
    /// A scalar register or a constant.
    Scalar,
    /// A scalar register, a constant, or LDS that is read directly.
    ScalarOrLds,
    /// A lane mask.
    Mask,
}

/// The kind of a source, if it is restricted.
fn kind(op: Op, index: usize, dpp: bool, generation: Generation) -> Option<Kind> {
    let is_matrix = op.has(Fact::MFMA) || op.has(Fact::WMMA);
    Some(match (op, index) {
        (Op::VReadfirstlaneB32 | Op::VReadlaneB32, 0) => Kind::VectorOrLds,
        (Op::VReadlaneB32, 1) => Kind::Scalar,
        (_, 0) if op.has(Fact::PSEUDO_SCALAR) => Kind::Scalar,
        (Op::VWritelaneB32, 0) if !generation.is_cdna() => Kind::ScalarOrLds,
        (Op::VWritelaneB32, 0 | 1) => Kind::Scalar,
        (Op::VPermlane16B32 | Op::VPermlanex16B32, 1 | 2) => Kind::Scalar,
        (
            Op::VSwapB32
            | Op::VSwapB16
            | Op::VSwaprelB32
            | Op::VMovrelsB32
            | Op::VMovrelsdB32
            | Op::VMovrelsd2B32
            | Op::VAccvgprMovB32
            | Op::VAccvgprReadB32
            | Op::VPermlane16B32
            | Op::VPermlanex16B32
            | Op::VPermlane16VarB32
            | Op::VPermlanex16VarB32
            | Op::VPermlane64B32
            | Op::VPermlane16SwapB32
            | Op::VPermlane32SwapB32,
            0,
        )
        | (Op::VPermlane16VarB32 | Op::VPermlanex16VarB32, 1) => Kind::Vector,
        (Op::VCvtScalef32SrPkFp4F32, 0) => Kind::Vector,
        (Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16, 1) if dpp => Kind::Vector,
        (_, 1 | 2) if dpp && op.has(Fact::FLOAT8) => Kind::Vector,
        _ if op.has(Fact::SPARSE) || is_matrix && index < 2 => Kind::Vector,
        _ if is_matrix => Kind::VectorOrConstant,
        _ if op.signature().src[index].dwords() > 2 => Kind::Vector,
        _ if op.signature().src[index].elem == Elem::Mask => Kind::Mask,
        _ => return None,
    })
}

/// Sources that the field can name but the instruction cannot have. LLVM prints them with a remark that they
/// are invalid. It accepts special values, which it treats as constants.
fn check_kinds(inst: &Inst, generation: Generation) -> Result<()> {
    if inst.sdwa.is_some() {
        return Ok(());
    }
    for (index, &source) in inst.src[..3].iter().enumerate() {
        let Some(kind) = kind(inst.op, index, inst.dpp.is_some(), generation) else { continue };
        let valid = match source {
            Operand::None | Operand::Imm(_) | Operand::Sgpr(scalar::NULL) => true,
            Operand::Special(Special::LdsDirect) => {
                matches!(kind, Kind::VectorOrLds | Kind::ScalarOrLds | Kind::Mask)
            }
            Operand::Special(_) => true,
            Operand::Vgpr(_) | Operand::Agpr(_) => !matches!(kind, Kind::Scalar | Kind::ScalarOrLds),
            Operand::Sgpr(_) => matches!(kind, Kind::Scalar | Kind::ScalarOrLds | Kind::Mask),
            Operand::Int(_) | Operand::Float(_) => {
                matches!(kind, Kind::Scalar | Kind::ScalarOrLds | Kind::VectorOrConstant)
            }
            Operand::Literal(_) => matches!(kind, Kind::Scalar | Kind::ScalarOrLds | Kind::VectorOrConstant),
        };
        if !valid {
            return Err(DecodeErrorKind::BadOperand { code: index as u16 });
        }
    }
    Ok(())
}

/// Modifier bits that an instruction lacks are zero.
fn absent(mods: u8) -> Result<()> {
    if mods == 0 { Ok(()) } else { Err(DecodeErrorKind::ReservedBits) }
}

/// Checks the modifiers of VOP3, and keeps those that have an effect.
fn long_modifiers(mods: &mut Modifiers, row: &Row, generation: Generation, dpp: bool) -> Result<()> {
    let form = &row.form;
    let floats = float_sources(row.op);
    let mut sources = form.sources;
    let used = form.op_sel.unwrap_or(0);
    if mods.op_sel & !used != 0 && !(dpp && form.dpp_any_op_sel) {
        if !form.optional_halves && (!row.true16 || form.halves_only) {
            return Err(DecodeErrorKind::ReservedBits);
        }
        // LLVM then decodes the form that names whole registers. On gfx11 that form has modifiers if a source
        // is a float.
        mods.whole = true;
        mods.op_sel &= used;
        sources = if floats == 0 && !form.optional_halves { 0 } else { sources };
    }
    let effective = match row.op {
        op if generation >= Generation::Gfx11 && is_half_class(op) => sources,
        // gfx12 uses these bits to select bytes of a half.
        Op::VCvtPkF32Fp8 | Op::VCvtPkF32Bf8 if generation == Generation::Gfx12 => 0,
        _ => floats,
    };
    absent((mods.neg | mods.abs) & !sources)?;
    absent(if form.omod { 0 } else { mods.omod })?;
    absent(u8::from(mods.clamp && !form.clamp))?;
    mods.neg &= effective;
    mods.abs &= effective;
    Ok(())
}

/// Checks the modifiers of VOP3P.
fn packed_modifiers(mods: &Modifiers, form: &Form) -> Result<()> {
    absent((mods.neg | mods.neg_hi) & !form.sources)?;
    absent(if form.low_only { mods.neg_hi } else { 0 })?;
    absent(u8::from(mods.clamp && !form.clamp))?;
    absent(mods.op_sel & !form.op_sel.unwrap_or(7))?;
    absent(u8::from(form.high && mods.op_sel_hi != 7))
}

/// The fields of matrix instructions of gfx9 that differ from other VOP3P instructions.
fn accumulation(mut inst: Inst, word: u32, second: u32) -> Inst {
    let to_agpr = |operand: Operand, acc: bool| match operand {
        Operand::Vgpr(register) if acc => Operand::Agpr(register),
        other => other,
    };
    match inst.op {
        Op::VAccvgprReadB32 => inst.src[0] = to_agpr(inst.src[0], true),
        Op::VAccvgprWriteB32 => inst.dst = to_agpr(inst.dst, true),
        _ => {
            let result = bit(word, 15);
            inst.dst = to_agpr(inst.dst, result);
            inst.src[0] = to_agpr(inst.src[0], bit(second, 27));
            inst.src[1] = to_agpr(inst.src[1], bit(second, 28));
            inst.mods.cbsz = bits(word, 8, 3) as u8;
            inst.mods.abid = bits(word, 11, 4) as u8;
            if inst.op.has(Fact::SPARSE) {
                inst.src[3] = inst.dst;
            } else {
                inst.src[2] = to_agpr(inst.src[2], result);
                inst.mods.blgp = bits(second, 29, 3) as u8;
            }
        }
    }
    inst
}
