//! Ranks end in any way and at any step of a program. Nothing hangs, and the other ranks get what a model
//! predicts.
//!
//! One thread serves all ranks, which is the hardest case: whatever waits for another rank inside a call
//! waits for ever.

use std::time::Duration;

use hip::{Device, DeviceBuffer, Stream};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rccl::{Communicator, Error, Group, Op, Options, Result};

use crate::common::{LONG, devices};

/// How long a dropped rank waits for operations that no other rank will join.
const SHORT: Duration = Duration::from_millis(100);
/// The elements of an operation for each rank, by its number: less than a piece, and more.
const COUNTS: [usize; 3] = [3, 5000, 70_000];

/// How a rank ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Dropped,
    DroppedElsewhere,
    Aborted,
    /// It stays for ever, and does nothing more.
    Forgotten,
}

const HOWS: [How; 4] = [How::Dropped, How::DroppedElsewhere, How::Aborted, How::Forgotten];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A rank enqueues its next operation, on one of its two streams.
    Enqueue(usize, usize),
    /// All remaining ranks do so in one group.
    Together(usize),
    Wait(usize),
    End(usize, How),
}

/// The memory of one operation of a rank.
struct Buffers {
    input: DeviceBuffer<u32>,
    output: DeviceBuffer<u32>,
}

/// A rank, and the model's view of it.
struct Rank {
    comm: Option<Communicator>,
    streams: [Stream; 2],
    /// A stream on which nothing waits for another rank.
    own: Stream,
    /// Its enqueued operations that have not been checked.
    buffers: Vec<(usize, Buffers)>,
    enqueued: usize,
    ended: Option<How>,
    /// It has aborted because of an error, and reports that from then on.
    is_aborted: bool,
}

/// Whether the communicator has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Failed {
    No,
    /// It may have failed, or will soon.
    Maybe,
    Yes,
}

struct Job {
    ranks: Vec<Rank>,
    failed: Failed,
}

/// The value that a rank sends to another one in an operation.
fn value(operation: usize, rank: usize, to: usize) -> u32 {
    (operation * 1000 + rank * 10 + to) as u32
}

