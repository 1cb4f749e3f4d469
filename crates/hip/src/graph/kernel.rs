//! Nodes that run kernels.

use hip_sys::{dim3, hipGraphNode_t, hipKernelNodeParams, hipLaunchAttributeID, hipLaunchAttributeValue};

use super::resources::{Access, Resources};
use super::{Graph, GraphError, Node, NodeKind};
use crate::call::call;
use crate::device::Device;
use crate::error::Result;
use crate::launch::{Launch, LaunchConfig};

/// A checked launch in the form that HIP's graphs need.
pub(super) struct Kernel<'a> {
    function: crate::Function,
    config: LaunchConfig,
    arguments: crate::launch::Arguments<'a>,
    pub(super) uses: Resources,
}

impl<'a> Kernel<'a> {
    pub(super) fn of(launch: Launch<'a>, device: &Device) -> Result<Self> {
        let (function, config, arguments) = launch.into_parts()?;
        device.same(function.device(), "hipGraphAddKernelNode", "function")?;
        let mut uses = Resources::default();
        for (allocation, written) in arguments.used() {
            uses.add_memory(allocation, if written { Access::Update } else { Access::Read });
        }
        uses.add_module(function.module());
        if let Some(variables) = function.module().globals_in_use() {
            uses.add_memory(&variables, Access::Write);
        }
        Ok(Self { function: function.clone(), config, arguments, uses })
    }

    pub(super) fn cooperative(&self) -> bool {
        self.config.cooperative
    }

    pub(super) fn name(&self) -> &str {
        self.function.name()
    }

    pub(super) fn with_params<R>(&mut self, run: impl FnOnce(&hipKernelNodeParams) -> R) -> R {
        let pointers = self.arguments.pointers(self.function.layout());
        let size = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
        run(&hipKernelNodeParams {
            blockDim: size(self.config.block.0),
            extra: std::ptr::null_mut(),
            func: self.function.as_raw().cast(),
            gridDim: size(self.config.grid.0),
            kernelParams: pointers.as_mut_ptr(),
            sharedMemBytes: self.config.dynamic_lds,
        })
    }
}

/// The value of a numeric attribute.
fn attribute(set: impl FnOnce(&mut hipLaunchAttributeValue)) -> hipLaunchAttributeValue {
    let mut value = hipLaunchAttributeValue { pad: [0; 64] };
    set(&mut value);
    value
}

impl Graph {
    /// Adds a kernel (`hipGraphAddKernelNode`), as a [cooperative](Launch::cooperative) launch if it is one
    /// (`hipGraphKernelNodeSetAttribute`). The launch's stream only selects the device. AMD's library (6.4,
    /// 7.2) does not support grid synchronisation in such a node: a kernel that synchronises its grid faults.
    ///
    /// As with all functions that add a node, it comes after its `dependencies`, after earlier nodes that use
    /// the same memory unless both only read it, and after everything that was captured.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) names the first mismatch;
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the function belongs to another device,
    /// [`GraphError::OtherGraph`] if a dependency belongs to another graph, [`GraphError::MemoryOfGraph`] for
    /// memory of another graph, else
    /// [`Error::Hip`](crate::Error::Hip).
    ///
    /// # Safety
    /// As [`Launch::enqueue`], each time that the graph runs.
    #[doc(alias = "hipGraphAddKernelNode")]
    #[doc(alias = "cudaGraphAddKernelNode")]
    #[doc(alias = "cuGraphAddKernelNode")]
    pub unsafe fn add_kernel(&mut self, launch: Launch<'_>, dependencies: &[Node]) -> Result<Node> {
        let mut kernel = Kernel::of(launch, self.device())?;
        let (uses, cooperative) = (std::mem::take(&mut kernel.uses), kernel.cooperative());
        let table = self.device().table();
        let step = |node: *mut hipGraphNode_t, graph, dependencies: &[_]| {
            kernel.with_params(|params| {
                // SAFETY: graph and nodes are valid; there is a pointer for each parameter of the kernel,
                // whose values HIP copies; the caller vouches for what the kernel does with them.
                unsafe {
                    call!(
                        table,
                        hipGraphAddKernelNode(
                            node,
                            graph,
                            dependencies.as_ptr(),
                            dependencies.len(),
                            &raw const *params
                        )
                    )
                }
            })?;
            if !cooperative {
                return Ok(());
            }
            let value = attribute(|value| value.cooperative = 1);
            // SAFETY: the node was just made, and nothing else has its handle; the value is of the
            // attribute's type.
            unsafe {
                let id = hipLaunchAttributeID::hipLaunchAttributeCooperative;
                let set = call!(table, hipGraphKernelNodeSetAttribute(*node, id, &raw const value));
                if set.is_err() {
                    call!(table, hipGraphDestroyNode(*node))?;
                }
                set
            }
        };
        self.add(dependencies, uses, NodeKind::Kernel { cooperative }, [step])
    }

    /// A kernel's priority among those that could run; smaller numbers are more urgent, as with
    /// [streams](crate::StreamPriorities) (`hipGraphKernelNodeGetAttribute`). It comes from the stream that
    /// the kernel was captured on, or from [`set_kernel_priority`](Self::set_kernel_priority).
    ///
    /// # Errors
    /// [`GraphError::OtherGraph`], [`GraphError::NotAKernel`], else [`Error::Hip`](crate::Error::Hip), with
    /// `hipErrorNotSupported` if the library has no node priorities.
    #[doc(alias = "hipGraphKernelNodeGetAttribute")]
    #[doc(alias = "cudaGraphKernelNodeGetAttribute")]
    #[doc(alias = "cuGraphKernelNodeGetAttribute")]
    pub fn kernel_priority(&self, node: Node) -> Result<i32> {
        let node = self.kernel_node(node)?;
        let mut value = attribute(|_| ());
        let _one = self.handle.lock();
        // SAFETY: the node is one of the graph, and the value a place to write to.
        unsafe {
            let id = hipLaunchAttributeID::hipLaunchAttributePriority;
            call!(self.device().table(), hipGraphKernelNodeGetAttribute(node, id, &raw mut value))?;
            Ok(value.priority)
        }
    }

    /// Sets a kernel's priority (`hipGraphKernelNodeSetAttribute`) for executable graphs that are made later.
    /// AMD's library accepts no priority: see [`Device::quirks`](crate::Device::quirks).
    ///
    /// # Errors
    /// As [`kernel_priority`](Self::kernel_priority).
    #[doc(alias = "hipGraphKernelNodeSetAttribute")]
    #[doc(alias = "cudaGraphKernelNodeSetAttribute")]
    #[doc(alias = "cuGraphKernelNodeSetAttribute")]
    pub fn set_kernel_priority(&mut self, node: Node, priority: i32) -> Result<()> {
        let node = self.kernel_node(node)?;
        let value = attribute(|value| value.priority = priority);
        let _one = self.handle.lock();
        // SAFETY: the node is one of the graph, and the value is of the attribute's type.
        unsafe {
            let id = hipLaunchAttributeID::hipLaunchAttributePriority;
            call!(self.device().table(), hipGraphKernelNodeSetAttribute(node, id, &raw const value))
        }
    }

    fn kernel_node(&self, node: Node) -> Result<hipGraphNode_t> {
        let entry = self.entry(node)?;
        self.device().make_current()?;
        match entry.kind {
            NodeKind::Kernel { .. } => Ok(entry.first()),
            _ => Err(GraphError::NotAKernel.into()),
        }
    }
}
