//! Reductions of every type by every operator, against exact arithmetic.

use hip::DeviceBuffer;
use rccl::{F8E4M3, Group, Op};

use crate::common::{Number, Rank, assert_reduced, ranks, values};

/// More than fits through shared memory at once, and a multiple of nothing useful.
const LARGE: usize = 300_001;

fn all_reduce<T: Number>(ranks: &[Rank], op: Op, count: usize) {
    let inputs: Vec<Vec<T>> = (0..ranks.len()).map(|rank| values(rank, count)).collect();
    let sent: Vec<_> = ranks.iter().zip(&inputs).map(|(rank, input)| rank.buffer(input)).collect();
    let uninit = |rank: &Rank| DeviceBuffer::<T>::uninit(rank.comm.device(), count).unwrap();
    let mut received: Vec<_> = ranks.iter().map(uninit).collect();
    let mut group = Group::new();
    for ((rank, send), receive) in ranks.iter().zip(&sent).zip(&mut received) {
        group.all_reduce(&rank.comm, &rank.stream, send, receive, op).unwrap();
    }
    group.launch().unwrap();
    let results: Vec<Vec<T>> = ranks.iter().zip(&received).map(|(rank, buffer)| rank.read(buffer)).collect();
    // Check a sample.
    for index in (0..count).step_by(1 + count / 1500) {
        let inputs: Vec<T> = inputs.iter().map(|input| input[index]).collect();
        assert_reduced(op, &inputs, results[0][index], std::any::type_name::<T>());
    }
    assert!(results.iter().all(|result| *result == results[0]), "all ranks have the same");
    assert!(ranks.iter().zip(&sent).zip(&inputs).all(|((rank, sent), input)| rank.read(sent) == *input));
}

#[test]
fn every_type_and_operator() {
    let Some(ranks) = ranks(4) else { return };
    for op in Op::ALL {
        for count in [0, 1, 1001] {
            all_reduce::<i8>(&ranks, op, count);
            all_reduce::<u8>(&ranks, op, count);
            all_reduce::<i32>(&ranks, op, count);
            all_reduce::<u32>(&ranks, op, count);
            all_reduce::<i64>(&ranks, op, count);
            all_reduce::<u64>(&ranks, op, count);
            all_reduce::<half::f16>(&ranks, op, count);
            all_reduce::<half::bf16>(&ranks, op, count);
            all_reduce::<f32>(&ranks, op, count);
            all_reduce::<f64>(&ranks, op, count);
        }
    }
}

#[test]
fn two_four_and_eight_ranks_with_more_than_fits_at_once() {
    for count in [2, 4, 8] {
        let Some(ranks) = ranks(count) else { return };
        all_reduce::<f32>(&ranks, Op::Sum, LARGE);
        all_reduce::<half::bf16>(&ranks, Op::Average, LARGE);
        all_reduce::<u8>(&ranks, Op::Max, LARGE);
        all_reduce::<f64>(&ranks, Op::Sum, 7777);
    }
}

#[test]
fn a_rank_of_its_own() {
    let Some(ranks) = ranks(1) else { return };
    all_reduce::<f32>(&ranks, Op::Average, 1001);
    all_reduce::<i64>(&ranks, Op::Product, LARGE);
}

/// AMD's RCCL supports this only on gfx942 and gfx950.
fn has_bias(ranks: &[Rank]) -> bool {
    let has = ranks[0].comm.device().backend() != hip::Backend::Amd;
    if !has {
        test_skip::skip(test_skip::Lack::Device, "AMD's RCCL has no reductions with a bias");
    }
    has
}

