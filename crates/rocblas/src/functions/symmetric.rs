//! Level 2: symmetric and Hermitian matrices with vectors. A trait for each routine, a row for each type that
//! it supports.

use num_complex::{Complex32, Complex64};
use rocblas_sys::rocblas_fill;

routine! {
    /// `y = alpha A x + beta y`, `A` symmetric.
    pub trait Symv: six symv(val uplo: rocblas_fill, int n, ptr alpha, at a, at x, ptr beta, at y, batch);
    f32: rocblas_ssymv rocblas_ssymv_64 rocblas_ssymv_batched rocblas_ssymv_batched_64 rocblas_ssymv_strided_batched rocblas_ssymv_strided_batched_64;
    f64: rocblas_dsymv rocblas_dsymv_64 rocblas_dsymv_batched rocblas_dsymv_batched_64 rocblas_dsymv_strided_batched rocblas_dsymv_strided_batched_64;
    Complex32: rocblas_csymv rocblas_csymv_64 rocblas_csymv_batched rocblas_csymv_batched_64 rocblas_csymv_strided_batched rocblas_csymv_strided_batched_64;
    Complex64: rocblas_zsymv rocblas_zsymv_64 rocblas_zsymv_batched rocblas_zsymv_batched_64 rocblas_zsymv_strided_batched rocblas_zsymv_strided_batched_64;
}

routine! {
    /// `y = alpha A x + beta y`, `A` Hermitian.
    pub trait Hemv: six hemv(val uplo: rocblas_fill, int n, ptr alpha, at a, at x, ptr beta, at y, batch);
    Complex32: rocblas_chemv rocblas_chemv_64 rocblas_chemv_batched rocblas_chemv_batched_64 rocblas_chemv_strided_batched rocblas_chemv_strided_batched_64;
    Complex64: rocblas_zhemv rocblas_zhemv_64 rocblas_zhemv_batched rocblas_zhemv_batched_64 rocblas_zhemv_strided_batched rocblas_zhemv_strided_batched_64;
}

routine! {
    /// `y = alpha A x + beta y`, `A` a symmetric band matrix.
    pub trait Sbmv: six sbmv(val uplo: rocblas_fill, int n, int k, ptr alpha, at a, at x, ptr beta, at y, batch);
    f32: rocblas_ssbmv rocblas_ssbmv_64 rocblas_ssbmv_batched rocblas_ssbmv_batched_64 rocblas_ssbmv_strided_batched rocblas_ssbmv_strided_batched_64;
    f64: rocblas_dsbmv rocblas_dsbmv_64 rocblas_dsbmv_batched rocblas_dsbmv_batched_64 rocblas_dsbmv_strided_batched rocblas_dsbmv_strided_batched_64;
}

routine! {
    /// `y = alpha A x + beta y`, `A` a Hermitian band matrix.
    pub trait Hbmv: six hbmv(val uplo: rocblas_fill, int n, int k, ptr alpha, at a, at x, ptr beta, at y, batch);
    Complex32: rocblas_chbmv rocblas_chbmv_64 rocblas_chbmv_batched rocblas_chbmv_batched_64 rocblas_chbmv_strided_batched rocblas_chbmv_strided_batched_64;
    Complex64: rocblas_zhbmv rocblas_zhbmv_64 rocblas_zhbmv_batched rocblas_zhbmv_batched_64 rocblas_zhbmv_strided_batched rocblas_zhbmv_strided_batched_64;
}

routine! {
    /// `y = alpha A x + beta y`, `A` symmetric and packed.
    pub trait Spmv: six spmv(val uplo: rocblas_fill, int n, ptr alpha, packed a, at x, ptr beta, at y, batch);
    f32: rocblas_sspmv rocblas_sspmv_64 rocblas_sspmv_batched rocblas_sspmv_batched_64 rocblas_sspmv_strided_batched rocblas_sspmv_strided_batched_64;
    f64: rocblas_dspmv rocblas_dspmv_64 rocblas_dspmv_batched rocblas_dspmv_batched_64 rocblas_dspmv_strided_batched rocblas_dspmv_strided_batched_64;
}

routine! {
    /// `y = alpha A x + beta y`, `A` Hermitian and packed.
    pub trait Hpmv: six hpmv(val uplo: rocblas_fill, int n, ptr alpha, packed a, at x, ptr beta, at y, batch);
    Complex32: rocblas_chpmv rocblas_chpmv_64 rocblas_chpmv_batched rocblas_chpmv_batched_64 rocblas_chpmv_strided_batched rocblas_chpmv_strided_batched_64;
    Complex64: rocblas_zhpmv rocblas_zhpmv_64 rocblas_zhpmv_batched rocblas_zhpmv_batched_64 rocblas_zhpmv_strided_batched rocblas_zhpmv_strided_batched_64;
}

routine! {
    /// `A = alpha x xᵀ + A`, `A` symmetric.
    pub trait Syr: six syr(val uplo: rocblas_fill, int n, ptr alpha, at x, at a, batch);
    f32: rocblas_ssyr rocblas_ssyr_64 rocblas_ssyr_batched rocblas_ssyr_batched_64 rocblas_ssyr_strided_batched rocblas_ssyr_strided_batched_64;
    f64: rocblas_dsyr rocblas_dsyr_64 rocblas_dsyr_batched rocblas_dsyr_batched_64 rocblas_dsyr_strided_batched rocblas_dsyr_strided_batched_64;
    Complex32: rocblas_csyr rocblas_csyr_64 rocblas_csyr_batched rocblas_csyr_batched_64 rocblas_csyr_strided_batched rocblas_csyr_strided_batched_64;
    Complex64: rocblas_zsyr rocblas_zsyr_64 rocblas_zsyr_batched rocblas_zsyr_batched_64 rocblas_zsyr_strided_batched rocblas_zsyr_strided_batched_64;
}

