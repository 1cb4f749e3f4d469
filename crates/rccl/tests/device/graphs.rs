//! Collectives that are captured into graphs.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use hip::{DeviceBuffer, Graph, GraphExec, Stream};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rccl::{Communicator, Error, Group as Calls, Op, Options};
use test_skip::{Lack, skip};

use crate::common::{LONG, Rank, devices, rank, ranks};

/// Captures on all ranks at once, as a thread that serves them all does: one stream per rank, with nested
/// captures.
fn capture(ranks: &[Rank], work: &mut dyn FnMut(&[Stream])) -> Vec<Graph> {
    fn inside(
        ranks: &[Rank],
        streams: &mut Vec<Stream>,
        graphs: &mut Vec<Graph>,
        work: &mut dyn FnMut(&[Stream]),
    ) -> hip::Result<()> {
        let Some((first, rest)) = ranks.split_first() else {
            work(streams);
            streams.clear();
            return Ok(());
        };
        let graph = first.comm.device().capture(|stream| {
            streams.push(stream.clone());
            inside(rest, streams, graphs, work)
        })?;
        graphs.push(graph);
        Ok(())
    }
    let mut graphs = Vec::new();
    inside(ranks, &mut Vec::new(), &mut graphs, work).unwrap();
    graphs.reverse();
    graphs
}

fn instantiate(graphs: &[Graph]) -> Vec<GraphExec> {
    graphs.iter().map(|graph| graph.instantiate().unwrap()).collect()
}

/// A graph that sums one buffer of each rank.
fn sums(ranks: &[Rank], buffers: &mut [DeviceBuffer<u32>]) -> Vec<GraphExec> {
    let graphs = capture(ranks, &mut |streams| {
        let mut group = Calls::new();
        for ((rank, stream), buffer) in ranks.iter().zip(streams).zip(&mut *buffers) {
            group.all_reduce_in_place(&rank.comm, stream, buffer, Op::Sum).unwrap();
        }
        group.launch().unwrap();
    });
    instantiate(&graphs)
}

#[test]
fn a_graph_keeps_buffers_and_communicators() {
    let Some(ranks) = ranks(2) else { return };
    let streams: Vec<_> = ranks.iter().map(|rank| rank.comm.device().stream().unwrap()).collect();
    let mut results: Vec<_> = ranks.iter().map(|rank| rank.buffer(&vec![0_u32; 5000])).collect();
    let execs = {
        let mut inputs: Vec<_> =
            ranks.iter().zip(1..).map(|(rank, at)| rank.buffer(&vec![at; 5000])).collect();
        let graphs = capture(&ranks, &mut |streams| {
            let mut group = Calls::new();
            let buffers = inputs.iter_mut().zip(&mut results);
            for ((rank, stream), (input, result)) in ranks.iter().zip(streams).zip(buffers) {
                group.all_reduce(&rank.comm, stream, &*input, result, Op::Sum).unwrap();
            }
            group.launch().unwrap();
            // The next run has larger inputs.
            for ((rank, stream), input) in ranks.iter().zip(streams).zip(&mut inputs) {
                rank.comm.all_reduce_in_place(stream, input, Op::Max).unwrap();
            }
        });
        ranks.iter().zip(&inputs).for_each(|(rank, input)| drop(rank.read(input)));
        instantiate(&graphs)
    };
    // Inputs, graphs and the last handles of the communicators are gone.
    drop(ranks);
    for sum in [3, 4, 4] {
        execs.iter().zip(&streams).for_each(|(exec, stream)| exec.launch(stream).unwrap());
        for (stream, result) in streams.iter().zip(&results) {
            assert_eq!(result.to_vec(stream).unwrap(), vec![sum; 5000]);
        }
    }
}

