//! Vectors and matrices in device memory: layouts over borrowed buffers.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hip::{DeviceSlice, DeviceSliceMut};

use crate::Element;
use crate::error::{Error, Result};
use crate::layout::{BandLayout, Batch, Layout, LayoutError, MatrixLayout, PackedLayout, VectorLayout};

/// An operand in device memory for reading: see [`Vector`], [`Matrix`], [`Band`], [`Packed`].
pub struct View<'a, T, L> {
    pub(crate) storage: Storage<'a, T>,
    layout: L,
}

/// An operand in device memory for writing: see [`VectorMut`], [`MatrixMut`], [`PackedMut`].
pub struct ViewMut<'a, T, L> {
    pub(crate) storage: StorageMut<'a, T>,
    layout: L,
}

/// A vector in device memory, or a batch of them.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = hip::Device::open("auto")?.stream()?;
/// use rocblas::{Vector, VectorLayout};
///
/// let buffer = hip::DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0, 4.0])?;
/// let all = Vector::of(&buffer)?;
/// let odd = Vector::new(&buffer, VectorLayout::new(2).with_increment(2))?;
/// # Ok(())
/// # }
/// ```
pub type Vector<'a, T> = View<'a, T, VectorLayout>;
/// A vector in device memory, for writing.
pub type VectorMut<'a, T> = ViewMut<'a, T, VectorLayout>;
/// A matrix in device memory, or a batch of them.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = hip::Device::open("auto")?.stream()?;
/// use rocblas::{Matrix, MatrixLayout};
///
/// let buffer = hip::DeviceBuffer::<f32>::zeroed(&stream, 12)?;
/// let a = Matrix::new(&buffer, MatrixLayout::row_major(3, 4))?;
/// assert_eq!((a.t().rows(), a.t().cols()), (4, 3));
/// # Ok(())
/// # }
/// ```
pub type Matrix<'a, T> = View<'a, T, MatrixLayout>;
/// A matrix in device memory, for writing.
pub type MatrixMut<'a, T> = ViewMut<'a, T, MatrixLayout>;
/// A band matrix in device memory, or a batch of them.
pub type Band<'a, T> = View<'a, T, BandLayout>;
/// A packed triangle of a matrix in device memory, or a batch of them.
pub type Packed<'a, T> = View<'a, T, PackedLayout>;
/// A packed triangle of a matrix in device memory, for writing.
pub type PackedMut<'a, T> = ViewMut<'a, T, PackedLayout>;

pub(crate) enum Storage<'a, T> {
    One(DeviceSlice<'a, T>),
    Many(Arc<[DeviceSlice<'a, T>]>),
}

pub(crate) enum StorageMut<'a, T> {
    One(DeviceSliceMut<'a, T>),
    Many(Vec<DeviceSliceMut<'a, T>>),
}

impl<T> Clone for Storage<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::One(slice) => Self::One(*slice),
            Self::Many(slices) => Self::Many(slices.clone()),
        }
    }
}

impl<T, L: Copy> Clone for View<'_, T, L> {
    fn clone(&self) -> Self {
        Self { storage: self.storage.clone(), layout: self.layout }
    }
}

fn refused(source: LayoutError) -> Error {
    Error::Layout { operand: "view", source }
}

/// An error unless the memory has room for a layout.
fn check_room(needed: usize, len: usize) -> Result<()> {
    if needed <= len { Ok(()) } else { Err(refused(LayoutError::OutOfBounds { needed, len })) }
}

/// The start of each member of a batch; 0 if they have no elements.
#[cfg(feature = "ndarray")]
fn places(layout: &impl Layout) -> impl Iterator<Item = usize> {
    let (count, stride) = match layout.batch() {
        Batch::Strided { count, stride } => (count, stride),
        batch => (batch.count(), 0),
    };
    let stride = if layout.span() == Ok(0) { 0 } else { stride };
    (0..count).map(move |index| index * stride)
}

impl<'a, T: Element, L: Layout> View<'a, T, L> {
    /// Makes a view of a buffer, or of a part of one, with a layout.
    ///
    /// # Errors
    /// [`Error::Layout`] if the layout is invalid, or the memory ends before its last element.
    pub fn new(data: impl Into<DeviceSlice<'a, T>>, layout: L) -> Result<Self> {
        let data = data.into();
        check_room(layout.needed().map_err(refused)?, data.len())?;
        Ok(Self { storage: Storage::One(data), layout })
    }

