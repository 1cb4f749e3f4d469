//! Memory that another driver has allocated, such as Vulkan's.

use std::ffi::c_void;
use std::fmt;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{
    hipExternalMemory_t, hipExternalMemoryBufferDesc, hipExternalMemoryDedicated,
    hipExternalMemoryHandleDesc, hipExternalMemoryHandleType,
};

use super::{Allocation, DeviceAddress, DeviceBuffer, DeviceCopy, size_in_bytes};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{ExternalMemoryError, Result};
use crate::live::{Counted, Kind};
use crate::stream::release;

/// Memory that another driver has allocated and exported as a file descriptor, such as Vulkan's
/// (`VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT`). [`buffer`](Self::buffer) makes buffers of its parts.
///
/// A clone is another handle of the same memory. The memory is released (`hipDestroyExternalMemory`) once no
/// handle and no buffer of it exists; the other driver's memory object may be freed earlier.
///
/// ```no_run
/// # use std::os::fd::OwnedFd;
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// # let from_vulkan: OwnedFd = unimplemented!();
/// // `from_vulkan` is what `vkGetMemoryFdKHR` returned for memory of 4096 bytes.
/// // SAFETY: the descriptor is for that memory, and Vulkan does not use the memory while `stream` does.
/// let memory = unsafe { hip::ExternalMemory::import(&device, from_vulkan, 4096)? };
/// let mut buffer = memory.buffer::<f32>(0, 1024)?;
/// buffer.fill(&stream, 1.0)?;
/// stream.synchronize()?;
/// # Ok(())
/// # }
/// ```
///
/// # Order
/// The program must order the two drivers' work. AMD's HIP cannot import semaphores on Linux
/// (`hipImportExternalSemaphore` returns `hipErrorNotSupported`), so the host does the ordering: wait for a
/// Vulkan fence before submitting work to a stream, and call
/// [`Stream::synchronize`](crate::Stream::synchronize) before submitting work to Vulkan. With timeline
/// semaphores, all work can be submitted to both at once: a [host function](crate::Stream::host_function) of
/// a stream calls `vkSignalSemaphore`, and a thread that waits with `vkWaitSemaphores` raises a
/// [`HostSignal`](crate::HostSignal) that a stream waits for.
#[doc(alias = "hipExternalMemory_t")]
#[doc(alias = "hipImportExternalMemory")]
#[doc(alias = "cudaExternalMemory_t")]
#[doc(alias = "CUexternalMemory")]
#[derive(Clone)]
pub struct ExternalMemory(Arc<Inner>);

struct Inner {
    device: Device,
    handle: Handle,
    size: usize,
    /// The parts in use by buffers: first byte, and one past the last.
    parts: Mutex<Vec<(usize, usize)>>,
    counted: Option<Counted>,
}

/// HIP's handle of the memory.
#[derive(Clone, Copy)]
struct Handle(hipExternalMemory_t);

// SAFETY: HIP's handles may be used by any thread.
unsafe impl Send for Handle {}
// SAFETY: HIP's functions on such a handle may be called by several threads at once.
unsafe impl Sync for Handle {}

impl Handle {
    fn get(self) -> hipExternalMemory_t {
        self.0
    }
}

impl ExternalMemory {
    /// Imports the memory of a file descriptor (`hipImportExternalMemory`). `bytes` is the size requested
    /// from the other driver (`VkMemoryAllocateInfo::allocationSize`).
    ///
    /// HIP then owns the descriptor; after an error it is closed. Virtual GPUs import memory that they have
    /// exported themselves ([`PhysicalMemory::export`](crate::PhysicalMemory::export)) and memory of Mesa's
    /// CPU driver, lavapipe; there, a kernel access beyond `bytes` is a fault.
    ///
    /// # Errors
    /// [`Error::ExternalMemory`](crate::Error::ExternalMemory) for 0 bytes, else
    /// [`Error::Hip`](crate::Error::Hip). If the descriptor does not refer to memory, or to less, virtual
    /// GPUs return `hipErrorInvalidValue`, and AMD's library returns `hipErrorOutOfMemory`.
    ///
    /// # Safety
    /// - The descriptor refers to at least `bytes` bytes of memory that this device can access. Libraries do
    ///   not check that.
    /// - The program keeps the drivers' uses of the memory apart. While work of this process uses a part
    ///   through a buffer, the other driver does not write it, and while a buffer's part is written, the
    ///   other driver does not use it. The same holds for other imports of the same memory.
    #[doc(alias = "hipImportExternalMemory")]
    #[doc(alias = "cudaImportExternalMemory")]
    #[doc(alias = "cuImportExternalMemory")]
    pub unsafe fn import(device: &Device, descriptor: OwnedFd, bytes: usize) -> Result<Self> {
        // SAFETY: as this function's contract.
        unsafe { Self::take(device, descriptor, bytes, 0) }
    }

