//! Mixtures of experts.

use hip::DeviceBuffer;
use kernels::{ExpertGemm, SortedPairs};

use super::work::{Work, for_float, unsupported};
use super::{GpuBackend, lock, product};
use crate::error::Result;
use crate::ops::MoeGate;
use crate::{DType, Tensor, check};

pub(super) fn gate(
    work: &Work<'_>,
    gate: &MoeGate<'_>,
    logits: &Tensor,
    weights: &Tensor,
    ids: &Tensor,
) -> Result<()> {
    let operation = "moe_gate";
    let experts = check::gate(operation, gate, logits, weights, ids)?;
    let bias = gate.bias.map(|bias| work.dense::<f32>(operation, "bias", bias)).transpose()?;
    let by = kernels::MoeGate {
        experts,
        k: gate.k,
        scores: gate.scores,
        bias,
        groups: gate.groups,
        renormalise: gate.renormalise,
        scale: gate.scale,
    };
    for_float!(operation, logits, [logits], T => {
        let from = work.dense::<T>(operation, "logits", logits)?;
        let weights = work.dense_mut::<f32>(operation, "weights", weights)?;
        let ids = work.dense_mut::<u32>(operation, "ids", ids)?;
        Ok(work.kernels.moe_gate(&work.stream, &by, from, weights, ids)?)
    })
}

pub(super) fn matmul(backend: &GpuBackend, x: &Tensor, w: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "moe_matmul";
    let (experts, n, k, pairs) = check::experts(operation, x, w, ids, out)?;
    if out.dtype() != x.dtype() {
        return Err(unsupported(operation, &[x, w, out]));
    }
    if pairs == 0 || n == 0 {
        return Ok(());
    }
    let work = backend.work()?;
    let numbers = work.words(operation, "ids", ids)?;
    let (kernels, stream) = (work.kernels, &work.stream);
    if let DType::Quant(quant) = w.dtype() {
        let matrices = work.quantised(operation, quant, w)?;
        let vectors = product::quantise(&work, &mut lock(&backend.products), operation, x)?;
        let routes = kernels.route_experts(stream, numbers, experts)?;
        return for_float!(operation, x, [x, w, out], T => {
            let to = work.dense_mut::<T>(operation, "out", out)?;
            Ok(kernels.quant_experts(stream, matrices, &routes, &lock(&vectors), to)?)
        });
    }
    if w.dtype() != x.dtype() {
        return Err(unsupported(operation, &[x, w, out]));
    }
    let mut counts = DeviceBuffer::<u32>::uninit_on(stream, experts)?;
    let mut offsets = DeviceBuffer::<u32>::uninit_on(stream, experts + 1)?;
    let mut order = DeviceBuffer::<u32>::uninit_on(stream, pairs)?;
    kernels.moe_sort(stream, numbers, &mut counts, &mut offsets, &mut order)?;
    let gemm = ExpertGemm::new(x.rows(), n, k).gathered().scattered();
    for_float!(operation, x, [x, w, out], T => {
        let (a, b) = (work.dense::<T>(operation, "x", x)?, work.dense::<T>(operation, "w", w)?);
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(kernels.gemm_experts(stream, &gemm, SortedPairs::new(&offsets, &order)?, a, b, to)?)
    })
}

pub(super) fn combine(work: &Work<'_>, y: &Tensor, weights: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "moe_combine";
    let (_, _, n) = check::combine(operation, y, weights, out)?;
    if out.dtype() != y.dtype() {
        return Err(unsupported(operation, &[y, weights, out]));
    }
    for_float!(operation, y, [y, weights, out], T => {
        let from = work.dense::<T>(operation, "y", y)?;
        let weights = work.dense::<f32>(operation, "weights", weights)?;
        let to = work.dense_mut::<T>(operation, "out", out)?;
        Ok(work.kernels.moe_combine(&work.stream, from, n, weights, None, to)?)
    })
}
