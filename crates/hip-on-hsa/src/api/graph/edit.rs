//! Querying, adding and removing nodes and edges of any kind.

use std::sync::Arc;

use hip_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipGraphNodeType};

use crate::caller;
use crate::error::{Result, entry};
use crate::graph::exec::exec;
use crate::graph::op::Op;
use crate::graph::structure::{Graph, NodeId, Nodes, graph, graph_nodes, node, node_list};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Adds a node, for the functions that do that. The operation is checked before the dependencies, as in AMD's
/// runtime.
///
/// # Safety
/// `out` is null or valid for writing; `dependencies` is null or has `count` readable handles.
pub(crate) unsafe fn add_node(
    out: *mut hipGraphNode_t,
    handle: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    op: impl FnOnce(&'static Runtime) -> Result<Op>,
) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    let graph = graph(runtime, handle)?;
    if count > 0 && dependencies.is_null() {
        return Err(INVALID_VALUE);
    }
    let op = op(runtime)?;
    // SAFETY: as this function's contract.
    let after = unsafe { node_list(runtime, &graph, dependencies, count) }?;
    let id = graph.add(runtime, op, &after)?;
    *out = graph.nodes().get(&id).map_or(0, |node| node.handle) as hipGraphNode_t;
    Ok(())
}

/// Reads a node's operation.
pub(crate) fn read<T>(handle: hipGraphNode_t, work: impl FnOnce(&Op) -> Result<T>) -> Result<T> {
    let (graph, id) = node(active()?, handle)?;
    let nodes = graph.nodes();
    work(&nodes.get(&id).ok_or(INVALID_VALUE)?.op)
}

/// Changes a node's operation.
pub(crate) fn change(handle: hipGraphNode_t, work: impl FnOnce(&mut Op) -> Result) -> Result {
    let (graph, id) = node(active()?, handle)?;
    let mut nodes = graph.nodes();
    work(&mut nodes.get_mut(&id).ok_or(INVALID_VALUE)?.op)
}

/// Changes the operation of a node in an executable graph; launches from now on use it.
pub(crate) fn change_exec(
    handle: hipGraphExec_t,
    node_handle: hipGraphNode_t,
    work: impl FnOnce(&mut Op) -> Result,
) -> Result {
    let runtime = active()?;
    let exec = exec(runtime, handle)?;
    let (_, id) = node(runtime, node_handle)?;
    exec.change(id, |step| work(&mut step.op))
}

/// Reads the operation of a node in an executable graph.
pub(crate) fn look_exec(
    handle: hipGraphExec_t,
    node_handle: hipGraphNode_t,
    work: impl FnOnce(&Op) -> Result,
) -> Result {
    let runtime = active()?;
    let exec = exec(runtime, handle)?;
    let (_, id) = node(runtime, node_handle)?;
    exec.look(id, |step| work(&step.op))
}

/// Writes handles to a caller's list, as HIP's list functions do: without a list, only their number; else as
/// many as fit, with null after the last one.
///
/// # Safety
/// Both are null or valid for writing, the list for as many handles as the number says.
unsafe fn put_list(handles: &[usize], list: *mut hipGraphNode_t, count: *mut usize) -> Result {
    // SAFETY: as this function's contract.
    let count = unsafe { caller::place(count) }?;
    if list.is_null() {
        *count = handles.len();
        return Ok(());
    }
    // SAFETY: as this function's contract.
    let places = unsafe { caller::places(list, *count) }?;
    *count = handles.len().min(*count);
    for (index, place) in places.iter_mut().enumerate() {
        *place = handles.get(index).copied().unwrap_or(0) as hipGraphNode_t;
    }
    Ok(())
}

fn handles<'a>(nodes: &Nodes, ids: impl IntoIterator<Item = &'a NodeId>) -> Vec<usize> {
    ids.into_iter().filter_map(|id| nodes.get(id)).map(|node| node.handle).collect()
}

/// `hipGraphGetNodes`: in the order of creation.
pub(crate) unsafe extern "C" fn hipGraphGetNodes(
    handle: hipGraph_t,
    list: *mut hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        let graph = graph(active()?, handle)?;
        let nodes = graph.nodes();
        // SAFETY: the caller's list has as many places as it says.
        unsafe { put_list(&handles(&nodes, nodes.keys()), list, count) }
    })
}

