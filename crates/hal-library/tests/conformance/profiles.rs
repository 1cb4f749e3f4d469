//! Profiles: when submissions and kernels ran.

use std::process::Command;

use hal::{
    Affinity, DispatchProfile, Error, Grid, MemoryKind, Options, Place, Profile, Semaphore,
    SubmissionProfile, Times,
};
use timeline_test::{Slice, Timeline};

use crate::common::{LONG, Setup, TARGETS, setups, setups_with};

/// Tells the first part of a test that it runs in the process that the second one started.
const CHILD: &str = "FERROCM_TEST_HAL_TIMELINE";

fn profiled(most: usize) -> Vec<Setup> {
    let mut options = Options::default();
    options.profile = most;
    setups_with(&options)
}

fn take(setup: &Setup) -> Profile {
    setup.device.profile().unwrap()
}

fn kernels(submission: &SubmissionProfile) -> Vec<&str> {
    submission.dispatches.iter().map(|dispatch| &*dispatch.kernel).collect()
}

/// An error unless everything has ended, and nothing ran before it could.
fn check(submission: &SubmissionProfile) -> Times {
    let all = submission.times.unwrap();
    assert!(submission.submitted <= all.start && all.start <= all.end, "{submission:?}");
    for DispatchProfile { times, .. } in &submission.dispatches {
        let times = times.unwrap();
        assert!(all.start <= times.start && times.start <= times.end && times.end <= all.end);
    }
    all
}

#[test]
fn each_kernel_has_its_time_between_submission_and_wait() {
    for setup in profiled(100) {
        let before = timeline::now();
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        recorder.fill(Place::Binding(0, 0), &[1], 5000).unwrap();
        for add in 0..3 {
            setup.step(recorder.barrier(), (&value).into(), add);
        }
        let commands = recorder.finish().unwrap();
        let target = setup.buffer(&[0; 5000]);
        let line = Semaphore::new(0);
        for replay in 0..10 {
            setup.queue.execute(&commands, &[(target.clone(), 0)], &[], &[(&line, replay + 1)]).unwrap();
        }
        line.wait(10, LONG).unwrap();
        let after = timeline::now();
        let expected = (0..30u64).fold(1u64, |value, index| value.wrapping_mul(3).wrapping_add(index % 3));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
        assert_eq!(setup.read(&target), [1; 5000]);
        let profile = take(&setup);
        assert_eq!((profile.submissions.len(), profile.lost), (10, 0));
        let mut last = before;
        for (index, submission) in profile.submissions.iter().enumerate() {
            assert_eq!((submission.queue, submission.number), (setup.queue.number(), index as u64 + 1));
            assert_eq!(kernels(submission), ["hal_fill", "step", "step", "step"]);
            let times = check(submission);
            assert!(last <= times.start && times.end <= after, "{last} {times:?} {after}");
            last = times.end;
            // A barrier separates each from those before it.
            let parts: Vec<Times> = submission.dispatches.iter().map(|one| one.times.unwrap()).collect();
            assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{parts:?}");
            let (fill, step) = (&submission.dispatches[0], &submission.dispatches[1]);
            assert_eq!((fill.grid, fill.workgroup), (Some([512, 1, 1]), [256, 1, 1]));
            assert_eq!((step.grid, step.workgroup), (Some([1, 1, 1]), [1, 1, 1]));
        }
        // What was taken is not there again.
        assert_eq!(take(&setup), Profile::default());
    }
}

#[test]
fn a_kernel_that_is_held_takes_that_long() {
    for setup in profiled(10) {
        let gate = setup.device.allocate(MemoryKind::Host, 4).unwrap();
        gate.write(0, &[0; 4]).unwrap();
        let mut recorder = setup.record();
        let hold = setup.code.kernel("hold").unwrap();
        // SAFETY: the kernel reads the gate.
        unsafe { recorder.dispatch(&hold, Grid::linear(1, 1), &[(&gate).into()]) }.unwrap();
        let commands = recorder.finish().unwrap();
        let done = Semaphore::new(0);
        setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
        // Nothing has ended.
        assert_eq!(take(&setup), Profile::default());
        std::thread::sleep(std::time::Duration::from_millis(30));
        let open = timeline::now();
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        done.wait(1, LONG).unwrap();
        let profile = take(&setup);
        check(&profile.submissions[0]);
        let times = profile.submissions[0].dispatches[0].times.unwrap();
        assert!(times.start < open && open < times.end && times.end <= timeline::now(), "{open} {times:?}");
    }
}

