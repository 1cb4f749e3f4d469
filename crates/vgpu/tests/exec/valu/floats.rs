//! Floating-point operations: f16, f64, functions, conversions, division steps.

use super::*;
use half::f16;

fn h(bits: u64) -> f16 {
    f16::from_bits(bits as u16)
}

/// Another test checks the bits of NaNs.
fn quiet16(value: f16) -> u64 {
    u64::from(if value.is_nan() { 0x7e00 } else { value.to_bits() })
}

/// The exact sum of products of f16, a multiple of 2^-48, rounded to f16, to nearest even.
fn exact16(a: f16, b: f16, c: f16) -> f16 {
    let (x, y, z) = (a.to_f64(), b.to_f64(), c.to_f64());
    if !(x.is_finite() && y.is_finite() && z.is_finite()) || x * y == 0.0 || z == 0.0 {
        return f16::from_f64(x * y + z);
    }
    let units = |v: f64| (v * f64::from(1 << 24)) as i128;
    let sum = units(x) * units(y) + (units(z) << 24);
    if sum == 0 {
        return f16::from_f64(x * y + z);
    }
    let size = sum.unsigned_abs();
    let top = 127 - size.leading_zeros();
    let unit = top.saturating_sub(10).max(24);
    let (kept, rest, middle) = (size >> unit, size & ((1 << unit) - 1), 1 << (unit - 1));
    let kept = kept + u128::from(rest > middle || rest == middle && kept & 1 == 1);
    let value = kept as f64 * 2f64.powi(unit as i32 - 48);
    f16::from_f64(if sum < 0 { -value } else { value })
}

/// All NaN results are treated as equal.
fn check16(op: Op, model: impl Fn([f16; 3]) -> f16) {
    for seed in 0..4 {
        let case = Case::new(op, Format::Vop3);
        let fill = halves(op as u64 + 1000 * seed);
        let expected = |s: [u64; 3], old: u64| old & 0xffff_0000 | quiet16(model(s.map(h)));
        for lanes in [32, 64] {
            for &level in Level::available() {
                let bench = case.run(level, lanes, u64::MAX, PLAIN, &fill);
                for lane in 0..lanes {
                    let s = std::array::from_fn(|i| u64::from(fill(4 + 2 * i, lane)));
                    let got = u64::from(bench.get(0, lane));
                    let got = got & 0xffff_0000 | quiet16(h(got));
                    let expected = expected(s, u64::from(fill(0, lane)));
                    assert_eq!(got, expected, "{op:?} {level:?} {s:x?}: {got:#x}, not {expected:#x}");
                }
            }
        }
    }
}

#[test]
fn f16_arithmetic_is_exact() {
    check16(Op::VAddF16, |[a, b, _]| f16::from_f64(a.to_f64() + b.to_f64()));
    check16(Op::VSubF16, |[a, b, _]| f16::from_f64(a.to_f64() - b.to_f64()));
    check16(Op::VMulF16, |[a, b, _]| f16::from_f64(a.to_f64() * b.to_f64()));
    check16(Op::VFmaF16, |[a, b, c]| exact16(a, b, c));
    check16(Op::VSqrtF16, |[a, ..]| f16::from_f64(a.to_f64().sqrt()));
    check16(Op::VRcpF16, |[a, ..]| f16::from_f64(1.0 / a.to_f64()));
    check16(Op::VFloorF16, |[a, ..]| f16::from_f64(a.to_f64().floor()));
    check16(Op::VRndneF16, |[a, ..]| f16::from_f64(a.to_f64().round_ties_even()));
    check16(
        Op::VMinF16,
        |[a, b, _]| {
            if a == b { if a.is_sign_negative() { a } else { b } } else { a.min(b) }
        },
    );
    check16(Op::VMax3F16, |[a, b, c]| {
        let max = |a: f16, b: f16| if a == b { if a.is_sign_negative() { b } else { a } } else { a.max(b) };
        max(max(a, b), c)
    });
}

