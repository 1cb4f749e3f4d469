//! Memory that host and devices can access.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys::{self, CUdevice_attribute, CUmemAttach_flags};
use super::view::range_within;
use super::{
    CudaContext, CudaEvent, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, HostSlice,
    LaunchArgs, PushKernelArg, SyncOnDrop, ValidAsZeroBits,
};

/// An array in managed memory. The host accesses it with [`as_slice`](Self::as_slice), which waits for the
/// device.
///
/// Its [attachment](Self::attach) determines which streams may use it: any stream, one stream, or only
/// streams of devices that can access memory while the host uses it
/// (`CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`).
#[derive(Debug)]
pub struct UnifiedSlice<T> {
    address: sys::CUdeviceptr,
    len: usize,
    stream: Arc<CudaStream>,
    /// The event of the last use.
    event: CudaEvent,
    attach_mode: CUmemAttach_flags,
    concurrent: bool,
    marker: PhantomData<*const T>,
}

// SAFETY: as a box.
unsafe impl<T> Send for UnifiedSlice<T> {}
// SAFETY: as a box.
unsafe impl<T> Sync for UnifiedSlice<T> {}

impl<T> Drop for UnifiedSlice<T> {
    fn drop(&mut self) {
        let context = self.stream.context();
        context.record_err(self.event.synchronize());
        // SAFETY: the memory was allocated for this object, and is freed once, when the last use is done.
        context.record_err(unsafe { result::memory_free(self.address) });
    }
}

/// The place of a part, and the properties of the whole memory.
#[derive(Debug)]
struct Span<'a, T> {
    address: sys::CUdeviceptr,
    len: usize,
    event: &'a CudaEvent,
    stream: &'a Arc<CudaStream>,
    attach_mode: CUmemAttach_flags,
    concurrent: bool,
    marker: PhantomData<*const T>,
}

impl<T> Clone for Span<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<'_, T> {}

// SAFETY: as a reference to a box.
unsafe impl<T> Send for Span<'_, T> {}
// SAFETY: as a reference to a box.
unsafe impl<T> Sync for Span<'_, T> {}

impl<'a, T> Span<'a, T> {
    /// Elements that are known to exist.
    fn at(&self, start: usize, len: usize) -> Self {
        Self { address: self.address + (start * size_of::<T>()) as sys::CUdeviceptr, len, ..*self }
    }

    fn part(&self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        let (start, end) = range_within(bounds, self.len)?;
        Some(self.at(start, end - start))
    }

    fn halves(&self, mid: usize) -> Option<(Self, Self)> {
        let rest = self.len.checked_sub(mid)?;
        Some((self.at(0, mid), self.at(mid, rest)))
    }

    /// Whether the attachment allows a stream's device to access the memory.
    fn check_device_access(&self, stream: &CudaStream) -> Result<(), DriverError> {
        let allowed = match self.attach_mode {
            CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL => true,
            CUmemAttach_flags::CU_MEM_ATTACH_SINGLE => **self.stream == *stream,
            CUmemAttach_flags::CU_MEM_ATTACH_HOST if self.stream.context() == stream.context() => {
                self.concurrent
            }
            CUmemAttach_flags::CU_MEM_ATTACH_HOST => has_concurrent_access(stream.context())?,
        };
        if allowed { Ok(()) } else { Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED)) }
    }

    /// Makes a stream wait for the last use, and returns what records the next one.
    fn used_on(self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        let context = stream.context();
        context.record_err(self.check_device_access(stream));
        context.record_err(stream.wait(self.event));
        SyncOnDrop::Record(Some((self.event, stream)))
    }

    /// # Safety
    /// Nothing may write the elements while they are borrowed, and they must hold values, or only copies may
    /// use them.
    unsafe fn elements(self) -> &'a [T] {
        // SAFETY: the host reaches the memory by the same address; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.place(), self.len) }
    }

    /// # Safety
    /// Nothing else may use the elements while they are borrowed, and they must hold values, or only copies
    /// may use them.
    unsafe fn elements_mut(self) -> &'a mut [T] {
        // SAFETY: the host reaches the memory by the same address; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.place(), self.len) }
    }

    fn place(self) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address as usize)
    }
}

