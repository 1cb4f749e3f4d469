//! `quantized`: matrices of quantised blocks.

use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Module, Tensor};
use half::{bf16, f16};
use hip::DeviceBuffer;

use crate::common::*;

/// Rows of activations are padded to so many elements, and matrices have as many behind them.
pub const PADDING: usize = 512;
/// Bytes and elements of a Q8_1 block: a scale and a sum, as halves, and as many bytes.
pub const Q8_1: (usize, usize) = (36, 32);

/// A type of blocks, as names of kernels call it, and those of the launchers.
pub type Blocks = (GgmlDType, &'static str, &'static str);

pub const BLOCKS: [Blocks; 10] = [
    (GgmlDType::Q4_0, "q4_0", "q4_0"),
    (GgmlDType::Q4_1, "q4_1", "q4_1"),
    (GgmlDType::Q5_0, "q5_0", "q5_0"),
    (GgmlDType::Q5_1, "q5_1", "q5_1"),
    (GgmlDType::Q8_0, "q8_0", "q8_0"),
    (GgmlDType::Q2K, "q2_K", "q2_k"),
    (GgmlDType::Q3K, "q3_K", "q3_k"),
    (GgmlDType::Q4K, "q4_K", "q4_k"),
    (GgmlDType::Q5K, "q5_K", "q5_k"),
    (GgmlDType::Q6K, "q6_K", "q6_k"),
];

pub fn is_k(blocks: GgmlDType) -> bool {
    blocks.block_size() == 256
}

/// A quantised matrix, on the CPU and on the device.
pub struct Matrix {
    pub quantised: Arc<QTensor>,
    /// What its blocks mean: rows of numbers.
    pub values: Tensor,
    pub buffer: DeviceBuffer<u8>,
}

impl Matrix {
    pub fn new(gpu: &Gpu, blocks: GgmlDType, shape: &[usize], seed: u32) -> Self {
        let quantised = QTensor::quantize(&random::<f32>(shape.to_vec(), -1.0, 1.0, seed), blocks).unwrap();
        let values = quantised.dequantize(&CPU).unwrap();
        let mut bytes = quantised.data().unwrap().into_owned();
        bytes.resize(bytes.len() + PADDING / blocks.block_size() * blocks.type_size(), 0);
        let buffer = gpu.upload(&bytes);
        Self { quantised: Arc::new(quantised), values, buffer }
    }
}

/// Rows of activations as Q8_1 blocks, as `quantize_q8_1` makes them.
pub fn quantize(gpu: &Gpu, rows: &Tensor) -> DeviceBuffer<u8> {
    let (count, columns) = rows.dims2().unwrap();
    let padded = columns.next_multiple_of(PADDING);
    let mut blocks = gpu.zeroed::<u8>(count * padded / Q8_1.1 * Q8_1.0);
    let grid = (padded.div_ceil(256) as u32, count as u32);
    let source = gpu.tensor::<f32>(rows);
    launch!(gpu, QUANTIZED, "quantize_q8_1", grid, 256;
        &source, &mut blocks, columns as i32, padded as i32);
    blocks
}

/// What Q8_1 blocks mean, without the padding of rows.
pub fn dequantize_q8_1(blocks: &[u8], rows: usize, columns: usize) -> Tensor {
    let value = |block: &[u8], at: usize| {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        scale * f32::from(block[4 + at] as i8)
    };
    let all: Vec<f32> =
        blocks.chunks_exact(Q8_1.0).flat_map(|block| (0..Q8_1.1).map(move |at| value(block, at))).collect();
    let padded = columns.next_multiple_of(PADDING);
    to_tensor(all, (rows, padded)).narrow(1, 0, columns).unwrap()
}

/// How large a product of such vectors usually is: that of their lengths, by the root of the elements.
pub fn usual_size(matrix: &Tensor, vectors: &Tensor) -> f64 {
    let mean_square = |t: &Tensor| {
        let squares = t.to_dtype(DType::F64).unwrap().sqr().unwrap();
        squares.mean_all().unwrap().to_scalar::<f64>().unwrap()
    };
    let columns = matrix.dims()[matrix.rank() - 1] as f64;
    (mean_square(matrix) * mean_square(vectors) * columns).sqrt()
}

