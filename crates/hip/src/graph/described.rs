//! What the nodes of a graph do, for crates that run graphs by other means.

use std::collections::HashMap;

use hip_sys::{
    dim3, hipGraphNode_t, hipGraphNodeType, hipKernelNodeParams, hipLaunchAttributeID,
    hipLaunchAttributeValue, hipMemcpy3DParms, hipMemcpyKind, hipMemsetParams,
};

use super::Graph;
use super::resources::Resources;
use crate::call::call;
use crate::error::Result;
use crate::function::Function;
use crate::launch::{Dim3, LaunchConfig};
use crate::memory::DeviceAddress;

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct DescribedNode {
    /// One more than the largest level of the nodes that it waits for; 0 if it waits for none.
    pub level: usize,
    /// What it does.
    pub work: NodeWork,
}

/// What a node of a graph does. The graph keeps what it uses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeWork {
    /// It runs a kernel.
    Kernel {
        /// The kernel.
        function: Function,
        /// The sizes.
        config: LaunchConfig,
        /// The bytes of each of the kernel's [parameters](Function::parameters).
        arguments: Vec<Box<[u8]>>,
    },
    /// It copies a range of device memory to another one.
    Memcpy {
        /// The first byte of the target.
        to: DeviceAddress,
        /// The first byte of the source.
        from: DeviceAddress,
        /// Bytes.
        bytes: usize,
    },
    /// It fills a range of device memory.
    Memset {
        /// The first byte.
        to: DeviceAddress,
        /// What the range has again and again: 1, 2 or 4 bytes.
        pattern: Box<[u8]>,
        /// Bytes.
        bytes: usize,
    },
    /// It does nothing, and may join others.
    Nothing,
    /// Something else: HIP's name of the kind of node, perhaps with what is special about it.
    Other(String),
}

