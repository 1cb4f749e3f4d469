//! 8-bit floats.

use std::cmp::Ordering;
use std::fmt;

use ::float8::Format;

/// The 8-bit float e4m3 of the Open Compute Project ("e4m3fn"): a sign, 4 bits of exponent, 3 of significand.
/// It has no infinities; its largest number is 448, its smallest 2⁻⁹.
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

const FORMAT: Format = Format::E4M3;

impl F8E4M3 {
    /// The largest number, 448.
    pub const MAX: Self = Self(FORMAT.max());
    /// Not a number.
    pub const NAN: Self = Self(FORMAT.nan());

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

    /// Rounds to nearest, ties to even. Numbers too large, and infinities, become ±448.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self(FORMAT.encode(value))
    }

    /// Exact.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        FORMAT.decode(self.0)
    }

    /// Whether it is not a number.
    #[must_use]
    pub fn is_nan(self) -> bool {
        FORMAT.is_nan(self.0)
    }
}

/// Compares as numbers: zeros are equal, and NaN is equal to nothing.
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
}
