//! Conversions between number formats, and operations that mix formats.

use super::eight::Byte;
use super::lanewise::{Cx, Op, ops};
use super::operand::{Arg, B16, H, I16, Mixed, Source, W16};
use super::result::Ret;
use super::select::table;
use crate::float::convert;
use crate::float::soft::{Env, F16, F32, F64};
use crate::simd::{F, G, Simd, U};

fn half(bits: u32) -> u32 {
    u32::from(convert::f32_to_f16_toward_zero(bits))
}

/// A number between -1 and 1 as a fraction of `most`.
#[inline(always)]
fn normalized<S: Simd>(a: F<S>, least: f32, most: f32) -> U<S> {
    let low = a.less(F::splat(least)).select_f32(F::splat(least), a);
    let both = F::splat(1.0).less(low).select_f32(F::splat(1.0), low);
    (both.to_f64() * f64::from(most)).rint().to_i32() & 0xffff
}

/// Rounds to an integer in `0..=most` or `least..=most`.
#[inline(always)]
fn saturated<S: Simd>(a: F<S>, least: i32, most: i32) -> U<S> {
    a.to_i32().imax(U::splat(least as u32)).imin(U::splat(most as u32))
}

/// Inserts a byte into `old` at the position `place`.
#[inline(always)]
pub(super) fn insert_byte<S: Simd>(byte: U<S>, place: U<S>, old: U<S>) -> U<S> {
    let shift = (place & 3) << 3;
    (old & !(U::splat(0xff) << shift)) | byte << shift
}

/// NaNs become the least or the greatest integer, depending on their sign, as measured on gfx1201; the
/// vendor's text specifies zero.
#[inline(always)]
fn by_sign<S: Simd>(a: F<S>, result: U<S>) -> U<S> {
    a.is_nan().select(U::splat(0x7fff_ffff) + (a.bits() >> 31), result)
}

/// Rounded to an integer in the f32 rounding mode of MODE.
#[inline(always)]
fn in_mode<S: Simd>(cx: &Cx, a: F<S>) -> F<S> {
    match cx.mode & 3 {
        0 => a.rint(),
        1 => a.ceil(),
        2 => a.floor(),
        _ => a.trunc(),
    }
}

/// One of two f16 results, rounded and modified.
#[inline(always)]
fn half_in_mode<S: Simd>(cx: &Cx, a: F<S>) -> U<S> {
    let half = if cx.mode & 12 == 0 && !cx.flushes_results() {
        a.to_half()
    } else {
        let env = Env { flush_in: false, ..Env::double(cx.mode) };
        a.bits().map(move |bits| F32.convert(bits.into(), F16, env) as u32)
    };
    if cx.clamp || cx.omod != 0 { H(half.half_to_f32()).modify(cx).0.to_half() } else { half }
}

/// As bf16, to nearest even.
#[inline(always)]
fn brain<S: Simd>(cx: &Cx, a: F<S>) -> U<S> {
    let a = if cx.clamp || cx.omod != 0 { a.modify(cx) } else { a };
    let bits = a.bits();
    a.is_nan().select((bits | 0x40_0000) >> 16, (bits + 0x7fff + (bits >> 16 & 1)) >> 16)
}

/// `a * b + c` as f32, such that rounding it to f16 rounds the exact result.
#[inline(always)]
fn fma_for_half<S: Simd>(a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    let sum = a.fma(b, c);
    // f16 numbers and the midpoints between them end in zeros. Any other value is on the same side of them as
    // the exact result.
    if !(sum.bits() & 0xfff).equal(U::splat(0)).any() {
        return sum;
    }
    a.bits().map3(b.bits(), c.bits(), fma_to_odd).as_f32()
}

/// `a * b + c` as f32: the exact result, or its neighbour with an odd last digit.
fn fma_to_odd(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = crate::rows::map([a, b, c], |bits| f64::from(f32::from_bits(bits)));
    // The product is exact.
    let product = a * b;
    let sum = product + c;
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    let near = sum as f32;
    let lost = (sum - f64::from(near)) + lost;
    let bits = near.to_bits();
    if bits & 1 != 0 || lost == 0.0 || lost.is_nan() {
        bits
    } else if (lost < 0.0) == near.is_sign_negative() {
        bits + 1
    } else {
        bits - 1
    }
}

/// The low 32 bits, as a signed integer.
fn signed(bits: u64) -> i128 {
    i128::from(bits as u32 as i32)
}

