//! Kernel nodes: their parameters and attributes.

use hip_sys::{
    dim3, hipError_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipKernelNodeParams, hipLaunchAttributeID,
    hipLaunchAttributeValue,
};

use crate::api::graph::edit::{add_node, change, change_exec, read};
use crate::api::launch::packed;
use crate::caller;
use crate::devices::attributes::Window;
use crate::error::{Result, entry};
use crate::graph::op::{KernelOp, Op};
use crate::object::launch::{Grid, Launch, axes};
use crate::object::symbols::by_pointer;
use crate::queue::arguments::Explicit;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The launch that parameters describe. The function is a host stub's address, for the current device, or a
/// function's handle.
///
/// # Safety
/// The parameters are null or readable, and their arguments are as `hipModuleLaunchKernel` needs them.
pub(crate) unsafe fn kernel(parameters: *const hipKernelNodeParams) -> Result<KernelOp> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    let found = by_pointer(p.func)?;
    let arguments = match (p.kernelParams.is_null(), p.extra.is_null()) {
        (false, true) => Explicit::Pointers(p.kernelParams),
        // SAFETY: as this function's contract.
        (true, false) => unsafe { packed(p.extra) }?,
        (true, true) => Explicit::None,
        (false, false) => return Err(INVALID_VALUE),
    };
    let grid = Grid::Blocks(axes(p.gridDim));
    let launch = Launch::new(found, grid, axes(p.blockDim), p.sharedMemBytes, false)?;
    launch.function.layout.accepts(arguments)?;
    // SAFETY: as this function's contract; the layout has agreed to the arguments.
    Ok(unsafe { KernelOp::new(launch, p.func as usize, arguments) })
}

/// As [`kernel`], for the functions of kernel nodes, which return a bad value for a missing function.
///
/// # Safety
/// As [`kernel`].
unsafe fn named_kernel(parameters: *const hipKernelNodeParams) -> Result<KernelOp> {
    // SAFETY: as this function's contract.
    match unsafe { caller::value(parameters) }?.func.is_null() {
        true => Err(INVALID_VALUE),
        // SAFETY: as this function's contract.
        false => unsafe { kernel(parameters) },
    }
}

fn as_kernel(op: &Op) -> Result<&KernelOp> {
    match op {
        Op::Kernel(kernel) => Ok(kernel),
        _ => Err(INVALID_VALUE),
    }
}

/// Replaces the parameters of a kernel node; its attributes stay.
pub(crate) fn replace(op: &mut Op, mut kernel: KernelOp) -> Result {
    let before = as_kernel(op)?;
    kernel.attributes = before.attributes;
    if before.launch.cooperative {
        kernel.launch = kernel.launch.with_cooperation(true)?;
    }
    *op = Op::Kernel(kernel);
    Ok(())
}

/// `hipGraphAddKernelNode`: the arguments are copied.
pub(crate) unsafe extern "C" fn hipGraphAddKernelNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipKernelNodeParams,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe {
        add_node(out, graph, dependencies, count, |_| Ok(Op::Kernel(named_kernel(parameters)?)))
    })
}

/// `hipGraphKernelNodeGetParams`: the arguments are the node's own, valid until it ends or its parameters
/// change.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeGetParams(
    node: hipGraphNode_t,
    out: *mut hipKernelNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = read(node, |op| {
            let KernelOp { launch, arguments, handle, .. } = as_kernel(op)?;
            let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
            Ok(hipKernelNodeParams {
                blockDim: dim(launch.dispatch.block),
                extra: std::ptr::null_mut(),
                func: *handle as *mut _,
                gridDim: dim(launch.blocks),
                kernelParams: arguments.pointers(),
                sharedMemBytes: launch.dynamic_lds,
            })
        })?;
        Ok(())
    })
}

/// `hipGraphKernelNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeSetParams(
    node: hipGraphNode_t,
    parameters: *const hipKernelNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller keeps the contract of the function.
        let kernel = unsafe { named_kernel(parameters) }?;
        change(node, |op| replace(op, kernel))
    })
}

/// `hipGraphExecKernelNodeSetParams`: any function of the same device.
pub(crate) unsafe extern "C" fn hipGraphExecKernelNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const hipKernelNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller keeps the contract of the function.
        let kernel = unsafe { named_kernel(parameters) }?;
        change_exec(exec, node, |op| replace_exec(op, kernel))
    })
}

/// As [`replace`], in an executable graph.
pub(crate) fn replace_exec(op: &mut Op, kernel: KernelOp) -> Result {
    let before = as_kernel(op)?.launch.function.code.device;
    if !std::ptr::eq(before, kernel.launch.function.code.device) {
        return Err(INVALID_VALUE);
    }
    replace(op, kernel)
}

/// `hipGraphKernelNodeSetAttribute`: cooperation is a property of the launch; priority and access policy are
/// stored and have no effect.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeSetAttribute(
    node: hipGraphNode_t,
    attribute: hipLaunchAttributeID,
    value: *const hipLaunchAttributeValue,
) -> hipError_t {
    entry(|| {
        type A = hipLaunchAttributeID;
        // SAFETY: the caller passes null or a valid value.
        let value = unsafe { caller::value(value) }?;
        change(node, |op| {
            let Op::Kernel(kernel) = op else { return Err(INVALID_VALUE) };
            match attribute {
                // SAFETY: the attribute says which member is valid.
                A::hipLaunchAttributeCooperative => unsafe {
                    kernel.launch = kernel.launch.with_cooperation(value.cooperative != 0)?;
                },
                // SAFETY: as above.
                A::hipLaunchAttributePriority => kernel.attributes.priority = unsafe { value.priority },
                // SAFETY: as above.
                A::hipLaunchAttributeAccessPolicyWindow => unsafe {
                    let window = value.accessPolicyWindow;
                    if !(0.0..=1.0).contains(&window.hitRatio) {
                        return Err(INVALID_VALUE);
                    }
                    kernel.attributes.window = Window(window);
                },
                _ => return Err(INVALID_VALUE),
            }
            Ok(())
        })
    })
}

/// `hipGraphKernelNodeGetAttribute`.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeGetAttribute(
    node: hipGraphNode_t,
    attribute: hipLaunchAttributeID,
    value: *mut hipLaunchAttributeValue,
) -> hipError_t {
    entry(|| {
        type A = hipLaunchAttributeID;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(value) }?;
        read(node, |op| {
            let KernelOp { launch, attributes, .. } = as_kernel(op)?;
            let mut value = hipLaunchAttributeValue { pad: [0; 64] };
            match attribute {
                A::hipLaunchAttributeCooperative => value.cooperative = i32::from(launch.cooperative),
                A::hipLaunchAttributePriority => value.priority = attributes.priority,
                A::hipLaunchAttributeAccessPolicyWindow => value.accessPolicyWindow = attributes.window.0,
                _ => return Err(INVALID_VALUE),
            }
            *out = value;
            Ok(())
        })
    })
}

/// `hipGraphKernelNodeCopyAttributes`.
pub(crate) unsafe extern "C" fn hipGraphKernelNodeCopyAttributes(
    from: hipGraphNode_t,
    to: hipGraphNode_t,
) -> hipError_t {
    entry(|| {
        let (cooperative, attributes) = read(from, |op| {
            let kernel = as_kernel(op)?;
            Ok((kernel.launch.cooperative, kernel.attributes))
        })?;
        change(to, |op| {
            let Op::Kernel(kernel) = op else { return Err(INVALID_VALUE) };
            kernel.launch = kernel.launch.with_cooperation(cooperative)?;
            kernel.attributes = attributes;
            Ok(())
        })
    })
}
