//! A single body for all vector instructions that work lane by lane: fetch sixteen lanes of each source,
//! apply the operation, write the lanes that EXEC enables.

use std::marker::PhantomData;

use vgpu_isa::{Generation, scalar};

use super::operand::Args;
use super::result::{Ret, Target};
use super::settle::rounded;
use crate::float::soft::Env;
use crate::level::{SimdBody, at_lowest_level};
use crate::simd::{Baseline, LANES, Simd, opaque};
use crate::{Code, Flow, Wave};

/// The context of an operation, besides its sources.
#[derive(Clone, Copy)]
pub(super) struct Cx {
    /// The MODE register. Bits that gfx12 no longer has are set to their fixed values.
    pub mode: u32,
    /// The number of the first of the sixteen lanes.
    pub lane: u32,
    /// Saturate.
    pub clamp: bool,
    /// Output multiplier.
    pub omod: u8,
    /// Which subnormal numbers count as zero: bit 0 for f32 sources, 1 for f32 results, 2 for f64 and f16
    /// sources, 3 for f64 and f16 results.
    pub flush: u8,
    /// The half of the destination that is written: 0 the low one with zeros above, 1 the low one, 2 the high
    /// one.
    pub half: u8,
    /// Negation modifiers.
    neg: u8,
    /// The selected halves or bytes.
    pub op_sel: u8,
    /// The truth table of `v_bitop3`.
    pub table: u8,
    generation: Generation,
}

impl Cx {
    #[inline(always)]
    pub(super) fn new(mode: u32, code: &Code, flush: u8, mods: bool) -> Cx {
        // gfx12 has neither IEEE nor DX10_CLAMP, and behaves as if IEEE were off and DX10_CLAMP on.
        let fixed = code.generation == Generation::Gfx12;
        Cx {
            mode: if fixed { mode & !0x300 | 0x100 } else { mode },
            lane: 0,
            clamp: mods && code.mods.clamp,
            omod: if mods { code.mods.omod } else { 0 },
            flush: (!mode >> 4 & 15) as u8 | flush,
            // The low byte of `Code::imm`: the half of the destination.
            half: code.imm as u8,
            neg: if mods { code.mods.neg } else { 0 },
            op_sel: code.mods.op_sel,
            table: code.mods.truth_table,
            generation: code.generation,
        }
    }

    /// Whether the generation is CDNA.
    #[inline(always)]
    pub(super) fn is_cdna(&self) -> bool {
        self.generation.is_cdna()
    }

    /// Whether the generation is gfx12.
    #[inline(always)]
    pub(super) fn is_gfx12(&self) -> bool {
        self.generation == Generation::Gfx12
    }

    /// Whether sources 0 and 1 of a dot product are signed, as their negation modifiers specify.
    #[inline(always)]
    pub(super) fn signs(&self) -> [bool; 2] {
        [self.neg & 1 != 0, self.neg & 2 != 0]
    }

    /// Whether f16 results that overflow become the largest number: FP16_OVFL of MODE.
    #[inline(always)]
    pub(super) fn saturates_halves(&self) -> bool {
        self.mode >> 23 & 1 != 0
    }

    /// Whether minimum and maximum make signalling NaNs quiet: IEEE of MODE.
    #[inline(always)]
    pub(super) fn ieee(&self) -> bool {
        self.mode & 0x200 != 0
    }

    /// Whether signalling NaNs are made quiet, for operations where MODE decides.
    #[inline(always)]
    pub(super) fn quiets(&self) -> bool {
        self.is_gfx12() || self.ieee()
    }

    /// Whether saturation turns NaN into zero: DX10_CLAMP of MODE.
    #[inline(always)]
    pub(super) fn clears_nans(&self) -> bool {
        self.mode & 0x100 != 0
    }

    /// Whether subnormal results of any format become zero: because of MODE, the operation, or, since gfx12,
    /// the output multiplier.
    #[inline(always)]
    pub(super) fn flushes_results(&self) -> bool {
        self.flush & 10 != 0 || self.omod != 0 && self.is_gfx12()
    }

    /// MODE, adjusted for the output multiplier's effect on subnormal results.
    #[inline(always)]
    pub(super) fn mode_of_results(&self) -> u32 {
        if self.omod != 0 && self.is_gfx12() { self.mode & !0xa0 } else { self.mode }
    }

    /// The f32 rounding mode of MODE.
    #[inline(always)]
    pub(super) fn round_single(&self) -> u32 {
        self.mode & 3
    }

