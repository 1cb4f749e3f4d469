//! Conversions between f32 and the small formats.

/// f16 to f32. NaNs become quiet and keep their payload.
#[inline(always)]
pub(in crate::exec) fn f16_to_f32(half: u16) -> u32 {
    let half = u32::from(half);
    let sign = (half & 0x8000) << 16;
    let rest = half & 0x7fff;
    // As a number of the same digits, its exponent is too small by 2^112; the product is exact, also for subnormals.
    let scaled = (f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000)).to_bits();
    let special = rest << 13 | 0x7f80_0000 | if rest > 0x7c00 { 0x40_0000 } else { 0 };
    sign | if rest >= 0x7c00 { special } else { scaled }
}

/// f32 to f16, to nearest even. NaNs become quiet and keep the high bits of their payload.
#[inline(always)]
pub(in crate::exec) fn f32_to_f16(bits: u32) -> u16 {
    let sign = bits >> 16 & 0x8000;
    let rest = bits & 0x7fff_ffff;
    // Normal results: rebias and round by adding just under a half of the last place, plus one if the last bit is odd.
    let normal = (rest.wrapping_sub(0x3800_0000).wrapping_add(0xfff + (rest >> 13 & 1))) >> 13;
    // Subnormal results: adding 0.5 puts the digits at the low end of the sum, rounded to nearest even.
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

/// f32 to f16, toward zero; numbers too large become the largest. NaNs become quiet.
#[inline(always)]
pub(in crate::exec) fn f32_to_f16_toward_zero(bits: u32) -> u16 {
    let sign = bits >> 16 & 0x8000;
    let rest = bits & 0x7fff_ffff;
    let normal = rest.wrapping_sub(0x3800_0000) >> 13;
    let digits = rest & 0x7f_ffff | 0x80_0000;
    // Below 2^-14 the digits move right, by 14 at least.
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

/// f32 to bf16, to nearest even. NaNs become quiet.
#[inline(always)]
pub(in crate::exec) fn f32_to_bf16(bits: u32) -> u16 {
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x40;
    (if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded }) as u16
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
    fn bf16_rounds_to_nearest_even() {
        for (from, to) in
            [(0x3f80_8000, 0x3f80), (0x3f81_8000, 0x3f82), (0x3f80_8001, 0x3f81), (0x7f7f_ffff, 0x7f80)]
        {
            assert_eq!(f32_to_bf16(from), to);
        }
        assert_eq!(f32_to_bf16(0x7f80_0001), 0x7fc0);
    }
}
