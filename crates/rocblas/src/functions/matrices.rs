//! Level 3: matrices with matrices. A trait for each routine, a row for each type that it supports.

use half::f16;
use num_complex::{Complex32, Complex64};
use rocblas_sys::{rocblas_diagonal, rocblas_fill, rocblas_operation, rocblas_side};

routine! {
    /// `C = alpha op(A) op(B) + beta C`.
    pub(crate) trait Gemm: six gemm(val trans_a: rocblas_operation, val trans_b: rocblas_operation, int m, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch);
    f32: rocblas_sgemm rocblas_sgemm_64 rocblas_sgemm_batched rocblas_sgemm_batched_64 rocblas_sgemm_strided_batched rocblas_sgemm_strided_batched_64;
    f64: rocblas_dgemm rocblas_dgemm_64 rocblas_dgemm_batched rocblas_dgemm_batched_64 rocblas_dgemm_strided_batched rocblas_dgemm_strided_batched_64;
    Complex32: rocblas_cgemm rocblas_cgemm_64 rocblas_cgemm_batched rocblas_cgemm_batched_64 rocblas_cgemm_strided_batched rocblas_cgemm_strided_batched_64;
    Complex64: rocblas_zgemm rocblas_zgemm_64 rocblas_zgemm_batched rocblas_zgemm_batched_64 rocblas_zgemm_strided_batched rocblas_zgemm_strided_batched_64;
    f16: rocblas_hgemm rocblas_hgemm_64 rocblas_hgemm_batched rocblas_hgemm_batched_64 rocblas_hgemm_strided_batched rocblas_hgemm_strided_batched_64;
}

routine! {
    /// One triangle of `C = alpha op(A) op(B) + beta C`.
    pub trait Gemmt: six gemmt(val uplo: rocblas_fill, val trans_a: rocblas_operation, val trans_b: rocblas_operation, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch);
    f32: rocblas_sgemmt rocblas_sgemmt_64 rocblas_sgemmt_batched rocblas_sgemmt_batched_64 rocblas_sgemmt_strided_batched rocblas_sgemmt_strided_batched_64;
    f64: rocblas_dgemmt rocblas_dgemmt_64 rocblas_dgemmt_batched rocblas_dgemmt_batched_64 rocblas_dgemmt_strided_batched rocblas_dgemmt_strided_batched_64;
    Complex32: rocblas_cgemmt rocblas_cgemmt_64 rocblas_cgemmt_batched rocblas_cgemmt_batched_64 rocblas_cgemmt_strided_batched rocblas_cgemmt_strided_batched_64;
    Complex64: rocblas_zgemmt rocblas_zgemmt_64 rocblas_zgemmt_batched rocblas_zgemmt_batched_64 rocblas_zgemmt_strided_batched rocblas_zgemmt_strided_batched_64;
}

routine! {
    /// `C = alpha A B + beta C` or `C = alpha B A + beta C`, `A` symmetric.
    pub trait Symm: six symm(val side: rocblas_side, val uplo: rocblas_fill, int m, int n, ptr alpha, at a, at b, ptr beta, at c, batch);
    f32: rocblas_ssymm rocblas_ssymm_64 rocblas_ssymm_batched rocblas_ssymm_batched_64 rocblas_ssymm_strided_batched rocblas_ssymm_strided_batched_64;
    f64: rocblas_dsymm rocblas_dsymm_64 rocblas_dsymm_batched rocblas_dsymm_batched_64 rocblas_dsymm_strided_batched rocblas_dsymm_strided_batched_64;
    Complex32: rocblas_csymm rocblas_csymm_64 rocblas_csymm_batched rocblas_csymm_batched_64 rocblas_csymm_strided_batched rocblas_csymm_strided_batched_64;
    Complex64: rocblas_zsymm rocblas_zsymm_64 rocblas_zsymm_batched rocblas_zsymm_batched_64 rocblas_zsymm_strided_batched rocblas_zsymm_strided_batched_64;
}

routine! {
    /// `C = alpha A B + beta C` or `C = alpha B A + beta C`, `A` Hermitian.
    pub trait Hemm: six hemm(val side: rocblas_side, val uplo: rocblas_fill, int m, int n, ptr alpha, at a, at b, ptr beta, at c, batch);
    Complex32: rocblas_chemm rocblas_chemm_64 rocblas_chemm_batched rocblas_chemm_batched_64 rocblas_chemm_strided_batched rocblas_chemm_strided_batched_64;
    Complex64: rocblas_zhemm rocblas_zhemm_64 rocblas_zhemm_batched rocblas_zhemm_batched_64 rocblas_zhemm_strided_batched rocblas_zhemm_strided_batched_64;
}

