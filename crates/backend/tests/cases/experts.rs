//! Mixtures of experts.

use backend::{DType, ExpertGroups, GateScores, GroupScore, MoeGate, QuantType};

use crate::common::{Bench, FLOATS};

/// The experts and weights of a row of logits.
fn exact(gate: &MoeGate<'_>, logits: &[f64], bias: &[f64]) -> (Vec<u32>, Vec<f64>) {
    let sum: f64 = logits.iter().map(|x| x.exp()).sum();
    let score = |e: usize| match gate.scores {
        GateScores::Softmax => logits[e].exp() / sum,
        GateScores::SoftmaxOfChosen => logits[e],
        GateScores::Sigmoid => 1.0 / (1.0 + (-logits[e]).exp()),
    };
    let ranked = |e: usize| score(e) + bias.get(e).copied().unwrap_or(0.0);
    let mut open: Vec<usize> = (0..logits.len()).collect();
    if let Some(groups) = gate.groups {
        let size = logits.len() / groups.groups;
        let of_group = |group: usize| {
            let mut scores: Vec<f64> = (group * size..(group + 1) * size).map(ranked).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            if groups.by == GroupScore::TwoLargest { scores[0] + scores[1] } else { scores[0] }
        };
        let mut order: Vec<usize> = (0..groups.groups).collect();
        order.sort_by(|a, b| of_group(*b).total_cmp(&of_group(*a)));
        open.retain(|e| order[..groups.chosen].contains(&(e / size)));
    }
    open.sort_by(|a, b| ranked(*b).total_cmp(&ranked(*a)));
    open.truncate(gate.k);
    let mut weights: Vec<f64> = open.iter().map(|e| score(*e)).collect();
    if gate.scores == GateScores::SoftmaxOfChosen {
        weights.iter_mut().for_each(|x| *x = x.exp());
    }
    if gate.renormalise || gate.scores == GateScores::SoftmaxOfChosen {
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|x| *x /= sum);
    }
    weights.iter_mut().for_each(|x| *x *= f64::from(gate.scale));
    (open.iter().map(|e| *e as u32).collect(), weights)
}

#[test]
fn experts_are_chosen_and_weighed() {
    let bench = Bench::open();
    let (bias, of_bias) = bench.random(DType::F32, &[16], 51, 0.5);
    let groups = |by| Some(ExpertGroups { groups: 4, chosen: 2, by });
    let gates = [
        MoeGate { renormalise: true, ..MoeGate::new(2) },
        MoeGate { scores: GateScores::SoftmaxOfChosen, ..MoeGate::new(4) },
        MoeGate { groups: groups(GroupScore::Largest), scale: 16.0, ..MoeGate::new(3) },
        MoeGate {
            scores: GateScores::Sigmoid,
            bias: Some(&bias),
            groups: groups(GroupScore::TwoLargest),
            renormalise: true,
            scale: 2.5,
            ..MoeGate::new(4)
        },
    ];
    for (dtype, _) in FLOATS {
        let (logits, numbers) = bench.random(dtype, &[5, 16], 52, 3.0);
        for gate in gates {
            let (weights, ids) =
                (bench.empty(DType::F32, &[5, gate.k]), bench.empty(DType::U32, &[5, gate.k]));
            bench.backend.moe_gate(&gate, &logits, &weights, &ids).unwrap();
            let biases: &[f64] = if gate.bias.is_some() { &of_bias } else { &[] };
            let expected: Vec<_> = numbers.chunks(16).map(|row| exact(&gate, row, biases)).collect();
            let chosen: Vec<u32> = expected.iter().flat_map(|row| row.0.clone()).collect();
            assert_eq!(bench.backend.to_u32(&ids).unwrap(), chosen, "{gate:?} {dtype}");
            let shares: Vec<f64> = expected.iter().flat_map(|row| row.1.clone()).collect();
            bench.is_near(&weights, &shares, |_| 2e-5, &format!("{gate:?}"));
        }
    }
}

#[test]
fn each_token_is_multiplied_by_its_experts() {
    let bench = Bench::open();
    let (experts, n, k, chosen) = (4, 33, 64, 2);
    // A few tokens, and enough to sort them.
    for tokens in [1, 3, 40] {
        let ids: Vec<u32> = (0..tokens * chosen).map(|p| ((p * 7 + p / 3) % experts) as u32).collect();
        let of_pairs = bench.u32(&[tokens, chosen], &ids);
        let bytes = super::products::blocks(QuantType::Q8_0, experts * n * k, 53);
        let quantised: Vec<f64> = QuantType::Q8_0.dequantize(&bytes).iter().map(|x| f64::from(*x)).collect();
        let blocks =
            bench.backend.tensor_of_bytes(DType::Quant(QuantType::Q8_0), &[experts, n, k], &bytes).unwrap();
        for (dtype, _) in FLOATS {
            let (x, numbers) = bench.random(dtype, &[tokens, k], 54, 1.0);
            let (w, dense) = bench.random(dtype, &[experts, n, k], 55, 1.0);
            for (w, matrices, slack) in [(&w, &dense, 1e-5), (&blocks, &quantised, 6e-2)] {
                let out = bench.empty(dtype, &[tokens * chosen, n]);
                bench.backend.moe_matmul(&x, w, &of_pairs, &out).unwrap();
                let mut expected = Vec::new();
                for (pair, expert) in ids.iter().enumerate() {
                    let x = &numbers[pair / chosen * k..][..k];
                    let rows = matrices[*expert as usize * n * k..][..n * k].chunks(k);
                    expected.extend(rows.map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>()));
                }
                bench.is_near(&out, &expected, |_| slack, &format!("{tokens} tokens, {}", w.dtype()));
                // Rows that are already those of the pairs, as of the second product.
                let (y, numbers) = bench.random(dtype, &[tokens * chosen, k], 56, 1.0);
                bench.backend.moe_matmul(&y, w, &of_pairs, &out).unwrap();
                let mut expected = Vec::new();
                for (pair, expert) in ids.iter().enumerate() {
                    let x = &numbers[pair * k..][..k];
                    let rows = matrices[*expert as usize * n * k..][..n * k].chunks(k);
                    expected.extend(rows.map(|w| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>()));
                }
                bench.is_near(&out, &expected, |_| slack, &format!("{tokens} tokens' pairs, {}", w.dtype()));
            }
        }
    }
}

#[test]
fn results_of_experts_are_added() {
    let bench = Bench::open();
    for (dtype, _) in FLOATS {
        let (y, numbers) = bench.random(dtype, &[3 * 2, 40], 57, 2.0);
        let (weights, shares) = bench.random(DType::F32, &[3, 2], 58, 1.0);
        let out = bench.empty(dtype, &[3, 40]);
        bench.backend.moe_combine(&y, &weights, &out).unwrap();
        let at = |i: usize| {
            let (token, column) = (i / 40, i % 40);
            (0..2).map(|j| shares[token * 2 + j] * numbers[(token * 2 + j) * 40 + column]).sum()
        };
        let expected: Vec<f64> = (0..120).map(at).collect();
        bench.is_near(&out, &expected, |_| 1e-6, "moe_combine");
    }
}
