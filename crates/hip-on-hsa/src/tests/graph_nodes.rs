//! Nodes of each kind, and changes to nodes and whole graphs.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use hip_sys::{
    hipExtent, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult as Outcome, hipGraphMemAttributeType,
    hipGraphNode_t, hipGraphNodeParams, hipGraphNodeType as Kind, hipHostNodeParams, hipLaunchAttributeID,
    hipLaunchAttributeValue, hipMemAllocNodeParams, hipMemAllocationType, hipMemLocationType,
    hipMemcpy3DParms, hipMemcpyKind, hipMemsetParams, hipPitchedPtr, hipPos, hipStreamCaptureMode,
};

use super::*;

const NON_BLOCKING: u32 = hip_sys::hipStreamNonBlocking;
const INVALID: E = E::hipErrorInvalidValue;

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the test passes a counter that outlives the work.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::AcqRel);
}

fn address(counter: &AtomicU32) -> *mut c_void {
    (&raw const *counter).cast_mut().cast()
}

impl Hip {
    fn new_graph(&self) -> hipGraph_t {
        let mut graph = null_mut();
        assert_eq!(hip!(self, hipGraphCreate(&mut graph, 0)), OK);
        graph
    }

    fn run(&self, exec: hipGraphExec_t, stream: hipStream_t) {
        assert_eq!(hip!(self, hipGraphLaunch(exec, stream)), OK);
        assert_eq!(hip!(self, hipStreamSynchronize(stream)), OK);
    }

    fn read(&self, pointer: *mut c_void, size: usize) -> Vec<u8> {
        let mut bytes = vec![0u8; size];
        assert_eq!(hip!(self, hipMemcpyDtoH(bytes.as_mut_ptr().cast(), pointer, size)), OK);
        bytes
    }

    fn host_node(&self, graph: hipGraph_t, counter: &AtomicU32) -> hipGraphNode_t {
        let mut node = null_mut();
        let params = hipHostNodeParams { fn_: Some(count), userData: address(counter) };
        assert_eq!(hip!(self, hipGraphAddHostNode(&mut node, graph, null(), 0, &params)), OK);
        node
    }

    fn memory_use(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|which| {
            let mut value = u64::MAX;
            let which = hipGraphMemAttributeType(which);
            let out = (&raw mut value).cast();
            assert_eq!(hip!(self, hipDeviceGetGraphMemAttribute(0, which, out)), OK);
            value
        })
    }
}

fn memset(dst: *mut c_void, value: u32, element: u32, width: usize, height: usize) -> hipMemsetParams {
    hipMemsetParams { dst, elementSize: element, height, pitch: 32, value, width }
}

