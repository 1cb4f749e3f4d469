//! Kernels that fault on a virtual device: the process survives and the error says what happened.
//!
//! On real hardware a fault may end the process, so these tests run only on virtual devices.

use std::sync::atomic::{AtomicBool, Ordering};

use test_skip::{Lack, skip};

use crate::support::{
    E, Event, Kernels, Memory, NULL, OK, Stream, arguments, hip, is_virtual, launch, report, turn,
};

#[test]
fn a_wild_write_is_an_illegal_address_and_names_the_kernel() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let (poke, empty) = (kernels.get("poke"), kernels.get("empty"));
    let (stream, other) = (Stream::new(0), Stream::new(0));
    let mut wild = 0x1000u64;
    assert_eq!(launch(poke, [1; 3], [1; 3], 0, stream.0, arguments![wild]), OK);
    assert_eq!(stream.wait(), E::hipErrorIllegalAddress);
    let text = stream.report();
    assert!(text.contains("poke"), "{text}");
    assert_eq!(launch(empty, [1; 3], [1; 3], 0, stream.0, &mut []), E::hipErrorIllegalAddress);
    assert_eq!(launch(empty, [1; 3], [1; 3], 0, other.0, &mut []), OK);
    assert_eq!(other.wait(), OK);
    let new = Stream::new(0);
    assert_eq!(launch(empty, [1; 3], [1; 3], 0, new.0, &mut []), OK);
    assert_eq!(new.wait(), OK);
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
}

#[test]
fn a_write_behind_an_allocation_and_into_freed_memory_is_caught() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let poke = kernels.get("poke");
    let memory = Memory::new(4096);
    let mut behind = memory.pointer as u64 + 4096;
    assert_eq!(launch(poke, [1; 3], [1; 3], 0, NULL, arguments![behind]), OK);
    assert_eq!(hip!(hipStreamSynchronize(NULL)), E::hipErrorIllegalAddress);
    assert!(report(NULL).contains("poke"), "{}", report(NULL));
    let mut freed = memory.pointer as u64;
    assert_eq!(
        launch(poke, [1; 3], [1; 3], 0, NULL, arguments![freed]),
        OK,
        "the default stream works again"
    );
    assert_eq!(hip!(hipStreamSynchronize(NULL)), OK);
    drop(memory);
    assert_eq!(launch(poke, [1; 3], [1; 3], 0, NULL, arguments![freed]), OK);
    assert_eq!(hip!(hipDeviceSynchronize()), E::hipErrorIllegalAddress);
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
}

static GATE: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn wait_for_gate(_: *mut std::ffi::c_void) {
    while !GATE.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn a_trap_is_a_launch_failure_and_what_waits_for_it_ends() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let (stop, empty) = (kernels.get("stop"), kernels.get("empty"));
    let (stream, other) = (Stream::new(1), Stream::new(1));
    let memory = Memory::new(1 << 16);
    let event = Event::new();
    // The kernel runs only after everything has been submitted.
    assert_eq!(hip!(hipLaunchHostFunc(stream.0, Some(wait_for_gate), std::ptr::null_mut())), OK);
    assert_eq!(launch(stop, [1; 3], [1; 3], 0, stream.0, &mut []), OK);
    event.record(&stream);
    assert_eq!(
        hip!(hipMemcpyDtoDAsync(memory.pointer.wrapping_byte_add(4096), memory.pointer, 4096, stream.0)),
        OK
    );
    assert_eq!(hip!(hipStreamWaitEvent(other.0, event.0, 0)), OK);
    assert_eq!(launch(empty, [1; 3], [1; 3], 0, other.0, &mut []), OK);
    GATE.store(true, Ordering::Release);
    assert_eq!(hip!(hipEventSynchronize(event.0)), E::hipErrorLaunchFailure);
    assert_eq!(other.wait(), OK);
    assert_eq!(stream.wait(), E::hipErrorLaunchFailure);
    assert!(!stream.report().is_empty());
}

#[test]
fn memory_of_pools_has_the_bounds_that_were_asked_for_also_when_it_is_used_again() {
    let _turn = turn();
    if !is_virtual() {
        skip(Lack::Device, "not a virtual device");
        return;
    }
    let kernels = Kernels::load();
    let poke = kernels.get("poke");
    let stream = Stream::new(0);
    let mut last = std::ptr::null_mut();
    for round in 0..2 {
        let mut memory = std::ptr::null_mut();
        assert_eq!(hip!(hipMallocAsync(&mut memory, 1000, stream.0)), OK);
        assert!(round == 0 || memory == last, "the block is reused");
        last = memory;
        let mut inside = memory as u64 + 996;
        assert_eq!(launch(poke, [1; 3], [1; 3], 0, stream.0, arguments![inside]), OK);
        assert_eq!(hip!(hipFreeAsync(memory, stream.0)), OK);
    }
    assert_eq!(stream.wait(), OK);
    let mut memory = std::ptr::null_mut();
    assert_eq!(hip!(hipMallocAsync(&mut memory, 1000, stream.0)), OK);
    let mut behind = memory as u64 + 1000;
    assert_eq!(launch(poke, [1; 3], [1; 3], 0, stream.0, arguments![behind]), OK);
    assert_eq!(stream.wait(), E::hipErrorIllegalAddress);
    let text = stream.report();
    assert!(text.contains("1000"), "{text}");
    assert_eq!(hip!(hipFree(memory)), OK);
}
