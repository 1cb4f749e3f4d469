//! Level 3: matrices with matrices. A trait for each routine, a row for each type that it exists for.

use half::f16;
use num_complex::{Complex32, Complex64};
use rocblas_sys::{rocblas_diagonal, rocblas_fill, rocblas_operation, rocblas_side};

use super::{Address, Call, Operand};

use crate::error::Result;

/// `C = alpha op(A) op(B) + beta C`.
pub(crate) trait Gemm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn gemm(
        call: &Call<'_>,
        trans_a: rocblas_operation,
        trans_b: rocblas_operation,
        m: i64,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! gemm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Gemm for $type {
            unsafe fn gemm(call: &Call<'_>, trans_a: rocblas_operation, trans_b: rocblas_operation, m: i64, n: i64, k: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val trans_a, val trans_b, int m, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
gemm! { f32, rocblas_sgemm, rocblas_sgemm_64, rocblas_sgemm_batched, rocblas_sgemm_batched_64,
rocblas_sgemm_strided_batched, rocblas_sgemm_strided_batched_64 }
gemm! { f64, rocblas_dgemm, rocblas_dgemm_64, rocblas_dgemm_batched, rocblas_dgemm_batched_64,
rocblas_dgemm_strided_batched, rocblas_dgemm_strided_batched_64 }
gemm! { Complex32, rocblas_cgemm, rocblas_cgemm_64, rocblas_cgemm_batched, rocblas_cgemm_batched_64,
rocblas_cgemm_strided_batched, rocblas_cgemm_strided_batched_64 }
gemm! { Complex64, rocblas_zgemm, rocblas_zgemm_64, rocblas_zgemm_batched, rocblas_zgemm_batched_64,
rocblas_zgemm_strided_batched, rocblas_zgemm_strided_batched_64 }
gemm! { f16, rocblas_hgemm, rocblas_hgemm_64, rocblas_hgemm_batched, rocblas_hgemm_batched_64,
rocblas_hgemm_strided_batched, rocblas_hgemm_strided_batched_64 }

/// One triangle of `C = alpha op(A) op(B) + beta C`.
pub trait Gemmt: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn gemmt(
        call: &Call<'_>,
        uplo: rocblas_fill,
        trans_a: rocblas_operation,
        trans_b: rocblas_operation,
        n: i64,
        k: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! gemmt {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Gemmt for $type {
            unsafe fn gemmt(call: &Call<'_>, uplo: rocblas_fill, trans_a: rocblas_operation, trans_b: rocblas_operation, n: i64, k: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val uplo, val trans_a, val trans_b, int n, int k, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
gemmt! { f32, rocblas_sgemmt, rocblas_sgemmt_64, rocblas_sgemmt_batched, rocblas_sgemmt_batched_64,
rocblas_sgemmt_strided_batched, rocblas_sgemmt_strided_batched_64 }
gemmt! { f64, rocblas_dgemmt, rocblas_dgemmt_64, rocblas_dgemmt_batched, rocblas_dgemmt_batched_64,
rocblas_dgemmt_strided_batched, rocblas_dgemmt_strided_batched_64 }
gemmt! { Complex32, rocblas_cgemmt, rocblas_cgemmt_64, rocblas_cgemmt_batched, rocblas_cgemmt_batched_64,
rocblas_cgemmt_strided_batched, rocblas_cgemmt_strided_batched_64 }
gemmt! { Complex64, rocblas_zgemmt, rocblas_zgemmt_64, rocblas_zgemmt_batched, rocblas_zgemmt_batched_64,
rocblas_zgemmt_strided_batched, rocblas_zgemmt_strided_batched_64 }

/// `C = alpha A B + beta C` or `C = alpha B A + beta C`, `A` symmetric.
pub trait Symm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn symm(
        call: &Call<'_>,
        side: rocblas_side,
        uplo: rocblas_fill,
        m: i64,
        n: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! symm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Symm for $type {
            unsafe fn symm(call: &Call<'_>, side: rocblas_side, uplo: rocblas_fill, m: i64, n: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val side, val uplo, int m, int n, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
symm! { f32, rocblas_ssymm, rocblas_ssymm_64, rocblas_ssymm_batched, rocblas_ssymm_batched_64,
rocblas_ssymm_strided_batched, rocblas_ssymm_strided_batched_64 }
symm! { f64, rocblas_dsymm, rocblas_dsymm_64, rocblas_dsymm_batched, rocblas_dsymm_batched_64,
rocblas_dsymm_strided_batched, rocblas_dsymm_strided_batched_64 }
symm! { Complex32, rocblas_csymm, rocblas_csymm_64, rocblas_csymm_batched, rocblas_csymm_batched_64,
rocblas_csymm_strided_batched, rocblas_csymm_strided_batched_64 }
symm! { Complex64, rocblas_zsymm, rocblas_zsymm_64, rocblas_zsymm_batched, rocblas_zsymm_batched_64,
rocblas_zsymm_strided_batched, rocblas_zsymm_strided_batched_64 }

/// `C = alpha A B + beta C` or `C = alpha B A + beta C`, `A` Hermitian.
pub trait Hemm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn hemm(
        call: &Call<'_>,
        side: rocblas_side,
        uplo: rocblas_fill,
        m: i64,
        n: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        beta: Address,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! hemm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Hemm for $type {
            unsafe fn hemm(call: &Call<'_>, side: rocblas_side, uplo: rocblas_fill, m: i64, n: i64, alpha: Address, a: &Operand, b: &Operand, beta: Address, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val side, val uplo, int m, int n, ptr alpha, at a, at b, ptr beta, at c, batch)
                }
            }
        }
    };
}
hemm! { Complex32, rocblas_chemm, rocblas_chemm_64, rocblas_chemm_batched, rocblas_chemm_batched_64,
rocblas_chemm_strided_batched, rocblas_chemm_strided_batched_64 }
hemm! { Complex64, rocblas_zhemm, rocblas_zhemm_64, rocblas_zhemm_batched, rocblas_zhemm_batched_64,
rocblas_zhemm_strided_batched, rocblas_zhemm_strided_batched_64 }

/// `C = alpha op(A) B` or `C = alpha B op(A)`, `A` triangular.
pub trait Trmm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn trmm(
        call: &Call<'_>,
        side: rocblas_side,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        diag: rocblas_diagonal,
        m: i64,
        n: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! trmm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Trmm for $type {
            unsafe fn trmm(call: &Call<'_>, side: rocblas_side, uplo: rocblas_fill, trans: rocblas_operation, diag: rocblas_diagonal, m: i64, n: i64, alpha: Address, a: &Operand, b: &Operand, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val side, val uplo, val trans, val diag, int m, int n, ptr alpha, at a, at b, at c, batch)
                }
            }
        }
    };
}
trmm! { f32, rocblas_strmm, rocblas_strmm_64, rocblas_strmm_batched, rocblas_strmm_batched_64,
rocblas_strmm_strided_batched, rocblas_strmm_strided_batched_64 }
trmm! { f64, rocblas_dtrmm, rocblas_dtrmm_64, rocblas_dtrmm_batched, rocblas_dtrmm_batched_64,
rocblas_dtrmm_strided_batched, rocblas_dtrmm_strided_batched_64 }
trmm! { Complex32, rocblas_ctrmm, rocblas_ctrmm_64, rocblas_ctrmm_batched, rocblas_ctrmm_batched_64,
rocblas_ctrmm_strided_batched, rocblas_ctrmm_strided_batched_64 }
trmm! { Complex64, rocblas_ztrmm, rocblas_ztrmm_64, rocblas_ztrmm_batched, rocblas_ztrmm_batched_64,
rocblas_ztrmm_strided_batched, rocblas_ztrmm_strided_batched_64 }

/// Solves `op(A) X = alpha B` or `X op(A) = alpha B` in place of `B`.
pub trait Trsm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn trsm(
        call: &Call<'_>,
        side: rocblas_side,
        uplo: rocblas_fill,
        trans: rocblas_operation,
        diag: rocblas_diagonal,
        m: i64,
        n: i64,
        alpha: Address,
        a: &Operand,
        b: &Operand,
    ) -> Result<()>;
}

macro_rules! trsm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Trsm for $type {
            unsafe fn trsm(call: &Call<'_>, side: rocblas_side, uplo: rocblas_fill, trans: rocblas_operation, diag: rocblas_diagonal, m: i64, n: i64, alpha: Address, a: &Operand, b: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val side, val uplo, val trans, val diag, int m, int n, ptr alpha, at a, at b, batch)
                }
            }
        }
    };
}
trsm! { f32, rocblas_strsm, rocblas_strsm_64, rocblas_strsm_batched, rocblas_strsm_batched_64,
rocblas_strsm_strided_batched, rocblas_strsm_strided_batched_64 }
trsm! { f64, rocblas_dtrsm, rocblas_dtrsm_64, rocblas_dtrsm_batched, rocblas_dtrsm_batched_64,
rocblas_dtrsm_strided_batched, rocblas_dtrsm_strided_batched_64 }
trsm! { Complex32, rocblas_ctrsm, rocblas_ctrsm_64, rocblas_ctrsm_batched, rocblas_ctrsm_batched_64,
rocblas_ctrsm_strided_batched, rocblas_ctrsm_strided_batched_64 }
trsm! { Complex64, rocblas_ztrsm, rocblas_ztrsm_64, rocblas_ztrsm_batched, rocblas_ztrsm_batched_64,
rocblas_ztrsm_strided_batched, rocblas_ztrsm_strided_batched_64 }

/// The inverse of a triangular matrix.
pub trait Trtri: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn trtri(
        call: &Call<'_>,
        uplo: rocblas_fill,
        diag: rocblas_diagonal,
        n: i64,
        a: &Operand,
        inverse: &Operand,
    ) -> Result<()>;
}

macro_rules! trtri {
    ($type:ident, $one:ident, $many:ident, $strided:ident) => {
        impl Trtri for $type {
            unsafe fn trtri(call: &Call<'_>, uplo: rocblas_fill, diag: rocblas_diagonal, n: i64, a: &Operand, inverse: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    three!(call: $one $many $strided; val uplo, val diag, int n, at a, at inverse, batch)
                }
            }
        }
    };
}
trtri! { f32, rocblas_strtri, rocblas_strtri_batched, rocblas_strtri_strided_batched }
trtri! { f64, rocblas_dtrtri, rocblas_dtrtri_batched, rocblas_dtrtri_strided_batched }
trtri! { Complex32, rocblas_ctrtri, rocblas_ctrtri_batched, rocblas_ctrtri_strided_batched }
trtri! { Complex64, rocblas_ztrtri, rocblas_ztrtri_batched, rocblas_ztrtri_strided_batched }

