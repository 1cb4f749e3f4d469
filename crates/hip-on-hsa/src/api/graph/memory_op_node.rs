//! Nodes of operations on words of memory: waits for values, and writes of them.

use hip_sys::{hipBatchMemOpNodeParams, hipError_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t};

use crate::api::context::current;
use crate::api::graph::edit::{add_node, change, change_exec, read};
use crate::api::graph::plain_nodes::replace;
use crate::caller;
use crate::error::{Result, entry};
use crate::graph::op::Op;
use crate::memory::words::MemoryOps;
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The operation that parameters describe. The context is ignored, because the addresses are enough.
///
/// # Safety
/// The parameters are null or readable, and their list has the stated number of entries.
unsafe fn operations(runtime: &Runtime, parameters: *const hipBatchMemOpNodeParams) -> Result<Op> {
    // SAFETY: as this function's contract.
    let ops = unsafe {
        let p = caller::value(parameters)?;
        MemoryOps::of(p.paramArray, p.count, p.flags)?
    };
    ops.check(runtime, None)?;
    Ok(Op::Memory(ops))
}

/// `hipGraphAddBatchMemOpNode`.
pub(crate) unsafe extern "C" fn hipGraphAddBatchMemOpNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipBatchMemOpNodeParams,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| operations(runtime, parameters)) })
}

/// `hipGraphBatchMemOpNodeGetParams`: the list is the node's, valid until it ends or its list changes. The
/// context is the current device's.
pub(crate) unsafe extern "C" fn hipGraphBatchMemOpNodeGetParams(
    node: hipGraphNode_t,
    out: *mut hipBatchMemOpNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let ctx = current()?;
        *out = read(node, |op| match op {
            Op::Memory(ops) => Ok(hipBatchMemOpNodeParams {
                ctx,
                count: ops.params().len() as u32,
                paramArray: ops.params().as_ptr().cast_mut(),
                flags: 0,
            }),
            _ => Err(INVALID_VALUE),
        })?;
        Ok(())
    })
}

/// `hipGraphBatchMemOpNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphBatchMemOpNodeSetParams(
    node: hipGraphNode_t,
    parameters: *mut hipBatchMemOpNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller keeps the contract of the function.
        let ops = unsafe { operations(active()?, parameters) }?;
        change(node, |op| replace(op, ops))
    })
}

/// `hipGraphExecBatchMemOpNodeSetParams`: any number of operations.
pub(crate) unsafe extern "C" fn hipGraphExecBatchMemOpNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const hipBatchMemOpNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller keeps the contract of the function.
        let ops = unsafe { operations(active()?, parameters) }?;
        change_exec(exec, node, |op| replace(op, ops))
    })
}