    /// Makes a batch of views with one layout, each with its own memory. Calls then use the form with an
    /// array of pointers.
    ///
    /// # Errors
    /// As [`new`](Self::new), for each view. The batch of the layout is ignored.
    pub fn from_slices(data: impl IntoIterator<Item = DeviceSlice<'a, T>>, mut layout: L) -> Result<Self> {
        let slices: Arc<[_]> = data.into_iter().collect();
        layout.set_batch(Batch::Pointers { count: slices.len() });
        let needed = layout.needed().map_err(refused)?;
        slices.iter().try_for_each(|slice| check_room(needed, slice.len()))?;
        Ok(Self { storage: Storage::Many(slices), layout })
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// A view with a layout that is known to fit.
    #[cfg(feature = "ndarray")]
    pub(crate) fn fits(data: DeviceSlice<'a, T>, layout: L) -> Self {
        Self { storage: Storage::One(data), layout }
    }

    /// The memory of each member of the batch, from its first element on.
    #[cfg(feature = "ndarray")]
    pub(crate) fn items(&self) -> Result<Vec<DeviceSlice<'a, T>>> {
        match &self.storage {
            Storage::One(slice) => places(&self.layout).map(|place| Ok(slice.slice(place..)?)).collect(),
            Storage::Many(slices) => Ok(slices.to_vec()),
        }
    }

    /// The same memory with a layout that is known to fit.
    fn with(&self, layout: L) -> Self {
        Self { storage: self.storage.clone(), layout }
    }

    /// A part of it, from an index on.
    fn part<P: Layout>(&self, start: usize, layout: P) -> Result<View<'a, T, P>> {
        match &self.storage {
            Storage::One(slice) => View::new(slice.slice(start..)?, layout),
            Storage::Many(_) => Err(refused(LayoutError::PartOfPointers)),
        }
    }
}

impl<'a, T: Element, L: Layout> ViewMut<'a, T, L> {
    /// Makes a view for writing of a buffer, or of a part of one, with a layout.
    ///
    /// # Errors
    /// [`Error::Layout`] if the layout is invalid, two of its elements overlap, or the memory ends before its
    /// last element.
    pub fn new(data: impl Into<DeviceSliceMut<'a, T>>, layout: L) -> Result<Self> {
        let data = data.into();
        layout.check_written().map_err(refused)?;
        check_room(layout.needed().map_err(refused)?, data.len())?;
        Ok(Self { storage: StorageMut::One(data), layout })
    }

    /// Makes a batch of views with one layout, each with its own memory. Calls then use the form with an
    /// array of pointers.
    ///
    /// # Errors
    /// As [`new`](Self::new), for each view. The batch of the layout is ignored.
    pub fn from_slices(data: impl IntoIterator<Item = DeviceSliceMut<'a, T>>, mut layout: L) -> Result<Self> {
        let slices: Vec<_> = data.into_iter().collect();
        layout.set_batch(Batch::Pointers { count: slices.len() });
        let needed = layout.needed().map_err(refused)?;
        slices.iter().try_for_each(|slice| check_room(needed, slice.len()))?;
        Ok(Self { storage: StorageMut::Many(slices), layout })
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// A view with a layout that is known to fit.
    #[cfg(feature = "ndarray")]
    pub(crate) fn fits(data: DeviceSliceMut<'a, T>, layout: L) -> Self {
        Self { storage: StorageMut::One(data), layout }
    }

    /// The memory of a single view.
    #[cfg(feature = "ndarray")]
    pub(crate) fn only(&mut self) -> Option<DeviceSliceMut<'_, T>> {
        match &mut self.storage {
            StorageMut::One(slice) => Some(slice.reborrow()),
            StorageMut::Many(slices) => slices.first_mut().map(DeviceSliceMut::reborrow),
        }
    }

    /// The same elements, for reading.
    #[must_use]
    pub fn view(&self) -> View<'_, T, L> {
        let storage = match &self.storage {
            StorageMut::One(slice) => Storage::One(slice.as_slice()),
            StorageMut::Many(slices) => Storage::Many(slices.iter().map(DeviceSliceMut::as_slice).collect()),
        };
        View { storage, layout: self.layout }
    }

    /// The same elements, for as long as this view is borrowed.
    #[must_use]
    pub fn reborrow(&mut self) -> ViewMut<'_, T, L> {
        let layout = self.layout;
        self.with(layout)
    }

    fn with<P>(&mut self, layout: P) -> ViewMut<'_, T, P> {
        let storage = match &mut self.storage {
            StorageMut::One(slice) => StorageMut::One(slice.reborrow()),
            StorageMut::Many(slices) => {
                StorageMut::Many(slices.iter_mut().map(DeviceSliceMut::reborrow).collect())
            }
        };
        ViewMut { storage, layout }
    }

    fn part<P: Layout>(&mut self, start: usize, layout: P) -> Result<ViewMut<'_, T, P>> {
        match &mut self.storage {
            StorageMut::One(slice) => ViewMut::new(slice.slice_mut(start..)?, layout),
            StorageMut::Many(_) => Err(refused(LayoutError::PartOfPointers)),
        }
    }
}

impl<'a, T: Element> Vector<'a, T> {
    /// All elements of a buffer.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(data: impl Into<DeviceSlice<'a, T>>) -> Result<Self> {
        let data = data.into();
        Self::new(data, VectorLayout::new(data.len()))
    }
}

