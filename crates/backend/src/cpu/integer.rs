//! Products of quantised rows with vectors of 8-bit integers, on processors with AVX2.
//!
//! A block's numbers are `scale · q + offset` of small integers q, and a vector's are `d · p` of signed bytes
//! p in blocks of 32, each with its own d. So a product is a sum of integers, times scales, plus offsets
//! times sums of the vector. Vectors are thereby rounded to 1/254 of the largest number of each 32, as on the
//! GPU.

use kernels::QuantType;

/// Numbers of a part: the unit of this file.
const PART: usize = 32;

/// 32 numbers of a vector.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Piece {
    p: [i8; PART],
    d: f32,
    /// The sums of each half.
    sums: [f32; 2],
}

/// Whether this processor has what the products need, and there is a way for the type.
pub(super) fn can_multiply(quant: QuantType) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        x86::row_function(quant).is_some() && super::simd::is_wide()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = quant;
        false
    }
}

super::simd::wide! {
    /// Rounds a vector, whose length is a multiple of 32.
    fn round_into(x: &[f32], out: &mut Vec<Piece>) {
        for x in x.chunks_exact(PART) {
            let mut most = 0.0_f32;
            for x in x {
                // Also a NaN.
                most = if x.abs() <= most { most } else { x.abs() };
            }
            let d = most / 127.0;
            let inverse = if d > 0.0 { 1.0 / d } else { 0.0 };
            let mut p = [0; PART];
            let mut sums = [0.0; 2];
            for (half, of_half) in sums.iter_mut().enumerate() {
                let mut sum = 0_i32;
                for i in 16 * half..16 * half + 16 {
                    let rounded = (x[i] * inverse).round_ties_even() as i32;
                    p[i] = rounded as i8;
                    sum += rounded;
                }
                *of_half = sum as f32 * d;
            }
            out.push(Piece { p, d, sums });
        }
    }
}

/// A vector in pieces.
pub(super) fn round(x: &[f32]) -> Vec<Piece> {
    let mut out = Vec::with_capacity(x.len() / PART);
    round_into(x, &mut out);
    out
}

