//! Conversions from and to arrays of the crate `ndarray`.
//!
//! A copy to a device keeps the order, row-major or column-major, but not the gaps: memory between the
//! elements of a view is never copied.

use std::borrow::Cow;
use std::fmt;

use hip::{DeviceBuffer, DeviceCopy, DeviceSlice, RectLayout, Stream};
use ndarray::{
    Array1, Array2, Array3, ArrayBase, ArrayView1, ArrayView2, ArrayView3, Axis, CowRepr, Ix3, ShapeBuilder,
};

use crate::Element;
use crate::error::{Error, Result};
use crate::layout::{Batch, Layout, MatrixLayout, Order, VectorLayout};
use crate::view::{Matrix, MatrixMut, Vector, VectorMut, View, ViewMut};

/// An owned vector or matrix in device memory: a buffer and a layout. See [`DeviceVector`], [`DeviceMatrix`].
pub struct DeviceArray<T: DeviceCopy, L> {
    buffer: DeviceBuffer<T>,
    layout: L,
}

/// An owned vector in device memory.
pub type DeviceVector<T> = DeviceArray<T, VectorLayout>;

/// An owned matrix in device memory, or a batch of them.
///
/// ```
/// use ndarray::{Array2, array};
/// use rocblas::{Blas, DeviceMatrix};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let stream = hip::Device::open("vgpu:gfx1100")?.stream()?;
/// let blas = Blas::new(&stream)?;
/// let a = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// // Any view will do: transposed, strided, reversed.
/// let a_t = DeviceMatrix::from_array(&stream, a.t())?;
/// let a = DeviceMatrix::from_array(&stream, a.view())?;
/// let mut c = DeviceMatrix::from_array(&stream, Array2::zeros((2, 2)).view())?;
/// blas.gemm(&a.view(), &a_t.view(), &mut c.view_mut()).run()?;
/// assert_eq!(c.view().to_array(&stream)?, array![[14.0, 32.0], [32.0, 77.0]]);
/// # Ok(())
/// # }
/// ```
pub type DeviceMatrix<T> = DeviceArray<T, MatrixLayout>;

impl<T: Element, L: Layout> DeviceArray<T, L> {
    /// A vector or matrix in a buffer that has room for the layout.
    ///
    /// # Errors
    /// As [`ViewMut::new`].
    pub fn new(mut buffer: DeviceBuffer<T>, layout: L) -> Result<Self> {
        ViewMut::new(&mut buffer, layout)?;
        Ok(Self { buffer, layout })
    }

    /// The elements, for reading.
    #[must_use]
    pub fn view(&self) -> View<'_, T, L> {
        View::fits(self.buffer.as_slice(), self.layout)
    }

    /// The elements, for writing.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T, L> {
        ViewMut::fits(self.buffer.as_mut_slice(), self.layout)
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// The buffer and the layout of its elements.
    #[must_use]
    pub fn into_parts(self) -> (DeviceBuffer<T>, L) {
        (self.buffer, self.layout)
    }
}

impl<T: DeviceCopy, L: fmt::Debug> fmt::Debug for DeviceArray<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut array = f.debug_struct("DeviceArray");
        array.field("type", &std::any::type_name::<T>()).field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl<T: Element> DeviceVector<T> {
    /// Copies a one-dimensional array to the stream's device, without gaps, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn from_array(stream: &Stream, array: ArrayView1<'_, T>) -> Result<Self> {
        let values = array.as_standard_layout();
        let buffer = DeviceBuffer::from_slice(stream, in_memory(&values))?;
        Self::new(buffer, VectorLayout::new(array.len()))
    }
}

