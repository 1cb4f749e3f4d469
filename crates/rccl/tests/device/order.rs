//! The order of collectives and other work on streams, and how memory is kept alive.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use hip::DeviceBuffer;
use rccl::{Communicator, Error, Group, Op};
use test_skip::{Lack, skip};

use crate::common::{LONG, devices, rank, ranks};

#[test]
fn a_collective_waits_for_what_is_before_it_and_what_follows_waits_for_it() {
    let Some(ranks) = ranks(2) else { return };
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[0_i32; 5000])).collect();
    let (go, held) = channel::<()>();
    ranks[0].stream.host_function(move || held.recv().unwrap()).unwrap();
    for turn in 0..3 {
        for (at, (rank, buffer)) in ranks.iter().zip(&mut buffers).enumerate() {
            buffer.fill(&rank.stream, 10 * turn + at as i32).unwrap();
        }
        let mut group = Group::new();
        for (rank, buffer) in ranks.iter().zip(&mut buffers) {
            group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, Op::Sum).unwrap();
        }
        group.launch().unwrap();
    }
    // After the collectives, on its own stream, ordered only by the buffer.
    let other = ranks[1].comm.device().stream().unwrap();
    let mut copy = DeviceBuffer::<i32>::uninit(ranks[1].comm.device(), 5000).unwrap();
    copy.copy_from(&other, &buffers[1]).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    assert!(!ranks[0].stream.is_done().unwrap() && !ranks[1].stream.is_done().unwrap());
    assert!(!other.is_done().unwrap(), "rank 1 waits for rank 0, which is held");
    go.send(()).unwrap();
    assert!(copy.to_vec(&other).unwrap().iter().all(|value| *value == 41));
    assert!(ranks[0].read(&buffers[0]).iter().all(|value| *value == 41));
}

#[test]
fn memory_lives_until_the_collective_is_done() {
    let Some(ranks) = ranks(2) else { return };
    let mut results: Vec<_> = ranks.iter().map(|rank| rank.buffer(&vec![0_u64; 40_000])).collect();
    let (go, held) = channel::<()>();
    ranks[1].stream.host_function(move || held.recv().unwrap()).unwrap();
    let waiting = std::thread::scope(|scope| {
        let inputs: Vec<_> = ranks
            .iter()
            .map(|rank| DeviceBuffer::<u64>::uninit(rank.comm.device(), 40_000).unwrap())
            .collect();
        let mut inputs = inputs;
        for (rank, input) in ranks.iter().zip(&mut inputs) {
            input.fill(&rank.stream, 7).unwrap();
        }
        let mut group = Group::new();
        for ((rank, input), result) in ranks.iter().zip(&inputs).zip(&mut results) {
            group.all_reduce(&rank.comm, &rank.stream, input, result, Op::Sum).unwrap();
        }
        group.launch().unwrap();
        // Dropping them may have to wait. Meanwhile their memory is not reused.
        let dropped = scope.spawn(move || drop(inputs));
        std::thread::sleep(Duration::from_millis(20));
        go.send(()).unwrap();
        dropped.join()
    });
    waiting.unwrap();
    for (rank, result) in ranks.iter().zip(&results) {
        assert!(rank.read(result).iter().all(|value| *value == 14));
    }
}

#[test]
fn one_thread_for_each_rank_needs_no_groups() {
    let Some(devices) = devices(4) else { return };
    let id = rccl::UniqueId::new(&devices[0]).unwrap();
    std::thread::scope(|scope| {
        for (at, device) in devices.iter().enumerate() {
            scope.spawn(move || {
                let rank = rank(Communicator::new(device, &id, at, 4).unwrap());
                let mut buffer = rank.buffer(&[at as f32 + 1.0; 1000]);
                for _ in 0..10 {
                    rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, Op::Max).unwrap();
                    rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, Op::Average).unwrap();
                }
                assert!(rank.read(&buffer).iter().all(|value| *value == 4.0));
                let before = rank.buffer(&[at as u8]);
                let mut from = rank.buffer(&[0_u8]);
                let mut group = Group::new();
                group.send(&rank.comm, &rank.stream, &before, (at + 1) % 4).unwrap();
                group.receive(&rank.comm, &rank.stream, &mut from, (at + 3) % 4).unwrap();
                group.launch().unwrap();
                assert_eq!(rank.read(&from), [(at as u8 + 3) % 4]);
            });
        }
    });
}

#[test]
fn one_thread_may_enqueue_rank_after_rank() {
    let Some(ranks) = ranks(4) else { return };
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    for _ in 0..5 {
        for (rank, buffer) in ranks.iter().zip(&mut buffers) {
            rank.comm.all_reduce_in_place(&rank.stream, buffer, Op::Sum).unwrap();
        }
    }
    for (rank, buffer) in ranks.iter().zip(&buffers) {
        assert!(rank.read(buffer).iter().all(|value| *value == 1024));
    }
}

