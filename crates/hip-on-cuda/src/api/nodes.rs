//! Nodes of graphs.

use std::ffi::c_void;

use cuda_sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUkernelNodeAttrID, CUmemAccessDesc, CUresult, Table,
};
use hip_sys::{
    hipError_t, hipEvent_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipHostNodeParams,
    hipKernelNodeParams, hipLaunchAttributeID, hipLaunchAttributeValue, hipMemAllocNodeParams,
    hipMemcpy3DParms, hipMemcpyKind, hipMemsetParams,
};

use super::convert::{self, address};
use super::kernel::allow_dynamic_lds;
use crate::call::{same, steps};
use crate::runtime::{check, context, current};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A kernel node's parameters; its kernel may have the LDS that it asks for.
///
/// # Safety
/// Null, or parameters of a kernel that is loaded.
unsafe fn kernel_node(
    cuda: &Table,
    parameters: *const hipKernelNodeParams,
) -> Result<CUDA_KERNEL_NODE_PARAMS, CUresult> {
    // SAFETY: the caller's promise.
    let node = convert::kernel_node(unsafe { parameters.as_ref() }.ok_or(INVALID)?);
    // SAFETY: the kernel is loaded.
    unsafe { allow_dynamic_lds(cuda, node.func, node.sharedMemBytes as usize)? };
    Ok(node)
}

/// `hipGraphAddKernelNode`.
pub(crate) unsafe extern "C" fn hipGraphAddKernelNode(
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipKernelNodeParams,
) -> hipError_t {
    // SAFETY: graph, nodes and kernel are the caller's, who passes a place.
    steps(|cuda| unsafe {
        let parameters = kernel_node(cuda, parameters)?;
        check((cuda.cuGraphAddKernelNode_v2)(
            node.cast(),
            graph.cast(),
            before.cast(),
            count,
            &raw const parameters,
        ))
    })
}

/// `hipGraphExecKernelNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphExecKernelNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const hipKernelNodeParams,
) -> hipError_t {
    // SAFETY: graph, node and kernel are the caller's.
    steps(|cuda| unsafe {
        let parameters = kernel_node(cuda, parameters)?;
        check((cuda.cuGraphExecKernelNodeSetParams_v2)(exec.cast(), node.cast(), &raw const parameters))
    })
}

/// `hipGraphKernelNodeGetParams`. Its arguments stay the node's.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeGetParams(
    node: hipGraphNode_t,
    parameters: *mut hipKernelNodeParams,
) -> hipError_t {
    steps(|cuda| {
        let mut of = CUDA_KERNEL_NODE_PARAMS::default();
        // SAFETY: the node is the caller's.
        check(unsafe { (cuda.cuGraphKernelNodeGetParams_v2)(node.cast(), &raw mut of) })?;
        // A kernel of a library, which HIP has no handle for.
        if of.func.is_null() {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        // SAFETY: the caller passes null or a place.
        *unsafe { parameters.as_mut() }.ok_or(INVALID)? = convert::kernel_node_back(&of);
        Ok(())
    })
}

/// `hipGraphMemcpyNodeGetParams`, of copies between memory that is no array.
pub(crate) unsafe extern "C" fn hipGraphMemcpyNodeGetParams(
    node: hipGraphNode_t,
    copy: *mut hipMemcpy3DParms,
) -> hipError_t {
    steps(|cuda| {
        let mut of = CUDA_MEMCPY3D::default();
        // SAFETY: the node is the caller's.
        check(unsafe { (cuda.cuGraphMemcpyNodeGetParams)(node.cast(), &raw mut of) })?;
        // SAFETY: the caller passes null or a place.
        *unsafe { copy.as_mut() }.ok_or(INVALID)? = convert::copy_box_back(cuda, &of)?;
        Ok(())
    })
}

/// `hipGraphMemsetNodeGetParams`.
pub(crate) unsafe extern "C" fn hipGraphMemsetNodeGetParams(
    node: hipGraphNode_t,
    parameters: *mut hipMemsetParams,
) -> hipError_t {
    steps(|cuda| {
        let mut of = CUDA_MEMSET_NODE_PARAMS::default();
        // SAFETY: the node is the caller's.
        check(unsafe { (cuda.cuGraphMemsetNodeGetParams)(node.cast(), &raw mut of) })?;
        // SAFETY: the caller passes null or a place.
        *unsafe { parameters.as_mut() }.ok_or(INVALID)? = hipMemsetParams {
            dst: of.dst as *mut c_void,
            elementSize: of.elementSize,
            height: of.height,
            pitch: of.pitch,
            value: of.value,
            width: of.width,
        };
        Ok(())
    })
}

/// Whether both vendors have the attribute, under this number, with a value of this form.
fn attribute(of: hipLaunchAttributeID) -> Result<CUkernelNodeAttrID, CUresult> {
    match of.0 {
        1..=3 | 8..=10 => Ok(CUkernelNodeAttrID(of.0 as _)),
        _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}

/// `hipGraphKernelNodeSetAttribute`.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeSetAttribute(
    node: hipGraphNode_t,
    which: hipLaunchAttributeID,
    value: *const hipLaunchAttributeValue,
) -> hipError_t {
    steps(|cuda| {
        let which = attribute(which)?;
        // SAFETY: the node is the caller's; values have 64 bytes for both vendors.
        check(unsafe { (cuda.cuGraphKernelNodeSetAttribute)(node.cast(), which, value.cast()) })
    })
}

/// `hipGraphKernelNodeGetAttribute`.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeGetAttribute(
    node: hipGraphNode_t,
    which: hipLaunchAttributeID,
    value: *mut hipLaunchAttributeValue,
) -> hipError_t {
    steps(|cuda| {
        let which = attribute(which)?;
        // SAFETY: the node is the caller's; values have 64 bytes for both vendors.
        check(unsafe { (cuda.cuGraphKernelNodeGetAttribute)(node.cast(), which, value.cast()) })
    })
}

