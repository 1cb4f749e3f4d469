//! Failures reach everything that waits for an operation of a queue: each operation, and each thing that
//! fails.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hal::{
    Affinity, Arg, Buffer, CommandBuffer, Error, File, MemoryKind, Options, Pending, Place, Queue, Recorder,
    Result, Semaphore, Value,
};

use crate::common::{LONG, Setup, setups_of_both};
use crate::failures::{fault, hold};

/// What the operations work on.
struct Case<'s> {
    setup: &'s Setup,
    queue: Queue,
    value: Buffer,
    file: File,
    was_called: Arc<AtomicBool>,
    slot: Mutex<Option<Pending>>,
}

/// An operation.
struct Operation {
    name: &'static str,
    submit: fn(&Case<'_>, &[Value<'_>], &[Value<'_>]) -> Result<()>,
}

const OPERATIONS: [Operation; 12] = [
    Operation { name: "barrier", submit: |case, waits, signals| case.queue.barrier(waits, signals) },
    Operation {
        name: "dispatch",
        submit: |case, waits, signals| {
            case.execute(waits, signals, |case, commands| case.setup.step(commands, (&case.value).into(), 1))
        },
    },
    Operation {
        name: "dispatch with a binding",
        submit: |case, waits, signals| {
            case.execute(waits, signals, |case, commands| case.setup.step(commands, Place::Binding(0, 0), 1))
        },
    },
    Operation {
        name: "indirect dispatch",
        submit: |case, waits, signals| {
            case.execute(waits, signals, |case, commands| {
                let sizes = case.setup.buffer(&[1u32, 1, 1].map(u32::to_le_bytes).concat());
                let add = 1u64.to_le_bytes();
                let (kernel, args) =
                    (case.setup.code.kernel("step").unwrap(), [(&case.value).into(), Arg::Bytes(&add)]);
                // SAFETY: the kernel changes one number.
                unsafe { commands.dispatch_indirect(&kernel, [1; 3], 0, (&sizes).into(), &args) }.unwrap();
            })
        },
    },
    Operation {
        name: "copy",
        submit: |case, waits, signals| {
            case.execute(waits, signals, |case, commands| {
                let from = case.setup.buffer(&[7; 8]);
                commands.copy((&case.value).into(), (&from).into(), 8).unwrap();
            })
        },
    },
    Operation {
        name: "fill",
        submit: |case, waits, signals| {
            case.execute(waits, signals, |case, commands| {
                commands.fill((&case.value).into(), &[7], 8).unwrap();
            })
        },
    },
    Operation {
        name: "update",
        submit: |case, waits, signals| {
            case.execute(waits, signals, |case, commands| {
                commands.update((&case.value).into(), &[7; 8]).unwrap();
            })
        },
    },
    Operation {
        name: "call",
        submit: |case, waits, signals| {
            let was_called = case.was_called.clone();
            let call = move || {
                was_called.store(true, Ordering::Release);
                Ok(())
            };
            case.queue.call(waits, signals, call)
        },
    },
    Operation {
        name: "read",
        submit: |case, waits, signals| {
            case.queue.read(case.file.range(0, 4), (&case.value).into(), waits, signals)
        },
    },
    Operation {
        name: "write",
        submit: |case, waits, signals| {
            case.queue.write((&case.value).into(), case.file.range(4, 4), waits, signals)
        },
    },
    Operation {
        name: "allocate",
        submit: |case, waits, signals| {
            let pending = case.queue.allocate(MemoryKind::Device, 64, waits, signals)?;
            *case.slot.lock().unwrap() = Some(pending);
            Ok(())
        },
    },
    Operation {
        name: "deallocate",
        submit: |case, waits, signals| case.queue.deallocate(case.setup.buffer(&[0; 64]), waits, signals),
    },
];

impl<'s> Case<'s> {
    fn new(setup: &'s Setup, queue: Queue) -> Self {
        Self {
            setup,
            queue,
            value: setup.buffer(&1u64.to_le_bytes()),
            file: File::new(tempfile::tempfile().unwrap(), "a file of the test"),
            was_called: Arc::default(),
            slot: Mutex::default(),
        }
    }

