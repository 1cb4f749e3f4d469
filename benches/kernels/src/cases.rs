//! The operations that are measured: each with sizes of inference, and with what it has to compute and to move.

use anyhow::{Context, Result};
use half::f16;
use hip::{DeviceBuffer, Stream};
use kernels::{BinaryOp, Float, Gemm, Kernels, ReduceOp, UnaryOp};

use crate::peaks::Arithmetic;

/// An operation with its buffers.
pub(crate) struct Case {
    /// Of the operation; a multiply-add is two, a function of one number is one.
    pub(crate) flops: u64,
    /// Each input read and each output written once.
    pub(crate) bytes: u64,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) run: Run,
}

type Run = Box<dyn FnMut(&Kernels, &Stream) -> kernels::Result<()>>;
type Make = fn(&Stream) -> hip::Result<Case>;

/// Hidden size of the models whose shapes these are, and rows of activations.
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
    ("gemm f32 512x512x512", |stream| gemm::<f32>(stream, [512; 3], Arithmetic::F32)),
    ("gemm f16 512x512x512", |stream| gemm::<f16>(stream, [512; 3], Arithmetic::F16)),
    ("gemm f16 64x2048x512", |stream| gemm::<f16>(stream, [ROWS, HIDDEN, 512], Arithmetic::F16)),
];

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// Makes a case with its buffers.
pub(crate) fn make(name: &str, stream: &Stream) -> Result<Case> {
    let (_, make) = CASES.iter().find(|(known, _)| *known == name).context("there is no such case")?;
    Ok(make(stream)?)
}

/// Numbers between -1 and 1 without a pattern.
fn noise<T: Float<Compute = f32>>(stream: &Stream, count: usize) -> hip::Result<DeviceBuffer<T>> {
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

fn unary<T: Float<Compute = f32>>(stream: &Stream, op: UnaryOp) -> hip::Result<Case> {
    let (x, mut y) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    Ok(Case {
        flops: x.len() as u64,
        bytes: 2 * size::<T>(x.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| kernels.unary(stream, op, &x, &mut y)),
    })
}

fn binary<T: Float<Compute = f32>>(stream: &Stream) -> hip::Result<Case> {
    let (a, b) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    let mut c = DeviceBuffer::<T>::zeroed(stream, ROWS * HIDDEN)?;
    Ok(Case {
        flops: a.len() as u64,
        bytes: 3 * size::<T>(a.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| kernels.binary(stream, BinaryOp::Add, &a, &b, &mut c)),
    })
}

fn reduce<T: Float<Compute = f32>>(stream: &Stream) -> hip::Result<Case> {
    let (x, mut sums) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS)?);
    Ok(Case {
        flops: x.len() as u64,
        bytes: size::<T>(x.len() + ROWS),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| kernels.reduce(stream, ReduceOp::Sum, &x, HIDDEN, &mut sums)),
    })
}

fn softmax<T: Float<Compute = f32>>(stream: &Stream) -> hip::Result<Case> {
    let (x, mut y) = (noise::<T>(stream, ROWS * HIDDEN)?, noise::<T>(stream, ROWS * HIDDEN)?);
    Ok(Case {
        // Maximum, difference, exponential, sum, product.
        flops: 5 * x.len() as u64,
        bytes: 2 * size::<T>(x.len()),
        arithmetic: Arithmetic::F32,
        run: Box::new(move |kernels, stream| kernels.softmax(stream, &x, HIDDEN, &mut y)),
    })
}

fn gemm<T: Float<Compute = f32>>(
    stream: &Stream,
    [m, n, k]: [usize; 3],
    arithmetic: Arithmetic,
) -> hip::Result<Case> {
    let (a, b) = (noise::<T>(stream, m * k)?, noise::<T>(stream, k * n)?);
    let mut c = DeviceBuffer::<T>::zeroed(stream, m * n)?;
    let gemm = Gemm::new(m, n, k);
    Ok(Case {
        flops: 2 * (m * n * k) as u64,
        bytes: size::<T>(m * k + k * n + m * n),
        arithmetic,
        run: Box::new(move |kernels, stream| kernels.gemm(stream, &gemm, &a, &b, &mut c)),
    })
}
