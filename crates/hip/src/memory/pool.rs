//! The driver's memory pools, from which streams allocate in stream order.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{
    hipMemAllocationHandleType, hipMemAllocationType, hipMemPool_t, hipMemPoolAttr, hipMemPoolProps,
};

use super::{Allocation, DeviceBuffer, DeviceCopy, size_in_bytes};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::Result;
use crate::live::{Counted, Kind};
use crate::stream::{Stream, release};

/// A pool of device memory that streams allocate from in stream order (`hipMemPool_t`).
///
/// Its buffers are like any others. When one is dropped, its memory returns to the pool after the work of the
/// streams that use it. A clone is another handle of the same pool; buffers hold one, too.
///
/// Most programs need no pool: the device's [`Allocator`](crate::Allocator) is as fast, and works where pools
/// have [faults](Device::quirks).
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// let stream = device.stream()?;
/// let pool = hip::MemoryPool::new(&device)?;
/// pool.set_release_threshold(1 << 30)?;
/// let mut buffer = pool.allocate::<f32>(&stream, 1000)?;
/// buffer.fill(&stream, 1.0)?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipMemPool_t")]
#[doc(alias = "cudaMemPool_t")]
#[derive(Clone, Debug)]
pub struct MemoryPool(Arc<PoolInner>);

#[derive(Debug)]
pub(crate) struct PoolInner {
    device: Device,
    handle: PoolHandle,
    /// `None` for the default pool, which belongs to the library.
    owned: Option<Counted>,
}

/// HIP's handle of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PoolHandle(hipMemPool_t);

// SAFETY: HIP's pool handles may be used by any thread.
unsafe impl Send for PoolHandle {}
// SAFETY: HIP's functions on a pool may be called by several threads at once.
unsafe impl Sync for PoolHandle {}

impl PoolHandle {
    fn get(self) -> hipMemPool_t {
        self.0
    }
}

/// Which memory a pool may reuse for a stream, besides memory that the stream itself has freed. All are on by
/// default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReuse {
    /// Memory freed on another stream, if events order this stream after the free.
    pub follow_events: bool,
    /// Memory freed on another stream, if that stream has already reached the free.
    pub opportunistic: bool,
    /// Memory freed on another stream, by making this stream wait for it.
    pub internal_dependencies: bool,
}

/// A pool's use of memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStats {
    /// Memory taken from the device.
    pub reserved: u64,
    /// The most memory reserved since [`MemoryPool::reset_peaks`].
    pub peak_reserved: u64,
    /// Memory that buffers hold.
    pub used: u64,
    /// The most memory used since then.
    pub peak_used: u64,
}

