//! Device memory of other code, and memory for other code.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Allocation, DeviceAddress, DeviceBuffer, DeviceCopy, size_in_bytes};
use crate::device::Device;
use crate::error::Result;

/// The owner of device memory that was not allocated here: dropped once no stream uses the memory.
pub(crate) struct Owner(pub(super) Box<dyn Any + Send + Sync>);

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}

/// Owns device memory that a [`DeviceBuffer`] has given up: see [`DeviceBuffer::into_raw_parts`].
///
/// Dropping it returns the memory to where it came from.
#[must_use = "dropping this frees the memory"]
pub struct MemoryOwner(Arc<Allocation>);

impl MemoryOwner {
    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        self.0.device()
    }

    /// The address of the memory.
    pub fn address(&self) -> DeviceAddress {
        self.0.address()
    }
}

impl fmt::Debug for MemoryOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOwner")
            .field("address", &self.address())
            .field("device", self.device())
            .finish()
    }
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Makes a buffer of memory that other code has allocated. `owner` is dropped once the buffer is gone and
    /// no stream or graph of this crate uses the memory; its drop may free the memory.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// let buffer = hip::DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0])?;
    /// // Other code gets the address, and an owner to drop when it no longer needs the memory.
    /// let (address, len, owner) = buffer.into_raw_parts()?;
    /// // SAFETY: the parts come from a buffer, and `owner` keeps its memory.
    /// let buffer = unsafe { hip::DeviceBuffer::<f32>::from_raw_parts(&device, address, len, owner)? };
    /// assert_eq!(buffer.to_vec(&stream)?, [1.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the size does not fit into the address space.
    ///
    /// # Safety
    /// Until `owner` is dropped, there are `len` aligned elements at the address, in memory that this device
    /// can access. Other code's work on it is done. Other code orders its later work, and does not write
    /// memory that is borrowed here.
    pub unsafe fn from_raw_parts(
        device: &Device,
        address: DeviceAddress,
        len: usize,
        owner: impl Any + Send + Sync,
    ) -> Result<Self> {
        let bytes = size_in_bytes::<T>(len)?;
        let allocation = Allocation::foreign(device, address, bytes, owner);
        Ok(Self { allocation, len, marker: PhantomData })
    }

    /// Gives the memory to other code: returns its address, the number of elements, and the owner. Waits
    /// until all uses of it are done. Graphs that use the memory also keep it, and continue to use it.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) if waiting for a stream fails; the memory is then freed later. For
    /// the fault of a stream, call [`Stream::synchronize`](crate::Stream::synchronize).
    pub fn into_raw_parts(self) -> Result<(DeviceAddress, usize, MemoryOwner)> {
        self.allocation.wait()?;
        Ok((self.allocation.address(), self.len, MemoryOwner(self.allocation)))
    }
}
