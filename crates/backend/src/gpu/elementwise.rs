//! Operations element by element.

use std::sync::Mutex;

use half::{bf16, f16};
use kernels::{BinaryOp, F8E4M3, GateFunction, GateRows, Layout, QuantVectors, UnaryOp, View, ViewMut};

use super::lock;
use super::work::{Work, for_float, same, unsupported};
use crate::error::{Error, Result};
use crate::ops::{Activation, Gate};
use crate::{DType, Tensor, check};

/// Additions and multiplications, whose second operand may repeat.
#[derive(Clone, Copy)]
pub(super) enum Combination {
    Add,
    Mul,
}

impl Combination {
    fn operation(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Mul => "mul",
        }
    }
}

/// A tensor's layout in the memory from its first element on.
fn layout(tensor: &Tensor) -> Result<Layout> {
    Ok(Layout::with_strides(tensor.shape(), tensor.strides(), 0).map_err(kernels::Error::from)?)
}

pub(super) fn copy(work: &Work<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "copy";
    same(operation, x, out)?;
    if x.is_contiguous() && out.is_contiguous() {
        let bytes = (x.as_bytes()?, out.as_bytes()?);
        let from = work.read::<u8>(operation, &bytes.0)?;
        return Ok(work.write::<u8>(operation, &bytes.1)?.copy_from(&work.stream, from)?);
    }
    macro_rules! copied {
        ($type:ty) => {{
            let from =
                View::new(work.read::<$type>(operation, x)?, layout(x)?).map_err(kernels::Error::from)?;
            let to = ViewMut::new(work.write::<$type>(operation, out)?, layout(out)?)
                .map_err(kernels::Error::from)?;
            Ok(work.kernels.copy_strided(&work.stream, from, to)?)
        }};
    }
    match x.dtype().block_bytes() {
        _ if x.dtype().is_quantised() => Err(unsupported(operation, &[x, out])),
        1 => copied!(u8),
        2 => copied!(i16),
        4 => copied!(u32),
        _ => copied!(i64),
    }
}

pub(super) fn cast(work: &Work<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "cast";
    check::shape(operation, "out", out, x.shape())?;
    if let DType::Quant(quant) = x.dtype() {
        let matrix = work.quantised(operation, quant, x)?;
        return for_float!(operation, out, [x, out], T => {
            Ok(work.kernels.dequantize(&work.stream, matrix, work.dense_mut::<T>(operation, "out", out)?)?)
        });
    }
    macro_rules! cast {
        ($from:ty, $to:ty) => {{
            let from = work.dense::<$from>(operation, "x", x)?;
            Ok(work.kernels.cast(&work.stream, from, work.dense_mut::<$to>(operation, "out", out)?)?)
        }};
    }
    macro_rules! cast_from {
        ($from:ty) => {
            match out.dtype() {
                DType::F32 => cast!($from, f32),
                DType::F16 => cast!($from, f16),
                DType::BF16 => cast!($from, bf16),
                DType::F8 => cast!($from, F8E4M3),
                _ => Err(unsupported(operation, &[x, out])),
            }
        };
    }
    match x.dtype() {
        DType::F32 => cast_from!(f32),
        DType::F16 => cast_from!(f16),
        DType::BF16 => cast_from!(bf16),
        DType::F8 => cast_from!(F8E4M3),
        _ => Err(unsupported(operation, &[x, out])),
    }
}

pub(super) fn affine(work: &Work<'_>, x: &Tensor, factor: f32, summand: f32, out: &Tensor) -> Result<()> {
    use kernels::Element as _;
    let operation = "affine";
    same(operation, x, out)?;
    for_float!(operation, x, [x, out], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        let [factor, summand] = [factor, summand].map(|number| T::from_f64(f64::from(number)));
        Ok(work.kernels.affine(&work.stream, from, to, factor, summand)?)
    })
}

pub(super) fn combine(work: &Work<'_>, by: Combination, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
    let operation = by.operation();
    same(operation, a, out)?;
    if b.dtype() != a.dtype() {
        return Err(unsupported(operation, &[a, b]));
    }
    check::repeats(operation, a, b)?;
    for_float!(operation, a, [a, b, out], T => {
        let (left, right) = (work.dense::<T>(operation, "a", a)?, work.dense::<T>(operation, "b", b)?);
        let (to, whole) = (work.dense_mut::<T>(operation, "out", out)?, left.len() == right.len());
        let (kernels, stream) = (work.kernels, &work.stream);
        match (by, whole) {
            (Combination::Add, true) => kernels.binary(stream, BinaryOp::Add, left, right, to)?,
            (Combination::Mul, true) => kernels.binary(stream, BinaryOp::Mul, left, right, to)?,
            (Combination::Add, false) => kernels.add_rows(stream, left, right, to)?,
            (Combination::Mul, false) => kernels.mul_rows(stream, left, right, to)?,
        }
        Ok(())
    })
}

