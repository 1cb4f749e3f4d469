//! Typed access to the lanes of operands, and the modifiers of vector instructions.

use super::super::{Code, Src, TEMPS, Wave, all};
use super::numbers::{Half, f32_to_half, half_to_f32};

/// `Code::imm` of vector instructions: a 16-bit result leaves the other half of its register alone, instead of clearing it.
pub(super) const KEEP: i64 = 1;

/// A 32-bit scalar or constant.
#[inline(always)]
fn scalar32(wave: &Wave, src: Src) -> u32 {
    match src {
        Src::Scalar(slot) => wave.sgpr[usize::from(slot & 127)],
        Src::Const(value) => value as u32,
        Src::Vector(_) | Src::Temp(_) => 0,
    }
}

/// A 64-bit scalar or constant.
#[inline(always)]
fn scalar64(wave: &Wave, src: Src) -> u64 {
    match src {
        Src::Scalar(slot) => wave.scalar64(slot),
        Src::Const(value) => value,
        Src::Vector(_) | Src::Temp(_) => 0,
    }
}

/// The type of an operand's lanes.
pub(super) trait Lane: Copy + Default {
    /// # Safety
    /// The operand must have been lowered for this wave's file.
    unsafe fn read<const W: usize>(wave: &Wave, src: Src, high: bool) -> [Self; W];

    /// Writes the lanes that the mask enables. `imm` has the destination's modifier bits.
    ///
    /// # Safety
    /// The operand must have been lowered for this wave's file.
    unsafe fn write<const W: usize>(wave: &mut Wave, dst: u32, value: &[Self; W], mask: u64, code: &Code);
}

/// Merges lanes into a register by mask.
///
/// # Safety
/// `at` must be a register of the wave's file.
#[inline(always)]
pub(super) unsafe fn merge<const W: usize>(at: *mut u32, value: &[u32; W], mask: u64) {
    // SAFETY: the caller's promise; the file is aligned to 64 bytes and registers are whole.
    unsafe {
        let at = at.cast::<[u32; W]>();
        if mask == all::<W>() {
            *at = *value;
        } else {
            let old = *at;
            let mut new = [0; W];
            for l in 0..W {
                new[l] = if mask >> l & 1 != 0 { value[l] } else { old[l] };
            }
            *at = new;
        }
    }
}

impl Lane for u32 {
    #[inline(always)]
    unsafe fn read<const W: usize>(wave: &Wave, src: Src, _: bool) -> [u32; W] {
        match src {
            // SAFETY: the caller's promise.
            Src::Vector(first) => unsafe { *wave.vgpr.add(first as usize).cast::<[u32; W]>() },
            Src::Temp(row) => {
                let mut value = [0; W];
                value.copy_from_slice(&wave.temp[usize::from(row) % TEMPS][..W]);
                value
            }
            src => [scalar32(wave, src); W],
        }
    }

    #[inline(always)]
    unsafe fn write<const W: usize>(wave: &mut Wave, dst: u32, value: &[u32; W], mask: u64, _: &Code) {
        // SAFETY: the caller's promise.
        unsafe { merge(wave.vgpr.add(dst as usize), value, mask) };
    }
}

impl Lane for u64 {
    #[inline(always)]
    unsafe fn read<const W: usize>(wave: &Wave, src: Src, _: bool) -> [u64; W] {
        match src {
            Src::Vector(first) => {
                // SAFETY: the caller's promise; a pair's second register follows the first.
                let (low, high) = unsafe {
                    let at = wave.vgpr.add(first as usize).cast::<[u32; W]>();
                    (*at, *at.add(1))
                };
                let mut value = [0; W];
                for l in 0..W {
                    value[l] = u64::from(low[l]) | u64::from(high[l]) << 32;
                }
                value
            }
            Src::Temp(row) => {
                let mut value = [0; W];
                for l in 0..W {
                    let (low, high) = (
                        wave.temp[usize::from(row) % TEMPS][l],
                        wave.temp[(usize::from(row) + 1) % TEMPS][l],
                    );
                    value[l] = u64::from(low) | u64::from(high) << 32;
                }
                value
            }
            src => [scalar64(wave, src); W],
        }
    }

