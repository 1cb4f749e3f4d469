//! One body for all vector instructions that work lane by lane: fetch sixteen lanes of each source, apply the operation,
//! write what EXEC enables.

use super::operand::Args;
use super::result::{Ret, Target};
use super::settle::rounded;
use crate::exec::float::soft::Env;
use crate::exec::level::{SimdBody, at_lowest_level};
use crate::exec::simd::{F, LANES, Simd, U, opaque};
use crate::exec::{Code, Flow, Wave};
use crate::isa::{Modifiers, scalar};
use crate::machine::Generation;

/// What an operation may want to know besides its sources.
#[derive(Clone, Copy)]
pub(super) struct Cx {
    /// The MODE register.
    pub mode: u32,
    /// The number of the first of the sixteen lanes.
    pub lane: u32,
    /// Saturate.
    pub clamp: bool,
    /// Output multiplier.
    pub omod: u8,
    /// Which subnormal numbers count as zero: bit 0 f32 sources, 1 f32 results, 2 f64 and f16 sources, 3 such results.
    pub flush: u8,
    /// Which half of the destination is written: 0 the low one with zeros above, 1 the low one, 2 the high one.
    pub half: u8,
    /// Negation modifiers.
    neg: u8,
    /// Which halves or bytes are chosen.
    pub op_sel: u8,
    /// As [`generation_bits`] gives it.
    generation: u8,
}

/// `Code::imm` of instructions with this engine: bits 0..=7 the half of the destination, and from here the generation.
const GENERATION: u32 = 16;

/// A generation in [`Code::imm`].
pub(super) fn generation_bits(generation: Generation) -> i64 {
    (generation as i64) << GENERATION
}

impl Cx {
    #[inline(always)]
    pub(super) fn new(mode: u32, code: &Code, flush: u8, mods: bool) -> Cx {
        Cx {
            mode,
            lane: 0,
            clamp: mods && code.mods.clamp,
            omod: if mods { code.mods.omod } else { 0 },
            flush: (!mode >> 4 & 15) as u8 | flush,
            half: code.imm as u8,
            neg: if mods { code.mods.neg } else { 0 },
            op_sel: code.mods.op_sel,
            generation: (code.imm >> GENERATION) as u8,
        }
    }

    /// Whether the generation is CDNA.
    #[inline(always)]
    pub(super) fn is_cdna(&self) -> bool {
        self.generation <= Generation::Gfx940 as u8
    }

    /// Whether the generation is gfx12.
    #[inline(always)]
    pub(super) fn is_gfx12(&self) -> bool {
        self.generation == Generation::Gfx12 as u8
    }

    /// Whether sources 0 and 1 of a dot product are signed, which their negation modifiers say.
    #[inline(always)]
    pub(super) fn signs(&self) -> [bool; 2] {
        [self.neg & 1 != 0, self.neg & 2 != 0]
    }

    /// Whether f16 results that overflow become the largest number: MODE's FP16_OVFL.
    #[inline(always)]
    pub(super) fn saturates_halves(&self) -> bool {
        self.mode >> 23 & 1 != 0
    }

    /// Whether signalling NaNs are made quiet by minimum and maximum.
    #[inline(always)]
    pub(super) fn ieee(&self) -> bool {
        self.mode & 0x200 != 0
    }
}

/// Where a lane mask goes that an operation gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MaskTo {
    /// There is none.
    Nowhere,
    /// To `dst`, and to `sdst` unless that is NULL (comparisons; `v_cmpx` of gfx9 has both).
    First,
    /// To `sdst` (carries).
    Second,
}

/// In `Code::imm`, whose low bits are the half of the destination: comparisons give the opposite.
pub(super) const INVERT: u8 = 0x80;

