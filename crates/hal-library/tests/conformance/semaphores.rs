//! Semaphores between host, queues and devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hal::{Affinity, Driver, Error, Options, Semaphore};

use crate::common::{LONG, drivers, library, setups, setups_of_both, setups_with};
use crate::failures::hold;

#[test]
fn work_waits_for_what_nobody_has_promised_yet() {
    for setup in setups_of_both(Options::default()) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        setup.step(&mut recorder, (&value).into(), 2);
        let commands = recorder.finish().unwrap();
        let (go, middle, done) = (Semaphore::new(0), Semaphore::new(0), Semaphore::new(10));
        // The last first: each waits for the one behind it in the program.
        setup.queue.execute(&commands, &[], &[(&middle, 4), (&go, 1)], &[(&done, 11)]).unwrap();
        setup.queue.execute(&commands, &[], &[(&go, 7)], &[(&middle, 5)]).unwrap();
        let limit = Duration::from_millis(20);
        assert_eq!(done.wait(11, Some(limit)), Err(Error::TimedOut(limit)));
        assert_eq!(setup.read(&value), 1u64.to_le_bytes());
        go.signal(7).unwrap();
        done.wait(11, LONG).unwrap();
        assert_eq!((middle.value(), done.value()), (Ok(5), Ok(11)));
        assert_eq!(setup.read(&value), 17u64.to_le_bytes());
    }
}

#[test]
fn queues_wait_for_each_other_on_the_device() {
    for setup in setups_of_both(Options::default()) {
        let queues: Vec<_> = (0..3).map(|index| setup.device.queue(Affinity(1 << index)).unwrap()).collect();
        let mut numbers: Vec<u64> = queues.iter().map(hal::Queue::number).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), 3);
        let value = setup.buffer(&1u64.to_le_bytes());
        let line = Semaphore::new(0);
        for round in 0..60u64 {
            let mut recorder = setup.record();
            setup.step(&mut recorder, (&value).into(), round);
            let commands = recorder.finish().unwrap();
            let queue = &queues[round as usize % 3];
            queue.execute(&commands, &[], &[(&line, round)], &[(&line, round + 1)]).unwrap();
        }
        line.wait(60, LONG).unwrap();
        let expected = (0..60u64).fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
    }
}

#[test]
fn a_queue_is_one_of_its_set() {
    let setup = setups().remove(0);
    let numbers: std::collections::BTreeSet<u64> =
        (0..8).map(|_| setup.device.queue(Affinity::ANY).unwrap().number()).collect();
    assert_eq!(numbers.len(), 4);
    let second = setup.device.queue(Affinity(2)).unwrap().number();
    assert_eq!(setup.device.queue(Affinity(2)).unwrap().number(), second);
    let error = setup.device.queue(Affinity(0)).unwrap_err();
    assert_eq!(error.to_string(), "the option `affinity` is 0; 1 to 15 is possible");
    assert!(setup.device.queue(Affinity(1 << 4)).is_err());
}

#[test]
fn host_calls_run_between_work_of_the_device() {
    for setup in setups_of_both(Options::default()) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        setup.step(&mut recorder, (&value).into(), 2);
        let commands = recorder.finish().unwrap();
        let line = Semaphore::new(0);
        let seen = Arc::new(AtomicU64::new(0));
        setup.queue.execute(&commands, &[], &[], &[(&line, 1)]).unwrap();
        let (looks, buffer) = (seen.clone(), value.clone());
        setup
            .queue
            .call(&[(&line, 1)], &[(&line, 2)], move || {
                let mut bytes = [0; 8];
                buffer.read(0, &mut bytes)?;
                looks.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
                buffer.write(0, &100u64.to_le_bytes())
            })
            .unwrap();
        setup.queue.execute(&commands, &[], &[(&line, 2)], &[(&line, 3)]).unwrap();
        line.wait(3, LONG).unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 5);
        assert_eq!(setup.read(&value), 302u64.to_le_bytes());
    }
}

