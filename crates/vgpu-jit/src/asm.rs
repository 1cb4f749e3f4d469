//! Emits x86-64 instructions: labels, jumps and a pool of literals around iced-x86's encoder.

use std::collections::HashMap;

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

use crate::Error;
use crate::host::{Host, V};
use crate::marks::Marks;
use crate::memory::TEMPS;

/// The host register that points to the wave.
pub(crate) const WAVE: Register = Register::RBX;
/// The host register that points to the vector registers.
pub(crate) const FILE: Register = Register::R12;
/// The host register that points to the literals.
const LITERALS: Register = Register::R14;

/// A place in the code, which may not have been emitted yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Label(usize);

/// Conditions of jumps and of `setcc`, by their code in the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum When {
    Overflow = 0,
    Below = 2,
    AboveOrEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowOrEqual = 6,
    Above = 7,
    Negative = 8,
    Less = 12,
    GreaterOrEqual = 13,
    LessOrEqual = 14,
    Greater = 15,
}

/// The last source of a vector instruction: a register or memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    /// A vector register of the host.
    Register(u8),
    /// Memory.
    Memory(MemoryOperand),
}

/// The lowest part of a vector register of the host.
pub(crate) fn xmm(number: u8) -> Register {
    Register::XMM0 + u32::from(number)
}

/// A mask register of the host.
pub(crate) fn mask(number: u8) -> Register {
    Register::K0 + u32::from(number)
}

/// Memory at a register plus an offset.
pub(crate) fn at(base: Register, offset: i32) -> MemoryOperand {
    MemoryOperand::new(base, Register::None, 1, offset.into(), u32::from(offset != 0), false, Register::None)
}

/// One dword of memory, for all sixteen lanes.
pub(crate) fn broadcast(base: Register, offset: i32) -> MemoryOperand {
    MemoryOperand::new(base, Register::None, 1, offset.into(), u32::from(offset != 0), true, Register::None)
}

/// Emitted code.
pub(crate) struct Asm {
    pub(crate) host: Host,
    encoder: Encoder,
    size: usize,
    labels: Vec<Option<usize>>,
    /// Positions of 32-bit distances and the labels that they lead to.
    jumps: Vec<(usize, Label)>,
    literals: Vec<u32>,
    literal_index: HashMap<u32, i32>,
    /// Literals of sixteen different lanes, which are before the others.
    vectors: Vec<[u32; 16]>,
    /// The position of the literals' address.
    literals_at: usize,
    error: Option<String>,
}

impl Asm {
    pub(crate) fn new(host: Host) -> Self {
        Asm {
            host,
            encoder: Encoder::new(64),
            size: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
            literals: Vec::new(),
            literal_index: HashMap::new(),
            vectors: Vec::new(),
            literals_at: 0,
            error: None,
        }
    }

    fn byte(&mut self, byte: u8) {
        self.encoder.write_u8(byte);
        self.size += 1;
    }

    fn word(&mut self, value: u32) {
        value.to_le_bytes().into_iter().for_each(|byte| self.byte(byte));
    }

    /// Emits an instruction. An instruction that cannot be encoded makes [`Asm::finish`] fail.
    pub(crate) fn emit(&mut self, inst: &Instruction) {
        match self.encoder.encode(inst, 0) {
            Ok(bytes) => self.size += bytes,
            Err(error) => {
                self.error.get_or_insert_with(|| format!("{:?}: {error}", inst.code()));
            }
        }
    }

    fn created(&mut self, inst: Result<Instruction, iced_x86::IcedError>) {
        match inst {
            Ok(inst) => self.emit(&inst),
            Err(error) => {
                self.error.get_or_insert_with(|| error.to_string());
            }
        }
    }

    /// One of two instructions, by the host.
    pub(crate) fn pick(&self, avx2: Code, avx512: Code) -> Code {
        match self.host {
            Host::Avx2 => avx2,
            Host::Avx512 => avx512,
        }
    }

    /// A vector register of the host.
    pub(crate) fn vector(&self, number: u8) -> Register {
        match self.host {
            Host::Avx2 => Register::YMM0 + u32::from(number),
            Host::Avx512 => Register::ZMM0 + u32::from(number),
        }
    }