/// Compares products of a matrix with rows of activations, of which the kernels took the blocks' meaning,
/// with those of the CPU.
#[track_caller]
pub fn compare_products(what: &str, found: &[f32], matrix: &Matrix, vectors: &Tensor, taken: &Tensor) {
    let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
    let usual = usual_size(&matrix.values, vectors);

    // Of the same blocks; scales are halves. Where numbers are above or below zero by an offset, candle's
    // kernels multiply that with sums of activations from before these were quantised, and the roundings of
    // 32 of them remain.
    let with_sums = !matches!(matrix.quantised.dtype(), GgmlDType::Q8_0 | GgmlDType::Q3K | GgmlDType::Q6K);
    let share = if cfg!(own_kernels) { 1e-5 } else if with_sums { 4e-2 } else { 1e-2 };
    let exact = wide(taken).matmul(&wide(&matrix.values).t().unwrap()).unwrap();
    let relative = if cfg!(own_kernels) { 1e-5 } else { 1e-3 };
    compare(what, found, &exact.to_dtype(DType::F32).unwrap(), within(relative, usual * share));

    // candle's own, which quantises activations to other blocks: a hundredth of the largest of 32, or of 256,
    // in each element.
    let on_cpu = QMatMul::from_arc(matrix.quantised.clone()).unwrap();
    let expected = on_cpu.forward(vectors).unwrap();
    let what = format!("{what}, against candle's QMatMul");
    compare(&what, found, &expected, within(1e-2, usual * 6e-2));
}

#[test]
fn blocks_mean_what_they_do_on_the_cpu() {
    let gpu = gpu();
    for (blocks, name, _) in BLOCKS.into_iter().chain([(GgmlDType::Q8K, "q8_K", "")]) {
        let matrix = Matrix::new(&gpu, blocks, &[6, 512], 70);
        let count = 6 * 512_usize;
        let (block, grid) = match blocks {
            GgmlDType::Q5_0 | GgmlDType::Q5_1 => (256, count.div_ceil(512)),
            GgmlDType::Q2K | GgmlDType::Q3K | GgmlDType::Q5K | GgmlDType::Q6K => (64, count.div_ceil(256)),
            _ => (32, count.div_ceil(256)),
        };
        let size = match blocks {
            GgmlDType::Q5_0 | GgmlDType::Q5_1 => count as i32,
            _ => count as i32 / 32,
        };
        let (mut floats, mut halves) = (gpu.zeroed::<f32>(count), gpu.zeroed::<f16>(count));
        let kernels = [format!("dequantize_block_{name}_f32"), format!("dequantize_block_{name}_f16")];
        if is_k(blocks) {
            launch!(gpu, QUANTIZED, &kernels[0], grid as u32, block; &matrix.buffer, &mut floats);
            launch!(gpu, QUANTIZED, &kernels[1], grid as u32, block; &matrix.buffer, &mut halves);
        } else {
            launch!(gpu, QUANTIZED, &kernels[0], grid as u32, block; &matrix.buffer, &mut floats, size);
            launch!(gpu, QUANTIZED, &kernels[1], grid as u32, block; &matrix.buffer, &mut halves, size);
        }
        // candle's own compute some in halves.
        let tolerance = |share: f64| if cfg!(own_kernels) { EXACT } else { within(share, share) };
        compare(&kernels[0], &gpu.download(&floats), &matrix.values, tolerance(1e-3));
        let expected = matrix.values.to_dtype(DType::F16).unwrap();
        compare(&kernels[1], &gpu.download(&halves), &expected, tolerance(2e-3));
    }
}

#[test]
fn rows_of_embeddings() {
    let gpu = gpu();
    let hidden = 512_usize;
    let ids = Tensor::new(vec![3_u32, 0, 6, 3, 5], &CPU).unwrap();
    let indices = gpu.tensor::<u32>(&ids);
    for (blocks, name, _) in BLOCKS {
        let matrix = Matrix::new(&gpu, blocks, &[7, hidden], 71);
        let (block, grid_y) = match blocks {
            GgmlDType::Q4K => (32, hidden / 256),
            _ if is_k(blocks) => (64, hidden / 256),
            _ => (256, hidden.div_ceil(512)),
        };
        let stride = hidden * blocks.type_size() / blocks.block_size();
        let mut out = gpu.zeroed::<f32>(5 * hidden);
        let kernel = format!("get_rows_{name}");
        launch!(gpu, QUANTIZED, &kernel, (5, grid_y as u32), block;
            &matrix.buffer, &indices, &mut out, hidden as i64, stride);
        let expected = matrix.values.index_select(&ids, 0).unwrap();
        let tolerance = if cfg!(own_kernels) { EXACT } else { within(1e-3, 1e-3) };
        compare(&kernel, &gpu.download(&out), &expected, tolerance);
    }
}

