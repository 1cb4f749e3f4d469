//! Graphs.

use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::CudaStream;

/// Work recorded by a stream, to be submitted repeatedly.
pub struct CudaGraph {
    graph: sys::CUgraph,
    exec: sys::CUgraphExec,
    stream: Arc<CudaStream>,
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        let context = self.stream.context();
        context.record_err(context.bind());
        // SAFETY: both were created for this object, and are destroyed once.
        unsafe {
            context.record_err(result::graph::exec_destroy(self.exec));
            context.record_err(result::graph::destroy(self.graph));
        }
    }
}

impl CudaStream {
    /// From now on, records submitted work instead of executing it.
    pub fn begin_capture(&self, mode: sys::CUstreamCaptureMode) -> Result<(), DriverError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream lives.
        unsafe { result::stream::begin_capture(self.cu_stream(), mode) }
    }

    /// Ends recording; `None` if nothing was recorded.
    pub fn end_capture(
        self: &Arc<Self>,
        flags: sys::CUgraphInstantiate_flags,
    ) -> Result<Option<CudaGraph>, DriverError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream lives.
        let graph = unsafe { result::stream::end_capture(self.cu_stream()) }?;
        if graph.is_null() {
            return Ok(None);
        }
        // SAFETY: the graph was made just now.
        match unsafe { result::graph::instantiate(graph, flags) } {
            Ok(exec) => Ok(Some(CudaGraph { graph, exec, stream: self.clone() })),
            Err(error) => {
                // SAFETY: the graph was created just now, and nothing else uses it.
                self.context().record_err(unsafe { result::graph::destroy(graph) });
                Err(error)
            }
        }
    }

    /// Whether the stream records.
    pub fn capture_status(&self) -> Result<sys::CUstreamCaptureStatus, DriverError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream lives.
        unsafe { result::stream::is_capturing(self.cu_stream()) }
    }
}

impl CudaGraph {
    /// Submits the work to the stream that recorded it.
    pub fn launch(&self) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        // SAFETY: graph and stream live.
        unsafe { result::graph::launch(self.exec, self.stream.cu_stream()) }
    }

    /// Uploads the graph to the device before it is submitted.
    pub fn upload(&self) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        // SAFETY: graph and stream live.
        unsafe { result::graph::upload(self.exec, self.stream.cu_stream()) }
    }

    /// CUDA's handle of the graph, which this object still owns.
    pub fn cu_graph(&self) -> sys::CUgraph {
        self.graph
    }

    /// CUDA's handle of the executable graph, which this object still owns.
    pub fn cu_graph_exec(&self) -> sys::CUgraphExec {
        self.exec
    }
}
