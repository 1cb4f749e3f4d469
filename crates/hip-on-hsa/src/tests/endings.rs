//! What must have ended when a stream has failed, and what happens to calls that are refused meanwhile.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::Instant;

use hip_sys::{hipMemPool_t, hipMemPoolAttr};

use super::*;
use crate::devices::stream::resolve;
use crate::runtime::active;

/// Packets of the fake's queues.
const CAPACITY: usize = 64;
/// Seconds that a test waits at most.
const LIMIT: u64 = 20;

/// Sets a switch of the fake while it lives.
struct Switch(&'static AtomicBool);

impl Switch {
    fn on(switch: &'static AtomicBool) -> Self {
        switch.store(true, Ordering::Release);
        Self(switch)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Fails a stream from outside, as a bad call from device code does. Returns once its queue has stopped.
fn fail(stream: usize) {
    resolve(active().unwrap(), stream as _).unwrap().fail(E::hipErrorLaunchFailure, "a failure from outside");
}

fn synchronize(hip: &Hip, stream: hipStream_t) -> E {
    let stream = stream as usize;
    within(hip, LIMIT, move |hip| hip!(hip, hipStreamSynchronize(stream as _)))
}

fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

fn until(mut reached: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(LIMIT);
    while !reached() {
        assert!(Instant::now() < end, "it never happens");
        std::thread::yield_now();
    }
}

fn destroy(hip: &Hip, streams: &[hipStream_t]) {
    for &stream in streams {
        let stream = stream as usize;
        assert_eq!(within(hip, LIMIT, move |hip| hip!(hip, hipStreamDestroy(stream as _))), OK);
    }
}

/// A stream with a kernel that runs, one that will trap, and enough packets to leave `free` places in its
/// queue.
fn nearly_full(hip: &Hip, module: hipModule_t, free: usize) -> hipStream_t {
    let stream = hip.stream(1);
    assert_eq!(hip.launch(hip.function(module, "work"), stream), OK);
    assert_eq!(hip.launch(hip.function(module, "stop"), stream), OK);
    let empty = hip.function(module, "empty");
    for _ in 0..CAPACITY - 2 - free {
        assert_eq!(hip.launch(empty, stream), OK);
    }
    stream
}

/// Launches more kernels than a queue holds; returns whether all were taken.
fn overfill(hip: &Hip, kernel: hipFunction_t, stream: hipStream_t) -> Receiver<bool> {
    let (kernel, stream) = (kernel as usize, stream as usize);
    begin(hip, move |hip| (0..2 * CAPACITY).all(|_| hip.launch(kernel as _, stream as _) == OK))
}

unsafe extern "C" fn count(_: hipStream_t, _: E, data: *mut c_void) {
    // SAFETY: the tests pass a counter that stays.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::AcqRel);
}

#[test]
fn a_callback_that_was_refused_never_runs_and_the_others_do_once() {
    let hip = start();
    let module = hip.load(5);
    for free in 0..4 {
        let hold = Hold::new();
        let stream = nearly_full(&hip, module, free);
        let runs: &'static [AtomicU32; 8] = Box::leak(Box::default());
        let number = stream as usize;
        let added = begin(&hip, move |hip| {
            let add = |counter: &'static AtomicU32| {
                let data = (&raw const *counter).cast_mut().cast();
                hip!(hip, hipStreamAddCallback(number as _, Some(count), data, 0))
            };
            runs.iter().position(|counter| add(counter) != OK).expect("the queue has no room for all")
        });
        std::thread::sleep(Duration::from_millis(100));
        drop(hold);
        let taken = added.recv_timeout(Duration::from_secs(LIMIT)).unwrap();
        assert_eq!(synchronize(&hip, stream), E::hipErrorLaunchFailure);
        until(|| runs[..taken].iter().all(|counter| counter.load(Ordering::Acquire) == 1));
        pause();
        for (index, counter) in runs.iter().enumerate() {
            assert_eq!(
                counter.load(Ordering::Acquire),
                u32::from(index < taken),
                "callback {index}, {free} free"
            );
        }
        destroy(&hip, &[stream]);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_failed_stream_has_ended_only_when_its_kernels_have() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let (stream, event) = (hip.stream(1), hip.event());
    let (hold, aborted) = (Hold::new(), Switch::on(&fake::HOLD_ABORTED));
    let held = fake::HELD.load(Ordering::Acquire);
    assert_eq!(hip.launch(work, stream), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    until(|| fake::HELD.load(Ordering::Acquire) != held);
    let number = stream as usize;
    let failed = begin(&hip, move |_| fail(number));
    let waited = begin(&hip, move |hip| hip!(hip, hipStreamSynchronize(number as _)));
    until(|| !hip.report(stream).is_empty());
    for _ in 0..20 {
        assert_eq!(hip!(hip, hipStreamQuery(stream)), E::hipErrorNotReady);
        assert_eq!(hip!(hip, hipEventQuery(event)), E::hipErrorNotReady);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(waited.try_recv().is_err() && failed.try_recv().is_err(), "the kernel still runs");
    drop(aborted);
    assert_eq!(waited.recv_timeout(Duration::from_secs(LIMIT)), Ok(E::hipErrorLaunchFailure));
    assert_eq!(failed.recv_timeout(Duration::from_secs(LIMIT)), Ok(()));
    assert_eq!(hip!(hip, hipEventQuery(event)), E::hipErrorLaunchFailure);
    drop(hold);
    pause();
    assert!(fake::take_dispatched().is_empty(), "nothing continues afterwards");
    destroy(&hip, &[stream]);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn what_is_behind_a_failed_copy_does_not_run() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (device, stream) = (hip.malloc(1 << 16), hip.stream(1));
    let hold = Switch::on(&fake::HOLD_COPIES);
    let fails = Switch::on(&fake::FAIL_COPIES);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    drop(hold);
    assert_eq!(synchronize(&hip, stream), E::hipErrorLaunchFailure);
    drop(fails);
    pause();
    assert!(fake::take_dispatched().is_empty(), "the kernel reads what was not copied");
    destroy(&hip, &[stream]);
    hip.free(device);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

unsafe extern "C" fn rest(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(200));
}

#[test]
fn a_failure_from_outside_leaves_no_stream_waiting() {
    a_failure_from_outside(false);
}

#[test]
fn nor_does_it_where_the_system_refuses_a_thread() {
    a_failure_from_outside(true);
}

fn a_failure_from_outside(refuse_threads: bool) {
    let hip = start();
    let _refuse = refuse_threads.then(|| Switch::on(&REFUSE_THREADS));
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let (failing, healthy, event) = (hip.stream(1), hip.stream(1), hip.event());
    let hold = Hold::new();
    assert_eq!(hip.launch(work, failing), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, failing)), OK);
    // It reaches its wait long after the event has ended, one way or the other.
    assert_eq!(hip.launch(work, healthy), OK);
    assert_eq!(hip!(hip, hipLaunchHostFunc(healthy, Some(rest), null_mut())), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(healthy, event, 0)), OK);
    fail(failing as usize);
    drop(hold);
    assert_eq!(synchronize(&hip, healthy), OK);
    assert_eq!(synchronize(&hip, failing), E::hipErrorLaunchFailure);
    destroy(&hip, &[failing, healthy]);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_full_queue_does_not_keep_the_host_from_looking_at_values() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let stream = hip.stream(1);
    let mut memory = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut memory, 4096, 0)), OK);
    // SAFETY: the word is in the memory, which is freed below; all access it atomically.
    let word = unsafe { AtomicU32::from_ptr(memory.cast()) };
    let equal = hip_sys::hipStreamWaitValueEq;
    assert_eq!(hip!(hip, hipStreamWaitValue32(stream, memory, 1, equal, u32::MAX)), OK);
    let launched = overfill(&hip, empty, stream);
    // Time to fill the queue, and for the host to poll for long.
    std::thread::sleep(Duration::from_millis(200));
    assert!(launched.try_recv().is_err(), "the queue is full");
    word.store(1, Ordering::Release);
    assert_eq!(launched.recv_timeout(Duration::from_secs(LIMIT)), Ok(true));
    assert_eq!(synchronize(&hip, stream), OK);
    destroy(&hip, &[stream]);
    assert_eq!(hip!(hip, hipHostFree(memory)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_fill_that_fails_fails_the_stream_though_its_queue_is_full() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let (device, size) = (hip.malloc(4 << 20), 4 << 20);
    for full in [false, true] {
        let stream = hip.stream(1);
        let hold = Hold::new();
        assert_eq!(hip.launch(work, stream), OK);
        let fails = Switch::on(&fake::FAIL_FILLS);
        // Larger than the limit for copies.
        assert_eq!(hip!(hip, hipMemsetAsync(device, 0x5a, size, stream)), OK);
        let launched = full.then(|| overfill(&hip, empty, stream));
        std::thread::sleep(Duration::from_millis(100));
        drop(hold);
        if let Some(launched) = launched {
            assert_eq!(launched.recv_timeout(Duration::from_secs(LIMIT)), Ok(false), "the stream fails");
        }
        assert_ne!(synchronize(&hip, stream), OK);
        assert!(hip.report(stream).contains("a fill of"), "{}", hip.report(stream));
        drop(fails);
        destroy(&hip, &[stream]);
    }
    hip.free(device);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_copy_that_was_refused_is_not_under_way() {
    let hip = start();
    let module = hip.load(5);
    let device = hip.malloc(1 << 16) as usize;
    for free in 0..5 {
        let (hold, copies) = (Hold::new(), Switch::on(&fake::HOLD_COPIES));
        let stream = nearly_full(&hip, module, free);
        let number = stream as usize;
        let copied = begin(&hip, move |hip| {
            let copy = || hip!(hip, hipMemcpyDtoDAsync(device as _, (device + 4096) as _, 4096, number as _));
            let mut taken = 0;
            while copy() == OK {
                taken += 1;
            }
            taken
        });
        std::thread::sleep(Duration::from_millis(100));
        drop(hold);
        let taken = copied.recv_timeout(Duration::from_secs(LIMIT)).unwrap();
        assert_eq!(fake::COPIES.load(Ordering::Acquire), taken, "with {free} free places");
        drop(copies);
        assert_eq!(synchronize(&hip, stream), E::hipErrorLaunchFailure);
        assert_eq!(fake::COPIES.load(Ordering::Acquire), 0);
        destroy(&hip, &[stream]);
    }
    hip.free(device as _);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

/// Copies four rows of 16 bytes within the device's memory.
fn copy_rows(hip: &Hip, device: *mut c_void, stream: hipStream_t) -> E {
    let kind = hip_sys::hipMemcpyKind::hipMemcpyDeviceToDevice;
    let source = device.wrapping_byte_add(4096);
    hip!(hip, hipMemcpy2DAsync(device, 64, source, 64, 16, 4, kind, stream))
}

#[test]
fn copies_beside_a_failed_one_end_before_their_stream_has() {
    let hip = start();
    let (device, stream) = (hip.malloc(1 << 16), hip.stream(1));
    let (copies, _fails) = (Switch::on(&fake::HOLD_COPIES), Switch::on(&fake::FAIL_ONE_COPY));
    assert_eq!(copy_rows(&hip, device, stream), OK);
    let number = stream as usize;
    let waited = begin(&hip, move |hip| hip!(hip, hipStreamSynchronize(number as _)));
    std::thread::sleep(Duration::from_millis(400));
    assert!(waited.try_recv().is_err(), "three rows are still being copied");
    assert_eq!(fake::COPIES.load(Ordering::Acquire), 3);
    drop(copies);
    assert_eq!(waited.recv_timeout(Duration::from_secs(LIMIT)), Ok(E::hipErrorLaunchFailure));
    assert_eq!(fake::COPIES.load(Ordering::Acquire), 0);
    destroy(&hip, &[stream]);
    hip.free(device);
}

#[test]
fn rows_that_hsa_refuses_are_an_error_and_nothing_is_left() {
    let hip = start();
    let device = hip.malloc(1 << 16);
    for refused in 0..4 {
        let stream = hip.stream(1);
        fake::REFUSE_COPY_AFTER.store(refused, Ordering::Release);
        assert_ne!(copy_rows(&hip, device, stream), OK);
        // Accepted rows cannot be cancelled, so the stream has failed.
        let expected = if refused == 0 { OK } else { E::hipErrorLaunchFailure };
        assert_eq!(synchronize(&hip, stream), expected, "row {refused}");
        assert_eq!(fake::COPIES.load(Ordering::Acquire), 0);
        destroy(&hip, &[stream]);
    }
    hip.free(device);
}

#[test]
fn copies_of_a_failed_stream_wait_for_what_they_were_ordered_behind() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let (reader, writer, event) = (hip.stream(1), hip.stream(1), hip.event());
    let device = hip.malloc(1 << 16);
    assert_eq!(hip!(hip, hipMemset(device, 0x11, 4096)), OK);
    assert_eq!(hip!(hip, hipMemset(device.wrapping_byte_add(4096), 0x22, 4096)), OK);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, reader), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, reader)), OK);
    assert_eq!(hip.launch(work, writer), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(writer, event, 0)), OK);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, writer)), OK);
    fail(writer as usize);
    let number = writer as usize;
    let waited = begin(&hip, move |hip| hip!(hip, hipStreamSynchronize(number as _)));
    std::thread::sleep(Duration::from_millis(300));
    assert!(waited.try_recv().is_err(), "the work before the copy still runs");
    // SAFETY: the fake's device memory is the host's; the word is accessed atomically.
    let first = unsafe { AtomicU64::from_ptr(device.cast()) };
    assert_eq!(first.load(Ordering::Acquire), 0x1111_1111_1111_1111, "the copy ran ahead");
    drop(hold);
    assert_eq!(waited.recv_timeout(Duration::from_secs(LIMIT)), Ok(E::hipErrorLaunchFailure));
    assert_eq!(synchronize(&hip, reader), OK);
    destroy(&hip, &[reader, writer]);
    hip.free(device);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_pool_keeps_what_a_failed_stream_freed_until_its_other_users_have_ended() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let (user, failing, event) = (hip.stream(1), hip.stream(1), hip.event());
    let mut pool: hipMemPool_t = null_mut();
    assert_eq!(hip!(hip, hipDeviceGetDefaultMemPool(&mut pool, 0)), OK);
    assert_eq!(hip!(hip, hipMemPoolTrimTo(pool, 0)), OK);
    let reserved = || {
        let mut bytes = 0u64;
        let which = hipMemPoolAttr::hipMemPoolAttrReservedMemCurrent;
        assert_eq!(hip!(hip, hipMemPoolGetAttribute(pool, which, (&raw mut bytes).cast())), OK);
        bytes
    };
    let before = reserved();
    let mut block = null_mut();
    assert_eq!(hip!(hip, hipMallocAsync(&mut block, 12_288, user)), OK);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, user), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, user)), OK);
    assert_eq!(hip.launch(work, failing), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(failing, event, 0)), OK);
    assert_eq!(hip!(hip, hipFreeAsync(block, failing)), OK);
    fail(failing as usize);
    for _ in 0..20 {
        assert_eq!(hip!(hip, hipMemPoolTrimTo(pool, 0)), OK);
        assert_eq!(reserved(), before + 12_288, "a kernel still uses the block");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(hold);
    assert_eq!(synchronize(&hip, user), OK);
    assert_eq!(synchronize(&hip, failing), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipMemPoolTrimTo(pool, 0)), OK);
    assert_eq!(reserved(), before);
    destroy(&hip, &[user, failing]);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn whoever_only_asks_learns_that_a_copy_has_failed() {
    let hip = start();
    let device = hip.malloc(1 << 16);
    let fails = Switch::on(&fake::FAIL_COPIES);
    for by_event in [false, true] {
        let (stream, event) = (hip.stream(1), hip.event());
        assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream)), OK);
        assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
        let mut code = E::hipErrorNotReady;
        until(|| {
            code = match by_event {
                true => hip!(hip, hipEventQuery(event)),
                false => hip!(hip, hipStreamQuery(stream)),
            };
            code != E::hipErrorNotReady
        });
        assert_eq!(code, E::hipErrorLaunchFailure);
        destroy(&hip, &[stream]);
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    drop(fails);
    hip.free(device);
}