#[test]
fn work_with_a_profile_has_the_same_results() {
    let mut options = Options::default();
    (options.profile, options.packets) = (1000, 64);
    for setup in setups_with(&options) {
        let counts = setup.buffer(&[1u32, 1, 1].map(u32::to_le_bytes).concat());
        let none = setup.buffer(&[1u32, 0, 1].map(u32::to_le_bytes).concat());
        let value = setup.buffer(&1u64.to_le_bytes());
        let step = setup.code.kernel("step").unwrap();
        let mut recorder = setup.record();
        // More packets than the ring has.
        for add in 0..40u64 {
            let add = add.to_le_bytes();
            let args = [(&value).into(), hal::Arg::Bytes(&add)];
            for counts in [&counts, &none] {
                // SAFETY: the kernel changes one number.
                unsafe { recorder.barrier().dispatch_indirect(&step, [1; 3], 0, counts.into(), &args) }
                    .unwrap();
            }
        }
        let commands = recorder.finish().unwrap();
        let done = Semaphore::new(0);
        let other = setup.device.queue(Affinity(2)).unwrap();
        setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
        other.execute(&commands, &[], &[(&done, 1)], &[(&done, 2)]).unwrap();
        setup.queue.barrier(&[(&done, 2)], &[(&done, 3)]).unwrap();
        done.wait(3, LONG).unwrap();
        let expected = (0..80u64).fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add % 40));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
        let mut submissions = take(&setup).submissions;
        submissions.sort_by_key(|submission| submission.times.unwrap().end);
        let all: Vec<Times> = submissions.iter().map(check).collect();
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "{all:?}");
        assert_eq!(submissions[1].queue, other.number());
        assert_eq!(submissions[2].dispatches, []);
        let one = &submissions[0];
        assert_eq!(kernels(one)[..4], ["hal_patch", "step", "hal_patch", "step"]);
        assert_eq!((one.dispatches.len(), one.dispatches[1].grid), (160, None));
    }
}

#[test]
fn kernels_have_counters_if_they_are_wanted() {
    let mut options = Options::default();
    (options.profile, options.counters) = (100, true);
    for (setup, target) in setups_with(&options).iter().zip(TARGETS) {
        let add = setup.code.kernel("add").unwrap();
        let values = setup.buffer(&[0; 4 * 1000]);
        let counts = setup.buffer(&[0u32, 1, 1].map(u32::to_le_bytes).concat());
        let mut recorder = setup.record();
        // They may run at the same time, and end in any order.
        for (workgroups, n) in [(1, 64), (3, 192), (2, 128)] {
            let args = [(&values).into(), hal::Arg::Bytes(&n_bytes(n)), hal::Arg::Bytes(&n_bytes(0))];
            // SAFETY: the kernel adds 0 to so many numbers.
            unsafe { recorder.dispatch(&add, Grid::linear(workgroups, 64), &args) }.unwrap();
        }
        let args = [(&values).into(), hal::Arg::Bytes(&n_bytes(64)), hal::Arg::Bytes(&n_bytes(0))];
        // SAFETY: as above; it does not run.
        unsafe { recorder.barrier().dispatch_indirect(&add, [64, 1, 1], 0, (&counts).into(), &args) }
            .unwrap();
        let commands = recorder.finish().unwrap();
        let line = Semaphore::new(0);
        for replay in 0..20 {
            setup.queue.execute(&commands, &[], &[], &[(&line, replay + 1)]).unwrap();
        }
        line.wait(20, LONG).unwrap();
        let profile = take(setup);
        assert_eq!(profile.submissions.len(), 20);
        for submission in &profile.submissions {
            check(submission);
            assert_eq!(kernels(submission), ["add", "add", "add", "hal_patch", "add"]);
            let counters = |index: usize| submission.dispatches[index].counters.as_deref();
            for (index, workgroups) in [1, 3, 2].into_iter().enumerate() {
                let found = counters(index).unwrap();
                assert_eq!((found.kernel.as_str(), found.grid), ("add", [64 * workgroups, 1, 1]));
                assert_eq!(found.workgroups, u64::from(workgroups));
                assert!(found.complete && found.target.starts_with(target), "{found:?}");
                let bytes = 4 * 64 * u64::from(workgroups);
                assert_eq!((found.global.read_bytes, found.global.written_bytes), (bytes, bytes));
                assert!(found.instructions.total() >= 5 * found.waves);
            }
            assert!(counters(3).is_some_and(|found| found.kernel == "hal_patch"));
            assert!(counters(4).is_none(), "it did not run");
        }
    }
    // Without the option there are none.
    for setup in profiled(10) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        setup.step(&mut recorder, (&value).into(), 1);
        let done = Semaphore::new(0);
        setup.queue.execute(&recorder.finish().unwrap(), &[], &[], &[(&done, 1)]).unwrap();
        done.wait(1, LONG).unwrap();
        assert_eq!(take(&setup).submissions[0].dispatches[0].counters, None);
    }
}

