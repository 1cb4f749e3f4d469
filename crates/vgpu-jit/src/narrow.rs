//! Loads and stores of bytes and 16-bit words, which are parts of registers.

use iced_x86::Code::{self, *};
use iced_x86::{MemoryOperand, Register};
use vgpu_isa::{AccessKind, Fact, Footprint, Op};

use crate::asm::{Arg, at, xmm};
use crate::groups::{DISTANCES, NEAR};
use crate::host::{Host, V};
use crate::memory::{Access, DATA, TEMPS};

/// Elements that are smaller than registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Narrow {
    /// 1 or 2.
    pub(crate) bytes: u8,
    signed: bool,
    part: Part,
}

/// The part of a register that has an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Whole,
    Low,
    High,
}

impl Narrow {
    /// The elements of a load or store of bytes or words.
    pub(crate) fn of(op: Op) -> Option<Narrow> {
        let Footprint::One(kind, bytes @ 1..=2) = op.footprint() else { return None };
        let part = match (op.has(Fact::D16), op.has(Fact::HIGH), kind) {
            (_, true, _) => Part::High,
            (true, false, AccessKind::Read) => Part::Low,
            _ => Part::Whole,
        };
        Some(Narrow { bytes: bytes as u8, signed: op.has(Fact::SIGNED), part })
    }
}

impl Access<'_, '_> {
    /// Elements of consecutive lanes.
    pub(crate) fn load_consecutive_narrow(&mut self, narrow: Narrow, from: MemoryOperand, to: u8) {
        let code = match (self.compiler.asm.host, narrow.bytes, narrow.signed) {
            (Host::Avx2, 1, false) => VEX_Vpmovzxbd_ymm_xmmm64,
            (Host::Avx2, 1, true) => VEX_Vpmovsxbd_ymm_xmmm64,
            (Host::Avx2, _, false) => VEX_Vpmovzxwd_ymm_xmmm128,
            (Host::Avx2, _, true) => VEX_Vpmovsxwd_ymm_xmmm128,
            (Host::Avx512, 1, false) => EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
            (Host::Avx512, 1, true) => EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
            (Host::Avx512, _, false) => EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            (Host::Avx512, _, true) => EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
        };
        self.compiler.asm.vector2(code, to, Arg::Memory(from));
    }

    /// One element for all lanes.
    pub(crate) fn load_same_narrow(&mut self, narrow: Narrow, from: MemoryOperand, to: u8) {
        let asm = &mut self.compiler.asm;
        asm.load(extend(narrow), Register::ECX, from);
        asm.two(VEX_Vmovd_xmm_rm32, xmm(to), Register::ECX);
        asm.spread_first(to, to);
    }

    /// An element for each lane of a group, at [`Access::places`].
    pub(crate) fn gather_narrow(&mut self, narrow: Narrow, shift: u32, to: u8) {
        for lane in 0..self.lanes() as i32 {
            let distance = at(Register::RSP, DISTANCES + 4 * lane);
            let asm = &mut self.compiler.asm;
            asm.load(Mov_r32_rm32, Register::ECX, distance);
            let sized = u32::from(shift != 0);
            let from = MemoryOperand::new(NEAR, Register::RCX, 1, shift.into(), sized, false, Register::None);
            asm.load(extend(narrow), Register::ECX, from);
            asm.write(Mov_rm32_r32, distance, Register::ECX);
        }
        self.compiler.asm.fetch(to, at(Register::RSP, DISTANCES));
    }

    /// Loaded elements in their parts of registers, whose contents were `old`; returns their register.
    pub(crate) fn in_part(&mut self, narrow: Narrow, value: u8, old: MemoryOperand) -> u8 {
        let keeps = !self.compiler.input.register_ecc;
        let (temp, result) = (TEMPS[1], TEMPS[2]);
        let asm = &mut self.compiler.asm;
        let others = match narrow.part {
            Part::Whole => return value,
            Part::Low => {
                asm.with(V::And, result, value, 0xffff);
                0xffff_0000
            }
            Part::High => {
                asm.shift(V::ShlImm, result, value, 16);
                0xffff
            }
        };
        if keeps {
            asm.fetch(temp, old);
            asm.with(V::And, temp, temp, others);
            asm.op(V::Or, result, result, Arg::Register(temp));
        }
        result
    }

    /// Stores the elements of consecutive lanes in the first data register.
    pub(crate) fn store_consecutive_narrow(&mut self, narrow: Narrow, to: MemoryOperand) {
        let [value, other, ..] = DATA;
        let asm = &mut self.compiler.asm;
        if narrow.part == Part::High {
            asm.shift(V::ShrImm, value, value, 16);
        }
        let (ymm, zmm) = (Register::YMM0 + u32::from(value), Register::ZMM0 + u32::from(value));
        match (asm.host, narrow.bytes) {
            (Host::Avx512, 1) => asm.write(EVEX_Vpmovdb_xmmm128_k1z_zmm, to, zmm),
            (Host::Avx512, _) => asm.write(EVEX_Vpmovdw_ymmm256_k1z_zmm, to, zmm),
            (Host::Avx2, bytes) => {
                asm.with(V::And, value, value, if bytes == 1 { 0xff } else { 0xffff });
                asm.two_imm(VEX_Vextracti128_xmmm128_ymm_imm8, xmm(other), ymm, 1);
                asm.three(VEX_Vpackusdw_xmm_xmm_xmmm128, xmm(value), xmm(value), xmm(other));
                if bytes == 1 {
                    asm.three(VEX_Vpackuswb_xmm_xmm_xmmm128, xmm(value), xmm(value), xmm(value));
                    asm.write(VEX_Vmovq_xmmm64_xmm, to, xmm(value));
                } else {
                    asm.write(VEX_Vmovdqu_xmmm128_xmm, to, xmm(value));
                }
            }
        }
    }
}

/// Reads an element into a general register.
fn extend(narrow: Narrow) -> Code {
    match (narrow.bytes, narrow.signed) {
        (1, false) => Movzx_r32_rm8,
        (1, true) => Movsx_r32_rm8,
        (_, false) => Movzx_r32_rm16,
        (_, true) => Movsx_r32_rm16,
    }
}