/// Adds a copy, which runs in the context of the current device.
///
/// # Safety
/// Graph and nodes are valid, the node is a place, and the memory is there when the graph runs.
unsafe fn add_copy(
    cuda: &Table,
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    copy: &CUDA_MEMCPY3D,
) -> Result<(), CUresult> {
    let context = context(cuda, current(cuda))?;
    // SAFETY: the caller's promise.
    check(unsafe {
        (cuda.cuGraphAddMemcpyNode)(
            node.cast(),
            graph.cast(),
            before.cast(),
            count,
            std::ptr::from_ref(copy),
            context,
        )
    })
}

/// `hipGraphAddMemcpyNode`.
pub(crate) unsafe extern "C" fn hipGraphAddMemcpyNode(
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    copy: *const hipMemcpy3DParms,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract.
    steps(|cuda| unsafe {
        let copy = convert::copy_box(copy.as_ref().ok_or(INVALID)?)?;
        add_copy(cuda, node, graph, before, count, &copy)
    })
}

/// `hipGraphAddMemcpyNode1D`.
pub(crate) unsafe extern "C" fn hipGraphAddMemcpyNode1D(
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    _kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract.
    steps(|cuda| unsafe { add_copy(cuda, node, graph, before, count, &convert::copy_line(to, from, bytes)) })
}

/// `hipGraphAddMemsetNode`.
pub(crate) unsafe extern "C" fn hipGraphAddMemsetNode(
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipMemsetParams,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or parameters.
        let of = unsafe { parameters.as_ref() }.ok_or(INVALID)?;
        let parameters = CUDA_MEMSET_NODE_PARAMS {
            dst: address(of.dst),
            pitch: of.pitch,
            value: of.value,
            elementSize: of.elementSize,
            width: of.width,
            height: of.height,
        };
        let context = context(cuda, current(cuda))?;
        // SAFETY: graph and nodes are the caller's, who passes a place and vouches for the memory.
        check(unsafe {
            (cuda.cuGraphAddMemsetNode)(
                node.cast(),
                graph.cast(),
                before.cast(),
                count,
                &raw const parameters,
                context,
            )
        })
    })
}

/// `hipGraphAddHostNode`.
pub(crate) unsafe extern "C" fn hipGraphAddHostNode(
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipHostNodeParams,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or parameters.
        let of = unsafe { parameters.as_ref() }.ok_or(INVALID)?;
        // SAFETY: the structure is made of pointers and numbers, for which zeroes are valid.
        let mut parameters: CUDA_HOST_NODE_PARAMS = unsafe { std::mem::zeroed() };
        (parameters.fn_, parameters.userData) = (of.fn_, of.userData);
        // SAFETY: graph and nodes are the caller's, who passes a place and vouches for the function.
        check(unsafe {
            (cuda.cuGraphAddHostNode)(node.cast(), graph.cast(), before.cast(), count, &raw const parameters)
        })
    })
}

/// `hipGraphAddMemAllocNode`.
pub(crate) unsafe extern "C" fn hipGraphAddMemAllocNode(
    node: *mut hipGraphNode_t,
    graph: hipGraph_t,
    before: *const hipGraphNode_t,
    count: usize,
    parameters: *mut hipMemAllocNodeParams,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or parameters.
        let of = unsafe { parameters.as_mut() }.ok_or(INVALID)?;
        let access: Vec<CUmemAccessDesc> = match of.accessDescCount {
            0 => Vec::new(),
            _ if of.accessDescs.is_null() => return Err(INVALID),
            // SAFETY: the caller passes so many.
            count => unsafe { std::slice::from_raw_parts(of.accessDescs, count) }
                .iter()
                .map(convert::access)
                .collect(),
        };
        // SAFETY: the structure is made of numbers and pointers, for which zeroes are valid.
        let mut parameters: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
        parameters.poolProps = convert::pool(&of.poolProps)?;
        (parameters.accessDescs, parameters.accessDescCount) = (access.as_ptr(), access.len());
        parameters.bytesize = of.bytesize;
        // SAFETY: graph and nodes are the caller's, who passes a place.
        check(unsafe {
            (cuda.cuGraphAddMemAllocNode)(
                node.cast(),
                graph.cast(),
                before.cast(),
                count,
                &raw mut parameters,
            )
        })?;
        of.dptr = std::ptr::with_exposed_provenance_mut(parameters.dptr as usize);
        Ok(())
    })
}

same! {
    hipGraphAddEmptyNode(node: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize)
        => cuGraphAddEmptyNode(node.cast(), graph.cast(), before.cast(), count);
    hipGraphAddEventRecordNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, event: hipEvent_t,
    ) => cuGraphAddEventRecordNode(node.cast(), graph.cast(), before.cast(), count, event.cast());
    hipGraphAddEventWaitNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, event: hipEvent_t,
    ) => cuGraphAddEventWaitNode(node.cast(), graph.cast(), before.cast(), count, event.cast());
    hipGraphAddChildGraphNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, child: hipGraph_t,
    ) => cuGraphAddChildGraphNode(node.cast(), graph.cast(), before.cast(), count, child.cast());
    hipGraphAddMemFreeNode(
        node: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, pointer: *mut c_void,
    ) => cuGraphAddMemFreeNode(node.cast(), graph.cast(), before.cast(), count, address(pointer));
}