    /// An instruction with a destination and a source, of vectors.
    pub(crate) fn vector2(&mut self, code: Code, to: u8, from: Arg) {
        let to = self.vector(to);
        let inst = match from {
            Arg::Register(from) => Instruction::with2(code, to, self.vector(from)),
            Arg::Memory(from) => Instruction::with2(code, to, from),
        };
        self.created(inst);
    }

    /// An instruction with a destination and the first lanes of another register.
    pub(crate) fn vector2_from_xmm(&mut self, code: Code, to: u8, from: u8) {
        let inst = Instruction::with2(code, self.vector(to), xmm(from));
        self.created(inst);
    }

    /// Loads the address of `base + index + offset`.
    pub(crate) fn lea(&mut self, to: Register, base: Register, index: Register, offset: i32) {
        let from =
            MemoryOperand::new(base, index, 1, offset.into(), u32::from(offset != 0), false, Register::None);
        self.load(Code::Lea_r64_m, to, from);
    }

    /// An instruction with a destination, a source and an immediate.
    pub(crate) fn vector2i(&mut self, code: Code, to: u8, from: Arg, imm: u8) {
        let (to, imm) = (self.vector(to), u32::from(imm));
        let inst = match from {
            Arg::Register(from) => Instruction::with3(code, to, self.vector(from), imm),
            Arg::Memory(from) => Instruction::with3(code, to, from, imm),
        };
        self.created(inst);
    }

    /// An instruction with a destination and two sources.
    pub(crate) fn vector3(&mut self, code: Code, to: u8, a: u8, b: Arg) {
        let to = self.vector(to);
        self.with3(code, to, a, b, 0);
    }

    /// An instruction with a destination and two sources, in the lanes of a mask register of the host.
    pub(crate) fn vector3k(&mut self, code: Code, to: u8, a: u8, b: Arg, k: u8) {
        let to = self.vector(to);
        self.with3(code, to, a, b, k);
    }

    /// A comparison into a mask register of the host.
    pub(crate) fn test(&mut self, code: Code, to: u8, a: u8, b: Arg) {
        self.with3(code, mask(to), a, b, 0);
    }

    fn with3(&mut self, code: Code, to: Register, a: u8, b: Arg, k: u8) {
        let a = self.vector(a);
        let inst = match b {
            Arg::Register(b) => Instruction::with3(code, to, a, self.vector(b)),
            Arg::Memory(b) => Instruction::with3(code, to, a, b),
        };
        self.masked(inst, k);
    }

    /// An instruction with a destination, two sources and an immediate.
    pub(crate) fn vector3i(&mut self, code: Code, to: u8, a: u8, b: Arg, imm: u8) {
        let to = self.vector(to);
        self.with4(code, to, a, b, imm);
    }

    /// A comparison into a mask register of the host, with its predicate.
    pub(crate) fn compare(&mut self, code: Code, to: u8, a: u8, b: Arg, predicate: u8) {
        self.with4(code, mask(to), a, b, predicate);
    }

    fn with4(&mut self, code: Code, to: Register, a: u8, b: Arg, imm: u8) {
        let (a, imm) = (self.vector(a), u32::from(imm));
        let inst = match b {
            Arg::Register(b) => Instruction::with4(code, to, a, self.vector(b), imm),
            Arg::Memory(b) => Instruction::with4(code, to, a, b, imm),
        };
        self.created(inst);
    }

    /// An instruction with a destination and three sources.
    pub(crate) fn vector4(&mut self, code: Code, to: u8, a: u8, b: Arg, c: u8) {
        let (to, a, c) = (self.vector(to), self.vector(a), self.vector(c));
        let inst = match b {
            Arg::Register(b) => Instruction::with4(code, to, a, self.vector(b), c),
            Arg::Memory(b) => Instruction::with4(code, to, a, b, c),
        };
        self.created(inst);
    }

    fn masked(&mut self, inst: Result<Instruction, iced_x86::IcedError>, k: u8) {
        let inst = inst.map(|mut inst| {
            if k != 0 {
                inst.set_op_mask(mask(k));
            }
            inst
        });
        self.created(inst);
    }