    /// The f64 and f16 rounding mode of MODE.
    #[inline(always)]
    pub(super) fn round_double(&self) -> u32 {
        self.mode >> 2 & 3
    }
}

/// The destination of an operation's lane mask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MaskTo {
    /// No lane mask.
    Nowhere,
    /// To `dst`, and to `sdst` unless that is NULL (comparisons; `v_cmpx` of gfx9 has both).
    First,
    /// To `sdst` (carries).
    Second,
}

/// A bit of `Code::imm`, whose low bits are the half of the destination: comparisons return the opposite.
pub(crate) const INVERT: u8 = 0x80;

/// An operation on sixteen lanes.
pub(super) trait Op: 'static {
    /// Its sources.
    type Args<S: Simd>: Args<S>;
    /// Its result.
    type Ret<S: Simd>: Ret<S>;
    /// Whether it accepts modifiers.
    const MODS: bool = false;
    /// Whether a NaN result is the first NaN source, made quiet, or the default NaN.
    const NAN: bool = false;
    /// Whether signalling NaNs stay signalling before gfx12, unless MODE enables IEEE.
    const LOUD: bool = false;
    /// Whether it rounds in the mode of MODE; then it has [`Op::rounded`].
    const ROUNDS: bool = false;
    /// Subnormal numbers that always count as zero, encoded as in [`Cx`].
    const FLUSH: u8 = 0;
    /// Whether results are kept as they are: subnormal ones are not flushed, infinite ones do not saturate.
    const KEEPS: bool = false;
    /// Whether the transcendental unit executes it. Then a result that the output multiplier makes too large
    /// is infinite in every rounding mode.
    const TRANS: bool = false;
    /// The destination of the lane mask.
    const MASK: MaskTo = MaskTo::Nowhere;
    /// Whether it takes many host instructions, so that the overhead of a loop hardly matters and a special
    /// loop is not worth its code.
    const LONG: bool = false;
    /// Whether kernels use it often, also with modifiers; then it has a separate loop for
    /// [plain](Code::plain) sources.
    const OFTEN: bool = false;

    /// Applies it; f32 arithmetic rounds to nearest even.
    fn apply<S: Simd>(cx: &Cx, args: Self::Args<S>) -> Self::Ret<S>;

    /// The exact result for one lane, rounded by `single` and `double`. Sources are as in [`Arg::raw`]; the
    /// result is in the result's format.
    fn rounded(_sources: [u64; 3], _single: Env, _double: Env) -> u64 {
        0
    }
}

/// Applies an operation and everything around it: subnormals, rounding, NaNs, output modifiers.
#[inline(always)]
pub(super) fn evaluate<O: Op, S: Simd, const MODS: bool>(cx: &Cx, args: O::Args<S>) -> O::Ret<S> {
    let (args, mut result) = computed::<O, S>(cx, args);
    if O::NAN && Ret::has_nan([result; 2]) {
        result = result.settle(args, !O::LOUD || cx.quiets());
    }
    finished::<O, S, MODS>(cx, args, result)
}

/// The sources of a chunk, with signalling NaNs unchanged.
///
/// # Safety
/// See [`Args::fetch_loud`].
#[inline(always)]
pub(super) unsafe fn loud<O: Op, S: Simd, const MODS: bool>(
    cx: &Cx,
    rows: &<O::Args<S> as Args<S>>::Rows,
) -> O::Args<S> {
    // SAFETY: the caller's promise.
    unsafe { O::Args::<S>::fetch_loud::<MODS>(rows) }.flush(cx.flush)
}

/// [`evaluate`] for two chunks, the first of which starts at `lane`; none if there are NaNs to settle.
#[inline(always)]
pub(super) fn evaluate_both<O: Op, S: Simd, const MODS: bool>(
    cx: &mut Cx,
    lane: usize,
    args: [O::Args<S>; 2],
) -> Option<[O::Ret<S>; 2]> {
    cx.lane = lane as u32;
    let (first, a) = computed::<O, S>(cx, args[0]);
    cx.lane = (lane + LANES) as u32;
    let (second, b) = computed::<O, S>(cx, args[1]);
    if O::NAN && Ret::has_nan([a, b]) {
        return None;
    }
    Some([finished::<O, S, MODS>(cx, first, a), finished::<O, S, MODS>(cx, second, b)])
}

