//! Device memory that grows in place: reserved addresses, to which memory is mapped when it is needed.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{
    hipMemAccessDesc, hipMemAccessFlags, hipMemAllocationGranularity_flags, hipMemAllocationProp,
    hipMemAllocationType, hipMemGenericAllocationHandle_t, hipMemLocation, hipMemLocationType,
};

use super::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, size_in_bytes};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::{Counted, Kind};
use crate::stream::release;

/// An owned array in device memory whose elements stay where they are when it grows.
///
/// Its addresses are reserved when it is made, for as many elements as it may ever have; memory is taken from the device in
/// whole pages as it grows, and given back when it is dropped. So nothing is copied, and addresses that kernels and graphs know
/// stay right.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let mut cache = hip::GrowableBuffer::<f32>::new(&device, 1 << 30)?;
/// cache.grow(1000)?;
/// cache.as_mut_slice().fill(&stream, 1.0)?;
/// cache.grow(2000)?;
/// assert_eq!(cache.as_slice().slice(..1000)?.to_vec(&stream)?, [1.0; 1000]);
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
    range: Arc<Range>,
    len: usize,
    capacity: usize,
    marker: PhantomData<T>,
}

/// Reserved addresses, the first of which have memory.
#[derive(Debug)]
pub(crate) struct Range {
    device: Device,
    base: DeviceAddress,
    size: usize,
    /// Memory is mapped in multiples of this.
    granularity: usize,
    /// What is mapped, one after the other from the start: sizes and what is mapped there.
    mapped: Mutex<Vec<(usize, Physical)>>,
    _counted: Counted,
}

/// Memory of the device that has no address of its own.
#[derive(Debug)]
struct Physical(hipMemGenericAllocationHandle_t);

// SAFETY: HIP's handles may be used by any thread.
unsafe impl Send for Physical {}
// SAFETY: as above, and a shared one gives no access to its handle but under the range's lock.
unsafe impl Sync for Physical {}

impl Range {
    fn reserve(device: &Device, bytes: usize) -> Result<Self> {
        let properties = properties(device);
        let mut granularity = 0;
        device.make_current()?;
        // SAFETY: the result is a place to write to, and the properties are valid during the call.
        unsafe {
            call!(
                device.table(),
                hipMemGetAllocationGranularity(
                    &raw mut granularity,
                    &raw const properties,
                    hipMemAllocationGranularity_flags::hipMemAllocationGranularityRecommended,
                )
            )?;
        }
        let granularity = granularity.max(1);
        let size = bytes.checked_next_multiple_of(granularity);
        let size = size.ok_or(Error::TooLarge { elements: bytes, size: 1 })?;
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: the result is a place to write to.
        unsafe {
            call!(
                device.table(),
                hipMemAddressReserve(&raw mut base, size, granularity, std::ptr::null_mut(), 0)
            )?;
        }
        Ok(Self {
            device: device.clone(),
            base: DeviceAddress(base.expose_provenance() as u64),
            size,
            granularity,
            mapped: Mutex::default(),
            _counted: Counted::new(Kind::VirtualMemory),
        })
    }

