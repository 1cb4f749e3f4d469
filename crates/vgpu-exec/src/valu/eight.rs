//! 8-bit floats: conversions and dot products. gfx942 uses the formats with one zero and one NaN (FNUZ),
//! gfx950 and gfx12 those of the Open Compute Project.

use super::lanewise::{Cx, Op, ops};
use super::operand::{B, W16};
use super::result::{Ret, Target};
use super::select::choose;
use crate::Handler;
use crate::float::convert::{Eight, f32_to_eight};
use crate::float::dot::{Factors, Rounded, Rules};
use crate::lower::Context;
use crate::matrix::{Format, widen};
use crate::simd::{F, LANES, Simd, U};

fn format(cx: &Cx, wide: bool) -> Format {
    match (cx.is_cdna(), wide) {
        (true, false) => Format::Fp8Fnuz,
        (true, true) => Format::Bf8Fnuz,
        (false, false) => Format::Fp8,
        (false, true) => Format::Bf8,
    }
}

fn eight(cx: &Cx, wide: bool) -> Eight {
    match (cx.is_cdna(), wide) {
        (true, false) => Eight::Fp8Fnuz,
        (true, true) => Eight::Bf8Fnuz,
        (false, false) => Eight::Fp8,
        (false, true) => Eight::Bf8,
    }
}

/// The byte of `a` selected by `op_sel`, as f32. The two bits are in reverse order.
#[inline(always)]
fn unpack<S: Simd>(cx: &Cx, a: U<S>, format: Format) -> F<S> {
    let byte = u32::from((cx.op_sel & 1) << 1 | cx.op_sel >> 1 & 1);
    widen(format, a >> (8 * byte) & 0xff).as_f32()
}

/// Both bytes of the half of `a` selected by `op_sel`.
#[inline(always)]
fn unpack_pair<S: Simd>(cx: &Cx, a: U<S>, format: Format) -> [F<S>; 2] {
    let half = a >> (16 * u32::from(cx.op_sel & 1));
    [widen(format, half & 0xff).as_f32(), widen(format, half >> 8 & 0xff).as_f32()]
}

#[inline(always)]
fn pack<S: Simd>(cx: &Cx, a: F<S>, b: F<S>, format: Eight) -> U<S> {
    let saturate = cx.saturates_halves();
    a.bits().map2(b.bits(), move |a, b| {
        let byte = |bits| u32::from(f32_to_eight(format, bits, saturate, None));
        byte(a) | byte(b) << 8
    })
}

/// A number rounded stochastically, with the random bits in `noise`.
#[inline(always)]
fn pack_noisy<S: Simd>(cx: &Cx, a: F<S>, noise: U<S>, format: Eight) -> Byte<S> {
    let saturate = cx.saturates_halves();
    let value =
        a.bits().map2(noise, move |a, noise| u32::from(f32_to_eight(format, a, saturate, Some(noise))));
    Byte(value, U::splat(u32::from(cx.op_sel >> 2)))
}

/// A byte and its position in the destination, whose other bytes are kept.
#[derive(Clone, Copy)]
pub(super) struct Byte<S: Simd>(pub U<S>, pub U<S>);

impl<S: Simd> Ret<S> for Byte<S> {
    #[inline(always)]
    unsafe fn store(self, target: &Target, _: &Cx) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            let old = U::<S>(S::load(target.low));
            target.write(0, super::convert::insert_byte(self.0, self.1, old));
        }
        0
    }

    #[inline(always)]
    fn from_raw(raw: super::settle::Raw) -> Self {
        Byte(<U<S> as Ret<S>>::from_raw(raw), U::splat(0))
    }
}

/// `c` plus the products of the bytes of `a` and `b`; only gfx12 has this.
#[inline(always)]
fn dot<S: Simd>(a: U<S>, b: U<S>, c: B<S>, factors: [Factors; 2]) -> B<S> {
    let rules = Rules { factors, rounded: Rounded::F32, fourth: true };
    let (a, b) = (bytes(a, factors[0]), bytes(b, factors[1]));
    B(U::from_array(rules.sum::<4, 4, LANES>(a, b, c.0.array())))
}

/// The bytes of each lane as f32.
#[inline(always)]
fn bytes<S: Simd>(word: U<S>, factors: Factors) -> [[u32; LANES]; 4] {
    let format = if factors == Factors::Bf8 { Format::Bf8 } else { Format::Fp8 };
    crate::rows::from_fn(|i| widen(format, word >> (8 * i as u32) & 0xff).array())
}

