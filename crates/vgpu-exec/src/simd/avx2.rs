//! x86 with AVX2, FMA and F16C: sixteen lanes are two registers.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::{LANES, Simd};

/// The level.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

const FLOOR: i32 = 0x9;
const CEIL: i32 = 0xa;
const TRUNC: i32 = 0xb;
const NEAREST: i32 = 0x8;

/// An array with one value per register. The expression is expanded for each, because closures would not be
/// inlined into code for the level.
macro_rules! per {
    (2, |$i:ident| $value:expr) => {
        [
            {
                const $i: usize = 0;
                $value
            },
            {
                const $i: usize = 1;
                $value
            },
        ]
    };
    (2, |$i:ident, $x:ident = $from:ident| $value:expr) => {
        per!(2, |$i| {
            let $x = $from[$i];
            $value
        })
    };
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
}

/// Functions that are one intrinsic on each register of integers.
macro_rules! each {
    ($type:ident $count:tt: $($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::$type),*) -> Self::$type {
            // SAFETY: the caller's promise.
            unsafe { per!($count, |I| $intrinsic($($arg[I]),*)) }
        }
    )*};
}

/// Functions that are one intrinsic on each register of f32.
macro_rules! single {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident $(::<$imm:ident>)?;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::V),*) -> Self::V {
            // SAFETY: the caller's promise.
            unsafe {
                per!(2, |I| _mm256_castps_si256($intrinsic $(::<$imm>)?($(_mm256_castsi256_ps($arg[I])),*)))
            }
        }
    )*};
}

/// Functions that are one intrinsic on each register of f64.
macro_rules! double {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident $(::<$imm:ident>)?;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::D),*) -> Self::D {
            // SAFETY: the caller's promise.
            unsafe {
                per!(4, |I| _mm256_castpd_si256($intrinsic $(::<$imm>)?($(_mm256_castsi256_pd($arg[I])),*)))
            }
        }
    )*};
}

/// Comparisons of f32.
macro_rules! single_tests {
    ($($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::V, b: Self::V) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe {
                per!(2, |I| {
                    let (a, b) = (_mm256_castsi256_ps(a[I]), _mm256_castsi256_ps(b[I]));
                    _mm256_castps_si256(_mm256_cmp_ps::<$predicate>(a, b))
                })
            }
        }
    )*};
}

/// Comparisons of f64.
macro_rules! double_tests {
    ($($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe {
                Self::split(per!(4, |I| {
                    let (a, b) = (_mm256_castsi256_pd(a[I]), _mm256_castsi256_pd(b[I]));
                    _mm256_castpd_si256(_mm256_cmp_pd::<$predicate>(a, b))
                }))
                .0
            }
        }
    )*};
}

/// The quarters of sixteen lanes.
#[inline(always)]
unsafe fn quarters(a: [__m256i; 2]) -> [__m128i; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            _mm256_castsi256_si128(a[0]),
            _mm256_extracti128_si256::<1>(a[0]),
            _mm256_castsi256_si128(a[1]),
            _mm256_extracti128_si256::<1>(a[1]),
        ]
    }
}

#[inline(always)]
unsafe fn joined(a: [__m128i; 4]) -> [__m256i; 2] {
    // SAFETY: the caller's promise.
    unsafe { [_mm256_set_m128i(a[1], a[0]), _mm256_set_m128i(a[3], a[2])] }
}

/// The even (`0x88`) or odd (`0xdd`) dwords of `a` and then `b`, in order.
///
/// # Safety
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn every_other<const WHICH: i32>(a: __m256, b: __m256) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(_mm256_shuffle_ps::<WHICH>(a, b))) }
}

impl Simd for Avx2 {
    type V = [__m256i; 2];
    type D = [__m256i; 4];
    type M = [__m256i; 2];

