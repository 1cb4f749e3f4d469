//! Layouts of vectors and matrices. The host alone uses them.

use std::ops::Range;

/// The order of the elements of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The elements of a column are contiguous, as in Fortran and in rocBLAS.
    ColumnMajor,
    /// The elements of a row are contiguous, as in C and Rust.
    RowMajor,
}

impl Order {
    /// The other order, which is that of the transposed matrix.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::ColumnMajor => Self::RowMajor,
            Self::RowMajor => Self::ColumnMajor,
        }
    }
}

/// Several vectors or matrices of one shape, for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Batch {
    /// A single one. As an input to a batch, it is used for each operation.
    One,
    /// At a fixed distance in one buffer.
    Strided {
        /// How many.
        count: usize,
        /// Elements from the beginning of one to that of the next. With zero, all are the same one, which can
        /// only be read.
        stride: usize,
    },
    /// Anywhere: found through an array of pointers.
    Pointers {
        /// How many.
        count: usize,
    },
}

impl Batch {
    /// How many there are.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Strided { count, .. } | Self::Pointers { count } => count,
        }
    }
}

/// Why a layout is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The leading dimension is less than the length of a row or column.
    #[error("the leading dimension is {ld}, but must be at least {least}")]
    LeadingDimension {
        /// What was given.
        ld: usize,
        /// The least valid value.
        least: usize,
    },
    /// An increment of zero.
    #[error("the increment of a vector must not be zero")]
    ZeroIncrement,
    /// A size, or the index of an element, does not fit into 63 bits.
    #[error("the elements cannot be addressed")]
    TooLarge,
    /// The memory ends before the last element.
    #[error("the layout spans {needed} elements, but the memory has only {len}")]
    OutOfBounds {
        /// Elements that the memory needs.
        needed: usize,
        /// Elements that it has.
        len: usize,
    },
    /// One call would write some elements twice.
    #[error("a batch of {count} with stride {stride} and length {span} overlaps, so it cannot be written")]
    Overlap {
        /// How many there are.
        count: usize,
        /// The distance between two.
        stride: usize,
        /// Elements from the first to the last of one.
        span: usize,
    },
    /// A part is outside the vector or matrix.
    #[error("{what} {start}..{end} are out of range: there are {extent}")]
    Range {
        /// Rows, columns or elements.
        what: &'static str,
        /// The first.
        start: usize,
        /// One past the last.
        end: usize,
        /// How many there are.
        extent: usize,
    },
    /// The operation is not available for a batch by pointers.
    #[error("a batch by pointers has no parts: take the part of each slice instead")]
    PartOfPointers,
}

mod sealed {
    pub trait Sealed {}
}

/// The common interface of all layouts. This trait is sealed.
pub trait Layout: Copy + PartialEq + std::fmt::Debug + sealed::Sealed {
    /// The batch.
    fn batch(&self) -> Batch;
    /// As [`batch`](Self::batch), for views to set.
    #[doc(hidden)]
    fn set_batch(&mut self, batch: Batch);
    /// Elements from the first to the last of one vector or matrix; zero if it has no elements.
    ///
    /// # Errors
    /// Why the layout is invalid.
    fn span(&self) -> Result<usize, LayoutError>;
    /// The leading dimension or increment for rocBLAS's functions.
    #[doc(hidden)]
    fn leading(&self) -> i64;

    /// The elements that memory needs for the whole batch, or for each slice of a batch by pointers.
    ///
    /// # Errors
    /// Why the layout is invalid.
    fn needed(&self) -> Result<usize, LayoutError> {
        let span = self.span()?;
        let needed = match self.batch() {
            Batch::Strided { count: 0, .. } => 0,
            Batch::Strided { count, stride } if span > 0 => (count - 1)
                .checked_mul(stride)
                .and_then(|distance| distance.checked_add(span))
                .ok_or(LayoutError::TooLarge)?,
            _ => span,
        };
        i64::try_from(needed).map(|_| needed).map_err(|_| LayoutError::TooLarge)
    }

    /// An error unless all elements can be written at once, because none overlap.
    ///
    /// # Errors
    /// [`LayoutError::Overlap`].
    fn check_written(&self) -> Result<(), LayoutError> {
        match self.batch() {
            Batch::Strided { count, stride } if count > 1 && stride < self.span()? => {
                Err(LayoutError::Overlap { count, stride, span: self.span()? })
            }
            _ => Ok(()),
        }
    }
}

