//! Floating-point operations. `i.format` is the format in the operation's name.

use super::exact::{BF16, Exact, F16, F32, F64, Format};
use super::{In, Model, Out, flushes};
use crate::dots::{Dot, Factors};
use vgpu::isa::Op;
use vgpu::machine::Generation;

use Out::{Bits, Flag, Near};

/// The lesser or greater number; -0 is less than +0. For NaNs, the result depends on the generation.
fn extreme(i: &In, a: u64, b: u64, greater: bool) -> u64 {
    let f = i.format;
    let signalling = |bits: u64| f.is_nan(bits) && bits & f.quiet() == 0;
    if i.ieee() && signalling(a) {
        return a | f.quiet();
    }
    if i.ieee() && signalling(b) {
        return b | f.quiet();
    }
    match (f.is_nan(a), f.is_nan(b)) {
        (true, true) if i.is_gfx12() => a | f.quiet(),
        (true, true) => {
            if i.is_cdna() {
                b
            } else {
                a
            }
        }
        (true, false) => b,
        (false, true) => a,
        _ => {
            if (f.order(a) < f.order(b)) != greater {
                a
            } else {
                b
            }
        }
    }
}

/// The same, but a NaN wins.
fn ordered(i: &In, a: u64, b: u64, greater: bool) -> u64 {
    i.format.first_nan(&[a, b]).unwrap_or_else(|| extreme(i, a, b, greater))
}

fn median(i: &In) -> u64 {
    let [a, b, c] = [i.s[0], i.s[1], i.s[2]];
    if [a, b, c].iter().any(|bits| i.format.is_nan(*bits)) {
        return extreme(i, extreme(i, a, b, false), c, false);
    }
    let mut all = [a, b, c];
    all.sort_unstable_by_key(|bits| i.format.order(*bits));
    all[1]
}

/// Rounds to an integer of the same format.
fn whole(i: &In, mode: u32) -> Out {
    let (f, a) = (i.format, i.s[0]);
    if let Some(nan) = f.first_nan(&[a]) {
        return Bits(nan);
    }
    if f.is_infinite(a) {
        return Bits(a);
    }
    let sign = a & f.sign();
    let size = f.to_f64(a & !f.sign());
    if size >= 2f64.powi(60) {
        return Bits(a);
    }
    Bits(sign | f.round(&Exact::integer(f.value(a).to_integer(mode).abs()), 0))
}

fn fract(i: &In) -> Out {
    let (f, a) = (i.format, i.s[0]);
    if let Some(nan) = f.first_nan(&[a]) {
        return Bits(nan);
    }
    if f.is_infinite(a) {
        return Bits(f.default_nan());
    }
    let Bits(floor) = whole(i, 2) else { return Bits(0) };
    let exact = f.value(a).plus(&f.value(floor ^ f.sign()), false);
    let rest = f.round(&exact, i.round());
    let one = f.round(&Exact::integer(1), 0);
    Bits(if rest == one { one - 1 } else { rest & !f.sign() })
}

/// A function of f64; the caller gives the special values.
fn near(i: &In, special: impl Fn(f64) -> Option<u64>, function: impl Fn(f64) -> f64) -> Out {
    if let Some(nan) = i.nan_of(&[i.s[0]]) {
        return Bits(nan);
    }
    let x = i.format.to_f64(i.s[0]);
    special(x).map_or_else(|| Near(function(x)), Bits)
}

fn infinity(f: Format, negative: bool) -> u64 {
    f.infinity() | if negative { f.sign() } else { 0 }
}

fn zero(f: Format, negative: bool) -> u64 {
    if negative { f.sign() } else { 0 }
}

fn reciprocal(i: &In) -> Out {
    let f = i.format;
    let special = |x: f64| match x {
        _ if x == 0.0 => Some(infinity(f, x.is_sign_negative())),
        _ if x.is_infinite() => Some(zero(f, x < 0.0)),
        _ => None,
    };
    near(i, special, |x| 1.0 / x)
}

fn reciprocal_root(i: &In) -> Out {
    let f = i.format;
    let special = |x: f64| match x {
        _ if x == 0.0 => Some(infinity(f, x.is_sign_negative())),
        _ if x < 0.0 => Some(f.default_nan()),
        _ if x.is_infinite() => Some(0),
        _ => None,
    };
    near(i, special, |x| 1.0 / x.sqrt())
}

