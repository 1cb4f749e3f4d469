//! Operations on both halves of registers, and on both registers of pairs.

use vgpu_isa::Modifiers;

use super::lanewise::{Cx, Op, Way, evaluate, evaluate_both, execute, loud};
use super::operand::Args;
use super::result::{Ret, Target};
use crate::level::{SimdBody, at_lowest_level};
use crate::simd::{F, Simd, U};
use crate::{Code, Flow, Wave};

/// A way to apply an operation: to both halves of registers.
pub(super) struct BothHalves;

/// An operation on both halves of registers.
pub(super) type Packed<O> = (O, BothHalves);

/// The modifiers of the low and the high half.
fn halves_of(mods: &Modifiers) -> [Modifiers; 2] {
    [Modifiers { abs: 0, ..*mods }, Modifiers { abs: 0, op_sel: mods.op_sel_hi, neg: mods.neg_hi, ..*mods }]
}

/// The sources for the low and the high half.
///
/// # Safety
/// See [`Args::rows`].
#[inline(always)]
unsafe fn both_rows<A: Args<S>, S: Simd, const MODS: bool, const PLAIN: bool>(
    wave: &Wave,
    code: &Code,
) -> [A::Rows; 2] {
    // SAFETY: the caller's promise.
    let mut rows = [unsafe { A::rows::<PLAIN>(wave, code) }; 2];
    let [low, high] = halves_of(&code.mods);
    A::modify::<MODS>(&mut rows[0], &low);
    A::modify::<MODS>(&mut rows[1], &high);
    rows
}

#[inline(always)]
fn advance_both<A: Args<S>, S: Simd>(rows: &mut [A::Rows; 2], chunks: usize) {
    for rows in rows {
        A::advance(rows, chunks);
    }
}

/// Two chunks of intermediate results for one half; none if there are NaNs to settle.
///
/// # Safety
/// See [`Args::fetch`].
#[inline(always)]
unsafe fn two_chunks<O: Op, S: Simd, const MODS: bool>(
    cx: &mut Cx,
    rows: &<O::Args<S> as Args<S>>::Rows,
    lane: usize,
) -> Option<[O::Ret<S>; 2]> {
    // SAFETY: the caller's promise.
    let args = unsafe { [O::Args::<S>::fetch::<MODS>(rows, 0), O::Args::<S>::fetch::<MODS>(rows, 1)] };
    evaluate_both::<O, S, MODS>(cx, lane, args)
}

/// A chunk of results for one half.
///
/// # Safety
/// See [`Args::fetch`].
#[inline(always)]
unsafe fn one_half<O: HalfOp, S: Simd, const LOUD: bool>(
    cx: &Cx,
    rows: &<O::Args<S> as Args<S>>::Rows,
) -> U<S> {
    // SAFETY: the caller's promise.
    unsafe {
        let result = evaluate::<O, S, true>(cx, O::Args::<S>::fetch::<true>(rows, 0));
        if LOUD && Ret::has_nan([result; 2]) {
            return O::half_loud::<S>(result.settle(loud::<O, S, true>(cx, rows), false));
        }
        O::half::<S>(result)
    }
}

impl<O: HalfOp> SimdBody for Packed<O> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { execute::<Self, S>(wave, code) }
    }
}

impl<O: HalfOp> Way for Packed<O> {
    type Op = O;
    const MODS: bool = true;
    const LONG: bool = O::LONG;
    const PLAIN_APART: bool = true;
    type Rows<S: Simd> = [<O::Args<S> as Args<S>>::Rows; 2];

    #[inline(always)]
    unsafe fn rows<S: Simd, const PLAIN: bool>(wave: &Wave, code: &Code) -> Self::Rows<S> {
        // SAFETY: the caller's promise.
        unsafe { both_rows::<O::Args<S>, S, true, PLAIN>(wave, code) }
    }

    #[inline(always)]
    fn advance<S: Simd>(rows: &mut Self::Rows<S>, chunks: usize) {
        advance_both::<O::Args<S>, S>(rows, chunks);
    }

    #[inline(always)]
    unsafe fn both<S: Simd>(cx: &mut Cx, rows: &Self::Rows<S>, lane: usize, target: &Target) -> Option<u32> {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b] = two_chunks::<O, S, true>(cx, &rows[0], lane)?;
            let [c, d] = two_chunks::<O, S, true>(cx, &rows[1], lane)?;
            target.write(0, O::half::<S>(a) | O::half::<S>(c) << 16);
            target.second().write(0, O::half::<S>(b) | O::half::<S>(d) << 16);
        }
        Some(0)
    }

    #[inline(always)]
    unsafe fn one<S: Simd, const LOUD: bool>(cx: &Cx, rows: &Self::Rows<S>, target: &Target) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            let low = one_half::<O, S, LOUD>(cx, &rows[0]);
            target.write(0, low | one_half::<O, S, LOUD>(cx, &rows[1]) << 16);
        }
        0
    }

    #[cold]
    unsafe fn exactly(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { at_lowest_level::<Self>(wave, code) }
    }
}

