//! Operations on f16 and on 16-bit integers. f16 arithmetic is done in f32, which has enough digits that a
//! second rounding to f16 gives correct sums, products, quotients and roots. Fused multiply-add needs more
//! care.

use super::function;
use super::lanewise::{Cx, Op, ops};
use super::operand::{B16, H, I16, W16, X16};
use super::packed::{Packed, packable};
use super::result::Ret;
use super::select::{choose_body, table};
use super::single::{Quotients, division_fixup};
use crate::Handler;
use crate::float::convert;
use crate::float::soft::{Env, F16};
use crate::lower::Context;
use crate::simd::{F, Mask, Simd, U};

/// `a * b + c` as f32, such that rounding it to f16 rounds the exact result.
#[inline(always)]
fn fma<S: Simd>(a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    // The product of f16 is exact. The rounding error of the sum shows on which side the exact result lies.
    // With an odd last digit, the result cannot be an f16 or a midpoint between two.
    let product = a * b;
    let sum = product + c;
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    let inexact = lost.less(F::splat(0.0)) | F::splat(0.0).less(lost);
    let bits = sum.bits();
    let even = (bits & 1).equal(U::splat(0));
    let away = (bits ^ lost.bits()).sar(U::splat(31)) | 1;
    (inexact & even).select(bits + away, bits).as_f32()
}

/// A value rounded to f16.
#[inline(always)]
fn round<S: Simd>(a: F<S>) -> F<S> {
    a.to_half().half_to_f32()
}

/// 2^x as f32, such that rounding it to f16 rounds the exact result.
#[inline(always)]
fn exp2<S: Simd>(a: F<S>) -> F<S> {
    // Among all f16, only 0x11c5 has a power so close to a midpoint of f16 that f32 cannot distinguish them;
    // the power is greater.
    let near = a.bits().equal(U::splat(0x3a38_a000));
    near.select(U::splat(0x3f80_1001), function::exp2(a).bits()).as_f32()
}

/// The bits of the f16 for a given f32.
fn h(bits: u64) -> u64 {
    u64::from(convert::f32_to_f16(bits as u32))
}

fn negated(bits: u64) -> u64 {
    bits ^ 0x8000
}

#[inline(always)]
fn is_nan<S: Simd>(a: U<S>) -> Mask<S> {
    U::splat(0x7c00).less(a & 0x7fff)
}

/// An integer that orders f16 by signed comparison, with -0 before +0.
#[inline(always)]
fn order<S: Simd>(a: U<S>) -> U<S> {
    let wide = a.sign16();
    wide ^ (wide.sar(U::splat(31)) & 0x7fff)
}

/// The lesser or greater one; see `minmax` for NaNs.
#[inline(always)]
fn extreme<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, greater: bool) -> U<S> {
    let (x, y) = (order(a), order(b));
    let first = if greater { y.less_signed(x) } else { x.less_signed(y) };
    let result = first.select(a, b);
    let (nan_a, nan_b) = (is_nan(a), is_nan(b));
    if !(nan_a | nan_b).any() {
        return result;
    }
    let quiet = U::splat(0x200);
    let both = if cx.is_cdna() {
        b
    } else if cx.is_gfx12() {
        a | quiet
    } else {
        a
    };
    let result = nan_a.select(b, result);
    let result = nan_b.select(a, result);
    let result = (nan_a & nan_b).select(both, result);
    if !cx.ieee() {
        return result;
    }
    let (signalling_a, signalling_b) =
        (nan_a & (a & quiet).equal(U::splat(0)), nan_b & (b & quiet).equal(U::splat(0)));
    signalling_a.select(a | quiet, signalling_b.select(b | quiet, result))
}

/// The lesser or greater one, or the first NaN if there is one.
#[inline(always)]
fn ordered<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, greater: bool) -> U<S> {
    let result = extreme(cx, a, b, greater);
    let result = is_nan(b).select(b | 0x200, result);
    is_nan(a).select(a | 0x200, result)
}