#[test]
fn packed_f16_applies_signs_per_half() {
    let mods = Modifiers { op_sel_hi: 7, neg: 1, neg_hi: 2, ..Modifiers::default() };
    for &level in Level::available() {
        let fill = halves(77);
        let bench = Case::new(Op::VPkFmaF16, Format::Vop3p).mods(mods).run(level, 32, u64::MAX, PLAIN, &fill);
        for lane in 0..32 {
            let [a, b, c] = [4, 6, 8].map(|register| u64::from(fill(register, lane)));
            let low = exact16(-h(a), h(b), h(c));
            let high = exact16(h(a >> 16), -h(b >> 16), h(c >> 16));
            let got = u64::from(bench.get(0, lane));
            assert_eq!([quiet16(h(got)), quiet16(h(got >> 16))], [quiet16(low), quiet16(high)]);
        }
    }
}

fn check64(op: Op, model: impl Fn([f64; 3]) -> f64) {
    let case = Case::new(op, Format::Vop3);
    for seed in 0..4 {
        let fill = doubles(op as u64 + 1000 * seed);
        for &level in Level::available() {
            let bench = case.run(level, 64, u64::MAX, PLAIN, &fill);
            for lane in 0..64 {
                let wide = |r: usize, bench: &dyn Fn(usize) -> u32| {
                    f64::from_bits(u64::from(bench(r)) | u64::from(bench(r + 1)) << 32)
                };
                let s = [4, 6, 8].map(|register| wide(register, &|r| fill(r, lane)));
                let (got, expected) = (wide(0, &|r| bench.get(r, lane)), model(s));
                assert!(
                    got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                    "{op:?} {level:?} {s:?}: {got:?}, not {expected:?}"
                );
            }
        }
    }
}

#[test]
fn f64_arithmetic_is_that_of_the_host() {
    check64(Op::VAddF64, |[a, b, _]| a + b);
    check64(Op::VMulF64, |[a, b, _]| a * b);
    check64(Op::VFmaF64, |[a, b, c]| a.mul_add(b, c));
    check64(Op::VRcpF64, |[a, ..]| 1.0 / a);
    check64(Op::VSqrtF64, |[a, ..]| a.sqrt());
    check64(Op::VTruncF64, |[a, ..]| a.trunc());
    check64(Op::VCeilF64, |[a, ..]| a.ceil());
    check64(
        Op::VMinF64,
        |[a, b, _]| if a == b { if a.is_sign_negative() { a } else { b } } else { a.min(b) },
    );
    check64(
        Op::VMaxF64,
        |[a, b, _]| if a == b { if a.is_sign_negative() { b } else { a } } else { a.max(b) },
    );
}

/// The distance of two numbers in units of the last place.
fn ulps(a: f32, b: f32) -> u32 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    let order = |x: f32| (x.to_bits() as i32) ^ ((x.to_bits() as i32 >> 31) & 0x7fff_ffff);
    order(a).abs_diff(order(b))
}

#[test]
fn functions_are_right_to_the_last_place() {
    let check = |op, model: &dyn Fn(f64) -> f64, least: f32, most: f32| {
        for &level in Level::available() {
            for seed in 0..16u64 {
                let numbers = numbers(seed);
                let fill = |register: usize, lane: usize| {
                    let x = f32::from_bits(numbers(register, lane));
                    let scaled =
                        least + (numbers(register + 1, lane) >> 8) as f32 / 16_777_216.0 * (most - least);
                    if seed == 0 { x } else { scaled }.to_bits()
                };
                let bench = Case::new(op, Format::Vop1).run(level, 64, u64::MAX, PLAIN, fill);
                for lane in 0..64 {
                    let x = f32::from_bits(fill(4, lane));
                    let x = if x.is_subnormal() { 0.0f32.copysign(x) } else { x };
                    let expected = model(f64::from(x)) as f32;
                    let expected = if expected.is_subnormal() { 0.0 } else { expected };
                    let got = f32::from_bits(bench.get(0, lane));
                    assert!(ulps(got, expected) <= 1, "{op:?} {level:?} {x:e}: {got:e}, not {expected:e}");
                }
            }
        }
    };
    check(Op::VExpF32, &f64::exp2, -130.0, 130.0);
    check(Op::VLogF32, &f64::log2, 0.0, 4.0);
    check(Op::VRsqF32, &|x| 1.0 / x.sqrt(), 0.0, 100.0);
}

