//! Operations on f64.

use super::convert::Int;
use super::lanewise::{Cx, MaskTo, Op, ops};
use super::minmax::{max_double, maximum_double, min_double, minimum_double};
use super::operand::B64;
use super::result::Ret;
use super::select::table;
use crate::float::soft::{Env, F64};
use crate::simd::{D, G, LANES, Mask, Simd, U};

const SIGN: u64 = 1 << 63;
const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
const FRACTION: u64 = 0x000f_ffff_ffff_ffff;
const QUIET: u64 = 1 << 51;

fn is_nan(bits: u64) -> bool {
    bits & !SIGN > EXPONENT
}

fn quieted(bits: u64) -> u64 {
    if is_nan(bits) { bits | QUIET } else { bits }
}

/// See the f32 version.
fn frexp_exponent(bits: u64) -> u32 {
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & FRACTION;
    let exponent = if field == 0x7ff || bits & !SIGN == 0 {
        0
    } else if field == 0 {
        -1010 - fraction.leading_zeros() as i32
    } else {
        field - 1022
    };
    exponent as u32
}

/// See the f32 version.
fn frexp_mantissa(bits: u64) -> u64 {
    let rest = bits & !SIGN;
    if rest >= EXPONENT || rest == 0 {
        return quieted(bits);
    }
    let digits = if rest <= FRACTION { rest << (rest.leading_zeros() - 11) } else { rest };
    bits & SIGN | digits & FRACTION | 0x3fe0_0000_0000_0000
}

fn fract(x: f64) -> f64 {
    let rest = x - x.floor();
    if rest == 1.0 { 1.0 - f64::EPSILON / 2.0 } else { rest }
}

/// `x * 2^n`, rounded once.
fn ldexp(bits: u64, n: u32) -> u64 {
    F64.scale(bits, n as i32, Env::IEEE)
}

/// See the f32 version.
fn division_scale(a: u64, denominator: u64, numerator: u64, quiet: bool) -> (u64, bool) {
    let exponent = |bits: u64| (bits >> 52 & 0x7ff) as i32;
    let (en, ed) = (exponent(numerator), exponent(denominator));
    let is_denominator = a == denominator;
    let (far, near) = (en - ed >= 768, en - ed <= -768);
    let power = if far {
        if is_denominator { 128 } else { 0 }
    } else if ed == 0 {
        128
    } else if ed >= 2045 {
        if near && !is_denominator { 0 } else { -128 }
    } else if near {
        if is_denominator { 0 } else { 128 }
    } else if en <= 53 {
        128
    } else {
        0
    };
    let back = far || ed != 0 && near;
    if denominator & !SIGN == 0 || numerator & !SIGN == 0 {
        return (SIGN | EXPONENT | QUIET, back);
    }
    let scaled = if power == 0 && !is_nan(a) { a } else { F64.scale(a, power, Env { quiet, ..Env::IEEE }) };
    (scaled, back)
}

/// See the f32 version.
fn division_fixup(a: u64, denominator: u64, numerator: u64, round: u32, flush_out: bool) -> u64 {
    let sign = (denominator ^ numerator) & SIGN;
    let away = round == if sign == 0 { 1 } else { 2 };
    let (d, n) = (f64::from_bits(denominator), f64::from_bits(numerator));
    let exponent = |bits: u64| (bits >> 52 & 0x7ff) as i32;
    if n.is_nan() {
        numerator | QUIET
    } else if d.is_nan() {
        denominator | QUIET
    } else if d == 0.0 && n == 0.0 || d.is_infinite() && n.is_infinite() {
        SIGN | EXPONENT | QUIET
    } else if d == 0.0 || n.is_infinite() {
        sign | EXPONENT
    } else if d.is_infinite() || n == 0.0 {
        sign
    } else if exponent(numerator) - exponent(denominator) < -1075 {
        sign | u64::from(away && !flush_out)
    } else if a & !SIGN < EXPONENT {
        sign | a & !SIGN
    } else {
        // Steps that overflowed leave a NaN or infinity.
        sign | if round == 0 || away { EXPONENT } else { EXPONENT - 1 }
    }
}