#[test]
fn rows_of_float_embeddings() {
    fn of<T: Element>(hidden: usize) {
        let gpu = gpu();
        let ids = Tensor::new(vec![3_u32, 0, 6, 3, 5], &CPU).unwrap();
        let table = random::<T>((7, hidden), -1.0, 1.0, 71);
        let (source, indices) = (gpu.tensor::<T>(&table), gpu.tensor::<u32>(&ids));
        let mut out = gpu.zeroed::<f32>(5 * hidden);
        let kernel = format!("get_rows_{}", T::name());
        launch!(gpu, QUANTIZED, &kernel, (5, hidden.div_ceil(256) as u32), 256;
            &source, &indices, &mut out, hidden as i64, hidden * size_of::<T>());
        let expected = table.index_select(&ids, 0).unwrap().to_dtype(DType::F32).unwrap();
        compare(&kernel, &gpu.download(&out), &expected, EXACT);
    }
    for hidden in [7, 300] {
        of::<f32>(hidden);
        of::<f16>(hidden);
        of::<bf16>(hidden);
    }
}

#[test]
fn products_with_vectors_of_floats() {
    let gpu = gpu();
    let (rows, columns) = (37, 768);
    for (blocks, name, lower) in BLOCKS {
        let matrix = Matrix::new(&gpu, blocks, &[rows, columns], 72);
        let vector = random::<f32>((1, columns), -2.0, 2.0, 73);
        let kernel = if is_k(blocks) {
            format!("dequantize_mul_mat_vec_{lower}")
        } else {
            format!("dequantize_mul_mat_vec_{name}_cuda")
        };
        let (y, mut out) = (gpu.tensor::<f32>(&vector), gpu.zeroed::<f32>(rows));
        let (n, m) = (columns as i32, rows as i32);
        // candle passes all five to this one, too, whose kernel has four parameters; CUDA does not notice.
        if blocks == GgmlDType::Q5K {
            launch!(gpu, QUANTIZED, &kernel, rows as u32, (32, 1); &matrix.buffer, &y, &mut out, n);
        } else {
            launch!(gpu, QUANTIZED, &kernel, rows as u32, (32, 1); &matrix.buffer, &y, &mut out, n, m);
        }
        let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
        let expected = wide(&vector).matmul(&wide(&matrix.values).t().unwrap()).unwrap();
        let usual = usual_size(&matrix.values, &vector);
        let expected = expected.to_dtype(DType::F32).unwrap();
        compare(&kernel, &gpu.download(&out), &expected, within(1e-3, usual * 2e-3));
    }
}

#[test]
fn activations_become_blocks() {
    let gpu = gpu();
    // Columns that end within a block of threads, in a block of numbers, and with the padding.
    for (rows, columns) in [(3, 768), (2, 1024), (5, 33), (1, 512)] {
        let vectors = random::<f32>((rows, columns), -3.0, 3.0, 74);
        let blocks = gpu.download(&quantize(&gpu, &vectors));
        let meaning =
            dequantize_q8_1(&blocks, rows, columns).flatten_all().unwrap().to_vec1::<f32>().unwrap();
        // Half a step, of 1/127 of the largest, and the rounding of the scale to a half.
        compare("quantize_q8_1", &meaning, &vectors, within(1e-3, 3.0 / 127.0 * 0.51));
        let sums: Vec<f32> = blocks
            .chunks_exact(Q8_1.0)
            .map(|block| f16::from_le_bytes([block[2], block[3]]).to_f32())
            .collect();
        let padded = columns.next_multiple_of(PADDING);
        let expected = vectors.pad_with_zeros(1, 0, padded - columns).unwrap();
        let expected = expected.reshape((rows * padded / 32, 32)).unwrap().sum(1).unwrap();
        compare("the sums of quantize_q8_1", &sums, &expected, within(1e-3, 1e-3));
    }
}

