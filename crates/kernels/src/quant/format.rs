//! The block formats of GGUF: sizes, and how a block encodes values.

use half::f16;

/// A type of quantised numbers: a matrix's rows consist of blocks, each of which holds the values of some
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of the formats")]
pub enum QuantType {
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Nl,
    Iq4Xs,
    Mxfp4,
}

/// Everything about a type.
pub(super) struct Format {
    quant: QuantType,
    /// The kernels for products with one vector, with a few, and with many. NVIDIA's GPUs have another for a
    /// few, which streams the matrix.
    pub(super) gemv: &'static str,
    pub(super) vec: &'static str,
    pub(super) few: &'static str,
    pub(super) gemm: &'static str,
    name: &'static str,
    /// The type's number in GGUF files.
    gguf: u32,
    values: usize,
    bytes: usize,
    /// A block's value by its index, as exact as f64 allows.
    value: fn(&[u8], usize) -> f64,
}

/// In the order of [`QuantType`].
const FORMATS: [Format; 13] = {
    macro_rules! row {
        ($quant:ident, $name:literal, $kernel:literal, $gguf:literal, ($values:literal, $bytes:literal), $value:expr) => {
            Format {
                quant: QuantType::$quant,
                gemv: concat!("quant_gemv_", $kernel),
                vec: concat!("quant_vec_", $kernel),
                few: concat!("quant_few_", $kernel),
                gemm: concat!("quant_gemm_", $kernel),
                name: $name,
                gguf: $gguf,
                values: $values,
                bytes: $bytes,
                value: $value,
            }
        };
    }
    [
        row!(Q4_0, "Q4_0", "q4_0", 2, (32, 18), |block, i| {
            half(block, 0) * (f64::from(nibble(&block[2..], i)) - 8.0)
        }),
        row!(Q4_1, "Q4_1", "q4_1", 3, (32, 20), |block, i| {
            half(block, 0) * f64::from(nibble(&block[4..], i)) + half(block, 2)
        }),
        row!(Q5_0, "Q5_0", "q5_0", 6, (32, 22), |block, i| {
            half(block, 0) * (f64::from(nibble(&block[6..], i) | bit(&block[2..], i) << 4) - 16.0)
        }),
        row!(Q5_1, "Q5_1", "q5_1", 7, (32, 24), |block, i| {
            half(block, 0) * f64::from(nibble(&block[8..], i) | bit(&block[4..], i) << 4) + half(block, 2)
        }),
        row!(Q8_0, "Q8_0", "q8_0", 8, (32, 34), |block, i| half(block, 0) * f64::from(block[2 + i] as i8)),
        row!(Q2K, "Q2_K", "q2_k", 10, (256, 84), |block, i| {
            let scales = block[i / 16];
            let q = crumb(&block[16..], i);
            half(block, 80) * f64::from(scales & 15) * f64::from(q) - half(block, 82) * f64::from(scales >> 4)
        }),
        row!(Q3K, "Q3_K", "q3_k", 11, (256, 110), |block, i| {
            // Each eighth of a block has one bit in each of the first 32 bytes.
            let high = block[i % 32] >> (i / 32) & 1;
            let (group, scales) = (i / 16, &block[96..108]);
            let low = scales[group % 8] >> (4 * (group / 8)) & 15;
            let upper = scales[8 + group % 4] >> (2 * (group / 4)) & 3;
            let q = f64::from(crumb(&block[32..], i) | high << 2) - 4.0;
            half(block, 108) * (f64::from(low | upper << 4) - 32.0) * q
        }),
        row!(Q4K, "Q4_K", "q4_k", 12, (256, 144), |block, i| {
            let (scale, minimum) = scale_and_minimum(block, i / 32);
            scale * f64::from(nibble_of_64(&block[16..], i)) - minimum
        }),
        row!(Q5K, "Q5_K", "q5_k", 13, (256, 176), |block, i| {
            let (scale, minimum) = scale_and_minimum(block, i / 32);
            let high = block[16 + i % 32] >> (i / 32) & 1;
            scale * f64::from(nibble_of_64(&block[48..], i) | high << 4) - minimum
        }),
        row!(Q6K, "Q6_K", "q6_k", 14, (256, 210), |block, i| {
            let (part, at) = (i / 128, i % 128);
            let low = block[64 * part + at % 64] >> (4 * (at / 64)) & 15;
            let high = block[128 + 32 * part + at % 32] >> (2 * (at / 32)) & 3;
            half(block, 208) * f64::from(block[192 + i / 16] as i8) * (f64::from(low | high << 4) - 32.0)
        }),
        row!(Iq4Nl, "IQ4_NL", "iq4_nl", 20, (32, 18), |block, i| {
            half(block, 0) * f64::from(DENSE_NEAR_ZERO[usize::from(nibble(&block[2..], i))])
        }),
        row!(Iq4Xs, "IQ4_XS", "iq4_xs", 23, (256, 136), |block, i| {
            let (of, at) = (i / 32, i % 32);
            let low = block[4 + of / 2] >> (4 * (of % 2)) & 15;
            let upper = block[2 + of / 4] >> (2 * (of % 4)) & 3;
            let scale = half(block, 0) * (f64::from(low | upper << 4) - 32.0);
            scale * f64::from(DENSE_NEAR_ZERO[usize::from(nibble(&block[8 + 16 * of..], at))])
        }),
        row!(Mxfp4, "MXFP4", "mxfp4", 39, (32, 17), |block, i| {
            // E2M1, and a power of two; 255 means NaN.
            const VALUES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
            let code = nibble(&block[1..], i);
            let value = VALUES[usize::from(code & 7)] * if code < 8 { 1.0 } else { -1.0 };
            if block[0] == 255 { f64::NAN } else { value * 2.0_f64.powi(i32::from(block[0]) - 127) }
        }),
    ]
};

