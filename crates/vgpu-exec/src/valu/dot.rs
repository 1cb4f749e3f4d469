//! Dot products of the parts of registers.

use vgpu_isa::Generation;

use super::lanewise::{Cx, Op, ops};
use super::operand::{B, B16, Brains, Halves, SignedWords, W16, Words, X16};
use super::result::{Ret, Target};
use super::select::choose;
use super::settle::Raw;
use crate::Handler;
use crate::float::dot::{Factors, Rounded, Rules};
use crate::lower::Context;
use crate::simd::{F, LANES, Simd, U};

/// The sum of the products of `N` parts of `BITS` bits.
#[inline(always)]
fn products<const BITS: u32>(a: u32, b: u32, signed_a: bool, signed_b: bool) -> i64 {
    let part = |value: u32, i: u32, signed: bool| {
        let top = value << (32 - BITS * (i + 1));
        i64::from(if signed { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 })
    };
    let mut sum = 0;
    for i in 0..32 / BITS {
        sum += part(a, i, signed_a) * part(b, i, signed_b);
    }
    sum
}

#[inline(always)]
fn signed_sum<S: Simd, const BITS: u32>(clamp: bool, a: U<S>, b: U<S>, c: U<S>, signs: [bool; 2]) -> U<S> {
    a.map3(b, c, move |a, b, c| {
        let sum = i64::from(c as i32) + products::<BITS>(a, b, signs[0], signs[1]);
        if clamp { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { sum as u32 }
    })
}

#[inline(always)]
fn unsigned_sum<S: Simd, const BITS: u32>(clamp: bool, a: U<S>, b: U<S>, c: U<S>) -> U<S> {
    a.map3(b, c, move |a, b, c| {
        let sum = i64::from(c) + products::<BITS>(a, b, false, false);
        if clamp { sum.min(i64::from(u32::MAX)) as u32 } else { sum as u32 }
    })
}

/// Fused multiply-add. NaNs are settled after each, because the sum continues with them.
#[inline(always)]
fn fma<S: Simd>(a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    Ret::settle(a.fma(b, c), (a, b, c), true)
}

/// f16 as f32, with subnormal numbers as zero.
#[inline(always)]
fn normal<S: Simd>(half: F<S>) -> F<S> {
    let bits = half.bits();
    (bits & 0x7fff_ffff).less(U::splat(0x3880_0000)).select(bits & 0x8000_0000, bits).as_f32()
}

/// The sum of products as RDNA 3 and 4 compute it; all values are f32.
#[inline(always)]
fn on_grid<S: Simd>(
    cx: &Cx,
    factors: Factors,
    rounded: Rounded,
    a: (F<S>, F<S>),
    b: (F<S>, F<S>),
    c: U<S>,
) -> U<S> {
    let rules = Rules { factors: [factors; 2], rounded, fourth: cx.is_gfx12() };
    let array = |x: F<S>| x.bits().array();
    U::from_array(rules.sum::<2, 2, LANES>([array(a.0), array(a.1)], [array(b.0), array(b.1)], c.array()))
}

/// An f32 for which MODE disables subnormal numbers.
impl<S: Simd> Ret<S> for B<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { self.0.as_f32().store(target, cx) }
    }

    #[inline(always)]
    fn modify(self, cx: &Cx) -> Self {
        B(Ret::modify(self.0.as_f32(), cx).bits())
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        B(<U<S> as Ret<S>>::from_raw(raw))
    }
}

