//! Methods of all device memory. The operations are implemented once, on views; the macros here give them to
//! every buffer, variable and view.

use std::ops::RangeBounds;

use super::{
    Chunks, ChunksMut, DeviceAddress, DeviceBuffer, DeviceCopy, DeviceRect, DeviceRectMut, DeviceSlice,
    DeviceSliceMut, GrowableBuffer, HostBuffer, ManagedBuffer, MappedBuffer, Pending, RectLayout,
    RegisteredBuffer,
};
use crate::device::Device;
use crate::error::Result;
use crate::global::{Global, GlobalMut};
use crate::graph::GraphBuffer;
use crate::launch::{Arguments, Check, Memory, Pass};
use crate::stream::Stream;

mod sealed {
    pub trait Sealed {}
}

/// Properties of memory that has a method `as_slice`.
macro_rules! measures {
    ($vis:vis,) => {
        /// How many elements there are.
        #[inline]
        $vis fn len(&self) -> usize {
            self.as_slice().len()
        }

        /// Whether there are no elements.
        #[inline]
        $vis fn is_empty(&self) -> bool {
            self.as_slice().is_empty()
        }

        /// The size in bytes.
        $vis fn size_in_bytes(&self) -> usize {
            self.as_slice().size_in_bytes()
        }

        /// The device that the memory belongs to.
        $vis fn device(&self) -> &Device {
            self.as_slice().device()
        }

        /// The address of the first element in the device's memory; null if there are no elements. See
        /// [`DeviceSlice::address`].
        $vis fn address(&self) -> DeviceAddress {
            self.as_slice().address()
        }
    };
}

/// Operations that read.
macro_rules! reading {
    ($vis:vis, $element:ty) => {
        /// A part of the elements, shared.
        ///
        /// # Errors
        /// [`Error::OutOfRange`](crate::Error::OutOfRange) if the range is out of bounds.
        $vis fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, $element>> {
            self.as_slice().slice(range)
        }

        /// A part of the elements, shared, or `None` if the range is out of bounds.
        $vis fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<DeviceSlice<'_, $element>> {
            self.as_slice().try_slice(range)
        }

        /// The elements before `middle`, and those from `middle` on, shared.
        ///
        /// # Errors
        /// [`Error::OutOfRange`](crate::Error::OutOfRange) if there are fewer than `middle` elements.
        $vis fn split_at(
            &self,
            middle: usize,
        ) -> Result<(DeviceSlice<'_, $element>, DeviceSlice<'_, $element>)> {
            self.as_slice().split_at(middle)
        }

        /// The chunks of `size` elements, shared; the last one may be shorter. See [`DeviceSlice::chunks`].
        ///
        /// # Errors
        /// As there.
        $vis fn chunks(&self, size: usize) -> Result<Chunks<'_, $element>> {
            self.as_slice().chunks(size)
        }

        /// The same memory as elements of another type, shared. See [`DeviceSlice::cast`].
        ///
        /// # Errors
        /// As there.
        $vis fn cast<U: DeviceCopy>(&self) -> Result<DeviceSlice<'_, U>> {
            self.as_slice().cast()
        }

        /// The bytes of the elements, shared.
        $vis fn as_bytes(&self) -> DeviceSlice<'_, u8> {
            self.as_slice().as_bytes()
        }

        /// A rectangle or box of the elements, shared. See [`DeviceSlice::as_rect`].
        ///
        /// # Errors
        /// As there.
        $vis fn as_rect(&self, layout: RectLayout) -> Result<DeviceRect<'_, $element>> {
            self.as_slice().as_rect(layout)
        }

        /// Copies to host memory and blocks until that is done. See [`DeviceSlice::copy_to_host`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "hipMemcpyDtoH")]
        #[doc(alias = "cuMemcpyDtoH")]
        $vis fn copy_to_host(&self, stream: &Stream, destination: &mut [$element]) -> Result<()> {
            self.as_slice().copy_to_host(stream, destination)
        }

        /// Copies everything into a new `Vec` and blocks until that is done. See [`DeviceSlice::to_vec`].
        ///
        /// # Errors
        /// As there.
        $vis fn to_vec(&self, stream: &Stream) -> Result<Vec<$element>> {
            self.as_slice().to_vec(stream)
        }

        /// Enqueues a copy to pinned host memory, which the copy owns. See [`DeviceSlice::download`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "hipMemcpyDtoHAsync")]
        #[doc(alias = "cuMemcpyDtoHAsync")]
        $vis fn download(
            &self,
            stream: &Stream,
            destination: HostBuffer<$element>,
        ) -> Result<Pending<HostBuffer<$element>>> {
            self.as_slice().download(stream, destination)
        }

        /// Allocates a buffer with the same elements on the stream's device, and enqueues the copy. See
        /// [`DeviceSlice::try_clone`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "clone_dtod")]
        $vis fn try_clone(&self, stream: &Stream) -> Result<DeviceBuffer<$element>> {
            self.as_slice().try_clone(stream)
        }
    };
}