ops! {
    F32I32 [MODS] (_cx; a: Int) -> F<S> { a.0.to_f32_signed() }
        => rounded([a, _, _], env, _) { F32.integer(signed(a), env) }
    F32U32 [MODS] (_cx; a: Int) -> F<S> { a.0.to_f32() }
        => rounded([a, _, _], env, _) { F32.integer(i128::from(a as u32), env) }
    F32Ubyte0 [MODS] (_cx; a: U) -> F<S> { (a & 0xff).to_f32_signed() }
    F32Ubyte1 [MODS] (_cx; a: U) -> F<S> { (a >> 8 & 0xff).to_f32_signed() }
    F32Ubyte2 [MODS] (_cx; a: U) -> F<S> { (a >> 16 & 0xff).to_f32_signed() }
    F32Ubyte3 [MODS] (_cx; a: U) -> F<S> { (a >> 24).to_f32_signed() }
    OffF32I4 [MODS] (_cx; a: U) -> F<S> { (a << 28).sar(U::splat(28)).to_f32_signed() * 0.0625 }
    I32F32 [MODS] (_cx; a: F) -> U<S> { a.to_i32() }
    U32F32 [MODS] (_cx; a: F) -> U<S> { a.to_u32() }
    FloorI32F32 [MODS] (_cx; a: F) -> U<S> { by_sign(a, a.floor().to_i32()) }
    NearestI32F32 [MODS] (_cx; a: F) -> U<S> {{
        // The sum with a half is exact in f64.
        by_sign(a, (a.to_f64() + 0.5).floor().to_i32())
    }}
    F64F32 [MODS] (_cx; a: F) -> G<S> { a.to_f64() }
    F64I32 [MODS] (_cx; a: U) -> G<S> { a.to_f64_signed() }
    F64U32 [MODS] (_cx; a: U) -> G<S> { a.to_f64() }
    F32F64 [MODS] (_cx; a: G) -> F<S> { a.to_f32() }
        => rounded([a, _, _], single, double) {
            F64.convert(a, F32, Env { round: double.round, flush_in: false, ..single })
        }
    I32F64 [MODS] (_cx; a: G) -> U<S> { a.to_i32() }
    U32F64 [MODS] (_cx; a: G) -> U<S> { a.to_u32() }
    F32F16 [MODS] (_cx; a: H) -> F<S> { a.0 }
    F16F32 [MODS] (_cx; a: F) -> H<S> { H(a) }
        => rounded([a, _, _], _, env) { F32.convert(a, F16, Env { flush_in: false, ..env }) }
    F32Bf16 [MODS] (_cx; a: B16) -> F<S> {{
        let value = (a.0 << 16).as_f32();
        value.is_nan().select(value.bits() | 0x40_0000, value.bits()).as_f32()
    }}
    PkF16F32 [LONG, MODS] (cx; a: F, b: F) -> U<S> { half_in_mode(cx, a) | half_in_mode(cx, b) << 16 }
    PkBf16F32 [MODS] (cx; a: F, b: F) -> U<S> { brain(cx, a) | brain(cx, b) << 16 }
    F16U16 [MODS] (_cx; a: W16) -> H<S> { H(a.0.to_f32_signed()) }
        => rounded([a, _, _], _, env) { F16.integer(signed(a), env) }
    F16I16 [MODS] (_cx; a: I16) -> H<S> { H(a.0.to_f32_signed()) }
        => rounded([a, _, _], _, env) { F16.integer(signed(a), env) }
    U16F16 [MODS] (_cx; a: H) -> W16<S> { W16(saturated(a.0, 0, 0xffff)) }
    I16F16 [MODS] (_cx; a: H) -> W16<S> { W16(saturated(a.0, -0x8000, 0x7fff)) }
    NormI16F16 [LONG, MODS] (_cx; a: H) -> W16<S> { W16(normalized(a.0, -1.0, 32767.0)) }
    NormU16F16 [LONG, MODS] (_cx; a: H) -> W16<S> { W16(normalized(a.0, 0.0, 65535.0)) }
    PkRtzF16F32 [MODS] (_cx; a: F, b: F) -> U<S> { a.bits().map(half) | b.bits().map(half) << 16 }
    PkNormI16F32 [LONG, MODS] (_cx; a: F, b: F) -> U<S> { normalized(a, -1.0, 32767.0) | normalized(b, -1.0, 32767.0) << 16 }
    PkNormU16F32 [LONG, MODS] (_cx; a: F, b: F) -> U<S> { normalized(a, 0.0, 65535.0) | normalized(b, 0.0, 65535.0) << 16 }
    PkNormI16F16 [LONG, MODS] (_cx; a: H, b: H) -> U<S> { normalized(a.0, -1.0, 32767.0) | normalized(b.0, -1.0, 32767.0) << 16 }
    PkNormU16F16 [LONG, MODS] (_cx; a: H, b: H) -> U<S> { normalized(a.0, 0.0, 65535.0) | normalized(b.0, 0.0, 65535.0) << 16 }
    PkI16F32 [MODS] (_cx; a: F, b: F) -> U<S> {
        (saturated(a, -0x8000, 0x7fff) & 0xffff) | saturated(b, -0x8000, 0x7fff) << 16
    }
    PkU16F32 [MODS] (_cx; a: F, b: F) -> U<S> { saturated(a, 0, 0xffff) | saturated(b, 0, 0xffff) << 16 }
    PkU8F32 [MODS] (cx; a: F, b: U, c: U) -> U<S> { insert_byte(saturated(in_mode(cx, a), 0, 255), b, c) }
    PkaccumU8F32 [MODS] (cx; a: F, b: U) -> Byte<S> { Byte(saturated(in_mode(cx, a), 0, 255), b) }
    FmaMixF32 [MODS, NAN, LOUD] (_cx; a: Mixed, b: Mixed, c: Mixed) -> F<S> { a.0.fma(b.0, c.0) }
        => rounded([a, b, c], env, _) { F32.fma(a, b, c, env) }
    FmaMixF16 [MODS, NAN, LOUD] (_cx; a: Mixed, b: Mixed, c: Mixed) -> H<S> { H(fma_for_half(a.0, b.0, c.0)) }
        => rounded([a, b, c], single, double) {
            F32.fma_to(F16, [a, b, c], 0, Env { flush_in: single.flush_in, ..double })
        }
}

