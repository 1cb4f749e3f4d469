//! Bits to [`Inst`], one file per encoding family.

mod graphics;
mod memory;
mod scalar;
mod vector;

use std::fmt;

use super::tables::{Row, Table};
use super::{
    Elem, Format, Generation, Inst, Isa, Memory, Modifiers, Op, Operand, Signature, Special, Type,
    scalar as slots,
};

/// Why bytes are not an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DecodeErrorKind {
    /// The bytes end within an instruction.
    Truncated,
    /// No encoding family starts like this.
    UnknownEncoding,
    /// The encoding family has no such instruction.
    UnknownOpcode {
        /// The family.
        format: Format,
        /// The opcode.
        opcode: u16,
    },
    /// An operand field holds a number that names nothing.
    BadOperand {
        /// The content of the field.
        code: u16,
    },
    /// A field that the instruction does not use is not zero.
    ReservedBits,
    /// The instruction lacks this form (DPP, SDWA).
    UnknownForm,
}

/// Bytes that are not an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DecodeError {
    /// The instruction set they were read as.
    pub isa: Isa,
    /// What is wrong.
    pub kind: DecodeErrorKind,
    bytes: [u8; 8],
    count: u8,
}

impl DecodeError {
    /// The first bytes of the instruction, at most eight.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.count)]
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DecodeErrorKind::Truncated => write!(f, "truncated instruction")?,
            DecodeErrorKind::UnknownEncoding => write!(f, "unknown instruction encoding")?,
            DecodeErrorKind::UnknownOpcode { format, opcode } => {
                write!(f, "unknown instruction {format:?} {opcode:#x}")?;
            }
            DecodeErrorKind::ReservedBits => write!(f, "instruction with reserved bits set")?,
            DecodeErrorKind::UnknownForm => write!(f, "instruction without DPP or SDWA form")?,
            DecodeErrorKind::BadOperand { code } => write!(f, "instruction with invalid operand {code:#x}")?,
        }
        write!(f, " of {}:", self.isa.name())?;
        self.bytes().iter().try_for_each(|byte| write!(f, " {byte:02x}"))
    }
}

impl std::error::Error for DecodeError {}

type Result<T> = std::result::Result<T, DecodeErrorKind>;

/// Decodes the instruction that `bytes` start with. `Inst::size` says how long it is.
///
/// Branch offsets are `Imm` in `src[0]`, in words of four bytes relative to the instruction that follows.
/// Waves have 64 lanes on gfx9, else 32; [`decode_wave64`] is for the others.
pub fn decode(isa: Isa, bytes: &[u8]) -> std::result::Result<Inst, DecodeError> {
    decode_for(isa, isa.is_gfx9(), bytes)
}

/// Decodes an instruction of a wave of 64 lanes: lane masks are two registers, matrices take fewer.
pub fn decode_wave64(isa: Isa, bytes: &[u8]) -> std::result::Result<Inst, DecodeError> {
    decode_for(isa, true, bytes)
}

fn decode_for(isa: Isa, wave64: bool, bytes: &[u8]) -> std::result::Result<Inst, DecodeError> {
    let mut decoder = Decoder {
        generation: isa.generation(),
        wave64,
        table: Table::of(isa),
        bytes,
        position: 0,
        literal: None,
    };
    decoder.instruction().map_err(|kind| {
        let count = bytes.len().min(8);
        let mut head = [0; 8];
        head[..count].copy_from_slice(&bytes[..count]);
        DecodeError { isa, kind, bytes: head, count: count as u8 }
    })
}

/// The bits `low..low + width` of a word.
const fn bits(word: u32, low: u32, width: u32) -> u32 {
    (word >> low) & ((1 << width) - 1)
}

/// One scalar register.
const B32: Type = Type::new(Elem::B32, 1);

const fn bit(word: u32, index: u32) -> bool {
    (word >> index) & 1 != 0
}

/// Fields that an instruction does not use are zero.
fn unused(word: u32, low: u32, width: u32) -> Result<()> {
    if bits(word, low, width) == 0 { Ok(()) } else { Err(DecodeErrorKind::ReservedBits) }
}

