//! Nodes that copy and fill memory.

use hip_sys::{hipMemcpy3DParms, hipMemcpyKind, hipMemsetParams};

use super::resources::{Access, Resources};
use super::{Graph, Node, NodeKind, SharedHostBuffer};
use crate::call::call;
use crate::error::Result;
use crate::memory::{
    DeviceAddress, DeviceCopy, DeviceRect, DeviceRectMut, DeviceSlice, DeviceSliceMut, FillStep, Pattern,
    bytes_of, fill_steps, same_length,
};

/// What a node copies.
struct Copy {
    destination: DeviceAddress,
    source: DeviceAddress,
    bytes: usize,
    kind: hipMemcpyKind,
}

impl Graph {
    /// Adds a copy of device memory (`hipGraphAddMemcpyNode1D`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch),
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if one side belongs to another device,
    /// [`GraphError::OtherGraph`](crate::GraphError::OtherGraph), else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipGraphAddMemcpyNode")]
    #[doc(alias = "cudaGraphAddMemcpyNode")]
    pub fn add_copy<'d, 's, T: DeviceCopy>(
        &mut self,
        destination: impl Into<DeviceSliceMut<'d, T>>,
        source: impl Into<DeviceSlice<'s, T>>,
        dependencies: &[Node],
    ) -> Result<Node> {
        let (destination, source) = (destination.into(), source.into());
        same_length("add_copy", destination.len(), source.len())?;
        self.device().same(source.device(), "hipGraphAddMemcpyNode1D", "source")?;
        self.device().same(destination.device(), "hipGraphAddMemcpyNode1D", "destination")?;
        let mut uses = Resources::default();
        uses.add_memory(source.allocation(), Access::Read);
        uses.add_memory(destination.allocation(), Access::Write);
        let copy = Copy {
            destination: destination.start(),
            source: source.start(),
            bytes: source.size_in_bytes(),
            kind: hipMemcpyKind::hipMemcpyDeviceToDevice,
        };
        // SAFETY: both views hold that many bytes, and the graph keeps them; a shared and an exclusive view
        // cannot overlap.
        unsafe { self.add_raw_copy(&copy, uses, dependencies) }
    }