#[test]
fn graphs_and_other_operations_run_in_the_order_in_which_they_are_enqueued() {
    let Some(ranks) = ranks(2) else { return };
    if ranks[0].comm.device().backend() == hip::Backend::Amd {
        // With and without NCCL_GRAPH_MIXING_SUPPORT=1.
        return skip(Lack::Device, "AMD's RCCL 7.2 mixes data up or hangs in some runs");
    }
    // Only the communicator orders two streams that use different buffers.
    let others: Vec<_> = ranks.iter().map(|rank| rank.comm.device().stream().unwrap()).collect();
    let mut in_graph: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let mut outside: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u64; 300])).collect();
    let sum = |streams: &[Stream], outside: &mut [DeviceBuffer<u64>]| {
        for ((rank, stream), buffer) in ranks.iter().zip(streams).zip(outside) {
            rank.comm.all_reduce_in_place(stream, buffer, Op::Sum).unwrap();
        }
    };
    // Enqueued before the first capture, and not reached when a graph is launched on another stream.
    let (go, held) = channel::<()>();
    others[1].host_function(move || held.recv().unwrap()).unwrap();
    sum(&others, &mut outside);
    let execs = sums(&ranks, &mut in_graph);
    for turn in 0..3 {
        // Held streams make a rank see another order, if it goes by arrival.
        let (go, held) = channel::<()>();
        ranks[turn % 2].stream.host_function(move || held.recv().unwrap()).unwrap();
        for (exec, rank) in execs.iter().zip(&ranks) {
            exec.launch(&rank.stream).unwrap();
        }
        sum(&others, &mut outside);
        std::thread::sleep(Duration::from_millis(10));
        go.send(()).unwrap();
    }
    std::thread::sleep(Duration::from_millis(10));
    go.send(()).unwrap();
    for ((rank, stream), (one, other)) in ranks.iter().zip(&others).zip(in_graph.iter().zip(&outside)) {
        rank.comm.wait(stream, LONG).unwrap();
        assert_eq!(rank.read(one), [8; 300]);
        assert_eq!(rank.read(other), [16; 300]);
    }
}

#[test]
fn a_rank_that_does_not_launch_is_an_error_in_time() {
    let Some(devices) = devices(2) else { return };
    // There, the limit also applies to making the communicator, which takes long.
    let is_slow = devices[0].backend() != hip::Backend::Virtual;
    let options = Options::new().limit(Duration::from_millis(if is_slow { 60_000 } else { 300 }));
    let made = Communicator::all_with(&devices, options).unwrap();
    let ranks: Vec<_> = made.into_iter().map(rank).collect();
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let execs = sums(&ranks, &mut buffers);
    execs[0].launch(&ranks[0].stream).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!ranks[0].stream.is_done().unwrap());
    let began = Instant::now();
    let late = ranks[0].comm.wait(&ranks[0].stream, Duration::from_millis(200)).unwrap_err();
    assert!(matches!(late, Error::TimedOut { .. }), "{late}");
    ranks[0].stream.synchronize().unwrap();
    assert!(began.elapsed() < LONG / 2);
    // A run with an aborted communicator does nothing, and the stream continues.
    execs[0].launch(&ranks[0].stream).unwrap();
    ranks[0].stream.synchronize().unwrap();
    assert!(matches!(ranks[0].comm.check(), Err(Error::Aborted { .. })));
}

#[test]
fn dropping_a_graph_whose_other_rank_does_not_launch_ends_in_time() {
    let Some(devices) = devices(2) else { return };
    if devices[0].backend() != hip::Backend::Virtual {
        return skip(Lack::Device, "the limit also applies to making the communicator, which takes long");
    }
    let options = Options::new().limit(Duration::from_millis(200));
    let made = Communicator::all_with(&devices, options).unwrap();
    let ranks: Vec<_> = made.into_iter().map(rank).collect();
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let mut execs = sums(&ranks, &mut buffers);
    execs[0].launch(&ranks[0].stream).unwrap();
    let began = Instant::now();
    drop(execs.remove(0));
    assert!(began.elapsed() >= Duration::from_millis(200) && began.elapsed() < LONG / 2);
    ranks[0].stream.synchronize().unwrap();
    assert!(matches!(ranks[0].comm.check(), Err(Error::Aborted { .. })));
    let error = ranks[1].comm.check().unwrap_err();
    assert!(error.to_string().contains("rank 0 has aborted"), "{error}");
    // Nothing waits for a launch from here on.
    execs[0].launch(&ranks[1].stream).unwrap();
    assert!(ranks[1].comm.wait(&ranks[1].stream, LONG).is_err());
    ranks[1].stream.synchronize().unwrap();
}