    /// Writes a vector register to memory.
    pub(crate) fn store(&mut self, to: MemoryOperand, from: u8) {
        let code = match self.host {
            Host::Avx2 => Code::VEX_Vmovdqu_ymmm256_ymm,
            Host::Avx512 => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
        };
        let inst = Instruction::with2(code, to, self.vector(from));
        self.created(inst);
    }

    /// Writes the lanes of a vector register that are in a mask register of the host. AVX-512 only.
    pub(crate) fn store_masked(&mut self, to: MemoryOperand, from: u8, k: u8) {
        let inst = Instruction::with2(Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm, to, self.vector(from));
        self.masked(inst, k);
    }

    /// Reads a vector register from memory.
    pub(crate) fn fetch(&mut self, to: u8, from: MemoryOperand) {
        let code = match self.host {
            Host::Avx2 => Code::VEX_Vmovdqu_ymm_ymmm256,
            Host::Avx512 => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
        };
        self.vector2(code, to, Arg::Memory(from));
    }

    /// Reads one dword of memory into all lanes.
    pub(crate) fn spread(&mut self, to: u8, from: MemoryOperand) {
        let code = match self.host {
            Host::Avx2 => Code::VEX_Vpbroadcastd_ymm_xmmm32,
            Host::Avx512 => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        };
        self.vector2(code, to, Arg::Memory(from));
    }

    /// The f32 that are the f16 in the low halves of lanes, whose high halves are zero. Uses a scratch
    /// register.
    pub(crate) fn widen_halves(&mut self, to: u8, from: u8) {
        let code = self.host.code(V::F32OfF16);
        let words = self.host.scratch()[0];
        // The words go next to each other first.
        match self.host {
            Host::Avx512 => {
                let half = Register::YMM0 + u32::from(words);
                self.two(Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, half, self.vector(from));
                self.two(code, self.vector(to), half);
            }
            Host::Avx2 => {
                self.vector3(Code::VEX_Vpackusdw_ymm_ymm_ymmm256, words, from, Arg::Register(from));
                self.vector2i(Code::VEX_Vpermq_ymm_ymmm256_imm8, words, Arg::Register(words), 8);
                self.vector2_from_xmm(code, to, words);
            }
        }
    }

    /// The f16 nearest to f32, with zeros in the high halves of lanes. Uses a scratch register.
    pub(crate) fn narrow_halves(&mut self, to: u8, from: u8) {
        let code = self.host.code(V::F16OfF32);
        let words = self.host.scratch()[0];
        let (half, extend) = match self.host {
            Host::Avx2 => (xmm(words), Code::VEX_Vpmovzxwd_ymm_xmmm128),
            Host::Avx512 => (Register::YMM0 + u32::from(words), Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256),
        };
        // To nearest, whatever the host's settings are.
        self.two_imm(code, half, self.vector(from), 0);
        self.two(extend, self.vector(to), half);
    }

    /// A quarter (on AVX2, the upper half) of a vector register becomes the first lanes of another one.
    pub(crate) fn insert(&mut self, to: u8, from: u8, part: u32) {
        let (all, from) = (self.vector(to), xmm(from));
        let code = match self.host {
            Host::Avx2 => Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8,
            Host::Avx512 => Code::EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8,
        };
        self.three_imm(code, all, all, from, part);
    }

    /// The first lane of a vector register, in all lanes.
    pub(crate) fn spread_first(&mut self, to: u8, from: u8) {
        let code = match self.host {
            Host::Avx2 => Code::VEX_Vpbroadcastd_ymm_xmmm32,
            Host::Avx512 => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
        };
        self.vector2_from_xmm(code, to, from);
    }

    /// Reduces a vector register with an operation to its first lane. Overwrites some other registers of
    /// [`TEMPS`](crate::memory::TEMPS).
    pub(crate) fn reduce(&mut self, number: u8, operation: Code) {
        let other = TEMPS[5];
        let (ymm, zmm) = (Register::YMM0 + u32::from(number), Register::ZMM0 + u32::from(number));
        let parts: &[u32] = match self.host {
            Host::Avx2 => &[1],
            Host::Avx512 => &[1, 2, 3],
        };
        // The other quarters, before the first is changed.
        for (i, &part) in (0..).zip(parts) {
            let to = xmm(other + i);
            match self.host {
                Host::Avx2 => self.two_imm(Code::VEX_Vextracti128_xmmm128_ymm_imm8, to, ymm, part),
                Host::Avx512 => self.two_imm(Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, to, zmm, part),
            }
        }
        let all = xmm(number);
        for i in 0..parts.len() as u8 {
            self.three(operation, all, all, xmm(other + i));
        }
        for order in [0x4e, 0xb1] {
            self.two_imm(Code::VEX_Vpshufd_xmm_xmmm128_imm8, xmm(other), all, order);
            self.three(operation, all, all, xmm(other));
        }
    }

