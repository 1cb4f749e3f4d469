//! Subroutines for functions that the reference engine computes in f64: the same steps, for the lower half of
//! a vector's lanes and then for the upper half.

use iced_x86::Code::*;
use iced_x86::Register;

use crate::asm::{Arg, Asm, Label, at, xmm};
use crate::compile::Compiler;
use crate::host::{Host, V};

/// The subroutines that are called.
#[derive(Default, Debug)]
pub(crate) struct Functions(Vec<(V, Label)>);

/// The registers that subroutines use: they save them.
const SAVED: u8 = 8;
/// The coefficients of 2^x for |x| <= 1/2, lowest power first: those of the reference engine.
const POWERS: [f64; 8] = [
    0.999_999_999_961_682,
    0.693_147_180_728_445_6,
    0.240_226_511_981_572_1,
    0.055_504_103_534_532_084,
    0.009_618_027_253_711_37,
    0.001_333_392_255_907_752_7,
    0.000_154_692_911_308_010_6,
    0.000_015_201_922_641_975_562,
];

/// What emits an operation that is a function, with its argument and its result in the first scratch
/// register.
pub(crate) fn body(v: V) -> Option<fn(&mut Asm)> {
    Some(match v {
        V::Exp2 => Asm::exp2,
        V::ReciprocalRoot => Asm::reciprocal_root,
        _ => return None,
    })
}

impl Compiler<'_> {
    /// Calls the function that an operation is. Its argument and its result are in the first scratch
    /// register, and all others stay.
    pub(crate) fn call_function(&mut self, function: V) {
        let known = self.functions.0.iter().find(|(known, _)| *known == function);
        let label = match known {
            Some((_, label)) => *label,
            None => {
                let label = self.asm.label();
                self.functions.0.push((function, label));
                label
            }
        };
        self.asm.call(label);
    }

    /// Emits the functions that were called.
    pub(crate) fn emit_functions(&mut self) {
        for (function, label) in std::mem::take(&mut self.functions).0 {
            self.asm.place(label);
            let asm = &mut self.asm;
            asm.imm(Sub_rm64_imm32, Register::RSP, 64 * i32::from(SAVED));
            for register in 0..SAVED {
                asm.store(at(Register::RSP, 64 * i32::from(register)), register);
            }
            if let Some(body) = body(function) {
                body(asm);
            }
            for register in 0..SAVED {
                asm.fetch(register, at(Register::RSP, 64 * i32::from(register)));
            }
            asm.imm(Add_rm64_imm32, Register::RSP, 64 * i32::from(SAVED));
            asm.bare(Retnq);
        }
    }
}

/// Operations on f64.
impl Asm {
    /// A register of half a vector.
    fn half(&self, number: u8) -> Register {
        match self.host {
            Host::Avx2 => xmm(number),
            Host::Avx512 => Register::YMM0 + u32::from(number),
        }
    }

    /// An f64 in all lanes.
    fn double(&mut self, value: f64) -> Arg {
        let bits = value.to_bits();
        let lanes = std::array::from_fn(|lane| if lane % 2 == 0 { bits as u32 } else { (bits >> 32) as u32 });
        Arg::Memory(self.literal_lanes(lanes))
    }

    fn set_double(&mut self, to: u8, value: f64) {
        if let Arg::Memory(from) = self.double(value) {
            self.fetch(to, from);
        }
    }

    /// The lower or the upper half of a vector.
    fn take_half(&mut self, to: u8, from: u8, upper: bool) {
        let half = self.half(to);
        let code = self.pick(VEX_Vextracti128_xmmm128_ymm_imm8, EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8);
        self.two_imm(code, half, self.vector(from), u32::from(upper));
    }

    /// Half of a vector of f32 as f64.
    fn widen_half(&mut self, to: u8, from: u8, upper: bool) {
        self.take_half(to, from, upper);
        let code = self.pick(VEX_Vcvtps2pd_ymm_xmmm128, EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae);
        self.two(code, self.vector(to), self.half(to));
    }

