//! Memory registered with RCCL, or allocated by it.

use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut};
use rccl_sys::Table;

use crate::communicator::{Communicator, Inner, check};
use crate::current::Current;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::table;

/// A buffer registered with a communicator, which may make operations on it faster (`ncclCommRegister`). Made
/// by [`Communicator::register`].
#[doc(alias = "ncclCommRegister")]
pub struct Registered<T: Element> {
    /// Dropped after deregistration.
    buffer: Option<DeviceBuffer<T>>,
    handle: Handle,
    inner: Arc<Inner>,
}

struct Handle(*mut c_void);

// SAFETY: it is only passed back to the library, which does not tie it to a thread.
unsafe impl Send for Handle {}
// SAFETY: as above; nothing dereferences it.
unsafe impl Sync for Handle {}

impl Communicator {
    /// Registers a buffer of this communicator's device. The registration ends when the result is dropped or
    /// [taken apart](Registered::into_buffer) (`ncclCommRegister`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] up to RCCL 2.13, [`Error::OtherDevice`], [`Error::Length`] for an empty buffer,
    /// [`Error::Aborted`], else [`Error::Rccl`]. The buffer is then dropped.
    pub fn register<T: Element>(&self, buffer: DeviceBuffer<T>) -> Result<Registered<T>> {
        const NAME: &str = "ncclCommRegister";
        let inner = self.inner();
        inner.has(NAME)?;
        if buffer.device() != inner.device() {
            let (device, other) = inner.device().names_beside(buffer.device());
            return Err(Error::OtherDevice { operation: NAME, what: "buffer", device, other });
        }
        if buffer.is_empty() {
            return Err(Error::Length { operation: NAME, what: "the buffer", found: 0, expected: 1 });
        }
        let mut handle = null_mut();
        let (address, bytes) = (buffer.address().0 as *mut c_void, buffer.size_in_bytes());
        let _current = Current::set(inner.device())?;
        // SAFETY: the handle is live; the memory stays where it is until the registration is undone.
        inner.with_handle(NAME, |table, comm| unsafe {
            (table.ncclCommRegister)(comm, address, bytes, &raw mut handle)
        })?;
        Ok(Registered { buffer: Some(buffer), handle: Handle(handle), inner: inner.clone() })
    }
}

impl<T: Element> Registered<T> {
    fn buffer(&self) -> &DeviceBuffer<T> {
        match &self.buffer {
            Some(buffer) => buffer,
            None => unreachable!("only `into_buffer` and `drop` take it"),
        }
    }

    /// All elements, shared.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.buffer().as_slice()
    }

    /// All elements, exclusive.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        match &mut self.buffer {
            Some(buffer) => buffer.as_mut_slice(),
            None => unreachable!("only `into_buffer` and `drop` take it"),
        }
    }

    fn undo(&mut self) -> Result<()> {
        let _current = Current::set(self.inner.device())?;
        let handle = self.handle.0;
        // SAFETY: this value owns the registration, and undoes it once.
        let undone = self.inner.with_handle("ncclCommDeregister", |table, comm| unsafe {
            (table.ncclCommDeregister)(comm, handle)
        });
        match undone {
            // It ended with the communicator.
            Err(Error::Aborted { .. }) => Ok(()),
            undone => undone,
        }
    }

    /// Undoes the registration, and gives the buffer back (`ncclCommDeregister`).
    ///
    /// # Errors
    /// [`Error::Rccl`]; the buffer is then never freed.
    #[doc(alias = "ncclCommDeregister")]
    pub fn into_buffer(mut self) -> Result<DeviceBuffer<T>> {
        let undone = self.undo();
        match (self.buffer.take(), undone) {
            (Some(buffer), Ok(())) => Ok(buffer),
            (buffer, undone) => {
                std::mem::forget(buffer);
                undone.and(Err(Error::Aborted { operation: "into_buffer" }))
            }
        }
    }
}

impl<T: Element> Drop for Registered<T> {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else { return };
        if let Err(error) = self.undo() {
            tracing::error!(%error, "registered memory is leaked, because the library may still use it");
            std::mem::forget(buffer);
        }
    }
}

impl<T: Element> fmt::Debug for Registered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registered").field(&self.buffer).finish()
    }
}

/// Gives memory back to RCCL.
struct Allocated {
    table: &'static Table,
    device: Device,
    address: usize,
}

impl Drop for Allocated {
    fn drop(&mut self) {
        let freed = Current::set(&self.device).and_then(|_current| {
            // SAFETY: the memory is RCCL's, and nothing uses it any more.
            let code = unsafe { (self.table.ncclMemFree)(self.address as *mut c_void) };
            check(self.table, null_mut(), "ncclMemFree", code)
        });
        if let Err(error) = freed {
            tracing::error!(%error, "RCCL's memory is leaked");
        }
    }
}

/// Allocates a buffer with RCCL (`ncclMemAlloc`). Some of RCCL's uses of registered memory require this. The
/// contents are unspecified.
///
/// # Errors
/// [`Error::Unavailable`], [`Error::Unsupported`] up to RCCL 2.13, [`Error::Rccl`], and [`Error::Hip`] for a
/// size beyond the address space.
#[doc(alias = "ncclMemAlloc")]
pub fn allocate<T: Element>(device: &Device, len: usize) -> Result<DeviceBuffer<T>> {
    const NAME: &str = "ncclMemAlloc";
    let table = table::of(device)?;
    if !table.has(NAME) {
        return Err(Error::Unsupported { function: NAME });
    }
    let size = size_of::<T>();
    let bytes = len.checked_mul(size).filter(|bytes| isize::try_from(*bytes).is_ok());
    let bytes = bytes.ok_or(hip::Error::TooLarge { elements: len, size })?;
    if bytes == 0 {
        return Ok(DeviceBuffer::uninit(device, 0)?);
    }
    let _current = Current::set(device)?;
    let mut address = null_mut();
    // SAFETY: the address is valid for writes.
    let code = unsafe { (table.ncclMemAlloc)(&raw mut address, bytes) };
    check(table, null_mut(), NAME, code)?;
    let address = address as usize;
    let owner = Allocated { table, device: device.clone(), address };
    // SAFETY: the memory was just allocated, has this many bytes, and lives as long as its owner.
    Ok(unsafe { DeviceBuffer::from_raw_parts(device, hip::DeviceAddress(address as u64), len, owner)? })
}
