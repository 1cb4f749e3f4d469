//! Number formats and functions that Rust has no operator for. Without branches where it matters, so that loops over lanes
//! become vector code.

/// An f16 on its way through arithmetic: held as f32, rounded to f16 when written.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Debug)]
pub(super) struct Half(pub f32);

/// f16 to f32, exactly; signalling NaNs become quiet.
#[inline(always)]
pub(super) fn half_to_f32(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    // moves the exponent's bias, and normalises subnormals
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = if magnitude >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
    let quiet = if magnitude > 0x0f80_0000 { 0x0040_0000 } else { 0 };
    f32::from_bits(scaled | special | quiet | u32::from(half & 0x8000) << 16)
}

/// f32 to f16, to nearest even; NaNs keep the top of their payload and become quiet.
#[inline(always)]
pub(super) fn f32_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let sign = (bits >> 16 & 0x8000) as u16;
    // adding 0.5 aligns a subnormal result's last place with that of f32, whose addition then rounds
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub(0x3800_0000).wrapping_add(0xfff + odd) >> 13;
    let special = if magnitude > 0x7f80_0000 { 0x7e00 | (magnitude >> 13 & 0x3ff) } else { 0x7c00 };
    let result = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let result = if magnitude >= 0x4780_0000 { special } else { result };
    sign | result as u16
}

/// f64 to f32 so that rounding the result to a narrower format equals rounding once: to odd.
#[inline(always)]
pub(super) fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    let error = value - f64::from(nearest);
    let inexact = error != 0.0 && nearest.is_finite();
    // the neighbour towards zero, where rounding went away from it
    let away = nearest != 0.0 && (error < 0.0) == (nearest > 0.0);
    let truncated = bits.wrapping_sub(u32::from(inexact && away));
    f32::from_bits(if inexact { truncated | 1 } else { bits })
}

/// f32 to f16 towards zero.
#[inline(always)]
pub(super) fn f32_to_half_rtz(value: f32) -> u16 {
    let rounded = f32_to_half(value);
    let back = half_to_f32(rounded);
    let away = back.abs() > value.abs() && value.is_finite();
    rounded - u16::from(away)
}

/// The product and sum of f16 values, rounded once.
#[inline(always)]
pub(super) fn half_fma(a: Half, b: Half, c: Half) -> Half {
    Half(round_to_odd(f64::from(a.0).mul_add(f64::from(b.0), f64::from(c.0))))
}

/// The minimum as IEEE 754-2008 `minNum`: a number beats a NaN, -0 is less than +0.
#[inline(always)]
pub(super) fn min32(a: f32, b: f32) -> f32 {
    let less = a < b || (a == b && a.is_sign_negative());
    let number = if less { a } else { b };
    if b.is_nan() {
        a
    } else if a.is_nan() {
        b
    } else {
        number
    }
}

/// The maximum; see [`min32`].
#[inline(always)]
pub(super) fn max32(a: f32, b: f32) -> f32 {
    let greater = a > b || (a == b && b.is_sign_negative());
    let number = if greater { a } else { b };
    if b.is_nan() {
        a
    } else if a.is_nan() {
        b
    } else {
        number
    }
}

/// See [`min32`].
#[inline(always)]
pub(super) fn min64(a: f64, b: f64) -> f64 {
    let less = a < b || (a == b && a.is_sign_negative());
    let number = if less { a } else { b };
    if b.is_nan() {
        a
    } else if a.is_nan() {
        b
    } else {
        number
    }
}

/// See [`min32`].
#[inline(always)]
pub(super) fn max64(a: f64, b: f64) -> f64 {
    let greater = a > b || (a == b && b.is_sign_negative());
    let number = if greater { a } else { b };
    if b.is_nan() {
        a
    } else if a.is_nan() {
        b
    } else {
        number
    }
}

/// The middle of three.
#[inline(always)]
pub(super) fn med32(a: f32, b: f32, c: f32) -> f32 {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min32(min32(a, b), c);
    }
    max32(min32(a, b), min32(max32(a, b), c))
}

