//! Conversion between registers and panels.

use vgpu_isa::Modifiers;

use super::eight;
use super::layout::{NOWHERE, Plan};
use super::table::{Format, Sum};
use crate::simd::{LANES, Simd, U};

/// A tuple of a wave's registers.
#[derive(Clone, Copy)]
pub(super) struct Tuple {
    /// The first lane of the first register.
    pub first: *mut u32,
    pub lanes: usize,
}

impl Tuple {
    /// Sixteen lanes.
    ///
    /// # Safety
    /// The register must belong to the tuple, and the chunk to the wave.
    #[inline(always)]
    pub(super) unsafe fn read<S: Simd>(self, register: usize, chunk: usize) -> U<S> {
        // SAFETY: the caller's promise.
        U(unsafe { S::load(self.first.add(register * self.lanes + chunk * LANES)) })
    }

    /// # Safety
    /// See [`Tuple::read`].
    #[inline(always)]
    pub(super) unsafe fn write<S: Simd>(self, register: usize, chunk: usize, value: U<S>) {
        // SAFETY: the caller's promise.
        unsafe { S::store(self.first.add(register * self.lanes + chunk * LANES), value.0) }
    }
}

/// The modifiers of A or B.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// Sign bits to invert, in the low and in the high halves.
    pub negate: [u32; 2],
    /// Whether integers are signed.
    pub signed: bool,
    /// Whether subnormal numbers are zero.
    pub flush: bool,
    /// For each chunk, the chunk of lanes that is read.
    pub order: [usize; 4],
    /// The register with the exponents of the scales, and the lowest bit of the byte to use. There is one
    /// exponent for each 32 elements of a row of A (a column of B): first those for the first 32 elements of
    /// all rows, then those for the next.
    pub scale: Option<(Tuple, u32)>,
}

impl Reading {
    /// The modifiers of source `i`.
    #[inline(always)]
    pub(super) fn new(mods: &Modifiers, i: usize, flush: bool) -> Reading {
        let sign = |bits: u8| u32::from(bits >> i & 1) << 31;
        let order = if i == 1 { lane_groups(mods.blgp) } else { [0, 1, 2, 3] };
        Reading {
            negate: [sign(mods.neg), sign(mods.neg_hi)],
            signed: mods.neg >> i & 1 != 0,
            flush,
            order,
            scale: None,
        }
    }
}

/// The groups of sixteen lanes from which B is read, selected by `blgp`.
#[inline(always)]
fn lane_groups(blgp: u8) -> [usize; 4] {
    match blgp & 7 {
        0 => [0, 1, 2, 3],
        1 => [0, 1, 0, 1],
        2 => [2, 3, 2, 3],
        3 => [1, 2, 3, 0],
        group => [usize::from(group) - 4; 4],
    }
}

