//! Graphs.

use std::ffi::{c_char, c_uint, c_ulonglong};

use super::{CUgraph, CUgraphExec, CUgraphInstantiate_flags, CUgraphNode, CUresult, CUstream, functions};
use crate::backend::{hip_call, table};

functions! {
    fn cuGraphCreate(phGraph: *mut CUgraph, flags: c_uint) {
        hip_call!(table()?, hipGraphCreate(phGraph.cast(), flags))
    }

    fn cuGraphDestroy(hGraph: CUgraph) {
        hip_call!(table()?, hipGraphDestroy(hGraph.cast()))
    }

    fn cuGraphClone(phGraphClone: *mut CUgraph, originalGraph: CUgraph) {
        hip_call!(table()?, hipGraphClone(phGraphClone.cast(), originalGraph.cast()))
    }

    fn cuGraphGetNodes(hGraph: CUgraph, nodes: *mut CUgraphNode, numNodes: *mut usize) {
        hip_call!(table()?, hipGraphGetNodes(hGraph.cast(), nodes.cast(), numNodes))
    }

    fn cuGraphDebugDotPrint(hGraph: CUgraph, path: *const c_char, flags: c_uint) {
        hip_call!(table()?, hipGraphDebugDotPrint(hGraph.cast(), path, flags))
    }

    fn cuGraphInstantiateWithFlags(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, flags: c_ulonglong) {
        let table = table()?;
        // Kernels cannot launch graphs. CUDA also refuses unknown flags and flags that exclude each other.
        let known = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
            | CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
            | CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        if flags & !c_ulonglong::from(known.0) != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        hip_call!(table, hipGraphInstantiateWithFlags(phGraphExec.cast(), hGraph.cast(), flags))
    }

    fn cuGraphExecDestroy(hGraphExec: CUgraphExec) {
        hip_call!(table()?, hipGraphExecDestroy(hGraphExec.cast()))
    }

    fn cuGraphLaunch(hGraphExec: CUgraphExec, hStream: CUstream) {
        hip_call!(table()?, hipGraphLaunch(hGraphExec.cast(), hStream.cast()))
    }

    fn cuGraphUpload(hGraphExec: CUgraphExec, hStream: CUstream) {
        hip_call!(table()?, hipGraphUpload(hGraphExec.cast(), hStream.cast()))
    }
}