/// Zero for subnormal numbers, with their sign.
#[inline(always)]
pub(super) fn flush(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { 0.0f32.copysign(value) } else { value }
}

/// 2^x to within a unit in the last place; subnormal results are flushed.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let clamped = f64::from(x.clamp(-200.0, 200.0));
    let whole = clamped.round_ties_even();
    let r = clamped - whole;
    // the series of e^(r ln 2), |r| <= 1/2
    let mut sum: f64 = 7.054_911_620_801_121e-9;
    for coefficient in [
        1.017_808_600_923_97e-7,
        1.321_548_679_014_431e-6,
        1.525_273_380_405_984e-5,
        1.540_353_039_338_161e-4,
        1.333_355_814_642_844_3e-3,
        9.618_129_107_628_477e-3,
        5.550_410_866_482_158e-2,
        2.402_265_069_591_007e-1,
        std::f64::consts::LN_2,
        1.0,
    ] {
        sum = sum.mul_add(r, coefficient);
    }
    let power = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    let result = (sum * power) as f32;
    let result = if result < f32::MIN_POSITIVE { 0.0 } else { result };
    if x.is_nan() { f32::from_bits(x.to_bits() | 0x0040_0000) } else { result }
}

/// log2(x) to within a unit in the last place; subnormal arguments are taken for zero.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    let bits = f64::from(x).to_bits();
    // the exponent that leaves a mantissa between 1/√2 and √2
    let offset = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = (offset as i64 >> 52) as f64;
    let mantissa = f64::from_bits(bits.wrapping_sub((offset as i64 >> 52 << 52) as u64));
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    // the series of 2 artanh(t) / ln 2
    let mut sum = 0.0;
    for n in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0f64] {
        sum = sum * t2 + 2.0 * std::f64::consts::LOG2_E / n;
    }
    let result = (sum * t + exponent) as f32;
    let result = if x < f32::MIN_POSITIVE { f32::NEG_INFINITY } else { result };
    let result = if x == f32::INFINITY { x } else { result };
    let negative = x <= -f32::MIN_POSITIVE;
    if x.is_nan() {
        f32::from_bits(x.to_bits() | 0x0040_0000)
    } else if negative {
        f32::NAN
    } else {
        result
    }
}

/// sin(2πx) for arguments in revolutions.
#[inline(always)]
pub(super) fn sin_revolutions(x: f64) -> f32 {
    let turn = x - x.round_ties_even();
    // to the quarter turns around zero, where sin(π - a) = sin(a)
    let folded = if turn.abs() > 0.25 { 0.5f64.copysign(turn) - turn } else { turn };
    let a = folded * std::f64::consts::TAU;
    let a2 = a * a;
    let mut sum: f64 = -7.647_163_731_819_816e-13;
    for coefficient in [
        1.605_904_383_682_161_5e-10,
        -2.505_210_838_544_172e-8,
        2.755_731_922_398_589_3e-6,
        -1.984_126_984_126_984e-4,
        8.333_333_333_333_333e-3,
        -1.666_666_666_666_666_6e-1,
        1.0,
    ] {
        sum = sum * a2 + coefficient;
    }
    if x.is_finite() { (sum * a) as f32 } else { f32::NAN }
}

/// The biased exponent field.
#[inline(always)]
pub(super) fn exponent(x: f32) -> i32 {
    (x.to_bits() >> 23 & 0xff) as i32
}