#[test]
fn copies_and_fills_do_what_their_parameters_say_and_show_them() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let (from, to) = (hip.malloc(256), hip.malloc(256));
    let graph = hip.new_graph();
    let (mut fill, mut copy) = (null_mut(), null_mut());
    // Two rows of three 16-bit elements, 32 bytes apart.
    let params = memset(from, 0x1234, 2, 3, 2);
    assert_eq!(hip!(hip, hipGraphAddMemsetNode(&mut fill, graph, null(), 0, &params)), OK);
    // Both rows to places that are 64 bytes apart, from the second byte of each on.
    let place = |ptr: *mut c_void, pitch: usize| hipPitchedPtr { ptr, pitch, xsize: 8, ysize: 2 };
    let boxed = hipMemcpy3DParms {
        srcPos: hipPos { x: 1, y: 0, z: 0 },
        srcPtr: place(from, 32),
        dstPos: hipPos { x: 4, y: 1, z: 0 },
        dstPtr: place(to, 64),
        extent: hipExtent { width: 5, height: 2, depth: 1 },
        kind: hipMemcpyKind::hipMemcpyDeviceToDevice,
        ..hipMemcpy3DParms::default()
    };
    assert_eq!(hip!(hip, hipGraphAddMemcpyNode(&mut copy, graph, &fill, 1, &boxed)), OK);
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipMemset(from, 0, 256)), OK);
    assert_eq!(hip!(hip, hipMemset(to, 0xff, 256)), OK);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    hip.run(exec, stream);
    let mut expected = [0xffu8; 256];
    for row in [1, 2] {
        expected[64 * row + 4..64 * row + 9].copy_from_slice(&[0x12, 0x34, 0x12, 0x34, 0x12]);
    }
    assert_eq!(hip.read(to, 256), expected);

    let mut shown = hipMemsetParams::default();
    assert_eq!(hip!(hip, hipGraphMemsetNodeGetParams(fill, &mut shown)), OK);
    let same = |a: &hipMemsetParams, b: &hipMemsetParams| {
        (a.dst, a.elementSize, a.height, a.pitch, a.value, a.width)
            == (b.dst, b.elementSize, b.height, b.pitch, b.value, b.width)
    };
    assert!(same(&shown, &params), "{shown:?}");
    // The queried parameters mean the same.
    let mut shown = hipMemcpy3DParms::default();
    assert_eq!(hip!(hip, hipGraphMemcpyNodeGetParams(copy, &mut shown)), OK);
    assert_eq!(shown.srcPtr.ptr as usize, from as usize + 1);
    assert_eq!((shown.dstPtr.ptr as usize, shown.dstPtr.pitch), (to as usize + 64 + 4, 64));
    assert_eq!(hip!(hip, hipGraphMemcpyNodeSetParams(copy, &shown)), OK);
    assert_eq!(hip!(hip, hipGraphMemcpyNodeGetParams(fill, &mut shown)), INVALID, "it is a fill");

    // Only the executable graph's nodes change.
    let changed = memset(to, 7, 1, 8, 1);
    assert_eq!(hip!(hip, hipGraphExecMemsetNodeSetParams(exec, fill, &changed)), OK);
    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
    let params_1d = hip!(hip, hipGraphExecMemcpyNodeSetParams1D(exec, copy, from, to, 8, kind));
    assert_eq!(params_1d, OK);
    hip.run(exec, stream);
    assert_eq!(hip.read(from, 8), [7; 8]);
    let mut shown = hipMemsetParams::default();
    assert_eq!(hip!(hip, hipGraphMemsetNodeGetParams(fill, &mut shown)), OK);
    assert!(same(&shown, &params));

    // Impossible parameters are refused at once, and freed memory at the launch.
    let outside = memset(from, 7, 1, 8, 9);
    assert_eq!(hip!(hip, hipGraphMemsetNodeSetParams(fill, &outside)), INVALID);
    assert_eq!(hip!(hip, hipGraphMemsetNodeSetParams(fill, &memset(from, 7, 3, 8, 1))), INVALID);
    assert_eq!(hip!(hip, hipGraphMemcpyNodeSetParams1D(copy, to, from, 257, kind)), INVALID);
    let wrong = hip!(hip, hipGraphExecMemsetNodeSetParams(exec, copy, &changed));
    assert_eq!(wrong, INVALID);
    hip.free(to);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), INVALID);
    hip.end_all(graph, exec, stream);
    hip.free(from);
}

