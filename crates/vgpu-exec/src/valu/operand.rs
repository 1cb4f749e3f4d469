//! Types of source operands: the location of their lanes, their conversion to numbers, and their modifiers.

use vgpu_isa::Modifiers;

use super::settle::Raw;
use crate::float::soft::{F32, F64};
use crate::simd::{D, F, G, LANES, Mask, Simd, U, here};
use crate::wave::Row;
use crate::{Code, Src, Wave};

/// A prepared source operand: the location of its lanes and the operations on them.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub at: *const u8,
    pub high: usize,
    /// The distance between chunks; 0 if one chunk serves all lanes.
    stride: usize,
    /// Whether one dword serves all lanes.
    scalar: bool,
    /// A lane mask, starting with the next lane to process.
    mask: u64,
    shift: u32,
    /// The shift for the upper of two halves.
    high_shift: u32,
    and: u32,
    xor: u32,
    /// Whether a source that may be f32 is f16.
    is_half: bool,
}

impl Source {
    /// Locates a source.
    ///
    /// # Safety
    /// The source must have been lowered for this wave, and be a vector register if `PLAIN`.
    #[inline(always)]
    unsafe fn find<const PLAIN: bool>(wave: &Wave, code: &Code, i: usize) -> Source {
        let row = code.rows[i % 3];
        // SAFETY: rows are lowered relative to one of the bases, and are in the memory that starts there.
        let at = unsafe {
            let base = if PLAIN {
                wave.vgpr.cast_const().cast()
            } else {
                *wave.bases.get_unchecked(usize::from(row.base))
            };
            base.add(row.offset as usize)
        };
        Source {
            at,
            high: usize::from(row.high),
            stride: if PLAIN { size_of::<[u32; LANES]>() } else { usize::from(row.stride) },
            scalar: !PLAIN && row.base == Row::SCALAR,
            mask: 0,
            shift: 0,
            high_shift: 0,
            and: u32::MAX,
            xor: 0,
            is_half: false,
        }
    }

    /// Advances by `chunks`.
    #[inline(always)]
    pub(super) fn advance(&mut self, chunks: usize) {
        self.at = self.at.wrapping_add(chunks * self.stride);
        self.mask >>= LANES * chunks & 63;
    }

    /// The sign modifiers of source `i`.
    #[inline(always)]
    fn signs(&mut self, mods: &Modifiers, i: usize) {
        if mods.abs >> i & 1 != 0 {
            self.and = 0x7fff_ffff;
        }
        self.xor = u32::from(mods.neg >> i & 1) << 31;
    }

    /// # Safety
    /// `k` must be a chunk of the wave.
    #[inline(always)]
    unsafe fn low<S: Simd>(&self, k: usize) -> U<S> {
        // SAFETY: the caller's promise.
        unsafe { self.read(k, 0) }
    }

    /// # Safety
    /// See [`Source::low`]; the source must have two registers.
    #[inline(always)]
    unsafe fn high<S: Simd>(&self, k: usize) -> U<S> {
        // SAFETY: the caller's promise.
        unsafe { self.read(k, self.high) }
    }

    /// # Safety
    /// See [`Source::low`]; `beyond` must be the offset of a register of the source.
    #[inline(always)]
    unsafe fn read<S: Simd>(&self, k: usize, beyond: usize) -> U<S> {
        // SAFETY: the caller's promise.
        U(unsafe {
            let at = self.at.add(beyond);
            if self.scalar {
                S::splat(at.cast::<u32>().read())
            } else {
                S::load(at.add(k * self.stride).cast())
            }
        })
    }
}

/// A type of source operands.
pub(super) trait Arg<S: Simd>: Copy {
    /// Locates source `i`.
    ///
    /// # Safety
    /// See [`Source::find`].
    #[inline(always)]
    unsafe fn row<const PLAIN: bool>(wave: &Wave, code: &Code, i: usize) -> Source {
        // SAFETY: the caller's promise.
        unsafe { Source::find::<PLAIN>(wave, code, i) }
    }

