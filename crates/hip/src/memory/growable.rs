//! Device memory that grows in place: reserved addresses, with memory mapped on demand.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::virtual_memory::Mapping;
use super::{
    AddressRange, Allocation, DeviceCopy, DeviceSlice, DeviceSliceMut, PhysicalMemory, size_in_bytes,
};
use crate::device::Device;
use crate::error::{Error, Result};

/// An owned array in device memory that grows without moving its elements.
///
/// Its addresses are reserved when it is made, for as many elements as it may ever have. As it grows, it
/// takes memory from the device in whole pages, and it returns all of it when it is dropped. So nothing is
/// copied, and addresses in kernels and graphs stay valid.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let mut cache = hip::GrowableBuffer::<f32>::new(&device, 1 << 30)?;
/// cache.grow(1000)?;
/// cache.fill(&stream, 1.0)?;
/// cache.grow(2000)?;
/// assert_eq!(cache.slice(..1000)?.to_vec(&stream)?, [1.0; 1000]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipMemAddressReserve")]
#[doc(alias = "hipMemCreate")]
#[doc(alias = "hipMemMap")]
#[doc(alias = "cuMemAddressReserve")]
#[doc(alias = "cuMemCreate")]
#[doc(alias = "cuMemMap")]
pub struct GrowableBuffer<T: DeviceCopy> {
    allocation: Arc<Allocation>,
    range: AddressRange,
    mapped: Arc<Mutex<Pieces>>,
    len: usize,
    capacity: usize,
    marker: PhantomData<T>,
}

/// The mapped memory, in order from the start.
#[derive(Default)]
struct Pieces {
    bytes: usize,
    mappings: Vec<Mapping>,
}

impl<T: DeviceCopy> GrowableBuffer<T> {
    /// Reserves addresses for up to `capacity` elements, without taking memory yet (`hipMemAddressReserve`).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size does not fit into the address space, else [`Error::Hip`], also if the
    /// device has no virtual memory management.
    pub fn new(device: &Device, capacity: usize) -> Result<Self> {
        let range = AddressRange::reserve(device, size_in_bytes::<T>(capacity)?)?;
        let mapped = Arc::<Mutex<Pieces>>::default();
        // The allocation keeps the mapped memory and the addresses until nothing uses them.
        let owner = (mapped.clone(), range.clone());
        let allocation = Allocation::foreign(device, range.address(), range.size(), owner);
        Ok(Self { allocation, range, mapped, len: 0, capacity, marker: PhantomData })
    }

    /// Makes the array at least `len` elements long; new elements have unspecified values (`hipMemCreate`,
    /// `hipMemMap`,
    /// `hipMemSetAccess`).
    ///
    /// Streams may keep using the existing elements.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `len` exceeds the capacity, [`Error::OutOfMemory`] if the device has too
    /// little memory, else [`Error::Hip`]. After an error the array is unchanged.
    pub fn grow(&mut self, len: usize) -> Result<()> {
        if len > self.capacity {
            return Err(Error::OutOfRange { start: 0, end: len, len: self.capacity });
        }
        // At most the reserved size, which is a multiple of this, too.
        let bytes = size_in_bytes::<T>(len)?.next_multiple_of(self.range.granularity().recommended);
        let mut pieces = self.pieces();
        if let Some(more) = bytes.checked_sub(pieces.bytes).filter(|more| *more != 0) {
            let memory = PhysicalMemory::new(self.device(), more)?;
            let mapping = self.range.map_one(pieces.bytes, &memory)?;
            let all = pieces.bytes + memory.size();
            self.range.open(0, all)?;
            pieces.mappings.push(mapping);
            pieces.bytes = all;
        }
        drop(pieces);
        self.len = self.len.max(len);
        Ok(())
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        // The data is consistent at every point that could panic.
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The maximum number of elements.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The device memory that it holds, in bytes.
    pub fn memory(&self) -> usize {
        self.pieces().bytes
    }

    /// All elements, shared.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.allocation.settle();
        DeviceSlice::new(&self.allocation, self.allocation.address(), self.len)
    }

    /// All elements, exclusive.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.allocation.settle();
        DeviceSliceMut::new(&self.allocation, self.allocation.address(), self.len)
    }
}

impl<T: DeviceCopy> fmt::Debug for GrowableBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowableBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("capacity", &self.capacity)
            .field("device", self.device())
            .finish()
    }
}
