//! Level 3: products that are symmetric or Hermitian. A trait for each routine, a row for each type that it
//! supports.

use num_complex::{Complex32, Complex64};
use rocblas_sys::{rocblas_fill, rocblas_operation};

routine! {
    /// `C = alpha op(A) op(A)ᵀ + beta C`.
    pub trait Syrk: six syrk(val uplo: rocblas_fill, val trans: rocblas_operation, int n, int k, ptr alpha, at a, ptr beta, at c, batch);
    f32: rocblas_ssyrk rocblas_ssyrk_64 rocblas_ssyrk_batched rocblas_ssyrk_batched_64 rocblas_ssyrk_strided_batched rocblas_ssyrk_strided_batched_64;
    f64: rocblas_dsyrk rocblas_dsyrk_64 rocblas_dsyrk_batched rocblas_dsyrk_batched_64 rocblas_dsyrk_strided_batched rocblas_dsyrk_strided_batched_64;
    Complex32: rocblas_csyrk rocblas_csyrk_64 rocblas_csyrk_batched rocblas_csyrk_batched_64 rocblas_csyrk_strided_batched rocblas_csyrk_strided_batched_64;
    Complex64: rocblas_zsyrk rocblas_zsyrk_64 rocblas_zsyrk_batched rocblas_zsyrk_batched_64 rocblas_zsyrk_strided_batched rocblas_zsyrk_strided_batched_64;
}

routine! {
    /// `C = alpha op(A) op(A)ᴴ + beta C`.
    pub trait Herk: six herk(val uplo: rocblas_fill, val trans: rocblas_operation, int n, int k, ptr alpha, at a, ptr beta, at c, batch);
    Complex32: rocblas_cherk rocblas_cherk_64 rocblas_cherk_batched rocblas_cherk_batched_64 rocblas_cherk_strided_batched rocblas_cherk_strided_batched_64;
    Complex64: rocblas_zherk rocblas_zherk_64 rocblas_zherk_batched rocblas_zherk_batched_64 rocblas_zherk_strided_batched rocblas_zherk_strided_batched_64;
}

routine! {
    /// `C = alpha (op(A) op(B)ᵀ + op(B) op(A)ᵀ) + beta C`.
    pub trait Syr2k: six syr2k(val uplo: rocblas_fill, val trans: rocblas_operation, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch);
    f32: rocblas_ssyr2k rocblas_ssyr2k_64 rocblas_ssyr2k_batched rocblas_ssyr2k_batched_64 rocblas_ssyr2k_strided_batched rocblas_ssyr2k_strided_batched_64;
    f64: rocblas_dsyr2k rocblas_dsyr2k_64 rocblas_dsyr2k_batched rocblas_dsyr2k_batched_64 rocblas_dsyr2k_strided_batched rocblas_dsyr2k_strided_batched_64;
    Complex32: rocblas_csyr2k rocblas_csyr2k_64 rocblas_csyr2k_batched rocblas_csyr2k_batched_64 rocblas_csyr2k_strided_batched rocblas_csyr2k_strided_batched_64;
    Complex64: rocblas_zsyr2k rocblas_zsyr2k_64 rocblas_zsyr2k_batched rocblas_zsyr2k_batched_64 rocblas_zsyr2k_strided_batched rocblas_zsyr2k_strided_batched_64;
}

routine! {
    /// `C = alpha op(A) op(B)ᴴ + conj(alpha) op(B) op(A)ᴴ + beta C`.
    pub trait Her2k: six her2k(val uplo: rocblas_fill, val trans: rocblas_operation, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch);
    Complex32: rocblas_cher2k rocblas_cher2k_64 rocblas_cher2k_batched rocblas_cher2k_batched_64 rocblas_cher2k_strided_batched rocblas_cher2k_strided_batched_64;
    Complex64: rocblas_zher2k rocblas_zher2k_64 rocblas_zher2k_batched rocblas_zher2k_batched_64 rocblas_zher2k_strided_batched rocblas_zher2k_strided_batched_64;
}

routine! {
    /// `C = alpha op(A) op(B)ᵀ + beta C`, which is symmetric.
    pub trait Syrkx: six syrkx(val uplo: rocblas_fill, val trans: rocblas_operation, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch);
    f32: rocblas_ssyrkx rocblas_ssyrkx_64 rocblas_ssyrkx_batched rocblas_ssyrkx_batched_64 rocblas_ssyrkx_strided_batched rocblas_ssyrkx_strided_batched_64;
    f64: rocblas_dsyrkx rocblas_dsyrkx_64 rocblas_dsyrkx_batched rocblas_dsyrkx_batched_64 rocblas_dsyrkx_strided_batched rocblas_dsyrkx_strided_batched_64;
    Complex32: rocblas_csyrkx rocblas_csyrkx_64 rocblas_csyrkx_batched rocblas_csyrkx_batched_64 rocblas_csyrkx_strided_batched rocblas_csyrkx_strided_batched_64;
    Complex64: rocblas_zsyrkx rocblas_zsyrkx_64 rocblas_zsyrkx_batched rocblas_zsyrkx_batched_64 rocblas_zsyrkx_strided_batched rocblas_zsyrkx_strided_batched_64;
}

routine! {
    /// `C = alpha op(A) op(B)ᴴ + beta C`, which is Hermitian.
    pub trait Herkx: six herkx(val uplo: rocblas_fill, val trans: rocblas_operation, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch);
    Complex32: rocblas_cherkx rocblas_cherkx_64 rocblas_cherkx_batched rocblas_cherkx_batched_64 rocblas_cherkx_strided_batched rocblas_cherkx_strided_batched_64;
    Complex64: rocblas_zherkx rocblas_zherkx_64 rocblas_zherkx_batched rocblas_zherkx_batched_64 rocblas_zherkx_strided_batched rocblas_zherkx_strided_batched_64;
}