#[test]
fn nodes_of_all_kinds_can_be_made_by_one_function() {
    let hip = start();
    let module = hip.load(5);
    let stream = hip.stream(NON_BLOCKING);
    let (graph, child) = (hip.new_graph(), hip.new_graph());
    let (calls, others) = (AtomicU32::new(0), AtomicU32::new(0));
    hip.host_node(child, &calls);
    let memory = hip.malloc(64);
    let event = hip.event();
    let mut params = hipGraphNodeParams::default();
    let mut last: hipGraphNode_t = null_mut();
    let mut add = |params: &mut hipGraphNodeParams, kind: Kind| {
        let mut node = null_mut();
        params.type_ = kind;
        let count = usize::from(!last.is_null());
        assert_eq!(hip!(hip, hipGraphAddNode(&mut node, graph, &last, count, params)), OK, "{kind:?}");
        assert_eq!(hip.kind(node), kind);
        last = node;
        node
    };
    params.__bindgen_anon_1.memset = memset(memory, 9, 1, 4, 1);
    let fill = add(&mut params, Kind::hipGraphNodeTypeMemset);
    let empty = hip.function(module, "empty");
    let one = hip_sys::dim3 { x: 1, y: 1, z: 1 };
    params.__bindgen_anon_1.kernel = hip_sys::hipKernelNodeParams {
        blockDim: one,
        func: empty.cast(),
        gridDim: one,
        ..Default::default()
    };
    let kernel = add(&mut params, Kind::hipGraphNodeTypeKernel);
    params.__bindgen_anon_1.memcpy.copyParams = hipMemcpy3DParms {
        srcPtr: hipPitchedPtr { ptr: memory, pitch: 4, xsize: 4, ysize: 1 },
        // SAFETY: the offset lies within the allocation.
        dstPtr: hipPitchedPtr { ptr: unsafe { memory.byte_add(4) }, pitch: 4, xsize: 4, ysize: 1 },
        extent: hipExtent { width: 4, height: 1, depth: 1 },
        kind: hipMemcpyKind::hipMemcpyDefault,
        ..hipMemcpy3DParms::default()
    };
    add(&mut params, Kind::hipGraphNodeTypeMemcpy);
    params.__bindgen_anon_1.host = hipHostNodeParams { fn_: Some(count), userData: address(&calls) };
    let host = add(&mut params, Kind::hipGraphNodeTypeHost);
    params.__bindgen_anon_1.graph.graph = child;
    let nested = add(&mut params, Kind::hipGraphNodeTypeGraph);
    add(&mut params, Kind::hipGraphNodeTypeEmpty);
    params.__bindgen_anon_1.eventRecord.event = event;
    add(&mut params, Kind::hipGraphNodeTypeEventRecord);
    params.__bindgen_anon_1.eventWait.event = event;
    let wait = add(&mut params, Kind::hipGraphNodeTypeWaitEvent);
    let exec = hip.instantiate(graph);
    hip.run(exec, stream);
    assert_eq!(calls.load(Ordering::Acquire), 2);
    assert_eq!(hip.read(memory, 8), [9; 8]);
    assert_eq!(fake::take_dispatched().len(), 1);
    assert_eq!(hip!(hip, hipEventQuery(event)), OK);

    // And changed.
    params.type_ = Kind::hipGraphNodeTypeHost;
    params.__bindgen_anon_1.host = hipHostNodeParams { fn_: Some(count), userData: address(&others) };
    assert_eq!(hip!(hip, hipGraphExecNodeSetParams(exec, host, &mut params)), OK);
    assert_eq!(hip!(hip, hipGraphExecNodeSetParams(exec, fill, &mut params)), INVALID);
    assert_eq!(hip!(hip, hipGraphNodeSetParams(kernel, &mut params)), INVALID);
    let other_child = hip.new_graph();
    hip.host_node(other_child, &others);
    params.type_ = Kind::hipGraphNodeTypeGraph;
    params.__bindgen_anon_1.graph.graph = other_child;
    assert_eq!(hip!(hip, hipGraphExecNodeSetParams(exec, nested, &mut params)), OK);
    hip.host_node(other_child, &others);
    let grown = hip!(hip, hipGraphExecChildGraphNodeSetParams(exec, nested, other_child));
    assert_eq!(grown, INVALID, "its shape differs");
    hip.run(exec, stream);
    assert_eq!((calls.load(Ordering::Acquire), others.load(Ordering::Acquire)), (2, 2));
    let mut shown = hipHostNodeParams::default();
    assert_eq!(hip!(hip, hipGraphHostNodeGetParams(host, &mut shown)), OK);
    assert_eq!(shown.userData, address(&calls), "the graph's own node is as it was");
    params.__bindgen_anon_1.host = hipHostNodeParams { fn_: None, userData: null_mut() };
    params.type_ = Kind::hipGraphNodeTypeHost;
    assert_eq!(hip!(hip, hipGraphNodeSetParams(host, &mut params)), INVALID);
    params.type_ = Kind::hipGraphNodeTypeBatchMemOp;
    let mut node = null_mut();
    let code = hip!(hip, hipGraphAddNode(&mut node, graph, null(), 0, &mut params));
    assert_eq!(code, E::hipErrorNotSupported);

    let (mut found, other) = (null_mut(), hip.event());
    assert_eq!(hip!(hip, hipGraphEventWaitNodeGetEvent(wait, &mut found)), OK);
    assert_eq!(found, event);
    assert_eq!(hip!(hip, hipGraphEventRecordNodeGetEvent(wait, &mut found)), INVALID);
    assert_eq!(hip!(hip, hipGraphEventWaitNodeSetEvent(wait, other)), OK);
    assert_eq!(hip!(hip, hipGraphEventWaitNodeGetEvent(wait, &mut found)), OK);
    assert_eq!(found, other);
    for event in [event, other] {
        assert_eq!(hip!(hip, hipEventDestroy(event)), OK);
    }
    for graph in [child, other_child] {
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    }
    hip.end_all(graph, exec, stream);
    hip.free(memory);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn an_update_takes_what_a_graph_of_the_same_form_says() {
    let hip = start();
    let module = hip.load(5);
    let (empty, bump) = (hip.function(module, "empty"), hip.function(module, "bump"));
    let stream = hip.stream(NON_BLOCKING);
    let memory = hip.malloc(64);
    let capture = |work: &dyn Fn()| {
        hip.begin(stream, hipStreamCaptureMode::hipStreamCaptureModeGlobal);
        work();
        hip.end(stream)
    };
    let fill = |value: i32| assert_eq!(hip!(hip, hipMemsetD32Async(memory, value, 16, stream)), OK);
    let kernel = |function| assert_eq!(hip.launch(function, stream), OK);
    let first = capture(&|| {
        fill(1);
        kernel(empty);
    });
    let exec = hip.instantiate(first);
    let update = |graph: hipGraph_t| {
        let (mut node, mut outcome) = (null_mut(), Outcome::hipGraphExecUpdateError);
        let code = hip!(hip, hipGraphExecUpdate(exec, graph, &mut node, &mut outcome));
        (code, outcome, node)
    };
    let second = capture(&|| {
        fill(2);
        kernel(bump);
    });
    assert_eq!(update(second), (OK, Outcome::hipGraphExecUpdateSuccess, null_mut()));
    assert_eq!(hip!(hip, hipGraphDestroy(second)), OK);
    hip.run(exec, stream);
    assert_eq!(fake::take_dispatched()[0].kernel, "bump");
    assert_eq!(hip.read(memory, 4), 2u32.to_le_bytes());

    let failed = E::hipErrorGraphExecUpdateFailure;
    let longer = capture(&|| {
        fill(3);
        kernel(empty);
        kernel(empty);
    });
    assert_eq!(update(longer), (failed, Outcome::hipGraphExecUpdateErrorTopologyChanged, null_mut()));
    let swapped = capture(&|| {
        kernel(empty);
        fill(3);
    });
    let at = hip.nodes(swapped)[0];
    assert_eq!(update(swapped), (failed, Outcome::hipGraphExecUpdateErrorNodeTypeChanged, at));
    let apart = capture(&|| {
        fill(3);
        kernel(empty);
    });
    let nodes = hip.nodes(apart);
    assert_eq!(hip!(hip, hipGraphRemoveDependencies(apart, &nodes[0], &nodes[1], 1)), OK);
    assert_eq!(update(apart), (failed, Outcome::hipGraphExecUpdateErrorTopologyChanged, nodes[1]));
    hip.run(exec, stream);
    assert_eq!(hip.read(memory, 4), 2u32.to_le_bytes(), "a failed update changes nothing");
    for graph in [longer, swapped, apart] {
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    }
    hip.end_all(first, exec, stream);
    hip.free(memory);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn memory_of_a_graph_is_the_programs_from_a_launch_to_a_free() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let before = hip.memory_use();
    let graph = hip.new_graph();
    let mut params = hipMemAllocNodeParams { bytesize: 4096, ..Default::default() };
    let (mut node, mut fill) = (null_mut(), null_mut());
    let refused = hip!(hip, hipGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut params));
    assert_eq!(refused, INVALID, "without a place");
    params.poolProps.allocType = hipMemAllocationType::hipMemAllocationTypePinned;
    params.poolProps.location.type_ = hipMemLocationType::hipMemLocationTypeDevice;
    assert_eq!(hip!(hip, hipGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut params)), OK);
    let memory = params.dptr;
    assert!(!memory.is_null());
    let ones = memset(memory, 1, 1, 32, 1);
    assert_eq!(hip!(hip, hipGraphAddMemsetNode(&mut fill, graph, &node, 1, &ones)), OK);
    let mut shown = hipMemAllocNodeParams::default();
    assert_eq!(hip!(hip, hipGraphMemAllocNodeGetParams(node, &mut shown)), OK);
    assert_eq!((shown.dptr, shown.bytesize), (memory, 4096));
    assert_eq!(hip!(hip, hipGraphDestroyNode(node)), E::hipErrorNotSupported);
    let mut clone = null_mut();
    assert_eq!(hip!(hip, hipGraphClone(&mut clone, graph)), E::hipErrorNotSupported);
    assert_eq!(hip!(hip, hipFree(memory)), INVALID, "the program does not own it yet");

    let exec = hip.instantiate(graph);
    let mut other = null_mut();
    let second = hip!(hip, hipGraphInstantiate(&mut other, graph, null_mut(), null_mut(), 0));
    assert_eq!(second, INVALID, "one at a time");
    let [used, _, reserved, _] = hip.memory_use();
    assert_eq!((used, reserved), (before[0], before[2]), "memory that no launch has used does not count");
    hip.run(exec, stream);
    let [used, high, reserved, reserved_high] = hip.memory_use();
    assert_eq!((used - before[0], reserved - before[2]), (4096, 4096));
    assert!(high >= used && reserved_high >= reserved);
    assert_eq!(hip.read(memory, 32), [1; 32]);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), INVALID, "the program still owns it");
    assert_eq!(hip!(hip, hipFreeAsync(memory, stream)), OK);
    assert_eq!(hip!(hip, hipFreeAsync(memory, stream)), INVALID);
    let [used, _, reserved, _] = hip.memory_use();
    assert_eq!((used - before[0], reserved - before[2]), (0, 4096), "reserved until the program waits");
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(hip.memory_use()[2], before[2]);
    hip.run(exec, stream);
    // It outlives the graphs, until it is freed.
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip.read(memory, 32), [1; 32]);
    assert_eq!(hip!(hip, hipDeviceGraphMemTrim(0)), OK);
    assert_eq!(hip!(hip, hipFree(memory)), OK);
    assert_eq!(hip!(hip, hipFree(memory)), INVALID);
    let [used, high, reserved, _] = hip.memory_use();
    assert_eq!([used, reserved], [before[0], before[2]]);
    assert!(high >= 4096);
    let mut zero = 0u64;
    let which = hipGraphMemAttributeType::hipGraphMemAttrUsedMemHigh;
    assert_eq!(hip!(hip, hipDeviceSetGraphMemAttribute(0, which, (&raw mut zero).cast())), OK);
    assert_eq!(hip.memory_use()[1], used);
    let which = hipGraphMemAttributeType::hipGraphMemAttrUsedMemCurrent;
    let code = hip!(hip, hipDeviceSetGraphMemAttribute(0, which, (&raw mut zero).cast()));
    assert_eq!(code, INVALID);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn stream_ordered_allocations_are_captured() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let out = hip.malloc(64);
    let plain = hip.malloc(64);
    let mut memory = null_mut();
    hip.begin(stream, hipStreamCaptureMode::hipStreamCaptureModeGlobal);
    assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 64, stream)), OK);
    assert_eq!(hip!(hip, hipMemsetAsync(memory, 5, 64, stream)), OK);
    assert_eq!(hip!(hip, hipMemcpyDtoDAsync(out, memory, 64, stream)), OK);
    assert_eq!(hip!(hip, hipFreeAsync(plain, stream)), INVALID, "not memory of a graph");
    assert_eq!(hip!(hip, hipFreeAsync(memory, stream)), OK);
    let graph = hip.end(stream);
    let nodes = hip.nodes(graph);
    let kinds: Vec<_> = nodes.iter().map(|&node| hip.kind(node)).collect();
    let expected = [
        Kind::hipGraphNodeTypeMemAlloc,
        Kind::hipGraphNodeTypeMemset,
        Kind::hipGraphNodeTypeMemcpy,
        Kind::hipGraphNodeTypeMemFree,
    ];
    assert_eq!(kinds, expected);
    let mut freed: *mut c_void = null_mut();
    assert_eq!(hip!(hip, hipGraphMemFreeNodeGetParams(nodes[3], (&raw mut freed).cast())), OK);
    assert_eq!(freed, memory);
    let exec = hip.instantiate(graph);
    let used = hip.memory_use()[0];
    for _ in 0..3 {
        assert_eq!(hip!(hip, hipMemset(out, 0, 64)), OK);
        assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
        hip.run(exec, stream);
        assert_eq!(hip.read(out, 64), [5; 64]);
        assert_eq!(hip.memory_use()[0], used);
    }
    hip.end_all(graph, exec, stream);
    hip.free(out);
    hip.free(plain);
}

