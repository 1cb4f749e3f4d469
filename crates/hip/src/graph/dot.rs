//! Graphs as text, for `dot` and other drawing programs.

use std::fmt::Write;

use hip_sys::{hipGraphNode_t, hipGraphNodeType};

use super::Graph;
use crate::call::call;
use crate::error::Result;

impl Graph {
    /// The graph in Graphviz's language: each node with its kind, numbered in HIP's order, and each edge
    /// (`hipGraphGetNodes`, `hipGraphNodeGetType`, `hipGraphGetEdges`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipGraphDebugDotPrint")]
    #[doc(alias = "cudaGraphDebugDotPrint")]
    #[doc(alias = "cuGraphDebugDotPrint")]
    pub fn to_dot(&self) -> Result<String> {
        let nodes = self.all_nodes()?;
        let mut text = String::from("digraph graph_of_hip {\n");
        for (index, node) in nodes.iter().enumerate() {
            let kind = self.kind(*node)?;
            // Writing to a string does not fail.
            let _ = writeln!(text, "  n{index} [label=\"{index}: {kind}\"];");
        }
        let place = |node| nodes.iter().position(|known| *known == node);
        for (from, to) in self.edges()? {
            if let (Some(from), Some(to)) = (place(from), place(to)) {
                let _ = writeln!(text, "  n{from} -> n{to};");
            }
        }
        text.push_str("}\n");
        Ok(text)
    }

    pub(super) fn kind(&self, node: hipGraphNode_t) -> Result<String> {
        let kind = self.node_type(node)?;
        let name = kind.name().and_then(|name| name.strip_prefix("hipGraphNodeType"));
        Ok(name.map_or_else(|| format!("type {}", kind.0), str::to_owned))
    }

    pub(super) fn node_type(&self, node: hipGraphNode_t) -> Result<hipGraphNodeType> {
        let _one = self.handle.lock();
        let mut kind = hipGraphNodeType::hipGraphNodeTypeEmpty;
        // SAFETY: the node is one of the graph, and the result is a place to write to.
        unsafe { call!(self.device().table(), hipGraphNodeGetType(node, &raw mut kind))? };
        Ok(kind)
    }

    pub(super) fn edges(&self) -> Result<Vec<(hipGraphNode_t, hipGraphNode_t)>> {
        let table = self.device().table();
        let _one = self.handle.lock();
        let (raw, null, mut count) = (self.handle.raw, std::ptr::null_mut::<hipGraphNode_t>(), 0);
        // SAFETY: the graph is valid, and with null arrays, the call writes the number of edges.
        unsafe { call!(table, hipGraphGetEdges(raw, null, null, &raw mut count))? };
        let mut from: Vec<hipGraphNode_t> = vec![std::ptr::null_mut(); count];
        let mut to = from.clone();
        if count > 0 {
            // SAFETY: there is room for as many edges as `count` says.
            unsafe {
                call!(table, hipGraphGetEdges(raw, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count))?;
            }
        }
        Ok(from.into_iter().zip(to).take(count).collect())
    }
}