/// `hipGraphGetRootNodes`: nodes without dependencies.
pub(crate) unsafe extern "C" fn hipGraphGetRootNodes(
    handle: hipGraph_t,
    list: *mut hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        let graph = graph(active()?, handle)?;
        let nodes = graph.nodes();
        let roots = nodes.iter().filter(|(_, node)| node.after.is_empty()).map(|(id, _)| id);
        // SAFETY: the caller's list has as many places as it says.
        unsafe { put_list(&handles(&nodes, roots), list, count) }
    })
}

/// `hipGraphGetEdges`.
pub(crate) unsafe extern "C" fn hipGraphGetEdges(
    handle: hipGraph_t,
    from: *mut hipGraphNode_t,
    to: *mut hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        let graph = graph(active()?, handle)?;
        if from.is_null() != to.is_null() {
            return Err(INVALID_VALUE);
        }
        let nodes = graph.nodes();
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for node in nodes.values() {
            for before in handles(&nodes, &node.after) {
                starts.push(before);
                ends.push(node.handle);
            }
        }
        // SAFETY: the caller's lists have as many places as it says.
        unsafe {
            let mut room = *caller::place(count)?;
            put_list(&starts, from, &mut room)?;
            put_list(&ends, to, count)
        }
    })
}

/// `hipGraphNodeGetDependencies`: the nodes that this one waits for.
pub(crate) unsafe extern "C" fn hipGraphNodeGetDependencies(
    handle: hipGraphNode_t,
    list: *mut hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        let (graph, id) = node(active()?, handle)?;
        let nodes = graph.nodes();
        let after = &nodes.get(&id).ok_or(INVALID_VALUE)?.after;
        // SAFETY: the caller's list has as many places as it says.
        unsafe { put_list(&handles(&nodes, after), list, count) }
    })
}

/// `hipGraphNodeGetDependentNodes`: the nodes that wait for this one.
pub(crate) unsafe extern "C" fn hipGraphNodeGetDependentNodes(
    handle: hipGraphNode_t,
    list: *mut hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        let (graph, id) = node(active()?, handle)?;
        let nodes = graph.nodes();
        let waiting = nodes.iter().filter(|(_, node)| node.after.contains(&id)).map(|(id, _)| id);
        // SAFETY: the caller's list has as many places as it says.
        unsafe { put_list(&handles(&nodes, waiting), list, count) }
    })
}

/// `hipGraphNodeGetType`.
pub(crate) unsafe extern "C" fn hipGraphNodeGetType(
    handle: hipGraphNode_t,
    out: *mut hipGraphNodeType,
) -> hipError_t {
    entry(|| {
        let kind = read(handle, |op| Ok(op.kind()))?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = kind;
        Ok(())
    })
}

/// The edges described by two lists of nodes: their beginnings and ends.
///
/// # Safety
/// Both lists are null or have as many readable handles.
unsafe fn edges(
    runtime: &Runtime,
    owner: &Arc<Graph>,
    from: *const hipGraphNode_t,
    to: *const hipGraphNode_t,
    count: usize,
) -> Result<Vec<(NodeId, NodeId)>> {
    // SAFETY: as this function's contract.
    let (from, to) = unsafe { (caller::list(from, count)?, caller::list(to, count)?) };
    let mut edges = Vec::with_capacity(count.min(1024));
    for (&from, &to) in from.iter().zip(to) {
        let ((first, from), (second, to)) = (node(runtime, from)?, node(runtime, to)?);
        let same = Arc::ptr_eq(&first, owner) && Arc::ptr_eq(&second, owner);
        if !same || from == to || edges.contains(&(from, to)) {
            return Err(INVALID_VALUE);
        }
        edges.push((from, to));
    }
    Ok(edges)
}

/// Changes all edges, or none if one is invalid.
///
/// # Safety
/// As [`edges`].
unsafe fn change_edges(
    handle: hipGraph_t,
    (from, to, count): (*const hipGraphNode_t, *const hipGraphNode_t, usize),
    are_there: bool,
    change: impl Fn(&mut Vec<NodeId>, NodeId),
) -> Result {
    let runtime = active()?;
    let graph = graph(runtime, handle)?;
    // SAFETY: as this function's contract.
    let edges = unsafe { edges(runtime, &graph, from, to, count) }?;
    let mut nodes = graph.nodes();
    let is_there = |(from, to): &(NodeId, NodeId)| nodes.get(to).map(|node| node.after.contains(from));
    if edges.iter().any(|edge| is_there(edge) != Some(are_there)) {
        return Err(INVALID_VALUE);
    }
    for (from, to) in edges {
        if let Some(node) = nodes.get_mut(&to) {
            change(&mut node.after, from);
        }
    }
    Ok(())
}

