//! Nodes that copy and fill.
//!
//! A node keeps the start and size of its copy, so queried parameters name these: positions in memory are 0,
//! and pitches are those originally given. Positions in an array are found from its address, as long as it
//! exists.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{
    HIP_MEMCPY3D, hipArray_t, hipCtx_t, hipError_t, hipExtent, hipGraph_t, hipGraphExec_t, hipGraphNode_t,
    hipMemcpy3DParms, hipMemcpyKind, hipMemoryType, hipMemsetParams, hipPitchedPtr, hipPos,
};

use crate::api::copy_param::{transfer_3d, transfer_param_3d};
use crate::api::graph::edit::{add_node, change, change_exec, look_exec, read};
use crate::api::graph::plain_nodes::replace;
use crate::caller;
use crate::error::{Result, entry};
use crate::graph::op::Op;
use crate::memory::copy::Transfer;
use crate::memory::fill::Fill;
use crate::memory::rect::{Rect, Rows};
use crate::object::array::{Array, arrays};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The node of a copy, if the current memory at its addresses allows the copy.
pub(crate) fn checked(runtime: &Runtime, transfer: Transfer) -> Result<Op> {
    transfer.check(runtime, None)?;
    Ok(Op::Copy(transfer))
}

/// The node of a fill, if the current memory at its address allows the fill.
///
/// # Safety
/// The parameters are null or readable.
pub(crate) unsafe fn fill(runtime: &Runtime, parameters: *const hipMemsetParams) -> Result<Op> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    if !matches!(p.elementSize, 1 | 2 | 4) {
        return Err(INVALID_VALUE);
    }
    let element = p.elementSize as usize;
    let width = p.width.checked_mul(element).ok_or(INVALID_VALUE)?;
    let fill = Fill::new(Rows::rectangle(p.dst as usize, p.pitch, width, p.height), p.value, element);
    fill.check(runtime, None)?;
    Ok(Op::Fill(fill))
}

/// The plain copy of a node, which must not be empty, with different source and destination.
pub(crate) fn plain(
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
) -> Result<Transfer> {
    match size == 0 || dst.cast_const() == src {
        true => Err(INVALID_VALUE),
        false => Ok(Transfer::plain(dst, src, size, kind)),
    }
}

/// Replaces the copy of a node in an executable graph. As with AMD's runtime, the direction that the program
/// named must stay the same, and so must the kinds of memory (device or host) at both ends. If the old memory
/// has been freed meanwhile, the kinds are not checked.
pub(crate) fn replace_exec(runtime: &Runtime, op: &mut Op, other: Op) -> Result {
    if let (Op::Copy(old), Op::Copy(new)) = (&*op, &other) {
        let changed = |ends: Option<[bool; 2]>| ends.is_some() && ends != new.ends(runtime).unwrap_or(ends);
        if old.kind != new.kind || old.ends(runtime).is_ok_and(changed) {
            return Err(INVALID_VALUE);
        }
    }
    replace(op, other)
}

/// Whether the copy of a node in an executable graph has this direction, which cannot change.
pub(crate) fn keeps_direction(exec: hipGraphExec_t, node: hipGraphNode_t, kind: hipMemcpyKind) -> Result {
    look_exec(exec, node, |op| if as_copy(op)?.kind == kind { Ok(()) } else { Err(INVALID_VALUE) })
}

/// As [`replace_exec`], but anything wrong with the copy, even its direction, is a bad value.
fn change_exec_copy(exec: hipGraphExec_t, node: hipGraphNode_t, transfer: Result<Transfer>) -> Result {
    let runtime = active()?;
    let copy = transfer.and_then(|transfer| checked(runtime, transfer)).map_err(|_| INVALID_VALUE)?;
    change_exec(exec, node, |op| replace_exec(runtime, op, copy))
}

fn as_copy(op: &Op) -> Result<Transfer> {
    match op {
        Op::Copy(transfer) => Ok(*transfer),
        _ => Err(INVALID_VALUE),
    }
}

/// Distance between rectangles in rows.
fn rows_of(rows: Rows) -> usize {
    match rows.depth {
        0 | 1 => rows.height,
        _ => rows.slice.checked_div(rows.pitch).unwrap_or(rows.height),
    }
}

/// An end of a copy that is in an array.
struct ArrayEnd {
    handle: hipArray_t,
    array: Arc<Array>,
    /// Byte of a row, row and slice.
    corner: [usize; 3],
}

impl ArrayEnd {
    fn of(runtime: &Runtime, rows: Rows) -> Option<Self> {
        let (handle, array) = arrays(runtime).at(runtime, rows.start)?;
        let corner = array.position(rows.start);
        Some(Self { handle, array, corner })
    }

    /// As the runtime's form of a copy has it: in elements, and layers by the third coordinate.
    fn position(&self) -> hipPos {
        let [x, y, z] = self.corner;
        let x = x / self.array.element.bytes();
        if self.array.is_layered_1d() { hipPos { x, y: z, z: y } } else { hipPos { x, y, z } }
    }
}