fn root(i: &In) -> Out {
    let (f, a) = (i.format, i.s[0]);
    let special = |x: f64| match x {
        _ if x == 0.0 || x == f64::INFINITY => Some(a),
        _ if x < 0.0 => Some(f.default_nan()),
        _ => None,
    };
    near(i, special, f64::sqrt)
}

fn power(i: &In) -> Out {
    let f = i.format;
    let special = |x: f64| match x {
        f64::INFINITY => Some(f.infinity()),
        f64::NEG_INFINITY => Some(0),
        _ => None,
    };
    near(i, special, f64::exp2)
}

fn logarithm(i: &In) -> Out {
    let f = i.format;
    let special = |x: f64| match x {
        _ if x == 0.0 => Some(infinity(f, true)),
        _ if x < 0.0 => Some(f.default_nan()),
        _ if x.is_infinite() => Some(f.infinity()),
        _ => None,
    };
    near(i, special, f64::log2)
}

fn turned(i: &In, function: fn(f64) -> f64) -> Out {
    let f = i.format;
    let beyond = i.is_cdna();
    let special = |x: f64| x.is_infinite().then(|| f.default_nan());
    near(i, special, |x| {
        let x = if beyond && x.abs() > 256.0 { 0.0 } else { x };
        // Whole and half turns have exact results.
        let turn = x - x.trunc();
        let quarter = turn * 4.0;
        if quarter == quarter.trunc() {
            let exact = function(quarter * std::f64::consts::FRAC_PI_2).round();
            return if exact == 0.0 && turn == 0.0 && x == 0.0 { function(x) } else { exact };
        }
        function(turn * std::f64::consts::TAU)
    })
}

fn frexp(i: &In) -> (u64, i32) {
    let (f, a) = (i.format, i.s[0]);
    if f.is_nan(a) || f.is_infinite(a) || f.is_zero(a) {
        return (f.first_nan(&[a]).unwrap_or(a), 0);
    }
    let sign = a & f.sign();
    let mut size = a & !f.sign();
    let mut exponent = 0;
    let half = f.round(&Exact::integer(1).scaled(-1), 0);
    if f.is_subnormal(size) {
        exponent -= f.fraction as i32 + 1;
        size = f.round(&f.value(size).scaled(f.fraction as i32 + 1), 0);
    }
    let field = (size >> f.fraction) as i32 - (half >> f.fraction) as i32;
    (sign | half | size & ((1 << f.fraction) - 1), exponent + field)
}

/// An integer in a range; NaN becomes zero, or a limit depending on its sign.
fn integer(bits: u64, f: Format, mode: u32, least: i128, most: i128, nan_by_sign: bool) -> i128 {
    let negative = bits & f.sign() != 0;
    if f.is_nan(bits) {
        return if !nan_by_sign {
            0
        } else if negative {
            least
        } else {
            most
        };
    }
    if f.is_infinite(bits) {
        return if negative { least } else { most };
    }
    f.value(bits).to_integer(mode).clamp(least, most)
}

const I32: (i128, i128) = (i32::MIN as i128, i32::MAX as i128);
const U32: (i128, i128) = (0, u32::MAX as i128);

fn to_integer(i: &In, mode: u32, (least, most): (i128, i128), nan_by_sign: bool) -> Out {
    Bits(integer(i.s[0], i.format, mode, least, most, nan_by_sign) as u64)
}

/// Both sources as 16-bit integers.
fn pair(i: &In, convert: impl Fn(u64) -> u64) -> Out {
    Bits(convert(i.s[0]) & 0xffff | (convert(i.s[1]) & 0xffff) << 16)
}

/// A number between `least` and 1 as a fraction of `most`.
fn normalized(bits: u64, f: Format, least: f64, most: f64) -> u64 {
    if f.is_nan(bits) {
        return 0;
    }
    let x = f.to_f64(bits).clamp(least, 1.0);
    (x * most).round_ties_even() as i64 as u64 & 0xffff
}

