//! Virtual memory: reserved addresses, and memory mapped there.

mod physical;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipMemAccessDesc, hipMemAccessFlags};

use crate::error::VirtualMemoryError;
pub use physical::{Granularity, PhysicalMemory};

use super::{Allocation, DeviceAddress, DeviceBuffer, DeviceCopy};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::{Counted, Kind};
use crate::stream::release;

/// A device's access to mapped memory.
#[doc(alias = "hipMemAccessFlags")]
#[doc(alias = "CUmemAccess_flags")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// No access.
    None,
    /// Reads.
    Read,
    /// Reads and writes.
    ReadWrite,
}

impl Access {
    fn flags(self) -> hipMemAccessFlags {
        match self {
            Self::None => hipMemAccessFlags::hipMemAccessFlagsProtNone,
            Self::Read => hipMemAccessFlags::hipMemAccessFlagsProtRead,
            Self::ReadWrite => hipMemAccessFlags::hipMemAccessFlagsProtReadWrite,
        }
    }
}

/// A range of reserved addresses, to which [memory](PhysicalMemory) is mapped piece by piece.
///
/// Mapping gives a [`DeviceBuffer`] like any other. Once the buffer is dropped and no stream or graph uses
/// it, the memory is unmapped, and memory and addresses can be used again. A clone is another handle of the
/// same addresses; they are freed when no handle and no buffer is left. So the order of drops does not
/// matter.
///
/// [`GrowableBuffer`](crate::GrowableBuffer) is an array that grows this way.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let memory = hip::PhysicalMemory::new(&device, 1 << 21)?;
/// let range = hip::AddressRange::reserve(&device, 1 << 30)?;
/// let mut buffer = range.map::<u32>(0, &[memory.clone()])?;
/// buffer.fill(&stream, 7)?;
/// // The memory moves: it is unmapped here and mapped there, and keeps its contents.
/// drop(buffer);
/// let buffer = range.map::<u32>(memory.size(), &[memory])?;
/// assert_eq!(buffer.slice(..2)?.to_vec(&stream)?, [7, 7]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipMemAddressReserve")]
#[doc(alias = "cuMemAddressReserve")]
#[derive(Clone, Debug)]
pub struct AddressRange(Arc<Reserved>);

#[derive(Debug)]
struct Reserved {
    device: Device,
    base: DeviceAddress,
    size: usize,
    granularity: Granularity,
    /// Mappings, including those in progress: sizes by offset.
    occupied: Mutex<BTreeMap<usize, usize>>,
    counted: Option<Counted>,
}

/// Memory at an address. Dropping this unmaps it; by then nothing uses it.
#[derive(Debug)]
pub(super) struct Mapping(Option<Mapped>);

#[derive(Debug)]
struct Mapped {
    range: AddressRange,
    offset: usize,
    memory: PhysicalMemory,
}

impl AddressRange {
    /// Reserves addresses for `bytes` bytes, rounded up to a multiple of [`Granularity::recommended`]
    /// (`hipMemAddressReserve`). This takes no memory.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size does not fit into the address space, else [`Error::Hip`], also if the
    /// device has no virtual memory management.
    pub fn reserve(device: &Device, bytes: usize) -> Result<Self> {
        let granularity = device.granularity()?;
        let size = bytes.max(1).checked_next_multiple_of(granularity.recommended);
        let size = size.ok_or(Error::TooLarge { elements: bytes, size: 1 })?;
        let mut base: *mut c_void = std::ptr::null_mut();
        let (wish, alignment) = (std::ptr::null_mut(), granularity.recommended);
        device.make_current()?;
        // SAFETY: the result is a place to write to.
        unsafe {
            call!(device.table(), hipMemAddressReserve(&raw mut base, size, alignment, wish, 0))?;
        }
        Ok(Self(Arc::new(Reserved {
            device: device.clone(),
            base: DeviceAddress(base.expose_provenance() as u64),
            size,
            granularity,
            occupied: Mutex::default(),
            counted: Some(Counted::new(Kind::VirtualMemory)),
        })))
    }

    /// The first address.
    pub fn address(&self) -> DeviceAddress {
        self.0.base
    }

    /// How many bytes are reserved.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// The device that the addresses are for.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The granularity of offsets and sizes.
    pub fn granularity(&self) -> Granularity {
        self.0.granularity
    }

