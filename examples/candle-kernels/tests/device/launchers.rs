//! The launchers that candle links: products with quantised matrices, and with those of experts.

use std::ffi::c_void;

use candle_core::quantized::GgmlDType;
use candle_core::{DType, Tensor};
use candle_kernels_on_amd::launchers as code;
use half::{bf16, f16};
use hip::{DeviceBuffer, DeviceCopy};

use crate::common::*;
use crate::quantized::{BLOCKS, Matrix, PADDING, Q8_1, compare_products, dequantize_q8_1, usual_size};

/// A buffer as C has it, ordered as it is for a kernel that `hip` launches.
fn pointer<T: DeviceCopy, U>(gpu: &Gpu, buffer: &mut DeviceBuffer<T>) -> *mut U {
    let address = buffer.as_mut_slice().address_on(&gpu.stream).unwrap();
    std::ptr::with_exposed_provenance_mut(address.0 as usize)
}

fn launcher_gpu() -> (Gpu, *mut c_void) {
    let gpu = gpu();
    gpu.device.make_current().unwrap();
    let stream = gpu.stream.as_raw();
    (gpu, stream.cast())
}

/// Quantises rows with a launcher and multiplies them with another.
fn products<T: Element>(
    gpu: &Gpu,
    stream: *mut c_void,
    quantize: code::QuantizeRows,
    multiply: code::MatrixVector,
    matrix: &mut Matrix,
    vectors: &Tensor,
) -> (Vec<T>, Tensor) {
    let (count, columns) = vectors.dims2().unwrap();
    let rows = matrix.values.dims()[0];
    let padded = columns.next_multiple_of(PADDING);
    let mut source = gpu.tensor::<T>(vectors);
    let mut blocks = gpu.zeroed::<u8>(count * padded / Q8_1.1 * Q8_1.0);
    let mut out = gpu.zeroed::<T>(rows * count);
    let (x, y) = (pointer::<_, c_void>(gpu, &mut source), pointer::<_, c_void>(gpu, &mut blocks));
    let (weights, result) =
        (pointer::<_, c_void>(gpu, &mut matrix.buffer), pointer::<_, c_void>(gpu, &mut out));
    // SAFETY: the buffers have the sizes that candle gives them, and the stream is theirs.
    unsafe {
        quantize(x, y, columns as i32, padded as i32, count as i32, stream);
        let (stride_y, stride_out) = ((padded / Q8_1.1) as i32, rows as i32);
        multiply(weights, y, result, columns as i32, rows as i32, stride_y, stride_out, count as i32, stream);
    }
    let taken = dequantize_q8_1(&gpu.download(&blocks), count, columns);
    (gpu.download(&out), taken)
}

#[test]
fn mmvq_of_floats() {
    let (gpu, stream) = launcher_gpu();
    let launchers: [code::MatrixVector; 10] = [
        code::launch_mmvq_gguf_q4_0_f32_plain,
        code::launch_mmvq_gguf_q4_1_f32_plain,
        code::launch_mmvq_gguf_q5_0_f32_plain,
        code::launch_mmvq_gguf_q5_1_f32_plain,
        code::launch_mmvq_gguf_q8_0_f32_plain,
        code::launch_mmvq_gguf_q2_k_f32_plain,
        code::launch_mmvq_gguf_q3_k_f32_plain,
        code::launch_mmvq_gguf_q4_k_f32_plain,
        code::launch_mmvq_gguf_q5_k_f32_plain,
        code::launch_mmvq_gguf_q6_k_f32_plain,
    ];
    for ((blocks, _, name), multiply) in BLOCKS.into_iter().zip(launchers) {
        let mut matrix = Matrix::new(&gpu, blocks, &[38, 768], 81);
        for count in 1..=8 {
            let vectors = random::<f32>((count, 768), -2.0, 2.0, 82);
            let quantize = code::launch_mmvq_gguf_quantize_q8_1_f32;
            let (found, taken) = products::<f32>(&gpu, stream, quantize, multiply, &mut matrix, &vectors);
            let what = format!("launch_mmvq_gguf_{name}_f32_plain of {count}");
            compare_products(&what, &found, &matrix, &vectors, &taken);
        }
    }
}