/// The sources as used in the computation, and the result before NaNs are settled.
#[inline(always)]
fn computed<O: Op, S: Simd>(cx: &Cx, args: O::Args<S>) -> (O::Args<S>, O::Ret<S>) {
    let args = if cx.flush != 0 { args.flush(cx.flush) } else { args };
    let mut result = O::apply(cx, args);
    let rounds = S::ROUNDS && cx.mode & 15 != 0;
    if O::ROUNDS && (rounds || cx.flushes_results() && result.is_least()) {
        result = O::Ret::<S>::from_raw(rounded(
            &args.raw(),
            O::rounded,
            cx.mode_of_results(),
            !O::LOUD || cx.quiets(),
        ));
    }
    (args, result)
}

/// The final steps on a result.
#[inline(always)]
fn finished<O: Op, S: Simd, const MODS: bool>(cx: &Cx, args: O::Args<S>, mut result: O::Ret<S>) -> O::Ret<S> {
    if cx.flush != 0 && !O::KEEPS {
        result = result.flush(cx.flush);
    }
    if O::Ret::<S>::SATURATES && !O::KEEPS && cx.saturates_halves() {
        result = result.saturate(|| args.raw());
    }
    if MODS && (cx.clamp || cx.omod != 0) {
        result = if O::TRANS { result.modify(&Cx { mode: cx.mode & !15, ..*cx }) } else { result.modify(cx) };
    }
    result
}

/// Whether a wave requires a rounding mode that this level does not support.
#[inline(always)]
pub(super) fn inexact<O: Op, S: Simd>(wave: &Wave) -> bool {
    O::ROUNDS && !S::ROUNDS && wave.mode & 15 != 0
}

/// The rounding and denormal fields of MODE in nearly all code: to nearest, with subnormal numbers.
const USUAL: u8 = 0xf0;

/// A way to apply an operation to the lanes of a wave.
pub(super) trait Way {
    /// The operation.
    type Op: Op;
    /// Whether it takes modifiers.
    const MODS: bool;
    /// Whether its handlers are long, so that they should not have a separate loop for fully enabled waves.
    const LONG: bool;
    /// Whether there is a second loop for fully enabled waves, for [plain](Code::plain) sources.
    const PLAIN_APART: bool = !Self::MODS || Self::Op::OFTEN;

    /// The sources, prepared.
    type Rows<S: Simd>;

    /// Finds the sources.
    ///
    /// # Safety
    /// The code must have been lowered for this wave, and be [`Code::plain`] if `PLAIN`.
    unsafe fn rows<S: Simd, const PLAIN: bool>(wave: &Wave, code: &Code) -> Self::Rows<S>;

    /// Advances by `chunks`.
    fn advance<S: Simd>(rows: &mut Self::Rows<S>, chunks: usize);

    /// Computes and writes two chunks, the first of which starts at `lane`; all lanes are enabled. Returns
    /// the lane masks, or none, writing nothing, if there are NaNs to settle.
    ///
    /// # Safety
    /// As for `rows`, and both must be chunks of the wave.
    unsafe fn both<S: Simd>(cx: &mut Cx, rows: &Self::Rows<S>, lane: usize, target: &Target) -> Option<u32>;

    /// Computes a chunk and writes its enabled lanes. With `LOUD`, signalling NaNs that fetching would make
    /// quiet stay signalling.
    ///
    /// # Safety
    /// As for `both`.
    unsafe fn one<S: Simd, const LOUD: bool>(cx: &Cx, rows: &Self::Rows<S>, target: &Target) -> u16;

    /// The handler for rounding modes that the level does not support.
    ///
    /// # Safety
    /// As for [`crate::Handler`].
    unsafe fn exactly(wave: &mut Wave, code: &Code) -> Flow;
}

/// The start of the code's result.
///
/// # Safety
/// The code must have been lowered for this wave.
#[inline(always)]
pub(super) unsafe fn target(wave: &Wave, code: &Code, full: bool) -> Target {
    // Masks go to scalar slots; then `dst` is not a vector register, and this pointer is not written through.
    // SAFETY: the caller's promise.
    let low = unsafe { wave.vgpr.add(code.dst as usize) };
    Target { low, lanes: wave.lanes.into(), bits: u16::MAX, full }
}

