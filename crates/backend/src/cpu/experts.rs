//! Mixtures of experts.

use kernels::{GateScores, GroupScore};

use super::product::{Matrix, check_types};
use super::{CpuBackend, unsupported};
use crate::error::Result;
use crate::ops::MoeGate;
use crate::{Tensor, check};

pub(super) fn gate(
    backend: &CpuBackend,
    gate: &MoeGate<'_>,
    logits: &Tensor,
    weights: &Tensor,
    ids: &Tensor,
) -> Result<()> {
    let operation = "moe_gate";
    let experts = check::gate(operation, gate, logits, weights, ids)?;
    let mut session = backend.session();
    let (mut all_weights, mut all_ids) = (Vec::new(), Vec::new());
    {
        let rows = session.floats(operation, logits)?;
        let bias = gate.bias.map(|bias| session.floats(operation, bias)).transpose()?;
        for row in rows.chunks_exact(experts.max(1)) {
            let (weights, ids) = choose(gate, row, bias.as_deref());
            all_weights.extend(weights);
            all_ids.extend(ids);
        }
    }
    session.write(operation, weights, &all_weights)?;
    session.store(operation, ids, all_ids)
}

/// The experts of a token, and their weights: the rules of [`kernels::Kernels::moe_gate`].
fn choose(gate: &MoeGate<'_>, logits: &[f32], bias: Option<&[f32]>) -> (Vec<f32>, Vec<u32>) {
    let most = logits.iter().fold(f32::NEG_INFINITY, |most, x| most.max(*x));
    let sum: f32 = logits.iter().map(|x| (x - most).exp()).sum();
    let score = |logit: f32| match gate.scores {
        GateScores::Softmax => (logit - most).exp() / sum,
        GateScores::SoftmaxOfChosen => logit,
        GateScores::Sigmoid => 1.0 / (1.0 + (-logit).exp()),
    };
    let groups = gate.groups.filter(|groups| groups.chosen < groups.groups);
    let by_scores = bias.is_some() || groups.is_some_and(|groups| groups.by == GroupScore::TwoLargest);
    let ranked = |e: usize| match by_scores {
        true => score(logits[e]) + bias.map_or(0.0, |bias| bias[e]),
        false => logits[e],
    };
    // Larger first, a NaN before every number, and of equal ones the first.
    let before = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
        (true, false) => std::cmp::Ordering::Less,
        (false, true) => std::cmp::Ordering::Greater,
        _ => b.partial_cmp(&a).unwrap_or(std::cmp::Ordering::Equal),
    };
    let mut candidates: Vec<usize> = (0..logits.len()).collect();
    if let Some(groups) = groups {
        let size = logits.len() / groups.groups;
        let of_group = |g: usize| {
            let mut scores: Vec<f32> = (g * size..(g + 1) * size).map(ranked).collect();
            scores.sort_by(|a, b| before(*a, *b));
            if groups.by == GroupScore::TwoLargest { scores[0] + scores[1] } else { scores[0] }
        };
        let scores: Vec<f32> = (0..groups.groups).map(of_group).collect();
        let mut order: Vec<usize> = (0..groups.groups).collect();
        order.sort_by(|&a, &b| before(scores[a], scores[b]));
        order.truncate(groups.chosen);
        candidates.retain(|e| order.contains(&(e / size)));
    }
    candidates.sort_by(|&a, &b| before(ranked(a), ranked(b)));
    candidates.truncate(gate.k);
    let chosen = || candidates.iter().map(|&e| logits[e]);
    let of_chosen = gate.scores == GateScores::SoftmaxOfChosen
        || (gate.scores == GateScores::Softmax && gate.renormalise);
    let mut weights: Vec<f32> = if of_chosen {
        let most = chosen().fold(f32::NEG_INFINITY, f32::max);
        chosen().map(|logit| (logit - most).exp()).collect()
    } else {
        chosen().map(score).collect()
    };
    if of_chosen || gate.renormalise {
        let sum = weights.iter().sum::<f32>() + if of_chosen { 0.0 } else { 1e-20 };
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
    weights.iter_mut().for_each(|weight| *weight *= gate.scale);
    (weights, candidates.iter().map(|&e| e as u32).collect())
}

pub(super) fn matmul(backend: &CpuBackend, x: &Tensor, w: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "moe_matmul";
    let (experts, n, k, pairs) = check::experts(operation, x, w, ids, out)?;
    check_types(operation, x, w, out)?;
    let mut session = backend.session();
    let mut results = vec![f32::NAN; pairs * n];
    {
        let (ids, vectors) = (session.words(operation, "ids", ids)?, session.floats(operation, x)?);
        let per_row = if x.rows() == 0 { 1 } else { pairs / x.rows() };
        for expert in 0..experts {
            let of_expert: Vec<usize> = (0..pairs).filter(|&p| ids[p] as usize == expert).collect();
            if of_expert.is_empty() {
                continue;
            }
            let part = w.select(0, expert)?;
            let matrix = Matrix::of(&session, operation, &part)?;
            let gathered: Vec<f32> =
                of_expert.iter().flat_map(|p| &vectors[p / per_row * k..][..k]).copied().collect();
            let product = backend.product(&gathered, matrix, (of_expert.len(), n, k));
            for (p, result) in of_expert.iter().zip(product.chunks_exact(n.max(1))) {
                results[p * n..][..n].copy_from_slice(result);
            }
        }
    }
    session.write(operation, out, &results)
}

pub(super) fn combine(backend: &CpuBackend, y: &Tensor, weights: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "moe_combine";
    let (tokens, k, n) = check::combine(operation, y, weights, out)?;
    if out.dtype() != y.dtype() {
        return Err(unsupported(operation, &[y, weights, out]));
    }
    let mut session = backend.session();
    let mut sums = vec![0.0; tokens * n];
    {
        let (y, weights) = (session.floats(operation, y)?, session.floats(operation, weights)?);
        backend.for_rows(&mut sums, n, |token, sum| {
            for pair in token * k..(token + 1) * k {
                super::simd::axpy(weights[pair], &y[pair * n..][..n], sum);
            }
        });
    }
    session.write(operation, out, &sums)
}