/// See the f32 version.
#[cold]
#[inline(never)]
fn exact_sums(flags: u16, sources: &[[u64; LANES]; 3], mode: u32) -> [u64; LANES] {
    let env = Env { flush_in: false, ..Env::double(mode) };
    crate::rows::from_fn(|i| {
        let [a, b, c] = crate::rows::map(*sources, |source| source[i]);
        let power = match (flags >> i & 1, c >> 52 & 0x7ff) {
            (0, _) => 0,
            (_, ..=1023) => -128,
            _ => 128,
        };
        F64.fma_scaled(a, b, c, power, env)
    })
}

/// The first 1201 bits of 2/π after the point.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
];

/// 53 bits of 2/π as a fraction, from the segment that the argument reduction of `x` needs.
fn trig_preop(x: u64, segment: u32) -> u64 {
    let exponent = (x >> 52 & 0x7ff) as u32;
    let shift = (segment & 31) * 53 + exponent.saturating_sub(1077);
    let (word, bit) = ((shift / 64) as usize, shift % 64);
    let at = |i: usize| u128::from(TWO_OVER_PI.get(i).copied().unwrap_or(0));
    let window = at(word) << 64 | at(word + 1);
    let digits = (window << bit >> (128 - 53)) as i128;
    let scale = -53 - shift as i32 + if exponent >= 1968 { 128 } else { 0 };
    F64.scale(F64.integer(digits, Env::IEEE), scale, Env::IEEE)
}

#[inline(always)]
fn map3<S: Simd>(a: G<S>, b: G<S>, c: G<S>, f: impl Fn(u64, u64, u64) -> u64) -> G<S> {
    let (a, b, c) = (a.bits().array(), b.bits().array(), c.bits().array());
    D::from_array(crate::rows::from_fn(|i| f(a[i], b[i], c[i]))).as_f64()
}

#[inline(always)]
fn scale_all<S: Simd>(cx: &Cx, a: G<S>, b: G<S>, c: G<S>) -> (G<S>, Mask<S>) {
    let (a, b, c) = (a.bits().array(), b.bits().array(), c.bits().array());
    let mut values = [0; LANES];
    let mut flags = 0;
    for i in 0..LANES {
        let (value, flag) = division_scale(a[i], b[i], c[i], cx.quiets());
        values[i] = value;
        flags |= u16::from(flag) << i;
    }
    (D::from_array(values).as_f64(), Mask::from_bits(flags))
}

#[inline(always)]
fn division_sum<S: Simd>(cx: &Cx, a: D<S>, b: D<S>, c: D<S>, scale: Mask<S>) -> G<S> {
    let flags = scale.bits();
    if flags == 0 && cx.round_double() == 0 {
        let sum = a.as_f64().fma(b.as_f64(), c.as_f64());
        if !(cx.flushes_results() && sum.is_least()) {
            return sum;
        }
    }
    let mode = cx.mode_of_results();
    D::from_array(exact_sums(flags, &[a.array(), b.array(), c.array()], mode)).as_f64()
}