#[test]
fn products_with_quantised_vectors() {
    let gpu = gpu();
    // With more vectors than one, a block has two rows, and behind an odd number of them candle's kernels
    // read and write another one.
    let (rows, columns) = (if cfg!(own_kernels) { 37_usize } else { 38 }, 768_usize);
    for (blocks, name, _) in BLOCKS {
        let matrix = Matrix::new(&gpu, blocks, &[rows, columns], 75);
        for count in 1..=8 {
            let vectors = random::<f32>((count, columns), -2.0, 2.0, 76);
            let quantised = quantize(&gpu, &vectors);
            let mut out = gpu.zeroed::<f32>(rows * count);
            let (grid, warps) = match count {
                1 => (rows, 4),
                2..=4 => (rows.div_ceil(2), 4),
                _ => (rows.div_ceil(2), 2),
            };
            let kernel = format!("mul_mat_vec_{name}_q8_1_cuda{count}");
            launch!(gpu, QUANTIZED, &kernel, grid as u32, (32, warps);
                &matrix.buffer, &quantised, &mut out, columns as i32, rows as i32,
                columns.next_multiple_of(PADDING) as i32, rows as i32);
            let taken = dequantize_q8_1(&gpu.download(&quantised), count, columns);
            compare_products(&kernel, &gpu.download(&out), &matrix, &vectors, &taken);
        }
    }
}

#[test]
fn products_with_quantised_matrices() {
    let gpu = gpu();
    let (rows, columns, count) = (150, 512, 70);
    for (blocks, name, _) in BLOCKS {
        let matrix = Matrix::new(&gpu, blocks, &[rows, columns], 77);
        let vectors = random::<f32>((count, columns), -2.0, 2.0, 78);
        let quantised = quantize(&gpu, &vectors);
        let (tile_x, tile_y) = match blocks {
            GgmlDType::Q5_0 | GgmlDType::Q5_1 | GgmlDType::Q8_0 => (128, 64),
            GgmlDType::Q3K => (128, 128),
            GgmlDType::Q6K => (64, 64),
            _ => (64, 128),
        };
        let mut out = gpu.zeroed::<f32>(rows * count);
        let kernel = format!("mul_mat_{name}");
        let grid = (rows.div_ceil(tile_y) as u32, count.div_ceil(tile_x) as u32);
        launch!(gpu, QUANTIZED, &kernel, grid, (32, 4);
            &matrix.buffer, &quantised, &mut out, columns as i32, rows as i32, count as i32,
            columns.next_multiple_of(PADDING) as i32, rows as i32);
        let taken = dequantize_q8_1(&gpu.download(&quantised), count, columns);
        compare_products(&kernel, &gpu.download(&out), &matrix, &vectors, &taken);
    }
}

#[test]
fn products_with_the_matrices_of_experts() {
    let gpu = gpu();
    let (experts, n, k, batch, topk) = (5, 24, 512, 4, 2);
    let ids = [4_u32, 0, 1, 4, 3, 2, 0, 1];
    for (blocks, name) in [
        (GgmlDType::Q2K, "q2k"),
        (GgmlDType::Q3K, "q3k"),
        (GgmlDType::Q4K, "q4k"),
        (GgmlDType::Q5K, "q5k"),
        (GgmlDType::Q6K, "q6k"),
        (GgmlDType::Q8_0, "q8_0"),
    ] {
        // candle's kernel of Q8_0 looks for the matrices of all experts but the first as if its blocks had
        // 256 numbers.
        let ids = if blocks == GgmlDType::Q8_0 && !cfg!(own_kernels) { [0; 8] } else { ids };
        let indices = gpu.upload(&ids);
        let matrix = Matrix::new(&gpu, blocks, &[experts, n, k], 79);
        // Each token has one row of activations for all of its experts, or one for each.
        for each in [1, topk] {
            let vectors = random::<f32>((batch * each, k), -2.0, 2.0, 80);
            let quantised = quantize(&gpu, &vectors);
            let mut out = gpu.zeroed::<f32>(batch * topk * n);
            let kernel = format!("indexed_moe_forward_{name}_q8_1");
            launch!(gpu, QUANTIZED, &kernel, (n as u32, batch as u32, topk as u32), (32, 4);
                &matrix.buffer, &quantised, &indices, &mut out, n as i32, k as i32, batch as i32, topk as i32,
                k.next_multiple_of(PADDING) as i32, each as i32);
            let found = gpu.download(&out);
            let taken = dequantize_q8_1(&gpu.download(&quantised), batch * each, k);
            let usual = usual_size(&matrix.values, &vectors);
            for (pair, &expert) in ids.iter().enumerate() {
                let row = if each == 1 { pair / topk } else { pair };
                let weights = matrix.values.get(expert as usize).unwrap().t().unwrap();
                let expected =
                    taken.narrow(0, row, 1).unwrap().contiguous().unwrap().matmul(&weights).unwrap();
                let what = format!("{kernel}, {each} rows for a token, pair {pair}");
                compare(&what, &found[pair * n..(pair + 1) * n], &expected, within(1e-3, usual * 1e-2));
            }
        }
    }
}
