//! Waits for values and writes of values in stream order.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
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
    let mut local = 0u64;
    assert_eq!(hip!(hip, hipStreamWriteValue64(NULL, (&raw mut local).cast(), 1, 0)), invalid);
    let mut memory = null_mut();
    let wrong = hip!(hip, hipExtMallocWithFlags(&mut memory, 16, hip_sys::hipMallocSignalMemory));
    assert_eq!(wrong, invalid, "signal memory has 8 bytes");
    hip.free(device);
    hip.free(signal);
}

/// Parameters of a batch: a wait for a word of 32 bits, or a write of one.
fn word_of_32(is_write: bool, at: *mut c_void, value: u32, flags: u32) -> Params {
    use hip_sys::hipStreamBatchMemOpType as Kind;
    let mut params = Params::default();
    if is_write {
        params.writeValue.operation = Kind::hipStreamMemOpWriteValue32;
        params.writeValue.address = at;
        params.writeValue.__bindgen_anon_1.value = value;
        params.writeValue.flags = flags;
    } else {
        params.waitValue.operation = Kind::hipStreamMemOpWaitValue32;
        params.waitValue.address = at;
        params.waitValue.__bindgen_anon_1.value = value;
        params.waitValue.flags = flags;
    }
    params
}

type Params = hip_sys::hipStreamBatchMemOpParams;

/// Pinned memory as two atomic words.
fn words(hip: &Hip) -> (*mut c_void, &'static [AtomicU32]) {
    let mut pinned = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut pinned, 8, 0)), OK);
    // SAFETY: the memory has 8 bytes and is used by atomic accesses only, until it is freed.
    (pinned, unsafe { std::slice::from_raw_parts(pinned.cast(), 2) })
}

#[test]
fn a_batch_is_done_in_its_order() {
    let hip = start();
    let (first, second) = (hip.stream(1), hip.stream(1));
    let (pinned, seen) = words(&hip);
    seen.iter().for_each(|word| word.store(0, Ordering::Release));
    let other = pinned.wrapping_byte_add(4);
    // Each waits for what the other one writes before it.
    let mut one =
        [word_of_32(true, pinned, 1, 0), word_of_32(false, other, 2, EQUAL), word_of_32(true, pinned, 3, 0)];
    let mut two = [word_of_32(false, pinned, 1, EQUAL), word_of_32(true, other, 2, 0)];
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 3, one.as_mut_ptr(), 0)), OK);
    assert_eq!(hip!(hip, hipStreamBatchMemOp(second, 2, two.as_mut_ptr(), 0)), OK);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    }
    assert_eq!([&seen[0], &seen[1]].map(|word| word.load(Ordering::Acquire)), [3, 2]);

    let invalid = E::hipErrorInvalidValue;
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 0, one.as_mut_ptr(), 0)), invalid);
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 1, null_mut(), 0)), invalid);
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 1, one.as_mut_ptr(), 1)), invalid);
    let mut many = vec![one[0]; 257];
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 257, many.as_mut_ptr(), 0)), invalid);
    let mut barrier = one[0];
    barrier.operation = hip_sys::hipStreamBatchMemOpType::hipStreamMemOpBarrier;
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 1, &mut barrier, 0)), invalid);
    barrier.operation = hip_sys::hipStreamBatchMemOpType(99);
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 1, &mut barrier, 0)), invalid);
    // If one operation of a batch is invalid, none is done.
    let mut wrong = [word_of_32(true, pinned, 9, 0), word_of_32(true, other.wrapping_byte_add(1), 9, 0)];
    assert_eq!(hip!(hip, hipStreamBatchMemOp(first, 2, wrong.as_mut_ptr(), 0)), invalid);
    assert_eq!(hip!(hip, hipStreamSynchronize(first)), OK);
    assert_eq!(seen[0].load(Ordering::Acquire), 3);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipHostFree(pinned)), OK);
}

#[test]
fn waits_and_writes_are_captured_as_nodes_that_can_be_changed() {
    use hip_sys::{hipBatchMemOpNodeParams, hipGraphNodeType as NodeKind, hipStreamCaptureMode as Mode};
    let hip = start();
    let stream = hip.stream(1);
    let (pinned, seen) = words(&hip);
    let other = pinned.wrapping_byte_add(4);
    seen.iter().for_each(|word| word.store(0, Ordering::Release));
    hip.begin(stream, Mode::hipStreamCaptureModeGlobal);
    assert_eq!(hip!(hip, hipStreamWaitValue32(stream, pinned, 5, EQUAL, 0xf)), OK);
    assert_eq!(hip!(hip, hipStreamWriteValue32(stream, other, 6, 0)), OK);
    let graph = hip.end(stream);
    let nodes = hip.nodes(graph);
    assert_eq!(nodes.len(), 2);
    assert!(nodes.iter().all(|&node| hip.kind(node) == NodeKind::hipGraphNodeTypeBatchMemOp));
    let mut params = hipBatchMemOpNodeParams::default();
    assert_eq!(hip!(hip, hipGraphBatchMemOpNodeGetParams(nodes[1], &mut params)), OK);
    // SAFETY: the node's list has as many entries as it says, this one a write.
    let (count, write) = unsafe { (params.count, (*params.paramArray).writeValue) };
    // SAFETY: the value is one of 32 bits.
    assert_eq!((count, write.address, unsafe { write.__bindgen_anon_1.value }), (1, other, 6));

    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    std::thread::sleep(std::time::Duration::from_millis(10));
    assert_eq!(seen[1].load(Ordering::Acquire), 0);
    seen[0].store(0x35, Ordering::Release);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(seen[1].load(Ordering::Acquire), 6);

    // Replaces it with a node of two operations; the graph keeps its original ones.
    let mut list = [word_of_32(true, other, 7, 0), word_of_32(true, pinned, 8, 0)];
    let mut other_params = hipBatchMemOpNodeParams { count: 2, paramArray: list.as_mut_ptr(), ..params };
    assert_eq!(hip!(hip, hipGraphExecBatchMemOpNodeSetParams(exec, nodes[1], &other_params)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!([&seen[0], &seen[1]].map(|word| word.load(Ordering::Acquire)), [8, 7]);
    assert_eq!(hip!(hip, hipGraphBatchMemOpNodeGetParams(nodes[1], &mut params)), OK);
    assert_eq!(params.count, 1);
    assert_eq!(hip!(hip, hipGraphBatchMemOpNodeSetParams(nodes[1], &mut other_params)), OK);
    assert_eq!(hip!(hip, hipGraphBatchMemOpNodeGetParams(nodes[1], &mut params)), OK);
    assert_eq!(params.count, 2);

    let mut node = null_mut();
    assert_eq!(hip!(hip, hipGraphAddBatchMemOpNode(&mut node, graph, nodes.as_ptr(), 2, &other_params)), OK);
    assert_eq!(hip.dependencies(node), nodes);
    let invalid = E::hipErrorInvalidValue;
    other_params.flags = 1;
    assert_eq!(hip!(hip, hipGraphAddBatchMemOpNode(&mut node, graph, null(), 0, &other_params)), invalid);
    assert_eq!(hip!(hip, hipGraphAddEmptyNode(&mut node, graph, null(), 0)), OK);
    assert_eq!(hip!(hip, hipGraphBatchMemOpNodeGetParams(node, &mut params)), invalid);
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipHostFree(pinned)), OK);
}
