//! Graphs: nodes and edges, instantiation, launches, changes.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::Duration;

use hip_sys::{dim3, hipGraph_t, hipGraphNode_t, hipKernelNodeParams};

use super::*;

const NON_BLOCKING: u32 = hip_sys::hipStreamNonBlocking;
const INVALID: E = E::hipErrorInvalidValue;

impl Hip {
    pub(super) fn graph(&self) -> hipGraph_t {
        let mut graph = null_mut();
        assert_eq!(hip!(self, hipGraphCreate(&mut graph, 0)), OK);
        graph
    }

    pub(super) fn empty(&self, graph: hipGraph_t, after: &[hipGraphNode_t]) -> hipGraphNode_t {
        let mut node = null_mut();
        assert_eq!(hip!(self, hipGraphAddEmptyNode(&mut node, graph, after.as_ptr(), after.len())), OK);
        node
    }

    /// A node with a kernel of one argument, four bytes at most.
    pub(super) fn kernel(
        &self,
        graph: hipGraph_t,
        after: &[hipGraphNode_t],
        function: hipFunction_t,
        block: u32,
    ) -> hipGraphNode_t {
        let mut node = null_mut();
        let parameters = parameters(function, block, null_mut());
        let added =
            hip!(self, hipGraphAddKernelNode(&mut node, graph, after.as_ptr(), after.len(), &parameters));
        assert_eq!(added, OK);
        node
    }
}

fn parameters(function: hipFunction_t, block: u32, arguments: *mut *mut c_void) -> hipKernelNodeParams {
    let one = dim3 { x: 1, y: 1, z: 1 };
    hipKernelNodeParams {
        blockDim: dim3 { x: block, ..one },
        extra: null_mut(),
        func: function.cast(),
        gridDim: one,
        kernelParams: arguments,
        sharedMemBytes: 0,
    }
}

fn sizes() -> Vec<(u16, bool)> {
    fake::take_dispatched().into_iter().map(|seen| (seen.packet.workgroup[0], seen.ordered)).collect()
}

