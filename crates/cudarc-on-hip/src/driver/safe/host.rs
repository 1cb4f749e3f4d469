//! Host memory.

use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::{CudaContext, CudaEvent, CudaStream, DeviceRepr, HostSlice, SyncOnDrop, ValidAsZeroBits};

/// A copy from or to memory that is not pinned no longer uses it after submission.
macro_rules! pageable {
    ($(($($generics:tt)*) $type:ty, $this:ident => $len:expr;)+) => {
        $(
            impl<$($generics)*> HostSlice<T> for $type {
                fn len(&self) -> usize {
                    let $this = self;
                    $len
                }

                unsafe fn stream_synced_slice<'a>(&'a self, _: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>) {
                    (self, SyncOnDrop::Sync(None))
                }

                unsafe fn stream_synced_mut_slice<'a>(
                    &'a mut self,
                    _: &'a CudaStream,
                ) -> (&'a mut [T], SyncOnDrop<'a>) {
                    (self, SyncOnDrop::Sync(None))
                }
            }
        )+
    };
}

pageable! {
    (T, const N: usize) [T; N], this => this.as_slice().len();
    (T) [T], this => <[T]>::len(this);
    (T) Vec<T>, this => Vec::len(this);
}

/// An array in pinned host memory; the host does not wait for copies from and to it.
#[derive(Debug)]
pub struct PinnedHostSlice<T> {
    place: *mut T,
    len: usize,
    /// The event of the last copy.
    event: CudaEvent,
}

// SAFETY: as a box.
unsafe impl<T> Send for PinnedHostSlice<T> {}
// SAFETY: as a box.
unsafe impl<T> Sync for PinnedHostSlice<T> {}

impl<T> Drop for PinnedHostSlice<T> {
    fn drop(&mut self) {
        let context = self.event.context();
        context.record_err(self.event.synchronize());
        // SAFETY: the memory was allocated for this object, and is freed once, when the last copy is done.
        context.record_err(unsafe { result::free_host(self.place.cast()) });
    }
}

impl CudaContext {
    /// Allocates pinned memory for writing; reading it on the host is slow (`CU_MEMHOSTALLOC_WRITECOMBINED`).
    ///
    /// # Panics
    /// If there are more bytes than addresses.
    ///
    /// # Safety
    /// The memory holds no values; it must be written before it is read.
    pub unsafe fn alloc_pinned<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<PinnedHostSlice<T>, DriverError> {
        // SAFETY: the caller vouches for it.
        unsafe { self.alloc_pinned_with_flags(len, sys::CU_MEMHOSTALLOC_WRITECOMBINED) }
    }

    /// Allocates pinned memory.
    ///
    /// # Panics
    /// If there are more bytes than addresses.
    ///
    /// # Safety
    /// The memory holds no values; it must be written before it is read.
    pub unsafe fn alloc_pinned_with_flags<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
        flags: u32,
    ) -> Result<PinnedHostSlice<T>, DriverError> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes < isize::MAX as usize);
        let bytes = bytes.expect("Pinned host allocation size overflow");
        let event = self.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?;
        // An empty allocation has an address as well.
        // SAFETY: the call takes numbers.
        let place = unsafe { result::malloc_host(bytes.max(1), flags) }?.cast::<T>();
        let allocation = PinnedHostSlice { place, len, event };
        assert!(!place.is_null() && place.is_aligned(), "pinned memory is aligned for any type");
        Ok(allocation)
    }
}

impl<T> PinnedHostSlice<T> {
    /// The context that it was allocated on.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.event.context()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: ValidAsZeroBits> PinnedHostSlice<T> {
    /// The address of the elements, after waiting for the last copy.
    pub fn as_ptr(&self) -> Result<*const T, DriverError> {
        self.event.synchronize()?;
        Ok(self.place)
    }

    /// The address of the elements for writing, after waiting for the last copy.
    pub fn as_mut_ptr(&mut self) -> Result<*mut T, DriverError> {
        self.event.synchronize()?;
        Ok(self.place)
    }

    /// The elements, after waiting for the last copy.
    pub fn as_slice(&self) -> Result<&[T], DriverError> {
        self.event.synchronize()?;
        // SAFETY: there are this many elements, which no copy writes any more; the allocation's caller
        // vouches for their values.
        Ok(unsafe { std::slice::from_raw_parts(self.place, self.len) })
    }

    /// The elements for writing, after waiting for the last copy.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DriverError> {
        self.event.synchronize()?;
        // SAFETY: there are this many elements, which no copy uses any more; the allocation's caller vouches
        // for their values.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.place, self.len) })
    }
}

impl<T> PinnedHostSlice<T> {
    /// Makes a copy wait for the last one, and returns what records it.
    ///
    /// Unlike with device memory, the host waits for the event, so it is recorded even with a single stream.
    fn copied_on<'a>(&'a self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        stream.context().record_err(stream.wait(&self.event));
        SyncOnDrop::Record(Some((&self.event, stream)))
    }
}

impl<T> HostSlice<T> for PinnedHostSlice<T> {
    fn len(&self) -> usize {
        self.len
    }

    unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>) {
        // SAFETY: there are this many elements, which only copies use.
        (unsafe { std::slice::from_raw_parts(self.place, self.len) }, self.copied_on(stream))
    }

    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        stream: &'a CudaStream,
    ) -> (&'a mut [T], SyncOnDrop<'a>) {
        // SAFETY: there are this many elements, which only copies use.
        (unsafe { std::slice::from_raw_parts_mut(self.place, self.len) }, self.copied_on(stream))
    }
}