    /// Prepares source `i` for its modifiers.
    #[inline(always)]
    fn modify<const MODS: bool>(_row: &mut Source, _mods: &Modifiers, _i: usize) {}

    /// Reads chunk `k`.
    ///
    /// # Safety
    /// See [`Source::low`].
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self;

    /// Whether [`Arg::fetch`] makes signalling NaNs quiet, because f16 is converted to f32.
    const QUIETS: bool = false;

    /// Reads the chunk, with signalling NaNs unchanged.
    ///
    /// # Safety
    /// See [`Source::low`].
    #[inline(always)]
    unsafe fn fetch_loud<const MODS: bool>(row: &Source) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::fetch::<MODS>(row, 0) }
    }

    /// Turns subnormal numbers into zero, if `flush` requests it.
    #[inline(always)]
    fn flush(self, _flush: u8) -> Self {
        self
    }

    /// The bits as numbers of the format used in the computation (f32 for f16), as low and high halves; 0 for
    /// other than floats.
    #[inline(always)]
    fn raw(self) -> Raw {
        [[0; LANES]; 2]
    }

    /// The number, if it is computed in f32.
    #[inline(always)]
    fn single(self) -> F<S> {
        F::splat(1.0)
    }

    /// The number, if it is computed in f64.
    #[inline(always)]
    fn double(self) -> G<S> {
        G::splat(1.0)
    }
}

impl<S: Simd> Arg<S> for U<S> {
    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { row.low(k) }
    }
}

/// A 32-bit operand with sign modifiers on its bits, whose subnormal numbers are kept.
#[derive(Clone, Copy)]
pub(super) struct B<S: Simd>(pub U<S>);

impl<S: Simd> Arg<S> for B<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        F::<S>::modify::<MODS>(row, mods, i);
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        B(unsafe { F::<S>::fetch::<MODS>(row, k) }.bits())
    }

    #[inline(always)]
    fn raw(self) -> Raw {
        self.0.as_f32().raw()
    }

    #[inline(always)]
    fn single(self) -> F<S> {
        self.0.as_f32()
    }
}

impl<S: Simd> Arg<S> for F<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        if MODS {
            row.signs(mods, i);
        }
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        let bits = unsafe { row.low(k) };
        if MODS { (bits & row.and ^ U::splat(row.xor)).as_f32() } else { bits.as_f32() }
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 1 != 0 { F::flush(self) } else { self }
    }

    #[inline(always)]
    fn raw(self) -> Raw {
        [self.bits().array(), [0; LANES]]
    }

    #[inline(always)]
    fn single(self) -> F<S> {
        self
    }
}

/// An f16 operand, as f32.
#[derive(Clone, Copy)]
pub(super) struct H<S: Simd>(pub F<S>);

/// Converts low halves from f16 to f32, with signalling NaNs unchanged.
#[inline(always)]
fn widened<S: Simd>(half: U<S>) -> F<S> {
    let (wide, zero) = (half.half_to_f32(), U::splat(0));
    let loud = wide.is_nan() & (half & 0x200).equal(zero);
    loud.select(wide.bits() & !0x40_0000, wide.bits()).as_f32()
}

/// f32 to f16; signalling NaNs stay signalling if any of their payload is left.
#[inline(always)]
pub(super) fn narrowed<S: Simd>(value: F<S>) -> U<S> {
    let (half, bits, zero) = (value.to_half(), value.bits(), U::splat(0));
    let loud = value.is_nan() & (bits & 0x40_0000).equal(zero) & !(bits & 0x3f_e000).equal(zero);
    loud.select(half & !0x200, half)
}

/// Turns f16 numbers below the smallest normal one into zero.
#[inline(always)]
pub(super) fn flush_half<S: Simd>(a: F<S>) -> F<S> {
    let tiny = a.abs().less(F::splat(6.103_515_6e-5));
    tiny.select(a.bits() & 0x8000_0000, a.bits()).as_f32()
}

