//! The measured operations: each with sizes from inference, and with what it needs to compute and to move.

use anyhow::{Context, Result};
use half::f16;
use hip::{DeviceBuffer, Stream};
use kernels::{
    Activation, AdamW, AdamWState, Attention, AttentionInputs, BinaryOp, ExpertGemm, Float, Gemm,
    GemmElement, Kernels, Q8_1, QuantMatrix, QuantType, QuantVectors, ReduceOp, SortedPairs, UnaryOp,
};

use rocblas::{Blas, Matrix, MatrixLayout, MatrixMut};

use crate::peaks::Arithmetic;

/// An operation with its buffers.
pub(crate) struct Case {
    /// Floating-point operations; a multiply-add counts as two, a function of one number as one.
    pub(crate) flops: u64,
    /// Bytes: each input read and each output written once.
    pub(crate) bytes: u64,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) run: Run,
}

type Run = Box<dyn FnMut(&Kernels, &Stream) -> Result<()>>;
type Make = fn(&Stream) -> Result<Case>;

/// The floats that compute in f32.
trait Single: Float<Compute = f32> + GemmElement<Product = Self> {}
impl<T: Float<Compute = f32> + GemmElement<Product = T>> Single for T {}

/// Hidden size of the models with these shapes, and rows of activations.
const HIDDEN: usize = 2048;
const ROWS: usize = 64;

/// Every case by its name.
const CASES: &[(&str, Make)] = &[
    ("unary silu f32 64x2048", |stream| unary::<f32>(stream, UnaryOp::Silu)),
    ("unary silu f16 64x2048", |stream| unary::<f16>(stream, UnaryOp::Silu)),
    ("binary add f32 64x2048", binary::<f32>),
    ("binary add f16 64x2048", binary::<f16>),
    ("reduce sum f32 64x2048", reduce::<f32>),
    ("softmax f32 64x2048", softmax::<f32>),
    ("softmax f16 64x2048", softmax::<f16>),
    ("rms_norm f16 64x2048", rms_norm::<f16>),
    ("gated silu f16 64x2048", gated::<f16>),
    ("rms_norm_backward f16 64x2048", rms_norm_backward::<f16>),
    ("cross_entropy f16 64x2048", cross_entropy::<f16>),
    ("adamw f16 64x2048", adamw::<f16>),
    ("gemm f32 512x512x512", |stream| gemm::<f32>(stream, [512; 3], Arithmetic::F32)),
    ("gemm f16 512x512x512", |stream| gemm::<f16>(stream, [512; 3], Arithmetic::F16)),
    ("gemm f16 64x2048x512", |stream| gemm::<f16>(stream, [ROWS, HIDDEN, 512], Arithmetic::F16)),
    ("gemm f32 512x512x512 of blas", |stream| blas_gemm::<f32>(stream, [512; 3], Arithmetic::F32)),
    ("gemm f16 512x512x512 of blas", |stream| blas_gemm::<f16>(stream, [512; 3], Arithmetic::F16)),
    ("gemm f16 64x2048x512 of blas", |stream| blas_gemm::<f16>(stream, [ROWS, HIDDEN, 512], Arithmetic::F16)),
    ("gemv f16 1x2048x2048", |stream| gemm::<f16>(stream, [1, HIDDEN, HIDDEN], Arithmetic::F16)),
    ("gemm_experts f16 64 tokens, 2 of 8 experts 512x2048", gemm_experts::<f16>),
    ("attention f16 8 heads 128x128x64", |stream| attention::<f16>(stream, [8, 8, 128, 128, 64])),
    ("its two products f16 8x128x128x64", two_products),
    ("attention f16 8/2 heads 1x1024x128", |stream| attention::<f16>(stream, [8, 2, 1, 1024, 128])),
    ("quantize f16 1x2048", |stream| quantize::<f16>(stream, 1)),
    ("quant_matmul q4_0 1x2048x2048", |stream| quantised(stream, QuantType::Q4_0, 1)),
    ("quant_matmul q8_0 1x2048x2048", |stream| quantised(stream, QuantType::Q8_0, 1)),
    ("quant_matmul q4_K 1x2048x2048", |stream| quantised(stream, QuantType::Q4K, 1)),
    ("quant_matmul q6_K 1x2048x2048", |stream| quantised(stream, QuantType::Q6K, 1)),
    ("quant_matmul q4_K 4x2048x2048", |stream| quantised(stream, QuantType::Q4K, 4)),
    ("quant_matmul q4_K 64x2048x2048", |stream| quantised(stream, QuantType::Q4K, ROWS)),
];

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// Creates a case with its buffers.
pub(crate) fn make(name: &str, stream: &Stream) -> Result<Case> {
    let (_, make) = CASES.iter().find(|(known, _)| *known == name).context("there is no such case")?;
    make(stream)
}

