//! cuBLAS's functions, each with a `Result`.
#![allow(clippy::missing_safety_doc, reason = "the contract is the one of cuBLAS's function of that name")]
#![allow(clippy::too_many_arguments, reason = "the arguments are cuBLAS's")]

use std::ffi::{c_int, c_longlong, c_void};
use std::fmt;

use super::sys::{self, cublasStatus_t};

/// A status of cuBLAS other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CublasError(pub cublasStatus_t);

impl cublasStatus_t {
    /// An error, unless this is success.
    pub fn result(self) -> Result<(), CublasError> {
        match self {
            Self::CUBLAS_STATUS_SUCCESS => Ok(()),
            other => Err(CublasError(other)),
        }
    }
}

impl fmt::Display for CublasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for CublasError {}

/// Makes a handle for the calling thread's device (`cublasCreate`).
pub fn create_handle() -> Result<sys::cublasHandle_t, CublasError> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the handle is writable.
    unsafe { sys::cublasCreate_v2(&raw mut handle) }.result()?;
    Ok(handle)
}

/// Functions that only return their status.
macro_rules! calls {
    ($($(#[$attribute:meta])* fn $name:ident = $function:ident($($argument:ident: $type:ty $(as $cast:ident)?),* $(,)?);)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> Result<(), CublasError> {
                // SAFETY: the caller vouches for the arguments.
                unsafe { sys::$function($(calls!(@ $argument $($cast)?)),*) }.result()
            }
        )+
    };
    (@ $argument:ident) => { $argument };
    (@ $argument:ident half) => { $argument.cast() };
}

macro_rules! typed {
    ($($(#[$attribute:meta])* $type:ty:
        $gemm:ident = $gemm_function:ident, $batched:ident = $batched_function:ident $(, $cast:ident)?;)+) => {
        $(
            calls! {
                $(#[$attribute])*
                /// Multiplies matrices (`cublas<t>gemm`).
                fn $gemm = $gemm_function(
                    handle: sys::cublasHandle_t,
                    transa: sys::cublasOperation_t,
                    transb: sys::cublasOperation_t,
                    m: c_int,
                    n: c_int,
                    k: c_int,
                    alpha: *const $type $(as $cast)?,
                    a: *const $type $(as $cast)?,
                    lda: c_int,
                    b: *const $type $(as $cast)?,
                    ldb: c_int,
                    beta: *const $type $(as $cast)?,
                    c: *mut $type $(as $cast)?,
                    ldc: c_int,
                );
                $(#[$attribute])*
                /// Multiplies many matrices, each at a fixed distance from the last one
                /// (`cublas<t>gemmStridedBatched`).
                fn $batched = $batched_function(
                    handle: sys::cublasHandle_t,
                    transa: sys::cublasOperation_t,
                    transb: sys::cublasOperation_t,
                    m: c_int,
                    n: c_int,
                    k: c_int,
                    alpha: *const $type $(as $cast)?,
                    a: *const $type $(as $cast)?,
                    lda: c_int,
                    stride_a: c_longlong,
                    b: *const $type $(as $cast)?,
                    ldb: c_int,
                    stride_b: c_longlong,
                    beta: *const $type $(as $cast)?,
                    c: *mut $type $(as $cast)?,
                    ldc: c_int,
                    stride_c: c_longlong,
                    batch_size: c_int,
                );
            }
        )+
    };
}

typed! {
    f32: sgemm = cublasSgemm_v2, sgemm_strided_batched = cublasSgemmStridedBatched;
    f64: dgemm = cublasDgemm_v2, dgemm_strided_batched = cublasDgemmStridedBatched;
    #[cfg(feature = "f16")]
    half::f16: hgemm = cublasHgemm, hgemm_strided_batched = cublasHgemmStridedBatched, half;
}

calls! {
    /// Destroys a handle (`cublasDestroy`).
    fn destroy_handle = cublasDestroy_v2(handle: sys::cublasHandle_t);

    /// Sets the stream that work is submitted to (`cublasSetStream`).
    fn set_stream = cublasSetStream_v2(handle: sys::cublasHandle_t, stream: sys::cudaStream_t);

    /// Multiplies a matrix and a vector (`cublasSgemv`).
    fn sgemv = cublasSgemv_v2(
        handle: sys::cublasHandle_t,
        trans: sys::cublasOperation_t,
        m: c_int,
        n: c_int,
        alpha: *const f32,
        a: *const f32,
        lda: c_int,
        x: *const f32,
        incx: c_int,
        beta: *const f32,
        y: *mut f32,
        incy: c_int,
    );

    /// Multiplies a matrix and a vector (`cublasDgemv`).
    fn dgemv = cublasDgemv_v2(
        handle: sys::cublasHandle_t,
        trans: sys::cublasOperation_t,
        m: c_int,
        n: c_int,
        alpha: *const f64,
        a: *const f64,
        lda: c_int,
        x: *const f64,
        incx: c_int,
        beta: *const f64,
        y: *mut f64,
        incy: c_int,
    );

    /// Multiplies matrices of given types (`cublasGemmEx`).
    fn gemm_ex = cublasGemmEx(
        handle: sys::cublasHandle_t,
        transa: sys::cublasOperation_t,
        transb: sys::cublasOperation_t,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: *const c_void,
        a_type: sys::cudaDataType,
        lda: c_int,
        b: *const c_void,
        b_type: sys::cudaDataType,
        ldb: c_int,
        beta: *const c_void,
        c: *mut c_void,
        c_type: sys::cudaDataType,
        ldc: c_int,
        compute_type: sys::cublasComputeType_t,
        algo: sys::cublasGemmAlgo_t,
    );

    /// Multiplies many matrices of given types (`cublasGemmStridedBatchedEx`).
    fn gemm_strided_batched_ex = cublasGemmStridedBatchedEx(
        handle: sys::cublasHandle_t,
        transa: sys::cublasOperation_t,
        transb: sys::cublasOperation_t,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: *const c_void,
        a_type: sys::cudaDataType,
        lda: c_int,
        stride_a: c_longlong,
        b: *const c_void,
        b_type: sys::cudaDataType,
        ldb: c_int,
        stride_b: c_longlong,
        beta: *const c_void,
        c: *mut c_void,
        c_type: sys::cudaDataType,
        ldc: c_int,
        stride_c: c_longlong,
        batch_count: c_int,
        compute_type: sys::cublasComputeType_t,
        algo: sys::cublasGemmAlgo_t,
    );

    /// Adds absolute values (`cublasSasum`).
    fn sasum = cublasSasum_v2(handle: sys::cublasHandle_t, n: c_int, x: *const f32, incx: c_int, result: *mut f32);

    /// Adds absolute values (`cublasDasum`).
    fn dasum = cublasDasum_v2(handle: sys::cublasHandle_t, n: c_int, x: *const f64, incx: c_int, result: *mut f64);
}