/// A size for rocBLAS's functions.
fn signed(size: usize) -> i64 {
    // `span` refuses layouts whose sizes do not fit.
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// `(count - 1) * step + last`, if it fits.
fn extent(count: usize, step: usize, last: usize) -> Result<usize, LayoutError> {
    if count == 0 || last == 0 {
        return Ok(0);
    }
    let span = (count - 1).checked_mul(step).and_then(|distance| distance.checked_add(last));
    span.filter(|span| i64::try_from(*span).is_ok()).ok_or(LayoutError::TooLarge)
}

/// An error unless the sizes fit rocBLAS's types.
fn check_sizes(sizes: &[usize]) -> Result<(), LayoutError> {
    if sizes.iter().all(|size| i64::try_from(*size).is_ok()) { Ok(()) } else { Err(LayoutError::TooLarge) }
}

/// The layout of a vector.
///
/// ```
/// use rocblas::{Layout, VectorLayout};
///
/// let every_third = VectorLayout::new(4).with_increment(3);
/// assert_eq!(every_third.span()?, 10);
/// # Ok::<(), rocblas::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorLayout {
    len: usize,
    increment: isize,
    batch: Batch,
}

impl VectorLayout {
    /// `len` contiguous elements.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { len, increment: 1, batch: Batch::One }
    }

    /// The same with this increment from one element to the next. If it is negative, the first element is at
    /// the end of the vector's memory.
    #[must_use]
    pub fn with_increment(self, increment: isize) -> Self {
        Self { increment, ..self }
    }

    /// `count` of them, `stride` elements apart.
    #[must_use]
    pub fn with_batch(self, count: usize, stride: usize) -> Self {
        Self { batch: Batch::Strided { count, stride }, ..self }
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The increment from one element to the next.
    #[must_use]
    pub fn increment(&self) -> isize {
        self.increment
    }

    /// The same elements in reverse order.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { increment: self.increment.saturating_neg(), ..self }
    }

    /// The same elements with a positive increment, if their order does not matter.
    pub(crate) fn forward(self) -> Self {
        Self { increment: self.increment.saturating_abs(), ..self }
    }
}

impl sealed::Sealed for VectorLayout {}

impl Layout for VectorLayout {
    fn batch(&self) -> Batch {
        self.batch
    }

    fn set_batch(&mut self, batch: Batch) {
        self.batch = batch;
    }

    fn span(&self) -> Result<usize, LayoutError> {
        check_sizes(&[self.len])?;
        match self.increment {
            0 => Err(LayoutError::ZeroIncrement),
            isize::MIN => Err(LayoutError::TooLarge),
            increment => extent(self.len, increment.unsigned_abs(), 1),
        }
    }

    fn leading(&self) -> i64 {
        self.increment as i64
    }
}

/// The layout of a matrix.
///
/// ```
/// use rocblas::{Layout, MatrixLayout, Order};
///
/// let a = MatrixLayout::row_major(3, 5).with_ld(8);
/// assert_eq!((a.rows(), a.cols(), a.span()?), (3, 5, 21));
/// let t = a.t();
/// assert_eq!((t.rows(), t.cols(), t.order()), (5, 3, Order::ColumnMajor));
/// # Ok::<(), rocblas::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixLayout {
    rows: usize,
    cols: usize,
    ld: usize,
    order: Order,
    conjugated: bool,
    batch: Batch,
}

impl MatrixLayout {
    /// Column by column, without gaps.
    #[must_use]
    pub fn column_major(rows: usize, cols: usize) -> Self {
        Self { rows, cols, ld: rows.max(1), order: Order::ColumnMajor, conjugated: false, batch: Batch::One }
    }

    /// Row by row, without gaps.
    #[must_use]
    pub fn row_major(rows: usize, cols: usize) -> Self {
        Self { rows, cols, ld: cols.max(1), order: Order::RowMajor, conjugated: false, batch: Batch::One }
    }

    /// The same with this leading dimension: the distance from one row, or one column, to the next.
    #[must_use]
    pub fn with_ld(self, ld: usize) -> Self {
        Self { ld, ..self }
    }