/// Operations that write, for memory that also has a method `as_mut_slice`.
macro_rules! writing {
    ($vis:vis, $element:ty) => {
        /// A part of the elements, exclusive.
        ///
        /// # Errors
        /// [`Error::OutOfRange`](crate::Error::OutOfRange) if the range is out of bounds.
        $vis fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, $element>> {
            self.as_mut_slice().into_slice_mut(range)
        }

        /// A part of the elements, exclusive, or `None` if the range is out of bounds.
        $vis fn try_slice_mut(
            &mut self,
            range: impl RangeBounds<usize>,
        ) -> Option<DeviceSliceMut<'_, $element>> {
            self.as_mut_slice().into_slice_mut(range).ok()
        }

        /// The elements before `middle`, and those from `middle` on: two views that can be written
        /// independently.
        ///
        /// # Errors
        /// [`Error::OutOfRange`](crate::Error::OutOfRange) if there are fewer than `middle` elements.
        $vis fn split_at_mut(
            &mut self,
            middle: usize,
        ) -> Result<(DeviceSliceMut<'_, $element>, DeviceSliceMut<'_, $element>)> {
            self.as_mut_slice().split_at_mut(middle)
        }

        /// The chunks of `size` elements, which can be written independently; the last one may be shorter.
        /// See [`DeviceSliceMut::chunks_mut`].
        ///
        /// # Errors
        /// As there.
        $vis fn chunks_mut(&mut self, size: usize) -> Result<ChunksMut<'_, $element>> {
            self.as_mut_slice().chunks_mut(size)
        }

        /// The same memory as elements of another type, exclusive. See [`DeviceSlice::cast`].
        ///
        /// # Errors
        /// As there.
        $vis fn cast_mut<U: DeviceCopy>(&mut self) -> Result<DeviceSliceMut<'_, U>> {
            self.as_mut_slice().cast_mut()
        }

        /// The bytes of the elements, exclusive.
        $vis fn as_mut_bytes(&mut self) -> DeviceSliceMut<'_, u8> {
            self.as_mut_slice().into_bytes()
        }

        /// A rectangle or box of the elements, exclusive. See [`DeviceSlice::as_rect`].
        ///
        /// # Errors
        /// As there.
        $vis fn as_mut_rect(&mut self, layout: RectLayout) -> Result<DeviceRectMut<'_, $element>> {
            self.as_mut_slice().into_rect(layout)
        }

        /// Sets every element to `value`. See [`DeviceSliceMut::fill`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "hipMemsetAsync")]
        #[doc(alias = "cudaMemsetAsync")]
        $vis fn fill(&mut self, stream: &Stream, value: $element) -> Result<()> {
            self.as_mut_slice().fill(stream, value)
        }

        /// Copies from host memory and blocks until that is done. See [`DeviceSliceMut::copy_from_host`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "hipMemcpyHtoD")]
        #[doc(alias = "cuMemcpyHtoD")]
        $vis fn copy_from_host(&mut self, stream: &Stream, source: &[$element]) -> Result<()> {
            self.as_mut_slice().copy_from_host(stream, source)
        }

        /// Enqueues a copy from other device memory. See [`DeviceSliceMut::copy_from`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "hipMemcpyDtoD")]
        #[doc(alias = "cuMemcpyDtoD")]
        $vis fn copy_from<'s>(
            &mut self,
            stream: &Stream,
            source: impl Into<DeviceSlice<'s, $element>>,
        ) -> Result<()> {
            self.as_mut_slice().copy_from(stream, source)
        }

        /// Enqueues a copy from pinned host memory, which the copy owns. See [`DeviceSliceMut::upload`].
        ///
        /// # Errors
        /// As there.
        #[doc(alias = "hipMemcpyHtoDAsync")]
        #[doc(alias = "cuMemcpyHtoDAsync")]
        $vis fn upload(
            &mut self,
            stream: &Stream,
            source: HostBuffer<$element>,
        ) -> Result<Pending<HostBuffer<$element>>> {
            self.as_mut_slice().upload(stream, source)
        }
    };
}

