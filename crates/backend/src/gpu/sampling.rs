//! Drawing tokens.

use kernels::{Penalties, Sampling};

use super::work::{Work, for_float, unsupported};
use crate::error::Result;
use crate::{Tensor, check};

pub(super) fn count_tokens(work: &Work<'_>, tokens: &Tensor, counts: &Tensor) -> Result<()> {
    let operation = "count_tokens";
    check::counts(operation, tokens, counts)?;
    let ids = work.words(operation, "tokens", tokens)?;
    let to = work.dense_mut::<u32>(operation, "counts", counts)?;
    Ok(work.kernels.count_tokens(&work.stream, ids, counts.columns(), to)?)
}

pub(super) fn penalize(work: &Work<'_>, counts: &Tensor, penalties: &Tensor, logits: &Tensor) -> Result<()> {
    let operation = "penalize";
    check::penalties(operation, counts, penalties, logits)?;
    let columns = logits.columns();
    let counts = work.words(operation, "counts", counts)?;
    let penalties = work.words(operation, "penalties", penalties)?.cast::<Penalties>()?;
    for_float!(operation, logits, [logits], T => {
        let to = work.dense_mut::<T>(operation, "logits", logits)?;
        Ok(work.kernels.penalize(&work.stream, counts, penalties, columns, to)?)
    })
}

pub(super) fn sample(
    work: &Work<'_>,
    logits: &Tensor,
    settings: &Tensor,
    uniforms: &Tensor,
    tokens: &Tensor,
) -> Result<()> {
    let operation = "sample";
    check::sample(operation, logits, settings, uniforms, tokens)?;
    let columns = logits.columns();
    let settings = work.words(operation, "settings", settings)?.cast::<Sampling>()?;
    let uniforms = work.dense::<f32>(operation, "uniforms", uniforms)?;
    for_float!(operation, logits, [logits], T => {
        let from = work.dense::<T>(operation, "logits", logits)?;
        let to = work.dense_mut::<u32>(operation, "tokens", tokens)?;
        Ok(work.kernels.sample(&work.stream, from, columns, settings, uniforms, to)?)
    })
}

pub(super) fn argmax(work: &Work<'_>, x: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "argmax";
    check::argmax(operation, x, out)?;
    for_float!(operation, x, [x], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        let to = work.dense_mut::<u32>(operation, "out", out)?;
        Ok(work.kernels.argmax(&work.stream, from, x.columns(), to)?)
    })
}

pub(super) fn top_k(work: &Work<'_>, x: &Tensor, values: &Tensor, indices: &Tensor) -> Result<()> {
    let operation = "top_k";
    let k = check::top_k(operation, x, values, indices)?;
    if values.dtype() != x.dtype() {
        return Err(unsupported(operation, &[x, values, indices]));
    }
    for_float!(operation, x, [x], T => {
        let from = work.dense::<T>(operation, "x", x)?;
        let values = work.dense_mut::<T>(operation, "values", values)?;
        let indices = work.dense_mut::<u32>(operation, "indices", indices)?;
        Ok(work.kernels.top_k(&work.stream, from, x.columns(), k, values, indices)?)
    })
}
