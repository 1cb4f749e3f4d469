//! A kernel's argument segment: the caller's arguments and the hidden ones that the runtime fills in.

use std::ffi::c_void;

use code_object::{ArgKind, Kernel};
use hip_sys::hipError_t;
use hsa::raw::HiddenArguments;
pub(crate) use hsa::raw::{Geometry, Services};
use hsa_sys::hsa_agent_t;

use crate::caller;
use crate::error::Result;
use crate::runtime::Runtime;

/// The layout of a kernel's arguments, read from the code object's metadata once per function.
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
    hidden: HiddenArguments,
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

impl Explicit {
    /// A list of pointers, which may be null if there are no arguments.
    pub(crate) fn listed(arguments: *mut *mut c_void) -> Self {
        if arguments.is_null() { Self::None } else { Self::Pointers(arguments) }
    }
}

/// Bytes of the synchronisation data for the workgroups of a cooperative launch.
pub(crate) const GRID_SYNC: usize = 48;

/// A grid's position among those that were launched together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grids {
    pub(crate) index: u32,
    pub(crate) count: u32,
    /// Work-items of the grids before it, and of all grids.
    pub(crate) before: u64,
    pub(crate) all: u64,
}

impl Grids {
    /// A single grid with this many work-items.
    pub(crate) fn alone(items: u64) -> Self {
        Self { index: 0, count: 1, before: 0, all: items }
    }

    /// The synchronisation data of a grid: `mg_info` of the device libraries. The workgroups count their
    /// arrivals in the word at offset 32; if there are several grids, they count theirs in shared memory.
    pub(crate) fn sync(self, shared: u64, workgroups: u32) -> [u8; GRID_SYNC] {
        let mut bytes = [0; GRID_SYNC];
        bytes[..8].copy_from_slice(&shared.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.index.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.before.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.all.to_le_bytes());
        bytes[40..44].copy_from_slice(&workgroups.to_le_bytes());
        bytes
    }
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
        let hidden = HiddenArguments::of(kernel);
        Self {
            services: hidden.services(),
            size: kernel.kernarg_size as usize,
            align: (kernel.kernarg_align as usize).max(1),
            explicit_end: explicit.iter().map(|(offset, size)| offset + size).max().unwrap_or(0),
            explicit,
            hidden,
        }
    }

    /// Whether these arguments can be passed to the kernel, as far as their addresses tell. A buffer may have
    /// any size, because AMD's HIP ignores it: programs pass or omit the kernel's padding and hidden
    /// arguments. Missing bytes are 0.
    pub(crate) fn accepts(&self, arguments: Explicit) -> Result {
        match arguments {
            Explicit::Pointers(list) => {
                // SAFETY: the caller's list has a pointer for each argument.
                let pointers = unsafe { caller::list(list, self.explicit.len()) }?;
                // Probing each address would take longer than the launch.
                let plausible = pointers.iter().all(|pointer| caller::is_plausible(*pointer as usize));
                if plausible { Ok(()) } else { Err(hipError_t::hipErrorInvalidValue) }
            }
            Explicit::Packed(bytes, size) => {
                let size = size.min(self.explicit_end);
                // SAFETY: only the addresses are looked at.
                unsafe { caller::bytes(bytes as usize, size) }.map(drop)
            }
            Explicit::None if self.explicit.is_empty() => Ok(()),
            _ => Err(hipError_t::hipErrorInvalidValue),
        }
    }

    /// Whether the segment is the same on every queue, so that it can be written once and used by many
    /// launches.
    pub(crate) fn is_portable(&self) -> bool {
        self.hidden.is_portable()
    }

    /// Copies the caller's arguments.
    ///
    /// # Safety
    /// As [`write`](Self::write).
    pub(crate) unsafe fn own(&self, arguments: Explicit) -> Owned {
        let mut words = vec![0u128; self.explicit_end.div_ceil(16)].into_boxed_slice();
        let start = words.as_mut_ptr().cast::<u8>();
        match arguments {
            Explicit::Pointers(list) => {
                for (index, &(offset, size)) in self.explicit.iter().enumerate() {
                    // SAFETY: the caller's list has a valid pointer for each argument, and the copy holds all
                    // of them.
                    unsafe { start.add(offset).copy_from_nonoverlapping((*list.add(index)).cast(), size) };
                }
            }
            Explicit::Packed(bytes, size) => {
                let size = size.min(self.explicit_end);
                // SAFETY: the caller is responsible for the bytes; the copy has as many.
                unsafe { start.copy_from_nonoverlapping(bytes, size) };
            }
            Explicit::None => {}
        }
        let pointers = self.explicit.iter().map(|&(offset, _)| start.wrapping_add(offset) as usize).collect();
        Owned { words, size: self.explicit_end, pointers }
    }

    /// Writes the whole segment.
    ///
    /// # Safety
    /// With [`Explicit::Pointers`], the list has a readable pointer to a value of the argument's size for
    /// each argument; with [`Explicit::Packed`], the bytes are readable.
    pub(crate) unsafe fn write(&self, segment: &mut [u8], arguments: Explicit, geometry: &Geometry) {
        segment.fill(0);
        match arguments {
            Explicit::Pointers(list) => {
                for (index, &(offset, size)) in self.explicit.iter().enumerate() {
                    // SAFETY: the caller's list has a valid pointer for each argument; the parser has checked
                    // that
                    // every argument lies within the segment, and the slice's own bounds are checked here.
                    unsafe {
                        let value = (*list.add(index)).cast::<u8>();
                        segment[offset..offset + size].as_mut_ptr().copy_from_nonoverlapping(value, size);
                    }
                }
            }
            Explicit::Packed(bytes, size) => {
                // Padding that reaches into the hidden part must not leave values there.
                let place = &mut segment[..size.min(self.explicit_end)];
                // SAFETY: the caller is responsible for `size` readable bytes, and the place has no more.
                unsafe { place.as_mut_ptr().copy_from_nonoverlapping(bytes, place.len()) };
            }
            Explicit::None => {}
        }
        self.hidden.write(segment, geometry);
    }
}

