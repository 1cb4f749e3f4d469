//! Borrowed parts of a device buffer.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::{
    Allocation, Chunks, ChunksMut, DeviceAddress, DeviceBuffer, DeviceCopy, DeviceRectMut, RectLayout,
};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// A shared view of device memory, like `&[T]` for host memory.
pub struct DeviceSlice<'a, T> {
    allocation: &'a Arc<Allocation>,
    address: DeviceAddress,
    len: usize,
    marker: PhantomData<&'a [T]>,
}

/// An exclusive view of device memory, like `&mut [T]` for host memory.
pub struct DeviceSliceMut<'a, T> {
    allocation: &'a Arc<Allocation>,
    address: DeviceAddress,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

/// The bounds of a range in a buffer of `len` elements, or an error that names both.
fn resolve(range: &impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1).ok_or(Error::OutOfRange { start, end: last, len })?,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start <= end && end <= len { Ok((start, end)) } else { Err(Error::OutOfRange { start, end, len }) }
}

/// The number of elements of another type in `bytes` bytes.
fn retyped<U>(address: DeviceAddress, bytes: usize) -> Result<usize> {
    let (size, align) = (size_of::<U>(), align_of::<U>());
    if size != 0 && bytes.is_multiple_of(size) && address.0.is_multiple_of(align as u64) {
        return Ok(bytes / size);
    }
    Err(Error::Cast { bytes, address, element: std::any::type_name::<U>(), size, align })
}

impl<'a, T: DeviceCopy> DeviceSlice<'a, T> {
    /// A view of `len` elements at `address`, inside `allocation`.
    pub(crate) fn new(allocation: &'a Arc<Allocation>, address: DeviceAddress, len: usize) -> Self {
        Self { allocation, address, len, marker: PhantomData }
    }

    /// The address of the first element, for foreign work on `stream` that reads the elements and is enqueued
    /// while this view is borrowed. Like a kernel launch, that work is ordered after earlier work, and the
    /// memory lives until it is done.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the stream belongs to another device, [`Error::Fault`] if work that wrote
    /// the elements faulted.
    pub fn address_on(&self, stream: &Stream) -> Result<DeviceAddress> {
        stream.device().same(self.device(), "address_on", "buffer")?;
        self.allocation.read_on(stream)?;
        Ok(self.address)
    }

    /// A part of the view.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the range is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'a, T>> {
        let (start, end) = resolve(&range, self.len)?;
        Ok(Self::new(self.allocation, self.address.offset(start * size_of::<T>()), end - start))
    }

    /// A part of the view, or `None` if the range is out of bounds.
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<DeviceSlice<'a, T>> {
        self.slice(range).ok()
    }

    /// The elements before `middle`, and those from `middle` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer than `middle` elements.
    pub fn split_at(&self, middle: usize) -> Result<(DeviceSlice<'a, T>, DeviceSlice<'a, T>)> {
        Ok((self.slice(..middle)?, self.slice(middle..)?))
    }

    /// The chunks of `size` elements, from the first on; the last one may be shorter.
    ///
    /// # Errors
    /// [`Error::ChunkSize`] if `size` is zero.
    pub fn chunks(&self, size: usize) -> Result<Chunks<'a, T>> {
        Chunks::new(*self, size)
    }

    /// The same memory as elements of another type, with the same size in bytes.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let stream = hip::Device::open("auto")?.stream()?;
    /// let pairs = hip::DeviceBuffer::from_slice(&stream, &[[1.0_f32, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(pairs.cast::<f32>()?.to_vec(&stream)?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Cast`] if the bytes are not a whole number of such elements, or the address is not aligned
    /// for them.
    #[doc(alias = "transmute")]
    #[doc(alias = "reinterpret")]
    pub fn cast<U: DeviceCopy>(&self) -> Result<DeviceSlice<'a, U>> {
        let len = retyped::<U>(self.address, self.size_in_bytes())?;
        Ok(DeviceSlice::new(self.allocation, self.address, len))
    }

    /// The same elements as an exclusive view, for crates whose tensors share memory and that order all work
    /// on it themselves. Uses through the view are tracked as those of any other.
    ///
    /// # Safety
    /// As long as the view lives, nothing else submits work that uses these elements, except as an argument
    /// of the same launch, of a kernel that allows its arguments to overlap in this way.
    pub unsafe fn assume_exclusive(self) -> DeviceSliceMut<'a, T> {
        DeviceSliceMut::new(self.allocation, self.address, self.len)
    }

    /// The bytes of the elements.
    pub fn as_bytes(&self) -> DeviceSlice<'a, u8> {
        DeviceSlice::new(self.allocation, self.address, self.size_in_bytes())
    }

    /// Allocates a buffer on the stream's device, as [`DeviceBuffer::uninit_on`] does, and enqueues a copy of
    /// all elements to it, as [`DeviceSliceMut::copy_from`] does; does not block.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "clone_dtod")]
    pub fn try_clone(&self, stream: &Stream) -> Result<DeviceBuffer<T>> {
        let mut clone = DeviceBuffer::uninit_on(stream, self.len())?;
        clone.copy_from(stream, self)?;
        Ok(clone)
    }
}