#[test]
fn mmvq_of_halves() {
    fn of<T: Element>(quantize: code::QuantizeRows, launchers: [(GgmlDType, code::MatrixVector); 2]) {
        let (gpu, stream) = launcher_gpu();
        for (blocks, multiply) in launchers {
            let mut matrix = Matrix::new(&gpu, blocks, &[38, 768], 83);
            for count in [1, 3, 7] {
                let vectors = random::<T>((count, 768), -2.0, 2.0, 84);
                let (found, taken) = products::<T>(&gpu, stream, quantize, multiply, &mut matrix, &vectors);
                let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
                let expected = wide(&taken).matmul(&wide(&matrix.values).t().unwrap()).unwrap();
                let usual = usual_size(&matrix.values, &vectors);
                let what = format!("mmvq of {blocks:?} and {count} vectors of {}", T::name());
                // The last rounding is to the type.
                let tolerance = within(T::STEPS.relative / 2.0, usual * 4e-2);
                compare(&what, &found, &expected.to_dtype(T::DTYPE).unwrap(), tolerance);
            }
        }
    }
    of::<f16>(
        code::launch_mmvq_gguf_quantize_q8_1_f16,
        [
            (GgmlDType::Q4_0, code::launch_mmvq_gguf_q4_0_f16_plain),
            (GgmlDType::Q6K, code::launch_mmvq_gguf_q6_k_f16_plain),
        ],
    );
    of::<bf16>(
        code::launch_mmvq_gguf_quantize_q8_1_bf16,
        [
            (GgmlDType::Q4_0, code::launch_mmvq_gguf_q4_0_bf16_plain),
            (GgmlDType::Q6K, code::launch_mmvq_gguf_q6_k_bf16_plain),
        ],
    );
}

/// Tokens, each of which goes to some experts, as `moe_gemm` gets them: pairs of both, sorted by expert.
struct Routing {
    tokens: usize,
    topk: usize,
    /// The number of a pair is `token * topk + which of its experts`.
    pairs: Vec<u32>,
    experts: Vec<u32>,
}

impl Routing {
    fn new(tokens: usize, topk: usize, experts: usize) -> Self {
        // Of unequal popularity; the last one is nobody's.
        let expert = |pair: usize| ((pair * 7 + pair / 3) % (experts - 1)) as u32;
        let mut pairs: Vec<u32> = (0..(tokens * topk) as u32).collect();
        pairs.sort_by_key(|&pair| expert(pair as usize));
        let experts = pairs.iter().map(|&pair| expert(pair as usize)).collect();
        Self { tokens, topk, pairs, experts }
    }

    /// What the products are: rows of pairs. With weights there is a row of activations for each pair, else
    /// one for each token.
    fn expected(&self, input: &Tensor, weights: &Tensor, topk_weights: Option<&[f32]>) -> Tensor {
        let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
        let mut rows = vec![None; self.pairs.len()];
        for (&pair, &expert) in self.pairs.iter().zip(&self.experts) {
            let row = if topk_weights.is_some() { pair as usize } else { pair as usize / self.topk };
            let matrix = wide(&weights.get(expert as usize).unwrap()).t().unwrap();
            let product =
                wide(&input.narrow(0, row, 1).unwrap()).contiguous().unwrap().matmul(&matrix).unwrap();
            let factor = topk_weights.map_or(1.0, |weights| f64::from(weights[pair as usize]));
            rows[pair as usize] = Some((product * factor).unwrap());
        }
        Tensor::cat(&rows.into_iter().flatten().collect::<Vec<_>>(), 0).unwrap()
    }

    fn rows(&self, with_weights: bool) -> usize {
        if with_weights { self.tokens * self.topk } else { self.tokens }
    }
}

/// The types of matrices of experts, in the order of their numbers.
const TYPES: [GgmlDType; 6] =
    [GgmlDType::Q8_0, GgmlDType::Q4K, GgmlDType::Q2K, GgmlDType::Q3K, GgmlDType::Q5K, GgmlDType::Q6K];

