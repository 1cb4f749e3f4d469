//! Values of quantised blocks, as GGUF defines them.

use kernels::QuantType;

use super::blocks;
use super::simd::{f16_to_f32, wide};

/// The half at a byte.
#[inline(always)]
fn half(block: &[u8], at: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes([block[at], block[at + 1]]))
}

/// The numbers that blocks represent, each to within a rounding or two of f32. `out` has as many as the whole
/// blocks of `blocks`.
pub(crate) fn dequantise(quant: QuantType, blocks: &[u8], out: &mut [f32]) {
    match quant {
        QuantType::Q4_0 => q4_0(blocks, out),
        QuantType::Q4_1 => q4_1(blocks, out),
        QuantType::Q5_0 => q5_0(blocks, out),
        QuantType::Q5_1 => q5_1(blocks, out),
        QuantType::Q8_0 => q8_0(blocks, out),
        QuantType::Q2K => q2_k(blocks, out),
        QuantType::Q3K => q3_k(blocks, out),
        QuantType::Q4K => q4_k(blocks, out),
        QuantType::Q5K => q5_k(blocks, out),
        QuantType::Q6K => q6_k(blocks, out),
        QuantType::Iq4Nl => iq4_nl(blocks, out),
        QuantType::Iq4Xs => iq4_xs(blocks, out),
        QuantType::Mxfp4 => mxfp4(blocks, out),
        // A type that is new in `kernels` is correct at once, and slow until it has a row above.
        other => {
            let values = other.dequantize(blocks);
            out[..values.len()].copy_from_slice(&values);
        }
    }
}

wide! {
    fn q4_0(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(18).zip(out.chunks_exact_mut(32)) {
            let d = half(block, 0);
            for i in 0..16 {
                let q = block[2 + i];
                out[i] = d * (i32::from(q & 15) - 8) as f32;
                out[i + 16] = d * (i32::from(q >> 4) - 8) as f32;
            }
        }
    }
}

wide! {
    fn q4_1(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(20).zip(out.chunks_exact_mut(32)) {
            let (d, least) = (half(block, 0), half(block, 2));
            for i in 0..16 {
                let q = block[4 + i];
                out[i] = d * f32::from(q & 15) + least;
                out[i + 16] = d * f32::from(q >> 4) + least;
            }
        }
    }
}

/// The fifth bits of 32 numbers, each as 16 or 0.
#[inline(always)]
fn fifth(block: &[u8], at: usize) -> [u8; 32] {
    let bits = u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    let mut out = [0; 32];
    for (i, out) in out.iter_mut().enumerate() {
        *out = ((bits >> i & 1) << 4) as u8;
    }
    out
}

wide! {
    fn q5_0(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(22).zip(out.chunks_exact_mut(32)) {
            let (d, high) = (half(block, 0), fifth(block, 2));
            for i in 0..16 {
                let q = block[6 + i];
                out[i] = d * (i32::from(q & 15 | high[i]) - 16) as f32;
                out[i + 16] = d * (i32::from(q >> 4 | high[i + 16]) - 16) as f32;
            }
        }
    }
}

wide! {
    fn q5_1(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(24).zip(out.chunks_exact_mut(32)) {
            let (d, least, high) = (half(block, 0), half(block, 2), fifth(block, 4));
            for i in 0..16 {
                let q = block[8 + i];
                out[i] = d * f32::from(q & 15 | high[i]) + least;
                out[i + 16] = d * f32::from(q >> 4 | high[i + 16]) + least;
            }
        }
    }
}

wide! {
    fn q8_0(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(34).zip(out.chunks_exact_mut(32)) {
            let d = half(block, 0);
            for i in 0..32 {
                out[i] = d * f32::from(block[2 + i] as i8);
            }
        }
    }
}

wide! {
    fn q2_k(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(84).zip(out.chunks_exact_mut(256)) {
            let (d, least) = (half(block, 80), half(block, 82));
            for (group, out) in out.chunks_exact_mut(16).enumerate() {
                let (scale, minimum) = blocks::q2_k_scales(block, group);
                let (scale, minimum) = (d * scale, least * minimum);
                // Of each 128 numbers, a byte has one of each quarter.
                let (bytes, shift) = (16 + group / 8 * 32 + group % 2 * 16, group / 2 % 4 * 2);
                for (i, out) in out.iter_mut().enumerate() {
                    *out = scale * f32::from(block[bytes + i] >> shift & 3) - minimum;
                }
            }
        }
    }
}

wide! {
    fn q3_k(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(110).zip(out.chunks_exact_mut(256)) {
            let d = half(block, 108);
            for (group, out) in out.chunks_exact_mut(16).enumerate() {
                let scale = d * blocks::q3_k_scale(block, group);
                let (bytes, shift) = (32 + group / 8 * 32 + group % 2 * 16, group / 2 % 4 * 2);
                let (masks, bit) = (group % 2 * 16, group / 2);
                for (i, out) in out.iter_mut().enumerate() {
                    let high = block[masks + i] >> bit & 1;
                    let q = block[bytes + i] >> shift & 3 | high << 2;
                    *out = scale * (i32::from(q) - 4) as f32;
                }
            }
        }
    }
}

/// The scale and minimum of each eighth of a Q4_K or Q5_K block.
#[inline(always)]
fn scale_and_minimum(block: &[u8], eighth: usize) -> (f32, f32) {
    let (scale, minimum) = blocks::q4_k_scales(block, eighth);
    (half(block, 0) * scale, half(block, 2) * minimum)
}