impl<T: Element> DeviceMatrix<T> {
    /// Copies a two-dimensional array to the stream's device and waits for the copy. The order is that of the
    /// array: column-major if its columns are more contiguous than its rows, else row-major.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn from_array(stream: &Stream, array: ArrayView2<'_, T>) -> Result<Self> {
        let matrix = Self::from_batch(stream, array.insert_axis(Axis(0)))?;
        let mut layout = matrix.layout;
        layout.set_batch(Batch::One);
        Ok(Self { layout, ..matrix })
    }

    /// The same for a batch of matrices along the first axis.
    ///
    /// # Errors
    /// As [`from_array`](Self::from_array).
    pub fn from_batch(stream: &Stream, array: ArrayView3<'_, T>) -> Result<Self> {
        let (count, rows, cols) = array.dim();
        let order = order(&array);
        let values = in_order(array, order);
        let layout = match order {
            Order::RowMajor => MatrixLayout::row_major(rows, cols),
            Order::ColumnMajor => MatrixLayout::column_major(rows, cols),
        };
        let buffer = DeviceBuffer::from_slice(stream, in_memory(&values))?;
        Self::new(buffer, layout.with_batch(count, rows * cols))
    }
}

/// The order of copies of an array.
fn order<T>(array: &ArrayView3<'_, T>) -> Order {
    let [_, down, right] = [0, 1, 2].map(|axis| array.strides()[axis].unsigned_abs());
    let (rows, cols) = (array.len_of(Axis(1)), array.len_of(Axis(2)));
    // The stride of an axis with one element is meaningless.
    let is_column_major =
        if cols <= 1 { down <= 1 && rows > 1 && right > 1 } else { rows > 1 && down < right };
    if is_column_major { Order::ColumnMajor } else { Order::RowMajor }
}

/// The elements in an order without gaps, one matrix after the other; copies only if necessary.
fn in_order<T: Element>(array: ArrayView3<'_, T>, order: Order) -> ArrayBase<CowRepr<'_, T>, Ix3> {
    let array = match order {
        Order::RowMajor => array,
        Order::ColumnMajor => array.permuted_axes([0, 2, 1]),
    };
    match array.is_standard_layout() {
        true => array.into(),
        false => array.as_standard_layout().into_owned().into(),
    }
}

/// The elements of an array in standard layout.
fn in_memory<'a, T, D: ndarray::Dimension>(array: &'a ArrayBase<CowRepr<'_, T>, D>) -> &'a [T] {
    array.as_slice().unwrap_or_default()
}

/// Rows of contiguous elements, and the distance between rows.
struct Rows {
    size: [usize; 2],
    pitch: usize,
}

impl Rows {
    fn of_matrix(layout: &MatrixLayout) -> Self {
        let (inner, outer) = match layout.order() {
            Order::RowMajor => (layout.cols(), layout.rows()),
            Order::ColumnMajor => (layout.rows(), layout.cols()),
        };
        Self { size: [inner, outer], pitch: layout.ld() }
    }

    fn of_vector(layout: &VectorLayout) -> Self {
        Self { size: [1, layout.len()], pitch: layout.increment().unsigned_abs() }
    }

    fn rect(&self) -> RectLayout {
        RectLayout::plane(self.size, self.pitch)
    }
}

/// Reads the elements of a batch, one after the other, without gaps.
fn read<T: Element>(stream: &Stream, items: &[DeviceSlice<'_, T>], rows: &Rows) -> Result<Vec<T>> {
    let mut values = Vec::new();
    for item in items {
        let read = item.as_rect(rows.rect())?.to_vec(stream)?;
        if values.is_empty() {
            values = read;
        } else {
            values.extend(read);
        }
    }
    Ok(values)
}

/// An error unless the view is a single one or a batch of one.
fn single<L: Layout>(operation: &'static str, layout: &L) -> Result<()> {
    match layout.batch().count() {
        1 => Ok(()),
        got => Err(Error::BatchCount { operation, operand: "view", expected: 1, got }),
    }
}

/// Converts the error of making an array whose size its view knows.
fn made<A>(array: Result<A, ndarray::ShapeError>) -> Result<A> {
    // The elements were in memory, so this cannot fail.
    array.map_err(|_| Error::Layout { operand: "view", source: crate::LayoutError::TooLarge })
}

impl<T: Element> Vector<'_, T> {
    /// Copies the elements to an array, in order, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::BatchCount`] for a batch of several, else [`Error::Hip`].
    pub fn to_array(&self, stream: &Stream) -> Result<Array1<T>> {
        single("to_array", self.layout())?;
        let mut values = read(stream, &self.items()?, &Rows::of_vector(self.layout()))?;
        if self.layout().increment() < 0 {
            values.reverse();
        }
        Ok(Array1::from_vec(values))
    }
}

impl<T: Element> Matrix<'_, T> {
    /// Copies the elements to an array of the same order, and waits for the copy. A conjugated view gives
    /// conjugated elements.
    ///
    /// # Errors
    /// [`Error::BatchCount`] for a batch of several, else [`Error::Hip`].
    pub fn to_array(&self, stream: &Stream) -> Result<Array2<T>> {
        single("to_array", self.layout())?;
        let (rows, cols) = (self.rows(), self.cols());
        let shape = (rows, cols).set_f(self.layout().order() == Order::ColumnMajor);
        made(Array2::from_shape_vec(shape, self.values(stream)?))
    }

    /// Copies a batch to an array with the matrices along the first axis, in the same order, and waits for
    /// the copy.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn to_batch(&self, stream: &Stream) -> Result<Array3<T>> {
        let (count, rows, cols) = (self.layout().batch().count(), self.rows(), self.cols());
        let values = self.values(stream)?;
        match self.layout().order() {
            Order::RowMajor => made(Array3::from_shape_vec((count, rows, cols), values)),
            Order::ColumnMajor => {
                let transposed = made(Array3::from_shape_vec((count, cols, rows), values))?;
                Ok(transposed.permuted_axes([0, 2, 1]))
            }
        }
    }

    fn values(&self, stream: &Stream) -> Result<Vec<T>> {
        let mut values = read(stream, &self.items()?, &Rows::of_matrix(self.layout()))?;
        if self.layout().is_conjugated() {
            values.iter_mut().for_each(|value| *value = value.conjugate());
        }
        Ok(values)
    }
}

