//! Marked lanes, which the host's extensions represent differently, and operations that need not know how.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};

use crate::asm::{Arg, Asm, Label, When, mask};
use crate::host::{Host, V};

/// Where marks are: in a mask register of AVX-512, or as ones and zeros in a vector register of AVX2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marks {
    pub(crate) vector: u8,
    pub(crate) mask: u8,
}

impl Asm {
    /// An operation on two vectors.
    pub(crate) fn op(&mut self, v: V, to: u8, a: u8, b: Arg) {
        let code = self.host.code(v);
        self.vector3(code, to, a, b);
    }

    /// An operation on a vector and a constant in all lanes.
    pub(crate) fn with(&mut self, v: V, to: u8, a: u8, constant: u32) {
        let constant = self.literal(constant);
        self.op(v, to, a, constant);
    }

    /// A shift by a constant.
    pub(crate) fn shift(&mut self, v: V, to: u8, a: u8, by: u8) {
        let code = self.host.code(v);
        self.vector2i(code, to, Arg::Register(a), by);
    }

    /// Zero in all lanes.
    pub(crate) fn zero(&mut self, to: u8) {
        self.op(V::Xor, to, to, Arg::Register(to));
    }

    /// Marks the lanes for which a comparison of integers holds.
    pub(crate) fn mark(&mut self, v: V, marks: Marks, a: u8, b: Arg) {
        let code = self.host.code(v);
        match self.host {
            Host::Avx2 => self.vector3(code, marks.vector, a, b),
            Host::Avx512 => self.test(code, marks.mask, a, b),
        }
    }

    /// Marks the lanes in which one of two f32 is a NaN.
    pub(crate) fn mark_unordered(&mut self, marks: Marks, a: u8, b: Arg) {
        const UNORDERED: u8 = 3;
        let code = self.host.code(V::CompareF32);
        match self.host {
            Host::Avx2 => self.vector3i(code, marks.vector, a, b, UNORDERED),
            Host::Avx512 => self.compare(code, marks.mask, a, b, UNORDERED),
        }
    }

    /// Marks all lanes.
    pub(crate) fn mark_all(&mut self, marks: Marks) {
        match self.host {
            Host::Avx2 => {
                let all = marks.vector;
                self.vector3(VEX_Vpcmpeqd_ymm_ymm_ymmm256, all, all, Arg::Register(all));
            }
            Host::Avx512 => {
                let all = mask(marks.mask);
                self.three(VEX_Kxnorw_kr_kr_kr, all, all, all);
            }
        }
    }

    /// Marks the lanes whose bits are set in memory, at the first of them.
    pub(crate) fn mark_bits(&mut self, marks: Marks, from: MemoryOperand) {
        match self.host {
            Host::Avx2 => {
                let to = marks.vector;
                let bits = Arg::Memory(self.literal_lanes(std::array::from_fn(|lane| 1 << (lane % 8))));
                self.vector2(VEX_Vpbroadcastb_ymm_xmmm8, to, Arg::Memory(from));
                self.vector3(VEX_Vpand_ymm_ymm_ymmm256, to, to, bits);
                self.vector3(VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, bits);
            }
            Host::Avx512 => self.load(VEX_Kmovw_kr_km16, mask(marks.mask), from),
        }
    }

    /// Combines marks with others.
    pub(crate) fn combine(&mut self, v: V, marks: Marks, others: Marks) {
        let code = self.host.code(v);
        match self.host {
            Host::Avx2 => self.vector3(code, marks.vector, marks.vector, Arg::Register(others.vector)),
            Host::Avx512 => self.three(code, mask(marks.mask), mask(marks.mask), mask(others.mask)),
        }
    }

    /// One value where marked, and another elsewhere.
    pub(crate) fn select(&mut self, to: u8, marks: Marks, yes: Arg, no: u8) {
        let code = self.host.code(V::Select);
        match self.host {
            Host::Avx2 => self.vector4(code, to, no, yes, marks.vector),
            Host::Avx512 => self.vector3k(code, to, no, yes, marks.mask),
        }
    }

    /// Jumps unless all lanes are marked. Overwrites ECX.
    pub(crate) fn jump_unless_all(&mut self, marks: Marks, to: Label) {
        match self.host {
            Host::Avx2 => {
                self.two(VEX_Vmovmskps_r32_ymm, Register::ECX, self.vector(marks.vector));
                self.imm(Cmp_rm32_imm32, Register::ECX, 0xff);
                self.jump_if(When::NotEqual, to);
            }
            Host::Avx512 => {
                self.two(VEX_Kortestw_kr_kr, mask(marks.mask), mask(marks.mask));
                self.jump_if(When::AboveOrEqual, to);
            }
        }
    }
}
