//! 8-bit floats: the formats of the Open Compute Project, and AMD's own formats of gfx940 to gfx942 ("FNUZ"),
//! which have one zero, one NaN, and an exponent bias greater by one.
//!
//! ```
//! use float8::Format;
//!
//! assert_eq!(Format::E4M3.decode(0x39), 1.125);
//! assert_eq!(Format::E4M3.encode(1000.0), 0x7e);
//! assert_eq!(Format::E4M3.decode(0x7e), 448.0);
//! assert_eq!(Format::E5M2_FNUZ.decode(0x7f), 57344.0);
//! ```
#![warn(missing_docs)]
#![no_std]

/// A format: a sign, an exponent, a significand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    exponent_bits: u8,
    is_fnuz: bool,
}

impl Format {
    /// OCP's "e4m3fn": no infinities, two NaNs, numbers up to 448, the smallest 2⁻⁹.
    pub const E4M3: Self = Self { exponent_bits: 4, is_fnuz: false };
    /// OCP's e5m2: infinities and NaNs as in `f16`, numbers up to 57344, the smallest 2⁻¹⁶.
    pub const E5M2: Self = Self { exponent_bits: 5, is_fnuz: false };
    /// AMD's e4m3: numbers up to 240, the smallest 2⁻¹⁰.
    pub const E4M3_FNUZ: Self = Self { exponent_bits: 4, is_fnuz: true };
    /// AMD's e5m2: numbers up to 57344, the smallest 2⁻¹⁷.
    pub const E5M2_FNUZ: Self = Self { exponent_bits: 5, is_fnuz: true };
    /// All formats.
    pub const ALL: [Self; 4] = [Self::E4M3, Self::E5M2, Self::E4M3_FNUZ, Self::E5M2_FNUZ];

    const fn significand_bits(self) -> u8 {
        7 - self.exponent_bits
    }

    /// The exponent of the smallest normal number.
    const fn least_exponent(self) -> i32 {
        let bias = (1 << (self.exponent_bits - 1)) - if self.is_fnuz { 0 } else { 1 };
        1 - bias
    }

    /// The code of the largest finite number.
    pub const fn max(self) -> u8 {
        match self {
            Self { is_fnuz: true, .. } => 0x7f,
            Self { exponent_bits: 4, .. } => 0x7e,
            _ => 0x7b,
        }
    }

    /// The code of a NaN: the only one, or the one without a sign.
    pub const fn nan(self) -> u8 {
        if self.is_fnuz { 0x80 } else { 0x7f }
    }

    /// Whether a code is a NaN.
    pub const fn is_nan(self, code: u8) -> bool {
        let magnitude = code & 0x7f;
        match self {
            Self { is_fnuz: true, .. } => code == 0x80,
            Self { exponent_bits: 4, .. } => magnitude == 0x7f,
            _ => magnitude > 0x7c,
        }
    }

    /// The number that a code represents. Exact; NaNs keep their sign.
    pub const fn decode(self, code: u8) -> f64 {
        if self.is_nan(code) {
            return if code & 0x80 != 0 && !self.is_fnuz { -f64::NAN } else { f64::NAN };
        }
        let (magnitude, bits) = (code & 0x7f, self.significand_bits());
        let (exponent, significand) = ((magnitude >> bits) as i32, (magnitude & ((1 << bits) - 1)) as f64);
        let hidden = (1_u8 << bits) as f64;
        let value = match exponent {
            _ if magnitude > self.max() => f64::INFINITY,
            0 => significand * power_of_two(self.least_exponent() - bits as i32),
            _ => (hidden + significand) * power_of_two(exponent - 1 + self.least_exponent() - bits as i32),
        };
        if code & 0x80 == 0 { value } else { -value }
    }

