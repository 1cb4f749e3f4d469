//! Stream capture: what becomes a node, in which order, and which calls are not permitted meanwhile.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use hip_sys::{
    hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipGraphNodeType as Kind, hipMemcpyKind,
    hipStreamCaptureMode as Mode, hipStreamCaptureStatus as Status,
};

use super::*;

const GLOBAL: Mode = Mode::hipStreamCaptureModeGlobal;
const THREAD: Mode = Mode::hipStreamCaptureModeThreadLocal;
const RELAXED: Mode = Mode::hipStreamCaptureModeRelaxed;
const NON_BLOCKING: u32 = hip_sys::hipStreamNonBlocking;

impl Hip {
    pub(super) fn begin(&self, stream: hipStream_t, mode: Mode) {
        assert_eq!(hip!(self, hipStreamBeginCapture(stream, mode)), OK);
    }

    pub(super) fn end(&self, stream: hipStream_t) -> hipGraph_t {
        let mut graph = null_mut();
        assert_eq!(hip!(self, hipStreamEndCapture(stream, &mut graph)), OK);
        assert!(!graph.is_null());
        graph
    }

    /// Ends a capture that has to fail.
    fn end_with(&self, stream: hipStream_t, code: E) {
        let mut graph = 8 as hipGraph_t;
        assert_eq!(hip!(self, hipStreamEndCapture(stream, &mut graph)), code);
        assert!(graph.is_null());
        assert_eq!(self.status(stream), Status::hipStreamCaptureStatusNone);
    }

    pub(super) fn instantiate(&self, graph: hipGraph_t) -> hipGraphExec_t {
        let mut exec = null_mut();
        assert_eq!(hip!(self, hipGraphInstantiate(&mut exec, graph, null_mut(), null_mut(), 0)), OK);
        exec
    }

    fn status(&self, stream: hipStream_t) -> Status {
        let mut status = Status(77);
        assert_eq!(hip!(self, hipStreamIsCapturing(stream, &mut status)), OK);
        status
    }

    pub(super) fn nodes(&self, graph: hipGraph_t) -> Vec<hipGraphNode_t> {
        let mut count = 0;
        assert_eq!(hip!(self, hipGraphGetNodes(graph, null_mut(), &mut count)), OK);
        let mut nodes = vec![null_mut(); count];
        assert_eq!(hip!(self, hipGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count)), OK);
        nodes
    }

    pub(super) fn kind(&self, node: hipGraphNode_t) -> Kind {
        let mut kind = Kind(77);
        assert_eq!(hip!(self, hipGraphNodeGetType(node, &mut kind)), OK);
        kind
    }

    pub(super) fn dependencies(&self, node: hipGraphNode_t) -> Vec<hipGraphNode_t> {
        let mut nodes = [null_mut(); 16];
        let mut count = nodes.len();
        assert_eq!(hip!(self, hipGraphNodeGetDependencies(node, nodes.as_mut_ptr(), &mut count)), OK);
        nodes[..count].to_vec()
    }

    pub(super) fn end_all(&self, graph: hipGraph_t, exec: hipGraphExec_t, stream: hipStream_t) {
        assert_eq!(hip!(self, hipGraphExecDestroy(exec)), OK);
        assert_eq!(hip!(self, hipGraphDestroy(graph)), OK);
        assert_eq!(hip!(self, hipStreamDestroy(stream)), OK);
    }
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the test passes a counter that outlives the work.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::AcqRel);
}

