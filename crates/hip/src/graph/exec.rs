//! Graphs that can be launched.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use hip_sys::{hipGraphExec_t, hipGraphExecUpdateResult, hipGraphNode_t};

use super::kernel::Kernel;
use super::resources::Resources;
use super::{Graph, GraphError, GraphHandle, Node, NodeEntry, NodeKind, index_in, update_error};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::Result;
use crate::launch::Launch;
use crate::live::{Counted, Kind};
use crate::stream::{Stream, release};
use crate::usage::Usage;

/// A graph that can be launched. [`Graph::instantiate`] makes it; later changes of that graph do not affect
/// it.
///
/// Dropping it waits for its running launches.
#[doc(alias = "hipGraphExec_t")]
#[doc(alias = "cudaGraphExec_t")]
pub struct GraphExec {
    handle: ExecHandle,
    /// The graph that it was made of, whose nodes identify its own.
    graph: Arc<GraphHandle>,
    id: u64,
    origins: Vec<(u64, usize)>,
    nodes: Vec<NodeEntry>,
    captured_uses: Resources,
    /// The resources of all nodes.
    uses: Resources,
    usage: Usage,
    /// The library's nodes would not wait for the stream's earlier work.
    waits_first: bool,
    launching: Mutex<()>,
    /// Ownership of the memory that the graph allocates, if it does.
    memory: Option<Arc<()>>,
    _counted: Counted,
}

// SAFETY: HIP's handles may be used by any thread.
unsafe impl Send for GraphExec {}
// SAFETY: a shared `GraphExec` launches and queries through its handle one call at a time.
unsafe impl Sync for GraphExec {}

/// HIP's handle of the executable graph.
#[derive(Clone, Copy)]
struct ExecHandle(hipGraphExec_t);

// SAFETY: HIP's handles may be used by any thread.
unsafe impl Send for ExecHandle {}

impl ExecHandle {
    fn get(self) -> hipGraphExec_t {
        self.0
    }
}

impl Graph {
    /// Makes an executable graph of this graph's present state (`hipGraphInstantiate`).
    ///
    /// # Errors
    /// [`GraphError::NotFreed`] if it allocates memory and does not free all of it; [`GraphError::HasMemory`]
    /// if it allocates memory and already has an executable graph; else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipGraphInstantiate")]
    #[doc(alias = "cudaGraphInstantiate")]
    #[doc(alias = "cuGraphInstantiate")]
    pub fn instantiate(&self) -> Result<GraphExec> {
        self.frees_all()?;
        let memory = self.allocates.then(|| self.handle.take_memory()).transpose()?;
        self.device().make_current()?;
        let mut exec: hipGraphExec_t = std::ptr::null_mut();
        {
            let _one = self.handle.lock();
            let mut node: hipGraphNode_t = std::ptr::null_mut();
            // SAFETY: the graph is valid, the results are places to write to, and no text is asked for.
            unsafe {
                call!(
                    self.device().table(),
                    hipGraphInstantiate(
                        &raw mut exec,
                        self.handle.raw,
                        &raw mut node,
                        std::ptr::null_mut(),
                        0
                    )
                )?;
            }
        }
        Ok(GraphExec {
            waits_first: self.device().launches_graphs_early() && self.has_several_roots()?,
            handle: ExecHandle(exec),
            graph: self.handle.clone(),
            id: self.id,
            origins: self.origins.clone(),
            nodes: self.nodes.clone(),
            captured_uses: self.captured_uses.clone(),
            uses: self.uses(),
            usage: Usage::default(),
            launching: Mutex::new(()),
            memory,
            _counted: Counted::new(Kind::Graph),
        })
    }
}

