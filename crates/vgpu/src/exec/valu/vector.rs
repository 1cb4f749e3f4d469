//! Vector instructions whose lanes do not look at each other: one row per operation.

use super::super::Handler;
use super::Engine;
use super::maps::{carry, map1, map2, map3, select};
use super::numbers::*;
use crate::isa::Op;

/// The handler of an operation.
pub(super) fn handler(op: Op, engine: Engine) -> Option<Handler> {
    bitwise(op, engine)
        .or_else(|| integer(op, engine))
        .or_else(|| float32(op, engine))
        .or_else(|| float64(op, engine))
        .or_else(|| float16(op, engine))
        .or_else(|| convert(op, engine))
}

/// Adds the lanes' function to the carry chain.
fn add(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    (sum as u32, sum >> 32 != 0)
}

fn sub(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(borrow));
    (difference as u32, difference >> 63 != 0)
}

fn bitwise(op: Op, e: Engine) -> Option<Handler> {
    use Op::*;
    Some(match op {
        VMovB32 | VAccvgprReadB32 | VAccvgprWriteB32 | VAccvgprMovB32 => map1(e, |a: u32| a),
        VMovB64 => map1(e, |a: u64| a),
        VMovB16 => map1(e, |a: u16| a),
        VNotB32 => map1(e, |a: u32| !a),
        VNotB16 => map1(e, |a: u16| !a),
        VBfrevB32 => map1(e, |a: u32| a.reverse_bits()),
        VAndB32 => map2(e, |a: u32, b: u32| a & b),
        VOrB32 => map2(e, |a: u32, b: u32| a | b),
        VXorB32 => map2(e, |a: u32, b: u32| a ^ b),
        VXnorB32 => map2(e, |a: u32, b: u32| !(a ^ b)),
        VAndB16 => map2(e, |a: u16, b: u16| a & b),
        VOrB16 => map2(e, |a: u16, b: u16| a | b),
        VXorB16 => map2(e, |a: u16, b: u16| a ^ b),
        VAndOrB32 => map3(e, |a: u32, b: u32, c: u32| a & b | c),
        VOr3B32 => map3(e, |a: u32, b: u32, c: u32| a | b | c),
        VXor3B32 => map3(e, |a: u32, b: u32, c: u32| a ^ b ^ c),
        VXadU32 => map3(e, |a: u32, b: u32, c: u32| (a ^ b).wrapping_add(c)),
        VLshlrevB32 => map2(e, |a: u32, b: u32| b << (a & 31)),
        VLshrrevB32 => map2(e, |a: u32, b: u32| b >> (a & 31)),
        VAshrrevI32 => map2(e, |a: u32, b: i32| b >> (a & 31)),
        VLshlrevB64 => map2(e, |a: u32, b: u64| b << (a & 63)),
        VLshrrevB64 => map2(e, |a: u32, b: u64| b >> (a & 63)),
        VAshrrevI64 => map2(e, |a: u32, b: i64| b >> (a & 63)),
        VLshlrevB16 => map2(e, |a: u16, b: u16| b << (a & 15)),
        VLshrrevB16 => map2(e, |a: u16, b: u16| b >> (a & 15)),
        VAshrrevI16 => map2(e, |a: u16, b: i16| b >> (a & 15)),
        VLshlAddU32 => map3(e, |a: u32, b: u32, c: u32| (a << (b & 31)).wrapping_add(c)),
        VLshlAddU64 => map3(e, |a: u64, b: u32, c: u64| (a << (b & 7)).wrapping_add(c)),
        VAddLshlU32 => map3(e, |a: u32, b: u32, c: u32| a.wrapping_add(b) << (c & 31)),
        VLshlOrB32 => map3(e, |a: u32, b: u32, c: u32| a << (b & 31) | c),
        VBfeU32 => map3(e, |a: u32, b: u32, c: u32| {
            let width = c & 31;
            a >> (b & 31) & ((1u32 << width).wrapping_sub(1))
        }),
        VBfeI32 => map3(e, |a: i32, b: u32, c: u32| {
            let width = c & 31;
            let field = a >> (b & 31) & ((1i32 << width).wrapping_sub(1));
            let unused = (32 - width) & 31;
            if width == 0 { 0 } else { field << unused >> unused }
        }),
        VBfiB32 => map3(e, |a: u32, b: u32, c: u32| a & b | !a & c),
        VBfmB32 => map2(e, |a: u32, b: u32| ((1u32 << (a & 31)) - 1) << (b & 31)),
        VAlignbitB32 => {
            map3(e, |a: u32, b: u32, c: u32| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32)
        }
        VAlignbyteB32 => {
            map3(e, |a: u32, b: u32, c: u32| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32)
        }
        VPermB32 => map3(e, |a: u32, b: u32, c: u32| {
            let data = u64::from(a) << 32 | u64::from(b);
            let byte = |selector: u32| match selector {
                0..=7 => (data >> (8 * selector)) as u32 & 0xff,
                8..=11 => 0xff * (data >> (16 * (selector - 8) + 15) & 1) as u32,
                12 => 0,
                _ => 0xff,
            };
            byte(c & 0xff) | byte(c >> 8 & 0xff) << 8 | byte(c >> 16 & 0xff) << 16 | byte(c >> 24) << 24
        }),
        VPackB32F16 => map2(e, |a: u16, b: u16| u32::from(a) | u32::from(b) << 16),
        VBcntU32B32 => map2(e, |a: u32, b: u32| a.count_ones().wrapping_add(b)),
        VClzI32U32 => map1(e, |a: u32| if a == 0 { u32::MAX } else { a.leading_zeros() }),
        VCtzI32B32 => map1(e, |a: u32| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
        VClsI32 => map1(e, |a: i32| {
            let count = (a ^ a >> 31).leading_zeros();
            if count == 32 { u32::MAX } else { count }
        }),
        VCndmaskB32 => select::<f32>(e),
        VCndmaskB16 => select::<u16>(e),
        _ => return None,
    })
}

fn integer(op: Op, e: Engine) -> Option<Handler> {
    use Op::*;
    const fn low24(a: u32) -> u32 {
        a & 0xff_ffff
    }
    const fn low24_signed(a: i32) -> i32 {
        a << 8 >> 8
    }
    Some(match op {
        VAddNcU32 | VAddNcI32 => map2(e, |a: u32, b: u32| a.wrapping_add(b)),
        VSubNcU32 | VSubNcI32 => map2(e, |a: u32, b: u32| a.wrapping_sub(b)),
        VSubrevNcU32 => map2(e, |a: u32, b: u32| b.wrapping_sub(a)),
        VAddNcU16 | VAddNcI16 => map2(e, |a: u16, b: u16| a.wrapping_add(b)),
        VSubNcU16 | VSubNcI16 => map2(e, |a: u16, b: u16| a.wrapping_sub(b)),
        VSubrevNcU16 => map2(e, |a: u16, b: u16| b.wrapping_sub(a)),
        VAddCoU32 | VAddCoCiU32 => carry(e, add),
        VSubCoU32 | VSubCoCiU32 => carry(e, sub),
        VSubrevCoU32 | VSubrevCoCiU32 => carry(e, |a, b, c| sub(b, a, c)),
        VAdd3U32 => map3(e, |a: u32, b: u32, c: u32| a.wrapping_add(b).wrapping_add(c)),
        VMulLoU32 => map2(e, |a: u32, b: u32| a.wrapping_mul(b)),
        VMulLoU16 => map2(e, |a: u16, b: u16| a.wrapping_mul(b)),
        VMulHiU32 => map2(e, |a: u32, b: u32| (u64::from(a) * u64::from(b) >> 32) as u32),
        VMulHiI32 => map2(e, |a: i32, b: i32| (i64::from(a) * i64::from(b) >> 32) as i32),
        VMulU32U24 => map2(e, |a: u32, b: u32| low24(a).wrapping_mul(low24(b))),
        VMulI32I24 => map2(e, |a: i32, b: i32| low24_signed(a).wrapping_mul(low24_signed(b))),
        VMulHiU32U24 => map2(e, |a: u32, b: u32| (u64::from(low24(a)) * u64::from(low24(b)) >> 32) as u32),
        VMulHiI32I24 => {
            map2(e, |a: i32, b: i32| (i64::from(low24_signed(a)) * i64::from(low24_signed(b)) >> 32) as i32)
        }
        VMadU32U24 => map3(e, |a: u32, b: u32, c: u32| low24(a).wrapping_mul(low24(b)).wrapping_add(c)),
        VMadI32I24 => {
            map3(e, |a: i32, b: i32, c: i32| low24_signed(a).wrapping_mul(low24_signed(b)).wrapping_add(c))
        }
        VMadU16 => map3(e, |a: u16, b: u16, c: u16| a.wrapping_mul(b).wrapping_add(c)),
        VMadI16 => map3(e, |a: i16, b: i16, c: i16| a.wrapping_mul(b).wrapping_add(c)),
        VMadU32U16 => map3(e, |a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)),
        VMadI32I16 => map3(e, |a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)),
        VMinU32 => map2(e, |a: u32, b: u32| a.min(b)),
        VMaxU32 => map2(e, |a: u32, b: u32| a.max(b)),
        VMinI32 => map2(e, |a: i32, b: i32| a.min(b)),
        VMaxI32 => map2(e, |a: i32, b: i32| a.max(b)),
        VMinU16 => map2(e, |a: u16, b: u16| a.min(b)),
        VMaxU16 => map2(e, |a: u16, b: u16| a.max(b)),
        VMinI16 => map2(e, |a: i16, b: i16| a.min(b)),
        VMaxI16 => map2(e, |a: i16, b: i16| a.max(b)),
        VMin3U32 => map3(e, |a: u32, b: u32, c: u32| a.min(b).min(c)),
        VMax3U32 => map3(e, |a: u32, b: u32, c: u32| a.max(b).max(c)),
        VMin3I32 => map3(e, |a: i32, b: i32, c: i32| a.min(b).min(c)),
        VMax3I32 => map3(e, |a: i32, b: i32, c: i32| a.max(b).max(c)),
        VMed3U32 => map3(e, |a: u32, b: u32, c: u32| a.min(b).max(a.max(b).min(c))),
        VMed3I32 => map3(e, |a: i32, b: i32, c: i32| a.min(b).max(a.max(b).min(c))),
        VSadU32 => map3(e, |a: u32, b: u32, c: u32| a.abs_diff(b).wrapping_add(c)),
        _ => return None,
    })
}