#[test]
fn a_graph_may_free_its_memory_with_the_next_launch() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let mut memory = null_mut();
    hip.begin(stream, hipStreamCaptureMode::hipStreamCaptureModeGlobal);
    assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 64, stream)), OK);
    let graph = hip.end(stream);
    let mut exec = null_mut();
    assert_eq!(hip!(hip, hipGraphInstantiateWithFlags(&mut exec, graph, 1)), OK);
    for _ in 0..3 {
        hip.run(exec, stream);
    }
    // A separate graph frees it.
    let other = hip.new_graph();
    let mut node = null_mut();
    assert_eq!(hip!(hip, hipGraphAddMemFreeNode(&mut node, other, null(), 0, memory)), OK);
    let freeing = hip.instantiate(other);
    hip.run(freeing, stream);
    assert_eq!(hip!(hip, hipGraphLaunch(freeing, stream)), INVALID);
    assert_eq!(hip!(hip, hipFree(memory)), INVALID);
    assert_eq!(hip!(hip, hipGraphExecDestroy(freeing)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(other)), OK);
    hip.end_all(graph, exec, stream);
}

#[test]
fn objects_of_the_program_live_as_long_as_somebody_refers_to_them() {
    let hip = start();
    let ended = AtomicU32::new(0);
    let seen = || ended.load(Ordering::Acquire);
    let graph = hip.new_graph();
    let calls = AtomicU32::new(0);
    hip.host_node(graph, &calls);
    let mut object = null_mut();
    let create = |object: &mut _, count_of: u32, flags: u32| {
        hip!(hip, hipUserObjectCreate(object, address(&ended), Some(count), count_of, flags))
    };
    assert_eq!(create(&mut object, 0, 1), INVALID);
    assert_eq!(create(&mut object, 1, 0), INVALID);
    assert_eq!(create(&mut object, 1, 1), OK);
    assert_eq!(hip!(hip, hipUserObjectRetain(object, 2)), OK);
    assert_eq!(hip!(hip, hipUserObjectRelease(object, 4)), INVALID, "there are three");
    assert_eq!(hip!(hip, hipUserObjectRelease(object, 2)), OK);
    // The caller's last reference becomes the graph's.
    assert_eq!(hip!(hip, hipGraphRetainUserObject(graph, object, 1, 1)), OK);
    let mut clone = null_mut();
    assert_eq!(hip!(hip, hipGraphClone(&mut clone, graph)), OK);
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip!(hip, hipGraphReleaseUserObject(clone, object, 2)), INVALID);
    assert_eq!(hip!(hip, hipGraphReleaseUserObject(clone, object, 1)), OK);
    assert_eq!(seen(), 0);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!(seen(), 1);
    assert_eq!(hip!(hip, hipUserObjectRelease(object, 1)), INVALID);
    assert_eq!(hip!(hip, hipGraphDestroy(clone)), OK);
    assert_eq!(seen(), 1);
}