/// `v_div_scale_f32`: the operand `s0`, scaled where the division of `s2` by `s1` would leave the normal numbers, and
/// whether `v_div_fmas` must scale back.
#[inline(always)]
pub(super) fn div_scale32(s0: f32, s1: f32, s2: f32) -> (f32, bool) {
    let up = 18_446_744_073_709_551_616.0;
    let subnormal = |x: f32| x != 0.0 && x.abs() < f32::MIN_POSITIVE;
    if s1 == 0.0 || s2 == 0.0 {
        return (f32::NAN, false);
    }
    let reciprocal = subnormal((1.0 / f64::from(s1)) as f32);
    let quotient = subnormal((f64::from(s2) / f64::from(s1)) as f32) || (s2 / s1 == 0.0);
    if exponent(s2) - exponent(s1) >= 96 {
        (if s0 == s1 { s0 * up } else { s0 }, true)
    } else if subnormal(s1) {
        (s0 * up, false)
    } else if reciprocal && quotient {
        // the vendor's text scales up here, which overflows: only down makes the reciprocal a normal number
        (if s0 == s1 { s0 / up } else { s0 }, true)
    } else if reciprocal {
        (s0 / up, false)
    } else if quotient {
        (if s0 == s2 { s0 * up } else { s0 }, true)
    } else if exponent(s2) <= 23 {
        (s0 * up, false)
    } else {
        (s0, false)
    }
}

/// `v_div_fmas_f32`: the last step of a division, with the scale of `v_div_scale` taken back before the only rounding.
#[inline(always)]
pub(super) fn div_fmas32(a: f32, b: f32, c: f32, scaled: bool) -> f32 {
    let exact = f64::from(a).mul_add(f64::from(b), f64::from(c));
    // a large quotient lacks what the denominator was scaled up by, a small one has what the numerator was scaled up by
    let scale = if exponent(c) > 127 { 64 } else { -64 };
    (exact * power_of_two(if scaled { scale } else { 0 })) as f32
}

/// `v_div_fixup_f32`: the quotient `s0` of `s2` by `s1`, with the special cases put right.
#[inline(always)]
pub(super) fn div_fixup32(s0: f32, s1: f32, s2: f32) -> f32 {
    let quiet = |x: f32| f32::from_bits(x.to_bits() | 0x0040_0000);
    let signed = |x: f32| if s1.is_sign_negative() != s2.is_sign_negative() { -x } else { x };
    if s2.is_nan() {
        quiet(s2)
    } else if s1.is_nan() {
        quiet(s1)
    } else if (s1 == 0.0 && s2 == 0.0) || (s1.is_infinite() && s2.is_infinite()) {
        f32::from_bits(0xffc0_0000)
    } else if s1 == 0.0 || s2.is_infinite() {
        signed(f32::INFINITY)
    } else if s1.is_infinite() || s2 == 0.0 || exponent(s2) - exponent(s1) < -150 {
        signed(0.0)
    } else if s0.is_nan() {
        // finite operands leave a NaN only where the estimate overflowed, and with it the quotient
        signed(f32::INFINITY)
    } else {
        signed(s0.abs())
    }
}

/// The exponent field of an f64.
#[inline(always)]
fn exponent64(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32
}

/// `v_div_scale_f64`, as [`div_scale32`].
#[inline(always)]
pub(super) fn div_scale64(s0: f64, s1: f64, s2: f64) -> (f64, bool) {
    let up = power_of_two(128);
    let subnormal = |x: f64| x != 0.0 && x.abs() < f64::MIN_POSITIVE;
    if s1 == 0.0 || s2 == 0.0 {
        return (f64::NAN, false);
    }
    let reciprocal = subnormal(1.0 / s1);
    let quotient = subnormal(s2 / s1) || s2 / s1 == 0.0;
    if exponent64(s2) - exponent64(s1) >= 768 {
        (if s0 == s1 { s0 * up } else { s0 }, true)
    } else if subnormal(s1) {
        (s0 * up, false)
    } else if reciprocal && quotient {
        (if s0 == s1 { s0 / up } else { s0 }, true)
    } else if reciprocal {
        (s0 / up, false)
    } else if quotient {
        (if s0 == s2 { s0 * up } else { s0 }, true)
    } else if exponent64(s2) <= 53 {
        (s0 * up, false)
    } else {
        (s0, false)
    }
}

