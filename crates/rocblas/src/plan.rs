//! Plans calls for matrices of either order, because BLAS itself only knows column-major ones.
//!
//! A row-major matrix is a transposed column-major one. If the function has a transposition argument for the
//! operand, that argument expresses it. If not, as for every result, the whole equation is transposed. A
//! matrix that would have to be conjugated but not transposed is refused, because BLAS has no form for it.

use rocblas_sys::{rocblas_diagonal, rocblas_fill, rocblas_operation, rocblas_side};

use crate::error::{Error, Result};
use crate::layout::{BandLayout, MatrixLayout, Order, PackedLayout};

/// The side of a matrix in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// `A B`.
    Left,
    /// `B A`.
    Right,
}

/// The triangle of a matrix that is used, including the diagonal. It refers to the matrix of the view: the
/// upper triangle of `a.t()` is the lower one of `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// On and above the diagonal.
    Upper,
    /// On and below the diagonal.
    Lower,
}

/// The diagonal of a triangular matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Diag {
    /// The values in memory.
    NonUnit,
    /// Ones, whatever is in memory.
    Unit,
}

impl Side {
    pub(crate) fn raw(self, flip: bool) -> rocblas_side {
        match (self, flip) {
            (Self::Left, false) | (Self::Right, true) => rocblas_side::rocblas_side_left,
            (Self::Right, false) | (Self::Left, true) => rocblas_side::rocblas_side_right,
        }
    }
}

impl Fill {
    pub(crate) fn raw(self, flip: bool) -> rocblas_fill {
        match (self, flip) {
            (Self::Upper, false) | (Self::Lower, true) => rocblas_fill::rocblas_fill_upper,
            (Self::Lower, false) | (Self::Upper, true) => rocblas_fill::rocblas_fill_lower,
        }
    }
}

impl Diag {
    pub(crate) fn raw(self) -> rocblas_diagonal {
        match self {
            Self::NonUnit => rocblas_diagonal::rocblas_diagonal_non_unit,
            Self::Unit => rocblas_diagonal::rocblas_diagonal_unit,
        }
    }
}

/// How an operand relates to its memory, seen as a column-major matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its name, for errors.
    pub(crate) name: &'static str,
    pub(crate) transposed: bool,
    pub(crate) conjugated: bool,
}

/// How a layout is seen.
pub(crate) trait Look {
    fn order(&self) -> Order;
    fn is_conjugated(&self) -> bool;

    /// An operand with this layout. Real numbers are never conjugated.
    fn seen(&self, name: &'static str, complex: bool) -> Seen {
        let transposed = self.order() == Order::RowMajor;
        Seen { name, transposed, conjugated: complex && self.is_conjugated() }
    }
}

macro_rules! look {
    ($($layout:ident)*) => {$(
        impl Look for $layout {
            fn order(&self) -> Order {
                $layout::order(self)
            }

            fn is_conjugated(&self) -> bool {
                $layout::is_conjugated(self)
            }
        }
    )*};
}

look!(MatrixLayout PackedLayout BandLayout);

impl Seen {
    /// The operand in the transposed equation, if that is computed.
    pub(crate) fn flipped(self, flip: bool) -> Self {
        Self { transposed: self.transposed != flip, ..self }
    }

    /// The operand in the conjugated equation, if that is computed.
    pub(crate) fn conjugated(self, conjugate: bool) -> Self {
        Self { conjugated: self.conjugated != conjugate, ..self }
    }

    /// The transposition argument. Real numbers have no conjugates.
    pub(crate) fn operation(self, operation: &'static str) -> Result<rocblas_operation> {
        match (self.transposed, self.conjugated) {
            (false, false) => Ok(rocblas_operation::rocblas_operation_none),
            (true, false) => Ok(rocblas_operation::rocblas_operation_transpose),
            (true, true) => Ok(rocblas_operation::rocblas_operation_conjugate_transpose),
            (false, true) => Err(self.unspeakable(operation)),
        }
    }

    #[cold]
    fn unspeakable(self, operation: &'static str) -> Error {
        Error::Conjugation { operation, operand: self.name }
    }