#[test]
fn sines_take_turns() {
    for &level in Level::available() {
        let numbers = numbers(3);
        let fill = |register: usize, lane: usize| {
            ((numbers(register, lane) >> 8) as f32 / 65_536.0 - 128.0).to_bits()
        };
        let sine = Case::new(Op::VSinF32, Format::Vop1).run(level, 64, u64::MAX, PLAIN, fill);
        let cosine = Case::new(Op::VCosF32, Format::Vop1).run(level, 64, u64::MAX, PLAIN, fill);
        for lane in 0..64 {
            let x = f64::from(f32::from_bits(fill(4, lane)));
            let turn = (x - x.round_ties_even()) * std::f64::consts::TAU;
            assert!((f64::from(f32::from_bits(sine.get(0, lane))) - turn.sin()).abs() < 1e-7);
            assert!((f64::from(f32::from_bits(cosine.get(0, lane))) - turn.cos()).abs() < 1e-7);
        }
    }
}

/// One step of a sequence; value n is in register v(2n).
fn step(bench: &mut Bench, level: Level, op: Op, dst: u8, src: &[(u8, bool)], flag: Option<u8>) {
    let operands: Vec<Operand> = src
        .iter()
        .map(|(register, _)| if *register == 255 { Operand::Float(242) } else { Operand::Vgpr(*register) })
        .collect();
    let mut inst = inst(op, Format::Vop3, Operand::Vgpr(dst), &operands);
    inst.mods.neg = src.iter().enumerate().fold(0, |all, (i, (_, neg))| all | u8::from(*neg) << i);
    if let Some(slot) = flag {
        if op.signature().sdst.exists() {
            inst.sdst = Operand::Sgpr(slot);
        } else {
            inst.src[3] = Operand::Sgpr(slot);
        }
    }
    assert_eq!(bench.run(&inst, level), Flow::Next);
}

/// The sequence that compilers generate for `n / d`: its steps give the correctly rounded quotient for all
/// numbers.
#[test]
fn division_steps_give_the_rounded_quotient() {
    for &level in Level::available() {
        for seed in 0..40 {
            let mut bench = plain(64);
            bench.exec(u64::MAX);
            let numbers = numbers(seed);
            for lane in 0..64 {
                bench.set(0, lane, numbers(0, lane));
                bench.set(1, lane, numbers(1, lane));
            }
            let (n, d) = (0, 1);
            let mut run = |op, dst, src: &[(u8, bool)], flag| step(&mut bench, level, op, dst, src, flag);
            run(Op::VDivScaleF32, 2, &[(d, false), (d, false), (n, false)], Some(30));
            run(Op::VDivScaleF32, 3, &[(n, false), (d, false), (n, false)], Some(32));
            run(Op::VRcpF32, 4, &[(2, false)], None);
            run(Op::VFmaF32, 5, &[(2, true), (4, false), (255, false)], None);
            run(Op::VFmaF32, 6, &[(5, false), (4, false), (4, false)], None);
            run(Op::VMulF32, 7, &[(3, false), (6, false)], None);
            run(Op::VFmaF32, 8, &[(2, true), (7, false), (3, false)], None);
            run(Op::VFmaF32, 9, &[(8, false), (6, false), (7, false)], None);
            run(Op::VFmaF32, 10, &[(2, true), (9, false), (3, false)], None);
            run(Op::VDivFmasF32, 11, &[(10, false), (6, false), (9, false)], Some(32));
            run(Op::VDivFixupF32, 12, &[(11, false), (d, false), (n, false)], None);
            for lane in 0..64 {
                let [n, d, got] = [0, 1, 12].map(|register| f32::from_bits(bench.get(register, lane)));
                let expected = n / d;
                assert!(
                    got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                    "{level:?} {n:e} / {d:e}: {got:e}, not {expected:e}"
                );
            }
        }
    }
}

