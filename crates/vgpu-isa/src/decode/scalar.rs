//! SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.

use super::{B32, DecodeErrorKind, Decoder, Result, bit, bits, not_lds, signed, unused};
use crate::{Fact, Format, Generation, Inst, Op, Operand};

impl Decoder<'_> {
    pub(super) fn sop1(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Sop1, bits(word, 8, 8))?;
        let mut inst = self.start(Format::Sop1, row.op);
        let signature = row.op.signature();
        if signature.dst.exists() {
            inst.dst = self.scalar(bits(word, 16, 7), signature.dst)?;
        }
        if matches!(row.op, Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64) {
            inst.src[0] = Operand::Imm(bits(word, 0, 8) as i32);
        } else if signature.src[0].exists() {
            inst.src[0] = not_lds(self.source(bits(word, 0, 8), signature.src[0])?)?;
            let register = matches!(
                row.op,
                Op::SSetpcB64 | Op::SRfeB64 | Op::SCbranchJoin | Op::SMovrelsB32 | Op::SMovrelsB64
            );
            let barrier = matches!(
                row.op,
                Op::SBarrierSignal
                    | Op::SBarrierSignalIsfirst
                    | Op::SGetBarrierState
                    | Op::SBarrierInit
                    | Op::SBarrierJoin
            );
            let constant = matches!(inst.src[0], Operand::Int(_) | Operand::Float(_) | Operand::Literal(_));
            if register && constant || barrier && matches!(inst.src[0], Operand::Literal(_)) {
                return Err(DecodeErrorKind::BadOperand { code: bits(word, 0, 8) as u16 });
            }
        }
        Ok(inst)
    }

    pub(super) fn sop2(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Sop2, bits(word, 23, 7))?;
        let mut inst = self.start(Format::Sop2, row.op);
        let signature = row.op.signature();
        if signature.dst.exists() {
            inst.dst = self.scalar(bits(word, 16, 7), signature.dst)?;
        }
        let first = not_lds(self.source(bits(word, 0, 8), signature.src[0])?)?;
        let second = not_lds(self.source(bits(word, 8, 8), signature.src[1])?)?;
        inst.src = match row.op {
            Op::SFmaakF32 => [first, second, Operand::Literal(self.literal()?), Operand::None],
            Op::SFmamkF32 => [first, Operand::Literal(self.literal()?), second, Operand::None],
            Op::SFmacF32 | Op::SFmacF16 => [first, second, inst.dst, Operand::None],
            _ => [first, second, Operand::None, Operand::None],
        };
        Ok(inst)
    }

    pub(super) fn sopc(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Sopc, bits(word, 16, 7))?;
        let signature = row.op.signature();
        let mut inst = self.start(Format::Sopc, row.op);
        inst.src[0] = not_lds(self.source(bits(word, 0, 8), signature.src[0])?)?;
        inst.src[1] = if row.op == Op::SSetGprIdxOn {
            Operand::Imm(bits(word, 8, 8) as i32)
        } else {
            not_lds(self.source(bits(word, 8, 8), signature.src[1])?)?
        };
        Ok(inst)
    }

    pub(super) fn sopk(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Sopk, bits(word, 23, 5))?;
        let mut inst = self.start(Format::Sopk, row.op);
        let signature = row.op.signature();
        let immediate = match row.op {
            Op::SCmpkEqU32
            | Op::SCmpkLgU32
            | Op::SCmpkGtU32
            | Op::SCmpkGeU32
            | Op::SCmpkLtU32
            | Op::SCmpkLeU32
            | Op::SGetregB32
            | Op::SSetregB32
            | Op::SSetregImm32B32
            | Op::SWaitcntVscnt
            | Op::SWaitcntVmcnt
            | Op::SWaitcntExpcnt
            | Op::SWaitcntLgkmcnt
            | Op::SVersion => bits(word, 0, 16) as i32,
            _ => signed(word, 16),
        };
        if row.op == Op::SSetregImm32B32 {
            inst.src[0] = Operand::Literal(self.literal()?);
            inst.src[1] = Operand::Imm(immediate);
            return Ok(inst);
        }
        if row.op == Op::SVersion {
            inst.src[0] = Operand::Imm(immediate);
            return Ok(inst);
        }
        let of = if signature.dst.exists() { signature.dst } else { signature.src[0] };
        let register = self.scalar(bits(word, 16, 7), of)?;
        if signature.dst.exists() {
            inst.dst = register;
        }
        if signature.src[1].exists() {
            inst.src[0] = register;
            inst.src[1] = Operand::Imm(immediate);
        } else {
            inst.src[0] = Operand::Imm(immediate);
        }
        Ok(inst)
    }

    pub(super) fn sopp(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::Sopp, bits(word, 16, 7))?;
        let mut inst = self.start(Format::Sopp, row.op);
        if row.op.signature().src[0].exists() {
            let immediate =
                if row.op.has(Fact::BRANCH) { signed(word, 16) } else { bits(word, 0, 16) as i32 };
            inst.src[0] = Operand::Imm(immediate);
        }
        Ok(inst)
    }

    pub(super) fn smem(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let opcode = if self.generation == Generation::Gfx12 { bits(word, 13, 6) } else { bits(word, 18, 8) };
        let row = self.row(Format::Smem, opcode)?;
        let mut inst = self.start(Format::Smem, row.op);
        let signature = row.op.signature();

        let data = bits(word, 6, 7);
        let loads = signature.dst.exists() || signature.src[1].exists();
        let m0 = if self.generation >= Generation::Gfx11 { 125 } else { 124 };
        if loads && (data == m0 || data >= 126) {
            return Err(DecodeErrorKind::BadOperand { code: data as u16 });
        }
        let probe = matches!(row.op, Op::SAtcProbe | Op::SAtcProbeBuffer) || row.op.has(Fact::PREFETCH);
        if probe {
            // Not a register but a mask of what to probe, or a length.
            inst.src[1] = Operand::Imm(if self.generation == Generation::Gfx12 {
                bits(word, 6, 5) as i32
            } else {
                data as i32
            });
        } else if signature.src[1].exists() {
            inst.src[1] = self.scalar(data, signature.src[1])?;
        }
        if signature.dst.exists() {
            inst.dst = self.scalar(data, signature.dst)?;
        }
        if signature.src[2].exists() {
            inst.src[2] = self.scalar(bits(word, 0, 6) << 1, signature.src[2])?;
        }
        match self.generation {
            Generation::Gfx9 | Generation::Gfx940 => {
                if !signature.src[2].exists() {
                    unused(word, 17, 1)?;
                }
                inst.mem.glc = bit(word, 16);
                if row.op.is_atomic() {
                    inst.dst = if inst.mem.glc { inst.src[1] } else { Operand::None };
                }
                let (immediate, register) = (bit(word, 17), bit(word, 14));
                if immediate {
                    inst.mem.offset = signed(second, 21);
                }
                if signature.src[3].exists() {
                    if register {
                        inst.src[3] = self.scalar(bits(second, 25, 7), B32)?;
                        inst.mem.both_offsets = immediate;
                    } else if !immediate {
                        inst.src[3] = self.scalar(bits(second, 0, 7), B32)?;
                    }
                }
            }
            Generation::Gfx10 | Generation::Gfx11 => {
                let (glc, dlc) = if self.generation == Generation::Gfx10 { (16, 14) } else { (14, 13) };
                inst.mem.glc = bit(word, glc);
                inst.mem.dlc = bit(word, dlc);
                if self.generation == Generation::Gfx11 && !signature.dst.exists() {
                    unused(word, 13, 2)?;
                }
                inst.mem.offset = signed(second, 21);
                if signature.src[3].exists() {
                    inst.src[3] = self.optional_scalar(bits(second, 25, 7), B32)?;
                }
            }
            Generation::Gfx12 => {
                inst.mem.scope = bits(word, 21, 2) as u8;
                inst.mem.temporal = bits(word, 23, 2) as u8;
                inst.mem.offset = signed(second, 24);
                inst.mem.non_volatile = bit(word, 20);
                inst.mem.scale_offset = bit(second, 24);
                if probe {
                    unused(word, 11, 2)?;
                }
                if inst.mem.offset < 0 && signature.src[2].dwords() == 4 {
                    return Err(DecodeErrorKind::ReservedBits);
                }
                if signature.src[3].exists() {
                    inst.src[3] = self.optional_scalar(bits(second, 25, 7), B32)?;
                }
            }
        }
        Ok(inst)
    }
}
