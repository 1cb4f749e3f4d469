//! The choice of experts, against the definition in f64.

use std::cmp::Ordering;

use hip::{Device, DeviceBuffer};
use kernels::{Error, ExpertGroups, Float, GateScores, GroupScore, MoeGate};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, difference};

/// Descending; a NaN is larger than every number.
fn descending(a: f64, b: f64) -> Ordering {
    b.is_nan().cmp(&a.is_nan()).then(b.partial_cmp(&a).unwrap_or(Ordering::Equal))
}

/// The places of the largest `k`, the first of equal ones first, and the smallest difference between unequal
/// ones whose order matters.
fn largest(values: &[(usize, f64)], k: usize) -> (Vec<usize>, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| descending(a.1, b.1));
    let differences = sorted.windows(2).take(k).map(|pair| pair[0].1 - pair[1].1);
    let gap = differences.filter(|difference| *difference > 0.0).fold(f64::INFINITY, f64::min);
    (sorted.iter().take(k).map(|(place, _)| *place).collect(), gap)
}

struct Choice {
    experts: Vec<usize>,
    weights: Vec<f64>,
    /// The smallest difference that computed scores had to resolve.
    gap: f64,
}

fn choose(gate: &MoeGate<'_>, bias: Option<&[f32]>, logits: &[f64]) -> Choice {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = logits.iter().map(|x| (x - top).exp()).sum();
    let score = |x: f64| match gate.scores {
        GateScores::Softmax => (x - top).exp() / all,
        GateScores::SoftmaxOfChosen => x,
        GateScores::Sigmoid => 1.0 / (1.0 + (-x).exp()),
    };
    let scores: Vec<f64> = logits.iter().map(|&x| score(x)).collect();
    let with_bias = |e: usize| (e, scores[e] + bias.map_or(0.0, |bias| f64::from(bias[e])));
    let mut candidates: Vec<(usize, f64)> = (0..gate.experts).map(with_bias).collect();
    let mut gap = f64::INFINITY;
    if let Some(groups) = gate.groups {
        let size = gate.experts / groups.groups;
        let judged: Vec<(usize, f64)> = candidates
            .chunks(size)
            .map(|group| {
                let mut values: Vec<f64> = group.iter().map(|expert| expert.1).collect();
                values.sort_by(|a, b| descending(*a, *b));
                match groups.by {
                    GroupScore::Largest => values[0],
                    GroupScore::TwoLargest => values[0] + values[1],
                }
            })
            .enumerate()
            .collect();
        let (chosen, of_groups) = largest(&judged, groups.chosen);
        candidates.retain(|(e, _)| chosen.contains(&(e / size)));
        if groups.by == GroupScore::TwoLargest {
            gap = of_groups;
        }
    }
    let (experts, of_experts) = largest(&candidates, gate.k);
    if bias.is_some() {
        gap = gap.min(of_experts);
    }
    let mut weights: Vec<f64> = match gate.scores {
        GateScores::SoftmaxOfChosen => experts.iter().map(|&e| (logits[e] - top).exp()).collect(),
        _ => experts.iter().map(|&e| scores[e]).collect(),
    };
    if gate.renormalise || gate.scores == GateScores::SoftmaxOfChosen {
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
    weights.iter_mut().for_each(|weight| *weight *= f64::from(gate.scale));
    Choice { experts, weights, gap }
}

/// Ids and weights of all tokens.
fn run<'a, T: Float<Compute = f32>>(
    bench: &'a Bench,
    gate: &MoeGate<'a>,
    logits: &'a DeviceBuffer<T>,
) -> (Vec<usize>, Vec<f32>) {
    let pairs = logits.len() / gate.experts * gate.k;
    let (mut weights, mut ids) = (bench.upload(&vec![9.0_f32; pairs]), bench.upload(&vec![9_u32; pairs]));
    bench.kernels.moe_gate(&bench.stream, gate, logits, &mut weights, &mut ids).unwrap();
    let ids = bench.download(&ids).into_iter().map(|id| id as usize).collect();
    (ids, bench.download(&weights))
}

