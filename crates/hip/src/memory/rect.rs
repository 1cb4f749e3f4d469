//! Rectangles and boxes of elements: parts of plain buffers and of padded ones, copied and filled as a whole.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use hip_sys::{hipExtent, hipMemcpy3DParms, hipMemcpyKind, hipPitchedPtr, hipPos};

use super::copy::{end_refused, finish_read, finish_read_into, same_length};
use super::fill::bytes_of;
use super::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, HostBuffer, Pending};
use crate::call::call;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// A box of elements: where it starts, and how many elements it has, in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// The first element in each direction.
    pub start: [usize; 3],
    /// The number of elements in each direction.
    pub size: [usize; 3],
}

impl Region {
    /// A rectangle of a two-dimensional array.
    pub fn rectangle(start: [usize; 2], size: [usize; 2]) -> Self {
        Self { start: [start[0], start[1], 0], size: [size[0], size[1], 1] }
    }

    /// An error unless the region is inside an array of that size.
    fn inside(&self, array: [usize; 3]) -> Result<()> {
        for ((start, size), len) in self.start.iter().zip(self.size).zip(array) {
            if start.checked_add(size).is_none_or(|end| end > len) {
                return Err(Error::OutOfRange { start: *start, end: start.saturating_add(size), len });
            }
        }
        Ok(())
    }
}

/// The number of elements in a box of that size, unless it overflows.
fn elements(size: [usize; 3]) -> Option<usize> {
    if size.contains(&0) {
        return Some(0);
    }
    size.iter().try_fold(1_usize, |product, size| product.checked_mul(*size))
}

/// The layout of a rectangle or box of elements in an array of the host or the device.
///
/// The index of element (x, y, z) is `(z * height + y) * pitch + x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RectLayout {
    /// The number of elements in x, y and z.
    pub size: [usize; 3],
    /// Elements from the start of a row to that of the next; at least the length of a row.
    pub pitch: usize,
    /// Rows from the start of a plane to that of the next; at least the rows of a plane.
    pub height: usize,
}

impl RectLayout {
    /// A layout without gaps between rows or planes.
    pub fn dense(size: [usize; 3]) -> Self {
        Self { size, pitch: size[0], height: size[1] }
    }

    /// One plane of `size` elements in x and y, whose rows start every `pitch` elements.
    pub fn plane(size: [usize; 2], pitch: usize) -> Self {
        Self { size: [size[0], size[1], 1], pitch, height: size[1] }
    }

    /// An error unless all elements are inside an array of `len`, and none overlap.
    fn inside(&self, len: usize) -> Result<()> {
        let [width, rows, planes] = self.size;
        if elements(self.size) == Some(0) {
            return Ok(());
        }
        for (size, room) in [(width, self.pitch), (rows, self.height)] {
            if size > room {
                return Err(Error::OutOfRange { start: 0, end: size, len: room });
            }
        }
        let last_row =
            (planes - 1).checked_mul(self.height).and_then(|rows_before| rows_before.checked_add(rows - 1));
        let end = last_row.and_then(|row| row.checked_mul(self.pitch)?.checked_add(width));
        match end {
            Some(end) if end <= len => Ok(()),
            _ => Err(Error::OutOfRange { start: 0, end: end.unwrap_or(usize::MAX), len }),
        }
    }

    /// An error unless it has that size and is inside an array of `len`.
    pub(super) fn holds(&self, operation: &'static str, size: [usize; 3], len: usize) -> Result<()> {
        same_size(operation, size, self.size)?;
        self.inside(len)
    }

    /// The same with normalised distances: the pitch of a single row and the height of a single plane may be
    /// any number.
    fn plain(self) -> Self {
        let [width, rows, planes] = self.size;
        let height = if planes == 1 { rows } else { self.height };
        Self { pitch: if planes == 1 && rows == 1 { width } else { self.pitch }, height, ..self }
    }
}

/// The place of a box of elements on a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: DeviceAddress,
    pub(super) size: [usize; 3],
    /// Bytes from row to row.
    pub(super) pitch: usize,
    /// Rows from plane to plane.
    pub(super) height: usize,
}

