//! Operations on f32.

use vgpu_isa::Generation;

use super::convert::Int;
use super::function;
use super::lanewise::{Cx, MaskTo, Op, ops};
use super::minmax::{max, maximum, median, min, minimum};
use super::operand::{B, nan_or};
use super::packed::{PackedSingle, SingleOp, packable};
use super::result::{Ret, away, overflow};
use super::select::{choose_body, table};
use crate::Handler;
use crate::float::soft::{Env, F32};
use crate::level::simd_handler;
use crate::lower::Context;
use crate::simd::{F, LANES, Mask, Simd, U};

/// Fused multiply-add in which zero times anything is +0, which is then added as usual.
#[inline(always)]
fn fma_zero<S: Simd>(cx: &Cx, a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    let (none, zero) = (any_zero(a, b), F::splat(0.0));
    let (a, b) = (none.select_f32(zero, a), none.select_f32(zero, b));
    let sum = a.fma(b, c);
    // A NaN must not come from a factor that zero overrides, so it is settled here.
    if Ret::has_nan([sum; 2]) { sum.settle((a, b, c), cx.quiets()) } else { sum }
}

/// Fused multiply-add that returns `c` if a factor is zero.
#[inline(always)]
fn fma_or_addend<S: Simd>(a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    any_zero(a, b).select_f32(c, a.fma(b, c))
}

/// A product in which zero times anything is zero.
#[inline(always)]
fn mul_zero<S: Simd>(a: F<S>, b: F<S>) -> F<S> {
    any_zero(a, b).select_f32(F::splat(0.0), a * b)
}

/// A product with subnormal results flushed to zero.
#[inline(always)]
fn normal_product<S: Simd>(a: F<S>, b: F<S>) -> F<S> {
    let product = a * b;
    if !Ret::is_least(product) {
        return F::flush(product);
    }
    let exact = |a: u32, b: u32| F32.mul(a.into(), b.into(), Env::IEEE.flushing()) as u32;
    a.bits().map2(b.bits(), exact).as_f32()
}

#[inline(always)]
fn any_zero<S: Simd>(a: F<S>, b: F<S>) -> Mask<S> {
    let zero = F::splat(0.0);
    a.equal(zero) | b.equal(zero)
}

fn is_zero(bits: u64) -> bool {
    bits as u32 & 0x7fff_ffff == 0
}

fn negated(bits: u64) -> u64 {
    bits ^ 0x8000_0000
}

/// The exponent of a number as fraction times a power of two; 0 if it has none.
pub(super) fn frexp_exponent(bits: u32) -> u32 {
    let field = (bits >> 23 & 0xff) as i32;
    let fraction = bits & 0x7f_ffff;
    let exponent = if field == 255 || bits & 0x7fff_ffff == 0 {
        0
    } else if field == 0 {
        -117 - fraction.leading_zeros() as i32
    } else {
        field - 126
    };
    exponent as u32
}

/// The fraction of a number, from 1/2 to 1.
pub(super) fn frexp_mantissa(bits: u32) -> u32 {
    let rest = bits & 0x7fff_ffff;
    if rest >= 0x7f80_0000 || rest == 0 {
        return bits | if rest > 0x7f80_0000 { 0x40_0000 } else { 0 };
    }
    let digits = if rest < 0x80_0000 { rest << (rest.leading_zeros() - 8) } else { rest };
    bits & 0x8000_0000 | digits & 0x7f_ffff | 0x3f00_0000
}

/// One of the results of [`cube`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cube {
    Face,
    S,
    T,
    Major,
}

/// The face of a cube that a direction hits, the coordinates on it, and twice the coordinate along the face's
/// axis. Subnormal numbers count as zero in comparisons, but are moved unchanged as coordinates.
fn cube(x: u32, y: u32, z: u32, part: Cube, round: u8) -> u32 {
    const SIGN: u32 = 1 << 31;
    let number = |bits: u32| if bits & 0x7f80_0000 == 0 { 0.0 } else { f32::from_bits(bits) };
    let [a, b, c] = crate::rows::map([x, y, z], number);
    let (face, s, t, major) = if c.abs() >= a.abs() && c.abs() >= b.abs() {
        if c < 0.0 { (5.0, x ^ SIGN, y ^ SIGN, z) } else { (4.0, x, y ^ SIGN, z) }
    } else if b.abs() >= a.abs() {
        if b < 0.0 { (3.0, x, z ^ SIGN, y) } else { (2.0f32, x, z, y) }
    } else if a < 0.0 {
        (1.0, z, y ^ SIGN, x)
    } else {
        (0.0, z ^ SIGN, y ^ SIGN, x)
    };
    match part {
        Cube::Face => face.to_bits(),
        Cube::S => s,
        Cube::T => t,
        Cube::Major if number(major) == 0.0 => {
            if round == 2 {
                major & SIGN
            } else {
                0
            }
        }
        Cube::Major if number(major).is_nan() => major,
        Cube::Major => F32.scale(major.into(), 1, Env { round, ..Env::IEEE }) as u32,
    }
}