impl<S: Simd> Arg<S> for H<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        if MODS {
            row.signs(mods, i);
            row.shift = u32::from(mods.op_sel >> i & 1) * 16;
        }
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        let bits = unsafe { row.low::<S>(k) };
        if !MODS {
            return H(bits.half_to_f32());
        }
        let value = (bits >> row.shift).half_to_f32().bits();
        H((value & row.and ^ U::splat(row.xor)).as_f32())
    }

    const QUIETS: bool = true;

    #[inline(always)]
    unsafe fn fetch_loud<const MODS: bool>(row: &Source) -> Self {
        // SAFETY: the caller's promise.
        let bits = unsafe { row.low::<S>(0) };
        if !MODS {
            return H(widened(bits));
        }
        H((widened(bits >> row.shift).bits() & row.and ^ U::splat(row.xor)).as_f32())
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 4 != 0 { H(flush_half(self.0)) } else { self }
    }

    #[inline(always)]
    fn raw(self) -> Raw {
        [self.0.bits().array(), [0; LANES]]
    }

    #[inline(always)]
    fn single(self) -> F<S> {
        self.0
    }
}

/// Operands of 16 bits, half of a register.
macro_rules! halves {
    ($($(#[$doc:meta])* $name:ident |$bits:ident| $extend:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name<S: Simd>(pub U<S>);

        impl<S: Simd> Arg<S> for $name<S> {
            #[inline(always)]
            fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
                row.shift = u32::from(MODS && mods.op_sel >> i & 1 != 0) * 16;
            }

            #[inline(always)]
            unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
                // SAFETY: the caller's promise.
                let $bits = unsafe { row.low::<S>(k) };
                let $bits = if MODS { $bits >> row.shift } else { $bits };
                $name($extend)
            }

            #[inline(always)]
            fn raw(self) -> Raw {
                [self.0.array(), [0; LANES]]
            }
        }
    )*};
}

halves! {
    /// An unsigned 16-bit operand, zero-extended.
    W16 |bits| bits & 0xffff;
    /// A signed 16-bit operand, sign-extended.
    I16 |bits| bits.sign16();
}

/// The bits of an f16 operand, with its sign modifiers.
#[derive(Clone, Copy)]
pub(super) struct X16<S: Simd>(pub U<S>);

impl<S: Simd> Arg<S> for X16<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        H::<S>::modify::<MODS>(row, mods, i);
        row.and >>= 16;
        row.xor >>= 16;
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        let bits = unsafe { row.low::<S>(k) };
        X16(if MODS { bits >> row.shift & row.and ^ U::splat(row.xor) } else { bits & 0xffff })
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 4 == 0 {
            return self;
        }
        let tiny = (self.0 & 0x7c00).equal(U::splat(0));
        X16(tiny.select(self.0 & 0x8000, self.0))
    }
}

/// The same for 16 bits.
#[derive(Clone, Copy)]
pub(super) struct B16<S: Simd>(pub U<S>);

impl<S: Simd> Arg<S> for B16<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        X16::<S>::modify::<MODS>(row, mods, i);
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        B16(unsafe { X16::<S>::fetch::<MODS>(row, k) }.0)
    }
}

/// The same for 64 bits.
#[derive(Clone, Copy)]
pub(super) struct B64<S: Simd>(pub D<S>);

impl<S: Simd> Arg<S> for B64<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        G::<S>::modify::<MODS>(row, mods, i);
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        B64(unsafe { G::<S>::fetch::<MODS>(row, k) }.bits())
    }

    #[inline(always)]
    fn raw(self) -> Raw {
        self.0.as_f64().raw()
    }

    #[inline(always)]
    fn double(self) -> G<S> {
        self.0.as_f64()
    }
}

/// A source that is an f32, or a half of its register as f16 (`v_fma_mix`), and which of the two it is.
#[derive(Clone, Copy)]
pub(super) struct Mixed<S: Simd>(pub F<S>, bool);

