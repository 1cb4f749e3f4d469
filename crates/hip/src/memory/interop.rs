//! Device memory of other code, and memory for other code.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Allocation, DeviceAddress, DeviceBuffer, DeviceCopy, size_in_bytes};
use crate::device::Device;
use crate::error::Result;

/// Whoever owns device memory that was not allocated here: dropped when no stream uses the memory any more.
pub(crate) struct Owner(pub(super) Box<dyn Any + Send + Sync>);

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}

/// Keeps device memory that a [`DeviceBuffer`] has given away: see [`DeviceBuffer::into_raw_parts`].
///
/// Dropping it gives the memory back where it came from.
#[must_use = "dropping this frees the memory"]
pub struct MemoryOwner(Arc<Allocation>);

impl MemoryOwner {
    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        self.0.device()
    }

    /// Where the memory lies.
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
    /// Makes a buffer of memory that other code has allocated. `owner` is dropped when the buffer is gone and no stream or graph of
    /// this crate uses the memory any more, which is where it may be freed.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// let buffer = hip::DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0])?;
    /// // Other code gets the address, and something to drop when it needs the memory no more.
    /// let (address, len, owner) = buffer.into_raw_parts()?;
    /// // SAFETY: the parts are those of a buffer, and `owner` keeps its memory.
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
    /// There are `len` elements at the address, aligned, in memory that this device reaches, until `owner` is dropped. Work of other
    /// code on it is done by now; later work is ordered by that code, and what it writes is not borrowed here.
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

    /// Gives the memory to other code: its address, how many elements there are, and what keeps it. Waits until all uses of it
    /// are done. Graphs that use it keep it, too, and go on to use it.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) if a stream cannot be waited for; the memory is then freed when it can be. What failed on
    /// a stream that has faulted is found by [`Stream::synchronize`](crate::Stream::synchronize).
    pub fn into_raw_parts(self) -> Result<(DeviceAddress, usize, MemoryOwner)> {
        self.allocation.wait()?;
        Ok((self.allocation.address(), self.len, MemoryOwner(self.allocation)))
    }
}