impl MemoryPool {
    /// Makes a pool (`hipMemPoolCreate`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMemPoolCreate")]
    #[doc(alias = "cudaMemPoolCreate")]
    #[doc(alias = "cuMemPoolCreate")]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_max_size(device, 0)
    }

    /// Makes a pool of at most `bytes` bytes; 0 leaves the limit to the library.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn with_max_size(device: &Device, bytes: usize) -> Result<Self> {
        let properties = hipMemPoolProps {
            allocType: hipMemAllocationType::hipMemAllocationTypePinned,
            handleTypes: hipMemAllocationHandleType::hipMemHandleTypeNone,
            location: device.memory_location(),
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: bytes,
            reserved: [0; 56],
        };
        let mut handle: hipMemPool_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the handle is a place to write to, and the properties are valid during the call.
        unsafe { call!(device.table(), hipMemPoolCreate(&raw mut handle, &raw const properties))? };
        let owned = Some(Counted::new(Kind::MemoryPool));
        Ok(Self(Arc::new(PoolInner { device: device.clone(), handle: PoolHandle(handle), owned })))
    }

    /// The device's own pool, which `hipMallocAsync` allocates from (`hipDeviceGetDefaultMemPool`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipDeviceGetDefaultMemPool")]
    #[doc(alias = "cuDeviceGetDefaultMemPool")]
    #[doc(alias = "cudaDeviceGetDefaultMemPool")]
    pub fn default_of(device: &Device) -> Result<Self> {
        let mut handle: hipMemPool_t = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the handle is a place to write to.
        unsafe {
            call!(device.table(), hipDeviceGetDefaultMemPool(&raw mut handle, device.ordinal() as i32))?;
        }
        Ok(Self(Arc::new(PoolInner { device: device.clone(), handle: PoolHandle(handle), owned: None })))
    }

    /// The device that the pool's memory belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Allocates `len` elements of unspecified value in the order of `stream` (`hipMallocFromPoolAsync`).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::TooLarge`](crate::Error::TooLarge),
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the stream belongs to another device,
    /// [`Error::Fault`](crate::Error::Fault) if it has faulted, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMallocFromPoolAsync")]
    #[doc(alias = "cudaMallocFromPoolAsync")]
    #[doc(alias = "cuMemAllocFromPoolAsync")]
    pub fn allocate<T: DeviceCopy>(&self, stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        stream.device().same(self.device(), "hipMallocFromPoolAsync", "pool")?;
        let allocation = Allocation::allocate_from(self, size_in_bytes::<T>(len)?, stream)?;
        Ok(DeviceBuffer::of(allocation, len))
    }

    /// Returns unused memory to the device until at most `keep` bytes are reserved (`hipMemPoolTrimTo`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMemPoolTrimTo")]
    #[doc(alias = "cuMemPoolTrimTo")]
    #[doc(alias = "cudaMemPoolTrimTo")]
    pub fn trim(&self, keep: usize) -> Result<()> {
        self.device().make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        unsafe { call!(self.device().table(), hipMemPoolTrimTo(self.handle(), keep)) }
    }

    /// Sets how many bytes the pool keeps when the program waits for a stream or the device; unused memory
    /// above that is returned to the device. The default is 0 (`hipMemPoolAttrReleaseThreshold`).
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
        self.set(hipMemPoolAttr::hipMemPoolAttrReleaseThreshold, bytes)
    }

    /// The value that [`set_release_threshold`](Self::set_release_threshold) sets.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn release_threshold(&self) -> Result<u64> {
        self.get(hipMemPoolAttr::hipMemPoolAttrReleaseThreshold)
    }

    /// Sets which memory the pool may reuse for a stream.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn set_reuse(&self, reuse: PoolReuse) -> Result<()> {
        self.set(hipMemPoolAttr::hipMemPoolReuseFollowEventDependencies, reuse.follow_events.into())?;
        self.set(hipMemPoolAttr::hipMemPoolReuseAllowOpportunistic, reuse.opportunistic.into())?;
        let internal = reuse.internal_dependencies.into();
        self.set(hipMemPoolAttr::hipMemPoolReuseAllowInternalDependencies, internal)
    }

    /// Which memory the pool may reuse for a stream.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn reuse(&self) -> Result<PoolReuse> {
        let on = |attribute| self.get(attribute).map(|value| value != 0);
        Ok(PoolReuse {
            follow_events: on(hipMemPoolAttr::hipMemPoolReuseFollowEventDependencies)?,
            opportunistic: on(hipMemPoolAttr::hipMemPoolReuseAllowOpportunistic)?,
            internal_dependencies: on(hipMemPoolAttr::hipMemPoolReuseAllowInternalDependencies)?,
        })
    }

    /// The pool's use of memory.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMemPoolGetAttribute")]
    #[doc(alias = "cuMemPoolGetAttribute")]
    #[doc(alias = "cudaMemPoolGetAttribute")]
    pub fn stats(&self) -> Result<PoolStats> {
        Ok(PoolStats {
            reserved: self.get(hipMemPoolAttr::hipMemPoolAttrReservedMemCurrent)?,
            peak_reserved: self.get(hipMemPoolAttr::hipMemPoolAttrReservedMemHigh)?,
            used: self.get(hipMemPoolAttr::hipMemPoolAttrUsedMemCurrent)?,
            peak_used: self.get(hipMemPoolAttr::hipMemPoolAttrUsedMemHigh)?,
        })
    }

    /// Resets the peaks of [`stats`](Self::stats) to the present values.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn reset_peaks(&self) -> Result<()> {
        self.set(hipMemPoolAttr::hipMemPoolAttrReservedMemHigh, 0)?;
        self.set(hipMemPoolAttr::hipMemPoolAttrUsedMemHigh, 0)
    }

    pub(crate) fn handle(&self) -> hipMemPool_t {
        self.0.handle.get()
    }

    fn get(&self, attribute: hipMemPoolAttr) -> Result<u64> {
        let mut value = 0_u64;
        self.device().make_current()?;
        // SAFETY: the place has room for any attribute; those of 4 bytes fill the first ones, and the others
        // are 0.
        unsafe {
            let place = (&raw mut value).cast::<c_void>();
            call!(self.device().table(), hipMemPoolGetAttribute(self.handle(), attribute, place))?;
        }
        Ok(u64::from_le(value))
    }

    fn set(&self, attribute: hipMemPoolAttr, value: u64) -> Result<()> {
        let mut value = value.to_le();
        self.device().make_current()?;
        // SAFETY: the place holds any attribute; those of 4 bytes are the first ones.
        unsafe {
            let place = (&raw mut value).cast::<c_void>();
            call!(self.device().table(), hipMemPoolSetAttribute(self.handle(), attribute, place))
        }
    }
}

/// Handles of the same pool are equal.
impl PartialEq for MemoryPool {
    fn eq(&self, other: &Self) -> bool {
        self.0.handle == other.0.handle && self.0.device == other.0.device
    }
}

impl Eq for MemoryPool {}

impl Drop for PoolInner {
    fn drop(&mut self) {
        let Some(counted) = self.owned.take() else { return };
        let (device, handle) = (self.device.clone(), self.handle);
        release("memory pool", move || {
            let destroyed = device.make_current().and_then(|()| {
                // SAFETY: the pool was made by `new` and is destroyed once. Its buffers hold it, so none
                // exist.
                unsafe { call!(device.table(), hipMemPoolDestroy(handle.get())) }
            });
            dropped("memory pool", destroyed);
            drop(counted);
        });
    }
}
