//! Comparisons and classification, which produce lane masks. Half of the predicates are opposites of the
//! others and share their handlers.

use super::lanewise::{INVERT, MaskTo, Op, ops};
use super::operand::{B, B16, B64, H, I16, W16};
use super::select::choose;
use crate::Handler;
use crate::lower::Context;
use crate::simd::{D, F, G, Mask, Simd, U};

/// The bit of a number's class in the class mask: signalling and quiet NaN, then from -infinity to +infinity.
#[inline(always)]
fn class<S: Simd>(
    negative: Mask<S>,
    nan: Mask<S>,
    quiet: Mask<S>,
    infinite: Mask<S>,
    tiny: Mask<S>,
    zero: Mask<S>,
) -> U<S> {
    let side = negative.select(U::splat(1 << 3), U::splat(1 << 8));
    let side = tiny.select(negative.select(U::splat(1 << 4), U::splat(1 << 7)), side);
    let side = zero.select(negative.select(U::splat(1 << 5), U::splat(1 << 6)), side);
    let side = infinite.select(negative.select(U::splat(1 << 2), U::splat(1 << 9)), side);
    nan.select(quiet.select(U::splat(1 << 1), U::splat(1)), side)
}

/// The class of a number whose fields are in one word.
#[inline(always)]
fn class_of<S: Simd>(bits: U<S>, sign: u32, exponent: u32, quiet: u32) -> U<S> {
    let none = U::splat(0);
    let rest = bits & (sign - 1);
    class(
        !(bits & sign).equal(none),
        U::splat(exponent).less(rest),
        !(bits & quiet).equal(none),
        rest.equal(U::splat(exponent)),
        (bits & exponent).equal(none),
        rest.equal(none),
    )
}

#[inline(always)]
fn any_of<S: Simd>(class: U<S>, wanted: U<S>) -> Mask<S> {
    !(class & wanted).equal(U::splat(0))
}

#[inline(always)]
fn never<S: Simd>() -> Mask<S> {
    Mask::from_bits(0)
}

ops! {
    FalseAny [MODS, MASK = MaskTo::First] (_cx; _a: U) -> Mask<S> { never() }
    LtF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { a.less(b) }
    EqF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { a.equal(b) }
    LeF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { a.less_equal(b) }
    GtF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { b.less(a) }
    LgF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { a.less(b) | b.less(a) }
    GeF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { b.less_equal(a) }
    UF32 [MODS, MASK = MaskTo::First] (_cx; a: F, b: F) -> Mask<S> { a.unordered(b) }
    LtF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { a.0.less(b.0) }
    EqF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { a.0.equal(b.0) }
    LeF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { a.0.less_equal(b.0) }
    GtF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { b.0.less(a.0) }
    LgF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { a.0.less(b.0) | b.0.less(a.0) }
    GeF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { b.0.less_equal(a.0) }
    UF16 [MODS, MASK = MaskTo::First] (_cx; a: H, b: H) -> Mask<S> { a.0.unordered(b.0) }
    LtF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { a.less(b) }
    EqF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { a.equal(b) }
    LeF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { a.less_equal(b) }
    GtF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { b.less(a) }
    LgF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { a.less(b) | b.less(a) }
    GeF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { b.less_equal(a) }
    UF64 [MODS, MASK = MaskTo::First] (_cx; a: G, b: G) -> Mask<S> { a.unordered(b) }
    LtI32 [MASK = MaskTo::First] (_cx; a: U, b: U) -> Mask<S> { a.less_signed(b) }
    LtU32 [MASK = MaskTo::First] (_cx; a: U, b: U) -> Mask<S> { a.less(b) }
    Eq32 [MASK = MaskTo::First] (_cx; a: U, b: U) -> Mask<S> { a.equal(b) }
    GtI32 [MASK = MaskTo::First] (_cx; a: U, b: U) -> Mask<S> { b.less_signed(a) }
    GtU32 [MASK = MaskTo::First] (_cx; a: U, b: U) -> Mask<S> { b.less(a) }
    LtI16 [MODS, MASK = MaskTo::First] (_cx; a: I16, b: I16) -> Mask<S> { a.0.less_signed(b.0) }
    LtU16 [MODS, MASK = MaskTo::First] (_cx; a: W16, b: W16) -> Mask<S> { a.0.less_signed(b.0) }
    Eq16 [MODS, MASK = MaskTo::First] (_cx; a: W16, b: W16) -> Mask<S> { a.0.equal(b.0) }
    GtI16 [MODS, MASK = MaskTo::First] (_cx; a: I16, b: I16) -> Mask<S> { b.0.less_signed(a.0) }
    GtU16 [MODS, MASK = MaskTo::First] (_cx; a: W16, b: W16) -> Mask<S> { b.0.less_signed(a.0) }
    LtI64 [MASK = MaskTo::First] (_cx; a: D, b: D) -> Mask<S> { a.less_signed(b) }
    LtU64 [MASK = MaskTo::First] (_cx; a: D, b: D) -> Mask<S> { a.less(b) }
    Eq64 [MASK = MaskTo::First] (_cx; a: D, b: D) -> Mask<S> { a.equal(b) }
    GtI64 [MASK = MaskTo::First] (_cx; a: D, b: D) -> Mask<S> { b.less_signed(a) }
    GtU64 [MASK = MaskTo::First] (_cx; a: D, b: D) -> Mask<S> { b.less(a) }
    ClassF32 [MODS, MASK = MaskTo::First] (_cx; a: B, b: U) -> Mask<S> {
        any_of(class_of(a.0, 1 << 31, 0x7f80_0000, 0x40_0000), b)
    }
    ClassF16 [MODS, MASK = MaskTo::First] (_cx; a: B16, b: W16) -> Mask<S> {
        any_of(class_of(a.0, 1 << 15, 0x7c00, 0x200), b.0)
    }
    ClassF64 [LONG, MODS, MASK = MaskTo::First] (_cx; a: B64, b: U) -> Mask<S> {{
        let (low, high) = a.0.split();
        let none = U::splat(0);
        let rest = high & 0x7fff_ffff;
        let top = U::splat(0x7ff0_0000);
        let low_zero = low.equal(none);
        let class = class(
            high.less_signed(none),
            top.less(rest) | (rest.equal(top) & !low_zero),
            !(high & 0x8_0000).equal(none),
            rest.equal(top) & low_zero,
            (high & 0x7ff0_0000).equal(none),
            rest.equal(none) & low_zero,
        );
        any_of(class, b)
    }}
}