impl Place {
    /// The place of a layout at an address.
    fn of<T>(start: DeviceAddress, layout: RectLayout) -> Self {
        let RectLayout { size, pitch, height } = layout.plain();
        // The layout is inside memory, unless it is empty.
        Self { start, size, pitch: pitch.wrapping_mul(size_of::<T>()), height }
    }

    fn is_empty<T>(&self) -> bool {
        self.size.contains(&0) || size_of::<T>() == 0
    }

    fn part<T>(&self, region: Region) -> Result<Self> {
        region.inside(self.size)?;
        if region.size.contains(&0) {
            // The end of an empty region need not be an address.
            return Ok(Self { size: region.size, ..*self });
        }
        let [x, y, z] = region.start;
        let offset = (z * self.height + y) * self.pitch + x * size_of::<T>();
        Ok(Self { start: self.start.offset(offset), size: region.size, ..*self })
    }

    /// In HIP's form. Must not be empty: the sizes of an empty box may be any numbers.
    fn describe<T>(&self) -> hipPitchedPtr {
        let xsize = self.size[0] * size_of::<T>();
        hipPitchedPtr { ptr: self.start.pointer(), pitch: self.pitch, xsize, ysize: self.height }
    }
}

/// A shared view of a rectangle or box of elements in device memory.
///
/// [`DeviceSlice::as_rect`] makes it of a plain buffer, [`PitchedBuffer::rect`](crate::PitchedBuffer::rect)
/// of a padded one. Memory between its rows is never read or written.
pub struct DeviceRect<'a, T> {
    allocation: &'a Arc<Allocation>,
    place: Place,
    marker: PhantomData<&'a [T]>,
}

/// An exclusive view of a rectangle or box of elements in device memory: see [`DeviceRect`].
pub struct DeviceRectMut<'a, T> {
    allocation: &'a Arc<Allocation>,
    place: Place,
    marker: PhantomData<&'a mut [T]>,
}

impl<T> Clone for DeviceRect<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceRect<'_, T> {}

impl<'a, T: DeviceCopy> DeviceSlice<'a, T> {
    /// A rectangle or box of these elements, starting at the first.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// use hip::{DeviceBuffer, RectLayout, Region};
    ///
    /// // An image of 640 by 480, and a part of 20 by 10.
    /// let image = DeviceBuffer::<u32>::zeroed(&stream, 640 * 480)?;
    /// let image = image.as_rect(RectLayout::dense([640, 480, 1]))?;
    /// let part = image.part(Region::rectangle([100, 50], [20, 10]))?;
    /// assert_eq!(part.to_vec(&stream)?.len(), 200);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if it is not inside the view, or rows or planes overlap.
    pub fn as_rect(&self, layout: RectLayout) -> Result<DeviceRect<'a, T>> {
        layout.inside(self.len())?;
        Ok(DeviceRect::new(self.allocation(), Place::of::<T>(self.start(), layout)))
    }
}

impl<'a, T: DeviceCopy> DeviceSliceMut<'a, T> {
    /// A rectangle or box of these elements: see [`DeviceSlice::as_rect`].
    ///
    /// # Errors
    /// As there.
    pub fn into_rect(self, layout: RectLayout) -> Result<DeviceRectMut<'a, T>> {
        layout.inside(self.len())?;
        Ok(DeviceRectMut::new(self.allocation(), Place::of::<T>(self.start(), layout)))
    }
}

impl<'a, T: DeviceCopy> DeviceRect<'a, T> {
    /// The elements of `allocation` at that place.
    pub(super) fn new(allocation: &'a Arc<Allocation>, place: Place) -> Self {
        Self { allocation, place, marker: PhantomData }
    }

