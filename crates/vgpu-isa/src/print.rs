//! [`Inst`] to the text that LLVM's disassembler prints.

mod graphics;
mod immediate;
mod names;
mod vector;

use std::fmt;

use super::tables::{Row, Table};
use super::{Elem, Fact, Format, Generation, Inst, Isa, Op, Operand, Special, Type, scalar};
use vector::is_long_constant;

/// The text of an instruction, as `llvm-objdump -d` prints it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    inst: &'a Inst,
    isa: Isa,
    wave: u8,
}

impl Inst {
    /// The text of an instruction decoded for `isa`. Lane masks are printed for waves of 32 from gfx10 on.
    pub fn text(&self, isa: Isa) -> Text<'_> {
        Text { inst: self, isa, wave: if isa.is_gfx9() { 64 } else { 32 } }
    }
}

impl Text<'_> {
    /// Prints lane masks as those of a wave of 64.
    pub fn wave64(mut self) -> Self {
        self.wave = 64;
        self
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = Table::of(self.isa);
        let row = match self.inst.graphics {
            Some(graphics) => table.row(self.inst.format, graphics.opcode.into()),
            None => table.find(self.inst.format, self.inst.op),
        };
        let Some(row) = row else {
            return write!(f, "{}", self.inst.op.name());
        };
        let mut printer = Printer {
            f,
            inst: self.inst,
            isa: self.isa,
            generation: self.isa.generation(),
            wave: self.wave,
            row,
            operands: 0,
        };
        match self.inst.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc => printer.scalar(),
            Format::Sopk => printer.sopk(),
            Format::Sopp => printer.sopp(),
            Format::Smem => printer.smem(),
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3Sd => printer.vector(),
            Format::Vop3p => printer.vop3p(),
            Format::Vopd => printer.vopd(),
            Format::Ds => printer.ds(),
            Format::Flat | Format::Global | Format::Scratch => printer.flat(),
            Format::Mubuf | Format::Mtbuf => printer.buffer(),
            Format::LdsDir => printer.lds_direct(),
            Format::Mimg | Format::Export | Format::Interp => printer.graphics(),
        }
    }
}

struct Printer<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    inst: &'a Inst,
    isa: Isa,
    generation: Generation,
    wave: u8,
    row: &'static Row,
    operands: u32,
}

/// A vector register of the accumulation or the normal file.
fn registers(f: &mut fmt::Formatter<'_>, file: &str, first: u8, dwords: u32) -> fmt::Result {
    match dwords {
        0 | 1 => write!(f, "{file}{first}"),
        _ => write!(f, "{file}[{first}:{}]", u32::from(first) + dwords - 1),
    }
}

/// The texts of the floating-point inline constants, and their bits.
const INLINE_TEXT: [&str; 9] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"];
const INLINE_F16: [u32; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
const INLINE_F32: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];
/// The upper halves of the constants whose lower half is zero.
const INLINE_F64_HIGH: [u32; 8] =
    [0x3fe0_0000, 0xbfe0_0000, 0x3ff0_0000, 0xbff0_0000, 0x4000_0000, 0xc000_0000, 0x4010_0000, 0xc010_0000];

const B32: Type = Type { elem: Elem::B32, count: 1 };
const F16: Type = Type { elem: Elem::F16, count: 1 };
const F64: Type = Type { elem: Elem::F64, count: 1 };

/// Whether a 32-bit literal is also an inline constant.
fn could_be_inline(value: u32) -> bool {
    (-16..=64).contains(&(value as i32)) || INLINE_F32.contains(&value)
}

impl Printer<'_, '_> {
    /// Starts the next operand.
    fn separate(&mut self) -> fmt::Result {
        let text = if self.operands == 0 { " " } else { ", " };
        self.operands += 1;
        self.f.write_str(text)
    }

    /// How many registers a value of a type takes.
    fn dwords(&self, of: Type) -> u32 {
        if of.elem == Elem::Mask { u32::from(self.wave) / 32 } else { of.dwords() }
    }