/// What 4 bits of IQ4_NL and IQ4_XS stand for.
const DENSE_NEAR_ZERO: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

const _: () = {
    let mut at = 0;
    while at < FORMATS.len() {
        assert!(FORMATS[at].quant as usize == at);
        at += 1;
    }
};

/// The half at a byte.
fn half(block: &[u8], at: usize) -> f64 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f64()
}

/// Value `i` of 4 bits: bytes have the first half of the values in their lower bits, the second half in the
/// upper ones.
fn nibble(bytes: &[u8], i: usize) -> u8 {
    bytes[i % 16] >> (4 * (i / 16)) & 15
}

/// The same for each 64 values.
fn nibble_of_64(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 64 * 32 + i % 32] >> (4 * (i / 32 % 2)) & 15
}

/// Value `i` of 2 bits: of each 128 values, a byte has one of each quarter.
fn crumb(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4)) & 3
}

/// Bit `i`.
fn bit(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 8] >> (i % 8) & 1
}

/// The scale and the minimum of an eighth of a Q4_K or Q5_K block.
fn scale_and_minimum(block: &[u8], eighth: usize) -> (f64, f64) {
    let s = &block[4..16];
    let (scale, minimum) = match eighth {
        0..4 => (s[eighth] & 63, s[eighth + 4] & 63),
        _ => (s[eighth + 4] & 15 | s[eighth - 4] >> 6 << 4, s[eighth + 4] >> 4 | s[eighth] >> 6 << 4),
    };
    (half(block, 0) * f64::from(scale), half(block, 2) * f64::from(minimum))
}

impl QuantType {
    /// Every type.
    pub const ALL: [Self; FORMATS.len()] = {
        let mut all = [Self::Q4_0; FORMATS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = FORMATS[at].quant;
            at += 1;
        }
        all
    };