fn n_bytes(number: i32) -> [u8; 4] {
    number.to_le_bytes()
}

/// The HSA implementation keeps the counters of a queue only until there are too many.
#[test]
fn counters_are_taken_before_they_are_lost() {
    let mut options = Options::default();
    (options.profile, options.counters) = (1000, true);
    let setup = setups_with(&options).remove(0);
    let value = setup.buffer(&1u64.to_le_bytes());
    let mut recorder = setup.record();
    for add in 0..300 {
        setup.step(recorder.barrier(), (&value).into(), add);
    }
    let commands = recorder.finish().unwrap();
    let line = Semaphore::new(0);
    // Fewer submissions than those after which resources are released.
    for replay in 0..15 {
        setup.queue.execute(&commands, &[], &[], &[(&line, replay + 1)]).unwrap();
        line.wait((replay + 1).saturating_sub(1), LONG).unwrap();
    }
    line.wait(15, LONG).unwrap();
    let profile = take(&setup);
    let dispatches = profile.submissions.iter().flat_map(|submission| &submission.dispatches);
    assert_eq!(dispatches.clone().count(), 4500);
    assert!(dispatches.clone().all(|dispatch| dispatch.counters.is_some()));
}

#[test]
fn a_profile_keeps_the_latest_submissions_and_counts_the_others() {
    for setup in profiled(3) {
        let done = Semaphore::new(0);
        for value in 1..=200 {
            setup.queue.barrier(&[], &[(&done, value)]).unwrap();
        }
        done.wait(200, LONG).unwrap();
        let profile = take(&setup);
        assert_eq!(profile.lost, 197);
        let numbers: Vec<u64> = profile.submissions.iter().map(|submission| submission.number).collect();
        assert_eq!(numbers, [198, 199, 200]);
    }
    assert_eq!(setups()[0].device.profile(), None);
}

