//! `cuda_pipeline.h`, `cuda/pipeline`, `cuda/barrier` and `cuda_awbarrier.h`.

use cuda_trees_test::headers;

use crate::common::{bits, gpu, launch, noise};

#[test]
fn copies_to_shared_memory_are_there_after_their_wait() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::MEMORY);
    let values: Vec<u8> = bits(64 * 32, 80).into_iter().map(|x| (x >> 8) as u8 | 1).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<u8>(64 * 32);
    launch!(gpu, module, "copies", 1, 64; &input, &mut output);
    for (t, found) in gpu.download(&output).chunks(32).enumerate() {
        let other = 63 - t;
        let mut expected = values[other * 32..][..32].to_vec();
        expected[16 - other % 17..16].fill(0);
        assert_eq!(found, expected, "thread {t}");
    }
}

#[test]
fn producers_and_consumers_share_two_stages() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::MEMORY);
    let rows = 7;
    let values: Vec<i32> = bits(rows * 64, 81).into_iter().map(|x| (x >> 20) as i32).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<i32>(64);
    launch!(gpu, module, "producers", 1, 128; &input, &mut output, rows as i32);
    let sum = |t: usize| (0..rows).fold(0, |sum, row| sum * 3 + values[row * 64 + 63 - t]);
    assert_eq!(gpu.download(&output), (0..64).map(sum).collect::<Vec<i32>>());
}

#[test]
fn a_barrier_has_many_rounds() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::MEMORY);
    let mut output = gpu.zeroed::<i32>(128);
    let rounds = 9;
    launch!(gpu, module, "barriers", 1, 128; &mut output, rounds);
    let mut values: Vec<i32> = (0..128).collect();
    for _ in 0..rounds {
        values = (0..128).map(|t| values[(t + 1) % 128] * 2 + 1).collect();
    }
    values.rotate_left(5);
    assert_eq!(gpu.download(&output), values);
}

#[test]
fn a_block_copies_together() {
    let Some(gpu) = gpu() else { return };
    let module = gpu.module(&headers::MEMORY);
    let values: Vec<f64> = noise(200, 82).into_iter().map(f64::from).collect();
    let input = gpu.upload(&values);
    let mut output = gpu.zeroed::<f64>(200);
    launch!(gpu, module, "block_copy", 1, 96; &input, &mut output);
    assert_eq!(gpu.download(&output), values.into_iter().rev().collect::<Vec<_>>());
}