/// Reads A or B into a panel of f32. Integers are converted to f32 too: the sums of their products stay below
/// 2^24.
///
/// # Safety
/// The tuple must have `count` registers, and the panel must have room for the plan's positions.
#[inline(always)]
pub(super) unsafe fn gather<S: Simd>(
    format: Format,
    tuple: Tuple,
    count: u8,
    places: &[u16],
    width: usize,
    how: &Reading,
    panel: *mut f32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let put = |to: *mut f32, part: usize, value: U<S>| S::store(to.add(part * width).cast(), value.0);
        for register in 0..usize::from(count) {
            for chunk in 0..tuple.lanes / LANES {
                let Some(&place) = places.get(register * 4 + chunk) else { continue };
                if place == NOWHERE {
                    continue;
                }
                let to = panel.add(usize::from(place));
                // The sixteen lanes with the scales of these elements.
                let scales =
                    (usize::from(place) / width / SCALED * width + usize::from(place) % width) / LANES;
                let bits: U<S> = tuple.read(register, how.order[chunk]);
                match format {
                    Format::F32 if how.flush => put(to, 0, bits.as_f32().flush().bits()),
                    Format::F32 | Format::F64 => put(to, 0, bits),
                    Format::Xf32 => put(to, 0, bits & 0xffff_e000),
                    Format::F16 => {
                        for (part, &negate) in how.negate.iter().enumerate() {
                            let half = bits >> (16 * part as u32);
                            let value = half.half_to_f32().bits() ^ negate;
                            let tiny = (half & 0x7c00).equal(U::splat(0));
                            let value = if how.flush { tiny.select(U::splat(0), value) } else { value };
                            put(to, part, value);
                        }
                    }
                    Format::Bf16 => {
                        for (part, &negate) in how.negate.iter().enumerate() {
                            let half = if part == 0 { bits << 16 } else { bits & 0xffff_0000 };
                            let tiny = (half & 0x7f80_0000).equal(U::splat(0));
                            let half = half ^ negate;
                            put(to, part, if how.flush { tiny.select(U::splat(0), half) } else { half });
                        }
                    }
                    Format::Fp6 | Format::Bf6 => {
                        // Sixteen elements occupy three registers.
                        if register % 3 != 0 {
                            continue;
                        }
                        let words = [0, 1, 2].map(|i| tuple.read::<S>(register + i, how.order[chunk]));
                        for part in 0..16usize {
                            let (word, shift) = (6 * part / 32, 6 * part as u32 % 32);
                            let mut code = words[word] >> shift;
                            if shift > 26 {
                                code = code | words[word + 1] << (32 - shift);
                            }
                            let value = eight::widen(format, code & 0x3f);
                            put(to, part, scaled(value, how, scales));
                        }
                    }
                    Format::Fp4 => {
                        for part in 0..8 {
                            let value = eight::widen(format, bits >> (4 * part as u32) & 15);
                            put(to, part, scaled(value, how, scales));
                        }
                    }
                    Format::Fp8 | Format::Bf8 if how.scale.is_some() => {
                        for part in 0..4 {
                            let value = eight::widen(format, bits >> (8 * part as u32));
                            put(to, part, scaled(value, how, scales));
                        }
                    }
                    Format::Fp8Fnuz | Format::Bf8Fnuz | Format::Fp8 | Format::Bf8 => {
                        for part in 0..4 {
                            put(to, part, eight::widen(format, bits >> (8 * part as u32)));
                        }
                    }
                    Format::I8 | Format::Iu8 => {
                        let signed = how.signed || format == Format::I8;
                        for part in 0..4 {
                            put(to, part, integer(bits, 8, part as u32, signed));
                        }
                    }
                    Format::Iu4 => {
                        for part in 0..8 {
                            put(to, part, integer(bits, 4, part as u32, how.signed));
                        }
                    }
                }
            }
        }
    }
}

/// The number of elements, consecutive in K, that share a scale.
const SCALED: usize = 32;

/// Sixteen elements, scaled by the scales in a chunk of lanes, if there are any.
///
/// # Safety
/// The register of the scales must be in the wave's file, and the chunk must belong to the wave.
#[inline(always)]
unsafe fn scaled<S: Simd>(value: U<S>, how: &Reading, chunk: usize) -> U<S> {
    let Some((register, shift)) = how.scale else { return value };
    // SAFETY: the caller's promise.
    let byte = unsafe { register.read::<S>(0, chunk) } >> shift & 0xff;
    // The least scale is a subnormal number, and the largest one is NaN.
    let power = byte.equal(U::splat(0)).select(U::splat(0x40_0000), byte << 23);
    let power = byte.equal(U::splat(0xff)).select(U::splat(0x7fc0_0000), power);
    (value.as_f32() * power.as_f32()).bits()
}

/// A part of registers as an integer, converted to f32.
#[inline(always)]
fn integer<S: Simd>(bits: U<S>, size: u32, part: u32, signed: bool) -> U<S> {
    let top = bits << (32 - size * (part + 1));
    let value = if signed { top.sar(U::splat(32 - size)) } else { top >> (32 - size) };
    value.to_f32_signed().bits()
}

/// For each element of a sparse A, the start of the row in panel B that it is multiplied with.
///
/// # Safety
/// The tuple must have a register, and `rows` as many elements as panel A.
#[inline(always)]
pub(super) unsafe fn choose_rows<S: Simd>(
    plan: &Plan,
    format: Format,
    index: Tuple,
    set: u32,
    rows: *mut u32,
) {
    // Two bits per element of a lane, one set after another.
    let first = set * 2 * plan.per_lane as u32;
    let per_register = 32 / format.bits();
    for chunk in 0..index.lanes / LANES {
        // SAFETY: the caller's promise.
        let bits: U<S> = unsafe { index.read(0, chunk) };
        for element in 0..plan.per_lane {
            let place = plan.a[element / per_register * 4 + chunk];
            if place == NOWHERE {
                continue;
            }
            let place = usize::from(place) + element % per_register * plan.width;
            let four = place / plan.width / 2 * 4;
            let row = (bits >> (first + 2 * element as u32 & 31) & 3) + four as u32;
            // SAFETY: the caller's promise.
            unsafe { S::store(rows.add(place), (row * plan.width as u32).0) };
        }
    }
}