/// `hipGraphAddMemcpyNode`.
pub(crate) unsafe extern "C" fn hipGraphAddMemcpyNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipMemcpy3DParms,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe {
        add_node(out, graph, dependencies, count, |runtime| checked(runtime, transfer_3d(parameters)?))
    })
}

/// `hipGraphMemcpyNodeGetParams`.
pub(crate) unsafe extern "C" fn hipGraphMemcpyNodeGetParams(
    node: hipGraphNode_t,
    out: *mut hipMemcpy3DParms,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let Transfer { rect: Rect { dst, src }, kind } = read(node, as_copy)?;
        let runtime = active()?;
        let place = |rows: Rows| hipPitchedPtr {
            ptr: rows.start as *mut c_void,
            pitch: rows.pitch,
            xsize: rows.width,
            ysize: rows_of(rows),
        };
        let none = hipPitchedPtr::default();
        let (dst_array, src_array) = (ArrayEnd::of(runtime, dst), ArrayEnd::of(runtime, src));
        let handle = |end: &Option<ArrayEnd>| end.as_ref().map_or(std::ptr::null_mut(), |end| end.handle);
        let position = |end: &Option<ArrayEnd>| end.as_ref().map_or(hipPos::default(), ArrayEnd::position);
        let elements = dst_array.as_ref().or(src_array.as_ref()).map_or(1, |end| end.array.element.bytes());
        let mut extent = hipExtent { width: dst.width / elements, height: dst.height, depth: dst.depth };
        // Layers of rows are counted by the third coordinate.
        if [&dst_array, &src_array].into_iter().flatten().any(|end| end.array.is_layered_1d()) {
            extent = hipExtent { height: extent.depth, depth: extent.height, ..extent };
        }
        *out = hipMemcpy3DParms {
            srcArray: handle(&src_array),
            srcPos: position(&src_array),
            srcPtr: if src_array.is_some() { none } else { place(src) },
            dstArray: handle(&dst_array),
            dstPos: position(&dst_array),
            dstPtr: if dst_array.is_some() { none } else { place(dst) },
            extent,
            kind,
        };
        Ok(())
    })
}

/// `hipGraphMemcpyNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphMemcpyNodeSetParams(
    node: hipGraphNode_t,
    parameters: *const hipMemcpy3DParms,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let copy = checked(active()?, unsafe { transfer_3d(parameters) }?)?;
        change(node, |op| replace(op, copy))
    })
}

/// `hipGraphExecMemcpyNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphExecMemcpyNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *mut hipMemcpy3DParms,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        change_exec_copy(exec, node, unsafe { transfer_3d(parameters) })
    })
}

/// `hipGraphAddMemcpyNode1D`.
pub(crate) unsafe extern "C" fn hipGraphAddMemcpyNode1D(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe {
        add_node(out, graph, dependencies, count, |runtime| match size {
            0 => Err(INVALID_VALUE),
            _ => checked(runtime, Transfer::plain(dst, src, size, kind)),
        })
    })
}

/// `hipGraphMemcpyNodeSetParams1D`.
pub(crate) unsafe extern "C" fn hipGraphMemcpyNodeSetParams1D(
    node: hipGraphNode_t,
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let copy = checked(active()?, plain(dst, src, size, kind)?)?;
        change(node, |op| replace(op, copy))
    })
}

/// `hipGraphExecMemcpyNodeSetParams1D`.
pub(crate) unsafe extern "C" fn hipGraphExecMemcpyNodeSetParams1D(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| change_exec_copy(exec, node, plain(dst, src, size, kind)))
}

/// `hipDrvGraphAddMemcpyNode`: the context has no effect.
pub(crate) unsafe extern "C" fn hipDrvGraphAddMemcpyNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const HIP_MEMCPY3D,
    context: hipCtx_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe {
        add_node(out, graph, dependencies, count, |runtime| match context.is_null() {
            true => Err(INVALID_VALUE),
            false => checked(runtime, transfer_param_3d(parameters)?),
        })
    })
}

