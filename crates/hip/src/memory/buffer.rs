//! Owned, typed device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::{
    Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, HostBuffer, Pending, size_in_bytes,
};
use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;

/// An owned array of `T` in device memory.
///
/// The host never reads or writes it in place; it is copied, filled, or handed to kernels, always on a [`Stream`].
///
/// # Several streams
/// Work on one stream runs in order. A buffer that is used on another stream than before makes that stream wait for
/// the uses that conflict: a write waits for everything, a read for the last write. The wait happens on the device, and
/// costs nothing as long as a buffer stays on one stream. The whole allocation counts: two halves of a buffer that are
/// written on two streams may be written one after the other. Uses through a [`DeviceAddress`] are not seen.
///
/// # Faults
/// If a kernel that wrote a buffer is known to have faulted, whoever reads the buffer next, on whatever stream, gets that
/// fault as its error; copies to the host wait to know. Filling or copying to the buffer makes it good again. A kernel on
/// another stream that read it before the fault was known is not stopped: what it wrote is as good as what it
/// read. [`Stream::synchronize`] on each stream that matters is what finds every fault.
///
/// # Drop
/// Memory is never freed under a running kernel. Dropping a buffer gives its memory to the device's cache, whose next
/// owner is ordered after everything that still uses it; nothing waits. Without a cache (see [`Allocator`](crate::Allocator))
/// it waits for the streams that use the buffer, then frees the memory (`hipFree`).
///
/// # Zero elements
/// A buffer of no elements is legal: it holds no memory, copies and fills of it do nothing, and kernels get a null pointer.
///
/// ```no_run
/// use hip::{Device, DeviceBuffer};
///
/// # fn main() -> hip::Result<()> {
/// let device = Device::open("auto")?;
/// let stream = device.stream()?;
/// let mut buffer = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0, 4.0])?;
/// buffer.slice_mut(1..3)?.fill(&stream, 0.0)?;
/// assert_eq!(buffer.to_vec(&stream)?, [1.0, 0.0, 0.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipMalloc")]
#[doc(alias = "hipFree")]
#[doc(alias = "CudaSlice")]
#[doc(alias = "cuMemAlloc")]
#[doc(alias = "cudaMalloc")]
#[doc(alias = "cuMemFree")]
#[doc(alias = "cudaFree")]
pub struct DeviceBuffer<T: DeviceCopy> {
    pub(super) allocation: Arc<Allocation>,
    pub(super) len: usize,
    pub(super) marker: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates `len` elements of unspecified value, as the device's [`Allocator`](crate::Allocator) does it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) with the free memory, [`Error::TooLarge`](crate::Error::TooLarge)
    /// if the size does not fit into the address space, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMalloc")]
    #[doc(alias = "cuMemAlloc")]
    #[doc(alias = "cudaMalloc")]
    pub fn uninit(device: &Device, len: usize) -> Result<Self> {
        Ok(Self::of(Allocation::allocate(device, size_in_bytes::<T>(len)?, None)?, len))
    }

    /// Allocates `len` elements of unspecified value that will first be used on `stream`: where there is a choice, memory
    /// that this stream used last, and with [`Allocator::StreamOrdered`](crate::Allocator::StreamOrdered) in its order
    /// (`hipMallocAsync`).
    ///
    /// # Errors
    /// As [`uninit`](Self::uninit), and [`Error::Fault`](crate::Error::Fault) if the stream has faulted.
    #[doc(alias = "hipMallocAsync")]
    #[doc(alias = "cuMemAllocAsync")]
    #[doc(alias = "cudaMallocAsync")]
    pub fn uninit_on(stream: &Stream, len: usize) -> Result<Self> {
        Ok(Self::of(Allocation::allocate(stream.device(), size_in_bytes::<T>(len)?, Some(stream))?, len))
    }

    /// Allocates `len` elements of unspecified value that share their allocation with nothing else, whatever the device's
    /// [`Allocator`](crate::Allocator) (`hipMalloc`): to hand out, by [`address`](Self::address) or [to another process](Self::ipc_handle).
    ///
    /// # Errors
    /// As [`uninit`](Self::uninit).
    pub fn uninit_direct(device: &Device, len: usize) -> Result<Self> {
        Ok(Self::of(Allocation::allocate_direct(device, size_in_bytes::<T>(len)?)?, len))
    }

    /// Allocates `len` elements whose bytes are zero (`hipMemsetD8Async`).
    ///
    /// # Errors
    /// As [`uninit_on`](Self::uninit_on) and [`fill`](Self::fill).
    pub fn zeroed(stream: &Stream, len: usize) -> Result<Self> {
        let mut buffer = Self::uninit_on(stream, len)?;
        buffer.as_mut_slice().fill_zero(stream)?;
        Ok(buffer)
    }

