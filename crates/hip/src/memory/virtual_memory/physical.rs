//! Device memory without an address.

use std::ffi::{c_int, c_void};
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hip_sys::{
    hipMemAllocationGranularity_flags, hipMemAllocationHandleType, hipMemAllocationProp,
    hipMemAllocationType, hipMemGenericAllocationHandle_t,
};

use super::VirtualMemoryError;
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::{Counted, Kind};
use crate::stream::release;

/// The granularity of sizes and offsets of mapped memory, in bytes: [`Device::granularity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granularity {
    /// They must be multiples of this.
    pub minimum: usize,
    /// For speed, they should be multiples of this.
    pub recommended: usize,
}

/// Device memory without an address (`hipMemCreate`). [`AddressRange::map`](crate::AddressRange::map) gives
/// it one, for as long as the resulting buffer lives. The contents stay as long as the memory exists.
///
/// A clone is another handle of the same memory. The memory is released (`hipMemRelease`) once no handle and
/// no buffer of it exists.
#[doc(alias = "hipMemCreate")]
#[doc(alias = "hipMemGenericAllocationHandle_t")]
#[doc(alias = "cuMemCreate")]
#[derive(Clone, Debug)]
pub struct PhysicalMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    device: Device,
    handle: Handle,
    size: usize,
    exportable: bool,
    mapped: AtomicBool,
    counted: Option<Counted>,
}

/// HIP's handle of the memory.
#[derive(Clone, Copy, Debug)]
struct Handle(hipMemGenericAllocationHandle_t);

// SAFETY: HIP's handles may be used by any thread.
unsafe impl Send for Handle {}
// SAFETY: HIP's functions on such a handle may be called by several threads at once.
unsafe impl Sync for Handle {}

impl Handle {
    fn get(self) -> hipMemGenericAllocationHandle_t {
        self.0
    }
}

const DESCRIPTOR: hipMemAllocationHandleType =
    hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor;

impl PhysicalMemory {
    /// Allocates at least `bytes` bytes on the device, rounded up to a multiple of [`Granularity::minimum`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has too little, [`Error::TooLarge`] if the size does not fit into
    /// the address space, else [`Error::Hip`], also where the device has no virtual memory management.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        Self::create(device, bytes, false)
    }

    /// As [`new`](Self::new), for memory that can be given to other processes with [`export`](Self::export).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn exportable(device: &Device, bytes: usize) -> Result<Self> {
        Self::create(device, bytes, true)
    }

    fn create(device: &Device, bytes: usize, exportable: bool) -> Result<Self> {
        let size = bytes.max(1).checked_next_multiple_of(device.granularity()?.minimum);
        let size = size.ok_or(Error::TooLarge { elements: bytes, size: 1 })?;
        let mut properties = properties(device);
        if exportable {
            properties.__bindgen_anon_1.requestedHandleTypes = DESCRIPTOR;
        }
        let mut handle: hipMemGenericAllocationHandle_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the result is a place to write to, and the properties are valid during the call.
        unsafe { call!(device.table(), hipMemCreate(&raw mut handle, size, &raw const properties, 0)) }
            .map_err(|error| device.memory().explain(error, device, size))?;
        Ok(Self::of(device, handle, size, exportable))
    }

    fn of(device: &Device, handle: hipMemGenericAllocationHandle_t, size: usize, exportable: bool) -> Self {
        Self(Arc::new(Inner {
            device: device.clone(),
            handle: Handle(handle),
            size,
            exportable,
            mapped: AtomicBool::new(false),
            counted: Some(Counted::new(Kind::VirtualMemory)),
        }))
    }

    /// The size in bytes.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Whether the memory is mapped.
    pub fn is_mapped(&self) -> bool {
        self.0.mapped.load(Ordering::Acquire)
    }

    /// Exports the memory as a file descriptor (`hipMemExportToShareableHandle`). Another process gets it
    /// through a Unix socket, or inherits it, and [imports](Self::import) it. The memory lives as long as any
    /// process has the descriptor or the imported memory.
    ///
    /// # Errors
    /// [`VirtualMemoryError::NotExportable`] unless it was made by [`exportable`](Self::exportable), else
    /// [`Error::Hip`].
    #[doc(alias = "hipMemExportToShareableHandle")]
    #[doc(alias = "cuMemExportToShareableHandle")]
    pub fn export(&self) -> Result<OwnedFd> {
        if !self.0.exportable {
            return Err(VirtualMemoryError::NotExportable.into());
        }
        let mut descriptor: c_int = -1;
        self.0.device.make_current()?;
        // SAFETY: the result is a place for a descriptor, and the handle is valid.
        unsafe {
            let place = (&raw mut descriptor).cast::<c_void>();
            call!(self.0.device.table(), hipMemExportToShareableHandle(place, self.handle(), DESCRIPTOR, 0))?;
            if descriptor < 0 {
                return Err(VirtualMemoryError::NoMemory { reason: format!("it is {descriptor}") }.into());
            }
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }

    /// Imports memory that another process has [exported](Self::export) (`hipMemImportFromShareableHandle`).
    /// The descriptor may be closed afterwards.
    ///
    /// # Errors
    /// [`VirtualMemoryError::NoMemory`] if the descriptor has no size, as those of NVIDIA's driver, for which
    /// there is [`import_of_size`](Self::import_of_size); else [`Error::Hip`].
    ///
    /// # Safety
    /// The descriptor refers to memory of this device; libraries do not check that. The programs must keep
    /// apart the uses of the memory by several processes, and by several handles of one process: while work
    /// uses a part through one handle, none writes it through another.
    #[doc(alias = "hipMemImportFromShareableHandle")]
    #[doc(alias = "cuMemImportFromShareableHandle")]
    pub unsafe fn import(device: &Device, descriptor: impl AsFd) -> Result<Self> {
        let no_memory = |reason| Error::from(VirtualMemoryError::NoMemory { reason });
        let mut file = std::fs::File::from(copy_of(descriptor)?);
        // DMA buffers tell their size by their end.
        let end = file.seek(SeekFrom::End(0)).map_err(|error| {
            no_memory(format!("{error}; where it is one of NVIDIA's driver, `import_of_size` takes the size"))
        })?;
        let size = usize::try_from(end).map_err(|error| no_memory(error.to_string()))?;
        // SAFETY: the caller's promise, and the descriptor has said the size.
        unsafe { Self::take(device, file.as_fd(), size) }
    }

    /// The same of so many bytes, for descriptors that do not tell their size: the program that exports the
    /// memory says [how many](Self::size) it has.
    ///
    /// # Errors
    /// [`VirtualMemoryError::NoMemory`] for no bytes, else [`Error::Hip`].
    ///
    /// # Safety
    /// As for [`import`](Self::import), and the memory has so many bytes.
    pub unsafe fn import_of_size(device: &Device, descriptor: impl AsFd, bytes: usize) -> Result<Self> {
        let copy = copy_of(descriptor)?;
        // SAFETY: the caller's promise.
        unsafe { Self::take(device, copy.as_fd(), bytes) }
    }

    /// # Safety
    /// As for [`import_of_size`](Self::import_of_size).
    unsafe fn take(device: &Device, descriptor: BorrowedFd<'_>, size: usize) -> Result<Self> {
        if size == 0 {
            return Err(VirtualMemoryError::NoMemory { reason: "it has no size".to_owned() }.into());
        }
        let mut handle: hipMemGenericAllocationHandle_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the result is a place to write to; for this type, HIP expects the number of an open
        // descriptor.
        unsafe {
            let number = std::ptr::without_provenance_mut(descriptor.as_raw_fd() as usize);
            call!(device.table(), hipMemImportFromShareableHandle(&raw mut handle, number, DESCRIPTOR))?;
        }
        Ok(Self::of(device, handle, size, true))
    }

    pub(super) fn handle(&self) -> hipMemGenericAllocationHandle_t {
        self.0.handle.get()
    }

    /// Claims the memory for one mapping.
    pub(super) fn claim(&self) -> Result<(), VirtualMemoryError> {
        match self.0.mapped.swap(true, Ordering::AcqRel) {
            false => Ok(()),
            true => Err(VirtualMemoryError::AlreadyMapped),
        }
    }

    /// Releases the claim after unmapping.
    pub(super) fn unclaim(&self) {
        self.0.mapped.store(false, Ordering::Release);
    }
}

