//! Gated delta nets.

use kernels::{CausalConv, Heads};

use super::work::{Work, for_float};
use crate::error::Result;
use crate::ops::GatedDelta;
use crate::{Tensor, check};

pub(super) fn causal_conv(
    work: &Work<'_>,
    x: &Tensor,
    weight: &Tensor,
    states: &Tensor,
    slots: &Tensor,
    out: &Tensor,
) -> Result<()> {
    let operation = "causal_conv";
    let [sequences, tokens, channels, width] = check::causal_conv(x, weight, states, slots, out)?;
    let row_stride = if sequences * tokens <= 1 { channels } else { row_stride(x) };
    let conv = CausalConv { sequences, tokens, channels, width, row_stride };
    let slots = work.words(operation, "slots", slots)?;
    for_float!(operation, x, [x, weight, out], T => {
        let (from, weight) = (work.read::<T>(operation, x)?, work.dense::<T>(operation, "weight", weight)?);
        let states = work.dense_mut::<f32>(operation, "states", states)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.causal_conv(&work.stream, &conv, from, weight, states, slots, to)?)
    })
}

/// From a token to the next, in the next sequence if each has one.
fn row_stride(x: &Tensor) -> usize {
    if x.size(1) > 1 { x.strides()[1] } else { x.strides()[0] }
}

/// Where the heads of `[sequences, tokens, heads, size]` are.
fn heads(x: &Tensor) -> Heads {
    Heads { heads: x.size(2), size: x.size(3), token_stride: row_stride(x), head_stride: x.strides()[2] }
}

pub(super) fn gated_delta(work: &Work<'_>, by: &GatedDelta<'_>, out: &Tensor) -> Result<()> {
    let operation = "gated_delta";
    let [sequences, tokens, ..] = check::gated_delta(by, out)?;
    let (q, k, v) = (heads(by.q), heads(by.k), heads(by.v));
    let delta = kernels::GatedDelta { sequences, tokens, q, k, v, scale: by.scale };
    let slots = work.words(operation, "slots", by.slots)?;
    let gates = work.dense::<f32>(operation, "gates", by.gates)?;
    let betas = work.dense::<f32>(operation, "betas", by.betas)?;
    for_float!(operation, by.q, [by.q, by.k, by.v, out], T => {
        let (q, k) = (work.read::<T>(operation, by.q)?, work.read::<T>(operation, by.k)?);
        let v = work.read::<T>(operation, by.v)?;
        let states = work.dense_mut::<f32>(operation, "states", by.states)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        let (kernels, stream) = (work.kernels, &work.stream);
        Ok(kernels.gated_delta(stream, &delta, q, k, v, gates, betas, states, slots, to)?)
    })
}