/// The source of C.
#[derive(Clone, Copy)]
pub(super) enum Addend {
    Registers(Tuple),
    /// The bits of every element.
    Constant(u32),
}

/// The low half of each lane, an f16 or bf16, as an f32.
#[inline(always)]
fn half_number<S: Simd>(sum: Sum, bits: U<S>) -> U<S> {
    if sum == Sum::F16 { bits.half_to_f32().bits() } else { bits << 16 }
}

/// Reads C into a panel.
///
/// # Safety
/// The tuple must have as many registers as the result, and `to` enough room.
#[inline(always)]
pub(super) unsafe fn gather_sum<S: Simd>(
    sum: Sum,
    packed: bool,
    plan: &Plan,
    from: Addend,
    lanes: usize,
    half: u32,
    to: *mut f32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for register in 0..usize::from(plan.d_count) {
            for chunk in 0..lanes / LANES {
                let Some(&place) = plan.d.get(register * 4 + chunk) else { continue };
                let to = to.add(usize::from(place));
                let bits: U<S> = match from {
                    Addend::Registers(tuple) => tuple.read(register, chunk),
                    Addend::Constant(bits) if matches!(sum, Sum::F16 | Sum::Bf16) => {
                        U::splat(bits & 0xffff | bits << 16)
                    }
                    Addend::Constant(bits) => U::splat(bits),
                };
                match sum {
                    Sum::F32 | Sum::F64 | Sum::I32 => S::store(to.cast(), bits.0),
                    Sum::F16 | Sum::Bf16 if packed => {
                        S::store(to.cast(), half_number(sum, bits).0);
                        S::store(to.add(plan.width).cast(), half_number(sum, bits >> 16).0);
                    }
                    Sum::F16 | Sum::Bf16 => S::store(to.cast(), half_number(sum, bits >> (16 * half)).0),
                }
            }
        }
    }
}

/// Writes D from a panel; NaNs become the default NaN. Numbers that are too large for f16 become the largest
/// f16 if `saturate`.
///
/// # Safety
/// See [`gather_sum`].
#[inline(always)]
pub(super) unsafe fn scatter<S: Simd>(
    sum: Sum,
    packed: bool,
    plan: &Plan,
    from: *const f32,
    tuple: Tuple,
    half: u32,
    saturate: bool,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for register in 0..usize::from(plan.d_count) {
            for chunk in 0..tuple.lanes / LANES {
                let Some(&place) = plan.d.get(register * 4 + chunk) else { continue };
                let from = from.add(usize::from(place));
                let value: U<S> = U(S::load(from.cast()));
                let value = match sum {
                    Sum::F32 | Sum::F64 | Sum::I32 => value,
                    Sum::F16 | Sum::Bf16 => {
                        let low = narrow(sum, value, saturate);
                        if packed {
                            let high = U(S::load(from.add(plan.width).cast()));
                            low | narrow::<S>(sum, high, saturate) << 16
                        } else {
                            let old: U<S> = tuple.read(register, chunk);
                            old & (0xffff_0000 >> (16 * half)) | low << (16 * half)
                        }
                    }
                };
                tuple.write(register, chunk, value);
            }
        }
    }
}

/// The largest f16 and infinity, as f32.
const LARGEST: u32 = 0x477f_e000;
const INFINITY: u32 = 0x7f80_0000;

/// f32 to 16 bits, to nearest even. With `saturate`, finite numbers become finite f16.
#[inline(always)]
fn narrow<S: Simd>(sum: Sum, value: U<S>, saturate: bool) -> U<S> {
    if sum == Sum::F16 {
        let value = if saturate {
            let size = value & 0x7fff_ffff;
            let large = U::splat(LARGEST).less(size) & size.less(U::splat(INFINITY));
            large.select(value & 0x8000_0000 | U::splat(LARGEST), value)
        } else {
            value
        };
        value.as_f32().to_half()
    } else {
        // The default NaN is preserved, because its low half is zero.
        (value + 0x7fff + (value >> 16 & 1)) >> 16
    }
}