#[test]
fn an_update_replaces_what_an_executable_graph_keeps() {
    let hip = start();
    let (calls, ended) = (AtomicU32::new(0), [AtomicU32::new(0), AtomicU32::new(0)]);
    let graphs = ended.each_ref().map(|ended| {
        let (graph, mut object) = (hip.new_graph(), null_mut());
        hip.host_node(graph, &calls);
        assert_eq!(hip!(hip, hipUserObjectCreate(&mut object, address(ended), Some(count), 1, 1)), OK);
        assert_eq!(hip!(hip, hipGraphRetainUserObject(graph, object, 1, 1)), OK);
        graph
    });
    let seen = || ended.each_ref().map(|ended| ended.load(Ordering::SeqCst));
    let exec = hip.instantiate(graphs[0]);
    let stream = hip.stream(NON_BLOCKING);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    let (mut node, mut result) = (null_mut(), hip_sys::hipGraphExecUpdateResult::hipGraphExecUpdateError);
    assert_eq!(hip!(hip, hipGraphExecUpdate(exec, graphs[1], &mut node, &mut result)), OK);
    graphs.into_iter().for_each(|graph| assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK));
    // The first graph's object ends after the launch; the second one's now belongs to the executable graph.
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let came = (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        seen() == [1, 0]
    });
    assert!(came, "{:?}", seen());
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!((seen(), calls.load(Ordering::SeqCst)), ([1, 1], 2));
}