impl Job {
    fn new(devices: &[Device]) -> Self {
        let options = Options::new().limit(SHORT).wait(false);
        let comms = Communicator::all_with(devices, options).unwrap();
        // Wait without a limit: only operations have the short one.
        while !comms.iter().all(|comm| comm.is_ready().unwrap()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let rank = |comm: Communicator| Rank {
            streams: [(); 2].map(|()| comm.device().stream().unwrap()),
            own: comm.device().stream().unwrap(),
            comm: Some(comm),
            buffers: Vec::new(),
            enqueued: 0,
            ended: None,
            is_aborted: false,
        };
        Self { ranks: comms.into_iter().map(rank).collect(), failed: Failed::No }
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The number of operations that all ranks have enqueued.
    fn common(&self) -> usize {
        self.ranks.iter().map(|rank| rank.enqueued).min().unwrap_or(0)
    }

    /// Whether a rank has operations that another one lacks.
    fn is_ahead(&self, rank: usize) -> bool {
        self.ranks[rank].enqueued > self.common()
    }

    /// Whether a rank that is behind has left normally, which the others are told.
    fn has_left(&self) -> bool {
        let common = self.common();
        let has_left = |rank: &Rank| matches!(rank.ended, Some(How::Dropped | How::DroppedElsewhere));
        self.ranks.iter().any(|rank| has_left(rank) && rank.enqueued == common)
    }

    fn enqueue(&mut self, which: &[usize], stream: usize) {
        let size = self.size();
        let make = |rank: &Rank, at: usize| {
            let (number, stream) = (rank.enqueued, &rank.own);
            let count = COUNTS[number % COUNTS.len()];
            let input: Vec<_> =
                (0..size).flat_map(|to| std::iter::repeat_n(value(number, at, to), count)).collect();
            Buffers {
                input: DeviceBuffer::from_slice(stream, &input).unwrap(),
                output: DeviceBuffer::from_slice(stream, &vec![0; count * size]).unwrap(),
            }
        };
        let mut buffers: Vec<_> = which.iter().map(|&at| make(&self.ranks[at], at)).collect();
        let mut group = Group::new();
        let mut called = Ok(());
        for (&at, buffers) in which.iter().zip(&mut buffers) {
            let rank = &self.ranks[at];
            let comm = rank.comm.as_ref().expect("a rank that is there");
            called = called
                .and_then(|()| call(&mut group, comm, &rank.streams[stream], rank.enqueued, at, buffers));
        }
        match called.and_then(|()| group.launch()) {
            Ok(()) => {
                let is_aborted = which.iter().any(|&at| self.ranks[at].is_aborted);
                assert!(self.failed < Failed::Yes && !is_aborted, "it has failed, and takes operations");
                for (&at, buffers) in which.iter().zip(buffers) {
                    let rank = &mut self.ranks[at];
                    rank.buffers.push((rank.enqueued, buffers));
                    rank.enqueued += 1;
                }
            }
            Err(error) => {
                assert!(self.failed > Failed::No, "{error}");
                self.failed = Failed::Yes;
            }
        }
        self.note_those_who_left();
    }

    /// Operations that wait for a rank that has left soon end with an error.
    fn note_those_who_left(&mut self) {
        if self.has_left() && (0..self.size()).any(|rank| self.is_ahead(rank)) {
            self.failed = self.failed.max(Failed::Maybe);
        }
    }

    fn wait(&mut self, at: usize) {
        let (is_ahead, has_left, failed) = (self.is_ahead(at), self.has_left(), self.failed);
        let rank = &mut self.ranks[at];
        let comm = rank.comm.as_ref().expect("a rank that is there");
        // A rank waits without a limit for one that neither calls nor leaves.
        let in_vain = is_ahead && !has_left && failed != Failed::Yes;
        let limit = if in_vain { Duration::from_millis(20) } else { LONG };
        let waited = rank.streams.iter().try_for_each(|stream| comm.wait(stream, limit));
        match waited {
            Ok(()) => {
                assert!(!is_ahead && failed < Failed::Yes && !rank.is_aborted);
                let size = self.ranks.len();
                for (number, buffers) in std::mem::take(&mut self.ranks[at].buffers) {
                    check(number, at, size, &buffers, &self.ranks[at].own);
                }
            }
            Err(Error::Aborted { .. }) => assert!(rank.is_aborted),
            Err(Error::TimedOut { .. }) => {
                assert!(in_vain, "it waits in vain, and nobody has said so");
                (rank.is_aborted, self.failed) = (true, Failed::Yes);
            }
            Err(error @ Error::Failed { .. }) => {
                assert!(failed > Failed::No, "{error}");
                (rank.is_aborted, self.failed) = (true, Failed::Yes);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn end(&mut self, at: usize, how: How) {
        // A forgotten rank's operations would never end if no other rank were left to fail.
        let is_first = self.ranks.iter().all(|rank| rank.ended != Some(How::Forgotten));
        let how = if how == How::Forgotten && !is_first { How::Dropped } else { how };
        let is_ahead = self.is_ahead(at);
        let rank = &mut self.ranks[at];
        let comm = rank.comm.take().expect("a rank that is there");
        let is_under_way = !rank.buffers.is_empty();
        rank.ended = Some(how);
        match how {
            How::Dropped => drop(comm),
            How::DroppedElsewhere => std::thread::spawn(move || drop(comm)).join().unwrap(),
            How::Aborted => comm.abort().unwrap(),
            How::Forgotten => std::mem::forget(comm),
        }
        let rank_was_well = !self.ranks[at].is_aborted;
        match how {
            How::Aborted if rank_was_well => self.failed = Failed::Yes,
            How::Dropped | How::DroppedElsewhere if rank_was_well && is_ahead && !self.has_left() => {
                self.failed = Failed::Yes;
            }
            // On a busy machine they may not be done in time.
            How::Dropped | How::DroppedElsewhere if is_under_way => {
                self.failed = self.failed.max(Failed::Maybe)
            }
            _ => {}
        }
        self.note_those_who_left();
    }

    fn step(&mut self, step: Step) {
        let is_there = |rank: usize| self.ranks[rank].comm.is_some();
        match step {
            Step::Enqueue(rank, stream) if is_there(rank) => self.enqueue(&[rank], stream),
            Step::Together(stream) => {
                let there: Vec<_> = (0..self.size()).filter(|rank| is_there(*rank)).collect();
                if !there.is_empty() {
                    self.enqueue(&there, stream);
                }
            }
            Step::Wait(rank) if is_there(rank) => self.wait(rank),
            Step::End(rank, how) if is_there(rank) => self.end(rank, how),
            _ => {}
        }
    }

    /// Ends the remaining ranks, and checks that every stream continues.
    fn finish(mut self, buffers_first: bool) {
        if buffers_first {
            self.ranks.iter_mut().for_each(|rank| rank.buffers.clear());
        }
        for rank in &mut self.ranks {
            rank.comm = None;
        }
        for rank in &self.ranks {
            rank.streams.iter().for_each(|stream| stream.synchronize().unwrap());
        }
    }
}

/// The kind of an operation follows from its number.
fn call<'a>(
    group: &mut Group<'a>,
    comm: &'a Communicator,
    stream: &'a Stream,
    number: usize,
    at: usize,
    buffers: &'a mut Buffers,
) -> Result<()> {
    let (input, output) = (&buffers.input, &mut buffers.output);
    let count = COUNTS[number % COUNTS.len()];
    match number % 4 {
        0 => group.all_reduce(comm, stream, input, output, Op::Sum),
        1 => group.all_gather(comm, stream, input.slice(..count).unwrap(), output),
        2 => group.all_to_all(comm, stream, input, output),
        _ => {
            let size = input.len() / count;
            let mut rest = hip::DeviceSliceMut::from(output);
            for peer in 0..size {
                let (part, behind) = rest.split_at_mut(count).unwrap();
                rest = behind;
                if peer != at {
                    group.send(comm, stream, input.slice(peer * count..(peer + 1) * count).unwrap(), peer)?;
                    group.receive(comm, stream, part, peer)?;
                }
            }
            Ok(())
        }
    }
}

/// Checks the result of an operation.
fn check(number: usize, at: usize, size: usize, buffers: &Buffers, stream: &Stream) {
    let count = COUNTS[number % COUNTS.len()];
    let read = buffers.output.to_vec(stream).unwrap();
    for (from, part) in read.chunks_exact(count).enumerate() {
        let expected = match number % 4 {
            0 => (0..size).map(|rank| value(number, rank, from)).sum(),
            1 => value(number, from, 0),
            2 => value(number, from, at),
            _ if from == at => 0,
            _ => value(number, from, at),
        };
        assert!(part.iter().all(|element| *element == expected), "operation {number} of rank {at}: {part:?}");
    }
}

/// Devices whose ranks notice how the others end. AMD's RCCL leaves that to their time limits.
fn own(count: usize) -> Option<Vec<Device>> {
    let devices = devices(count)?;
    let probe = Communicator::all_with(&devices[..1], Options::new().limit(LONG)).unwrap();
    if !probe[0].implementation().starts_with("rccl-on-hip") {
        test_skip::skip(test_skip::Lack::Device, "AMD's RCCL does not notice how other ranks end");
        return None;
    }
    Some(devices)
}

#[test]
fn a_rank_may_end_at_every_step_of_a_program() {
    let Some(devices) = own(2) else { return };
    let program = [
        Step::Enqueue(0, 0),
        Step::Enqueue(1, 0),
        Step::Enqueue(1, 1),
        Step::Enqueue(0, 1),
        Step::Together(0),
        Step::Wait(0),
        Step::Wait(1),
    ];
    for (place, how) in (0..=program.len()).flat_map(|place| HOWS.map(|how| (place, how))) {
        let mut job = Job::new(&devices);
        program[..place].iter().for_each(|step| job.step(*step));
        // End the rank that is ahead, or any, and the one that is behind.
        job.step(Step::End(place % 2, how));
        program[place..].iter().for_each(|step| job.step(*step));
        job.finish(place % 3 == 0);
    }
}

#[test]
fn whatever_ranks_do_and_however_they_end_nothing_hangs_and_errors_are_told() {
    let Some(devices) = own(3) else { return };
    let step = |size: usize| {
        prop_oneof![
            5 => (0..size, 0..2_usize).prop_map(|(rank, stream)| Step::Enqueue(rank, stream)),
            4 => (0..2_usize).prop_map(Step::Together),
            2 => (0..size).prop_map(Step::Wait),
            1 => (0..size, 0..HOWS.len()).prop_map(|(rank, how)| Step::End(rank, HOWS[how])),
        ]
    };
    let programs = (1..=3_usize)
        .prop_flat_map(|size| (Just(size), prop::collection::vec(step(size), 1..14), any::<bool>()));
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    let run = TestRunner::new(config).run(&programs, |(size, program, buffers_first)| {
        let mut job = Job::new(&devices[..size]);
        program.into_iter().for_each(|step| job.step(step));
        job.finish(buffers_first);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn ending_a_communicator_does_not_wait_for_operations_of_another_one() {
    let Some(devices) = own(2) else { return };
    for how in [How::Dropped, How::Aborted] {
        let ended = Job::new(&devices);
        let ranks = Communicator::all_with(&devices, Options::new().limit(LONG)).unwrap();
        let streams: Vec<_> = devices.iter().map(|device| device.stream().unwrap()).collect();
        let mut buffers: Vec<_> =
            streams.iter().map(|stream| DeviceBuffer::from_slice(stream, &[1_u32; 1000]).unwrap()).collect();
        ranks[0].all_reduce_in_place(&streams[0], &mut buffers[0], Op::Sum).unwrap();
        // Rank 0's device is busy until this thread enqueues rank 1's operation.
        let mut ended = ended;
        (0..2).for_each(|rank| ended.end(rank, how));
        ranks[1].all_reduce_in_place(&streams[1], &mut buffers[1], Op::Sum).unwrap();
        for ((rank, stream), buffer) in ranks.iter().zip(&streams).zip(&buffers) {
            rank.wait(stream, LONG).unwrap();
            assert_eq!(buffer.to_vec(stream).unwrap(), [2; 1000]);
        }
    }
}
