//! Types of results: output modifiers, and how results are written.

use super::lanewise::Cx;
use super::operand::{Args, H, W16, Wide, X16, flush_double, narrowed};
use super::settle::{Raw, modify_double};
use crate::simd::{D, F, G, LANES, Mask, Simd, U};

/// The destination of a result.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub low: *mut u32,
    /// Lanes of the wave: the distance between registers.
    pub lanes: usize,
    /// The enabled lanes among the sixteen.
    pub bits: u16,
    /// Whether all sixteen are enabled.
    pub full: bool,
}

impl Target {
    /// The next sixteen lanes.
    #[inline(always)]
    pub(super) fn second(&self) -> Target {
        Target { low: self.low.wrapping_add(LANES), ..*self }
    }

    /// # Safety
    /// The register must be in the file.
    #[inline(always)]
    pub(super) unsafe fn write<S: Simd>(&self, offset: usize, value: U<S>) {
        // SAFETY: the caller's promise.
        unsafe {
            let to = self.low.add(offset);
            if self.full {
                S::store(to, value.0);
            } else {
                S::store_masked(to, self.bits, value.0);
            }
        }
    }
}

/// A type of results.
pub(super) trait Ret<S: Simd>: Copy {
    /// See [`super::lanewise::Op::LONG`].
    const LONG: bool = false;

    /// Writes a chunk of results to registers, and returns a lane mask.
    ///
    /// # Safety
    /// The registers must be in the file.
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16;

    /// The same, with signalling NaNs unchanged.
    ///
    /// # Safety
    /// See [`Ret::store`].
    #[inline(always)]
    unsafe fn store_loud(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { self.store(target, cx) }
    }

    /// Output modifiers.
    #[inline(always)]
    fn modify(self, _cx: &Cx) -> Self {
        self
    }

    /// Turns subnormal numbers into zero, if `flush` requests it.
    #[inline(always)]
    fn flush(self, _flush: u8) -> Self {
        self
    }

    /// Whether any lane is the least normal number, which may be the rounded form of a number that must be
    /// flushed.
    #[inline(always)]
    fn is_least(self) -> bool {
        false
    }

    /// Whether [`Ret::saturate`] does anything.
    const SATURATES: bool = false;

    /// Turns infinite results of finite sources into the largest number.
    #[inline(always)]
    fn saturate(self, _sources: impl FnOnce() -> [Raw; 3]) -> Self {
        self
    }

    /// Whether any lane of either is a NaN that [`Ret::settle`] would change.
    #[inline(always)]
    fn has_nan(_both: [Self; 2]) -> bool {
        false
    }

    /// Replaces NaN lanes by the value that the sources determine. With `quiet`, signalling NaNs become
    /// quiet.
    #[inline(always)]
    fn settle(self, _sources: impl Args<S>, _quiet: bool) -> Self {
        self
    }

    /// Converts the results of [`Op::rounded`].
    fn from_raw(raw: Raw) -> Self;
}

impl<S: Simd> Ret<S> for U<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { target.write(0, self) };
        0
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        U::from_array(raw[0])
    }
}

/// Clamps `value` to the range from zero to one. NaN becomes zero if [`Cx::clears_nans`] is set.
#[inline(always)]
fn clamp_single<S: Simd>(value: F<S>, cx: &Cx) -> F<S> {
    let positive = F::splat(0.0).less(value);
    let clamped = positive.select_f32(value, F::splat(0.0));
    let clamped = F::splat(1.0).less(clamped).select_f32(F::splat(1.0), clamped);
    if cx.clears_nans() { clamped } else { value.is_nan().select_f32(value, clamped) }
}

/// The factor of the output multiplier, for results of the format with the given bit in [`Cx::flush`]. Up to
/// gfx11, it has no effect if subnormal results are kept or IEEE is on.
#[inline(always)]
fn multiplier(cx: &Cx, flushes: u8) -> f32 {
    if !cx.is_gfx12() && (cx.ieee() || cx.flush & flushes == 0) {
        return 1.0;
    }
    [1.0, 2.0, 4.0, 0.5][usize::from(cx.omod & 3)]
}

/// Bits of [`Cx::flush`].
const SINGLE: u8 = 2;
const DOUBLE: u8 = 8;

/// The lanes in which a rounding mode always rounds away from zero: up for positive numbers, down for
/// negative ones.
#[inline(always)]
pub(super) fn away<S: Simd>(round: u32, sign: U<S>) -> Mask<S> {
    match round {
        1 => sign.equal(U::splat(0)),
        2 => !sign.equal(U::splat(0)),
        _ => Mask::from_bits(0),
    }
}