/// What scales the products of pairs.
fn topk_weights(routing: &Routing) -> Vec<f32> {
    noise(routing.pairs.len(), 85).iter().map(|x| 0.75 + x / 4.0).collect()
}

#[test]
fn moe_gemm_of_quantised_matrices() {
    let (gpu, stream) = launcher_gpu();
    let (experts, n, k) = (6, 22, 512);
    let routing = Routing::new(9, 2, experts);
    let (mut pairs, mut ids) = (gpu.upload(&routing.pairs), gpu.upload(&routing.experts));
    let factors = topk_weights(&routing);
    let mut weights_of_pairs = gpu.upload(&factors);
    for (code, blocks) in TYPES.into_iter().enumerate() {
        let mut matrix = Matrix::new(&gpu, blocks, &[experts, n, k], 86);
        for weighted in [false, true] {
            let input = random::<f32>((routing.rows(weighted), k), -2.0, 2.0, 87);
            let mut source = gpu.tensor::<f32>(&input);
            let mut out = gpu.zeroed::<f32>(routing.pairs.len() * n);
            let of_pairs =
                if weighted { pointer(&gpu, &mut weights_of_pairs) } else { std::ptr::null_mut::<f32>() };
            // SAFETY: the buffers have the sizes that candle gives them, and the stream is theirs.
            unsafe {
                code::moe_gemm_gguf(
                    pointer(&gpu, &mut source),
                    pointer::<_, c_void>(&gpu, &mut matrix.buffer),
                    pointer(&gpu, &mut pairs),
                    pointer(&gpu, &mut ids),
                    of_pairs,
                    pointer::<_, c_void>(&gpu, &mut out),
                    experts as i32,
                    routing.topk as i32,
                    routing.pairs.len() as i32,
                    n as i32,
                    k as i32,
                    code as i32,
                    stream.expose_provenance() as i64,
                );
            }
            let expected = routing.expected(&input, &matrix.values, weighted.then_some(&factors));
            let usual = usual_size(&matrix.values, &input);
            let what = format!("moe_gemm_gguf of {blocks:?}, weighted: {weighted}");
            // Activations are quantised: a hundredth of the largest of 32 in each element.
            let expected = expected.to_dtype(DType::F32).unwrap();
            compare(&what, &gpu.download(&out), &expected, within(1e-2, usual * 5e-2));
        }
    }
}

#[test]
fn moe_gemm_of_bfloat16_with_quantised_matrices() {
    let (gpu, stream) = launcher_gpu();
    let (experts, n) = (6, 50);
    // More pairs than a tile has rows, for some experts.
    let routing = Routing::new(110, 2, experts);
    let (mut pairs, mut ids) = (gpu.upload(&routing.pairs), gpu.upload(&routing.experts));
    let factors = topk_weights(&routing);
    let mut weights_of_pairs = gpu.upload(&factors);
    for (code, blocks) in TYPES.into_iter().enumerate() {
        // Rows of one block: before it loads the next one, the kernel does not wait for those who still read
        // this one. `check=races` of the virtual GPU finds that, and on longer rows some products are wrong.
        let k = blocks.block_size();
        let mut matrix = Matrix::new(&gpu, blocks, &[experts, n, k], 93);
        for weighted in [false, true] {
            let input = random::<bf16>((routing.rows(weighted), k), -2.0, 2.0, 94);
            let mut source = gpu.tensor::<bf16>(&input);
            let mut out = gpu.zeroed::<f32>(routing.pairs.len() * n);
            let of_pairs =
                if weighted { pointer(&gpu, &mut weights_of_pairs) } else { std::ptr::null_mut::<f32>() };
            // SAFETY: the buffers have the sizes that candle gives them, and the stream is theirs.
            unsafe {
                code::moe_gemm_gguf_prefill(
                    pointer::<_, c_void>(&gpu, &mut source),
                    pointer(&gpu, &mut matrix.buffer),
                    pointer(&gpu, &mut pairs),
                    pointer(&gpu, &mut ids),
                    of_pairs,
                    pointer::<_, c_void>(&gpu, &mut out),
                    experts as i32,
                    routing.topk as i32,
                    routing.pairs.len() as i32,
                    n as i32,
                    k as i32,
                    1,
                    code as i32,
                    stream.expose_provenance() as i64,
                );
            }
            let expected = routing.expected(&input, &matrix.values, weighted.then_some(&factors));
            let usual = usual_size(&matrix.values, &input);
            let what = format!("moe_gemm_gguf_prefill of {blocks:?}, weighted: {weighted}");
            // The matrix is rounded to bfloat16.
            let expected = expected.to_dtype(DType::F32).unwrap();
            compare(&what, &gpu.download(&out), &expected, within(5e-3, usual * 1e-2));
        }
    }
}