#[test]
fn attributes_of_kernels_are_kept_and_copied() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let graph = hip.new_graph();
    let one = hip_sys::dim3 { x: 1, y: 1, z: 1 };
    let params = hip_sys::hipKernelNodeParams {
        blockDim: one,
        func: empty.cast(),
        gridDim: one,
        ..Default::default()
    };
    let [first, second] = [0, 1].map(|_| {
        let mut node = null_mut();
        assert_eq!(hip!(hip, hipGraphAddKernelNode(&mut node, graph, null(), 0, &params)), OK);
        node
    });
    let (priority, cooperative) = (
        hipLaunchAttributeID::hipLaunchAttributePriority,
        hipLaunchAttributeID::hipLaunchAttributeCooperative,
    );
    let mut value = hipLaunchAttributeValue::default();
    value.priority = -1;
    assert_eq!(hip!(hip, hipGraphKernelNodeSetAttribute(first, priority, &value)), OK);
    value.cooperative = 1;
    assert_eq!(hip!(hip, hipGraphKernelNodeSetAttribute(first, cooperative, &value)), OK);
    assert_eq!(hip!(hip, hipGraphKernelNodeCopyAttributes(first, second)), OK);
    // New parameters keep the attributes.
    assert_eq!(hip!(hip, hipGraphKernelNodeSetParams(second, &params)), OK);
    for (attribute, expected) in [(priority, -1), (cooperative, 1)] {
        assert_eq!(hip!(hip, hipGraphKernelNodeGetAttribute(second, attribute, &mut value)), OK);
        // SAFETY: both attributes are numbers of the same type.
        assert_eq!(unsafe { value.cooperative }, expected);
    }
    let other = hipLaunchAttributeID::hipLaunchAttributeSynchronizationPolicy;
    assert_eq!(hip!(hip, hipGraphKernelNodeGetAttribute(first, other, &mut value)), INVALID);
    let mut large = params;
    large.gridDim.x = 1 << 20;
    let code = hip!(hip, hipGraphKernelNodeSetParams(second, &large));
    assert_eq!(code, E::hipErrorCooperativeLaunchTooLarge);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_graph_can_be_printed() {
    let hip = start();
    let graph = hip.new_graph();
    let calls = AtomicU32::new(0);
    let first = hip.host_node(graph, &calls);
    let mut second = null_mut();
    assert_eq!(hip!(hip, hipGraphAddEmptyNode(&mut second, graph, &first, 1)), OK);
    let path = std::env::temp_dir().join(format!("hip-on-hsa-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let handles = hip_sys::hipGraphDebugDotFlags::hipGraphDebugDotFlagsHandles.bits();
    assert_eq!(hip!(hip, hipGraphDebugDotPrint(graph, name.as_ptr(), handles)), OK);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(
        text.starts_with("digraph") && text.contains("host function") && text.contains("empty"),
        "{text}"
    );
    assert!(text.contains(&format!("{:#x}", first as usize)), "{text}");
    assert_eq!(text.matches(" -> ").count(), 1);
    let nowhere = c"/nowhere/at/all/graph.dot".as_ptr();
    assert_eq!(hip!(hip, hipGraphDebugDotPrint(graph, nowhere, 0)), E::hipErrorOperatingSystem);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
}

#[test]
fn a_reset_takes_memory_from_the_program_but_not_from_the_graph() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    let mut memory = null_mut();
    hip.begin(stream, hipStreamCaptureMode::hipStreamCaptureModeGlobal);
    assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 4096, stream)), OK);
    let graph = hip.end(stream);
    let exec = hip.instantiate(graph);
    hip.run(exec, stream);
    assert_eq!(hip!(hip, hipDeviceReset()), OK);
    assert_eq!(hip!(hip, hipFree(memory)), INVALID);
    assert_eq!(hip.memory_use()[0], 0);
    // No other memory has the address.
    let others: Vec<_> = (0..16).map(|_| hip.malloc(4096)).collect();
    assert!(!others.contains(&memory));
    hip.run(exec, NULL);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip.read(memory, 16).len(), 16);
    hip.free(memory);
    for other in others {
        hip.free(other);
    }
}

