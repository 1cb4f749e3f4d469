//! Graphs as a whole.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUgraphEdgeData, CUgraphExecUpdateResultInfo, CUgraphMem_attribute, CUresult};
use hip_sys::{
    hipError_t, hipGraph_t, hipGraphExec_t, hipGraphExecUpdateResult, hipGraphMemAttributeType,
    hipGraphNode_t, hipGraphNodeType, hipHostFn_t, hipStream_t, hipUserObject_t,
};

use crate::call::{call, same, steps};
use crate::runtime::check;

/// `hipGraphInstantiate`. The driver writes no log.
pub(crate) unsafe extern "C" fn hipGraphInstantiate(
    exec: *mut hipGraphExec_t,
    graph: hipGraph_t,
    _error_node: *mut hipGraphNode_t,
    _log: *mut c_char,
    _log_size: usize,
) -> hipError_t {
    // SAFETY: the graph is the caller's, who passes a place.
    unsafe { hipGraphInstantiateWithFlags(exec, graph, 0) }
}

/// `hipGraphExecUpdate`.
pub(crate) unsafe extern "C" fn hipGraphExecUpdate(
    exec: hipGraphExec_t,
    graph: hipGraph_t,
    error_node: *mut hipGraphNode_t,
    result: *mut hipGraphExecUpdateResult,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the structure is made of a number and pointers, for which zeroes are valid.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        // SAFETY: both graphs are the caller's.
        let updated = unsafe { (cuda.cuGraphExecUpdate_v2)(exec.cast(), graph.cast(), &raw mut info) };
        // Attributes that changed are parameters for HIP.
        let told = match info.result.0 {
            told @ 0..=7 => hipGraphExecUpdateResult(told as _),
            _ => hipGraphExecUpdateResult::hipGraphExecUpdateErrorParametersChanged,
        };
        // SAFETY: the caller passes null or places.
        unsafe {
            if let Some(place) = error_node.as_mut() {
                *place = info.errorNode.cast();
            }
            if let Some(place) = result.as_mut() {
                *place = told;
            }
        }
        check(updated)
    })
}

/// `hipGraphGetEdges`. With null places, how many there are.
pub(crate) unsafe extern "C" fn hipGraphGetEdges(
    graph: hipGraph_t,
    from: *mut hipGraphNode_t,
    to: *mut hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    // SAFETY: the graph is the caller's, who passes null or places for so many.
    call(|cuda| unsafe {
        if cuda.has("cuGraphGetEdges_v2") {
            // HIP does not ask for this, but without a place for it edges between overlapping kernels are an
            // error.
            let places = if from.is_null() || to.is_null() || count.is_null() { 0 } else { *count };
            let none = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
            let mut data = vec![none; places];
            let data = if places == 0 { null_mut() } else { data.as_mut_ptr() };
            (cuda.cuGraphGetEdges_v2)(graph.cast(), from.cast(), to.cast(), data, count)
        } else {
            (cuda.cuGraphGetEdges)(graph.cast(), from.cast(), to.cast(), count)
        }
    })
}

/// `hipGraphAddDependencies`.
pub(crate) unsafe extern "C" fn hipGraphAddDependencies(
    graph: hipGraph_t,
    from: *const hipGraphNode_t,
    to: *const hipGraphNode_t,
    count: usize,
) -> hipError_t {
    // SAFETY: the graph and its nodes are the caller's, who passes so many.
    call(|cuda| unsafe {
        if cuda.has("cuGraphAddDependencies_v2") {
            (cuda.cuGraphAddDependencies_v2)(graph.cast(), from.cast(), to.cast(), std::ptr::null(), count)
        } else {
            (cuda.cuGraphAddDependencies)(graph.cast(), from.cast(), to.cast(), count)
        }
    })
}