/// Reductions with a bias, against exact arithmetic; `wrap` converts an exact number to the type.
fn with_bias<T: Number>(ranks: &[Rank], op: Op, count: usize, wrap: impl Fn(f64) -> f64) {
    let size = ranks.len();
    let inputs: Vec<Vec<T>> = (0..size).map(|rank| values(rank, count)).collect();
    // Each rank has its own.
    let biases: Vec<Vec<T>> = (0..size).map(|rank| values(rank + 100, count)).collect();
    let sent: Vec<_> = ranks.iter().zip(&inputs).map(|(rank, input)| rank.buffer(input)).collect();
    let added: Vec<_> = ranks.iter().zip(&biases).map(|(rank, bias)| rank.buffer(bias)).collect();
    let mut received: Vec<_> =
        ranks.iter().map(|rank| DeviceBuffer::<T>::uninit(rank.comm.device(), count).unwrap()).collect();
    let mut group = Group::new();
    for (((rank, send), receive), bias) in ranks.iter().zip(&sent).zip(&mut received).zip(&added) {
        group.all_reduce_with_bias(&rank.comm, &rank.stream, send, receive, bias, op).unwrap();
    }
    group.launch().unwrap();
    for (at, (rank, buffer)) in ranks.iter().zip(&received).enumerate() {
        let found = rank.read(buffer);
        for index in (0..count).step_by(1 + count / 500) {
            let numbers = inputs.iter().map(|input| input[index].exact());
            let bias = biases[at][index].exact();
            let all: Vec<f64> = numbers.collect();
            let (expected, size) = match op {
                Op::Sum => (wrap(all.iter().sum::<f64>()) + bias, all.iter().map(|x| x.abs()).sum::<f64>()),
                Op::Average => (all.iter().sum::<f64>() / size as f64 + bias, 4.0),
                Op::Product => (all.iter().product::<f64>() * bias, all.iter().product::<f64>().abs()),
                Op::Max => (all.iter().copied().fold(bias, f64::max), 0.0),
                Op::Min => (all.iter().copied().fold(bias, f64::min), 0.0),
            };
            let (expected, found) = (wrap(expected), found[index].exact());
            let most = T::EPSILON * 8.0 * (size + bias.abs());
            assert!(
                (found - expected).abs() <= most,
                "{op:?} of {all:?} and {bias}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn a_bias_is_combined_with_the_result() {
    for size in [1, 2, 4] {
        let Some(ranks) = ranks(size) else { return };
        if !has_bias(&ranks) {
            return;
        }
        for op in [Op::Sum, Op::Product, Op::Max, Op::Min] {
            with_bias::<u8>(&ranks, op, 1001, |value| f64::from(value as u64 as u8));
            with_bias::<f32>(&ranks, op, 1001, |value| value);
        }
        with_bias::<half::f16>(&ranks, Op::Average, 1, |value| value);
        with_bias::<i64>(&ranks, Op::Sum, LARGE, |value| value);
        with_bias::<f64>(&ranks, Op::Average, LARGE, |value| value);
        with_bias::<f64>(&ranks, Op::Sum, 0, |value| value);
    }
}

#[test]
fn eight_bit_floats_are_added_up() {
    let Some(ranks) = ranks(2) else { return };
    // The codes of 1.0 and 2.5, and of 3.5, in the device's format.
    let fnuz = ranks[0].comm.device().target().processor.starts_with("gfx94");
    let codes = if fnuz { [0x40, 0x4a, 0x4e] } else { [0x38, 0x42, 0x46] }.map(F8E4M3);
    let mut buffers = [ranks[0].buffer(&[codes[0], codes[1]]), ranks[1].buffer(&[codes[1], codes[0]])];
    let mut group = Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, Op::Sum).unwrap();
    }
    group.launch().unwrap();
    assert_eq!(ranks[1].read(&buffers[1]), [codes[2]; 2]);
}

#[test]
fn a_reduction_to_each_root() {
    let Some(ranks) = ranks(3) else { return };
    let inputs: Vec<Vec<f32>> = (0..3).map(|rank| values(rank, 1001)).collect();
    let sent: Vec<_> = ranks.iter().zip(&inputs).map(|(rank, input)| rank.buffer(input)).collect();
    for root in 0..3 {
        let mut result = ranks[root].buffer(&[0.0; 1001]);
        let mut result_slot = Some(result.as_mut_slice());
        let mut group = Group::new();
        for (index, (rank, send)) in ranks.iter().zip(&sent).enumerate() {
            let receive = if index == root { result_slot.take() } else { None };
            group.reduce(&rank.comm, &rank.stream, send, receive, Op::Min, root).unwrap();
        }
        group.launch().unwrap();
        for (index, found) in ranks[root].read(&result).into_iter().enumerate() {
            assert_reduced(Op::Min, &[inputs[0][index], inputs[1][index], inputs[2][index]], found, "reduce");
        }
    }
}

#[test]
fn a_reduction_is_dealt_out() {
    for (count, share) in [(2, 3), (4, 50_001), (3, 0)] {
        let Some(ranks) = ranks(count) else { return };
        let inputs: Vec<Vec<f32>> = (0..count).map(|rank| values(rank, share * count)).collect();
        let sent: Vec<_> = ranks.iter().zip(&inputs).map(|(rank, input)| rank.buffer(input)).collect();
        let mut received: Vec<_> = ranks.iter().map(|rank| rank.buffer(&vec![0.0_f32; share])).collect();
        let mut group = Group::new();
        for ((rank, send), receive) in ranks.iter().zip(&sent).zip(&mut received) {
            group.reduce_scatter(&rank.comm, &rank.stream, send, receive, Op::Sum).unwrap();
        }
        group.launch().unwrap();
        for (index, (rank, buffer)) in ranks.iter().zip(&received).enumerate() {
            for (at, found) in rank.read(buffer).into_iter().enumerate() {
                let inputs: Vec<f32> = inputs.iter().map(|input| input[index * share + at]).collect();
                assert_reduced(Op::Sum, &inputs, found, "reduce_scatter");
            }
        }
    }
}

#[test]
fn each_rank_scales_what_it_adds() {
    let Some(ranks) = ranks(3) else { return };
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1.0_f32, -2.0])).collect();
    let scales: Vec<_> = ranks
        .iter()
        .zip([0.5_f32, 10.0, 100.0])
        .map(|(rank, scale)| rank.comm.scaled_sum(scale).unwrap())
        .collect();
    let mut group = Group::new();
    for ((rank, buffer), scale) in ranks.iter().zip(&mut buffers).zip(&scales) {
        group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, scale).unwrap();
    }
    group.launch().unwrap();
    // Enqueued operations keep what they need of the operator.
    drop(scales);
    for (rank, buffer) in ranks.iter().zip(&buffers) {
        assert_eq!(rank.read(buffer), [110.5, -221.0]);
    }
    assert_eq!(buffers[0].len(), 2);
}