#[test]
fn nothing_runs_while_it_is_captured_and_each_launch_runs_everything() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let stream = hip.stream(NON_BLOCKING);
    let (from, to) = (hip.malloc(64), hip.malloc(64));
    let calls = AtomicU32::new(0);
    let data = (&raw const calls).cast_mut().cast();
    hip.begin(stream, GLOBAL);
    assert_eq!(hip.status(stream), Status::hipStreamCaptureStatusActive);
    assert_eq!(hip.launch(work, stream), OK);
    assert_eq!(hip!(hip, hipMemsetD32Async(from, 7, 16, stream)), OK);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(to, from, 64, stream)), OK);
    assert_eq!(hip!(hip, hipLaunchHostFunc(stream, Some(count), data)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    let graph = hip.end(stream);
    assert_eq!(hip.status(stream), Status::hipStreamCaptureStatusNone);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert!(fake::take_dispatched().is_empty());
    assert_eq!(calls.load(Ordering::Acquire), 0);

    let nodes = hip.nodes(graph);
    let kinds: Vec<_> = nodes.iter().map(|&node| hip.kind(node)).collect();
    let expected = [
        Kind::hipGraphNodeTypeKernel,
        Kind::hipGraphNodeTypeMemset,
        Kind::hipGraphNodeTypeMemcpy,
        Kind::hipGraphNodeTypeHost,
        Kind::hipGraphNodeTypeKernel,
    ];
    assert_eq!(kinds, expected);
    for pair in nodes.windows(2) {
        assert_eq!(hip.dependencies(pair[1]), [pair[0]]);
    }

    let exec = hip.instantiate(graph);
    for launches in 1..=3 {
        assert_eq!(hip!(hip, hipMemset(to, 0, 64)), OK);
        assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        assert_eq!(calls.load(Ordering::Acquire), launches);
        let order: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.kernel).collect();
        assert_eq!(order, ["work", "empty"]);
        let mut out = [0u32; 16];
        assert_eq!(hip!(hip, hipMemcpyDtoH(out.as_mut_ptr().cast(), to, 64)), OK);
        assert_eq!(out, [7; 16]);
    }
    hip.end_all(graph, exec, stream);
    hip.free(from);
    hip.free(to);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn arguments_are_copied_when_a_kernel_is_captured() {
    let hip = start();
    let module = hip.load(5);
    let saxpy = hip.function(module, "saxpy");
    let stream = hip.stream(NON_BLOCKING);
    hip.begin(stream, GLOBAL);
    for scale in [1.5f32, 2.5] {
        let (mut a, mut x, mut y, mut n) = (scale, 0x1000u64, 0x2000u64, 5u32);
        let mut list: [*mut c_void; 4] =
            [(&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast(), (&raw mut n).cast()];
        let launched = hip!(
            hip,
            hipModuleLaunchKernel(saxpy, 3, 1, 1, 64, 1, 1, 16, stream, list.as_mut_ptr(), null_mut())
        );
        assert_eq!(launched, OK);
        (a, x, y, n) = (0.0, 0, 0, 0);
        let _ = (a, x, y, n);
    }
    let graph = hip.end(stream);
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK, "the executable graph no longer needs it");
    let mut places = Vec::new();
    for _ in 0..2 {
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        let seen = fake::take_dispatched();
        assert_eq!(seen.len(), 2);
        for (seen, scale) in seen.iter().zip([1.5f32, 2.5]) {
            assert_eq!(seen.arguments[..4], scale.to_le_bytes());
            assert_eq!(seen.arguments[8..16], 0x1000u64.to_le_bytes());
            assert_eq!(seen.arguments[16..24], 0x2000u64.to_le_bytes());
            assert_eq!(seen.arguments[24..28], 5u32.to_le_bytes());
            assert_eq!((seen.packet.grid, seen.packet.workgroup), ([192, 1, 1], [64, 1, 1]));
            assert_eq!((seen.packet.group, seen.packet.kernarg % 64), (16, 0));
            // Block counts and sizes are hidden arguments behind the explicit ones.
            assert_eq!(seen.arguments[32..36], 3u32.to_le_bytes());
            assert!(seen.ordered, "one kernel waits for the other");
        }
        places.push(seen.iter().map(|seen| seen.packet.kernarg).collect::<Vec<_>>());
    }
    assert_eq!(places[0], places[1], "arguments are laid out once");
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn events_carry_a_capture_to_other_streams_and_back() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (origin, side) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let (fork, join) = (hip.event(), hip.event());
    hip.begin(origin, GLOBAL);
    assert_eq!(hip.launch(empty, origin), OK);
    assert_eq!(hip!(hip, hipEventRecord(fork, origin)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(side, fork, 0)), OK);
    assert_eq!(hip.status(side), Status::hipStreamCaptureStatusActive);
    assert_eq!(hip.launch(empty, side), OK);
    assert_eq!(hip.launch(empty, origin), OK);
    assert_eq!(hip!(hip, hipEventRecord(join, side)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(origin, join, 0)), OK);
    assert_eq!(hip.launch(empty, origin), OK);
    let graph = hip.end(origin);
    assert_eq!(hip.status(side), Status::hipStreamCaptureStatusNone);

    let nodes = hip.nodes(graph);
    let after: Vec<_> = nodes.iter().map(|&node| hip.dependencies(node)).collect();
    let expected: [&[hipGraphNode_t]; 4] = [&[], &[nodes[0]], &[nodes[0]], &[nodes[2], nodes[1]]];
    for (after, expected) in after.iter().zip(expected) {
        assert_eq!(after, expected);
    }
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, side)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(side)), OK);
    let ordered: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.ordered).collect();
    assert_eq!(ordered, [true, true, false, true], "the two in the middle may run concurrently");
    assert_eq!(hip!(hip, hipEventDestroy(fork)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(join)), OK);
    assert_eq!(hip!(hip, hipStreamDestroy(side)), OK);
    hip.end_all(graph, exec, origin);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_capture_ends_where_it_began_with_all_its_work_joined() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (origin, side) = (hip.stream(0), hip.stream(0));
    let event = hip.event();
    let mut graph = null_mut();
    assert_eq!(hip!(hip, hipStreamEndCapture(origin, &mut graph)), E::hipErrorIllegalState);
    assert_eq!(hip!(hip, hipStreamBeginCapture(NULL, GLOBAL)), E::hipErrorStreamCaptureUnsupported);
    assert_eq!(hip!(hip, hipStreamBeginCapture(origin, Mode(3))), E::hipErrorInvalidValue);
    hip.begin(origin, GLOBAL);
    assert_eq!(hip!(hip, hipStreamBeginCapture(origin, GLOBAL)), E::hipErrorIllegalState);
    assert_eq!(hip!(hip, hipEventRecord(event, origin)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(side, event, 0)), OK);
    assert_eq!(hip!(hip, hipStreamEndCapture(side, &mut graph)), E::hipErrorStreamCaptureUnmatched);
    assert_eq!(hip.launch(empty, side), OK);
    hip.end_with(origin, E::hipErrorStreamCaptureUnjoined);
    assert_eq!(hip.status(side), Status::hipStreamCaptureStatusNone);

    // Only a relaxed capture may be ended by another thread.
    for (mode, code) in [(GLOBAL, E::hipErrorStreamCaptureWrongThread), (RELAXED, OK)] {
        hip.begin(origin, mode);
        let (table, stream) = (&hip, origin as usize);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut graph = null_mut();
                assert_eq!(hip!(table, hipStreamEndCapture(stream as _, &mut graph)), code);
                if code == OK {
                    assert_eq!(hip!(table, hipGraphDestroy(graph)), OK);
                }
            });
        });
        if code != OK {
            let graph = hip.end(origin);
            assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
        }
    }
    // A stream that ends also ends its capture.
    hip.begin(origin, GLOBAL);
    assert_eq!(hip!(hip, hipStreamDestroy(origin)), OK);
    hip.free(hip.malloc(16));
    assert_eq!(hip!(hip, hipStreamDestroy(side)), OK);
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn calls_that_cannot_be_captured_fail_and_invalidate_the_capture() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let stream = hip.stream(NON_BLOCKING);
    let memory = hip.malloc(64);
    let mut bytes = [0u8; 64];
    let host: *mut c_void = bytes.as_mut_ptr().cast();
    unsafe extern "C" fn never(_: hipStream_t, _: E, _: *mut c_void) {
        panic!("a callback that was refused");
    }
    let (mut out, mut other) = (null_mut(), null_mut());
    let calls: [(&str, &mut dyn FnMut() -> E); 9] = [
        ("hipMalloc", &mut || hip!(hip, hipMalloc(&mut out, 16))),
        ("hipFree", &mut || hip!(hip, hipFree(memory))),
        ("hipHostMalloc", &mut || hip!(hip, hipHostMalloc(&mut other, 16, 0))),
        ("hipStreamSynchronize", &mut || hip!(hip, hipStreamSynchronize(stream))),
        ("hipStreamQuery", &mut || hip!(hip, hipStreamQuery(stream))),
        ("hipDeviceSynchronize", &mut || hip!(hip, hipDeviceSynchronize())),
        ("hipMemcpy", &mut || hip!(hip, hipMemcpyDtoH(host, memory, 64))),
        ("hipMemset", &mut || hip!(hip, hipMemset(memory, 0, 64))),
        ("hipStreamAddCallback", &mut || hip!(hip, hipStreamAddCallback(stream, Some(never), null_mut(), 0))),
    ];
    for (name, call) in calls {
        hip.begin(stream, GLOBAL);
        assert_eq!(hip.launch(empty, stream), OK);
        assert_eq!(call(), E::hipErrorStreamCaptureUnsupported, "{name}");
        assert_eq!(hip.status(stream), Status::hipStreamCaptureStatusInvalidated, "{name}");
        assert_eq!(hip.launch(empty, stream), E::hipErrorStreamCaptureInvalidated, "{name}");
        hip.end_with(stream, E::hipErrorStreamCaptureInvalidated);
        assert_eq!(hip.launch(empty, stream), OK);
    }
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    hip.free(memory);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn which_captures_forbid_unsafe_calls_is_up_to_their_modes_and_the_threads() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let refused = E::hipErrorStreamCaptureUnsupported;
    let allocate = |thread_mode: Mode| {
        let (mut mode, mut out) = (thread_mode, null_mut());
        assert_eq!(hip!(hip, hipThreadExchangeStreamCaptureMode(&mut mode)), OK);
        let code = hip!(hip, hipMalloc(&mut out, 16));
        if code == OK {
            assert_eq!(hip!(hip, hipFree(out)), OK);
        }
        assert_eq!(hip!(hip, hipThreadExchangeStreamCaptureMode(&mut mode)), OK);
        assert_eq!(mode, thread_mode);
        code
    };
    // Capture's mode; then, for each mode of a thread, what the capturing and what another thread may do.
    let table = [
        (GLOBAL, [(refused, refused), (refused, OK), (OK, OK)]),
        (THREAD, [(refused, OK), (refused, OK), (OK, OK)]),
        (RELAXED, [(OK, OK), (OK, OK), (OK, OK)]),
    ];
    for (capture, expected) in table {
        for (thread, (same, other)) in [GLOBAL, THREAD, RELAXED].into_iter().zip(expected) {
            for (code, elsewhere) in [(same, false), (other, true)] {
                hip.begin(stream, capture);
                let seen = match elsewhere {
                    false => allocate(thread),
                    true => {
                        // SAFETY of sharing: the closure only calls the table, from one thread at a time.
                        struct Shared<'a, F>(&'a F);
                        // SAFETY: as above.
                        unsafe impl<F> Send for Shared<'_, F> {}
                        let shared = Shared(&allocate);
                        std::thread::scope(|scope| {
                            let run = move || {
                                let shared = shared;
                                (shared.0)(thread)
                            };
                            scope.spawn(run).join().unwrap()
                        })
                    }
                };
                assert_eq!(seen, code, "{capture:?} capture, {thread:?} thread, another thread: {elsewhere}");
                if code == OK {
                    let graph = hip.end(stream);
                    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
                } else {
                    hip.end_with(stream, E::hipErrorStreamCaptureInvalidated);
                }
            }
        }
    }
    let mut mode = Mode(9);
    assert_eq!(hip!(hip, hipThreadExchangeStreamCaptureMode(&mut mode)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn dependencies_on_the_outside_are_refused() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let (first, second) = (hip.stream(0), hip.stream(NON_BLOCKING));
    let event = hip.event();

    // On what another stream does outside of the capture.
    assert_eq!(hip!(hip, hipEventRecord(event, second)), OK);
    hip.begin(first, GLOBAL);
    assert_eq!(hip!(hip, hipStreamWaitEvent(first, event, 0)), E::hipErrorStreamCaptureIsolation);
    hip.end_with(first, E::hipErrorStreamCaptureInvalidated);

    // On another capture.
    hip.begin(first, GLOBAL);
    hip.begin(second, GLOBAL);
    assert_eq!(hip!(hip, hipEventRecord(event, first)), OK);
    assert_eq!(hip!(hip, hipStreamWaitEvent(second, event, 0)), E::hipErrorStreamCaptureMerge);
    hip.end_with(first, E::hipErrorStreamCaptureInvalidated);
    hip.end_with(second, E::hipErrorStreamCaptureInvalidated);

    // Of the null stream on a captured blocking stream; others do not affect it.
    for call in [0, 1, 2, 3] {
        hip.begin(first, RELAXED);
        let memory = NULL;
        let code = match call {
            0 => hip.launch(empty, NULL),
            1 => hip!(hip, hipStreamSynchronize(NULL)),
            2 => hip!(hip, hipEventRecord(event, NULL)),
            _ => hip!(hip, hipMemsetAsync(memory.cast(), 0, 0, NULL)),
        };
        assert_eq!(code, E::hipErrorStreamCaptureImplicit);
        let mut status = Status(0);
        let asked = hip!(hip, hipStreamIsCapturing(NULL, &mut status));
        assert_eq!(asked, E::hipErrorStreamCaptureImplicit);
        hip.end_with(first, E::hipErrorStreamCaptureInvalidated);
    }
    hip.begin(second, RELAXED);
    assert_eq!(hip.launch(empty, NULL), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(NULL)), OK);
    let graph = hip.end(second);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);

    // Of the host on an event of a capture; after the capture, the event has its previous state.
    assert_eq!(hip!(hip, hipEventRecord(event, second)), OK);
    let mut time = 0.0;
    for call in [0, 1, 2] {
        hip.begin(first, RELAXED);
        assert_eq!(hip!(hip, hipEventRecord(event, first)), OK);
        let code = match call {
            0 => hip!(hip, hipEventQuery(event)),
            1 => hip!(hip, hipEventSynchronize(event)),
            _ => hip!(hip, hipEventElapsedTime(&mut time, event, event)),
        };
        assert_eq!(code, E::hipErrorCapturedEvent);
        hip.end_with(first, E::hipErrorStreamCaptureInvalidated);
        assert_eq!(hip!(hip, hipEventSynchronize(event)), OK);
    }
    assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn external_events_are_nodes() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let (stream, other) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let (before, behind) = (hip.event(), hip.event());
    let external = hip_sys::hipEventWaitExternal;
    hip.begin(stream, GLOBAL);
    assert_eq!(hip!(hip, hipStreamWaitEvent(stream, before, external)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    let recorded = hip!(hip, hipEventRecordWithFlags(behind, stream, hip_sys::hipEventRecordExternal));
    assert_eq!(recorded, OK);
    let graph = hip.end(stream);
    let kinds: Vec<_> = hip.nodes(graph).iter().map(|&node| hip.kind(node)).collect();
    let expected =
        [Kind::hipGraphNodeTypeWaitEvent, Kind::hipGraphNodeTypeKernel, Kind::hipGraphNodeTypeEventRecord];
    assert_eq!(kinds, expected);
    let exec = hip.instantiate(graph);

    let hold = Hold::new();
    assert_eq!(hip.launch(work, other), OK);
    assert_eq!(hip!(hip, hipEventRecord(before, other)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipEventQuery(behind)), E::hipErrorNotReady);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(fake::take_dispatched().is_empty(), "the graph waits for the other stream");
    drop(hold);
    assert_eq!(hip!(hip, hipEventSynchronize(behind)), OK);
    let order: Vec<_> = fake::take_dispatched().into_iter().map(|seen| seen.kernel).collect();
    assert_eq!(order, ["work", "empty"]);
    for event in [before, behind] {
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    assert_eq!(hip!(hip, hipStreamDestroy(other)), OK);
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn the_state_of_a_capture_can_be_seen_and_changed() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let stream = hip.stream(NON_BLOCKING);
    let (mut status, mut id, mut other) = (Status(9), 0u64, 0u64);
    let (mut graph, mut list, mut count) = (null_mut(), null(), 9);
    let info =
        |status: &mut Status, id: &mut u64, graph: &mut hipGraph_t, list: &mut _, count: &mut usize| {
            hip!(hip, hipStreamGetCaptureInfo_v2(stream, status, id, graph, list, count))
        };
    assert_eq!(info(&mut status, &mut id, &mut graph, &mut list, &mut count), OK);
    assert_eq!((status, count), (Status::hipStreamCaptureStatusNone, 9), "written while captured only");

    let mut target = null_mut();
    assert_eq!(hip!(hip, hipGraphCreate(&mut target, 0)), OK);
    let mut first = null_mut();
    assert_eq!(hip!(hip, hipGraphAddEmptyNode(&mut first, target, null(), 0)), OK);
    let none = hip!(hip, hipStreamBeginCaptureToGraph(stream, target, &first, null(), 0, GLOBAL));
    assert_eq!(none, E::hipErrorInvalidValue, "an empty list");
    let data = hip_sys::hipGraphEdgeData::default();
    let edges = hip!(hip, hipStreamBeginCaptureToGraph(stream, target, &first, &data, 1, GLOBAL));
    assert_eq!(edges, E::hipErrorNotSupported);
    let begun = hip!(hip, hipStreamBeginCaptureToGraph(stream, target, &first, null(), 1, GLOBAL));
    assert_eq!(begun, OK);
    assert_eq!(hip.launch(empty, stream), OK);
    assert_eq!(info(&mut status, &mut id, &mut graph, &mut list, &mut count), OK);
    assert_eq!((status, graph, count), (Status::hipStreamCaptureStatusActive, target, 1));
    // SAFETY: the list has one handle.
    let second = unsafe { *list };
    assert_eq!(hip.dependencies(second), [first]);
    assert_eq!(hip!(hip, hipStreamGetCaptureInfo(stream, &mut status, &mut other)), OK);
    assert_eq!(id, other);

    let mut loose = null_mut();
    assert_eq!(hip!(hip, hipGraphAddEmptyNode(&mut loose, target, null(), 0)), OK);
    assert_eq!(hip!(hip, hipStreamUpdateCaptureDependencies(stream, &mut loose, 1, 0)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    assert_eq!(hip!(hip, hipStreamUpdateCaptureDependencies(stream, &mut first, 1, 1)), OK);
    assert_eq!(hip.launch(empty, stream), OK);
    let flags = hip!(hip, hipStreamUpdateCaptureDependencies(stream, &mut first, 1, 2));
    assert_eq!(flags, E::hipErrorInvalidValue);
    assert_eq!(hip.end(stream), target);
    let late = hip!(hip, hipStreamUpdateCaptureDependencies(stream, &mut first, 1, 0));
    assert_eq!(late, E::hipErrorIllegalState);
    let nodes = hip.nodes(target);
    assert_eq!(nodes[..3], [first, second, loose]);
    assert_eq!(hip.dependencies(nodes[3]), [second, loose]);
    assert_eq!(hip.dependencies(nodes[4]), [first]);
    let exec = hip.instantiate(target);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(fake::take_dispatched().len(), 3);
    hip.end_all(target, exec, stream);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn captured_copies_use_pageable_memory_in_their_turn() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let device = hip.malloc(4096);
    struct Buffers {
        from: [u8; 4096],
        to: [u8; 4096],
        next: u8,
    }
    unsafe extern "C" fn produce(data: *mut c_void) {
        // SAFETY: the test passes its buffers, which outlive the work and are used by one at a time.
        let buffers = unsafe { &mut *data.cast::<Buffers>() };
        buffers.next += 1;
        buffers.from = [buffers.next; 4096];
    }
    let buffers = Box::into_raw(Box::new(Buffers { from: [0; 4096], to: [0; 4096], next: 0 }));
    // SAFETY: the box is live; only addresses are taken.
    let (from, to) = unsafe { (&raw mut (*buffers).from, &raw mut (*buffers).to) };
    let kind = hipMemcpyKind::hipMemcpyDefault;
    hip.begin(stream, GLOBAL);
    assert_eq!(hip!(hip, hipLaunchHostFunc(stream, Some(produce), buffers.cast())), OK);
    assert_eq!(hip!(hip, hipMemcpyAsync(device, from.cast(), 4096, kind, stream)), OK);
    assert_eq!(hip!(hip, hipMemcpyAsync(to.cast(), device, 4096, kind, stream)), OK);
    let graph = hip.end(stream);
    let exec = hip.instantiate(graph);
    for round in 1..=3 {
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        // SAFETY: all work has completed.
        assert_eq!(unsafe { *to }, [round; 4096]);
    }
    hip.end_all(graph, exec, stream);
    hip.free(device);
    // SAFETY: the box was made above and nothing uses it any more.
    drop(unsafe { Box::from_raw(buffers) });
}