/// Numbers between -1 and 1 without a pattern.
fn noise<T: Single>(stream: &Stream, count: usize) -> hip::Result<DeviceBuffer<T>> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        T::from_f64(f64::from(state >> 8) / f64::from(1 << 23) - 1.0)
    };
    let values: Vec<T> = (0..count).map(|_| next()).collect();
    DeviceBuffer::from_slice(stream, &values)
}

fn size<T>(elements: usize) -> u64 {
    (elements * size_of::<T>()) as u64
}

fn unary<T: Single>(stream: &Stream, op: UnaryOp) -> Result<Case> {
    let (x, mut y) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    Ok(Case {
        flops: x.len() as u64,
        bytes: 2 * size::<T>(x.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| Ok(kernels.unary(stream, op, &x, &mut y)?)),
    })
}

fn binary<T: Single>(stream: &Stream) -> Result<Case> {
    let (a, b) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let mut c = DeviceBuffer::<T>::zeroed(stream, ROWS * HIDDEN)?;
    Ok(Case {
        flops: a.len() as u64,
        bytes: 3 * size::<T>(a.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| Ok(kernels.binary(stream, BinaryOp::Add, &a, &b, &mut c)?)),
    })
}

fn reduce<T: Single>(stream: &Stream) -> Result<Case> {
    let (x, mut sums) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS)?);
    Ok(Case {
        flops: x.len() as u64,
        bytes: size::<T>(x.len() + ROWS),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            Ok(kernels.reduce(stream, ReduceOp::Sum, &x, HIDDEN, &mut sums)?)
        }),
    })
}

fn softmax<T: Single>(stream: &Stream) -> Result<Case> {
    let (x, mut y) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    Ok(Case {
        // Maximum, difference, exponential, sum, product.
        flops: 5 * x.len() as u64,
        bytes: 2 * size::<T>(x.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| Ok(kernels.softmax(stream, &x, HIDDEN, &mut y)?)),
    })
}

fn rms_norm_backward<T: Single>(stream: &Stream) -> Result<Case> {
    let (x, grad) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let (alpha, mut out) = (noise::<T>(stream, HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let mut scales = DeviceBuffer::<f32>::zeroed(stream, ROWS)?;
    Ok(Case {
        // Two sums of products, one of them with weights; a product, a difference, a product.
        flops: 9 * x.len() as u64,
        bytes: size::<T>(3 * x.len() + HIDDEN) + size::<f32>(ROWS),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            let (alpha, scales) = (Some(alpha.as_slice()), Some(scales.as_mut_slice()));
            Ok(kernels.rms_norm_backward(stream, &x, HIDDEN, alpha, 1e-5, &grad, None, &mut out, scales)?)
        }),
    })
}

fn cross_entropy<T: Single>(stream: &Stream) -> Result<Case> {
    let (logits, mut grad) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let targets = DeviceBuffer::from_slice(stream, &[7_u32; ROWS])?;
    let mut losses = DeviceBuffer::<f32>::zeroed(stream, ROWS)?;
    Ok(Case {
        // Maximum, difference, exponential, sum, quotient, product.
        flops: 6 * logits.len() as u64,
        bytes: 2 * size::<T>(logits.len()) + size::<f32>(2 * ROWS),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            let grad = Some(grad.as_mut_slice());
            Ok(kernels.cross_entropy(stream, &logits, HIDDEN, &targets, &mut losses, 1.0, grad)?)
        }),
    })
}