#[inline(always)]
fn median<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, c: U<S>) -> U<S> {
    let low = extreme(cx, a, b, false);
    let middle = extreme(cx, low, extreme(cx, extreme(cx, a, b, true), c, false), true);
    let nan = is_nan(a) | is_nan(b) | is_nan(c);
    nan.select(extreme(cx, low, c, false), middle)
}

/// Saturates to a signed word.
#[inline(always)]
fn word<S: Simd>(a: U<S>) -> U<S> {
    a.imax(U::splat(-0x8000i32 as u32)).imin(U::splat(0x7fff))
}

#[inline(always)]
fn middle<S: Simd>(a: U<S>, b: U<S>, c: U<S>) -> U<S> {
    a.imin(b).imax(a.imax(b).imin(c))
}

ops! {
    Add [MODS, NAN, LOUD] (_cx; a: H, b: H) -> H<S> { H(a.0 + b.0) }
        => rounded([a, b, _], _, env) { F16.add(h(a), h(b), env) }
    Sub [MODS, NAN, LOUD] (_cx; a: H, b: H) -> H<S> { H(a.0 - b.0) }
        => rounded([a, b, _], _, env) { F16.add(h(a), negated(h(b)), env) }
    Subrev [MODS, NAN, LOUD] (_cx; a: H, b: H) -> H<S> { H(b.0 - a.0) }
        => rounded([a, b, _], _, env) { F16.add(h(b), negated(h(a)), env) }
    Mul [MODS, NAN, LOUD] (_cx; a: H, b: H) -> H<S> { H(a.0 * b.0) }
        => rounded([a, b, _], _, env) { F16.mul(h(a), h(b), env) }
    Fma [LONG, MODS, NAN, LOUD] (_cx; a: H, b: H, c: H) -> H<S> { H(fma(a.0, b.0, c.0)) }
        => rounded([a, b, c], _, env) { F16.fma(h(a), h(b), h(c), env) }
    Mad [LONG, MODS, NAN, LOUD] (cx; a: H, b: H, c: H) -> H<S> { H(round(Ret::flush(H(a.0 * b.0), cx.flush).0) + c.0) }
        => rounded([a, b, c], _, env) { F16.add(F16.mul(h(a), h(b), env), h(c), env) }
    Min [MODS, KEEPS] (cx; a: X16, b: X16) -> X16<S> { X16(extreme(cx, a.0, b.0, false)) }
    Max [MODS, KEEPS] (cx; a: X16, b: X16) -> X16<S> { X16(extreme(cx, a.0, b.0, true)) }
    Minimum [LONG, MODS, KEEPS] (cx; a: X16, b: X16) -> X16<S> { X16(ordered(cx, a.0, b.0, false)) }
    Maximum [LONG, MODS, KEEPS] (cx; a: X16, b: X16) -> X16<S> { X16(ordered(cx, a.0, b.0, true)) }
    Minimum3 [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(ordered(cx, ordered(cx, a.0, b.0, false), c.0, false))
    }
    Maximum3 [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(ordered(cx, ordered(cx, a.0, b.0, true), c.0, true))
    }
    MaximumMinimum [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(ordered(cx, ordered(cx, a.0, b.0, true), c.0, false))
    }
    MinimumMaximum [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(ordered(cx, ordered(cx, a.0, b.0, false), c.0, true))
    }
    Min3 [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(extreme(cx, extreme(cx, a.0, b.0, false), c.0, false))
    }
    Max3 [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(extreme(cx, extreme(cx, a.0, b.0, true), c.0, true))
    }
    Maxmin [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(extreme(cx, extreme(cx, a.0, b.0, true), c.0, false))
    }
    Minmax [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> {
        X16(extreme(cx, extreme(cx, a.0, b.0, false), c.0, true))
    }
    Med3 [LONG, MODS, KEEPS] (cx; a: X16, b: X16, c: X16) -> X16<S> { X16(median(cx, a.0, b.0, c.0)) }
    Floor [MODS, NAN] (_cx; a: H) -> H<S> { H(a.0.floor()) }
    Ceil [MODS, NAN] (_cx; a: H) -> H<S> { H(a.0.ceil()) }
    Trunc [MODS, NAN] (_cx; a: H) -> H<S> { H(a.0.trunc()) }
    Rndne [MODS, NAN] (_cx; a: H) -> H<S> { H(a.0.rint()) }
    Fract [LONG, MODS, NAN] (_cx; a: H) -> H<S> { H(function::below_one(round(a.0 - a.0.floor()), 0.999_511_7)) }
        => rounded([a, _, _], _, env) { F16.fract(h(a), env) }
    Rcp [LONG, MODS, NAN, LOUD, TRANS] (_cx; a: H) -> H<S> { H(F::splat(1.0) / a.0) }
    Rsq [LONG, MODS, NAN, LOUD, TRANS] (_cx; a: H) -> H<S> { H(function::reciprocal_root(a.0)) }
    Sqrt [LONG, MODS, NAN, LOUD, TRANS] (_cx; a: H) -> H<S> { H(a.0.sqrt()) }
    Exp [LONG, MODS, NAN, LOUD, TRANS] (_cx; a: H) -> H<S> { H(exp2(a.0)) }
    Log [LONG, MODS, NAN, LOUD, TRANS] (_cx; a: H) -> H<S> { H(function::log2(a.0)) }
    Sin [LONG, MODS, NAN, LOUD, TRANS] (cx; a: H) -> H<S> { H(function::sine(cx, a.0, 0.0)) }
    Cos [LONG, MODS, NAN, LOUD, TRANS] (cx; a: H) -> H<S> { H(function::sine(cx, a.0, 0.25)) }
    Ldexp [LONG, MODS, NAN] (_cx; a: H, b: I16) -> H<S> { H(function::ldexp(a.0, b.0)) }
        => rounded([a, b, _], _, env) { F16.scale(h(a), b as i32, env) }
    FrexpExp [LONG, MODS] (_cx; a: H) -> W16<S> { W16(a.0.bits().map(super::single::frexp_exponent)) }
    FrexpMant [LONG, MODS] (_cx; a: H) -> H<S> { H(a.0.bits().map(super::single::frexp_mantissa).as_f32()) }
    DivFixup [LONG, MODS, KEEPS] (cx; a: B16, b: H, c: H) -> H<S> {{
        let round = if cx.saturates_halves() { 3 } else { cx.round_double() };
        // No two exponents of f16 are that far apart.
        let format = Quotients { far: 1000, least: 0, most: 65504.0, round };
        H(division_fixup(a.0.half_to_f32(), b.0, c.0, &format))
    }}
    PackB32F16 [MODS] (_cx; a: X16, b: X16) -> U<S> { a.0 | b.0 << 16 }
    MovB16 [MODS] (_cx; a: B16) -> W16<S> { W16(a.0) }
    CndmaskB16 [MODS] (_cx; a: B16, b: B16, m: Mask) -> W16<S> { W16(m.select(b.0, a.0)) }
    NotB16 [MODS] (_cx; a: W16) -> W16<S> { W16(!a.0) }
    AndB16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(a.0 & b.0) }
    OrB16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(a.0 | b.0) }
    XorB16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(a.0 ^ b.0) }
    LshlrevB16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(b.0 << (a.0 & 15)) }
    LshrrevB16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(b.0 >> (a.0 & 15)) }
    AshrrevI16 [MODS] (_cx; a: W16, b: I16) -> W16<S> { W16(b.0.sar(a.0 & 15)) }
    AddU16 [MODS] (cx; a: W16, b: W16) -> W16<S> {{
        let sum = a.0 + b.0;
        W16(if cx.clamp { sum.umin(U::splat(0xffff)) } else { sum })
    }}
    SubU16 [MODS] (cx; a: W16, b: W16) -> W16<S> { W16(if cx.clamp { a.0.umax(b.0) - b.0 } else { a.0 - b.0 }) }
    SubrevU16 [MODS] (cx; a: W16, b: W16) -> W16<S> { W16(if cx.clamp { b.0.umax(a.0) - a.0 } else { b.0 - a.0 }) }
    AddI16 [MODS] (cx; a: I16, b: I16) -> W16<S> { W16(if cx.clamp { word(a.0 + b.0) } else { a.0 + b.0 }) }
    SubI16 [MODS] (cx; a: I16, b: I16) -> W16<S> { W16(if cx.clamp { word(a.0 - b.0) } else { a.0 - b.0 }) }
    MulLoU16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(a.0 * b.0) }
    MadU16 [MODS] (cx; a: W16, b: W16, c: W16) -> W16<S> {{
        // The largest sum is 0xffff * 0xffff + 0xffff, which fits.
        let sum = a.0 * b.0 + c.0;
        W16(if cx.clamp { sum.umin(U::splat(0xffff)) } else { sum })
    }}
    MadI16 [MODS] (cx; a: I16, b: I16, c: I16) -> W16<S> {{
        let sum = a.0 * b.0 + c.0;
        W16(if cx.clamp { word(sum) } else { sum })
    }}
    MinU16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(a.0.umin(b.0)) }
    MaxU16 [MODS] (_cx; a: W16, b: W16) -> W16<S> { W16(a.0.umax(b.0)) }
    MinI16 [MODS] (_cx; a: I16, b: I16) -> W16<S> { W16(a.0.imin(b.0)) }
    MaxI16 [MODS] (_cx; a: I16, b: I16) -> W16<S> { W16(a.0.imax(b.0)) }
    Min3U16 [MODS] (_cx; a: W16, b: W16, c: W16) -> W16<S> { W16(a.0.umin(b.0).umin(c.0)) }
    Max3U16 [MODS] (_cx; a: W16, b: W16, c: W16) -> W16<S> { W16(a.0.umax(b.0).umax(c.0)) }
    Med3U16 [MODS] (_cx; a: W16, b: W16, c: W16) -> W16<S> { W16(middle(a.0, b.0, c.0)) }
    Min3I16 [MODS] (_cx; a: I16, b: I16, c: I16) -> W16<S> { W16(a.0.imin(b.0).imin(c.0)) }
    Max3I16 [MODS] (_cx; a: I16, b: I16, c: I16) -> W16<S> { W16(a.0.imax(b.0).imax(c.0)) }
    Med3I16 [MODS] (_cx; a: I16, b: I16, c: I16) -> W16<S> { W16(middle(a.0, b.0, c.0)) }
}