impl<'a, T: Element> VectorMut<'a, T> {
    /// All elements of a buffer.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(data: impl Into<DeviceSliceMut<'a, T>>) -> Result<Self> {
        let data = data.into();
        let layout = VectorLayout::new(data.len());
        Self::new(data, layout)
    }
}

/// Methods of vectors, for reading or writing.
macro_rules! vector {
    ($view:ident) => {
        impl<T: Element> $view<'_, T, VectorLayout> {
            /// How many elements there are.
            #[must_use]
            pub fn len(&self) -> usize {
                self.layout.len()
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.layout.is_empty()
            }
        }
    };
}

vector!(View);
vector!(ViewMut);

/// Transposed and conjugated views.
macro_rules! transposed {
    ($layout:ident) => {
        impl<'a, T: Element> View<'a, T, $layout> {
            /// The transposed matrix, without copying.
            #[must_use]
            pub fn t(&self) -> Self {
                self.with(self.layout.t())
            }

            /// The complex conjugate of the matrix, without copying.
            #[must_use]
            pub fn conj(&self) -> Self {
                self.with(self.layout.conj())
            }

            /// The conjugate transpose of the matrix, without copying.
            #[must_use]
            pub fn h(&self) -> Self {
                self.with(self.layout.h())
            }
        }

        impl<T: Element> ViewMut<'_, T, $layout> {
            /// The transposed matrix for writing, without copying.
            #[must_use]
            pub fn t_mut(&mut self) -> ViewMut<'_, T, $layout> {
                let layout = self.layout.t();
                self.with(layout)
            }
        }
    };
}

transposed!(MatrixLayout);
transposed!(PackedLayout);
transposed!(BandLayout);

macro_rules! matrix {
    ($view:ident) => {
        impl<T: Element> $view<'_, T, MatrixLayout> {
            /// How many rows there are.
            #[must_use]
            pub fn rows(&self) -> usize {
                self.layout.rows()
            }

            /// How many columns there are.
            #[must_use]
            pub fn cols(&self) -> usize {
                self.layout.cols()
            }
        }
    };
}

matrix!(View);
matrix!(ViewMut);

impl<'a, T: Element> Matrix<'a, T> {
    /// A block of rows and columns.
    ///
    /// # Errors
    /// [`Error::Layout`] if they are out of range, or the matrix is a batch by pointers.
    pub fn block(&self, rows: Range<usize>, cols: Range<usize>) -> Result<Self> {
        let (start, layout) = self.layout.block(rows, cols).map_err(refused)?;
        self.part(start, layout)
    }

    /// A row.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn row(&self, row: usize) -> Result<Vector<'a, T>> {
        let (start, layout) = self.layout.row(row).map_err(refused)?;
        self.part(start, layout)
    }

    /// A column.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn col(&self, col: usize) -> Result<Vector<'a, T>> {
        let (start, layout) = self.layout.col(col).map_err(refused)?;
        self.part(start, layout)
    }

    /// The elements on the diagonal.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn diagonal(&self) -> Result<Vector<'a, T>> {
        self.part(0, self.layout.diagonal().map_err(refused)?)
    }
}

impl<T: Element> MatrixMut<'_, T> {
    /// A block of rows and columns, for writing.
    ///
    /// # Errors
    /// [`Error::Layout`] if they are out of range, or the matrix is a batch by pointers.
    pub fn block_mut(&mut self, rows: Range<usize>, cols: Range<usize>) -> Result<MatrixMut<'_, T>> {
        let (start, layout) = self.layout.block(rows, cols).map_err(refused)?;
        self.part(start, layout)
    }

    /// A row, for writing.
    ///
    /// # Errors
    /// As [`block_mut`](Self::block_mut).
    pub fn row_mut(&mut self, row: usize) -> Result<VectorMut<'_, T>> {
        let (start, layout) = self.layout.row(row).map_err(refused)?;
        self.part(start, layout)
    }

    /// A column, for writing.
    ///
    /// # Errors
    /// As [`block_mut`](Self::block_mut).
    pub fn col_mut(&mut self, col: usize) -> Result<VectorMut<'_, T>> {
        let (start, layout) = self.layout.col(col).map_err(refused)?;
        self.part(start, layout)
    }

    /// The elements on the diagonal, for writing.
    ///
    /// # Errors
    /// As [`block_mut`](Self::block_mut).
    pub fn diagonal_mut(&mut self) -> Result<VectorMut<'_, T>> {
        let layout = self.layout.diagonal().map_err(refused)?;
        self.part(0, layout)
    }
}

impl<T, L: fmt::Debug> fmt::Debug for View<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut view = f.debug_struct("View");
        view.field("type", &std::any::type_name::<T>()).field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl<T, L: fmt::Debug> fmt::Debug for ViewMut<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut view = f.debug_struct("ViewMut");
        view.field("type", &std::any::type_name::<T>()).field("layout", &self.layout).finish_non_exhaustive()
    }
}