fn cube(i: &In, part: usize) -> Out {
    let s = [i.s[0], i.s[1], i.s[2]];
    // The magnitude of each coordinate; zero for subnormal ones.
    let size = s.map(|bits| F32.to_f64(flushed(F32, bits)).abs());
    let axis = if size[2] >= size[0] && size[2] >= size[1] {
        2
    } else if size[1] >= size[0] {
        1
    } else {
        0
    };
    let major = s[axis];
    let negative = size[axis] > 0.0 && major & F32.sign() != 0;
    let minus = |bits: u64, yes: bool| bits ^ if yes { F32.sign() } else { 0 };
    let result = match (part, axis) {
        (0, _) => F32.round(&Exact::integer(2 * axis as i128 + i128::from(negative)), 0),
        (1, 0) => minus(s[2], !negative),
        (1, 1) => s[0],
        (1, _) => minus(s[0], negative),
        (2, 1) => minus(s[2], negative),
        (2, _) => minus(s[1], true),
        _ if size[axis] == 0.0 => {
            if i.round() == 2 {
                major & F32.sign()
            } else {
                0
            }
        }
        _ if F32.is_nan(major) || F32.is_infinite(major) => major,
        _ => F32.round(&F32.value(major).scaled(1), i.round()),
    };
    // A NaN is moved; only IEEE's rules make it quiet.
    let quiets = i.is_gfx12() || i.ieee();
    Bits(result | if F32.is_nan(result) && quiets { F32.quiet() } else { 0 })
}

fn division_scale(i: &In) -> Out {
    let f = i.format;
    let (far, step, small) = if f == F32 { (96, 64, 24) } else { (768, 128, 53) };
    let most = (f.infinity() >> f.fraction) as i32 - 2;
    let exponent = |bits: u64| ((bits & f.infinity()) >> f.fraction) as i32;
    let [a, d, n] = [i.s[0], i.s[1], i.s[2]];
    let (ed, en) = (exponent(d), exponent(n));
    let is_denominator = a == d;
    let (power, back) = if en - ed >= far {
        (if is_denominator { step } else { 0 }, true)
    } else if ed == 0 {
        (step, false)
    } else if ed >= most {
        let back = en - ed <= -far;
        (if back && !is_denominator { 0 } else { -step }, back)
    } else if en - ed <= -far {
        (if is_denominator { 0 } else { step }, true)
    } else {
        (if en <= small { step } else { 0 }, false)
    };
    if f.is_zero(d) || f.is_zero(n) {
        return Flag(f.default_nan(), back);
    }
    if f.is_nan(a) || f.is_infinite(a) {
        return Flag(i.nan_of(&[a]).unwrap_or(a), back);
    }
    Flag(f.round(&f.value(a).scaled(power), 0), back)
}

fn division_fixup(i: &In) -> Out {
    let f = i.format;
    let [p, d, n] = [i.s[0], i.s[1], i.s[2]];
    let sign = (d ^ n) & f.sign();
    let exponent = |bits: u64| ((bits & f.infinity()) >> f.fraction) as i32;
    let bias = (f.infinity() >> f.fraction) as i32 / 2;
    let negative = sign != 0;
    let away = i.round() == if negative { 2 } else { 1 };
    let saturates = f == F16 && i.mode >> 23 & 1 != 0;
    let infinite = !saturates && (i.round() == 0 || away);
    Bits(if let Some(nan) = f.first_nan(&[n, d]) {
        nan
    } else if f.is_zero(d) && f.is_zero(n) || f.is_infinite(d) && f.is_infinite(n) {
        f.default_nan()
    } else if f.is_zero(d) || f.is_infinite(n) {
        sign | f.infinity()
    } else if f.is_infinite(d) || f.is_zero(n) {
        sign
    } else if f != F16 && exponent(n) - exponent(d) < -(bias + f.fraction as i32) {
        sign | u64::from(away && !flushes(f, i.mode)[1])
    } else if f.is_nan(p) || f.is_infinite(p) {
        sign | if infinite { f.infinity() } else { f.infinity() - 1 }
    } else {
        sign | p & !f.sign()
    })
}

fn division_sum(i: &In) -> Out {
    let f = i.format;
    let exponent = (i.s[2] & f.infinity()) >> f.fraction;
    let step = if f == F32 { 64 } else { 128 };
    let bias = (f.infinity() >> f.fraction) / 2;
    let power = match (i.mask, exponent > bias) {
        (false, _) => 0,
        (true, true) => step,
        (true, false) => -step,
    };
    Bits(f.fma(i.s[0], i.s[1], i.s[2], power, i.rounding()))
}