impl Graph {
    /// What its nodes do, level by level (`hipGraphGetNodes`, `hipGraphGetEdges`, `hipGraphNodeGetType`,
    /// `hipGraphKernelNodeGetParams`, `hipGraphKernelNodeGetAttribute`, `hipGraphMemcpyNodeGetParams`,
    /// `hipGraphMemsetNodeGetParams`). Those of a level do not wait for each other.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn describe(&self) -> Result<Vec<DescribedNode>> {
        let (nodes, uses) = (self.all_nodes()?, self.uses());
        let levels = levels(&nodes, &self.edges()?);
        let mut described = Vec::with_capacity(nodes.len());
        for (node, level) in nodes.into_iter().zip(levels) {
            described.push(DescribedNode { level, work: self.work_of(node, &uses)? });
        }
        // Nodes of a level stay in HIP's order.
        described.sort_by_key(|node| node.level);
        Ok(described)
    }

    fn work_of(&self, node: hipGraphNode_t, uses: &Resources) -> Result<NodeWork> {
        type Type = hipGraphNodeType;
        match self.node_type(node)? {
            Type::hipGraphNodeTypeKernel => self.kernel_of(node, uses),
            Type::hipGraphNodeTypeMemcpy => self.copy_of(node),
            Type::hipGraphNodeTypeMemset => self.fill_of(node),
            Type::hipGraphNodeTypeEmpty => Ok(NodeWork::Nothing),
            _ => Ok(NodeWork::Other(self.kind(node)?)),
        }
    }

    fn kernel_of(&self, node: hipGraphNode_t, uses: &Resources) -> Result<NodeWork> {
        let table = self.device().table();
        let _one = self.handle.lock();
        let none = dim3 { x: 0, y: 0, z: 0 };
        let mut params = hipKernelNodeParams {
            blockDim: none,
            extra: std::ptr::null_mut(),
            func: std::ptr::null_mut(),
            gridDim: none,
            kernelParams: std::ptr::null_mut(),
            sharedMemBytes: 0,
        };
        // SAFETY: the node is one of the graph, and the result is a place to write to.
        unsafe { call!(table, hipGraphKernelNodeGetParams(node, &raw mut params))? };
        let mut value = hipLaunchAttributeValue { pad: [0; 64] };
        let id = hipLaunchAttributeID::hipLaunchAttributeCooperative;
        // SAFETY: as above.
        unsafe { call!(table, hipGraphKernelNodeGetAttribute(node, id, &raw mut value))? };
        // SAFETY: this is the attribute's member.
        let cooperative = unsafe { value.cooperative } != 0;
        let known = uses.modules().iter().find_map(|module| module.function_of(params.func.cast()));
        let Some(function) = known else {
            return Ok(NodeWork::Other("Kernel of another program".to_owned()));
        };
        let parameters = function.parameters();
        if params.kernelParams.is_null() && !parameters.is_empty() {
            return Ok(NodeWork::Other("Kernel with packed arguments".to_owned()));
        }
        let mut arguments = Vec::with_capacity(parameters.len());
        for (index, parameter) in parameters.iter().enumerate() {
            // SAFETY: the node has a pointer for each of the kernel's parameters, to a value of its size,
            // which stays as long as the node is not changed: the lock is held.
            let bytes = unsafe {
                let argument = params.kernelParams.add(index).read().cast::<u8>().cast_const();
                std::slice::from_raw_parts(argument, parameter.size as usize)
            };
            arguments.push(bytes.into());
        }
        let size = |dim3 { x, y, z }: dim3| Dim3([x, y, z]);
        let config = LaunchConfig {
            grid: size(params.gridDim),
            block: size(params.blockDim),
            dynamic_lds: params.sharedMemBytes,
            cooperative,
        };
        Ok(NodeWork::Kernel { function, config, arguments })
    }

    fn copy_of(&self, node: hipGraphNode_t) -> Result<NodeWork> {
        let mut params = hipMemcpy3DParms::default();
        let _one = self.handle.lock();
        // SAFETY: the node is one of the graph, and the result is a place to write to.
        unsafe {
            call!(self.device().table(), hipGraphMemcpyNodeGetParams(node, &raw mut params))?;
        }
        let (to, from, extent) = (&params.dstPtr, &params.srcPtr, &params.extent);
        let is_on_device = params.kind == hipMemcpyKind::hipMemcpyDeviceToDevice;
        let has_arrays = !params.srcArray.is_null() || !params.dstArray.is_null();
        let starts = [params.srcPos.x, params.srcPos.y, params.srcPos.z, params.dstPos.x, params.dstPos.y];
        let is_flat = extent.height <= 1 && extent.depth <= 1;
        let is_whole = starts.iter().all(|at| *at == 0) && params.dstPos.z == 0;
        if !is_on_device || has_arrays || !is_flat || !is_whole {
            return Ok(NodeWork::Other("Memcpy that is not a range of device memory".to_owned()));
        }
        let address = |pointer: *mut std::ffi::c_void| DeviceAddress(pointer as u64);
        Ok(NodeWork::Memcpy { to: address(to.ptr), from: address(from.ptr), bytes: extent.width })
    }

    fn fill_of(&self, node: hipGraphNode_t) -> Result<NodeWork> {
        let mut params = hipMemsetParams::default();
        let _one = self.handle.lock();
        // SAFETY: the node is one of the graph, and the result is a place to write to.
        unsafe {
            call!(self.device().table(), hipGraphMemsetNodeGetParams(node, &raw mut params))?;
        }
        let value = params.value.to_le_bytes();
        let element = params.elementSize as usize;
        let (Some(pattern), true) = (value.get(..element), matches!(element, 1 | 2 | 4)) else {
            return Ok(NodeWork::Other(format!("Memset of {element} bytes at a time")));
        };
        if params.height > 1 {
            return Ok(NodeWork::Other("Memset that is not one range".to_owned()));
        }
        let bytes = params.width * element;
        Ok(NodeWork::Memset { to: DeviceAddress(params.dst as u64), pattern: pattern.into(), bytes })
    }
}

/// The level of each node.
fn levels(nodes: &[hipGraphNode_t], edges: &[(hipGraphNode_t, hipGraphNode_t)]) -> Vec<usize> {
    let places: HashMap<hipGraphNode_t, usize> =
        nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut waits_for = vec![0_usize; nodes.len()];
    for (from, to) in edges {
        if let (Some(from), Some(to)) = (places.get(from), places.get(to)) {
            followers[*from].push(*to);
            waits_for[*to] += 1;
        }
    }
    let mut levels = vec![0; nodes.len()];
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|place| waits_for[*place] == 0).collect();
    while let Some(place) = ready.pop() {
        for &follower in &followers[place] {
            levels[follower] = levels[follower].max(levels[place] + 1);
            waits_for[follower] -= 1;
            if waits_for[follower] == 0 {
                ready.push(follower);
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_above_those_of_all_nodes_that_it_waits_for() {
        let nodes: Vec<hipGraphNode_t> =
            (1..=5_usize).map(|number| std::ptr::without_provenance_mut(number * 8)).collect();
        let edge = |from: usize, to: usize| (nodes[from], nodes[to]);
        let edges = [edge(3, 0), edge(0, 1), edge(3, 1), edge(4, 1), edge(1, 2), edge(4, 2)];
        assert_eq!(levels(&nodes, &edges), [1, 2, 3, 0, 0]);
        assert_eq!(levels(&nodes, &[]), [0; 5]);
    }
}
