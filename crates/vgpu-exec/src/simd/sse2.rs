//! The baseline of every x86 CPU: sixteen lanes are four registers. Operations without an instruction are
//! loops over lanes.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::{LANES, Simd};

/// The level.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

/// An array with one value per register. The expression is expanded for each, because closures might not be
/// inlined.
macro_rules! per {
    (4, |$i:ident| $value:expr) => {
        [
            {
                const $i: usize = 0;
                $value
            },
            {
                const $i: usize = 1;
                $value
            },
            {
                const $i: usize = 2;
                $value
            },
            {
                const $i: usize = 3;
                $value
            },
        ]
    };
    (4, |$i:ident, $x:ident = $from:ident| $value:expr) => {
        per!(4, |$i| {
            let $x = $from[$i];
            $value
        })
    };
    (8, |$i:ident| $value:expr) => {
        [
            {
                const $i: usize = 0;
                $value
            },
            {
                const $i: usize = 1;
                $value
            },
            {
                const $i: usize = 2;
                $value
            },
            {
                const $i: usize = 3;
                $value
            },
            {
                const $i: usize = 4;
                $value
            },
            {
                const $i: usize = 5;
                $value
            },
            {
                const $i: usize = 6;
                $value
            },
            {
                const $i: usize = 7;
                $value
            },
        ]
    };
    (8, |$i:ident, $x:ident = $from:ident| $value:expr) => {
        per!(8, |$i| {
            let $x = $from[$i];
            $value
        })
    };
}

/// Functions that are one intrinsic on each register.
macro_rules! each {
    ($type:ident $count:tt: $($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::$type),*) -> Self::$type {
            // SAFETY: every x86-64 CPU has SSE2.
            unsafe { per!($count, |I| $intrinsic($($arg[I]),*)) }
        }
    )*};
}

/// Functions that are one intrinsic on each register of f32.
macro_rules! single {
    ($type:ident: $($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::V),*) -> Self::$type {
            // SAFETY: every x86-64 CPU has SSE2.
            unsafe { per!(4, |I| _mm_castps_si128($intrinsic($(_mm_castsi128_ps($arg[I])),*))) }
        }
    )*};
}

/// Functions that are one intrinsic on each register of f64.
macro_rules! double {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::D),*) -> Self::D {
            // SAFETY: every x86-64 CPU has SSE2.
            unsafe { per!(8, |I| _mm_castpd_si128($intrinsic($(_mm_castsi128_pd($arg[I])),*))) }
        }
    )*};
}

/// Comparisons of f64.
macro_rules! double_tests {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: every x86-64 CPU has SSE2.
            unsafe {
                Self::split(per!(8, |I| _mm_castpd_si128($intrinsic(_mm_castsi128_pd(a[I]), _mm_castsi128_pd(b[I])))))
                .0
            }
        }
    )*};
}

impl Simd for Baseline {
    type V = [__m128i; 4];
    type D = [__m128i; 8];
    type M = [__m128i; 4];

    const OUTLINE: bool = true;
    const ROUNDS: bool = true;

    #[inline(always)]
    unsafe fn array(a: Self::V) -> [u32; LANES] {
        // SAFETY: the sizes are equal and all bits are valid.
        unsafe { transmute(a) }
    }

    #[inline(always)]
    unsafe fn from_array(a: [u32; LANES]) -> Self::V {
        // SAFETY: as above.
        unsafe { transmute(a) }
    }

    #[inline(always)]
    unsafe fn array64(a: Self::D) -> [u64; LANES] {
        // SAFETY: as above.
        unsafe { transmute(a) }
    }

    #[inline(always)]
    unsafe fn from_array64(a: [u64; LANES]) -> Self::D {
        // SAFETY: as above.
        unsafe { transmute(a) }
    }