ops! {
    F32Fp8 [LONG] (cx; a: U) -> F<S> { unpack(cx, a, format(cx, false)) }
    OcpF32Fp8 [LONG] (cx; a: U) -> F<S> { unpack(cx, a, Format::Fp8) }
    F32Bf8 [LONG] (cx; a: U) -> F<S> { unpack(cx, a, format(cx, true)) }
    OcpF32Bf8 [LONG] (cx; a: U) -> F<S> { unpack(cx, a, Format::Bf8) }
    PkF32Fp8 [LONG] (cx; a: U) -> [F<S>; 2] { unpack_pair(cx, a, format(cx, false)) }
    OcpPkF32Fp8 [LONG] (cx; a: U) -> [F<S>; 2] { unpack_pair(cx, a, Format::Fp8) }
    PkF32Bf8 [LONG] (cx; a: U) -> [F<S>; 2] { unpack_pair(cx, a, format(cx, true)) }
    OcpPkF32Bf8 [LONG] (cx; a: U) -> [F<S>; 2] { unpack_pair(cx, a, Format::Bf8) }
    PkFp8F32 [LONG, MODS] (cx; a: F, b: F) -> W16<S> { W16(pack(cx, a, b, eight(cx, false))) }
    OcpPkFp8F32 [LONG, MODS] (cx; a: F, b: F) -> W16<S> { W16(pack(cx, a, b, Eight::Fp8)) }
    PkBf8F32 [LONG, MODS] (cx; a: F, b: F) -> W16<S> { W16(pack(cx, a, b, eight(cx, true))) }
    OcpPkBf8F32 [LONG, MODS] (cx; a: F, b: F) -> W16<S> { W16(pack(cx, a, b, Eight::Bf8)) }
    SrFp8F32 [LONG, MODS] (cx; a: F, b: U) -> Byte<S> { pack_noisy(cx, a, b, eight(cx, false)) }
    OcpSrFp8F32 [LONG, MODS] (cx; a: F, b: U) -> Byte<S> { pack_noisy(cx, a, b, Eight::Fp8) }
    SrBf8F32 [LONG, MODS] (cx; a: F, b: U) -> Byte<S> { pack_noisy(cx, a, b, eight(cx, true)) }
    OcpSrBf8F32 [LONG, MODS] (cx; a: F, b: U) -> Byte<S> { pack_noisy(cx, a, b, Eight::Bf8) }
    DotFp8Bf8 [LONG, MODS] (_cx; a: U, b: U, c: B) -> B<S> { dot(a, b, c, [Factors::Fp8, Factors::Bf8]) }
    DotBf8Fp8 [LONG, MODS] (_cx; a: U, b: U, c: B) -> B<S> { dot(a, b, c, [Factors::Bf8, Factors::Fp8]) }
    DotFp8Fp8 [LONG, MODS] (_cx; a: U, b: U, c: B) -> B<S> { dot(a, b, c, [Factors::Fp8; 2]) }
    DotBf8Bf8 [LONG, MODS] (_cx; a: U, b: U, c: B) -> B<S> { dot(a, b, c, [Factors::Bf8; 2]) }
}

/// The handler of an operation on 8-bit floats.
pub(super) fn handler(op: vgpu_isa::Op, context: &Context) -> Option<Handler> {
    use vgpu_isa::Op::*;
    Some(match op {
        VCvtF32Fp8 => choose::<F32Fp8>(context, false),
        VCvtF32Fp8Gfx950 => choose::<OcpF32Fp8>(context, false),
        VCvtF32Bf8 => choose::<F32Bf8>(context, false),
        VCvtF32Bf8Gfx950 => choose::<OcpF32Bf8>(context, false),
        VCvtPkF32Fp8 => choose::<PkF32Fp8>(context, false),
        VCvtPkF32Fp8Gfx950 => choose::<OcpPkF32Fp8>(context, false),
        VCvtPkF32Bf8 => choose::<PkF32Bf8>(context, false),
        VCvtPkF32Bf8Gfx950 => choose::<OcpPkF32Bf8>(context, false),
        VCvtPkFp8F32 => choose::<PkFp8F32>(context, true),
        VCvtPkFp8F32Gfx950 => choose::<OcpPkFp8F32>(context, true),
        VCvtPkBf8F32 => choose::<PkBf8F32>(context, true),
        VCvtPkBf8F32Gfx950 => choose::<OcpPkBf8F32>(context, true),
        VCvtSrFp8F32 => choose::<SrFp8F32>(context, true),
        VCvtSrFp8F32Gfx950 => choose::<OcpSrFp8F32>(context, true),
        VCvtSrBf8F32 => choose::<SrBf8F32>(context, true),
        VCvtSrBf8F32Gfx950 => choose::<OcpSrBf8F32>(context, true),
        VDot4F32Fp8Bf8 => choose::<DotFp8Bf8>(context, true),
        VDot4F32Bf8Fp8 => choose::<DotBf8Fp8>(context, true),
        VDot4F32Fp8Fp8 => choose::<DotFp8Fp8>(context, true),
        VDot4F32Bf8Bf8 => choose::<DotBf8Bf8>(context, true),
        _ => return None,
    })
}