    /// An error if the operand is conjugated, since no argument can express that.
    pub(crate) fn plain(self, operation: &'static str) -> Result<()> {
        if self.conjugated { Err(self.unspeakable(operation)) } else { Ok(()) }
    }

    /// For a symmetric matrix, which is its own transpose, or a Hermitian one, whose transpose is its
    /// conjugate: an error if it is then conjugated.
    pub(crate) fn own_transpose(self, operation: &'static str, hermitian: bool) -> Result<()> {
        self.conjugated(hermitian && self.transposed).plain(operation)
    }
}

/// Whether the order of the result requires transposing the whole equation.
pub(crate) fn written(operation: &'static str, result: Seen) -> Result<bool> {
    result.plain(operation)?;
    Ok(result.transposed)
}

/// An error unless `operand`, which has no transposition argument, has the same order as `other`.
pub(crate) fn same_order(operation: &'static str, operand: Seen, other: Seen) -> Result<()> {
    if operand.transposed == other.transposed {
        return Ok(());
    }
    Err(Error::Order { operation, operand: operand.name, other: other.name })
}

/// The triangle of a band matrix in memory, and how many diagonals it has besides the main one.
pub(crate) fn triangle(
    operation: &'static str,
    operand: &'static str,
    band: &BandLayout,
) -> Result<(rocblas_fill, usize)> {
    let flip = band.order() == Order::RowMajor;
    match (band.lower(), band.upper()) {
        (lower, upper) if band.rows() != band.cols() || (lower > 0 && upper > 0) => {
            Err(Error::Triangle { operation, operand, lower, upper })
        }
        (0, upper) => Ok((Fill::Upper.raw(flip), upper)),
        (lower, _) => Ok((Fill::Lower.raw(flip), lower)),
    }
}

/// An error unless a size is as expected.
pub(crate) fn same(
    operation: &'static str,
    (operand, what): (&'static str, &'static str),
    got: usize,
    expected: usize,
) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Shape { operation, operand, what, expected, got }) }
}

/// An error unless a matrix has the expected shape.
pub(crate) fn same_shape(
    operation: &'static str,
    operand: &'static str,
    got: &MatrixLayout,
    (rows, cols): (usize, usize),
) -> Result<()> {
    same(operation, (operand, "rows"), got.rows(), rows)?;
    same(operation, (operand, "columns"), got.cols(), cols)
}

/// The size of a square matrix; an error if it is not square.
pub(crate) fn square(operation: &'static str, operand: &'static str, layout: &MatrixLayout) -> Result<usize> {
    same(operation, (operand, "columns"), layout.cols(), layout.rows())?;
    Ok(layout.rows())
}

/// The operations of a product `C = A B`, and whether `A` and `B` change places because `C` is row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Multiplication {
    pub(crate) flip: bool,
    /// The operation of the first matrix.
    pub(crate) first: rocblas_operation,
    pub(crate) second: rocblas_operation,
    /// Rows and columns of the computed result, and the length of the sums.
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
}

/// `C = A B`.
pub(crate) fn multiplication(
    operation: &'static str,
    complex: bool,
    a: &MatrixLayout,
    b: &MatrixLayout,
    c: &MatrixLayout,
) -> Result<Multiplication> {
    same(operation, ("b", "rows"), b.rows(), a.cols())?;
    same_shape(operation, "c", c, (a.rows(), b.cols()))?;
    let flip = written(operation, c.seen("c", complex))?;
    let a_seen = a.seen("a", complex).flipped(flip).operation(operation)?;
    let b_seen = b.seen("b", complex).flipped(flip).operation(operation)?;
    let (m, n, k) = (size(c.rows()), size(c.cols()), size(a.cols()));
    Ok(match flip {
        false => Multiplication { flip, first: a_seen, second: b_seen, m, n, k },
        true => Multiplication { flip, first: b_seen, second: a_seen, m: n, n: m, k },
    })
}

/// Converts a size of a layout; all of them fit.
pub(crate) fn size(size: usize) -> i64 {
    size as i64
}

#[cfg(test)]
mod tests;