    #[inline(always)]
    unsafe fn mask_from_lanes(a: [u32; LANES]) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::from_array(a) }
    }

    #[inline(always)]
    unsafe fn bits(m: Self::M) -> u16 {
        // SAFETY: every x86-64 CPU has SSE2.
        let [a, b, c, d] = unsafe { per!(4, |I, x = m| _mm_movemask_ps(_mm_castsi128_ps(x)) << (4 * I)) };
        (a | b | c | d) as u16
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u16) -> Self::M {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe {
            per!(4, |I| {
                let all = _mm_set1_epi32(i32::from(bits) >> (4 * I));
                let bit = _mm_set_epi32(8, 4, 2, 1);
                _mm_cmpeq_epi32(_mm_and_si128(all, bit), bit)
            })
        }
    }

    #[inline(always)]
    unsafe fn mnot(a: Self::M) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::not(a) }
    }

    #[inline(always)]
    unsafe fn not(a: Self::V) -> Self::V {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { per!(4, |I, x = a| _mm_xor_si128(x, _mm_set1_epi32(-1))) }
    }

    #[inline(always)]
    unsafe fn select(m: Self::M, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { per!(4, |I| _mm_or_si128(_mm_and_si128(m[I], a[I]), _mm_andnot_si128(m[I], b[I]))) }
    }

    #[inline(always)]
    unsafe fn select64(m: Self::M, a: Self::D, b: Self::D) -> Self::D {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe {
            per!(8, |I| {
                let pair = m[I / 2];
                let m = if I.is_multiple_of(2) {
                    _mm_unpacklo_epi32(pair, pair)
                } else {
                    _mm_unpackhi_epi32(pair, pair)
                };
                _mm_or_si128(_mm_and_si128(m, a[I]), _mm_andnot_si128(m, b[I]))
            })
        }
    }

    #[inline(always)]
    unsafe fn splat(a: u32) -> Self::V {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { [_mm_set1_epi32(a as i32); 4] }
    }

    #[inline(always)]
    unsafe fn splat64(a: u64) -> Self::D {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { [_mm_set1_epi64x(a as i64); 8] }
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { per!(4, |I| _mm_loadu_si128(from.add(4 * I).cast())) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u32, a: Self::V) {
        for (i, &a) in a.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { _mm_storeu_si128(to.add(4 * i).cast(), a) };
        }
    }

    #[inline(always)]
    unsafe fn load64(from: *const u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            [
                _mm_loadu_si128(from.cast()),
                _mm_loadu_si128(from.add(2).cast()),
                _mm_loadu_si128(from.add(4).cast()),
                _mm_loadu_si128(from.add(6).cast()),
                _mm_loadu_si128(from.add(8).cast()),
                _mm_loadu_si128(from.add(10).cast()),
                _mm_loadu_si128(from.add(12).cast()),
                _mm_loadu_si128(from.add(14).cast()),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store64(to: *mut u64, a: Self::D) {
        for (i, &a) in a.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { _mm_storeu_si128(to.add(2 * i).cast(), a) };
        }
    }

    #[inline(always)]
    unsafe fn join(low: Self::V, high: Self::V) -> Self::D {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe {
            per!(8, |I| {
                let (low, high) = (low[I / 2], high[I / 2]);
                if I.is_multiple_of(2) {
                    _mm_unpacklo_epi32(low, high)
                } else {
                    _mm_unpackhi_epi32(low, high)
                }
            })
        }
    }

    #[inline(always)]
    unsafe fn split(a: Self::D) -> (Self::V, Self::V) {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe {
            let a = per!(8, |I, x = a| _mm_castsi128_ps(x));
            (
                per!(4, |I| _mm_castps_si128(_mm_shuffle_ps::<0x88>(a[2 * I], a[2 * I + 1]))),
                per!(4, |I| _mm_castps_si128(_mm_shuffle_ps::<0xdd>(a[2 * I], a[2 * I + 1]))),
            )
        }
    }

    each! { V 4:
        add(a, b) = _mm_add_epi32;
        sub(a, b) = _mm_sub_epi32;
        and(a, b) = _mm_and_si128;
        or(a, b) = _mm_or_si128;
        xor(a, b) = _mm_xor_si128;
    }

    each! { M 4:
        mand(a, b) = _mm_and_si128;
        mor(a, b) = _mm_or_si128;
        eq(a, b) = _mm_cmpeq_epi32;
        ilt(a, b) = _mm_cmplt_epi32;
    }

    each! { D 8:
        dadd(a, b) = _mm_add_epi64;
        dsub(a, b) = _mm_sub_epi64;
    }

    single! { V:
        fsqrt(a) = _mm_sqrt_ps;
        fadd(a, b) = _mm_add_ps;
        fsub(a, b) = _mm_sub_ps;
        fmul(a, b) = _mm_mul_ps;
        fdiv(a, b) = _mm_div_ps;
    }

    single! { M:
        feq(a, b) = _mm_cmpeq_ps;
        flt(a, b) = _mm_cmplt_ps;
        fle(a, b) = _mm_cmple_ps;
        funordered(a, b) = _mm_cmpunord_ps;
    }

    double! {
        gsqrt(a) = _mm_sqrt_pd;
        gadd(a, b) = _mm_add_pd;
        gmul(a, b) = _mm_mul_pd;
        gdiv(a, b) = _mm_div_pd;
    }

    double_tests! {
        geq = _mm_cmpeq_pd;
        glt = _mm_cmplt_pd;
        gle = _mm_cmple_pd;
        gunordered = _mm_cmpunord_pd;
    }

    #[inline(always)]
    unsafe fn ult(a: Self::V, b: Self::V) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe {
            let sign = Self::splat(1 << 31);
            Self::ilt(Self::xor(a, sign), Self::xor(b, sign))
        }
    }

    #[inline(always)]
    unsafe fn f_from_i32(a: Self::V) -> Self::V {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { per!(4, |I, x = a| _mm_castps_si128(_mm_cvtepi32_ps(x))) }
    }

    #[inline(always)]
    unsafe fn f_to_small_i32(a: Self::V) -> Self::V {
        // SAFETY: every x86-64 CPU has SSE2.
        unsafe { per!(4, |I, x = a| _mm_cvttps_epi32(_mm_castsi128_ps(x))) }
    }

    #[inline(always)]
    unsafe fn extend(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe { Self::join(a, Self::splat(0)) }
    }
}