fn has_concurrent_access(context: &CudaContext) -> Result<bool, DriverError> {
    Ok(context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? != 0)
}

/// A part of a [`UnifiedSlice`], for reading.
#[derive(Debug)]
pub struct UnifiedView<'a, T> {
    span: Span<'a, T>,
    marker: PhantomData<&'a [T]>,
}

impl<'a, T: Clone> Clone for UnifiedView<'a, T> {
    fn clone(&self) -> Self {
        Self { span: self.span, marker: PhantomData }
    }
}

impl<'a, T: Copy> Copy for UnifiedView<'a, T> {}

/// A part of a [`UnifiedSlice`], for reading and writing.
#[derive(Debug)]
pub struct UnifiedViewMut<'a, T> {
    span: Span<'a, T>,
    marker: PhantomData<&'a mut [T]>,
}

impl CudaContext {
    /// Allocates managed memory, for any stream or for the host. A device without managed memory gives
    /// `CUDA_ERROR_NOT_PERMITTED`.
    ///
    /// # Safety
    /// The memory holds no values; it must be written before it is read.
    pub unsafe fn alloc_unified<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
        attach_global: bool,
    ) -> Result<UnifiedSlice<T>, DriverError> {
        if self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)? == 0 {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED));
        }
        let attach_mode = match attach_global {
            true => CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL,
            false => CUmemAttach_flags::CU_MEM_ATTACH_HOST,
        };
        let bytes = len.checked_mul(size_of::<T>());
        let bytes = bytes.ok_or(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
        let concurrent = has_concurrent_access(self)?;
        let event = self.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?;
        let stream = self.default_stream();
        // SAFETY: the call takes numbers.
        let address = unsafe { result::malloc_managed(bytes, attach_mode) }?;
        Ok(UnifiedSlice { address, len, stream, event, attach_mode, concurrent, marker: PhantomData })
    }
}

impl<T> UnifiedSlice<T> {
    fn span(&self) -> Span<'_, T> {
        Span {
            address: self.address,
            len: self.len,
            event: &self.event,
            stream: &self.stream,
            attach_mode: self.attach_mode,
            concurrent: self.concurrent,
            marker: PhantomData,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Which streams may use the memory.
    pub fn attach_mode(&self) -> CUmemAttach_flags {
        self.attach_mode
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Sets which streams may use the memory from now on, after waiting for the last use. A single stream
    /// cannot be the default stream.
    pub fn attach(&mut self, stream: &Arc<CudaStream>, flags: CUmemAttach_flags) -> Result<(), DriverError> {
        self.event.synchronize()?;
        stream.context().bind_to_thread()?;
        let bytes = self.num_bytes();
        // SAFETY: stream and memory live, and nothing uses the memory.
        unsafe { result::stream::attach_mem_async(stream.cu_stream(), self.address, bytes, flags)? };
        (self.stream, self.attach_mode) = (stream.clone(), flags);
        Ok(())
    }

    /// Moves the memory to where it will be used: to the device, or to the host if it is attached to it.
    pub fn prefetch(&self) -> Result<(), DriverError> {
        let context = self.stream.context();
        let location = match self.attach_mode {
            CUmemAttach_flags::CU_MEM_ATTACH_HOST => sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
                id: 0,
            },
            _ if !self.concurrent => return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED)),
            _ => sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: context.cu_device(),
            },
        };
        context.bind_to_thread()?;
        let (bytes, stream) = (self.num_bytes(), self.stream.cu_stream());
        // SAFETY: stream and memory live.
        unsafe { result::mem_prefetch_async(self.address, bytes, location, stream) }
    }

    /// Waits for the stream that the memory is attached to, as required before the host uses it.
    pub fn check_host_access(&self) -> Result<(), DriverError> {
        match self.attach_mode {
            CUmemAttach_flags::CU_MEM_ATTACH_SINGLE => self.stream.synchronize(),
            _ => Ok(()),
        }
    }

    /// The error `CUDA_ERROR_NOT_PERMITTED` if the attachment does not allow a stream to use the memory.
    pub fn check_device_access(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.span().check_device_access(stream)
    }

    /// All of it, to be read.
    pub fn as_view(&self) -> UnifiedView<'_, T> {
        UnifiedView::of(self.span())
    }

    /// All of it, to be written.
    pub fn as_view_mut(&mut self) -> UnifiedViewMut<'_, T> {
        UnifiedViewMut::of(self.span())
    }

    /// A part.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> UnifiedView<'_, T> {
        self.as_view().slice(bounds)
    }

    /// A part; `None` if the range exceeds the elements.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<UnifiedView<'_, T>> {
        self.as_view().try_slice(bounds)
    }

    /// A part to be written.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> UnifiedViewMut<'_, T> {
        self.try_slice_mut(bounds).expect("a range within the elements")
    }

    /// A part to be written; `None` if the range exceeds the elements.
    pub fn try_slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> Option<UnifiedViewMut<'_, T>> {
        self.span().part(bounds).map(UnifiedViewMut::of)
    }

    /// The elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at(&self, mid: usize) -> (UnifiedView<'_, T>, UnifiedView<'_, T>) {
        self.as_view().split_at(mid)
    }

    /// The elements before `mid`, and the rest; `None` if there are fewer elements.
    pub fn try_split_at(&self, mid: usize) -> Option<(UnifiedView<'_, T>, UnifiedView<'_, T>)> {
        self.as_view().try_split_at(mid)
    }

    /// The elements before `mid`, and the rest, to be written.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at_mut(&mut self, mid: usize) -> (UnifiedViewMut<'_, T>, UnifiedViewMut<'_, T>) {
        self.try_split_at_mut(mid).expect("at least as many elements")
    }

    /// The elements before `mid`, and the rest, to be written; `None` if there are fewer elements.
    pub fn try_split_at_mut(&mut self, mid: usize) -> Option<(UnifiedViewMut<'_, T>, UnifiedViewMut<'_, T>)> {
        self.span().halves(mid).map(|(before, rest)| (UnifiedViewMut::of(before), UnifiedViewMut::of(rest)))
    }
}

