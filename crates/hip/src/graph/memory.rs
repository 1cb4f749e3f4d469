//! Nodes that allocate and free memory.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use hip_sys::{
    hipGraphMemAttributeType, hipMemAllocNodeParams, hipMemAllocationHandleType, hipMemAllocationType,
    hipMemPoolProps,
};

use super::resources::{Access, Resources};
use super::{Graph, GraphError, Node, NodeKind};
use crate::call::call;
use crate::device::Device;
use crate::error::Result;
use crate::memory::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, size_in_bytes};

/// Memory that a graph allocates each time it runs, and frees before the run ends. [`Graph::add_allocation`]
/// makes it, [`Graph::add_free`] ends it.
///
/// Nodes of that graph use it like a [`DeviceBuffer`](crate::DeviceBuffer): those added in between come after
/// the allocation and before the free. Any other use, such as a copy on a stream or a node of another graph,
/// is always [`GraphError::MemoryOfGraph`], even after the graph has run or is gone.
///
/// Its elements have unspecified values until a node has written them.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// # let input = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// # let mut output = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let mut graph = hip::Graph::new(&device)?;
/// let (_, mut scratch) = graph.add_allocation::<f32>(1000, &[])?;
/// graph.add_copy(&mut scratch, &input, &[])?;
/// graph.add_copy(&mut output, &scratch, &[])?;
/// graph.add_free(scratch, &[])?;
/// graph.instantiate()?.launch(&stream)?;
/// # Ok(())
/// # }
/// ```
pub struct GraphBuffer<T: DeviceCopy> {
    allocation: Arc<Allocation>,
    len: usize,
    marker: PhantomData<T>,
}

impl<T: DeviceCopy> GraphBuffer<T> {
    /// All elements, shared, for nodes of the graph.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.allocation.settle();
        DeviceSlice::new(&self.allocation, self.allocation.address(), self.len)
    }

    /// All elements, exclusive, for nodes of the graph.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.allocation.settle();
        DeviceSliceMut::new(&self.allocation, self.allocation.address(), self.len)
    }
}

impl<T: DeviceCopy> fmt::Debug for GraphBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("address", &self.allocation.address())
            .field("device", self.device())
            .finish()
    }
}

impl Graph {
    /// Adds a node that allocates `len` elements of unspecified value (`hipGraphAddMemAllocNode`), for the
    /// nodes added before [`add_free`](Self::add_free). The memory keeps its address as long as the graph, or
    /// an executable graph made of it, exists.
    ///
    /// A graph that allocates memory cannot be cloned or become a child, and can have only one executable
    /// graph at a time ([`GraphError::HasMemory`]).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::TooLarge`](crate::Error::TooLarge) if the
    /// size does not fit into the address space, [`GraphError::OtherGraph`], else
    /// [`Error::Hip`](crate::Error::Hip), with `hipErrorNotSupported` if the library's graphs cannot allocate
    /// memory.
    #[doc(alias = "hipGraphAddMemAllocNode")]
    #[doc(alias = "cudaGraphAddMemAllocNode")]
    #[doc(alias = "cuGraphAddMemAllocNode")]
    pub fn add_allocation<T: DeviceCopy>(
        &mut self,
        len: usize,
        dependencies: &[Node],
    ) -> Result<(Node, GraphBuffer<T>)> {
        let bytes = size_in_bytes::<T>(len)?;
        let mut address = DeviceAddress::NULL;
        let node = if bytes == 0 {
            self.add_nothing(dependencies, Resources::default(), NodeKind::Other)?
        } else {
            let table = self.device().table();
            let location = self.device().memory_location();
            let mut params = hipMemAllocNodeParams {
                poolProps: hipMemPoolProps {
                    allocType: hipMemAllocationType::hipMemAllocationTypePinned,
                    handleTypes: hipMemAllocationHandleType::hipMemHandleTypeNone,
                    location,
                    ..hipMemPoolProps::default()
                },
                accessDescs: std::ptr::null(),
                accessDescCount: 0,
                bytesize: bytes,
                dptr: std::ptr::null_mut(),
            };
            let step = |node, graph, dependencies: &[_]| {
                let (dependencies, count) = (dependencies.as_ptr(), dependencies.len());
                // SAFETY: graph and nodes are valid, and the parameters are a place to write the address to.
                unsafe {
                    call!(table, hipGraphAddMemAllocNode(node, graph, dependencies, count, &raw mut params))
                }
            };
            let added = self.add(dependencies, Resources::default(), NodeKind::Other, [step]);
            address = DeviceAddress(params.dptr.expose_provenance() as u64);
            let device = self.device();
            added.map_err(|error| device.memory().explain(error, device, bytes))?
        };
        let allocation = Allocation::of_graph(self.device(), address, bytes, self.id);
        self.first_use(node, &allocation);
        (self.allocates, self.not_freed) = (true, self.not_freed + 1);
        Ok((node, GraphBuffer { allocation, len, marker: PhantomData }))
    }