/// Device memory that holds an array of one type: every buffer, module variable and view of this crate. Use
/// it for functions that accept any of them. The types also have these methods themselves, so calling one
/// needs no import.
///
/// | type | memory | [`DeviceMemoryMut`] |
/// |---|---|---|
/// | [`DeviceBuffer`] | of a device | yes |
/// | [`GrowableBuffer`] | of a device, growing in place | yes |
/// | [`GraphBuffer`] | of a device, while a graph runs, and only for its nodes | yes |
/// | [`ManagedBuffer`] | that moves between host and device | yes |
/// | [`MappedBuffer`], [`RegisteredBuffer`] | of the host, which the device can access | yes |
/// | [`GlobalMut`] | a variable of a module | yes |
/// | [`Global`] | a variable of a module | no |
/// | [`DeviceSliceMut`] | a part of any of these | yes |
/// | [`DeviceSlice`] | a part of any of these | no |
///
/// Padded rows ([`PitchedBuffer`](crate::PitchedBuffer)) and parts of them are not arrays but
/// [`DeviceRect`]s.
///
/// ```no_run
/// use hip::{DeviceMemory, DeviceMemoryMut, Stream};
///
/// /// The largest element of device memory of any kind.
/// fn largest(memory: &impl DeviceMemory<Element = u32>, stream: &Stream) -> hip::Result<Option<u32>> {
///     Ok(memory.to_vec(stream)?.into_iter().max())
/// }
///
/// fn clear(memory: &mut impl DeviceMemoryMut<Element = f32>, stream: &Stream) -> hip::Result<()> {
///     memory.fill(stream, 0.0)
/// }
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not device memory", label = "not an array on a device")]
pub trait DeviceMemory: sealed::Sealed {
    /// The type of the elements.
    type Element: DeviceCopy;

    /// All elements, shared.
    fn as_slice(&self) -> DeviceSlice<'_, Self::Element>;

    measures!(,);
    reading!(, Self::Element);
}

/// [`DeviceMemory`] that can be written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not writable device memory",
    label = "not an exclusive array on a device"
)]
pub trait DeviceMemoryMut: DeviceMemory {
    /// All elements, exclusive.
    fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, Self::Element>;

    writing!(, Self::Element);
}

/// For memory with a method `as_slice`: its other methods and conversions.
macro_rules! memory {
    ($($buffer:ident)*) => {
        $(
            impl<T: DeviceCopy> $buffer<T> {
                measures!(pub,);
                reading!(pub, T);
            }

            impl<T: DeviceCopy> sealed::Sealed for $buffer<T> {}

            impl<T: DeviceCopy> DeviceMemory for $buffer<T> {
                type Element = T;

                #[inline]
                fn as_slice(&self) -> DeviceSlice<'_, T> {
                    self.as_slice()
                }
            }

            impl<'a, T: DeviceCopy> From<&'a $buffer<T>> for DeviceSlice<'a, T> {
                fn from(buffer: &'a $buffer<T>) -> Self {
                    buffer.as_slice()
                }
            }

            impl<'a, T: DeviceCopy> Pass<'a> for &'a $buffer<T> {
                #[inline]
                fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
                    self.as_slice().pass(arguments, index, check);
                }
            }

            impl<'a, T: DeviceCopy> Memory<'a> for &'a $buffer<T> {}
        )*
    };
}

/// As [`memory`], for memory that also has a method `as_mut_slice`.
macro_rules! memory_mut {
    ($($buffer:ident)*) => {
        memory!($($buffer)*);
        $(
            impl<T: DeviceCopy> $buffer<T> {
                writing!(pub, T);
            }

            impl<T: DeviceCopy> DeviceMemoryMut for $buffer<T> {
                #[inline]
                fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
                    self.as_mut_slice()
                }
            }

            impl<'a, T: DeviceCopy> From<&'a mut $buffer<T>> for DeviceSliceMut<'a, T> {
                fn from(buffer: &'a mut $buffer<T>) -> Self {
                    buffer.as_mut_slice()
                }
            }

            impl<'a, T: DeviceCopy> Pass<'a> for &'a mut $buffer<T> {
                #[inline]
                fn pass(self, arguments: &mut Arguments<'a>, index: usize, check: &Check<'_>) {
                    self.as_mut_slice().pass(arguments, index, check);
                }
            }

            impl<'a, T: DeviceCopy> Memory<'a> for &'a mut $buffer<T> {}
        )*
    };
}

memory_mut!(DeviceBuffer GraphBuffer GrowableBuffer ManagedBuffer MappedBuffer RegisteredBuffer GlobalMut);
memory!(Global);

/// The methods of a shared view, for as long as the exclusive one is borrowed.
impl<T: DeviceCopy> DeviceSliceMut<'_, T> {
    reading!(pub, T);
}

impl<T: DeviceCopy> sealed::Sealed for DeviceSlice<'_, T> {}
impl<T: DeviceCopy> sealed::Sealed for DeviceSliceMut<'_, T> {}

impl<T: DeviceCopy> DeviceMemory for DeviceSlice<'_, T> {
    type Element = T;

    fn as_slice(&self) -> DeviceSlice<'_, T> {
        *self
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceSliceMut<'_, T> {
    type Element = T;

    fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.as_slice()
    }
}

impl<T: DeviceCopy> DeviceMemoryMut for DeviceSliceMut<'_, T> {
    fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.reborrow()
    }
}