impl<S: Simd> Arg<S> for Mixed<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        row.shift = u32::from(mods.op_sel >> i & 1) * 16;
        row.is_half = mods.op_sel_hi >> i & 1 != 0;
        // In this encoding, negation of high halves means the absolute value.
        row.signs(&Modifiers { abs: mods.neg_hi, ..*mods }, i);
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        let bits = unsafe { row.low::<S>(k) };
        let value = if row.is_half { (bits >> row.shift).half_to_f32().bits() } else { bits };
        Mixed((value & row.and ^ U::splat(row.xor)).as_f32(), row.is_half)
    }

    const QUIETS: bool = true;

    #[inline(always)]
    unsafe fn fetch_loud<const MODS: bool>(row: &Source) -> Self {
        // SAFETY: the caller's promise.
        let bits = unsafe { row.low::<S>(0) };
        let value = if row.is_half { widened(bits >> row.shift).bits() } else { bits };
        Mixed((value & row.and ^ U::splat(row.xor)).as_f32(), row.is_half)
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        // The f32 settings of MODE apply to both formats.
        match self {
            _ if flush & 1 == 0 => self,
            Mixed(value, true) => Mixed(flush_half(value), true),
            Mixed(value, false) => Mixed(F::flush(value), false),
        }
    }

    #[inline(always)]
    fn raw(self) -> Raw {
        self.0.raw()
    }

    #[inline(always)]
    fn single(self) -> F<S> {
        self.0
    }
}

/// A source with two halves, each as a number (`Pair<F>`) or as bits.
macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident |$bits:ident| -> $value:ident $convert:expr, signed $signed:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name<S: Simd>(pub $value<S>, pub $value<S>);

        impl<S: Simd> Arg<S> for $name<S> {
            #[inline(always)]
            fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
                row.shift = u32::from(mods.op_sel >> i & 1) * 16;
                row.high_shift = u32::from(mods.op_sel_hi >> i & 1) * 16;
                if $signed {
                    row.and = if mods.abs >> i & 1 != 0 { 0x7fff_7fff } else { u32::MAX };
                    // The signs of the low and the high half.
                    row.xor = u32::from(mods.neg >> i & 1) << 15 | u32::from(mods.neg_hi >> i & 1) << 31;
                }
            }

            #[inline(always)]
            unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
                // SAFETY: the caller's promise.
                let both = unsafe { row.low::<S>(k) };
                let both = if $signed { both & row.and } else { both };
                let low = { let $bits = both >> row.shift ^ U::splat(row.xor & 0xffff); $convert };
                let high = { let $bits = both >> row.high_shift ^ U::splat(row.xor >> 16); $convert };
                $name(low, high)
            }
        }
    )*};
}

pairs! {
    /// Two f16.
    Halves |bits| -> F bits.half_to_f32(), signed true;
    /// Two bf16.
    Brains |bits| -> F (bits << 16).as_f32(), signed true;
    /// Two unsigned words.
    Words |bits| -> U bits & 0xffff, signed false;
    /// Two signed words.
    SignedWords |bits| -> U bits.sign16(), signed false;
}

impl<S: Simd> Arg<S> for D<S> {
    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { row.low::<S>(k).join(row.high(k)) }
    }
}

/// The low and the high half of 64 bits, each in a register.
#[derive(Clone, Copy)]
pub(super) struct Wide<S: Simd>(pub U<S>, pub U<S>);

impl<S: Simd> Arg<S> for Wide<S> {
    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Wide(row.low::<S>(k), row.high(k)) }
    }
}

/// Four consecutive registers.
#[derive(Clone, Copy)]
pub(super) struct Four<S: Simd>(pub [U<S>; 4]);

impl<S: Simd> Arg<S> for Four<S> {
    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        Four(crate::rows::from_fn(|i| {
            let part = Source { at: row.at.wrapping_add(i * row.high), ..*row };
            // SAFETY: the caller's promise; such operands are always registers.
            unsafe { part.low::<S>(k) }
        }))
    }
}

impl<S: Simd> Arg<S> for G<S> {
    #[inline(always)]
    fn modify<const MODS: bool>(row: &mut Source, mods: &Modifiers, i: usize) {
        if MODS {
            row.signs(mods, i);
        }
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        // SAFETY: the caller's promise.
        let (low, high) = unsafe { (row.low::<S>(k), row.high::<S>(k)) };
        let high = if MODS { high & row.and ^ U::splat(row.xor) } else { high };
        low.join(high).as_f64()
    }

