//! Copies to and from variables of device code, named by their host side: nodes like those of other copies,
//! to or from the current device's variable. As with AMD's runtime, a new node may have any direction, and a
//! changed one only the direction of its memory.

use std::ffi::c_void;

use hip_sys::{hipError_t, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipMemcpyKind};

use crate::api::graph::copy_node::{
    hipGraphAddMemcpyNode1D, hipGraphExecMemcpyNodeSetParams1D, hipGraphMemcpyNodeSetParams1D,
    keeps_direction,
};
use crate::error::{Result, entry, succeed};
use crate::memory::allocation::memory;
use crate::object::symbols::part;
use crate::runtime::active;

/// Which end of a copy is the variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variable {
    Source,
    Destination,
}

/// Refuses a direction that a copy between a variable and other memory cannot have.
fn check_direction(variable: Variable, other: *const c_void, kind: hipMemcpyKind) -> Result {
    type Kind = hipMemcpyKind;
    if other.is_null() {
        return Err(hipError_t::hipErrorInvalidValue);
    }
    let (to_host, from_host) = (Kind::hipMemcpyDeviceToHost, Kind::hipMemcpyHostToDevice);
    let (with_host, reverse, code) = match variable {
        Variable::Source => (to_host, from_host, hipError_t::hipErrorInvalidMemcpyDirection),
        Variable::Destination => (from_host, to_host, hipError_t::hipErrorInvalidValue),
    };
    let is_any = kind == Kind::hipMemcpyDefault;
    let among_devices = matches!(kind, Kind::hipMemcpyDeviceToDevice | Kind::hipMemcpyDeviceToDeviceNoCU);
    let fits = match memory(active()?).find(other as usize) {
        None => is_any || kind == with_host,
        Some((found, _)) if found.memory_of().is_some() => is_any || among_devices,
        Some(_) => kind != Kind::hipMemcpyHostToHost && kind != reverse,
    };
    if fits { Ok(()) } else { Err(code) }
}

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
        check_direction(Variable::Destination, src, kind)?;
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
        check_direction(Variable::Source, dst, kind)?;
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
        keeps_direction(exec, node, kind)?;
        let dst = part(symbol, offset, size)? as *mut c_void;
        check_direction(Variable::Destination, src, kind)?;
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
        keeps_direction(exec, node, kind)?;
        let src = part(symbol, offset, size)? as *const c_void;
        check_direction(Variable::Source, dst, kind)?;
        // SAFETY: the caller keeps the contract of the function; the part is the variable's.
        succeed(unsafe { hipGraphExecMemcpyNodeSetParams1D(exec, node, dst, src, size, kind) })
    })
}