    fn scalar_register(&mut self, slot: u8, dwords: u32) -> fmt::Result {
        let gfx9 = self.generation.is_cdna();
        let pair = dwords > 1;
        let name = match (slot, pair) {
            (102, true) if gfx9 => "flat_scratch",
            (102, false) if gfx9 => "flat_scratch_lo",
            (103, false) if gfx9 => "flat_scratch_hi",
            (104, true) if gfx9 => "xnack_mask",
            (104, false) if gfx9 => "xnack_mask_lo",
            (105, false) if gfx9 => "xnack_mask_hi",
            (scalar::VCC, true) => "vcc",
            (scalar::VCC, false) => "vcc_lo",
            (107, false) => "vcc_hi",
            (scalar::M0, _) => "m0",
            (scalar::NULL, _) => "null",
            (scalar::EXEC, true) => "exec",
            (scalar::EXEC, false) => "exec_lo",
            (127, false) => "exec_hi",
            (108..=123, _) => return registers(self.f, "ttmp", slot - scalar::TTMP0, dwords),
            _ => return registers(self.f, "s", slot, dwords),
        };
        self.f.write_str(name)
    }

    /// An operand of a type, without modifiers.
    fn value(&mut self, operand: Operand, of: Type) -> fmt::Result {
        match operand {
            Operand::None => self.f.write_str("off"),
            Operand::Vgpr(first) => registers(self.f, "v", first, self.dwords(of)),
            Operand::Agpr(first) => registers(self.f, "a", first, self.dwords(of)),
            Operand::Sgpr(slot) => self.scalar_register(slot, self.dwords(of)),
            Operand::Special(special) => self.f.write_str(special_name(special)),
            Operand::Int(value) => write!(self.f, "{value}"),
            // Integer operands print a float constant of 16 bits by its bits.
            Operand::Float(code) if matches!(of.elem, Elem::I16 | Elem::U16 | Elem::B16) && of.count == 1 => {
                write!(self.f, "{:#x}", INLINE_F16[usize::from(code).saturating_sub(240).min(8)])
            }
            Operand::Float(code) => {
                let wide = of.elem.bits() == 64 && of.elem != Elem::Mask;
                self.f.write_str(match code {
                    248 if wide => "0.15915494309189532",
                    _ => INLINE_TEXT[usize::from(code).saturating_sub(240).min(8)],
                })
            }
            Operand::Literal(value) => self.literal(value, of),
            Operand::Imm(value) => write!(self.f, "{value:#x}"),
        }
    }

    /// A literal. LLVM marks a literal that could be an inline constant, so that it assembles to a literal
    /// again.
    fn literal(&mut self, value: u32, of: Type) -> fmt::Result {
        let small = |value: i32| (-16..=64).contains(&value);
        let low = value & 0xffff;
        let could_be_inline = match (of.elem, of.count) {
            (Elem::F64, _) => {
                if value == 0 {
                    return self.f.write_str("0");
                }
                if let Some(index) = INLINE_F64_HIGH.iter().position(|&high| high == value) {
                    return self.f.write_str(INLINE_TEXT[index]);
                }
                false
            }
            (Elem::Bf16, 1) => {
                small(i32::from(low as i16)) || INLINE_F32.iter().any(|&bits| bits >> 16 == low)
            }
            (Elem::Bf16, _) => small(value as i32) || INLINE_F32.iter().any(|&bits| bits >> 16 == value),
            (Elem::F16, 1) => small(i32::from(low as i16)) || INLINE_F16.contains(&low),
            // From gfx11 on, a constant of `v_pk_fmac_f16` is in both halves.
            (Elem::F16, _) if self.inst.op == Op::VPkFmacF16 && self.generation >= Generation::Gfx11 => {
                small(value as i32) || INLINE_F16.contains(&low) && value >> 16 == low
            }
            (Elem::F16, _) => small(value as i32) || INLINE_F16.contains(&value),
            (elem, _) if elem.bits() == 64 => value <= 64,
            _ => could_be_inline(value),
        };
        if could_be_inline {
            write!(self.f, "lit({value:#x})")
        } else {
            let half = of.is_half() && of.elem != Elem::Bf16;
            write!(self.f, "{:#x}", if half { low } else { value })
        }
    }

    fn operand(&mut self, operand: Operand, of: Type) -> fmt::Result {
        self.separate()?;
        self.value(operand, of)
    }

    /// The half of a register that a true16 operand names.
    fn half(&mut self, operand: Operand, of: Type, high: bool) -> fmt::Result {
        match operand {
            Operand::Vgpr(_) if (of.is_half() || self.is_byte_pair(of)) && self.names_halves() => {
                self.f.write_str(if high { ".h" } else { ".l" })
            }
            _ => Ok(()),
        }
    }

