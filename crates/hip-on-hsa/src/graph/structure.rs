//! Graphs as programs edit them: nodes and edges.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hip_sys::{hipError_t, hipGraph_t, hipGraphNode_t};

use crate::caller;
use crate::error::Result;
use crate::graph::op::Op;
use crate::graph::user_object::Objects;
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// A number that is unique in the process; later nodes have larger ones.
pub(crate) type NodeId = u64;

/// The nodes of a graph, in the order of creation.
pub(crate) type Nodes = BTreeMap<NodeId, Node>;

/// The object of a node's handle.
pub(crate) struct NodeName {
    pub(crate) graph: Weak<Graph>,
    pub(crate) id: NodeId,
}

/// All graphs by their handles.
pub(crate) fn graphs(_started: &Runtime) -> &'static Registry<GraphName> {
    static GRAPHS: Registry<GraphName> = Registry::new(Kind::Graph);
    &GRAPHS
}

/// The nodes of all graphs by their handles.
pub(crate) fn graph_nodes(_started: &Runtime) -> &'static Registry<NodeName> {
    static NODES: Registry<NodeName> = Registry::new(Kind::GraphNode);
    &NODES
}

/// The object of a graph's handle.
pub(crate) struct GraphName {
    graph: Weak<Graph>,
    /// Keeps the graph alive until it is destroyed, unless it belongs to a node.
    pub(crate) owned: Option<Arc<Graph>>,
}

/// An operation of a graph and the nodes that it waits for.
pub(crate) struct Node {
    pub(crate) handle: usize,
    pub(crate) op: Op,
    /// In the order in which they were added, each once.
    pub(crate) after: Vec<NodeId>,
    /// The original of this node, if its graph was cloned.
    pub(crate) source: Option<NodeId>,
}

/// A graph.
pub(crate) struct Graph {
    this: Weak<Graph>,
    /// 0 while the program has no handle.
    handle: AtomicUsize,
    nodes: Mutex<Nodes>,
    /// Its nesting depth in other graphs.
    nesting: AtomicU32,
    /// The user objects that it keeps.
    pub(crate) objects: Objects,
}

/// Maximum nesting of graphs, because code that follows them is recursive.
const DEEPEST: u32 = 64;

static NEXT_NODE: AtomicU64 = AtomicU64::new(1);