fn float32(op: Op, e: Engine) -> Option<Handler> {
    use Op::*;
    Some(match op {
        VAddF32 => map2(e, |a: f32, b: f32| a + b),
        VSubF32 => map2(e, |a: f32, b: f32| a - b),
        VSubrevF32 => map2(e, |a: f32, b: f32| b - a),
        VMulF32 => map2(e, |a: f32, b: f32| a * b),
        VMulDx9ZeroF32 => map2(e, |a: f32, b: f32| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
        VFmaF32 | VFmacF32 | VFmaakF32 => map3(e, |a: f32, b: f32, c: f32| a.mul_add(b, c)),
        VFmamkF32 => map3(e, |a: f32, b: f32, c: f32| a.mul_add(b, c)),
        VMadF32 | VMacF32 | VMadakF32 | VMadmkF32 => {
            map3(e, |a: f32, b: f32, c: f32| flush(flush(flush(a) * flush(b)) + flush(c)))
        }
        VMinF32 => map2(e, min32),
        VMaxF32 => map2(e, max32),
        VMin3F32 => map3(e, |a: f32, b: f32, c: f32| min32(min32(a, b), c)),
        VMax3F32 => map3(e, |a: f32, b: f32, c: f32| max32(max32(a, b), c)),
        VMed3F32 => map3(e, med32),
        VMinmaxF32 => map3(e, |a: f32, b: f32, c: f32| max32(min32(a, b), c)),
        VMaxminF32 => map3(e, |a: f32, b: f32, c: f32| min32(max32(a, b), c)),
        VFractF32 => map1(e, |a: f32| min32(a - a.floor(), f32::from_bits(0x3f7f_ffff))),
        VTruncF32 => map1(e, |a: f32| a.trunc()),
        VCeilF32 => map1(e, |a: f32| a.ceil()),
        VFloorF32 => map1(e, |a: f32| a.floor()),
        VRndneF32 => map1(e, |a: f32| a.round_ties_even()),
        VRcpF32 | VRcpIflagF32 => map1(e, |a: f32| 1.0 / a),
        VRsqF32 => map1(e, |a: f32| (1.0 / f64::from(a).sqrt()) as f32),
        VSqrtF32 => map1(e, |a: f32| a.sqrt()),
        VExpF32 => map1(e, exp2),
        VLogF32 => map1(e, log2),
        VSinF32 => map1(e, |a: f32| sin_revolutions(f64::from(a))),
        VCosF32 => map1(e, |a: f32| sin_revolutions(f64::from(a) + 0.25)),
        VLdexpF32 => map2(e, |a: f32, b: i32| ldexp32(a, b)),
        VFrexpExpI32F32 => map1(e, |a: f32| {
            let bits = f64::from(a).to_bits();
            if a == 0.0 || !a.is_finite() { 0 } else { (bits >> 52 & 0x7ff) as i32 - 1022 }
        }),
        VFrexpMantF32 => map1(e, |a: f32| {
            let bits = f64::from(a).to_bits() & !(0x7ff << 52) | 1022 << 52;
            if a == 0.0 || !a.is_finite() { a } else { f64::from_bits(bits) as f32 }
        }),
        VDivFixupF32 => map3(e, div_fixup32),
        _ => return None,
    })
}

fn float64(op: Op, e: Engine) -> Option<Handler> {
    use Op::*;
    Some(match op {
        VAddF64 => map2(e, |a: f64, b: f64| a + b),
        VMulF64 => map2(e, |a: f64, b: f64| a * b),
        VFmaF64 | VFmacF64 => map3(e, |a: f64, b: f64, c: f64| a.mul_add(b, c)),
        VMinF64 => map2(e, min64),
        VMaxF64 => map2(e, max64),
        VTruncF64 => map1(e, |a: f64| a.trunc()),
        VCeilF64 => map1(e, |a: f64| a.ceil()),
        VFloorF64 => map1(e, |a: f64| a.floor()),
        VRndneF64 => map1(e, |a: f64| a.round_ties_even()),
        VFractF64 => map1(e, |a: f64| min64(a - a.floor(), f64::from_bits(0x3fef_ffff_ffff_ffff))),
        VDivFixupF64 => map3(e, div_fixup64),
        VRcpF64 => map1(e, |a: f64| 1.0 / a),
        VRsqF64 => map1(e, |a: f64| 1.0 / a.sqrt()),
        VSqrtF64 => map1(e, |a: f64| a.sqrt()),
        VLdexpF64 => map2(e, |a: f64, n: i32| {
            // three steps reach every exponent, and only the last can round
            let n = n.clamp(-2200, 2200);
            let first = n.clamp(-700, 700);
            let second = (n - first).clamp(-700, 700);
            a * power_of_two(first) * power_of_two(second) * power_of_two(n - first - second)
        }),
        VFrexpExpI32F64 => map1(e, |a: f64| {
            let scaled = a * 18_446_744_073_709_551_616.0;
            let (value, less) = if a.abs() < f64::MIN_POSITIVE { (scaled, 64) } else { (a, 0) };
            if a == 0.0 || !a.is_finite() { 0 } else { (value.to_bits() >> 52 & 0x7ff) as i32 - 1022 - less }
        }),
        VFrexpMantF64 => map1(e, |a: f64| {
            let scaled = a * 18_446_744_073_709_551_616.0;
            let value = if a.abs() < f64::MIN_POSITIVE { scaled } else { a };
            let mantissa = f64::from_bits(value.to_bits() & !(0x7ff << 52) | 1022 << 52);
            if a == 0.0 || !a.is_finite() { a } else { mantissa }
        }),
        _ => return None,
    })
}

fn float16(op: Op, e: Engine) -> Option<Handler> {
    use Op::*;
    Some(match op {
        VAddF16 => map2(e, |a: Half, b: Half| Half(a.0 + b.0)),
        VSubF16 => map2(e, |a: Half, b: Half| Half(a.0 - b.0)),
        VSubrevF16 => map2(e, |a: Half, b: Half| Half(b.0 - a.0)),
        VMulF16 => map2(e, |a: Half, b: Half| Half(a.0 * b.0)),
        VFmaF16 | VFmacF16 | VFmaakF16 | VFmamkF16 => map3(e, half_fma),
        VMinF16 => map2(e, |a: Half, b: Half| Half(min32(a.0, b.0))),
        VMaxF16 => map2(e, |a: Half, b: Half| Half(max32(a.0, b.0))),
        VMin3F16 => map3(e, |a: Half, b: Half, c: Half| Half(min32(min32(a.0, b.0), c.0))),
        VMax3F16 => map3(e, |a: Half, b: Half, c: Half| Half(max32(max32(a.0, b.0), c.0))),
        VMed3F16 => map3(e, |a: Half, b: Half, c: Half| Half(med32(a.0, b.0, c.0))),
        VTruncF16 => map1(e, |a: Half| Half(a.0.trunc())),
        VCeilF16 => map1(e, |a: Half| Half(a.0.ceil())),
        VFloorF16 => map1(e, |a: Half| Half(a.0.floor())),
        VRndneF16 => map1(e, |a: Half| Half(a.0.round_ties_even())),
        VFractF16 => map1(e, |a: Half| Half(min32(a.0 - a.0.floor(), 0.999_511_7))),
        VRcpF16 => map1(e, |a: Half| Half(1.0 / a.0)),
        VRsqF16 => map1(e, |a: Half| Half(1.0 / a.0.sqrt())),
        VSqrtF16 => map1(e, |a: Half| Half(a.0.sqrt())),
        VExpF16 => map1(e, |a: Half| Half(exp2(a.0))),
        VLogF16 => map1(e, |a: Half| Half(log2(a.0))),
        VSinF16 => map1(e, |a: Half| Half(sin_revolutions(f64::from(a.0)))),
        VCosF16 => map1(e, |a: Half| Half(sin_revolutions(f64::from(a.0) + 0.25))),
        VLdexpF16 => map2(e, |a: Half, b: i16| Half(ldexp32(a.0, i32::from(b)))),
        VFrexpExpI16F16 => {
            map1(e, |a: Half| if a.0 == 0.0 || !a.0.is_finite() { 0 } else { (exponent(a.0) - 126) as i16 })
        }
        VFrexpMantF16 => map1(e, |a: Half| {
            let bits = a.0.to_bits() & !(0xff << 23) | 126 << 23;
            if a.0 == 0.0 || !a.0.is_finite() { a } else { Half(f32::from_bits(bits)) }
        }),
        VDivFixupF16 => map3(e, |a: Half, b: Half, c: Half| Half(div_fixup32(a.0, b.0, c.0))),
        _ => return None,
    })
}

fn convert(op: Op, e: Engine) -> Option<Handler> {
    use Op::*;
    Some(match op {
        VCvtF32F16 => map1(e, |a: Half| a.0),
        VCvtF16F32 => map1(e, |a: f32| Half(a)),
        VCvtF32I32 => map1(e, |a: i32| a as f32),
        VCvtF32U32 => map1(e, |a: u32| a as f32),
        VCvtI32F32 => map1(e, |a: f32| a as i32),
        VCvtU32F32 => map1(e, |a: f32| a as u32),
        VCvtFloorI32F32 => map1(e, |a: f32| a.floor() as i32),
        VCvtNearestI32F32 => map1(e, |a: f32| (a + 0.5).floor() as i32),
        VCvtF64F32 => map1(e, |a: f32| f64::from(a)),
        VCvtF32F64 => map1(e, |a: f64| a as f32),
        VCvtF64I32 => map1(e, |a: i32| f64::from(a)),
        VCvtF64U32 => map1(e, |a: u32| f64::from(a)),
        VCvtI32F64 => map1(e, |a: f64| a as i32),
        VCvtU32F64 => map1(e, |a: f64| a as u32),
        VCvtF16I16 => map1(e, |a: i16| Half(f32::from(a))),
        VCvtF16U16 => map1(e, |a: u16| Half(f32::from(a))),
        VCvtI16F16 => map1(e, |a: Half| a.0 as i16),
        VCvtU16F16 => map1(e, |a: Half| a.0 as u16),
        VCvtI32I16 => map1(e, |a: i16| i32::from(a)),
        VCvtU32U16 => map1(e, |a: u16| u32::from(a)),
        VCvtF32Ubyte0 => map1(e, |a: u32| (a & 0xff) as f32),
        VCvtF32Ubyte1 => map1(e, |a: u32| (a >> 8 & 0xff) as f32),
        VCvtF32Ubyte2 => map1(e, |a: u32| (a >> 16 & 0xff) as f32),
        VCvtF32Ubyte3 => map1(e, |a: u32| (a >> 24) as f32),
        VCvtPkRtzF16F32 => {
            map2(e, |a: f32, b: f32| u32::from(f32_to_half_rtz(a)) | u32::from(f32_to_half_rtz(b)) << 16)
        }
        VCvtPkU16U32 => map2(e, |a: u32, b: u32| a.min(0xffff) | b.min(0xffff) << 16),
        VCvtPkI16I32 => map2(e, |a: i32, b: i32| {
            (a.clamp(-0x8000, 0x7fff) & 0xffff) as u32 | (b.clamp(-0x8000, 0x7fff) as u32) << 16
        }),
        _ => return None,
    })
}
