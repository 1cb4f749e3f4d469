//! Vector instructions with a shape of their own: classification, division steps, mixed precision, packed and dual ones.

use std::marker::PhantomData;

use super::super::lower::{Context, destination, source};
use super::super::{Body, Code, Flow, Handler, Src, Wave};
use super::lane::Lane;
use super::maps::Pure;
use super::numbers::*;
use super::{Engine, conjure, slot};
use crate::isa::{Inst, Modifiers, Op, Operand, scalar};

/// Reads source `index`.
///
/// # Safety
/// As for handlers.
#[inline(always)]
unsafe fn source_of<T: Lane, const W: usize>(wave: &Wave, code: &Code, index: usize) -> [T; W] {
    // SAFETY: the caller's promise.
    unsafe { T::read::<W>(wave, code.src[index], code.mods.op_sel >> index & 1 != 0) }
}

pub(super) fn handler(inst: &Inst, e: Engine) -> Option<Handler> {
    Some(match inst.op {
        Op::VCmpClassF32 | Op::VCmpxClassF32 => e.handler::<Class<f32>>(),
        Op::VCmpClassF64 | Op::VCmpxClassF64 => e.handler::<Class<f64>>(),
        Op::VCmpClassF16 | Op::VCmpxClassF16 => e.handler::<Class<Half>>(),
        Op::VMadU64U32 => e.handler::<MadWide<false>>(),
        Op::VMadI64I32 => e.handler::<MadWide<true>>(),
        Op::VDivScaleF32 => e.handler::<DivScale<f32>>(),
        Op::VDivScaleF64 => e.handler::<DivScale<f64>>(),
        Op::VDivFmasF32 => e.handler::<DivFmas<f32>>(),
        Op::VDivFmasF64 => e.handler::<DivFmas<f64>>(),
        _ => return None,
    })
}

/// A 64-bit multiply-add with carry-out.
struct MadWide<const SIGNED: bool>;

impl<const SIGNED: bool> Body for MadWide<SIGNED> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (u32::read::<W>(wave, code.src[0], false), u32::read::<W>(wave, code.src[1], false));
            let c = u64::read::<W>(wave, code.src[2], false);
            let mut value = [0; W];
            let mut carry = 0;
            for l in 0..W {
                let (sum, out) = if SIGNED {
                    let product = i64::from(a[l] as i32) * i64::from(b[l] as i32);
                    let (sum, out) = product.overflowing_add(c[l] as i64);
                    (sum as u64, out)
                } else {
                    (u64::from(a[l]) * u64::from(b[l])).overflowing_add(c[l])
                };
                value[l] = sum;
                carry |= u64::from(out) << l;
            }
            let mask = wave.exec::<W>();
            u64::write::<W>(wave, code.dst, &value, mask, code);
            wave.set_mask::<W>(code.sdst, carry & mask);
        }
        Flow::Next
    }
}

/// The class of a number, as a bit of `v_cmp_class`'s mask: signalling NaN, quiet NaN, then from -inf to +inf.
trait Classify: Lane {
    fn class(self) -> u32;
}

macro_rules! classify {
    ($type:ty, $get:expr, $quiet:expr) => {
        impl Classify for $type {
            #[inline(always)]
            fn class(self) -> u32 {
                use std::num::FpCategory::*;
                let value = $get(self);
                let negative = value.is_sign_negative();
                match value.classify() {
                    Nan => 1 << u32::from($quiet(self)),
                    Infinite => {
                        if negative {
                            1 << 2
                        } else {
                            1 << 9
                        }
                    }
                    Normal => {
                        if negative {
                            1 << 3
                        } else {
                            1 << 8
                        }
                    }
                    Subnormal => {
                        if negative {
                            1 << 4
                        } else {
                            1 << 7
                        }
                    }
                    Zero => {
                        if negative {
                            1 << 5
                        } else {
                            1 << 6
                        }
                    }
                }
            }
        }
    };
}
classify!(f32, |x| x, |x: f32| x.to_bits() & 0x0040_0000 != 0);
classify!(f64, |x| x, |x: f64| x.to_bits() & 0x0008_0000_0000_0000 != 0);
impl Classify for Half {
    #[inline(always)]
    fn class(self) -> u32 {
        let class = self.0.class();
        let subnormal = self.0 != 0.0 && self.0.abs() < 6.103_515_6e-5;
        match class {
            8 if subnormal => 1 << 4,
            256 if subnormal => 1 << 7,
            class => class,
        }
    }
}

