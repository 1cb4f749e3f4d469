//! VOP1, VOP2, VOPC, VOP3, VOP3P and VOPD.

use std::fmt;

use super::{B32, F16, F64, Printer};
use crate::tables::Table;
use crate::{Dpp, Elem, Fact, Format, Generation, Op, Operand, Sdwa, Type};

impl Printer<'_, '_> {
    /// The mnemonic with the suffix of its encoding.
    fn vector_name(&mut self) -> fmt::Result {
        let (inst, name) = (self.inst, self.row.name);
        let long = matches!(inst.format, Format::Vop3 | Format::Vop3Sd | Format::Vop3p);
        let further = match (inst.dpp, inst.sdwa) {
            (_, Some(_)) => "_sdwa",
            (Some(_), _) if inst.format == Format::Vopc => "",
            (Some(_), _) => "_dpp",
            // Instructions without operands have the same spelling in both.
            _ if !inst.op.signature().has_operands() || !Table::of(self.isa).is_short_and_long(inst.op) => {
                return self.f.write_str(name);
            }
            _ => return write!(self.f, "{name}{}", if long { "_e64" } else { "_e32" }),
        };
        write!(self.f, "{name}{}{further}", if long { "_e64" } else { "" })
    }

    /// VOP1, VOP2, VOPC and VOP3.
    pub(super) fn vector(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature());
        self.vector_name()?;
        let hidden_dst = inst.op.is_compare_exec() && !self.generation.is_cdna();
        if inst.dst != Operand::None && !hidden_dst {
            self.operand(inst.dst, signature.dst)?;
            self.half(inst.dst, signature.dst, inst.mods.op_sel & 8 != 0)?;
        }
        if inst.sdst != Operand::None {
            self.operand(inst.sdst, signature.sdst)?;
        }
        let mut count = 0;
        for index in 0..3 {
            let tied = index == 2 && inst.op.has(Fact::ACCUMULATES);
            if inst.src[index] == Operand::None || tied || (index == 2 && self.has_mask_inside()) {
                continue;
            }
            count = index + 1;
            self.separate()?;
            self.source(index)?;
        }
        if inst.op.has(Fact::TRUTH_TABLE) {
            self.truth_table()?;
        }
        if inst.format == Format::Vop3 {
            self.op_sel(count, hidden_dst)?;
        }
        self.flag(inst.mods.clamp, " clamp")?;
        self.f.write_str(["", " mul:2", " mul:4", " div:2"][usize::from(inst.mods.omod)])?;
        if let Some(sdwa) = inst.sdwa {
            self.sdwa(&sdwa)?;
        }
        self.dpp()
    }

    /// Whether LLVM prints the mask of `v_cndmask_b32` before the closing bar of source 1: `|v12, vcc_lo|`.
    fn has_mask_inside(&self) -> bool {
        let inst = self.inst;
        self.generation == Generation::Gfx12
            && (inst.op, inst.format) == (Op::VCndmaskB32, Format::Vop2)
            && inst.dpp.is_some()
            && inst.mods.abs & 2 != 0
    }

    fn truth_table(&mut self) -> fmt::Result {
        match self.inst.mods.truth_table {
            0 => Ok(()),
            table @ 1..=10 => write!(self.f, " bitop3:{table}"),
            table => write!(self.f, " bitop3:{table:#x}"),
        }
    }

    /// `op_sel` of VOP3: one bit per source, and one for the destination.
    fn op_sel(&mut self, sources: usize, hidden_dst: bool) -> fmt::Result {
        let op = self.inst.op;
        let bits = self.inst.mods.op_sel;
        if op == Op::VCndmaskB16 || self.inst.mods.whole {
            return Ok(());
        }
        if self.generation == Generation::Gfx12 {
            let byte = match op {
                Op::VCvtF32Fp8 | Op::VCvtF32Bf8 => Some(bits >> 1 & 1 | bits << 1 & 2),
                Op::VCvtSrFp8F32 | Op::VCvtSrBf8F32 => Some(bits >> 2 & 3),
                _ => None,
            };
            match byte {
                Some(0) => return Ok(()),
                Some(byte) => return write!(self.f, " byte_sel:{byte}"),
                None => {}
            }
        }
        if matches!(
            op,
            Op::VPermlane16B32 | Op::VPermlanex16B32 | Op::VPermlane16VarB32 | Op::VPermlanex16VarB32
        ) {
            return if bits & 3 != 0 { self.bits("op_sel", bits, 2) } else { Ok(()) };
        }
        if matches!(op, Op::VPermlane16SwapB32 | Op::VPermlane32SwapB32) {
            self.flag(bits & 2 != 0, " bound_ctrl:1")?;
            return self.flag(bits & 1 != 0, " fi:1");
        }
        let (sources, bits) = match op {
            // The accumulator counts as a source, but its half is not encoded.
            _ if op.has(Fact::ACCUMULATES) => (3, bits & !4),
            // Packed sources use both halves.
            Op::VDot2F16F16 | Op::VDot2Bf16Bf16 => (3, bits & !3),
            Op::VCvtSrFp8F32
            | Op::VCvtSrBf8F32
            | Op::VCvtSrFp8F32Gfx950
            | Op::VCvtSrBf8F32Gfx950
            | Op::VCvtScalef32PkFp4F16
            | Op::VCvtScalef32PkFp4Bf16 => (3, bits),
            _ => (sources, bits),
        };
        let hidden_dst = hidden_dst || (op.has(Fact::COMPARE) && self.inst.dpp.is_some());
        let dst = if hidden_dst { 0 } else { bits >> 3 };
        let bits = bits & ((1 << sources) - 1) | dst << sources;
        if bits == 0 { Ok(()) } else { self.bits("op_sel", bits, sources + usize::from(!hidden_dst)) }
    }

    /// Whether a source is the 32-bit constant of `v_fmamk` and the like.
    fn is_long_constant(&self, index: usize) -> bool {
        is_long_constant(self.inst.op, index)
    }

    /// A source with its modifiers.
    fn source(&mut self, index: usize) -> fmt::Result {
        let inst = self.inst;
        let operand = inst.src[index];
        let mut of = inst.op.signature().src[index];
        // LLVM treats these operands as 32-bit ones.
        let integer = match inst.op {
            Op::VAlignbitB32 | Op::VAlignbyteB32 => self.generation <= Generation::Gfx10,
            Op::VCmpClassF16 | Op::VCmpxClassF16 => self.generation.is_cdna() || inst.format == Format::Vop3,
            Op::VLdexpF16 => inst.format == Format::Vop3 && matches!(inst.src[index], Operand::Float(_)),
            _ => false,
        };
        if integer
            && matches!(of.elem, Elem::U16 | Elem::I16)
            && (self.generation <= Generation::Gfx10 || matches!(operand, Operand::Float(_)))
        {
            of = B32;
        }
        // It treats these as halves.
        let half = match inst.op {
            Op::VCmpClassF16 | Op::VCmpxClassF16 => {
                self.generation >= Generation::Gfx11 && inst.format == Format::Vop3
            }
            Op::VCvtPkF32Fp8 | Op::VCvtPkF32Bf8 => self.generation == Generation::Gfx12,
            Op::VLdexpF16 => inst.format == Format::Vop3,
            _ => false,
        };
        if half && matches!(operand, Operand::Literal(_)) {
            of = F16;
        }
        let has = |set: u8| set >> index & 1 != 0;
        let sext = inst.sdwa.is_some_and(|sdwa| index < 2 && sdwa.src_sext[index]);
        self.flag(sext, "sext(")?;
        if self.is_long_constant(index)
            && let Operand::Literal(value) = operand
        {
            return write!(self.f, "{value:#x}");
        }
        self.modified(operand, of, has(inst.mods.neg), has(inst.mods.abs), |this| {
            this.half(operand, of, has(inst.mods.op_sel))?;
            if index == 1 && this.has_mask_inside() {
                this.operand(inst.src[2], inst.op.signature().src[2])?;
            }
            Ok(())
        })?;
        self.flag(sext, ")")
    }

    /// An operand with `-` and `|…|`.
    fn modified(
        &mut self,
        operand: Operand,
        of: Type,
        neg: bool,
        abs: bool,
        suffix: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        let constant =
            matches!(operand, Operand::Int(_) | Operand::Float(_) | Operand::Literal(_) | Operand::Imm(_));
        let function = neg && !abs && constant;
        self.flag(function, "neg(")?;
        self.flag(neg && !function, "-")?;
        self.flag(abs, "|")?;
        self.value(operand, of)?;
        suffix(self)?;
        self.flag(abs, "|")?;
        self.flag(function, ")")
    }

    fn sdwa(&mut self, sdwa: &Sdwa) -> fmt::Result {
        const SELECT: [&str; 8] =
            ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "INVALID"];
        let whole = self.inst.op.is_byte_conversion();
        if self.inst.format != Format::Vopc && !whole {
            let unused =
                ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "INVALID"][usize::from(sdwa.dst_unused)];
            write!(self.f, " dst_sel:{} dst_unused:{unused}", SELECT[usize::from(sdwa.dst_sel)])?;
        }
        write!(self.f, " src0_sel:{}", SELECT[usize::from(sdwa.src_sel[0])])?;
        if self.inst.format != Format::Vop1 {
            write!(self.f, " src1_sel:{}", SELECT[usize::from(sdwa.src_sel[1])])?;
        }
        Ok(())
    }

    fn dpp(&mut self) -> fmt::Result {
        match self.inst.dpp {
            None => Ok(()),
            Some(Dpp::Eight { selectors, fetch_inactive }) => {
                self.f.write_str(" dpp8:[")?;
                for lane in 0..8 {
                    let comma = if lane == 0 { "" } else { "," };
                    write!(self.f, "{comma}{}", selectors >> (3 * lane) & 7)?;
                }
                self.f.write_str("]")?;
                self.flag(fetch_inactive, " fi:1")
            }
            Some(Dpp::Row { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive }) => {
                let low = ctrl & 15;
                let modern = !self.generation.is_cdna();
                let signature = self.inst.op.signature();
                let double = self.generation.is_cdna()
                    && [signature.dst, signature.src[0]]
                        .iter()
                        .any(|of| of.bits() == 64 && of.elem != Elem::Mask);
                match ctrl {
                    0x150..=0x15f if self.generation.is_cdna() => write!(self.f, " row_newbcast:{low}")?,
                    _ if double => self.f.write_str(" /* DP ALU dpp only supports row_newbcast */")?,
                    0..=0xff => {
                        let lane = |index: u16| ctrl >> (2 * index) & 3;
                        write!(self.f, " quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))?;
                    }
                    0x101..=0x10f => write!(self.f, " row_shl:{low}")?,
                    0x111..=0x11f => write!(self.f, " row_shr:{low}")?,
                    0x121..=0x12f => write!(self.f, " row_ror:{low}")?,
                    0x130 if modern => self.unsupported_dpp("wave_shl")?,
                    0x134 if modern => self.unsupported_dpp("wave_rol")?,
                    0x138 if modern => self.unsupported_dpp("wave_shr")?,
                    0x13c if modern => self.unsupported_dpp("wave_ror")?,
                    0x142 | 0x143 if modern => self.unsupported_dpp("row_bcast")?,
                    0x130 => self.f.write_str(" wave_shl:1")?,
                    0x134 => self.f.write_str(" wave_rol:1")?,
                    0x138 => self.f.write_str(" wave_shr:1")?,
                    0x13c => self.f.write_str(" wave_ror:1")?,
                    0x140 => self.f.write_str(" row_mirror")?,
                    0x141 => self.f.write_str(" row_half_mirror")?,
                    0x142 => self.f.write_str(" row_bcast:15")?,
                    0x143 => self.f.write_str(" row_bcast:31")?,
                    0x150..=0x15f => write!(self.f, " row_share:{low}")?,
                    0x160..=0x16f if !modern => {
                        self.f.write_str(" /* row_xmask is not supported on ASICs earlier than GFX10 */")?;
                    }
                    0x160..=0x16f => write!(self.f, " row_xmask:{low}")?,
                    _ => self.f.write_str(" /* Invalid dpp_ctrl value */")?,
                }
                write!(self.f, " row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}")?;
                self.flag(bound_ctrl, " bound_ctrl:1")?;
                self.flag(fetch_inactive && modern, " fi:1")
            }
        }
    }

    fn unsupported_dpp(&mut self, name: &str) -> fmt::Result {
        write!(self.f, " /* {name} is not supported starting from GFX10 */")
    }

    pub(super) fn vop3p(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.signature_of(self.generation, self.wave == 64));
        self.vector_name()?;
        if signature.dst.exists() {
            self.operand(inst.dst, signature.dst)?;
        }
        let mix = matches!(inst.op, Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16);
        let mut count = 0;
        for index in 0..3 {
            if inst.src[index] == Operand::None || (index == 2 && inst.op.has(Fact::ACCUMULATES)) {
                continue;
            }
            count = index + 1;
            self.separate()?;
            let mut of = signature.src[index];
            // LLVM treats constants in place of an accumulator of eight registers as 64-bit floats, of four
            // as 32-bit ones. On gfx12 it treats constants of halves as one half.
            if index == 2 && inst.op.has(Fact::WMMA) && !matches!(inst.src[2], Operand::Vgpr(_)) {
                match self.generation {
                    Generation::Gfx11 => of = if self.wave == 32 { F64 } else { B32 },
                    Generation::Gfx12 if of.elem.bits() == 16 => of.count = 1,
                    _ => {}
                }
            }
            if mix { self.mix_source(index)? } else { self.value(inst.src[index], of)? }
        }
        if let Some((op, _, scales)) = inst.dual {
            for (&scale, of) in scales.iter().zip(op.signature().src).filter(|(_, of)| of.exists()) {
                self.operand(scale, of)?;
            }
            if inst.mods.op_sel != 0 {
                self.bits("op_sel", inst.mods.op_sel, 3)?;
            }
            self.bits("op_sel_hi", inst.mods.op_sel_hi, 3)?;
        }
        if inst.op.has(Fact::MFMA) {
            return self.matrix_modifiers();
        }
        if matches!(inst.op, Op::VAccvgprReadB32 | Op::VAccvgprWriteB32) {
            return Ok(());
        }
        let mods = inst.mods;
        let all = (1u8 << count) - 1;
        // Sources that can have 16 or 32 bits have 32 by default. Sources of bytes and nibbles have no
        // halves.
        let wide_matrix = inst.op.has(Fact::WMMA) && signature.dst.elem.bits() == 32;
        let bytes = inst.op.has(Fact::BYTES);
        let default_high = match (mix, bytes || wide_matrix) {
            (true, _) => 0,
            (_, true) => mods.op_sel_hi & all,
            _ => all,
        };
        if inst.op.is_sparse_wmma() {
            if mods.op_sel & 3 != 0 {
                write!(self.f, " index_key:{}", mods.op_sel & 3)?;
            }
        } else if mods.op_sel & all != 0 && !bytes {
            self.bits("op_sel", mods.op_sel, count)?;
        }
        if mods.op_sel_hi & all != default_high {
            self.bits("op_sel_hi", mods.op_sel_hi, count)?;
        }
        if mods.neg & all != 0 && !mix {
            self.bits("neg_lo", mods.neg, count)?;
        }
        if mods.neg_hi & all != 0 && !mix {
            self.bits("neg_hi", mods.neg_hi, count)?;
        }
        self.flag(mods.clamp, " clamp")?;
        self.dpp()
    }

    /// A source of `v_fma_mix`, which uses `neg_hi` as absolute value.
    fn mix_source(&mut self, index: usize) -> fmt::Result {
        let (neg, abs) = (self.inst.mods.neg >> index & 1 != 0, self.inst.mods.neg_hi >> index & 1 != 0);
        let of = match self.inst.src[index] {
            Operand::Literal(_) => F16,
            _ => B32,
        };
        self.modified(self.inst.src[index], of, neg, abs, |_| Ok(()))
    }

    fn matrix_modifiers(&mut self) -> fmt::Result {
        let mods = self.inst.mods;
        if mods.cbsz != 0 {
            write!(self.f, " cbsz:{}", mods.cbsz)?;
        }
        if mods.abid != 0 {
            write!(self.f, " abid:{}", mods.abid)?;
        }
        if mods.blgp != 0 {
            let f64_on_gfx942 =
                self.generation == Generation::Gfx940 && self.inst.op.signature().dst.elem == Elem::F64;
            if f64_on_gfx942 {
                return self.bits("neg", mods.blgp, 3);
            }
            write!(self.f, " blgp:{}", mods.blgp)?;
        }
        Ok(())
    }

    pub(super) fn vopd(&mut self) -> fmt::Result {
        let inst = self.inst;
        self.vopd_half(self.row.name, inst.op, inst.dst, &inst.src[..3], false)?;
        if let Some((op, dst, sources)) = inst.dual {
            self.f.write_str(" :: ")?;
            self.operands = 0;
            let name = Table::of(self.isa).find_second(op).map_or(op.name(), |row| row.name);
            // After a `v_dual_fmamk_f32`, LLVM reads the operands of a second one as registers.
            let unmarked = inst.op == Op::VFmamkF32 && matches!(op, Op::VFmamkF32 | Op::VFmaakF32);
            self.vopd_half(name, op, dst, &sources, unmarked)?;
        }
        Ok(())
    }

    /// One of the two instructions; `unmarked` if literals that could be inline constants are printed like
    /// them.
    fn vopd_half(
        &mut self,
        name: &str,
        op: Op,
        dst: Operand,
        sources: &[Operand],
        unmarked: bool,
    ) -> fmt::Result {
        let signature = op.signature();
        self.f.write_str(name)?;
        self.operand(dst, signature.dst)?;
        for (index, &source) in sources.iter().enumerate() {
            let hidden = index == 2 && (op.has(Fact::ACCUMULATES) || op == Op::VCndmaskB32);
            match source {
                Operand::None => {}
                Operand::Literal(value) if is_long_constant(op, index) => {
                    self.separate()?;
                    write!(self.f, "{value:#x}")?;
                }
                _ if hidden => {}
                Operand::Literal(value) if unmarked => {
                    self.separate()?;
                    self.constant(value)?;
                }
                _ => self.operand(source, signature.src[index])?,
            }
        }
        Ok(())
    }
}

/// Whether a source is the 32-bit constant of `v_fmamk` and the like.
pub(super) fn is_long_constant(op: Op, index: usize) -> bool {
    match op {
        Op::VFmamkF16 | Op::VFmamkF32 | Op::VMadmkF16 | Op::VMadmkF32 | Op::SFmamkF32 => index == 1,
        Op::VFmaakF16 | Op::VFmaakF32 | Op::VMadakF16 | Op::VMadakF32 | Op::SFmaakF32 => index == 2,
        _ => false,
    }
}