/// See [`cube`].
#[inline(always)]
fn cubes<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, c: U<S>, part: Cube) -> F<S> {
    let (round, quiet) = (cx.round_single() as u8, if cx.quiets() { 0x40_0000 } else { 0 });
    let result = a.map3(b, c, move |x, y, z| cube(x, y, z, part, round)).as_f32();
    result.is_nan().select(result.bits() | quiet, result.bits()).as_f32()
}

/// The biased exponent.
#[inline(always)]
fn exponent<S: Simd>(a: F<S>) -> U<S> {
    a.bits() >> 23 & 255
}

/// The operand `a`, scaled if dividing `numerator` by `denominator` would leave the range of normal numbers,
/// and whether the quotient must be scaled back. The rules are those of the hardware (measured on gfx1100 and
/// gfx1201), which looks at exponents; the vendor's text would overflow.
#[inline(always)]
fn division_scale<S: Simd>(cx: &Cx, a: F<S>, denominator: F<S>, numerator: F<S>) -> (F<S>, Mask<S>) {
    let (en, ed) = (exponent(numerator), exponent(denominator));
    let distance = en - ed;
    let is_denominator = a.bits().equal(denominator.bits());
    let (far, near) = (!distance.less_signed(U::splat(96)), distance.less_signed(U::splat(-95i32 as u32)));
    // Each case applies only if no earlier one does.
    let tiny = !far & ed.equal(U::splat(0));
    let zero = F::splat(0.0);
    let huge = !far & !ed.less(U::splat(253));
    let rest = !far & !tiny & !huge;
    let small = rest & !near & en.less(U::splat(25));
    let up = (far & is_denominator) | tiny | (rest & near & !is_denominator) | small;
    let down = huge & (!near | is_denominator);
    let scaled = up.select_f32(a * 18_446_744_073_709_551_616.0, a);
    let mut scaled = down.select_f32(a * (1.0 / 18_446_744_073_709_551_616.0), scaled);
    if Ret::has_nan([a; 2]) {
        scaled = nan_or(a, scaled, cx.quiets());
    }
    let none = denominator.equal(zero) | numerator.equal(zero);
    let scaled = none.select_f32(U::splat(0xffc0_0000).as_f32(), scaled);
    (scaled, far | (!tiny & near))
}

/// The fused sum, scaled back if `v_div_scale` requested it: up if the quotient is large, down if it is
/// small.
#[inline(always)]
fn division_sum<S: Simd>(cx: &Cx, a: U<S>, b: U<S>, c: U<S>, scale: Mask<S>) -> F<S> {
    let flags = scale.bits();
    if flags == 0 && cx.round_single() == 0 {
        let sum = a.as_f32().fma(b.as_f32(), c.as_f32());
        if !(cx.flushes_results() && sum.is_least()) {
            return sum;
        }
    }
    let mode = cx.mode_of_results();
    U::from_array(exact_sums(flags, &[a.array(), b.array(), c.array()], mode)).as_f32()
}

/// The sums, scaled before rounding in the lanes of `flags`.
#[cold]
#[inline(never)]
fn exact_sums(flags: u16, sources: &[[u32; LANES]; 3], mode: u32) -> [u32; LANES] {
    let env = Env { flush_in: false, ..Env::single(mode) };
    crate::rows::from_fn(|i| {
        let [a, b, c] = crate::rows::map(*sources, |source| u64::from(source[i]));
        let power = match (flags >> i & 1, c >> 23 & 255) {
            (0, _) => 0,
            (_, ..=127) => -64,
            _ => 64,
        };
        F32.fma_scaled(a, b, c, power, env) as u32
    })
}

