//! The functions of cuBLAS that this crate has.
#![allow(missing_docs, reason = "names and contracts are those of cuBLAS's header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the one in cuBLAS's documentation")]
#![allow(clippy::too_many_arguments, reason = "the arguments are cuBLAS's")]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are cuBLAS's")]

mod enums;
mod handle;

use std::ffi::{c_int, c_longlong, c_void};

use rocblas::rocblas_sys::{
    rocblas_atomics_mode, rocblas_datatype, rocblas_gemm_algo, rocblas_operation, rocblas_pointer_mode,
};

pub use crate::driver::sys::CUstream_st;
pub use enums::*;
use handle::Blas;
pub(crate) use handle::{Outcome, check};

#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cublasContext {
    _unused: [u8; 0],
}
pub type cublasHandle_t = *mut cublasContext;
pub type cudaStream_t = *mut CUstream_st;
pub use self::cudaDataType as cublasDataType_t;

/// 16-bit floats with the bits of `half::f16`.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct __half {
    pub __x: u16,
}

/// The version of cuBLAS whose functions these are: 12.9.
const VERSION: c_int = 120_900;

/// cuBLAS functions, whose bodies end in an outcome.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> cublasStatus_t {
                // SAFETY: the caller keeps the contract in cuBLAS's documentation of this function, and
                // rocBLAS's is the same: handles are from `cublasCreate`, and pointers are as documented.
                let run = move || -> Outcome { unsafe { $body } };
                run().err().unwrap_or(cublasStatus_t::CUBLAS_STATUS_SUCCESS)
            }
        )+
    };
}