struct Class<T>(PhantomData<T>);

impl<T: Classify> Body for Class<T> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        let (value, classes) =
            unsafe { (source_of::<T, W>(wave, code, 0), u32::read::<W>(wave, code.src[1], false)) };
        let mut mask = 0;
        for l in 0..W {
            mask |= u64::from(value[l].class() & classes[l] != 0) << l;
        }
        let mask = mask & wave.exec::<W>();
        wave.set_mask::<W>(code.dst as u8, mask);
        if code.sdst != scalar::NULL {
            wave.set_mask::<W>(code.sdst, mask);
        }
        Flow::Next
    }
}

/// The types that divisions are made of steps for.
trait Divided: Lane {
    const ZERO: Self;
    fn scale(s0: Self, s1: Self, s2: Self) -> (Self, bool);
    fn fmas(a: Self, b: Self, c: Self, scaled: bool) -> Self;
}

impl Divided for f32 {
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn scale(s0: f32, s1: f32, s2: f32) -> (f32, bool) {
        div_scale32(s0, s1, s2)
    }

    #[inline(always)]
    fn fmas(a: f32, b: f32, c: f32, scaled: bool) -> f32 {
        div_fmas32(a, b, c, scaled)
    }
}

impl Divided for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn scale(s0: f64, s1: f64, s2: f64) -> (f64, bool) {
        div_scale64(s0, s1, s2)
    }

    #[inline(always)]
    fn fmas(a: f64, b: f64, c: f64, scaled: bool) -> f64 {
        div_fmas64(a, b, c, scaled)
    }
}

struct DivScale<T>(PhantomData<T>);

impl<T: Divided> Body for DivScale<T> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let s0 = source_of::<T, W>(wave, code, 0);
            let s1 = source_of::<T, W>(wave, code, 1);
            let s2 = source_of::<T, W>(wave, code, 2);
            let mut value = [T::ZERO; W];
            let mut flags = 0;
            for l in 0..W {
                let (scaled, flag) = T::scale(s0[l], s1[l], s2[l]);
                value[l] = scaled;
                flags |= u64::from(flag) << l;
            }
            let mask = wave.exec::<W>();
            T::write::<W>(wave, code.dst, &value, mask, code);
            wave.set_mask::<W>(code.sdst, flags & mask);
        }
        Flow::Next
    }
}

struct DivFmas<T>(PhantomData<T>);

impl<T: Divided> Body for DivFmas<T> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let a = source_of::<T, W>(wave, code, 0);
            let b = source_of::<T, W>(wave, code, 1);
            let c = source_of::<T, W>(wave, code, 2);
            let flags = wave.mask::<W>(scalar::VCC);
            let mut value = [T::ZERO; W];
            for l in 0..W {
                value[l] = T::fmas(a[l], b[l], c[l], flags >> l & 1 != 0);
            }
            let mask = wave.exec::<W>();
            T::write::<W>(wave, code.dst, &value, mask, code);
        }
        Flow::Next
    }
}

/// What packed instructions do to their elements: integers have no modifiers here.
trait Packed: Lane {
    #[inline(always)]
    fn negated(self) -> Self {
        self
    }

    /// To 0..=1, NaN to 0.
    #[inline(always)]
    fn clamped(self, _: bool) -> Self {
        self
    }
}

impl Packed for u16 {}
impl Packed for i16 {}

