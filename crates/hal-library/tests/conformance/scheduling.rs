//! Scheduling on the device: what waits for values that nobody has promised is issued by a kernel.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use hal::{Affinity, Arg, Buffer, CommandBuffer, Error, Options, Place, Queue, Scheduling, Semaphore, Value};

use crate::common::{LONG, Setup, build, drivers, library, setups_with};
use crate::failures::{fault, hold};
use crate::stress::{Random, seconds};

fn options() -> Options {
    let mut options = Options::default();
    options.scheduler = 1024;
    options
}

fn queues(setup: &Setup, count: u32) -> Vec<Queue> {
    (0..count).map(|index| setup.device.queue(Affinity(1 << index)).unwrap()).collect()
}

/// Commands that multiply what is bound by 3 and add a number.
fn step(setup: &Setup, add: u64) -> CommandBuffer {
    let mut recorder = setup.record();
    setup.step(&mut recorder, Place::Binding(0, 0), add);
    recorder.finish().unwrap()
}

fn counts(setup: &Setup) -> Scheduling {
    setup.device.scheduling().unwrap()
}

/// Keeps the thread that drops it, until the other end is gone.
struct Keeper(Sender<()>, Mutex<Receiver<()>>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        let _ = self.1.lock().unwrap().recv();
    }
}

/// Does something while the threads of `hal`, the one for events and the device's own, are blocked.
fn without_threads(setup: &Setup, work: impl FnOnce()) {
    let queue = setup.device.queue(Affinity(1 << 3)).unwrap();
    let (entered, has_entered) = channel();
    let mut held = Vec::new();
    let mut keeper = || {
        let (sender, receiver) = channel();
        held.push(sender);
        Keeper(entered.clone(), Mutex::new(receiver))
    };
    // The thread for events drops a buffer when the device has done something.
    let memory = Box::leak(Box::new([0u8; 64]));
    // SAFETY: the memory lives for ever, and nothing uses it.
    let buffer = unsafe { setup.device.import_host(memory.as_mut_ptr(), 64, keeper()) }.unwrap();
    let (hold, gate) = hold(setup);
    let done = Semaphore::new(0);
    queue.execute(&hold, &[], &[], &[(&done, 1)]).unwrap();
    queue.deallocate(buffer, &[(&done, 1)], &[]).unwrap();
    let keeper = keeper();
    let call = move || {
        drop(keeper);
        Ok(())
    };
    queue.call(&[], &[], call).unwrap();
    gate.write(0, &1i32.to_le_bytes()).unwrap();
    (0..2).for_each(|_| has_entered.recv_timeout(LONG.unwrap()).unwrap());
    work();
    drop(held);
}

/// Waits without `hal` until a number has a value.
fn spin(number: &AtomicU64, expected: u64) {
    let end = Instant::now() + LONG.unwrap();
    while number.load(Ordering::Acquire) != expected {
        assert!(Instant::now() < end, "{} instead of {expected}", number.load(Ordering::Acquire));
        std::hint::spin_loop();
    }
}

#[test]
fn a_chain_between_queues_needs_no_thread_of_the_host() {
    const HOPS: u64 = 60;
    for setup in &setups_with(&options()) {
        let queues = queues(setup, 3);
        let (line, done) = (Semaphore::new(0), Semaphore::new(0));
        let number = Box::leak(Box::new(AtomicU64::new(1)));
        // SAFETY: the number lives for ever, and the test accesses it atomically.
        let value = unsafe { setup.device.import_host(number.as_ptr().cast(), 8, ()) }.unwrap();
        // The last first, so that nobody has promised anything.
        for hop in (0..HOPS).rev() {
            let mut recorder = setup.record();
            setup.step(&mut recorder, (&value).into(), hop);
            let commands = recorder.finish().unwrap();
            let signals = [(&line, hop + 2), (&done, 1)];
            let signals = &signals[..if hop + 1 == HOPS { 2 } else { 1 }];
            queues[hop as usize % 3].execute(&commands, &[], &[(&line, hop + 1)], signals).unwrap();
        }
        assert_eq!(counts(setup), Scheduling { scheduled: HOPS, kept: 0 });
        let expected = (0..HOPS).fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
        without_threads(setup, || {
            line.signal(1).unwrap();
            spin(number, expected);
        });
        done.wait(1, LONG).unwrap();
        assert_eq!(line.value(), Ok(HOPS + 1));
    }
}

