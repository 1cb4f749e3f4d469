//! Floating-point formats of any size up to f32, one number at a time.

/// The special values of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    /// Infinities and NaNs.
    Ieee,
    /// A NaN instead of the largest number.
    Nan,
    /// None: numbers that are too large, and NaN, become the largest number.
    Nothing,
}

/// A format: a sign, an exponent and digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Small {
    exponent: u32,
    digits: u32,
    bias: i32,
    special: Special,
}

impl Small {
    const fn new(exponent: u32, digits: u32, bias: i32, special: Special) -> Small {
        Small { exponent, digits, bias, special }
    }

    pub(crate) const F32: Small = Small::new(8, 23, 127, Special::Ieee);
    pub(crate) const BF16: Small = Small::new(8, 7, 127, Special::Ieee);
    pub(crate) const F16: Small = Small::new(5, 10, 15, Special::Ieee);
    /// e4m3 of the Open Compute Project.
    pub(crate) const FP8: Small = Small::new(4, 3, 7, Special::Nan);
    /// e5m2.
    pub(crate) const BF8: Small = Small::new(5, 2, 15, Special::Ieee);
    /// e2m3.
    pub(crate) const FP6: Small = Small::new(2, 3, 1, Special::Nothing);
    /// e3m2.
    pub(crate) const BF6: Small = Small::new(3, 2, 3, Special::Nothing);
    /// e2m1.
    pub(crate) const FP4: Small = Small::new(2, 1, 1, Special::Nothing);

    /// Bits of a number.
    pub(crate) const fn bits(self) -> u32 {
        1 + self.exponent + self.digits
    }

    const fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.digits
    }

    /// All bits except the sign.
    const fn magnitude(self) -> u32 {
        (1 << (self.exponent + self.digits)) - 1
    }

    const fn largest(self) -> u32 {
        match self.special {
            Special::Ieee => self.infinity() - 1,
            Special::Nan => self.magnitude() - 1,
            Special::Nothing => self.magnitude(),
        }
    }

    const fn nan(self) -> u32 {
        match self.special {
            Special::Ieee => self.infinity() | 1 << (self.digits - 1),
            Special::Nan | Special::Nothing => self.magnitude(),
        }
    }

    /// The number as f64, which is exact.
    pub(crate) fn decode(self, code: u32) -> f64 {
        let rest = code & self.magnitude();
        let (field, digits) = (rest >> self.digits, rest & ((1 << self.digits) - 1));
        let value = match self.special {
            Special::Ieee if rest > self.infinity() => f64::NAN,
            Special::Ieee if rest == self.infinity() => f64::INFINITY,
            Special::Nan if rest == self.magnitude() => f64::NAN,
            _ => {
                let implicit = if field == 0 { 0 } else { 1 << self.digits };
                f64::from(digits | implicit) * power(field.max(1) as i32 - self.bias - self.digits as i32)
            }
        };
        if code >> (self.bits() - 1) & 1 != 0 { -value } else { value }
    }

    /// The number nearest to a value; ties go to even. With `noise`, its high bits are added below the last
    /// place, and the rest is truncated. There are as many of these bits as a normal f32 has digits that the
    /// format lacks. Numbers that are too large become the largest one if `saturate`, otherwise infinity or
    /// NaN.
    pub(crate) fn encode(self, value: f64, noise: Option<u32>, saturate: bool) -> u32 {
        let sign = u32::from(value.is_sign_negative()) << (self.bits() - 1);
        let size = value.abs();
        if size.is_nan() {
            return self.nan() | sign;
        }
        let beyond = match self.special {
            _ if saturate => self.largest(),
            Special::Ieee => self.infinity(),
            Special::Nan | Special::Nothing => self.nan(),
        };
        if size.is_infinite() {
            return sign | beyond;
        }
        let least = 1 - self.bias;
        let exponent = (size.to_bits() >> 52) as i32 - 1023;
        // In units in the last place.
        let last = exponent.max(least) - self.digits as i32;
        let scaled = size * power(-last);
        let kept = match noise {
            None => scaled.round_ties_even(),
            Some(noise) => {
                let count = 23 - self.digits;
                let part = f64::from(noise >> (32 - count)) * power(-(count as i32));
                (scaled + part).floor()
            }
        };
        // The implicit digit and carries add to the exponent; subnormal numbers have neither.
        let code = ((exponent.max(least) - least) as u64) << self.digits;
        let code = code + kept as u64;
        sign | if code > u64::from(self.largest()) { beyond } else { code as u32 }
    }
}

/// A power of two that is a normal number.
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The power of two for an exponent in a byte; the largest byte is NaN.
pub(crate) fn scale(byte: u32) -> f64 {
    if byte & 0xff == 0xff { f64::NAN } else { power((byte & 0xff) as i32 - 127) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::float::convert::{Eight, f32_to_eight};

    #[test]
    fn all_numbers_of_small_formats_survive() {
        for format in [Small::F16, Small::BF16, Small::FP8, Small::BF8, Small::FP6, Small::BF6, Small::FP4] {
            for code in 0..1u32 << format.bits() {
                let value = format.decode(code);
                if !value.is_nan() {
                    assert_eq!(format.encode(value, None, false), code, "{format:?} {value}");
                }
            }
        }
    }

    #[test]
    fn the_largest_numbers_are_those_of_the_specifications() {
        for (format, largest, least) in [
            (Small::FP8, 448.0, 0.001953125),
            (Small::BF8, 57344.0, 1.52587890625e-5),
            (Small::FP6, 7.5, 0.125),
            (Small::BF6, 28.0, 0.0625),
            (Small::FP4, 6.0, 0.5),
        ] {
            assert_eq!(format.decode(format.largest()), largest);
            assert_eq!(format.decode(1), least);
            assert_eq!(format.encode(1e9, None, true), format.largest());
        }
    }

    #[test]
    fn bytes_are_rounded_as_the_other_conversion_does() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (bits, noise) = ((state >> 32) as u32, state as u32);
            let value = f64::from(f32::from_bits(bits));
            if value.is_nan() {
                continue;
            }
            for (small, eight) in [(Small::FP8, Eight::Fp8), (Small::BF8, Eight::Bf8)] {
                for noise in [None, Some(noise)] {
                    for saturate in [false, true] {
                        let other = u32::from(f32_to_eight(eight, bits, saturate, noise));
                        assert_eq!(
                            small.encode(value, noise, saturate),
                            other,
                            "{small:?} {bits:#x} {noise:?}"
                        );
                    }
                }
            }
        }
    }
}