#[test]
fn communicators_are_divided_in_the_order_of_launches() {
    let Some(ranks) = ranks(2) else { return };
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let execs = sums(&ranks, &mut buffers);
    let (go, held) = channel::<()>();
    ranks[1].stream.host_function(move || held.recv().unwrap()).unwrap();
    execs.iter().zip(&ranks).for_each(|(exec, rank)| exec.launch(&rank.stream).unwrap());
    let comms: Vec<_> = ranks.iter().map(|rank| rank.comm.clone()).collect();
    std::thread::scope(|scope| {
        // This blocks until the graphs have run.
        let parts = scope.spawn(|| Communicator::split_all(&comms, |rank| (Some(0), -(rank as i32))));
        std::thread::sleep(Duration::from_millis(20));
        go.send(()).unwrap();
        let parts = parts.join().unwrap().unwrap();
        assert_eq!(parts[1].as_ref().unwrap().rank().unwrap(), 0);
    });
    execs.iter().zip(&ranks).for_each(|(exec, rank)| exec.launch(&rank.stream).unwrap());
    ranks.iter().zip(&buffers).for_each(|(rank, buffer)| assert_eq!(rank.read(buffer), [4; 300]));
}

#[test]
fn clones_children_and_updates_run_the_same_collectives() {
    let Some(ranks) = ranks(2) else { return };
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[1_u32; 300])).collect();
    let graphs = |buffers: &mut [DeviceBuffer<u32>], op: Op| {
        capture(&ranks, &mut |streams| {
            for ((rank, stream), buffer) in ranks.iter().zip(streams).zip(&mut *buffers) {
                rank.comm.all_reduce_in_place(stream, buffer, op).unwrap();
            }
        })
    };
    let run = |execs: &[GraphExec]| {
        execs.iter().zip(&ranks).for_each(|(exec, rank)| exec.launch(&rank.stream).unwrap());
    };
    let sums = graphs(&mut buffers, Op::Sum);
    let mut execs = instantiate(&sums);
    run(&execs);
    let clones: Vec<_> = sums.iter().map(|graph| graph.try_clone().unwrap()).collect();
    let parents = ranks.iter().zip(&sums).map(|(rank, sum)| {
        let mut parent = Graph::new(rank.comm.device()).unwrap();
        let first = parent.add_child(sum, &[]).unwrap();
        parent.add_child(sum, &[first]).unwrap();
        parent
    });
    let parents: Vec<_> = parents.collect();
    drop(sums);
    let cloned = instantiate(&clones);
    drop(clones);
    run(&cloned);
    let twice = instantiate(&parents);
    drop(parents);
    run(&twice);
    ranks.iter().zip(&buffers).for_each(|(rank, buffer)| assert_eq!(rank.read(buffer), [16; 300]));
    let products = graphs(&mut buffers, Op::Product);
    execs.iter_mut().zip(&products).for_each(|(exec, graph)| exec.update(graph).unwrap());
    drop(products);
    run(&execs);
    ranks.iter().zip(&buffers).for_each(|(rank, buffer)| assert_eq!(rank.read(buffer), [256; 300]));
}

/// The elements of each buffer in the random programs.
const LEN: usize = 1200;
const BUFFERS: usize = 3;

/// One step of all ranks. Numbers name buffers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Reduce(Op, usize),
    Broadcast(usize, usize),
    /// Sends to the next rank.
    Shift(usize, usize),
    AllToAll(usize, usize),
    /// Two sums in one group, each on its own stream.
    Pair(usize, usize),
    /// Not a collective: fills the buffer with a number of the rank.
    Fill(usize, u32),
}

