//! Quantising on the CPU: activations to Q8_1 blocks, as the kernels do, and matrices to the types with
//! blocks of 32 values.

use half::f16;

use super::QuantType;
use crate::error::{Error, Result};

/// The blocks that activations are quantised to: a scale and the sum of the original numbers, as halves, and
/// 32 signed bytes.
#[derive(Debug)]
pub struct Q8_1(());

impl Q8_1 {
    /// Values of a block.
    pub const VALUES: usize = 32;
    /// Bytes of a block.
    pub const BYTES: usize = 36;

    /// Quantises rows of numbers, each padded with zeros to whole blocks. Numbers round to the nearest of 255
    /// steps, ties away from zero.
    #[must_use]
    pub fn quantize(row: &[f32]) -> Vec<u8> {
        let mut blocks = Vec::with_capacity(row.len().div_ceil(Self::VALUES) * Self::BYTES);
        for values in row.chunks(Self::VALUES) {
            let (d, q) = steps(values);
            let sum: f32 = values.iter().sum();
            blocks.extend(f16::from_f32(d).to_le_bytes());
            blocks.extend(f16::from_f32(sum).to_le_bytes());
            blocks.extend(q.map(|q| q as u8));
        }
        blocks
    }

    /// The numbers that the bytes of blocks represent.
    #[must_use]
    pub fn dequantize(blocks: &[u8]) -> Vec<f32> {
        let of_block = |block: &[u8]| {
            let d = f16::from_le_bytes([block[0], block[1]]).to_f32();
            let values: Vec<f32> = block[4..].iter().map(|&q| d * f32::from(q as i8)).collect();
            values
        };
        blocks.chunks_exact(Self::BYTES).flat_map(of_block).collect()
    }
}

/// Up to 32 numbers as multiples of the largest divided by 127.
fn steps(values: &[f32]) -> (f32, [i8; 32]) {
    let d = values.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
    let mut q = [0; 32];
    if d > 0.0 {
        for (q, x) in q.iter_mut().zip(values) {
            *q = (x / d).round() as i8;
        }
    }
    (d, q)
}

/// Numbers as steps of a scale, from a minimum: the scale, the minimum and the steps, of which there are `1 <<
/// bits`.
fn from_minimum(values: &[f32], bits: u32) -> (f32, f32, [u8; 32]) {
    let (least, most) =
        values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
    let last = ((1 << bits) - 1) as f32;
    (
        (most - least) / last,
        least,
        stepped(values, (most - least) / last, |x, inverse| ((x - least) * inverse + 0.5).min(last)),
    )
}

/// Numbers as steps of a scale of either sign that has the largest number at step 0: the scale and the steps.
fn centred(values: &[f32], bits: u32) -> (f32, [u8; 32]) {
    let half = (1 << (bits - 1)) as f32;
    let extreme = values.iter().fold(0.0_f32, |most, &x| if x.abs() > most.abs() { x } else { most });
    let d = extreme / -half;
    (d, stepped(values, d, |x, inverse| (x * inverse + half + 0.5).min(2.0 * half - 1.0)))
}

fn stepped(values: &[f32], d: f32, step: impl Fn(f32, f32) -> f32) -> [u8; 32] {
    let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
    let mut q = [0; 32];
    for (q, &x) in q.iter_mut().zip(values) {
        *q = step(x, inverse) as u8;
    }
    q
}

/// Steps of 4 bits, then the fifth bits if `bits` is 5.
fn pack(block: &mut Vec<u8>, q: &[u8; 32], bits: u32) {
    if bits == 5 {
        let fifth = q.iter().enumerate().fold(0_u32, |all, (i, q)| all | u32::from(q >> 4) << i);
        block.extend(fifth.to_le_bytes());
    }
    block.extend((0..16).map(|i| q[i] & 15 | q[i + 16] << 4));
}