    /// A part of the rectangle.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside.
    pub fn part(&self, region: Region) -> Result<DeviceRect<'a, T>> {
        Ok(Self::new(self.allocation, self.place.part::<T>(region)?))
    }

    /// Copies all elements to dense host memory, and blocks until that is done (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `destination` has a different number of elements, else as
    /// [`DeviceSlice::copy_to_host`].
    #[doc(alias = "hipMemcpy2D")]
    #[doc(alias = "hipMemcpy3D")]
    #[doc(alias = "cudaMemcpy2D")]
    #[doc(alias = "cudaMemcpy3D")]
    pub fn copy_to_host(&self, stream: &Stream, destination: &mut [T]) -> Result<()> {
        same_length("copy_to_host", destination.len(), self.len())?;
        self.copy_to_host_rect(stream, destination, RectLayout::dense(self.size()))
    }

    /// Copies all elements to a rectangle or box of host memory, and blocks until that is done
    /// (`hipMemcpy3DAsync`). Memory between its rows is unchanged.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the layout has another size, [`Error::OutOfRange`] if it is not inside
    /// `destination`, else as
    /// [`DeviceSlice::copy_to_host`].
    pub fn copy_to_host_rect(
        &self,
        stream: &Stream,
        destination: &mut [T],
        layout: RectLayout,
    ) -> Result<()> {
        layout.holds("copy_to_host", self.size(), destination.len())?;
        // SAFETY: the layout is inside the destination, and the wait comes before that is released.
        unsafe { self.read_into(stream, destination.as_mut_ptr(), layout)? };
        finish_read(stream, self.allocation)
    }

    /// Copies all elements into a new `Vec`, dense, and blocks until that is done.
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host).
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        let mut destination = Vec::new();
        if destination.try_reserve_exact(self.len()).is_err() {
            return Err(Error::TooLarge { elements: self.len(), size: size_of::<T>() });
        }
        // SAFETY: there is room for as many elements, and the wait comes before that is released.
        unsafe {
            self.read_into(stream, destination.as_mut_ptr(), RectLayout::dense(self.size()))?;
            finish_read_into(stream, self.allocation, destination, self.len())
        }
    }

    /// Enqueues a copy of all elements to dense host memory, which the copy owns (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host), at once or from [`Pending::wait`].
    #[doc(alias = "hipMemcpy2DAsync")]
    #[doc(alias = "hipMemcpy3DAsync")]
    #[doc(alias = "cudaMemcpy2DAsync")]
    #[doc(alias = "cudaMemcpy3DAsync")]
    pub fn download(
        &self,
        stream: &Stream,
        mut destination: HostBuffer<T>,
    ) -> Result<Pending<HostBuffer<T>>> {
        same_length("download", destination.len(), self.len())?;
        let layout = RectLayout::dense(self.size());
        // SAFETY: the buffer holds as many elements, and `Pending` keeps it until the copy is done.
        unsafe { self.read_into(stream, destination.as_mut_ptr(), layout)? };
        Pending::new(stream, destination, self.allocation.sources(stream))
    }

    /// Enqueues a copy of all elements.
    ///
    /// # Safety
    /// `destination` has room for elements of that layout and this size, and nothing uses it until the stream
    /// has been waited for.
    pub(super) unsafe fn read_into(
        &self,
        stream: &Stream,
        destination: *mut T,
        layout: RectLayout,
    ) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemcpy3DAsync", "source")?;
        if self.place.is_empty::<T>() {
            return Ok(());
        }
        stream.make_current()?;
        self.allocation.read_on(stream)?;
        let to = host(destination, layout);
        let (from, kind) = (self.place.describe::<T>(), hipMemcpyKind::hipMemcpyDeviceToHost);
        // SAFETY: the caller vouches for the destination, the view for the source.
        unsafe { copy::<T>(stream, to, from, self.size(), kind) }
    }
}

impl<'a, T: DeviceCopy> DeviceRectMut<'a, T> {
    /// The elements of `allocation` at that place, which no other view covers.
    pub(super) fn new(allocation: &'a Arc<Allocation>, place: Place) -> Self {
        Self { allocation, place, marker: PhantomData }
    }