    /// Copies a vector register.
    pub(crate) fn copy(&mut self, to: u8, from: u8) {
        let code = match self.host {
            Host::Avx2 => Code::VEX_Vmovdqa_ymm_ymmm256,
            Host::Avx512 => Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512,
        };
        self.vector2(code, to, Arg::Register(from));
    }

    /// Any instruction with one operand.
    pub(crate) fn one(&mut self, code: Code, a: Register) {
        let inst = Instruction::with1(code, a);
        self.created(inst);
    }

    /// Any instruction with two registers.
    pub(crate) fn two(&mut self, code: Code, a: Register, b: Register) {
        let inst = Instruction::with2(code, a, b);
        self.created(inst);
    }

    /// Any instruction with a register and memory to read.
    pub(crate) fn load(&mut self, code: Code, a: Register, b: MemoryOperand) {
        let inst = Instruction::with2(code, a, b);
        self.created(inst);
    }

    /// Any instruction with memory to write and a register.
    pub(crate) fn write(&mut self, code: Code, a: MemoryOperand, b: Register) {
        let inst = Instruction::with2(code, a, b);
        self.created(inst);
    }

    /// Any instruction with memory and an immediate.
    pub(crate) fn memory_imm(&mut self, code: Code, a: MemoryOperand, imm: i32) {
        let inst = Instruction::with2(code, a, imm);
        self.created(inst);
    }

    /// Any instruction with a register and an immediate.
    pub(crate) fn imm(&mut self, code: Code, a: Register, imm: i32) {
        let inst = Instruction::with2(code, a, imm);
        self.created(inst);
    }

    /// Any instruction with three registers.
    pub(crate) fn three(&mut self, code: Code, a: Register, b: Register, c: Register) {
        let inst = Instruction::with3(code, a, b, c);
        self.created(inst);
    }

    /// Any instruction with three registers and an immediate.
    pub(crate) fn three_imm(&mut self, code: Code, a: Register, b: Register, c: Register, imm: u32) {
        let inst = Instruction::with4(code, a, b, c, imm);
        self.created(inst);
    }

    /// Any instruction with two registers and an immediate.
    pub(crate) fn two_imm(&mut self, code: Code, a: Register, b: Register, imm: u32) {
        let inst = Instruction::with3(code, a, b, imm);
        self.created(inst);
    }