ops! {
    F32F16 [LONG, MODS] (_cx; a: Halves, b: Halves, c: F) -> F<S> { fma(a.1, b.1, fma(a.0, b.0, c)) }
    // CDNA never uses subnormal f32 here, whatever MODE is. Sums could only be subnormal if the addend were,
    // because products of f16 are multiples of 2^-48.
    FlushedF32F16 [LONG, MODS, FLUSH = 1] (_cx; a: Halves, b: Halves, c: F) -> F<S> {
        fma(a.1, b.1, fma(a.0, b.0, c))
    }
    // gfx90a also treats subnormal f16 as zero.
    NormalF32F16 [LONG, MODS, FLUSH = 1] (_cx; a: Halves, b: Halves, c: F) -> F<S> {
        fma(normal(a.1), normal(b.1), fma(normal(a.0), normal(b.0), c))
    }
    // As for f16.
    FlushedF32Bf16 [LONG, MODS, FLUSH = 1] (_cx; a: Brains, b: Brains, c: F) -> F<S> {
        fma(a.1, b.1, fma(a.0, b.0, c))
    }
    // RDNA 3 and 4 handle subnormal numbers independently of MODE.
    GridF32F16 [LONG, MODS] (cx; a: Halves, b: Halves, c: B) -> B<S> {
        B(on_grid(cx, Factors::F16, Rounded::F32, (a.0, a.1), (b.0, b.1), c.0))
    }
    GridF32Bf16 [LONG, MODS] (cx; a: Brains, b: Brains, c: B) -> B<S> {
        B(on_grid(cx, Factors::Bf16, Rounded::F32, (a.0, a.1), (b.0, b.1), c.0))
    }
    GridF16F16 [LONG, MODS] (cx; a: Halves, b: Halves, c: B16) -> X16<S> {{
        let rounded = Rounded::F16(cx.saturates_halves());
        let c = c.0.half_to_f32().bits();
        X16(on_grid(cx, Factors::F16, rounded, (a.0, a.1), (b.0, b.1), c).as_f32().to_half())
    }}
    GridBf16Bf16 [LONG, MODS] (cx; a: Brains, b: Brains, c: B16) -> W16<S> {
        W16(on_grid(cx, Factors::Bf16, Rounded::Bf16, (a.0, a.1), (b.0, b.1), c.0 << 16) >> 16)
    }
    I32I16 [LONG, MODS] (cx; a: SignedWords, b: SignedWords, c: U) -> U<S> {{
        if cx.clamp {
            let (low, high) = (a.0 * b.0, a.1 * b.1);
            low.map3(high, c, |x, y, c| {
                let sum = i64::from(x as i32) + i64::from(y as i32) + i64::from(c as i32);
                sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
            })
        } else {
            a.0 * b.0 + a.1 * b.1 + c
        }
    }}
    U32U16 [LONG, MODS] (cx; a: Words, b: Words, c: U) -> U<S> {{
        if cx.clamp {
            (a.0 * b.0).map3(a.1 * b.1, c, |x, y, c| x.saturating_add(y).saturating_add(c))
        } else {
            a.0 * b.0 + a.1 * b.1 + c
        }
    }}
    I32I8 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> { signed_sum::<S, 8>(cx.clamp, a, b, c, [true; 2]) }
    U32U8 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> { unsigned_sum::<S, 8>(cx.clamp, a, b, c) }
    I32Iu8 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> { signed_sum::<S, 8>(cx.clamp, a, b, c, cx.signs()) }
    I32I4 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> { signed_sum::<S, 4>(cx.clamp, a, b, c, [true; 2]) }
    U32U4 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> { unsigned_sum::<S, 4>(cx.clamp, a, b, c) }
    I32Iu4 [LONG, MODS] (cx; a: U, b: U, c: U) -> U<S> { signed_sum::<S, 4>(cx.clamp, a, b, c, cx.signs()) }
}

/// The handler of a dot product.
pub(super) fn handler(op: vgpu_isa::Op, context: &Context) -> Option<Handler> {
    use vgpu_isa::Op::*;
    Some(match op {
        VDot2F32F16 | VDot2accF32F16 => match context.generation {
            Generation::Gfx9 => choose::<NormalF32F16>(context, true),
            Generation::Gfx940 => choose::<FlushedF32F16>(context, true),
            Generation::Gfx10 => choose::<F32F16>(context, true),
            Generation::Gfx11 | Generation::Gfx12 => choose::<GridF32F16>(context, true),
        },
        VDot2F32Bf16 | VDot2accF32Bf16 if context.generation.is_cdna() => {
            choose::<FlushedF32Bf16>(context, true)
        }
        VDot2F32Bf16 | VDot2accF32Bf16 => choose::<GridF32Bf16>(context, true),
        VDot2F16F16 => choose::<GridF16F16>(context, true),
        VDot2Bf16Bf16 => choose::<GridBf16Bf16>(context, true),
        VDot2I32I16 | VDot2cI32I16 => choose::<I32I16>(context, true),
        VDot2U32U16 => choose::<U32U16>(context, true),
        VDot4I32I8 | VDot4cI32I8 => choose::<I32I8>(context, true),
        VDot4U32U8 => choose::<U32U8>(context, true),
        VDot4I32Iu8 => choose::<I32Iu8>(context, true),
        VDot8I32I4 | VDot8cI32I4 => choose::<I32I4>(context, true),
        VDot8U32U4 => choose::<U32U4>(context, true),
        VDot8I32Iu4 => choose::<I32Iu4>(context, true),
        _ => return None,
    })
}
