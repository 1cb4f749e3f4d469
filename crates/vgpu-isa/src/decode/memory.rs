//! DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF and LDSDIR.

use super::{DecodeErrorKind, Decoder, Result, bit, bits, not_lds, signed, unused, vgpr, vgpr_or_agpr};
use crate::{Elem, Fact, Format, Generation, Inst, Op, Operand, Type};

/// The format code of typed buffers on gfx9 and gfx10 and later: 7 bits.
const FORMAT_BITS: u32 = 7;

impl Decoder<'_> {
    pub(super) fn ds(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let gfx9 = self.generation.is_cdna();
        let row = self.row(Format::Ds, bits(word, if gfx9 { 17 } else { 18 }, 8))?;
        let mut inst = self.start(Format::Ds, row.op);
        let signature = row.op.signature();
        let acc = gfx9 && bit(word, 25);
        inst.mem.offset = bits(word, 0, 16) as i32;
        inst.mem.gds = bit(word, if gfx9 { 16 } else { 17 });
        let mut address = bits(second, 0, 8);
        let mut data = bits(second, 8, 8);
        let ordered = matches!(row.op, Op::DsOrderedCount | Op::DsAddGsRegRtn | Op::DsSubGsRegRtn)
            || row.op.has(Fact::GWS);
        let local = self.generation == Generation::Gfx12
            || matches!(row.op, Op::DsPermuteB32 | Op::DsBpermuteB32 | Op::DsNop)
            || row.op.has(Fact::BVH_STACK);
        if row.op == Op::DsNop {
            unused(word, 0, if gfx9 { 17 } else { 16 })?;
            unused(word, if gfx9 { 25 } else { 17 }, 1)?;
        }
        if (ordered && !inst.mem.gds) || (local && inst.mem.gds) {
            return Err(DecodeErrorKind::ReservedBits);
        }
        if matches!(row.op, Op::DsGwsInit | Op::DsGwsSemaBr | Op::DsGwsBarrier) {
            // Their only operand, a value, is in the address field.
            (address, data) = (data, address);
        }
        // Hardware ignores the fields of missing operands. LLVM decodes no instruction if they are not zero.
        let field = |of: &Type, code: u32, acc: bool| match of.exists() {
            true => vgpr_or_agpr(code, acc),
            false => Operand::None,
        };
        inst.src[0] = field(&signature.src[0], address, false);
        inst.src[1] = field(&signature.src[1], data, acc);
        inst.src[3] = field(&signature.src[3], bits(second, 16, 8), acc);
        inst.dst = field(&signature.dst, bits(second, 24, 8), acc);
        Ok(inst)
    }

    /// FLAT, GLOBAL and SCRATCH up to gfx11.
    pub(super) fn flat(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let segment = bits(word, if self.generation == Generation::Gfx11 { 16 } else { 14 }, 2);
        let format = match segment {
            0 => Format::Flat,
            1 => Format::Scratch,
            2 => Format::Global,
            _ => return Err(super::DecodeErrorKind::UnknownEncoding),
        };
        let row = self.row(format, bits(word, 18, 7))?;
        let signature = row.op.signature();
        let mut inst = self.start(format, row.op);
        let mem = &mut inst.mem;
        let width = match self.generation {
            Generation::Gfx10 => 12,
            _ => 13,
        };
        let offset = bits(word, 0, width);
        if format == Format::Flat {
            mem.offset = bits(word, 0, width - 1) as i32;
            mem.format = u8::from(bit(word, width - 1));
        } else {
            mem.offset = signed(offset, width);
        }
        match self.generation {
            Generation::Gfx11 => {
                mem.dlc = bit(word, 13);
                mem.glc = bit(word, 14);
                mem.slc = bit(word, 15);
                if format != Format::Scratch {
                    unused(second, 23, 1)?;
                }
            }
            Generation::Gfx10 => {
                mem.lds = bit(word, 13);
                unused(second, 23, 1)?;
                mem.dlc = bit(word, 12);
                mem.glc = bit(word, 16);
                mem.slc = bit(word, 17);
            }
            _ => {
                // On gfx942 the bit says that a scratch instruction has a vector address.
                mem.lds = bit(word, 13) && self.generation == Generation::Gfx9;
                if format != Format::Scratch && self.generation == Generation::Gfx940 {
                    unused(word, 13, 1)?;
                }
                if row.op.has(Fact::TO_LDS) {
                    unused(second, 23, 1)?;
                }
                mem.glc = bit(word, 16);
                mem.slc = bit(word, 17);
                mem.scc = bit(word, 25);
                if mem.scc && self.generation == Generation::Gfx9 && row.op.is_float_atomic() {
                    return Err(DecodeErrorKind::ReservedBits);
                }
            }
        }
        let into_lds = matches!(
            row.op,
            Op::GlobalLoadU8
                | Op::GlobalLoadI8
                | Op::GlobalLoadU16
                | Op::GlobalLoadI16
                | Op::GlobalLoadB32
                | Op::ScratchLoadU8
                | Op::ScratchLoadI8
                | Op::ScratchLoadU16
                | Op::ScratchLoadI16
                | Op::ScratchLoadB32
        );
        if mem.lds && !into_lds {
            return Err(DecodeErrorKind::ReservedBits);
        }
        let acc = self.generation.is_cdna() && bit(second, 23);
        // These atomics cannot return to accumulation registers.
        let vector_only = matches!(row.op, Op::GlobalAtomicAddF32 | Op::GlobalAtomicPkAddF16)
            || mem.scc && row.op.is_atomic() && row.op.signature().dst.elem == Elem::F64;
        if acc && (mem.lds || self.generation == Generation::Gfx940 && mem.glc && vector_only) {
            return Err(DecodeErrorKind::ReservedBits);
        }
        let saddr = bits(second, 16, 7);
        let sve = if self.generation == Generation::Gfx940 { bit(word, 13) } else { bit(second, 23) };
        let fields =
            Fields { address: bits(second, 0, 8), data: bits(second, 8, 8), dst: bits(second, 24, 8), acc };
        // `off`: 0x7f up to gfx9, later the code of `null`; gfx1030 has both.
        let base = match self.generation {
            Generation::Gfx9 | Generation::Gfx940 => saddr != 0x7f,
            Generation::Gfx10 => saddr != 0x7d && saddr != 0x7f,
            _ => saddr != 0x7c,
        };
        let none = match self.generation {
            Generation::Gfx9 | Generation::Gfx940 => 0,
            Generation::Gfx10 => 0x7d,
            _ => 0x7c,
        };
        let bad_base = DecodeErrorKind::BadOperand { code: saddr as u16 };
        let base = match format {
            Format::Flat if saddr == none => Operand::None,
            Format::Flat => return Err(DecodeErrorKind::ReservedBits),
            Format::Global if self.generation == Generation::Gfx10 && saddr == 127 => return Err(bad_base),
            // EXEC cannot hold a lane's address.
            Format::Global
                if saddr == 126
                    && signature.src[0].exists()
                    && (signature.dst.exists() || signature.src[1].exists()) =>
            {
                return Err(bad_base);
            }
            Format::Scratch if self.generation == Generation::Gfx11 && saddr == 127 => return Err(bad_base),
            _ if base => self.scalar(saddr, signature.src[2])?,
            _ => Operand::None,
        };
        // Scratch: a vector address only when there is no scalar one; gfx942 and gfx11 say so with a bit.
        let has_address = match (format, self.generation) {
            (Format::Scratch, Generation::Gfx11 | Generation::Gfx940) => sve,
            // gfx1030 has two codes for no scalar address. This one means no address at all.
            (Format::Scratch, Generation::Gfx10) => saddr == 0x7d,
            (Format::Scratch, _) => base == Operand::None,
            _ => true,
        };
        Ok(flat_operands(inst, &fields, base, has_address))
    }

    /// FLAT, GLOBAL and SCRATCH of gfx12.
    pub(super) fn vflat(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let third = self.word()?;
        let format = match bits(word, 24, 2) {
            0 => Format::Flat,
            1 => Format::Scratch,
            2 => Format::Global,
            _ => return Err(super::DecodeErrorKind::UnknownEncoding),
        };
        let row = self.row(format, bits(word, 14, 8))?;
        let mut inst = self.start(format, row.op);
        inst.mem.offset = signed(bits(third, 8, 24), 24);
        inst.mem.scope = bits(second, 18, 2) as u8;
        inst.mem.temporal = bits(second, 20, 3) as u8;
        inst.mem.glc = row.op.is_atomic() && bit(second, 20);
        inst.mem.non_volatile = bit(word, 7);
        inst.mem.scale_offset = bit(second, 16);
        let saddr = bits(word, 0, 7);
        let base = match format {
            Format::Flat if saddr == 124 => Operand::None,
            _ if matches!(row.op, Op::GlobalInv | Op::GlobalWb | Op::GlobalWbinv) && saddr != 124 => {
                return Err(DecodeErrorKind::ReservedBits);
            }
            Format::Flat => return Err(DecodeErrorKind::ReservedBits),
            Format::Global if saddr == 126 && row.op.signature().src[0].exists() => {
                return Err(DecodeErrorKind::BadOperand { code: 126 });
            }
            Format::Scratch if saddr == 127 => return Err(DecodeErrorKind::BadOperand { code: 127 }),
            _ => self.optional_scalar(saddr, row.op.signature().src[2])?,
        };
        if format != Format::Scratch {
            unused(second, 17, 1)?;
        }
        let fields = Fields {
            address: bits(third, 0, 8),
            data: bits(second, 23, 8),
            dst: bits(second, 0, 8),
            acc: false,
        };
        let has_address = format != Format::Scratch || bit(second, 17);
        Ok(flat_operands(inst, &fields, base, has_address))
    }

    pub(super) fn mubuf(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let opcode = if self.generation.is_cdna() { bits(word, 18, 7) } else { bits(word, 18, 8) };
        let row = self.row(Format::Mubuf, opcode)?;
        let mut inst = self.start(Format::Mubuf, row.op);
        inst.mem.lds = self.generation != Generation::Gfx11 && bit(word, 16);
        self.buffer(inst, word, second)
    }

    pub(super) fn mtbuf(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let opcode = match self.generation {
            Generation::Gfx10 => bits(word, 16, 3) | bits(second, 21, 1) << 3,
            _ => bits(word, 15, 4),
        };
        let row = self.row(Format::Mtbuf, opcode)?;
        let mut inst = self.start(Format::Mtbuf, row.op);
        inst.mem.format = bits(word, 19, FORMAT_BITS) as u8;
        self.buffer(inst, word, second)
    }

    /// The fields that MUBUF and MTBUF share, up to gfx11.
    fn buffer(&mut self, mut inst: Inst, word: u32, second: u32) -> Result<Inst> {
        let typed = inst.format == Format::Mtbuf;
        let mem = &mut inst.mem;
        let mut acc = false;
        mem.offset = bits(word, 0, 12) as i32;
        mem.glc = bit(word, 14);
        match self.generation {
            Generation::Gfx11 => {
                mem.slc = bit(word, 12);
                mem.dlc = bit(word, 13);
                mem.tfe = bit(second, 21);
                mem.offen = bit(second, 22);
                mem.idxen = bit(second, 23);
            }
            Generation::Gfx10 => {
                mem.offen = bit(word, 12);
                mem.idxen = bit(word, 13);
                mem.dlc = bit(word, 15);
                mem.slc = bit(second, 22);
                mem.tfe = bit(second, 23);
            }
            _ => {
                mem.offen = bit(word, 12);
                mem.idxen = bit(word, 13);
                if typed {
                    mem.scc = bit(second, 21);
                    mem.slc = bit(second, 22);
                } else {
                    mem.scc = bit(word, 15);
                    mem.slc = bit(word, 17);
                }
                acc = bit(second, 23);
            }
        }
        let data = bits(second, 8, 8);
        let resource = bits(second, 16, 5) << 2;
        self.buffer_operands(inst, bits(second, 0, 8), vgpr_or_agpr(data, acc), resource, bits(second, 24, 8))
    }

    /// MUBUF and MTBUF of gfx12.
    pub(super) fn vbuffer(&mut self, word: u32) -> Result<Inst> {
        let second = self.word()?;
        let third = self.word()?;
        let opcode = bits(word, 14, 8);
        let (format, opcode) =
            if opcode & 0x80 != 0 { (Format::Mtbuf, opcode & 0x7f) } else { (Format::Mubuf, opcode) };
        let row = self.row(format, opcode)?;
        let mut inst = self.start(format, row.op);
        let mem = &mut inst.mem;
        mem.offset = bits(third, 8, 23) as i32;
        unused(third, 31, 1)?;
        mem.non_volatile = bit(word, 7);
        mem.tfe = bit(word, 22);
        mem.scope = bits(second, 18, 2) as u8;
        mem.temporal = bits(second, 20, 3) as u8;
        mem.glc = row.op.is_atomic() && bit(second, 20);
        mem.format = bits(second, 23, FORMAT_BITS) as u8;
        mem.offen = bit(second, 30);
        mem.idxen = bit(second, 31);
        let data = vgpr(bits(second, 0, 8));
        self.buffer_operands(inst, bits(third, 0, 8), data, bits(second, 9, 9), bits(word, 0, 7))
    }

    fn buffer_operands(
        &mut self,
        mut inst: Inst,
        address: u32,
        data: Operand,
        resource: u32,
        offset: u32,
    ) -> Result<Inst> {
        let signature = inst.op.signature();
        let mem = inst.mem;
        let with_lds = matches!(
            inst.op,
            Op::BufferLoadFormatX
                | Op::BufferLoadU8
                | Op::BufferLoadI8
                | Op::BufferLoadU16
                | Op::BufferLoadI16
                | Op::BufferLoadB32
                | Op::BufferStoreLdsB32
        ) || self.table.find(inst.format, inst.op).is_some_and(|row| row.to_lds);
        let atomic = inst.op.is_atomic();
        let reserved = mem.lds && (!with_lds || mem.tfe || matches!(data, Operand::Agpr(_)))
            || mem.tfe && (atomic || inst.format == Format::Mtbuf)
            || self.generation == Generation::Gfx10 && atomic && mem.dlc
            || self.generation == Generation::Gfx9 && mem.scc && inst.op.is_float_atomic();
        let alone = !signature.src[2].exists();
        let flags = mem.offen || mem.idxen || mem.tfe || mem.dlc || matches!(data, Operand::Agpr(_));
        // The cache invalidations of gfx942 have scopes.
        let scopes =
            inst.op != Op::BufferWbl2 && self.generation != Generation::Gfx940 && (mem.glc || mem.scc);
        if reserved || alone && self.generation != Generation::Gfx12 && (flags || scopes) {
            return Err(DecodeErrorKind::ReservedBits);
        }
        if signature.src[0].exists() && (inst.mem.offen || inst.mem.idxen) {
            inst.src[0] = vgpr(address);
        }
        if signature.src[1].exists() {
            inst.src[1] = data;
        }
        let returns = !inst.op.is_atomic() || inst.mem.glc;
        if signature.dst.exists() && returns && !inst.mem.lds {
            inst.dst = data;
        }
        if signature.src[2].exists() {
            inst.src[2] = self.scalar(resource, signature.src[2])?;
            inst.src[3] = not_lds(self.inline_source(offset, signature.src[3])?)?;
        }
        Ok(inst)
    }

    pub(super) fn lds_direct(&mut self, word: u32) -> Result<Inst> {
        let row = self.row(Format::LdsDir, bits(word, 20, 2))?;
        unused(word, 22, if self.generation == Generation::Gfx12 { 1 } else { 2 })?;
        let mut inst = self.start(Format::LdsDir, row.op);
        inst.dst = vgpr(bits(word, 0, 8));
        // The attribute and its channel, how many VALU instructions may be in flight, and (gfx12) memory
        // instructions.
        inst.mem.offset = bits(word, 8, 8) as i32;
        let memory = if self.generation == Generation::Gfx12 { bits(word, 23, 1) as u8 } else { 0 };
        inst.mem.format = bits(word, 16, 4) as u8 | memory << 7;
        Ok(inst)
    }
}

/// The operand fields of FLAT, GLOBAL and SCRATCH.
struct Fields {
    address: u32,
    data: u32,
    dst: u32,
    acc: bool,
}

fn flat_operands(mut inst: Inst, fields: &Fields, base: Operand, has_address: bool) -> Inst {
    let signature = inst.op.signature();
    if signature.src[0].exists() && has_address {
        inst.src[0] = vgpr(fields.address);
    }
    if signature.src[1].exists() {
        inst.src[1] = vgpr_or_agpr(fields.data, fields.acc);
    }
    if signature.src[2].exists() {
        inst.src[2] = base;
    }
    let returns = !inst.op.is_atomic() || inst.mem.glc;
    if signature.dst.exists() && returns && !inst.mem.lds {
        inst.dst = vgpr_or_agpr(fields.dst, fields.acc);
    }
    inst
}
