//! Loops that are compiled twice on x86-64: for every processor, and for those with AVX2.

/// Whether this processor has AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_wide() -> bool {
    // The macros remember the answer.
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

/// Defines a function whose body is also compiled for AVX2, and chosen when it is called.
macro_rules! wide {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,f16c")]
                fn wide($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                if $crate::cpu::simd::is_wide() {
                    // SAFETY: the processor has these features.
                    return unsafe { wide($($argument),*) };
                }
            }
            body($($argument),*)
        }
    };
}
pub(super) use wide;

/// Sums that a loop keeps apart, so that it can be vectorised.
const LANES: usize = 32;

wide! {
    /// The sum of products.
    pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
        let mut sums = [0.0_f32; LANES];
        let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
        for (a, b) in a_chunks.zip(b_chunks) {
            for i in 0..LANES {
                sums[i] += a[i] * b[i];
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for i in 0..width {
                sums[i] += sums[i + width];
            }
            width /= 2;
        }
        sums[0] + rest
    }
}

wide! {
    /// `y += factor · x`.
    pub(super) fn axpy(factor: f32, x: &[f32], y: &mut [f32]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y += factor * x;
        }
    }
}

/// Halves as f32.
pub(super) fn from_halves(bits: &[half::f16], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has F16C.
        unsafe { from_halves_wide(bits, out) };
        return;
    }
    for (out, x) in out.iter_mut().zip(bits) {
        *out = f16_to_f32(x.to_bits());
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn from_halves_wide(bits: &[half::f16], out: &mut [f32]) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};
    let whole = bits.len().min(out.len()) / 8 * 8;
    for (bits, out) in bits[..whole].chunks_exact(8).zip(out[..whole].chunks_exact_mut(8)) {
        // SAFETY: each chunk has 8 elements, and any alignment will do.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(bits.as_ptr().cast()))) };
    }
    for (out, x) in out[whole..].iter_mut().zip(&bits[whole..]) {
        *out = f16_to_f32(x.to_bits());
    }
}

wide! {
    /// bf16 as f32.
    pub(super) fn from_bf16(bits: &[half::bf16], out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(bits) {
            *out = f32::from_bits(u32::from(x.to_bits()) << 16);
        }
    }
}

/// A half as f32, without branches: subnormal numbers are normalised by a subtraction.
#[inline(always)]
pub(super) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let shifted = u32::from(bits & 0x7fff) << 13;
    // 2^112 moves the exponent to where f32 has it, also that of subnormal numbers.
    let scaled = (f32::from_bits(shifted) * f32::from_bits(0x7780_0000)).to_bits();
    let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 | shifted } else { scaled };
    f32::from_bits(sign | special)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_converts_exactly() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32();
            let mut out = [0.0; 11];
            from_halves(&[half::f16::from_bits(bits); 11], &mut out);
            for got in [f16_to_f32(bits), out[0], out[10]] {
                assert!(
                    got == expected || (got.is_nan() && expected.is_nan()),
                    "{bits:#x}: {got} {expected}"
                );
            }
        }
    }

    #[test]
    fn sums_of_products_have_every_element() {
        for len in [0, 1, 31, 32, 33, 100] {
            let a: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let expected: f32 = a.iter().map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), expected, "{len}");
        }
    }
}