    /// Adds a node that frees memory of this graph (`hipGraphAddMemFreeNode`), after all nodes that use it.
    ///
    /// # Errors
    /// [`GraphError::MemoryOfGraph`] if it belongs to another graph, [`GraphError::OtherGraph`], else
    /// [`Error::Hip`](crate::Error::Hip). After an error, the graph that owns the memory cannot be
    /// instantiated any more ([`GraphError::NotFreed`]).
    #[doc(alias = "hipGraphAddMemFreeNode")]
    #[doc(alias = "cudaGraphAddMemFreeNode")]
    #[doc(alias = "cuGraphAddMemFreeNode")]
    // By value, so that nodes added later cannot use it.
    #[allow(clippy::needless_pass_by_value, reason = "freed memory must not be used again")]
    pub fn add_free<T: DeviceCopy>(&mut self, buffer: GraphBuffer<T>, dependencies: &[Node]) -> Result<Node> {
        let address = buffer.allocation.address().pointer();
        let mut uses = Resources::default();
        uses.add_memory(&buffer.allocation, Access::Update);
        let node = if address.is_null() {
            self.add_nothing(dependencies, uses, NodeKind::Other)?
        } else {
            let table = self.device().table();
            let step = |node, graph, dependencies: &[_]| {
                let (dependencies, count) = (dependencies.as_ptr(), dependencies.len());
                // SAFETY: graph and nodes are valid; the memory is allocated by a node that this one comes
                // after, as it comes after all that use it, and is freed by no other.
                unsafe { call!(table, hipGraphAddMemFreeNode(node, graph, dependencies, count, address)) }
            };
            self.add(dependencies, uses, NodeKind::Other, [step])?
        };
        self.not_freed -= 1;
        Ok(node)
    }

    /// An error if some of the graph's memory would outlive a run.
    pub(super) fn frees_all(&self) -> Result<()> {
        match self.not_freed {
            0 => Ok(()),
            count => Err(GraphError::NotFreed { count }.into()),
        }
    }
}

/// How much memory the graphs of a device have, in bytes: [`Device::graph_memory`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphMemory {
    /// Bytes allocated by running graphs.
    pub used: u64,
    /// The most bytes used at once.
    pub peak_used: u64,
    /// Bytes that the library has reserved on the device for graphs.
    pub reserved: u64,
    /// The most bytes reserved at once.
    pub peak_reserved: u64,
}

impl Device {
    /// How much memory this device's graphs use (`hipDeviceGetGraphMemAttribute`). [`Device::memory_stats`]
    /// does not include it.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip), with `hipErrorNotSupported` if the library's graphs cannot allocate
    /// memory.
    #[doc(alias = "hipDeviceGetGraphMemAttribute")]
    #[doc(alias = "cudaDeviceGetGraphMemAttribute")]
    #[doc(alias = "cuDeviceGetGraphMemAttribute")]
    pub fn graph_memory(&self) -> Result<GraphMemory> {
        type A = hipGraphMemAttributeType;
        self.make_current()?;
        let get = |attribute| -> Result<u64> {
            let mut value = 0_u64;
            let place: *mut c_void = (&raw mut value).cast();
            // SAFETY: each of the attributes is a number of 64 bits.
            unsafe {
                call!(self.table(), hipDeviceGetGraphMemAttribute(self.ordinal() as i32, attribute, place))?;
            }
            Ok(value)
        };
        Ok(GraphMemory {
            used: get(A::hipGraphMemAttrUsedMemCurrent)?,
            peak_used: get(A::hipGraphMemAttrUsedMemHigh)?,
            reserved: get(A::hipGraphMemAttrReservedMemCurrent)?,
            peak_reserved: get(A::hipGraphMemAttrReservedMemHigh)?,
        })
    }

    /// Resets the peaks to the present values (`hipDeviceSetGraphMemAttribute`).
    ///
    /// # Errors
    /// As [`graph_memory`](Self::graph_memory).
    #[doc(alias = "hipDeviceSetGraphMemAttribute")]
    #[doc(alias = "cudaDeviceSetGraphMemAttribute")]
    #[doc(alias = "cuDeviceSetGraphMemAttribute")]
    pub fn reset_graph_memory_peaks(&self) -> Result<()> {
        type A = hipGraphMemAttributeType;
        self.make_current()?;
        [A::hipGraphMemAttrUsedMemHigh, A::hipGraphMemAttrReservedMemHigh].into_iter().try_for_each(
            |attribute| {
                let mut zero = 0_u64;
                let value: *mut c_void = (&raw mut zero).cast();
                // SAFETY: each of the attributes is a number of 64 bits.
                unsafe {
                    call!(
                        self.table(),
                        hipDeviceSetGraphMemAttribute(self.ordinal() as i32, attribute, value)
                    )
                }
            },
        )
    }

    /// Returns memory that no graph uses to the device (`hipDeviceGraphMemTrim`).
    ///
    /// # Errors
    /// As [`graph_memory`](Self::graph_memory).
    #[doc(alias = "hipDeviceGraphMemTrim")]
    #[doc(alias = "cudaDeviceGraphMemTrim")]
    #[doc(alias = "cuDeviceGraphMemTrim")]
    pub fn trim_graph_memory(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the call takes no memory of ours.
        unsafe { call!(self.table(), hipDeviceGraphMemTrim(self.ordinal() as i32)) }
    }
}
