//! Checks of arguments, in rocBLAS' order: first invalid values, then sizes, then pointers.

use rocblas_sys::{rocblas_diagonal, rocblas_fill, rocblas_operation, rocblas_side};

use crate::call::{Factor, INVALID_SIZE, INVALID_VALUE, Result};

pub(crate) fn operation(operation: rocblas_operation) -> Result {
    let known = [
        rocblas_operation::rocblas_operation_none,
        rocblas_operation::rocblas_operation_transpose,
        rocblas_operation::rocblas_operation_conjugate_transpose,
    ];
    if known.contains(&operation) { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn is_none(operation: rocblas_operation) -> bool {
    operation == rocblas_operation::rocblas_operation_none
}

/// Whether this is the upper triangle.
pub(crate) fn upper(fill: rocblas_fill) -> Result<bool> {
    match fill {
        rocblas_fill::rocblas_fill_upper => Ok(true),
        rocblas_fill::rocblas_fill_lower => Ok(false),
        _ => Err(INVALID_VALUE),
    }
}

/// Whether the diagonal is all ones.
pub(crate) fn unit(diagonal: rocblas_diagonal) -> Result<bool> {
    match diagonal {
        rocblas_diagonal::rocblas_diagonal_unit => Ok(true),
        rocblas_diagonal::rocblas_diagonal_non_unit => Ok(false),
        _ => Err(INVALID_VALUE),
    }
}

/// Whether the matrix is on the left.
pub(crate) fn left(side: rocblas_side) -> Result<bool> {
    match side {
        rocblas_side::rocblas_side_left => Ok(true),
        rocblas_side::rocblas_side_right => Ok(false),
        _ => Err(INVALID_VALUE),
    }
}

/// A condition on sizes.
pub(crate) fn sizes(hold: bool) -> Result {
    if hold { Ok(()) } else { Err(INVALID_SIZE) }
}

/// Whether a square matrix or triangle of this order is possible: beyond 32 bits, it fits into no memory.
pub(crate) fn addressable(order: i64) -> bool {
    (0..=i64::from(i32::MAX)).contains(&order)
}

/// Whether the operands of alpha * A * B + beta * C exist as far as they are used: A and B, which are read,
/// and C, which is written.
pub(crate) fn are_there([alpha, beta]: [Factor; 2], reads: bool, writes: bool) -> bool {
    match (alpha.is(0.0), beta.is(1.0)) {
        (true, true) => true,
        (true, false) => writes,
        (false, _) => reads && writes,
    }
}

/// Rows and columns of a matrix in memory, which may be used transposed.
pub(crate) fn stored(operation: rocblas_operation, rows: i64, columns: i64) -> [i64; 2] {
    if is_none(operation) { [rows, columns] } else { [columns, rows] }
}