fn check<T: Float<Compute = f32>>(bench: &Bench, gate: &MoeGate<'_>, bias: Option<&[f32]>, logits: &[T]) {
    let device_logits = bench.upload(logits);
    let device_bias = bias.map(|bias| bench.upload(bias));
    let gate = MoeGate { bias: device_bias.as_ref().map(Into::into), ..*gate };
    let (ids, weights) = run(bench, &gate, &device_logits);
    for (token, row) in logits.chunks(gate.experts).enumerate() {
        let row: Vec<f64> = row.iter().map(|x| x.to_f64()).collect();
        let expected = choose(&gate, bias, &row);
        let what = format!("token {token}, {}: {gate:?}", T::NAME);
        assert!(expected.gap > 1e-6, "closer than f32 can tell: {} {what}", expected.gap);
        assert_exact!(ids[token * gate.k..][..gate.k], expected.experts, "{what}");
        for (found, expected) in weights[token * gate.k..].iter().zip(&expected.weights) {
            difference((*found).into(), *expected);
            let error = (f64::from(*found) - expected).abs();
            assert!(error <= 4e-6 * expected, "{found}, not {expected}: {what}");
        }
    }
}

fn experts_are_chosen<T: Float<Compute = f32>>(bench: &Bench) {
    let groups = |groups, chosen| Some((groups, chosen));
    for (tokens, experts, k, groups) in [
        (7, 8, 2, None),
        (3, 1, 1, None),
        (5, 60, 4, None),
        (2, 1024, 32, None),
        (1, 32, 32, groups(1, 1)),
        (5, 256, 8, groups(8, 4)),
        (5, 160, 6, groups(8, 3)),
        (2, 64, 32, groups(32, 16)),
    ] {
        let logits = random::<T>(tokens * experts, 111, 3.0);
        let bias = random::<f32>(experts, 113, 0.5);
        let judges: &[Option<GroupScore>] = match groups {
            None => &[None],
            Some(_) => &[Some(GroupScore::Largest), Some(GroupScore::TwoLargest)],
        };
        for scores in [GateScores::Softmax, GateScores::SoftmaxOfChosen, GateScores::Sigmoid] {
            for (by, bias) in judges.iter().flat_map(|by| [(by, None), (by, Some(&bias[..]))]) {
                let groups = groups.zip(*by);
                let groups = groups.map(|((groups, chosen), by)| ExpertGroups { groups, chosen, by });
                let gate = MoeGate { groups, ..MoeGate::new(experts, k).scores(scores) };
                check(bench, &gate, bias, &logits);
                check(bench, &gate.renormalise().scale(2.5), bias, &logits);
            }
        }
    }
}

#[test]
fn gates() {
    for_every_type!(experts_are_chosen);
}

/// The lanes that score groups read different banks of LDS.
#[test]
fn judging_groups_has_no_bank_conflicts() {
    let bench = Bench::open();
    for (experts, groups) in [(256, 8), (256, 32), (128, 16), (64, 4)] {
        let by = GroupScore::TwoLargest;
        let gate = MoeGate::new(experts, 4).groups(ExpertGroups { groups, chosen: 2, by });
        let logits = bench.upload(&random::<f32>(8 * experts, 119, 3.0));
        let (mut weights, mut ids) = (bench.zeroed::<f32>(8 * 4), bench.zeroed::<u32>(8 * 4));
        bench.stream.set_counters(true).unwrap();
        bench.kernels.moe_gate(&bench.stream, &gate, &logits, &mut weights, &mut ids).unwrap();
        bench.stream.synchronize().unwrap();
        bench.stream.set_counters(false).unwrap();
        let counted = bench.stream.take_counters().unwrap();
        let [kernel] = &counted[..] else { panic!("{} kernels", counted.len()) };
        let (cycles, conflicts) = (kernel.lds_banks.cycles, kernel.lds_banks.conflicts());
        println!("{experts} experts, {groups} groups: {conflicts} of {cycles} cycles");
        assert!(
            cycles > 0 && conflicts == 0,
            "{experts} experts, {groups} groups: {conflicts} of {cycles} cycles"
        );
    }
}

#[test]
fn more_tokens_than_warps() {
    let bench = Bench::open();
    let groups = ExpertGroups { groups: 4, chosen: 2, by: GroupScore::TwoLargest };
    let gate = MoeGate::new(16, 3).scores(GateScores::Sigmoid).groups(groups).renormalise();
    check(&bench, &gate, Some(&random::<f32>(16, 117, 0.5)), &random::<f32>(600 * 16, 118, 4.0));
}

