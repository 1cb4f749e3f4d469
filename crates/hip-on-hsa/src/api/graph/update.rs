//! Updating an executable graph from another graph of the same shape.
//!
//! Nodes are matched in the order of creation, so a graph captured by the same calls always fits.

use std::sync::Arc;

use hip_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult as Outcome, hipGraphNode_t};

use crate::caller;
use crate::error::{Result, entry};
use crate::graph::exec::exec;
use crate::graph::op::Op;
use crate::graph::steps::{Step, flatten};
use crate::graph::structure::{NodeId, graph, handle_within, node};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The reason why a graph cannot be updated, and the node of the new graph.
type Difference = (Outcome, Option<NodeId>);

/// Compares two lists of steps.
fn compare(old: &[Step], new: &[Step]) -> std::result::Result<(), Difference> {
    if old.len() != new.len() {
        return Err((Outcome::hipGraphExecUpdateErrorTopologyChanged, None));
    }
    for (old, new) in old.iter().zip(new) {
        let outcome = match (&old.op, &new.op) {
            _ if old.op.kind() != new.op.kind() => Outcome::hipGraphExecUpdateErrorNodeTypeChanged,
            _ if old.after != new.after || old.inner != new.inner => {
                Outcome::hipGraphExecUpdateErrorTopologyChanged
            }
            (Op::Kernel(old), Op::Kernel(new))
                if !std::ptr::eq(old.launch.function.code.device, new.launch.function.code.device) =>
            {
                Outcome::hipGraphExecUpdateErrorUnsupportedFunctionChange
            }
            // Memory belongs to the node that allocates it.
            (Op::Allocate(old), Op::Allocate(new)) if !Arc::ptr_eq(old, new) => {
                Outcome::hipGraphExecUpdateErrorNotSupported
            }
            (Op::Free(old), Op::Free(new)) if old != new => Outcome::hipGraphExecUpdateErrorNotSupported,
            _ => continue,
        };
        return Err((outcome, Some(new.id)));
    }
    Ok(())
}

/// Takes over the operations of matched steps.
fn take_over(old: &mut [Step], new: Vec<Step>) {
    for (old, new) in old.iter_mut().zip(new) {
        old.op = new.op;
    }
}

/// `hipGraphExecUpdate`: enabled and disabled nodes stay so. The new graph's user objects replace the old
/// ones, which are released after the launches so far. On failure, `result` gets the reason and the node of
/// `graph`.
pub(crate) unsafe extern "C" fn hipGraphExecUpdate(
    handle: hipGraphExec_t,
    graph_handle: hipGraph_t,
    error_node: *mut hipGraphNode_t,
    result: *mut Outcome,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (error_node, result) = unsafe { (caller::place(error_node)?, caller::place(result)?) };
        *result = Outcome::hipGraphExecUpdateError;
        let exec = exec(runtime, handle)?;
        let graph = graph(runtime, graph_handle)?;
        let new = flatten(&graph)?;
        let mut state = exec.lock();
        let (outcome, at) = match compare(&state.steps, &new) {
            Ok(()) => (Outcome::hipGraphExecUpdateSuccess, None),
            Err(difference) => difference,
        };
        *result = outcome;
        *error_node = at.and_then(|id| handle_within(&graph, id)).unwrap_or(0) as hipGraphNode_t;
        if outcome != Outcome::hipGraphExecUpdateSuccess {
            return Err(hipError_t::hipErrorGraphExecUpdateFailure);
        }
        let objects = graph.objects.duplicate(runtime)?;
        take_over(&mut state.steps, new);
        state.changed();
        state.let_go(runtime, exec.objects.replace(objects));
        Ok(())
    })
}

/// `hipGraphExecChildGraphNodeSetParams`: the child must have the same shape as the node's.
pub(crate) unsafe extern "C" fn hipGraphExecChildGraphNodeSetParams(
    handle: hipGraphExec_t,
    node_handle: hipGraphNode_t,
    child: hipGraph_t,
) -> hipError_t {
    entry(|| set_child(handle, node_handle, child))
}

pub(crate) fn set_child(handle: hipGraphExec_t, node_handle: hipGraphNode_t, child: hipGraph_t) -> Result {
    let runtime = active()?;
    let exec = exec(runtime, handle)?;
    let (_, id) = node(runtime, node_handle)?;
    let new = flatten(&*graph(runtime, child)?)?;
    let mut state = exec.lock();
    let place = *state.places.get(&id).ok_or(INVALID_VALUE)?;
    let step = &state.steps[place];
    if !matches!(step.op, Op::Child(_)) {
        return Err(INVALID_VALUE);
    }
    let range = place + 1..place + 1 + step.inner;
    let steps = &mut state.steps[range];
    compare(steps, &new).map_err(|_| INVALID_VALUE)?;
    take_over(steps, new);
    state.changed();
    Ok(())
}
