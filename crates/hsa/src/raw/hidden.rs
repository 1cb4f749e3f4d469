//! The hidden arguments of a kernel: those that a runtime fills in.

use code_object::{HiddenArg, Kernel};

/// The values of hidden arguments that depend on a launch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Geometry {
    /// Whole workgroups of the grid.
    pub blocks: [u32; 3],
    /// Work-items of the partial workgroup behind them, if there is one.
    pub rest: [u32; 3],
    /// Work-items of a workgroup.
    pub block: [u32; 3],
    /// Dynamic LDS of the launch, bytes.
    pub dynamic_lds: u32,
    /// Address of the queue.
    pub queue: u64,
    /// High half of the LDS aperture's address.
    pub shared_base: u32,
    /// High half of the scratch aperture's address.
    pub private_base: u32,
    /// Addresses of the host services that the kernel needs; 0 for the others.
    pub services: Services<u64>,
    /// Address of the synchronisation data of a cooperative launch's grid, else 0.
    pub grid_sync: u64,
}

/// The host services for device code, each with its own buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Services<T> {
    /// Calls from device code to the host.
    pub hostcall: T,
    /// Output that the host reads after the kernel has ended.
    pub print_buffer: T,
    /// The heap of `malloc`.
    pub heap: T,
}

/// Where a kernel expects its hidden arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenArguments {
    /// Offset and size of each in the argument segment. The segment is zeroed first, so only values that can
    /// be nonzero have an entry.
    places: Box<[(HiddenArg, usize, usize)]>,
    services: Services<bool>,
}

impl HiddenArguments {
    /// Those of a kernel.
    #[must_use]
    pub fn of(kernel: &Kernel) -> Self {
        let has = |wanted: HiddenArg| kernel.hidden_args().any(|(kind, _)| kind == wanted);
        Self {
            places: kernel
                .hidden_args()
                .filter(|(kind, _)| !is_zero(*kind))
                .map(|(kind, arg)| (kind, arg.offset as usize, arg.size as usize))
                .collect(),
            services: Services {
                hostcall: has(HiddenArg::HostcallBuffer),
                print_buffer: has(HiddenArg::PrintfBuffer),
                heap: has(HiddenArg::HeapV1),
            },
        }
    }

    /// The services that the kernel needs.
    #[must_use]
    pub fn services(&self) -> Services<bool> {
        self.services
    }

    /// Whether the values are the same on every queue, so that they can be written once and used by many
    /// launches.
    #[must_use]
    pub fn is_portable(&self) -> bool {
        let is_bound = |kind: HiddenArg| {
            matches!(kind, HiddenArg::PrivateBase | HiddenArg::SharedBase | HiddenArg::QueuePtr)
        };
        self.services == Services::default() && !self.places.iter().any(|&(kind, ..)| is_bound(kind))
    }

    /// Where the numbers of workgroups are, offset and size by dimension.
    #[must_use]
    pub fn block_counts(&self) -> [Option<(usize, usize)>; 3] {
        let counts = [HiddenArg::BlockCountX, HiddenArg::BlockCountY, HiddenArg::BlockCountZ];
        counts.map(|wanted| {
            let place = self.places.iter().find(|&&(kind, ..)| kind == wanted);
            place.map(|&(_, offset, size)| (offset, size))
        })
    }

    /// Writes the values to a segment whose hidden part is 0.
    ///
    /// # Panics
    /// If the segment is smaller than the kernel's.
    #[inline]
    pub fn write(&self, segment: &mut [u8], geometry: &Geometry) {
        for &(kind, offset, size) in &self.places {
            let value = geometry.value(kind).to_le_bytes();
            let size = size.min(value.len());
            segment[offset..offset + size].copy_from_slice(&value[..size]);
        }
    }
}

/// Hidden arguments that no runtime here passes: offsets and enqueueing by kernels, which HIP does not have.
fn is_zero(kind: HiddenArg) -> bool {
    matches!(
        kind,
        HiddenArg::GlobalOffsetX
            | HiddenArg::GlobalOffsetY
            | HiddenArg::GlobalOffsetZ
            | HiddenArg::DefaultQueue
            | HiddenArg::CompletionAction
            | HiddenArg::None
    )
}

impl Geometry {
    fn value(&self, kind: HiddenArg) -> u64 {
        match kind {
            HiddenArg::BlockCountX => self.blocks[0].into(),
            HiddenArg::BlockCountY => self.blocks[1].into(),
            HiddenArg::BlockCountZ => self.blocks[2].into(),
            HiddenArg::RemainderX => self.rest[0].into(),
            HiddenArg::RemainderY => self.rest[1].into(),
            HiddenArg::RemainderZ => self.rest[2].into(),
            HiddenArg::GroupSizeX => self.block[0].into(),
            HiddenArg::GroupSizeY => self.block[1].into(),
            HiddenArg::GroupSizeZ => self.block[2].into(),
            // HIP's grids always have three dimensions.
            HiddenArg::GridDims => 3,
            HiddenArg::DynamicLdsSize => self.dynamic_lds.into(),
            HiddenArg::PrivateBase => self.private_base.into(),
            HiddenArg::SharedBase => self.shared_base.into(),
            HiddenArg::QueuePtr => self.queue,
            HiddenArg::HostcallBuffer => self.services.hostcall,
            HiddenArg::PrintfBuffer => self.services.print_buffer,
            HiddenArg::HeapV1 => self.services.heap,
            HiddenArg::MultigridSyncArg => self.grid_sync,
            _ => 0,
        }
    }
}
