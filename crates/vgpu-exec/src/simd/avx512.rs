//! x86 with AVX-512 F, BW, CD, DQ and VL: sixteen lanes are one register.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::{LANES, Simd};

/// The level.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

const FLOOR: i32 = 0x9;
const CEIL: i32 = 0xa;
const TRUNC: i32 = 0xb;
const NEAREST: i32 = 0x8;

/// Functions that are one intrinsic on integer registers.
macro_rules! integer {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::V),*) -> Self::V {
            // SAFETY: the caller's promise.
            unsafe { $intrinsic($($arg),*) }
        }
    )*};
}

/// Functions that are one intrinsic on f32 registers.
macro_rules! single {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident $(::<$imm:ident>)?;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::V),*) -> Self::V {
            // SAFETY: the caller's promise.
            unsafe { _mm512_castps_si512($intrinsic $(::<$imm>)?($(_mm512_castsi512_ps($arg)),*)) }
        }
    )*};
}

/// Comparisons of f32.
macro_rules! single_tests {
    ($($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::V, b: Self::V) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe { _mm512_cmp_ps_mask::<$predicate>(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)) }
        }
    )*};
}

/// Comparisons of integers.
macro_rules! tests {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::V, b: Self::V) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe { $intrinsic(a, b) }
        }
    )*};
}

/// Functions that are one intrinsic on each half of 64-bit lanes.
macro_rules! wide {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::D),*) -> Self::D {
            // SAFETY: the caller's promise.
            unsafe { [$intrinsic($($arg[0]),*), $intrinsic($($arg[1]),*)] }
        }
    )*};
}

/// Functions that are one intrinsic on each half of f64 lanes.
macro_rules! double {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident $(::<$imm:ident>)?;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: Self::D),*) -> Self::D {
            // SAFETY: the caller's promise.
            unsafe {
                [
                    _mm512_castpd_si512($intrinsic $(::<$imm>)?($(_mm512_castsi512_pd($arg[0])),*)),
                    _mm512_castpd_si512($intrinsic $(::<$imm>)?($(_mm512_castsi512_pd($arg[1])),*)),
                ]
            }
        }
    )*};
}

/// Comparisons of 64-bit lanes.
macro_rules! wide_tests {
    ($($name:ident |$a:ident, $b:ident| $test:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: the caller's promise.
            unsafe {
                let low = { let ($a, $b) = (a[0], b[0]); $test };
                let high = { let ($a, $b) = (a[1], b[1]); $test };
                u16::from(low) | u16::from(high) << 8
            }
        }
    )*};
}

/// An expression for each half of an array. It is expanded, because closures might not be inlined into code
/// for the level.
macro_rules! per_half {
    (|$half:ident = $from:ident| $value:expr) => {
        [
            {
                let $half = $from[0];
                $value
            },
            {
                let $half = $from[1];
                $value
            },
        ]
    };
}

/// The lower and upper eight lanes.
#[inline(always)]
unsafe fn halves(a: __m512i) -> [__m256i; 2] {
    // SAFETY: the caller's promise.
    unsafe { [_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64::<1>(a)] }
}

#[inline(always)]
unsafe fn joined(a: [__m256i; 2]) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a[0]), a[1]) }
}

impl Simd for Avx512 {
    type V = __m512i;
    type D = [__m512i; 2];
    type M = __mmask16;