    /// As [`import`](Self::import), for memory that was allocated for a single buffer or image
    /// (`VkMemoryDedicatedAllocateInfo`).
    ///
    /// # Errors
    /// As [`import`](Self::import).
    ///
    /// # Safety
    /// As [`import`](Self::import).
    #[doc(alias = "hipExternalMemoryDedicated")]
    #[doc(alias = "cudaExternalMemoryDedicated")]
    pub unsafe fn import_dedicated(device: &Device, descriptor: OwnedFd, bytes: usize) -> Result<Self> {
        // SAFETY: as this function's contract.
        unsafe { Self::take(device, descriptor, bytes, hipExternalMemoryDedicated) }
    }

    /// # Safety
    /// As for [`import`](Self::import).
    unsafe fn take(device: &Device, descriptor: OwnedFd, bytes: usize, flags: u32) -> Result<Self> {
        if bytes == 0 {
            return Err(ExternalMemoryError::Empty.into());
        }
        let size = size_in_bytes::<u8>(bytes)?;
        let mut description = hipExternalMemoryHandleDesc {
            type_: hipExternalMemoryHandleType::hipExternalMemoryHandleTypeOpaqueFd,
            size: size as u64,
            flags,
            ..hipExternalMemoryHandleDesc::default()
        };
        description.handle.fd = descriptor.as_raw_fd();
        let mut handle: hipExternalMemory_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the result is a place to write to, the description is valid during the call, and the caller
        // vouches for the memory.
        unsafe { call!(device.table(), hipImportExternalMemory(&raw mut handle, &raw const description))? };
        // HIP owns it from now on.
        let _ = descriptor.into_raw_fd();
        Ok(Self(Arc::new(Inner {
            device: device.clone(),
            handle: Handle(handle),
            size,
            parts: Mutex::default(),
            counted: Some(Counted::new(Kind::ExternalMemory)),
        })))
    }

    /// The size of the imported memory in bytes.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// The device that can access the memory.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Makes a buffer of `len` elements at an offset in bytes (`hipExternalMemoryGetMappedBuffer`). While it
    /// lives, no other buffer can have these bytes. After it is dropped, the mapping ends (`hipFree`) once no
    /// stream or graph uses it; the contents of the memory stay.
    ///
    /// # Errors
    /// [`Error::ExternalMemory`](crate::Error::ExternalMemory) if the part is outside the memory or
    /// misaligned, or another buffer uses some of it; [`Error::TooLarge`](crate::Error::TooLarge) if the size
    /// does not fit into the address space, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipExternalMemoryGetMappedBuffer")]
    #[doc(alias = "cudaExternalMemoryGetMappedBuffer")]
    #[doc(alias = "cuExternalMemoryGetMappedBuffer")]
    pub fn buffer<T: DeviceCopy>(&self, offset: usize, len: usize) -> Result<DeviceBuffer<T>> {
        let (device, bytes) = (self.device(), size_in_bytes::<T>(len)?);
        let size = self.size();
        let end = offset.checked_add(bytes).filter(|end| *end <= size);
        let end = end.ok_or(ExternalMemoryError::OutOfRange { offset, bytes, size })?;
        if bytes == 0 {
            return DeviceBuffer::uninit(device, len);
        }
        // Imported memory is page-aligned.
        let (align, element) = (align_of::<T>(), std::any::type_name::<T>());
        if !offset.is_multiple_of(align) {
            return Err(ExternalMemoryError::Misaligned { offset, element, align }.into());
        }
        self.0.occupy(offset, end)?;
        // Dropping it releases the part, even if the mapping fails.
        let mut mapped = Mapped { memory: self.0.clone(), start: offset, address: None };
        let description = hipExternalMemoryBufferDesc {
            offset: offset as u64,
            size: bytes as u64,
            ..hipExternalMemoryBufferDesc::default()
        };
        let mut pointer: *mut c_void = std::ptr::null_mut();
        let made = device.make_current().and_then(|()| {
            // SAFETY: the result is a place to write to, the memory exists, and the description is valid
            // during the call.
            unsafe {
                let handle = self.0.handle.get();
                call!(
                    device.table(),
                    hipExternalMemoryGetMappedBuffer(&raw mut pointer, handle, &raw const description)
                )
            }
        });
        made?;
        let address = DeviceAddress(pointer.expose_provenance() as u64);
        mapped.address = Some(address);
        Ok(DeviceBuffer::of(Allocation::foreign(device, address, bytes, mapped), len))
    }
}

