//! Shared by the tests of quantised matrices: random blocks, and products in f64.

use half::f16;
use kernels::reference::Expected;
use kernels::{Element, Q8_1, QuantType};

/// Where blocks have halves.
fn halves(quant: QuantType) -> &'static [usize] {
    match quant {
        QuantType::Q4_0 | QuantType::Q5_0 | QuantType::Q8_0 | QuantType::Iq4Nl | QuantType::Iq4Xs => &[0],
        QuantType::Q4_1 | QuantType::Q5_1 | QuantType::Q4K | QuantType::Q5K => &[0, 2],
        QuantType::Q2K => &[80, 82],
        QuantType::Q3K => &[108],
        QuantType::Q6K => &[208],
        QuantType::Mxfp4 => &[],
        other => panic!("{other:?}"),
    }
}

/// Blocks of random bytes with scales between -1/16 and 1/16.
pub(crate) fn random_blocks(quant: QuantType, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 32
    };
    let mut blocks: Vec<u8> = (0..count * quant.block_bytes()).map(|_| next() as u8).collect();
    for block in blocks.chunks_exact_mut(quant.block_bytes()) {
        for &at in halves(quant) {
            let scale = (next() as f64 / f64::from(1 << 31) - 1.0) / 16.0;
            block[at..at + 2].copy_from_slice(&f16::from_f64(scale).to_le_bytes());
        }
        if quant == QuantType::Mxfp4 {
            // a power of two between 2^-8 and 2^-1
            block[0] = 119 + block[0] % 8;
        }
    }
    blocks
}

/// Rows of Q8_1 blocks, each padded to a multiple of `padding` values.
pub(crate) fn q8_1_rows<T: Element>(x: &[T], columns: usize, padding: usize) -> Vec<u8> {
    let padded = columns.next_multiple_of(padding);
    let row = |row: &[T]| {
        let mut row: Vec<f32> = row.iter().map(|x| x.to_f64() as f32).collect();
        row.resize(padded, 0.0);
        Q8_1::quantize(&row)
    };
    x.chunks(columns).flat_map(row).collect()
}

/// Products of a matrix's rows with vectors, vector by vector; each is summed in f32 in `depth` steps at
/// most.
pub(crate) fn products(matrix: &[f32], vectors: &[f32], columns: usize, depth: f64) -> Vec<Expected> {
    let mut all = Vec::new();
    for vector in vectors.chunks(columns) {
        for row in matrix.chunks(columns) {
            let terms = || row.iter().zip(vector).map(|(a, b)| f64::from(*a) * f64::from(*b));
            let magnitude: f64 = terms().map(f64::abs).sum();
            all.push(Expected { value: terms().sum(), slack: depth * f32::UNIT_ROUNDOFF * magnitude });
        }
    }
    all
}
