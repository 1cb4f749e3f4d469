//! Graphs (`cuGraph…`).

use std::ffi::c_ulonglong;

use super::super::sys;
use super::{DriverError, doing, returning};

/// Makes a graph executable (`cuGraphInstantiate`).
pub unsafe fn instantiate(
    graph: sys::CUgraph,
    flags: sys::CUgraphInstantiate_flags,
) -> Result<sys::CUgraphExec, DriverError> {
    let flags = c_ulonglong::from(flags.0);
    returning!(std::ptr::null_mut(), |place| sys::cuGraphInstantiateWithFlags(place, graph, flags))
}

/// Destroys an executable graph (`cuGraphExecDestroy`).
pub unsafe fn exec_destroy(graph_exec: sys::CUgraphExec) -> Result<(), DriverError> {
    doing!(sys::cuGraphExecDestroy(graph_exec))
}

/// Destroys a graph (`cuGraphDestroy`).
pub unsafe fn destroy(graph: sys::CUgraph) -> Result<(), DriverError> {
    doing!(sys::cuGraphDestroy(graph))
}

/// Launches a graph (`cuGraphLaunch`).
pub unsafe fn launch(graph_exec: sys::CUgraphExec, stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuGraphLaunch(graph_exec, stream))
}

/// Uploads a graph to the device before its launch (`cuGraphUpload`).
pub unsafe fn upload(graph_exec: sys::CUgraphExec, stream: sys::CUstream) -> Result<(), DriverError> {
    doing!(sys::cuGraphUpload(graph_exec, stream))
}