    #[inline(always)]
    unsafe fn write<const W: usize>(wave: &mut Wave, dst: u32, value: &[u64; W], mask: u64, _: &Code) {
        let (mut low, mut high) = ([0; W], [0; W]);
        for l in 0..W {
            low[l] = value[l] as u32;
            high[l] = (value[l] >> 32) as u32;
        }
        // SAFETY: the caller's promise.
        unsafe {
            merge(wave.vgpr.add(dst as usize), &low, mask);
            merge(wave.vgpr.add(dst as usize + W), &high, mask);
        }
    }
}

impl Lane for u16 {
    #[inline(always)]
    unsafe fn read<const W: usize>(wave: &Wave, src: Src, high: bool) -> [u16; W] {
        // SAFETY: the caller's promise.
        let whole = unsafe { u32::read::<W>(wave, src, false) };
        let shift = if high { 16 } else { 0 };
        let mut value = [0; W];
        for l in 0..W {
            value[l] = (whole[l] >> shift) as u16;
        }
        value
    }

    #[inline(always)]
    unsafe fn write<const W: usize>(wave: &mut Wave, dst: u32, value: &[u16; W], mask: u64, code: &Code) {
        let high = code.mods.op_sel & 8 != 0;
        // SAFETY: the caller's promise.
        unsafe {
            let mut whole = [0u32; W];
            if high || code.imm & KEEP != 0 {
                let old = *wave.vgpr.add(dst as usize).cast::<[u32; W]>();
                let (shift, keep) = if high { (16, 0xffff) } else { (0, 0xffff_0000) };
                for l in 0..W {
                    whole[l] = old[l] & keep | u32::from(value[l]) << shift;
                }
            } else {
                for l in 0..W {
                    whole[l] = u32::from(value[l]);
                }
            }
            merge(wave.vgpr.add(dst as usize), &whole, mask);
        }
    }
}

/// A lane type with the bits of another.
macro_rules! same_bits {
    ($($type:ty = $raw:ty, $from:expr, $to:expr;)*) => {$(
        impl Lane for $type {
            #[inline(always)]
            unsafe fn read<const W: usize>(wave: &Wave, src: Src, high: bool) -> [$type; W] {
                // SAFETY: the caller's promise.
                let raw = unsafe { <$raw>::read::<W>(wave, src, high) };
                let mut value = [<$type>::default(); W];
                for l in 0..W {
                    value[l] = $from(raw[l]);
                }
                value
            }

            #[inline(always)]
            unsafe fn write<const W: usize>(wave: &mut Wave, dst: u32, value: &[$type; W], mask: u64, code: &Code) {
                let mut raw = [0; W];
                for l in 0..W {
                    raw[l] = $to(value[l]);
                }
                // SAFETY: the caller's promise.
                unsafe { <$raw>::write::<W>(wave, dst, &raw, mask, code) };
            }

        }
    )*};
}
same_bits! {
    i32 = u32, |raw| raw as i32, |value| value as u32;
    i64 = u64, |raw| raw as i64, |value| value as u64;
    i16 = u16, |raw| raw as i16, |value| value as u16;
}

macro_rules! float_lane {
    ($type:ident = $raw:ty) => {
        impl Lane for $type {
            #[inline(always)]
            unsafe fn read<const W: usize>(wave: &Wave, src: Src, high: bool) -> [$type; W] {
                // SAFETY: the caller's promise.
                let raw = unsafe { <$raw>::read::<W>(wave, src, high) };
                raw.map($type::from_bits)
            }
            #[inline(always)]
            unsafe fn write<const W: usize>(
                wave: &mut Wave,
                dst: u32,
                value: &[$type; W],
                mask: u64,
                code: &Code,
            ) {
                // SAFETY: the caller's promise.
                unsafe { <$raw>::write::<W>(wave, dst, &value.map($type::to_bits), mask, code) };
            }
        }
    };
}
float_lane!(f32 = u32);
float_lane!(f64 = u64);

impl Lane for Half {
    #[inline(always)]
    unsafe fn read<const W: usize>(wave: &Wave, src: Src, high: bool) -> [Half; W] {
        // SAFETY: the caller's promise.
        let raw = unsafe { u16::read::<W>(wave, src, high) };
        raw.map(|bits| Half(half_to_f32(bits)))
    }

    #[inline(always)]
    unsafe fn write<const W: usize>(wave: &mut Wave, dst: u32, value: &[Half; W], mask: u64, code: &Code) {
        // SAFETY: the caller's promise.
        unsafe { u16::write::<W>(wave, dst, &value.map(|half| f32_to_half(half.0)), mask, code) };
    }
}