impl<T: ValidAsZeroBits> UnifiedSlice<T> {
    /// The elements for reading, after waiting for the last use.
    pub fn as_slice(&self) -> Result<&[T], DriverError> {
        self.check_host_access()?;
        self.event.synchronize()?;
        // SAFETY: no use is in progress, and starting one requires another kind of borrow; the allocation's
        // caller vouches for its values.
        Ok(unsafe { self.span().elements() })
    }

    /// The elements for writing, after waiting for the last use.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DriverError> {
        self.check_host_access()?;
        self.event.synchronize()?;
        // SAFETY: no use is in progress, and the slice is borrowed; the allocation's caller vouches for its
        // values.
        Ok(unsafe { self.span().elements_mut() })
    }
}

impl<'a, T> UnifiedView<'a, T> {
    fn of(span: Span<'a, T>) -> Self {
        Self { span, marker: PhantomData }
    }

    fn span(&self) -> Span<'a, T> {
        self.span
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// A part.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> Self {
        self.try_slice(bounds).expect("a range within the elements")
    }

    /// A part; `None` if the range exceeds the elements.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        self.span.part(bounds).map(Self::of)
    }

    /// The elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at(&self, mid: usize) -> (Self, Self) {
        self.try_split_at(mid).expect("at least as many elements")
    }

    /// The elements before `mid`, and the rest; `None` if there are fewer elements.
    pub fn try_split_at(&self, mid: usize) -> Option<(Self, Self)> {
        self.span.halves(mid).map(|(before, rest)| (Self::of(before), Self::of(rest)))
    }
}

impl<'a, T> UnifiedViewMut<'a, T> {
    /// Nothing else may borrow the elements of `span`.
    fn of(span: Span<'a, T>) -> Self {
        Self { span, marker: PhantomData }
    }