/// `C = alpha op(A) + beta op(B)`.
pub trait Geam: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn geam(
        call: &Call<'_>,
        trans_a: rocblas_operation,
        trans_b: rocblas_operation,
        m: i64,
        n: i64,
        alpha: Address,
        a: &Operand,
        beta: Address,
        b: &Operand,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! geam {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Geam for $type {
            unsafe fn geam(call: &Call<'_>, trans_a: rocblas_operation, trans_b: rocblas_operation, m: i64, n: i64, alpha: Address, a: &Operand, beta: Address, b: &Operand, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val trans_a, val trans_b, int m, int n, ptr alpha, at a, ptr beta, at b, at c, batch)
                }
            }
        }
    };
}
geam! { f32, rocblas_sgeam, rocblas_sgeam_64, rocblas_sgeam_batched, rocblas_sgeam_batched_64,
rocblas_sgeam_strided_batched, rocblas_sgeam_strided_batched_64 }
geam! { f64, rocblas_dgeam, rocblas_dgeam_64, rocblas_dgeam_batched, rocblas_dgeam_batched_64,
rocblas_dgeam_strided_batched, rocblas_dgeam_strided_batched_64 }
geam! { Complex32, rocblas_cgeam, rocblas_cgeam_64, rocblas_cgeam_batched, rocblas_cgeam_batched_64,
rocblas_cgeam_strided_batched, rocblas_cgeam_strided_batched_64 }
geam! { Complex64, rocblas_zgeam, rocblas_zgeam_64, rocblas_zgeam_batched, rocblas_zgeam_batched_64,
rocblas_zgeam_strided_batched, rocblas_zgeam_strided_batched_64 }