    fn mapped(&self) -> MutexGuard<'_, Vec<(usize, Physical)>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maps memory behind what is mapped, until there are `bytes` bytes at least.
    fn grow(&self, bytes: usize) -> Result<()> {
        let mut mapped = self.mapped();
        let before: usize = mapped.iter().map(|(size, _)| size).sum();
        // No more than was reserved, which is such a multiple.
        let more = bytes.next_multiple_of(self.granularity).saturating_sub(before);
        if more == 0 {
            return Ok(());
        }
        let properties = properties(&self.device);
        let mut handle: hipMemGenericAllocationHandle_t = std::ptr::null_mut();
        self.device.make_current()?;
        let table = self.device.table();
        // SAFETY: the result is a place to write to, and the properties are valid during the call.
        unsafe { call!(table, hipMemCreate(&raw mut handle, more, &raw const properties, 0)) }
            .map_err(|error| self.device.memory().explain(error, &self.device, more))?;
        let place = self.base.offset(before).pointer();
        // SAFETY: the addresses are reserved and nothing is mapped there; the memory has that size.
        let done = unsafe { call!(table, hipMemMap(place, more, 0, handle, 0)) }.and_then(|()| {
            let access = hipMemAccessDesc {
                location: location(&self.device),
                flags: hipMemAccessFlags::hipMemAccessFlagsProtReadWrite,
            };
            // SAFETY: the range was just mapped, and the description is valid during the call.
            unsafe { call!(table, hipMemSetAccess(place, more, &raw const access, 1)) }.inspect_err(|_| {
                // SAFETY: the range was just mapped and nobody uses it.
                dropped("mapping", unsafe { call!(table, hipMemUnmap(place, more)) });
            })
        });
        if let Err(error) = done {
            // SAFETY: the memory was just made and is mapped nowhere.
            dropped("physical memory", unsafe { call!(table, hipMemRelease(handle)) });
            return Err(error);
        }
        mapped.push((more, Physical(handle)));
        Ok(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let (device, base, size) = (self.device.clone(), self.base, self.size);
        let mapped = std::mem::take(self.mapped.get_mut().unwrap_or_else(PoisonError::into_inner));
        release("virtual memory", move || Self::free(&device, base, size, mapped));
    }
}

impl Range {
    /// Gives memory and addresses back, which nothing uses any more.
    fn free(device: &Device, base: DeviceAddress, reserved: usize, mapped: Vec<(usize, Physical)>) {
        let current = device.make_current();
        if current.is_err() {
            return dropped("virtual memory", current);
        }
        let table = device.table();
        let mut place = base;
        for (size, physical) in mapped {
            // SAFETY: the range was mapped by `grow`, and the allocation has waited for everything that uses it.
            dropped("mapping", unsafe { call!(table, hipMemUnmap(place.pointer(), size)) });
            // SAFETY: the memory was made by `grow`, and is mapped nowhere any more.
            dropped("physical memory", unsafe { call!(table, hipMemRelease(physical.0)) });
            place = place.offset(size);
        }
        // SAFETY: the addresses were reserved by `reserve`, of that size, and nothing is mapped there.
        dropped("virtual memory", unsafe { call!(table, hipMemAddressFree(base.pointer(), reserved)) });
    }
}

fn location(device: &Device) -> hipMemLocation {
    hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: device.ordinal() as i32 }
}

fn properties(device: &Device) -> hipMemAllocationProp {
    hipMemAllocationProp {
        type_: hipMemAllocationType::hipMemAllocationTypePinned,
        location: location(device),
        ..hipMemAllocationProp::default()
    }
}

impl<T: DeviceCopy> GrowableBuffer<T> {
    /// Reserves addresses for up to `capacity` elements, and takes no memory yet (`hipMemAddressReserve`).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size does not fit into the address space, else [`Error::Hip`], also where the device has
    /// no virtual memory management.
    pub fn new(device: &Device, capacity: usize) -> Result<Self> {
        let bytes = size_in_bytes::<T>(capacity)?;
        let range = Arc::new(Range::reserve(device, bytes.max(1))?);
        let allocation = Allocation::foreign(device, range.base, range.size, range.clone());
        Ok(Self { allocation, range, len: 0, capacity, marker: PhantomData })
    }

    /// Makes the array at least `len` elements long; new elements are of unspecified value (`hipMemCreate`, `hipMemMap`,
    /// `hipMemSetAccess`).
    ///
    /// Streams may go on using the elements that there are.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are addresses for fewer elements, [`Error::OutOfMemory`] if the device has too little
    /// memory, else [`Error::Hip`]. The array is then as it was.
    pub fn grow(&mut self, len: usize) -> Result<()> {
        if len > self.capacity {
            return Err(Error::OutOfRange { start: 0, end: len, len: self.capacity });
        }
        self.range.grow(size_in_bytes::<T>(len)?)?;
        self.len = self.len.max(len);
        Ok(())
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements there can be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of device memory that it holds.
    pub fn memory(&self) -> usize {
        self.range.mapped().iter().map(|(size, _)| size).sum()
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        self.allocation.device()
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
