//! Routing of tokens to experts, against f64 and a stable sort.

use kernels::{Error, Float};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, difference};

fn experts_are_chosen<T: Float<Compute = f32>>(bench: &Bench) {
    for (tokens, experts, k) in [(7, 8, 2), (3, 1, 1), (5, 60, 4), (9, 128, 8), (2, 1024, 32), (1, 32, 32)] {
        let logits = random::<T>(tokens * experts, 111, 3.0);
        let device_logits = bench.upload(&logits);
        for renormalise in [false, true] {
            let (mut weights, mut ids) = (bench.zeroed::<f32>(tokens * k), bench.zeroed::<u32>(tokens * k));
            bench
                .kernels
                .moe_gate(&bench.stream, &device_logits, experts, k, renormalise, &mut weights, &mut ids)
                .unwrap();
            let (weights, ids) = (bench.download(&weights), bench.download(&ids));
            for (token, row) in logits.chunks(experts).enumerate() {
                let row: Vec<f64> = row.iter().map(|x| x.to_f64()).collect();
                let mut order: Vec<usize> = (0..experts).collect();
                order.sort_by(|&a, &b| row[b].partial_cmp(&row[a]).unwrap());
                order.truncate(k);
                let found: Vec<usize> = ids[token * k..][..k].iter().map(|&id| id as usize).collect();
                let what = format!("{tokens} {experts} {k} {}", T::NAME);
                assert_exact!(found, order, "{what}");
                let exp = |e: usize| (row[e] - row[order[0]]).exp();
                let sum: f64 = if renormalise {
                    order.iter().map(|&e| exp(e)).sum()
                } else {
                    (0..experts).map(exp).sum()
                };
                for (e, weight) in order.iter().zip(&weights[token * k..]) {
                    let expected = exp(*e) / sum;
                    difference((*weight).into(), expected);
                    assert!(
                        (f64::from(*weight) / expected - 1.0).abs() < 4e-6,
                        "{what}: {weight} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn gates() {
    for_every_type!(experts_are_chosen);
}

#[test]
fn gates_of_special_logits_choose_different_experts() {
    let bench = Bench::open();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let rows = [[1.0, nan, nan, 2.0], [nan; 4], [-inf; 4], [0.5; 4], [-inf, inf, 0.0, -0.0]];
    let device = bench.upload(&rows.concat());
    let (mut weights, mut ids) = (bench.zeroed::<f32>(15), bench.zeroed::<u32>(15));
    bench.kernels.moe_gate(&bench.stream, &device, 4, 3, true, &mut weights, &mut ids).unwrap();
    assert_exact!(bench.download(&ids), [1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 3]);
    let third = 1.0 / 3.0;
    assert_exact!(bench.download(&weights)[9..12], [third; 3]);
}

#[test]
fn pairs_are_sorted_by_experts() {
    let bench = Bench::open();
    for (pairs, experts, foreign) in
        [(1, 1, 0), (100, 8, 0), (3000, 60, 0), (2500, 7, 3), (0, 4, 0), (40, 64, 0), (10, 0, 1)]
    {
        let noise = random::<f32>(pairs, 112, 1.0);
        let span = (experts + foreign) as f32;
        // far from the others, too
        let id = |x: &f32| match ((x + 1.0) / 2.0 * span) as u32 {
            id if (id as usize) < experts => id,
            id => id.wrapping_mul(0x1000_0001).wrapping_sub(1).max(experts as u32),
        };
        let ids: Vec<u32> = noise.iter().map(id).collect();
        let mut order: Vec<u32> =
            (0..pairs as u32).filter(|&p| (ids[p as usize] as usize) < experts).collect();
        order.sort_by_key(|&p| ids[p as usize]);
        let counts: Vec<u32> =
            (0..experts).map(|e| ids.iter().filter(|&&id| id == e as u32).count() as u32).collect();
        let mut offsets = vec![0];
        for count in &counts {
            offsets.push(offsets.last().unwrap() + count);
        }
        let kept = order.len();
        order.resize(pairs, u32::MAX);
        let device_ids = bench.upload(&ids);
        let mut device_counts = bench.upload(&vec![9_u32; experts]);
        let mut device_offsets = bench.upload(&vec![9_u32; experts + 1]);
        let mut permutation = bench.upload(&vec![9_u32; pairs]);
        bench
            .kernels
            .moe_sort(&bench.stream, &device_ids, &mut device_counts, &mut device_offsets, &mut permutation)
            .unwrap();
        let what = format!("{pairs} pairs, {experts} experts, {kept} kept");
        assert_exact!(bench.download(&device_counts), counts, "{what}");
        assert_exact!(bench.download(&device_offsets), offsets, "{what}");
        assert_exact!(bench.download(&permutation), order, "{what}");
    }
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let logits = bench.zeroed::<f32>(24);
    let (mut weights, mut ids) = (bench.zeroed::<f32>(6), bench.zeroed::<u32>(6));
    let mut gate = |experts, k| kernels.moe_gate(stream, &logits, experts, k, false, &mut weights, &mut ids);
    gate(8, 2).unwrap();
    for k in [0, 9] {
        let error = gate(8, k).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "k", .. }), "{error}");
    }
    let error = gate(2048, 2).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "experts", got: 2048, .. }), "{error}");
    let error = gate(7, 2).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "columns", got: 7, .. }), "{error}");
    let error = gate(8, 3).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "weights", expected: 9, got: 6, .. }), "{error}");
    let (mut counts, mut offsets) = (bench.zeroed::<u32>(4), bench.zeroed::<u32>(4));
    let mut permutation = bench.zeroed::<u32>(6);
    let error = kernels.moe_sort(stream, &ids, &mut counts, &mut offsets, &mut permutation).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "offsets", expected: 5, got: 4, .. }), "{error}");
}