impl fmt::Debug for ExternalMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalMemory").field("size", &self.size()).field("device", self.device()).finish()
    }
}

/// Handles of the same import are equal.
impl PartialEq for ExternalMemory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ExternalMemory {}

impl Inner {
    fn parts(&self) -> MutexGuard<'_, Vec<(usize, usize)>> {
        // The list is consistent at every point that could panic.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims bytes for a buffer, if no other buffer uses any of them.
    fn occupy(&self, start: usize, end: usize) -> Result<(), ExternalMemoryError> {
        let mut parts = self.parts();
        if let Some(&(start, end)) = parts.iter().find(|part| part.0 < end && start < part.1) {
            return Err(ExternalMemoryError::Occupied { start, end });
        }
        parts.push((start, end));
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let (device, handle, counted) = (self.device.clone(), self.handle, self.counted.take());
        release("external memory", move || {
            // SAFETY: the memory was imported for this, and nothing uses it: buffers hold it.
            let destroyed =
                unsafe { device.release(|| call!(device.table(), hipDestroyExternalMemory(handle.get()))) };
            dropped("external memory", destroyed);
            drop(counted);
        });
    }
}

/// A mapped part of imported memory; dropping it unmaps it.
struct Mapped {
    memory: Arc<Inner>,
    start: usize,
    address: Option<DeviceAddress>,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let memory = &self.memory;
        if let Some(address) = self.address {
            // SAFETY: the part was mapped once for this, and its allocation has waited for everything that
            // uses it.
            let unmapped =
                unsafe { memory.device.release(|| call!(memory.device.table(), hipFree(address.pointer()))) };
            let failed = unmapped.is_err();
            dropped("part of external memory", unmapped);
            if failed {
                // The bytes stay claimed.
                return;
            }
        }
        memory.parts().retain(|part| part.0 != self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::fake;

    /// Memory that a fake driver has exported.
    fn import(device: &Device) -> Result<ExternalMemory> {
        let descriptor = std::fs::File::open("/dev/null").unwrap().into();
        // SAFETY: the fake takes any descriptor.
        unsafe { ExternalMemory::import(device, descriptor, 4096) }
    }

    #[test]
    fn a_part_whose_mapping_fails_is_free_again() {
        let device = fake::device(0);
        let memory = import(&device).unwrap();
        fake::fail_external();
        let failed = memory.buffer::<u32>(0, 8);
        assert!(matches!(failed, Err(Error::Hip { operation: "hipExternalMemoryGetMappedBuffer", .. })));
        let buffer = memory.buffer::<u32>(0, 8).unwrap();
        let address = buffer.address();
        assert!(fake::is_allocated(address));
        drop(memory);
        drop(buffer);
        assert!(!fake::is_allocated(address), "it was unmapped with its buffer");
    }

    #[test]
    fn an_import_that_fails_leaves_nothing() {
        let device = fake::device(0);
        fake::fail_external();
        let failed = import(&device);
        assert!(matches!(failed, Err(Error::Hip { operation: "hipImportExternalMemory", .. })));
        // SAFETY: nothing is imported.
        let empty =
            unsafe { ExternalMemory::import(&device, std::fs::File::open("/dev/null").unwrap().into(), 0) };
        assert!(matches!(empty, Err(Error::ExternalMemory(_))));
        assert!(import(&device).is_ok());
    }
}
