//! Graphs: work that is described once and launched as a whole, many times.
//!
//! Build a [`Graph`] by [capturing](crate::Device::capture) work submitted to a stream, or by adding nodes
//! one by one. [`Graph::instantiate`] makes a [`GraphExec`] of it, which is launched on streams.
//!
//! # What a graph uses
//! A graph keeps everything that its nodes use: the memory of buffers, loaded modules, host functions,
//! events. The memory of a dropped [`DeviceBuffer`](crate::DeviceBuffer) is freed once no graph uses it, so
//! addresses stay valid. Launching a graph on a stream registers all its uses there, as if each piece of work
//! were submitted: the stream waits for conflicting work, and later uses of a buffer on other streams wait
//! for the graph. Inside a graph, nodes that use the same memory run in the order in which they were added or
//! captured, unless all of them only read it.
//!
//! If two threads submit a launch and other work on the same buffers at the same time, these run in either
//! order. The contents of the buffers are then unspecified, as after a race in the program.
//! # Memory that the graph allocates
//! A graph can allocate memory that only its own nodes use and that exists only while it runs: see
//! [`GraphBuffer`].
//! # Host memory
//! Host memory that a graph copies from or to is shared with the program: see [`SharedHostBuffer`].

mod capture;
mod described;
mod dot;
mod exec;
mod host;
mod kernel;
mod memory;
mod resources;
#[cfg(test)]
mod tests;
mod transfer;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hip_sys::{hipError_t, hipGraph_t, hipGraphNode_t, hipHostFn_t, hipHostNodeParams};

use crate::call::{call, dropped};
use crate::device::Device;
pub use crate::error::GraphError;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::live::{Counted, Kind};
use crate::memory::Allocation;
use crate::stream::release;

pub use described::{DescribedNode, NodeWork};
pub use exec::GraphExec;
pub use host::SharedHostBuffer;
pub use memory::{GraphBuffer, GraphMemory};
pub use resources::GraphResource;

pub(crate) use capture::Capture;
pub(crate) use resources::Access;
use resources::{HostFunction, Resources, call_host_function};

/// Work for one device, and its order.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let mut a = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let mut b = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let mut graph = hip::Graph::new(&device)?;
/// graph.add_fill(&mut a, 1.0, &[])?;
/// graph.add_copy(&mut b, &a, &[])?; // after the fill, because it reads what the fill writes
/// let exec = graph.instantiate()?;
/// for _ in 0..100 {
///     exec.launch(&stream)?;
/// }
/// assert_eq!(b.to_vec(&stream)?, [1.0; 1000]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipGraph_t")]
#[doc(alias = "cudaGraph_t")]
pub struct Graph {
    handle: Arc<GraphHandle>,
    /// Unique in the process.
    id: u64,
    /// The graphs that this one was cloned from, with their numbers of nodes.
    origins: Vec<(u64, usize)>,
    nodes: Vec<NodeEntry>,
    /// The captured nodes. Nodes added later come after all of them.
    captured: Vec<hipGraphNode_t>,
    captured_uses: Resources,
    conflicts: HashMap<usize, Users>,
    /// Whether it has nodes that allocate memory, and how many allocations no node frees.
    allocates: bool,
    not_freed: usize,
}

// SAFETY: handles of graphs and nodes may be used by any thread; `GraphHandle::lock` lets one call in at a
// time.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

/// A node of a [`Graph`], and of its clones.
#[doc(alias = "hipGraphNode_t")]
#[doc(alias = "cudaGraphNode_t")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    graph: u64,
    index: usize,
}

#[derive(Clone)]
struct NodeEntry {
    /// HIP's nodes, at least one. Each waits for the one before.
    handles: Vec<hipGraphNode_t>,
    uses: Resources,
    kind: NodeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeKind {
    Kernel {
        cooperative: bool,
    },
    /// A copy or a fill.
    Transfer,
    /// A copy or a fill of no bytes.
    Nothing,
    Other,
}

impl NodeEntry {
    fn first(&self) -> hipGraphNode_t {
        self.handles[0]
    }

