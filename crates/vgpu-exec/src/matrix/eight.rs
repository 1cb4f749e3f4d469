//! Conversion of floating-point formats of 8 or fewer bits to f32.

use super::table::Format;
use crate::simd::{Simd, U};

const NAN: u32 = 0x7fc0_0000;
const INFINITY: u32 = 0x7f80_0000;

/// Converts the low bytes, numbers of a format of at most 8 bits with zeros above, to the bits of f32.
#[inline(always)]
pub(crate) fn widen<S: Simd>(format: Format, codes: U<S>) -> U<S> {
    match format {
        Format::Fp8Fnuz => finite::<S, 3, 8>(codes, 0xff, 0x80),
        Format::Bf8Fnuz => finite::<S, 2, 16>(codes, 0xff, 0x80),
        Format::Fp8 => finite::<S, 3, 7>(codes, 0x7f, 0x7f),
        // These formats have no NaN.
        Format::Fp6 => finite::<S, 3, 1>(codes & 0x1f | (codes & 0x20) << 2, 0, 1),
        Format::Bf6 => finite::<S, 2, 3>(codes & 0x1f | (codes & 0x20) << 2, 0, 1),
        Format::Fp4 => finite::<S, 1, 1>(codes & 7 | (codes & 8) << 4, 0, 1),
        _ => {
            let rest = codes & 0x7f;
            let value = finite::<S, 2, 15>(codes, 0, 1);
            let infinity = (codes & 0x80) << 24 | U::splat(INFINITY);
            let value = rest.equal(U::splat(0x7c)).select(infinity, value);
            U::splat(0x7c).less(rest).select(U::splat(NAN), value)
        }
    }
}

/// Numbers with `DIGITS` digits after the point. A code that equals `nan` in the bits of `mask` is a NaN.
#[inline(always)]
fn finite<S: Simd, const DIGITS: u32, const BIAS: u32>(codes: U<S>, mask: u32, nan: u32) -> U<S> {
    // Interpreted as f32, the exponent is too small. The product is exact, also for subnormal numbers.
    let scale = f32::from_bits((127 + 127 - BIAS) << 23);
    let value = ((codes & 0x7f) << (23 - DIGITS)).as_f32() * scale;
    let value = value.bits() | (codes & 0x80) << 24;
    (codes & mask).equal(U::splat(nan)).select(U::splat(NAN), value)
}