/// Halves of a packed source as f32.
fn halves(i: &In, k: usize, f: Format) -> [u64; 2] {
    [i.s[k] & 0xffff, i.s[k] >> 16].map(|bits| f.convert(bits, F32, 0))
}

/// RDNA 3 and 4 add everything at once. Earlier generations used two fused multiply-adds, on gfx90a without
/// subnormal f16.
fn dot2(i: &In, f: Format) -> Out {
    if i.generation >= Generation::Gfx11 {
        return grid_dot2(i, f, false);
    }
    let normal = |k: usize, half: u64| {
        let bits = i.s[k] >> (16 * half) & 0xffff;
        let gone = i.generation == Generation::Gfx9 && f.is_subnormal(bits);
        f.convert(if gone { bits & f.sign() } else { bits }, F32, 0)
    };
    // CDNA flushes a subnormal addend, whatever MODE is.
    let addend = if i.is_cdna() { flushed(F32, i.s[2]) } else { i.s[2] };
    let first = F32.fma(normal(0, 0), normal(1, 0), addend, 0, 0);
    Bits(F32.fma(normal(0, 1), normal(1, 1), first, 0, 0))
}

fn grid_dot2(i: &In, f: Format, short: bool) -> Out {
    let saturate = short && f == F16 && i.mode >> 23 & 1 != 0;
    let factors = if f == BF16 { Factors::Bf16 } else { Factors::F16 };
    let dot = Dot { factors, short, fourth: i.generation == Generation::Gfx12, saturate };
    let [a, b] = [0, 1].map(|k| halves(i, k, f).map(|bits| f32::from_bits(bits as u32)));
    let c = if short { f.convert(i.s[2], F32, 0) } else { i.s[2] };
    Bits(dot.of(&a, &b, f32::from_bits(c as u32)))
}

/// An 8-bit float of a generation as f32.
fn eight(i: &In, byte: u64, wide: bool) -> u64 {
    let (fraction, bias) = if wide { (2, 15) } else { (3, 7) };
    let sign = (byte & 0x80) << 24;
    let rest = byte & 0x7f;
    if i.is_cdna() {
        if byte == 0x80 {
            return 0x7fc0_0000;
        }
    } else if wide && rest >= 0x7c {
        return if rest == 0x7c { sign | 0x7f80_0000 } else { 0x7fc0_0000 };
    } else if !wide && rest == 0x7f {
        return 0x7fc0_0000;
    }
    let bias = bias + i32::from(i.is_cdna());
    let field = (rest >> fraction) as i32;
    let digits = rest & ((1 << fraction) - 1) | if field == 0 { 0 } else { 1 << fraction };
    let exact = Exact::integer(i128::from(digits)).scaled(field.max(1) - bias - fraction);
    sign | F32.round(&exact, 0)
}

/// f32 to an 8-bit float, by searching for the nearest of all its numbers.
fn to_eight(i: &In, bits: u64, wide: bool) -> u64 {
    let sign = bits >> 24 & 0x80;
    let nan = if i.is_cdna() { 0x80 } else { sign | 0x7f };
    if F32.is_nan(bits) {
        return nan;
    }
    let size = F32.to_f64(bits & 0x7fff_ffff);
    let largest: u64 = if i.is_cdna() {
        0x7f
    } else if wide {
        0x7b
    } else {
        0x7e
    };
    let value = |code: u64| F32.to_f64(eight(i, code, wide));
    // The step after the largest number; from its midpoint on, values round away.
    let limit = value(largest) + (value(largest) - value(largest - 1)) / 2.0;
    let odd_is_largest = largest & 1 != 0;
    if size > limit || size == limit && odd_is_largest {
        return match () {
            _ if i.mode >> 23 & 1 != 0 => sign | largest,
            _ if wide && !i.is_cdna() => sign | 0x7c,
            _ => nan,
        };
    }
    let code = (0..=largest)
        .min_by(|a, b| {
            let distance = |code: u64| (value(code) - size).abs();
            distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1)))
        })
        .unwrap_or(0);
    if code == 0 && i.is_cdna() { 0 } else { sign | code }
}