#[test]
fn work_that_the_host_issues_later_needs_no_thread_of_the_host_when_it_ends() {
    for setup in &setups_with(&options()) {
        let queues = queues(setup, 3);
        let (hold, gate) = hold(setup);
        let [before, after, line] = std::array::from_fn(|_| Semaphore::new(0));
        let number = Box::leak(Box::new(AtomicU64::new(1)));
        // SAFETY: the number lives for ever, and the test accesses it atomically.
        let value = unsafe { setup.device.import_host(number.as_ptr().cast(), 8, ()) }.unwrap();
        // One value is promised before the work is scheduled, the other one behind it.
        queues[0].execute(&hold, &[], &[], &[(&before, 3)]).unwrap();
        let waits = [(&before, 2), (&after, 1)];
        queues[1].execute(&step(setup, 5), &[(value, 0)], &waits, &[(&line, 1)]).unwrap();
        queues[2].execute(&hold, &[], &[], &[(&after, 1)]).unwrap();
        without_threads(setup, || {
            gate.write(0, &1i32.to_le_bytes()).unwrap();
            spin(number, 8);
        });
        line.wait(1, LONG).unwrap();
        assert_eq!(counts(setup), Scheduling { scheduled: 1, kept: 0 });
    }
}

#[test]
fn scheduled_commands_have_bindings_indirect_dispatches_and_barriers() {
    for setup in setups_with(&options()) {
        let values = setup.buffer(&[0; 4 * 64]);
        let counts_of = setup.buffer(&[1u32, 1, 1].map(u32::to_le_bytes).concat());
        let mut recorder = setup.record();
        let add = setup.code.kernel("add").unwrap();
        let (n, step) = (64i32.to_le_bytes(), 5i32.to_le_bytes());
        let args = [Arg::At(Place::Binding(0, 0)), Arg::Bytes(&n), Arg::Bytes(&step)];
        recorder.update((&counts_of).into(), &2u32.to_le_bytes()).unwrap();
        recorder.barrier();
        // SAFETY: the kernel adds to 64 numbers of what is bound; the first kernel doubles its workgroups.
        unsafe { recorder.dispatch_indirect(&add, [32, 1, 1], 0, (&counts_of).into(), &args) }.unwrap();
        recorder.barrier();
        recorder.update(Place::Binding(0, 0), &100i32.to_le_bytes()).unwrap();
        let commands = recorder.finish().unwrap();
        let (go, done) = (Semaphore::new(0), Semaphore::new(0));
        for round in 0..20u64 {
            let bound = [(values.clone(), 0)];
            let waits = [(&go, 1), (&done, round)];
            setup.queue.execute(&commands, &bound, &waits, &[(&done, round + 1)]).unwrap();
        }
        go.signal(1).unwrap();
        done.wait(20, LONG).unwrap();
        let numbers: Vec<i32> = setup
            .read(&values)
            .chunks_exact(4)
            .map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!((numbers[0], &numbers[1..]), (100, &[100; 63][..]));
        assert_eq!(counts(&setup), Scheduling { scheduled: 20, kept: 0 });
    }
}

#[test]
fn a_full_queue_holds_nothing_up() {
    let mut options = options();
    options.packets = 64;
    for setup in setups_with(&options) {
        let queues = queues(&setup, 2);
        let (hold, gate) = hold(&setup);
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        for add in 0..20 {
            setup.step(&mut recorder, (&value).into(), add);
            recorder.barrier();
        }
        let commands = recorder.finish().unwrap();
        let (go, line, other) = (Semaphore::new(0), Semaphore::new(0), Semaphore::new(0));
        // Ten times what the queue holds, one after the other, behind work that does not end yet.
        queues[0].execute(&hold, &[], &[], &[]).unwrap();
        for round in 0..30u64 {
            let waits = [(&go, 1)];
            queues[0].execute(&commands, &[], &waits, &[(&line, round + 1)]).unwrap();
        }
        let mark = setup.buffer(&1u64.to_le_bytes());
        queues[1].execute(&step(&setup, 1), &[(mark.clone(), 0)], &[(&go, 1)], &[(&other, 1)]).unwrap();
        go.signal(1).unwrap();
        // Another queue goes on.
        other.wait(1, LONG).unwrap();
        assert_eq!(line.value(), Ok(0));
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        line.wait(30, LONG).unwrap();
        let adds = (0..30).flat_map(|_| 0..20u64);
        let expected = adds.fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
        assert_eq!(counts(&setup), Scheduling { scheduled: 31, kept: 0 });
    }
}