    fn execute(
        &self,
        waits: &[Value<'_>],
        signals: &[Value<'_>],
        record: impl FnOnce(&Self, &mut Recorder),
    ) -> Result<()> {
        let mut recorder = self.setup.record();
        record(self, &mut recorder);
        let commands: CommandBuffer = recorder.finish().unwrap();
        self.queue.execute(&commands, &[(self.value.clone(), 0)], waits, signals)
    }

    /// Submits every operation. Returns what they signal, and what follows them on another queue.
    fn submit(&self, other: &Queue, waits: &[Value<'_>], refused: Option<&Error>) -> Vec<[Semaphore; 3]> {
        let all = OPERATIONS.iter().map(|operation| {
            let [first, second, behind]: [Semaphore; 3] = std::array::from_fn(|_| Semaphore::new(0));
            if refused.is_none() {
                // What waits before the operation is given.
                other.barrier(&[(&second, 3)], &[(&behind, 1)]).unwrap();
            }
            let submitted = (operation.submit)(self, waits, &[(&first, 1), (&second, 3)]);
            assert_eq!(submitted.err().as_ref(), refused, "{}", operation.name);
            if refused.is_some() {
                other.barrier(&[(&second, 3)], &[(&behind, 1)]).unwrap();
            }
            [first, second, behind]
        });
        all.collect()
    }

    /// Everything has the error, and nothing was done.
    fn check(&self, signals: &[[Semaphore; 3]], is_error: impl Fn(&Error) -> bool) {
        for (operation, signals) in OPERATIONS.iter().zip(signals) {
            for (place, (semaphore, value)) in signals.iter().zip([1, 3, 1]).enumerate() {
                let error = semaphore.wait(value, LONG).expect_err(operation.name);
                assert!(is_error(&error), "{}, semaphore {place}: {error}", operation.name);
                assert_eq!(semaphore.value(), Err(error), "{}", operation.name);
            }
        }
        assert_eq!(self.setup.read(&self.value), 1u64.to_le_bytes());
        assert!(!self.was_called.load(Ordering::Acquire));
    }

    fn has_memory(&self) -> bool {
        self.slot.lock().unwrap().as_ref().is_some_and(|slot| slot.get().is_some())
    }
}

fn given_up() -> Error {
    Error::Failed("given up".into())
}

fn is_fault(error: &Error) -> bool {
    matches!(error, Error::QueueLost { report, .. } if report.contains("stray"))
}

fn queues(setup: &Setup) -> [Queue; 3] {
    [1, 2, 4].map(|bit| setup.device.queue(Affinity(bit)).unwrap())
}

#[test]
fn of_a_semaphore_that_has_failed_before() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, _] = queues(setup);
        let (case, go, come) = (Case::new(setup, queue), Semaphore::new(0), Semaphore::new(1));
        go.fail(given_up());
        let signals = case.submit(&other, &[(&come, 1), (&go, 1)], None);
        case.check(&signals, |error| *error == given_up());
        assert!(!case.has_memory());
    }
}

#[test]
fn of_a_semaphore_that_fails_later() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, _] = queues(setup);
        let (case, go, never) = (Case::new(setup, queue), Semaphore::new(0), Semaphore::new(0));
        let signals = case.submit(&other, &[(&never, 1), (&go, 1)], None);
        assert_eq!(signals[0][0].wait(1, Some(Duration::ZERO)), Err(Error::TimedOut(Duration::ZERO)));
        go.fail(given_up());
        case.check(&signals, |error| *error == given_up());
        assert!(!case.has_memory());
    }
}

#[test]
fn of_a_semaphore_that_nobody_can_signal_any_more() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, _] = queues(setup);
        let (case, go) = (Case::new(setup, queue), Semaphore::new(0));
        let signals = case.submit(&other, &[(&go, 2)], None);
        go.signal(1).unwrap();
        drop(go);
        case.check(&signals, |error| *error == Error::Abandoned { asked: 2 });
        assert!(!case.has_memory());
    }
}

#[test]
fn of_work_that_faults() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, broken] = queues(setup);
        let (case, done, (hold, gate)) = (Case::new(setup, queue), Semaphore::new(0), hold(setup));
        broken.execute(&hold, &[], &[], &[]).unwrap();
        broken.execute(&fault(setup), &[], &[], &[(&done, 1)]).unwrap();
        let signals = case.submit(&other, &[(&done, 1)], None);
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        case.check(&signals, is_fault);
    }
}

#[test]
fn of_a_queue_that_has_stopped_before() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, _] = queues(setup);
        let (case, done) = (Case::new(setup, queue.clone()), Semaphore::new(0));
        queue.execute(&fault(setup), &[], &[], &[(&done, 1)]).unwrap();
        let error = done.wait(1, LONG).unwrap_err();
        let signals = case.submit(&other, &[], Some(&error));
        case.check(&signals, |found| is_fault(found) && *found == error);
    }
}

