//! The nodes of a graph and of its children as one list, as kept by an executable graph.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hip_sys::{hipError_t, hipGraphInstantiateResult};

use crate::error::Result;
use crate::graph::op::Op;
use crate::graph::structure::{Graph, NodeId, Nodes};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// A node, as it was at instantiation or after later changes.
pub(crate) struct Step {
    /// The node of the program's graph.
    pub(crate) id: NodeId,
    pub(crate) op: Op,
    pub(crate) enabled: bool,
    /// Its predecessors in the same graph, as distances in the list.
    pub(crate) after: Vec<isize>,
    /// How many of the following steps belong to its child.
    pub(crate) inner: usize,
    pub(crate) level: u32,
}

/// Why a graph cannot be instantiated.
pub(crate) struct Refusal {
    pub(crate) code: hipError_t,
    pub(crate) result: hipGraphInstantiateResult,
    pub(crate) node: Option<usize>,
}

pub(crate) fn failed(code: hipError_t) -> Refusal {
    Refusal { code, result: hipGraphInstantiateResult::hipGraphInstantiateError, node: None }
}

impl From<Refusal> for hipError_t {
    fn from(refusal: Refusal) -> Self {
        refusal.code
    }
}

/// The level of each node: 0 without predecessors, else one more than the highest predecessor. A child takes
/// as many levels as its own nodes. `None` if there is a cycle.
fn levels(nodes: &Nodes) -> Option<(HashMap<NodeId, u32>, u32)> {
    let mut depth = HashMap::new();
    for (&id, node) in nodes {
        let levels = match &node.op {
            Op::Child(child) => self::levels(&child.nodes())?.1.max(1),
            _ => 1,
        };
        depth.insert(id, levels);
    }
    let mut missing: HashMap<NodeId, usize> =
        nodes.iter().map(|(&id, node)| (id, node.after.len())).collect();
    let mut dependents: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for (&id, node) in nodes {
        for &before in &node.after {
            dependents.entry(before).or_default().push(id);
        }
    }
    let mut found: HashMap<NodeId, u32> = HashMap::new();
    let mut ready: Vec<NodeId> =
        missing.iter().filter(|(_, count)| **count == 0).map(|(&id, _)| id).collect();
    found.extend(ready.iter().map(|&id| (id, 0)));
    let (mut done, mut height) = (0, 0);
    while let Some(id) = ready.pop() {
        done += 1;
        let end = found[&id] + depth[&id];
        height = height.max(end);
        for &next in dependents.get(&id).into_iter().flatten() {
            let level = found.entry(next).or_insert(0);
            *level = (*level).max(end);
            if let Some(count) = missing.get_mut(&next) {
                *count -= 1;
                if *count == 0 {
                    ready.push(next);
                }
            }
        }
    }
    (done == nodes.len()).then_some((found, height))
}

/// Lists the nodes of a graph and its children.
pub(crate) fn flatten(graph: &Graph) -> std::result::Result<Vec<Step>, Refusal> {
    fn append(graph: &Graph, base: u32, steps: &mut Vec<Step>) -> Option<()> {
        let nodes = graph.nodes();
        let (levels, _) = levels(&nodes)?;
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        let start = steps.len();
        for (&id, node) in nodes.iter() {
            let level = base + levels[&id];
            places.insert(id, steps.len());
            let place = steps.len();
            steps.push(Step { id, op: node.op.clone(), enabled: true, after: Vec::new(), inner: 0, level });
            if let Op::Child(child) = &node.op {
                append(child, level, steps)?;
                steps[place].inner = steps.len() - place - 1;
            }
        }
        // An edge may lead to a node that was created later.
        for (place, step) in steps.iter_mut().enumerate().skip(start) {
            if let Some(node) = nodes.get(&step.id) {
                let distance = |before: &usize| *before as isize - place as isize;
                step.after = node.after.iter().filter_map(|id| places.get(id).map(distance)).collect();
                step.after.sort_unstable();
            }
        }
        Some(())
    }
    let mut steps = Vec::new();
    match append(graph, 0, &mut steps) {
        Some(()) => Ok(steps),
        None => Err(Refusal {
            code: INVALID_VALUE,
            result: hipGraphInstantiateResult::hipGraphInstantiateInvalidStructure,
            node: None,
        }),
    }
}

/// The graph that a part of such a list came from, with the current operations.
pub(crate) fn rebuild(runtime: &Runtime, steps: &[Step], range: Range<usize>) -> Result<Arc<Graph>> {
    let graph = Graph::new();
    let mut ids: HashMap<usize, NodeId> = HashMap::new();
    let mut place = range.start;
    while place < range.end {
        let step = &steps[place];
        let next = place + 1 + step.inner;
        if step.op.has_memory() {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let op = match &step.op {
            Op::Child(_) => Op::Child(rebuild(runtime, steps, place + 1..next)?),
            _ if !step.enabled => Op::Empty,
            op => op.clone(),
        };
        ids.insert(place, graph.add(runtime, op, &[])?);
        place = next;
    }
    let mut nodes = graph.nodes();
    for (place, id) in &ids {
        if let Some(node) = nodes.get_mut(id) {
            let before = |distance: &isize| ids.get(&place.checked_add_signed(*distance)?).copied();
            node.after = steps[*place].after.iter().filter_map(before).collect();
        }
    }
    drop(nodes);
    Ok(graph)
}