/// Executes a vector instruction.
///
/// # Safety
/// As for [`crate::Handler`].
#[inline(always)]
pub(super) unsafe fn execute<Y: Way, S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
    // If NaNs were found, the masks of earlier lanes would be lost.
    const { assert!(!Y::Op::NAN || matches!(Y::Op::MASK, MaskTo::Nowhere)) };
    // SAFETY: the caller's promise.
    unsafe {
        if S::OUTLINE || Y::LONG {
            by_chunks::<Y, S, false>(wave, code)
        } else if !(wave.is_full() && wave.mode as u8 == USUAL) {
            S::call::<ByChunks<Y>>(wave, code)
        } else if !Y::PLAIN_APART {
            by_pairs::<Y, S, false>(wave, code)
        } else if !code.plain {
            S::call::<ByPairs<Y>>(wave, code)
        } else {
            by_pairs::<Y, S, true>(wave, code)
        }
    }
}

/// Executes vector instructions on any sources. See [`by_pairs`].
struct ByPairs<Y>(PhantomData<Y>);

impl<Y: Way> SimdBody for ByPairs<Y> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { by_pairs::<Y, S, false>(wave, code) }
    }
}

/// Executes a vector instruction, and following ones of the same kind, in a wave with all lanes enabled and
/// the usual MODE: two chunks at a time, without tests.
///
/// # Safety
/// As for [`execute`]; the code must be [`Code::plain`] if `PLAIN`.
#[inline(always)]
unsafe fn by_pairs<Y: Way, S: Simd, const PLAIN: bool>(wave: &mut Wave, code: &Code) -> Flow {
    let more = code.more;
    let (mut code, mut left) = (code, more);
    // SAFETY: the caller's promise; this many codes of the same kind follow.
    unsafe {
        loop {
            if !pairs::<Y, S, PLAIN>(wave, code) {
                S::call::<ByChunks<Y>>(wave, code);
            }
            // An instruction that writes a mask may write EXEC.
            if Y::Op::MASK != MaskTo::Nowhere || more == 0 {
                return Flow::Next;
            }
            if left == 0 {
                return Flow::Run;
            }
            left -= 1;
            code = &*std::ptr::from_ref(code).add(1);
        }
    }
}

/// Executes one of them. Returns false if there are NaNs to settle; then only the first [`Wave::done`] lanes
/// are done.
///
/// # Safety
/// As for [`by_pairs`].
#[inline(always)]
unsafe fn pairs<Y: Way, S: Simd, const PLAIN: bool>(wave: &mut Wave, code: &Code) -> bool {
    const PAIR: usize = 2 * LANES;
    let mut cx = Cx::new(wave.mode & !0xff | u32::from(USUAL), code, 0, Y::MODS);
    cx.flush = Y::Op::FLUSH;
    // SAFETY: the caller's promise.
    let mask = unsafe {
        let mut rows = Y::rows::<S, PLAIN>(wave, code);
        let mut target = target(wave, code, true);
        let Some(mut mask) = Y::both::<S>(&mut cx, &rows, 0, &target).map(u64::from) else { return false };
        if usize::from(wave.lanes) > PAIR {
            target.low = target.low.add(PAIR);
            Y::advance::<S>(&mut rows, 2);
            let Some(high) = Y::both::<S>(&mut cx, &rows, PAIR, &target) else {
                wave.done = PAIR as u8;
                return false;
            };
            mask |= u64::from(high) << PAIR;
        }
        mask
    };
    put_mask::<Y::Op>(wave, code, mask);
    true
}

/// Executes a vector instruction chunk by chunk, for enabled lanes that are not yet [`Wave::done`].
struct ByChunks<Y>(PhantomData<Y>);

impl<Y: Way> SimdBody for ByChunks<Y> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { by_chunks::<Y, S, false>(wave, code) }
    }
}

/// The same, but signalling NaNs that fetching would make quiet stay signalling.
struct LoudChunks<Y>(PhantomData<Y>);

impl<Y: Way> SimdBody for LoudChunks<Y> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { by_chunks::<Y, S, true>(wave, code) }
    }
}