/// A two's complement number of `width` bits.
const fn signed(value: u32, width: u32) -> i32 {
    ((value << (32 - width)) as i32) >> (32 - width)
}

struct Decoder<'a> {
    generation: Generation,
    wave64: bool,
    table: &'static Table,
    bytes: &'a [u8],
    position: usize,
    literal: Option<u32>,
}

impl Decoder<'_> {
    /// The next word of the instruction.
    fn word(&mut self) -> Result<u32> {
        let word = self.bytes.get(self.position..self.position + 4).ok_or(DecodeErrorKind::Truncated)?;
        self.position += 4;
        Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// The literal that follows the instruction; several operands may name the one there is.
    fn literal(&mut self) -> Result<u32> {
        if self.literal.is_none() {
            self.literal = Some(self.word()?);
        }
        self.literal.ok_or(DecodeErrorKind::Truncated)
    }

    fn row(&self, format: Format, opcode: u32) -> Result<&'static Row> {
        self.table.row(format, opcode).ok_or(DecodeErrorKind::UnknownOpcode { format, opcode: opcode as u16 })
    }

    /// An instruction without operands.
    fn start(&self, format: Format, op: Op) -> Inst {
        Inst {
            op,
            format,
            size: 0,
            dst: Operand::None,
            sdst: Operand::None,
            src: [Operand::None; 4],
            mods: Modifiers::default(),
            dpp: None,
            sdwa: None,
            mem: Memory::default(),
            graphics: None,
            dual: None,
        }
    }

    fn instruction(&mut self) -> Result<Inst> {
        let word = self.word()?;
        let mut inst = self.family(word)?;
        inst.size = self.position as u8;
        self.check_ranges(&inst)?;
        Ok(inst)
    }

    fn family(&mut self, word: u32) -> Result<Inst> {
        if word == 0 && !self.generation.is_cdna() {
            return Ok(self.start(Format::Vop2, Op::VIllegal));
        }
        if !bit(word, 31) {
            return match bits(word, 25, 6) {
                0x3f => self.vop1(word),
                0x3e => self.vopc(word),
                _ => self.vop2(word),
            };
        }
        if !bit(word, 30) {
            return match bits(word, 23, 7) {
                0x7d => self.sop1(word),
                0x7e => self.sopc(word),
                0x7f => self.sopp(word),
                0x60..=0x7c => self.sopk(word),
                _ => self.sop2(word),
            };
        }
        let family = bits(word, 26, 4);
        match self.generation {
            Generation::Gfx9 | Generation::Gfx940 => match family {
                0b0000 => self.smem(word),
                0b0100 if bits(word, 23, 3) == 0b111 => self.vop3p(word),
                0b0100 => self.vop3(word),
                0b0110 => self.ds(word),
                0b0111 => self.flat(word),
                0b1000 => self.mubuf(word),
                0b1010 => self.mtbuf(word),
                0b1100 if self.generation == Generation::Gfx9 => self.image(word),
                _ => Err(DecodeErrorKind::UnknownEncoding),
            },
            Generation::Gfx10 | Generation::Gfx11 => match family {
                0b0010 if self.generation == Generation::Gfx11 => self.vopd(word),
                0b0011 if bits(word, 24, 2) == 0 => self.vop3p(word),
                0b0011 if self.generation == Generation::Gfx11 && bits(word, 24, 2) == 2 => {
                    self.lds_direct(word)
                }
                0b0010 => self.interpolate(word),
                0b0011 if self.generation == Generation::Gfx11 && bits(word, 24, 2) == 1 => {
                    self.interpolate_long(word, bits(word, 16, 7))
                }
                0b1100 => self.image(word),
                0b1110 => self.export(word),
                0b0101 => self.vop3(word),
                0b0110 => self.ds(word),
                0b0111 => self.flat(word),
                0b1000 => self.mubuf(word),
                0b1010 => self.mtbuf(word),
                0b1101 => self.smem(word),
                _ => Err(DecodeErrorKind::UnknownEncoding),
            },
            Generation::Gfx12 => match family {
                0b0001 => self.vbuffer(word),
                0b0010 => self.vopd(word),
                0b0011 if bits(word, 24, 2) == 0 => self.vop3p(word),
                0b0011 if bits(word, 24, 2) == 2 => self.lds_direct(word),
                0b0101 => self.vop3(word),
                0b0110 => self.ds(word),
                0b0011 if bits(word, 24, 2) == 1 => self.interpolate_long(word, bits(word, 16, 5)),
                0b0100 => self.image(word),
                0b1001 => self.sample(word),
                0b1110 => self.export(word),
                0b1011 => self.vflat(word),
                0b1101 => self.smem(word),
                _ => Err(DecodeErrorKind::UnknownEncoding),
            },
        }
    }

    /// How many registers a value of a type takes. A lane mask takes one in waves of 32, two in waves of 64.
    fn dwords(&self, of: Type) -> u32 {
        if of.elem == Elem::Mask && !self.wave64 { 1 } else { of.dwords() }
    }

    /// A scalar register by its 7-bit code. Pairs start at even numbers and longer ranges at multiples of
    /// four: the low bits of the code do not count.
    fn scalar(&self, code: u32, of: Type) -> Result<Operand> {
        use super::scalar::{M0, NULL, TTMP0, VCC};
        let bad = Err(DecodeErrorKind::BadOperand { code: code as u16 });
        let swapped = self.generation >= Generation::Gfx11;
        match (code, swapped) {
            (124, true) | (125, false) => return Ok(Operand::Sgpr(NULL)),
            (124, false) | (125, true) if self.dwords(of) > 1 => return bad,
            (124, false) | (125, true) => return Ok(Operand::Sgpr(M0)),
            _ => {}
        }
        let dwords = self.dwords(of);
        // Registers with their own names form their own pairs.
        let named = if self.generation.is_cdna() { 102..108 } else { 106..108 };
        if (dwords == 2 && !code.is_multiple_of(2) && (named.contains(&code) || code == 127))
            || (dwords > 2 && named.contains(&code))
        {
            return bad;
        }
        let first = match dwords {
            0 | 1 => code,
            2 => code & !1,
            _ => code & !3,
        };
        let limit = match first {
            0..108 if dwords < 3 => 108,
            0..108 => u32::from(VCC),
            108..124 if dwords == 3 => return bad,
            108..124 => u32::from(TTMP0) + 16,
            124..128 if dwords < 3 => 128,
            _ => return bad,
        };
        if first + dwords > limit { bad } else { Ok(Operand::Sgpr(first as u8)) }
    }

    /// A scalar register that may be `null`, for an operand that is then absent.
    fn optional_scalar(&self, code: u32, of: Type) -> Result<Operand> {
        Ok(match self.scalar(code, of)? {
            Operand::Sgpr(super::scalar::NULL) => Operand::None,
            operand => operand,
        })
    }

    /// A source by its 9-bit code (8 bits if it cannot be a vector register).
    fn source(&mut self, code: u32, of: Type) -> Result<Operand> {
        Ok(match code {
            0..=127 => self.scalar(code, of)?,
            128..=192 => Operand::Int((code - 128) as i8),
            193..=208 => Operand::Int((192 - code as i32) as i8),
            240..=248 => Operand::Float(code as u8),
            LITERAL => Operand::Literal(self.literal()?),
            256..=511 => Operand::Vgpr((code - 256) as u8),
            _ => {
                // LDS is read directly as one register, the other values as one or two.
                let most = if code == LDS_DIRECT { 1 } else { 2 };
                let special = Special::of_code(code).filter(|_| self.dwords(of) <= most);
                Operand::Special(special.ok_or(DecodeErrorKind::BadOperand { code: code as u16 })?)
            }
        })
    }

    /// A source that cannot be a literal.
    fn inline_source(&mut self, code: u32, of: Type) -> Result<Operand> {
        match code {
            LITERAL => Err(DecodeErrorKind::BadOperand { code: LITERAL as u16 }),
            _ => self.source(code, of),
        }
    }

    /// A scalar destination in an encoding with 8 bits for it. The codes after the registers are values that
    /// cannot be written; LLVM accepts them nevertheless.
    fn scalar_result(&mut self, code: u32, of: Type) -> Result<Operand> {
        let bad = Err(DecodeErrorKind::BadOperand { code: code as u16 });
        match code {
            0..=127 => self.scalar(code, of),
            LDS_DIRECT if of.elem != Elem::Mask => bad,
            _ if Special::of_code(code).is_none() => bad,
            _ => self.source(code, of),
        }
    }

    /// Operands must not reach past the last register of their file. On gfx9, operands of several vector
    /// registers start at an even one.
    fn check_ranges(&self, inst: &Inst) -> Result<()> {
        let gfx9 = self.generation.is_cdna();
        // LLVM accepts any accumulation registers in LDS instructions and atomics.
        let data = [inst.dst, inst.src[1], inst.src[3]]
            .iter()
            .filter(|data| matches!(data, Operand::Agpr(_)))
            .count();
        let any_agpr = data > 1 && matches!(inst.format, Format::Ds | Format::Flat | Format::Global);
        // It also accepts any registers for the index and the offset of a typed buffer.
        let any_address = inst.format == Format::Mtbuf;
        // And for the result of this one.
        let any_result = inst.op == Op::DsLoadB96TrB6;
        let check = |operand: Operand, of: Type, any: bool| match operand {
            Operand::Vgpr(first) | Operand::Agpr(first) => {
                let dwords = self.dwords(of);
                let past = u32::from(first) + dwords > 256;
                let any = any || matches!(operand, Operand::Agpr(_)) && any_agpr;
                let odd = gfx9 && !any && dwords > 1 && of.elem != Elem::Mask && !first.is_multiple_of(2);
                if past || odd { Err(DecodeErrorKind::BadOperand { code: first.into() }) } else { Ok(()) }
            }
            // NULL is as wide as any operand.
            Operand::Sgpr(first)
                if first != slots::NULL && u32::from(first) + self.dwords(of) > slots::COUNT as u32 =>
            {
                Err(DecodeErrorKind::BadOperand { code: first.into() })
            }
            _ => Ok(()),
        };
        let check_all = |signature: &Signature, dst: Operand, src: &[Operand]| {
            check(dst, signature.dst, any_result)?;
            let mut sources = src.iter().zip(&signature.src).enumerate();
            sources.try_for_each(|(index, (&operand, &of))| check(operand, of, any_address && index == 0))
        };
        let mut signature = inst.signature_of(self.generation, self.wave64);
        match inst.format {
            Format::Global if inst.src[2] != Operand::None => signature.src[0] = B32,
            Format::Mubuf | Format::Mtbuf if inst.mem.idxen && inst.mem.offen => {
                signature.src[0] = Type::new(Elem::B32, 2);
            }
            _ => {}
        }
        if inst.mem.tfe {
            // A status follows the data.
            for data in [&mut signature.dst, &mut signature.src[1]] {
                *data = Type::new(Elem::B32, data.dwords() as u8 + 1);
            }
        }
        check_all(&signature, inst.dst, &inst.src)?;
        check(inst.sdst, signature.sdst, true)?;
        match inst.dual {
            Some((op, dst, src)) => check_all(op.signature(), dst, &src),
            None => Ok(()),
        }
    }
}

/// The source code of LDS that is read directly.
const LDS_DIRECT: u32 = 254;
/// The code of a source for the word that follows.
const LITERAL: u32 = 255;

/// A scalar source: LDS cannot be read directly as one.
fn not_lds(operand: Operand) -> Result<Operand> {
    match operand {
        Operand::Special(Special::LdsDirect) => Err(DecodeErrorKind::BadOperand { code: 254 }),
        _ => Ok(operand),
    }
}

/// A vector register by its 8-bit code.
fn vgpr(code: u32) -> Operand {
    Operand::Vgpr(code as u8)
}

/// A register of the accumulation file if `acc`, else a vector register.
fn vgpr_or_agpr(code: u32, acc: bool) -> Operand {
    if acc { Operand::Agpr(code as u8) } else { Operand::Vgpr(code as u8) }
}