/// A copy of the arguments that a caller passed.
#[derive(Debug)]
pub(crate) struct Owned {
    /// The arguments at the offsets that the kernel expects, aligned for every type.
    words: Box<[u128]>,
    size: usize,
    /// The address of each argument.
    pointers: Box<[usize]>,
}

impl Owned {
    /// The arguments as a launch takes them.
    pub(crate) fn explicit(&self) -> Explicit {
        match self.size {
            0 => Explicit::None,
            size => Explicit::Packed(self.words.as_ptr().cast(), size),
        }
    }

    /// A list with a pointer to each argument.
    pub(crate) fn pointers(&self) -> *mut *mut c_void {
        self.pointers.as_ptr().cast_mut().cast()
    }
}

/// Argument memory that belongs to one graph, freed on drop.
///
/// Code that launches its kernels keeps it until they have completed.
pub(crate) struct KernargBlock {
    runtime: &'static Runtime,
    start: usize,
    size: usize,
}

impl KernargBlock {
    /// Memory that the agents can read; `None` without an agent.
    pub(crate) fn new(runtime: &'static Runtime, agents: &[hsa_agent_t], size: usize) -> Result<Self> {
        if agents.is_empty() || size == 0 {
            return Ok(Self { runtime, start: 0, size: 0 });
        }
        let start = runtime.allocate_kernarg(agents, size)? as usize;
        Ok(Self { runtime, start, size })
    }

    pub(crate) fn start(&self) -> usize {
        self.start
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The bytes, for writing.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        if self.size == 0 {
            return &mut [];
        }
        // SAFETY: the memory was allocated with this size, the host can access it, and it is borrowed as this
        // object is;
        // no kernel that reads it is in flight, as those hold a reference.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut u8, self.size) }
    }
}

impl Drop for KernargBlock {
    fn drop(&mut self) {
        if self.size != 0 {
            // SAFETY: the memory came from the kernarg pool and no kernel reads it any more.
            let _ = unsafe { self.runtime.hsa.free(self.start as *mut c_void) };
        }
    }
}
