//! Level 2: general matrices with vectors. A trait for each routine, a row for each type that it supports.

use num_complex::{Complex32, Complex64};
use rocblas_sys::rocblas_operation;

routine! {
    /// `y = alpha op(A) x + beta y`.
    pub(crate) trait Gemv: six gemv(val trans: rocblas_operation, int m, int n, ptr alpha, at a, at x, ptr beta, at y, batch);
    f32: rocblas_sgemv rocblas_sgemv_64 rocblas_sgemv_batched rocblas_sgemv_batched_64 rocblas_sgemv_strided_batched rocblas_sgemv_strided_batched_64;
    f64: rocblas_dgemv rocblas_dgemv_64 rocblas_dgemv_batched rocblas_dgemv_batched_64 rocblas_dgemv_strided_batched rocblas_dgemv_strided_batched_64;
    Complex32: rocblas_cgemv rocblas_cgemv_64 rocblas_cgemv_batched rocblas_cgemv_batched_64 rocblas_cgemv_strided_batched rocblas_cgemv_strided_batched_64;
    Complex64: rocblas_zgemv rocblas_zgemv_64 rocblas_zgemv_batched rocblas_zgemv_batched_64 rocblas_zgemv_strided_batched rocblas_zgemv_strided_batched_64;
}

routine! {
    /// `y = alpha op(A) x + beta y`, with a band matrix.
    pub trait Gbmv: six gbmv(val trans: rocblas_operation, int m, int n, int kl, int ku, ptr alpha, at a, at x, ptr beta, at y, batch);
    f32: rocblas_sgbmv rocblas_sgbmv_64 rocblas_sgbmv_batched rocblas_sgbmv_batched_64 rocblas_sgbmv_strided_batched rocblas_sgbmv_strided_batched_64;
    f64: rocblas_dgbmv rocblas_dgbmv_64 rocblas_dgbmv_batched rocblas_dgbmv_batched_64 rocblas_dgbmv_strided_batched rocblas_dgbmv_strided_batched_64;
    Complex32: rocblas_cgbmv rocblas_cgbmv_64 rocblas_cgbmv_batched rocblas_cgbmv_batched_64 rocblas_cgbmv_strided_batched rocblas_cgbmv_strided_batched_64;
    Complex64: rocblas_zgbmv rocblas_zgbmv_64 rocblas_zgbmv_batched rocblas_zgbmv_batched_64 rocblas_zgbmv_strided_batched rocblas_zgbmv_strided_batched_64;
}

routine! {
    /// `A = alpha x yᵀ + A`.
    pub trait Ger: six ger(int m, int n, ptr alpha, at x, at y, at a, batch);
    f32: rocblas_sger rocblas_sger_64 rocblas_sger_batched rocblas_sger_batched_64 rocblas_sger_strided_batched rocblas_sger_strided_batched_64;
    f64: rocblas_dger rocblas_dger_64 rocblas_dger_batched rocblas_dger_batched_64 rocblas_dger_strided_batched rocblas_dger_strided_batched_64;
    Complex32: rocblas_cgeru rocblas_cgeru_64 rocblas_cgeru_batched rocblas_cgeru_batched_64 rocblas_cgeru_strided_batched rocblas_cgeru_strided_batched_64;
    Complex64: rocblas_zgeru rocblas_zgeru_64 rocblas_zgeru_batched rocblas_zgeru_batched_64 rocblas_zgeru_strided_batched rocblas_zgeru_strided_batched_64;
}

routine! {
    /// `A = alpha x yᴴ + A`.
    pub trait Gerc: six gerc(int m, int n, ptr alpha, at x, at y, at a, batch);
    Complex32: rocblas_cgerc rocblas_cgerc_64 rocblas_cgerc_batched rocblas_cgerc_batched_64 rocblas_cgerc_strided_batched rocblas_cgerc_strided_batched_64;
    Complex64: rocblas_zgerc rocblas_zgerc_64 rocblas_zgerc_batched rocblas_zgerc_batched_64 rocblas_zgerc_strided_batched rocblas_zgerc_strided_batched_64;
}
