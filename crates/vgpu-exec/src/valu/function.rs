//! Functions of floats that hardware approximates. They are computed in f64, so they are correct to the last
//! place except for ties.

use super::lanewise::Cx;
use crate::simd::{D, F, G, Simd, U};

/// A polynomial, highest power first.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(x: G<S>, coefficients: [f64; N]) -> G<S> {
    let mut sum = G::splat(coefficients[0]);
    for coefficient in &coefficients[1..] {
        sum = sum.fma(x, G::splat(*coefficient));
    }
    sum
}

/// A polynomial of degree 7, lowest power first, with a short dependency chain.
#[inline(always)]
fn short_chain<S: Simd>(x: G<S>, coefficients: [f64; 8]) -> G<S> {
    let [a, b, c, d, e, f, g, h] = coefficients;
    let square = x * x;
    let low = line(x, c, d).fma(square, line(x, a, b));
    let high = line(x, g, h).fma(square, line(x, e, f));
    high.fma(square * square, low)
}

/// `high * x + low`
#[inline(always)]
fn line<S: Simd>(x: G<S>, low: f64, high: f64) -> G<S> {
    G::splat(high).fma(x, G::splat(low))
}

/// `a - b`, exact for numbers that are close.
#[inline(always)]
fn minus<S: Simd>(a: G<S>, b: G<S>) -> G<S> {
    b.fma(G::splat(-1.0), a)
}

/// 2^n for integers in -1022..=1023.
#[inline(always)]
fn power_of_two<S: Simd>(n: U<S>) -> G<S> {
    U::splat(0).join((n + 1023) << 20).as_f64()
}

/// `x * 2^n`, rounded once.
#[inline(always)]
pub(super) fn ldexp<S: Simd>(x: F<S>, n: U<S>) -> F<S> {
    // Beyond these powers, an f32 becomes zero or infinite; within them, f64 holds the product exactly.
    let n = n.imax(U::splat(-700i32 as u32)).imin(U::splat(700));
    (x.to_f64() * power_of_two(n)).to_f32()
}

/// 2^x.
#[inline(always)]
pub(super) fn exp2<S: Simd>(x: F<S>) -> F<S> {
    let bounded = x.less(F::splat(-200.0)).select_f32(F::splat(-200.0), x);
    let bounded = F::splat(200.0).less(bounded).select_f32(F::splat(200.0), bounded);
    let whole = bounded.rint();
    let rest = (bounded - whole).to_f64();
    // The minimax polynomial of 2^rest for |rest| <= 1/2, by relative error, which is 2^-34.5.
    let power = short_chain(
        rest,
        [
            0.999_999_999_961_682,
            0.693_147_180_728_445_6,
            0.240_226_511_981_572_1,
            0.055_504_103_534_532_084,
            0.009_618_027_253_711_37,
            0.001_333_392_255_907_752_7,
            0.000_154_692_911_308_010_6,
            0.000_015_201_922_641_975_562,
        ],
    );
    let result = (power * power_of_two(whole.to_i32())).to_f32();
    x.is_nan().select_f32(x, result)
}

/// The logarithm to base 2.
#[inline(always)]
pub(super) fn log2<S: Simd>(x: F<S>) -> F<S> {
    let wide = x.to_f64();
    let bits = wide.bits();
    // Split so that the mantissa lies between sqrt(1/2) and sqrt(2): near 1 the exponent is 0.
    let from_root = bits - D::splat(0x3fe6_a09e_667f_3bcd);
    let (_, high) = from_root.split();
    let exponent = high.sar(U::splat(20));
    let mantissa = (bits - U::splat(0).join(exponent << 20)).as_f64();
    let t = minus(mantissa, G::splat(1.0)) / (mantissa.fma(G::splat(1.0), G::splat(1.0)));
    let square = t * t;
    // The series of 2 artanh(t) / ln 2, |t| <= 0.172.
    let k = 2.0 * std::f64::consts::LOG2_E;
    let series = polynomial(square, [k / 15.0, k / 13.0, k / 11.0, k / 9.0, k / 7.0, k / 5.0, k / 3.0, k]);
    let result = series.fma(t, exponent.to_f64_signed()).to_f32();
    let zero = F::splat(0.0);
    let result = x.equal(zero).select_f32(F::splat(f32::NEG_INFINITY), result);
    let result = x.equal(F::splat(f32::INFINITY)).select_f32(x, result);
    let result = x.less(zero).select_f32(U::splat(0xffc0_0000).as_f32(), result);
    x.is_nan().select_f32(x, result)
}

/// 1 / sqrt(x).
#[inline(always)]
pub(super) fn reciprocal_root<S: Simd>(x: F<S>) -> F<S> {
    let result = (G::splat(1.0) / x.to_f64().sqrt()).to_f32();
    x.is_nan().select_f32(x, result)
}

/// sin(2πx) after adding `quarter` turns to x. Beyond 256 turns, CDNA returns the result for zero turns.
#[inline(always)]
pub(super) fn sine<S: Simd>(cx: &Cx, x: F<S>, quarter: f64) -> F<S> {
    let x = if cx.is_cdna() {
        let beyond = F::splat(256.0).less(x.abs()) & x.abs().less(F::splat(f32::INFINITY));
        beyond.select_f32(F::splat(0.0), x)
    } else {
        x
    };
    let wide = x.to_f64();
    let turns = minus(wide, wide.rint()).fma(G::splat(1.0), G::splat(quarter));
    let turn = minus(turns, turns.rint());
    // sin(π - a) = sin(a) maps the outer quarters to the inner ones.
    let (low, high) = turn.bits().split();
    let sign = high & 0x8000_0000;
    let size = low.join(high ^ sign).as_f64();
    let size = G::splat(0.25).less(size).select_f64(minus(G::splat(0.5), size), size);
    let (low, high) = size.bits().split();
    let a = low.join(high | sign).as_f64() * std::f64::consts::TAU;
    let series = polynomial(
        a * a,
        [
            -8.220_635_246_624_33e-18,
            2.811_457_254_345_520_6e-15,
            -7.647_163_731_819_816e-13,
            1.605_904_383_682_161_5e-10,
            -2.505_210_838_544_172e-8,
            2.755_731_922_398_589_3e-6,
            -1.984_126_984_126_984e-4,
            8.333_333_333_333_333e-3,
            -1.666_666_666_666_666_6e-1,
            1.0,
        ],
    );
    let result = (series * a).to_f32();
    // The sine of infinity is undefined; beyond 2^24 every f32 is a whole number of turns.
    let infinite = x.abs().equal(F::splat(f32::INFINITY));
    let result = infinite.select_f32(U::splat(0xffc0_0000).as_f32(), result);
    // The sine of -0 is -0, and the sine of other whole numbers of turns is +0.
    let result = if quarter == 0.0 { x.equal(F::splat(0.0)).select_f32(x, result) } else { result };
    x.is_nan().select_f32(x, result)
}

/// A number minus its floor; if rounding made it 1, the number below 1.
#[inline(always)]
pub(super) fn below_one<S: Simd>(rest: F<S>, below: f32) -> F<S> {
    rest.equal(F::splat(1.0)).select_f32(F::splat(below), rest)
}