/// The handler of a comparison, and bits 0..=7 of `Code::imm`.
pub(super) fn handler(op: vgpu_isa::Op, context: &Context, modified: bool) -> Option<(Handler, u8)> {
    use vgpu_isa::Op::*;
    macro_rules! rows {
        ($($type:ty: $($is:ident)|+; $($not:ident)|*;)*) => {
            match op {
                $($($is)|+ => Some((choose::<$type>(context, modified), 0)),)*
                $($(op if matches!(op, $not) => Some((choose::<$type>(context, modified), INVERT)),)*)*
                _ => None,
            }
        };
    }
    rows! {
        FalseAny:
            VCmpFF16 | VCmpxFF16 | VCmpFF32 | VCmpxFF32 | VCmpFF64 | VCmpxFF64 | VCmpFI16 | VCmpxFI16 | VCmpFU16 | VCmpxFU16
            | VCmpFI32 | VCmpxFI32 | VCmpFU32 | VCmpxFU32 | VCmpFI64 | VCmpxFI64 | VCmpFU64 | VCmpxFU64;
            VCmpTF16 | VCmpxTF16 | VCmpTF32 | VCmpxTF32 | VCmpTF64 | VCmpxTF64 | VCmpTI16 | VCmpxTI16 | VCmpTU16 | VCmpxTU16
            | VCmpTI32 | VCmpxTI32 | VCmpTU32 | VCmpxTU32 | VCmpTI64 | VCmpxTI64 | VCmpTU64 | VCmpxTU64;
        LtF32: VCmpLtF32 | VCmpxLtF32; VCmpNltF32 | VCmpxNltF32;
        EqF32: VCmpEqF32 | VCmpxEqF32; VCmpNeqF32 | VCmpxNeqF32;
        LeF32: VCmpLeF32 | VCmpxLeF32; VCmpNleF32 | VCmpxNleF32;
        GtF32: VCmpGtF32 | VCmpxGtF32; VCmpNgtF32 | VCmpxNgtF32;
        LgF32: VCmpLgF32 | VCmpxLgF32; VCmpNlgF32 | VCmpxNlgF32;
        GeF32: VCmpGeF32 | VCmpxGeF32; VCmpNgeF32 | VCmpxNgeF32;
        UF32: VCmpUF32 | VCmpxUF32; VCmpOF32 | VCmpxOF32;
        LtF16: VCmpLtF16 | VCmpxLtF16; VCmpNltF16 | VCmpxNltF16;
        EqF16: VCmpEqF16 | VCmpxEqF16; VCmpNeqF16 | VCmpxNeqF16;
        LeF16: VCmpLeF16 | VCmpxLeF16; VCmpNleF16 | VCmpxNleF16;
        GtF16: VCmpGtF16 | VCmpxGtF16; VCmpNgtF16 | VCmpxNgtF16;
        LgF16: VCmpLgF16 | VCmpxLgF16; VCmpNlgF16 | VCmpxNlgF16;
        GeF16: VCmpGeF16 | VCmpxGeF16; VCmpNgeF16 | VCmpxNgeF16;
        UF16: VCmpUF16 | VCmpxUF16; VCmpOF16 | VCmpxOF16;
        LtF64: VCmpLtF64 | VCmpxLtF64; VCmpNltF64 | VCmpxNltF64;
        EqF64: VCmpEqF64 | VCmpxEqF64; VCmpNeqF64 | VCmpxNeqF64;
        LeF64: VCmpLeF64 | VCmpxLeF64; VCmpNleF64 | VCmpxNleF64;
        GtF64: VCmpGtF64 | VCmpxGtF64; VCmpNgtF64 | VCmpxNgtF64;
        LgF64: VCmpLgF64 | VCmpxLgF64; VCmpNlgF64 | VCmpxNlgF64;
        GeF64: VCmpGeF64 | VCmpxGeF64; VCmpNgeF64 | VCmpxNgeF64;
        UF64: VCmpUF64 | VCmpxUF64; VCmpOF64 | VCmpxOF64;
        LtI32: VCmpLtI32 | VCmpxLtI32; VCmpGeI32 | VCmpxGeI32;
        GtI32: VCmpGtI32 | VCmpxGtI32; VCmpLeI32 | VCmpxLeI32;
        LtU32: VCmpLtU32 | VCmpxLtU32; VCmpGeU32 | VCmpxGeU32;
        GtU32: VCmpGtU32 | VCmpxGtU32; VCmpLeU32 | VCmpxLeU32;
        Eq32: VCmpEqI32 | VCmpxEqI32 | VCmpEqU32 | VCmpxEqU32; VCmpNeI32 | VCmpxNeI32 | VCmpNeU32 | VCmpxNeU32;
        LtI16: VCmpLtI16 | VCmpxLtI16; VCmpGeI16 | VCmpxGeI16;
        GtI16: VCmpGtI16 | VCmpxGtI16; VCmpLeI16 | VCmpxLeI16;
        LtU16: VCmpLtU16 | VCmpxLtU16; VCmpGeU16 | VCmpxGeU16;
        GtU16: VCmpGtU16 | VCmpxGtU16; VCmpLeU16 | VCmpxLeU16;
        Eq16: VCmpEqI16 | VCmpxEqI16 | VCmpEqU16 | VCmpxEqU16; VCmpNeI16 | VCmpxNeI16 | VCmpNeU16 | VCmpxNeU16;
        LtI64: VCmpLtI64 | VCmpxLtI64; VCmpGeI64 | VCmpxGeI64;
        GtI64: VCmpGtI64 | VCmpxGtI64; VCmpLeI64 | VCmpxLeI64;
        LtU64: VCmpLtU64 | VCmpxLtU64; VCmpGeU64 | VCmpxGeU64;
        GtU64: VCmpGtU64 | VCmpxGtU64; VCmpLeU64 | VCmpxLeU64;
        Eq64: VCmpEqI64 | VCmpxEqI64 | VCmpEqU64 | VCmpxEqU64; VCmpNeI64 | VCmpxNeI64 | VCmpNeU64 | VCmpxNeU64;
        ClassF32: VCmpClassF32 | VCmpxClassF32; ;
        ClassF16: VCmpClassF16 | VCmpxClassF16; ;
        ClassF64: VCmpClassF64 | VCmpxClassF64; ;
    }
}