#[test]
fn what_the_list_or_a_queue_has_no_room_for_stays_on_the_host() {
    let mut options = options();
    (options.packets, options.scheduler) = (64, 4);
    for setup in setups_with(&options) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        for add in 0..70 {
            setup.step(&mut recorder, (&value).into(), add);
            recorder.barrier();
        }
        let long = recorder.finish().unwrap();
        let line = Semaphore::new(0);
        let one = step(&setup, 9);
        for round in (1..=12u64).rev() {
            let commands = if round == 12 { &long } else { &one };
            let bound = [(value.clone(), 0)];
            setup.queue.execute(commands, &bound, &[(&line, round)], &[(&line, round + 1)]).unwrap();
        }
        assert_eq!(counts(&setup), Scheduling { scheduled: 4, kept: 8 });
        line.signal(1).unwrap();
        line.wait(13, LONG).unwrap();
        let adds = std::iter::repeat_n(9, 11).chain(0..70u64);
        let expected = adds.fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
    }
}

#[test]
fn a_fault_reaches_what_the_device_has_issued_and_what_it_has_not() {
    for is_scheduled in [false, true] {
        for setup in setups_with(&options()) {
            let queues = queues(&setup, 3);
            let value = setup.buffer(&1u64.to_le_bytes());
            let bound = [(value.clone(), 0)];
            let one = step(&setup, 1);
            let (hold, gate) = hold(&setup);
            let [go, never, first, second, third, fourth] = std::array::from_fn(|_| Semaphore::new(0));
            // What faults, then what is issued behind it in the same queue, and what waits for that.
            let waits = [(&go, 1)];
            queues[0].execute(&hold, &[], &[], &[]).unwrap();
            let fault_waits = if is_scheduled { &waits[..] } else { &[] };
            queues[0].execute(&fault(&setup), &[], fault_waits, &[(&first, 1)]).unwrap();
            queues[0].execute(&one, &bound, &waits, &[(&second, 1)]).unwrap();
            queues[1].execute(&one, &bound, &[(&second, 1)], &[(&third, 1)]).unwrap();
            queues[2].execute(&one, &bound, &[(&third, 1), (&never, 1)], &[(&fourth, 1)]).unwrap();
            assert_eq!(counts(&setup).scheduled, if is_scheduled { 4 } else { 3 });
            go.signal(1).unwrap();
            // So that the device issues what may be issued; if it has not, the result is the same.
            std::thread::sleep(Duration::from_millis(20));
            gate.write(0, &1i32.to_le_bytes()).unwrap();
            let error = first.wait(1, LONG).unwrap_err();
            let is_fault = matches!(&error, Error::QueueLost { report, .. } if report.contains("stray"));
            assert!(is_fault, "{error}");
            for semaphore in [&second, &third, &fourth] {
                assert_eq!(semaphore.wait(1, LONG), Err(error.clone()));
            }
            assert_eq!(setup.read(&value), 1u64.to_le_bytes());
            // The scheduler goes on, and so do the other queues.
            let [go, done, lost] = std::array::from_fn(|_| Semaphore::new(0));
            queues[1].execute(&one, &bound, &[(&go, 1)], &[(&done, 1)]).unwrap();
            assert_eq!(queues[0].execute(&one, &bound, &[(&go, 1)], &[(&lost, 2)]), Err(error.clone()));
            assert_eq!(lost.value(), Err(error));
            go.signal(1).unwrap();
            done.wait(1, LONG).unwrap();
            assert_eq!(setup.read(&value), 4u64.to_le_bytes());
        }
    }
}

#[test]
fn a_fault_of_the_scheduler_reaches_everything_that_it_has() {
    // A library whose scheduler is a trap.
    let broken = build("tests/broken");
    for (driver, uri) in drivers() {
        let device = driver.open(&uri.parse().unwrap(), options().with_library(broken.clone())).unwrap();
        let (queue, other) = (device.queue(Affinity(1)).unwrap(), device.queue(Affinity(2)).unwrap());
        let [go, first, second, third] = std::array::from_fn(|_| Semaphore::new(0));
        queue.barrier(&[(&go, 1)], &[(&first, 1)]).unwrap();
        let error = first.wait(1, LONG).unwrap_err();
        assert!(
            matches!(&error, Error::QueueLost { report, .. } if report.contains("hal_schedule")),
            "{error}"
        );
        other.barrier(&[(&first, 2), (&go, 1)], &[(&second, 1)]).unwrap();
        assert_eq!(second.wait(1, LONG), Err(error.clone()));
        other.barrier(&[(&go, 1)], &[(&third, 1)]).unwrap();
        assert_eq!(third.wait(1, LONG), Err(error));
        // What needs no scheduler goes on.
        go.signal(1).unwrap();
        queue.barrier(&[(&go, 1)], &[(&go, 2)]).unwrap();
        go.wait(2, LONG).unwrap();
    }
}