impl Packed for f32 {
    #[inline(always)]
    fn negated(self) -> f32 {
        -self
    }

    #[inline(always)]
    fn clamped(self, clamp: bool) -> f32 {
        let inside = if self > 0.0 { if self < 1.0 { self } else { 1.0 } } else { 0.0 };
        if clamp { inside } else { self }
    }
}

impl Packed for Half {
    #[inline(always)]
    fn negated(self) -> Half {
        Half(-self.0)
    }

    #[inline(always)]
    fn clamped(self, clamp: bool) -> Half {
        Half(self.0.clamped(clamp))
    }
}

/// A packed instruction's handler.
pub(super) fn packed(inst: &Inst, e: Engine) -> Option<Handler> {
    use Op::*;
    Some(match inst.op {
        VFmaMixF32 => e.handler::<Mix<0>>(),
        VFmaMixloF16 => e.handler::<Mix<1>>(),
        VFmaMixhiF16 => e.handler::<Mix<2>>(),
        VPkAddF16 => pk2(e, |a: Half, b: Half| Half(a.0 + b.0)),
        VPkMulF16 => pk2(e, |a: Half, b: Half| Half(a.0 * b.0)),
        VPkMinF16 => pk2(e, |a: Half, b: Half| Half(min32(a.0, b.0))),
        VPkMaxF16 => pk2(e, |a: Half, b: Half| Half(max32(a.0, b.0))),
        VPkFmaF16 => pk3(e, half_fma),
        VPkAddU16 | VPkAddI16 => pk2(e, |a: u16, b: u16| a.wrapping_add(b)),
        VPkSubU16 | VPkSubI16 => pk2(e, |a: u16, b: u16| a.wrapping_sub(b)),
        VPkMulLoU16 => pk2(e, |a: u16, b: u16| a.wrapping_mul(b)),
        VPkMinU16 => pk2(e, |a: u16, b: u16| a.min(b)),
        VPkMaxU16 => pk2(e, |a: u16, b: u16| a.max(b)),
        VPkMinI16 => pk2(e, |a: i16, b: i16| a.min(b)),
        VPkMaxI16 => pk2(e, |a: i16, b: i16| a.max(b)),
        VPkLshlrevB16 => pk2(e, |a: u16, b: u16| b << (a & 15)),
        VPkLshrrevB16 => pk2(e, |a: u16, b: u16| b >> (a & 15)),
        VPkAshrrevI16 => pk2(e, |a: u16, b: i16| b >> (a & 15)),
        VPkMadU16 => pk3(e, |a: u16, b: u16, c: u16| a.wrapping_mul(b).wrapping_add(c)),
        VPkMadI16 => pk3(e, |a: i16, b: i16, c: i16| a.wrapping_mul(b).wrapping_add(c)),
        VPkAddF32 => pairs(e, |a, b, _| a + b),
        VPkMulF32 => pairs(e, |a, b, _| a * b),
        VPkFmaF32 => pairs(e, |a: f32, b, c| a.mul_add(b, c)),
        VPkMovB32 => e.handler::<PkMov>(),
        VAccvgprReadB32 | VAccvgprWriteB32 => super::maps::map1(e, |a: u32| a),
        _ => return None,
    })
}

/// `v_fma_mix`: each source is f32, or the low or high half of its register as f16.
struct Mix<const RESULT: u8>;

