//! What a kernel's argument segment holds: the caller's arguments and the hidden ones that the runtime fills in.

use std::ffi::c_void;

use code_object::{ArgKind, HiddenArg, Kernel};
use hip_sys::hipError_t;

use crate::error::Result;

/// Where a kernel's arguments are, taken from the code object's metadata once per function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Size of the segment, bytes.
    pub(crate) size: usize,
    /// Alignment of the segment, bytes.
    pub(crate) align: usize,
    /// Offset and size of each argument that the caller passes, in order.
    explicit: Box<[(usize, usize)]>,
    /// End of the last of them.
    explicit_end: usize,
    hidden: Box<[(HiddenArg, usize, usize)]>,
    /// Which services the kernel needs.
    pub(crate) services: Services<bool>,
}

/// The caller's arguments in the two forms that `hipModuleLaunchKernel` takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Explicit {
    /// A pointer to each value.
    Pointers(*const *mut c_void),
    /// All values, laid out as the kernel expects them.
    Packed(*const u8, usize),
    /// Nothing was passed.
    None,
}

/// What hidden arguments say about a launch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Geometry {
    /// Work-items of the grid.
    pub(crate) grid: [u32; 3],
    /// Work-items of a workgroup.
    pub(crate) block: [u32; 3],
    /// LDS that the launch adds, bytes.
    pub(crate) dynamic_lds: u32,
    /// Address of the queue.
    pub(crate) queue: u64,
    /// High half of the LDS aperture's address.
    pub(crate) shared_base: u32,
    /// High half of the scratch aperture's address.
    pub(crate) private_base: u32,
    /// Addresses of what the kernel needs from the host, 0 where it does not.
    pub(crate) services: Services<u64>,
    /// Address of a cooperative launch's [`grid_sync`], else 0.
    pub(crate) grid_sync: u64,
}

/// The services of the host that device code can use, each through a buffer of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Services<T> {
    /// Calls from device code to the host.
    pub(crate) hostcall: T,
    /// Output that the host reads when the kernel has ended.
    pub(crate) print_buffer: T,
    /// The heap of `malloc`.
    pub(crate) heap: T,
}

/// Bytes of what the workgroups of a cooperative launch synchronise by.
pub(crate) const GRID_SYNC: usize = 48;

/// The start of it: what the device libraries call `mg_info`, for a grid on one device. They count arrivals in the word at
/// offset 32.
pub(crate) fn grid_sync(workgroups: u32, items: u64) -> [u8; GRID_SYNC] {
    let mut bytes = [0; GRID_SYNC];
    // One grid, which has all work-items.
    bytes[12..16].copy_from_slice(&1u32.to_le_bytes());
    bytes[24..32].copy_from_slice(&items.to_le_bytes());
    bytes[40..44].copy_from_slice(&workgroups.to_le_bytes());
    bytes
}

impl Layout {
    pub(crate) fn of(kernel: &Kernel) -> Self {
        let place = |offset: u32, size: u32| (offset as usize, size as usize);
        let explicit: Box<[_]> = kernel
            .args
            .iter()
            .filter(|arg| !matches!(arg.kind, ArgKind::Hidden(_)))
            .map(|arg| place(arg.offset, arg.size))
            .collect();
        let hidden = kernel
            .hidden_args()
            // The segment is zeroed first, so that only values that can differ from 0 need an entry.
            .filter(|(kind, _)| !is_zero(*kind))
            .map(|(kind, arg)| (kind, arg.offset as usize, arg.size as usize))
            .collect();
        let has = |wanted: HiddenArg| kernel.hidden_args().any(|(kind, _)| kind == wanted);
        Self {
            services: Services {
                hostcall: has(HiddenArg::HostcallBuffer),
                print_buffer: has(HiddenArg::PrintfBuffer),
                heap: has(HiddenArg::HeapV1),
            },
            size: kernel.kernarg_size as usize,
            align: (kernel.kernarg_align as usize).max(1),
            explicit_end: explicit.iter().map(|(offset, size)| offset + size).max().unwrap_or(0),
            explicit,
            hidden,
        }
    }

    /// Whether these arguments can be passed to the kernel.
    pub(crate) fn accepts(&self, arguments: Explicit) -> Result {
        match arguments {
            Explicit::Pointers(_) => Ok(()),
            Explicit::Packed(_, size)
                if size >= self.explicit_end && size <= self.size.max(self.explicit_end) =>
            {
                Ok(())
            }
            Explicit::None if self.explicit.is_empty() => Ok(()),
            _ => Err(hipError_t::hipErrorInvalidValue),
        }
    }

    /// Writes the whole segment.
    ///
    /// # Safety
    /// With [`Explicit::Pointers`], the list has a readable pointer to a value of the argument's size for each argument;
    /// with [`Explicit::Packed`], the bytes are readable and [`accepts`](Self::accepts) has agreed to them.
    pub(crate) unsafe fn write(&self, segment: &mut [u8], arguments: Explicit, geometry: &Geometry) {
        segment.fill(0);
        match arguments {
            Explicit::Pointers(list) => {
                for (index, &(offset, size)) in self.explicit.iter().enumerate() {
                    // SAFETY: the caller's list has a valid pointer for each argument; the parser has checked that every
                    // argument lies within the segment, and the slice's own bounds are checked here.
                    unsafe {
                        let value = (*list.add(index)).cast::<u8>();
                        segment[offset..offset + size].as_mut_ptr().copy_from_nonoverlapping(value, size);
                    }
                }
            }
            Explicit::Packed(bytes, size) => {
                let size = size.min(segment.len());
                // SAFETY: the caller vouches for `size` readable bytes; the destination has at least as many.
                unsafe { segment.as_mut_ptr().copy_from_nonoverlapping(bytes, size) };
                // Padding that reaches into the hidden part must not leave values there.
                if let Some(tail) = segment.get_mut(self.explicit_end..) {
                    tail.fill(0);
                }
            }
            Explicit::None => {}
        }
        for &(kind, offset, size) in &self.hidden {
            let value = geometry.value(kind).to_le_bytes();
            let size = size.min(value.len());
            segment[offset..offset + size].copy_from_slice(&value[..size]);
        }
    }
}

/// Hidden arguments that this runtime always passes as 0: offsets and enqueueing by kernels, which HIP does not have.
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
        let count = |axis: usize| u64::from(self.grid[axis] / self.block[axis].max(1));
        let rest = |axis: usize| u64::from(self.grid[axis] % self.block[axis].max(1));
        match kind {
            HiddenArg::BlockCountX => count(0),
            HiddenArg::BlockCountY => count(1),
            HiddenArg::BlockCountZ => count(2),
            HiddenArg::GroupSizeX => self.block[0].into(),
            HiddenArg::GroupSizeY => self.block[1].into(),
            HiddenArg::GroupSizeZ => self.block[2].into(),
            HiddenArg::RemainderX => rest(0),
            HiddenArg::RemainderY => rest(1),
            HiddenArg::RemainderZ => rest(2),
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
