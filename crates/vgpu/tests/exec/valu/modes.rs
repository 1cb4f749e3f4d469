//! The MODE register: rounding, subnormals, clamping of NaN, IEEE's rules for signalling NaNs; and which NaN
//! operations return.

use super::*;
use vgpu::exec::float::soft::{Env, F16, F32, F64, Format as Float};

/// MODE with rounding modes for f32 and for f64 and f16, and subnormals enabled.
fn mode(single: u32, double: u32) -> u32 {
    0x1f0 | single | double << 2
}

#[test]
fn arithmetic_rounds_as_mode_says() {
    for round in 0..4u8 {
        // Signalling NaNs stay signalling.
        let env = Env { round, quiet: false, ..Env::IEEE };
        let check = |op, float: Float, model: &dyn Fn(Float, [u64; 3]) -> u64| {
            let fill = |register: usize, lane: usize| match float {
                F16 => halves(op as u64)(register, lane),
                F64 => doubles(op as u64)(register, lane),
                _ => numbers(op as u64)(register, lane),
            };
            let mode = if float == F32 { mode(u32::from(round), 0) } else { mode(0, u32::from(round)) };
            Case::new(op, Format::Vop3).check(mode, fill, |s, old| {
                let result = model(float, if float == F16 { s.map(|x| x & 0xffff) } else { s });
                if float == F16 { old & 0xffff_0000 | result } else { result }
            });
        };
        check(Op::VAddF32, F32, &|f, [a, b, _]| f.add(a, b, env));
        check(Op::VMulF32, F32, &|f, [a, b, _]| f.mul(a, b, env));
        check(Op::VFmaF32, F32, &|f, [a, b, c]| f.fma(a, b, c, env));
        check(Op::VAddF64, F64, &|f, [a, b, _]| f.add(a, b, env));
        check(Op::VMulF64, F64, &|f, [a, b, _]| f.mul(a, b, env));
        check(Op::VFmaF64, F64, &|f, [a, b, c]| f.fma(a, b, c, env));
        check(Op::VCvtF32U32, F32, &|f, [a, ..]| f.integer(i128::from(a), env));
        if round != 0 {
            // With rounding to nearest even, NaN payloads are computed differently; see below.
            check(Op::VFmaF16, F16, &|f, [a, b, c]| f.fma(a, b, c, env));
        }
    }
}

#[test]
fn subnormals_are_flushed_where_mode_says() {
    let env = Env { quiet: false, ..Env::IEEE.flushing() };
    let flush_single = 0x1c0;
    let check = |op, model: &dyn Fn([u64; 3]) -> u64| {
        let tiny = |register: usize, lane: usize| {
            let bits = numbers(op as u64)(register, lane);
            if lane.is_multiple_of(2) { bits & 0x80ff_ffff } else { bits }
        };
        Case::new(op, Format::Vop3).check(flush_single, tiny, |s, _| model(s));
    };
    check(Op::VAddF32, &|[a, b, _]| F32.add(a, b, env));
    check(Op::VMulF32, &|[a, b, _]| F32.mul(a, b, env));
    check(Op::VFmaF32, &|[a, b, c]| F32.fma(a, b, c, env));
    // Bits that are only moved are unchanged.
    check(Op::VMovB32, &|[a, ..]| a);
}

#[test]
fn a_nan_result_is_the_first_nan_source() {
    let values = [0x7f80_0001u32, 0xffc0_1234, 0x3f80_0000];
    let quiet = [0x7fc0_0001u32, 0xffc0_1234];
    for order in [[0, 1, 2], [2, 0, 1], [2, 1, 0], [1, 0, 2], [2, 2, 1]] {
        let fill = |register: usize, _: usize| match register {
            4 | 6 | 8 => values[order[(register - 4) / 2]],
            _ => 0,
        };
        let first = order.iter().find(|i| **i < 2).map_or(0, |i| *i);
        for &level in Level::available() {
            // Only IEEE's rules make it quiet.
            for (mode, expected) in [(PLAIN | 0x200, quiet), (PLAIN, [values[0], values[1]])] {
                let bench = Case::new(Op::VFmaF32, Format::Vop3).run(level, 32, u64::MAX, mode, fill);
                assert_eq!(bench.get(0, 3), expected[first], "{level:?} {order:?} {mode:#x}");
            }
        }
    }
    // An undefined result is the negative quiet NaN.
    let fill = |register: usize, _: usize| if register == 4 { 0x7f80_0000 } else { 0xff80_0000 };
    for &level in Level::available() {
        let bench = Case::new(Op::VAddF32, Format::Vop3).run(level, 32, u64::MAX, PLAIN, fill);
        assert_eq!(bench.get(0, 0), 0xffc0_0000);
    }
}

#[test]
fn ieee_mode_prefers_signalling_nans() {
    let signalling = 0x7f80_0005u32;
    let fill = |register: usize, _: usize| if register == 6 { signalling } else { 0x3f80_0000 };
    for &level in Level::available() {
        let with = |mode| Case::new(Op::VMaxF32, Format::Vop3).run(level, 64, u64::MAX, mode, fill).get(0, 1);
        assert_eq!(with(0x1f0), 0x3f80_0000);
        assert_eq!(with(0x3f0), signalling | 0x40_0000);
        let fill = |register: usize, _: usize| if register == 6 { 0x7c05 } else { 0x3c00 };
        let with = |mode| {
            Case::new(Op::VMaxF16, Format::Vop3).run(level, 64, u64::MAX, mode, fill).get(0, 1) & 0xffff
        };
        assert_eq!(with(0x1f0), 0x3c00);
        assert_eq!(with(0x3f0), 0x7e05);
    }
}

#[test]
fn clamping_clears_nans_unless_mode_says_no() {
    let mods = Modifiers { clamp: true, ..Modifiers::default() };
    let fill = |_: usize, _: usize| 0x7fc0_0000;
    for &level in Level::available() {
        let with = |mode| {
            Case::new(Op::VAddF32, Format::Vop3).mods(mods).run(level, 32, u64::MAX, mode, fill).get(0, 0)
        };
        assert_eq!(with(0x1f0), 0);
        assert_eq!(with(0x0f0), 0x7fc0_0000);
        let with = |mode| {
            let bench =
                Case::new(Op::VAddF64, Format::Vop3)
                    .mods(mods)
                    .run(level, 32, u64::MAX, mode, |r, _| if r % 2 == 1 { 0x7ff8_0000 } else { 0 });
            bench.get(1, 0)
        };
        assert_eq!(with(0x1f0), 0);
        assert_eq!(with(0x0f0), 0x7ff8_0000);
    }
}

#[test]
fn multiply_add_of_old_rounds_twice_and_flushes() {
    let env = Env { quiet: false, ..Env::IEEE.flushing() };
    Case::new(Op::VMadF32, Format::Vop3)
        .check(PLAIN, numbers(8), |[a, b, c], _| F32.add(F32.mul(a, b, env), c, env));
    Case::new(Op::VMulDx9ZeroF32, Format::Vop3).check(PLAIN, numbers(9), |[a, b, _], _| {
        if a << 33 == 0 || b << 33 == 0 { 0 } else { F32.mul(a, b, Env { quiet: false, ..Env::IEEE }) }
    });
}
