//! Scheduling on the device: what waits for values that nobody has promised is issued by a kernel.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hal::{
    Affinity, Arg, CommandBuffer, Error, Grid, MemoryKind, Options, Place, Queue, Scheduling, Semaphore, Usage,
};

use crate::common::{LONG, Setup, devices, drivers, library, setups_with};
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

/// How often the threads of `hal` have gone to sleep so far: a thread that was woken does that again.
fn wakes() -> u64 {
    let mut sum = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name.starts_with("hal ") {
            let status = std::fs::read_to_string(path.join("status")).unwrap();
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
            sum += line.split_whitespace().last().unwrap().parse::<u64>().unwrap();
        }
    }
    sum
}

#[test]
fn a_chain_between_queues_needs_no_thread_of_the_host() {
    const HOPS: u64 = 60;
    for setup in setups_with(&options()) {
        let queues = queues(&setup, 3);
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
        assert_eq!(counts(&setup), Scheduling { scheduled: HOPS, kept: 0 });
        let before = wakes();
        // All that the host does: after this, the test only reads its own memory.
        line.signal(1).unwrap();
        let expected = (0..HOPS).fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
        let end = Instant::now() + LONG.unwrap();
        while number.load(Ordering::Acquire) != expected {
            assert!(Instant::now() < end, "{} instead of {expected}", number.load(Ordering::Acquire));
            std::hint::spin_loop();
        }
        assert_eq!(wakes(), before, "a thread of the host has worked");
        done.wait(1, LONG).unwrap();
        assert_eq!(line.value(), Ok(HOPS + 1));
    }
}