#[test]
fn division_steps_of_f64_give_the_rounded_quotient() {
    for &level in Level::available() {
        for seed in 0..20 {
            let mut bench = plain(32);
            bench.exec(u64::MAX);
            let fill = doubles(seed);
            for lane in 0..32 {
                for register in 0..4 {
                    bench.set(register, lane, fill(register, lane));
                }
            }
            let (n, d) = (0, 2);
            let mut run = |op, dst, src: &[(u8, bool)], flag| step(&mut bench, level, op, dst, src, flag);
            run(Op::VDivScaleF64, 4, &[(d, false), (d, false), (n, false)], Some(30));
            run(Op::VDivScaleF64, 6, &[(n, false), (d, false), (n, false)], Some(32));
            run(Op::VRcpF64, 8, &[(4, false)], None);
            run(Op::VFmaF64, 10, &[(4, true), (8, false), (255, false)], None);
            run(Op::VFmaF64, 8, &[(8, false), (10, false), (8, false)], None);
            run(Op::VFmaF64, 10, &[(4, true), (8, false), (255, false)], None);
            run(Op::VFmaF64, 8, &[(8, false), (10, false), (8, false)], None);
            run(Op::VMulF64, 10, &[(6, false), (8, false)], None);
            run(Op::VFmaF64, 12, &[(4, true), (10, false), (6, false)], None);
            run(Op::VDivFmasF64, 12, &[(12, false), (8, false), (10, false)], Some(32));
            run(Op::VDivFixupF64, 12, &[(12, false), (d, false), (n, false)], None);
            for lane in 0..32 {
                let [n, d, got] = [0, 2, 12].map(|r| {
                    f64::from_bits(u64::from(bench.get(r, lane)) | u64::from(bench.get(r + 1, lane)) << 32)
                });
                let expected = n / d;
                assert!(
                    got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                    "{level:?} {n:e} / {d:e}: {got:e}, not {expected:e}"
                );
            }
        }
    }
}

#[test]
fn conversions_saturate() {
    let case = |op| Case::new(op, Format::Vop3);
    let f = |v: u64| f32::from_bits(v as u32);
    case(Op::VCvtI32F64).check(PLAIN, doubles(1), |[a, ..], _| u64::from(f64::from_bits(a) as i32 as u32));
    case(Op::VCvtU32F64).check(PLAIN, doubles(2), |[a, ..], _| u64::from(f64::from_bits(a) as u32));
    case(Op::VCvtF64I32).check(PLAIN, numbers(3), |[a, ..], _| f64::from(a as u32 as i32).to_bits());
    case(Op::VCvtF64U32).check(PLAIN, numbers(4), |[a, ..], _| f64::from(a as u32).to_bits());
    case(Op::VCvtFloorI32F32).check(PLAIN, numbers(5), |[a, ..], _| u64::from(f(a).floor() as i32 as u32));
    case(Op::VCvtPkU16F32)
        .check(PLAIN, numbers(6), |[a, b, _], _| u64::from(f(a) as u16) | u64::from(f(b) as u16) << 16);
    case(Op::VCvtPkI16I32).check(PLAIN, numbers(7), |[a, b, _], _| {
        let word = |v: u64| u64::from((v as i32).clamp(-0x8000, 0x7fff) as u16);
        word(a) | word(b) << 16
    });
    case(Op::VCvtPkU8F32).check(PLAIN, numbers(8), |[a, b, c], _| {
        let mut bytes = (c as u32).to_le_bytes();
        bytes[b as usize & 3] = f(a).round_ties_even() as u8;
        u64::from(u32::from_le_bytes(bytes))
    });
    case(Op::VFrexpExpI32F64).check(PLAIN, doubles(9), |[a, ..], _| {
        let x = f64::from_bits(a);
        let exponent = if x == 0.0 || !x.is_finite() { 0 } else { x.abs().log2().floor() as i32 + 1 };
        // log2 of a number just below a power of two may round up to the exponent of that power.
        let exponent = if x != 0.0 && x.is_finite() && x.abs() < 2f64.powi(exponent - 1) {
            exponent - 1
        } else {
            exponent
        };
        u64::from(exponent as u32)
    });
}

