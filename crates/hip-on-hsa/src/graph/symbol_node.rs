//! Copies to and from variables of device code, named by their host side: nodes like those of other copies, to or from the
//! current device's variable.

use std::ffi::c_void;

use hip_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipMemcpyKind};

use super::copy_node::{
    hipGraphAddMemcpyNode1D, hipGraphExecMemcpyNodeSetParams1D, hipGraphMemcpyNodeSetParams1D,
};
use crate::error::{entry, succeed};
use crate::stub::part;

/// `hipGraphAddMemcpyNodeToSymbol`.
pub(crate) unsafe extern "C" fn hipGraphAddMemcpyNodeToSymbol(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    symbol: *const c_void,
    src: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let dst = part(symbol, offset, size)? as *mut c_void;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphAddMemcpyNode1D(out, graph, dependencies, count, dst, src, size, kind) })
    })
}

/// `hipGraphAddMemcpyNodeFromSymbol`.
pub(crate) unsafe extern "C" fn hipGraphAddMemcpyNodeFromSymbol(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    dst: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let src = part(symbol, offset, size)? as *const c_void;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphAddMemcpyNode1D(out, graph, dependencies, count, dst, src, size, kind) })
    })
}

/// `hipGraphMemcpyNodeSetParamsToSymbol`.
pub(crate) unsafe extern "C" fn hipGraphMemcpyNodeSetParamsToSymbol(
    node: hipGraphNode_t,
    symbol: *const c_void,
    src: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let dst = part(symbol, offset, size)? as *mut c_void;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphMemcpyNodeSetParams1D(node, dst, src, size, kind) })
    })
}

/// `hipGraphMemcpyNodeSetParamsFromSymbol`.
pub(crate) unsafe extern "C" fn hipGraphMemcpyNodeSetParamsFromSymbol(
    node: hipGraphNode_t,
    dst: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let src = part(symbol, offset, size)? as *const c_void;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphMemcpyNodeSetParams1D(node, dst, src, size, kind) })
    })
}

/// `hipGraphExecMemcpyNodeSetParamsToSymbol`.
pub(crate) unsafe extern "C" fn hipGraphExecMemcpyNodeSetParamsToSymbol(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    symbol: *const c_void,
    src: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let dst = part(symbol, offset, size)? as *mut c_void;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphExecMemcpyNodeSetParams1D(exec, node, dst, src, size, kind) })
    })
}

/// `hipGraphExecMemcpyNodeSetParamsFromSymbol`.
pub(crate) unsafe extern "C" fn hipGraphExecMemcpyNodeSetParamsFromSymbol(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    dst: *mut c_void,
    symbol: *const c_void,
    size: usize,
    offset: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        let src = part(symbol, offset, size)? as *const c_void;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphExecMemcpyNodeSetParams1D(exec, node, dst, src, size, kind) })
    })
}