    /// Maps the pieces of `memory`, one after the other, from `offset` bytes after the first address on, for
    /// this device to read and write (`hipMemMap`, `hipMemSetAccess`). The buffer has as many elements as fit
    /// into all pieces. Its contents are those of the memory, which are unspecified at first.
    ///
    /// The memory may belong to other devices that this one has a link to.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are too few addresses, [`VirtualMemoryError::Misaligned`],
    /// [`VirtualMemoryError::Occupied`], [`VirtualMemoryError::AlreadyMapped`] if some of the memory is
    /// mapped elsewhere, [`Error::OtherRuntime`] if it belongs to another library, else [`Error::Hip`]. After
    /// an error nothing is mapped.
    #[doc(alias = "hipMemMap")]
    #[doc(alias = "cuMemMap")]
    pub fn map<T: DeviceCopy>(&self, offset: usize, memory: &[PhysicalMemory]) -> Result<DeviceBuffer<T>> {
        let (mut end, mut mappings) = (offset, Vec::with_capacity(memory.len()));
        for part in memory {
            mappings.push(self.map_one(end, part)?);
            end += part.size();
        }
        if mappings.is_empty() {
            return DeviceBuffer::uninit(self.device(), 0);
        }
        let bytes = end - offset;
        self.open(offset, bytes)?;
        // The number of zero-sized elements is arbitrary; take 0.
        let len = bytes.checked_div(size_of::<T>()).unwrap_or(0);
        // Other buffers' mappings may be adjacent, so this one is bounded by its length.
        let allocation = Allocation::foreign(self.device(), self.0.base.offset(offset), bytes, mappings);
        Ok(DeviceBuffer::of(allocation, len))
    }

    /// Lets the range's device read and write mapped memory. Pass all memory of a buffer in one call: AMD's
    /// HIP 7.2 refuses (`hipErrorInvalidValue`) a size that is not the total of the first few pieces of the
    /// range, in an unspecified order.
    pub(super) fn open(&self, offset: usize, size: usize) -> Result<()> {
        self.0.set_access(offset, size, self.device(), Access::ReadWrite)
    }

    /// Maps one piece of memory, without giving a device access yet.
    pub(super) fn map_one(&self, offset: usize, memory: &PhysicalMemory) -> Result<Mapping> {
        self.device().same_runtime(memory.device(), "hipMemMap", "memory")?;
        let (reserved, size) = (&*self.0, memory.size());
        let granularity = reserved.granularity.minimum;
        if !offset.is_multiple_of(granularity) {
            return Err(VirtualMemoryError::Misaligned { offset, granularity }.into());
        }
        let end = offset.checked_add(size).filter(|end| *end <= reserved.size);
        let outside =
            || Error::OutOfRange { start: offset, end: offset.saturating_add(size), len: reserved.size };
        let end = end.ok_or_else(outside)?;
        memory.claim()?;
        if let Err(error) = reserved.occupy(offset, end) {
            memory.unclaim();
            return Err(error.into());
        }
        let place = reserved.base.offset(offset).pointer();
        let mapped = self.device().make_current().and_then(|()| {
            // SAFETY: the addresses are reserved and nothing is mapped there; the memory has that size.
            unsafe { call!(self.device().table(), hipMemMap(place, size, 0, memory.handle(), 0)) }
        });
        if let Err(error) = mapped {
            reserved.vacate(offset);
            memory.unclaim();
            return Err(error);
        }
        // From here on, dropping it unmaps it.
        Ok(Mapping(Some(Mapped { range: self.clone(), offset, memory: memory.clone() })))
    }

