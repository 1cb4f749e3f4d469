//! Pairs of tokens and experts in the order of experts, against a stable sort.

use kernels::Error;

use crate::common::{Bench, random};
use crate::record::assert_exact;

#[test]
fn pairs_are_sorted_by_experts() {
    let bench = Bench::open();
    for (pairs, experts, foreign) in [
        (1, 1, 0),
        (100, 8, 0),
        (3000, 60, 0),
        (2500, 7, 3),
        (0, 4, 0),
        (40, 64, 0),
        (10, 0, 1),
        (70_000, 2, 1),
    ] {
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
    let ids = bench.zeroed::<u32>(6);
    let (mut counts, mut offsets) = (bench.zeroed::<u32>(4), bench.zeroed::<u32>(4));
    let mut permutation = bench.zeroed::<u32>(6);
    let error = kernels.moe_sort(stream, &ids, &mut counts, &mut offsets, &mut permutation).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "offsets", expected: 5, got: 4, .. }), "{error}");
    let (mut offsets, mut short) = (bench.zeroed::<u32>(5), bench.zeroed::<u32>(5));
    let error = kernels.moe_sort(stream, &ids, &mut counts, &mut offsets, &mut short).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "permutation", expected: 6, got: 5, .. }), "{error}");
}