packable! { half: Add, Mul, Fma, Min, Max, Minimum, Maximum, Minimum3, Maximum3, AddU16, SubU16, AddI16, SubI16, MulLoU16, MadU16, MadI16, MinU16, MaxU16, MinI16,
MaxI16, LshlrevB16, LshrrevB16, AshrrevI16 }

table! {
    VAddF16 => Add,
    VSubF16 => Sub,
    VSubrevF16 => Subrev,
    VMulF16 => Mul,
    VFmaF16 | VFmacF16 | VFmamkF16 | VFmaakF16 | VFmaLegacyF16 => Fma,
    VMadF16 | VMacF16 | VMadmkF16 | VMadakF16 | VMadLegacyF16 => Mad,
    VMinF16 => Min,
    VMaxF16 => Max,
    VMinimumF16 => Minimum,
    VMaximumF16 => Maximum,
    VMinimum3F16 => Minimum3,
    VMaximum3F16 => Maximum3,
    VMaximumminimumF16 => MaximumMinimum,
    VMinimummaximumF16 => MinimumMaximum,
    VMin3F16 => Min3,
    VMax3F16 => Max3,
    VMed3F16 => Med3,
    VMaxminF16 => Maxmin,
    VMinmaxF16 => Minmax,
    VFloorF16 => Floor,
    VCeilF16 => Ceil,
    VTruncF16 => Trunc,
    VRndneF16 => Rndne,
    VFractF16 => Fract,
    VRcpF16 => Rcp,
    VRsqF16 => Rsq,
    VSqrtF16 => Sqrt,
    VExpF16 => Exp,
    VLogF16 => Log,
    VSinF16 => Sin,
    VCosF16 => Cos,
    VLdexpF16 => Ldexp,
    VFrexpExpI16F16 => FrexpExp,
    VFrexpMantF16 => FrexpMant,
    VDivFixupF16 | VDivFixupLegacyF16 => DivFixup,
    VPackB32F16 => PackB32F16,
    VMovB16 => MovB16,
    VCndmaskB16 => CndmaskB16,
    VNotB16 => NotB16,
    VAndB16 => AndB16,
    VOrB16 => OrB16,
    VXorB16 => XorB16,
    VLshlrevB16 => LshlrevB16,
    VLshrrevB16 => LshrrevB16,
    VAshrrevI16 => AshrrevI16,
    VAddNcU16 => AddU16,
    VSubNcU16 => SubU16,
    VSubrevNcU16 => SubrevU16,
    VAddNcI16 => AddI16,
    VSubNcI16 => SubI16,
    VMulLoU16 => MulLoU16,
    VMadU16 | VMadLegacyU16 => MadU16,
    VMadI16 | VMadLegacyI16 => MadI16,
    VMinU16 => MinU16,
    VMaxU16 => MaxU16,
    VMinI16 => MinI16,
    VMaxI16 => MaxI16,
    VMin3U16 => Min3U16,
    VMax3U16 => Max3U16,
    VMed3U16 => Med3U16,
    VMin3I16 => Min3I16,
    VMax3I16 => Max3I16,
    VMed3I16 => Med3I16,
}