#[derive(Clone, Debug)]
enum Do {
    /// Runs on the first or second stream of each rank.
    Now(Step, bool),
    Capture(Vec<Step>),
    Launch(prop::sample::Index, bool),
    Drop(prop::sample::Index),
    Read(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let buffer = || 0..BUFFERS;
    let ops = prop::sample::select(&[Op::Sum, Op::Product, Op::Max, Op::Min][..]);
    prop_oneof![
        3 => (ops, buffer()).prop_map(|(op, b)| Step::Reduce(op, b)),
        1 => (buffer(), 0..4_usize).prop_map(|(b, root)| Step::Broadcast(b, root)),
        2 => (buffer(), 1..BUFFERS).prop_map(|(b, c)| Step::Shift(b, (b + c) % BUFFERS)),
        1 => (buffer(), 1..BUFFERS).prop_map(|(b, c)| Step::AllToAll(b, (b + c) % BUFFERS)),
        1 => (buffer(), 1..BUFFERS).prop_map(|(b, c)| Step::Pair(b, (b + c) % BUFFERS)),
        1 => (buffer(), 0..9_u32).prop_map(|(b, value)| Step::Fill(b, value)),
    ]
}

fn things() -> impl Strategy<Value = Vec<Do>> {
    let thing = prop_oneof![
        3 => (step(), any::<bool>()).prop_map(|(step, stream)| Do::Now(step, stream)),
        2 => prop::collection::vec(step(), 1..5).prop_map(Do::Capture),
        5 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(graph, stream)| Do::Launch(graph, stream)),
        1 => any::<prop::sample::Index>().prop_map(Do::Drop),
        1 => (0..BUFFERS).prop_map(Do::Read),
    ];
    prop::collection::vec(thing, 1..25)
}

/// The buffers of all ranks, by rank, as numbers on the host.
type Model = Vec<[Vec<u32>; BUFFERS]>;

impl Step {
    fn model(self, all: &mut Model) {
        let ranks = all.len();
        let reduce = |all: &mut Model, op: Op, b: usize| {
            for index in 0..LEN {
                let values = all.iter().map(|buffers| buffers[b][index]);
                let result = match op {
                    Op::Sum => values.fold(0, u32::wrapping_add),
                    Op::Product => values.fold(1, u32::wrapping_mul),
                    Op::Max => values.fold(0, u32::max),
                    _ => values.fold(u32::MAX, u32::min),
                };
                all.iter_mut().for_each(|buffers| buffers[b][index] = result);
            }
        };
        match self {
            Self::Reduce(op, b) => reduce(all, op, b),
            Self::Pair(b, c) => [b, c].into_iter().for_each(|b| reduce(all, Op::Sum, b)),
            Self::Broadcast(b, root) => {
                let from = all[root % ranks][b].clone();
                all.iter_mut().for_each(|buffers| buffers[b] = from.clone());
            }
            Self::Shift(b, c) => {
                let from: Vec<_> = all.iter().map(|buffers| buffers[b].clone()).collect();
                (0..ranks).for_each(|rank| all[rank][c] = from[(rank + ranks - 1) % ranks].clone());
            }
            Self::AllToAll(b, c) => {
                let part = LEN / ranks;
                for to in 0..ranks {
                    for from in 0..ranks {
                        let sent = all[from][b][to * part..][..part].to_vec();
                        all[to][c][from * part..][..part].copy_from_slice(&sent);
                    }
                }
            }
            Self::Fill(b, value) => {
                all.iter_mut().enumerate().for_each(|(rank, buffers)| buffers[b].fill(value + rank as u32));
            }
        }
    }

    /// Enqueues the step on a stream of each rank, or captures it.
    fn enqueue(self, ranks: &[Rank], streams: &[Stream], all: &mut [[DeviceBuffer<u32>; BUFFERS]]) {
        let size = ranks.len();
        // While capturing, fork new streams; otherwise a clone of the stream is enough.
        let beside: Vec<_> = match self {
            Self::Pair(..) => streams.iter().map(|stream| stream.fork().unwrap_or(stream.clone())).collect(),
            _ => Vec::new(),
        };
        let mut group = Calls::new();
        for (at, (rank, buffers)) in ranks.iter().zip(all).enumerate() {
            let (comm, stream) = (&rank.comm, &streams[at]);
            match self {
                Self::Reduce(op, b) => {
                    group.all_reduce_in_place(comm, stream, &mut buffers[b], op).unwrap();
                }
                Self::Broadcast(b, root) => {
                    group.broadcast(comm, stream, &mut buffers[b], root % size).unwrap();
                }
                Self::Shift(b, c) => {
                    let [from, to] = buffers.get_disjoint_mut([b, c]).unwrap();
                    group.receive(comm, stream, to, (at + size - 1) % size).unwrap();
                    group.send(comm, stream, &*from, (at + 1) % size).unwrap();
                }
                Self::AllToAll(b, c) => {
                    let [from, to] = buffers.get_disjoint_mut([b, c]).unwrap();
                    group.all_to_all(comm, stream, &*from, to).unwrap();
                }
                Self::Pair(b, c) => {
                    let [one, other] = buffers.get_disjoint_mut([b, c]).unwrap();
                    group.all_reduce_in_place(comm, stream, one, Op::Sum).unwrap();
                    group.all_reduce_in_place(comm, &beside[at], other, Op::Sum).unwrap();
                }
                Self::Fill(b, value) => buffers[b].fill(stream, value + at as u32).unwrap(),
            }
        }
        group.launch().unwrap();
    }
}