fn dot4(i: &In, wide: [bool; 2]) -> Out {
    let dot = Dot { factors: Factors::Bytes(wide), short: false, fourth: true, saturate: false };
    let [a, b] = [0, 1].map(|n: usize| {
        [0, 8, 16, 24].map(|shift| f32::from_bits(eight(i, i.s[n] >> shift & 0xff, wide[n]) as u32))
    });
    Bits(dot.of(&a, &b, f32::from_bits(i.u(2))))
}

fn byte(bits: u64, mode: u32) -> u64 {
    integer(bits, F32, mode, 0, 255, false) as u64
}

fn put_byte(old: u64, value: u64, place: u64) -> Out {
    let shift = 8 * (place & 3);
    Bits(old & !(0xff << shift) | value << shift)
}

/// Zero times anything is zero.
fn any_zero(i: &In) -> bool {
    i.format.is_zero(i.s[0]) || i.format.is_zero(i.s[1])
}

pub(super) fn flushed(f: Format, bits: u64) -> u64 {
    if f.is_subnormal(bits) { bits & f.sign() } else { bits }
}

/// Multiplies and rounds, then adds and rounds.
fn twice(i: &In, zero_wins: bool) -> Out {
    let f = i.format;
    let product = if zero_wins && any_zero(i) { 0 } else { f.mul(i.s[0], i.s[1], i.rounding()) };
    let product = if f == F32 || i.mode & 0x80 == 0 { flushed(f, product) } else { product };
    Bits(f.add(product, i.s[2], i.rounding()))
}

