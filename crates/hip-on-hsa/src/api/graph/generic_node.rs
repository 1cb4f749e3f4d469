//! Nodes of any kind, described by one structure.

use hip_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipGraphNodeParams, hipGraphNodeType};

use crate::api::copy_param::transfer_3d;
use crate::api::graph::copy_node::{checked, fill};
use crate::api::graph::edit::{add_node, change, change_exec};
use crate::api::graph::kernel_node;
use crate::api::graph::plain_nodes::{child, host, record, replace, wait};
use crate::api::graph::{copy_node, update};
use crate::caller;
use crate::error::{Result, entry};
use crate::graph::memory::{allocation, free};
use crate::graph::op::Op;
use crate::object::launch::{axes, check_sizes};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The operation that parameters describe.
///
/// # Safety
/// The member that the type names is valid, as the function for nodes of that kind needs it.
unsafe fn operation(runtime: &'static Runtime, parameters: *mut hipGraphNodeParams) -> Result<Op> {
    type Kind = hipGraphNodeType;
    // SAFETY: as this function's contract.
    let p = unsafe { caller::place(parameters) }?;
    let member = &mut p.__bindgen_anon_1;
    // SAFETY: as this function's contract.
    unsafe {
        match p.type_ {
            Kind::hipGraphNodeTypeKernel => Ok(Op::Kernel(kernel_node::kernel(&member.kernel)?)),
            Kind::hipGraphNodeTypeMemcpy => checked(runtime, transfer_3d(&member.memcpy.copyParams)?),
            Kind::hipGraphNodeTypeMemset => fill(runtime, &member.memset),
            Kind::hipGraphNodeTypeHost => host(&member.host),
            Kind::hipGraphNodeTypeGraph => child(runtime, member.graph.graph),
            Kind::hipGraphNodeTypeEmpty => Ok(Op::Empty),
            Kind::hipGraphNodeTypeWaitEvent => wait(runtime, member.eventWait.event),
            Kind::hipGraphNodeTypeEventRecord => record(runtime, member.eventRecord.event),
            Kind::hipGraphNodeTypeMemAlloc => allocation(runtime, &mut member.alloc),
            Kind::hipGraphNodeTypeMemFree => free(member.free.dptr),
            Kind::hipGraphNodeTypeExtSemaphoreSignal
            | Kind::hipGraphNodeTypeExtSemaphoreWait
            | Kind::hipGraphNodeTypeMemcpyFromSymbol
            | Kind::hipGraphNodeTypeMemcpyToSymbol
            | Kind::hipGraphNodeTypeBatchMemOp => Err(hipError_t::hipErrorNotSupported),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The new operation of a node, if its parameters can be changed.
///
/// # Safety
/// As [`operation`].
unsafe fn changed(runtime: &'static Runtime, parameters: *mut hipGraphNodeParams) -> Result<Op> {
    type Kind = hipGraphNodeType;
    // SAFETY: as this function's contract.
    match unsafe { caller::value(parameters) }?.type_ {
        Kind::hipGraphNodeTypeMemAlloc
        | Kind::hipGraphNodeTypeMemFree
        | Kind::hipGraphNodeTypeEmpty
        | Kind::hipGraphNodeTypeGraph => Err(hipError_t::hipErrorNotSupported),
        // SAFETY: as this function's contract.
        kind => unsafe {
            if kind == Kind::hipGraphNodeTypeKernel {
                let kernel = &(*parameters).__bindgen_anon_1.kernel;
                check_sizes(axes(kernel.gridDim), axes(kernel.blockDim))?;
            }
            operation(runtime, parameters)
        },
    }
}

/// `hipGraphAddNode`: no semaphores, symbols or batches of memory operations.
pub(crate) unsafe extern "C" fn hipGraphAddNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *mut hipGraphNodeParams,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| operation(runtime, parameters)) })
}

/// `hipGraphNodeSetParams`: parameters of the node's kind. Memory nodes, children and empty nodes have none
/// to set.
pub(crate) unsafe extern "C" fn hipGraphNodeSetParams(
    node: hipGraphNode_t,
    parameters: *mut hipGraphNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller keeps the contract of the function.
        match unsafe { changed(active()?, parameters) }? {
            Op::Kernel(kernel) => change(node, |op| kernel_node::replace(op, kernel)),
            other => change(node, |op| replace(op, other)),
        }
    })
}

/// `hipGraphExecNodeSetParams`: parameters of the node's kind.
pub(crate) unsafe extern "C" fn hipGraphExecNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *mut hipGraphNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let p = unsafe { caller::value(parameters) }?;
        if p.type_ == hipGraphNodeType::hipGraphNodeTypeGraph {
            // SAFETY: the type says which member is valid.
            return update::set_child(exec, node, unsafe { p.__bindgen_anon_1.graph.graph });
        }
        let runtime = active()?;
        // SAFETY: the caller keeps the contract of the function.
        match unsafe { changed(runtime, parameters) }? {
            Op::Kernel(kernel) => change_exec(exec, node, |op| kernel_node::replace_exec(op, kernel)),
            other => change_exec(exec, node, |op| copy_node::replace_exec(runtime, op, other)),
        }
    })
}
