//! Arrays of two and three dimensions with padded rows.

use std::fmt;
use std::marker::PhantomData;

use super::rect::Place;
use super::{
    DeviceBuffer, DeviceCopy, DeviceRect, DeviceRectMut, DeviceSlice, DeviceSliceMut, Region, size_in_bytes,
};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// Rows start at multiples of this, in bytes.
const PITCH: usize = 256;

/// An owned array of two or three dimensions in device memory, with rows that start at aligned addresses.
///
/// Element (x, y, z) is `(z * height + y) * pitch + x * size_of::<T>()` bytes after the start. The methods
/// copy boxes ([`Region`]) to and from dense host memory, in which x varies fastest; for other operations,
/// [`rect`](Self::rect) gives a view. To kernels, pass [`as_bytes`](Self::as_bytes) and
/// [`pitch`](Self::pitch).
#[doc(alias = "hipMallocPitch")]
#[doc(alias = "hipMalloc3D")]
#[doc(alias = "cudaMallocPitch")]
#[doc(alias = "cudaMalloc3D")]
pub struct PitchedBuffer<T: DeviceCopy> {
    memory: DeviceBuffer<u8>,
    size: [usize; 3],
    pitch: usize,
    marker: PhantomData<T>,
}

impl<T: DeviceCopy> PitchedBuffer<T> {
    /// Allocates an array of `size` elements in x, y and z. All bytes are zero, including the padding.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size does not fit into the address space, else as [`DeviceBuffer::zeroed`].
    pub fn zeroed(stream: &Stream, size: [usize; 3]) -> Result<Self> {
        let too_large =
            || Error::TooLarge { elements: size[0].saturating_mul(size[1]), size: size_of::<T>() };
        let pitch = size_in_bytes::<T>(size[0])?.checked_next_multiple_of(PITCH).ok_or_else(too_large)?;
        let rows = size[1].checked_mul(size[2]).ok_or_else(too_large)?;
        let bytes = pitch.checked_mul(rows).ok_or_else(too_large)?;
        Ok(Self { memory: DeviceBuffer::zeroed(stream, bytes)?, size, pitch, marker: PhantomData })
    }

    /// The number of elements in x, y and z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Bytes from the start of a row to that of the next.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        self.memory.device()
    }

    /// All elements.
    pub fn region(&self) -> Region {
        Region { start: [0; 3], size: self.size }
    }

    /// The memory with its padding, shared.
    pub fn as_bytes(&self) -> DeviceSlice<'_, u8> {
        self.memory.as_slice()
    }

    /// The memory with its padding, exclusive.
    pub fn as_mut_bytes(&mut self) -> DeviceSliceMut<'_, u8> {
        self.memory.as_mut_slice()
    }

    /// All elements as a rectangle or box, shared.
    pub fn as_rect(&self) -> DeviceRect<'_, T> {
        let view = self.memory.as_slice();
        DeviceRect::new(view.allocation(), self.place())
    }

    /// All elements as a rectangle or box, exclusive.
    pub fn as_mut_rect(&mut self) -> DeviceRectMut<'_, T> {
        let place = self.place();
        let view = self.memory.as_mut_slice();
        DeviceRectMut::new(view.allocation(), place)
    }

    /// A part of it, shared.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array.
    pub fn rect(&self, region: Region) -> Result<DeviceRect<'_, T>> {
        self.as_rect().part(region)
    }

    /// A part of it, exclusive.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array.
    pub fn rect_mut(&mut self, region: Region) -> Result<DeviceRectMut<'_, T>> {
        self.as_mut_rect().into_part(region)
    }

    /// Copies a region from dense host memory, and blocks until that is done. See
    /// [`DeviceRectMut::copy_from_host`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array, else as there.
    #[doc(alias = "hipMemcpy2D")]
    #[doc(alias = "hipMemcpy3D")]
    #[doc(alias = "cudaMemcpy2D")]
    #[doc(alias = "cudaMemcpy3D")]
    pub fn copy_from_host(&mut self, stream: &Stream, region: Region, source: &[T]) -> Result<()> {
        self.rect_mut(region)?.copy_from_host(stream, source)
    }

    /// Copies a region to dense host memory, and blocks until that is done. See [`DeviceRect::copy_to_host`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array, else as there.
    pub fn copy_to_host(&self, stream: &Stream, region: Region, destination: &mut [T]) -> Result<()> {
        self.rect(region)?.copy_to_host(stream, destination)
    }

    /// Copies a region into a new `Vec`, dense, and blocks until that is done. See [`DeviceRect::to_vec`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array, else as there.
    pub fn to_vec(&self, stream: &Stream, region: Region) -> Result<Vec<T>> {
        self.rect(region)?.to_vec(stream)
    }

    /// Sets every element of a region to `value`. See [`DeviceRectMut::fill`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array, else as there.
    pub fn fill(&mut self, stream: &Stream, region: Region, value: T) -> Result<()> {
        self.rect_mut(region)?.fill(stream, value)
    }

    /// Allocates an array of the same size and contents on the stream's device, and enqueues the copy. See
    /// [`DeviceSlice::try_clone`].
    ///
    /// # Errors
    /// As there.
    pub fn try_clone(&self, stream: &Stream) -> Result<Self> {
        let Self { ref memory, size, pitch, marker } = *self;
        Ok(Self { memory: memory.try_clone(stream)?, size, pitch, marker })
    }

    /// Enqueues a copy of a region of another array, to `start` in this one; does not block. See
    /// [`DeviceRectMut::copy_from`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside one of the arrays, else as there.
    pub fn copy_from(
        &mut self,
        stream: &Stream,
        start: [usize; 3],
        source: &Self,
        region: Region,
    ) -> Result<()> {
        self.rect_mut(Region { start, size: region.size })?.copy_from(stream, source.rect(region)?)
    }

    fn place(&self) -> Place {
        let start = self.memory.allocation().address();
        Place { start, size: self.size, pitch: self.pitch, height: self.size[1] }
    }
}

impl<'a, T: DeviceCopy> From<&'a PitchedBuffer<T>> for DeviceRect<'a, T> {
    fn from(buffer: &'a PitchedBuffer<T>) -> Self {
        buffer.as_rect()
    }
}

impl<T: DeviceCopy> fmt::Debug for PitchedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PitchedBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("size", &self.size)
            .field("pitch", &self.pitch)
            .field("device", self.device())
            .finish()
    }
}