    /// Allocates as many elements as `source` has and copies them; blocks until `source` has been read.
    ///
    /// # Errors
    /// As [`uninit_on`](Self::uninit_on) and [`copy_from_host`](Self::copy_from_host).
    pub fn from_slice(stream: &Stream, source: &[T]) -> Result<Self> {
        let mut buffer = Self::uninit_on(stream, source.len())?;
        buffer.copy_from_host(stream, source)?;
        Ok(buffer)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The size in bytes.
    pub fn size_in_bytes(&self) -> usize {
        // Checked when the buffer was made.
        self.len * size_of::<T>()
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        self.allocation.device()
    }

    /// Where the first element lies in the device's memory; null if there are no elements.
    ///
    /// For work that this crate knows nothing of. If the memory had another owner before, and nothing has been
    /// ordered after that one's work, this blocks until that is done; [`DeviceSliceMut::address_on`] never blocks.
    pub fn address(&self) -> DeviceAddress {
        self.allocation.exposed_address()
    }

    /// A buffer of `len` elements in an allocation that has room for them.
    pub(crate) fn of(allocation: Arc<Allocation>, len: usize) -> Self {
        Self { allocation, len, marker: PhantomData }
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
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

    /// A part of the buffer, shared.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if the range is not inside the buffer.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// A part of the buffer, shared, or nothing if the range is not inside it.
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<DeviceSlice<'_, T>> {
        self.as_slice().try_slice(range)
    }

    /// A part of the buffer, exclusive.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if the range is not inside the buffer.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        self.as_mut_slice().into_slice_mut(range)
    }

    /// A part of the buffer, exclusive, or nothing if the range is not inside it.
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<DeviceSliceMut<'_, T>> {
        self.slice_mut(range).ok()
    }

    /// The elements before `middle`, and those from it on, shared.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if there are fewer than `middle` elements.
    pub fn split_at(&self, middle: usize) -> Result<(DeviceSlice<'_, T>, DeviceSlice<'_, T>)> {
        self.as_slice().split_at(middle)
    }

    /// The elements before `middle`, and those from it on: two views that may be written independently.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if there are fewer than `middle` elements.
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(DeviceSliceMut<'_, T>, DeviceSliceMut<'_, T>)> {
        self.as_mut_slice().split_at_mut(middle)
    }

    /// Sets every element to `value`. See [`DeviceSliceMut::fill`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipMemsetAsync")]
    #[doc(alias = "cudaMemsetAsync")]
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<()> {
        self.as_mut_slice().fill(stream, value)
    }

    /// Copies from host memory and blocks until that is done. See [`DeviceSliceMut::copy_from_host`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipMemcpyHtoD")]
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn copy_from_host(&mut self, stream: &Stream, source: &[T]) -> Result<()> {
        self.as_mut_slice().copy_from_host(stream, source)
    }

    /// Copies to host memory and blocks until that is done. See [`DeviceSlice::copy_to_host`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipMemcpyDtoH")]
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn copy_to_host(&self, stream: &Stream, destination: &mut [T]) -> Result<()> {
        self.as_slice().copy_to_host(stream, destination)
    }

    /// Copies everything into a new `Vec` and blocks until that is done. See [`DeviceSlice::to_vec`].
    ///
    /// # Errors
    /// As there.
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        self.as_slice().to_vec(stream)
    }

    /// Enqueues a copy from other memory of the device. See [`DeviceSliceMut::copy_from`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipMemcpyDtoD")]
    #[doc(alias = "cuMemcpyDtoD")]
    pub fn copy_from<'s>(&mut self, stream: &Stream, source: impl Into<DeviceSlice<'s, T>>) -> Result<()> {
        self.as_mut_slice().copy_from(stream, source)
    }

    /// Enqueues a copy from pinned host memory, which travels with it. See [`DeviceSliceMut::upload`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipMemcpyHtoDAsync")]
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn upload(&mut self, stream: &Stream, source: HostBuffer<T>) -> Result<Pending<HostBuffer<T>>> {
        self.as_mut_slice().upload(stream, source)
    }

    /// Enqueues a copy to pinned host memory, which travels with it. See [`DeviceSlice::download`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipMemcpyDtoHAsync")]
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn download(&self, stream: &Stream, destination: HostBuffer<T>) -> Result<Pending<HostBuffer<T>>> {
        self.as_slice().download(stream, destination)
    }
}

impl<T: DeviceCopy> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("address", &self.allocation.address())
            .field("device", self.device())
            .finish()
    }
}
