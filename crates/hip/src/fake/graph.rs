//! Graphs of the fake: lists of work, run in order when they are launched.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use hip_sys::*;

use super::{OK, State, state};

/// A piece of work that runs at every launch of a graph.
pub(super) type Work = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
pub(super) struct Graphs {
    graphs: HashMap<usize, Vec<Node>>,
    /// Each node's handle, its work, and whether it is enabled.
    executables: HashMap<usize, Vec<(usize, Work, bool)>>,
    /// Memory of allocation nodes, and their graphs.
    memory: Vec<(usize, usize)>,
    /// The graph that each captured stream is captured into.
    captured: HashMap<usize, usize>,
    /// The graph that each event was recorded in while it was captured.
    events: HashMap<usize, usize>,
}

struct Node {
    handle: usize,
    work: Work,
    dependencies: Vec<usize>,
}

/// How many graphs, executable graphs and captured streams there are.
pub(crate) fn graph_counts() -> (usize, usize, usize) {
    let graphs = &state().graphs;
    (graphs.graphs.len(), graphs.executables.len(), graphs.captured.len())
}

/// For each node of the graph, the indices of its dependencies.
pub(crate) fn dependencies(graph: &crate::Graph) -> Vec<Vec<usize>> {
    let state = state();
    let nodes = &state.graphs.graphs[&graph.as_raw().addr()];
    let place = |handle: &usize| nodes.iter().position(|node| node.handle == *handle).unwrap();
    nodes.iter().map(|node| node.dependencies.iter().map(place).collect()).collect()
}

pub(super) fn provide(builder: &mut Builder) {
    builder
        .hipStreamBeginCapture(begin)
        .hipStreamEndCapture(end)
        .hipLaunchHostFunc(launch_host_function)
        .hipGraphCreate(create)
        .hipGraphDestroy(destroy)
        .hipGraphGetNodes(nodes)
        .hipGraphAddEmptyNode(add_empty)
        .hipGraphAddHostNode(add_host)
        .hipGraphAddMemcpyNode1D(add_copy)
        .hipGraphAddMemsetNode(add_set)
        .hipGraphAddMemAllocNode(add_allocation)
        .hipGraphAddMemFreeNode(add_free)
        .hipGraphDestroyNode(destroy_node)
        .hipGraphNodeSetEnabled(set_enabled)
        .hipGraphNodeGetEnabled(enabled)
        .hipGraphInstantiate(instantiate)
        .hipGraphExecDestroy(destroy_executable)
        .hipGraphLaunch(launch);
}

