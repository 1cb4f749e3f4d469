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

/// The sum of products. Of slices of different lengths, the rest of the longer one is ignored.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has AVX2 and FMA.
        return unsafe { dot_wide(a, b) };
    }
    // Sums that are kept apart, so that the loop can be vectorised.
    const LANES: usize = 16;
    let mut sums = [0.0_f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let whole = a.len().min(b.len()) / LANES * LANES;
    let rest: f32 = a[whole..].iter().zip(&b[whole..]).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f32>() + rest
}

// In functions with target features, iterators that are not inlined would run without AVX2, and cost more
// than the work. So these have loops over indices.

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_wide(a: &[f32], b: &[f32]) -> f32 {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps};
    let len = a.len().min(b.len());
    let (a_start, b_start) = (a.as_ptr(), b.as_ptr());
    let [mut w, mut x, mut y, mut z] = [_mm256_setzero_ps(); 4];
    let mut at = 0;
    while at + 32 <= len {
        // SAFETY: both have 32 elements from here on, and any alignment will do.
        unsafe {
            let (a, b) = (a_start.add(at), b_start.add(at));
            w = _mm256_fmadd_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b), w);
            x = _mm256_fmadd_ps(_mm256_loadu_ps(a.add(8)), _mm256_loadu_ps(b.add(8)), x);
            y = _mm256_fmadd_ps(_mm256_loadu_ps(a.add(16)), _mm256_loadu_ps(b.add(16)), y);
            z = _mm256_fmadd_ps(_mm256_loadu_ps(a.add(24)), _mm256_loadu_ps(b.add(24)), z);
        }
        at += 32;
    }
    while at + 8 <= len {
        // SAFETY: both have 8 elements from here on.
        unsafe { w = _mm256_fmadd_ps(_mm256_loadu_ps(a_start.add(at)), _mm256_loadu_ps(b_start.add(at)), w) };
        at += 8;
    }
    let mut sum = sum_wide(_mm256_add_ps(_mm256_add_ps(w, x), _mm256_add_ps(y, z)));
    while at < len {
        sum += a[at] * b[at];
        at += 1;
    }
    sum
}

/// The sum of eight numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn sum_wide(x: std::arch::x86_64::__m256) -> f32 {
    use std::arch::x86_64::{
        _mm_add_ps, _mm_cvtss_f32, _mm_hadd_ps, _mm256_castps256_ps128, _mm256_extractf128_ps,
    };
    let halves = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    let pairs = _mm_hadd_ps(halves, halves);
    _mm_cvtss_f32(_mm_hadd_ps(pairs, pairs))
}

/// `y += factor · x`.
pub(super) fn axpy(factor: f32, x: &[f32], y: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has AVX2 and FMA.
        unsafe { axpy_wide(factor, x, y) };
        return;
    }
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn axpy_wide(factor: f32, x: &[f32], y: &mut [f32]) {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps};
    let (len, factors) = (x.len().min(y.len()), _mm256_set1_ps(factor));
    let (x_start, y_start) = (x.as_ptr(), y.as_mut_ptr());
    let mut at = 0;
    while at + 8 <= len {
        // SAFETY: both have 8 elements from here on, and any alignment will do.
        unsafe {
            let sum =
                _mm256_fmadd_ps(factors, _mm256_loadu_ps(x_start.add(at)), _mm256_loadu_ps(y_start.add(at)));
            _mm256_storeu_ps(y_start.add(at), sum);
        }
        at += 8;
    }
    while at < len {
        y[at] += factor * x[at];
        at += 1;
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
    let mut at = 0;
    while at < whole {
        // SAFETY: both have 8 elements from here on, and any alignment will do.
        unsafe {
            let eight = _mm_loadu_si128(bits.as_ptr().add(at).cast());
            _mm256_storeu_ps(out.as_mut_ptr().add(at), _mm256_cvtph_ps(eight));
        }
        at += 8;
    }
    for (out, x) in out[whole..].iter_mut().zip(&bits[whole..]) {
        *out = f16_to_f32(x.to_bits());
    }
}

wide! {
    /// bf16 as f32.
    pub(super) fn from_bf16(bits: &[half::bf16], out: &mut [f32]) {
        let len = bits.len().min(out.len());
        let (bits, out) = (&bits[..len], &mut out[..len]);
        for i in 0..len {
            out[i] = f32::from_bits(u32::from(bits[i].to_bits()) << 16);
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