    /// Adds a copy from host memory to device memory (`hipGraphAddMemcpyNode1D`).
    ///
    /// # Errors
    /// As [`add_copy`](Self::add_copy).
    pub fn add_upload<'d, T: DeviceCopy>(
        &mut self,
        destination: impl Into<DeviceSliceMut<'d, T>>,
        source: &SharedHostBuffer<T>,
        dependencies: &[Node],
    ) -> Result<Node> {
        let destination = destination.into();
        same_length("add_upload", destination.len(), source.len())?;
        self.device().same(destination.device(), "hipGraphAddMemcpyNode1D", "destination")?;
        let mut uses = Resources::default();
        uses.add_host(&source.memory(), Access::Read);
        uses.add_memory(destination.allocation(), Access::Write);
        let copy = Copy {
            destination: destination.start(),
            source: DeviceAddress(source.elements().expose_provenance() as u64),
            bytes: destination.size_in_bytes(),
            kind: hipMemcpyKind::hipMemcpyHostToDevice,
        };
        // SAFETY: both sides hold that many bytes, and the graph keeps them.
        unsafe { self.add_raw_copy(&copy, uses, dependencies) }
    }

    /// Adds a copy from device memory to host memory (`hipGraphAddMemcpyNode1D`).
    ///
    /// # Errors
    /// As [`add_copy`](Self::add_copy).
    pub fn add_download<'s, T: DeviceCopy>(
        &mut self,
        destination: &SharedHostBuffer<T>,
        source: impl Into<DeviceSlice<'s, T>>,
        dependencies: &[Node],
    ) -> Result<Node> {
        let source = source.into();
        same_length("add_download", destination.len(), source.len())?;
        self.device().same(source.device(), "hipGraphAddMemcpyNode1D", "source")?;
        let mut uses = Resources::default();
        uses.add_memory(source.allocation(), Access::Read);
        uses.add_host(&destination.memory(), Access::Write);
        let copy = Copy {
            destination: DeviceAddress(destination.elements().expose_provenance() as u64),
            source: source.start(),
            bytes: source.size_in_bytes(),
            kind: hipMemcpyKind::hipMemcpyDeviceToHost,
        };
        // SAFETY: both sides hold that many bytes, and the graph keeps them.
        unsafe { self.add_raw_copy(&copy, uses, dependencies) }
    }

    /// # Safety
    /// Both sides hold that many bytes as long as `uses` exists.
    unsafe fn add_raw_copy(&mut self, copy: &Copy, uses: Resources, dependencies: &[Node]) -> Result<Node> {
        if copy.bytes == 0 {
            return self.add_nothing(dependencies, Resources::default(), NodeKind::Nothing);
        }
        let table = self.device().table();
        let step = |node, graph, dependencies: &[_]| {
            // SAFETY: graph and nodes are valid; the caller vouches for the memory.
            unsafe {
                call!(
                    table,
                    hipGraphAddMemcpyNode1D(
                        node,
                        graph,
                        dependencies.as_ptr(),
                        dependencies.len(),
                        copy.destination.pointer(),
                        copy.source.pointer().cast_const(),
                        copy.bytes,
                        copy.kind
                    )
                )
            }
        };
        self.add(dependencies, uses, NodeKind::Transfer, [step])
    }

    /// Adds a copy of a rectangle or box of device memory to another one of the same size
    /// (`hipGraphAddMemcpyNode`).
    ///
    /// # Errors
    /// As [`add_copy`](Self::add_copy).
    #[doc(alias = "cudaGraphAddMemcpyNode")]
    pub fn add_copy_rect<'s, T: DeviceCopy>(
        &mut self,
        destination: DeviceRectMut<'_, T>,
        source: impl Into<DeviceRect<'s, T>>,
        dependencies: &[Node],
    ) -> Result<Node> {
        let source = source.into();
        let copy = destination.parameters_from(&source)?;
        self.device().same(source.device(), "hipGraphAddMemcpyNode", "source")?;
        self.device().same(destination.device(), "hipGraphAddMemcpyNode", "destination")?;
        let mut uses = Resources::default();
        uses.add_memory(source.allocation(), Access::Read);
        uses.add_memory(destination.allocation(), Access::Write);
        // SAFETY: both views hold the elements, and the graph keeps them; a shared and an exclusive view
        // cannot overlap.
        unsafe { self.add_raw_rect(copy, uses, dependencies) }
    }

    /// Adds a copy of dense host memory to a rectangle or box of device memory (`hipGraphAddMemcpyNode`).
    ///
    /// # Errors
    /// As [`add_copy`](Self::add_copy).
    pub fn add_upload_rect<T: DeviceCopy>(
        &mut self,
        destination: DeviceRectMut<'_, T>,
        source: &SharedHostBuffer<T>,
        dependencies: &[Node],
    ) -> Result<Node> {
        same_length("add_upload_rect", destination.len(), source.len())?;
        self.device().same(destination.device(), "hipGraphAddMemcpyNode", "destination")?;
        let mut uses = Resources::default();
        uses.add_host(&source.memory(), Access::Read);
        uses.add_memory(destination.allocation(), Access::Write);
        let copy = destination.parameters_from_host(source.elements());
        // SAFETY: both sides hold as many elements, and the graph keeps them.
        unsafe { self.add_raw_rect(copy, uses, dependencies) }
    }

    /// Adds a copy of a rectangle or box of device memory to dense host memory (`hipGraphAddMemcpyNode`).
    ///
    /// # Errors
    /// As [`add_copy`](Self::add_copy).
    pub fn add_download_rect<'s, T: DeviceCopy>(
        &mut self,
        destination: &SharedHostBuffer<T>,
        source: impl Into<DeviceRect<'s, T>>,
        dependencies: &[Node],
    ) -> Result<Node> {
        let source = source.into();
        same_length("add_download_rect", destination.len(), source.len())?;
        self.device().same(source.device(), "hipGraphAddMemcpyNode", "source")?;
        let mut uses = Resources::default();
        uses.add_memory(source.allocation(), Access::Read);
        uses.add_host(&destination.memory(), Access::Write);
        let copy = source.parameters_to_host(destination.elements());
        // SAFETY: both sides hold as many elements, and the graph keeps them.
        unsafe { self.add_raw_rect(copy, uses, dependencies) }
    }

    /// # Safety
    /// Both sides of a copy hold what it says as long as `uses` exists.
    unsafe fn add_raw_rect(
        &mut self,
        copy: Option<hipMemcpy3DParms>,
        uses: Resources,
        dependencies: &[Node],
    ) -> Result<Node> {
        let Some(copy) = copy else {
            return self.add_nothing(dependencies, Resources::default(), NodeKind::Nothing);
        };
        let table = self.device().table();
        let step = |node, graph, dependencies: &[_]| {
            let (dependencies, count) = (dependencies.as_ptr(), dependencies.len());
            // SAFETY: graph and nodes are valid, and the parameters are read during the call; the caller
            // vouches for the memory.
            unsafe { call!(table, hipGraphAddMemcpyNode(node, graph, dependencies, count, &raw const copy)) }
        };
        self.add(dependencies, uses, NodeKind::Transfer, [step])
    }

    /// Adds a fill of device memory with a value (`hipGraphAddMemsetNode`; for values that it cannot repeat,
    /// `hipGraphAddMemcpyNode1D`: see [`DeviceSliceMut::fill`]). It is one [`Node`], however many HIP nodes
    /// it takes.
    ///
    /// # Errors
    /// As [`add_copy`](Self::add_copy).
    #[doc(alias = "hipGraphAddMemsetNode")]
    #[doc(alias = "cudaGraphAddMemsetNode")]
    #[doc(alias = "cuGraphAddMemsetNode")]
    pub fn add_fill<'d, T: DeviceCopy>(
        &mut self,
        destination: impl Into<DeviceSliceMut<'d, T>>,
        value: T,
        dependencies: &[Node],
    ) -> Result<Node> {
        let destination = destination.into();
        self.device().same(destination.device(), "hipGraphAddMemsetNode", "buffer")?;
        let (start, bytes) = (destination.start(), destination.size_in_bytes());
        if bytes == 0 {
            return self.add_nothing(dependencies, Resources::default(), NodeKind::Nothing);
        }
        let mut uses = Resources::default();
        uses.add_memory(destination.allocation(), Access::Write);
        let table = self.device().table();
        let place = |at: usize| start.offset(at).pointer();
        let steps = fill_steps(start, bytes_of(&value), bytes).into_iter().map(|step| {
            move |node, graph, dependencies: &[_]| match step {
                FillStep::Set { at, bytes, pattern } => {
                    let (value, size) = match pattern {
                        Pattern::One(value) => (u32::from(value), 1),
                        Pattern::Two(value) => (u32::from(value), 2),
                        Pattern::Four(value) => (value.cast_unsigned(), 4),
                    };
                    let params = hipMemsetParams {
                        dst: place(at),
                        elementSize: size,
                        height: 1,
                        pitch: bytes,
                        value,
                        width: bytes / size as usize,
                    };
                    let (dependencies, count) = (dependencies.as_ptr(), dependencies.len());
                    // SAFETY: graph and nodes are valid; the view holds the bytes, and the graph keeps its
                    // memory.
                    unsafe {
                        call!(
                            table,
                            hipGraphAddMemsetNode(node, graph, dependencies, count, &raw const params)
                        )
                    }
                }
                FillStep::Copy { at, bytes } => {
                    let (to, from) = (place(at), place(0).cast_const());
                    let (dependencies, count) = (dependencies.as_ptr(), dependencies.len());
                    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
                    // SAFETY: as above, and what is copied comes before the place it is copied to.
                    unsafe {
                        call!(
                            table,
                            hipGraphAddMemcpyNode1D(node, graph, dependencies, count, to, from, bytes, kind)
                        )
                    }
                }
            }
        });
        self.add(dependencies, uses, NodeKind::Transfer, steps)
    }
}