/// `C = diag(x) A` or `C = A diag(x)`.
pub trait Dgmm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn dgmm(
        call: &Call<'_>,
        side: rocblas_side,
        m: i64,
        n: i64,
        a: &Operand,
        x: &Operand,
        c: &Operand,
    ) -> Result<()>;
}

macro_rules! dgmm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Dgmm for $type {
            unsafe fn dgmm(call: &Call<'_>, side: rocblas_side, m: i64, n: i64, a: &Operand, x: &Operand, c: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; val side, int m, int n, at a, at x, at c, batch)
                }
            }
        }
    };
}
dgmm! { f32, rocblas_sdgmm, rocblas_sdgmm_64, rocblas_sdgmm_batched, rocblas_sdgmm_batched_64,
rocblas_sdgmm_strided_batched, rocblas_sdgmm_strided_batched_64 }
dgmm! { f64, rocblas_ddgmm, rocblas_ddgmm_64, rocblas_ddgmm_batched, rocblas_ddgmm_batched_64,
rocblas_ddgmm_strided_batched, rocblas_ddgmm_strided_batched_64 }
dgmm! { Complex32, rocblas_cdgmm, rocblas_cdgmm_64, rocblas_cdgmm_batched, rocblas_cdgmm_batched_64,
rocblas_cdgmm_strided_batched, rocblas_cdgmm_strided_batched_64 }
dgmm! { Complex64, rocblas_zdgmm, rocblas_zdgmm_64, rocblas_zdgmm_batched, rocblas_zdgmm_batched_64,
rocblas_zdgmm_strided_batched, rocblas_zdgmm_strided_batched_64 }