#[test]
fn a_full_queue_behind_a_failed_copy_of_another_stream_empties() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (failing, stream, event) = (hip.stream(1), hip.stream(1), hip.event());
    let device = hip.malloc(1 << 16);
    let (copies, fails) = (Switch::on(&fake::HOLD_COPIES), Switch::on(&fake::FAIL_COPIES));
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, failing)), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, failing)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(stream, event, 0)), OK);
    let launched = overfill(&hip, empty, stream);
    std::thread::sleep(Duration::from_millis(100));
    assert!(launched.try_recv().is_err(), "the queue is full");
    drop(copies);
    assert_eq!(launched.recv_timeout(Duration::from_secs(LIMIT)), Ok(true));
    drop(fails);
    assert_eq!(synchronize(&hip, stream), OK);
    destroy(&hip, &[failing, stream]);
    hip.free(device);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn what_a_queue_uses_that_cannot_be_destroyed_stays() {
    let hip = start();
    let module = hip.load(5);
    let (empty, stream, event) = (hip.function(module, "empty"), hip.stream(1), hip.event());
    assert_eq!(hip.launch(empty, stream), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
    assert_eq!(synchronize(&hip, stream), OK);
    let before = fake::live();
    let keep = Switch::on(&fake::KEEP_QUEUES);
    destroy(&hip, &[stream]);
    assert_eq!(fake::live(), before, "nothing that the queue uses is freed");
    // The queue still exists, and reports that.
    assert_eq!(fake::fire(), 1);
    drop(keep);
    assert_eq!(fake::live(), before);
    assert_eq!(hip!(hip, hipEventQuery(event)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}