wide! {
    fn q4_k(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(144).zip(out.chunks_exact_mut(256)) {
            for (quarter, out) in out.chunks_exact_mut(64).enumerate() {
                let (low, low_minimum) = scale_and_minimum(block, 2 * quarter);
                let (high, high_minimum) = scale_and_minimum(block, 2 * quarter + 1);
                let bytes = &block[16 + 32 * quarter..][..32];
                let (first, second) = out.split_at_mut(32);
                for i in 0..32 {
                    first[i] = low * f32::from(bytes[i] & 15) - low_minimum;
                    second[i] = high * f32::from(bytes[i] >> 4) - high_minimum;
                }
            }
        }
    }
}

wide! {
    fn q5_k(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(176).zip(out.chunks_exact_mut(256)) {
            for (quarter, out) in out.chunks_exact_mut(64).enumerate() {
                let (low, low_minimum) = scale_and_minimum(block, 2 * quarter);
                let (high, high_minimum) = scale_and_minimum(block, 2 * quarter + 1);
                let (fifths, bytes) = (&block[16..48], &block[48 + 32 * quarter..][..32]);
                let (first, second) = out.split_at_mut(32);
                for i in 0..32 {
                    let fifth = fifths[i] >> (2 * quarter);
                    first[i] = low * f32::from(bytes[i] & 15 | (fifth & 1) << 4) - low_minimum;
                    second[i] = high * f32::from(bytes[i] >> 4 | (fifth >> 1 & 1) << 4) - high_minimum;
                }
            }
        }
    }
}

wide! {
    fn q6_k(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(210).zip(out.chunks_exact_mut(256)) {
            let d = half(block, 208);
            for (eighth, out) in out.chunks_exact_mut(32).enumerate() {
                let (part, at) = (eighth / 4, eighth % 4);
                let lows = &block[64 * part + 32 * (at % 2)..][..32];
                let highs = &block[128 + 32 * part..][..32];
                let (low_shift, high_shift) = (4 * (at / 2), 2 * at);
                for (sixteenth, out) in out.chunks_exact_mut(16).enumerate() {
                    let scale = d * blocks::q6_k_scale(block, 2 * eighth + sixteenth);
                    for (i, out) in out.iter_mut().enumerate() {
                        let at = 16 * sixteenth + i;
                        let q = lows[at] >> low_shift & 15 | (highs[at] >> high_shift & 3) << 4;
                        *out = scale * (i32::from(q) - 32) as f32;
                    }
                }
            }
        }
    }
}

/// What 4 bits of IQ4_NL and IQ4_XS stand for.
const DENSE_NEAR_ZERO: [f32; 16] = blocks::in_f32(blocks::DENSE_NEAR_ZERO, 1.0);

wide! {
    fn iq4_nl(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(18).zip(out.chunks_exact_mut(32)) {
            let d = half(block, 0);
            for i in 0..16 {
                out[i] = d * DENSE_NEAR_ZERO[usize::from(block[2 + i] & 15)];
                out[i + 16] = d * DENSE_NEAR_ZERO[usize::from(block[2 + i] >> 4)];
            }
        }
    }
}

wide! {
    fn iq4_xs(blocks: &[u8], out: &mut [f32]) {
        for (block, out) in blocks.chunks_exact(136).zip(out.chunks_exact_mut(256)) {
            let d = half(block, 0);
            for (eighth, out) in out.chunks_exact_mut(32).enumerate() {
                let scale = d * blocks::iq4_xs_scale(block, eighth);
                let bytes = &block[8 + 16 * eighth..][..16];
                for i in 0..16 {
                    out[i] = scale * DENSE_NEAR_ZERO[usize::from(bytes[i] & 15)];
                    out[i + 16] = scale * DENSE_NEAR_ZERO[usize::from(bytes[i] >> 4)];
                }
            }
        }
    }
}

wide! {
    fn mxfp4(blocks: &[u8], out: &mut [f32]) {
        const VALUES: [f32; 16] = blocks::in_f32(blocks::MXFP4_DOUBLED, 0.5);
        for (block, out) in blocks.chunks_exact(17).zip(out.chunks_exact_mut(32)) {
            let d = blocks::mxfp4_power(block[0]);
            for i in 0..16 {
                out[i] = d * VALUES[usize::from(block[1 + i] & 15)];
                out[i + 16] = d * VALUES[usize::from(block[1 + i] >> 4)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of any bytes, whose scales are finite. The reference in `kernels` is checked against blocks
    /// written by hand.
    #[test]
    fn every_type_has_the_values_of_its_definition() {
        let mut state = 12_345_u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for quant in QuantType::ALL {
            let mut blocks: Vec<u8> = (0..50 * quant.block_bytes()).map(|_| byte()).collect();
            if quant == QuantType::Mxfp4 {
                // Infinities of f32 are beyond the format's use.
                blocks.chunks_exact_mut(17).for_each(|block| block[0] = block[0].clamp(0, 250));
            }
            let expected = quant.dequantize(&blocks);
            let mut got = vec![0.0; expected.len()];
            dequantise(quant, &blocks, &mut got);
            for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
                let same = (got.is_nan() && expected.is_nan())
                    || got == expected
                    || (got - expected).abs() <= 1e-6 * expected.abs().max(largest(quant, &blocks, i));
                assert!(same, "{} {i}: {got} {expected}", quant.name());
            }
        }
    }

    /// The largest of the numbers whose difference value `i` is, for a tolerance.
    fn largest(quant: QuantType, blocks: &[u8], i: usize) -> f32 {
        let values = quant.block_values();
        let block = &blocks[i / values * quant.block_bytes()..][..quant.block_bytes()];
        quant.dequantize(block).iter().fold(0.0, |most: f32, x| most.max(x.abs()))
    }
}