    fn last(&self) -> hipGraphNode_t {
        self.handles[self.handles.len() - 1]
    }
}

/// The nodes that use a piece of memory, by their places.
#[derive(Clone, Default)]
struct Users {
    /// The last one that writes it.
    writer: Option<usize>,
    /// Those that have read it since then.
    readers: Vec<usize>,
}

/// A HIP graph. Executable graphs share it, because they refer to its nodes.
struct GraphHandle {
    device: Device,
    raw: hipGraph_t,
    lock: Mutex<()>,
    /// The executable graph that currently owns this graph's memory.
    executable: Mutex<Weak<()>>,
    _counted: Counted,
}

// SAFETY: HIP's graph handles may be used by any thread; the lock lets one call in at a time.
unsafe impl Send for GraphHandle {}
// SAFETY: as above.
unsafe impl Sync for GraphHandle {}

impl GraphHandle {
    fn new(device: &Device, raw: hipGraph_t) -> Arc<Self> {
        let _counted = Counted::new(Kind::Graph);
        let (device, lock, executable) = (device.clone(), Mutex::default(), Mutex::default());
        Arc::new(Self { device, raw, lock, executable, _counted })
    }

    /// Lets one call at a time change or read the graph.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GraphHandle {
    fn drop(&mut self) {
        // Wrapped again, as a handle that only the closure has.
        let (device, raw) = (self.device.clone(), RawGraph(self.raw));
        release("graph", move || {
            // SAFETY: the graph is destroyed once. Its executable graphs hold it until no stream runs them,
            // so nothing uses the memory that it allocates.
            let destroyed = unsafe { device.release(|| call!(device.table(), hipGraphDestroy(raw.get()))) };
            dropped("graph", destroyed);
        });
    }
}

struct RawGraph(hipGraph_t);

// SAFETY: HIP's graph handles may be used by any thread.
unsafe impl Send for RawGraph {}

impl RawGraph {
    fn get(&self) -> hipGraph_t {
        self.0
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl Graph {
    /// Makes a graph without nodes (`hipGraphCreate`).
    ///
    /// # Errors
    /// [`Error::Hip`], with `hipErrorNotSupported` where the library has no graphs.
    #[doc(alias = "hipGraphCreate")]
    #[doc(alias = "cudaGraphCreate")]
    #[doc(alias = "cuGraphCreate")]
    pub fn new(device: &Device) -> Result<Self> {
        device.make_current()?;
        let mut raw: hipGraph_t = std::ptr::null_mut();
        // SAFETY: the result is a place to write to.
        unsafe { call!(device.table(), hipGraphCreate(&raw mut raw, 0))? };
        Ok(Self::of(GraphHandle::new(device, raw)))
    }

    fn of(handle: Arc<GraphHandle>) -> Self {
        Self {
            handle,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            origins: Vec::new(),
            nodes: Vec::new(),
            captured: Vec::new(),
            captured_uses: Resources::default(),
            conflicts: HashMap::new(),
            allocates: false,
            not_freed: 0,
        }
    }

    /// Takes over a captured graph.
    fn captured(device: &Device, raw: hipGraph_t, uses: Resources) -> Result<Self> {
        let mut graph = Self::of(GraphHandle::new(device, raw));
        graph.captured_uses = uses;
        graph.captured = graph.all_nodes()?;
        Ok(graph)
    }

    /// The device that runs it.
    pub fn device(&self) -> &Device {
        &self.handle.device
    }

    /// How many nodes it has, including captured ones.
    pub fn len(&self) -> usize {
        self.captured.len() + self.nodes.len()
    }

    /// Whether it has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this graph.
    pub fn as_raw(&self) -> hipGraph_t {
        self.handle.raw
    }

    /// Adds a call of a host function (`hipGraphAddHostNode`). The rules of
    /// [`Stream::host_function`](crate::Stream::host_function) apply.
    ///
    /// # Errors
    /// [`GraphError::OtherGraph`], else [`Error::Hip`].
    #[doc(alias = "hipGraphAddHostNode")]
    #[doc(alias = "cudaGraphAddHostNode")]
    #[doc(alias = "cuGraphAddHostNode")]
    pub fn add_host_function(
        &mut self,
        function: impl Fn() + Send + Sync + 'static,
        dependencies: &[Node],
    ) -> Result<Node> {
        let function = HostFunction::new(function);
        let mut uses = Resources::default();
        uses.add_function(&function);
        let call: hipHostFn_t = Some(call_host_function);
        let params = hipHostNodeParams { fn_: call, userData: function.data() };
        let table = self.device().table();
        self.add(
            dependencies,
            uses,
            NodeKind::Other,
            [|node, graph, dependencies: &[_]| {
                // SAFETY: graph and nodes are valid; the graph keeps the function.
                unsafe {
                    call!(
                        table,
                        hipGraphAddHostNode(
                            node,
                            graph,
                            dependencies.as_ptr(),
                            dependencies.len(),
                            &raw const params
                        )
                    )
                }
            }],
        )
    }

    /// Adds an empty node, to join others (`hipGraphAddEmptyNode`).
    ///
    /// # Errors
    /// As [`add_host_function`](Self::add_host_function).
    #[doc(alias = "hipGraphAddEmptyNode")]
    #[doc(alias = "cudaGraphAddEmptyNode")]
    #[doc(alias = "cuGraphAddEmptyNode")]
    pub fn add_empty(&mut self, dependencies: &[Node]) -> Result<Node> {
        self.add_nothing(dependencies, Resources::default(), NodeKind::Other)
    }

    /// Adds an empty node in place of one that has nothing to do.
    fn add_nothing(&mut self, dependencies: &[Node], uses: Resources, kind: NodeKind) -> Result<Node> {
        let table = self.device().table();
        self.add(
            dependencies,
            uses,
            kind,
            [|node, graph, dependencies: &[_]| {
                // SAFETY: graph and nodes are valid.
                unsafe {
                    call!(table, hipGraphAddEmptyNode(node, graph, dependencies.as_ptr(), dependencies.len()))
                }
            }],
        )
    }

    /// Adds the recording of an event (`hipGraphAddEventRecordNode`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the event belongs to another device; else as
    /// [`add_host_function`](Self::add_host_function).
    #[doc(alias = "hipGraphAddEventRecordNode")]
    #[doc(alias = "cudaGraphAddEventRecordNode")]
    #[doc(alias = "cuGraphAddEventRecordNode")]
    pub fn add_event_record(&mut self, event: &Event, dependencies: &[Node]) -> Result<Node> {
        self.device().same(event.device(), "hipGraphAddEventRecordNode", "event")?;
        let mut uses = Resources::default();
        uses.add_event(event.share(), true);
        let (table, event) = (self.device().table(), event.as_raw());
        self.add(
            dependencies,
            uses,
            NodeKind::Other,
            [|node, graph, dependencies: &[_]| {
                // SAFETY: graph and nodes are valid; the graph keeps the event.
                unsafe {
                    call!(
                        table,
                        hipGraphAddEventRecordNode(
                            node,
                            graph,
                            dependencies.as_ptr(),
                            dependencies.len(),
                            event
                        )
                    )
                }
            }],
        )
    }

    /// Adds a wait for the event's latest recording at the time when the graph runs
    /// (`hipGraphAddEventWaitNode`). The event may belong to another device of the same runtime.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the event belongs to another runtime; else as
    /// [`add_host_function`](Self::add_host_function).
    #[doc(alias = "hipGraphAddEventWaitNode")]
    #[doc(alias = "cudaGraphAddEventWaitNode")]
    #[doc(alias = "cuGraphAddEventWaitNode")]
    pub fn add_event_wait(&mut self, event: &Event, dependencies: &[Node]) -> Result<Node> {
        self.device().same_runtime(event.device(), "hipGraphAddEventWaitNode", "event")?;
        let mut uses = Resources::default();
        uses.add_event(event.share(), false);
        let (table, event) = (self.device().table(), event.as_raw());
        self.add(
            dependencies,
            uses,
            NodeKind::Other,
            [|node, graph, dependencies: &[_]| {
                // SAFETY: graph and nodes are valid; the graph keeps the event.
                unsafe {
                    call!(
                        table,
                        hipGraphAddEventWaitNode(
                            node,
                            graph,
                            dependencies.as_ptr(),
                            dependencies.len(),
                            event
                        )
                    )
                }
            }],
        )
    }

    /// Adds another graph, in its present state, as one node (`hipGraphAddChildGraphNode`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the graph belongs to another device, [`GraphError::HasMemory`] if it
    /// allocates memory; else as
    /// [`add_host_function`](Self::add_host_function).
    #[doc(alias = "hipGraphAddChildGraphNode")]
    #[doc(alias = "cudaGraphAddChildGraphNode")]
    #[doc(alias = "cuGraphAddChildGraphNode")]
    pub fn add_child(&mut self, child: &Self, dependencies: &[Node]) -> Result<Node> {
        self.device().same(child.device(), "hipGraphAddChildGraphNode", "graph")?;
        child.without_memory("added to another")?;
        let (table, raw) = (self.device().table(), child.as_raw());
        self.add(
            dependencies,
            child.uses(),
            NodeKind::Other,
            [|node, graph, dependencies: &[_]| {
                let _child = child.handle.lock();
                // SAFETY: graphs and nodes are valid; HIP copies the child, and this graph keeps what it
                // uses.
                unsafe {
                    call!(
                        table,
                        hipGraphAddChildGraphNode(
                            node,
                            graph,
                            dependencies.as_ptr(),
                            dependencies.len(),
                            raw
                        )
                    )
                }
            }],
        )
    }

    /// Makes one node wait for another (`hipGraphAddDependencies`).
    ///
    /// # Errors
    /// [`GraphError::OtherGraph`], else [`Error::Hip`], such as for an edge that exists or would close a
    /// cycle.
    #[doc(alias = "hipGraphAddDependencies")]
    #[doc(alias = "cudaGraphAddDependencies")]
    #[doc(alias = "cuGraphAddDependencies")]
    pub fn add_dependency(&mut self, before: Node, after: Node) -> Result<()> {
        let (before, after) = (self.entry(before)?.last(), self.entry(after)?.first());
        self.device().make_current()?;
        let _one = self.handle.lock();
        // SAFETY: graph and nodes are valid, and each pointer leads to one.
        unsafe {
            call!(
                self.device().table(),
                hipGraphAddDependencies(self.handle.raw, &raw const before, &raw const after, 1)
            )
        }
    }

    /// Makes a graph with the same nodes and resources (`hipGraphClone`). This graph's [`Node`]s also refer
    /// to those of the clone.
    ///
    /// # Errors
    /// [`GraphError::HasMemory`] if it allocates memory, else [`Error::Hip`].
    #[doc(alias = "hipGraphClone")]
    #[doc(alias = "cudaGraphClone")]
    #[doc(alias = "cuGraphClone")]
    pub fn try_clone(&self) -> Result<Self> {
        self.without_memory("cloned")?;
        let table = self.device().table();
        self.device().make_current()?;
        let _one = self.handle.lock();
        let mut raw: hipGraph_t = std::ptr::null_mut();
        // SAFETY: the graph is valid, and the result is a place to write to.
        unsafe { call!(table, hipGraphClone(&raw mut raw, self.handle.raw))? };
        let mut clone = Self::of(GraphHandle::new(self.device(), raw));
        let find = |original: hipGraphNode_t| {
            let mut node: hipGraphNode_t = std::ptr::null_mut();
            // SAFETY: the node belongs to this graph, the other graph is its clone, and the result is a place
            // to write to.
            unsafe { call!(table, hipGraphNodeFindInClone(&raw mut node, original, raw))? };
            Ok(node)
        };
        let find_all = |nodes: &[hipGraphNode_t]| nodes.iter().map(|node| find(*node)).collect::<Result<_>>();
        let entries = self.nodes.iter().map(|entry| {
            let NodeEntry { handles, uses, kind } = entry;
            Ok(NodeEntry { handles: find_all(handles)?, uses: uses.clone(), kind: *kind })
        });
        clone.nodes = entries.collect::<Result<_>>()?;
        clone.captured = find_all(&self.captured)?;
        clone.captured_uses = self.captured_uses.clone();
        clone.conflicts = self.conflicts.clone();
        clone.origins = self.origins.clone();
        clone.origins.push((self.id, self.nodes.len()));
        Ok(clone)
    }

    /// Adds a node after its dependencies. It may consist of several HIP nodes, made by `steps`, each after
    /// the one before.
    fn add<F>(
        &mut self,
        dependencies: &[Node],
        uses: Resources,
        kind: NodeKind,
        steps: impl IntoIterator<Item = F>,
    ) -> Result<Node>
    where
        F: FnOnce(*mut hipGraphNode_t, hipGraph_t, &[hipGraphNode_t]) -> Result<()>,
    {
        if uses.memory_of_graphs().any(|graph| graph != self.id) {
            return Err(GraphError::MemoryOfGraph.into());
        }
        let mut before: Vec<usize> =
            dependencies.iter().map(|node| self.index(*node)).collect::<Result<_>>()?;
        for (memory, writes) in uses.conflicts() {
            let Some(users) = self.conflicts.get(&memory) else { continue };
            // Each reader already waits for the writer.
            if writes && !users.readers.is_empty() {
                before.extend(&users.readers);
            } else {
                before.extend(users.writer);
            }
        }
        before.sort_unstable();
        before.dedup();
        let mut after = self.captured.clone();
        after.extend(before.iter().map(|index| self.nodes[*index].last()));
        self.device().make_current()?;
        let mut handles = Vec::new();
        let added = {
            let _one = self.handle.lock();
            steps.into_iter().try_for_each(|add| {
                let mut handle: hipGraphNode_t = std::ptr::null_mut();
                let after = handles.last().map_or(&after[..], std::slice::from_ref);
                add(&raw mut handle, self.handle.raw, after)?;
                handles.push(handle);
                Ok(())
            })
        };
        if added.is_err() {
            // A node that cannot be removed stays in the graph, and so do its resources.
            handles.retain(|handle| self.destroy(*handle).is_err());
        }
        let index = self.nodes.len();
        let added = added.map(|()| Node { graph: self.id, index });
        if handles.is_empty() {
            return added;
        }
        for (memory, writes) in uses.conflicts() {
            let users = self.conflicts.entry(memory).or_default();
            if writes {
                *users = Users { writer: Some(index), readers: Vec::new() };
            } else {
                users.readers.push(index);
            }
        }
        self.nodes.push(NodeEntry { handles, uses, kind });
        added
    }

    /// Registers a newly added node as the first to use a piece of memory.
    fn first_use(&mut self, node: Node, memory: &Arc<Allocation>) {
        self.nodes[node.index].uses.add_memory(memory, Access::Write);
        for (memory, _) in self.nodes[node.index].uses.conflicts() {
            self.conflicts.insert(memory, Users { writer: Some(node.index), readers: Vec::new() });
        }
    }

    /// Removes a newly added node (`hipGraphDestroyNode`).
    fn destroy(&self, node: hipGraphNode_t) -> Result<()> {
        let _one = self.handle.lock();
        // SAFETY: the node is one of the graph, and nothing has its handle.
        unsafe { call!(self.device().table(), hipGraphDestroyNode(node)) }
    }

    /// An error if the graph allocates memory, because that has one address and one owner.
    fn without_memory(&self, operation: &'static str) -> Result<()> {
        if self.allocates { Err(GraphError::HasMemory { operation }.into()) } else { Ok(()) }
    }

    fn index(&self, node: Node) -> Result<usize> {
        index_in(node, self.id, &self.origins, self.nodes.len())
    }

    fn entry(&self, node: Node) -> Result<&NodeEntry> {
        let index = self.index(node)?;
        self.nodes.get(index).ok_or_else(|| GraphError::OtherGraph.into())
    }

    /// The resources of all nodes, in order.
    fn uses(&self) -> Resources {
        let mut uses = self.captured_uses.clone();
        self.nodes.iter().for_each(|node| uses.merge(&node.uses));
        uses
    }

    /// All nodes that HIP knows (`hipGraphGetNodes`).
    fn all_nodes(&self) -> Result<Vec<hipGraphNode_t>> {
        let table = self.device().table();
        self.device().make_current()?;
        let _one = self.handle.lock();
        let mut count = 0;
        // SAFETY: the graph is valid, and without a place for nodes their number is written.
        unsafe {
            call!(table, hipGraphGetNodes(self.handle.raw, std::ptr::null_mut(), &raw mut count))?;
        }
        let mut nodes: Vec<hipGraphNode_t> = Vec::new();
        // Reject a count for which there is not enough memory.
        let absurd = Error::Hip { operation: "hipGraphGetNodes", code: hipError_t::hipErrorUnknown };
        nodes.try_reserve_exact(count).map_err(|_| absurd)?;
        nodes.resize(count, std::ptr::null_mut());
        if count > 0 {
            // SAFETY: there is room for as many nodes as `count` says.
            unsafe { call!(table, hipGraphGetNodes(self.handle.raw, nodes.as_mut_ptr(), &raw mut count))? };
            nodes.truncate(count);
        }
        Ok(nodes)
    }
}

/// The place of a node in a graph, or in a clone of its graph.
fn index_in(node: Node, id: u64, origins: &[(u64, usize)], count: usize) -> Result<usize> {
    let known = match node.graph == id {
        true => Some(count),
        false => origins.iter().find(|(origin, _)| *origin == node.graph).map(|(_, count)| *count),
    };
    match known {
        Some(count) if node.index < count => Ok(node.index),
        _ => Err(GraphError::OtherGraph.into()),
    }
}

/// The device and the number of nodes.
impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("nodes", &self.len()).field("device", self.device()).finish()
    }
}

/// The error for an update of an executable graph that HIP refused.
fn update_error(error: Error, result: hip_sys::hipGraphExecUpdateResult) -> Error {
    let refused = error.code() == Some(hipError_t::hipErrorGraphExecUpdateFailure);
    match result.name() {
        Some(reason) if refused => GraphError::Update { reason }.into(),
        _ => error,
    }
}