/// An operation on sixteen lanes.
pub(super) trait Op: 'static {
    /// Its sources.
    type Args<S: Simd>: Args<S>;
    /// Its result.
    type Ret<S: Simd>: Ret<S>;
    /// Whether it takes modifiers.
    const MODS: bool = false;
    /// Whether NaN results are the first NaN source, made quiet, or the default NaN.
    const NAN: bool = false;
    /// Whether it rounds in the mode that MODE says; it has [`Op::rounded`] then.
    const ROUNDS: bool = false;
    /// Subnormal numbers that always count as zero, as in [`Cx`].
    const FLUSH: u8 = 0;
    /// Where the lane mask goes.
    const MASK: MaskTo = MaskTo::Nowhere;
    /// Whether it takes many of the host's instructions, so that a loop's own hardly count and are not worth more code.
    const LONG: bool = false;

    /// Applies it; f32 arithmetic rounds to nearest even.
    fn apply<S: Simd>(cx: &Cx, args: Self::Args<S>) -> Self::Ret<S>;

    /// The exact result for one lane, rounded as `single` and `double` say. Sources are as [`Arg::raw`] gives them, the result
    /// is in the format of the result.
    fn rounded(_sources: [u64; 3], _single: Env, _double: Env) -> u64 {
        0
    }
}

/// Applies an operation with everything around it: subnormals, rounding, NaNs, output modifiers.
#[inline(always)]
pub(super) fn evaluate<O: Op, S: Simd, const MODS: bool>(cx: &Cx, args: O::Args<S>) -> O::Ret<S> {
    let args = if cx.flush != 0 { args.flush(cx.flush) } else { args };
    let mut result = O::apply(cx, args);
    if S::ROUNDS && O::ROUNDS && cx.mode & 15 != 0 {
        result = O::Ret::<S>::from_raw(rounded(&args.raw(), O::rounded, cx.mode));
    }
    if O::NAN {
        result = result.settle(args);
    }
    if cx.flush != 0 {
        result = result.flush(cx.flush);
    }
    if O::Ret::<S>::SATURATES && cx.saturates_halves() {
        result = result.saturate(|| args.raw());
    }
    if MODS && (cx.clamp || cx.omod != 0) {
        result = result.modify(cx);
    }
    result
}

/// Whether a wave wants an operation rounded as this level does not.
#[inline(always)]
pub(super) fn inexact<O: Op, S: Simd>(wave: &Wave) -> bool {
    O::ROUNDS && !S::ROUNDS && wave.mode & 15 != 0
}

/// MODE's rounding and denormal fields as nearly all code has them: to nearest, with subnormal numbers.
const USUAL: u8 = 0xf0;

/// Goes over the chunks of a wave that have enabled lanes. Where all lanes are enabled and MODE is as usual, that is one loop,
/// of two chunks at a time, without tests; else, or if `long`, another, before which `otherwise` is done. `each` gets how many
/// chunks it is after where `rows` and `low` are.
macro_rules! each_chunk {
    (
        $op:ty, long $long:expr, $wave:ident, $cx:ident, $rows:ident, $low:ident, otherwise $otherwise:expr,
        |$k:ident, $lane:ident, $bits:ident, $full:ident| $each:expr, $advance:expr
    ) => {{
        let lanes = usize::from($wave.lanes);
        let mut first = 0;
        if !$long && $wave.is_full() && $wave.mode as u8 == USUAL {
            const $full: bool = true;
            let $bits = u16::MAX;
            $cx.mode = $cx.mode & !0xff | u32::from(USUAL);
            $cx.flush = <$op>::FLUSH;
            loop {
                {
                    let ($k, $lane) = (0usize, first);
                    $each
                }
                {
                    let ($k, $lane) = (1usize, first + LANES);
                    $each
                }
                first += 2 * LANES;
                if first >= lanes {
                    break;
                }
                $low = $low.add(2 * LANES);
                $advance(&mut $rows, 2);
            }
        } else {
            $otherwise
            const $full: bool = false;
            let exec = $wave.active();
            loop {
                // A loop for each combination of what the operation tests would be much code.
                $cx.flush = opaque($cx.flush.into()) as u8;
                let $bits = (exec >> first) as u16;
                if $bits != 0 {
                    let ($k, $lane) = (0usize, first);
                    $each
                }
                first += LANES;
                if first >= lanes {
                    break;
                }
                $low = $low.add(LANES);
                $advance(&mut $rows, 1);
            }
        }
    }};
}