pub(super) fn activate(work: &Work<'_>, f: Activation, x: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "activate";
    same(operation, x, out)?;
    let gate = |f| Err::<UnaryOp, _>(f);
    let of_one = match f {
        Activation::Silu => gate(kernels::Activation::Silu),
        Activation::Gelu => gate(kernels::Activation::Gelu),
        Activation::GeluErf => gate(kernels::Activation::GeluErf),
        Activation::Relu2 => gate(kernels::Activation::Relu2),
        Activation::Sigmoid => Ok(UnaryOp::Sigmoid),
        Activation::Tanh => Ok(UnaryOp::Tanh),
        Activation::Exp => Ok(UnaryOp::Exp),
        Activation::Softplus => Ok(UnaryOp::Softplus),
    };
    for_float!(operation, x, [x, out], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        match of_one {
            Ok(op) => work.kernels.unary(&work.stream, op, from, to)?,
            Err(f) => work.kernels.activate(&work.stream, f, from, to)?,
        }
        Ok(())
    })
}

/// Where the rows of both factors of a gate are: without gaps, or those of two dimensions.
fn gate_rows(operation: &'static str, x: &Tensor, up: &Tensor) -> Result<GateRows> {
    let stride = |name, tensor: &Tensor| {
        if tensor.is_contiguous() {
            return Ok(tensor.columns());
        }
        check::rank(operation, name, tensor, "without gaps, or of two dimensions", 2)?;
        check::dense_rows(operation, name, tensor)?;
        Ok::<_, Error>(tensor.strides()[0])
    };
    let (gate_stride, up_stride) = (stride("x", x)?, stride("up", up)?);
    Ok(GateRows { rows: x.rows(), columns: x.columns(), gate_stride, up_stride })
}

fn gate_function(gate: Gate) -> GateFunction {
    match gate {
        Gate::Silu => GateFunction::Product(kernels::Activation::Silu),
        Gate::Gelu => GateFunction::Product(kernels::Activation::Gelu),
        Gate::GeluErf => GateFunction::Product(kernels::Activation::GeluErf),
        Gate::Relu2 => GateFunction::Product(kernels::Activation::Relu2),
        Gate::SwigluOai { alpha, limit } => GateFunction::SwigluOai { alpha, limit },
    }
}

pub(super) fn gated(work: &Work<'_>, gate: Gate, x: &Tensor, up: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "gated";
    same(operation, x, up)?;
    same(operation, x, out)?;
    let rows = gate_rows(operation, x, up)?;
    for_float!(operation, x, [x, up, out], T => {
        let (from, up) = (work.read::<T>(operation, x)?, work.read::<T>(operation, up)?);
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.gated_rows(&work.stream, gate_function(gate), &rows, from, up, to)?)
    })
}

/// The same, with blocks of the results.
pub(super) fn gate_factor(
    work: &Work<'_>,
    gate: Gate,
    x: &Tensor,
    up: &Tensor,
    out: &Tensor,
    blocks: &Mutex<QuantVectors>,
) -> Result<()> {
    let operation = "gate_factor";
    let mut blocks = lock(blocks);
    let GateFunction::Product(f) = gate_function(gate) else {
        gated(work, gate, x, up, out)?;
        return for_float!(operation, out, [out], T => {
            let from = work.dense::<T>(operation, "out", out)?;
            Ok(work.kernels.quantize(&work.stream, from, &mut blocks)?)
        });
    };
    same(operation, x, up)?;
    same(operation, x, out)?;
    let rows = gate_rows(operation, x, up)?;
    for_float!(operation, x, [x, up, out], T => {
        let (from, up) = (work.read::<T>(operation, x)?, work.read::<T>(operation, up)?);
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.gated_quantized(&work.stream, f, &rows, from, up, to, &mut blocks)?)
    })
}

pub(super) fn softcap(work: &Work<'_>, x: &Tensor, cap: f32, out: &Tensor) -> Result<()> {
    let operation = "softcap";
    same(operation, x, out)?;
    for_float!(operation, x, [x, out], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        Ok(work.kernels.softcap(&work.stream, cap, from, work.dense_mut::<T>(operation, "out", out)?)?)
    })
}