/// Runs a program, and compares the buffers with the model.
fn check(size: usize, things: &[Do]) -> Result<(), TestCaseError> {
    let Some(ranks) = ranks(size) else { return Ok(()) };
    let second: Vec<_> = ranks.iter().map(|rank| rank.comm.device().stream().unwrap()).collect();
    let first: Vec<_> = ranks.iter().map(|rank| rank.stream.clone()).collect();
    // AMD's RCCL orders graphs and other operations only if their streams do.
    let is_ordered = ranks[0].comm.device().backend() != hip::Backend::Amd;
    let streams = |other: bool| if other && is_ordered { &second } else { &first };
    let mut model: Model = (0..size)
        .map(|rank| {
            std::array::from_fn(|b| (0..LEN).map(|index| (rank * 7 + b * 3 + index) as u32).collect())
        })
        .collect();
    let mut buffers: Vec<[DeviceBuffer<u32>; BUFFERS]> = ranks
        .iter()
        .zip(&model)
        .map(|(rank, model)| model.each_ref().map(|values| rank.buffer(values)))
        .collect();
    let mut graphs: Vec<(Vec<GraphExec>, Vec<Step>)> = Vec::new();
    let compare = |b: usize, buffers: &[[DeviceBuffer<u32>; BUFFERS]], model: &Model| {
        for (at, rank) in ranks.iter().enumerate() {
            rank.comm.wait(&second[at], LONG).unwrap();
            prop_assert!(rank.read(&buffers[at][b]) == model[at][b], "buffer {b} of rank {at}");
        }
        Ok(())
    };
    for thing in things {
        match thing {
            Do::Now(step, other) => {
                step.enqueue(&ranks, streams(*other), &mut buffers);
                step.model(&mut model);
            }
            Do::Capture(steps) => {
                let made = capture(&ranks, &mut |streams| {
                    steps.iter().for_each(|step| step.enqueue(&ranks, streams, &mut buffers));
                });
                graphs.push((instantiate(&made), steps.clone()));
            }
            Do::Launch(graph, other) if !graphs.is_empty() => {
                let (execs, steps) = graph.get(&graphs);
                execs.iter().zip(streams(*other)).for_each(|(exec, stream)| exec.launch(stream).unwrap());
                steps.iter().for_each(|step| step.model(&mut model));
            }
            Do::Drop(graph) if !graphs.is_empty() => drop(graphs.swap_remove(graph.index(graphs.len()))),
            Do::Launch(..) | Do::Drop(_) => {}
            Do::Read(b) => compare(*b, &buffers, &model)?,
        }
    }
    (0..BUFFERS).try_for_each(|b| compare(b, &buffers, &model))
}

#[test]
fn random_programs_of_graphs_and_other_operations_do_what_their_order_says() {
    // AMD's RCCL takes seconds to make a communicator.
    let is_virtual = !std::env::var(hip::uri::DEVICE_VARIABLE).is_ok_and(|uri| uri.starts_with("amdgpu"));
    let config = ProptestConfig {
        cases: if is_virtual { 16 } else { 2 },
        failure_persistence: None,
        max_shrink_iters: if is_virtual { 100 } else { 0 },
        ..ProptestConfig::default()
    };
    let run = TestRunner::new(config).run(&(2..=4_usize, things()), |(size, things)| check(size, &things));
    run.unwrap();
}