/// How an operation is applied: to each lane.
pub(super) struct EachLane<const MODS: bool>;

/// The body of an operation's handler. A tuple, because its code is then generated with the file of the operation.
pub(super) type Lanes<O, const MODS: bool> = (O, EachLane<MODS>);

impl<O: Op, const MODS: bool> SimdBody for Lanes<O, MODS> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let mut cx = Cx::new(wave.mode, code, O::FLUSH, MODS);
        let mut mask = 0u64;
        // SAFETY: operands were lowered for this wave.
        unsafe {
            let mut rows = O::Args::<S>::rows(wave, code);
            O::Args::<S>::modify::<MODS>(&mut rows, &code.mods);
            // Masks go to scalar slots; then `dst` is no vector register and is not written through this.
            let mut low = wave.vgpr.add(code.dst as usize);
            each_chunk!(
                O,
                long S::OUTLINE || O::LONG || O::Ret::<S>::LONG,
                wave,
                cx,
                rows,
                low,
                otherwise if inexact::<O, S>(wave) {
                    return if O::MODS {
                        at_lowest_level::<Lanes<O, true>>(wave, code)
                    } else {
                        at_lowest_level::<Lanes<O, false>>(wave, code)
                    };
                },
                |k, lane, bits, FULL| {
                    cx.lane = lane as u32;
                    let args = O::Args::<S>::fetch::<MODS>(&rows, k);
                    let result = evaluate::<O, S, MODS>(&cx, args);
                    let target =
                        Target { low: low.add(LANES * k), lanes: wave.lanes.into(), bits, full: FULL };
                    mask |= u64::from(result.store(&target, &cx)) << lane;
                },
                O::Args::<S>::advance
            );
        }
        match O::MASK {
            MaskTo::Nowhere => {}
            MaskTo::First => {
                let mask = if code.imm as u8 & INVERT != 0 { mask ^ wave.active() } else { mask };
                wave.set_lane_mask(code.dst as u8, mask);
                if code.sdst != scalar::NULL {
                    wave.set_lane_mask(code.sdst, mask);
                }
            }
            MaskTo::Second => wave.set_lane_mask(code.sdst, mask),
        }
        Flow::Next
    }
}

/// How an operation is applied: to both halves of registers.
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
unsafe fn both_rows<A: Args<S>, S: Simd, const MODS: bool>(wave: &mut Wave, code: &Code) -> [A::Rows; 2] {
    // SAFETY: the caller's promise.
    let mut rows = [unsafe { A::rows(wave, code) }; 2];
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

impl<O: HalfOp> SimdBody for Packed<O> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let mut cx = Cx::new(wave.mode, code, O::FLUSH, true);
        // SAFETY: operands were lowered for this wave.
        unsafe {
            let mut rows = both_rows::<O::Args<S>, S, true>(wave, code);
            let mut low = wave.vgpr.add(code.dst as usize);
            each_chunk!(
                O,
                long S::OUTLINE || O::LONG,
                wave,
                cx,
                rows,
                low,
                otherwise if inexact::<O, S>(wave) {
                    return at_lowest_level::<Self>(wave, code);
                },
                |k, lane, bits, FULL| {
                    cx.lane = lane as u32;
                    let both = [
                        O::half::<S>(evaluate::<O, S, true>(&cx, O::Args::<S>::fetch::<true>(&rows[0], k))),
                        O::half::<S>(evaluate::<O, S, true>(&cx, O::Args::<S>::fetch::<true>(&rows[1], k))),
                    ];
                    let target =
                        Target { low: low.add(LANES * k), lanes: wave.lanes.into(), bits, full: FULL };
                    target.write(0, both[0] | both[1] << 16);
                },
                advance_both::<O::Args<S>, S>
            );
        }
        Flow::Next
    }
}

/// How an operation is applied: to both registers of pairs.
pub(super) struct BothRegisters<const MODS: bool>;