#[test]
fn one_thread_may_drop_the_memory_of_a_rank_before_the_next_rank_comes() {
    let Some(ranks) = ranks(3) else { return };
    let mut results = Vec::new();
    for (at, rank) in ranks.iter().enumerate() {
        let input = rank.buffer(&vec![at as i32 + 1; 30_000]);
        let mut sum = rank.buffer(&[0; 30_000]);
        let mut scratch = rank.buffer(&vec![at as i32; 5000]);
        rank.comm.all_reduce(&rank.stream, &input, &mut sum, Op::Sum).unwrap();
        // The other ranks have not called it, so nothing can wait for it.
        drop(input);
        rank.comm.all_reduce_in_place(&rank.stream, &mut scratch, Op::Max).unwrap();
        drop(scratch);
        results.push(sum);
    }
    for (rank, sum) in ranks.iter().zip(&results) {
        assert!(rank.read(sum).iter().all(|value| *value == 6));
    }
}

#[test]
fn communicators_on_the_same_streams_in_another_order_do_not_wait_for_each_other() {
    let Some(ranks) = ranks(2) else { return };
    let comms: Vec<_> = ranks.iter().map(|rank| rank.comm.clone()).collect();
    let others = Communicator::split_all(&comms, |_| (Some(0), 0)).unwrap();
    let others: Vec<_> = others.into_iter().map(Option::unwrap).collect();
    let mut a: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let mut b: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[2_u32; 300])).collect();
    let mut group = Group::new();
    let (a_first, a_last) = a.split_at_mut(1);
    let (b_first, b_last) = b.split_at_mut(1);
    let streams = [&ranks[0].stream, &ranks[1].stream];
    group.all_reduce_in_place(&comms[0], streams[0], &mut a_first[0], Op::Sum).unwrap();
    group.all_reduce_in_place(&others[0], streams[0], &mut b_first[0], Op::Sum).unwrap();
    group.all_reduce_in_place(&others[1], streams[1], &mut b_last[0], Op::Sum).unwrap();
    group.all_reduce_in_place(&comms[1], streams[1], &mut a_last[0], Op::Sum).unwrap();
    group.launch().unwrap();
    assert_eq!((ranks[0].read(&a[0])[0], ranks[1].read(&b[1])[0]), (2, 4));
}

#[test]
fn a_rank_that_does_not_come_is_an_error_in_time_and_streams_go_on() {
    let Some(ranks) = ranks(2) else { return };
    let mut buffer = ranks[0].buffer(&[1.0_f32; 100]);
    ranks[0].comm.all_reduce_in_place(&ranks[0].stream, &mut buffer, Op::Sum).unwrap();
    let began = Instant::now();
    let late = ranks[0].comm.wait(&ranks[0].stream, Duration::from_millis(200)).unwrap_err();
    assert!(matches!(late, Error::TimedOut { .. }), "{late}");
    assert!(began.elapsed() < LONG / 2);
    ranks[0].stream.synchronize().unwrap();
    assert!(matches!(ranks[0].comm.check(), Err(Error::Aborted { .. })));
    let refused = ranks[0].comm.all_reduce_in_place(&ranks[0].stream, &mut buffer, Op::Sum);
    assert!(matches!(refused, Err(Error::Aborted { .. })), "{refused:?}");
    if ranks[1].comm.implementation().starts_with("rccl-on-hip") {
        // AMD's RCCL leaves the others to their own time limits.
        let other = ranks[1].comm.check().unwrap_err();
        assert!(matches!(&other, Error::Failed { rank: 1, size: 2, .. }), "{other}");
        assert!(other.to_string().contains("rank 0 has aborted"), "{other}");
    }
    buffer.fill(&ranks[0].stream, 3.0).unwrap();
    assert_eq!(buffer.to_vec(&ranks[0].stream).unwrap(), [3.0; 100]);
}

#[test]
fn dropping_a_rank_waits_for_its_operations() {
    let Some(mut ranks) = ranks(2) else { return };
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let mut group = Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, Op::Sum).unwrap();
    }
    group.launch().unwrap();
    let streams: Vec<_> = ranks.drain(..).map(|rank| rank.stream).collect();
    for (stream, buffer) in streams.iter().zip(&buffers) {
        assert_eq!(buffer.to_vec(stream).unwrap(), [2; 300]);
    }
    assert_eq!(buffers[0].len(), 300);
}

#[test]
fn an_estimate_does_nothing() {
    let Some(ranks) = ranks(2) else { return };
    let mut estimates = Vec::new();
    for count in [1, 1 << 20] {
        let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&vec![1_u32; count])).collect();
        let mut group = Group::new();
        for (rank, buffer) in ranks.iter().zip(&mut buffers) {
            group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, Op::Sum).unwrap();
        }
        match group.estimate() {
            Err(Error::NoEstimate { library }) => assert!(!library.starts_with("rccl-on-hip"), "{library}"),
            estimate => estimates.push(estimate.unwrap()),
        }
        for (rank, buffer) in ranks.iter().zip(&buffers) {
            assert!(rank.read(buffer).iter().all(|value| *value == 1));
        }
    }
    if let [small, large] = estimates[..] {
        assert!(small > Duration::ZERO && large > small, "{estimates:?}");
    } else {
        skip(Lack::Device, format_args!("{} has no estimates", ranks[0].comm.implementation()));
    }
    assert_eq!(Group::new().estimate().unwrap(), Duration::ZERO);
    // The ranks are still in step.
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[3_u32])).collect();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        rank.comm.all_reduce_in_place(&rank.stream, buffer, Op::Sum).unwrap();
    }
    assert_eq!((ranks[0].read(&buffers[0]), ranks[1].read(&buffers[1])), (vec![6], vec![6]));
}