/// AMD's library takes descriptor 0 for none at all; a copy has another number.
fn copy_of(descriptor: impl AsFd) -> Result<OwnedFd> {
    let copy = descriptor.as_fd().try_clone_to_owned();
    copy.map_err(|error| VirtualMemoryError::NoMemory { reason: error.to_string() }.into())
}

/// Handles of the same memory are equal.
impl PartialEq for PhysicalMemory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PhysicalMemory {}

impl Drop for Inner {
    fn drop(&mut self) {
        let (device, handle, counted) = (self.device.clone(), self.handle, self.counted.take());
        release("physical memory", move || {
            let released = device.make_current().and_then(|()| {
                // SAFETY: the memory was made or imported for this, and is not mapped, because mappings hold
                // it.
                unsafe { call!(device.table(), hipMemRelease(handle.get())) }
            });
            dropped("physical memory", released);
            drop(counted);
        });
    }
}

impl Device {
    /// The granularity of sizes and offsets of mapped memory (`hipMemGetAllocationGranularity`).
    ///
    /// # Errors
    /// [`Error::Hip`], also where the device has no virtual memory management.
    #[doc(alias = "hipMemGetAllocationGranularity")]
    #[doc(alias = "cuMemGetAllocationGranularity")]
    pub fn granularity(&self) -> Result<Granularity> {
        type Which = hipMemAllocationGranularity_flags;
        let properties = properties(self);
        self.make_current()?;
        let ask = |which| -> Result<usize> {
            let mut size = 0;
            // SAFETY: the result is a place to write to, and the properties are valid during the call.
            unsafe {
                call!(
                    self.table(),
                    hipMemGetAllocationGranularity(&raw mut size, &raw const properties, which)
                )?;
            }
            Ok(size)
        };
        let minimum = ask(Which::hipMemAllocationGranularityMinimum)?.max(1);
        let recommended = ask(Which::hipMemAllocationGranularityRecommended)?.max(minimum);
        Ok(Granularity { minimum, recommended })
    }
}

fn properties(device: &Device) -> hipMemAllocationProp {
    hipMemAllocationProp {
        type_: hipMemAllocationType::hipMemAllocationTypePinned,
        location: device.memory_location(),
        ..hipMemAllocationProp::default()
    }
}
