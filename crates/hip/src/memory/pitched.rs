//! Arrays of two and three dimensions, whose rows are padded.

use std::fmt;
use std::marker::PhantomData;

use hip_sys::{hipExtent, hipMemcpy3DParms, hipMemcpyKind, hipPitchedPtr, hipPos};

use super::copy::same_length;
use super::{DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut, size_in_bytes};
use crate::call::call;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::{Stream, WeakStream};

/// Rows start at multiples of this many bytes.
const PITCH: usize = 256;

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

    /// How many elements it has, if that fits into a number.
    fn elements(&self) -> Option<usize> {
        self.size.iter().try_fold(1_usize, |product, size| product.checked_mul(*size))
    }

    /// The end in each direction, if it lies in an array of that size.
    fn inside(&self, array: [usize; 3]) -> Result<()> {
        for ((start, size), len) in self.start.iter().zip(self.size).zip(array) {
            if start.checked_add(size).is_none_or(|end| end > len) {
                return Err(Error::OutOfRange { start: *start, end: start.saturating_add(size), len });
            }
        }
        Ok(())
    }
}

/// An owned array of two or three dimensions in device memory, whose rows start at aligned addresses.
///
/// Element (x, y, z) lies `(z * height + y) * pitch + x * size_of::<T>()` bytes behind the start. Copies are of boxes
/// ([`Region`]), to and from dense host memory, whose x runs fastest. For kernels, pass [`as_bytes`](Self::as_bytes) and
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
    /// Allocates an array of `size` elements in x, y and z, whose bytes, padding too, are zero.
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

    /// Copies a region from dense host memory, and blocks until that is done (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside the array, [`Error::LengthMismatch`] if `source` has not as many
    /// elements as the region, else as [`DeviceSliceMut::copy_from_host`].
    #[doc(alias = "hipMemcpy2D")]
    #[doc(alias = "hipMemcpy2DAsync")]
    #[doc(alias = "hipMemcpy3D")]
    #[doc(alias = "cudaMemcpy2D")]
    #[doc(alias = "cudaMemcpy2DAsync")]
    #[doc(alias = "cudaMemcpy3D")]
    pub fn copy_from_host(&mut self, stream: &Stream, region: Region, source: &[T]) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemcpy3DAsync", "destination")?;
        region.inside(self.size)?;
        if self.nothing("copy_from_host", region, source.len())? {
            return Ok(());
        }
        self.memory.allocation().write_on(stream)?;
        let host = dense::<T>(source.as_ptr().cast_mut().cast(), region.size);
        let here = (self.place(), self.position(region.start));
        let kind = hipMemcpyKind::hipMemcpyHostToDevice;
        // SAFETY: the region lies in the array, the source holds as many elements, and the wait follows.
        unsafe { self.copy(stream, here, (host, ORIGIN), region.size, kind)? };
        stream.synchronize()
    }

    /// Copies a region to dense host memory, and blocks until that is done (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn copy_to_host(&self, stream: &Stream, region: Region, destination: &mut [T]) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemcpy3DAsync", "source")?;
        region.inside(self.size)?;
        if self.nothing("copy_to_host", region, destination.len())? {
            return Ok(());
        }
        self.memory.allocation().read_on(stream)?;
        let host = dense::<T>(destination.as_mut_ptr().cast(), region.size);
        let here = (self.place(), self.position(region.start));
        let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
        // SAFETY: the region lies in the array, there is room for as many elements, and the wait follows.
        unsafe { self.copy(stream, (host, ORIGIN), here, region.size, kind)? };
        stream.synchronize()?;
        self.memory.allocation().sources(stream).iter().try_for_each(WeakStream::check)
    }

    /// Copies a region into a new `Vec`, dense, and blocks until that is done.
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host).
    pub fn to_vec(&self, stream: &Stream, region: Region) -> Result<Vec<T>> {
        region.inside(self.size)?;
        let elements = region.elements().unwrap_or(usize::MAX);
        let mut destination = Vec::new();
        if destination.try_reserve_exact(elements).is_err() {
            return Err(Error::TooLarge { elements, size: size_of::<T>() });
        }
        // SAFETY: all bytes are a valid `T`, those that are zero too.
        destination.resize(elements, unsafe { std::mem::zeroed() });
        self.copy_to_host(stream, region, &mut destination)?;
        Ok(destination)
    }

    /// Enqueues a copy of a region of another array, to where `start` is in this one; does not block (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the region is not inside one of the arrays, [`Error::OtherDevice`] if the stream's device
    /// does not reach one of them, [`Error::Fault`] if the stream has faulted, else [`Error::Hip`].
    pub fn copy_from(
        &mut self,
        stream: &Stream,
        start: [usize; 3],
        source: &Self,
        region: Region,
    ) -> Result<()> {
        stream.device().reaches(source.device(), "hipMemcpy3DAsync", "source")?;
        stream.device().reaches(self.device(), "hipMemcpy3DAsync", "destination")?;
        region.inside(source.size)?;
        Region { start, size: region.size }.inside(self.size)?;
        if region.elements() == Some(0) || size_of::<T>() == 0 {
            return Ok(());
        }
        source.memory.allocation().read_on(stream)?;
        self.memory.allocation().write_on(stream)?;
        let from = (source.place(), self.position(region.start));
        let to = (self.place(), self.position(start));
        let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
        // SAFETY: the region lies in both arrays, of which one is borrowed exclusively.
        unsafe { self.copy(stream, to, from, region.size, kind) }
    }

    /// Whether there is nothing to copy; an error if the host has another number of elements.
    fn nothing(&self, operation: &'static str, region: Region, host: usize) -> Result<bool> {
        let elements = region.elements().unwrap_or(usize::MAX);
        same_length(operation, elements, host)?;
        Ok(elements == 0 || size_of::<T>() == 0)
    }

    /// The array as HIP wants it described.
    fn place(&self) -> hipPitchedPtr {
        let ptr = self.memory.allocation().address().pointer();
        hipPitchedPtr { ptr, pitch: self.pitch, xsize: self.size[0] * size_of::<T>(), ysize: self.size[1] }
    }

    /// A position in it, in bytes in x.
    fn position(&self, start: [usize; 3]) -> hipPos {
        // Inside of the array, which has fewer bytes than the address space.
        hipPos { x: start[0] * size_of::<T>(), y: start[1], z: start[2] }
    }

    /// # Safety
    /// On both sides `size` elements lie in what is described, until the stream has run the copy.
    unsafe fn copy(
        &self,
        stream: &Stream,
        (to, to_start): (hipPitchedPtr, hipPos),
        (from, from_start): (hipPitchedPtr, hipPos),
        size: [usize; 3],
        kind: hipMemcpyKind,
    ) -> Result<()> {
        let parameters = hipMemcpy3DParms {
            srcArray: std::ptr::null_mut(),
            srcPos: from_start,
            srcPtr: from,
            dstArray: std::ptr::null_mut(),
            dstPos: to_start,
            dstPtr: to,
            extent: hipExtent { width: size[0] * size_of::<T>(), height: size[1], depth: size[2] },
            kind,
        };
        stream.make_current()?;
        // SAFETY: as this function's contract; the parameters are read during the call.
        stream
            .check(unsafe { call!(stream.table(), hipMemcpy3DAsync(&raw const parameters, stream.handle())) })
    }
}

const ORIGIN: hipPos = hipPos { x: 0, y: 0, z: 0 };

/// Dense memory of that many elements.
fn dense<T>(ptr: *mut std::ffi::c_void, size: [usize; 3]) -> hipPitchedPtr {
    let row = size[0] * size_of::<T>();
    hipPitchedPtr { ptr, pitch: row, xsize: row, ysize: size[1] }
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
        assert_eq!(Region::rectangle([1, 2], [3, 4]).elements(), Some(12));
        assert_eq!(Region { start: [0; 3], size: [usize::MAX, 2, 1] }.elements(), None);
    }
}
