//! Kernels that fault, and copies that fail.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hip_sys::hipError_t;

use super::*;

static STATUS: AtomicU32 = AtomicU32::new(u32::MAX);

unsafe extern "C" fn keep_status(_: hip_sys::hipStream_t, status: hipError_t, _: *mut c_void) {
    STATUS.store(status.0, Ordering::Release);
}

unsafe extern "C" fn must_not_run(_: *mut c_void) {
    panic!("a host function ran behind a fault");
}

#[test]
fn a_fault_fails_its_stream_and_no_other() {
    let hip = start();
    let module = hip.load(5);
    let (poke, empty) = (hip.function(module, "poke"), hip.function(module, "empty"));
    let stream = hip.stream(0);
    let other = hip.stream(0);
    let mut event = null_mut();
    assert_eq!(hip!(hip, hipEventCreate(&mut event)), OK);
    let device = hip.malloc(1 << 16);
    let illegal = E::hipErrorIllegalAddress;

    assert_eq!(hip.launch(poke, stream), OK);
    // Work submitted before the fault is noticed may or may not be accepted; none of it may hang.
    let _ = hip!(hip, hipEventRecord(event, stream));
    let _ = hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream));
    let _ = hip!(hip, hipStreamWaitEvent(other, event, 0));
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), illegal);
    assert!(hip.report(stream).contains("a fake fault on queue"));

    assert_eq!(hip!(hip, hipStreamQuery(stream)), illegal);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), illegal);
    assert_eq!(hip.launch(empty, stream), illegal);
    assert_eq!(hip!(hip, hipMemsetAsync(device, 0, 100, stream)), illegal);
    assert_eq!(hip!(hip, hipEventRecord(event, stream)), illegal);

    assert_eq!(hip.launch(empty, other), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(other)), OK);
    assert_eq!(hip.report(other), "");
    assert_eq!(hip.launch(empty, NULL), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK, "the failure has been reported");
    hip.free(device);
    for stream in [stream, other] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    let new = hip.stream(0);
    assert_eq!(hip.launch(empty, new), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(new)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(new)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

static GO: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn until_go(_: *mut c_void) {
    while !GO.load(Ordering::Acquire) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_default_stream_that_goes_on_after_a_fault_still_comes_after_what_it_was_to_wait_for() {
    let hip = start();
    let module = hip.load(5);
    let (stop, work) = (hip.function(module, "stop"), hip.function(module, "work"));
    let empty = hip.function(module, "empty");
    let feeder = hip.stream(1);
    let (mut gate, mut event) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipEventCreate(&mut gate)), OK);
    assert_eq!(hip!(hip, hipEventCreate(&mut event)), OK);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, feeder), OK);
    assert_eq!(hip!(hip, hipEventRecord(gate, feeder)), OK);
    // The fault comes when the wait behind it has been submitted.
    GO.store(false, Ordering::Release);
    assert_eq!(hip!(hip, hipLaunchHostFunc(NULL, Some(until_go), null_mut())), OK);
    assert_eq!(hip.launch(stop, NULL), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(NULL, gate, 0)), OK);
    GO.store(true, Ordering::Release);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipEventQuery(gate)), E::hipErrorNotReady);
    assert_eq!(hip.launch(empty, NULL), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, NULL)), OK);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(hip!(hip, hipEventQuery(event)), E::hipErrorNotReady);
    drop(hold);
    assert_eq!(hip!(hip, hipEventSynchronize(event)), OK);
    assert_eq!(hip!(hip, hipEventQuery(gate)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(feeder)), OK);
    for event in [gate, event] {
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn who_vouches_that_nothing_uses_it_releases_without_waiting() {
    let hip = start();
    let set = hip.table.ext.set_release_waits.unwrap();
    let (module, other) = (hip.load(5), hip.load(5));
    let work = hip.function(module, "work");
    let stream = hip.stream(1);
    let mut host = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut host, 4096, 0)), OK);
    let (device, mut locked) = (hip.malloc(4096), vec![0_u8; 4096]);
    assert_eq!(hip!(hip, hipHostRegister(locked.as_mut_ptr().cast(), 4096, 0)), OK);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    // SAFETY: nothing uses what is released.
    assert!(unsafe { set(false) });
    hip.free(device);
    assert_eq!(hip!(hip, hipHostFree(host)), OK);
    assert_eq!(hip!(hip, hipHostUnregister(locked.as_mut_ptr().cast())), OK);
    assert_eq!(hip!(hip, hipModuleUnload(other)), OK);
    // SAFETY: as above.
    assert!(!unsafe { set(true) });
    assert_eq!(hip!(hip, hipStreamQuery(stream)), E::hipErrorNotReady);
    drop(hold);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn an_event_behind_a_fault_completes_with_the_error() {
    let hip = start();
    let module = hip.load(5);
    let (stop, work) = (hip.function(module, "stop"), hip.function(module, "work"));
    let (stream, feeder) = (hip.stream(1), hip.stream(1));
    let (mut gate, mut event) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipEventCreate(&mut gate)), OK);
    assert_eq!(hip!(hip, hipEventCreate(&mut event)), OK);
    // The fault comes only after everything has been submitted.
    fake::HOLD.store(true, Ordering::Release);
    assert_eq!(hip.launch(work, feeder), OK);
    assert_eq!(hip!(hip, hipEventRecord(gate, feeder)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(stream, gate, 0)), OK);
    assert_eq!(hip.launch(stop, stream), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
    let device = hip.malloc(1 << 16);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream)), OK);
    assert_eq!(hip!(hip, hipStreamAddCallback(stream, Some(keep_status), null_mut(), 0)), OK);
    assert_eq!(hip!(hip, hipLaunchHostFunc(stream, Some(must_not_run), null_mut())), OK);
    fake::HOLD.store(false, Ordering::Release);
    assert_eq!(hip!(hip, hipEventSynchronize(event)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipEventQuery(event)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipEventQuery(gate)), OK, "the other stream's event is not affected");
    assert_eq!(hip!(hip, hipDeviceSynchronize()), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    for _ in 0..500 {
        if STATUS.load(Ordering::Acquire) != u32::MAX {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(STATUS.load(Ordering::Acquire), E::hipErrorLaunchFailure.0);
    hip.free(device);
    for stream in [stream, feeder] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    for event in [gate, event] {
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_failed_stream_has_ended_only_when_its_copies_have() {
    let hip = start();
    let module = hip.load(5);
    let (stop, work) = (hip.function(module, "stop"), hip.function(module, "work"));
    let (stream, feeder, after) = (hip.stream(1), hip.stream(1), hip.stream(1));
    let (mut gate, mut event) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipEventCreate(&mut gate)), OK);
    assert_eq!(hip!(hip, hipEventCreate(&mut event)), OK);
    let device = hip.malloc(8192);
    assert_eq!(hip!(hip, hipMemset(device, 0x11, 4096)), OK);
    assert_eq!(hip!(hip, hipMemset(device.wrapping_byte_add(4096), 0x22, 4096)), OK);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    // The fault comes only after everything has been submitted, and copies behind it take their time.
    fake::HOLD.store(true, Ordering::Release);
    fake::HOLD_COPIES.store(true, Ordering::Release);
    assert_eq!(hip.launch(work, feeder), OK);
    assert_eq!(hip!(hip, hipEventRecord(gate, feeder)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(stream, gate, 0)), OK);
    assert_eq!(hip.launch(stop, stream), OK);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream)), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(after, event, 0)), OK);
    assert_eq!(hip.launch(work, after), OK);
    fake::HOLD.store(false, Ordering::Release);
    while hip.report(stream).is_empty() {
        std::thread::yield_now();
    }
    // The copy still uses the memory, whichever call waits.
    let not_ready = E::hipErrorNotReady;
    for _ in 0..20 {
        assert_eq!(hip!(hip, hipStreamQuery(stream)), not_ready);
        assert_eq!(hip!(hip, hipEventQuery(event)), not_ready);
        assert_eq!(hip!(hip, hipStreamQuery(after)), not_ready);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    static RETURNED: AtomicU32 = AtomicU32::new(0);
    let (stream_number, event_number) = (stream as usize, event as usize);
    std::thread::scope(|scope| {
        let wait = |wait: fn(&Hip, usize) -> hipError_t, handle: usize| {
            let hip = &hip;
            scope.spawn(move || {
                let code = wait(hip, handle);
                RETURNED.fetch_add(1, Ordering::AcqRel);
                assert!(code == E::hipErrorLaunchFailure || code == OK, "{code:?}");
            });
        };
        wait(|hip, stream| hip!(hip, hipStreamSynchronize(stream as _)), stream_number);
        wait(|hip, event| hip!(hip, hipEventSynchronize(event as _)), event_number);
        wait(|hip, _| hip!(hip, hipDeviceSynchronize()), 0);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(RETURNED.load(Ordering::Acquire), 0, "nothing waits for the copy");
        fake::HOLD_COPIES.store(false, Ordering::Release);
    });
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipEventQuery(event)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipStreamSynchronize(after)), OK);
    let mut byte = 0u8;
    assert_eq!(hip!(hip, hipMemcpyDtoH((&raw mut byte).cast(), device, 1)), OK);
    assert_eq!(byte, 0x22, "the copy had ended");
    hip.free(device);
    for stream in [stream, feeder, after] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    for event in [gate, event] {
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn the_default_stream_recovers_once_a_synchronising_call_has_reported_the_error() {
    let hip = start();
    let module = hip.load(5);
    let (poke, empty) = (hip.function(module, "poke"), hip.function(module, "empty"));
    let device = hip.malloc(4096);
    let mut bytes = [1u8; 4096];
    for round in 0..3 {
        assert_eq!(hip.launch(poke, NULL), OK);
        // Every call that synchronises may be the one that reports.
        let reported = match round {
            0 => hip!(hip, hipStreamSynchronize(NULL)),
            1 => hip!(hip, hipDeviceSynchronize()),
            _ => hip!(hip, hipMemcpyDtoH(bytes.as_mut_ptr().cast(), device, bytes.len())),
        };
        assert_eq!(reported, E::hipErrorIllegalAddress, "round {round}");
        assert!(hip.report(NULL).contains("a fake fault on queue"));
        assert_eq!(hip.launch(empty, NULL), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
        assert_eq!(hip!(hip, hipMemcpyHtoD(device, bytes.as_ptr().cast(), bytes.len())), OK);
    }
    hip.free(device);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_copy_engine_that_fails_fails_the_stream() {
    let hip = start();
    let (device, stream) = (hip.malloc(1 << 16), hip.stream(0));
    fake::FAIL_COPIES.store(true, Ordering::Release);
    // The second one waits for the first.
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream)), OK);
    let _ = hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, stream));
    let ended = hip!(hip, hipStreamSynchronize(stream));
    fake::FAIL_COPIES.store(false, Ordering::Release);
    assert_eq!(ended, E::hipErrorLaunchFailure);
    assert!(hip.report(stream).contains("copy engine"));
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    hip.free(device);
}