impl<T: Element> VectorMut<'_, T> {
    /// Copies the elements of an array to those of the vector, and waits for the copy. Memory between the
    /// elements is unchanged.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::BatchCount`] for a batch of several, else
    /// [`Error::Hip`].
    pub fn assign(&mut self, stream: &Stream, array: ArrayView1<'_, T>) -> Result<()> {
        single("assign", self.layout())?;
        same("elements", self.len(), array.len())?;
        let layout = *self.layout();
        let array = if layout.increment() < 0 { array.slice_move(ndarray::s![..;-1]) } else { array };
        let values = array.as_standard_layout();
        self.write(stream, &Rows::of_vector(&layout), in_memory(&values))
    }
}

impl<T: Element> MatrixMut<'_, T> {
    /// Copies the elements of an array to those of the matrix, whatever the order of either, and waits for
    /// the copy. Memory between the elements is unchanged.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shapes differ, [`Error::BatchCount`] for a batch of several, else
    /// [`Error::Hip`].
    pub fn assign(&mut self, stream: &Stream, array: ArrayView2<'_, T>) -> Result<()> {
        single("assign", self.layout())?;
        same("rows", self.rows(), array.nrows())?;
        same("columns", self.cols(), array.ncols())?;
        let layout = *self.layout();
        let values = in_order(array.insert_axis(Axis(0)), layout.order());
        let mut values = Cow::Borrowed(in_memory(&values));
        if layout.is_conjugated() && T::IS_COMPLEX {
            values.to_mut().iter_mut().for_each(|value| *value = value.conjugate());
        }
        self.write(stream, &Rows::of_matrix(&layout), &values)
    }
}

impl<T: Element, L: Layout> ViewMut<'_, T, L> {
    fn write(&mut self, stream: &Stream, rows: &Rows, values: &[T]) -> Result<()> {
        match self.only() {
            Some(mut item) => Ok(item.as_mut_rect(rows.rect())?.copy_from_host(stream, values)?),
            None => Ok(()),
        }
    }
}

fn same(what: &'static str, expected: usize, got: usize) -> Result<()> {
    match expected == got {
        true => Ok(()),
        false => Err(Error::Shape { operation: "assign", operand: "array", what, expected, got }),
    }
}