#[test]
fn what_a_fault_ended_has_no_times() {
    for setup in profiled(10) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        setup.step(&mut recorder, (&value).into(), 1);
        let before = recorder.finish().unwrap();
        let mut recorder = setup.record();
        setup.step(&mut recorder, (&value).into(), 1);
        let stray = setup.code.kernel("stray").unwrap();
        // SAFETY: the kernel writes outside its memory, which the virtual GPU refuses.
        unsafe { recorder.barrier().dispatch(&stray, Grid::linear(1, 1), &[(&value).into()]) }.unwrap();
        setup.step(recorder.barrier(), (&value).into(), 1);
        let faulty = recorder.finish().unwrap();
        let (fine, done) = (Semaphore::new(0), Semaphore::new(0));
        setup.queue.execute(&before, &[], &[], &[(&fine, 1)]).unwrap();
        setup.queue.execute(&faulty, &[], &[], &[(&done, 1)]).unwrap();
        assert!(matches!(done.wait(1, LONG), Err(Error::QueueLost { .. })));
        fine.wait(1, LONG).unwrap();
        let profile = take(&setup);
        check(&profile.submissions[0]);
        let faulted = &profile.submissions[1];
        let ended: Vec<bool> = faulted.dispatches.iter().map(|one| one.times.is_some()).collect();
        assert_eq!((faulted.times, ended), (None, vec![true, false, false]));
        assert_eq!(profile.submissions.len(), 2);
        // Other queues are still profiled.
        let free = setup.device.queue(Affinity(2)).unwrap();
        free.execute(&before, &[], &[], &[(&fine, 2)]).unwrap();
        fine.wait(2, LONG).unwrap();
        check(&take(&setup).submissions[0]);
    }
}

#[test]
fn the_program_of_the_timeline() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let file = hal::File::new(tempfile::tempfile().unwrap(), "the file");
    for setup in profiled(100) {
        let value = setup.buffer(&1u64.to_le_bytes());
        let mut recorder = setup.record();
        for add in 0..3 {
            setup.step(recorder.barrier(), (&value).into(), add);
        }
        let commands = recorder.finish().unwrap();
        let line = Semaphore::new(0);
        setup.queue.write((&value).into(), file.range(0, 8), &[], &[(&line, 1)]).unwrap();
        setup.queue.execute(&commands, &[], &[(&line, 1)], &[(&line, 2)]).unwrap();
        setup.queue.call(&[(&line, 2)], &[(&line, 3)], || Ok(())).unwrap();
        setup.queue.execute(&commands, &[], &[(&line, 3)], &[(&line, 4)]).unwrap();
        line.wait(4, LONG).unwrap();
        assert_eq!(take(&setup).submissions.len(), 2);
    }
}

#[test]
fn the_timeline_has_submissions_and_kernels_as_the_virtual_gpu_sees_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["profiles::the_program_of_the_timeline", "--exact"]);
    let output = child.env(CHILD, "1").env("FERROCM_TRACE", &path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let timeline = Timeline::read(&path);
    let is_hals = |slice: &&Slice| timeline.processes[&slice.track.0].contains("of hal");
    let (ours, others): (Vec<&Slice>, Vec<&Slice>) = timeline.named("step").into_iter().partition(is_hals);
    let devices = TARGETS.len();
    assert_eq!((ours.len(), others.len()), (6 * devices, 6 * devices));
    // Both were taken by the virtual GPU's own clock; the comparison with the host's costs microseconds.
    let mut shifts: Vec<u64> = Vec::new();
    for slice in &ours {
        assert_eq!((slice.text("work-items"), slice.text("workgroup size")), ("1x1x1", "1x1x1"));
        let nearest = others.iter().min_by_key(|other| slice.start.abs_diff(other.start)).unwrap();
        assert_eq!(slice.end - slice.start, nearest.end - nearest.start);
        shifts.push(slice.start.abs_diff(nearest.start));
    }
    shifts.dedup();
    // One shift for each device.
    assert!(shifts.len() <= devices, "{shifts:?}");
    let submissions = timeline.of("submission");
    assert_eq!(submissions.len(), 2 * devices);
    for submission in submissions {
        let submit =
            timeline.origin(submission, "hal").unwrap_or_else(|| panic!("no arrow to {submission:?}"));
        assert_eq!((submit.name.as_str(), submission.number("kernels")), ("submit", 3));
        assert!(timeline.is_of_host(submit) && submit.start <= submission.start);
        let inside = |slice: &&&Slice| submission.start <= slice.start && slice.end <= submission.end;
        assert_eq!(ours.iter().filter(inside).count(), 3);
    }
    assert_eq!((timeline.named("writing").len(), timeline.named("host call").len()), (devices, devices));
    assert_eq!(timeline.named("writing")[0].text("file"), "the file");
}