/// See [`ByChunks`].
///
/// # Safety
/// As for [`execute`].
#[inline(always)]
unsafe fn by_chunks<Y: Way, S: Simd, const LOUD: bool>(wave: &mut Wave, code: &Code) -> Flow {
    let lanes = usize::from(wave.lanes);
    let mut mask = 0u64;
    // SAFETY: the caller's promise.
    unsafe {
        if inexact::<Y::Op, S>(wave) {
            return Y::exactly(wave, code);
        }
        let mut cx = Cx::new(wave.mode, code, Y::Op::FLUSH, Y::MODS);
        if const { !LOUD && Y::Op::LOUD && <Y::Op as Op>::Args::<S>::QUIETS } && !cx.quiets() {
            return S::call::<LoudChunks<Y>>(wave, code);
        }
        let mut rows = Y::rows::<S, false>(wave, code);
        let mut target = target(wave, code, false);
        let exec = wave.active();
        let mut first = usize::from(wave.done);
        if first != 0 {
            wave.done = 0;
            target.low = target.low.add(first);
            Y::advance::<S>(&mut rows, first / LANES);
        }
        loop {
            // A separate loop for each combination of these flags would be too much code.
            cx.flush = opaque(cx.flush.into()) as u8;
            target.bits = (exec >> first) as u16;
            if target.bits != 0 {
                cx.lane = first as u32;
                mask |= u64::from(Y::one::<S, LOUD>(&cx, &rows, &target)) << first;
            }
            first += LANES;
            if first >= lanes {
                break;
            }
            target.low = target.low.add(LANES);
            Y::advance::<S>(&mut rows, 1);
        }
    }
    put_mask::<Y::Op>(wave, code, mask);
    Flow::Next
}

/// Writes an operation's lane mask.
#[inline(always)]
fn put_mask<O: Op>(wave: &mut Wave, code: &Code, mask: u64) {
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
}

/// A way to apply an operation: to each lane.
pub(super) struct EachLane<const MODS: bool>;

/// The body of an operation's handler. It is a tuple so that its code is generated with the operation's file.
pub(super) type Lanes<O, const MODS: bool> = (O, EachLane<MODS>);

impl<O: Op, const MODS: bool> SimdBody for Lanes<O, MODS> {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { execute::<Self, S>(wave, code) }
    }
}

impl<O: Op, const MODS: bool> Way for Lanes<O, MODS> {
    type Op = O;
    const MODS: bool = MODS;
    // The length of a result's code does not depend on the level.
    const LONG: bool = O::LONG || O::Ret::<Baseline>::LONG;
    type Rows<S: Simd> = <O::Args<S> as Args<S>>::Rows;

    #[inline(always)]
    unsafe fn rows<S: Simd, const PLAIN: bool>(wave: &Wave, code: &Code) -> Self::Rows<S> {
        // SAFETY: the caller's promise.
        let mut rows = unsafe { O::Args::<S>::rows::<PLAIN>(wave, code) };
        O::Args::<S>::modify::<MODS>(&mut rows, &code.mods);
        rows
    }

    #[inline(always)]
    fn advance<S: Simd>(rows: &mut Self::Rows<S>, chunks: usize) {
        O::Args::<S>::advance(rows, chunks);
    }

    #[inline(always)]
    unsafe fn both<S: Simd>(cx: &mut Cx, rows: &Self::Rows<S>, lane: usize, target: &Target) -> Option<u32> {
        // SAFETY: the caller's promise.
        unsafe {
            let args = [O::Args::<S>::fetch::<MODS>(rows, 0), O::Args::<S>::fetch::<MODS>(rows, 1)];
            let [a, b] = evaluate_both::<O, S, MODS>(cx, lane, args)?;
            Some(u32::from(a.store(target, cx)) | u32::from(b.store(&target.second(), cx)) << LANES)
        }
    }

    #[inline(always)]
    unsafe fn one<S: Simd, const LOUD: bool>(cx: &Cx, rows: &Self::Rows<S>, target: &Target) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            let result = evaluate::<O, S, MODS>(cx, O::Args::<S>::fetch::<MODS>(rows, 0));
            if LOUD && Ret::has_nan([result; 2]) {
                return result.settle(loud::<O, S, MODS>(cx, rows), false).store_loud(target, cx);
            }
            result.store(target, cx)
        }
    }

    #[cold]
    unsafe fn exactly(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            if O::MODS {
                at_lowest_level::<Lanes<O, true>>(wave, code)
            } else {
                at_lowest_level::<Lanes<O, false>>(wave, code)
            }
        }
    }
}

/// Defines operations. Flags are constants of [`Op`]: true, or the given value. `rounded` is given if MODE's
/// rounding matters.
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
            fn apply<S: Simd>($cx: &crate::valu::lanewise::Cx, ($($arg,)*): Self::Args<S>) -> Self::Ret<S> {
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