#[test]
fn waits_for_any_and_all_end_with_the_device() {
    for setup in setups_of_both(Options::default()) {
        let (one, two, never) = (Semaphore::new(0), Semaphore::new(0), Semaphore::new(0));
        setup.queue.barrier(&[], &[(&one, 1)]).unwrap();
        setup.queue.barrier(&[(&one, 1)], &[(&two, 9)]).unwrap();
        Semaphore::wait_all(&[(&one, 1), (&two, 9)], LONG).unwrap();
        setup.queue.barrier(&[], &[(&two, 10)]).unwrap();
        assert_eq!(Semaphore::wait_any(&[(&never, 1), (&two, 10)], LONG), Ok(1));
    }
}

#[test]
fn values_go_forward_on_the_device_too() {
    for setup in setups_of_both(Options::default()) {
        let (line, go) = (Semaphore::new(0), Semaphore::new(0));
        // It waits on the host, so that the value is only promised.
        setup.queue.barrier(&[], &[(&line, 5)]).unwrap();
        line.wait(5, LONG).unwrap();
        setup.queue.barrier(&[(&go, 1)], &[(&line, 5)]).unwrap();
        go.signal(1).unwrap();
        assert_eq!(line.wait(6, LONG), Err(Error::Backwards { value: 5, asked: 5 }));
        assert_eq!(line.wait(5, LONG), Ok(()));
    }
}

/// A queue's packets name no signals of another HSA implementation.
#[test]
fn work_of_another_hsa_implementation_is_waited_for_on_the_host() {
    // SAFETY: both are never dropped, and a table has functions and texts.
    let copy = Box::leak(Box::new(unsafe { std::ptr::read(vgpu::hsa::table()) }));
    let (_, uri) = drivers().remove(0);
    for scheduler in [0, 64] {
        let mut options = Options::default().with_library(library());
        options.scheduler = scheduler;
        let device = Driver::over(copy).unwrap().open(&uri.parse().unwrap(), options).unwrap();
        let queue = device.queue(Affinity(1)).unwrap();
        let setup = setups_with(&Options::default()).remove(0);
        let (hold, gate) = hold(&setup);
        let [done, behind, beside, last] = std::array::from_fn(|_| Semaphore::new(0));
        queue.barrier(&[(&done, 2)], &[(&last, 1)]).unwrap();
        setup.queue.execute(&hold, &[], &[], &[(&done, 2)]).unwrap();
        queue.barrier(&[(&done, 1)], &[(&behind, 1)]).unwrap();
        // No packet of the queue waits.
        queue.barrier(&[], &[(&beside, 1)]).unwrap();
        beside.wait(1, LONG).unwrap();
        assert_eq!((behind.value(), last.value()), (Ok(0), Ok(0)));
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        Semaphore::wait_all(&[(&behind, 1), (&last, 1)], LONG).unwrap();
        // And the reverse.
        setup.queue.barrier(&[(&last, 1), (&behind, 2)], &[(&done, 3)]).unwrap();
        queue.barrier(&[], &[(&behind, 2)]).unwrap();
        done.wait(3, LONG).unwrap();
    }
}

/// Waiting for a short time again and again leaves nothing behind, and a wait for any ends with its
/// semaphore.
#[test]
fn waits_that_end_early_are_forgotten() {
    let setup = setups().remove(0);
    let (never, one) = (Semaphore::new(0), Semaphore::new(0));
    for round in 1..500 {
        let limit = Some(Duration::from_micros(1));
        assert!(matches!(Semaphore::wait_any(&[(&never, 1)], limit), Err(Error::TimedOut(_))));
        setup.queue.barrier(&[], &[(&one, round)]).unwrap();
        assert_eq!(Semaphore::wait_any(&[(&never, 1), (&one, round)], LONG), Ok(1));
    }
    assert!(format!("{never:?}").matches("Reached").count() < 3, "{never:?}");
}