    /// The same elements, shared for as long as this view is borrowed.
    pub fn as_rect(&self) -> DeviceRect<'_, T> {
        DeviceRect::new(self.allocation, self.place)
    }

    /// The same elements, exclusive for as long as this view is borrowed.
    pub fn reborrow(&mut self) -> DeviceRectMut<'_, T> {
        DeviceRectMut::new(self.allocation, self.place)
    }

    /// A part of the rectangle.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside.
    pub fn part_mut(&mut self, region: Region) -> Result<DeviceRectMut<'_, T>> {
        Ok(DeviceRectMut::new(self.allocation, self.place.part::<T>(region)?))
    }

    /// A part of the rectangle, for as long as the view itself.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside.
    pub fn into_part(self, region: Region) -> Result<DeviceRectMut<'a, T>> {
        Ok(Self::new(self.allocation, self.place.part::<T>(region)?))
    }

    /// Splits at `middle` along an axis (0 is x, 1 is y, 2 is z) into two views that can be written
    /// independently.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer elements along that axis, or `axis` is not one of the three.
    pub fn split_at_mut(self, axis: usize, middle: usize) -> Result<(Self, Self)> {
        let Some(&len) = self.size().get(axis) else {
            return Err(Error::OutOfRange { start: axis, end: axis.saturating_add(1), len: 3 });
        };
        let rest = len.checked_sub(middle).ok_or(Error::OutOfRange { start: 0, end: middle, len })?;
        let (mut before, mut after) =
            (Region { start: [0; 3], size: self.size() }, Region { start: [0; 3], size: self.size() });
        before.size[axis] = middle;
        (after.start[axis], after.size[axis]) = (middle, rest);
        let (before, after) = (self.place.part::<T>(before)?, self.place.part::<T>(after)?);
        self.allocation.split();
        Ok((Self::new(self.allocation, before), Self::new(self.allocation, after)))
    }

    /// Copies dense host memory to all elements, and blocks until that is done (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `source` has a different number of elements, else as
    /// [`DeviceSliceMut::copy_from_host`].
    #[doc(alias = "hipMemcpy2D")]
    #[doc(alias = "hipMemcpy3D")]
    #[doc(alias = "cudaMemcpy2D")]
    #[doc(alias = "cudaMemcpy3D")]
    pub fn copy_from_host(&mut self, stream: &Stream, source: &[T]) -> Result<()> {
        same_length("copy_from_host", self.len(), source.len())?;
        self.copy_from_host_rect(stream, source, RectLayout::dense(self.size()))
    }

    /// Copies a rectangle or box of host memory to all elements, and blocks until that is done
    /// (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the layout has another size, [`Error::OutOfRange`] if it is not inside
    /// `source`, else as
    /// [`DeviceSliceMut::copy_from_host`].
    pub fn copy_from_host_rect(&mut self, stream: &Stream, source: &[T], layout: RectLayout) -> Result<()> {
        layout.holds("copy_from_host", self.size(), source.len())?;
        // SAFETY: the layout is inside the source, and the wait comes before that is released.
        unsafe { self.write_from(stream, source.as_ptr(), layout)? };
        stream.finish_borrowed()
    }

    /// Enqueues a copy of dense host memory, which the copy owns, to all elements (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host), at once or from [`Pending::wait`].
    #[doc(alias = "hipMemcpy2DAsync")]
    #[doc(alias = "hipMemcpy3DAsync")]
    #[doc(alias = "cudaMemcpy2DAsync")]
    #[doc(alias = "cudaMemcpy3DAsync")]
    pub fn upload(&mut self, stream: &Stream, source: HostBuffer<T>) -> Result<Pending<HostBuffer<T>>> {
        same_length("upload", self.len(), source.len())?;
        // SAFETY: the buffer holds as many elements, and `Pending` keeps it until the copy is done.
        unsafe { self.write_from(stream, source.as_ptr(), RectLayout::dense(self.size()))? };
        Pending::new(stream, source, Vec::new())
    }

    /// Enqueues a copy of another rectangle or box of the same size; does not block (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the sizes differ in one direction, [`Error::OtherDevice`] if the stream's
    /// device cannot access one of the two, [`Error::Fault`] if the stream, or the work that wrote the
    /// source, has faulted, else [`Error::Hip`].
    pub fn copy_from<'s>(&mut self, stream: &Stream, source: impl Into<DeviceRect<'s, T>>) -> Result<()> {
        let source = source.into();
        same_size("copy_from", self.size(), source.size())?;
        stream.device().reaches(source.device(), "hipMemcpy3DAsync", "source")?;
        stream.device().reaches(self.device(), "hipMemcpy3DAsync", "destination")?;
        if self.place.is_empty::<T>() {
            return Ok(());
        }
        stream.make_current_or_capture()?;
        self.allocation.lasts_beyond_graphs()?;
        source.allocation.read_on(stream)?;
        self.allocation.write_on(stream)?;
        let (to, from) = (self.place.describe::<T>(), source.place.describe::<T>());
        let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
        // SAFETY: both views hold the elements; a shared and an exclusive view cannot overlap.
        unsafe { copy::<T>(stream, to, from, self.size(), kind) }
    }

    /// Sets every element to `value`.
    ///
    /// Values whose bytes are all equal take one `hipMemset2DAsync` or `hipMemset3DAsync`. For other values,
    /// one row is [filled](DeviceSliceMut::fill), and copies on the device then double it.
    ///
    /// # Errors
    /// As [`DeviceSliceMut::fill`].
    #[doc(alias = "hipMemset2D")]
    #[doc(alias = "hipMemset2DAsync")]
    #[doc(alias = "hipMemset3D")]
    #[doc(alias = "hipMemset3DAsync")]
    #[doc(alias = "cudaMemset2D")]
    #[doc(alias = "cudaMemset3D")]
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemset3DAsync", "buffer")?;
        if self.place.is_empty::<T>() {
            return Ok(());
        }
        stream.make_current_or_capture()?;
        match *bytes_of(&value) {
            [byte, ref others @ ..] if others.iter().all(|other| *other == byte) => self.set(stream, byte),
            _ => self.fill_by_doubling(stream, value),
        }
    }

    fn set(&mut self, stream: &Stream, byte: u8) -> Result<()> {
        self.allocation.write_on(stream)?;
        let (place, [width, height, depth]) = (self.place, self.size());
        let (width, value) = (width * size_of::<T>(), byte.into());
        let (table, handle) = (stream.table(), stream.handle());
        // SAFETY: all rows are inside the allocation.
        stream.check(unsafe {
            if depth == 1 {
                let start = place.start.pointer();
                call!(table, hipMemset2DAsync(start, place.pitch, value, width, height, handle))
            } else {
                let extent = hipExtent { width, height, depth };
                call!(table, hipMemset3DAsync(place.describe::<T>(), value, extent, handle))
            }
        })
    }

    fn fill_by_doubling(&mut self, stream: &Stream, value: T) -> Result<()> {
        let [width, height, depth] = self.size();
        // The first row is contiguous, and no other view covers it.
        DeviceSliceMut::<T>::new(self.allocation, self.place.start, width).fill(stream, value)?;
        for (axis, len, filled) in [(1, height, [width, 1, 1]), (2, depth, [width, height, 1])] {
            let mut done = 1;
            while done < len {
                let mut region = Region { start: [0; 3], size: filled };
                region.size[axis] = done.min(len - done);
                let from = self.place.part::<T>(region)?;
                region.start[axis] = done;
                let to = self.place.part::<T>(region)?;
                self.allocation.write_on(stream)?;
                let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
                // SAFETY: both are inside this view, and the second begins after the first.
                unsafe { copy::<T>(stream, to.describe::<T>(), from.describe::<T>(), region.size, kind)? };
                done += region.size[axis];
            }
        }
        Ok(())
    }

    /// Enqueues a copy that fills the rectangle.
    ///
    /// # Safety
    /// `source` holds elements of that layout and this size, and nothing writes or releases them until the
    /// stream has been waited for.
    pub(super) unsafe fn write_from(
        &mut self,
        stream: &Stream,
        source: *const T,
        layout: RectLayout,
    ) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemcpy3DAsync", "destination")?;
        if self.place.is_empty::<T>() {
            return Ok(());
        }
        stream.make_current()?;
        self.allocation.write_on(stream)?;
        let from = host(source.cast_mut(), layout);
        let (to, kind) = (self.place.describe::<T>(), hipMemcpyKind::hipMemcpyHostToDevice);
        // SAFETY: the caller vouches for the source, the view for the destination.
        unsafe { copy::<T>(stream, to, from, self.size(), kind) }
    }
}