#[test]
fn work_goes_on_when_the_program_has_let_go_of_the_device() {
    for setup in setups_with(&options()) {
        let number = Box::leak(Box::new(AtomicU64::new(1)));
        // SAFETY: the number lives for ever, and the test accesses it atomically.
        let value = unsafe { setup.device.import_host(number.as_ptr().cast(), 8, ()) }.unwrap();
        let line = Semaphore::new(0);
        let one = step(&setup, 2);
        for round in (1..=10u64).rev() {
            let bound = [(value.clone(), 0)];
            setup.queue.execute(&one, &bound, &[(&line, round)], &[(&line, round + 1)]).unwrap();
        }
        drop((setup, value, one));
        line.signal(1).unwrap();
        line.wait(11, LONG).unwrap();
        let expected = (0..10).fold(1u64, |value, _| value.wrapping_mul(3).wrapping_add(2));
        assert_eq!(number.load(Ordering::Acquire), expected);
    }
}

#[test]
fn work_of_a_device_without_a_scheduler_and_of_another_one_is_waited_for() {
    let (setups, plain) = (setups_with(&options()), setups_with(&Options::default()));
    for (index, (setup, plain)) in setups.iter().zip(&plain).enumerate() {
        let other = &setups[(index + 1) % setups.len()];
        let value = setup.device.allocate(hal::MemoryKind::Host, 8).unwrap();
        value.write(0, &1u64.to_le_bytes()).unwrap();
        let marks: Vec<Buffer> = [other, plain].map(|setup| setup.buffer(&1u64.to_le_bytes())).into();
        let [go, first, second, third, fourth] = std::array::from_fn(|_| Semaphore::new(0));
        let run = |setup: &Setup, buffer: &Buffer, waits: &[Value<'_>], signals: &[Value<'_>]| {
            setup.queue.execute(&step(setup, 1), &[(buffer.clone(), 0)], waits, signals).unwrap();
        };
        run(setup, &value, &[(&third, 1)], &[(&fourth, 1)]);
        run(plain, &marks[1], &[(&second, 1)], &[(&third, 1)]);
        run(other, &marks[0], &[(&first, 1)], &[(&second, 1)]);
        run(setup, &value, &[(&go, 1)], &[(&first, 1)]);
        assert_eq!(fourth.value(), Ok(0));
        go.signal(1).unwrap();
        fourth.wait(1, LONG).unwrap();
        let mut bytes = [0; 8];
        value.read(0, &mut bytes).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), 13);
        for (setup, mark) in [other, plain].into_iter().zip(&marks) {
            assert_eq!(setup.read(mark), 4u64.to_le_bytes());
        }
    }
}

#[test]
fn a_device_that_cannot_schedule_does_not_open() {
    let (driver, uri) = drivers().remove(0);
    let open = |change: &dyn Fn(&mut Options)| {
        let mut options = options().with_library(library());
        change(&mut options);
        driver.open(&uri.parse().unwrap(), options).map(|_| ()).unwrap_err()
    };
    assert_eq!(open(&|options| options.library = None), Error::NoLibrary("scheduling on the device"));
    let outside = |value, most| Error::Option { name: "scheduler", value, least: 0, most };
    assert_eq!(open(&|options| options.scheduler = 4097), outside(4097, 4096));
    assert_eq!(open(&|options| options.profile = 1), outside(1024, 0));
    assert_eq!(open(&|options| options.capture = true), outside(1024, 0));
}

/// What the model knows of a semaphore in the end.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Outcome {
    Reached,
    Failed,
}