functions! {
    /// For the calling thread's device.
    fn cublasCreate_v2(handle: *mut cublasHandle_t) {
        give(handle, Blas::create()?.cast())
    }

    fn cublasDestroy_v2(handle: cublasHandle_t) {
        Blas::destroy(handle.cast())
    }

    fn cublasGetVersion_v2(_handle: cublasHandle_t, version: *mut c_int) {
        give(version, VERSION)
    }

    fn cublasSetStream_v2(handle: cublasHandle_t, streamId: cudaStream_t) {
        blas(handle)?.set_stream(streamId)
    }

    fn cublasGetStream_v2(handle: cublasHandle_t, streamId: *mut cudaStream_t) {
        let blas = blas(handle)?;
        check((blas.table.rocblas_get_stream)(blas.handle, streamId.cast()))
    }

    fn cublasSetPointerMode_v2(handle: cublasHandle_t, mode: cublasPointerMode_t) {
        let blas = blas(handle)?;
        let mode = match mode {
            cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST => rocblas_pointer_mode::rocblas_pointer_mode_host,
            cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE => rocblas_pointer_mode::rocblas_pointer_mode_device,
        };
        check((blas.table.rocblas_set_pointer_mode)(blas.handle, mode))
    }

    fn cublasGetPointerMode_v2(handle: cublasHandle_t, mode: *mut cublasPointerMode_t) {
        let blas = blas(handle)?;
        let mut found = rocblas_pointer_mode::rocblas_pointer_mode_host;
        check((blas.table.rocblas_get_pointer_mode)(blas.handle, &raw mut found))?;
        give(mode, match found {
            rocblas_pointer_mode::rocblas_pointer_mode_host => cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST,
            _ => cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE,
        })
    }

    fn cublasSetAtomicsMode(handle: cublasHandle_t, mode: cublasAtomicsMode_t) {
        let blas = blas(handle)?;
        let mode = match mode {
            cublasAtomicsMode_t::CUBLAS_ATOMICS_NOT_ALLOWED => {
                rocblas_atomics_mode::rocblas_atomics_not_allowed
            }
            cublasAtomicsMode_t::CUBLAS_ATOMICS_ALLOWED => rocblas_atomics_mode::rocblas_atomics_allowed,
        };
        check((blas.table.rocblas_set_atomics_mode)(blas.handle, mode))
    }

    /// Results are never less exact than their type, which every mode allows, except that cuBLAS computes in
    /// TF32 where the mode allows that.
    fn cublasSetMathMode(handle: cublasHandle_t, mode: cublasMath_t) {
        let blas = blas(handle)?;
        blas.allow_tf32(mode as u32 == cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH as u32)?;
        blas.math.store(mode as u32, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    fn cublasGetMathMode(handle: cublasHandle_t, mode: *mut cublasMath_t) {
        let number = blas(handle)?.math.load(std::sync::atomic::Ordering::Relaxed);
        give(mode, cublasMath_t::from_code(i64::from(number)).unwrap_or(cublasMath_t::CUBLAS_DEFAULT_MATH))
    }

    fn cublasGemmEx(
        handle: cublasHandle_t, transa: cublasOperation_t, transb: cublasOperation_t, m: c_int, n: c_int, k: c_int,
        alpha: *const c_void, A: *const c_void, Atype: cudaDataType, lda: c_int, B: *const c_void, Btype: cudaDataType,
        ldb: c_int, beta: *const c_void, C: *mut c_void, Ctype: cudaDataType, ldc: c_int,
        computeType: cublasComputeType_t, _algo: cublasGemmAlgo_t,
    ) {
        let blas = blas(handle)?;
        let types = (datatype(Atype)?, datatype(Btype)?, datatype(Ctype)?, compute(computeType)?);
        blas.on_its_device()?;
        blas.product(computeType, || check((blas.table.rocblas_gemm_ex)(
            blas.handle, operation(transa)?, operation(transb)?, m, n, k, alpha, A, types.0, lda, B, types.1, ldb, beta,
            C, types.2, ldc, C, types.2, ldc, types.3, STANDARD, 0, 0,
        )))
    }

    fn cublasGemmStridedBatchedEx(
        handle: cublasHandle_t, transa: cublasOperation_t, transb: cublasOperation_t, m: c_int, n: c_int, k: c_int,
        alpha: *const c_void, A: *const c_void, Atype: cudaDataType, lda: c_int, strideA: c_longlong,
        B: *const c_void, Btype: cudaDataType, ldb: c_int, strideB: c_longlong, beta: *const c_void, C: *mut c_void,
        Ctype: cudaDataType, ldc: c_int, strideC: c_longlong, batchCount: c_int, computeType: cublasComputeType_t,
        _algo: cublasGemmAlgo_t,
    ) {
        let blas = blas(handle)?;
        let types = (datatype(Atype)?, datatype(Btype)?, datatype(Ctype)?, compute(computeType)?);
        blas.on_its_device()?;
        blas.product(computeType, || check((blas.table.rocblas_gemm_strided_batched_ex)(
            blas.handle, operation(transa)?, operation(transb)?, m, n, k, alpha, A, types.0, lda, strideA, B, types.1,
            ldb, strideB, beta, C, types.2, ldc, strideC, C, types.2, ldc, strideC, batchCount, types.3, STANDARD, 0, 0,
        )))
    }

    fn cublasGemmBatchedEx(
        handle: cublasHandle_t, transa: cublasOperation_t, transb: cublasOperation_t, m: c_int, n: c_int, k: c_int,
        alpha: *const c_void, Aarray: *const *const c_void, Atype: cudaDataType, lda: c_int,
        Barray: *const *const c_void, Btype: cudaDataType, ldb: c_int, beta: *const c_void,
        Carray: *const *mut c_void, Ctype: cudaDataType, ldc: c_int, batchCount: c_int,
        computeType: cublasComputeType_t, _algo: cublasGemmAlgo_t,
    ) {
        let blas = blas(handle)?;
        let types = (datatype(Atype)?, datatype(Btype)?, datatype(Ctype)?, compute(computeType)?);
        blas.on_its_device()?;
        blas.product(computeType, || check((blas.table.rocblas_gemm_batched_ex)(
            blas.handle, operation(transa)?, operation(transb)?, m, n, k, alpha, Aarray.cast(), types.0, lda,
            Barray.cast(), types.1, ldb, beta, Carray.cast(), types.2, ldc, Carray.cast_mut().cast(), types.2, ldc,
            batchCount, types.3, STANDARD, 0, 0,
        )))
    }
}

/// Functions with the same arguments in rocBLAS.
macro_rules! same {
    ($($cublas:ident = $rocblas:ident($($argument:ident: $type:ty $(as $convert:ident)?),* $(,)?);)+) => {
        functions! {
            $(
                fn $cublas(handle: cublasHandle_t, $($argument: $type),*) {
                    let blas = blas(handle)?;
                    blas.on_its_device()?;
                    check((blas.table.$rocblas)(blas.handle, $(same!(@ $argument $($convert)?)),*))
                }
            )+
        }
    };
    (@ $argument:ident) => { $argument };
    (@ $argument:ident operation) => { operation($argument)? };
    (@ $argument:ident half) => { $argument.cast() };
}

macro_rules! same_types {
    ($($type:ty: $axpy:ident = $raxpy:ident, $dot:ident = $rdot:ident, $scal:ident = $rscal:ident, $copy:ident = $rcopy:ident,
        $swap:ident = $rswap:ident, $nrm2:ident = $rnrm2:ident, $asum:ident = $rasum:ident, $gemv:ident = $rgemv:ident,
        $ger:ident = $rger:ident, $gemm:ident = $rgemm:ident, $batched:ident = $rbatched:ident;)+) => {
        same! {
            $(
                $axpy = $raxpy(n: c_int, alpha: *const $type, x: *const $type, incx: c_int, y: *mut $type, incy: c_int);
                $dot = $rdot(
                    n: c_int, x: *const $type, incx: c_int, y: *const $type, incy: c_int, result: *mut $type,
                );
                $scal = $rscal(n: c_int, alpha: *const $type, x: *mut $type, incx: c_int);
                $copy = $rcopy(n: c_int, x: *const $type, incx: c_int, y: *mut $type, incy: c_int);
                $swap = $rswap(n: c_int, x: *mut $type, incx: c_int, y: *mut $type, incy: c_int);
                $nrm2 = $rnrm2(n: c_int, x: *const $type, incx: c_int, result: *mut $type);
                $asum = $rasum(n: c_int, x: *const $type, incx: c_int, result: *mut $type);
                $gemv = $rgemv(
                    trans: cublasOperation_t as operation, m: c_int, n: c_int, alpha: *const $type, A: *const $type,
                    lda: c_int, x: *const $type, incx: c_int, beta: *const $type, y: *mut $type, incy: c_int,
                );
                $ger = $rger(
                    m: c_int, n: c_int, alpha: *const $type, x: *const $type, incx: c_int, y: *const $type, incy: c_int,
                    A: *mut $type, lda: c_int,
                );
                $gemm = $rgemm(
                    transa: cublasOperation_t as operation, transb: cublasOperation_t as operation, m: c_int, n: c_int,
                    k: c_int, alpha: *const $type, A: *const $type, lda: c_int, B: *const $type, ldb: c_int,
                    beta: *const $type, C: *mut $type, ldc: c_int,
                );
                $batched = $rbatched(
                    transa: cublasOperation_t as operation, transb: cublasOperation_t as operation, m: c_int, n: c_int,
                    k: c_int, alpha: *const $type, A: *const $type, lda: c_int, strideA: c_longlong, B: *const $type,
                    ldb: c_int, strideB: c_longlong, beta: *const $type, C: *mut $type, ldc: c_int,
                    strideC: c_longlong, batchCount: c_int,
                );
            )+
        }
    };
}

same_types! {
    f32: cublasSaxpy_v2 = rocblas_saxpy, cublasSdot_v2 = rocblas_sdot, cublasSscal_v2 = rocblas_sscal,
        cublasScopy_v2 = rocblas_scopy, cublasSswap_v2 = rocblas_sswap, cublasSnrm2_v2 = rocblas_snrm2,
        cublasSasum_v2 = rocblas_sasum, cublasSgemv_v2 = rocblas_sgemv, cublasSger_v2 = rocblas_sger,
        cublasSgemm_v2 = rocblas_sgemm, cublasSgemmStridedBatched = rocblas_sgemm_strided_batched;
    f64: cublasDaxpy_v2 = rocblas_daxpy, cublasDdot_v2 = rocblas_ddot, cublasDscal_v2 = rocblas_dscal,
        cublasDcopy_v2 = rocblas_dcopy, cublasDswap_v2 = rocblas_dswap, cublasDnrm2_v2 = rocblas_dnrm2,
        cublasDasum_v2 = rocblas_dasum, cublasDgemv_v2 = rocblas_dgemv, cublasDger_v2 = rocblas_dger,
        cublasDgemm_v2 = rocblas_dgemm, cublasDgemmStridedBatched = rocblas_dgemm_strided_batched;
}

same! {
    cublasHgemm = rocblas_hgemm(
        transa: cublasOperation_t as operation, transb: cublasOperation_t as operation, m: c_int, n: c_int, k: c_int,
        alpha: *const __half as half, A: *const __half as half, lda: c_int, B: *const __half as half, ldb: c_int,
        beta: *const __half as half, C: *mut __half as half, ldc: c_int,
    );
    cublasHgemmStridedBatched = rocblas_hgemm_strided_batched(
        transa: cublasOperation_t as operation, transb: cublasOperation_t as operation, m: c_int, n: c_int, k: c_int,
        alpha: *const __half as half, A: *const __half as half, lda: c_int, strideA: c_longlong,
        B: *const __half as half, ldb: c_int, strideB: c_longlong, beta: *const __half as half,
        C: *mut __half as half, ldc: c_int, strideC: c_longlong, batchCount: c_int,
    );
}

/// The implementation chooses the algorithm: cuBLAS's algorithms only exist there.
const STANDARD: rocblas_gemm_algo = rocblas_gemm_algo::rocblas_gemm_algo_standard;

#[cfg(feature = "cublaslt")]
pub(crate) use blas as inner;

/// # Safety
/// The handle must be null or live.
pub(crate) unsafe fn blas<'a>(handle: cublasHandle_t) -> Outcome<&'a Blas> {
    // SAFETY: the caller vouches for it.
    unsafe { handle.cast::<Blas>().as_ref() }.ok_or(cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED)
}

/// # Safety
/// The pointer must be null or writable.
unsafe fn give<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

pub(crate) fn operation(operation: cublasOperation_t) -> Outcome<rocblas_operation> {
    match operation {
        cublasOperation_t::CUBLAS_OP_N => Ok(rocblas_operation::rocblas_operation_none),
        cublasOperation_t::CUBLAS_OP_T => Ok(rocblas_operation::rocblas_operation_transpose),
        cublasOperation_t::CUBLAS_OP_C => Ok(rocblas_operation::rocblas_operation_conjugate_transpose),
        cublasOperation_t::CUBLAS_OP_CONJG => Err(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED),
    }
}

pub(crate) fn datatype(datatype: cudaDataType) -> Outcome<rocblas_datatype> {
    Ok(match datatype {
        cudaDataType::CUDA_R_16F => rocblas_datatype::rocblas_datatype_f16_r,
        cudaDataType::CUDA_R_16BF => rocblas_datatype::rocblas_datatype_bf16_r,
        cudaDataType::CUDA_R_32F => rocblas_datatype::rocblas_datatype_f32_r,
        cudaDataType::CUDA_R_64F => rocblas_datatype::rocblas_datatype_f64_r,
        cudaDataType::CUDA_C_32F => rocblas_datatype::rocblas_datatype_f32_c,
        cudaDataType::CUDA_C_64F => rocblas_datatype::rocblas_datatype_f64_c,
        cudaDataType::CUDA_R_8I => rocblas_datatype::rocblas_datatype_i8_r,
        cudaDataType::CUDA_R_32I => rocblas_datatype::rocblas_datatype_i32_r,
        _ => return Err(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED),
    })
}

/// The type of sums. Where less precision is allowed, this computes with full precision, except in TF32
/// ([`Blas::product`]).
pub(crate) fn compute(compute: cublasComputeType_t) -> Outcome<rocblas_datatype> {
    use cublasComputeType_t as Compute;
    Ok(match compute {
        Compute::CUBLAS_COMPUTE_16F | Compute::CUBLAS_COMPUTE_16F_PEDANTIC => {
            rocblas_datatype::rocblas_datatype_f16_r
        }
        Compute::CUBLAS_COMPUTE_32F
        | Compute::CUBLAS_COMPUTE_32F_PEDANTIC
        | Compute::CUBLAS_COMPUTE_32F_FAST_16F
        | Compute::CUBLAS_COMPUTE_32F_FAST_16BF
        | Compute::CUBLAS_COMPUTE_32F_FAST_TF32 => rocblas_datatype::rocblas_datatype_f32_r,
        Compute::CUBLAS_COMPUTE_64F | Compute::CUBLAS_COMPUTE_64F_PEDANTIC => {
            rocblas_datatype::rocblas_datatype_f64_r
        }
        Compute::CUBLAS_COMPUTE_32I | Compute::CUBLAS_COMPUTE_32I_PEDANTIC => {
            rocblas_datatype::rocblas_datatype_i32_r
        }
        _ => return Err(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED),
    })
}
