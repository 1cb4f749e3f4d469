//! Traits of elements of device memory, and of memory.

use std::sync::Arc;

use super::super::sys;
use super::{CudaEvent, CudaStream};

/// Types for which all bits zero are a valid value.
///
/// # Safety
/// All bits zero must be a valid value.
pub unsafe trait ValidAsZeroBits {}

/// Types that mean the same on the device, and that kernels take as arguments.
///
/// # Safety
/// The type must have the layout of the kernels' type, and no pointers that the device cannot access.
pub unsafe trait DeviceRepr {}

macro_rules! plain {
    ($($(#[$attribute:meta])* $type:ty,)+) => {
        $(
            $(#[$attribute])*
            // SAFETY: a number, or a byte that is 0 or 1.
            unsafe impl ValidAsZeroBits for $type {}
            $(#[$attribute])*
            // SAFETY: as above.
            unsafe impl DeviceRepr for $type {}
        )+
    };
}

plain! {
    bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64,
    #[cfg(feature = "f16")] half::f16,
    #[cfg(feature = "f16")] half::bf16,
    #[cfg(feature = "f8")] float8::F8E4M3,
    #[cfg(feature = "f8")] float8::F8E5M2,
}

// SAFETY: an array is its elements.
unsafe impl<T: ValidAsZeroBits, const M: usize> ValidAsZeroBits for [T; M] {}
// SAFETY: an array is its elements.
unsafe impl<const N: usize, T> DeviceRepr for [T; N] where T: DeviceRepr {}

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        // SAFETY: a tuple is its fields, and padding may have any value.
        unsafe impl<$first: ValidAsZeroBits, $($rest: ValidAsZeroBits),*> ValidAsZeroBits for ($first, $($rest,)*) {}
        tuples!($($rest)*);
    };
    () => {};
}

tuples!(A B C D E F G H I J K L);

/// Common methods of all device memory; functions require [`DevicePtr`] and [`DevicePtrMut`].
#[allow(clippy::len_without_is_empty, reason = "it has")]
pub trait DeviceSlice<T> {
    /// The number of elements.
    fn len(&self) -> usize;

    /// The number of bytes.
    fn num_bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stream that it was allocated on.
    fn stream(&self) -> &Arc<CudaStream>;
}

/// Device memory that can be read.
pub trait DevicePtr<T>: DeviceSlice<T> {
    /// The address of the memory, for the next work submitted to `stream`, which reads it. The stream waits
    /// for writes.
    ///
    /// Drop the second value once the work has been submitted.
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

/// Device memory that can be written.
pub trait DevicePtrMut<T>: DeviceSlice<T> {
    /// The address of the memory, for the next work submitted to `stream`, which writes it. The stream waits
    /// for all uses.
    ///
    /// Drop the second value once the work has been submitted.
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

/// Host memory that is copied from and to.
#[allow(clippy::len_without_is_empty, reason = "it has")]
pub trait HostSlice<T> {
    /// The number of elements.
    fn len(&self) -> usize;

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory, for the next copy submitted to `stream`. Drop the second value once it has been submitted.
    ///
    /// # Safety
    /// Only that copy may use the result.
    unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>);

    /// The same for writing.
    ///
    /// # Safety
    /// Only that copy may use the result.
    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        stream: &'a CudaStream,
    ) -> (&'a mut [T], SyncOnDrop<'a>);
}

/// What to do once work on memory has been submitted.
#[derive(Debug)]
#[must_use = "dropping it says that the work has been submitted"]
pub enum SyncOnDrop<'a> {
    /// Records the stream's work in the event.
    Record(Option<(&'a CudaEvent, &'a CudaStream)>),
    /// Waits for the stream.
    Sync(Option<&'a CudaStream>),
}

impl<'a> SyncOnDrop<'a> {
    /// Records the stream's work in the event, if there is one.
    pub fn record_event(event: &'a Option<CudaEvent>, stream: &'a CudaStream) -> Self {
        Self::Record(event.as_ref().map(|event| (event, stream)))
    }

    /// Waits for the stream.
    pub fn sync_stream(stream: &'a CudaStream) -> Self {
        Self::Sync(Some(stream))
    }
}

impl Drop for SyncOnDrop<'_> {
    fn drop(&mut self) {
        match *self {
            Self::Record(Some((event, stream))) => {
                if stream.context().is_event_tracking() {
                    stream.context().record_err(event.record(stream));
                }
            }
            Self::Sync(Some(stream)) => stream.context().record_err(stream.synchronize()),
            Self::Record(None) | Self::Sync(None) => {}
        }
    }
}