impl<'a, T: DeviceCopy> DeviceSliceMut<'a, T> {
    /// A view of `len` elements at `address`, inside `allocation`, that no other view covers.
    pub(crate) fn new(allocation: &'a Arc<Allocation>, address: DeviceAddress, len: usize) -> Self {
        Self { allocation, address, len, marker: PhantomData }
    }

    /// The address of the first element, for foreign work on `stream` that reads and writes the elements and
    /// is enqueued while this view is borrowed. Like a kernel launch, that work is ordered after earlier
    /// work, and the memory lives until it is done.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the stream belongs to another device, [`Error::Fault`] if work that wrote
    /// the elements faulted.
    pub fn address_on(&mut self, stream: &Stream) -> Result<DeviceAddress> {
        stream.device().same(self.device(), "address_on", "buffer")?;
        self.allocation.update_on(stream)?;
        Ok(self.address)
    }

    /// As [`address_on`](Self::address_on), for work that does not depend on the contents of the memory, such
    /// as a workspace. A failure of earlier writes is not an error.
    ///
    /// # Errors
    /// As there, except for faults of earlier work.
    pub fn scratch_address_on(&mut self, stream: &Stream) -> Result<DeviceAddress> {
        stream.device().same(self.device(), "scratch_address_on", "buffer")?;
        self.allocation.write_on(stream)?;
        Ok(self.address)
    }

    /// The same elements, shared for as long as this view is borrowed.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.allocation, self.address, self.len)
    }

    /// The same elements, exclusive for as long as this view is borrowed: the same as
    /// [`reborrow`](Self::reborrow), under the name that buffers use.
    pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.reborrow()
    }

    /// The same elements, exclusive for as long as this view is borrowed.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(self.allocation, self.address, self.len)
    }

    /// A part of the view.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the range is out of bounds.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        let (start, end) = resolve(&range, self.len)?;
        Ok(DeviceSliceMut::new(self.allocation, self.address.offset(start * size_of::<T>()), end - start))
    }

    /// A part of the view, for as long as the view itself.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the range is out of bounds.
    pub fn into_slice_mut(self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'a, T>> {
        let (start, end) = resolve(&range, self.len)?;
        Ok(Self::new(self.allocation, self.address.offset(start * size_of::<T>()), end - start))
    }

    /// A part of the view, or `None` if the range is out of bounds.
    pub fn try_slice_mut(&mut self, range: impl RangeBounds<usize>) -> Option<DeviceSliceMut<'_, T>> {
        self.slice_mut(range).ok()
    }

    /// The elements before `middle`, and those from `middle` on: two views that can be written independently.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer than `middle` elements.
    pub fn split_at_mut(self, middle: usize) -> Result<(DeviceSliceMut<'a, T>, DeviceSliceMut<'a, T>)> {
        let (start, len) = resolve(&(middle..), self.len)?;
        self.allocation.split();
        let second = self.address.offset(start * size_of::<T>());
        Ok((Self::new(self.allocation, self.address, start), Self::new(self.allocation, second, len - start)))
    }

    /// The chunks of `size` elements, from the first on, which can be written independently; the last one may
    /// be shorter.
    ///
    /// # Errors
    /// [`Error::ChunkSize`] if `size` is zero.
    pub fn chunks_mut(self, size: usize) -> Result<ChunksMut<'a, T>> {
        ChunksMut::new(self, size)
    }

    /// The same memory as elements of another type: see [`DeviceSlice::cast`].
    ///
    /// # Errors
    /// As there.
    pub fn cast_mut<U: DeviceCopy>(self) -> Result<DeviceSliceMut<'a, U>> {
        let len = retyped::<U>(self.address, self.size_in_bytes())?;
        Ok(DeviceSliceMut::new(self.allocation, self.address, len))
    }

    /// The bytes of the elements, for as long as the view.
    pub fn into_bytes(self) -> DeviceSliceMut<'a, u8> {
        DeviceSliceMut::new(self.allocation, self.address, self.size_in_bytes())
    }

    /// The bytes of the elements.
    pub fn as_mut_bytes(&mut self) -> DeviceSliceMut<'_, u8> {
        self.reborrow().into_bytes()
    }

    /// A rectangle or box of the elements: see [`DeviceSlice::as_rect`].
    ///
    /// # Errors
    /// As there.
    pub fn as_mut_rect(&mut self, layout: RectLayout) -> Result<DeviceRectMut<'_, T>> {
        self.reborrow().into_rect(layout)
    }
}

