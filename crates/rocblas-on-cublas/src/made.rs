//! Functions that cuBLAS lacks, made of those that it has.

use rocblas_sys::*;

use crate::forward::*;
use crate::library::each;

/// The columns of a block, whose part of the triangle is computed column by column.
const BLOCK: i64 = 64;

/// Where a matrix is read or written.
#[derive(Clone, Copy)]
struct Part {
    row: i64,
    column: i64,
    rows: i64,
    columns: i64,
}

/// The rectangles that a triangle of `n` rows consists of.
fn parts(fill: rocblas_fill, n: impl Into<i64>) -> Result<Vec<Part>, rocblas_status> {
    let n = n.into();
    let upper = match fill {
        rocblas_fill::rocblas_fill_upper => true,
        rocblas_fill::rocblas_fill_lower => false,
        _ => return Err(rocblas_status::rocblas_status_invalid_value),
    };
    let mut parts = Vec::new();
    for first in (0..n).step_by(BLOCK as usize) {
        let last = n.min(first + BLOCK);
        let (row, rows) = if upper { (0, first) } else { (last, n - last) };
        if rows > 0 {
            parts.push(Part { row, column: first, rows, columns: last - first });
        }
        parts.extend((first..last).map(|column| {
            let (row, rows) = if upper { (first, column - first + 1) } else { (column, last - column) };
            Part { row, column, rows, columns: 1 }
        }));
    }
    Ok(parts)
}

/// `gemmt`: a triangle of a product, as products of its parts.
macro_rules! gemmt {
    ($($int:ident $element:ty: $gemmt:ident $gemmt_strided:ident $gemm:ident;)*) => {
        $(
            unsafe extern "C" fn $gemmt(
                handle: rocblas_handle,
                uplo: rocblas_fill,
                transA: rocblas_operation,
                transB: rocblas_operation,
                n: $int,
                k: $int,
                alpha: *const $element,
                A: *const $element,
                lda: $int,
                B: *const $element,
                ldb: $int,
                beta: *const $element,
                C: *mut $element,
                ldc: $int,
            ) -> rocblas_status {
                let parts = match parts(uplo, n) {
                    Ok(parts) => parts,
                    Err(status) => return status,
                };
                let none = rocblas_operation::rocblas_operation_none;
                let (a_step, b_step) = (
                    if transA == none { 1 } else { lda as isize },
                    if transB == none { ldb as isize } else { 1 },
                );
                each(parts.len() as i64, |index| {
                    let Part { row, column, rows, columns } = parts[index];
                    let (row, column) = (row as isize, column as isize);
                    // SAFETY: the caller keeps the contract of the whole, whose rows and columns these are.
                    unsafe {
                        $gemm(
                            handle, transA, transB, rows as $int, columns as $int, k, alpha,
                            A.wrapping_offset(row * a_step), lda, B.wrapping_offset(column * b_step), ldb, beta,
                            C.wrapping_offset(column * ldc as isize + row), ldc,
                        )
                    }
                })
            }

            unsafe extern "C" fn $gemmt_strided(
                handle: rocblas_handle,
                uplo: rocblas_fill,
                transA: rocblas_operation,
                transB: rocblas_operation,
                n: $int,
                k: $int,
                alpha: *const $element,
                A: *const $element,
                lda: $int,
                stride_A: rocblas_stride,
                B: *const $element,
                ldb: $int,
                stride_B: rocblas_stride,
                beta: *const $element,
                C: *mut $element,
                ldc: $int,
                stride_C: rocblas_stride,
                batch_count: $int,
            ) -> rocblas_status {
                each(batch_count, |index| {
                    let at = |stride: rocblas_stride| (stride as isize).wrapping_mul(index as isize);
                    // SAFETY: the caller has as many members at these strides.
                    unsafe {
                        $gemmt(
                            handle, uplo, transA, transB, n, k, alpha, A.wrapping_offset(at(stride_A)), lda,
                            B.wrapping_offset(at(stride_B)), ldb, beta, C.wrapping_offset(at(stride_C)), ldc,
                        )
                    }
                })
            }
        )*
    };
}

