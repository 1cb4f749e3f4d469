//! Owned, typed device memory.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Allocation, DeviceCopy, DeviceSlice, DeviceSliceMut, size_in_bytes};
use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;

/// An owned array of `T` in device memory.
///
/// The host never accesses it in place. It is copied, filled, or passed to kernels, always on a [`Stream`].
///
/// # Several streams
/// Work on one stream runs in order. When a buffer is used on a different stream than before, that stream
/// waits for conflicting uses: a write waits for everything, a read for the last write. The wait happens on
/// the device, and costs nothing as long as a buffer stays on one stream. Conflicts are tracked per
/// allocation, so two streams that write two halves of a buffer may run one after the other. Uses through a
/// [`DeviceAddress`](crate::DeviceAddress) are not tracked.
///
/// # Faults
/// If a kernel that wrote a buffer is known to have faulted, the next read of the buffer, on any stream,
/// returns that fault; copies to the host wait to find out. Filling the buffer or copying to it makes it
/// valid again. A kernel on another stream that read it before the fault was known is not stopped, and its
/// results are as invalid as its input. To find every fault, call [`Stream::synchronize`] on each stream that
/// matters.
///
/// # Drop
/// Memory is never freed while a kernel uses it. Dropping a buffer returns its memory to the device's cache
/// without waiting; the memory's next user is ordered after everything that still uses it. Without a cache
/// (see [`Allocator`](crate::Allocator)), dropping waits for the streams that use the buffer, then frees the
/// memory (`hipFree`).
///
/// # Zero elements
/// A buffer of 0 elements is legal: it holds no memory, copies and fills of it do nothing, and kernels get a
/// null pointer.
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
    /// Allocates `len` elements of unspecified value with the device's [`Allocator`](crate::Allocator).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) with the free memory,
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the size does not fit into the address space, else
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMalloc")]
    #[doc(alias = "cuMemAlloc")]
    #[doc(alias = "cudaMalloc")]
    pub fn uninit(device: &Device, len: usize) -> Result<Self> {
        Ok(Self::of(Allocation::allocate(device, size_in_bytes::<T>(len)?, None)?, len))
    }

    /// Allocates `len` elements of unspecified value that will first be used on `stream`. This prefers memory
    /// that the stream used last. With [`Allocator::StreamOrdered`](crate::Allocator::StreamOrdered), it
    /// allocates in the stream's order (`hipMallocAsync`).
    ///
    /// # Errors
    /// As [`uninit`](Self::uninit), and [`Error::Fault`](crate::Error::Fault) if the stream has faulted.
    #[doc(alias = "hipMallocAsync")]
    #[doc(alias = "cuMemAllocAsync")]
    #[doc(alias = "cudaMallocAsync")]
    pub fn uninit_on(stream: &Stream, len: usize) -> Result<Self> {
        Ok(Self::of(Allocation::allocate(stream.device(), size_in_bytes::<T>(len)?, Some(stream))?, len))
    }

    /// Allocates `len` elements of unspecified value in an allocation of their own, whatever the device's
    /// [`Allocator`](crate::Allocator) (`hipMalloc`). Use it for memory that is shared by
    /// [`address`](Self::address) or [with another process](Self::ipc_handle).
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

    /// Allocates a buffer and copies `source` to it; blocks until `source` has been read.
    ///
    /// # Errors
    /// As [`uninit_on`](Self::uninit_on) and [`copy_from_host`](Self::copy_from_host).
    pub fn from_slice(stream: &Stream, source: &[T]) -> Result<Self> {
        let mut buffer = Self::uninit_on(stream, source.len())?;
        buffer.copy_from_host(stream, source)?;
        Ok(buffer)
    }

    /// Makes a buffer of `len` elements in an allocation that is large enough.
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