/// An integer source that is rounded by its bits.
#[derive(Clone, Copy)]
pub(super) struct Int<S: Simd>(pub U<S>);

impl<S: Simd> Arg<S> for Int<S> {
    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        Int(unsafe { <U<S> as Arg<S>>::fetch::<MODS>(row, k) })
    }

    #[inline(always)]
    fn raw(self) -> super::settle::Raw {
        [self.0.array(), [0; crate::simd::LANES]]
    }
}

table! {
    VCvtF32I32 => F32I32,
    VCvtF32U32 => F32U32,
    VCvtF32Ubyte0 => F32Ubyte0,
    VCvtF32Ubyte1 => F32Ubyte1,
    VCvtF32Ubyte2 => F32Ubyte2,
    VCvtF32Ubyte3 => F32Ubyte3,
    VCvtOffF32I4 => OffF32I4,
    VCvtI32F32 => I32F32,
    VCvtU32F32 => U32F32,
    VCvtFloorI32F32 => FloorI32F32,
    VCvtNearestI32F32 => NearestI32F32,
    VCvtF64F32 => F64F32,
    VCvtF64I32 => F64I32,
    VCvtF64U32 => F64U32,
    VCvtF32F64 => F32F64,
    VCvtI32F64 => I32F64,
    VCvtU32F64 => U32F64,
    VCvtF32F16 => F32F16,
    VCvtF16F32 => F16F32,
    VCvtF32Bf16 => F32Bf16,
    VCvtPkF16F32 => PkF16F32,
    VCvtPkBf16F32 => PkBf16F32,
    VCvtF16U16 => F16U16,
    VCvtF16I16 => F16I16,
    VCvtU16F16 => U16F16,
    VCvtI16F16 => I16F16,
    VCvtNormI16F16 => NormI16F16,
    VCvtNormU16F16 => NormU16F16,
    VCvtPkRtzF16F32 => PkRtzF16F32,
    VCvtPkNormI16F32 => PkNormI16F32,
    VCvtPkNormU16F32 => PkNormU16F32,
    VCvtPkNormI16F16 => PkNormI16F16,
    VCvtPkNormU16F16 => PkNormU16F16,
    VCvtPkI16F32 => PkI16F32,
    VCvtPkU16F32 => PkU16F32,
    VCvtPkU8F32 => PkU8F32,
    VCvtPkaccumU8F32 => PkaccumU8F32,
    VFmaMixF32 => FmaMixF32,
    VFmaMixloF16 | VFmaMixhiF16 => FmaMixF16,
}
