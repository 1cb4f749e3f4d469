//! 8-bit floating-point formats as f32.

use super::table::Format;

/// The bits as f32 of all numbers of a format with `digits` digits after the point.
const fn table(digits: u32, bias: u32, fnuz: bool) -> [u32; 256] {
    let mut table = [0; 256];
    let mut code = 0;
    while code < 256 {
        table[code as usize] = decode(code, digits, bias, fnuz);
        code += 1;
    }
    table
}

const fn decode(code: u32, digits: u32, bias: u32, fnuz: bool) -> u32 {
    const NAN: u32 = 0x7fc0_0000;
    let sign = code >> 7 << 31;
    let rest = code & 0x7f;
    let exponent = rest >> digits;
    let fraction = rest & (1 << digits) - 1;
    if fnuz {
        if code == 0x80 {
            return NAN;
        }
    } else if digits == 2 && exponent == 31 {
        return if fraction == 0 { sign | 0x7f80_0000 } else { NAN };
    } else if digits == 3 && rest == 0x7f {
        return NAN;
    }
    if exponent != 0 {
        return sign | exponent + 127 - bias << 23 | fraction << 23 - digits;
    }
    if fraction == 0 {
        return sign;
    }
    // Subnormal: move the leading one to its place.
    let top = fraction.ilog2();
    let exponent = top + 128 - bias - digits;
    sign | exponent << 23 | (fraction << 23 - top) & 0x7f_ffff
}

static FP8_FNUZ: [u32; 256] = table(3, 8, true);
static BF8_FNUZ: [u32; 256] = table(2, 16, true);
static FP8: [u32; 256] = table(3, 7, false);
static BF8: [u32; 256] = table(2, 15, false);

/// The numbers of a format, if it has eight bits.
#[inline(always)]
pub(super) fn numbers(format: Format) -> &'static [u32; 256] {
    match format {
        Format::Fp8Fnuz => &FP8_FNUZ,
        Format::Bf8Fnuz => &BF8_FNUZ,
        Format::Fp8 => &FP8,
        _ => &BF8,
    }
}