/// The handler of an operation on both register halves.
pub(super) fn packed(op: vgpu_isa::Op, context: &Context) -> Option<Handler> {
    use vgpu_isa::Op::*;
    Some(match op {
        VPkAddF16 => choose_body::<Packed<Add>>(context),
        VPkMulF16 => choose_body::<Packed<Mul>>(context),
        VPkFmaF16 | VPkFmacF16 => choose_body::<Packed<Fma>>(context),
        VPkMinF16 => choose_body::<Packed<Min>>(context),
        VPkMaxF16 => choose_body::<Packed<Max>>(context),
        VPkMinimumF16 => choose_body::<Packed<Minimum>>(context),
        VPkMaximumF16 => choose_body::<Packed<Maximum>>(context),
        VPkMinimum3F16 => choose_body::<Packed<Minimum3>>(context),
        VPkMaximum3F16 => choose_body::<Packed<Maximum3>>(context),
        VPkAddU16 => choose_body::<Packed<AddU16>>(context),
        VPkSubU16 => choose_body::<Packed<SubU16>>(context),
        VPkAddI16 => choose_body::<Packed<AddI16>>(context),
        VPkSubI16 => choose_body::<Packed<SubI16>>(context),
        VPkMulLoU16 => choose_body::<Packed<MulLoU16>>(context),
        VPkMadU16 => choose_body::<Packed<MadU16>>(context),
        VPkMadI16 => choose_body::<Packed<MadI16>>(context),
        VPkMinU16 => choose_body::<Packed<MinU16>>(context),
        VPkMaxU16 => choose_body::<Packed<MaxU16>>(context),
        VPkMinI16 => choose_body::<Packed<MinI16>>(context),
        VPkMaxI16 => choose_body::<Packed<MaxI16>>(context),
        VPkLshlrevB16 => choose_body::<Packed<LshlrevB16>>(context),
        VPkLshrrevB16 => choose_body::<Packed<LshrrevB16>>(context),
        VPkAshrrevI16 => choose_body::<Packed<AshrrevI16>>(context),
        _ => return None,
    })
}