    /// Whether an operand is two bytes, half of a register.
    fn is_byte_pair(&self, of: Type) -> bool {
        matches!(self.inst.op, Op::VCvtPkF32Fp8 | Op::VCvtPkF32Bf8) && of.dwords() == 1
    }

    /// Whether halves are named. LLVM's usual text for gfx12 has whole registers; halves are named there if
    /// one is an upper half.
    fn names_halves(&self) -> bool {
        let inst = self.inst;
        let asks = || match inst.format {
            _ if matches!(inst.op, Op::VMovB16 | Op::VSwapB16) => true,
            Format::Vop3 => self.row.form.optional_halves && inst.mods.op_sel != 0,
            _ => inst.mods.op_sel != 0,
        };
        self.row.true16 && !inst.mods.whole && (self.generation != Generation::Gfx12 || asks())
    }

    fn flag(&mut self, set: bool, text: &str) -> fmt::Result {
        if set { self.f.write_str(text) } else { Ok(()) }
    }

    /// One bit per operand: ` neg_lo:[1,0,0]`.
    fn bits(&mut self, name: &str, value: u8, count: usize) -> fmt::Result {
        write!(self.f, " {name}:[")?;
        for index in 0..count {
            let comma = if index == 0 { "" } else { "," };
            write!(self.f, "{comma}{}", value >> index & 1)?;
        }
        self.f.write_str("]")
    }

