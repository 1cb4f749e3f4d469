//! What arguments are checked for, as rocBLAS does: what is no value at all first, then sizes, then pointers.

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

/// Whether the upper triangle is meant.
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

/// Whatever holds of sizes.
pub(crate) fn sizes(hold: bool) -> Result {
    if hold { Ok(()) } else { Err(INVALID_SIZE) }
}

/// Whether there may be a square matrix or triangle of this order: no memory holds one that is beyond 32 bits.
pub(crate) fn addressable(order: i64) -> bool {
    (0..=i64::from(i32::MAX)).contains(&order)
}

/// Whether what alpha * A * B + beta * C reads, A and B, and what it writes, C, is there as far as it is used.
pub(crate) fn are_there([alpha, beta]: [Factor; 2], reads: bool, writes: bool) -> bool {
    match (alpha.is(0.0), beta.is(1.0)) {
        (true, true) => true,
        (true, false) => writes,
        (false, _) => reads && writes,
    }
}

/// Rows and columns of a matrix in memory, of which its transpose may be meant.
pub(crate) fn stored(operation: rocblas_operation, rows: i64, columns: i64) -> [i64; 2] {
    if is_none(operation) { [rows, columns] } else { [columns, rows] }
}
