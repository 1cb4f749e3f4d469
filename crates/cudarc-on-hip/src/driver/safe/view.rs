//! Parts of device memory.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::super::sys;
use super::uses::Uses;
use super::{CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};

/// The place of a part, the last uses of the memory, and where it was allocated.
#[derive(Debug)]
pub(super) struct Span<'a, T> {
    pub(super) address: sys::CUdeviceptr,
    len: usize,
    pub(super) uses: &'a Uses,
    pub(super) stream: &'a Arc<CudaStream>,
    marker: PhantomData<*const T>,
}

impl<T> Clone for Span<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<'_, T> {}

// SAFETY: the elements are on the device, where host threads cannot access them.
unsafe impl<T> Send for Span<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Span<'_, T> {}

impl<T> Span<'_, T> {
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

    /// # Panics
    /// If the size is zero or does not divide the length.
    fn chunks(self, size: usize) -> impl Iterator<Item = Self> {
        assert!(self.len.is_multiple_of(size), "chunks of {size} do not make up {} elements", self.len);
        (0..self.len / size).map(move |index| self.at(index * size, size))
    }
}

impl<'a, T> Span<'a, T> {
    fn other<S>(&self, len: usize) -> Option<Span<'a, S>> {
        let Self { address, uses, stream, .. } = *self;
        let fits = len.checked_mul(size_of::<S>())? <= self.len * size_of::<T>();
        fits.then_some(Span { address, len, uses, stream, marker: PhantomData })
    }
}

/// Start and end of a range, if it is within this many elements.
pub(super) fn range_within(bounds: impl RangeBounds<usize>, len: usize) -> Option<(usize, usize)> {
    let start = match bounds.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match bounds.end_bound() {
        Bound::Included(last) => last.checked_add(1)?,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    (start <= end && end <= len).then_some((start, end))
}

/// A part of a [`CudaSlice`](super::CudaSlice), for reading.
#[derive(Debug)]
pub struct CudaView<'a, T> {
    pub(super) span: Span<'a, T>,
    marker: PhantomData<&'a [T]>,
}

/// A part of a [`CudaSlice`](super::CudaSlice), for reading and writing.
#[derive(Debug)]
pub struct CudaViewMut<'a, T> {
    pub(super) span: Span<'a, T>,
    marker: PhantomData<&'a mut [T]>,
}

impl<'a, T> CudaView<'a, T> {
    pub(super) fn of_parts(
        address: sys::CUdeviceptr,
        len: usize,
        uses: &'a Uses,
        stream: &'a Arc<CudaStream>,
    ) -> Self {
        Self::of(Span { address, len, uses, stream, marker: PhantomData })
    }

    fn of(span: Span<'a, T>) -> Self {
        Self { span, marker: PhantomData }
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

    /// The memory as another type; `None` if it has fewer bytes than `len` elements of that type.
    ///
    /// # Safety
    /// The memory must hold values of that type.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<CudaView<'a, S>> {
        self.span.other(len).map(CudaView::of)
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

    /// Parts of one size.
    ///
    /// # Panics
    /// If the size is zero or does not divide the length.
    pub fn chunks_exact(&self, chunk_size: usize) -> impl Iterator<Item = CudaView<'a, T>> + '_ {
        self.span.chunks(chunk_size).map(CudaView::of)
    }

    /// As [`DevicePtr::device_ptr`], while the memory is borrowed.
    pub fn view_ptr(self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.uses.read(self.span.stream.context(), stream))
    }
}

impl<'a, T> CudaViewMut<'a, T> {
    pub(super) fn of_parts(
        address: sys::CUdeviceptr,
        len: usize,
        uses: &'a Uses,
        stream: &'a Arc<CudaStream>,
    ) -> Self {
        Self::of(Span { address, len, uses, stream, marker: PhantomData })
    }

    /// Nothing else may borrow the elements of `span`.
    fn of(span: Span<'a, T>) -> Self {
        Self { span, marker: PhantomData }
    }

    pub(super) fn into_part(self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        self.span.part(bounds).map(Self::of)
    }