    #[inline(always)]
    fn flush(self, flush: u8) -> Self {
        if flush & 4 != 0 { flush_double(self) } else { self }
    }

    #[inline(always)]
    fn raw(self) -> Raw {
        let (low, high) = self.bits().split();
        [low.array(), high.array()]
    }

    #[inline(always)]
    fn double(self) -> G<S> {
        self
    }
}

/// Turns subnormal numbers into zeros of the same sign.
#[inline(always)]
pub(super) fn flush_double<S: Simd>(a: G<S>) -> G<S> {
    a.bits().map(|bits| if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits }).as_f64()
}

impl<S: Simd> Arg<S> for Mask<S> {
    #[inline(always)]
    unsafe fn row<const PLAIN: bool>(wave: &Wave, code: &Code, i: usize) -> Source {
        let mask = match code.src[i] {
            Src::Scalar(slot) => wave.lane_mask(slot),
            Src::Const(value) => value,
            _ => 0,
        };
        let low = std::ptr::null();
        Source {
            at: low,
            high: 0,
            stride: 0,
            scalar: false,
            mask,
            shift: 0,
            high_shift: 0,
            and: 0,
            xor: 0,
            is_half: false,
        }
    }

    #[inline(always)]
    unsafe fn fetch<const MODS: bool>(row: &Source, k: usize) -> Self {
        Mask::from_bits((row.mask >> (LANES * k)) as u16)
    }
}

/// `a` if it is a NaN, made quiet on request, otherwise `other`.
#[inline(always)]
pub(super) fn nan_or<S: Simd>(a: F<S>, other: F<S>, quiet: bool) -> F<S> {
    let bit = if quiet { 0x40_0000 } else { 0 };
    a.is_nan().select_f32((a.bits() | U::splat(here(bit))).as_f32(), other)
}

/// See [`nan_or`].
#[inline(always)]
fn wide_nan_or<S: Simd>(a: G<S>, other: G<S>, quiet: bool) -> G<S> {
    let bit = if quiet { 0x8_0000 } else { 0 };
    let (low, high) = a.bits().split();
    a.is_nan().select_f64(low.join(high | U::splat(here(bit))).as_f64(), other)
}

/// The lanes in which a product is zero times infinity. The result is then the default NaN, even if another
/// source is a NaN.
#[inline(always)]
fn undefined<S: Simd>(a: F<S>, b: F<S>) -> Mask<S> {
    let (zero, infinity) = (F::splat(0.0), U::splat(here(0x7f80_0000)).as_f32());
    (a.equal(zero) & b.abs().equal(infinity)) | (a.abs().equal(infinity) & b.equal(zero))
}

/// See [`undefined`].
#[inline(always)]
fn wide_undefined<S: Simd>(a: G<S>, b: G<S>) -> Mask<S> {
    let (zero, most) = (G::splat(0.0), G::splat(f64::MAX));
    let least = G::splat(f64::MIN);
    let a_infinite = most.less(a) | a.less(least);
    let b_infinite = most.less(b) | b.less(least);
    (a.equal(zero) & b_infinite) | (a_infinite & b.equal(zero))
}

/// All sources of an operation.
pub(super) trait Args<S: Simd>: Copy {
    type Rows: Copy;
    /// # Safety
    /// See [`Arg::row`].
    unsafe fn rows<const PLAIN: bool>(wave: &Wave, code: &Code) -> Self::Rows;
    /// See [`Arg::modify`].
    fn modify<const MODS: bool>(rows: &mut Self::Rows, mods: &Modifiers);
    /// Advances by `chunks`.
    fn advance(rows: &mut Self::Rows, chunks: usize);
    /// # Safety
    /// See [`Arg::fetch`].
    unsafe fn fetch<const MODS: bool>(rows: &Self::Rows, k: usize) -> Self;
    /// See [`Arg::QUIETS`].
    const QUIETS: bool;
    /// # Safety
    /// See [`Arg::fetch_loud`].
    unsafe fn fetch_loud<const MODS: bool>(rows: &Self::Rows) -> Self;
    /// Selects the second register of the sources in `high`.
    fn choose(rows: &mut Self::Rows, high: u8);
    /// See [`Arg::flush`].
    fn flush(self, flush: u8) -> Self;
    /// See [`Arg::raw`].
    fn raw(self) -> [Raw; 3];
    /// The first NaN among f32 sources, made quiet on request, or the default NaN.
    fn nan(self, quiet: bool) -> F<S>;
    /// The same for f64 sources.
    fn wide_nan(self, quiet: bool) -> G<S>;
}

