//! Graphs (`cuGraph…`).

use std::ffi::c_ulonglong;

use super::super::sys;
use super::{DriverError, doing, returning};

/// Makes a graph ready to be launched (`cuGraphInstantiate`).
pub unsafe fn instantiate(
    graph: sys::CUgraph,
    flags: sys::CUgraphInstantiate_flags,
) -> Result<sys::CUgraphExec, DriverError> {
    let flags = c_ulonglong::from(flags.0);
    returning!(std::ptr::null_mut(), |place| sys::cuGraphInstantiateWithFlags(place, graph, flags))
}

/// Ends a graph that was made ready (`cuGraphExecDestroy`).
pub unsafe fn exec_destroy(graph_exec: sys::CUgraphExec) -> Result<(), DriverError> {
    doing!(sys::cuGraphExecDestroy(graph_exec))
}

/// Ends a graph (`cuGraphDestroy`).
pub unsafe fn destroy(graph: sys::CUgraph) -> Result<(), DriverError> {
    doing!(sys::cuGraphDestroy(graph))
}

/// Launches a graph (`cuGraphLaunch`).
pub unsafe fn launch(graph_exec: sys::CUgraphExec, stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuGraphLaunch(graph_exec, stream))
}

/// Brings what a graph needs to the device before it is launched (`cuGraphUpload`).
pub unsafe fn upload(graph_exec: sys::CUgraphExec, stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuGraphUpload(graph_exec, stream))
}