impl QuantType {
    /// Quantises numbers on the CPU, each block from its own values.
    ///
    /// # Errors
    /// [`Error::Size`] unless the numbers fill blocks, and for types other than Q4_0, Q4_1, Q5_0, Q5_1 and
    /// Q8_0.
    pub fn quantize(self, values: &[f32]) -> Result<Vec<u8>> {
        let wrong =
            |parameter, got, problem| Err(Error::Size { operation: "quantize", parameter, got, problem });
        let is_possible = matches!(self, Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0);
        if !is_possible {
            return wrong(
                "block_values",
                self.block_values(),
                "of a type that only other programs can quantise to",
            );
        }
        if !values.len().is_multiple_of(32) {
            return wrong("values", values.len(), "must be a multiple of the values of a block");
        }
        let mut blocks = Vec::with_capacity(values.len() / 32 * self.block_bytes());
        let halves = |blocks: &mut Vec<u8>, halves: &[f32]| {
            blocks.extend(halves.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()));
        };
        for values in values.chunks(32) {
            match self {
                Self::Q8_0 => {
                    let (d, q) = steps(values);
                    halves(&mut blocks, &[d]);
                    blocks.extend(q.map(|q| q as u8));
                }
                Self::Q4_0 | Self::Q5_0 => {
                    let bits = if self == Self::Q4_0 { 4 } else { 5 };
                    let (d, q) = centred(values, bits);
                    halves(&mut blocks, &[d]);
                    pack(&mut blocks, &q, bits);
                }
                _ => {
                    let bits = if self == Self::Q4_1 { 4 } else { 5 };
                    let (d, least, q) = from_minimum(values, bits);
                    halves(&mut blocks, &[d, least]);
                    pack(&mut blocks, &q, bits);
                }
            }
        }
        Ok(blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave() -> Vec<f32> {
        (0..96).map(|i| (i as f32 * 0.7).sin() * (1 + i / 32) as f32 + 0.25).collect()
    }

    #[test]
    fn what_is_quantised_is_near() {
        for (quant, steps) in [
            (QuantType::Q4_0, 8.0),
            (QuantType::Q4_1, 15.0),
            (QuantType::Q5_0, 16.0),
            (QuantType::Q5_1, 31.0),
            (QuantType::Q8_0, 127.0),
        ] {
            let blocks = quant.quantize(&wave()).unwrap();
            assert_eq!(blocks.len(), 3 * quant.block_bytes());
            for (got, expected) in quant.dequantize(&blocks).chunks(32).zip(wave().chunks(32)) {
                let largest = expected.iter().fold(0.0_f32, |a, b| a.max(b.abs()));
                let range = if steps == 15.0 || steps == 31.0 { 2.0 * largest } else { largest };
                // One step. Half a step would do, except for numbers at the end without a step and for the
                // rounding of halves.
                for (got, expected) in got.iter().zip(expected) {
                    assert!(
                        (got - expected).abs() <= range / steps * 1.01,
                        "{}: {got} {expected}",
                        quant.name()
                    );
                }
            }
        }
    }

    // From the formats' definitions: the number furthest from zero is at step 0 of 16, at -127 or 127 of
    // Q8_0.
    #[test]
    fn extremes_are_exact() {
        let mut values = [0.0; 32];
        (values[3], values[20]) = (-4.0, 3.5);
        let blocks = QuantType::Q4_0.quantize(&values).unwrap();
        assert_eq!(blocks[..2], f16::from_f32(0.5).to_le_bytes());
        assert_eq!((blocks[2 + 3], blocks[2 + 4]), (0x80, 0xf8));
        let q8 = QuantType::Q8_0.quantize(&values.map(|x| x * 127.0 / 4.0)).unwrap();
        assert_eq!((q8[2 + 3] as i8, q8[2 + 20] as i8), (-127, 111));
        let q8_1 = Q8_1::quantize(&values);
        assert_eq!(f16::from_le_bytes([q8_1[2], q8_1[3]]).to_f32(), -0.5, "the sum before");
        assert_eq!(QuantType::Q8_0.quantize(&[0.0; 32]).unwrap(), [0; 34], "no division by zero");
    }

    #[test]
    fn parts_of_blocks_are_refused() {
        let error = QuantType::Q4_0.quantize(&[1.0; 33]).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "values", got: 33, .. }), "{error}");
        for quant in [QuantType::Q4K, QuantType::Iq4Nl, QuantType::Iq4Xs, QuantType::Mxfp4] {
            assert!(quant.quantize(&[1.0; 256]).is_err(), "{}", quant.name());
        }
    }
}