impl Graph {
    /// Whether it, or possibly a child graph, has several nodes without a predecessor.
    fn has_several_roots(&self) -> Result<bool> {
        let nodes = self.all_nodes()?;
        let followers: HashSet<hipGraphNode_t> = self.edges()?.into_iter().map(|(_, to)| to).collect();
        if nodes.iter().filter(|node| !followers.contains(*node)).count() > 1 {
            return Ok(true);
        }
        for node in nodes {
            if self.kind(node)? == "Graph" {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl GraphHandle {
    /// Takes ownership of the graph's memory, which one executable graph at a time can have.
    fn take_memory(&self) -> Result<Arc<()>> {
        let mut owner = self.executable.lock().unwrap_or_else(PoisonError::into_inner);
        if owner.upgrade().is_some() {
            let operation = "instantiated while it has an executable graph";
            return Err(GraphError::HasMemory { operation }.into());
        }
        let memory = Arc::new(());
        *owner = Arc::downgrade(&memory);
        Ok(memory)
    }
}

impl GraphExec {
    /// The device that runs it.
    pub fn device(&self) -> &Device {
        &self.graph.device
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this executable graph.
    pub fn as_raw(&self) -> hipGraphExec_t {
        self.handle.get()
    }

    /// Enqueues the graph on a stream, which waits for earlier work on the graph's resources
    /// (`hipGraphLaunch`). Launches of the same executable graph run one after the other.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the stream belongs to another device,
    /// [`GraphError::HostBufferLocked`] if the program has locked a host buffer that the graph uses,
    /// [`Error::Fault`](crate::Error::Fault) if the stream has faulted, or one that wrote memory that the
    /// graph reads, else
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipGraphLaunch")]
    #[doc(alias = "cudaGraphLaunch")]
    #[doc(alias = "cuGraphLaunch")]
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        self.device().same(stream.device(), "hipGraphLaunch", "graph")?;
        stream.make_current()?;
        let _one = self.launching.lock().unwrap_or_else(PoisonError::into_inner);
        let _host = self.uses.use_on(stream)?;
        self.usage.write(stream)?;
        stream.make_current()?;
        if self.waits_first {
            stream.synchronize()?;
        }
        // SAFETY: graph and stream are valid; what the graph uses lives until the stream is done with it.
        stream.check(unsafe { call!(stream.table(), hipGraphLaunch(self.handle.get(), stream.handle())) })?;
        self.uses.launched();
        Ok(())
    }

    /// Uploads the graph to the device on a stream, so that the first launch need not (`hipGraphUpload`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the stream belongs to another device,
    /// [`Error::Fault`](crate::Error::Fault) if it has faulted, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipGraphUpload")]
    #[doc(alias = "cudaGraphUpload")]
    #[doc(alias = "cuGraphUpload")]
    pub fn upload(&self, stream: &Stream) -> Result<()> {
        self.device().same(stream.device(), "hipGraphUpload", "graph")?;
        stream.make_current()?;
        let _one = self.launching.lock().unwrap_or_else(PoisonError::into_inner);
        self.usage.write(stream)?;
        stream.make_current()?;
        // SAFETY: graph and stream are valid, and the graph is not destroyed before the stream is done.
        stream.check(unsafe { call!(stream.table(), hipGraphUpload(self.handle.get(), stream.handle())) })
    }

    /// Replaces the kernel, sizes and arguments of a node for later launches
    /// (`hipGraphExecKernelNodeSetParams`). The node keeps its place in the order: memory that it did not use
    /// before is ordered with work outside the graph, but not with the graph's other nodes. The node stays
    /// enabled or disabled and cooperative or not, and keeps its priority.
    ///
    /// # Errors
    /// [`GraphError::OtherGraph`] if the node is not one of the graph that this was made of,
    /// [`GraphError::NotAKernel`], [`GraphError::Cooperative`] if one launch is cooperative and the other is
    /// not, [`GraphError::MemoryOfGraph`] for memory that a graph allocates and this node did not use before;
    /// [`Error::Launch`](crate::Error::Launch) names the first mismatch; else
    /// [`Error::Hip`](crate::Error::Hip). After an error the node is unchanged.
    ///
    /// # Safety
    /// As [`Launch::enqueue`], each time that the graph runs. In addition, no node that may run at the same
    /// time uses memory that this one writes.
    #[doc(alias = "hipGraphExecKernelNodeSetParams")]
    #[doc(alias = "cudaGraphExecKernelNodeSetParams")]
    #[doc(alias = "cuGraphExecKernelNodeSetParams")]
    pub unsafe fn set_kernel(&mut self, node: Node, launch: Launch<'_>) -> Result<()> {
        let index = index_in(node, self.id, &self.origins, self.nodes.len())?;
        let mut kernel = Kernel::of(launch, self.device())?;
        let entry = self.nodes.get_mut(index).ok_or(GraphError::OtherGraph)?;
        match entry.kind {
            NodeKind::Kernel { cooperative } if cooperative == kernel.cooperative() => {}
            NodeKind::Kernel { .. } => {
                return Err(GraphError::Cooperative { kernel: kernel.name().to_owned() }.into());
            }
            _ => return Err(GraphError::NotAKernel.into()),
        }
        // At another node's place, the memory may not be allocated yet, or may be freed already.
        if !kernel.uses.graph_memory().all(|memory| entry.uses.uses_memory(memory)) {
            return Err(GraphError::MemoryOfGraph.into());
        }
        let (device, handle, node) = (&self.graph.device, self.handle.get(), entry.first());
        device.make_current()?;
        let _one = self.graph.lock();
        kernel.with_params(|params| {
            // SAFETY: the node is one of the graph that this was made of, which still exists; there is a
            // pointer for each parameter, whose values HIP copies; the caller vouches for the kernel.
            unsafe {
                call!(device.table(), hipGraphExecKernelNodeSetParams(handle, node, &raw const *params))
            }
        })?;
        entry.uses = kernel.uses;
        self.uses = self.captured_uses.clone();
        self.nodes.iter().for_each(|node| self.uses.merge(&node.uses));
        Ok(())
    }

    /// Switches a kernel, copy or fill on or off for later launches (`hipGraphNodeSetEnabled`). Its
    /// successors still run after its predecessors. A disabled node writes nothing.
    ///
    /// # Errors
    /// [`GraphError::OtherGraph`] if the node is not one of the graph that this was made of,
    /// [`GraphError::NotSwitchable`] if it is something else, [`Error::KnownFault`](crate::Error::KnownFault)
    /// if the library is known to ignore it, else
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipGraphNodeSetEnabled")]
    #[doc(alias = "cudaGraphNodeSetEnabled")]
    #[doc(alias = "cuGraphNodeSetEnabled")]
    pub fn set_enabled(&mut self, node: Node, enabled: bool) -> Result<()> {
        let nodes = self.switchable(node)?;
        self.device().allow(&["hipGraphNodeSetEnabled"])?;
        let set = |node: &hipGraphNode_t, enabled| {
            // SAFETY: the node is one of the graph that this was made of, which still exists.
            unsafe {
                let table = self.device().table();
                call!(table, hipGraphNodeSetEnabled(self.handle.get(), *node, u32::from(enabled)))
            }
        };
        let _one = self.graph.lock();
        let before = self.nodes_enabled(nodes)?;
        for (index, node) in nodes.iter().enumerate() {
            if let Err(error) = set(node, enabled) {
                // Do not leave a fill half enabled.
                nodes[..index].iter().try_for_each(|node| set(node, before))?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether a kernel, copy or fill is enabled (`hipGraphNodeGetEnabled`). Copies and fills of 0 bytes
    /// always count as enabled.
    ///
    /// # Errors
    /// As [`set_enabled`](Self::set_enabled).
    #[doc(alias = "hipGraphNodeGetEnabled")]
    #[doc(alias = "cudaGraphNodeGetEnabled")]
    #[doc(alias = "cuGraphNodeGetEnabled")]
    pub fn is_enabled(&self, node: Node) -> Result<bool> {
        let nodes = self.switchable(node)?;
        let _one = self.launching.lock().unwrap_or_else(PoisonError::into_inner);
        self.nodes_enabled(nodes)
    }

    fn nodes_enabled(&self, nodes: &[hipGraphNode_t]) -> Result<bool> {
        let Some(node) = nodes.first() else { return Ok(true) };
        let mut enabled = 0;
        // SAFETY: the node is one of the graph that this was made of, which still exists; the result is a
        // place to write to.
        unsafe {
            let table = self.device().table();
            call!(table, hipGraphNodeGetEnabled(self.handle.get(), *node, &raw mut enabled))?;
        }
        Ok(enabled != 0)
    }

    /// The HIP nodes of a node that can be disabled.
    fn switchable(&self, node: Node) -> Result<&[hipGraphNode_t]> {
        let index = index_in(node, self.id, &self.origins, self.nodes.len())?;
        let entry = self.nodes.get(index).ok_or(GraphError::OtherGraph)?;
        self.device().make_current()?;
        match entry.kind {
            NodeKind::Kernel { .. } | NodeKind::Transfer => Ok(&entry.handles),
            NodeKind::Nothing => Ok(&[]),
            NodeKind::Other => Err(GraphError::NotSwitchable.into()),
        }
    }

    /// Makes later launches run another graph, which has the same nodes and edges but other parameters
    /// (`hipGraphExecUpdate`). This is cheaper than instantiating that graph.
    ///
    /// # Errors
    /// [`GraphError::Update`] says what differs too much, [`GraphError::HasMemory`] if one of the graphs
    /// allocates memory, [`Error::OtherDevice`](crate::Error::OtherDevice) if the graph belongs to another
    /// device, else [`Error::Hip`](crate::Error::Hip). After an error this graph is unchanged.
    #[doc(alias = "hipGraphExecUpdate")]
    #[doc(alias = "cudaGraphExecUpdate")]
    #[doc(alias = "cuGraphExecUpdate")]
    pub fn update(&mut self, graph: &Graph) -> Result<()> {
        self.device().same(graph.device(), "hipGraphExecUpdate", "graph")?;
        graph.without_memory("used to update an executable graph")?;
        if self.memory.is_some() {
            return Err(GraphError::HasMemory { operation: "updated to another" }.into());
        }
        self.device().make_current()?;
        {
            let _one = graph.handle.lock();
            let mut node: hipGraphNode_t = std::ptr::null_mut();
            let mut result = hipGraphExecUpdateResult::hipGraphExecUpdateSuccess;
            // SAFETY: both graphs are valid, and the results are places to write to.
            let updated = unsafe {
                call!(
                    self.device().table(),
                    hipGraphExecUpdate(self.handle.get(), graph.handle.raw, &raw mut node, &raw mut result)
                )
            };
            if let Err(error) = updated {
                // HIP may have changed some nodes, so keep both graphs' resources.
                self.captured_uses.merge(&graph.uses());
                self.uses.merge(&graph.uses());
                return Err(update_error(error, result));
            }
        }
        // HIP does not say which node became which, so from now on all resources belong to the whole graph.
        self.nodes.iter_mut().for_each(|node| node.uses = Resources::default());
        let before = std::mem::replace(&mut self.captured_uses, graph.uses());
        self.captured_uses.keep_others_of(&before);
        self.uses = self.captured_uses.clone();
        Ok(())
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        let (handle, graph) = (self.handle, self.graph.clone());
        let (uses, mut usage) = (std::mem::take(&mut self.uses), std::mem::take(&mut self.usage));
        let memory = self.memory.take();
        release("executable graph", move || {
            uses.before_wait(&|| usage.is_over());
            usage.finish("executable graph", (graph, uses, memory), |(graph, uses, memory)| {
                let device = graph.device.clone();
                // SAFETY: the executable graph is destroyed once, and no stream runs it any more, even after
                // a failure.
                let destroyed =
                    unsafe { device.release(|| call!(device.table(), hipGraphExecDestroy(handle.get()))) };
                dropped("executable graph", destroyed);
                // Drop the nodes' resources after the graph.
                drop(graph);
                drop((uses, memory));
            });
        });
    }
}

impl fmt::Debug for GraphExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphExec").field("device", self.device()).finish_non_exhaustive()
    }
}
