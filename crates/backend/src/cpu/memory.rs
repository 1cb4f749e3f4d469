//! Memory of the CPU's tensors.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use half::{bf16, f16};
use kernels::F8E4M3;

use crate::error::{Error, Result};
use crate::tensor::Storage;

/// The alignment of all memory: a cache line.
const ALIGN: usize = 64;
/// The alignment that is asked for. With a larger one, the allocator would write the zeros itself, and touch
/// every page of a cache that may never be filled.
const ALLOCATED: usize = 16;

/// Types of which every pattern of bits is a value.
///
/// # Safety
/// As it says, and the type has no padding and an alignment of at most [`ALIGN`].
pub(super) unsafe trait Plain: Copy + Send + Sync {}
macro_rules! plain {
    ($($type:ty),*) => { $(
        // SAFETY: a number without padding, and all its patterns of bits are values.
        unsafe impl Plain for $type {}
    )* };
}
plain!(u8, i8, u16, u32, i64, f32, f16, bf16, F8E4M3);

/// Bytes that operations read and write while they hold the backend's lock.
pub(super) struct CpuMemory {
    owner: u64,
    /// What was allocated.
    base: NonNull<u8>,
    /// The aligned bytes in it.
    pointer: NonNull<u8>,
    bytes: usize,
    in_use: Arc<AtomicU64>,
}

// SAFETY: the bytes are only accessed through `Session`, which one thread at a time has.
unsafe impl Send for CpuMemory {}
// SAFETY: as above.
unsafe impl Sync for CpuMemory {}

/// Of so many bytes, wherever an aligned one comes first.
fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(ALIGN)?, ALLOCATED).ok()
}

impl CpuMemory {
    /// Zeros.
    pub(super) fn zeroed(owner: u64, bytes: usize, in_use: &Arc<AtomicU64>) -> Result<Self> {
        let out = Error::OutOfHostMemory { bytes };
        let Some(layout) = layout(bytes) else { return Err(out) };
        // SAFETY: the layout has at least one byte.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(out)?;
        // SAFETY: the layout has as many bytes more as a pointer can be off.
        let pointer = unsafe { base.add(base.align_offset(ALIGN)) };
        in_use.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Self { owner, base, pointer, bytes, in_use: in_use.clone() })
    }

    /// The memory as elements of a type.
    ///
    /// # Safety
    /// Nothing writes the memory while the slice lives.
    pub(super) unsafe fn elements<T: Plain>(&self) -> &[T] {
        // SAFETY: the memory has that many aligned elements, all of them initialised, and the caller vouches
        // for the rest.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }

    /// The memory as elements of a type, to write to.
    ///
    /// # Safety
    /// Nothing else reads or writes the memory while the slice lives.
    #[allow(clippy::mut_from_ref, reason = "the session that calls this is borrowed exclusively")]
    pub(super) unsafe fn elements_mut<T: Plain>(&self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr().cast(), self.bytes / size_of::<T>()) }
    }
}

impl Drop for CpuMemory {
    fn drop(&mut self) {
        self.in_use.fetch_sub(self.bytes as u64, Ordering::Relaxed);
        if let Some(layout) = layout(self.bytes) {
            // SAFETY: the memory was allocated with this layout, and is freed once.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

impl fmt::Debug for CpuMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuMemory").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Storage for CpuMemory {
    fn size_in_bytes(&self) -> usize {
        self.bytes
    }

    fn backend(&self) -> u64 {
        self.owner
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
