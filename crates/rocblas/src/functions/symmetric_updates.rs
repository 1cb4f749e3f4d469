//! Level 3: products that are symmetric or Hermitian. A trait for each routine, a row for each type that it exists for.

use num_complex::{Complex32, Complex64};
use rocblas_sys::{rocblas_fill, rocblas_operation};

use super::{Address, Call, Operand};
use crate::error::Result;

/// `C = alpha op(A) op(A)ᵀ + beta C`.
pub trait Syrk: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn syrk(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! syrk {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Syrk for $type {
            unsafe fn syrk(call: &Call<'_>, uplo: rocblas_fill, trans: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans, int n, int k, ptr alpha, at a, ptr beta, at c, batch)
                }
            }
        }
    };
}
syrk! { f32, rocblas_ssyrk, rocblas_ssyrk_64, rocblas_ssyrk_batched, rocblas_ssyrk_batched_64,
rocblas_ssyrk_strided_batched, rocblas_ssyrk_strided_batched_64 }
syrk! { f64, rocblas_dsyrk, rocblas_dsyrk_64, rocblas_dsyrk_batched, rocblas_dsyrk_batched_64,
rocblas_dsyrk_strided_batched, rocblas_dsyrk_strided_batched_64 }
syrk! { Complex32, rocblas_csyrk, rocblas_csyrk_64, rocblas_csyrk_batched, rocblas_csyrk_batched_64,
rocblas_csyrk_strided_batched, rocblas_csyrk_strided_batched_64 }
syrk! { Complex64, rocblas_zsyrk, rocblas_zsyrk_64, rocblas_zsyrk_batched, rocblas_zsyrk_batched_64,
rocblas_zsyrk_strided_batched, rocblas_zsyrk_strided_batched_64 }

/// `C = alpha op(A) op(A)ᴴ + beta C`.
pub trait Herk: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn herk(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! herk {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Herk for $type {
            unsafe fn herk(call: &Call<'_>, uplo: rocblas_fill, trans: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans, int n, int k, ptr alpha, at a, ptr beta, at c, batch)
                }
            }
        }
    };
}
herk! { Complex32, rocblas_cherk, rocblas_cherk_64, rocblas_cherk_batched, rocblas_cherk_batched_64,
rocblas_cherk_strided_batched, rocblas_cherk_strided_batched_64 }
herk! { Complex64, rocblas_zherk, rocblas_zherk_64, rocblas_zherk_batched, rocblas_zherk_batched_64,
rocblas_zherk_strided_batched, rocblas_zherk_strided_batched_64 }

/// `C = alpha (op(A) op(B)ᵀ + op(B) op(A)ᵀ) + beta C`.
pub trait Syr2k: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn syr2k(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! syr2k {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Syr2k for $type {
            unsafe fn syr2k(call: &Call<'_>, uplo: rocblas_fill, trans: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
syr2k! { f32, rocblas_ssyr2k, rocblas_ssyr2k_64, rocblas_ssyr2k_batched, rocblas_ssyr2k_batched_64,
rocblas_ssyr2k_strided_batched, rocblas_ssyr2k_strided_batched_64 }
syr2k! { f64, rocblas_dsyr2k, rocblas_dsyr2k_64, rocblas_dsyr2k_batched, rocblas_dsyr2k_batched_64,
rocblas_dsyr2k_strided_batched, rocblas_dsyr2k_strided_batched_64 }
syr2k! { Complex32, rocblas_csyr2k, rocblas_csyr2k_64, rocblas_csyr2k_batched, rocblas_csyr2k_batched_64,
rocblas_csyr2k_strided_batched, rocblas_csyr2k_strided_batched_64 }
syr2k! { Complex64, rocblas_zsyr2k, rocblas_zsyr2k_64, rocblas_zsyr2k_batched, rocblas_zsyr2k_batched_64,
rocblas_zsyr2k_strided_batched, rocblas_zsyr2k_strided_batched_64 }

/// `C = alpha op(A) op(B)ᴴ + conj(alpha) op(B) op(A)ᴴ + beta C`.
pub trait Her2k: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn her2k(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! her2k {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Her2k for $type {
            unsafe fn her2k(call: &Call<'_>, uplo: rocblas_fill, trans: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
her2k! { Complex32, rocblas_cher2k, rocblas_cher2k_64, rocblas_cher2k_batched, rocblas_cher2k_batched_64,
rocblas_cher2k_strided_batched, rocblas_cher2k_strided_batched_64 }
her2k! { Complex64, rocblas_zher2k, rocblas_zher2k_64, rocblas_zher2k_batched, rocblas_zher2k_batched_64,
rocblas_zher2k_strided_batched, rocblas_zher2k_strided_batched_64 }

/// `C = alpha op(A) op(B)ᵀ + beta C`, which is symmetric.
pub trait Syrkx: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn syrkx(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! syrkx {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Syrkx for $type {
            unsafe fn syrkx(call: &Call<'_>, uplo: rocblas_fill, trans: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
syrkx! { f32, rocblas_ssyrkx, rocblas_ssyrkx_64, rocblas_ssyrkx_batched, rocblas_ssyrkx_batched_64,
rocblas_ssyrkx_strided_batched, rocblas_ssyrkx_strided_batched_64 }
syrkx! { f64, rocblas_dsyrkx, rocblas_dsyrkx_64, rocblas_dsyrkx_batched, rocblas_dsyrkx_batched_64,
rocblas_dsyrkx_strided_batched, rocblas_dsyrkx_strided_batched_64 }
syrkx! { Complex32, rocblas_csyrkx, rocblas_csyrkx_64, rocblas_csyrkx_batched, rocblas_csyrkx_batched_64,
rocblas_csyrkx_strided_batched, rocblas_csyrkx_strided_batched_64 }
syrkx! { Complex64, rocblas_zsyrkx, rocblas_zsyrkx_64, rocblas_zsyrkx_batched, rocblas_zsyrkx_batched_64,
rocblas_zsyrkx_strided_batched, rocblas_zsyrkx_strided_batched_64 }

/// `C = alpha op(A) op(B)ᴴ + beta C`, which is Hermitian.
pub trait Herkx: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn herkx(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! herkx {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Herkx for $type {
            unsafe fn herkx(call: &Call<'_>, uplo: rocblas_fill, trans: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
herkx! { Complex32, rocblas_cherkx, rocblas_cherkx_64, rocblas_cherkx_batched, rocblas_cherkx_batched_64,
rocblas_cherkx_strided_batched, rocblas_cherkx_strided_batched_64 }
herkx! { Complex64, rocblas_zherkx, rocblas_zherkx_64, rocblas_zherkx_batched, rocblas_zherkx_batched_64,
rocblas_zherkx_strided_batched, rocblas_zherkx_strided_batched_64 }
