//! Minimum, maximum and median of floats. -0 is less than +0. Numbers win over NaNs, except in the operations
//! of gfx12 that IEEE calls minimum and maximum. These return the first NaN, as measured on gfx1201; the
//! vendor's text prefers signalling ones.

use super::lanewise::Cx;
use crate::float::soft::{F32, F64, Format};
use crate::simd::{D, F, G, LANES, Simd, U};

/// The result of minimum and maximum if a source is a NaN. In IEEE mode, a signalling NaN wins and is made
/// quiet. Of two other NaNs, CDNA returns the second and RDNA the first; gfx12 makes it quiet.
fn with_nan(format: Format, quiet: u64, cx: &Cx, a: u64, b: u64) -> Option<u64> {
    let signalling = |bits: u64| format.is_nan(bits) && bits & quiet == 0;
    match (format.is_nan(a), format.is_nan(b)) {
        (false, false) => None,
        _ if cx.ieee() && signalling(a) => Some(a | quiet),
        _ if cx.ieee() && signalling(b) => Some(b | quiet),
        (true, false) => Some(b),
        (false, true) => Some(a),
        _ if cx.is_cdna() => Some(b),
        _ if cx.is_gfx12() => Some(a | quiet),
        _ => Some(a),
    }
}

#[cold]
#[inline(never)]
fn settle32(cx: &Cx, a: [u32; LANES], b: [u32; LANES], result: [u32; LANES]) -> [u32; LANES] {
    crate::rows::from_fn(|i| {
        let (a, b) = (u64::from(a[i]), u64::from(b[i]));
        with_nan(F32, 0x40_0000, cx, a, b).map_or(result[i], |bits| bits as u32)
    })
}

#[cold]
#[inline(never)]
fn settle64(cx: &Cx, a: [u64; LANES], b: [u64; LANES], result: [u64; LANES]) -> [u64; LANES] {
    crate::rows::from_fn(|i| with_nan(F64, 1 << 51, cx, a[i], b[i]).unwrap_or(result[i]))
}

/// The first NaN among the sources, made quiet.
fn any_nan(format: Format, quiet: u64, a: u64, b: u64) -> Option<u64> {
    [a, b].into_iter().find(|bits| format.is_nan(*bits)).map(|bits| bits | quiet)
}

#[cold]
#[inline(never)]
fn spread32(a: [u32; LANES], b: [u32; LANES], result: [u32; LANES]) -> [u32; LANES] {
    crate::rows::from_fn(|i| {
        any_nan(F32, 0x40_0000, u64::from(a[i]), u64::from(b[i])).map_or(result[i], |bits| bits as u32)
    })
}

#[cold]
#[inline(never)]
fn spread64(a: [u64; LANES], b: [u64; LANES], result: [u64; LANES]) -> [u64; LANES] {
    crate::rows::from_fn(|i| any_nan(F64, 1 << 51, a[i], b[i]).unwrap_or(result[i]))
}

/// The lesser one, or a NaN if there is one.
#[inline(always)]
pub(super) fn minimum<S: Simd>(cx: &Cx, a: F<S>, b: F<S>) -> F<S> {
    with_spread(a, b, min(cx, a, b))
}

/// The greater one, or a NaN if there is one.
#[inline(always)]
pub(super) fn maximum<S: Simd>(cx: &Cx, a: F<S>, b: F<S>) -> F<S> {
    with_spread(a, b, max(cx, a, b))
}

#[inline(always)]
fn with_spread<S: Simd>(a: F<S>, b: F<S>, result: F<S>) -> F<S> {
    if a.unordered(b).any() {
        let lanes = spread32(a.bits().array(), b.bits().array(), result.bits().array());
        return U::from_array(lanes).as_f32();
    }
    result
}

/// See [`minimum`].
#[inline(always)]
pub(super) fn minimum_double<S: Simd>(cx: &Cx, a: G<S>, b: G<S>) -> G<S> {
    with_spread_double(a, b, min_double(cx, a, b))
}

/// See [`maximum`].
#[inline(always)]
pub(super) fn maximum_double<S: Simd>(cx: &Cx, a: G<S>, b: G<S>) -> G<S> {
    with_spread_double(a, b, max_double(cx, a, b))
}

#[inline(always)]
fn with_spread_double<S: Simd>(a: G<S>, b: G<S>, result: G<S>) -> G<S> {
    if a.unordered(b).any() {
        let lanes = spread64(a.bits().array(), b.bits().array(), result.bits().array());
        return D::from_array(lanes).as_f64();
    }
    result
}

#[inline(always)]
fn settled<S: Simd>(cx: &Cx, a: F<S>, b: F<S>, result: U<S>) -> F<S> {
    let nan = a.unordered(b);
    if nan.any() {
        let lanes = settle32(cx, a.bits().array(), b.bits().array(), result.array());
        return U::from_array(lanes).as_f32();
    }
    result.as_f32()
}

/// The lesser one.
#[inline(always)]
pub(super) fn min<S: Simd>(cx: &Cx, a: F<S>, b: F<S>) -> F<S> {
    let lesser = a.less(b).select(a.bits(), b.bits());
    // Equal numbers have the same bits or are zeros. For zeros, the OR of the sign bits is right.
    let result = a.equal(b).select(a.bits() | b.bits(), lesser);
    settled(cx, a, b, result)
}

/// The greater one.
#[inline(always)]
pub(super) fn max<S: Simd>(cx: &Cx, a: F<S>, b: F<S>) -> F<S> {
    let greater = b.less(a).select(a.bits(), b.bits());
    let result = a.equal(b).select(a.bits() & b.bits(), greater);
    settled(cx, a, b, result)
}

/// The median; if there is a NaN, the least of the numbers.
#[inline(always)]
pub(super) fn median<S: Simd>(cx: &Cx, a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    let nan = a.unordered(b) | c.is_nan();
    let (low, high) = (min(cx, a, b), max(cx, a, b));
    let middle = max(cx, low, min(cx, high, c));
    if nan.any() { nan.select_f32(min(cx, low, c), middle) } else { middle }
}

#[inline(always)]
fn settled_double<S: Simd>(cx: &Cx, a: G<S>, b: G<S>, result: G<S>) -> G<S> {
    let nan = a.unordered(b);
    if nan.any() {
        let lanes = settle64(cx, a.bits().array(), b.bits().array(), result.bits().array());
        return D::from_array(lanes).as_f64();
    }
    result
}

/// Equal numbers have the same bits or are zeros: `negative` selects the zero.
#[inline(always)]
fn equal_zeros<S: Simd>(a: G<S>, b: G<S>, negative: bool) -> G<S> {
    let (low, high) = a.bits().split();
    let (_, other) = b.bits().split();
    low.join(if negative { high | other } else { high & other }).as_f64()
}

/// See [`min`].
#[inline(always)]
pub(super) fn min_double<S: Simd>(cx: &Cx, a: G<S>, b: G<S>) -> G<S> {
    let lesser = a.less(b).select_f64(a, b);
    let result = a.equal(b).select_f64(equal_zeros(a, b, true), lesser);
    settled_double(cx, a, b, result)
}

/// See [`max`].
#[inline(always)]
pub(super) fn max_double<S: Simd>(cx: &Cx, a: G<S>, b: G<S>) -> G<S> {
    let greater = b.less(a).select_f64(a, b);
    let result = a.equal(b).select_f64(equal_zeros(a, b, false), greater);
    settled_double(cx, a, b, result)
}
