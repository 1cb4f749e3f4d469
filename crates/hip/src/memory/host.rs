//! Pinned host memory.

use std::ffi::c_void;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::{DeviceCopy, size_in_bytes};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::Result;
use crate::live::{Counted, Kind};
use crate::stream::release;

/// An owned array of `T` in pinned host memory, which the device copies from and to directly.
///
/// Use it like a slice. Copies from and to it run in the background: see
/// [`DeviceBuffer::upload`](crate::DeviceBuffer::upload) and [`download`](crate::DeviceBuffer::download).
#[doc(alias = "hipHostMalloc")]
#[doc(alias = "PinnedHostSlice")]
#[doc(alias = "cudaMallocHost")]
pub struct HostBuffer<T: DeviceCopy> {
    device: Device,
    pointer: NonNull<T>,
    len: usize,
    _counted: Counted,
}

// SAFETY: the buffer owns its elements, which any thread may have.
unsafe impl<T: DeviceCopy> Send for HostBuffer<T> {}
// SAFETY: a shared buffer only gives out shared elements, which any thread may have.
unsafe impl<T: DeviceCopy> Sync for HostBuffer<T> {}

/// Options for pinned host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostOptions {
    /// All devices can access it, not only the one that it was made for (`hipHostMallocPortable`).
    pub portable: bool,
    /// For memory that the host writes in order and never reads: over some buses this is faster for the
    /// device, but the host reads it very slowly (`hipHostMallocWriteCombined`).
    pub write_combined: bool,
}

impl HostOptions {
    pub(crate) fn flags(self) -> u32 {
        let mut flags = hip_sys::hipHostMallocDefault;
        if self.portable {
            flags |= hip_sys::hipHostMallocPortable;
        }
        if self.write_combined {
            flags |= hip_sys::hipHostMallocWriteCombined;
        }
        flags
    }
}

/// Allocates `bytes` bytes of pinned host memory, more than 0, all zero.
pub(crate) fn allocate<T>(device: &Device, bytes: usize, flags: u32) -> Result<NonNull<T>> {
    device.make_current()?;
    let mut raw: *mut c_void = std::ptr::null_mut();
    // SAFETY: the result is a place to write to, and the device is current on this thread.
    unsafe { call!(device.table(), hipHostMalloc(&raw mut raw, bytes, flags))? };
    let pointer = match NonNull::new(raw.cast::<T>()) {
        Some(pointer) if pointer.is_aligned() => pointer,
        _ => return Err(unusable(device, raw)),
    };
    // SAFETY: the allocation has that many bytes.
    unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
    Ok(pointer)
}

impl<T: DeviceCopy> HostBuffer<T> {
    /// Allocates `len` elements whose bytes are zero (`hipHostMalloc`).
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the size does not fit into the address space, else
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        Self::with_options(device, len, HostOptions::default())
    }

    /// As [`zeroed`](Self::zeroed), with options. For memory that devices access in place, use
    /// [`MappedBuffer`](crate::MappedBuffer).
    ///
    /// # Errors
    /// As there.
    pub fn with_options(device: &Device, len: usize, options: HostOptions) -> Result<Self> {
        let bytes = size_in_bytes::<T>(len)?;
        let pointer =
            if bytes > 0 { allocate::<T>(device, bytes, options.flags())? } else { NonNull::dangling() };
        Ok(Self { device: device.clone(), pointer, len, _counted: Counted::new(Kind::HostAllocation) })
    }

    /// Allocates a buffer and copies `source` to it.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn from_slice(device: &Device, source: &[T]) -> Result<Self> {
        let mut buffer = Self::zeroed(device, source.len())?;
        buffer.copy_from_slice(source);
        Ok(buffer)
    }

    /// The device that the memory was pinned for.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

/// Frees memory that cannot hold the requested type.
#[cold]
fn unusable(device: &Device, raw: *mut c_void) -> crate::Error {
    if !raw.is_null() {
        // SAFETY: the memory was just allocated, and nothing uses it.
        dropped("host buffer", unsafe { call!(device.table(), hipHostFree(raw)) });
    }
    crate::Error::Hip { operation: "hipHostMalloc", code: hip_sys::hipError_t::hipErrorUnknown }
}

impl<T: DeviceCopy> Deref for HostBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the elements are initialised, and only the owner of the buffer can change them.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for HostBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<T: DeviceCopy> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        if size_of::<T>() == 0 || self.len == 0 {
            return;
        }
        let (device, address) = (self.device.clone(), self.pointer.as_ptr().expose_provenance());
        release("host buffer", move || {
            let pointer = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: the memory came from `hipHostMalloc` and is freed once. A copy that uses it owns the
            // buffer until the copy is over, or for good if that cannot be known.
            let freed = unsafe { device.release(|| call!(device.table(), hipHostFree(pointer))) };
            dropped("host buffer", freed);
        });
    }
}

impl<T: DeviceCopy + fmt::Debug> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