    fn scalar(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature());
        self.f.write_str(self.row.name)?;
        if inst.dst != Operand::None {
            self.operand(inst.dst, signature.dst)?;
        }
        for (index, (&source, &of)) in inst.src.iter().zip(&signature.src).enumerate() {
            if source == Operand::None || (index == 2 && inst.op.has(Fact::ACCUMULATES)) {
                continue;
            }
            self.separate()?;
            match (inst.op, source) {
                (Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64, Operand::Imm(message)) => {
                    self.message(message as u16)?
                }
                (Op::SSetGprIdxOn, Operand::Imm(mode)) => self.gpr_index(mode as u16)?,
                // LLVM prints the constants of half-precision comparisons by their bits.
                (_, Operand::Float(code)) if inst.format == Format::Sopc && of.elem == Elem::F16 => {
                    self.value(Operand::Float(code), Type { elem: Elem::B16, count: 1 })?;
                }
                // A literal of half precision is compared with the 32-bit constants.
                (_, Operand::Literal(value))
                    if of.elem == Elem::F16 && matches!(inst.format, Format::Sop1 | Format::Sopc) =>
                {
                    let half = inst.format == Format::Sopc;
                    match could_be_inline(value) {
                        true => write!(self.f, "lit({value:#x})")?,
                        false => write!(self.f, "{:#x}", if half { value & 0xffff } else { value })?,
                    }
                }
                (op, Operand::Literal(value)) if is_long_constant(op, index) => write!(self.f, "{value:#x}")?,
                _ => self.value(source, of)?,
            }
        }
        Ok(())
    }

    fn sopk(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature());
        self.f.write_str(self.row.name)?;
        let immediate = inst.src.iter().find_map(|source| match source {
            Operand::Imm(value) => Some(*value as u16),
            _ => None,
        });
        let immediate = immediate.unwrap_or_default();
        match inst.op {
            Op::SSetregB32 | Op::SSetregImm32B32 => {
                self.separate()?;
                self.hardware_register(immediate)?;
                self.separate()?;
                match inst.src[0] {
                    Operand::Literal(value) => self.constant(value),
                    register => self.value(register, signature.src[0]),
                }
            }
            Op::SVersion => self.version(immediate),
            _ => {
                if inst.dst == Operand::None {
                    self.operand(inst.src[0], signature.src[0])?;
                } else {
                    self.operand(inst.dst, signature.dst)?;
                }
                self.separate()?;
                match inst.op {
                    Op::SGetregB32 => self.hardware_register(immediate),
                    Op::SCallB64 | Op::SSubvectorLoopBegin | Op::SSubvectorLoopEnd | Op::SCbranchIFork => {
                        write!(self.f, "{immediate}")
                    }
                    _ => write!(self.f, "{immediate:#x}"),
                }
            }
        }
    }

    /// A 32-bit constant: as an inline constant if it could be one.
    fn constant(&mut self, value: u32) -> fmt::Result {
        match INLINE_F32.iter().position(|&bits| bits == value) {
            Some(index) => self.f.write_str(INLINE_TEXT[index]),
            None if (-16..=64).contains(&(value as i32)) => write!(self.f, "{}", value as i32),
            None => write!(self.f, "{value:#x}"),
        }
    }

    fn smem(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature());
        self.f.write_str(self.row.name)?;
        if inst.dst != Operand::None {
            // An atomic that returns a value names only its data.
            let of = if signature.src[1].exists() { signature.src[1] } else { signature.dst };
            self.operand(inst.dst, of)?;
        }
        let prefetch = inst.op.has(Fact::PREFETCH);
        match inst.src[1] {
            Operand::None => {}
            Operand::Imm(mask) if !prefetch => {
                self.separate()?;
                self.small_or_hex(mask as u16)?;
            }
            _ if prefetch || inst.dst != Operand::None => {}
            data => self.operand(data, signature.src[1])?,
        }
        if inst.src[2] != Operand::None {
            self.operand(inst.src[2], signature.src[2])?;
        }
        if signature.src[3].exists() {
            let offset = inst.mem.offset;
            match inst.src[3] {
                _ if prefetch => {
                    self.separate()?;
                    self.signed_hex(offset)?;
                    self.operand(
                        if inst.src[3] == Operand::None { Operand::Sgpr(scalar::NULL) } else { inst.src[3] },
                        B32,
                    )?;
                    if let Operand::Imm(length) = inst.src[1] {
                        self.separate()?;
                        write!(self.f, "{length}")?;
                    }
                }
                // Without either offset LLVM takes the form with a register.
                Operand::None
                    if offset == 0 && matches!(self.generation, Generation::Gfx10 | Generation::Gfx11) =>
                {
                    self.operand(Operand::Sgpr(scalar::NULL), B32)?;
                }
                Operand::None => {
                    self.separate()?;
                    self.signed_hex(offset)?;
                }
                register => {
                    self.operand(register, B32)?;
                    if offset != 0 || inst.mem.both_offsets || self.generation == Generation::Gfx12 {
                        self.f.write_str(" offset:")?;
                        self.signed_hex(offset)?;
                    }
                }
            }
        }
        let caches = inst.dst != Operand::None && signature.src[2].exists() || signature.src[1].exists();
        if caches { self.cache_policy() } else { Ok(()) }
    }

    fn signed_hex(&mut self, value: i32) -> fmt::Result {
        let sign = if value < 0 { "-" } else { "" };
        write!(self.f, "{sign}{:#x}", value.unsigned_abs())
    }

    fn ds(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature());
        self.f.write_str(self.row.name)?;
        for (operand, of) in [
            (inst.dst, signature.dst),
            (inst.src[0], signature.src[0]),
            (inst.src[1], signature.src[1]),
            (inst.src[3], signature.src[3]),
        ] {
            if operand != Operand::None {
                self.operand(operand, of)?;
            }
        }
        let offset = inst.mem.offset;
        if inst.op.has_two_offsets() {
            for (name, value) in [("offset0", offset & 0xff), ("offset1", offset >> 8 & 0xff)] {
                if value != 0 {
                    write!(self.f, " {name}:{value}")?;
                }
            }
        } else if inst.op == Op::DsSwizzleB32 {
            self.swizzle(offset as u16)?;
        } else if offset != 0 {
            write!(self.f, " offset:{offset}")?;
        }
        let global = inst.op.has(Fact::GWS) || !self.generation.is_cdna();
        self.flag(inst.mem.gds && global, " gds")
    }

    fn flat(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature_of(self.generation, self.wave == 64));
        self.f.write_str(self.row.name)?;
        if inst.dst != Operand::None {
            self.operand(inst.dst, signature.dst)?;
        }
        if signature.src[0].exists() {
            let narrow = inst.format == Format::Scratch || inst.src[2] != Operand::None;
            self.operand(inst.src[0], if narrow { B32 } else { signature.src[0] })?;
        }
        if signature.src[1].exists() {
            self.operand(inst.src[1], signature.src[1])?;
        }
        if signature.src[2].exists() {
            self.operand(inst.src[2], signature.src[2])?;
        }
        // LLVM prints the highest bit of FLAT's offset, which hardware ignores.
        let ignored = match self.generation {
            Generation::Gfx12 => 0,
            Generation::Gfx10 => i32::from(inst.mem.format) << 11,
            _ => i32::from(inst.mem.format) << 12,
        };
        let offset = inst.mem.offset | ignored;
        let fence = matches!(inst.op, Op::GlobalInv | Op::GlobalWb | Op::GlobalWbinv);
        if offset != 0 && !fence {
            write!(self.f, " offset:{offset}")?;
        }
        self.cache_policy()?;
        self.flag(inst.mem.lds, " lds")
    }

    fn buffer(&mut self) -> fmt::Result {
        let (inst, signature) = (self.inst, self.inst.op.signature());
        self.f.write_str(self.row.name)?;
        let (data, of) = if signature.src[1].exists() {
            (inst.src[1], signature.src[1])
        } else {
            (inst.dst, signature.dst)
        };
        if data != Operand::None {
            let extra = u8::from(inst.mem.tfe);
            let of = Type { elem: Elem::B32, count: of.dwords() as u8 + extra };
            self.operand(data, of)?;
        }
        if signature.src[2].exists() {
            let both = inst.mem.offen && inst.mem.idxen;
            if signature.src[0].exists() {
                self.operand(inst.src[0], Type { elem: Elem::B32, count: 1 + u8::from(both) })?;
            }
            self.operand(inst.src[2], signature.src[2])?;
            self.operand(inst.src[3], signature.src[3])?;
        }
        if inst.format == Format::Mtbuf {
            self.buffer_format()?;
        }
        self.flag(inst.mem.idxen, " idxen")?;
        self.flag(inst.mem.offen, " offen")?;
        if matches!(inst.op, Op::BufferGl0Inv | Op::BufferGl1Inv)
            || (self.generation == Generation::Gfx9 && matches!(inst.op, Op::BufferWbl2 | Op::BufferInvl2))
        {
            return Ok(());
        }
        if inst.mem.offset != 0 && signature.src[2].exists() {
            write!(self.f, " offset:{}", inst.mem.offset)?;
        }
        self.cache_policy()?;
        self.flag(inst.mem.tfe, " tfe")?;
        self.flag(inst.mem.lds, " lds")
    }

    fn lds_direct(&mut self) -> fmt::Result {
        let inst = self.inst;
        self.f.write_str(self.row.name)?;
        self.operand(inst.dst, B32)?;
        if inst.op == Op::LdsParamLoad {
            self.separate()?;
            let channel = ["x", "y", "z", "w"][(inst.mem.offset & 3) as usize];
            write!(self.f, "attr{}.{channel}", inst.mem.offset >> 2)?;
        }
        if self.generation == Generation::Gfx12 {
            let (valu, memory) = (inst.mem.format & 15, inst.mem.format >> 7);
            return write!(self.f, " wait_va_vdst:{valu} wait_vm_vsrc:{memory}");
        }
        write!(self.f, " wait_vdst:{}", inst.mem.format)
    }

    fn cache_policy(&mut self) -> fmt::Result {
        let mem = self.inst.mem;
        if self.generation == Generation::Gfx12 {
            self.flag(mem.scale_offset, " scale_offset")?;
            self.scope_and_hint()?;
            return self.flag(mem.non_volatile, " nv");
        }
        let gfx942 = self.generation == Generation::Gfx940 && self.inst.format != Format::Smem;
        self.flag(mem.glc, if gfx942 { " sc0" } else { " glc" })?;
        let hint = mem.slc
            && !matches!(
                self.inst.op,
                Op::BufferInv | Op::BufferWbl2 | Op::BufferWbinvl1 | Op::BufferWbinvl1Vol
            );
        self.flag(hint, if gfx942 { " nt" } else { " slc" })?;
        self.flag(mem.dlc, " dlc")?;
        self.flag(mem.scc, if gfx942 { " sc1" } else { " scc" })
    }
}

fn special_name(special: Special) -> &'static str {
    match special {
        Special::Scc => "src_scc",
        Special::VccZ => "src_vccz",
        Special::ExecZ => "src_execz",
        Special::SharedBase => "src_shared_base",
        Special::SharedLimit => "src_shared_limit",
        Special::PrivateBase => "src_private_base",
        Special::PrivateLimit => "src_private_limit",
        Special::PopsExitingWaveId => "src_pops_exiting_wave_id",
        Special::LdsDirect => "src_lds_direct",
    }
}
