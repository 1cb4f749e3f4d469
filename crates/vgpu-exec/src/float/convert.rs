//! Conversions between f32 and the small formats.

/// f16 to f32. NaNs become quiet and keep their payload.
#[inline(always)]
pub(crate) fn f16_to_f32(half: u16) -> u32 {
    let half = u32::from(half);
    let sign = (half & 0x8000) << 16;
    let rest = half & 0x7fff;
    // Interpreted as a number with the same digits, its exponent is too small by 2^112. The product is exact,
    // also for subnormals.
    let scaled = (f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000)).to_bits();
    let special = rest << 13 | 0x7f80_0000 | if rest > 0x7c00 { 0x40_0000 } else { 0 };
    sign | if rest >= 0x7c00 { special } else { scaled }
}

/// f32 to f16, to nearest even. NaNs become quiet and keep the high bits of their payload.
#[inline(always)]
pub(crate) fn f32_to_f16(bits: u32) -> u16 {
    let sign = bits >> 16 & 0x8000;
    let rest = bits & 0x7fff_ffff;
    // Normal results: rebias the exponent and round by adding just under half a unit in the last place, plus
    // one if the last bit is odd.
    let normal = (rest.wrapping_sub(0x3800_0000).wrapping_add(0xfff + (rest >> 13 & 1))) >> 13;
    // Subnormal results: adding 0.5 moves the digits to the low end of the sum, rounded to nearest even.
    let subnormal = (f32::from_bits(rest) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let nan = 0x7e00 | rest >> 13 & 0x3ff;
    let value = if rest > 0x7f80_0000 {
        nan
    } else if rest >= 0x4780_0000 {
        0x7c00
    } else if rest < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    (sign | value) as u16
}

/// f32 to f16, toward zero. Numbers that are too large become the largest f16. NaNs become quiet.
#[inline(always)]
pub(crate) fn f32_to_f16_toward_zero(bits: u32) -> u16 {
    let sign = bits >> 16 & 0x8000;
    let rest = bits & 0x7fff_ffff;
    let normal = rest.wrapping_sub(0x3800_0000) >> 13;
    let digits = rest & 0x7f_ffff | 0x80_0000;
    // Below 2^-14, the digits move right, by at least 14.
    let shift = 126u32.wrapping_sub(rest >> 23);
    let subnormal = if shift < 32 { digits >> shift } else { 0 };
    let value = if rest > 0x7f80_0000 {
        0x7e00 | rest >> 13 & 0x3ff
    } else if rest == 0x7f80_0000 {
        0x7c00
    } else if rest >= 0x4780_0000 {
        0x7bff
    } else if rest < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    (sign | value) as u16
}

/// An 8-bit format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eight {
    /// e4m3 of the Open Compute Project: no infinity.
    Fp8,
    /// e5m2 of the Open Compute Project.
    Bf8,
    /// e4m3 with one zero and one NaN.
    Fp8Fnuz,
    /// e5m2 with one zero and one NaN.
    Bf8Fnuz,
}

impl Eight {
    /// Digits after the point.
    const fn digits(self) -> u32 {
        if matches!(self, Eight::Fp8 | Eight::Fp8Fnuz) { 3 } else { 2 }
    }

    /// The exponent of the smallest normal number.
    const fn least(self) -> i32 {
        match self {
            Eight::Fp8 => -6,
            Eight::Bf8 => -14,
            Eight::Fp8Fnuz => -7,
            Eight::Bf8Fnuz => -15,
        }
    }

    const fn largest(self) -> u8 {
        match self {
            Eight::Fp8 => 0x7e,
            Eight::Bf8 => 0x7b,
            Eight::Fp8Fnuz | Eight::Bf8Fnuz => 0x7f,
        }
    }

    const fn one_zero(self) -> bool {
        matches!(self, Eight::Fp8Fnuz | Eight::Bf8Fnuz)
    }
}

