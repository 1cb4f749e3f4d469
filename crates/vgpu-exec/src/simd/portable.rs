//! The portable level for every CPU: sixteen lanes are an array.

use super::{LANES, Simd, lanewise3};

/// The level.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

impl Simd for Baseline {
    type V = [u32; LANES];
    type D = [u64; LANES];
    type M = [u32; LANES];

    const OUTLINE: bool = true;
    const ROUNDS: bool = true;

    #[inline(always)]
    unsafe fn array(a: Self::V) -> [u32; LANES] {
        a
    }

    #[inline(always)]
    unsafe fn from_array(a: [u32; LANES]) -> Self::V {
        a
    }

    #[inline(always)]
    unsafe fn array64(a: Self::D) -> [u64; LANES] {
        a
    }

    #[inline(always)]
    unsafe fn from_array64(a: [u64; LANES]) -> Self::D {
        a
    }

    #[inline(always)]
    unsafe fn mask_from_lanes(a: [u32; LANES]) -> Self::M {
        a
    }

    #[inline(never)]
    unsafe fn bits(m: Self::M) -> u16 {
        let mut bits = 0;
        for (i, lane) in m.iter().enumerate() {
            bits |= (lane >> 31 << i) as u16;
        }
        bits
    }

    #[inline(never)]
    unsafe fn from_bits(bits: u16) -> Self::M {
        crate::rows::from_fn(|i| (u32::from(bits) >> i & 1).wrapping_neg())
    }

    #[inline(always)]
    unsafe fn mand(a: Self::M, b: Self::M) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::and(a, b) }
    }

    #[inline(always)]
    unsafe fn mor(a: Self::M, b: Self::M) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::or(a, b) }
    }

    #[inline(always)]
    unsafe fn mnot(a: Self::M) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::not(a) }
    }

    #[inline(always)]
    unsafe fn select(m: Self::M, a: Self::V, b: Self::V) -> Self::V {
        lanewise3::<Self, _, _, _, _>(&m, &a, &b, |m, a, b| a & m | b & !m)
    }

    #[inline(always)]
    unsafe fn select64(m: Self::M, a: Self::D, b: Self::D) -> Self::D {
        lanewise3::<Self, _, _, _, _>(&m, &a, &b, |m, a, b| {
            let m = m as i32 as i64 as u64;
            a & m | b & !m
        })
    }
}