    /// Reads dwords at a register plus the lanes of another vector register plus an offset, in marked lanes.
    /// The marks are gone then.
    pub(crate) fn gather(&mut self, to: u8, base: Register, lanes: u8, offset: i64, marks: Marks) {
        let (to, index) = (self.vector(to), self.vector(lanes));
        let from = MemoryOperand::new(base, index, 1, offset, u32::from(offset != 0), false, Register::None);
        match self.host {
            Host::Avx512 => {
                let inst = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, to, from);
                self.masked(inst, marks.mask);
            }
            Host::Avx2 => {
                let marks = self.vector(marks.vector);
                let inst = Instruction::with3(Code::VEX_Vpgatherdd_ymm_vm32y_ymm, to, from, marks);
                self.created(inst);
            }
        }
    }

    /// Calls a label.
    pub(crate) fn call(&mut self, to: Label) {
        self.byte(0xe8);
        self.jumps.push((self.size, to));
        self.word(0);
    }

    /// Sets a register to a 64-bit constant.
    pub(crate) fn constant(&mut self, to: Register, value: u64) {
        let inst = Instruction::with2(Code::Mov_r64_imm64, to, value);
        self.created(inst);
    }

    /// An instruction without operands.
    pub(crate) fn bare(&mut self, code: Code) {
        self.emit(&Instruction::with(code));
    }

    /// Sets the register of literals. Once, at the start.
    pub(crate) fn point_to_literals(&mut self) {
        self.constant(LITERALS, 0x0123_4567_89ab_cdef);
        self.literals_at = self.size - 8;
    }

    /// One dword of memory.
    pub(crate) fn dword(&mut self, value: u32) -> MemoryOperand {
        MemoryOperand { is_broadcast: false, ..self.broadcast_dword(value) }
    }

    /// One number for all lanes.
    pub(crate) fn literal(&mut self, value: u32) -> Arg {
        match self.host {
            Host::Avx2 => Arg::Memory(self.literal_lanes([value; 16])),
            Host::Avx512 => Arg::Memory(self.broadcast_dword(value)),
        }
    }

    fn broadcast_dword(&mut self, value: u32) -> MemoryOperand {
        let next = self.literals.len() as i32;
        let index = *self.literal_index.entry(value).or_insert(next);
        if index == next {
            self.literals.push(value);
        }
        broadcast(LITERALS, index * 4)
    }

    /// Sixteen constants, of which a vector register holds as many as it has lanes.
    pub(crate) fn literal_lanes(&mut self, lanes: [u32; 16]) -> MemoryOperand {
        let found = self.vectors.iter().position(|known| *known == lanes);
        let index = found.unwrap_or_else(|| {
            self.vectors.push(lanes);
            self.vectors.len() - 1
        });
        at(LITERALS, -64 * (index as i32 + 1))
    }

    /// A label that is placed later.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label here.
    pub(crate) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.size);
    }

    /// The position of the next instruction.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The position of a label.
    pub(crate) fn position(&self, label: Label) -> Option<usize> {
        self.labels[label.0]
    }

    /// Jumps.
    pub(crate) fn jump(&mut self, to: Label) {
        self.byte(0xe9);
        self.jumps.push((self.size, to));
        self.word(0);
    }

    /// Jumps if a condition holds.
    pub(crate) fn jump_if(&mut self, when: When, to: Label) {
        self.byte(0x0f);
        self.byte(0x80 | when as u8);
        self.jumps.push((self.size, to));
        self.word(0);
    }

    /// Sets a byte of memory to whether a condition holds.
    pub(crate) fn set_if(&mut self, when: When, to: MemoryOperand) {
        let code = match when {
            When::Overflow => Code::Seto_rm8,
            When::Below => Code::Setb_rm8,
            When::AboveOrEqual => Code::Setae_rm8,
            When::Equal => Code::Sete_rm8,
            When::NotEqual => Code::Setne_rm8,
            When::BelowOrEqual => Code::Setbe_rm8,
            When::Above => Code::Seta_rm8,
            When::Negative => Code::Sets_rm8,
            When::Less => Code::Setl_rm8,
            When::GreaterOrEqual => Code::Setge_rm8,
            When::LessOrEqual => Code::Setle_rm8,
            When::Greater => Code::Setg_rm8,
        };
        let inst = Instruction::with1(code, to);
        self.created(inst);
    }

    /// The bytes, with the literals after them, where the code will be at `address`.
    pub(crate) fn finish(mut self) -> Result<Finished, Error> {
        if let Some(error) = self.error {
            return Err(Error::Encoding(error));
        }
        let mut bytes = self.encoder.take_buffer();
        for (at, label) in self.jumps {
            let to = self.labels[label.0].ok_or(Error::Label)?;
            let distance = to as i64 - (at as i64 + 4);
            let distance = i32::try_from(distance).map_err(|_| Error::TooLarge)?;
            bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        let code = bytes.len();
        bytes.resize(code.next_multiple_of(64), 0xcc);
        bytes.extend(self.vectors.iter().rev().flatten().flat_map(|value| value.to_le_bytes()));
        let literals = bytes.len();
        bytes.extend(self.literals.iter().flat_map(|value| value.to_le_bytes()));
        Ok(Finished { bytes, code, literals, literals_at: self.literals_at })
    }
}

/// Code that can be placed anywhere once its literals' address is filled in.
pub(crate) struct Finished {
    pub(crate) bytes: Vec<u8>,
    /// The bytes of code.
    pub(crate) code: usize,
    /// Where the literals begin.
    pub(crate) literals: usize,
    /// Where their address is.
    pub(crate) literals_at: usize,
}