#[test]
fn of_a_queue_that_stops_while_the_operation_waits() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, _] = queues(setup);
        let (case, never, (hold, gate)) = (Case::new(setup, queue.clone()), Semaphore::new(0), hold(setup));
        queue.execute(&hold, &[], &[], &[]).unwrap();
        queue.execute(&fault(setup), &[], &[], &[]).unwrap();
        let signals = case.submit(&other, &[(&never, 1)], None);
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        case.check(&signals, is_fault);
    }
}

/// What is refused for its arguments has done nothing: its semaphores are as they were.
#[test]
fn but_not_of_a_wrong_argument() {
    let setups = setups_of_both(Options::default());
    for (setup, foreign) in setups.iter().zip(setups.iter().cycle().skip(1)) {
        let (line, never) = (Semaphore::new(0), Semaphore::new(0));
        let signals = [(&line, 1)];
        let queue = &setup.queue;
        let mut recorder = setup.record();
        setup.step(&mut recorder, Place::Binding(0, 0), 1);
        let bound = recorder.finish().unwrap();
        for waits in [&[][..], &[(&never, 1)]] {
            assert!(matches!(queue.execute(&bound, &[], waits, &signals), Err(Error::Binding { .. })));
            let buffer = foreign.buffer(&[0; 8]);
            assert!(matches!(
                queue.execute(&bound, &[(buffer.clone(), 0)], waits, &signals),
                Err(Error::OtherDevice(_))
            ));
            let theirs = foreign.record().finish().unwrap();
            assert!(matches!(queue.execute(&theirs, &[], waits, &signals), Err(Error::OtherDevice(_))));
            let file = File::new(tempfile::tempfile().unwrap(), "a file of the test");
            let (range, place) = (file.range(0, 8), (&buffer).into());
            assert!(matches!(queue.read(range, place, waits, &signals), Err(Error::OtherDevice(_))));
            assert!(matches!(queue.write(place, range, waits, &signals), Err(Error::OtherDevice(_))));
            assert!(queue.allocate(MemoryKind::Host, 0, waits, &signals).is_err());
            assert!(matches!(queue.deallocate(buffer, waits, &signals), Err(Error::OtherDevice(_))));
        }
        assert_eq!(line.value(), Ok(0));
        line.signal(1).unwrap();
    }
}

/// The stack does not grow with the chain, whether it ends well or not.
#[test]
fn along_a_chain_of_any_length() {
    const LENGTH: u64 = 5000;
    let setup = crate::common::setups().remove(0);
    for (fails, on_host) in [(false, false), (false, true), (true, false), (true, true)] {
        let (go, lines) = (Semaphore::new(0), Vec::from_iter((0..LENGTH).map(|_| Semaphore::new(0))));
        let before = |index: u64| index.checked_sub(1).map_or(&go, |before| &lines[before as usize]);
        // The last first, on a small stack, as threads of HSA may have.
        let work = || {
            for index in (0..LENGTH).rev() {
                let (waits, signals) = ([(before(index), 1)], [(&lines[index as usize], 1)]);
                match on_host {
                    true => setup.queue.call(&waits, &signals, || Ok(())),
                    false => setup.queue.barrier(&waits, &signals),
                }
                .unwrap();
            }
            match fails {
                true => go.fail(given_up()),
                false => go.signal(1).unwrap(),
            }
        };
        std::thread::scope(|scope| {
            std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, work).unwrap();
        });
        let expected = if fails { Err(given_up()) } else { Ok(()) };
        assert_eq!(lines[LENGTH as usize - 1].wait(1, LONG), expected);
    }
}

/// An operation keeps what it waits for, whose work keeps it.
#[test]
fn semaphores_may_be_dropped_before_their_work_has_ended() {
    for setup in &setups_of_both(Options::default()) {
        let [queue, other, _] = queues(setup);
        let (hold, gate) = hold(setup);
        let case = Case::new(setup, queue);
        let done = Semaphore::new(0);
        other.execute(&hold, &[], &[], &[(&done, 1)]).unwrap();
        let signals: Vec<Semaphore> = OPERATIONS
            .iter()
            .map(|operation| {
                let semaphore = Semaphore::new(0);
                (operation.submit)(&case, &[(&done, 1)], &[(&semaphore, 1)]).unwrap();
                semaphore
            })
            .collect();
        drop(done);
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        for (operation, semaphore) in OPERATIONS.iter().zip(&signals) {
            // The file has nothing to read yet, or what was written.
            if operation.name != "read" {
                assert_eq!(semaphore.wait(1, LONG), Ok(()), "{}", operation.name);
            }
        }
    }
}