ops! {
    Add [OFTEN, MODS, NAN, LOUD] (_cx; a: G, b: G) -> G<S> { a + b }
        => rounded([a, b, _], _, env) { F64.add(a, b, env) }
    Mul [OFTEN, MODS, NAN, LOUD] (_cx; a: G, b: G) -> G<S> { a * b }
        => rounded([a, b, _], _, env) { F64.mul(a, b, env) }
    Fma [OFTEN, MODS, NAN, LOUD] (_cx; a: G, b: G, c: G) -> G<S> { a.fma(b, c) }
        => rounded([a, b, c], _, env) { F64.fma(a, b, c, env) }
    Min [MODS, KEEPS] (cx; a: G, b: G) -> G<S> { min_double(cx, a, b) }
    Max [MODS, KEEPS] (cx; a: G, b: G) -> G<S> { max_double(cx, a, b) }
    Minimum [MODS, KEEPS] (cx; a: G, b: G) -> G<S> { minimum_double(cx, a, b) }
    Maximum [MODS, KEEPS] (cx; a: G, b: G) -> G<S> { maximum_double(cx, a, b) }
    Floor [MODS, NAN] (_cx; a: G) -> G<S> { a.floor() }
    Ceil [MODS, NAN] (_cx; a: G) -> G<S> { a.ceil() }
    Trunc [MODS, NAN] (_cx; a: G) -> G<S> { a.trunc() }
    Rndne [MODS, NAN] (_cx; a: G) -> G<S> { a.rint() }
    Fract [MODS, NAN] (_cx; a: G) -> G<S> { a.map(fract) }
        => rounded([a, _, _], _, env) { F64.fract(a, env) }
    Rcp [MODS, NAN, LOUD] (_cx; a: G) -> G<S> { G::splat(1.0) / a }
    Rsq [MODS, NAN, LOUD] (_cx; a: G) -> G<S> { G::splat(1.0) / a.sqrt() }
    Sqrt [MODS, NAN, LOUD] (_cx; a: G) -> G<S> { a.sqrt() }
    Ldexp [MODS, NAN] (_cx; a: G, b: Int) -> G<S> {{
        let n = b.0.array();
        let a = a.bits().array();
        D::from_array(crate::rows::from_fn(|i| ldexp(a[i], n[i]))).as_f64()
    }}
        => rounded([a, b, _], _, env) { F64.scale(a, b as i32, env) }
    FrexpExp [LONG, MODS] (_cx; a: G) -> U<S> {{
        let a = a.bits().array();
        U::from_array(crate::rows::from_fn(|i| frexp_exponent(a[i])))
    }}
    FrexpMant [MODS] (_cx; a: G) -> G<S> { a.bits().map(frexp_mantissa).as_f64() }
    TrigPreop [MODS] (_cx; a: G, b: U) -> G<S> {{
        let (a, b) = (a.bits().array(), b.array());
        D::from_array(crate::rows::from_fn(|i| trig_preop(a[i], b[i]))).as_f64()
    }}
    DivScale [LONG, MODS, MASK = MaskTo::Second] (cx; a: G, b: G, c: G) -> (G<S>, Mask<S>) { scale_all(cx, a, b, c) }
    DivFmas [MODS, NAN] (cx; a: B64, b: B64, c: B64, m: Mask) -> G<S> { division_sum(cx, a.0, b.0, c.0, m) }
    DivFixup [MODS, KEEPS] (cx; a: B64, b: G, c: G) -> G<S> {{
        let (round, flush_out) = (cx.round_double(), cx.flush & 8 != 0);
        map3(a.0.as_f64(), b, c, |a, d, n| division_fixup(a, d, n, round, flush_out))
    }}
}

table! {
    VAddF64 => Add,
    VMulF64 => Mul,
    VFmaF64 | VFmacF64 => Fma,
    VMinF64 => Min,
    VMaxF64 => Max,
    VMinimumF64 => Minimum,
    VMaximumF64 => Maximum,
    VFloorF64 => Floor,
    VCeilF64 => Ceil,
    VTruncF64 => Trunc,
    VRndneF64 => Rndne,
    VFractF64 => Fract,
    VRcpF64 => Rcp,
    VRsqF64 => Rsq,
    VSqrtF64 => Sqrt,
    VLdexpF64 => Ldexp,
    VFrexpExpI32F64 => FrexpExp,
    VFrexpMantF64 => FrexpMant,
    VTrigPreopF64 => TrigPreop,
    VDivScaleF64 => DivScale,
    VDivFmasF64 => DivFmas,
    VDivFixupF64 => DivFixup,
}