/// An error that names the first direction in which two sizes differ.
fn same_size(operation: &'static str, destination: [usize; 3], source: [usize; 3]) -> Result<()> {
    destination.iter().zip(source).try_for_each(|(to, from)| same_length(operation, *to, from))
}

/// A layout in host memory, in HIP's form.
fn host<T>(start: *mut T, layout: RectLayout) -> hipPitchedPtr {
    hipPitchedPtr { ptr: start.cast(), ..Place::of::<T>(DeviceAddress::NULL, layout).describe::<T>() }
}

/// The parameters of a copy in HIP's form.
fn parameters<T>(
    to: hipPitchedPtr,
    from: hipPitchedPtr,
    size: [usize; 3],
    kind: hipMemcpyKind,
) -> hipMemcpy3DParms {
    const ORIGIN: hipPos = hipPos { x: 0, y: 0, z: 0 };
    hipMemcpy3DParms {
        srcArray: std::ptr::null_mut(),
        srcPos: ORIGIN,
        srcPtr: from,
        dstArray: std::ptr::null_mut(),
        dstPos: ORIGIN,
        dstPtr: to,
        extent: hipExtent { width: size[0] * size_of::<T>(), height: size[1], depth: size[2] },
        kind,
    }
}

/// # Safety
/// Both sides hold `size` elements in the described layout until the stream has run the copy. The stream's
/// device is current.
unsafe fn copy<T>(
    stream: &Stream,
    to: hipPitchedPtr,
    from: hipPitchedPtr,
    size: [usize; 3],
    kind: hipMemcpyKind,
) -> Result<()> {
    let parameters = parameters::<T>(to, from, size, kind);
    // SAFETY: as this function's contract; the parameters are read during the call.
    let enqueued = stream
        .check(unsafe { call!(stream.table(), hipMemcpy3DAsync(&raw const parameters, stream.handle())) });
    end_refused(stream, kind, enqueued)
}