#[test]
fn equal_experts_and_groups_come_in_order() {
    let bench = Bench::open();
    let logits = bench.upload(&[0.0_f32; 16]);
    for by in [GroupScore::Largest, GroupScore::TwoLargest] {
        let gate = MoeGate::new(16, 5).scores(GateScores::Sigmoid);
        let gate = gate.groups(ExpertGroups { groups: 4, chosen: 2, by });
        assert_exact!(run(&bench, &gate, &logits), (vec![0, 1, 2, 3, 4], vec![0.5; 5]));
        // The bias affects the choice, but not the weight.
        let mut bias = [0.0_f32; 16];
        bias[6..8].fill(1.0);
        bias[12..14].fill(1.0);
        let bias = bench.upload(&bias);
        assert_exact!(run(&bench, &gate.bias(&bias), &logits), (vec![6, 7, 12, 13, 4], vec![0.5; 5]));
    }
}

#[test]
fn groups_are_judged_by_one_expert_or_by_two() {
    let bench = Bench::open();
    let logits = bench.upload(&[3.0_f32, -5.0, -5.0, 1.0, 1.0, -5.0]);
    let gate = MoeGate::new(6, 2).scores(GateScores::Sigmoid);
    let by = |by| gate.groups(ExpertGroups { groups: 2, chosen: 1, by });
    assert_exact!(run(&bench, &by(GroupScore::Largest), &logits).0, [0, 1]);
    assert_exact!(run(&bench, &by(GroupScore::TwoLargest), &logits).0, [3, 4]);
}

#[test]
fn what_is_rounded_to_the_same_number_is_told_apart() {
    let bench = Bench::open();
    // In f32, all of these sigmoids are 1, and all of these probabilities except the first are 0.
    let logits = bench.upload(&[30.0_f32, 40.0, 35.0, 50.0]);
    let gate = MoeGate::new(4, 3).scores(GateScores::Sigmoid);
    assert_exact!(run(&bench, &gate, &logits), (vec![3, 1, 2], vec![1.0; 3]));
    let logits = bench.upload(&[400.0_f32, 1.0, 3.0, 2.0]);
    assert_exact!(run(&bench, &MoeGate::new(4, 3), &logits), (vec![0, 2, 3], vec![1.0, 0.0, 0.0]));
}

#[test]
fn chosen_experts_that_are_much_less_likely_than_others_have_weights() {
    let bench = Bench::open();
    let bias = [-1000.0_f32, 0.0, 0.0, 0.0];
    let logits = [300.0_f32, 1.0, 1.0, -40.0];
    let gate = MoeGate::new(4, 2).renormalise();
    let (device_bias, device_logits) = (bench.upload(&bias), bench.upload(&logits));
    let found = run(&bench, &gate.bias(&device_bias), &device_logits);
    assert_exact!(found, (vec![1, 2], vec![0.5; 2]));
    // Sigmoids that are zero stay zero.
    let none = bench.upload(&[-200.0_f32; 4]);
    let gate = gate.scores(GateScores::Sigmoid);
    assert_exact!(run(&bench, &gate, &none), (vec![0, 1], vec![0.0; 2]));
}

#[test]
fn gates_of_special_logits_choose_different_experts() {
    let bench = Bench::open();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let rows = [[1.0, nan, nan, 2.0], [nan; 4], [-inf; 4], [0.5; 4], [-inf, inf, 0.0, -0.0]];
    let device = bench.upload(&rows.concat());
    let expected = [1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 3];
    let (ids, weights) = run(&bench, &MoeGate::new(4, 3).renormalise(), &device);
    assert_exact!(ids, expected);
    assert_exact!(weights[9..12], [1.0 / 3.0; 3]);
    // The same with a bias, and with groups; the group of a NaN is chosen.
    let bias = bench.upload(&[0.0_f32; 4]);
    let sigmoid = MoeGate::new(4, 3).scores(GateScores::Sigmoid);
    let (ids, weights) = run(&bench, &sigmoid.bias(&bias), &device);
    assert_exact!(ids, expected);
    assert!(weights[..2].iter().all(|weight| weight.is_nan()));
    assert!((weights[2] - 1.0 / (1.0 + (-2.0_f32).exp())).abs() < 1e-6);
    assert_exact!(weights[6..9], [0.0; 3]);
    assert_exact!(weights[12..], [1.0, 0.5, 0.5]);
    for by in [GroupScore::Largest, GroupScore::TwoLargest] {
        let gate = MoeGate { k: 2, ..sigmoid }.groups(ExpertGroups { groups: 2, chosen: 1, by });
        let rows = [[9.0, 9.0, nan, -9.0], [nan, 0.0, nan, 1.0], [-inf; 4], [nan; 4]];
        assert_exact!(run(&bench, &gate, &bench.upload(&rows.concat())).0, [2, 3, 0, 1, 0, 1, 0, 1]);
    }
}