    /// Sets a device's access to a part of the addresses, which must consist of whole pieces of mapped memory
    /// (`hipMemSetAccess`). By default this range's device can read and write mapped memory, and others have
    /// no access.
    ///
    /// Streams of another device also need [`Device::enable_peer_access`], as for any memory of this device.
    /// A kernel that violates the access ends with a [fault](Error::Fault). So may a copy or fill on a stream
    /// of a real GPU. On virtual GPUs, and where `hip-on-hsa` runs real ones, that copy or fill is
    /// [`Error::Hip`] with `hipErrorInvalidValue`, and changes nothing. Reducing access waits for the work of
    /// both devices.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the bytes are outside the range, [`Error::OtherRuntime`] if the device
    /// belongs to another library, else [`Error::Hip`], such as `hipErrorInvalidValue` if the bytes are not
    /// whole pieces.
    #[doc(alias = "hipMemSetAccess")]
    #[doc(alias = "cuMemSetAccess")]
    pub fn set_access(&self, bytes: Range<usize>, device: &Device, access: Access) -> Result<()> {
        self.device().same_runtime(device, "hipMemSetAccess", "device")?;
        let Range { start, end } = bytes;
        if start > end || end > self.size() {
            return Err(Error::OutOfRange { start, end, len: self.size() });
        }
        if access != Access::ReadWrite {
            for device in [self.device(), device] {
                match device.synchronize() {
                    // A failed stream runs nothing any more.
                    Ok(()) | Err(Error::Fault(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.0.set_access(start, end - start, device, access)
    }

    /// A device's access to the memory at an offset (`hipMemGetAccess`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the offset is outside the range, [`Error::OtherRuntime`] if the device
    /// belongs to another library, else
    /// [`Error::Hip`], such as `hipErrorInvalidValue` where nothing is mapped.
    #[doc(alias = "hipMemGetAccess")]
    #[doc(alias = "cuMemGetAccess")]
    pub fn access(&self, offset: usize, device: &Device) -> Result<Access> {
        self.device().same_runtime(device, "hipMemGetAccess", "device")?;
        if offset >= self.size() {
            return Err(Error::OutOfRange { start: offset, end: offset, len: self.size() });
        }
        let (mut flags, location) = (0, device.memory_location());
        self.device().make_current()?;
        // SAFETY: the result is a place to write to, and the location is valid during the call.
        unsafe {
            let place = self.0.base.offset(offset).pointer();
            call!(self.device().table(), hipMemGetAccess(&raw mut flags, &raw const location, place))?;
        }
        let all = [Access::Read, Access::ReadWrite];
        let found = all.into_iter().find(|access| u64::from(access.flags().0) == flags);
        Ok(found.unwrap_or(Access::None))
    }
}

/// Handles of the same addresses are equal.
impl PartialEq for AddressRange {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AddressRange {}

impl Reserved {
    fn occupied(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        // The map is consistent at every point that could panic.
        self.occupied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims bytes for a mapping, if nothing is mapped there.
    fn occupy(&self, start: usize, end: usize) -> Result<(), VirtualMemoryError> {
        let mut occupied = self.occupied();
        if let Some((&before, &size)) = occupied.range(..end).next_back()
            && before + size > start
        {
            return Err(VirtualMemoryError::Occupied { start: before, end: before + size });
        }
        occupied.insert(start, end - start);
        Ok(())
    }

    fn vacate(&self, offset: usize) {
        self.occupied().remove(&offset);
    }

    fn set_access(&self, offset: usize, size: usize, device: &Device, access: Access) -> Result<()> {
        let wanted = hipMemAccessDesc { location: device.memory_location(), flags: access.flags() };
        self.device.make_current()?;
        let place = self.base.offset(offset).pointer();
        // SAFETY: the addresses are reserved, and the description is valid during the call. HIP refuses
        // addresses that are not mapped.
        unsafe { call!(self.device.table(), hipMemSetAccess(place, size, &raw const wanted, 1)) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let Some(mapped) = self.0.take() else { return };
        release("mapping", move || {
            let (reserved, size) = (&*mapped.range.0, mapped.memory.size());
            let place = reserved.base.offset(mapped.offset).pointer();
            // SAFETY: the memory was mapped for this, and the dropping code has waited for everything that
            // uses it.
            let unmapped = unsafe {
                reserved.device.release(|| call!(reserved.device.table(), hipMemUnmap(place, size)))
            };
            if unmapped.is_ok() {
                reserved.vacate(mapped.offset);
                mapped.memory.unclaim();
            } else {
                // The addresses and the memory cannot be used for anything else, so leak both.
                std::mem::forget(mapped);
            }
            dropped("mapping", unmapped);
        });
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let (device, base, size, counted) = (self.device.clone(), self.base, self.size, self.counted.take());
        release("virtual memory", move || {
            let freed = device.make_current().and_then(|()| {
                // SAFETY: the addresses were reserved for this, of that size, and nothing is mapped there:
                // mappings hold it.
                unsafe { call!(device.table(), hipMemAddressFree(base.pointer(), size)) }
            });
            dropped("virtual memory", freed);
            drop(counted);
        });
    }
}
