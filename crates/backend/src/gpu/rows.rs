//! Operations row by row.

use std::sync::Mutex;

use kernels::{Heads, QuantVectors, RopeStyle};

use super::lock;
use super::work::{Work, for_float, same, unsupported};
use crate::error::{Error, Result};
use crate::ops::RopeFrequencies;
use crate::{DType, Tensor, check};

pub(super) fn rmsnorm(
    work: &Work<'_>,
    x: &Tensor,
    weight: Option<&Tensor>,
    eps: f32,
    out: &Tensor,
) -> Result<()> {
    let operation = "rmsnorm";
    same(operation, x, out)?;
    for_float!(operation, x, [x, out], T => {
        let (from, weight) = (work.dense::<T>(operation, "x", x)?, work.weight(operation, "weight", x, weight)?);
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.rms_norm(&work.stream, from, x.columns(), weight, eps, to)?)
    })
}

pub(super) fn add_rmsnorm(
    work: &Work<'_>,
    x: &Tensor,
    residual: &Tensor,
    weight: Option<&Tensor>,
    eps: f32,
    out: &Tensor,
) -> Result<()> {
    let operation = "add_rmsnorm";
    same(operation, x, residual)?;
    same(operation, x, out)?;
    for_float!(operation, x, [x, residual, out], T => {
        let (from, weight) = (work.dense::<T>(operation, "x", x)?, work.weight(operation, "weight", x, weight)?);
        let sum = work.dense_mut::<T>(operation, "residual", residual)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.add_rms_norm(&work.stream, from, sum, x.columns(), weight, eps, to)?)
    })
}

pub(super) fn layer_norm(
    work: &Work<'_>,
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f32,
    out: &Tensor,
) -> Result<()> {
    let operation = "layer_norm";
    same(operation, x, out)?;
    for_float!(operation, x, [x, out], T => {
        let (from, weight) = (work.dense::<T>(operation, "x", x)?, work.weight(operation, "weight", x, weight)?);
        let bias = work.weight(operation, "bias", x, bias)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.layer_norm(&work.stream, from, x.columns(), weight, bias, eps, to)?)
    })
}

pub(super) fn l2norm(work: &Work<'_>, x: &Tensor, eps: f32, out: &Tensor) -> Result<()> {
    let operation = "l2norm";
    same(operation, x, out)?;
    for_float!(operation, x, [x, out], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.l2_norm(&work.stream, from, x.columns(), eps, to)?)
    })
}

pub(super) fn softmax(work: &Work<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "softmax";
    same(operation, x, out)?;
    for_float!(operation, x, [x, out], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.softmax(&work.stream, from, x.columns(), to)?)
    })
}

/// The rows of a view without gaps, outermost first.
fn for_each_row(x: &Tensor, f: &mut dyn FnMut(&Tensor) -> Result<()>) -> Result<()> {
    if x.rank() <= 1 || x.is_contiguous() {
        return f(x);
    }
    (0..x.size(0)).try_for_each(|i| for_each_row(&x.select(0, i)?, f))
}

pub(super) fn softmax_view(work: &Work<'_>, x: &Tensor) -> Result<()> {
    check::dense_rows("softmax_view", "x", x)?;
    for_each_row(x, &mut |part| softmax(work, part, part))
}

/// The norm of a sum, or of `residual` alone, with blocks of the results.
pub(super) fn norm_factor(
    work: &Work<'_>,
    x: Option<&Tensor>,
    residual: &Tensor,
    weight: Option<&Tensor>,
    eps: f32,
    out: &Tensor,
    blocks: &Mutex<QuantVectors>,
) -> Result<()> {
    let operation = "norm_factor";
    x.map_or(Ok(()), |x| same(operation, x, residual))?;
    same(operation, residual, out)?;
    let mut blocks = lock(blocks);
    for_float!(operation, out, [residual, out], T => {
        let from = x.map(|x| work.dense::<T>(operation, "x", x)).transpose()?;
        let sum = work.dense_mut::<T>(operation, "residual", residual)?;
        let weight = work.weight::<T>(operation, "weight", residual, weight)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.add_rms_norm_quantized(&work.stream, from, sum, weight, eps, to, &mut blocks)?)
    })
}

pub(super) fn embedding(work: &Work<'_>, table: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "embedding";
    let (_, width) = check::embedding(operation, table, ids, out)?;
    let numbers = work.words(operation, "ids", ids)?;
    for_float!(operation, out, [table, ids, out], T => {
        let to = work.dense_mut::<T>(operation, "out", out)?;
        match table.dtype() {
            DType::Quant(quant) => {
                let matrix = work.quantised(operation, quant, table)?;
                work.kernels.quant_rows(&work.stream, matrix, numbers, to)?;
            }
            dtype if dtype == out.dtype() => {
                let table = work.dense::<T>(operation, "table", table)?;
                work.kernels.embedding(&work.stream, table, width, numbers, to)?;
            }
            _ => return Err(unsupported(operation, &[table, ids, out])),
        }
        Ok(())
    })
}

pub(super) fn rope_table(
    work: &Work<'_>,
    frequencies: &RopeFrequencies,
    positions: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
) -> Result<()> {
    let operation = "rope_table";
    let inner = frequencies.inner().downcast_ref::<kernels::RopeFrequencies>();
    let other = Error::OtherBackend { backend: super::NAME, operation, tensor: "frequencies" };
    check::rope_table(operation, frequencies.half(), positions, (cos, sin))?;
    let positions = work.words(operation, "positions", positions)?;
    let (cos, sin) = (work.dense_mut(operation, "cos", cos)?, work.dense_mut(operation, "sin", sin)?);
    Ok(work.kernels.rope_table(&work.stream, inner.ok_or(other)?, positions, cos, sin)?)
}

/// Where the heads of `[tokens, heads, dimensions]` are.
pub(super) fn heads(x: &Tensor) -> Heads {
    Heads { heads: x.size(1), size: x.size(2), token_stride: x.strides()[0], head_stride: x.strides()[1] }
}

pub(super) fn apply_rope(
    work: &Work<'_>,
    style: RopeStyle,
    (cos, sin): (&Tensor, &Tensor),
    x: &Tensor,
    out: &Tensor,
) -> Result<()> {
    let operation = "apply_rope";
    same(operation, x, out)?;
    let [tokens, ..] = check::rope(operation, (cos, sin), x, out)?;
    let tables = (work.dense::<f32>(operation, "cos", cos)?, work.dense::<f32>(operation, "sin", sin)?);
    let in_place = x.shares_memory_with(out) && x.offset() == out.offset() && x.strides() == out.strides();
    for_float!(operation, x, [x, out], T => {
        let to = work.write::<T>(operation, out)?;
        if in_place {
            work.kernels.rope_in_place(&work.stream, style, tokens, tables, to, &heads(x))?;
        } else {
            let from = work.read::<T>(operation, x)?;
            work.kernels.rope(&work.stream, style, tokens, tables, from, &heads(x), to, &heads(out))?;
        }
        Ok(())
    })
}