#[test]
fn nodes_run_behind_what_they_wait_for_whatever_the_order_they_were_made_in() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let stream = hip.stream(NON_BLOCKING);
    let graph = hip.graph();
    // 4 -> 3 -> {1, 2}, made in the order of their numbers.
    let [one, two, three, four] = [1, 2, 3, 4].map(|size| hip.kernel(graph, &[], empty, size));
    let (from, to) = ([four, three, three], [three, one, two]);
    assert_eq!(hip!(hip, hipGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), 3)), OK);
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(sizes(), [(4, true), (3, true), (1, true), (2, false)]);

    // One edge less: 3 and 4 are roots.
    assert_eq!(hip!(hip, hipGraphRemoveDependencies(graph, &four, &three, 1)), OK);
    assert_eq!(hip!(hip, hipGraphRemoveDependencies(graph, &four, &three, 1)), INVALID);
    let mut roots = [null_mut(); 3];
    let mut count = 3;
    assert_eq!(hip!(hip, hipGraphGetRootNodes(graph, roots.as_mut_ptr(), &mut count)), OK);
    assert_eq!((roots, count), ([three, four, null_mut()], 2));
    let mut waiting = [null_mut(); 2];
    let mut count = 2;
    assert_eq!(hip!(hip, hipGraphNodeGetDependentNodes(three, waiting.as_mut_ptr(), &mut count)), OK);
    assert_eq!((waiting, count), ([one, two], 2));
    let (mut starts, mut ends, mut count) = ([null_mut(); 4], [null_mut(); 4], 4);
    assert_eq!(hip!(hip, hipGraphGetEdges(graph, starts.as_mut_ptr(), ends.as_mut_ptr(), &mut count)), OK);
    assert_eq!(count, 2);
    assert_eq!((starts, ends), ([three, three, null_mut(), null_mut()], [one, two, null_mut(), null_mut()]));

    // Earlier instantiations are unchanged.
    assert_eq!(hip!(hip, hipGraphDestroyNode(two)), OK);
    assert_eq!(hip!(hip, hipGraphDestroyNode(two)), INVALID);
    let changed = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphLaunch(changed, stream)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let both = [(3, true), (4, false), (1, true), (4, true), (3, true), (1, true), (2, false)];
    assert_eq!(sizes(), both);
    assert_eq!(hip!(hip, hipGraphExecDestroy(changed)), OK);
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, NULL)), INVALID);
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), E::hipErrorIllegalState);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn circles_and_edges_that_cannot_be_are_refused() {
    let hip = start();
    let (graph, other) = (hip.graph(), hip.graph());
    let first = hip.empty(graph, &[]);
    let second = hip.empty(graph, &[first]);
    let foreign = hip.empty(other, &[]);
    let twice = [first, first];
    let mut node = null_mut();
    for (list, count) in [(&raw const foreign, 1), (twice.as_ptr(), 2), (null(), 1)] {
        assert_eq!(hip!(hip, hipGraphAddEmptyNode(&mut node, graph, list, count)), INVALID);
    }
    for (from, to) in [(first, first), (first, second), (first, foreign), (first, null_mut())] {
        assert_eq!(hip!(hip, hipGraphAddDependencies(graph, &from, &to, 1)), INVALID);
    }
    assert_eq!(hip!(hip, hipGraphAddDependencies(graph, &second, &first, 1)), OK);
    let mut exec = null_mut();
    let mut log = [1i8; 64];
    let made = hip!(hip, hipGraphInstantiate(&mut exec, graph, &mut node, log.as_mut_ptr().cast(), 64));
    assert_eq!(made, INVALID);
    assert!(log.starts_with(&b"hipGraphInstantiateInvalidStructure\0".map(|byte| byte as i8)));
    let mut params = hip_sys::hipGraphInstantiateParams::default();
    assert_eq!(hip!(hip, hipGraphInstantiateWithParams(&mut exec, graph, &mut params)), INVALID);
    assert_eq!(params.result_out, hip_sys::hipGraphInstantiateResult::hipGraphInstantiateInvalidStructure);
    assert_eq!(hip!(hip, hipGraphInstantiateWithFlags(&mut exec, other, 1 << 20)), INVALID);
    for flags in [2, 4] {
        assert_eq!(hip!(hip, hipGraphInstantiateWithFlags(&mut exec, other, flags)), INVALID);
    }
    assert_eq!(hip!(hip, hipGraphInstantiateWithFlags(&mut exec, other, 9)), OK);
    let mut flags = 0;
    assert_eq!(hip!(hip, hipGraphExecGetFlags(exec, &mut flags)), OK);
    assert_eq!(flags, 9);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    for graph in [graph, other] {
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    }
    assert_eq!(hip!(hip, hipGraphNodeGetDependencies(first, null_mut(), &mut 0)), INVALID);
}

