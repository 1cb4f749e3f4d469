//! Operations on f32.

use super::convert::Int;
use super::engine::{MaskTo, Op, PackedSingle, SingleOp, ops, packable};
use super::function;
use super::minmax::{max, maximum, median, min, minimum};
use super::select::{choose_body, table};
use crate::exec::Handler;
use crate::exec::float::soft::{Env, F32};
use crate::exec::level::simd_handler;
use crate::exec::lower::Context;
use crate::exec::simd::{F, LANES, Mask, Simd, U};

/// Fused multiply-add where zero times anything is zero.
#[inline(always)]
fn fma_zero<S: Simd>(a: F<S>, b: F<S>, c: F<S>) -> F<S> {
    any_zero(a, b).select_f32(c, a.fma(b, c))
}

/// Product where zero times anything is zero.
#[inline(always)]
fn mul_zero<S: Simd>(a: F<S>, b: F<S>) -> F<S> {
    any_zero(a, b).select_f32(F::splat(0.0), a * b)
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

/// The exponent of a number as fraction and power of two: 0 for what has none.
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

/// The fraction of a number, between 1/2 and 1.
pub(super) fn frexp_mantissa(bits: u32) -> u32 {
    let rest = bits & 0x7fff_ffff;
    if rest >= 0x7f80_0000 || rest == 0 {
        return bits | if rest > 0x7f80_0000 { 0x40_0000 } else { 0 };
    }
    let digits = if rest < 0x80_0000 { rest << (rest.leading_zeros() - 8) } else { rest };
    bits & 0x8000_0000 | digits & 0x7f_ffff | 0x3f00_0000
}

/// Which face of a cube a direction meets, and the coordinates there: id, s, t, major axis.
fn cube(x: f32, y: f32, z: f32) -> [f32; 4] {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z < 0.0 { [5.0, -x, -y, 2.0 * z] } else { [4.0, x, -y, 2.0 * z] }
    } else if y.abs() >= x.abs() {
        if y < 0.0 { [3.0, x, -z, 2.0 * y] } else { [2.0, x, z, 2.0 * y] }
    } else if x < 0.0 {
        [1.0, z, -y, 2.0 * x]
    } else {
        [0.0, -z, -y, 2.0 * x]
    }
}

#[inline(always)]
fn cube_part<S: Simd>(a: F<S>, b: F<S>, c: F<S>, part: usize) -> F<S> {
    let f = f32::from_bits;
    a.bits().map3(b.bits(), c.bits(), |a, b, c| cube(f(a), f(b), f(c))[part].to_bits()).as_f32()
}

/// The biased exponent.
#[inline(always)]
fn exponent<S: Simd>(a: F<S>) -> U<S> {
    a.bits() >> 23 & 255
}

/// The operand `a`, scaled where dividing `numerator` by `denominator` would leave the normal numbers, and whether the
/// quotient must be scaled back. The rules are those of the hardware (measured on gfx1100 and gfx1201), which looks at exponents;
/// the vendor's text would have overflows.
#[inline(always)]
fn division_scale<S: Simd>(a: F<S>, denominator: F<S>, numerator: F<S>) -> (F<S>, Mask<S>) {
    let (en, ed) = (exponent(numerator), exponent(denominator));
    let distance = en - ed;
    let is_denominator = a.bits().equal(denominator.bits());
    let (far, near) = (!distance.less_signed(U::splat(96)), distance.less_signed(U::splat(-95i32 as u32)));
    // Each case only where none before it holds.
    let tiny = !far & ed.equal(U::splat(0));
    let zero = F::splat(0.0);
    let huge = !far & !ed.less(U::splat(253));
    let rest = !far & !tiny & !huge;
    let small = rest & !near & en.less(U::splat(25));
    let up = (far & is_denominator) | tiny | (rest & near & !is_denominator) | small;
    let down = huge & (!near | is_denominator);
    let scaled = up.select_f32(a * 18_446_744_073_709_551_616.0, a);
    let scaled = down.select_f32(a * (1.0 / 18_446_744_073_709_551_616.0), scaled);
    let none = denominator.equal(zero) | numerator.equal(zero);
    let scaled = none.select_f32(U::splat(0xffc0_0000).as_f32(), scaled);
    (scaled, far | (!tiny & near))
}