#[test]
fn waits_for_signals_that_were_overwritten_end() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (stream, other) = (hip.stream(1), hip.stream(1));
    let mut event = null_mut();
    assert_eq!(hip!(hip, hipEventCreate(&mut event)), OK);
    fake::LOSE_SIGNALS.store(true, Ordering::Release);
    assert_eq!(hip.launch(empty, stream), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
    let waited = hip!(hip, hipStreamSynchronize(stream));
    fake::LOSE_SIGNALS.store(false, Ordering::Release);
    assert_eq!(waited, E::hipErrorLaunchFailure);
    assert!(hip.report(stream).contains("was overwritten"), "{}", hip.report(stream));
    assert_eq!(hip!(hip, hipEventSynchronize(event)), E::hipErrorLaunchFailure);
    assert_eq!(hip!(hip, hipStreamWaitEvent(other, event, 0)), OK);
    assert_eq!(hip.launch(empty, other), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(other)), OK);
    for stream in [stream, other] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn waits_for_packets_that_were_overwritten_end() {
    let hip = start();
    let module = hip.load(5);
    let (empty, work) = (hip.function(module, "empty"), hip.function(module, "work"));
    let stream = hip.stream(1);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    for _ in 0..3 {
        assert_eq!(hip.launch(empty, stream), OK);
    }
    // Releases the first kernel when the packets behind it, and the fence that the wait writes, are gone.
    let waited = std::thread::scope(|scope| {
        let (hip, number) = (&hip, stream as usize);
        let waits = scope.spawn(move || hip!(hip, hipStreamSynchronize(number as _)));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(fake::erase_packets() >= 3);
        drop(hold);
        waits.join().unwrap()
    });
    assert_eq!(waited, E::hipErrorLaunchFailure);
    assert!(hip.report(stream).contains("was overwritten"), "{}", hip.report(stream));
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

static SLOW_CALLS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn slow(_: *mut c_void) {
    // Several checks of the health of all streams.
    std::thread::sleep(std::time::Duration::from_millis(400));
    SLOW_CALLS.fetch_add(1, Ordering::AcqRel);
}

/// Waits for the host, for another stream or for a copy end normally.
#[test]
fn a_wait_that_something_still_ends_is_no_failure() {
    let hip = start();
    let module = hip.load(5);
    let (empty, work) = (hip.function(module, "empty"), hip.function(module, "work"));
    let (first, second) = (hip.stream(1), hip.stream(1));
    let device = hip.malloc(1 << 16);
    let mut event = null_mut();
    assert_eq!(hip!(hip, hipEventCreate(&mut event)), OK);
    SLOW_CALLS.store(0, Ordering::Release);
    for _ in 0..2 {
        assert_eq!(hip.launch(empty, first), OK);
        assert_eq!(hip!(hip, hipLaunchHostFunc(first, Some(slow), null_mut())), OK);
        assert_eq!(hip!(hip, hipEventRecord(event, first)), OK);
        assert_eq!(hip!(hip, hipStreamWaitEvent(second, event, 0)), OK);
        assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, second)), OK);
        assert_eq!(hip!(hip, hipLaunchHostFunc(second, Some(slow), null_mut())), OK);
        assert_eq!(hip!(hip, hipEventRecord(event, second)), OK);
        assert_eq!(hip!(hip, hipStreamWaitEvent(first, event, 0)), OK);
    }
    assert_eq!(hip!(hip, hipEventSynchronize(event)), OK);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    assert_eq!(SLOW_CALLS.load(Ordering::Acquire), 4);
    // A kernel, and a copy, that take their time.
    let hold = Hold::new();
    fake::HOLD_COPIES.store(true, Ordering::Release);
    assert_eq!(hip.launch(work, first), OK);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(device, device.wrapping_byte_add(4096), 4096, first)), OK);
    std::thread::scope(|scope| {
        let (hip, number) = (&hip, first as usize);
        let waits = scope.spawn(move || hip!(hip, hipStreamSynchronize(number as _)));
        std::thread::sleep(std::time::Duration::from_millis(400));
        drop(hold);
        std::thread::sleep(std::time::Duration::from_millis(400));
        fake::HOLD_COPIES.store(false, Ordering::Release);
        assert_eq!(waits.join().unwrap(), OK);
    });
    hip.free(device);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}