/// A way to apply an operation: to both registers of pairs.
pub(super) struct BothRegisters<const MODS: bool>;

/// An operation on f32 on both registers of pairs. Without `MODS`, `op_sel` is the only modifier.
pub(super) type PackedSingle<O, const MODS: bool> = (O, BothRegisters<MODS>);

impl<O: SingleOp, const MODS: bool> SimdBody for PackedSingle<O, MODS> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { execute::<Self, S>(wave, code) }
    }
}

impl<O: SingleOp, const MODS: bool> Way for PackedSingle<O, MODS> {
    type Op = O;
    const MODS: bool = MODS;
    const LONG: bool = false;
    type Rows<S: Simd> = [<O::Args<S> as Args<S>>::Rows; 2];

    #[inline(always)]
    unsafe fn rows<S: Simd, const PLAIN: bool>(wave: &Wave, code: &Code) -> Self::Rows<S> {
        // SAFETY: the caller's promise.
        let mut rows = unsafe { both_rows::<O::Args<S>, S, MODS, PLAIN>(wave, code) };
        O::Args::<S>::choose(&mut rows[0], code.mods.op_sel);
        O::Args::<S>::choose(&mut rows[1], code.mods.op_sel_hi);
        rows
    }

    #[inline(always)]
    fn advance<S: Simd>(rows: &mut Self::Rows<S>, chunks: usize) {
        advance_both::<O::Args<S>, S>(rows, chunks);
    }

    #[inline(always)]
    unsafe fn both<S: Simd>(cx: &mut Cx, rows: &Self::Rows<S>, lane: usize, target: &Target) -> Option<u32> {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b] = two_chunks::<O, S, MODS>(cx, &rows[0], lane)?;
            let [c, d] = two_chunks::<O, S, MODS>(cx, &rows[1], lane)?;
            let second = target.second();
            target.write(0, O::single::<S>(a).bits());
            target.write(target.lanes, O::single::<S>(c).bits());
            second.write(0, O::single::<S>(b).bits());
            second.write(second.lanes, O::single::<S>(d).bits());
        }
        Some(0)
    }

    #[inline(always)]
    unsafe fn one<S: Simd, const LOUD: bool>(cx: &Cx, rows: &Self::Rows<S>, target: &Target) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            let low = evaluate::<O, S, MODS>(cx, O::Args::<S>::fetch::<MODS>(&rows[0], 0));
            let high = evaluate::<O, S, MODS>(cx, O::Args::<S>::fetch::<MODS>(&rows[1], 0));
            target.write(0, O::single::<S>(low).bits());
            target.write(target.lanes, O::single::<S>(high).bits());
        }
        0
    }

    #[cold]
    unsafe fn exactly(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { at_lowest_level::<PackedSingle<O, true>>(wave, code) }
    }
}

/// An operation whose result has 16 bits.
pub(super) trait HalfOp: Op {
    /// The result's bits.
    fn half<S: Simd>(result: Self::Ret<S>) -> U<S>;

    /// The same, with signalling NaNs unchanged.
    fn half_loud<S: Simd>(result: Self::Ret<S>) -> U<S>;
}

/// An operation whose result is f32.
pub(super) trait SingleOp: Op {
    /// The result.
    fn single<S: Simd>(result: Self::Ret<S>) -> F<S>;
}

/// Declares operations as [`HalfOp`] or [`SingleOp`].
macro_rules! packable {
    (half: $($op:ty),*) => {$(
        impl crate::valu::packed::HalfOp for $op {
            #[inline(always)]
            fn half<S: Simd>(result: Self::Ret<S>) -> U<S> {
                crate::valu::result::Half::half(result)
            }

            #[inline(always)]
            fn half_loud<S: Simd>(result: Self::Ret<S>) -> U<S> {
                crate::valu::result::Half::half_loud(result)
            }
        }
    )*};
    (single: $($op:ty),*) => {$(
        impl crate::valu::packed::SingleOp for $op {
            #[inline(always)]
            fn single<S: Simd>(result: Self::Ret<S>) -> F<S> {
                result
            }
        }
    )*};
}

pub(super) use packable;