/// What an overflow becomes, without its sign: infinity, or `most` if the rounding mode is toward zero.
#[inline(always)]
pub(super) fn overflow<S: Simd>(round: u32, sign: U<S>, most: f32) -> U<S> {
    let infinity = F::splat(f32::INFINITY).bits();
    if round == 0 { infinity } else { away(round, sign).select(infinity, F::splat(most).bits()) }
}

/// `value` times the output multiplier. Zeros and subnormal numbers become +0, and results below `least`
/// become zeros of their sign. Results above `most` become infinite or `most`, depending on `round`.
#[inline(always)]
fn multiply<S: Simd>(value: F<S>, factor: f32, least: f32, most: f32, round: u32) -> F<S> {
    let scaled = value * factor;
    let sign = value.bits() & 0x8000_0000;
    let infinity = F::splat(f32::INFINITY);
    let over = F::splat(most).less(scaled.abs()) & value.abs().less(infinity);
    let bits = over.select(overflow(round, sign, most) | sign, scaled.bits());
    // A result less than `least` is zero, even if rounding would raise it to `least`.
    let bits = value.abs().less(F::splat(least / factor)).select(sign, bits);
    let bits = value.abs().less(F::splat(least)).select(U::splat(0), bits);
    value.is_nan().select(value.bits(), bits).as_f32()
}

impl<S: Simd> Ret<S> for F<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { target.write(0, self.bits()) };
        0
    }

    #[inline(always)]
    fn modify(self, cx: &Cx) -> Self {
        let factor = multiplier(cx, SINGLE);
        let value = if factor == 1.0 {
            self
        } else {
            multiply(self, factor, f32::MIN_POSITIVE, f32::MAX, cx.round_single())
        };
        if cx.clamp { clamp_single(value, cx) } else { value }
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 2 != 0 { F::flush(self) } else { self }
    }

    #[inline(always)]
    fn is_least(self) -> bool {
        self.abs().equal(F::splat(f32::MIN_POSITIVE)).any()
    }

    #[inline(always)]
    fn has_nan([a, b]: [Self; 2]) -> bool {
        a.unordered(b).any()
    }

    #[inline(always)]
    fn settle(self, sources: impl Args<S>, quiet: bool) -> Self {
        self.is_nan().select_f32(sources.nan(quiet), self)
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        <U<S> as Ret<S>>::from_raw(raw).as_f32()
    }
}

/// A value rounded to f16, or zero of its sign if the unrounded value is too small for a normal number.
#[inline(always)]
fn normal_half<S: Simd>(value: F<S>) -> F<S> {
    // Half a unit in the last place of the numbers below the least normal one; ties are rounded up.
    let tiny = value.abs().less(F::splat(6.103_515_6e-5 - 1.490_116_1e-8));
    tiny.select(value.bits() & 0x8000_0000, value.to_half().half_to_f32().bits()).as_f32()
}

/// Writes a 16-bit result from the low half of `value`.
///
/// # Safety
/// The registers must be in the file.
#[inline(always)]
unsafe fn store_half<S: Simd>(value: U<S>, target: &Target, cx: &Cx) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = if cx.half == 0 {
            value
        } else {
            let old = U::<S>(S::load(target.low));
            if cx.half == 1 { value | (old & 0xffff_0000) } else { value << 16 | (old & 0xffff) }
        };
        target.write(0, value);
    }
}

impl<S: Simd> Ret<S> for H<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { store_half(self.0.to_half(), target, cx) };
        0
    }

    #[inline(always)]
    unsafe fn store_loud(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { store_half(narrowed(self.0), target, cx) };
        0
    }

    #[inline(always)]
    fn modify(self, cx: &Cx) -> Self {
        let factor = multiplier(cx, DOUBLE);
        let value = if factor == 1.0 {
            self.0.to_half().half_to_f32()
        } else {
            // The result is rounded before it is multiplied.
            let round = if cx.saturates_halves() { 3 } else { cx.round_double() };
            multiply(normal_half(self.0), factor, 6.103_515_6e-5, 65504.0, round)
        };
        H(if cx.clamp { clamp_single(value, cx) } else { value })
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 8 != 0 { H(normal_half(self.0)) } else { self }
    }

    #[inline(always)]
    fn has_nan([a, b]: [Self; 2]) -> bool {
        F::has_nan([a.0, b.0])
    }

    #[inline(always)]
    fn settle(self, sources: impl Args<S>, quiet: bool) -> Self {
        H(self.0.settle(sources, quiet))
    }

    const SATURATES: bool = true;

    #[inline(always)]
    fn saturate(self, sources: impl FnOnce() -> [Raw; 3]) -> Self {
        let value = self.0.to_half().half_to_f32();
        let infinity = F::splat(f32::INFINITY);
        let mut over = value.abs().equal(infinity);
        if !over.any() {
            return self;
        }
        for source in sources() {
            over = over & !U::from_array(source[0]).as_f32().abs().equal(infinity);
        }
        let largest = F::splat(65504.0).bits() | (value.bits() & 0x8000_0000);
        H(over.select(largest, self.0.bits()).as_f32())
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        H(<U<S> as Ret<S>>::from_raw(raw).half_to_f32())
    }
}