impl<const RESULT: u8> Body for Mix<RESULT> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b, c] = std::array::from_fn(|i| {
                let raw = u32::read::<W>(wave, code.src[i], false);
                let mut value = [0.0f32; W];
                let is_half = code.mods.op_sel_hi >> i & 1 != 0;
                let shift = if code.mods.op_sel >> i & 1 != 0 { 16 } else { 0 };
                // in this encoding, neg_hi is the absolute value
                let (abs, neg) = (code.mods.neg_hi >> i & 1 != 0, code.mods.neg >> i & 1 != 0);
                for l in 0..W {
                    let half = half_to_f32((raw[l] >> shift) as u16);
                    let x = if is_half { half } else { f32::from_bits(raw[l]) };
                    let x = if abs { x.abs() } else { x };
                    value[l] = if neg { -x } else { x };
                }
                value
            });
            let mask = wave.exec::<W>();
            if RESULT == 0 {
                let mut value = [0.0; W];
                for l in 0..W {
                    value[l] = a[l].mul_add(b[l], c[l]).clamped(code.mods.clamp);
                }
                f32::write::<W>(wave, code.dst, &value, mask, code);
            } else {
                let mut value = [0; W];
                for l in 0..W {
                    let exact = f64::from(a[l]).mul_add(f64::from(b[l]), f64::from(c[l]));
                    value[l] = f32_to_half(round_to_odd(exact).clamped(code.mods.clamp));
                }
                let half = Code {
                    mods: Modifiers { op_sel: if RESULT == 2 { 8 } else { 0 }, ..code.mods },
                    imm: code.imm | super::lane::KEEP,
                    ..*code
                };
                u16::write::<W>(wave, code.dst, &value, mask, &half);
            }
        }
        Flow::Next
    }
}

/// Reads the half of source `index` that feeds the low or high result.
///
/// # Safety
/// As for handlers.
#[inline(always)]
unsafe fn half_of<T: Packed, const W: usize>(wave: &Wave, code: &Code, index: usize, top: bool) -> [T; W] {
    let mods = &code.mods;
    let (select, neg) = if top { (mods.op_sel_hi, mods.neg_hi) } else { (mods.op_sel, mods.neg) };
    // inline constants have their value in the low half
    // SAFETY: the caller's promise.
    let mut value = unsafe { T::read::<W>(wave, code.src[index], select >> index & 1 != 0) };
    if neg >> index & 1 != 0 {
        for l in 0..W {
            value[l] = value[l].negated();
        }
    }
    value
}

macro_rules! pk {
    ($name:ident, $make:ident, $($index:literal $arg:ident: $type:ident),*) => {
        struct $name<$($type,)* R, F>(PhantomData<($($type,)* R, F)>);

        impl<$($type: Packed,)* R: Packed, F: Fn($($type),*) -> R + Pure> Body for $name<$($type,)* R, F> {
            #[inline(always)]
            unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
                let f = conjure::<F>();
                // SAFETY: the caller's promise.
                unsafe {
                    let mut halves = [[R::default(); W]; 2];
                    for top in [false, true] {
                        $(let $arg = half_of::<$type, W>(wave, code, $index, top);)*
                        for l in 0..W {
                            halves[usize::from(top)][l] = f($($arg[l]),*).clamped(code.mods.clamp);
                        }
                    }
                    let mask = wave.exec::<W>();
                    for top in [false, true] {
                        let op_sel = if top { 8 } else { 0 };
                        let half = Code { mods: Modifiers { op_sel, ..code.mods }, imm: super::lane::KEEP, ..*code };
                        R::write::<W>(wave, code.dst, &halves[usize::from(top)], mask, &half);
                    }
                }
                Flow::Next
            }
        }

        fn $make<$($type: Packed + 'static,)* R: Packed + 'static, F: Fn($($type),*) -> R + Pure>(e: Engine, _: F) -> Handler {
            e.handler::<$name<$($type,)* R, F>>()
        }
    };
}
pk!(Pk2, pk2, 0 a: A, 1 b: B);
pk!(Pk3, pk3, 0 a: A, 1 b: B, 2 c: C);

/// Two f32 in a register pair; each half of a source may feed either result.
struct Pairs<F>(PhantomData<F>);

/// The low or high register of a 64-bit source.
fn register_of(src: Src, high: bool, lanes: u32) -> Src {
    match src {
        Src::Vector(first) if high => Src::Vector(first + lanes),
        Src::Scalar(slot) if high => Src::Scalar(slot + 1),
        Src::Temp(row) if high => Src::Temp(row + 1),
        src => src,
    }
}

