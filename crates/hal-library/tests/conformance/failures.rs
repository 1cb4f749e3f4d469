//! Faults, and how they travel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use hal::{Affinity, CommandBuffer, Error, Grid, MemoryKind, Options, Semaphore};

use crate::common::{LONG, Setup, setups_of_both, setups_with};
use crate::imports::Owner;

/// A kernel that runs until the program writes to the buffer.
pub(crate) fn hold(setup: &Setup) -> (CommandBuffer, hal::Buffer) {
    let gate = setup.device.allocate(MemoryKind::Host, 4).unwrap();
    gate.write(0, &[0; 4]).unwrap();
    let mut recorder = setup.record();
    // SAFETY: the kernel reads the gate.
    unsafe { recorder.dispatch(&setup.code.kernel("hold").unwrap(), Grid::linear(1, 1), &[(&gate).into()]) }
        .unwrap();
    (recorder.finish().unwrap(), gate)
}

pub(crate) fn fault(setup: &Setup) -> CommandBuffer {
    let buffer = setup.buffer(&[0; 64]);
    let mut recorder = setup.record();
    // SAFETY: the kernel writes outside its memory, which the virtual GPU refuses.
    unsafe {
        recorder.dispatch(&setup.code.kernel("stray").unwrap(), Grid::linear(1, 1), &[(&buffer).into()])
    }
    .unwrap();
    recorder.finish().unwrap()
}

#[test]
fn a_fault_reaches_everything_that_waits_for_it_and_nothing_else() {
    for setup in setups_of_both(Options::default()) {
        let queue = |index: u32| setup.device.queue(Affinity(1 << index)).unwrap();
        let (broken, behind, free) = (queue(0), queue(1), queue(2));
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        setup.step(&mut recorder, (&value).into(), 2);
        let commands = recorder.finish().unwrap();
        let (hold, gate) = hold(&setup);
        let [first, second, third, host, never] = std::array::from_fn(|_| Semaphore::new(0));
        // The fault comes when everything is submitted.
        broken.execute(&hold, &[], &[], &[]).unwrap();
        broken.execute(&fault(&setup), &[], &[], &[(&first, 1)]).unwrap();
        behind.execute(&commands, &[], &[(&first, 1)], &[(&second, 1)]).unwrap();
        broken.execute(&commands, &[], &[(&second, 1), (&never, 1)], &[(&third, 1)]).unwrap();
        free.call(&[(&second, 1)], &[(&host, 1)], || panic!("its condition has failed")).unwrap();
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        let error = first.wait(1, LONG).unwrap_err();
        let Error::QueueLost { report, .. } = &error else { panic!("{error}") };
        assert!(report.contains("stray") && report.contains("write of 4 bytes"), "{report}");
        assert_eq!(second.wait(1, LONG), Err(error.clone()));
        assert_eq!(third.wait(1, LONG), Err(error.clone()));
        assert_eq!(host.wait(1, LONG), Err(error.clone()));
        // What should have come behind it has not run.
        assert_eq!(setup.read(&value), 1u64.to_le_bytes());
        assert_eq!(broken.failure(), Some(error.clone()));
        assert_eq!(broken.barrier(&[], &[]), Err(error.clone()));
        let done = Semaphore::new(0);
        free.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
        done.wait(1, LONG).unwrap();
        assert_eq!(setup.read(&value), 5u64.to_le_bytes());
        // Waiting for a value that the failed semaphore had is fine.
        free.barrier(&[(&first, 0)], &[(&done, 2)]).unwrap();
        done.wait(2, LONG).unwrap();
        assert_eq!(free.barrier(&[(&first, 1)], &[(&done, 3)]), Ok(()));
        assert_eq!(done.wait(3, LONG), Err(error));
    }
}

#[test]
fn what_a_submission_uses_stays_if_its_queue_stops_while_it_waits_for_room() {
    let mut options = Options::default();
    options.packets = 64;
    for setup in setups_with(&options) {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut value = Box::new(0u64);
        let (address, owner) = ((&raw mut *value).cast(), Owner(dropped.clone()));
        // SAFETY: the number lives longer than the device, and only the device uses it.
        let value_buffer = unsafe { setup.device.import_host(address, 8, owner) }.unwrap();
        let mut recorder = setup.record();
        for add in 0..200 {
            setup.step(&mut recorder, (&value_buffer).into(), add);
            recorder.barrier();
        }
        let long = recorder.finish().unwrap();
        drop(value_buffer);
        let (hold, gate) = hold(&setup);
        setup.queue.execute(&hold, &[], &[], &[]).unwrap();
        setup.queue.execute(&fault(&setup), &[], &[], &[]).unwrap();
        let (queue, done) = (setup.queue.clone(), Semaphore::new(0));
        let signal = done.clone();
        let submission = std::thread::spawn(move || queue.execute(&long, &[], &[], &[(&signal, 1)]));
        // A submission that waits for room has the queue.
        loop {
            let (device, (sender, trimmed)) = (setup.device.clone(), channel());
            std::thread::spawn(move || {
                device.trim();
                let _ = sender.send(());
            });
            if trimmed.recv_timeout(Duration::from_secs(1)).is_err() {
                break;
            }
        }
        assert!(!submission.is_finished());
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        assert_eq!(submission.join().unwrap(), Ok(()));
        let error = done.wait(1, LONG).unwrap_err();
        assert!(matches!(error, Error::QueueLost { .. }), "{error}");
        setup.device.trim();
        assert_eq!(dropped.load(Ordering::SeqCst), 0, "written packets name the memory");
        drop((setup, hold, gate));
        let end = Instant::now() + LONG.unwrap();
        while dropped.load(Ordering::SeqCst) == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        drop(value);
    }
}

#[test]
fn a_host_call_that_fails_or_panics_fails_its_semaphores() {
    for setup in setups_of_both(Options::default()) {
        let (one, two) = (Semaphore::new(0), Semaphore::new(0));
        setup.queue.call(&[], &[(&one, 1)], || Err(Error::Failed("no file".into()))).unwrap();
        setup.queue.call(&[], &[(&two, 1)], || panic!("on purpose")).unwrap();
        assert_eq!(one.wait(1, LONG), Err(Error::Failed("no file".into())));
        assert_eq!(two.wait(1, LONG), Err(Error::Failed("a host call panicked".into())));
        // The thread goes on.
        let three = Semaphore::new(0);
        setup.queue.call(&[], &[(&three, 1)], || Ok(())).unwrap();
        three.wait(1, LONG).unwrap();
    }
}

#[test]
fn a_semaphore_that_the_program_fails_ends_waits_of_the_device_side_too() {
    for setup in setups_of_both(Options::default()) {
        let (go, done) = (Semaphore::new(0), Semaphore::new(0));
        setup.queue.barrier(&[(&go, 1)], &[(&done, 1)]).unwrap();
        go.fail(Error::Failed("given up".into()));
        assert_eq!(done.wait(1, LONG), Err(Error::Failed("given up".into())));
        let limit = Duration::from_millis(1);
        assert_eq!(Semaphore::new(0).wait(1, Some(limit)), Err(Error::TimedOut(limit)));
    }
}