gemmt! {
    i32 f32: rocblas_sgemmt rocblas_sgemmt_strided_batched rocblas_sgemm;
    i32 f64: rocblas_dgemmt rocblas_dgemmt_strided_batched rocblas_dgemm;
    i32 rocblas_float_complex: rocblas_cgemmt rocblas_cgemmt_strided_batched rocblas_cgemm;
    i32 rocblas_double_complex: rocblas_zgemmt rocblas_zgemmt_strided_batched rocblas_zgemm;
    i64 f32: rocblas_sgemmt_64 rocblas_sgemmt_strided_batched_64 rocblas_sgemm_64;
    i64 f64: rocblas_dgemmt_64 rocblas_dgemmt_strided_batched_64 rocblas_dgemm_64;
    i64 rocblas_float_complex: rocblas_cgemmt_64 rocblas_cgemmt_strided_batched_64 rocblas_cgemm_64;
    i64 rocblas_double_complex: rocblas_zgemmt_64 rocblas_zgemmt_strided_batched_64 rocblas_zgemm_64;
}

/// `trsm` by the type of its elements. The inverses that the caller gives to make it faster are not read.
unsafe extern "C" fn rocblas_trsm_ex(
    handle: rocblas_handle,
    side: rocblas_side,
    uplo: rocblas_fill,
    transA: rocblas_operation,
    diag: rocblas_diagonal,
    m: i32,
    n: i32,
    alpha: *const std::ffi::c_void,
    A: *const std::ffi::c_void,
    lda: i32,
    B: *mut std::ffi::c_void,
    ldb: i32,
    _invA: *const std::ffi::c_void,
    _invA_size: i32,
    compute: rocblas_datatype,
) -> rocblas_status {
    macro_rules! solve {
        ($trsm:ident) => {
            // SAFETY: the caller's operands have the type of this function, and its contract.
            unsafe {
                $trsm(handle, side, uplo, transA, diag, m, n, alpha.cast(), A.cast(), lda, B.cast(), ldb)
            }
        };
    }
    match compute {
        rocblas_datatype::rocblas_datatype_f32_r => solve!(rocblas_strsm),
        rocblas_datatype::rocblas_datatype_f64_r => solve!(rocblas_dtrsm),
        rocblas_datatype::rocblas_datatype_f32_c => solve!(rocblas_ctrsm),
        rocblas_datatype::rocblas_datatype_f64_c => solve!(rocblas_ztrsm),
        _ => rocblas_status::rocblas_status_not_implemented,
    }
}

macro_rules! functions {
    ($($name:ident)*) => {
        /// The names of the functions.
        pub(crate) const FUNCTIONS: &[&str] = &[$(stringify!($name)),*];

        /// Puts the functions into a table.
        pub(crate) fn provide(builder: &mut Builder) {
            $(builder.$name($name);)*
        }
    };
}

functions! {
    rocblas_sgemmt rocblas_dgemmt rocblas_cgemmt rocblas_zgemmt
    rocblas_sgemmt_64 rocblas_dgemmt_64 rocblas_cgemmt_64 rocblas_zgemmt_64
    rocblas_sgemmt_strided_batched rocblas_dgemmt_strided_batched
    rocblas_cgemmt_strided_batched rocblas_zgemmt_strided_batched
    rocblas_sgemmt_strided_batched_64 rocblas_dgemmt_strided_batched_64
    rocblas_cgemmt_strided_batched_64 rocblas_zgemmt_strided_batched_64
    rocblas_trsm_ex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_triangle_cover_it_once() {
        for fill in [rocblas_fill::rocblas_fill_upper, rocblas_fill::rocblas_fill_lower] {
            for n in [0, 1, 63, 64, 65, 150] {
                let mut covered = vec![0; (n * n) as usize];
                for Part { row, column, rows, columns } in parts(fill, n).unwrap() {
                    for (i, j) in
                        (row..row + rows).flat_map(|i| (column..column + columns).map(move |j| (i, j)))
                    {
                        covered[(j * n + i) as usize] += 1;
                    }
                }
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let inside = if fill == rocblas_fill::rocblas_fill_upper { i <= j } else { i >= j };
                    assert_eq!(covered[(j * n + i) as usize], i32::from(inside), "{n}: {i}, {j}");
                }
            }
        }
        assert!(parts(rocblas_fill(99), 3).is_err());
    }
}