/// Calls `moe_gemm_wmma`.
fn moe_wmma<T: Element>(
    gpu: &Gpu,
    stream: *mut c_void,
    routing: &Routing,
    input: &Tensor,
    weights: &Tensor,
    factors: Option<&[f32]>,
    prefill: bool,
) -> Vec<T> {
    let (experts, n, k) = weights.dims3().unwrap();
    let (mut source, mut matrices) = (gpu.tensor::<T>(input), gpu.tensor::<T>(weights));
    let (mut pairs, mut ids) = (gpu.upload(&routing.pairs), gpu.upload(&routing.experts));
    let mut factors = factors.map(|factors| gpu.upload(factors));
    let (mut counts, mut offsets) = (gpu.zeroed::<u32>(experts), gpu.zeroed::<u32>(experts + 1));
    let mut out = gpu.zeroed::<T>(routing.pairs.len() * n);
    // SAFETY: the buffers have the sizes that candle gives them, and the stream is theirs.
    unsafe {
        code::moe_gemm_wmma(
            pointer::<_, c_void>(gpu, &mut source),
            pointer::<_, c_void>(gpu, &mut matrices),
            pointer(gpu, &mut pairs),
            pointer(gpu, &mut ids),
            factors.as_mut().map_or(std::ptr::null_mut(), |factors| pointer(gpu, factors)),
            pointer::<_, c_void>(gpu, &mut out),
            pointer(gpu, &mut counts),
            pointer(gpu, &mut offsets),
            experts as i32,
            routing.topk as i32,
            routing.pairs.len() as i32,
            n as i32,
            k as i32,
            if T::DTYPE == DType::F16 { 0 } else { 1 },
            prefill,
            stream.expose_provenance() as i64,
        );
    }
    // How many pairs there are before each expert's.
    let before = |expert: u32| routing.experts.iter().filter(|&&other| other < expert).count() as u32;
    let expected: Vec<u32> = (0..=experts as u32).map(before).collect();
    assert_eq!(gpu.download(&offsets), expected, "offsets of experts, prefill: {prefill}");
    gpu.download(&out)
}

/// The kernels of candle 0.11.1 convert their sums to the bits of a half, and these bits, as a whole number,
/// to a half, with CUDA as here.
#[test]
fn moe_gemm_of_halves_gives_their_bits_as_numbers() {
    let (gpu, stream) = launcher_gpu();
    let (experts, n, k) = (7, 50, 136);
    let routing = Routing::new(110, 2, experts);
    let weights = random::<f16>((experts, n, k), -1.0, 1.0, 88);
    for prefill in [true, false] {
        let input = random::<f16>((routing.rows(false), k), -1.0, 1.0, 89);
        let found = moe_wmma::<f16>(&gpu, stream, &routing, &input, &weights, None, prefill);
        let expected = routing.expected(&input, &weights, None).flatten_all().unwrap();
        let sums = expected.to_vec1::<f64>().unwrap();
        let bits: Vec<f16> =
            sums.iter().map(|&sum| f16::from_f32(f32::from(f16::from_f64(sum).to_bits()))).collect();
        // The sums may differ by a few units in the last place, those near zero by more, and so do their
        // bits.
        let sure = |&(_, &sum): &(usize, &f64)| sum.abs() > 0.05;
        let pick = |values: &[f16]| -> Vec<f16> {
            sums.iter().enumerate().filter(sure).map(|(at, _)| values[at]).collect()
        };
        let what = format!("moe_gemm_wmma of halves, prefill: {prefill}");
        compare_slices(&what, &pick(&found), &pick(&bits), within(2e-3, 0.0));
    }
}