impl<F: Fn(f32, f32, f32) -> f32 + Pure> Body for Pairs<F> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let f = conjure::<F>();
        let mut results = [[0.0f32; W]; 2];
        // SAFETY: the caller's promise.
        unsafe {
            for top in [false, true] {
                let mods = &code.mods;
                let (select, neg) = if top { (mods.op_sel_hi, mods.neg_hi) } else { (mods.op_sel, mods.neg) };
                let [a, b, c] = std::array::from_fn(|i| {
                    let src = register_of(code.src[i], select >> i & 1 != 0, W as u32);
                    let mut value = f32::read::<W>(wave, src, false);
                    for l in 0..W {
                        value[l] = if neg >> i & 1 != 0 { -value[l] } else { value[l] };
                    }
                    value
                });
                for l in 0..W {
                    results[usize::from(top)][l] = f(a[l], b[l], c[l]).clamped(mods.clamp);
                }
            }
            let mask = wave.exec::<W>();
            f32::write::<W>(wave, code.dst, &results[0], mask, code);
            f32::write::<W>(wave, code.dst + W as u32, &results[1], mask, code);
        }
        Flow::Next
    }
}

fn pairs<F: Fn(f32, f32, f32) -> f32 + Pure>(e: Engine, _: F) -> Handler {
    e.handler::<Pairs<F>>()
}

struct PkMov;

impl Body for PkMov {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let select = |i: usize| register_of(code.src[i], code.mods.op_sel >> i & 1 != 0, W as u32);
            let (low, high) =
                (u32::read::<W>(wave, select(0), false), u32::read::<W>(wave, select(1), false));
            let mask = wave.exec::<W>();
            u32::write::<W>(wave, code.dst, &low, mask, code);
            u32::write::<W>(wave, code.dst + W as u32, &high, mask, code);
        }
        Flow::Next
    }
}

/// Copies a source of the first instruction of a pair's second half to a row, so that both read before either writes.
struct Keep;

impl Body for Keep {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        let value = unsafe { u32::read::<W>(wave, code.src[0], false) };
        wave.temp[code.dst as usize % super::super::TEMPS][..W].copy_from_slice(&value);
        Flow::Next
    }
}

/// Lowers a VOPD pair: where the second half reads what the first writes, it reads a copy from before.
pub(super) fn pair(
    inst: &Inst,
    number: u32,
    context: &Context,
    e: Engine,
    codes: &mut Vec<Code>,
) -> Option<()> {
    let (op, dst, src) = inst.dual?;
    let second = Inst {
        op,
        dst,
        sdst: Operand::None,
        src: [src[0], src[1], src[2], Operand::None],
        dual: None,
        ..*inst
    };
    let first = Inst { dual: None, ..*inst };
    let lower = |inst: &Inst, codes: &mut Vec<Code>| {
        let signature = inst.op.signature();
        let mut code = Code {
            run: super::super::lower::operands(inst, number, context, codes)?.run,
            src: [Src::Const(0); 4],
            dst: destination(inst.dst, context)?,
            inst: number,
            imm: 0,
            mods: inst.mods,
            sdst: slot(inst.sdst),
        };
        for i in 0..4 {
            code.src[i] = source(inst.src[i], signature.src[i], i, context, codes, number)?;
        }
        code.run = super::plain(&Inst { format: crate::isa::Format::Vop2, ..*inst }, e)?;
        Some(code)
    };
    let one = lower(&first, codes)?;
    let mut two = lower(&second, codes)?;
    for i in 0..two.src.len() {
        if two.src[i] == Src::Vector(one.dst) {
            let row = 2 * i as u8;
            let src = [two.src[i], Src::Const(0), Src::Const(0), Src::Const(0)];
            codes.push(Code { run: e.handler::<Keep>(), dst: u32::from(row), src, ..two });
            two.src[i] = Src::Temp(row);
        }
    }
    codes.push(one);
    codes.push(two);
    Some(())
}