impl Graph {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_objects(Objects::default())
    }

    fn with_objects(objects: Objects) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            handle: AtomicUsize::new(0),
            nodes: Mutex::default(),
            nesting: AtomicU32::new(0),
            objects,
        })
    }

    /// Gives the graph a handle, which keeps it alive until it is destroyed.
    pub(crate) fn publish(self: &Arc<Self>, runtime: &Runtime) -> Result<hipGraph_t> {
        self.name(runtime, Some(self.clone()))
    }

    /// Gives the graph of a node a handle, which lives as long as the graph.
    pub(crate) fn lend(&self, runtime: &Runtime) -> Result<hipGraph_t> {
        match self.handle() {
            handle if handle.is_null() => self.name(runtime, None),
            handle => Ok(handle),
        }
    }

    fn name(&self, runtime: &Runtime, owned: Option<Arc<Self>>) -> Result<hipGraph_t> {
        let name = GraphName { graph: self.this.clone(), owned };
        let handle = graphs(runtime).insert(Arc::new(name)).ok_or(hipError_t::hipErrorOutOfMemory)?;
        self.handle.store(handle, Ordering::Release);
        Ok(handle as hipGraph_t)
    }

    /// The handle; null while there is none.
    pub(crate) fn handle(&self) -> hipGraph_t {
        self.handle.load(Ordering::Acquire) as hipGraph_t
    }

    /// Ends the handle. Other users keep the graph alive.
    pub(crate) fn unpublish(&self, runtime: &Runtime) -> Result {
        let handle = self.handle.swap(0, Ordering::AcqRel);
        graphs(runtime).remove(handle).map(drop).ok_or(INVALID_VALUE)
    }

    pub(crate) fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node behind others of this graph.
    pub(crate) fn add(&self, runtime: &Runtime, op: Op, after: &[NodeId]) -> Result<NodeId> {
        if let Op::Child(child) = &op {
            child.nest(self.nesting.load(Ordering::Acquire) + 1)?;
        }
        let mut nodes = self.nodes();
        if after.iter().any(|id| !nodes.contains_key(id)) {
            return Err(INVALID_VALUE);
        }
        self.insert(runtime, &mut nodes, op, after.to_vec(), None)
    }

    fn insert(
        &self,
        runtime: &Runtime,
        nodes: &mut Nodes,
        op: Op,
        after: Vec<NodeId>,
        source: Option<NodeId>,
    ) -> Result<NodeId> {
        let id = NEXT_NODE.fetch_add(1, Ordering::Relaxed);
        let name = NodeName { graph: self.this.clone(), id };
        let handle = graph_nodes(runtime).insert(Arc::new(name)).ok_or(hipError_t::hipErrorOutOfMemory)?;
        nodes.insert(id, Node { handle, op, after, source });
        Ok(id)
    }

    /// Sets the nesting depth.
    pub(crate) fn nest(&self, nesting: u32) -> Result {
        if nesting > DEEPEST {
            return Err(INVALID_VALUE);
        }
        self.nesting.store(nesting, Ordering::Release);
        self.nodes().values().try_for_each(|node| match &node.op {
            Op::Child(child) => child.nest(nesting + 1),
            _ => Ok(()),
        })
    }

    /// A separate graph with copies of all nodes.
    pub(crate) fn duplicate(&self, runtime: &Runtime) -> Result<Arc<Self>> {
        let copy = Self::with_objects(self.objects.duplicate(runtime)?);
        let nodes = self.nodes();
        let mut copies = copy.nodes();
        let mut ids: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        for (&id, node) in nodes.iter() {
            if node.op.has_memory() {
                return Err(hipError_t::hipErrorNotSupported);
            }
            let op = match &node.op {
                Op::Child(child) => Op::Child(child.duplicate(runtime)?),
                op => op.clone(),
            };
            ids.insert(id, copy.insert(runtime, &mut copies, op, Vec::new(), Some(id))?);
        }
        // An edge may lead to a node that was created later.
        for (id, node) in nodes.iter() {
            if let Some(copied) = ids.get(id).and_then(|id| copies.get_mut(id)) {
                copied.after = node.after.iter().filter_map(|id| ids.get(id).copied()).collect();
            }
        }
        drop(copies);
        Ok(copy)
    }

    /// Whether each of `ids` is one of `ends` or a predecessor of one.
    pub(crate) fn leads_to(&self, ids: &[NodeId], ends: &[NodeId]) -> bool {
        let nodes = self.nodes();
        let mut seen = std::collections::HashSet::new();
        let mut left = ends.to_vec();
        while let Some(id) = left.pop() {
            if seen.insert(id)
                && let Some(node) = nodes.get(&id)
            {
                left.extend(&node.after);
            }
        }
        // Nodes that were destroyed meanwhile have no predecessors.
        ids.iter().all(|id| seen.contains(id) || !nodes.contains_key(id))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let Some(runtime) = runtime() else { return };
        graphs(runtime).remove(*self.handle.get_mut());
        let nodes = self.nodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        for node in nodes.values() {
            graph_nodes(runtime).remove(node.handle);
        }
    }
}

/// The graph of a program's handle.
pub(crate) fn graph(runtime: &Runtime, handle: hipGraph_t) -> Result<Arc<Graph>> {
    graphs(runtime).get(handle as usize).and_then(|name| name.graph.upgrade()).ok_or(INVALID_VALUE)
}

/// The graph and number of the node of a program's handle.
pub(crate) fn node(runtime: &Runtime, handle: hipGraphNode_t) -> Result<(Arc<Graph>, NodeId)> {
    let name = graph_nodes(runtime).get(handle as usize).ok_or(INVALID_VALUE)?;
    Ok((name.graph.upgrade().ok_or(INVALID_VALUE)?, name.id))
}

/// The handle of a node of the graph or of one of its children.
pub(crate) fn handle_within(graph: &Graph, id: NodeId) -> Option<usize> {
    let nodes = graph.nodes();
    let found = nodes.get(&id).map(|node| node.handle);
    found.or_else(|| {
        nodes.values().find_map(|node| match &node.op {
            Op::Child(child) => handle_within(child, id),
            _ => None,
        })
    })
}

/// The nodes of a graph in a program's list, each once.
///
/// # Safety
/// The list is null or has as many readable handles.
pub(crate) unsafe fn node_list(
    runtime: &Runtime,
    owner: &Arc<Graph>,
    list: *const hipGraphNode_t,
    count: usize,
) -> Result<Vec<NodeId>> {
    // SAFETY: as this function's contract.
    let list = unsafe { caller::list(list, count) }?;
    let mut ids = Vec::with_capacity(count.min(1024));
    for &handle in list {
        let (graph, id) = node(runtime, handle)?;
        if !Arc::ptr_eq(&graph, owner) || ids.contains(&id) {
            return Err(INVALID_VALUE);
        }
        ids.push(id);
    }
    Ok(ids)
}