    pub(super) fn into_halves(self, mid: usize) -> Option<(Self, Self)> {
        self.span.halves(mid).map(|(before, rest)| (Self::of(before), Self::of(rest)))
    }

    /// # Safety
    /// The memory must hold values of that type, and must end with valid values of its own type.
    pub(super) unsafe fn into_other<S>(self, len: usize) -> Option<CudaViewMut<'a, S>> {
        self.span.other(len).map(CudaViewMut::of)
    }

    /// The same view with a shorter lifetime.
    fn reborrow(&mut self) -> CudaViewMut<'_, T> {
        CudaViewMut::of(self.span)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// A view of everything, for reading.
    pub fn as_view<'b>(&'b self) -> CudaView<'b, T> {
        CudaView::of(self.span)
    }

    /// Converts to a view for reading.
    pub fn into_view(self) -> CudaView<'a, T> {
        CudaView::of(self.span)
    }

    /// A part, to be read.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> CudaView<'b, T> {
        self.as_view().slice(bounds)
    }

    /// A part, to be read; `None` if the range exceeds the elements.
    pub fn try_slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> Option<CudaView<'b, T>> {
        self.as_view().try_slice(bounds)
    }

    /// The memory as another type, to be read; `None` if it has fewer bytes than `len` elements of that type.
    ///
    /// # Safety
    /// The memory must hold values of that type.
    pub unsafe fn transmute<'b, S>(&'b self, len: usize) -> Option<CudaView<'b, S>> {
        self.span.other(len).map(CudaView::of)
    }

    /// A part.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> CudaViewMut<'b, T> {
        self.try_slice_mut(bounds).expect("a range within the elements")
    }

    /// A part; `None` if the range exceeds the elements.
    pub fn try_slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> Option<CudaViewMut<'b, T>> {
        self.reborrow().into_part(bounds)
    }

    /// The elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at_mut<'b>(&'b mut self, mid: usize) -> (CudaViewMut<'b, T>, CudaViewMut<'b, T>) {
        self.try_split_at_mut(mid).expect("at least as many elements")
    }

    /// The elements before `mid`, and the rest; `None` if there are fewer elements.
    pub fn try_split_at_mut<'b>(
        &'b mut self,
        mid: usize,
    ) -> Option<(CudaViewMut<'b, T>, CudaViewMut<'b, T>)> {
        self.reborrow().into_halves(mid)
    }

    /// Parts of one size.
    ///
    /// # Panics
    /// If the size is zero or does not divide the length.
    pub fn chunks_exact_mut(self, chunk_size: usize) -> impl Iterator<Item = CudaViewMut<'a, T>> {
        self.span.chunks(chunk_size).map(CudaViewMut::of)
    }

    /// The memory as another type; `None` if it has fewer bytes than `len` elements of that type.
    ///
    /// # Safety
    /// The memory must hold values of that type, and must end with valid values of its own type.
    pub unsafe fn transmute_mut<'b, S>(&'b mut self, len: usize) -> Option<CudaViewMut<'b, S>> {
        // SAFETY: the caller vouches for it.
        unsafe { self.reborrow().into_other(len) }
    }

    /// As [`DevicePtr::device_ptr`], while the memory is borrowed.
    pub fn view_ptr(self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.uses.read(self.span.stream.context(), stream))
    }

    /// As [`DevicePtrMut::device_ptr_mut`], while the memory is borrowed.
    pub fn view_ptr_mut(self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.uses.write(self.span.stream.context(), stream))
    }
}

impl<T> DeviceSlice<T> for CudaView<'_, T> {
    fn len(&self) -> usize {
        self.span.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.span.stream
    }
}

impl<T> DeviceSlice<T> for CudaViewMut<'_, T> {
    fn len(&self) -> usize {
        self.span.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.span.stream
    }
}

impl<T> DevicePtr<T> for CudaView<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.uses.read(self.span.stream.context(), stream))
    }
}

impl<T> DevicePtr<T> for CudaViewMut<'_, T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.uses.read(self.span.stream.context(), stream))
    }
}

impl<T> DevicePtrMut<T> for CudaViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.span.address, self.span.uses.write(self.span.stream.context(), stream))
    }
}