/// The products of a row's blocks with some vectors, one after the other in `x`. For types and processors
/// that [`can_multiply`].
pub(super) fn row_times(quant: QuantType, blocks: &[u8], x: &[Piece], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if super::simd::is_wide()
        && let Some(function) = x86::row_function(quant)
    {
        // SAFETY: the processor has AVX2, FMA and F16C.
        unsafe { function(blocks, x, out) };
        return;
    }
    let _ = (quant, blocks, x);
    out.fill(f32::NAN);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_cvtph_ps, _mm_cvtsi32_si128, _mm_cvtss_f32, _mm_loadu_si128,
        _mm256_broadcastsi128_si256, _mm256_cvtepi32_ps, _mm256_fmadd_ps, _mm256_loadu_si256,
        _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_set1_epi16, _mm256_set1_ps,
        _mm256_setr_ps, _mm256_setzero_ps, _mm256_shuffle_epi8, _mm256_sign_epi8,
    };

    use kernels::QuantType;

    use super::{PART, Piece};
    use crate::cpu::blocks;
    use crate::cpu::simd::sum_wide;

    pub(super) type RowFunction = unsafe fn(&[u8], &[Piece], &mut [f32]);

    /// The integers of 32 numbers, with a scale and an offset of each half.
    struct Part {
        q: [u8; PART],
        scale: [f32; 2],
        offset: [f32; 2],
    }

    // Library functions that are not inlined into those with target features would run without AVX2, and cost
    // more than the product. So there are loops over indices here.

    /// A type of blocks.
    trait Blocks {
        const BYTES: usize;
        /// Parts of a block.
        const PARTS: usize;
        /// Whether q are signed bytes with offsets of 0. Else they are below 128.
        const SIGNED: bool = false;
        /// Signed bytes that q stand for, if they are not these themselves.
        const TABLE: Option<[i8; 16]> = None;
        fn part(block: &[u8], at: usize) -> Part;
    }

    #[inline(always)]
    fn half(block: &[u8], at: usize) -> f32 {
        let bits = u16::from_le_bytes([block[at], block[at + 1]]);
        // SAFETY: the caller has F16C; other bits are zero.
        unsafe { _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(bits)))) }
    }

    #[inline(always)]
    fn both(q: [u8; PART], scale: f32, offset: f32) -> Part {
        Part { q, scale: [scale; 2], offset: [offset; 2] }
    }

    /// Lower halves of bytes, then upper halves.
    #[inline(always)]
    fn nibbles(bytes: &[u8]) -> [u8; PART] {
        let mut q = [0; PART];
        let bytes = &bytes[..16];
        for i in 0..16 {
            q[i] = bytes[i] & 15;
            q[i + 16] = bytes[i] >> 4;
        }
        q
    }

    #[inline(always)]
    fn with_fifths(mut q: [u8; PART], block: &[u8], at: usize) -> [u8; PART] {
        let bits = &block[at..at + 4];
        for i in 0..PART {
            q[i] |= (bits[i / 8] >> (i % 8) & 1) << 4;
        }
        q
    }

    macro_rules! blocks {
        ($name:ident, $bytes:literal, $parts:literal, $signed:literal, $table:expr, |$block:ident, $at:ident| $body:expr) => {
            struct $name;
            impl Blocks for $name {
                const BYTES: usize = $bytes;
                const PARTS: usize = $parts;
                const SIGNED: bool = $signed;
                const TABLE: Option<[i8; 16]> = $table;
                #[inline(always)]
                fn part($block: &[u8], $at: usize) -> Part {
                    $body
                }
            }
        };
    }

    blocks!(Q4_0, 18, 1, false, None, |block, _at| {
        let d = half(block, 0);
        both(nibbles(&block[2..]), d, -8.0 * d)
    });
    blocks!(Q4_1, 20, 1, false, None, |block, _at| both(
        nibbles(&block[4..]),
        half(block, 0),
        half(block, 2)
    ));
    blocks!(Q5_0, 22, 1, false, None, |block, _at| {
        let d = half(block, 0);
        both(with_fifths(nibbles(&block[6..]), block, 2), d, -16.0 * d)
    });
    blocks!(Q5_1, 24, 1, false, None, |block, _at| {
        both(with_fifths(nibbles(&block[8..]), block, 4), half(block, 0), half(block, 2))
    });
    blocks!(Q8_0, 34, 1, true, None, |block, _at| {
        // SAFETY: the slice has 32 bytes, of any alignment.
        let q = unsafe { block[2..34].as_ptr().cast::<[u8; PART]>().read_unaligned() };
        both(q, half(block, 0), 0.0)
    });
    blocks!(Iq4Nl, 18, 1, true, Some(blocks::DENSE_NEAR_ZERO), |block, _at| both(
        nibbles(&block[2..]),
        half(block, 0),
        0.0
    ));
    blocks!(Iq4Xs, 136, 8, true, Some(blocks::DENSE_NEAR_ZERO), |block, at| {
        let scale = blocks::iq4_xs_scale(block, at);
        both(nibbles(&block[8 + 16 * at..]), half(block, 0) * scale, 0.0)
    });
    // Twice the numbers, with half the scale.
    blocks!(Mxfp4, 17, 1, true, Some(blocks::MXFP4_DOUBLED), |block, _at| both(
        nibbles(&block[1..]),
        0.5 * blocks::mxfp4_power(block[0]),
        0.0
    ));

    /// Two bits of each of 32 bytes.
    #[inline(always)]
    fn crumbs(bytes: &[u8], shift: usize) -> [u8; PART] {
        let (mut q, bytes) = ([0; PART], &bytes[..PART]);
        for i in 0..PART {
            q[i] = bytes[i] >> shift & 3;
        }
        q
    }

    blocks!(Q2K, 84, 8, false, None, |block, at| {
        let (d, least) = (half(block, 80), half(block, 82));
        let (first, second) = (blocks::q2_k_scales(block, 2 * at), blocks::q2_k_scales(block, 2 * at + 1));
        Part {
            q: crumbs(&block[16 + at / 4 * 32..], at % 4 * 2),
            scale: [d * first.0, d * second.0],
            offset: [-least * first.1, -least * second.1],
        }
    });
    blocks!(Q3K, 110, 8, false, None, |block, at| {
        let d = half(block, 108);
        let mut q = crumbs(&block[32 + at / 4 * 32..], at % 4 * 2);
        for i in 0..PART {
            q[i] |= (block[i] >> at & 1) << 2;
        }
        let scale = [d * blocks::q3_k_scale(block, 2 * at), d * blocks::q3_k_scale(block, 2 * at + 1)];
        Part { q, scale, offset: [-4.0 * scale[0], -4.0 * scale[1]] }
    });

    /// The scale and the offset of each eighth of a Q4_K or Q5_K block.
    #[inline(always)]
    fn of_eighth(block: &[u8], eighth: usize) -> (f32, f32) {
        let (scale, minimum) = blocks::q4_k_scales(block, eighth);
        (half(block, 0) * scale, -half(block, 2) * minimum)
    }

    /// The lower or upper halves of 32 bytes.
    #[inline(always)]
    fn halves(bytes: &[u8], shift: usize) -> [u8; PART] {
        let (mut q, bytes) = ([0; PART], &bytes[..PART]);
        for i in 0..PART {
            q[i] = bytes[i] >> shift & 15;
        }
        q
    }

    blocks!(Q4K, 144, 8, false, None, |block, at| {
        let (scale, offset) = of_eighth(block, at);
        both(halves(&block[16 + at / 2 * 32..], at % 2 * 4), scale, offset)
    });
    blocks!(Q5K, 176, 8, false, None, |block, at| {
        let (scale, offset) = of_eighth(block, at);
        let mut q = halves(&block[48 + at / 2 * 32..], at % 2 * 4);
        for i in 0..PART {
            q[i] |= (block[16 + i] >> at & 1) << 4;
        }
        both(q, scale, offset)
    });
    blocks!(Q6K, 210, 8, false, None, |block, at| {
        let (d, part) = (half(block, 208), at / 4);
        let mut q = halves(&block[64 * part + 32 * (at % 2)..], at % 4 / 2 * 4);
        let (highs, shift) = (&block[128 + 32 * part..][..PART], at % 4 * 2);
        for i in 0..PART {
            q[i] |= (highs[i] >> shift & 3) << 4;
        }
        let scale = [d * blocks::q6_k_scale(block, 2 * at), d * blocks::q6_k_scale(block, 2 * at + 1)];
        Part { q, scale, offset: [-32.0 * scale[0], -32.0 * scale[1]] }
    });

    /// The function for a type.
    pub(super) fn row_function(quant: QuantType) -> Option<RowFunction> {
        Some(match quant {
            QuantType::Q4_0 => row::<Q4_0>,
            QuantType::Q4_1 => row::<Q4_1>,
            QuantType::Q5_0 => row::<Q5_0>,
            QuantType::Q5_1 => row::<Q5_1>,
            QuantType::Q8_0 => row::<Q8_0>,
            QuantType::Q2K => row::<Q2K>,
            QuantType::Q3K => row::<Q3K>,
            QuantType::Q4K => row::<Q4K>,
            QuantType::Q5K => row::<Q5K>,
            QuantType::Q6K => row::<Q6K>,
            QuantType::Iq4Nl => row::<Iq4Nl>,
            QuantType::Iq4Xs => row::<Iq4Xs>,
            QuantType::Mxfp4 => row::<Mxfp4>,
            _ => return None,
        })
    }

    #[inline(always)]
    fn load<T>(bytes: &[T; PART]) -> __m256i {
        // SAFETY: 32 bytes can be read, at any alignment; the caller has AVX2.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_table(bytes: &[i8; 16]) -> __m128i {
        // SAFETY: 16 bytes can be read, at any alignment; every x86-64 processor has SSE2.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    /// Vectors that are multiplied at a time.
    const VECTORS: usize = 4;

    #[target_feature(enable = "avx2,fma,f16c")]
    fn row<B: Blocks>(blocks: &[u8], x: &[Piece], out: &mut [f32]) {
        let parts = blocks.len() / B::BYTES * B::PARTS;
        for (x, out) in x.chunks(parts.max(1) * VECTORS).zip(out.chunks_mut(VECTORS)) {
            match out.len() {
                1 => some::<B, 1>(blocks, x, parts, out),
                2 => some::<B, 2>(blocks, x, parts, out),
                3 => some::<B, 3>(blocks, x, parts, out),
                _ => some::<B, VECTORS>(blocks, x, parts, out),
            }
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    fn some<B: Blocks, const N: usize>(blocks: &[u8], x: &[Piece], parts: usize, out: &mut [f32]) {
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_ps(); N];
        let mut offsets = [0.0_f32; N];
        let vectors: [&[Piece]; N] = std::array::from_fn(|i| &x[i * parts..(i + 1) * parts]);
        for (number, block) in blocks.chunks_exact(B::BYTES).enumerate() {
            for at in 0..B::PARTS {
                let Part { q, scale: [a, b], offset } = B::part(block, at);
                let q = match B::TABLE {
                    Some(table) => {
                        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_table(&table)), load(&q))
                    }
                    None => load(&q),
                };
                let scale = _mm256_setr_ps(a, a, a, a, b, b, b, b);
                for (i, x) in vectors.iter().enumerate() {
                    let piece = &x[number * B::PARTS + at];
                    let p = load(&piece.p);
                    // Products of an unsigned and a signed byte; two of them fit into 16 bits.
                    let pairs = if B::SIGNED {
                        _mm256_maddubs_epi16(_mm256_sign_epi8(q, q), _mm256_sign_epi8(p, q))
                    } else {
                        _mm256_maddubs_epi16(q, p)
                    };
                    let fours = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, ones));
                    let factor = _mm256_mul_ps(scale, _mm256_set1_ps(piece.d));
                    sums[i] = _mm256_fmadd_ps(factor, fours, sums[i]);
                    if !B::SIGNED {
                        offsets[i] += offset[0] * piece.sums[0] + offset[1] * piece.sums[1];
                    }
                }
            }
        }
        for i in 0..N {
            out[i] = sum_wide(sums[i]) + offsets[i];
        }
    }
}