#[test]
fn bad_gates_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let logits = bench.zeroed::<f32>(24);
    let (mut weights, mut ids) = (bench.upload(&[9.0_f32; 6]), bench.upload(&[9_u32; 6]));
    let bias = bench.zeroed::<f32>(7);
    let mut refused = |gate: MoeGate<'_>, text: &str| {
        let error = kernels.moe_gate(stream, &gate, &logits, &mut weights, &mut ids).unwrap_err();
        assert!(error.to_string().starts_with(text), "{error} is not {text}");
    };
    let gate = MoeGate::new(8, 2);
    for k in [0, 9] {
        let text = format!(
            "moe_gate: `k` is {k}, must be from 1 to 32, and at most the experts of the chosen groups"
        );
        refused(MoeGate { k, ..gate }, &text);
    }
    refused(MoeGate::new(24, 33), "moe_gate: `k` is 33");
    refused(MoeGate::new(2048, 2), "moe_gate: `experts` is 2048, more than 1024");
    refused(MoeGate::new(0, 1), "moe_gate: `k` is 1");
    refused(MoeGate::new(7, 2), "moe_gate: `columns` is 7");
    refused(MoeGate::new(8, 3), "moe_gate: `weights` has 6 elements, but needs 9");
    refused(gate.bias(&bias), "moe_gate: `bias` has 7 elements, but needs 8");
    for scale in [f32::NAN, f32::INFINITY] {
        refused(gate.scale(scale), "moe_gate: `scale` is");
    }
    let of = |groups, chosen, by| gate.groups(ExpertGroups { groups, chosen, by });
    for groups in [0, 3, 16] {
        refused(
            of(groups, 1, GroupScore::Largest),
            &format!("moe_gate: `groups` is {groups}, must be from 1"),
        );
    }
    refused(of(8, 2, GroupScore::TwoLargest), "moe_gate: `groups` is 8, must have at least two experts each");
    for chosen in [0, 5] {
        refused(of(4, chosen, GroupScore::Largest), &format!("moe_gate: `chosen groups` is {chosen}"));
    }
    refused(MoeGate { k: 3, ..of(4, 1, GroupScore::Largest) }, "moe_gate: `k` is 3");
    let many = MoeGate::new(64, 1).groups(ExpertGroups { groups: 64, chosen: 1, by: GroupScore::Largest });
    refused(many, "moe_gate: `groups` is 64");
    let mut few = bench.zeroed::<u32>(5);
    let error = kernels.moe_gate(stream, &gate, &logits, &mut weights, &mut few).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "ids", expected: 6, got: 5, .. }), "{error}");

    let others = ["vgpu:gfx1100", "vgpu:gfx90a"].map(|uri| Device::open(uri).unwrap());
    let other = others.iter().find(|other| *other != kernels.device()).unwrap().stream().unwrap();
    let far = DeviceBuffer::<f32>::zeroed(&other, 24).unwrap();
    let error = kernels.moe_gate(stream, &gate, &far, &mut weights, &mut ids).unwrap_err();
    assert!(error.to_string().contains("belongs to"), "{error}");
    let far_bias = far.slice(..8).unwrap();
    let error = kernels.moe_gate(stream, &gate.bias(far_bias), &logits, &mut weights, &mut ids).unwrap_err();
    assert!(error.to_string().contains("belongs to"), "{error}");
    // Nothing was written; and the rest is right.
    assert_eq!((bench.download(&weights), bench.download(&ids)), (vec![9.0; 6], vec![9; 6]));
    kernels.moe_gate(stream, &gate, &logits, &mut weights, &mut ids).unwrap();
    let (none, mut no_weights, mut no_ids) =
        (bench.zeroed::<f32>(0), bench.zeroed::<f32>(0), bench.zeroed::<u32>(0));
    kernels.moe_gate(stream, &gate, &none, &mut no_weights, &mut no_ids).unwrap();
}
