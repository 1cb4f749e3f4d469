//! 8-bit floats.

use std::cmp::Ordering;
use std::fmt;

/// The 8-bit float e4m3 of the Open Compute Project ("e4m3fn"): a sign, 4 bits of exponent, 3 of significand. It has no infinities; its
/// largest number is 448, its smallest 2⁻⁹.
///
/// ```
/// use kernels::F8E4M3;
///
/// assert_eq!(F8E4M3::from_f64(0.3).to_f64(), 0.3125);
/// assert_eq!(F8E4M3::from_f64(-1000.0).to_f64(), -448.0);
/// ```
#[derive(Clone, Copy, Default, hip::DeviceCopy)]
#[repr(transparent)]
pub struct F8E4M3(u8);

/// The exponent of the smallest normal number; subnormal ones are multiples of 2 to the power of this, less 3.
const LEAST_EXPONENT: i32 = -6;

impl F8E4M3 {
    /// The largest number, 448.
    pub const MAX: Self = Self(0x7e);
    /// Not a number.
    pub const NAN: Self = Self(0x7f);

    /// The number with these bits.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Rounds to nearest, ties to even. What is too large, infinities included, becomes ±448.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return Self(Self::NAN.0 | sign);
        }
        if magnitude >= 448.0 {
            return Self(Self::MAX.0 | sign);
        }
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(LEAST_EXPONENT);
        // At most 16: then it is the next power of two, whose bits follow those of this one.
        let steps = (magnitude * super::power_of_two(3 - exponent)).round_ties_even() as u8;
        Self(((((exponent - LEAST_EXPONENT) as u8) << 3) + steps) | sign)
    }

    /// Exact.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let magnitude = self.0 & 0x7f;
        let (exponent, significand) = (i32::from(magnitude >> 3), f64::from(magnitude & 7));
        let value = match (magnitude, exponent) {
            (0x7f, _) => f64::NAN,
            (_, 0) => significand * super::power_of_two(LEAST_EXPONENT - 3),
            _ => (8.0 + significand) * super::power_of_two(exponent - 1 + LEAST_EXPONENT - 3),
        };
        if self.0 & 0x80 == 0 { value } else { -value }
    }

    /// Whether it is not a number.
    #[must_use]
    pub fn is_nan(self) -> bool {
        self.0 & 0x7f == Self::NAN.0
    }
}

/// As numbers: zeros are equal, and NaN is equal to nothing.
impl PartialEq for F8E4M3 {
    fn eq(&self, other: &Self) -> bool {
        self.to_f64() == other.to_f64()
    }
}

impl PartialOrd for F8E4M3 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_f64().partial_cmp(&other.to_f64())
    }
}

impl fmt::Debug for F8E4M3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f64(), f)
    }
}

impl fmt::Display for F8E4M3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f64(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for bits in 0..=u8::MAX {
            let number = F8E4M3::from_bits(bits);
            assert_eq!(F8E4M3::from_f64(number.to_f64()).to_bits(), bits, "{number}");
        }
    }

    #[test]
    fn known_bits_are_known_numbers() {
        // of the specification
        for (bits, value) in [
            (0x00, 0.0),
            (0x01, 0.001953125),
            (0x07, 0.013671875),
            (0x08, 0.015625),
            (0x38, 1.0),
            (0x39, 1.125),
            (0x7e, 448.0),
            (0xfe, -448.0),
        ] {
            assert_eq!(F8E4M3::from_bits(bits).to_f64(), value);
        }
        assert!(F8E4M3::from_bits(0x7f).is_nan() && F8E4M3::from_bits(0xff).to_f64().is_nan());
    }

    #[test]
    fn rounding_goes_to_the_nearest_and_to_even_in_the_middle() {
        for bits in 0..F8E4M3::MAX.to_bits() {
            let (low, high) = (F8E4M3::from_bits(bits).to_f64(), F8E4M3::from_bits(bits + 1).to_f64());
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { low } else { high };
            for (value, expected) in
                [(middle.next_down(), low), (middle, even), (middle.next_up(), high), (-middle, -even)]
            {
                assert_eq!(F8E4M3::from_f64(value).to_f64(), expected, "{value}");
            }
        }
        assert_eq!(F8E4M3::from_f64(f64::INFINITY).to_bits(), 0x7e);
        assert_eq!(F8E4M3::from_f64(-5e-324).to_bits(), 0x80);
    }
}