#[test]
fn moe_gemm_of_bfloat16() {
    let (gpu, stream) = launcher_gpu();
    let (experts, n, k) = (7, 50, 136);
    // More pairs than a tile has rows, for some experts.
    let routing = Routing::new(110, 2, experts);
    let weights = random::<bf16>((experts, n, k), -1.0, 1.0, 88);
    let factors = topk_weights(&routing);
    for prefill in [true, false] {
        for weighted in [false, true] {
            let input = random::<bf16>((routing.rows(weighted), k), -1.0, 1.0, 89);
            let given = weighted.then_some(&factors[..]);
            let found = moe_wmma::<bf16>(&gpu, stream, &routing, &input, &weights, given, prefill);
            let expected = routing.expected(&input, &weights, given).to_dtype(DType::BF16).unwrap();
            let what = format!("moe_gemm_wmma, prefill: {prefill}, weighted: {weighted}");
            // Products are exact, sums are floats, and the result is rounded once.
            compare(&what, &found, &expected, within(8e-3, 1e-3));
        }
    }
}

/// How the blocks of `mmq_gguf` keep their scales: one of each 32 numbers, with their sum or without, or one
/// of each 64 with sums of 16.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scales {
    D4,
    DS4,
    D2S6,
}

/// Bytes of scales, and elements, of such a block.
const TILE: (usize, usize) = (16, 128);

impl Scales {
    fn quantize(self) -> code::QuantizeTiles {
        match self {
            Self::D4 => code::launch_mmq_quantize_q8_1_D4,
            Self::DS4 => code::launch_mmq_quantize_q8_1_DS4,
            Self::D2S6 => code::launch_mmq_quantize_q8_1_D2S6,
        }
    }

    /// The scale of an element of a block.
    fn scale(self, block: &[u8], at: usize) -> f32 {
        let half = |at: usize| f16::from_le_bytes([block[at * 2], block[at * 2 + 1]]).to_f32();
        match self {
            Self::D4 => f32::from_le_bytes(block[at / 32 * 4..][..4].try_into().unwrap()),
            Self::DS4 => half(at / 32 * 2),
            Self::D2S6 => half(at / 64),
        }
    }
}

/// Quantises rows, and says what the blocks mean.
fn quantize_tiles(
    gpu: &Gpu,
    stream: *mut c_void,
    scales: Scales,
    rows: &Tensor,
) -> (DeviceBuffer<u8>, Tensor) {
    let (count, columns) = rows.dims2().unwrap();
    let padded = columns.next_multiple_of(PADDING);
    let (per_row, bytes) = (padded / TILE.1, TILE.0 + TILE.1);
    // candle has 128 blocks behind them, which tiles at the edge read.
    let mut blocks = gpu.zeroed::<u8>((count * per_row + 128) * bytes);
    let mut source = gpu.tensor::<f32>(rows);
    let (x, y) = (pointer(gpu, &mut source), pointer::<_, c_void>(gpu, &mut blocks));
    let (k, padded_k) = (columns as i64, padded as i64);
    let ids = std::ptr::null();
    // SAFETY: the buffers have the sizes that candle gives them, and the stream is theirs.
    unsafe { scales.quantize()(x, ids, y, 0, k, k, 0, 0, padded_k, count as i64, 1, 1, stream) };
    let written = gpu.download(&blocks);
    let mut meaning = vec![0.0; count * padded];
    // All rows' first blocks come first.
    for (at, block) in written.chunks_exact(bytes).take(count * per_row).enumerate() {
        let start = at % count * padded + at / count * TILE.1;
        for (element, value) in meaning[start..start + TILE.1].iter_mut().enumerate() {
            *value = scales.scale(block, element) * f32::from(block[TILE.0 + element] as i8);
        }
    }
    (blocks, to_tensor(meaning, (count, padded)).narrow(1, 0, columns).unwrap())
}