    /// The code of the nearest number, ties to even. Numbers too large, and infinities, become the largest
    /// finite number.
    pub const fn encode(self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        if magnitude.is_nan() {
            return if self.is_fnuz { self.nan() } else { self.nan() | sign };
        }
        if magnitude >= self.decode(self.max()) {
            return self.max() | sign;
        }
        let (bits, least) = (self.significand_bits(), self.least_exponent());
        let own = (magnitude.to_bits() >> 52) as i32 - 1023;
        let exponent = if own > least { own } else { least };
        // A multiple of the distance between numbers here. If rounding reaches the next power of two, its
        // code is the next one.
        let steps = round_ties_even(magnitude * power_of_two(bits as i32 - exponent));
        let code = (((exponent - least) as u8) << bits) + steps;
        // AMD's formats have no negative zero: its code is NaN.
        if self.is_fnuz && code == 0 { 0 } else { code | sign }
    }
}

/// For an exponent in the range of `f64`.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// For a number from 0 to 16.
const fn round_ties_even(value: f64) -> u8 {
    let whole = value as u8;
    let rest = value - whole as f64;
    let up = rest > 0.5 || rest == 0.5 && whole % 2 == 1;
    whole + up as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_formats_documents() {
        for (format, code, value) in [
            (Format::E4M3, 0x7e, 448.0),
            (Format::E4M3, 0x01, 1.0 / 512.0),
            (Format::E4M3, 0x07, 0.013671875),
            (Format::E4M3, 0x08, 0.015625),
            (Format::E4M3, 0x38, 1.0),
            (Format::E4M3, 0xc0, -2.0),
            (Format::E5M2, 0x7b, 57344.0),
            (Format::E5M2, 0x01, 1.0 / 65536.0),
            (Format::E5M2, 0x3c, 1.0),
            (Format::E5M2, 0xfc, f64::NEG_INFINITY),
            (Format::E4M3_FNUZ, 0x7f, 240.0),
            (Format::E4M3_FNUZ, 0x40, 1.0),
            (Format::E4M3_FNUZ, 0x01, 1.0 / 1024.0),
            (Format::E5M2_FNUZ, 0x7f, 57344.0),
            (Format::E5M2_FNUZ, 0x40, 1.0),
            (Format::E5M2_FNUZ, 0x01, 1.0 / 131072.0),
        ] {
            assert_eq!(format.decode(code), value, "{format:?} {code:#x}");
        }
        assert!(Format::E4M3.decode(0xff).is_nan() && Format::E5M2.decode(0x7d).is_nan());
        assert!(Format::E4M3_FNUZ.decode(0x80).is_nan() && Format::E5M2_FNUZ.decode(0x80).is_nan());
    }

    #[test]
    fn every_number_is_its_own_nearest() {
        for format in Format::ALL {
            for code in 0..=u8::MAX {
                let value = format.decode(code);
                assert_eq!(value.is_nan(), format.is_nan(code), "{format:?} {code:#x}");
                // The other formats have several NaNs, or infinities, which become the largest number.
                if value.is_finite() || format == Format::E4M3 {
                    assert_eq!(format.encode(value), code, "{format:?}");
                }
            }
        }
    }

    #[test]
    fn rounding_goes_to_the_nearest_and_to_even_in_the_middle() {
        for format in Format::ALL {
            for code in 0..format.max() {
                let (low, high) = (format.decode(code), format.decode(code + 1));
                let middle = (low + high) / 2.0;
                let even = if code % 2 == 0 { code } else { code + 1 };
                for (value, expected) in
                    [(middle.next_down(), code), (middle, even), (middle.next_up(), code + 1)]
                {
                    assert_eq!(format.encode(value), expected, "{format:?} {value}");
                    assert_eq!(
                        format.decode(format.encode(-value)),
                        -format.decode(expected),
                        "{format:?} {value}"
                    );
                }
            }
            let largest = format.decode(format.max());
            for value in [f64::INFINITY, 1e30, largest * 1.5] {
                assert_eq!(format.decode(format.encode(value)), largest, "{format:?}");
                assert_eq!(format.decode(format.encode(-value)), -largest, "{format:?}");
            }
            assert!(format.is_nan(format.encode(f64::NAN)) && format.is_nan(format.nan()));
        }
        assert_eq!((Format::E4M3.encode(-0.0), Format::E4M3_FNUZ.encode(-0.0)), (0x80, 0));
        assert_eq!((Format::E4M3.encode(-5e-324), Format::E5M2_FNUZ.encode(-5e-324)), (0x80, 0));
    }
}
