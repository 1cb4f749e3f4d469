//! `mmvq_gguf`, launched as candle launches it: each of its 243 kernels.

use half::{bf16, f16};
use kernels::{Element, Q8_1, QuantType, modules};

use crate::common::{Bench, random};
use crate::quant::{products, q8_1_rows, random_blocks};
use crate::record::{assert_exact, compare, difference};

/// candle pads rows of activations to this many.
const PADDING: usize = 512;
/// Sums have at most this many consecutive terms: those of a thread, then of the threads.
const DEPTH: f64 = 64.0;

/// A type in names of kernels.
fn name(quant: QuantType) -> String {
    quant.name().to_lowercase()
}

/// A kernel's quantised rows of activations.
fn quantized<T: Element>(bench: &Bench, x: &[T], columns: usize) -> Vec<u8> {
    let (rows, padded) = (x.len() / columns, columns.next_multiple_of(PADDING));
    let (source, mut blocks) =
        (bench.upload(x), bench.zeroed::<u8>(rows * padded / Q8_1::VALUES * Q8_1::BYTES));
    let kernel = format!("mmvq_gguf_quantize_q8_1_{}", T::NAME);
    let kernel = bench.kernels.function(&modules::MMVQ_GGUF, &kernel).unwrap();
    let launch = kernel.launch(&bench.stream).grid((padded.div_ceil(256) as u32, rows as u32)).block(256);
    let launch = launch.arg(&source).arg(&mut blocks).arg(columns as i32).arg(padded as i32);
    // SAFETY: there are that many rows and columns, and room for the blocks of padded rows.
    unsafe { launch.enqueue().unwrap() };
    bench.download(&blocks)
}

fn activations_become_blocks_of<T: Element>() {
    let bench = Bench::open();
    for (rows, columns) in [(1, 512), (3, 700), (2, 33)] {
        let x = random::<T>(rows * columns, 31, 3.0);
        let (found, expected) = (quantized(&bench, &x, columns), q8_1_rows(&x, columns, PADDING));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.chunks(Q8_1::BYTES).zip(expected.chunks(Q8_1::BYTES)) {
            // Sums may be in another order.
            let sum = |block: &[u8]| f16::from_le_bytes([block[2], block[3]]).to_f32();
            difference(sum(found).into(), sum(expected).into());
            assert!((sum(found) - sum(expected)).abs() <= 0.02, "{} {}", sum(found), sum(expected));
            assert_exact!((&found[..2], &found[4..]), (&expected[..2], &expected[4..]), "{}", T::NAME);
        }
    }
}

#[test]
fn activations_become_blocks() {
    activations_become_blocks_of::<f32>();
    activations_become_blocks_of::<f16>();
    activations_become_blocks_of::<bf16>();
}

#[test]
fn a_number_that_is_none_is_not_lost() {
    let bench = Bench::open();
    let mut x = vec![1.0_f32; 512];
    (x[40], x[70]) = (f32::NAN, f32::INFINITY);
    let scales: Vec<f32> = quantized(&bench, &x, 512)
        .chunks(Q8_1::BYTES)
        .map(|block| f16::from_le_bytes([block[0], block[1]]).to_f32())
        .collect();
    assert!(scales[1].is_nan() && scales[2].is_infinite());
    assert!(scales.iter().enumerate().all(|(at, scale)| scale.is_finite() == (at != 1 && at != 2)));
}

fn products_of<T: Element>(quant: QuantType) {
    let bench = Bench::open();
    // More than one round of a workgroup's threads, and an odd number of rows, beyond which nothing may be
    // written.
    for (rows, columns) in [(5_usize, 4608_usize), (12, 512)] {
        let blocks = random_blocks(quant, rows * columns / quant.block_values(), 32);
        let x = random::<T>(8 * columns, 33, 2.0);
        let padded = columns.next_multiple_of(PADDING);
        let taken = q8_1_rows(&x, columns, PADDING);
        let y = Q8_1::dequantize(&taken);
        let y: Vec<f32> = y.chunks(padded).flat_map(|row| row[..columns].to_vec()).collect();
        let expected = products(&quant.dequantize(&blocks), &y, columns, DEPTH);
        let (matrix, vectors) = (bench.upload(&blocks), bench.upload(&taken));
        for count in 1..=8 {
            // As candle's host functions do.
            let (grid, warps) = match count {
                1 => (rows, 4),
                2..=4 => (rows.div_ceil(2), 4),
                _ => (rows.div_ceil(2), 2),
            };
            let kernel = format!("mmvq_gguf_{}_{}_plain_cuda{count}", name(quant), T::NAME);
            let function = bench.kernels.function(&modules::MMVQ_GGUF, &kernel).unwrap();
            let untouched = T::from_f64(77.0);
            let mut out = bench.upload(&vec![untouched; count * rows + 1]);
            let launch = function.launch(&bench.stream).grid(grid as u32).block((32, warps));
            let launch = launch.arg(&matrix).arg(&vectors).arg(&mut out);
            let launch = launch.arg(columns as i32).arg(rows as i32);
            let launch = launch.arg((padded / Q8_1::VALUES) as i32).arg(rows as i32);
            // SAFETY: the matrix has that many rows and columns, there are eight vectors, and room for their
            // products.
            unsafe { launch.enqueue().unwrap() };
            let mut found = bench.download(&out);
            assert_eq!(found.pop().map(T::to_f64), Some(77.0), "{kernel} writes beyond its results");
            let result = compare(&found, expected[..count * rows].iter().copied());
            assert!(result.passed(), "{kernel} {rows}x{columns}: {result:?}");
        }
    }
}

macro_rules! products {
    ($($test:ident: $quant:ident;)*) => {
        $(
            #[test]
            fn $test() {
                products_of::<f32>(QuantType::$quant);
                products_of::<f16>(QuantType::$quant);
                products_of::<bf16>(QuantType::$quant);
            }
        )*
    };
}
products! {
    products_with_q4_0: Q4_0;
    products_with_q4_1: Q4_1;
    products_with_q5_0: Q5_0;
    products_with_q5_1: Q5_1;
    products_with_q8_0: Q8_0;
    products_with_q2_k: Q2K;
    products_with_q3_k: Q3K;
    products_with_q4_k: Q4K;
    products_with_q5_k: Q5K;
    products_with_q6_k: Q6K;
}