/// `hipGraphNodeGetType`. Kinds that HIP does not have are `hipErrorNotSupported`.
pub(crate) unsafe extern "C" fn hipGraphNodeGetType(
    node: hipGraphNode_t,
    kind: *mut hipGraphNodeType,
) -> hipError_t {
    steps(|cuda| {
        let mut found = cuda_sys::CUgraphNodeType(0);
        // SAFETY: the node is the caller's, and the result a place to write to.
        check(unsafe { (cuda.cuGraphNodeGetType)(node.cast(), &raw mut found) })?;
        let told = match found.0 {
            same @ 0..=11 => hipGraphNodeType(same as _),
            12 => hipGraphNodeType::hipGraphNodeTypeBatchMemOp,
            _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        };
        // SAFETY: the caller passes null or a place.
        *unsafe { kind.as_mut() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)? = told;
        Ok(())
    })
}

same! {
    hipGraphCreate(graph: *mut hipGraph_t, flags: c_uint) => cuGraphCreate(graph.cast(), flags);
    hipGraphDestroy(graph: hipGraph_t) => cuGraphDestroy(graph.cast());
    hipGraphClone(clone: *mut hipGraph_t, graph: hipGraph_t) => cuGraphClone(clone.cast(), graph.cast());
    hipGraphNodeFindInClone(node: *mut hipGraphNode_t, original: hipGraphNode_t, clone: hipGraph_t)
        => cuGraphNodeFindInClone(node.cast(), original.cast(), clone.cast());
    hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize)
        => cuGraphGetNodes(graph.cast(), nodes.cast(), count);
    hipGraphGetRootNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, count: *mut usize)
        => cuGraphGetRootNodes(graph.cast(), nodes.cast(), count);
    hipGraphDestroyNode(node: hipGraphNode_t) => cuGraphDestroyNode(node.cast());
    hipGraphInstantiateWithFlags(exec: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong)
        => cuGraphInstantiateWithFlags(exec.cast(), graph.cast(), flags);
    hipGraphExecDestroy(exec: hipGraphExec_t) => cuGraphExecDestroy(exec.cast());
    hipGraphLaunch(exec: hipGraphExec_t, stream: hipStream_t) => cuGraphLaunch(exec.cast(), stream.cast());
    hipGraphUpload(exec: hipGraphExec_t, stream: hipStream_t) => cuGraphUpload(exec.cast(), stream.cast());
    hipGraphNodeGetEnabled(exec: hipGraphExec_t, node: hipGraphNode_t, enabled: *mut c_uint)
        => cuGraphNodeGetEnabled(exec.cast(), node.cast(), enabled);
    hipGraphNodeSetEnabled(exec: hipGraphExec_t, node: hipGraphNode_t, enabled: c_uint)
        => cuGraphNodeSetEnabled(exec.cast(), node.cast(), enabled);
    hipGraphDebugDotPrint(graph: hipGraph_t, path: *const c_char, flags: c_uint)
        => cuGraphDebugDotPrint(graph.cast(), path, flags);
    hipDeviceGraphMemTrim(device: c_int) => cuDeviceGraphMemTrim(device);
    hipDeviceGetGraphMemAttribute(device: c_int, which: hipGraphMemAttributeType, value: *mut c_void)
        => cuDeviceGetGraphMemAttribute(device, CUgraphMem_attribute(which.0 as _), value);
    hipDeviceSetGraphMemAttribute(device: c_int, which: hipGraphMemAttributeType, value: *mut c_void)
        => cuDeviceSetGraphMemAttribute(device, CUgraphMem_attribute(which.0 as _), value);
    hipUserObjectCreate(object: *mut hipUserObject_t, data: *mut c_void, destroy: hipHostFn_t, count: c_uint, flags: c_uint)
        => cuUserObjectCreate(object.cast(), data, destroy, count, flags);
    hipUserObjectRetain(object: hipUserObject_t, count: c_uint) => cuUserObjectRetain(object.cast(), count);
    hipUserObjectRelease(object: hipUserObject_t, count: c_uint) => cuUserObjectRelease(object.cast(), count);
    hipGraphRetainUserObject(graph: hipGraph_t, object: hipUserObject_t, count: c_uint, flags: c_uint)
        => cuGraphRetainUserObject(graph.cast(), object.cast(), count, flags);
    hipGraphReleaseUserObject(graph: hipGraph_t, object: hipUserObject_t, count: c_uint)
        => cuGraphReleaseUserObject(graph.cast(), object.cast(), count);
}