/// Methods of both views.
macro_rules! common {
    ($view:ident) => {
        impl<'a, T> $view<'a, T> {
            /// How many elements there are.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The size in bytes.
            pub fn size_in_bytes(&self) -> usize {
                // The allocation is at least this large, so this cannot overflow.
                self.len * size_of::<T>()
            }

            /// The device that the memory belongs to.
            pub fn device(&self) -> &'a Device {
                self.allocation.device()
            }

            /// The address of the first element in the device's memory; null if the buffer has no elements.
            ///
            /// For work that this crate does not track. If the memory had another owner before, and nothing
            /// has been ordered after that owner's work yet, this blocks until that work is done;
            /// `address_on` never blocks.
            pub fn address(&self) -> DeviceAddress {
                self.allocation.exposed_address();
                self.address
            }

            /// Lets the buffer be dropped at once while foreign work enqueued on `stream` still uses it: the
            /// memory stays until that work, and work enqueued after it, is done. Without this, and with the
            /// [allocator](crate::Allocator) `Direct`, dropping a buffer waits for all of that. This is a
            /// deadlock if any of it waits for something that this thread does next.
            ///
            /// # Errors
            /// [`Error::Fault`] if the stream has faulted, else [`Error::Hip`].
            pub fn keep_until_done(&self, stream: &Stream) -> Result<()> {
                self.allocation.keep_until_done(stream)
            }

            /// The address of the first element, for work whose use of the memory is registered.
            pub(crate) fn start(&self) -> DeviceAddress {
                self.address
            }

            /// A pointer to the address of the first element, as a kernel argument needs it.
            pub(crate) fn place(&self) -> *const u64 {
                &raw const self.address.0
            }

            pub(crate) fn allocation(&self) -> &'a Arc<Allocation> {
                self.allocation
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("type", &std::any::type_name::<T>())
                    .field("len", &self.len)
                    .field("address", &self.address)
                    .field("device", self.allocation.device())
                    .finish()
            }
        }
    };
}

common!(DeviceSlice);
common!(DeviceSliceMut);

impl<'a, T: DeviceCopy> From<DeviceSliceMut<'a, T>> for DeviceSlice<'a, T> {
    fn from(view: DeviceSliceMut<'a, T>) -> Self {
        Self::new(view.allocation, view.address, view.len)
    }
}

impl<'a, T: DeviceCopy> From<&'a mut DeviceSliceMut<'_, T>> for DeviceSliceMut<'a, T> {
    fn from(view: &'a mut DeviceSliceMut<'_, T>) -> Self {
        view.reborrow()
    }
}

impl<'a, T: DeviceCopy> From<&'a DeviceSlice<'_, T>> for DeviceSlice<'a, T> {
    fn from(view: &'a DeviceSlice<'_, T>) -> Self {
        *view
    }
}

impl<'a, T: DeviceCopy> From<&'a DeviceSliceMut<'_, T>> for DeviceSlice<'a, T> {
    fn from(view: &'a DeviceSliceMut<'_, T>) -> Self {
        view.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_every_kind_resolve() {
        assert_eq!(resolve(&(1..3), 4).unwrap(), (1, 3));
        assert_eq!(resolve(&(1..=3), 4).unwrap(), (1, 4));
        assert_eq!(resolve(&(..), 4).unwrap(), (0, 4));
        assert_eq!(resolve(&(4..), 4).unwrap(), (4, 4));
        assert_eq!(resolve(&(Bound::Excluded(1), Bound::Unbounded), 4).unwrap(), (2, 4));
    }

    #[test]
    fn a_range_outside_names_itself_and_the_length() {
        let error = resolve(&(2..5), 4).unwrap_err();
        assert_eq!(error.to_string(), "range 2..5 is outside of a buffer of 4 elements");
        #[allow(clippy::reversed_empty_ranges, reason = "that is the case under test")]
        let reversed = 3..2;
        for range in [reversed, 5..5, usize::MAX..usize::MAX] {
            assert!(resolve(&range, 4).is_err());
        }
        assert!(resolve(&(0..=usize::MAX), 4).is_err());
        assert!(resolve(&(Bound::Excluded(usize::MAX), Bound::Unbounded), 4).is_err());
    }
}