/// The model of a floating-point operation.
pub(super) fn model(op: Op) -> Option<Model> {
    let name = op.name().trim_start_matches("v_").trim_start_matches("s_").trim_start_matches("s_");
    let base = ["_f16", "_f32", "_f64"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    Some(match base {
        "add" => |i: &In| Bits(i.format.add(i.s[0], i.s[1], i.rounding())),
        "sub" => |i: &In| Bits(i.format.add(i.s[0], i.format.negated(i.s[1]), i.rounding())),
        "subrev" => |i: &In| {
            let nan = i.nan_of(&i.s[..2]);
            Bits(nan.unwrap_or_else(|| i.format.add(i.s[1], i.format.negated(i.s[0]), i.rounding())))
        },
        "mul" => |i: &In| Bits(i.format.mul(i.s[0], i.s[1], i.rounding())),
        "fma" | "fmac" | "fmamk" | "fmaak" | "fma_legacy" => {
            |i: &In| Bits(i.format.fma(i.s[0], i.s[1], i.s[2], 0, i.rounding()))
        }
        "mad" | "mac" | "madmk" | "madak" => |i: &In| twice(i, false),
        "mad_legacy" => |i: &In| twice(i, i.format == F32),
        "mul_dx9_zero" => |i: &In| Bits(if any_zero(i) { 0 } else { F32.mul(i.s[0], i.s[1], i.rounding()) }),
        "fma_dx9_zero" | "fmac_dx9_zero" => |i: &In| {
            Bits(if any_zero(i) && i.generation >= Generation::Gfx11 {
                F32.add(0, i.s[2], i.rounding())
            } else if any_zero(i) {
                i.nan_of(&[i.s[2]]).unwrap_or(i.s[2])
            } else {
                F32.fma(i.s[0], i.s[1], i.s[2], 0, i.rounding())
            })
        },
        "min" | "min_num" => |i: &In| Bits(extreme(i, i.s[0], i.s[1], false)),
        "max" | "max_num" => |i: &In| Bits(extreme(i, i.s[0], i.s[1], true)),
        "min3" => |i: &In| Bits(extreme(i, extreme(i, i.s[0], i.s[1], false), i.s[2], false)),
        "max3" => |i: &In| Bits(extreme(i, extreme(i, i.s[0], i.s[1], true), i.s[2], true)),
        "maxmin" => |i: &In| Bits(extreme(i, extreme(i, i.s[0], i.s[1], true), i.s[2], false)),
        "minmax" => |i: &In| Bits(extreme(i, extreme(i, i.s[0], i.s[1], false), i.s[2], true)),
        "med3" => |i: &In| Bits(median(i)),
        "minimum" => |i: &In| Bits(ordered(i, i.s[0], i.s[1], false)),
        "maximum" => |i: &In| Bits(ordered(i, i.s[0], i.s[1], true)),
        "minimum3" => |i: &In| Bits(ordered(i, ordered(i, i.s[0], i.s[1], false), i.s[2], false)),
        "maximum3" => |i: &In| Bits(ordered(i, ordered(i, i.s[0], i.s[1], true), i.s[2], true)),
        "maximumminimum" => |i: &In| Bits(ordered(i, ordered(i, i.s[0], i.s[1], true), i.s[2], false)),
        "minimummaximum" => |i: &In| Bits(ordered(i, ordered(i, i.s[0], i.s[1], false), i.s[2], true)),
        "floor" => |i: &In| whole(i, 2),
        "ceil" => |i: &In| whole(i, 1),
        "trunc" => |i: &In| whole(i, 3),
        "rndne" => |i: &In| whole(i, 0),
        "fract" => fract,
        "rcp" | "rcp_iflag" => reciprocal,
        "rsq" => reciprocal_root,
        "sqrt" => root,
        "exp" | "exp_legacy" => power,
        "log" | "log_legacy" => logarithm,
        "sin" => |i: &In| turned(i, f64::sin),
        "cos" => |i: &In| turned(i, f64::cos),
        "ldexp" => |i: &In| {
            let (f, a) = (i.format, i.s[0]);
            if f.is_nan(a) || f.is_infinite(a) {
                return Bits(f.first_nan(&[a]).unwrap_or(a));
            }
            let power = if f == F16 { i.h(1) as i32 } else { i.u(1) as i32 };
            Bits(f.round(&f.value(a).scaled(power.clamp(-5000, 5000)), i.rounding()))
        },
        "frexp_mant" => |i: &In| Bits(frexp(i).0),
        "frexp_exp_i16" => |i: &In| Bits(frexp(i).1 as u64 & 0xffff),
        "frexp_exp_i32" => |i: &In| Bits(u64::from(frexp(i).1 as u32)),
        "cubeid" => |i: &In| cube(i, 0),
        "cubesc" => |i: &In| cube(i, 1),
        "cubetc" => |i: &In| cube(i, 2),
        "cubema" => |i: &In| cube(i, 3),
        "mullit" => |i: &In| {
            let [a, b, c] = [0, 1, 2].map(|k| f32::from_bits(i.u(k)));
            let dark = b == -f32::MAX || b == f32::NEG_INFINITY || b.is_nan() || c <= 0.0 || c.is_nan();
            Bits(if dark { 0xff7f_ffff } else { F32.mul(u64::from(a.to_bits()), i.s[1], 0) })
        },
        "div_scale" => division_scale,
        "div_fmas" => division_sum,
        "div_fixup" | "div_fixup_legacy" => division_fixup,
        "cvt_f32_i32" => |i: &In| Bits(F32.round(&Exact::integer(i.z(0)), i.mode & 3)),
        "cvt_f32_u32" => |i: &In| Bits(F32.round(&Exact::integer(i.n(0)), i.mode & 3)),
        "cvt_f64_i32" => |i: &In| Bits(F64.round(&Exact::integer(i.z(0)), 0)),
        "cvt_f64_u32" => |i: &In| Bits(F64.round(&Exact::integer(i.n(0)), 0)),
        "cvt_f16_u16" => |i: &In| Bits(F16.round(&Exact::integer(i.n(0)), i.mode >> 2 & 3)),
        "cvt_f16_i16" => |i: &In| Bits(F16.round(&Exact::integer(i.h(0)), i.mode >> 2 & 3)),
        "cvt_f32_ubyte0" => |i: &In| Bits(F32.round(&Exact::integer(i.n(0) & 0xff), 0)),
        "cvt_f32_ubyte1" => |i: &In| Bits(F32.round(&Exact::integer(i.n(0) >> 8 & 0xff), 0)),
        "cvt_f32_ubyte2" => |i: &In| Bits(F32.round(&Exact::integer(i.n(0) >> 16 & 0xff), 0)),
        "cvt_f32_ubyte3" => |i: &In| Bits(F32.round(&Exact::integer(i.n(0) >> 24), 0)),
        "cvt_off_f32_i4" => |i: &In| {
            let nibble = (i.n(0) & 15) - (i.n(0) & 8) * 2;
            Bits(F32.round(&Exact::integer(nibble).scaled(-4), 0))
        },
        "cvt_f16" | "cvt_f32" | "cvt_f64" => match op {
            Op::VCvtF16F32 | Op::SCvtF16F32 => {
                |i: &In| Bits(F32.convert(i.s[0], F16, i.results(i.mode >> 2)))
            }
            Op::VCvtF32F16 | Op::SCvtF32F16 => |i: &In| Bits(F16.convert(i.s[0], F32, 0)),
            Op::VCvtF32F64 => |i: &In| Bits(F64.convert(i.s[0], F32, i.results(i.mode >> 2))),
            Op::VCvtF64F32 => |i: &In| Bits(F32.convert(i.s[0], F64, 0)),
            _ => return None,
        },
        "cvt_i32" => |i: &In| to_integer(i, 3, I32, false),
        "cvt_u32" => |i: &In| to_integer(i, 3, U32, false),
        "cvt_i16" => |i: &In| to_integer(i, 3, (-0x8000, 0x7fff), false),
        "cvt_u16" => |i: &In| to_integer(i, 3, (0, 0xffff), false),
        "cvt_floor_i32" => |i: &In| to_integer(i, 2, I32, true),
        "cvt_nearest_i32" => |i: &In| to_integer(i, 4, I32, true),
        "cvt_norm_i16" => |i: &In| Bits(normalized(i.s[0], F16, -1.0, 32767.0)),
        "cvt_norm_u16" => |i: &In| Bits(normalized(i.s[0], F16, 0.0, 65535.0)),
        "cvt_pk_norm_i16" => |i: &In| pair(i, |bits| normalized(bits, i.format, -1.0, 32767.0)),
        "cvt_pk_norm_u16" => |i: &In| pair(i, |bits| normalized(bits, i.format, 0.0, 65535.0)),
        "cvt_pk_rtz_f16" => |i: &In| pair(i, |bits| F32.convert(bits, F16, 3)),
        "cvt_pk_i16" => |i: &In| pair(i, |bits| integer(bits, F32, 3, -0x8000, 0x7fff, false) as u64),
        "cvt_pk_u16" => |i: &In| pair(i, |bits| integer(bits, F32, 3, 0, 0xffff, false) as u64),
        "cvt_pk_u8" => |i: &In| put_byte(i.s[2], byte(i.s[0], i.mode & 3), i.s[1]),
        "cvt_pkaccum_u8" => |i: &In| put_byte(i.old, byte(i.s[0], i.mode & 3), i.s[1]),
        "cvt_f32_fp8" => |i: &In| Bits(eight(i, i.s[0] & 0xff, false)),
        "cvt_f32_bf8" => |i: &In| Bits(eight(i, i.s[0] & 0xff, true)),
        "cvt_pk_f32_fp8" => {
            |i: &In| Bits(eight(i, i.s[0] & 0xff, false) | eight(i, i.s[0] >> 8 & 0xff, false) << 32)
        }
        "cvt_pk_f32_bf8" => {
            |i: &In| Bits(eight(i, i.s[0] & 0xff, true) | eight(i, i.s[0] >> 8 & 0xff, true) << 32)
        }
        "cvt_pk_fp8" => {
            |i: &In| Bits(i.old & 0xffff_0000 | to_eight(i, i.s[0], false) | to_eight(i, i.s[1], false) << 8)
        }
        "cvt_pk_bf8" => {
            |i: &In| Bits(i.old & 0xffff_0000 | to_eight(i, i.s[0], true) | to_eight(i, i.s[1], true) << 8)
        }
        "pack_b32" => |i: &In| Bits(i.s[0] | i.s[1] << 16),
        "dot2_f32" | "dot2acc_f32" => |i: &In| dot2(i, F16),
        "dot2_f32_bf16" | "dot2acc_f32_bf16" => |i: &In| dot2(i, BF16),
        "dot2_f16" => |i: &In| grid_dot2(i, F16, true),
        "dot2_bf16_bf16" => |i: &In| grid_dot2(i, BF16, true),
        "dot4_f32_fp8_bf8" => |i: &In| dot4(i, [false, true]),
        "dot4_f32_bf8_fp8" => |i: &In| dot4(i, [true, false]),
        "dot4_f32_fp8_fp8" => |i: &In| dot4(i, [false; 2]),
        "dot4_f32_bf8_bf8" => |i: &In| dot4(i, [true; 2]),
        _ => return None,
    })
}
