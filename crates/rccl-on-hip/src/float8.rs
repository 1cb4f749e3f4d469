//! 8-bit floats, in the formats of the Open Compute Project and in AMD's own of gfx940 to gfx942, which have one zero and one NaN and an
//! exponent bias that is greater by one ("FNUZ").

use std::sync::LazyLock;

/// A format: bits of the exponent, and whether it is one of AMD's own.
pub(crate) type Format = u8;
pub(crate) const E4M3: Format = 4;
pub(crate) const E5M2: Format = 5;
pub(crate) const E4M3_FNUZ: Format = FNUZ | 4;
pub(crate) const E5M2_FNUZ: Format = FNUZ | 5;
const FNUZ: Format = 0x80;

/// A number of a format.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F8<const FORMAT: Format>(pub(crate) u8);

/// The value of a code.
fn decode(format: Format, code: u8) -> f32 {
    let (fnuz, exponent_bits) = (format & FNUZ != 0, u32::from(format & !FNUZ));
    let mantissa_bits = 7 - exponent_bits;
    let (exponent, mantissa) = (u32::from(code & 0x7f) >> mantissa_bits, code & ((1 << mantissa_bits) - 1));
    let top = (1 << exponent_bits) - 1;
    let magnitude = match (fnuz, exponent_bits) {
        (true, _) if code == 0x80 => return f32::NAN,
        (false, 4) if code & 0x7f == 0x7f => return f32::NAN,
        (false, 5) if exponent == top && mantissa != 0 => return f32::NAN,
        (false, 5) if exponent == top => f32::INFINITY,
        _ => {
            let bias = (1 << (exponent_bits - 1)) - i32::from(!fnuz);
            let fraction = f32::from(mantissa) / (1 << mantissa_bits) as f32;
            match exponent {
                0 => fraction * 2f32.powi(1 - bias),
                _ => (1.0 + fraction) * 2f32.powi(exponent as i32 - bias),
            }
        }
    };
    if code & 0x80 != 0 { -magnitude } else { magnitude }
}

/// All codes' values, for each format.
static VALUES: LazyLock<[[f32; 256]; 4]> = LazyLock::new(|| {
    [E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ].map(|format| std::array::from_fn(|code| decode(format, code as u8)))
});

fn values(format: Format) -> &'static [f32; 256] {
    &VALUES[usize::from(format & !FNUZ == 5) + 2 * usize::from(format & FNUZ != 0)]
}

impl<const FORMAT: Format> F8<FORMAT> {
    pub(crate) fn to_f32(self) -> f32 {
        values(FORMAT)[usize::from(self.0)]
    }

    /// The nearest number, of two the even one; beyond the largest finite one, that one.
    pub(crate) fn from_f32(value: f32) -> Self {
        let values = values(FORMAT);
        if value.is_nan() {
            return Self(if FORMAT & FNUZ != 0 { 0x80 } else { 0x7f });
        }
        let finite = values[..128].partition_point(|other| other.is_finite());
        let magnitude = value.abs().min(values[finite - 1]);
        // The codes of positive numbers are in the order of their values.
        let above = values[..finite].partition_point(|other| *other < magnitude);
        let below = above.saturating_sub(1);
        let (up, down) = (values[above] - magnitude, magnitude - values[below]);
        let code = if up < down || up == down && above.is_multiple_of(2) { above } else { below };
        let sign = value.is_sign_negative() && (FORMAT & FNUZ == 0 || code != 0);
        Self(code as u8 | u8::from(sign) << 7)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_formats_documents() {
        for (format, code, value) in [
            (E4M3, 0x7e, 448.0),
            (E4M3, 0x01, 1.0 / 512.0),
            (E4M3, 0x38, 1.0),
            (E4M3, 0xc0, -2.0),
            (E5M2, 0x7b, 57344.0),
            (E5M2, 0x01, 1.0 / 65536.0),
            (E5M2, 0x3c, 1.0),
            (E5M2, 0xfc, f32::NEG_INFINITY),
            (E4M3_FNUZ, 0x7f, 240.0),
            (E4M3_FNUZ, 0x40, 1.0),
            (E4M3_FNUZ, 0x01, 1.0 / 1024.0),
            (E5M2_FNUZ, 0x7f, 57344.0),
            (E5M2_FNUZ, 0x40, 1.0),
        ] {
            assert_eq!(decode(format, code), value, "{format:#x} {code:#x}");
        }
        assert!(decode(E4M3, 0xff).is_nan() && decode(E5M2, 0x7d).is_nan());
        assert!(decode(E4M3_FNUZ, 0x80).is_nan() && decode(E5M2_FNUZ, 0x80).is_nan());
    }

    fn round_trips<const FORMAT: Format>() {
        for code in 0..=u8::MAX {
            let value = F8::<FORMAT>(code).to_f32();
            if value.is_finite() {
                assert_eq!(F8::<FORMAT>::from_f32(value).0, code, "{FORMAT:#x}");
            }
        }
        let largest = values(FORMAT)[..128].iter().copied().filter(|value| value.is_finite());
        let largest = largest.fold(0.0, f32::max);
        assert_eq!(F8::<FORMAT>::from_f32(-1e30).to_f32(), -largest);
        assert!(F8::<FORMAT>::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn every_number_is_its_own_nearest() {
        round_trips::<E4M3>();
        round_trips::<E5M2>();
        round_trips::<E4M3_FNUZ>();
        round_trips::<E5M2_FNUZ>();
    }

    #[test]
    fn ties_go_to_the_even_code() {
        // Between 1.0 (0x38) and 1.125 (0x39), and between that and 1.25.
        assert_eq!(F8::<E4M3>::from_f32(1.0625).0, 0x38);
        assert_eq!(F8::<E4M3>::from_f32(1.1875).0, 0x3a);
        assert_eq!(F8::<E4M3>::from_f32(1.07).0, 0x39);
        assert_eq!((F8::<E4M3>::from_f32(-0.0).0, F8::<E4M3_FNUZ>::from_f32(-0.0).0), (0x80, 0));
    }
}