fn adamw<T: Single>(stream: &Stream) -> Result<Case> {
    let count = ROWS * HIDDEN;
    let (mut params, grad) = (noise::<T>(stream, count)?, noise::<T>(stream, count)?);
    let mut master = DeviceBuffer::<f32>::zeroed(stream, count)?;
    let (mut mean, mut square) =
        (DeviceBuffer::<f32>::zeroed(stream, count)?, DeviceBuffer::zeroed(stream, count)?);
    Ok(Case {
        // 3 for the mean, 4 for the square, 2 for the decay, 7 for the step.
        flops: 16 * count as u64,
        // The 16-bit parameters are only written.
        bytes: 2 * size::<T>(count) + 6 * size::<f32>(count),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            let (mean, square) = (mean.as_mut_slice(), square.as_mut_slice());
            let state = AdamWState { master: Some(master.as_mut_slice()), mean, square };
            Ok(kernels.adamw(stream, &AdamW::default(), 1, &mut params, &grad, state)?)
        }),
    })
}

fn rms_norm<T: Single>(stream: &Stream) -> Result<Case> {
    let (x, mut y) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let alpha = noise::<T>(stream, HIDDEN)?;
    Ok(Case {
        // Square, sum, product, product.
        flops: 4 * x.len() as u64,
        bytes: size::<T>(2 * x.len() + HIDDEN),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            Ok(kernels.rms_norm(stream, &x, HIDDEN, Some((&alpha).into()), 1e-5, &mut y)?)
        }),
    })
}

fn gated<T: Single>(stream: &Stream) -> Result<Case> {
    let (gate, up) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let mut out = DeviceBuffer::<T>::zeroed(stream, ROWS * HIDDEN)?;
    Ok(Case {
        flops: 2 * gate.len() as u64,
        bytes: 3 * size::<T>(gate.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            Ok(kernels.gated(stream, Activation::Silu, &gate, &up, &mut out)?)
        }),
    })
}

/// Heads, heads of keys, queries, keys, dimensions.
fn attention<T: Single>(stream: &Stream, [heads, kv_heads, queries, keys, dim]: [usize; 5]) -> Result<Case> {
    let q = noise::<T>(stream, heads * queries * dim)?;
    let (k, v) = (noise::<T>(stream, kv_heads * keys * dim)?, noise::<T>(stream, kv_heads * keys * dim)?);
    let mut out = DeviceBuffer::<T>::zeroed(stream, q.len())?;
    let attention = Attention::new(1, heads, kv_heads, queries, keys, dim);
    Ok(Case {
        flops: 4 * (heads * queries * keys * dim) as u64,
        bytes: size::<T>(2 * q.len() + 2 * k.len()),
        arithmetic: Arithmetic::F16,
        run: Box::new(move |kernels, stream| {
            Ok(kernels.attention(stream, &attention, AttentionInputs::new(&q, &k, &v), &mut out)?)
        }),
    })
}

/// The products of the first case of attention, without softmax: scores by heads, then weighted values.
fn two_products(stream: &Stream) -> Result<Case> {
    const HEADS: usize = 8;
    const LENGTH: usize = 128;
    const DIM: usize = 64;
    let [q, k, v] = [1, 2, 3].map(|_| noise::<f16>(stream, HEADS * LENGTH * DIM));
    let (q, k, v) = (q?, k?, v?);
    let mut scores = DeviceBuffer::<f16>::zeroed(stream, HEADS * LENGTH * LENGTH)?;
    let mut out = DeviceBuffer::<f16>::zeroed(stream, q.len())?;
    let first = Gemm::new(LENGTH, LENGTH, DIM).transpose_b().batched(HEADS);
    let second = Gemm::new(LENGTH, DIM, LENGTH).batched(HEADS);
    Ok(Case {
        flops: 4 * (HEADS * LENGTH * LENGTH * DIM) as u64,
        bytes: size::<f16>(4 * q.len() + 2 * scores.len()),
        arithmetic: Arithmetic::F16,
        run: Box::new(move |kernels, stream| {
            kernels.gemm(stream, &first, &q, &k, &mut scores)?;
            Ok(kernels.gemm(stream, &second, &scores, &v, &mut out)?)
        }),
    })
}

/// Bytes of the blocks of this many vectors of activations.
fn q8_1(vectors: usize) -> u64 {
    (vectors * HIDDEN / Q8_1::VALUES * Q8_1::BYTES) as u64
}

fn quantize<T: Single>(stream: &Stream, vectors: usize) -> Result<Case> {
    let x = noise::<T>(stream, vectors * HIDDEN)?;
    let mut blocks = QuantVectors::zeroed(stream, vectors, HIDDEN)?;
    Ok(Case {
        flops: 2 * x.len() as u64,
        bytes: size::<T>(x.len()) + q8_1(vectors),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| Ok(kernels.quantize(stream, &x, &mut blocks)?)),
    })
}

