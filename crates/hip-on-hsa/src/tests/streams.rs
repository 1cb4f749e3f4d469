//! Order within streams and among them, events, host functions.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hip_sys::hipError_t;

use super::*;

const NOT_READY: E = E::hipErrorNotReady;

#[test]
fn a_stream_is_busy_until_its_work_has_ended() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let stream = hip.stream(hip_sys::hipStreamNonBlocking);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), OK);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), NOT_READY);
    assert_eq!(hip!(hip, hipPeekAtLastError()), OK, "not ready is not a failure");
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), E::hipErrorContextIsDestroyed);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), E::hipErrorContextIsDestroyed);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
    let _ = hip!(hip, hipGetLastError());
}

#[test]
fn the_null_stream_and_blocking_streams_wait_for_each_other() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let blocking = hip.stream(0);
    let free = hip.stream(hip_sys::hipStreamNonBlocking);

    let hold = Hold::new();
    assert_eq!(hip.launch(work, blocking), OK);
    assert_eq!(hip.launch(empty, NULL), OK);
    assert_eq!(hip.launch(empty, free), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(free)), OK, "a non-blocking stream does not wait");
    sleep(Duration::from_millis(20));
    assert_eq!(fake::take_dispatched().len(), 1, "the null stream waits for the blocking stream");
    assert_eq!(hip!(hip, hipStreamQuery(NULL)), NOT_READY);
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    assert_eq!(fake::take_dispatched().len(), 2);

    let hold = Hold::new();
    assert_eq!(hip.launch(work, NULL), OK);
    assert_eq!(hip.launch(empty, blocking), OK);
    sleep(Duration::from_millis(20));
    assert_eq!(fake::take_dispatched().len(), 0, "the blocking stream waits for the null stream");
    drop(hold);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    let order: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.kernel).collect();
    assert_eq!(order, ["work", "empty"]);
    for stream in [blocking, free] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn each_thread_has_a_default_stream_of_its_own() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty") as usize;
    let own = 2 as hip_sys::hipStream_t;
    assert_eq!(hip.launch(empty as _, own), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(own)), OK);
    let table = &hip;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let own = 2 as hip_sys::hipStream_t;
            assert_eq!(table.launch(empty as _, own), OK);
            assert_eq!(hip!(table, hipStreamSynchronize(own)), OK);
        });
    });
    assert_eq!(hip!(hip, hipStreamDestroy(own)), E::hipErrorInvalidHandle);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn events_are_reached_in_order_and_order_other_streams() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let first = hip.stream(hip_sys::hipStreamNonBlocking);
    let second = hip.stream(hip_sys::hipStreamNonBlocking);
    let (start, stop) = (hip.event(), hip.event());
    assert_eq!(hip!(hip, hipEventQuery(start)), OK, "never recorded");
    let mut time = -1.0;
    assert_eq!(hip!(hip, hipEventElapsedTime(&mut time, start, stop)), E::hipErrorInvalidHandle);

    let hold = Hold::new();
    assert_eq!(hip!(hip, hipEventRecord(start, first)), OK);
    assert_eq!(hip.launch(work, first), OK);
    assert_eq!(hip!(hip, hipEventRecord(stop, first)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(second, stop, 0)), OK);
    assert_eq!(hip.launch(empty, second), OK);
    assert_eq!(hip!(hip, hipEventSynchronize(start)), OK);
    assert_eq!(hip!(hip, hipEventQuery(stop)), NOT_READY);
    assert_eq!(hip!(hip, hipEventElapsedTime(&mut time, start, stop)), NOT_READY);
    sleep(Duration::from_millis(20));
    assert!(fake::take_dispatched().is_empty());
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
    let order: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.kernel).collect();
    assert_eq!(order, ["work", "empty"]);
    assert_eq!(hip!(hip, hipEventElapsedTime(&mut time, start, stop)), OK);
    assert!(time >= 20.0, "{time} ms");
    // An event may be destroyed while others still wait for its record.
    assert_eq!(hip!(hip, hipEventRecord(stop, first)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(second, stop, 0)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(stop)), OK);
    assert_eq!(hip!(hip, hipEventQuery(stop)), E::hipErrorInvalidHandle);
    assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(start)), OK);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn events_without_times_and_bad_flags() {
    let hip = start();
    let mut event = null_mut();
    assert_eq!(hip!(hip, hipEventCreateWithFlags(&mut event, 0x10)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipEventCreateWithFlags(&mut event, hip_sys::hipEventDisableTiming)), OK);
    assert_eq!(hip!(hip, hipEventRecord(event, NULL)), OK);
    assert_eq!(hip!(hip, hipEventSynchronize(event)), OK);
    let mut time = 0.0;
    assert_eq!(hip!(hip, hipEventElapsedTime(&mut time, event, event)), E::hipErrorInvalidHandle);
    assert_eq!(hip!(hip, hipStreamWaitEvent(NULL, event, 9)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    let mut stream = null_mut();
    assert_eq!(hip!(hip, hipStreamCreateWithFlags(&mut stream, 4)), E::hipErrorInvalidValue);
}

#[test]
fn streams_keep_their_flags_and_priority() {
    let hip = start();
    let (mut least, mut greatest) = (0, 0);
    assert_eq!(hip!(hip, hipDeviceGetStreamPriorityRange(&mut least, &mut greatest)), OK);
    assert!(greatest < least);
    let mut stream = null_mut();
    assert_eq!(hip!(hip, hipStreamCreateWithPriority(&mut stream, 1, -99)), OK);
    let (mut flags, mut priority, mut device) = (0, 0, 9);
    assert_eq!(hip!(hip, hipStreamGetFlags(stream, &mut flags)), OK);
    assert_eq!(hip!(hip, hipStreamGetPriority(stream, &mut priority)), OK);
    assert_eq!(hip!(hip, hipStreamGetDevice(stream, &mut device)), OK);
    assert_eq!((flags, priority, device), (1, greatest, 0));
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

static ORDER: Mutex<Vec<u32>> = Mutex::new(Vec::new());

unsafe extern "C" fn note(data: *mut c_void) {
    ORDER.lock().unwrap().push(fake::take_dispatched().len() as u32);
    ORDER.lock().unwrap().push(data as usize as u32);
}

unsafe extern "C" fn note_status(stream: hip_sys::hipStream_t, status: hipError_t, data: *mut c_void) {
    assert!(!stream.is_null());
    ORDER.lock().unwrap().push(status.0 + data as usize as u32);
}

#[test]
fn host_functions_take_their_turn_and_later_work_waits_for_them() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let stream = hip.stream(0);
    ORDER.lock().unwrap().clear();
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    assert_eq!(hip!(hip, hipLaunchHostFunc(stream, Some(note), 10 as *mut c_void)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    assert_eq!(hip!(hip, hipLaunchHostFunc(stream, Some(note), 20 as *mut c_void)), OK);
    assert_eq!(hip!(hip, hipStreamAddCallback(stream, Some(note_status), 30 as *mut c_void, 0)), OK);
    assert_eq!(
        hip!(hip, hipStreamAddCallback(stream, Some(note_status), null_mut(), 1)),
        E::hipErrorInvalidValue
    );
    sleep(Duration::from_millis(10));
    assert!(ORDER.lock().unwrap().is_empty());
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(*ORDER.lock().unwrap(), [1, 10, 2, 20, 30]);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_stream_ordered_free_of_plain_memory_happens_when_the_stream_gets_there() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let stream = hip.stream(hip_sys::hipStreamNonBlocking);
    let memory = hip.malloc(1 << 16);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    assert_eq!(hip!(hip, hipFreeAsync(memory, stream)), OK);
    let before = fake::live().0;
    assert_eq!(
        hip!(hip, hipFreeAsync(memory, stream)),
        E::hipErrorInvalidValue,
        "it is gone for the program"
    );
    sleep(Duration::from_millis(20));
    assert_eq!(fake::live().0, before, "but not yet freed");
    drop(hold);
    // No wait for the stream is necessary.
    for _ in 0..500 {
        if fake::live().0 < before {
            break;
        }
        sleep(Duration::from_millis(2));
    }
    assert_eq!(fake::live().0, before - 1);
    assert_eq!(hip!(hip, hipFreeAsync(null_mut(), stream)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_copy_from_pageable_memory_has_read_it_on_return() {
    let hip = start();
    let module = hip.load(5);
    let work = hip.function(module, "work");
    let stream = hip.stream(hip_sys::hipStreamNonBlocking);
    let device = hip.malloc(1000);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, stream), OK);
    let mut source = vec![7u8; 1000];
    assert_eq!(hip!(hip, hipMemcpyHtoDAsync(device, source.as_ptr().cast(), 1000, stream)), OK);
    source.fill(9);
    drop(source);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), NOT_READY);
    drop(hold);
    let mut back = vec![0u8; 1000];
    assert_eq!(hip!(hip, hipMemcpyDtoHAsync(back.as_mut_ptr().cast(), device, 1000, stream)), OK);
    assert_eq!(back, [7; 1000], "a copy to pageable memory has written it on return");
    hip.free(device);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn many_threads_use_many_streams_at_once() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty") as usize;
    let launched = AtomicU32::new(0);
    let before = fake::live();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (hip, launched) = (&hip, &launched);
            scope.spawn(move || {
                for round in 0..10 {
                    let stream = hip.stream(round % 2);
                    let event = hip.event();
                    for _ in 0..10 {
                        assert_eq!(hip.launch(empty as _, stream), OK);
                        assert_eq!(hip!(hip, hipEventRecord(event, stream)), OK);
                        assert_eq!(hip.launch(empty as _, NULL), OK);
                        assert_eq!(hip!(hip, hipStreamWaitEvent(NULL, event, 0)), OK);
                        launched.fetch_add(2, Ordering::Relaxed);
                    }
                    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
                    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
                    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
                }
            });
        }
    });
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    assert_eq!(fake::take_dispatched().len() as u32, launched.load(Ordering::Relaxed));
    // The fake never frees queues: ring and structure of each remain; argument rings do not.
    assert!(fake::live().0 <= before.0 + 2 * 40 + 4, "{:?} {:?}", before, fake::live());
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn streams_can_be_kept_to_some_multiprocessors() {
    let hip = start();
    // The device has two, of two compute units each.
    for (words, found, units) in [
        (&[1u32][..], 1, Some(3)),
        (&[2, 7], 2, Some(12)),
        (&[u32::MAX], 3, Some(15)),
        // A mask without any of the device's restricts nothing.
        (&[4], 3, None),
        (&[0, 1], 3, None),
    ] {
        let (mut stream, mut mask) = (NULL, [0x1111u32; 3]);
        let count = words.len() as u32;
        fake::CU_MASKS.lock().unwrap().clear();
        assert_eq!(hip!(hip, hipExtStreamCreateWithCUMask(&mut stream, count, words.as_ptr())), OK);
        assert_eq!(hip!(hip, hipExtStreamGetCUMask(stream, 3, mask.as_mut_ptr())), OK);
        assert_eq!(mask, [found, 0x1111, 0x1111], "{words:?}");
        assert_eq!(hip!(hip, hipEventRecord(hip.event(), stream)), OK);
        let given = fake::CU_MASKS.lock().unwrap().pop();
        assert_eq!(given.map(|mask| mask[0]), units, "{words:?}");
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    let (mut stream, mut mask, invalid) = (NULL, 1u32, E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipExtStreamGetCUMask(NULL, 1, &mut mask)), OK);
    assert_eq!(mask, 3);
    assert_eq!(hip!(hip, hipExtStreamGetCUMask(NULL, 0, &mut mask)), invalid);
    assert_eq!(hip!(hip, hipExtStreamGetCUMask(NULL, 1, null_mut())), invalid);
    assert_eq!(hip!(hip, hipExtStreamCreateWithCUMask(&mut stream, 0, &mask)), invalid);
    assert_eq!(hip!(hip, hipExtStreamCreateWithCUMask(&mut stream, 1, null_mut())), invalid);
    let handle = E::hipErrorInvalidHandle;
    assert_eq!(hip!(hip, hipExtStreamCreateWithCUMask(null_mut(), 1, &mask)), handle);
}
