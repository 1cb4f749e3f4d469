//! Tables and scales of quantised blocks, as GGUF defines them, for the code that makes numbers of blocks and
//! for that which multiplies them as integers.
//!
//! All of it is inlined into functions for processors with AVX2. Library functions that are not would run
//! without it, so there are only indices here.

/// What 4 bits of IQ4_NL and IQ4_XS stand for.
pub(super) const DENSE_NEAR_ZERO: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Twice what 4 bits of MXFP4 stand for; the half of -0 is 0 here.
pub(super) const MXFP4_DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// A table's numbers, times a factor, in f32.
pub(super) const fn in_f32(table: [i8; 16], factor: f32) -> [f32; 16] {
    let mut numbers = [0.0; 16];
    let mut at = 0;
    while at < 16 {
        numbers[at] = table[at] as f32 * factor;
        at += 1;
    }
    numbers
}

/// A power of two by MXFP4's exponent; 255 means NaN.
#[inline(always)]
pub(super) fn mxfp4_power(exponent: u8) -> f32 {
    match exponent {
        0 => f32::from_bits(0x0040_0000),
        255 => f32::NAN,
        _ => f32::from_bits(u32::from(exponent) << 23),
    }
}

/// The scale of each eighth of an IQ4_XS block, in units of the block's.
#[inline(always)]
pub(super) fn iq4_xs_scale(block: &[u8], eighth: usize) -> f32 {
    let low = block[4 + eighth / 2] >> (4 * (eighth % 2)) & 15;
    let upper = block[2 + eighth / 4] >> (2 * (eighth % 4)) & 3;
    (i32::from(low | upper << 4) - 32) as f32
}

/// The scale and the minimum of each sixteenth of a Q2_K block, in units of the block's.
#[inline(always)]
pub(super) fn q2_k_scales(block: &[u8], sixteenth: usize) -> (f32, f32) {
    let both = block[sixteenth];
    (f32::from(both & 15), f32::from(both >> 4))
}

/// The scale of each sixteenth of a Q3_K block, in units of the block's.
#[inline(always)]
pub(super) fn q3_k_scale(block: &[u8], sixteenth: usize) -> f32 {
    let low = block[96 + sixteenth % 8] >> (4 * (sixteenth / 8)) & 15;
    let upper = block[104 + sixteenth % 4] >> (2 * (sixteenth / 4)) & 3;
    (i32::from(low | upper << 4) - 32) as f32
}

/// The scale and the minimum of each eighth of a Q4_K or Q5_K block, in units of the block's.
#[inline(always)]
pub(super) fn q4_k_scales(block: &[u8], eighth: usize) -> (f32, f32) {
    let s = &block[4..16];
    let (scale, minimum) = if eighth < 4 {
        (s[eighth] & 63, s[eighth + 4] & 63)
    } else {
        (s[eighth + 4] & 15 | s[eighth - 4] >> 6 << 4, s[eighth + 4] >> 4 | s[eighth] >> 6 << 4)
    };
    (f32::from(scale), f32::from(minimum))
}

/// The scale of each sixteenth of a Q6_K block, in units of the block's.
#[inline(always)]
pub(super) fn q6_k_scale(block: &[u8], sixteenth: usize) -> f32 {
    f32::from(block[192 + sixteenth] as i8)
}