impl<S: Simd> Ret<S> for W16<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { store_half(self.0 & 0xffff, target, cx) };
        0
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        W16(<U<S> as Ret<S>>::from_raw(raw))
    }
}

impl<S: Simd> Ret<S> for X16<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { store_half(self.0, target, cx) };
        0
    }

    #[inline(always)]
    fn modify(self, cx: &Cx) -> Self {
        let value = H(self.0.half_to_f32()).modify(cx).0;
        // Converting to f32 and back makes NaNs quiet.
        X16(value.is_nan().select(self.0, value.to_half()))
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        X16(<U<S> as Ret<S>>::from_raw(raw))
    }
}

/// Results of 16 bits.
pub(super) trait Half<S: Simd>: Ret<S> {
    /// The bits, with zeros above.
    fn half(self) -> U<S>;

    /// The same, with signalling NaNs unchanged.
    #[inline(always)]
    fn half_loud(self) -> U<S> {
        self.half()
    }
}

impl<S: Simd> Half<S> for H<S> {
    #[inline(always)]
    fn half(self) -> U<S> {
        self.0.to_half()
    }

    #[inline(always)]
    fn half_loud(self) -> U<S> {
        narrowed(self.0)
    }
}

impl<S: Simd> Half<S> for W16<S> {
    #[inline(always)]
    fn half(self) -> U<S> {
        self.0 & 0xffff
    }
}

impl<S: Simd> Half<S> for X16<S> {
    #[inline(always)]
    fn half(self) -> U<S> {
        self.0
    }
}

impl<S: Simd> Ret<S> for Wide<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            target.write(0, self.0);
            target.write(target.lanes, self.1);
        }
        0
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        Wide(U::from_array(raw[0]), U::from_array(raw[1]))
    }
}

impl<S: Simd> Ret<S> for D<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        let (low, high) = self.split();
        // SAFETY: the caller's promise.
        unsafe { Wide(low, high).store(target, cx) }
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        U::from_array(raw[0]).join(U::from_array(raw[1]))
    }
}

impl<S: Simd> Ret<S> for G<S> {
    const LONG: bool = true;

    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { self.bits().store(target, cx) }
    }

    #[inline(always)]
    fn modify(self, cx: &Cx) -> Self {
        let (low, high) = self.bits().split();
        let raw = modify_double(
            [low.array(), high.array()],
            multiplier(cx, DOUBLE),
            cx.round_double() as u8,
            cx.clamp,
            cx.clears_nans(),
        );
        <G<S> as Ret<S>>::from_raw(raw)
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 8 != 0 { flush_double(self) } else { self }
    }

    #[inline(always)]
    fn is_least(self) -> bool {
        let (low, high) = self.bits().split();
        let zero = U::splat(0);
        (low.equal(zero) & (high & 0x7fff_ffff).equal(U::splat(0x0010_0000))).any()
    }

    #[inline(always)]
    fn has_nan([a, b]: [Self; 2]) -> bool {
        a.unordered(b).any()
    }

    #[inline(always)]
    fn settle(self, sources: impl Args<S>, quiet: bool) -> Self {
        self.is_nan().select_f64(sources.wide_nan(quiet), self)
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        <D<S> as Ret<S>>::from_raw(raw).as_f64()
    }
}

impl<S: Simd> Ret<S> for Mask<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        self.bits() & target.bits
    }

    #[inline(always)]
    fn from_raw(_: Raw) -> Self {
        Mask::from_bits(0)
    }
}

/// A result in registers and a lane mask.
impl<S: Simd, R: Ret<S>> Ret<S> for (R, Mask<S>) {
    #[inline(always)]
    unsafe fn store(self, target: &Target, cx: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe { self.0.store(target, cx) };
        self.1.bits() & target.bits
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        (self.0.flush(flush), self.1)
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        (R::from_raw(raw), Mask::from_bits(0))
    }
}

/// Four consecutive registers.
impl<S: Simd> Ret<S> for [U<S>; 4] {
    const LONG: bool = true;

    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        for (i, &value) in self.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { target.write(i * target.lanes, value) };
        }
        0
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        [<U<S> as Ret<S>>::from_raw(raw); 4]
    }
}

/// Two consecutive registers of f32.
impl<S: Simd> Ret<S> for [F<S>; 2] {
    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            target.write(0, self[0].bits());
            target.write(target.lanes, self[1].bits());
        }
        0
    }

    #[inline(always)]
    fn from_raw(raw: Raw) -> Self {
        [<F<S> as Ret<S>>::from_raw(raw); 2]
    }
}
