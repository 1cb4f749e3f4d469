//! Simple nodes: host functions, events, children, empty nodes.

use hip_sys::{hipError_t, hipEvent_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipHostNodeParams};

use crate::api::graph::edit::{add_node, change, change_exec, read};
use crate::caller;
use crate::error::{Result, entry};
use crate::graph::op::{EventOp, Op};
use crate::graph::structure::graph;
use crate::object::event;
use crate::object::host_function::{HostFunction, UserData};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipGraphAddEmptyNode`: others can wait for it.
pub(crate) unsafe extern "C" fn hipGraphAddEmptyNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |_| Ok(Op::Empty)) })
}

/// # Safety
/// The parameters are null or readable.
pub(crate) unsafe fn host(parameters: *const hipHostNodeParams) -> Result<Op> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    Ok(Op::Host(HostFunction { function: p.fn_.ok_or(INVALID_VALUE)?, data: UserData(p.userData) }))
}

/// `hipGraphAddHostNode`.
pub(crate) unsafe extern "C" fn hipGraphAddHostNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipHostNodeParams,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |_| host(parameters)) })
}

/// `hipGraphHostNodeGetParams`.
pub(crate) unsafe extern "C" fn hipGraphHostNodeGetParams(
    node: hipGraphNode_t,
    out: *mut hipHostNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = read(node, |op| match op {
            Op::Host(host) => Ok(hipHostNodeParams { fn_: Some(host.function), userData: host.data.get() }),
            _ => Err(INVALID_VALUE),
        })?;
        Ok(())
    })
}

/// Replaces a node's operation with another of the same kind.
pub(crate) fn replace(op: &mut Op, other: Op) -> Result {
    if op.kind() != other.kind() {
        return Err(INVALID_VALUE);
    }
    *op = other;
    Ok(())
}

/// `hipGraphHostNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphHostNodeSetParams(
    node: hipGraphNode_t,
    parameters: *const hipHostNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let host = unsafe { host(parameters) }?;
        change(node, |op| replace(op, host))
    })
}

/// `hipGraphExecHostNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphExecHostNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const hipHostNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let host = unsafe { host(parameters) }?;
        change_exec(exec, node, |op| replace(op, host))
    })
}

fn event_op(runtime: &Runtime, handle: hipEvent_t) -> Result<EventOp> {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    Ok(EventOp { event: event::find(runtime, handle)?, handle: handle as usize })
}

/// An operation that records the event.
pub(crate) fn record(runtime: &Runtime, handle: hipEvent_t) -> Result<Op> {
    event_op(runtime, handle).map(Op::Record)
}

/// An operation that waits for the event.
pub(crate) fn wait(runtime: &Runtime, handle: hipEvent_t) -> Result<Op> {
    event_op(runtime, handle).map(Op::Wait)
}

/// The event of a node, if `of` accepts its kind.
///
/// # Safety
/// `out` is null or valid for writing.
unsafe fn get_event(node: hipGraphNode_t, out: *mut hipEvent_t, of: fn(&Op) -> Option<&EventOp>) -> Result {
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    *out = read(node, |op| Ok(of(op).ok_or(INVALID_VALUE)?.handle))? as hipEvent_t;
    Ok(())
}

/// `hipGraphAddEventRecordNode`.
pub(crate) unsafe extern "C" fn hipGraphAddEventRecordNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    event: hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| record(runtime, event)) })
}

/// `hipGraphEventRecordNodeGetEvent`.
pub(crate) unsafe extern "C" fn hipGraphEventRecordNodeGetEvent(
    node: hipGraphNode_t,
    out: *mut hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe {
        get_event(node, out, |op| if let Op::Record(event) = op { Some(event) } else { None })
    })
}

/// `hipGraphEventRecordNodeSetEvent`.
pub(crate) unsafe extern "C" fn hipGraphEventRecordNodeSetEvent(
    node: hipGraphNode_t,
    event: hipEvent_t,
) -> hipError_t {
    entry(|| {
        let record = record(active()?, event)?;
        change(node, |op| replace(op, record))
    })
}

/// `hipGraphExecEventRecordNodeSetEvent`.
pub(crate) unsafe extern "C" fn hipGraphExecEventRecordNodeSetEvent(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    event: hipEvent_t,
) -> hipError_t {
    entry(|| {
        let record = record(active()?, event)?;
        change_exec(exec, node, |op| replace(op, record))
    })
}

/// `hipGraphAddEventWaitNode`.
pub(crate) unsafe extern "C" fn hipGraphAddEventWaitNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    event: hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| wait(runtime, event)) })
}

/// `hipGraphEventWaitNodeGetEvent`.
pub(crate) unsafe extern "C" fn hipGraphEventWaitNodeGetEvent(
    node: hipGraphNode_t,
    out: *mut hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { get_event(node, out, |op| if let Op::Wait(event) = op { Some(event) } else { None }) })
}

/// `hipGraphEventWaitNodeSetEvent`.
pub(crate) unsafe extern "C" fn hipGraphEventWaitNodeSetEvent(
    node: hipGraphNode_t,
    event: hipEvent_t,
) -> hipError_t {
    entry(|| {
        let wait = wait(active()?, event)?;
        change(node, |op| replace(op, wait))
    })
}

/// `hipGraphExecEventWaitNodeSetEvent`.
pub(crate) unsafe extern "C" fn hipGraphExecEventWaitNodeSetEvent(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    event: hipEvent_t,
) -> hipError_t {
    entry(|| {
        let wait = wait(active()?, event)?;
        change_exec(exec, node, |op| replace(op, wait))
    })
}

/// An operation that runs a copy of the graph.
pub(crate) fn child(runtime: &Runtime, handle: hipGraph_t) -> Result<Op> {
    Ok(Op::Child(graph(runtime, handle)?.duplicate(runtime)?))
}

/// `hipGraphAddChildGraphNode`: the child is copied in its current state. `hipErrorInvalidValue` for more
/// than 64 levels of nesting.
pub(crate) unsafe extern "C" fn hipGraphAddChildGraphNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    child_graph: hipGraph_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| child(runtime, child_graph)) })
}

/// `hipGraphChildGraphNodeGetGraph`: the node's own copy. Changes affect later instantiations.
pub(crate) unsafe extern "C" fn hipGraphChildGraphNodeGetGraph(
    node: hipGraphNode_t,
    out: *mut hipGraph_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        *out = read(node, |op| match op {
            Op::Child(child) => child.lend(runtime),
            _ => Err(INVALID_VALUE),
        })?;
        Ok(())
    })
}