    /// `count` of them, `stride` elements apart.
    #[must_use]
    pub fn with_batch(self, count: usize, stride: usize) -> Self {
        Self { batch: Batch::Strided { count, stride }, ..self }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The leading dimension: the distance from one row, or one column, to the next.
    #[must_use]
    pub fn ld(&self) -> usize {
        self.ld
    }

    /// The order of the elements.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Whether the matrix is the complex conjugate of the contents of memory.
    #[must_use]
    pub fn is_conjugated(&self) -> bool {
        self.conjugated
    }

    /// The transposed matrix, in the same memory.
    #[must_use]
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, order: self.order.flipped(), ..self }
    }

    /// The complex conjugate of the matrix, in the same memory; for real numbers, the matrix itself.
    #[must_use]
    pub fn conj(self) -> Self {
        Self { conjugated: !self.conjugated, ..self }
    }

    /// The conjugate transpose of the matrix, in the same memory.
    #[must_use]
    pub fn h(self) -> Self {
        self.t().conj()
    }

    /// The index of an element.
    pub(crate) fn place(&self, row: usize, col: usize) -> usize {
        match self.order {
            Order::ColumnMajor => col * self.ld + row,
            Order::RowMajor => row * self.ld + col,
        }
    }

    /// A block of rows and columns, and the index of its first element.
    pub(crate) fn block(&self, rows: Range<usize>, cols: Range<usize>) -> Result<(usize, Self), LayoutError> {
        check_range("rows", &rows, self.rows)?;
        check_range("columns", &cols, self.cols)?;
        self.span()?;
        let (height, width) = (rows.len(), cols.len());
        let start = if height == 0 || width == 0 { 0 } else { self.place(rows.start, cols.start) };
        Ok((start, Self { rows: height, cols: width, ..*self }))
    }

    /// A row, and the index of its first element.
    pub(crate) fn row(&self, row: usize) -> Result<(usize, VectorLayout), LayoutError> {
        let (start, _) = self.block(row..row.saturating_add(1), 0..self.cols)?;
        let increment = if self.order == Order::RowMajor { 1 } else { self.ld };
        Ok((start, self.line(self.cols, increment)))
    }

    /// A column, and the index of its first element.
    pub(crate) fn col(&self, col: usize) -> Result<(usize, VectorLayout), LayoutError> {
        let (start, _) = self.block(0..self.rows, col..col.saturating_add(1))?;
        let increment = if self.order == Order::ColumnMajor { 1 } else { self.ld };
        Ok((start, self.line(self.rows, increment)))
    }

    /// The elements on the diagonal.
    pub(crate) fn diagonal(&self) -> Result<VectorLayout, LayoutError> {
        self.span()?;
        let increment = self.ld.checked_add(1).ok_or(LayoutError::TooLarge)?;
        Ok(self.line(self.rows.min(self.cols), increment))
    }

    fn line(&self, len: usize, increment: usize) -> VectorLayout {
        VectorLayout { len, increment: isize::try_from(increment).unwrap_or(isize::MIN), batch: self.batch }
    }
}

fn check_range(what: &'static str, range: &Range<usize>, extent: usize) -> Result<(), LayoutError> {
    if range.start <= range.end && range.end <= extent {
        return Ok(());
    }
    Err(LayoutError::Range { what, start: range.start, end: range.end, extent })
}

impl sealed::Sealed for MatrixLayout {}

impl Layout for MatrixLayout {
    fn batch(&self) -> Batch {
        self.batch
    }

    fn set_batch(&mut self, batch: Batch) {
        self.batch = batch;
    }

    fn span(&self) -> Result<usize, LayoutError> {
        check_sizes(&[self.rows, self.cols, self.ld])?;
        let (inner, outer) = match self.order {
            Order::ColumnMajor => (self.rows, self.cols),
            Order::RowMajor => (self.cols, self.rows),
        };
        let least = inner.max(1);
        if self.ld < least {
            return Err(LayoutError::LeadingDimension { ld: self.ld, least });
        }
        extent(outer, self.ld, inner)
    }

    fn leading(&self) -> i64 {
        signed(self.ld)
    }
}

/// The layout of a packed triangle of a square matrix: contiguous, without the other triangle.
///
/// [`Order`] is that of the matrix: the upper triangle column by column is `a00 a01 a11 a02 …`, and row by
/// row `a00 a01 a02 … a11 …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedLayout {
    size: usize,
    order: Order,
    conjugated: bool,
    batch: Batch,
}

impl PackedLayout {
    /// `size` rows and columns in a given order.
    #[must_use]
    pub fn new(size: usize, order: Order) -> Self {
        Self { size, order, conjugated: false, batch: Batch::One }
    }

    /// `count` of them, `stride` elements apart.
    #[must_use]
    pub fn with_batch(self, count: usize, stride: usize) -> Self {
        Self { batch: Batch::Strided { count, stride }, ..self }
    }

    /// How many rows and columns there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The order of the elements.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Whether the matrix is the complex conjugate of the contents of memory.
    #[must_use]
    pub fn is_conjugated(&self) -> bool {
        self.conjugated
    }

    /// The transposed matrix, in the same memory: its other triangle.
    #[must_use]
    pub fn t(self) -> Self {
        Self { order: self.order.flipped(), ..self }
    }