/// `v_div_fmas_f64`, as [`div_fmas32`].
#[inline(always)]
pub(super) fn div_fmas64(a: f64, b: f64, c: f64, scaled: bool) -> f64 {
    let near = a.mul_add(b, c);
    if !scaled {
        return near;
    }
    if exponent64(c) > 1023 {
        return near * power_of_two(128);
    }
    let result = near * power_of_two(-128);
    // A subnormal result is rounded again. That is right unless what was rounded first looks like half a unit now.
    let rest = near - result * power_of_two(128);
    let half = power_of_two(-1075 + 128);
    if rest.abs() == half && fma_error(a, b, c, near) * rest > 0.0 {
        (near + rest) * power_of_two(-128)
    } else {
        result
    }
}

/// What a · b + c has more than `near`, its rounded value; the sign is right, and the magnitude nearly.
fn fma_error(a: f64, b: f64, c: f64, near: f64) -> f64 {
    let sum = |x: f64, y: f64| {
        let sum = x + y;
        let part = sum - x;
        (sum, (x - (sum - part)) + (y - part))
    };
    let high = a * b;
    let low = a.mul_add(b, -high);
    let (first, first_error) = sum(c, low);
    let (second, second_error) = sum(high, first);
    // Scaled up, so that products of it do not vanish.
    ((second - near) + second_error + first_error) * power_of_two(960)
}

/// `v_div_fixup_f64`, as [`div_fixup32`].
#[inline(always)]
pub(super) fn div_fixup64(s0: f64, s1: f64, s2: f64) -> f64 {
    let quiet = |x: f64| f64::from_bits(x.to_bits() | 1 << 51);
    let signed = |x: f64| if s1.is_sign_negative() != s2.is_sign_negative() { -x } else { x };
    if s2.is_nan() {
        quiet(s2)
    } else if s1.is_nan() {
        quiet(s1)
    } else if (s1 == 0.0 && s2 == 0.0) || (s1.is_infinite() && s2.is_infinite()) {
        f64::from_bits(0xfff8_0000_0000_0000)
    } else if s1 == 0.0 || s2.is_infinite() {
        signed(f64::INFINITY)
    } else if s1.is_infinite() || s2 == 0.0 || exponent64(s2) - exponent64(s1) < -1075 {
        signed(0.0)
    } else if s0.is_nan() {
        signed(f64::INFINITY)
    } else {
        signed(s0.abs())
    }
}