/// Methods of both views.
macro_rules! common {
    ($view:ident) => {
        impl<'a, T> $view<'a, T> {
            /// The number of elements in x, y and z.
            pub fn size(&self) -> [usize; 3] {
                self.place.size
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                // The number of zero-sized elements may overflow.
                elements(self.place.size).unwrap_or(usize::MAX)
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.place.size.contains(&0)
            }

            /// All elements.
            pub fn region(&self) -> Region {
                Region { start: [0; 3], size: self.place.size }
            }

            /// Bytes from the start of a row to that of the next.
            pub fn pitch_in_bytes(&self) -> usize {
                self.place.pitch
            }

            /// The device that the memory belongs to.
            pub fn device(&self) -> &'a Device {
                self.allocation.device()
            }

            pub(crate) fn allocation(&self) -> &'a Arc<Allocation> {
                self.allocation
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("type", &std::any::type_name::<T>())
                    .field("place", &self.place)
                    .field("device", self.allocation.device())
                    .finish()
            }
        }
    };
}

common!(DeviceRect);
common!(DeviceRectMut);

/// The parameters of copies by graph nodes.
impl<T: DeviceCopy> DeviceRectMut<'_, T> {
    /// A copy of another rectangle or box of the same size; `None` if there is nothing to copy.
    pub(crate) fn parameters_from(&self, source: &DeviceRect<'_, T>) -> Result<Option<hipMemcpy3DParms>> {
        same_size("add_copy_rect", self.size(), source.size())?;
        let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
        Ok((!self.place.is_empty::<T>()).then(|| {
            let (to, from) = (self.place.describe::<T>(), source.place.describe::<T>());
            parameters::<T>(to, from, self.size(), kind)
        }))
    }

    /// A copy from dense host memory of the same size.
    pub(crate) fn parameters_from_host(&self, source: *mut T) -> Option<hipMemcpy3DParms> {
        let kind = hipMemcpyKind::hipMemcpyHostToDevice;
        (!self.place.is_empty::<T>()).then(|| {
            let from = host(source, RectLayout::dense(self.size()));
            parameters::<T>(self.place.describe::<T>(), from, self.size(), kind)
        })
    }
}