/// `hipGraphAddDependencies`: all edges must be new, or none is added. Instantiation refuses cycles.
pub(crate) unsafe extern "C" fn hipGraphAddDependencies(
    handle: hipGraph_t,
    from: *const hipGraphNode_t,
    to: *const hipGraphNode_t,
    count: usize,
) -> hipError_t {
    // SAFETY: the caller's lists have as many handles.
    entry(|| unsafe { change_edges(handle, (from, to, count), false, |after, from| after.push(from)) })
}

/// `hipGraphRemoveDependencies`: all edges must exist, or none is removed.
pub(crate) unsafe extern "C" fn hipGraphRemoveDependencies(
    handle: hipGraph_t,
    from: *const hipGraphNode_t,
    to: *const hipGraphNode_t,
    count: usize,
) -> hipError_t {
    let remove = |after: &mut Vec<NodeId>, from| after.retain(|&id| id != from);
    // SAFETY: the caller's lists have as many handles.
    entry(|| unsafe { change_edges(handle, (from, to, count), true, remove) })
}

/// `hipGraphDestroyNode`: with its edges. Memory nodes stay as long as their graph.
pub(crate) unsafe extern "C" fn hipGraphDestroyNode(handle: hipGraphNode_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (graph, id) = node(runtime, handle)?;
        let mut nodes = graph.nodes();
        if nodes.get(&id).is_some_and(|node| node.op.has_memory()) {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let removed = nodes.remove(&id).ok_or(INVALID_VALUE)?;
        for node in nodes.values_mut() {
            node.after.retain(|&before| before != id);
        }
        drop(nodes);
        graph_nodes(runtime).remove(removed.handle);
        Ok(())
    })
}

/// `hipGraphClone`: graphs without memory nodes.
pub(crate) unsafe extern "C" fn hipGraphClone(out: *mut hipGraph_t, original: hipGraph_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        let clone = graph(runtime, original)?.duplicate(runtime)?;
        clone.nest(0)?;
        *out = clone.publish(runtime)?;
        Ok(())
    })
}

/// `hipGraphNodeFindInClone`.
pub(crate) unsafe extern "C" fn hipGraphNodeFindInClone(
    out: *mut hipGraphNode_t,
    original: hipGraphNode_t,
    clone: hipGraph_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        let (_, id) = node(runtime, original)?;
        let graph = graph(runtime, clone)?;
        let nodes = graph.nodes();
        let found = nodes.values().find(|node| node.source == Some(id)).ok_or(INVALID_VALUE)?;
        *out = found.handle as hipGraphNode_t;
        Ok(())
    })
}

/// Whether a node can be disabled.
fn can_rest(op: &Op) -> Result {
    match op {
        Op::Kernel(_) | Op::Copy(_) | Op::Fill(_) => Ok(()),
        _ => Err(INVALID_VALUE),
    }
}

/// `hipGraphNodeSetEnabled`: for kernels, copies and fills.
pub(crate) unsafe extern "C" fn hipGraphNodeSetEnabled(
    handle: hipGraphExec_t,
    node_handle: hipGraphNode_t,
    enabled: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let exec = exec(runtime, handle)?;
        let (_, id) = node(runtime, node_handle)?;
        exec.change(id, |step| {
            can_rest(&step.op)?;
            step.enabled = enabled != 0;
            Ok(())
        })
    })
}

/// `hipGraphNodeGetEnabled`: for kernels, copies and fills.
pub(crate) unsafe extern "C" fn hipGraphNodeGetEnabled(
    handle: hipGraphExec_t,
    node_handle: hipGraphNode_t,
    enabled: *mut u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let exec = exec(runtime, handle)?;
        let (_, id) = node(runtime, node_handle)?;
        // SAFETY: the caller passes null or a valid place.
        let enabled = unsafe { caller::place(enabled) }?;
        exec.look(id, |step| {
            can_rest(&step.op)?;
            *enabled = u32::from(step.enabled);
            Ok(())
        })
    })
}
