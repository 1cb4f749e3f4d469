//! Graphs: work that is described once, and launched as one many times.
//!
//! A [`Graph`] is made by [capturing](crate::Device::capture) what is submitted to a stream, or of nodes that are added one
//! by one. [`Graph::instantiate`] makes a [`GraphExec`] of it, which is launched on streams.
//!
//! # What a graph uses
//! A graph keeps everything that its nodes use: the memory of buffers (dropping a [`DeviceBuffer`](crate::DeviceBuffer) frees it
//! when no graph has it any more, so that addresses stay valid), loaded modules, host functions, events. Launching it on a stream
//! registers all of that there, as if each piece of work were submitted: the stream waits for what conflicts, and
//! later uses of a buffer on other streams wait for the graph. Inside of a graph, nodes that use the same memory are ordered as
//! they were added or captured, unless all of them only read it.
//!
//! A launch and other work on the same buffers, submitted by two threads at the same time, run in either order; what a
//! buffer holds afterwards is then unspecified, as if the program had a race.
//!
//! # Memory of the graph
//! that only its own nodes use, and that exists only while it runs: see [`GraphBuffer`].
//!
//! # Memory of the host
//! belongs to the graph that copies from or to it: see [`SharedHostBuffer`].

mod capture;
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

pub use exec::GraphExec;
pub use host::SharedHostBuffer;
pub use memory::{GraphBuffer, GraphMemory};
pub use resources::GraphResource;

pub(crate) use capture::Capture;
pub(crate) use resources::Access;
use resources::{HostFunction, Resources, call_host_function};

/// Work of one device, and the order in which it is to be done.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let mut a = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let mut b = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let mut graph = hip::Graph::new(&device)?;
/// graph.add_fill(&mut a, 1.0, &[])?;
/// graph.add_copy(&mut b, &a, &[])?; // after the fill, because it reads what that writes
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
    /// Graphs that this one was cloned from, each with how many nodes it had.
    origins: Vec<(u64, usize)>,
    nodes: Vec<NodeEntry>,
    /// What was captured before nodes were added, which come after all of it.
    captured: Vec<hipGraphNode_t>,
    captured_uses: Resources,
    conflicts: HashMap<usize, Users>,
    /// Whether it has nodes that allocate memory, and how much of that no node frees.
    allocates: bool,
    not_freed: usize,
}

// SAFETY: handles of graphs and nodes may be used by any thread; `GraphHandle::lock` lets one call in at a time.
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
    /// HIP's nodes, at least one; each waits for the one before.
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
    /// Those that have read it since.
    readers: Vec<usize>,
}

/// A graph of HIP's, which executable graphs share: they name its nodes.
struct GraphHandle {
    device: Device,
    raw: hipGraph_t,
    lock: Mutex<()>,
    /// The executable graph that has the memory of this one.
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

    /// One call at a time changes or reads the graph.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GraphHandle {
    fn drop(&mut self) {
        // Made anew in the closure, as a handle that only that has.
        let (device, raw) = (self.device.clone(), RawGraph(self.raw));
        release("graph", move || {
            // SAFETY: the graph is destroyed once. Executable graphs that were made of it hold it until no stream runs them any more, so
            // nothing uses the memory that it allocates.
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

    /// Takes over what a capture has made.
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

    /// How many nodes it has, those that were captured included.
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

    /// Adds a call of a function on the host (`hipGraphAddHostNode`). What
    /// [`Stream::host_function`](crate::Stream::host_function) says of functions holds here, too.
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

    /// Adds a node that does nothing, to join others (`hipGraphAddEmptyNode`).
    ///
    /// # Errors
    /// As [`add_host_function`](Self::add_host_function).
    #[doc(alias = "hipGraphAddEmptyNode")]
    #[doc(alias = "cudaGraphAddEmptyNode")]
    #[doc(alias = "cuGraphAddEmptyNode")]
    pub fn add_empty(&mut self, dependencies: &[Node]) -> Result<Node> {
        self.add_nothing(dependencies, Resources::default(), NodeKind::Other)
    }

    /// Adds a node that does nothing in place of one that would.
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
    /// [`Error::OtherDevice`] if the event is another device's; else as [`add_host_function`](Self::add_host_function).
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

    /// Adds a wait for an event as it is recorded when the graph runs (`hipGraphAddEventWaitNode`). The event may be another
    /// device's of the same runtime.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the event is of another runtime; else as [`add_host_function`](Self::add_host_function).
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

    /// Adds another graph as one node, as it is now (`hipGraphAddChildGraphNode`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the graph is another device's, [`GraphError::HasMemory`] if it allocates memory; else as
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
                // SAFETY: graphs and nodes are valid; HIP copies the child, and this graph keeps what it uses.
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
    /// [`GraphError::OtherGraph`], else [`Error::Hip`], such as for an edge that is there or would close a circle.
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

    /// Makes a graph of the same nodes, which use the same things (`hipGraphClone`). This graph's nodes name those of the
    /// clone as well.
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
            // SAFETY: the node is one of this graph, of which that is a clone, and the result is a place to write to.
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

    /// Adds a node after those that it depends on. It may be several of HIP's, which `steps` make, each after the one before.
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
            // Each reader waits for the writer already.
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
            // What cannot be taken back is part of the graph, and so is what it uses.
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

    /// A node that was just added is the first to use a piece of memory.
    fn first_use(&mut self, node: Node, memory: &Arc<Allocation>) {
        self.nodes[node.index].uses.add_memory(memory, Access::Write);
        for (memory, _) in self.nodes[node.index].uses.conflicts() {
            self.conflicts.insert(memory, Users { writer: Some(node.index), readers: Vec::new() });
        }
    }

    /// Takes back a node that was just added (`hipGraphDestroyNode`).
    fn destroy(&self, node: hipGraphNode_t) -> Result<()> {
        let _one = self.handle.lock();
        // SAFETY: the node is one of the graph, and nothing has its handle.
        unsafe { call!(self.device().table(), hipGraphDestroyNode(node)) }
    }

    /// An error if the graph allocates memory, which has one address and one owner.
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

    /// What all nodes use, in their order.
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
        // A count for which there is no memory is not believed.
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

/// The device, and how many nodes there are.
impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("nodes", &self.len()).field("device", self.device()).finish()
    }
}

/// HIP has refused a change of an executable graph.
fn update_error(error: Error, result: hip_sys::hipGraphExecUpdateResult) -> Error {
    let refused = error.code() == Some(hipError_t::hipErrorGraphExecUpdateFailure);
    match result.name() {
        Some(reason) if refused => GraphError::Update { reason }.into(),
        _ => error,
    }
}
