//! Waits for values and writes of values in a stream's order.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::*;

const EQUAL: u32 = hip_sys::hipStreamWaitValueEq;

impl Hip {
    /// Signal memory.
    fn signal(&self) -> *mut c_void {
        let mut memory = null_mut();
        assert_eq!(hip!(self, hipExtMallocWithFlags(&mut memory, 8, hip_sys::hipMallocSignalMemory)), OK);
        memory
    }
}

#[test]
fn a_stream_waits_for_what_another_one_writes() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let (first, second) = (hip.stream(1), hip.stream(1));
    let memory = hip.signal();
    assert_eq!(hip!(hip, hipStreamWaitValue64(first, memory, 7, EQUAL, u64::MAX)), OK);
    assert_eq!(hip.launch(empty, first), OK);
    assert_eq!(hip.launch(work, second), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
    assert_eq!(fake::take_dispatched().len(), 1, "the first stream waits");
    assert_eq!(hip!(hip, hipStreamWriteValue64(second, memory, 7, 0)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(first)), OK);
    assert_eq!(fake::take_dispatched().len(), 1);
    hip.free(memory);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn words_are_compared_under_their_mask_and_written_alone() {
    let hip = start();
    let stream = hip.stream(1);
    let mut pinned = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut pinned, 16, 0)), OK);
    // SAFETY: the memory is the host's, aligned, and used by atomic accesses only.
    let words = unsafe { [0, 4].map(|at| AtomicU32::from_ptr(pinned.wrapping_byte_add(at).cast())) };
    words[0].store(0x1_0000, Ordering::Release);
    words[1].store(3, Ordering::Release);
    let and = hip_sys::hipStreamWaitValueAnd;
    assert_eq!(hip!(hip, hipStreamWaitValue32(stream, pinned, 0x10, and, 0xffff)), OK);
    assert_eq!(hip!(hip, hipStreamWriteValue32(stream, pinned.wrapping_byte_add(4), 9, 0)), OK);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), E::hipErrorNotReady);
    assert_eq!(words[1].load(Ordering::Acquire), 3);
    words[0].store(0x30, Ordering::Release);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!([words[0].load(Ordering::Acquire), words[1].load(Ordering::Acquire)], [0x30, 9]);
    assert_eq!(hip!(hip, hipStreamWriteValue64(stream, pinned, u64::MAX - 5, 0)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    // SAFETY: as above.
    assert_eq!(unsafe { AtomicU64::from_ptr(pinned.cast()) }.load(Ordering::Acquire), u64::MAX - 5);
    assert_eq!(hip!(hip, hipHostFree(pinned)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn memory_that_the_host_does_not_reach_and_wrong_words_are_refused() {
    let hip = start();
    let invalid = E::hipErrorInvalidValue;
    let (device, signal) = (hip.malloc(64), hip.signal());
    let mut supported = 9;
    let which = hip_sys::hipDeviceAttribute_t::hipDeviceAttributeCanUseStreamWaitValue;
    assert_eq!(hip!(hip, hipDeviceGetAttribute(&mut supported, which, 0)), OK);
    assert_eq!(supported, 0, "the fake device's memory is not the host's");
    assert_eq!(hip!(hip, hipStreamWaitValue32(NULL, device, 0, EQUAL, !0)), E::hipErrorNotSupported);
    assert_eq!(hip!(hip, hipStreamWriteValue32(NULL, device, 0, 0)), E::hipErrorNotSupported);
    assert_eq!(hip!(hip, hipStreamWaitValue64(NULL, signal.wrapping_byte_add(4), 0, EQUAL, !0)), invalid);
    assert_eq!(hip!(hip, hipStreamWaitValue32(NULL, signal.wrapping_byte_add(2), 0, EQUAL, !0)), invalid);
    assert_eq!(hip!(hip, hipStreamWaitValue32(NULL, signal, 0, 4, !0)), invalid);
    assert_eq!(hip!(hip, hipStreamWriteValue32(NULL, signal, 0, 1)), invalid);
    let mut local = 0u64;
    assert_eq!(hip!(hip, hipStreamWriteValue64(NULL, (&raw mut local).cast(), 1, 0)), invalid);
    let mut memory = null_mut();
    let wrong = hip!(hip, hipExtMallocWithFlags(&mut memory, 16, hip_sys::hipMallocSignalMemory));
    assert_eq!(wrong, invalid, "signal memory has 8 bytes");
    hip.free(device);
    hip.free(signal);
}