/// Random work of one thread: a chain of steps on a number of its own, submitted in any order, which also
/// waits for gates. The program opens some gates and fails others, and the model says how far the chain
/// comes.
fn chain(setup: &Setup, seed: u64, shared: &[Semaphore], batch: u64, round: u64) {
    let mut random = Random((batch * 8 + seed) * 1000 + round);
    let queues = queues(setup, 4);
    let value = setup.buffer(&1u64.to_le_bytes());
    let count = 1 + random.below(30);
    let lines: Vec<Semaphore> = (0..=count).map(|_| Semaphore::new(0)).collect();
    let gates: Vec<(Semaphore, Outcome)> = (0..4)
        .map(|_| (Semaphore::new(0), if random.below(5) == 0 { Outcome::Failed } else { Outcome::Reached }))
        .collect();
    let mut steps: Vec<(u64, Option<usize>)> =
        (0..count).map(|step| (step, (random.below(3) == 0).then(|| random.below(4) as usize))).collect();
    // How far it comes: to the first step whose gate fails.
    let is_stopped = |gate: &Option<usize>| gate.is_some_and(|gate| gates[gate].1 == Outcome::Failed);
    let reached = steps.iter().position(|(_, gate)| is_stopped(gate)).map_or(count, |first| first as u64);
    for last in (1..steps.len()).rev() {
        steps.swap(last, random.below(last as u64 + 1) as usize);
    }
    let neighbour = (seed as usize + 1) % shared.len();
    let mut open = 0;
    for (index, &(number, gate)) in steps.iter().enumerate() {
        let mut waits: Vec<Value<'_>> = vec![(&lines[number as usize], 1)];
        waits.extend(gate.map(|gate| (&gates[gate].0, 1)));
        // All threads go through a round together, so the neighbour's last one is over, or soon is.
        waits.push((&shared[neighbour], round));
        let queue = &queues[random.below(4) as usize];
        let signals = [(&lines[number as usize + 1], 1)];
        if let Err(error) = queue.execute(&step(setup, number), &[(value.clone(), 0)], &waits, &signals) {
            // What it waits for has failed already, so that nothing was submitted.
            signals[0].0.fail(error);
        }
        // Gates open or fail while others are still submitted.
        if open < gates.len() && (random.below(6) == 0 || index + 1 == steps.len()) {
            decide(&gates[open]);
            open += 1;
        }
    }
    lines[0].signal(1).unwrap();
    gates[open..].iter().for_each(decide);
    for (index, line) in lines.iter().enumerate() {
        let expected = if index as u64 <= reached { Outcome::Reached } else { Outcome::Failed };
        let seen = match line.wait(1, LONG) {
            Ok(()) => Outcome::Reached,
            Err(Error::Failed(reason)) if &*reason == "a gate" => Outcome::Failed,
            Err(error) => panic!("seed {seed}, batch {batch}, round {round}, step {index}: {error}"),
        };
        assert_eq!(seen, expected, "seed {seed}, batch {batch}, round {round}, step {index} of {count}");
    }
    let expected = (0..reached).fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
    assert_eq!(setup.read(&value), expected.to_le_bytes(), "seed {seed}, batch {batch}, round {round}");
    shared[seed as usize].signal(round + 1).unwrap();
}

fn decide((gate, outcome): &(Semaphore, Outcome)) {
    match outcome {
        Outcome::Reached => gate.signal(1).unwrap(),
        Outcome::Failed => gate.fail(Error::Failed("a gate".into())),
    }
}

#[test]
fn random_chains_of_many_threads_end_as_the_model_says() {
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut setups = setups_with(&options());
    // The same without, and with a list that is mostly full.
    setups.extend(setups_with(&Options::default()));
    let mut small = options();
    (small.scheduler, small.packets) = (16, 64);
    setups.extend(setups_with(&small));
    for (index, setup) in setups.iter().enumerate() {
        let mut batch = 0;
        while batch == 0 || (index == 0 && Instant::now() < end) {
            let shared: Vec<Semaphore> = (0..8).map(|_| Semaphore::new(0)).collect();
            std::thread::scope(|scope| {
                for seed in 0..8u64 {
                    let shared = &shared;
                    scope.spawn(move || (0..6).for_each(|round| chain(setup, seed, shared, batch, round)));
                }
            });
            batch += 1;
        }
        let kind = hal::MemoryKind::Device;
        let end = Instant::now() + Duration::from_secs(10);
        while setup.device.statistics(kind, 0).unwrap().used != 0 && Instant::now() < end {
            setup.device.trim();
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(setup.device.statistics(kind, 0).unwrap().used, 0);
    }
}