thread_local! {
    static NODES_UNTIL_FAILURE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Lets this thread add `count` nodes to graphs; after that, adding fails.
pub(crate) fn fail_after_nodes(count: usize) {
    NODES_UNTIL_FAILURE.set(count);
}

impl State {
    /// Captures work if the stream is captured. If not, the caller does it now.
    pub(super) fn captured(&mut self, stream: hipStream_t, work: impl Fn() + Send + Sync + 'static) -> bool {
        let Some(graph) = self.graphs.captured.get(&stream.addr()).copied() else { return false };
        self.add_node(graph, Arc::new(work), Vec::new());
        true
    }

    /// Records an event on a stream.
    pub(super) fn recorded(&mut self, event: hipEvent_t, stream: hipStream_t) {
        match self.graphs.captured.get(&stream.addr()).copied() {
            Some(graph) => self.graphs.events.insert(event.addr(), graph),
            None => self.graphs.events.remove(&event.addr()),
        };
    }

    /// Makes a stream wait for an event. If the event was captured, so is the stream.
    pub(super) fn waited(&mut self, event: hipEvent_t, stream: hipStream_t) {
        if let Some(graph) = self.graphs.events.get(&event.addr()).copied() {
            self.graphs.captured.insert(stream.addr(), graph);
        }
    }

    fn add_node(&mut self, graph: usize, work: Work, dependencies: Vec<usize>) -> usize {
        let handle = self.handle();
        self.graphs.graphs.get_mut(&graph).expect("a graph").push(Node { handle, work, dependencies });
        handle
    }
}

fn handle<T>(number: usize) -> *mut T {
    std::ptr::without_provenance_mut(number)
}

unsafe extern "C" fn begin(stream: hipStream_t, _mode: hipStreamCaptureMode) -> hipError_t {
    let mut state = state();
    let graph = state.handle();
    state.graphs.graphs.insert(graph, Vec::new());
    state.graphs.captured.insert(stream.addr(), graph);
    OK
}

unsafe extern "C" fn end(stream: hipStream_t, out: *mut hipGraph_t) -> hipError_t {
    let mut state = state();
    let Some(graph) = state.graphs.captured.remove(&stream.addr()) else {
        return hipError_t::hipErrorIllegalState;
    };
    state.graphs.captured.retain(|_, of| *of != graph);
    state.graphs.events.retain(|_, of| *of != graph);
    // SAFETY: the caller gives a place.
    unsafe { *out = handle(graph) };
    OK
}

unsafe extern "C" fn launch_host_function(
    stream: hipStream_t,
    function: hipHostFn_t,
    data: *mut c_void,
) -> hipError_t {
    let (Some(function), data) = (function, data.expose_provenance()) else {
        return hipError_t::hipErrorInvalidValue;
    };
    // SAFETY: the program passed the function to be called with this data.
    let work = move || unsafe { function(std::ptr::with_exposed_provenance_mut(data)) };
    match state().captured(stream, work) {
        true => OK,
        false => hipError_t::hipErrorNotSupported,
    }
}

unsafe extern "C" fn create(out: *mut hipGraph_t, _flags: c_uint) -> hipError_t {
    let mut state = state();
    let graph = state.handle();
    state.graphs.graphs.insert(graph, Vec::new());
    // SAFETY: the caller gives a place.
    unsafe { *out = handle(graph) };
    OK
}

unsafe extern "C" fn destroy(graph: hipGraph_t) -> hipError_t {
    let memory = {
        let graphs = &mut state().graphs;
        if graphs.graphs.remove(&graph.addr()).is_none() {
            return hipError_t::hipErrorInvalidValue;
        }
        let of_graph = |(owner, _): &mut (usize, usize)| *owner == graph.addr();
        graphs.memory.extract_if(.., of_graph).collect::<Vec<_>>()
    };
    for (_, address) in memory {
        // SAFETY: the address is that of memory that `add_allocation` allocated.
        let status = unsafe { super::free(std::ptr::with_exposed_provenance_mut(address)) };
        assert_eq!(status, OK);
    }
    OK
}

unsafe extern "C" fn nodes(graph: hipGraph_t, out: *mut hipGraphNode_t, count: *mut usize) -> hipError_t {
    let state = state();
    let nodes = &state.graphs.graphs[&graph.addr()];
    for (index, node) in nodes.iter().enumerate().filter(|_| !out.is_null()) {
        // SAFETY: the caller gives a place for each.
        unsafe { *out.add(index) = handle(node.handle) };
    }
    // SAFETY: the caller gives a place.
    unsafe { *count = nodes.len() };
    OK
}

/// # Safety
/// There are `count` dependencies, and a place for the result.
unsafe fn add(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    work: impl Fn() + Send + Sync + 'static,
) -> hipError_t {
    match NODES_UNTIL_FAILURE.get() {
        0 => return hipError_t::hipErrorOutOfMemory,
        usize::MAX => {}
        left => NODES_UNTIL_FAILURE.set(left - 1),
    }
    // SAFETY: as this function's contract.
    let dependencies = (0..count).map(|index| unsafe { *dependencies.add(index) }.addr()).collect();
    let node = state().add_node(graph.addr(), Arc::new(work), dependencies);
    // SAFETY: as this function's contract.
    unsafe { *out = handle(node) };
    OK
}

unsafe extern "C" fn add_empty(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
) -> hipError_t {
    // SAFETY: as the caller's.
    unsafe { add(out, graph, dependencies, count, || ()) }
}

unsafe extern "C" fn add_host(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    params: *const hipHostNodeParams,
) -> hipError_t {
    // SAFETY: the caller gives the parameters.
    let (function, data) = unsafe { ((*params).fn_, (*params).userData.expose_provenance()) };
    let Some(function) = function else { return hipError_t::hipErrorInvalidValue };
    // SAFETY: the program passed the function to be called with this data.
    let work = move || unsafe { function(std::ptr::with_exposed_provenance_mut(data)) };
    // SAFETY: as the caller's.
    unsafe { add(out, graph, dependencies, count, work) }
}

unsafe extern "C" fn add_copy(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    _kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: the caller gives that much on both sides, for as long as the graph may run.
    unsafe { add(out, graph, dependencies, count, copying(destination, source, bytes)) }
}

/// A copy that is done later.
pub(super) fn copying(
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> impl Fn() + Clone + Send + Sync {
    let (destination, source) = (destination.expose_provenance(), source.expose_provenance());
    move || {
        let destination: *mut u8 = std::ptr::with_exposed_provenance_mut(destination);
        let source: *const u8 = std::ptr::with_exposed_provenance(source);
        // SAFETY: the program gives that much on both sides.
        unsafe { destination.copy_from(source, bytes) };
    }
}

/// A fill that is done later.
pub(super) fn setting<T: Copy + Send + Sync + 'static>(
    destination: *mut c_void,
    value: T,
    count: usize,
) -> impl Fn() + Clone + Send + Sync {
    let destination = destination.expose_provenance();
    move || {
        let destination: *mut T = std::ptr::with_exposed_provenance_mut(destination);
        // SAFETY: the program gives that much, aligned.
        unsafe { std::slice::from_raw_parts_mut(destination, count) }.fill(value);
    }
}

unsafe extern "C" fn add_set(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    params: *const hipMemsetParams,
) -> hipError_t {
    // SAFETY: the caller gives the parameters.
    let params = unsafe { *params };
    let (place, value, width) = (params.dst, params.value, params.width);
    // SAFETY: as the caller's.
    unsafe {
        match params.elementSize {
            1 => add(out, graph, dependencies, count, setting(place, value as u8, width)),
            2 => add(out, graph, dependencies, count, setting(place, value as u16, width)),
            4 => add(out, graph, dependencies, count, setting(place, value as c_int, width)),
            _ => hipError_t::hipErrorInvalidValue,
        }
    }
}

unsafe extern "C" fn add_allocation(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    params: *mut hipMemAllocNodeParams,
) -> hipError_t {
    // SAFETY: the caller gives the parameters, and as the caller's.
    unsafe {
        let status = super::malloc(&raw mut (*params).dptr, (*params).bytesize);
        if status != OK {
            return status;
        }
        state().graphs.memory.push((graph.addr(), (*params).dptr.expose_provenance()));
        add(out, graph, dependencies, count, || ())
    }
}

unsafe extern "C" fn add_free(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    memory: *mut c_void,
) -> hipError_t {
    if !state().graphs.memory.contains(&(graph.addr(), memory.addr())) {
        return hipError_t::hipErrorInvalidValue;
    }
    // SAFETY: as the caller's.
    unsafe { add(out, graph, dependencies, count, || ()) }
}

unsafe extern "C" fn destroy_node(node: hipGraphNode_t) -> hipError_t {
    state().graphs.graphs.values_mut().for_each(|nodes| nodes.retain(|known| known.handle != node.addr()));
    OK
}

/// # Safety
/// The executable graph exists and has this node.
unsafe fn look<T>(executable: hipGraphExec_t, node: hipGraphNode_t, at: impl FnOnce(&mut bool) -> T) -> T {
    let mut state = state();
    let nodes = state.graphs.executables.get_mut(&executable.addr()).expect("an executable graph");
    at(&mut nodes.iter_mut().find(|(handle, ..)| *handle == node.addr()).expect("a node").2)
}

unsafe extern "C" fn set_enabled(exec: hipGraphExec_t, node: hipGraphNode_t, to: c_uint) -> hipError_t {
    // SAFETY: as the caller's.
    unsafe { look(exec, node, |enabled| *enabled = to != 0) };
    OK
}

unsafe extern "C" fn enabled(exec: hipGraphExec_t, node: hipGraphNode_t, out: *mut c_uint) -> hipError_t {
    // SAFETY: as the caller's, who gives a place.
    unsafe { *out = look(exec, node, |enabled| c_uint::from(*enabled)) };
    OK
}

unsafe extern "C" fn instantiate(
    out: *mut hipGraphExec_t,
    graph: hipGraph_t,
    _node: *mut hipGraphNode_t,
    _log: *mut c_char,
    _size: usize,
) -> hipError_t {
    let mut state = state();
    let executable = state.handle();
    let nodes = state.graphs.graphs[&graph.addr()].iter();
    let work = nodes.map(|node| (node.handle, node.work.clone(), true)).collect();
    state.graphs.executables.insert(executable, work);
    // SAFETY: the caller gives a place.
    unsafe { *out = handle(executable) };
    OK
}

unsafe extern "C" fn destroy_executable(executable: hipGraphExec_t) -> hipError_t {
    match state().graphs.executables.remove(&executable.addr()) {
        Some(_) => OK,
        None => hipError_t::hipErrorInvalidValue,
    }
}

unsafe extern "C" fn launch(executable: hipGraphExec_t, stream: hipStream_t) -> hipError_t {
    let (status, work) = {
        let mut state = state();
        let status = state.call(stream, "graph");
        (status, state.graphs.executables[&executable.addr()].clone())
    };
    if status == OK {
        work.iter().filter(|(.., enabled)| *enabled).for_each(|(_, work, _)| work());
    }
    status
}