routine! {
    /// `C = alpha op(A) B` or `C = alpha B op(A)`, `A` triangular.
    pub trait Trmm: six trmm(val side: rocblas_side, val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int m, int n, ptr alpha, at a, at b, at c, batch);
    f32: rocblas_strmm rocblas_strmm_64 rocblas_strmm_batched rocblas_strmm_batched_64 rocblas_strmm_strided_batched rocblas_strmm_strided_batched_64;
    f64: rocblas_dtrmm rocblas_dtrmm_64 rocblas_dtrmm_batched rocblas_dtrmm_batched_64 rocblas_dtrmm_strided_batched rocblas_dtrmm_strided_batched_64;
    Complex32: rocblas_ctrmm rocblas_ctrmm_64 rocblas_ctrmm_batched rocblas_ctrmm_batched_64 rocblas_ctrmm_strided_batched rocblas_ctrmm_strided_batched_64;
    Complex64: rocblas_ztrmm rocblas_ztrmm_64 rocblas_ztrmm_batched rocblas_ztrmm_batched_64 rocblas_ztrmm_strided_batched rocblas_ztrmm_strided_batched_64;
}

routine! {
    /// Solves `op(A) X = alpha B` or `X op(A) = alpha B` in place of `B`.
    pub trait Trsm: six trsm(val side: rocblas_side, val uplo: rocblas_fill, val trans: rocblas_operation, val diag: rocblas_diagonal, int m, int n, ptr alpha, at a, at b, batch);
    f32: rocblas_strsm rocblas_strsm_64 rocblas_strsm_batched rocblas_strsm_batched_64 rocblas_strsm_strided_batched rocblas_strsm_strided_batched_64;
    f64: rocblas_dtrsm rocblas_dtrsm_64 rocblas_dtrsm_batched rocblas_dtrsm_batched_64 rocblas_dtrsm_strided_batched rocblas_dtrsm_strided_batched_64;
    Complex32: rocblas_ctrsm rocblas_ctrsm_64 rocblas_ctrsm_batched rocblas_ctrsm_batched_64 rocblas_ctrsm_strided_batched rocblas_ctrsm_strided_batched_64;
    Complex64: rocblas_ztrsm rocblas_ztrsm_64 rocblas_ztrsm_batched rocblas_ztrsm_batched_64 rocblas_ztrsm_strided_batched rocblas_ztrsm_strided_batched_64;
}

routine! {
    /// The inverse of a triangular matrix.
    pub trait Trtri: three trtri(val uplo: rocblas_fill, val diag: rocblas_diagonal, int n, at a, at inverse, batch);
    f32: rocblas_strtri rocblas_strtri_batched rocblas_strtri_strided_batched;
    f64: rocblas_dtrtri rocblas_dtrtri_batched rocblas_dtrtri_strided_batched;
    Complex32: rocblas_ctrtri rocblas_ctrtri_batched rocblas_ctrtri_strided_batched;
    Complex64: rocblas_ztrtri rocblas_ztrtri_batched rocblas_ztrtri_strided_batched;
}

routine! {
    /// `C = alpha op(A) + beta op(B)`.
    pub trait Geam: six geam(val trans_a: rocblas_operation, val trans_b: rocblas_operation, int m, int n, ptr alpha, at a, ptr beta, at b, at c, batch);
    f32: rocblas_sgeam rocblas_sgeam_64 rocblas_sgeam_batched rocblas_sgeam_batched_64 rocblas_sgeam_strided_batched rocblas_sgeam_strided_batched_64;
    f64: rocblas_dgeam rocblas_dgeam_64 rocblas_dgeam_batched rocblas_dgeam_batched_64 rocblas_dgeam_strided_batched rocblas_dgeam_strided_batched_64;
    Complex32: rocblas_cgeam rocblas_cgeam_64 rocblas_cgeam_batched rocblas_cgeam_batched_64 rocblas_cgeam_strided_batched rocblas_cgeam_strided_batched_64;
    Complex64: rocblas_zgeam rocblas_zgeam_64 rocblas_zgeam_batched rocblas_zgeam_batched_64 rocblas_zgeam_strided_batched rocblas_zgeam_strided_batched_64;
}

routine! {
    /// `C = diag(x) A` or `C = A diag(x)`.
    pub trait Dgmm: six dgmm(val side: rocblas_side, int m, int n, at a, at x, at c, batch);
    f32: rocblas_sdgmm rocblas_sdgmm_64 rocblas_sdgmm_batched rocblas_sdgmm_batched_64 rocblas_sdgmm_strided_batched rocblas_sdgmm_strided_batched_64;
    f64: rocblas_ddgmm rocblas_ddgmm_64 rocblas_ddgmm_batched rocblas_ddgmm_batched_64 rocblas_ddgmm_strided_batched rocblas_ddgmm_strided_batched_64;
    Complex32: rocblas_cdgmm rocblas_cdgmm_64 rocblas_cdgmm_batched rocblas_cdgmm_batched_64 rocblas_cdgmm_strided_batched rocblas_cdgmm_strided_batched_64;
    Complex64: rocblas_zdgmm rocblas_zdgmm_64 rocblas_zdgmm_batched rocblas_zdgmm_batched_64 rocblas_zdgmm_strided_batched rocblas_zdgmm_strided_batched_64;
}