#[test]
fn activations_become_tiles() {
    let (gpu, stream) = launcher_gpu();
    for (count, columns) in [(5, 768), (3, 1024), (1, 256)] {
        let rows = random::<f32>((count, columns), -3.0, 3.0, 90);
        for scales in [Scales::D4, Scales::DS4, Scales::D2S6] {
            let (_, meaning) = quantize_tiles(&gpu, stream, scales, &rows);
            let found = meaning.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            // Half a step, of 1/127 of the largest, and the rounding of the scale to a half.
            compare(&format!("{scales:?}"), &found, &rows, within(1e-3, 3.0 / 127.0 * 0.51));
        }
    }
}

#[cfg(mmq)]
#[test]
fn mmq() {
    let (gpu, stream) = launcher_gpu();
    let properties = gpu.device.properties();
    let launchers: &[(&str, code::MatrixMatrix, Scales)] = &[
        #[cfg(mmq = "q4_0")]
        ("q4_0", code::launch_mmq_gguf_q4_0, Scales::DS4),
        #[cfg(mmq = "q4_1")]
        ("q4_1", code::launch_mmq_gguf_q4_1, Scales::DS4),
        #[cfg(mmq = "q5_0")]
        ("q5_0", code::launch_mmq_gguf_q5_0, Scales::D4),
        #[cfg(mmq = "q5_1")]
        ("q5_1", code::launch_mmq_gguf_q5_1, Scales::DS4),
        #[cfg(mmq = "q8_0")]
        ("q8_0", code::launch_mmq_gguf_q8_0, Scales::D4),
        #[cfg(mmq = "q2_k")]
        ("q2_k", code::launch_mmq_gguf_q2_k, Scales::D2S6),
        #[cfg(mmq = "q3_k")]
        ("q3_k", code::launch_mmq_gguf_q3_k, Scales::D4),
        #[cfg(mmq = "q4_k")]
        ("q4_k", code::launch_mmq_gguf_q4_k, Scales::DS4),
        #[cfg(mmq = "q5_k")]
        ("q5_k", code::launch_mmq_gguf_q5_k, Scales::DS4),
        #[cfg(mmq = "q6_k")]
        ("q6_k", code::launch_mmq_gguf_q6_k, Scales::D4),
    ];
    let mut fixup = gpu.zeroed::<u8>(256 * 128 * 128 * 4);
    for &(name, multiply, scales) in launchers {
        let (blocks, ..) = BLOCKS.into_iter().find(|&(_, _, lower)| lower == name).unwrap();
        // Whole tiles of rows, and some of one.
        for rows in [128_usize, 200] {
            let columns = 768_usize;
            let mut matrix = Matrix::new(&gpu, blocks, &[rows, columns], 91);
            for count in [9_usize, 33, 100] {
                let vectors = random::<f32>((count, columns), -2.0, 2.0, 92);
                let (mut quantised, taken) = quantize_tiles(&gpu, stream, scales, &vectors);
                let mut out = gpu.zeroed::<f32>(rows * count);
                // SAFETY: the buffers have the sizes that candle gives them, and the stream is theirs.
                unsafe {
                    multiply(
                        pointer(&gpu, &mut fixup),
                        pointer::<_, c_void>(&gpu, &mut matrix.buffer),
                        pointer::<_, c_void>(&gpu, &mut quantised),
                        pointer(&gpu, &mut out),
                        columns as i64,
                        rows as i64,
                        count as i64,
                        (columns / blocks.block_size()) as i64,
                        rows as i64,
                        // What the sources are compiled for.
                        890,
                        properties.compute_units as i32,
                        i64::from(properties.lds_per_block),
                        32,
                        stream,
                    );
                }
                let what = format!("launch_mmq_gguf_{name}, {rows} rows, {count} vectors");
                compare_products(&what, &gpu.download(&out), &matrix, &vectors, &taken);
            }
        }
    }
}