    /// The complex conjugate of the matrix, in the same memory.
    #[must_use]
    pub fn conj(self) -> Self {
        Self { conjugated: !self.conjugated, ..self }
    }

    /// The conjugate transpose of the matrix, in the same memory.
    #[must_use]
    pub fn h(self) -> Self {
        self.t().conj()
    }
}

impl sealed::Sealed for PackedLayout {}

impl Layout for PackedLayout {
    fn batch(&self) -> Batch {
        self.batch
    }

    fn set_batch(&mut self, batch: Batch) {
        self.batch = batch;
    }

    fn span(&self) -> Result<usize, LayoutError> {
        check_sizes(&[self.size])?;
        let elements = self.size.checked_add(1).and_then(|more| self.size.checked_mul(more));
        let elements = elements.filter(|elements| i64::try_from(*elements).is_ok());
        elements.map(|elements| elements / 2).ok_or(LayoutError::TooLarge)
    }

    fn leading(&self) -> i64 {
        1
    }
}

/// The layout of a band matrix: the main diagonal and some diagonals on both sides of it. In column-major
/// order, each diagonal is a row in memory, and `a[i, j]` is at `j * ld + upper + i - j`. In row-major order
/// it is at `i * ld + lower + j - i`.
///
/// Memory in the corners that belongs to no element is never accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandLayout {
    rows: usize,
    cols: usize,
    lower: usize,
    upper: usize,
    ld: usize,
    order: Order,
    conjugated: bool,
    batch: Batch,
}

impl BandLayout {
    /// A matrix with `lower` diagonals below the main one and `upper` above it.
    #[must_use]
    pub fn new(rows: usize, cols: usize, lower: usize, upper: usize, order: Order) -> Self {
        let ld = lower.saturating_add(upper).saturating_add(1);
        Self { rows, cols, lower, upper, ld, order, conjugated: false, batch: Batch::One }
    }

    /// The upper triangle of a square matrix, with `diagonals` above the main one.
    #[must_use]
    pub fn upper_triangle(size: usize, diagonals: usize, order: Order) -> Self {
        Self::new(size, size, 0, diagonals, order)
    }

    /// The lower triangle of a square matrix, with `diagonals` below the main one.
    #[must_use]
    pub fn lower_triangle(size: usize, diagonals: usize, order: Order) -> Self {
        Self::new(size, size, diagonals, 0, order)
    }

    /// The same with this distance from one column, or one row, to the next.
    #[must_use]
    pub fn with_ld(self, ld: usize) -> Self {
        Self { ld, ..self }
    }

    /// `count` of them, `stride` elements apart.
    #[must_use]
    pub fn with_batch(self, count: usize, stride: usize) -> Self {
        Self { batch: Batch::Strided { count, stride }, ..self }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Diagonals below the main one.
    #[must_use]
    pub fn lower(&self) -> usize {
        self.lower
    }

    /// Diagonals above the main one.
    #[must_use]
    pub fn upper(&self) -> usize {
        self.upper
    }

    /// The distance from one column, or one row, to the next.
    #[must_use]
    pub fn ld(&self) -> usize {
        self.ld
    }

    /// The order of the elements.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Whether the matrix is the complex conjugate of the contents of memory.
    #[must_use]
    pub fn is_conjugated(&self) -> bool {
        self.conjugated
    }

    /// The transposed matrix, in the same memory.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            lower: self.upper,
            upper: self.lower,
            order: self.order.flipped(),
            ..self
        }
    }

    /// The complex conjugate of the matrix, in the same memory.
    #[must_use]
    pub fn conj(self) -> Self {
        Self { conjugated: !self.conjugated, ..self }
    }

    /// The conjugate transpose of the matrix, in the same memory.
    #[must_use]
    pub fn h(self) -> Self {
        self.t().conj()
    }
}

impl sealed::Sealed for BandLayout {}

impl Layout for BandLayout {
    fn batch(&self) -> Batch {
        self.batch
    }

    fn set_batch(&mut self, batch: Batch) {
        self.batch = batch;
    }

    fn span(&self) -> Result<usize, LayoutError> {
        check_sizes(&[self.rows, self.cols, self.lower, self.upper, self.ld])?;
        let least = self.lower.saturating_add(self.upper).saturating_add(1);
        if self.ld < least {
            return Err(LayoutError::LeadingDimension { ld: self.ld, least });
        }
        let outer = match self.order {
            Order::ColumnMajor => self.cols,
            Order::RowMajor => self.rows,
        };
        if self.rows == 0 || self.cols == 0 { Ok(0) } else { extent(outer, self.ld, least) }
    }

    fn leading(&self) -> i64 {
        signed(self.ld)
    }
}

#[cfg(test)]
mod tests;