routine! {
    /// `A = alpha x xᴴ + A`, `A` Hermitian.
    pub trait Her: six her(val uplo: rocblas_fill, int n, ptr alpha, at x, at a, batch);
    Complex32: rocblas_cher rocblas_cher_64 rocblas_cher_batched rocblas_cher_batched_64 rocblas_cher_strided_batched rocblas_cher_strided_batched_64;
    Complex64: rocblas_zher rocblas_zher_64 rocblas_zher_batched rocblas_zher_batched_64 rocblas_zher_strided_batched rocblas_zher_strided_batched_64;
}

routine! {
    /// `A = alpha x yᵀ + alpha y xᵀ + A`, `A` symmetric.
    pub trait Syr2: six syr2(val uplo: rocblas_fill, int n, ptr alpha, at x, at y, at a, batch);
    f32: rocblas_ssyr2 rocblas_ssyr2_64 rocblas_ssyr2_batched rocblas_ssyr2_batched_64 rocblas_ssyr2_strided_batched rocblas_ssyr2_strided_batched_64;
    f64: rocblas_dsyr2 rocblas_dsyr2_64 rocblas_dsyr2_batched rocblas_dsyr2_batched_64 rocblas_dsyr2_strided_batched rocblas_dsyr2_strided_batched_64;
    Complex32: rocblas_csyr2 rocblas_csyr2_64 rocblas_csyr2_batched rocblas_csyr2_batched_64 rocblas_csyr2_strided_batched rocblas_csyr2_strided_batched_64;
    Complex64: rocblas_zsyr2 rocblas_zsyr2_64 rocblas_zsyr2_batched rocblas_zsyr2_batched_64 rocblas_zsyr2_strided_batched rocblas_zsyr2_strided_batched_64;
}

routine! {
    /// `A = alpha x yᴴ + conj(alpha) y xᴴ + A`, `A` Hermitian.
    pub trait Her2: six her2(val uplo: rocblas_fill, int n, ptr alpha, at x, at y, at a, batch);
    Complex32: rocblas_cher2 rocblas_cher2_64 rocblas_cher2_batched rocblas_cher2_batched_64 rocblas_cher2_strided_batched rocblas_cher2_strided_batched_64;
    Complex64: rocblas_zher2 rocblas_zher2_64 rocblas_zher2_batched rocblas_zher2_batched_64 rocblas_zher2_strided_batched rocblas_zher2_strided_batched_64;
}

routine! {
    /// `A = alpha x xᵀ + A`, `A` symmetric and packed.
    pub trait Spr: six spr(val uplo: rocblas_fill, int n, ptr alpha, at x, packed a, batch);
    f32: rocblas_sspr rocblas_sspr_64 rocblas_sspr_batched rocblas_sspr_batched_64 rocblas_sspr_strided_batched rocblas_sspr_strided_batched_64;
    f64: rocblas_dspr rocblas_dspr_64 rocblas_dspr_batched rocblas_dspr_batched_64 rocblas_dspr_strided_batched rocblas_dspr_strided_batched_64;
    Complex32: rocblas_cspr rocblas_cspr_64 rocblas_cspr_batched rocblas_cspr_batched_64 rocblas_cspr_strided_batched rocblas_cspr_strided_batched_64;
    Complex64: rocblas_zspr rocblas_zspr_64 rocblas_zspr_batched rocblas_zspr_batched_64 rocblas_zspr_strided_batched rocblas_zspr_strided_batched_64;
}

routine! {
    /// `A = alpha x xᴴ + A`, `A` Hermitian and packed.
    pub trait Hpr: six hpr(val uplo: rocblas_fill, int n, ptr alpha, at x, packed a, batch);
    Complex32: rocblas_chpr rocblas_chpr_64 rocblas_chpr_batched rocblas_chpr_batched_64 rocblas_chpr_strided_batched rocblas_chpr_strided_batched_64;
    Complex64: rocblas_zhpr rocblas_zhpr_64 rocblas_zhpr_batched rocblas_zhpr_batched_64 rocblas_zhpr_strided_batched rocblas_zhpr_strided_batched_64;
}

routine! {
    /// `A = alpha x yᵀ + alpha y xᵀ + A`, `A` symmetric and packed.
    pub trait Spr2: six spr2(val uplo: rocblas_fill, int n, ptr alpha, at x, at y, packed a, batch);
    f32: rocblas_sspr2 rocblas_sspr2_64 rocblas_sspr2_batched rocblas_sspr2_batched_64 rocblas_sspr2_strided_batched rocblas_sspr2_strided_batched_64;
    f64: rocblas_dspr2 rocblas_dspr2_64 rocblas_dspr2_batched rocblas_dspr2_batched_64 rocblas_dspr2_strided_batched rocblas_dspr2_strided_batched_64;
}

routine! {
    /// `A = alpha x yᴴ + conj(alpha) y xᴴ + A`, `A` Hermitian and packed.
    pub trait Hpr2: six hpr2(val uplo: rocblas_fill, int n, ptr alpha, at x, at y, packed a, batch);
    Complex32: rocblas_chpr2 rocblas_chpr2_64 rocblas_chpr2_batched rocblas_chpr2_batched_64 rocblas_chpr2_strided_batched rocblas_chpr2_strided_batched_64;
    Complex64: rocblas_zhpr2 rocblas_zhpr2_64 rocblas_zhpr2_batched rocblas_zhpr2_batched_64 rocblas_zhpr2_strided_batched rocblas_zhpr2_strided_batched_64;
}