    fn span(&self) -> Span<'_, T> {
        self.span
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// All of it, to be read.
    pub fn as_view<'b>(&'b self) -> UnifiedView<'b, T> {
        UnifiedView::of(self.span)
    }

    /// A part, to be read.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> UnifiedView<'b, T> {
        self.as_view().slice(bounds)
    }

    /// A part, to be read; `None` if the range exceeds the elements.
    pub fn try_slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> Option<UnifiedView<'b, T>> {
        self.as_view().try_slice(bounds)
    }

    /// A part.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> UnifiedViewMut<'b, T> {
        self.try_slice_mut(bounds).expect("a range within the elements")
    }

    /// A part; `None` if the range exceeds the elements.
    pub fn try_slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> Option<UnifiedViewMut<'b, T>> {
        self.span.part(bounds).map(UnifiedViewMut::of)
    }

    /// The elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at_mut<'b>(&'b mut self, mid: usize) -> (UnifiedViewMut<'b, T>, UnifiedViewMut<'b, T>) {
        self.try_split_at_mut(mid).expect("at least as many elements")
    }

    /// The elements before `mid`, and the rest; `None` if there are fewer elements.
    pub fn try_split_at_mut<'b>(
        &'b mut self,
        mid: usize,
    ) -> Option<(UnifiedViewMut<'b, T>, UnifiedViewMut<'b, T>)> {
        self.span.halves(mid).map(|(before, rest)| (UnifiedViewMut::of(before), UnifiedViewMut::of(rest)))
    }
}

/// The methods of all three types, implemented with their span.
macro_rules! memory {
    ($($type:ty;)+) => {
        $(
            impl<T> DeviceSlice<T> for $type {
                fn len(&self) -> usize {
                    self.span().len
                }

                fn stream(&self) -> &Arc<CudaStream> {
                    self.span().stream
                }
            }

            impl<T> DevicePtr<T> for $type {
                fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
                    (self.span().address, self.span().used_on(stream))
                }
            }

            impl<T> HostSlice<T> for $type {
                fn len(&self) -> usize {
                    self.span().len
                }

                unsafe fn stream_synced_slice<'a>(
                    &'a self,
                    stream: &'a CudaStream,
                ) -> (&'a [T], SyncOnDrop<'a>) {
                    let used = self.span().used_on(stream);
                    // SAFETY: the caller vouches that only one copy uses it, for which the stream waits.
                    (unsafe { self.span().elements() }, used)
                }

                unsafe fn stream_synced_mut_slice<'a>(
                    &'a mut self,
                    stream: &'a CudaStream,
                ) -> (&'a mut [T], SyncOnDrop<'a>) {
                    let used = self.span().used_on(stream);
                    // SAFETY: the caller vouches that only one copy uses it, for which the stream waits.
                    (unsafe { self.span().elements_mut() }, used)
                }
            }
        )+
    };
}

memory! {
    UnifiedSlice<T>;
    UnifiedView<'_, T>;
    UnifiedViewMut<'_, T>;
}

impl<T> DevicePtrMut<T> for UnifiedSlice<T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, self.span().used_on(stream))
    }
}

impl<T> DevicePtrMut<T> for UnifiedViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.used_on(stream))
    }
}

impl<'a> LaunchArgs<'a> {
    fn push_managed<T>(&mut self, span: Span<'a, T>, address: &'a sys::CUdeviceptr) -> &mut Self {
        self.stream.context().record_err(span.check_device_access(self.stream));
        self.waits.push(span.event);
        self.records.push(span.event);
        self.push(address)
    }
}

// SAFETY: the address is a pointer for the kernel, and the memory is borrowed until the launch; its event
// records the use.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b UnifiedSlice<T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b UnifiedSlice<T>) -> &mut Self {
        self.push_managed(arg.span(), &arg.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut UnifiedSlice<T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b mut UnifiedSlice<T>) -> &mut Self {
        self.push_managed(arg.span(), &arg.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b UnifiedView<'c, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b UnifiedView<'c, T>) -> &mut Self {
        self.push_managed(arg.span, &arg.span.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b UnifiedViewMut<'c, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b UnifiedViewMut<'c, T>) -> &mut Self {
        self.push_managed(arg.span, &arg.span.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b mut UnifiedViewMut<'c, T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, arg: &'b mut UnifiedViewMut<'c, T>) -> &mut Self {
        self.push_managed(arg.span, &arg.span.address)
    }
}