/// The fused sum, scaled back where `v_div_scale` said so: up if the quotient is large, down if it is small.
#[inline(always)]
fn division_sum<S: Simd>(a: F<S>, b: F<S>, c: F<S>, scale: Mask<S>) -> F<S> {
    let sum = a.fma(b, c);
    let flags = scale.bits();
    if flags == 0 {
        return sum;
    }
    let sources = [a.bits().array(), b.bits().array(), c.bits().array()];
    U::from_array(scaled_sums(flags, &sources, sum.bits().array())).as_f32()
}

/// The sums of lanes in `flags`, scaled before they are rounded.
#[cold]
#[inline(never)]
fn scaled_sums(flags: u16, sources: &[[u32; LANES]; 3], sums: [u32; LANES]) -> [u32; LANES] {
    std::array::from_fn(|i| {
        if flags >> i & 1 == 0 {
            return sums[i];
        }
        let [a, b, c] = sources.map(|source| u64::from(source[i]));
        let power = if c >> 23 & 255 > 127 { 64 } else { -64 };
        F32.fma_scaled(a, b, c, power, Env::IEEE) as u32
    })
}

/// The quotient `a` of `numerator` by `denominator` with the special cases put right.
#[inline(always)]
pub(super) fn division_fixup<S: Simd>(a: F<S>, denominator: F<S>, numerator: F<S>, far: u32) -> F<S> {
    let zero = F::splat(0.0);
    let infinity = F::splat(f32::INFINITY);
    let sign = (denominator.bits() ^ numerator.bits()) & 0x8000_0000;
    let (infinite_d, infinite_n) = (denominator.abs().equal(infinity), numerator.abs().equal(infinity));
    let (zero_d, zero_n) = (denominator.equal(zero), numerator.equal(zero));
    let tiny = (exponent(numerator) - exponent(denominator)).less_signed(U::splat(0u32.wrapping_sub(far)));
    // Steps that overflowed leave no number, or infinity.
    let size = a.is_nan().select_f32(infinity, a.abs());
    let size = (infinite_d | zero_n | tiny).select_f32(zero, size);
    let size = (zero_d | infinite_n).select_f32(infinity, size);
    let result = size.bits() | sign;
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
    Add [MODS, NAN] (_cx; a: F, b: F) -> F<S> { a + b }
        => rounded([a, b, _], env, _) { F32.add(a, b, env) }
    Sub [MODS, NAN] (_cx; a: F, b: F) -> F<S> { a - b }
        => rounded([a, b, _], env, _) { F32.add(a, negated(b), env) }
    Subrev [MODS, NAN] (_cx; a: F, b: F) -> F<S> { b - a }
        => rounded([a, b, _], env, _) { F32.add(b, negated(a), env) }
    Mul [MODS, NAN] (_cx; a: F, b: F) -> F<S> { a * b }
        => rounded([a, b, _], env, _) { F32.mul(a, b, env) }
    Fma [MODS, NAN] (_cx; a: F, b: F, c: F) -> F<S> { a.fma(b, c) }
        => rounded([a, b, c], env, _) { F32.fma(a, b, c, env) }
    Mad [MODS, NAN, FLUSH = 3] (_cx; a: F, b: F, c: F) -> F<S> { F::flush(a * b) + c }
        => rounded([a, b, c], env, _) {{
            let env = env.flushing();
            F32.add(F32.mul(a, b, env), c, env)
        }}
    MulZero [MODS, NAN] (_cx; a: F, b: F) -> F<S> { mul_zero(a, b) }
        => rounded([a, b, _], env, _) { if is_zero(a) || is_zero(b) { 0 } else { F32.mul(a, b, env) } }
    FmaZero [MODS, NAN] (_cx; a: F, b: F, c: F) -> F<S> { fma_zero(a, b, c) }
        => rounded([a, b, c], env, _) { if is_zero(a) || is_zero(b) { c } else { F32.fma(a, b, c, env) } }
    MadZero [MODS, NAN, FLUSH = 3] (_cx; a: F, b: F, c: F) -> F<S> { F::flush(mul_zero(a, b)) + c }
        => rounded([a, b, c], env, _) {{
            let env = env.flushing();
            F32.add(if is_zero(a) || is_zero(b) { 0 } else { F32.mul(a, b, env) }, c, env)
        }}
    Min [MODS] (cx; a: F, b: F) -> F<S> { min(cx, a, b) }
    Max [MODS] (cx; a: F, b: F) -> F<S> { max(cx, a, b) }
    Min3 [MODS] (cx; a: F, b: F, c: F) -> F<S> { min(cx, min(cx, a, b), c) }
    Max3 [MODS] (cx; a: F, b: F, c: F) -> F<S> { max(cx, max(cx, a, b), c) }
    Med3 [LONG, MODS] (cx; a: F, b: F, c: F) -> F<S> { median(cx, a, b, c) }
    Maxmin [MODS] (cx; a: F, b: F, c: F) -> F<S> { min(cx, max(cx, a, b), c) }
    Minmax [MODS] (cx; a: F, b: F, c: F) -> F<S> { max(cx, min(cx, a, b), c) }
    Minimum [MODS] (cx; a: F, b: F) -> F<S> { minimum(cx, a, b) }
    Maximum [MODS] (cx; a: F, b: F) -> F<S> { maximum(cx, a, b) }
    Minimum3 [MODS] (cx; a: F, b: F, c: F) -> F<S> { minimum(cx, minimum(cx, a, b), c) }
    Maximum3 [MODS] (cx; a: F, b: F, c: F) -> F<S> { maximum(cx, maximum(cx, a, b), c) }
    MaximumMinimum [MODS] (cx; a: F, b: F, c: F) -> F<S> { minimum(cx, maximum(cx, a, b), c) }
    MinimumMaximum [MODS] (cx; a: F, b: F, c: F) -> F<S> { maximum(cx, minimum(cx, a, b), c) }
    Floor [MODS, NAN] (_cx; a: F) -> F<S> { a.floor() }
    Ceil [MODS, NAN] (_cx; a: F) -> F<S> { a.ceil() }
    Trunc [MODS, NAN] (_cx; a: F) -> F<S> { a.trunc() }
    Rndne [MODS, NAN] (_cx; a: F) -> F<S> { a.rint() }
    Fract [LONG, MODS, NAN] (_cx; a: F) -> F<S> { function::below_one(a - a.floor(), 0.999_999_94) }
    Rcp [MODS, NAN, FLUSH = 3] (_cx; a: F) -> F<S> { F::splat(1.0) / a }
    Rsq [LONG, MODS, NAN, FLUSH = 3] (_cx; a: F) -> F<S> { function::reciprocal_root(a) }
    Sqrt [MODS, NAN, FLUSH = 3] (_cx; a: F) -> F<S> { a.sqrt() }
    Exp [LONG, MODS, NAN, FLUSH = 3] (_cx; a: F) -> F<S> { function::exp2(a) }
    Log [LONG, MODS, NAN, FLUSH = 3] (_cx; a: F) -> F<S> { function::log2(a) }
    Sin [LONG, MODS, NAN] (cx; a: F) -> F<S> { function::sine(cx, a, 0.0) }
    Cos [LONG, MODS, NAN] (cx; a: F) -> F<S> { function::sine(cx, a, 0.25) }
    Ldexp [LONG, MODS, NAN] (_cx; a: F, b: Int) -> F<S> { function::ldexp(a, b.0) }
        => rounded([a, b, _], env, _) { F32.scale(a, b as i32, env) }
    FrexpExp [LONG, MODS] (_cx; a: F) -> U<S> { a.bits().map(frexp_exponent) }
    FrexpMant [LONG, MODS] (_cx; a: F) -> F<S> { a.bits().map(frexp_mantissa).as_f32() }
    Cubeid [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> { cube_part(a, b, c, 0) }
    Cubesc [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> { cube_part(a, b, c, 1) }
    Cubetc [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> { cube_part(a, b, c, 2) }
    Cubema [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> { cube_part(a, b, c, 3) }
    Mullit [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> {
        a.bits().map3(b.bits(), c.bits(), |a, b, c| {
            lighting(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits()
        }).as_f32()
    }
    DivScale [LONG, MODS, MASK = MaskTo::Second] (_cx; a: F, b: F, c: F) -> (F<S>, Mask<S>) { division_scale(a, b, c) }
    DivFmas [LONG, MODS, NAN] (_cx; a: F, b: F, c: F, m: Mask) -> F<S> { division_sum(a, b, c, m) }
    DivFixup [LONG, MODS] (_cx; a: F, b: F, c: F) -> F<S> { division_fixup(a, b, c, 150) }
}

table! {
    VAddF32 => Add,
    VSubF32 => Sub,
    VSubrevF32 => Subrev,
    VMulF32 => Mul,
    VFmaF32 | VFmacF32 | VFmamkF32 | VFmaakF32 => Fma,
    VMadF32 | VMacF32 | VMadmkF32 | VMadakF32 => Mad,
    VMulDx9ZeroF32 => MulZero,
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
pub(super) fn packed(op: crate::isa::Op, context: &Context, modified: bool) -> Option<Handler> {
    use crate::isa::Op::*;
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
