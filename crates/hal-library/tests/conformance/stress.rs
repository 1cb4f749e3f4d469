//! Threads, queues and semaphores with random work: nothing is lost, and nothing is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hal::{Affinity, Arg, Buffer, File, Grid, MemoryKind, Options, Place, Semaphore};

use crate::common::{LONG, Setup, drivers, setups_of_both, setups_with};

/// A small generator, so that a run is named by its seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// `FERROCM_TEST_SECONDS` is how long the threads work; by default two seconds.
pub(crate) fn seconds() -> u64 {
    std::env::var("FERROCM_TEST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

/// Eight threads with random work on a number of their own each, until a time; gives the numbers.
fn work(setup: Setup, end: Instant) -> (Arc<Setup>, Vec<Buffer>) {
    let setup = Arc::new(setup);
    let threads: Vec<_> = (0..8u64)
        .map(|seed| {
            let setup = setup.clone();
            std::thread::spawn(move || {
                let mut random = Random(seed + 1);
                let file = File::new(tempfile::tempfile().unwrap(), "a file of the test");
                let value = setup.buffer(&[1u64, 0].map(u64::to_le_bytes).concat());
                let mut recorder = setup.record();
                let add = (seed + 1).to_le_bytes();
                let step = setup.code.kernel("step").unwrap();
                for _ in 0..3 {
                    let args = [Arg::At(Place::Binding(0, 0)), Arg::Bytes(&add)];
                    // SAFETY: the kernel changes one number of what is bound.
                    unsafe { recorder.barrier().dispatch(&step, Grid::linear(1, 1), &args) }.unwrap();
                }
                let commands = recorder.finish().unwrap();
                let lines: Vec<Semaphore> = (0..3).map(|_| Semaphore::new(0)).collect();
                let (mut expected, mut last) = (1u64, (0usize, 0u64));
                let mut values = [0u64; 3];
                let mut rounds = 0u64;
                while rounds < 20 || (Instant::now() < end && rounds < 3000) {
                    rounds += 1;
                    let line = random.below(3) as usize;
                    values[line] += 1 + random.below(5);
                    let waits = [(&lines[last.0], last.1)];
                    let signals = [(&lines[line], values[line])];
                    let queue = setup.device.queue(Affinity::ANY).unwrap();
                    match random.below(5) {
                        0 => {
                            let buffer = value.clone();
                            let call = move || {
                                let mut bytes = [0; 8];
                                buffer.read(0, &mut bytes)?;
                                buffer.write(0, &u64::from_le_bytes(bytes).wrapping_add(7).to_le_bytes())
                            };
                            queue.call(&waits, &signals, call).unwrap();
                            expected = expected.wrapping_add(7);
                        }
                        1 => {
                            let size = 1 + random.below(100_000);
                            let middle = Semaphore::new(0);
                            let signal = [(&middle, 1)];
                            let buffer = queue.allocate(MemoryKind::Device, size, &waits, &signal).unwrap();
                            middle.wait(1, LONG).unwrap();
                            let buffer = buffer.get().unwrap();
                            queue.deallocate(buffer, &[(&middle, 1)], &signals).unwrap();
                        }
                        2 => {
                            // To a file and back, which changes nothing.
                            let (middle, offset) = (Semaphore::new(0), random.below(100));
                            let (range, place) = (file.range(offset, 8), (&value).into());
                            queue.write(place, range, &waits, &[(&middle, 1)]).unwrap();
                            queue.read(range, place, &[(&middle, 1)], &signals).unwrap();
                        }
                        _ => {
                            queue.execute(&commands, &[(value.clone(), 0)], &waits, &signals).unwrap();
                            expected = (0..3)
                                .fold(expected, |value, _| value.wrapping_mul(3).wrapping_add(seed + 1));
                        }
                    }
                    last = (line, values[line]);
                    if random.below(10) == 0 {
                        lines[last.0].wait(last.1, LONG).unwrap();
                    }
                }
                lines[last.0].wait(last.1, LONG).unwrap();
                assert_eq!(setup.read(&value)[..8], expected.to_le_bytes(), "thread {seed}");
                value
            })
        })
        .collect();
    let values = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    (setup, values)
}

#[test]
fn random_work_of_many_threads_loses_nothing() {
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut options = Options::default();
    // The smallest.
    options.ring = 64 << 10;
    for setup in setups_of_both(options.clone()) {
        let before = setup.device.statistics(MemoryKind::Device, 0).unwrap().used;
        let (setup, values) = work(setup, end);
        drop(values);
        let end = Instant::now() + Duration::from_secs(10);
        // The last callbacks may still run.
        while setup.device.statistics(MemoryKind::Device, 0).unwrap().used != before && Instant::now() < end {
            setup.device.trim();
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(setup.device.statistics(MemoryKind::Device, 0).unwrap().used, before);
        let mut taken = 0;
        for number in 0..options.queues {
            let ring = setup.device.queue(Affinity(1 << number)).unwrap().ring().unwrap().unwrap();
            assert_eq!(ring.used, 0, "{ring:?}");
            taken += ring.taken;
        }
        assert_ne!(taken, 0);
    }
}

#[test]
fn random_work_of_many_threads_has_a_profile_and_a_replay() {
    let mut options = Options::default();
    (options.capture, options.profile, options.counters) = (true, 1 << 20, true);
    for (setup, (driver, uri)) in setups_with(&options).into_iter().zip(drivers()) {
        let (setup, values) = work(setup, Instant::now());
        let profile = setup.device.profile().unwrap();
        assert!(profile.submissions.iter().all(|submission| submission.times.is_some()));
        let mut dispatches = profile.submissions.iter().flat_map(|submission| &submission.dispatches);
        assert!(dispatches.all(|dispatch| dispatch.counters.is_some()));
        let replay = setup.device.capture().unwrap();
        assert!(replay.compared() >= values.len() && profile.submissions.len() >= replay.submissions());
        let other = driver.open(&uri.parse().unwrap(), replay.options().unwrap()).unwrap();
        // SAFETY: the kernels are those of this test.
        assert_eq!(unsafe { replay.run(&other) }, Ok(Vec::new()));
    }
}