#[test]
fn children_run_in_the_place_of_their_node() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let stream = hip.stream(NON_BLOCKING);
    let (graph, child) = (hip.graph(), hip.graph());
    let inner = hip.kernel(child, &[], empty, 10);
    hip.kernel(child, &[inner], empty, 11);
    let first = hip.kernel(graph, &[], empty, 1);
    let mut node = null_mut();
    assert_eq!(hip!(hip, hipGraphAddChildGraphNode(&mut node, graph, &first, 1, child)), OK);
    hip.kernel(graph, &[node], empty, 2);
    // The node has a copy.
    hip.kernel(child, &[], empty, 99);
    let mut copy = null_mut();
    assert_eq!(hip!(hip, hipGraphChildGraphNodeGetGraph(node, &mut copy)), OK);
    assert_eq!(hip.nodes(copy).len(), 2);
    assert_eq!(hip!(hip, hipGraphDestroy(copy)), INVALID, "it belongs to the node");
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(sizes(), [(1, true), (10, true), (11, true), (2, true)]);

    // Captured launches are children.
    hip.begin(stream, hip_sys::hipStreamCaptureMode::hipStreamCaptureModeGlobal);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    let outer = hip.end(stream);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    let exec = hip.instantiate(outer);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(sizes().into_iter().map(|(size, _)| size).collect::<Vec<_>>(), [1, 10, 11, 2, 1, 10, 11, 2]);
    assert_eq!(hip!(hip, hipGraphDestroy(outer)), OK);
    assert_eq!(hip!(hip, hipGraphDestroy(child)), OK);
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipGraphChildGraphNodeGetGraph(node, &mut copy)), INVALID);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn clones_have_nodes_of_their_own() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let graph = hip.graph();
    let first = hip.kernel(graph, &[], empty, 1);
    let second = hip.kernel(graph, &[first], empty, 2);
    let mut clone = null_mut();
    assert_eq!(hip!(hip, hipGraphClone(&mut clone, graph)), OK);
    let (mut one, mut two) = (null_mut(), null_mut());
    assert_eq!(hip!(hip, hipGraphNodeFindInClone(&mut one, first, clone)), OK);
    assert_eq!(hip!(hip, hipGraphNodeFindInClone(&mut two, second, clone)), OK);
    assert_eq!(hip.nodes(clone), [one, two]);
    assert_eq!(hip.dependencies(two), [one]);
    assert_eq!(hip!(hip, hipGraphNodeFindInClone(&mut one, two, clone)), INVALID);
    assert_eq!(hip!(hip, hipGraphKernelNodeSetParams(two, &parameters(empty, 7, null_mut()))), OK);
    let mut seen = parameters(empty, 0, null_mut());
    assert_eq!(hip!(hip, hipGraphKernelNodeGetParams(second, &mut seen)), OK);
    assert_eq!((seen.blockDim.x, seen.func), (2, empty.cast()));
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip!(hip, hipGraphKernelNodeGetParams(two, &mut seen)), OK);
    assert_eq!(seen.blockDim.x, 7);
    assert_eq!(hip!(hip, hipGraphDestroy(clone)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn changes_concern_later_launches_only() {
    let hip = start();
    let module = hip.load(5);
    let (work, saxpy) = (hip.function(module, "work"), hip.function(module, "saxpy"));
    let stream = hip.stream(NON_BLOCKING);
    let graph = hip.graph();
    let (mut a, mut zero) = (1.0f32, 0u64);
    let other = (&raw mut zero).cast();
    let mut list: [*mut c_void; 4] = [(&raw mut a).cast(), other, other, other];
    let mut held = [other, other];
    let mut node = null_mut();
    let wait = parameters(work, 32, held.as_mut_ptr());
    let mut first = null_mut();
    assert_eq!(hip!(hip, hipGraphAddKernelNode(&mut first, graph, null(), 0, &wait)), OK);
    let params = parameters(saxpy, 32, list.as_mut_ptr());
    assert_eq!(hip!(hip, hipGraphAddKernelNode(&mut node, graph, &first, 1, &params)), OK);
    let exec = hip.instantiate(graph);
    let hold = Hold::new();
    let mut expected = Vec::new();
    for round in 0..20 {
        assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
        expected.push(a);
        a = 2.0 + round as f32;
        list[0] = (&raw mut a).cast();
        assert_eq!(hip!(hip, hipGraphExecKernelNodeSetParams(exec, node, &params)), OK);
    }
    // The graph's node keeps and returns its original parameters.
    let mut seen = parameters(saxpy, 0, null_mut());
    assert_eq!(hip!(hip, hipGraphKernelNodeGetParams(node, &mut seen)), OK);
    // SAFETY: the node's list has a pointer to each argument.
    assert_eq!(unsafe { *(*seen.kernelParams).cast::<f32>() }, 1.0);
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let scales: Vec<f32> = fake::take_dispatched()
        .into_iter()
        .filter(|seen| seen.kernel == "saxpy")
        .map(|seen| f32::from_le_bytes(seen.arguments[..4].try_into().unwrap()))
        .collect();
    assert_eq!(scales, expected);

    let mut enabled = 7;
    assert_eq!(hip!(hip, hipGraphNodeSetEnabled(exec, node, 0)), OK);
    assert_eq!(hip!(hip, hipGraphNodeGetEnabled(exec, node, &mut enabled)), OK);
    assert_eq!(enabled, 0);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(fake::take_dispatched().len(), 1);
    let invalid = hip!(hip, hipGraphExecKernelNodeSetParams(exec, null_mut(), &params));
    assert_eq!(invalid, INVALID);
    let invalid = parameters(null_mut(), 32, null_mut());
    let code = hip!(hip, hipGraphExecKernelNodeSetParams(exec, node, &invalid));
    assert_eq!(code, INVALID);
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn launches_of_one_graph_follow_each_other_on_all_streams() {
    let hip = start();
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let (first, second) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let graph = hip.graph();
    hip.kernel(graph, &[], empty, 5);
    let exec = hip.instantiate(graph);
    let hold = Hold::new();
    assert_eq!(hip.launch(work, first), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, first)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, second)), OK);
    std::thread::sleep(Duration::from_millis(20));
    assert!(sizes().is_empty());
    drop(hold);
    assert_eq!(hip!(hip, hipStreamSynchronize(second)), OK);
    assert_eq!(sizes(), [(32, true), (5, true), (5, true)]);
    assert_eq!(hip!(hip, hipStreamDestroy(second)), OK);
    hip.end_all(graph, exec, first);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn graphs_their_modules_and_execs_may_end_while_a_launch_is_in_flight() {
    let hip = start();
    let stream = hip.stream(NON_BLOCKING);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let module = hip.load(5);
    let (work, empty) = (hip.function(module, "work"), hip.function(module, "empty"));
    let graph = hip.graph();
    let mut zero = 0u64;
    let mut list = [(&raw mut zero).cast::<c_void>(); 2];
    let mut node = null_mut();
    let params = parameters(work, 32, list.as_mut_ptr());
    assert_eq!(hip!(hip, hipGraphAddKernelNode(&mut node, graph, null(), 0, &params)), OK);
    hip.kernel(graph, &[node], empty, 9);
    let exec = hip.instantiate(graph);
    let hold = Hold::new();
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK, "the graphs keep its code");
    assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    assert_eq!(hip!(hip, hipStreamQuery(stream)), E::hipErrorNotReady);
    let table = hip.table;
    let handle = exec as usize;
    std::thread::scope(|scope| {
        let ender = scope.spawn(move || {
            // SAFETY: the handle is the graph's.
            unsafe { (table.hipGraphExecDestroy)(handle as _) }
        });
        std::thread::sleep(Duration::from_millis(20));
        drop(hold);
        assert_eq!(ender.join().unwrap(), OK);
    });
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert_eq!(sizes(), [(32, true), (9, true)]);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn a_fault_of_a_node_fails_the_stream_that_it_was_launched_on() {
    let hip = start();
    let module = hip.load(5);
    let (poke, empty) = (hip.function(module, "poke"), hip.function(module, "empty"));
    let (stream, other) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let graph = hip.graph();
    let mut zero = 0u64;
    let mut list = [(&raw mut zero).cast::<c_void>()];
    let mut node = null_mut();
    let params = parameters(poke, 32, list.as_mut_ptr());
    assert_eq!(hip!(hip, hipGraphAddKernelNode(&mut node, graph, null(), 0, &params)), OK);
    hip.kernel(graph, &[node], empty, 9);
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), E::hipErrorIllegalAddress);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), E::hipErrorIllegalAddress);
    assert!(sizes().is_empty());
    assert_eq!(hip!(hip, hipGraphNodeSetEnabled(exec, node, 0)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, other)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(other)), OK);
    assert_eq!(sizes(), [(9, true)]);
    assert_eq!(hip!(hip, hipStreamDestroy(other)), OK);
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn a_graph_larger_than_the_queue_runs_whole() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let stream = hip.stream(NON_BLOCKING);
    let graph = hip.graph();
    // The fake's queues hold 64 packets.
    for size in 1..=300 {
        hip.kernel(graph, &[], empty, size);
    }
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphUpload(exec, stream)), OK);
    assert_eq!(hip!(hip, hipGraphLaunch(exec, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    assert!(sizes().into_iter().map(|(size, _)| size).eq(1..=300));
    hip.end_all(graph, exec, stream);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn graphs_lie_within_each_other_to_a_limit() {
    let hip = start();
    let (mut graph, mut inner, mut node) = (hip.graph(), null_mut(), null_mut());
    for depth in 1..=64 {
        let outer = hip.graph();
        let added = hip!(hip, hipGraphAddChildGraphNode(&mut node, outer, null(), 0, graph));
        assert_eq!(added, OK, "{depth}");
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
        graph = outer;
    }
    let outer = hip.graph();
    assert_eq!(hip!(hip, hipGraphAddChildGraphNode(&mut node, outer, null(), 0, graph)), INVALID);
    let exec = hip.instantiate(graph);
    assert_eq!(hip!(hip, hipGraphExecDestroy(exec)), OK);
    // Nor from within: the innermost graph accepts no more.
    let mut place = graph;
    for _ in 0..64 {
        let nodes = hip.nodes(place);
        assert_eq!(hip!(hip, hipGraphChildGraphNodeGetGraph(nodes[0], &mut inner)), OK);
        place = inner;
    }
    assert!(hip.nodes(place).is_empty());
    assert_eq!(hip!(hip, hipGraphAddChildGraphNode(&mut node, place, null(), 0, outer)), INVALID);
    for graph in [graph, outer] {
        assert_eq!(hip!(hip, hipGraphDestroy(graph)), OK);
    }
}
