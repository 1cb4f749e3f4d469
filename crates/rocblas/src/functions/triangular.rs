//! Level 2: triangular matrices with vectors. A trait for each routine, a row for each type that it supports.

use num_complex::{Complex32, Complex64};
use rocblas_sys::{rocblas_diagonal, rocblas_fill, rocblas_operation};

routine! {
    /// `x = op(A) x`, `A` triangular.
    pub trait Trmv: six trmv(val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int n, at a, at x, batch);
    f32: rocblas_strmv rocblas_strmv_64 rocblas_strmv_batched rocblas_strmv_batched_64 rocblas_strmv_strided_batched rocblas_strmv_strided_batched_64;
    f64: rocblas_dtrmv rocblas_dtrmv_64 rocblas_dtrmv_batched rocblas_dtrmv_batched_64 rocblas_dtrmv_strided_batched rocblas_dtrmv_strided_batched_64;
    Complex32: rocblas_ctrmv rocblas_ctrmv_64 rocblas_ctrmv_batched rocblas_ctrmv_batched_64 rocblas_ctrmv_strided_batched rocblas_ctrmv_strided_batched_64;
    Complex64: rocblas_ztrmv rocblas_ztrmv_64 rocblas_ztrmv_batched rocblas_ztrmv_batched_64 rocblas_ztrmv_strided_batched rocblas_ztrmv_strided_batched_64;
}

routine! {
    /// Solves `op(A) x = b` in place, `A` triangular.
    pub trait Trsv: six trsv(val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int n, at a, at x, batch);
    f32: rocblas_strsv rocblas_strsv_64 rocblas_strsv_batched rocblas_strsv_batched_64 rocblas_strsv_strided_batched rocblas_strsv_strided_batched_64;
    f64: rocblas_dtrsv rocblas_dtrsv_64 rocblas_dtrsv_batched rocblas_dtrsv_batched_64 rocblas_dtrsv_strided_batched rocblas_dtrsv_strided_batched_64;
    Complex32: rocblas_ctrsv rocblas_ctrsv_64 rocblas_ctrsv_batched rocblas_ctrsv_batched_64 rocblas_ctrsv_strided_batched rocblas_ctrsv_strided_batched_64;
    Complex64: rocblas_ztrsv rocblas_ztrsv_64 rocblas_ztrsv_batched rocblas_ztrsv_batched_64 rocblas_ztrsv_strided_batched rocblas_ztrsv_strided_batched_64;
}

routine! {
    /// `x = op(A) x`, `A` a triangular band matrix.
    pub trait Tbmv: six tbmv(val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int n, int k, at a, at x, batch);
    f32: rocblas_stbmv rocblas_stbmv_64 rocblas_stbmv_batched rocblas_stbmv_batched_64 rocblas_stbmv_strided_batched rocblas_stbmv_strided_batched_64;
    f64: rocblas_dtbmv rocblas_dtbmv_64 rocblas_dtbmv_batched rocblas_dtbmv_batched_64 rocblas_dtbmv_strided_batched rocblas_dtbmv_strided_batched_64;
    Complex32: rocblas_ctbmv rocblas_ctbmv_64 rocblas_ctbmv_batched rocblas_ctbmv_batched_64 rocblas_ctbmv_strided_batched rocblas_ctbmv_strided_batched_64;
    Complex64: rocblas_ztbmv rocblas_ztbmv_64 rocblas_ztbmv_batched rocblas_ztbmv_batched_64 rocblas_ztbmv_strided_batched rocblas_ztbmv_strided_batched_64;
}

routine! {
    /// Solves `op(A) x = b` in place, `A` a triangular band matrix.
    pub trait Tbsv: six tbsv(val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int n, int k, at a, at x, batch);
    f32: rocblas_stbsv rocblas_stbsv_64 rocblas_stbsv_batched rocblas_stbsv_batched_64 rocblas_stbsv_strided_batched rocblas_stbsv_strided_batched_64;
    f64: rocblas_dtbsv rocblas_dtbsv_64 rocblas_dtbsv_batched rocblas_dtbsv_batched_64 rocblas_dtbsv_strided_batched rocblas_dtbsv_strided_batched_64;
    Complex32: rocblas_ctbsv rocblas_ctbsv_64 rocblas_ctbsv_batched rocblas_ctbsv_batched_64 rocblas_ctbsv_strided_batched rocblas_ctbsv_strided_batched_64;
    Complex64: rocblas_ztbsv rocblas_ztbsv_64 rocblas_ztbsv_batched rocblas_ztbsv_batched_64 rocblas_ztbsv_strided_batched rocblas_ztbsv_strided_batched_64;
}

routine! {
    /// `x = op(A) x`, `A` triangular and packed.
    pub trait Tpmv: six tpmv(val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int n, packed a, at x, batch);
    f32: rocblas_stpmv rocblas_stpmv_64 rocblas_stpmv_batched rocblas_stpmv_batched_64 rocblas_stpmv_strided_batched rocblas_stpmv_strided_batched_64;
    f64: rocblas_dtpmv rocblas_dtpmv_64 rocblas_dtpmv_batched rocblas_dtpmv_batched_64 rocblas_dtpmv_strided_batched rocblas_dtpmv_strided_batched_64;
    Complex32: rocblas_ctpmv rocblas_ctpmv_64 rocblas_ctpmv_batched rocblas_ctpmv_batched_64 rocblas_ctpmv_strided_batched rocblas_ctpmv_strided_batched_64;
    Complex64: rocblas_ztpmv rocblas_ztpmv_64 rocblas_ztpmv_batched rocblas_ztpmv_batched_64 rocblas_ztpmv_strided_batched rocblas_ztpmv_strided_batched_64;
}

routine! {
    /// Solves `op(A) x = b` in place, `A` triangular and packed.
    pub trait Tpsv: six tpsv(val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int n, packed a, at x, batch);
    f32: rocblas_stpsv rocblas_stpsv_64 rocblas_stpsv_batched rocblas_stpsv_batched_64 rocblas_stpsv_strided_batched rocblas_stpsv_strided_batched_64;
    f64: rocblas_dtpsv rocblas_dtpsv_64 rocblas_dtpsv_batched rocblas_dtpsv_batched_64 rocblas_dtpsv_strided_batched rocblas_dtpsv_strided_batched_64;
    Complex32: rocblas_ctpsv rocblas_ctpsv_64 rocblas_ctpsv_batched rocblas_ctpsv_batched_64 rocblas_ctpsv_strided_batched rocblas_ctpsv_strided_batched_64;
    Complex64: rocblas_ztpsv rocblas_ztpsv_64 rocblas_ztpsv_batched rocblas_ztpsv_batched_64 rocblas_ztpsv_strided_batched rocblas_ztpsv_strided_batched_64;
}