/// f32 to an 8-bit format. Numbers that are too large, and infinities, become the largest number if
/// `saturate`, otherwise infinity or NaN. Rounds to nearest even; with `noise`, rounds up if the lost digits
/// plus the high bits of `noise` reach a unit in the last place.
pub(crate) fn f32_to_eight(format: Eight, bits: u32, saturate: bool, noise: Option<u32>) -> u8 {
    let sign = (bits >> 24 & 0x80) as u8;
    let rest = bits & 0x7fff_ffff;
    let nan = if format.one_zero() { 0x80 } else { sign | 0x7f };
    let beyond = match format {
        _ if saturate => sign | format.largest(),
        Eight::Bf8 => sign | 0x7c,
        _ => nan,
    };
    if rest >= 0x7f80_0000 {
        return if rest > 0x7f80_0000 { nan } else { beyond };
    }
    let field = (rest >> 23) as i32;
    let digits = u64::from(rest & 0x7f_ffff | if field == 0 { 0 } else { 0x80_0000 });
    let exponent = field.max(1) - 127;
    // How far the digits move right until their unit is the last place of the result.
    let lost = 23 - format.digits() as i32 + (format.least() - exponent).max(0);
    // Beyond this, digits and noise are both below the last place, and no carry reaches it.
    let lost = lost.min(45) as u32;
    let (kept, rest) = (digits >> lost, digits & ((1 << lost) - 1));
    let half = 1 << (lost - 1);
    let up = match noise {
        None => rest > half || rest == half && kept & 1 != 0,
        // The highest bits of noise, as many as a normal number loses, directly below the last place.
        Some(noise) => {
            let count = 23 - format.digits();
            rest + (u64::from(noise >> (32 - count)) << (lost - count)) >> lost != 0
        }
    };
    let kept = kept + u64::from(up);
    let above = (exponent.max(format.least()) - format.least()) as u64;
    // The implicit digit and carries add to the exponent; subnormal numbers have neither.
    let code = (above << format.digits()) + kept;
    if code > u64::from(format.largest()) {
        return beyond;
    }
    if code == 0 && format.one_zero() { 0 } else { sign | code as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_survives_the_way_to_f32_and_back() {
        for half in 0..=u16::MAX {
            let wide = f16_to_f32(half);
            let expected = half::f16::from_bits(half).to_f64();
            if expected.is_nan() {
                assert!(f32::from_bits(wide).is_nan());
                assert_eq!(f32_to_f16(wide), half | 0x200);
            } else {
                assert_eq!(f64::from(f32::from_bits(wide)).to_bits(), expected.to_bits());
                assert_eq!(f32_to_f16(wide), half);
                assert_eq!(f32_to_f16_toward_zero(wide), half);
            }
        }
    }

    #[test]
    fn f16_rounding_is_to_the_nearest_of_the_two_neighbours() {
        for half in 0..0x7bffu16 {
            let (low, high) = (f32::from_bits(f16_to_f32(half)), f32::from_bits(f16_to_f32(half + 1)));
            let middle = (low + high) / 2.0;
            let below = f32::from_bits(middle.to_bits() - 1);
            let above = f32::from_bits(middle.to_bits() + 1);
            assert_eq!(f32_to_f16(middle.to_bits()), half + (half & 1));
            assert_eq!(f32_to_f16(below.to_bits()), half);
            assert_eq!(f32_to_f16(above.to_bits()), half + 1);
            assert_eq!(f32_to_f16_toward_zero(above.to_bits()), half);
            assert_eq!(f32_to_f16((-above).to_bits()), half + 1 | 0x8000);
        }
        assert_eq!(f32_to_f16(65519.9f32.to_bits()), 0x7bff);
        assert_eq!(f32_to_f16(65520.0f32.to_bits()), 0x7c00);
        assert_eq!(f32_to_f16_toward_zero(1e30f32.to_bits()), 0x7bff);
        assert_eq!(f32_to_f16(1e-10f32.to_bits()), 0);
    }

    #[test]
    fn eight_bit_floats_round_to_the_nearest_and_overflow_as_asked() {
        let to = |format, value: f32, saturate| f32_to_eight(format, value.to_bits(), saturate, None);
        for (value, code) in
            [(1.0, 0x38), (448.0, 0x7e), (464.0, 0x7e), (464.1, 0x7f), (-2f32.powi(-9), 0x81), (0.0, 0)]
        {
            assert_eq!(to(Eight::Fp8, value, false), code, "{value}");
        }
        assert_eq!(to(Eight::Fp8, -1e9, true), 0xfe);
        assert_eq!(to(Eight::Fp8, f32::INFINITY, false), 0x7f);
        assert_eq!(to(Eight::Bf8, f32::NEG_INFINITY, false), 0xfc);
        assert_eq!(to(Eight::Bf8, 61440.0, false), 0x7c);
        assert_eq!(to(Eight::Bf8, 61439.0, false), 0x7b);
        assert_eq!(to(Eight::Fp8Fnuz, 240.0, false), 0x7f);
        assert_eq!(to(Eight::Fp8Fnuz, 248.0, false), 0x80);
        assert_eq!(to(Eight::Fp8Fnuz, -0.0, false), 0);
        assert_eq!(to(Eight::Bf8Fnuz, 57344.0, false), 0x7f);
        assert_eq!(to(Eight::Bf8Fnuz, f32::NAN, true), 0x80);
    }

    #[test]
    fn noise_rounds_up_as_often_as_the_rest_is_large() {
        // 1 + 1/32 is a quarter of the way from 1 to 1 + 1/8.
        let up = (0..64u32)
            .filter(|i| f32_to_eight(Eight::Fp8, 0x3f84_0000, false, Some(i << 26)) == 0x39)
            .count();
        assert_eq!(up, 16);
        assert_eq!(f32_to_eight(Eight::Fp8, 1f32.to_bits(), false, Some(u32::MAX)), 0x38);
        // Three quarters of the smallest number.
        let tiny = (0.75 * 2f32.powi(-9)).to_bits();
        assert_eq!(f32_to_eight(Eight::Fp8, tiny, false, Some(0)), 0);
        assert_eq!(f32_to_eight(Eight::Fp8, tiny, false, Some(u32::MAX)), 1);
        // Numbers that are too small for any noise.
        for format in [Eight::Fp8, Eight::Bf8, Eight::Fp8Fnuz, Eight::Bf8Fnuz] {
            for bits in [1, 0x7f_ffff, 0x0d80_0000, 0x2c00_0000] {
                assert_eq!(f32_to_eight(format, bits, false, Some(u32::MAX)), 0, "{format:?} {bits:#x}");
            }
        }
    }
}