impl<T: DeviceCopy> DeviceRect<'_, T> {
    /// A copy to dense host memory of the same size.
    pub(crate) fn parameters_to_host(&self, destination: *mut T) -> Option<hipMemcpy3DParms> {
        let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
        (!self.place.is_empty::<T>()).then(|| {
            let to = host(destination, RectLayout::dense(self.size()));
            parameters::<T>(to, self.place.describe::<T>(), self.size(), kind)
        })
    }
}

impl<'a, T: DeviceCopy> From<DeviceRectMut<'a, T>> for DeviceRect<'a, T> {
    fn from(view: DeviceRectMut<'a, T>) -> Self {
        Self::new(view.allocation, view.place)
    }
}

impl<'a, T: DeviceCopy> From<&'a DeviceRect<'_, T>> for DeviceRect<'a, T> {
    fn from(view: &'a DeviceRect<'_, T>) -> Self {
        *view
    }
}

impl<'a, T: DeviceCopy> From<&'a DeviceRectMut<'_, T>> for DeviceRect<'a, T> {
    fn from(view: &'a DeviceRectMut<'_, T>) -> Self {
        view.as_rect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_lie_inside_or_are_refused() {
        let array = [4, 3, 2];
        let inside = |start, size| Region { start, size }.inside(array);
        assert!(inside([0, 0, 0], array).is_ok());
        assert!(inside([4, 3, 2], [0, 0, 0]).is_ok());
        assert!(inside([1, 1, 1], [3, 2, 1]).is_ok());
        for (start, size) in [
            ([1, 0, 0], [4, 1, 1]),
            ([0, 0, 3], [1, 1, 0]),
            ([0, usize::MAX, 0], [1, 1, 1]),
            ([0, 0, 0], [1, usize::MAX, 1]),
        ] {
            assert!(matches!(inside(start, size), Err(Error::OutOfRange { .. })), "{start:?} {size:?}");
        }
        assert_eq!(elements([3, 4, 1]), Some(12));
        assert_eq!(elements([usize::MAX, 2, 1]), None);
    }

    #[test]
    fn layouts_lie_inside_to_the_last_element_and_overlap_nowhere() {
        let end = |layout: RectLayout| (0..200).find(|len| layout.inside(*len).is_ok());
        // The last row needs no padding.
        assert_eq!(end(RectLayout::plane([3, 4], 10)), Some(33));
        assert_eq!(end(RectLayout::dense([3, 4, 5])), Some(60));
        assert_eq!(end(RectLayout { size: [2, 2, 2], pitch: 5, height: 3 }), Some(3 * 5 + 5 + 2));
        assert_eq!(end(RectLayout { size: [2, 0, 2], pitch: 0, height: 0 }), Some(0));
        let wrong = [
            RectLayout::plane([4, 2], 3),
            RectLayout { size: [1, 3, 2], pitch: 1, height: 2 },
            RectLayout { size: [1, 2, 1], pitch: usize::MAX, height: 2 },
            RectLayout { size: [1, 1, usize::MAX], pitch: 2, height: 2 },
            RectLayout::dense([usize::MAX, 2, 1]),
        ];
        for layout in wrong {
            assert!(matches!(layout.inside(usize::MAX / 2), Err(Error::OutOfRange { .. })), "{layout:?}");
        }
    }

    #[test]
    fn parts_of_parts_are_where_they_would_be_in_the_whole() {
        let place = Place { start: DeviceAddress(1000), size: [10, 8, 4], pitch: 100, height: 9 };
        let outer = Region { start: [2, 3, 1], size: [5, 4, 2] };
        let part = place.part::<u32>(outer).unwrap();
        assert_eq!(part.start.0, 1000 + (9 + 3) * 100 + 2 * 4);
        let inner = part.part::<u32>(Region { start: [1, 1, 1], size: [1, 1, 1] }).unwrap();
        assert_eq!(inner.start, place.part::<u32>(Region { start: [3, 4, 2], size: [1; 3] }).unwrap().start);
        assert!(part.part::<u32>(Region { start: [5, 0, 0], size: [1; 3] }).is_err());
        let end = place.part::<u32>(Region { start: [10, 8, 4], size: [0; 3] }).unwrap();
        assert!(end.is_empty::<u32>());
    }
}
