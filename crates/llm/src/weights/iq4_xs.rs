//! Blocks of the type IQ4_XS: 256 numbers of 4 bits, with a scale of 6 bits for each 32.

/// The type's number in GGUF files.
pub(super) const NUMBER: u32 = 23;
const BLOCK: usize = 136;
/// What 4 bits stand for.
const VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// The numbers of whole blocks.
pub(super) fn numbers(blocks: &[u8]) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(blocks.len() / BLOCK * 256);
    for block in blocks.as_chunks::<BLOCK>().0 {
        let scale = half::f16::from_le_bytes([block[0], block[1]]).to_f32();
        let high = u16::from_le_bytes([block[2], block[3]]);
        for part in 0..8 {
            let low = block[4 + part / 2] >> (4 * (part % 2)) & 15;
            let bits = i32::from(low) | i32::from(high >> (2 * part) & 3) << 4;
            let scale = scale * (bits - 32) as f32;
            let quants = &block[8 + 16 * part..][..16];
            let value = |bits: u8| scale * f32::from(VALUES[usize::from(bits)]);
            numbers.extend(quants.iter().map(|bits| value(bits & 15)));
            numbers.extend(quants.iter().map(|bits| value(bits >> 4)));
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: `gguf.quants.dequantize` of ggml-org's Python package `gguf`.
    #[test]
    fn a_block_means_what_ggml_says() {
        let mut block: Vec<u8> = (0..BLOCK as u32).map(|at| (at * 37 + 11) as u8).collect();
        block[..2].copy_from_slice(&half::f16::from_f32(0.125).to_le_bytes());
        let numbers = numbers(&block);
        assert_eq!(numbers.len(), 256);
        assert_eq!(numbers[..4], [8.125, -0.125, -8.625, 10.375]);
        assert_eq!(numbers[252..], [208.0, 98.0, 44.0, -2.0]);
        assert_eq!(numbers.iter().sum::<f32>(), -1375.625);
    }
}