macro_rules! tuples {
    ($($count:literal: $($type:ident $index:tt),*; [$($back:tt)*];)*) => {$(
        impl<S: Simd, $($type: Arg<S>),*> Args<S> for ($($type,)*) {
            type Rows = [Source; $count];

            #[inline(always)]
            unsafe fn rows<const PLAIN: bool>(wave: &Wave, code: &Code) -> Self::Rows {
                // SAFETY: the caller's promise.
                unsafe { [$($type::row::<PLAIN>(wave, code, $index)),*] }
            }

            #[inline(always)]
            fn modify<const MODS: bool>(rows: &mut Self::Rows, mods: &Modifiers) {
                $($type::modify::<MODS>(&mut rows[$index], mods, $index);)*
            }

            #[inline(always)]
            unsafe fn fetch<const MODS: bool>(rows: &Self::Rows, k: usize) -> Self {
                // SAFETY: the caller's promise.
                unsafe { ($($type::fetch::<MODS>(&rows[$index], k),)*) }
            }

            const QUIETS: bool = $($type::QUIETS)||*;

            #[inline(always)]
            unsafe fn fetch_loud<const MODS: bool>(rows: &Self::Rows) -> Self {
                // SAFETY: the caller's promise.
                unsafe { ($($type::fetch_loud::<MODS>(&rows[$index]),)*) }
            }

            #[inline(always)]
            fn advance(rows: &mut Self::Rows, chunks: usize) {
                $(rows[$index].advance(chunks);)*
            }

            #[inline(always)]
            fn choose(rows: &mut Self::Rows, high: u8) {
                for (i, row) in rows.iter_mut().enumerate() {
                    if high >> i & 1 != 0 {
                        row.at = row.at.wrapping_add(row.high);
                    }
                }
            }

            #[inline(always)]
            fn flush(self, flush: u8) -> Self {
                ($(self.$index.flush(flush),)*)
            }

            #[inline(always)]
            fn raw(self) -> [Raw; 3] {
                let mut all = [[[0; LANES]; 2]; 3];
                $(if $index < 3 {
                    all[$index % 3] = self.$index.raw();
                })*
                all
            }

            #[inline(always)]
            fn nan(self, quiet: bool) -> F<S> {
                let default = U::splat(here(F32.default_nan() as u32)).as_f32();
                let nan = default;
                $(let nan = nan_or(self.$back.single(), nan, quiet);)*
                let one = F::splat(1.0);
                let [_a, _b, ..] = [$(self.$index.single(),)* one];
                if $count == 1 { nan } else { undefined(_a, _b).select_f32(default, nan) }
            }

            #[inline(always)]
            fn wide_nan(self, quiet: bool) -> G<S> {
                let default = D::splat(F64.default_nan()).as_f64();
                let nan = default;
                $(let nan = wide_nan_or(self.$back.double(), nan, quiet);)*
                let one = G::splat(1.0);
                let [_a, _b, ..] = [$(self.$index.double(),)* one];
                if $count == 1 { nan } else { wide_undefined(_a, _b).select_f64(default, nan) }
            }
        }
    )*};
}

// After the types come the numbers of the sources that may be NaNs, last first.
tuples! {
    1: A 0; [0];
    2: A 0, B 1; [1 0];
    3: A 0, B 1, C 2; [2 1 0];
    4: A 0, B 1, C 2, E 3; [2 1 0];
}