/// A quantised matrix times vectors. Its blocks are zeros, because the time of a product does not depend on
/// them.
fn quantised(stream: &Stream, quant: QuantType, vectors: usize) -> Result<Case> {
    let weights = HIDDEN * HIDDEN / quant.block_values() * quant.block_bytes();
    let blocks = DeviceBuffer::<u8>::zeroed(stream, weights)?;
    let x = QuantVectors::zeroed(stream, vectors, HIDDEN)?;
    let mut out = DeviceBuffer::<f32>::zeroed(stream, vectors * HIDDEN)?;
    Ok(Case {
        flops: 2 * (vectors * HIDDEN * HIDDEN) as u64,
        bytes: weights as u64 + q8_1(vectors) + size::<f32>(out.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| {
            let matrix = QuantMatrix::new(quant, HIDDEN, HIDDEN, &blocks)?;
            Ok(kernels.quant_matmul(stream, matrix, &x, &mut out)?)
        }),
    })
}

fn gemm<T: Single>(stream: &Stream, [m, n, k]: [usize; 3], arithmetic: Arithmetic) -> Result<Case> {
    let (a, b) = (noise::<T>(stream, m * k)?, noise::<T>(stream, k * n)?);
    let mut c = DeviceBuffer::<T>::zeroed(stream, m * n)?;
    let gemm = Gemm::new(m, n, k);
    Ok(Case {
        flops: 2 * (m * n * k) as u64,
        bytes: size::<T>(m * k + k * n + m * n),
        arithmetic,
        run: Box::new(move |kernels, stream| Ok(kernels.gemm(stream, &gemm, &a, &b, &mut c)?)),
    })
}

/// The same product by the kernels of `blas-on-kernels`, whose matrices are by columns: the transposed
/// product.
fn blas_gemm<T: Single + rocblas::GemmInput<T>>(
    stream: &Stream,
    [m, n, k]: [usize; 3],
    arithmetic: Arithmetic,
) -> Result<Case> {
    let (a, b) = (noise::<T>(stream, m * k)?, noise::<T>(stream, k * n)?);
    let mut c = DeviceBuffer::<T>::zeroed(stream, m * n)?;
    let blas = Blas::new(stream)?;
    Ok(Case {
        flops: 2 * (m * n * k) as u64,
        bytes: size::<T>(m * k + k * n + m * n),
        arithmetic,
        run: Box::new(move |_, _| {
            let a = Matrix::new(&a, MatrixLayout::row_major(m, k))?;
            let b = Matrix::new(&b, MatrixLayout::row_major(k, n))?;
            let mut c = MatrixMut::new(&mut c, MatrixLayout::row_major(m, n))?;
            Ok(blas.gemm(&a, &b, &mut c).run()?)
        }),
    })
}

/// Each token has two experts, and all experts have equally many pairs.
fn gemm_experts<T: Single>(stream: &Stream) -> Result<Case> {
    const EXPERTS: usize = 8;
    let (n, k, pairs) = (512, HIDDEN, 2 * ROWS);
    let permutation: Vec<u32> =
        (0..EXPERTS as u32).flat_map(|expert| (expert..pairs as u32).step_by(EXPERTS)).collect();
    let offsets: Vec<u32> = (0..=EXPERTS).map(|expert| (expert * pairs / EXPERTS) as u32).collect();
    let offsets = DeviceBuffer::from_slice(stream, &offsets)?;
    let permutation = DeviceBuffer::from_slice(stream, &permutation)?;
    let (a, b) = (noise::<T>(stream, ROWS * k)?, noise::<T>(stream, EXPERTS * n * k)?);
    let mut c = DeviceBuffer::<T>::zeroed(stream, pairs * n)?;
    let gemm = ExpertGemm::new(ROWS, n, k).gathered();
    Ok(Case {
        flops: 2 * (pairs * n * k) as u64,
        bytes: size::<T>(a.len() + b.len() + c.len()) + size::<u32>(offsets.len() + permutation.len()),
        arithmetic: Arithmetic::F16,
        run: Box::new(move |kernels, stream| {
            Ok(kernels.gemm_experts(
                stream,
                &gemm,
                SortedPairs::new(&offsets, &permutation)?,
                &a,
                &b,
                &mut c,
            )?)
        }),
    })
}