/// 2^n, saturating to zero and infinity.
#[inline(always)]
pub(super) fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// x · 2^n, rounded once.
#[inline(always)]
pub(super) fn ldexp32(x: f32, n: i32) -> f32 {
    // f64 holds every product that f32 does not overflow or underflow to zero
    (f64::from(x) * power_of_two(n.clamp(-700, 700))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    /// Floats of every exponent and sign, with a few mantissas each.
    fn floats() -> impl Iterator<Item = f32> {
        (0..=u32::MAX).step_by(65_521).map(f32::from_bits)
    }

    /// Distance in units in the last place, of numbers that are finite and of the same sign.
    fn ulps(a: f32, b: f32) -> u32 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn every_half_converts_to_f32_and_back() {
        for bits in 0..=u16::MAX {
            let expected = f16::from_bits(bits).to_f32();
            let got = half_to_f32(bits);
            if expected.is_nan() {
                assert!(got.is_nan());
                assert_eq!(f32_to_half(got) & 0x7fff, bits & 0x7fff | 0x200);
            } else {
                assert_eq!(got.to_bits(), expected.to_bits());
                assert_eq!(f32_to_half(got), bits);
            }
        }
    }

    #[test]
    fn f32_rounds_to_half_as_ieee_says() {
        for x in floats() {
            for x in [x, f32::from_bits(x.to_bits() & !0xfff), f32::from_bits(x.to_bits() & !0x1fff | 0x1000)]
            {
                if !x.is_nan() {
                    assert_eq!(f32_to_half(x), f16::from_f32(x).to_bits(), "{x:e}");
                    let truncated = half_to_f32(f32_to_half_rtz(x));
                    assert!(truncated.abs() <= x.abs() || truncated.is_infinite() && x.is_infinite());
                }
            }
        }
    }

    #[test]
    fn rounding_to_odd_keeps_what_the_second_rounding_needs() {
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(f32_to_half(round_to_odd(tie)), 0x3c00, "a tie goes to even");
        assert_eq!(f32_to_half(round_to_odd(tie + 2f64.powi(-40))), 0x3c01, "what is above it does not");
        assert_eq!(f32_to_half(round_to_odd(-tie - 2f64.powi(-40))), 0xbc01);
        assert_eq!(round_to_odd(1.5), 1.5);
        assert_eq!(round_to_odd(1e-60), f32::from_bits(1), "what underflows is not zero");
        assert_eq!(round_to_odd(-1e-60), -f32::from_bits(1));
        assert_eq!(round_to_odd(f64::INFINITY), f32::INFINITY);
    }

    #[test]
    fn exponential_and_logarithm_are_within_a_unit_in_the_last_place() {
        for x in floats() {
            let expected = f64::from(x).exp2() as f32;
            let got = exp2(x);
            if expected.is_nan() {
                assert!(got.is_nan());
            } else if expected < f32::MIN_POSITIVE {
                assert!(got == 0.0 || ulps(got, expected) <= 1, "2^{x:e}");
            } else {
                assert!(ulps(got, expected) <= 1, "2^{x:e} = {got:e}");
            }
            let expected = f64::from(flush(x)).log2() as f32;
            let got = log2(x);
            assert!(expected.is_nan() && got.is_nan() || ulps(got, expected) <= 1, "log2({x:e}) = {got:e}");
        }
    }

    #[test]
    fn sine_takes_revolutions() {
        for x in floats().filter(|x| x.abs() < 256.0) {
            let turn = f64::from(x) - f64::from(x).round();
            let expected = (turn * std::f64::consts::TAU).sin();
            assert!((f64::from(sin_revolutions(f64::from(x))) - expected).abs() < 1e-7, "sin(2π·{x:e})");
        }
        assert!(sin_revolutions(f64::INFINITY).is_nan());
    }

    #[test]
    fn scaled_division_is_correctly_rounded() {
        let mut random = 1u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f32::from_bits((random >> 32) as u32)
        };
        for _ in 0..100_000 {
            let (n, d) = (next(), next());
            // the sequence that compilers emit: scale, refine a reciprocal, scale back, fix special cases
            let (ds, _) = div_scale32(d, d, n);
            let (ns, flag) = div_scale32(n, d, n);
            let r = 1.0 / ds;
            let r = (-ds).mul_add(r, 1.0).mul_add(r, r);
            let q = ns * r;
            let q = (-ds).mul_add(q, ns).mul_add(r, q);
            let error = (-ds).mul_add(q, ns);
            let got = div_fixup32(div_fmas32(error, r, q, flag), d, n);
            let expected = n / d;
            assert!(
                got == expected || got.is_nan() && expected.is_nan(),
                "{n:e} / {d:e} = {got:e}, not {expected:e}"
            );
        }
    }

    #[test]
    fn division_of_f64_is_correctly_rounded() {
        let mut state = 3u64;
        let mut next = || loop {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let x = f64::from_bits(state ^ state >> 33);
            // Every exponent, and often those near the ends.
            let x = if state >> 60 & 3 == 0 { x.abs().powf(0.01).min(1e300) * f64::MIN_POSITIVE } else { x };
            if x != 0.0 && x.is_finite() {
                return x;
            }
        };
        for _ in 0..200_000 {
            let (n, d) = (next(), next());
            let (ds, _) = div_scale64(d, d, n);
            let (ns, flag) = div_scale64(n, d, n);
            let r = 1.0 / ds;
            let r = (-ds).mul_add(r, 1.0).mul_add(r, r);
            let q = ns * r;
            let error = (-ds).mul_add(q, ns);
            let got = div_fixup64(div_fmas64(error, r, q, flag), d, n);
            assert_eq!(got, n / d, "{n:e} / {d:e}");
        }
    }
}