    /// f64 as f32, in half of a vector, whose other half stays if this is the upper one.
    fn narrow_half(&mut self, to: u8, from: u8, upper: bool) {
        let code = self.pick(VEX_Vcvtpd2ps_xmm_ymmm256, EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er);
        let half = self.half(if upper { from } else { to });
        self.two(code, half, self.vector(from));
        if upper {
            let code =
                self.pick(VEX_Vinserti128_ymm_ymm_xmmm128_imm8, EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8);
            self.three_imm(code, self.vector(to), self.vector(to), half, 1);
        }
    }

    fn mul_double(&mut self, to: u8, a: u8, b: u8) {
        let code = self.pick(VEX_Vmulpd_ymm_ymm_ymmm256, EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er);
        self.vector3(code, to, a, Arg::Register(b));
    }

    /// `to = to * b + c`
    fn fma_double(&mut self, to: u8, b: u8, c: Arg) {
        let code = self.pick(VEX_Vfmadd213pd_ymm_ymm_ymmm256, EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er);
        self.vector3(code, to, b, c);
    }

    /// `high * x + low`
    fn line(&mut self, to: u8, x: u8, low: f64, high: f64) {
        self.set_double(to, high);
        let low = self.double(low);
        self.fma_double(to, x, low);
    }

    fn exp2(&mut self) {
        let value = self.host.scratch()[0];
        let [whole, rest, x, power, square, low, high, line] = [0, 1, 2, 3, 4, 5, 6, 7];
        // Beyond these powers, results are zero or infinite.
        self.with(V::MaxF32, value, value, (-200f32).to_bits());
        self.with(V::MinF32, value, value, 200f32.to_bits());
        let round = self.host.code(V::Round);
        self.vector2i(round, whole, Arg::Register(value), 8);
        self.op(V::SubF32, rest, value, Arg::Register(whole));
        let convert = self.host.code(V::SignedOfF32);
        self.vector2(convert, whole, Arg::Register(whole));
        let [a, b, c, d, e, f, g, h] = POWERS;
        for upper in [false, true] {
            self.widen_half(x, rest, upper);
            // 2^whole.
            self.take_half(power, whole, upper);
            let extend = self.pick(VEX_Vpmovsxdq_ymm_xmmm128, EVEX_Vpmovsxdq_zmm_k1z_ymmm256);
            self.two(extend, self.vector(power), self.half(power));
            let bias = self.literal_lanes(std::array::from_fn(|lane| if lane % 2 == 0 { 1023 } else { 0 }));
            let add = self.pick(VEX_Vpaddq_ymm_ymm_ymmm256, EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64);
            self.vector3(add, power, power, Arg::Memory(bias));
            let shift = self.pick(VEX_Vpsllq_ymm_ymm_imm8, EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8);
            self.vector2i(shift, power, Arg::Register(power), 52);
            self.mul_double(square, x, x);
            self.line(low, x, c, d);
            self.line(line, x, a, b);
            self.fma_double(low, square, Arg::Register(line));
            self.line(high, x, g, h);
            self.line(line, x, e, f);
            self.fma_double(high, square, Arg::Register(line));
            self.mul_double(square, square, square);
            self.fma_double(high, square, Arg::Register(low));
            self.mul_double(high, high, power);
            self.narrow_half(value, high, upper);
        }
    }

    fn reciprocal_root(&mut self) {
        let value = self.host.scratch()[0];
        let (from, x, one) = (0, 1, 2);
        self.copy(from, value);
        let root = self.pick(VEX_Vsqrtpd_ymm_ymmm256, EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er);
        let divide = self.pick(VEX_Vdivpd_ymm_ymm_ymmm256, EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er);
        self.set_double(one, 1.0);
        for upper in [false, true] {
            self.widen_half(x, from, upper);
            self.vector2(root, x, Arg::Register(x));
            self.vector3(divide, x, one, Arg::Register(x));
            self.narrow_half(value, x, upper);
        }
    }
}