    const VEX: bool = true;

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
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm256_movemask_ps(_mm256_castsi256_ps(m[0]));
            let high = _mm256_movemask_ps(_mm256_castsi256_ps(m[1]));
            (low | high << 8) as u16
        }
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u16) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe {
            let all = _mm256_set1_epi32(i32::from(bits as i16));
            let low = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
            let high = _mm256_slli_epi32::<8>(low);
            [
                _mm256_cmpeq_epi32(_mm256_and_si256(all, low), low),
                _mm256_cmpeq_epi32(_mm256_and_si256(all, high), high),
            ]
        }
    }

    #[inline(always)]
    unsafe fn any(m: Self::M) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let both = _mm256_or_si256(m[0], m[1]);
            _mm256_testz_si256(both, both) == 0
        }
    }

    #[inline(always)]
    unsafe fn select(m: Self::M, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { per!(2, |I| _mm256_blendv_epi8(b[I], a[I], m[I])) }
    }

    #[inline(always)]
    unsafe fn select64(m: Self::M, a: Self::D, b: Self::D) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let m = Self::extend_signed(m);
            per!(4, |I| _mm256_blendv_epi8(b[I], a[I], m[I]))
        }
    }

    #[inline(always)]
    unsafe fn splat(a: u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { [_mm256_set1_epi32(a as i32); 2] }
    }

    #[inline(always)]
    unsafe fn splat64(a: u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe { [_mm256_set1_epi64x(a as i64); 4] }
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(8).cast())] }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u32, a: Self::V) {
        // SAFETY: the caller's promise.
        unsafe {
            _mm256_storeu_si256(to.cast(), a[0]);
            _mm256_storeu_si256(to.add(8).cast(), a[1]);
        }
    }

    #[inline(always)]
    unsafe fn load64(from: *const u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            [
                _mm256_loadu_si256(from.cast()),
                _mm256_loadu_si256(from.add(4).cast()),
                _mm256_loadu_si256(from.add(8).cast()),
                _mm256_loadu_si256(from.add(12).cast()),
            ]
        }
    }

    #[inline(always)]
    unsafe fn store64(to: *mut u64, a: Self::D) {
        for (i, &a) in a.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { _mm256_storeu_si256(to.add(4 * i).cast(), a) };
        }
    }

    #[inline(always)]
    unsafe fn join(low: Self::V, high: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let (low, high) = (Self::extend(low), Self::extend(high));
            per!(4, |I| _mm256_or_si256(low[I], _mm256_slli_epi64::<32>(high[I])))
        }
    }

    #[inline(always)]
    unsafe fn split(a: Self::D) -> (Self::V, Self::V) {
        // SAFETY: the caller's promise.
        unsafe {
            let a = per!(4, |I, x = a| _mm256_castsi256_ps(x));
            (
                [every_other::<0x88>(a[0], a[1]), every_other::<0x88>(a[2], a[3])],
                [every_other::<0xdd>(a[0], a[1]), every_other::<0xdd>(a[2], a[3])],
            )
        }
    }

    #[inline(always)]
    unsafe fn before(a: Self::V, b: Self::V) -> Self::D {
        [a[0], a[1], b[0], b[1]]
    }

    #[inline(always)]
    unsafe fn halves(a: Self::D) -> (Self::V, Self::V) {
        ([a[0], a[1]], [a[2], a[3]])
    }

    #[inline(always)]
    unsafe fn gather(memory: *const u8, offsets: Self::V) -> Self::V {
        // SAFETY: the caller's promise. The instruction treats offsets as signed, so both are shifted by half
        // of their range.
        unsafe {
            per!(2, |I| {
                let signed = _mm256_xor_si256(offsets[I], _mm256_set1_epi32(i32::MIN));
                _mm256_i32gather_epi32::<1>(memory.wrapping_add(1 << 31).cast(), signed)
            })
        }
    }

    #[inline(always)]
    unsafe fn permute(a: Self::V, index: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            per!(2, |I| {
                let low = _mm256_permutevar8x32_epi32(a[0], index[I]);
                let high = _mm256_permutevar8x32_epi32(a[1], index[I]);
                let upper = _mm256_slli_epi32::<28>(index[I]);
                _mm256_castps_si256(_mm256_blendv_ps(
                    _mm256_castsi256_ps(low),
                    _mm256_castsi256_ps(high),
                    _mm256_castsi256_ps(upper),
                ))
            })
        }
    }

    each! { V 2:
        add(a, b) = _mm256_add_epi32;
        sub(a, b) = _mm256_sub_epi32;
        mul(a, b) = _mm256_mullo_epi32;
        and(a, b) = _mm256_and_si256;
        or(a, b) = _mm256_or_si256;
        xor(a, b) = _mm256_xor_si256;
        shl(a, b) = _mm256_sllv_epi32;
        shr(a, b) = _mm256_srlv_epi32;
        sar(a, b) = _mm256_srav_epi32;
        umin(a, b) = _mm256_min_epu32;
        umax(a, b) = _mm256_max_epu32;
        imin(a, b) = _mm256_min_epi32;
        imax(a, b) = _mm256_max_epi32;
    }

    each! { M 2:
        mand(a, b) = _mm256_and_si256;
        mor(a, b) = _mm256_or_si256;
        eq(a, b) = _mm256_cmpeq_epi32;
    }

    each! { D 4:
        dadd(a, b) = _mm256_add_epi64;
        dsub(a, b) = _mm256_sub_epi64;
        dshl(a, b) = _mm256_sllv_epi64;
        dshr(a, b) = _mm256_srlv_epi64;
    }

    single! {
        fsqrt(a) = _mm256_sqrt_ps;
        ffloor(a) = _mm256_round_ps::<FLOOR>;
        fceil(a) = _mm256_round_ps::<CEIL>;
        ftrunc(a) = _mm256_round_ps::<TRUNC>;
        frint(a) = _mm256_round_ps::<NEAREST>;
        fadd(a, b) = _mm256_add_ps;
        fsub(a, b) = _mm256_sub_ps;
        fmul(a, b) = _mm256_mul_ps;
        fdiv(a, b) = _mm256_div_ps;
        ffma(a, b, c) = _mm256_fmadd_ps;
    }

    single_tests! {
        feq = _CMP_EQ_OQ;
        flt = _CMP_LT_OQ;
        fle = _CMP_LE_OQ;
        funordered = _CMP_UNORD_Q;
    }

    double! {
        gsqrt(a) = _mm256_sqrt_pd;
        gfloor(a) = _mm256_round_pd::<FLOOR>;
        gceil(a) = _mm256_round_pd::<CEIL>;
        gtrunc(a) = _mm256_round_pd::<TRUNC>;
        grint(a) = _mm256_round_pd::<NEAREST>;
        gadd(a, b) = _mm256_add_pd;
        gmul(a, b) = _mm256_mul_pd;
        gdiv(a, b) = _mm256_div_pd;
        gfma(a, b, c) = _mm256_fmadd_pd;
    }

    double_tests! {
        geq = _CMP_EQ_OQ;
        glt = _CMP_LT_OQ;
        gle = _CMP_LE_OQ;
        gunordered = _CMP_UNORD_Q;
    }

    #[inline(always)]
    unsafe fn mnot(a: Self::M) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::not(a) }
    }

    #[inline(always)]
    unsafe fn not(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { per!(2, |I, x = a| _mm256_xor_si256(x, _mm256_set1_epi32(-1))) }
    }

    #[inline(always)]
    unsafe fn ilt(a: Self::V, b: Self::V) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { per!(2, |I| _mm256_cmpgt_epi32(b[I], a[I])) }
    }

    #[inline(always)]
    unsafe fn ult(a: Self::V, b: Self::V) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe {
            let sign = _mm256_set1_epi32(i32::MIN);
            per!(2, |I| _mm256_cmpgt_epi32(_mm256_xor_si256(b[I], sign), _mm256_xor_si256(a[I], sign)))
        }
    }

    #[inline(always)]
    unsafe fn deq(a: Self::D, b: Self::D) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::split(per!(4, |I| _mm256_cmpeq_epi64(a[I], b[I]))).0 }
    }

    #[inline(always)]
    unsafe fn dilt(a: Self::D, b: Self::D) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe { Self::split(per!(4, |I| _mm256_cmpgt_epi64(b[I], a[I]))).0 }
    }

    #[inline(always)]
    unsafe fn dult(a: Self::D, b: Self::D) -> Self::M {
        // SAFETY: the caller's promise.
        unsafe {
            let sign = _mm256_set1_epi64x(i64::MIN);
            Self::split(per!(4, |I| {
                _mm256_cmpgt_epi64(_mm256_xor_si256(b[I], sign), _mm256_xor_si256(a[I], sign))
            }))
            .0
        }
    }

    #[inline(always)]
    unsafe fn mul_high(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            per!(2, |I| {
                let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(a[I], b[I]));
                let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a[I]), _mm256_srli_epi64::<32>(b[I]));
                _mm256_blend_epi32::<0xaa>(even, odd)
            })
        }
    }

    #[inline(always)]
    unsafe fn mul_high_signed(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            per!(2, |I| {
                let even = _mm256_srli_epi64::<32>(_mm256_mul_epi32(a[I], b[I]));
                let odd = _mm256_mul_epi32(_mm256_srli_epi64::<32>(a[I]), _mm256_srli_epi64::<32>(b[I]));
                _mm256_blend_epi32::<0xaa>(even, odd)
            })
        }
    }

    #[inline(always)]
    unsafe fn mul_wide(a: Self::V, b: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (Self::extend(a), Self::extend(b));
            per!(4, |I| _mm256_mul_epu32(a[I], b[I]))
        }
    }

    #[inline(always)]
    unsafe fn mul_wide_signed(a: Self::V, b: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (Self::extend(a), Self::extend(b));
            per!(4, |I| _mm256_mul_epi32(a[I], b[I]))
        }
    }

    #[inline(always)]
    unsafe fn f_from_i32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { per!(2, |I, x = a| _mm256_castps_si256(_mm256_cvtepi32_ps(x))) }
    }

    #[inline(always)]
    unsafe fn f_to_i32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            per!(2, |I, x = a| {
                let x = _mm256_castsi256_ps(x);
                let ordered = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_ORD_Q>(x, x));
                let large = _mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(2_147_483_648.0));
                let value = _mm256_and_si256(_mm256_cvttps_epi32(x), ordered);
                // Too large a value became the smallest number. Inverting all of its bits gives the largest.
                _mm256_xor_si256(value, _mm256_castps_si256(large))
            })
        }
    }

    #[inline(always)]
    unsafe fn f_to_small_i32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { per!(2, |I, x = a| _mm256_cvttps_epi32(_mm256_castsi256_ps(x))) }
    }

    #[inline(always)]
    unsafe fn from_half(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            let a = per!(2, |I, x = a| _mm256_and_si256(x, _mm256_set1_epi32(0xffff)));
            let packed = _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi32(a[0], a[1]));
            [
                _mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(packed))),
                _mm256_castps_si256(_mm256_cvtph_ps(_mm256_extracti128_si256::<1>(packed))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn to_half(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { per!(2, |I, x = a| _mm256_cvtepu16_epi32(_mm256_cvtps_ph::<0>(_mm256_castsi256_ps(x)))) }
    }

    #[inline(always)]
    unsafe fn extend(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = quarters(a);
            per!(4, |I, x = a| _mm256_cvtepu32_epi64(x))
        }
    }

    #[inline(always)]
    unsafe fn extend_signed(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = quarters(a);
            per!(4, |I, x = a| _mm256_cvtepi32_epi64(x))
        }
    }

    #[inline(always)]
    unsafe fn g_from_f32(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = quarters(a);
            per!(4, |I, x = a| _mm256_castpd_si256(_mm256_cvtps_pd(_mm_castsi128_ps(x))))
        }
    }

    #[inline(always)]
    unsafe fn g_from_i32(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = quarters(a);
            per!(4, |I, x = a| _mm256_castpd_si256(_mm256_cvtepi32_pd(x)))
        }
    }

    #[inline(always)]
    unsafe fn g_to_f32(a: Self::D) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { joined(per!(4, |I, x = a| _mm_castps_si128(_mm256_cvtpd_ps(_mm256_castsi256_pd(x))))) }
    }
}