/// An operation on f32, on both registers of pairs; without `MODS`, `op_sel` are the only modifiers.
pub(super) type PackedSingle<O, const MODS: bool> = (O, BothRegisters<MODS>);

impl<O: SingleOp, const MODS: bool> SimdBody for PackedSingle<O, MODS> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let mut cx = Cx::new(wave.mode, code, O::FLUSH, MODS);
        // SAFETY: operands were lowered for this wave.
        unsafe {
            let mut rows = both_rows::<O::Args<S>, S, MODS>(wave, code);
            O::Args::<S>::choose(&mut rows[0], code.mods.op_sel);
            O::Args::<S>::choose(&mut rows[1], code.mods.op_sel_hi);
            let mut low = wave.vgpr.add(code.dst as usize);
            each_chunk!(
                O,
                long S::OUTLINE,
                wave,
                cx,
                rows,
                low,
                otherwise if inexact::<O, S>(wave) {
                    return at_lowest_level::<PackedSingle<O, true>>(wave, code);
                },
                |k, lane, bits, FULL| {
                    cx.lane = lane as u32;
                    let both = [
                        O::single::<S>(evaluate::<O, S, MODS>(&cx, O::Args::<S>::fetch::<MODS>(&rows[0], k))),
                        O::single::<S>(evaluate::<O, S, MODS>(&cx, O::Args::<S>::fetch::<MODS>(&rows[1], k))),
                    ];
                    let lanes = usize::from(wave.lanes);
                    let target = Target { low: low.add(LANES * k), lanes, bits, full: FULL };
                    target.write(0, both[0].bits());
                    target.write(lanes, both[1].bits());
                },
                advance_both::<O::Args<S>, S>
            );
        }
        Flow::Next
    }
}

/// An operation whose result has 16 bits.
pub(super) trait HalfOp: Op {
    /// The result's bits.
    fn half<S: Simd>(result: Self::Ret<S>) -> U<S>;
}

/// An operation whose result is f32.
pub(super) trait SingleOp: Op {
    /// The result.
    fn single<S: Simd>(result: Self::Ret<S>) -> F<S>;
}

/// Declares operations as [`HalfOp`] or [`SingleOp`].
macro_rules! packable {
    (half: $($op:ty),*) => {$(
        impl crate::exec::valu::engine::HalfOp for $op {
            #[inline(always)]
            fn half<S: Simd>(result: Self::Ret<S>) -> U<S> {
                crate::exec::valu::result::Half::half(result)
            }
        }
    )*};
    (single: $($op:ty),*) => {$(
        impl crate::exec::valu::engine::SingleOp for $op {
            #[inline(always)]
            fn single<S: Simd>(result: Self::Ret<S>) -> F<S> {
                result
            }
        }
    )*};
}

pub(super) use packable;

/// Defines operations. Flags: `mods` takes modifiers, `nan` has settled NaNs. `rounded` follows where MODE's rounding matters.
macro_rules! ops {
    ($(
        $name:ident $([$($flag:ident $(= $value:expr)?),*])? ($cx:ident; $($arg:ident: $type:ident),*) -> $ret:ty
        { $body:expr } $(=> rounded($sources:pat, $single:pat, $double:pat) { $exact:expr })?
    )*) => {$(
        pub(super) struct $name;

        impl Op for $name {
            type Args<S: Simd> = ($($type<S>,)*);
            type Ret<S: Simd> = $ret;
            $($(const $flag: ops!(@type $flag) = ops!(@value $($value)?);)*)?
            $(
                const ROUNDS: bool = true;

                fn rounded($sources: [u64; 3], $single: Env, $double: Env) -> u64 {
                    $exact
                }
            )?

            #[inline(always)]
            fn apply<S: Simd>($cx: &crate::exec::valu::engine::Cx, ($($arg,)*): Self::Args<S>) -> Self::Ret<S> {
                let _ = $cx;
                $body
            }
        }
    )*};
    (@type FLUSH) => { u8 };
    (@type MASK) => { MaskTo };
    (@type $flag:ident) => { bool };
    (@value) => { true };
    (@value $value:expr) => { $value };
}

pub(super) use ops;