    const REGISTERS: usize = 32;

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
        unsafe { _mm512_movepi32_mask(Self::from_array(a)) }
    }

    #[inline(always)]
    unsafe fn bits(m: Self::M) -> u16 {
        m
    }

    #[inline(always)]
    unsafe fn from_bits(bits: u16) -> Self::M {
        bits
    }

    #[inline(always)]
    unsafe fn mand(a: Self::M, b: Self::M) -> Self::M {
        a & b
    }

    #[inline(always)]
    unsafe fn mor(a: Self::M, b: Self::M) -> Self::M {
        a | b
    }

    #[inline(always)]
    unsafe fn mnot(a: Self::M) -> Self::M {
        !a
    }

    #[inline(always)]
    unsafe fn select(m: Self::M, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_mask_blend_epi32(m, b, a) }
    }

    #[inline(always)]
    unsafe fn select64(m: Self::M, a: Self::D, b: Self::D) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            [
                _mm512_mask_blend_epi64(m as u8, b[0], a[0]),
                _mm512_mask_blend_epi64((m >> 8) as u8, b[1], a[1]),
            ]
        }
    }

    #[inline(always)]
    unsafe fn splat(a: u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_set1_epi32(a as i32) }
    }

    #[inline(always)]
    unsafe fn splat64(a: u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe { [_mm512_set1_epi64(a as i64); 2] }
    }

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u32, a: Self::V) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(to.cast(), a) }
    }

    #[inline(always)]
    unsafe fn load64(from: *const u64) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe { [_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(8).cast())] }
    }

    #[inline(always)]
    unsafe fn store64(to: *mut u64, a: Self::D) {
        for (i, &a) in a.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { _mm512_storeu_si512(to.add(8 * i).cast(), a) };
        }
    }

    #[inline(always)]
    unsafe fn store_masked(to: *mut u32, bits: u16, a: Self::V) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_mask_storeu_epi32(to.cast(), bits, a) }
    }

    #[inline(always)]
    unsafe fn join(low: Self::V, high: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
            let second = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
            [_mm512_permutex2var_epi32(low, first, high), _mm512_permutex2var_epi32(low, second, high)]
        }
    }

    #[inline(always)]
    unsafe fn split(a: Self::D) -> (Self::V, Self::V) {
        // SAFETY: the caller's promise.
        unsafe {
            let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
            let odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
            (_mm512_permutex2var_epi32(a[0], even, a[1]), _mm512_permutex2var_epi32(a[0], odd, a[1]))
        }
    }

    #[inline(always)]
    unsafe fn before(a: Self::V, b: Self::V) -> Self::D {
        [a, b]
    }

    #[inline(always)]
    unsafe fn halves(a: Self::D) -> (Self::V, Self::V) {
        (a[0], a[1])
    }

    #[inline(always)]
    unsafe fn gather(memory: *const u8, offsets: Self::V) -> Self::V {
        // SAFETY: the caller's promise. The instruction treats offsets as signed, so both are shifted by half
        // of their range.
        unsafe {
            let signed = _mm512_xor_si512(offsets, _mm512_set1_epi32(i32::MIN));
            _mm512_i32gather_epi32::<1>(signed, memory.wrapping_add(1 << 31).cast())
        }
    }

    #[inline(always)]
    unsafe fn permute(a: Self::V, index: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_permutexvar_epi32(index, a) }
    }

    integer! {
        leading_zeros(a) = _mm512_lzcnt_epi32;
        add(a, b) = _mm512_add_epi32;
        sub(a, b) = _mm512_sub_epi32;
        mul(a, b) = _mm512_mullo_epi32;
        and(a, b) = _mm512_and_si512;
        or(a, b) = _mm512_or_si512;
        xor(a, b) = _mm512_xor_si512;
        shl(a, b) = _mm512_sllv_epi32;
        shr(a, b) = _mm512_srlv_epi32;
        sar(a, b) = _mm512_srav_epi32;
        umin(a, b) = _mm512_min_epu32;
        umax(a, b) = _mm512_max_epu32;
        imin(a, b) = _mm512_min_epi32;
        imax(a, b) = _mm512_max_epi32;
    }

    single! {
        fsqrt(a) = _mm512_sqrt_ps;
        ffloor(a) = _mm512_roundscale_ps::<FLOOR>;
        fceil(a) = _mm512_roundscale_ps::<CEIL>;
        ftrunc(a) = _mm512_roundscale_ps::<TRUNC>;
        frint(a) = _mm512_roundscale_ps::<NEAREST>;
        fadd(a, b) = _mm512_add_ps;
        fsub(a, b) = _mm512_sub_ps;
        fmul(a, b) = _mm512_mul_ps;
        fdiv(a, b) = _mm512_div_ps;
        ffma(a, b, c) = _mm512_fmadd_ps;
    }

    tests! {
        eq = _mm512_cmpeq_epi32_mask;
        ult = _mm512_cmplt_epu32_mask;
        ilt = _mm512_cmplt_epi32_mask;
    }

    single_tests! {
        feq = _CMP_EQ_OQ;
        flt = _CMP_LT_OQ;
        fle = _CMP_LE_OQ;
        funordered = _CMP_UNORD_Q;
    }

    wide! {
        dadd(a, b) = _mm512_add_epi64;
        dsub(a, b) = _mm512_sub_epi64;
        dmul(a, b) = _mm512_mullo_epi64;
        dshl(a, b) = _mm512_sllv_epi64;
        dshr(a, b) = _mm512_srlv_epi64;
        dsar(a, b) = _mm512_srav_epi64;
    }

    double! {
        gsqrt(a) = _mm512_sqrt_pd;
        gfloor(a) = _mm512_roundscale_pd::<FLOOR>;
        gceil(a) = _mm512_roundscale_pd::<CEIL>;
        gtrunc(a) = _mm512_roundscale_pd::<TRUNC>;
        grint(a) = _mm512_roundscale_pd::<NEAREST>;
        gadd(a, b) = _mm512_add_pd;
        gmul(a, b) = _mm512_mul_pd;
        gdiv(a, b) = _mm512_div_pd;
        gfma(a, b, c) = _mm512_fmadd_pd;
    }

    wide_tests! {
        deq |a, b| _mm512_cmpeq_epi64_mask(a, b);
        dult |a, b| _mm512_cmplt_epu64_mask(a, b);
        dilt |a, b| _mm512_cmplt_epi64_mask(a, b);
        geq |a, b| _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b));
        glt |a, b| _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b));
        gle |a, b| _mm512_cmp_pd_mask::<_CMP_LE_OQ>(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b));
        gunordered |a, b| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b));
    }

    #[inline(always)]
    unsafe fn not(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_xor_si512(a, _mm512_set1_epi32(-1)) }
    }

    #[inline(always)]
    unsafe fn mul_high(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a, b));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_blend_epi32(0xaaaa, even, odd)
        }
    }

    #[inline(always)]
    unsafe fn mul_high_signed(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epi32(a, b));
            let odd = _mm512_mul_epi32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_blend_epi32(0xaaaa, even, odd)
        }
    }

    #[inline(always)]
    unsafe fn mul_wide(a: Self::V, b: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (Self::extend(a), Self::extend(b));
            [_mm512_mul_epu32(a[0], b[0]), _mm512_mul_epu32(a[1], b[1])]
        }
    }

    #[inline(always)]
    unsafe fn mul_wide_signed(a: Self::V, b: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (Self::extend(a), Self::extend(b));
            [_mm512_mul_epi32(a[0], b[0]), _mm512_mul_epi32(a[1], b[1])]
        }
    }

    #[inline(always)]
    unsafe fn f_from_i32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_castps_si512(_mm512_cvtepi32_ps(a)) }
    }

    #[inline(always)]
    unsafe fn f_from_u32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_castps_si512(_mm512_cvtepu32_ps(a)) }
    }

    #[inline(always)]
    unsafe fn f_to_i32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            let a = _mm512_castsi512_ps(a);
            let ordered = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(a, a);
            let large = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, _mm512_set1_ps(2_147_483_648.0));
            let value = _mm512_maskz_cvttps_epi32(ordered, a);
            _mm512_mask_blend_epi32(large, value, _mm512_set1_epi32(i32::MAX))
        }
    }

    #[inline(always)]
    unsafe fn f_to_small_i32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_cvttps_epi32(_mm512_castsi512_ps(a)) }
    }

    #[inline(always)]
    unsafe fn f_to_u32(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise. The maximum returns its second operand for NaN; values that are too
        // large become all ones.
        unsafe { _mm512_cvttps_epu32(_mm512_max_ps(_mm512_castsi512_ps(a), _mm512_setzero_ps())) }
    }

    #[inline(always)]
    unsafe fn from_half(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a))) }
    }

    #[inline(always)]
    unsafe fn to_half(a: Self::V) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe { _mm512_cvtepu16_epi32(_mm512_cvtps_ph::<NEAREST>(_mm512_castsi512_ps(a))) }
    }

    #[inline(always)]
    unsafe fn extend(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = halves(a);
            per_half!(|half = a| _mm512_cvtepu32_epi64(half))
        }
    }

    #[inline(always)]
    unsafe fn extend_signed(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = halves(a);
            per_half!(|half = a| _mm512_cvtepi32_epi64(half))
        }
    }

    #[inline(always)]
    unsafe fn g_from_f32(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = halves(a);
            per_half!(|half = a| _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_castsi256_ps(half))))
        }
    }

    #[inline(always)]
    unsafe fn g_from_i32(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = halves(a);
            per_half!(|half = a| _mm512_castpd_si512(_mm512_cvtepi32_pd(half)))
        }
    }

    #[inline(always)]
    unsafe fn g_from_u32(a: Self::V) -> Self::D {
        // SAFETY: the caller's promise.
        unsafe {
            let a = halves(a);
            per_half!(|half = a| _mm512_castpd_si512(_mm512_cvtepu32_pd(half)))
        }
    }

    #[inline(always)]
    unsafe fn g_to_f32(a: Self::D) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            joined(per_half!(|half = a| _mm256_castps_si256(_mm512_cvtpd_ps(_mm512_castsi512_pd(half)))))
        }
    }

    #[inline(always)]
    unsafe fn g_to_i32(a: Self::D) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            joined(per_half!(|half = a| {
                let half = _mm512_castsi512_pd(half);
                let ordered = _mm512_cmp_pd_mask::<_CMP_ORD_Q>(half, half);
                let large = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(half, _mm512_set1_pd(2_147_483_648.0));
                let value = _mm512_maskz_cvttpd_epi32(ordered, half);
                _mm256_mask_blend_epi32(large, value, _mm256_set1_epi32(i32::MAX))
            }))
        }
    }

    #[inline(always)]
    unsafe fn g_to_u32(a: Self::D) -> Self::V {
        // SAFETY: the caller's promise.
        unsafe {
            joined(
                per_half!(|half = a| _mm512_cvttpd_epu32(_mm512_max_pd(_mm512_castsi512_pd(half), _mm512_setzero_pd()))),
            )
        }
    }
}