/// The properties of a format that [`division_fixup`] needs.
pub(super) struct Quotients {
    /// If the exponents are this far apart, the quotient underflows.
    pub far: u32,
    /// The smallest number, or 0 if MODE flushes it.
    pub least: u32,
    /// The largest number.
    pub most: f32,
    /// The rounding mode.
    pub round: u32,
}

/// The quotient `a` of `numerator` by `denominator`, with special cases corrected.
#[inline(always)]
pub(super) fn division_fixup<S: Simd>(
    a: F<S>,
    denominator: F<S>,
    numerator: F<S>,
    format: &Quotients,
) -> F<S> {
    let Quotients { far, least, most, round } = *format;
    let zero = F::splat(0.0);
    let infinity = F::splat(f32::INFINITY);
    let sign = (denominator.bits() ^ numerator.bits()) & 0x8000_0000;
    let (infinite_d, infinite_n) = (denominator.abs().equal(infinity), numerator.abs().equal(infinity));
    let (zero_d, zero_n) = (denominator.equal(zero), numerator.equal(zero));
    let tiny = (exponent(numerator) - exponent(denominator)).less_signed(U::splat(0u32.wrapping_sub(far)));
    // Steps that overflowed leave a NaN or infinity.
    let size = a.abs().less(infinity).select(a.abs().bits(), overflow(round, sign, most));
    let size = tiny.select(away(round, sign).select(U::splat(least), zero.bits()), size);
    let size = (infinite_d | zero_n).select(zero.bits(), size);
    let size = (zero_d | infinite_n).select(infinity.bits(), size);
    let result = size | sign;
    let undefined = (zero_d & zero_n) | (infinite_d & infinite_n);
    let result = undefined.select(U::splat(0xffc0_0000), result);
    let result = denominator.is_nan().select(denominator.bits() | 0x40_0000, result);
    numerator.is_nan().select(numerator.bits() | 0x40_0000, result).as_f32()
}

/// `a * b` unless the specular term vanishes.
fn lighting(a: f32, b: f32, c: f32) -> f32 {
    if b == -f32::MAX || b == f32::NEG_INFINITY || b.is_nan() || c <= 0.0 || c.is_nan() {
        -f32::MAX
    } else {
        a * b
    }
}