#[test]
fn two_over_pi_is_found_in_segments() {
    // For arguments below 2^54, segment 0 is the fraction itself.
    let fill = |register: usize, lane: usize| match register {
        5 => 0x3ff0_0000,
        6 => lane as u32 % 3,
        _ => 0,
    };
    for &level in Level::available() {
        let bench = Case::new(Op::VTrigPreopF64, Format::Vop3).run(level, 32, u64::MAX, PLAIN, fill);
        let value =
            |lane| f64::from_bits(u64::from(bench.get(0, lane)) | u64::from(bench.get(1, lane)) << 32);
        let sum = value(0) + (value(1) + value(2));
        assert!(value(0) > value(1) && value(1) > value(2) && value(2) > 0.0);
        assert_eq!(sum, std::f64::consts::FRAC_2_PI);
    }
}

/// The results of gfx1201 for all f16, according to AMD's emulator rocjitsu: a hash (FNV-1a, 16 bits at a
/// time) for each output multiplier, with FP16_OVFL off and on, keeping subnormal sources. Then the hashes
/// without an output multiplier, with subnormal results flushed.
#[test]
fn powers_and_logarithms_of_all_f16_are_those_of_a_device() {
    let devices = [
        (
            Op::VExpF16,
            [
                [
                    0x7a49_d817_5530_c589u64,
                    0x0b72_f56e_5a6d_7814,
                    0xe4ea_4ced_067c_3750,
                    0xcfcd_3f09_5731_76b0,
                ],
                [0x36d6_4dcb_7d64_d589, 0xe391_1d20_7367_6194, 0xeb9c_191e_40f9_2250, 0xb315_2a70_f19f_46b0],
            ],
            [0xa9b6_8cfe_7b83_72d8, 0xbdc5_546b_38d1_82d8],
        ),
        (
            Op::VLogF16,
            [
                [0xab56_1022_e31b_a143, 0xaaf4_1f23_8807_1943, 0x6eb7_cb2e_b667_6143, 0x04a7_a440_7b6b_6943],
                [0xab21_f15c_2191_eb2b, 0x5f44_fd3d_7afc_cb2b, 0xa835_61af_3a08_4b2b, 0xf19c_f0fb_96af_3b2b],
            ],
            [0xab56_1022_e31b_a143, 0xab21_f15c_2191_eb2b],
        ),
    ];
    for (op, kept, flushed) in devices {
        for (overflow, (kept, flushed)) in kept.into_iter().zip(flushed).enumerate() {
            let all = kept.into_iter().enumerate().map(|(omod, hash)| (omod as u8, 0xc0, hash));
            for (omod, denorm, expected) in all.chain([(0, 0x40, flushed)]) {
                let mut case = Case::new(op, Format::Vop3).mods(Modifiers { omod, ..Modifiers::default() });
                case.generation = Generation::Gfx12;
                for &level in Level::available() {
                    let mut hash = 0xcbf2_9ce4_8422_2325u64;
                    for first in (0..1 << 16).step_by(64) {
                        let mode = denorm | (overflow as u32) << 23;
                        let bench = case.run(level, 64, u64::MAX, mode, |_, lane| first + lane as u32);
                        for lane in 0..64 {
                            hash =
                                (hash ^ u64::from(bench.get(0, lane) & 0xffff)).wrapping_mul(0x100_0000_01b3);
                        }
                    }
                    assert_eq!(hash, expected, "{op:?} {level:?} {overflow} {omod} {denorm:#x}");
                }
            }
        }
    }
}