/// `hipDrvGraphMemcpyNodeGetParams`.
pub(crate) unsafe extern "C" fn hipDrvGraphMemcpyNodeGetParams(
    node: hipGraphNode_t,
    out: *mut HIP_MEMCPY3D,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let Transfer { rect: Rect { dst, src }, kind } = read(node, as_copy)?;
        let runtime = active()?;
        let (src_device, dst_device) = match kind {
            hipMemcpyKind::hipMemcpyHostToHost => (false, false),
            hipMemcpyKind::hipMemcpyHostToDevice => (false, true),
            hipMemcpyKind::hipMemcpyDeviceToHost => (true, false),
            _ => (true, true),
        };
        let (dst_array, src_array) = (ArrayEnd::of(runtime, dst), ArrayEnd::of(runtime, src));
        let memory = |device: bool, array: &Option<ArrayEnd>| match (array, device) {
            (Some(_), _) => hipMemoryType::hipMemoryTypeArray,
            (None, true) => hipMemoryType::hipMemoryTypeDevice,
            (None, false) => hipMemoryType::hipMemoryTypeHost,
        };
        let (src_memory, dst_memory) = (memory(src_device, &src_array), memory(dst_device, &dst_array));
        let address = |wanted: hipMemoryType, is: hipMemoryType, rows: Rows| {
            if wanted == is { rows.start } else { 0 }
        };
        let handle = |end: &Option<ArrayEnd>| end.as_ref().map_or(std::ptr::null_mut(), |end| end.handle);
        let corner = |end: &Option<ArrayEnd>| end.as_ref().map_or([0; 3], |end| end.corner);
        let ([srcXInBytes, srcY, srcZ], [dstXInBytes, dstY, dstZ]) = (corner(&src_array), corner(&dst_array));
        let (host, device) = (hipMemoryType::hipMemoryTypeHost, hipMemoryType::hipMemoryTypeDevice);
        *out = HIP_MEMCPY3D {
            srcXInBytes,
            srcY,
            srcZ,
            srcMemoryType: src_memory,
            srcHost: address(host, src_memory, src) as *const c_void,
            srcDevice: address(device, src_memory, src) as *mut c_void,
            srcArray: handle(&src_array),
            srcPitch: src.pitch,
            srcHeight: rows_of(src),
            dstXInBytes,
            dstY,
            dstZ,
            dstMemoryType: dst_memory,
            dstHost: address(host, dst_memory, dst) as *mut c_void,
            dstDevice: address(device, dst_memory, dst) as *mut c_void,
            dstArray: handle(&dst_array),
            dstPitch: dst.pitch,
            dstHeight: rows_of(dst),
            WidthInBytes: dst.width,
            Height: dst.height,
            Depth: dst.depth,
            ..HIP_MEMCPY3D::default()
        };
        Ok(())
    })
}

/// `hipDrvGraphMemcpyNodeSetParams`.
pub(crate) unsafe extern "C" fn hipDrvGraphMemcpyNodeSetParams(
    node: hipGraphNode_t,
    parameters: *const HIP_MEMCPY3D,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let copy = checked(active()?, unsafe { transfer_param_3d(parameters) }?)?;
        change(node, |op| replace(op, copy))
    })
}

/// `hipDrvGraphExecMemcpyNodeSetParams`.
pub(crate) unsafe extern "C" fn hipDrvGraphExecMemcpyNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const HIP_MEMCPY3D,
    _context: hipCtx_t,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        change_exec_copy(exec, node, unsafe { transfer_param_3d(parameters) })
    })
}

/// `hipGraphAddMemsetNode`: elements of 1, 2 or 4 bytes.
pub(crate) unsafe extern "C" fn hipGraphAddMemsetNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipMemsetParams,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| fill(runtime, parameters)) })
}

/// `hipDrvGraphAddMemsetNode`: the context has no effect.
pub(crate) unsafe extern "C" fn hipDrvGraphAddMemsetNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *const hipMemsetParams,
    _context: hipCtx_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| fill(runtime, parameters)) })
}

/// `hipGraphMemsetNodeGetParams`.
pub(crate) unsafe extern "C" fn hipGraphMemsetNodeGetParams(
    node: hipGraphNode_t,
    out: *mut hipMemsetParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let fill = read(node, |op| match op {
            Op::Fill(fill) => Ok(*fill),
            _ => Err(INVALID_VALUE),
        })?;
        let (rows, (value, element)) = (fill.rows(), fill.element());
        *out = hipMemsetParams {
            dst: rows.start as *mut c_void,
            elementSize: element as u32,
            height: rows.height,
            pitch: rows.pitch,
            value,
            width: rows.width / element,
        };
        Ok(())
    })
}

/// `hipGraphMemsetNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphMemsetNodeSetParams(
    node: hipGraphNode_t,
    parameters: *const hipMemsetParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let fill = unsafe { fill(active()?, parameters) }?;
        change(node, |op| replace(op, fill))
    })
}

/// `hipGraphExecMemsetNodeSetParams`.
pub(crate) unsafe extern "C" fn hipGraphExecMemsetNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const hipMemsetParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid parameters.
        let fill = unsafe { fill(active()?, parameters) }?;
        change_exec(exec, node, |op| replace(op, fill))
    })
}

/// `hipDrvGraphExecMemsetNodeSetParams`.
pub(crate) unsafe extern "C" fn hipDrvGraphExecMemsetNodeSetParams(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    parameters: *const hipMemsetParams,
    _context: hipCtx_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    unsafe { hipGraphExecMemsetNodeSetParams(exec, node, parameters) }
}