#[test]
fn graphs_leave_no_memory_behind() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    // Queues of the fake are never freed.
    let (first, second) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let round = || {
        let mut memory = null_mut();
        hip.begin(first, hipStreamCaptureMode::hipStreamCaptureModeGlobal);
        assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 4096, first)), OK);
        for _ in 0..20 {
            assert_eq!(hip.launch(empty, first), OK);
        }
        assert_eq!(hip!(hip, hipMemsetAsync(memory, 1, 4096, first)), OK);
        assert_eq!(hip!(hip, hipFreeAsync(memory, first)), OK);
        let graph = hip.end(first);
        let exec = hip.instantiate(graph);
        let kernel = hip.nodes(graph)[1];
        for stream in [first, second, first] {
            assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
            // A change writes the arguments again while the launch may be in flight.
            assert_eq!(hip!(hip, hipGraphNodeSetEnabled(exec, kernel, 0)), OK);
        }
        // A capture that fails leaves no graph either.
        hip.begin(second, hipStreamCaptureMode::hipStreamCaptureModeGlobal);
        assert_eq!(hip.launch(empty, second), OK);
        assert_eq!(hip!(hip, hipMallocAsync(&mut memory, 4096, second)), OK);
        assert_eq!(hip!(hip, hipStreamQuery(second)), E::hipErrorStreamCaptureUnsupported);
        let mut none = null_mut();
        let ended = hip!(hip, hipStreamEndCapture(second, &mut none));
        assert_eq!(ended, E::hipErrorStreamCaptureInvalidated);
        assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
        for stream in [first, second] {
            assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        }
    };
    round();
    let (allocations, _) = fake::live();
    for _ in 0..5 {
        round();
    }
    assert_eq!(fake::live().0, allocations);
    for stream in [first, second] {
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn threads_capture_beside_each_other() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty") as usize;
    let table = &hip;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let stream = table.stream(NON_BLOCKING);
                for size in 1..30 {
                    table.begin(stream, hipStreamCaptureMode::hipStreamCaptureModeThreadLocal);
                    for _ in 0..size {
                        assert_eq!(table.launch(empty as _, stream), OK);
                    }
                    let graph = table.end(stream);
                    assert_eq!(table.nodes(graph).len(), size);
                    let exec = table.instantiate(graph);
                    table.run(exec, stream);
                    assert_eq!(hip!(table, hipGraphExecDestroy(exec)), OK);
                    assert_eq!(hip!(table, hipGraphDestroy(graph)), OK);
                }
                assert_eq!(hip!(table, hipStreamDestroy(stream)), OK);
            });
        }
    });
    assert_eq!(fake::take_dispatched().len(), 4 * (1..30).sum::<usize>());
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_copy_of_an_executable_graph_keeps_its_direction() {
    let hip = start();
    let (device, other) = (hip.malloc(256), hip.malloc(256));
    let mut host = [0u8; 256];
    let host = host.as_mut_ptr().cast::<c_void>();
    let kind = hipMemcpyKind::hipMemcpyDefault;
    let mut pinned = null_mut();
    assert_eq!(hip!(hip, hipHostMalloc(&mut pinned, 256, 0)), OK);
    let ends = [(device, other), (device, host), (host, device), (host, pinned)];
    for (index, (dst, src)) in ends.into_iter().enumerate() {
        let graph = hip.graph();
        let mut node = null_mut();
        let added = hip!(hip, hipGraphAddMemcpyNode1D(&mut node, graph, null(), 0, dst, src, 64, kind));
        assert_eq!(added, OK);
        let exec = hip.instantiate(graph);
        // An empty copy, a copy onto itself, and a different direction, valid or not.
        let explicit = hipMemcpyKind::hipMemcpyDeviceToDevice;
        for (src, size, kind) in
            [(src, 0, kind), (dst, 64, kind), (src, 64, explicit), (src, 64, hipMemcpyKind(99))]
        {
            let set = hip!(hip, hipGraphExecMemcpyNodeSetParams1D(exec, node, dst, src, size, kind));
            assert_eq!(set, INVALID, "{size} {kind:?}");
        }
        let added = hip!(hip, hipGraphAddMemcpyNode1D(&mut node, graph, null(), 0, dst, src, 0, kind));
        assert_eq!(added, INVALID);
        for (wanted, (dst, src)) in ends.into_iter().enumerate() {
            // A different size and a different place of the same kind are accepted.
            let (dst, src) = (dst.wrapping_byte_add(64), src.wrapping_byte_add(128));
            let code = if wanted == index { OK } else { INVALID };
            let set = hip!(hip, hipGraphExecMemcpyNodeSetParams1D(exec, node, dst, src, 32, kind));
            assert_eq!(set, code, "{index} to {wanted}");
            let mut params = hipMemcpy3DParms {
                dstPtr: hipPitchedPtr { ptr: dst, pitch: 32, xsize: 32, ysize: 1 },
                srcPtr: hipPitchedPtr { ptr: src, pitch: 32, xsize: 32, ysize: 1 },
                extent: hipExtent { width: 32, height: 1, depth: 1 },
                kind,
                ..Default::default()
            };
            assert_eq!(hip!(hip, hipGraphExecMemcpyNodeSetParams(exec, node, &mut params)), code);
            assert_eq!(
                hip!(hip, hipGraphMemcpyNodeSetParams1D(node, dst, src, 32, kind)),
                OK,
                "the graph's own"
            );
        }
        assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    }
    assert_eq!(hip!(hip, hipHostFree(pinned)), OK);
    hip.free(device);
    hip.free(other);
}