    pub(super) fn format(self) -> &'static Format {
        &FORMATS[self as usize]
    }

    /// The type's name, such as `Q4_K`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.format().name
    }

    /// The type's number in GGUF files.
    #[must_use]
    pub fn gguf(self) -> u32 {
        self.format().gguf
    }

    /// The type of a number in GGUF files.
    #[must_use]
    pub fn from_gguf(number: u32) -> Option<Self> {
        FORMATS.iter().find(|format| format.gguf == number).map(|format| format.quant)
    }

    /// Whether products with one vector were quicker on an NVIDIA GPU with fewer workgroups that each
    /// multiply more rows.
    pub(super) fn is_quick(self) -> bool {
        matches!(self, Self::Q4_0 | Self::Q4K)
    }

    /// Values of a block.
    #[must_use]
    pub fn block_values(self) -> usize {
        self.format().values
    }

    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(self) -> usize {
        self.format().bytes
    }

    /// The values of blocks, each rounded once. Bytes after the last whole block are ignored.
    #[must_use]
    pub fn dequantize(self, blocks: &[u8]) -> Vec<f32> {
        let &Format { values, bytes, value, .. } = self.format();
        let of_block = |block| (0..values).map(move |i| value(block, i) as f32);
        blocks.chunks_exact(bytes).flat_map(of_block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of a type with some of its bytes set.
    fn block(quant: QuantType, bytes: &[(usize, u8)], halves: &[(usize, f32)]) -> Vec<u8> {
        let mut block = vec![0; quant.block_bytes()];
        for &(at, byte) in bytes {
            block[at] = byte;
        }
        for &(at, half) in halves {
            block[at..at + 2].copy_from_slice(&f16::from_f32(half).to_le_bytes());
        }
        block
    }

    #[track_caller]
    fn has(quant: QuantType, block: &[u8], expected: &[(usize, f32)]) {
        let values = quant.dequantize(block);
        assert_eq!(values.len(), quant.block_values());
        for &(at, value) in expected {
            assert_eq!(values[at], value, "{}: {at}", quant.name());
        }
    }

    // Blocks by hand, by the formats' definitions.
    #[test]
    fn values_of_32() {
        use QuantType::{Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
        has(Q4_0, &block(Q4_0, &[(2, 0xf3)], &[(0, 0.5)]), &[(0, -2.5), (16, 3.5), (1, -4.0)]);
        has(Q4_1, &block(Q4_1, &[(19, 0x2a)], &[(0, 0.5), (2, -1.0)]), &[(15, 4.0), (31, 0.0), (0, -1.0)]);
        // The fifth bits of values 0 and 31.
        let q5_0 = block(Q5_0, &[(2, 1), (5, 0x80), (6, 0x02), (21, 0x40)], &[(0, 2.0)]);
        has(Q5_0, &q5_0, &[(0, 4.0), (16, -32.0), (15, -32.0), (31, 8.0)]);
        let q5_1 = block(Q5_1, &[(4, 1), (7, 0x80), (8, 0x02), (23, 0x40)], &[(0, 2.0), (2, 1.0)]);
        has(Q5_1, &q5_1, &[(0, 37.0), (16, 1.0), (15, 1.0), (31, 41.0)]);
        has(Q8_0, &block(Q8_0, &[(2, 0x80), (33, 0x7f)], &[(0, 0.25)]), &[(0, -32.0), (31, 31.75), (7, 0.0)]);
    }

    #[test]
    fn values_of_256() {
        use QuantType::{Q2K, Q3K, Q4K, Q5K, Q6K};
        // Group 9 is values 144 to 159: scale 3, minimum 2. Byte 16 of the second 32 has value 144 in its
        // lowest bits, 176 in the next.
        let q2 = block(Q2K, &[(9, 0x23), (11, 0x01), (16 + 48, 0b1110)], &[(80, 0.5), (82, 0.25)]);
        has(Q2K, &q2, &[(144, 2.5), (145, -0.5), (176, 1.5), (0, 0.0)]);
        // Group 9: the lower bits of its scale are the upper ones of byte 1, the upper bits are bits 4 and 5
        // of byte 9: 5 | 2 << 4. The third bit of value 144 is bit 4 of byte 16.
        let q3 = [(96 + 1, 0x50), (96 + 9, 2 << 4), (32 + 48, 0b01), (16, 1 << 4)];
        has(Q3K, &block(Q3K, &q3, &[(108, 0.5)]), &[(144, 0.5 * 5.0), (145, 0.5 * 5.0 * -4.0), (0, 64.0)]);
        // Eighth 1: scale 7, minimum 9. Eighth 6: the lower bits are byte 10, the upper ones bits 6 and 7 of
        // bytes 2 and 6.
        let scales = [(4 + 1, 7), (4 + 5, 9), (4 + 10, 0x43), (4 + 2, 2 << 6), (4 + 6, 1 << 6)];
        let q4 = block(Q4K, &scales, &[(0, 0.5), (2, 0.25)]);
        let q4: Vec<u8> = q4.iter().enumerate().map(|(at, &b)| if at == 16 { 0x60 } else { b }).collect();
        has(Q4K, &q4, &[(32, 0.5 * 7.0 * 6.0 - 0.25 * 9.0), (33, -0.25 * 9.0), (192, -0.25 * 20.0)]);
        let mut q5 = block(Q5K, &scales, &[(0, 0.5), (2, 0.25)]);
        (q5[16], q5[48], q5[48 + 96]) = (0b0100_0010, 0x60, 0x0d);
        has(Q5K, &q5, &[(32, 0.5 * 7.0 * 22.0 - 0.25 * 9.0), (192, 0.5 * 35.0 * 29.0 - 0.25 * 20.0)]);
        // Group 12 is values 192 to 207, whose lower bits are the upper ones of the second part's byte 0, the
        // upper ones bits 4 and 5.
        let q6 = block(Q6K, &[(64, 0x90), (128 + 32, 2 << 4), (192 + 12, 0xfe)], &[(208, 0.5)]);
        has(Q6K, &q6, &[(192, 0.5 * -2.0 * 9.0), (193, 0.5 * -2.0 * -32.0)]);
    }

    #[test]
    fn values_of_tables() {
        use QuantType::{Iq4Nl, Iq4Xs, Mxfp4};
        has(
            Iq4Nl,
            &block(Iq4Nl, &[(2, 0xf8), (17, 0x07)], &[(0, 0.5)]),
            &[(0, 0.5), (16, 56.5), (15, -5.0), (31, -63.5)],
        );
        // Eighth 5: the lower bits of its scale are the upper ones of byte 6, the upper ones bits 2 and 3 of
        // byte 3: 9 | 2 << 4, so 9. Its values are in bytes 88 to 103.
        let xs = [(4 + 2, 0x90), (3, 2 << 2), (8 + 80, 0xf8), (8 + 95, 0x07)];
        has(
            Iq4Xs,
            &block(Iq4Xs, &xs, &[(0, 0.5)]),
            &[(160, 4.5), (176, 4.5 * 113.0), (175, -45.0), (191, 4.5 * -127.0), (0, -16.0 * -127.0)],
        );
        let exponent = |e| block(Mxfp4, &[(0, e), (1, 0x1f), (16, 0x70)], &[]);
        has(Mxfp4, &exponent(128), &[(0, -12.0), (16, 1.0), (15, 0.0), (31, 12.0)]);
        has(Mxfp4, &exponent(0), &[(0, -6.0 * f32::from_bits(1 << 22)), (16, f32::from_bits(1 << 21))]);
        assert!(Mxfp4.dequantize(&exponent(255)).iter().all(|x| x.is_nan()));
    }

    /// Expected: `gguf.quants.dequantize` of ggml-org's Python package `gguf`.
    #[test]
    fn a_block_of_iq4_xs_means_what_ggml_says() {
        let mut block: Vec<u8> = (0..136_u32).map(|at| (at * 37 + 11) as u8).collect();
        block[..2].copy_from_slice(&f16::from_f32(0.125).to_le_bytes());
        let numbers = QuantType::Iq4Xs.dequantize(&block);
        assert_eq!(numbers.len(), 256);
        assert_eq!(numbers[..4], [8.125, -0.125, -8.625, 10.375]);
        assert_eq!(numbers[252..], [208.0, 98.0, 44.0, -2.0]);
        assert_eq!(numbers.iter().sum::<f32>(), -1375.625);
    }

    #[test]
    fn numbers_of_gguf_lead_to_types() {
        for quant in QuantType::ALL {
            assert_eq!(QuantType::from_gguf(quant.gguf()), Some(quant));
        }
        assert_eq!(QuantType::from_gguf(0), None, "f32 is not quantised");
    }
}