ops! {
    Add [OFTEN, MODS, NAN, LOUD] (_cx; a: F, b: F) -> F<S> { a + b }
        => rounded([a, b, _], env, _) { F32.add(a, b, env) }
    Sub [OFTEN, MODS, NAN, LOUD] (_cx; a: F, b: F) -> F<S> { a - b }
        => rounded([a, b, _], env, _) { F32.add(a, negated(b), env) }
    Subrev [MODS, NAN, LOUD] (_cx; a: F, b: F) -> F<S> { b - a }
        => rounded([a, b, _], env, _) { F32.add(b, negated(a), env) }
    Mul [OFTEN, MODS, NAN, LOUD] (_cx; a: F, b: F) -> F<S> { a * b }
        => rounded([a, b, _], env, _) { F32.mul(a, b, env) }
    Fma [OFTEN, MODS, NAN, LOUD] (_cx; a: F, b: F, c: F) -> F<S> { a.fma(b, c) }
        => rounded([a, b, c], env, _) { F32.fma(a, b, c, env) }
    Mad [LONG, MODS, NAN, LOUD, FLUSH = 3] (_cx; a: F, b: F, c: F) -> F<S> { normal_product(a, b) + c }
        => rounded([a, b, c], env, _) {{
            let env = env.flushing();
            F32.add(F32.mul(a, b, env), c, env)
        }}
    MulZero [MODS, NAN, LOUD] (_cx; a: F, b: F) -> F<S> { mul_zero(a, b) }
        => rounded([a, b, _], env, _) { if is_zero(a) || is_zero(b) { 0 } else { F32.mul(a, b, env) } }
    FmaZero [LONG, MODS, LOUD, FLUSH = 3] (cx; a: F, b: F, c: F) -> F<S> { fma_zero(cx, a, b, c) }
        => rounded([a, b, c], env, _) {{
            let env = env.flushing();
            if is_zero(a) || is_zero(b) { F32.add(0, c, env) } else { F32.fma(a, b, c, env) }
        }}
    FmaLegacy [LONG, MODS, NAN, LOUD] (_cx; a: F, b: F, c: F) -> F<S> { fma_or_addend(a, b, c) }
        => rounded([a, b, c], env, _) { if is_zero(a) || is_zero(b) { c } else { F32.fma(a, b, c, env) } }
    MadZero [LONG, MODS, NAN, LOUD, FLUSH = 3] (_cx; a: F, b: F, c: F) -> F<S> {
        any_zero(a, b).select_f32(F::splat(0.0), normal_product(a, b)) + c
    }
        => rounded([a, b, c], env, _) {{
            let env = env.flushing();
            F32.add(if is_zero(a) || is_zero(b) { 0 } else { F32.mul(a, b, env) }, c, env)
        }}
    Min [OFTEN, MODS, KEEPS] (cx; a: F, b: F) -> F<S> { min(cx, a, b) }
    Max [OFTEN, MODS, KEEPS] (cx; a: F, b: F) -> F<S> { max(cx, a, b) }
    Min3 [MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { min(cx, min(cx, a, b), c) }
    Max3 [MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { max(cx, max(cx, a, b), c) }
    Med3 [LONG, MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { median(cx, a, b, c) }
    Maxmin [MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { min(cx, max(cx, a, b), c) }
    Minmax [MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { max(cx, min(cx, a, b), c) }
    Minimum [MODS, KEEPS] (cx; a: F, b: F) -> F<S> { minimum(cx, a, b) }
    Maximum [MODS, KEEPS] (cx; a: F, b: F) -> F<S> { maximum(cx, a, b) }
    Minimum3 [LONG, MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { minimum(cx, minimum(cx, a, b), c) }
    Maximum3 [LONG, MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { maximum(cx, maximum(cx, a, b), c) }
    MaximumMinimum [LONG, MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { minimum(cx, maximum(cx, a, b), c) }
    MinimumMaximum [LONG, MODS, KEEPS] (cx; a: F, b: F, c: F) -> F<S> { maximum(cx, minimum(cx, a, b), c) }
    Floor [MODS, NAN] (_cx; a: F) -> F<S> { a.floor() }
    Ceil [MODS, NAN] (_cx; a: F) -> F<S> { a.ceil() }
    Trunc [MODS, NAN] (_cx; a: F) -> F<S> { a.trunc() }
    Rndne [MODS, NAN] (_cx; a: F) -> F<S> { a.rint() }
    Fract [LONG, MODS, NAN] (_cx; a: F) -> F<S> { function::below_one(a - a.floor(), 0.999_999_94) }
        => rounded([a, _, _], env, _) { F32.fract(a, env) }
    Rcp [MODS, NAN, LOUD, TRANS, FLUSH = 3] (_cx; a: F) -> F<S> { F::splat(1.0) / a }
    Rsq [LONG, MODS, NAN, LOUD, TRANS, FLUSH = 3] (_cx; a: F) -> F<S> { function::reciprocal_root(a) }
    Sqrt [MODS, NAN, LOUD, TRANS, FLUSH = 3] (_cx; a: F) -> F<S> { a.sqrt() }
    Exp [LONG, MODS, NAN, LOUD, TRANS, FLUSH = 3] (_cx; a: F) -> F<S> { function::exp2(a) }
    Log [LONG, MODS, NAN, LOUD, TRANS, FLUSH = 3] (_cx; a: F) -> F<S> { function::log2(a) }
    Sin [LONG, MODS, NAN, LOUD, TRANS] (cx; a: F) -> F<S> { function::sine(cx, a, 0.0) }
    Cos [LONG, MODS, NAN, LOUD, TRANS, FLUSH = 2] (cx; a: F) -> F<S> { function::sine(cx, a, 0.25) }
    Ldexp [LONG, MODS, NAN] (_cx; a: F, b: Int) -> F<S> { function::ldexp(a, b.0) }
        => rounded([a, b, _], env, _) { F32.scale(a, b as i32, env) }
    FrexpExp [LONG, MODS] (_cx; a: F) -> U<S> { a.bits().map(frexp_exponent) }
    FrexpMant [LONG, MODS] (_cx; a: F) -> F<S> { a.bits().map(frexp_mantissa).as_f32() }
    Cubeid [LONG, MODS, KEEPS, FLUSH = 2] (cx; a: B, b: B, c: B) -> F<S> { cubes(cx, a.0, b.0, c.0, Cube::Face) }
    Cubesc [LONG, MODS, KEEPS, FLUSH = 2] (cx; a: B, b: B, c: B) -> F<S> { cubes(cx, a.0, b.0, c.0, Cube::S) }
    Cubetc [LONG, MODS, KEEPS, FLUSH = 2] (cx; a: B, b: B, c: B) -> F<S> { cubes(cx, a.0, b.0, c.0, Cube::T) }
    Cubema [LONG, MODS, KEEPS, FLUSH = 2] (cx; a: B, b: B, c: B) -> F<S> { cubes(cx, a.0, b.0, c.0, Cube::Major) }
    Mullit [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> {
        a.bits().map3(b.bits(), c.bits(), |a, b, c| {
            lighting(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits()
        }).as_f32()
    }
    DivScale [LONG, MODS, MASK = MaskTo::Second] (cx; a: F, b: F, c: F) -> (F<S>, Mask<S>) { division_scale(cx, a, b, c) }
    DivFmas [LONG, MODS, NAN] (cx; a: B, b: B, c: B, m: Mask) -> F<S> { division_sum(cx, a.0, b.0, c.0, m) }
    DivFixup [LONG, MODS, KEEPS] (cx; a: B, b: F, c: F) -> F<S> {{
        let least = u32::from(cx.flush & 2 == 0);
        let format = Quotients { far: 150, least, most: f32::MAX, round: cx.round_single() };
        division_fixup(a.0.as_f32(), b, c, &format)
    }}
}

table! {
    VAddF32 => Add,
    VSubF32 => Sub,
    VSubrevF32 => Subrev,
    VMulF32 => Mul,
    VFmaF32 | VFmacF32 | VFmamkF32 | VFmaakF32 => Fma,
    VMadF32 | VMacF32 | VMadmkF32 | VMadakF32 => Mad,
    VMulDx9ZeroF32 => MulZero,
    VFmaDx9ZeroF32 | VFmacDx9ZeroF32, Generation::Gfx10 => FmaLegacy,
    VFmaDx9ZeroF32 | VFmacDx9ZeroF32 => FmaZero,
    VMadLegacyF32 => MadZero,
    VMinF32 => Min,
    VMaxF32 => Max,
    VMin3F32 => Min3,
    VMax3F32 => Max3,
    VMed3F32 => Med3,
    VMaxminF32 => Maxmin,
    VMinmaxF32 => Minmax,
    VMinimumF32 => Minimum,
    VMaximumF32 => Maximum,
    VMinimum3F32 => Minimum3,
    VMaximum3F32 => Maximum3,
    VMaximumminimumF32 => MaximumMinimum,
    VMinimummaximumF32 => MinimumMaximum,
    VFloorF32 => Floor,
    VCeilF32 => Ceil,
    VTruncF32 => Trunc,
    VRndneF32 => Rndne,
    VFractF32 => Fract,
    VRcpF32 | VRcpIflagF32 => Rcp,
    VRsqF32 => Rsq,
    VSqrtF32 => Sqrt,
    VExpF32 | VExpLegacyF32 => Exp,
    VLogF32 | VLogLegacyF32 => Log,
    VSinF32 => Sin,
    VCosF32 => Cos,
    VLdexpF32 => Ldexp,
    VFrexpExpI32F32 => FrexpExp,
    VFrexpMantF32 => FrexpMant,
    VCubeidF32 => Cubeid,
    VCubescF32 => Cubesc,
    VCubetcF32 => Cubetc,
    VCubemaF32 => Cubema,
    VMullitF32 => Mullit,
    VDivScaleF32 => DivScale,
    VDivFmasF32 => DivFmas,
    VDivFixupF32 => DivFixup,
}

packable! { single: Add, Mul, Fma }

/// The handler of an operation on both registers of pairs.
pub(super) fn packed(op: vgpu_isa::Op, context: &Context, modified: bool) -> Option<Handler> {
    use vgpu_isa::Op::*;
    Some(match op {
        VPkAddF32 => choose_pairs::<Add>(context, modified),
        VPkMulF32 => choose_pairs::<Mul>(context, modified),
        VPkFmaF32 => choose_pairs::<Fma>(context, modified),
        _ => return None,
    })
}

fn choose_pairs<O: SingleOp>(context: &Context, modified: bool) -> Handler {
    if modified {
        choose_body::<PackedSingle<O, true>>(context)
    } else {
        simd_handler::<PackedSingle<O, false>, PackedSingle<O, true>>(context.level)
    }
}
