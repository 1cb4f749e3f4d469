//! Functions that cuBLAS has in another form: with types as arguments, or several of them together.

use cuda_sys::cublas::{cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType};
use rocblas_sys::*;

use crate::calls::functions;
use crate::library::Scalar;
use crate::separate::{Batch, Operand, separate, together};

const ALGORITHM: cublasGemmAlgo_t = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
const HALF: cudaDataType = cudaDataType::CUDA_R_16F;
const SINGLE: cudaDataType = cudaDataType::CUDA_R_32F;
const IN_HALF: cublasComputeType_t = cublasComputeType_t::CUBLAS_COMPUTE_16F;
const IN_SINGLE: cublasComputeType_t = cublasComputeType_t::CUBLAS_COMPUTE_32F;
const AS_IT_IS: cublasOperation_t = cublasOperation_t::CUBLAS_OP_N;

/// A type of elements that cuBLAS takes as an argument.
trait Typed {
    const KIND: cudaDataType;
}

impl Typed for rocblas_half {
    const KIND: cudaDataType = cudaDataType::CUDA_R_16F;
}

impl Typed for rocblas_bfloat16 {
    const KIND: cudaDataType = cudaDataType::CUDA_R_16BF;
}

/// What cuBLAS calls the type of elements.
fn kind<T: Typed>(_: *const T) -> cudaDataType {
    T::KIND
}

/// The same, of several arrays.
fn kind_of_all<T: Typed>(_: *const *const T) -> cudaDataType {
    T::KIND
}

/// The operation on `A` for `y = op(A) x` as a product of rows: a vector is one row of a matrix whose leading
/// dimension is its increment. A matrix has no negative one.
fn turned(trans: rocblas_operation, has_rows: bool) -> Result<cublasOperation_t, rocblas_status> {
    match trans {
        _ if !has_rows => Err(rocblas_status::rocblas_status_not_implemented),
        rocblas_operation::rocblas_operation_none => Ok(cublasOperation_t::CUBLAS_OP_T),
        _ => Ok(cublasOperation_t::CUBLAS_OP_N),
    }
}

/// The rows of `op(A)`, which `A` has as rows or as columns.
fn length<I>(trans: rocblas_operation, rows: I, columns: I) -> I {
    if trans == rocblas_operation::rocblas_operation_none { rows } else { columns }
}

functions! {
    (
        op transA, op transB, int m, int n, [depth_of alpha] k, [scalar_of compute] alpha, any a, datatype a_type, int lda,
        any b, datatype b_type, int ldb, [scalar_of compute] beta, raw_any c, raw_datatype c_type, int ldc, any_mut d,
        datatype d_type, int ldd, datatype compute, algorithm algorithm, i32 solution, u32 flags
    ) => separate(
        [transA, transB], (m, n, k), [alpha, beta], compute,
        [Operand::new(a, a_type, lda, 0), Operand::new(b, b_type, ldb, 0), Operand::new(c, c_type, ldc, 0)],
        Operand::new(d, d_type, ldd, 0), Batch::One
    ) else (
        transA, transB, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, d, d_type, ldd, compute, ALGORITHM
    ) {
        s: rocblas_gemm_ex cublasGemmEx, rocblas_gemm_ex_64 cublasGemmEx_64;
    }
    (
        op transA, op transB, int m, int n, [depth_of alpha] k, [scalar_of compute] alpha, any a, datatype a_type, int lda,
        any b, datatype b_type, int ldb, [scalar_of compute] beta, raw_any c, raw_datatype c_type, int ldc, any_mut d,
        datatype d_type, int ldd, int batch_count, datatype compute, algorithm algorithm, i32 solution, u32 flags
    ) => together(
        beta, compute, Operand::new(c, c_type, ldc, 0), Operand::new(d, d_type, ldd, 0)
    ) else (
        transA, transB, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, d, d_type, ldd, batch_count, compute, ALGORITHM
    ) {
        s: rocblas_gemm_batched_ex cublasGemmBatchedEx, rocblas_gemm_batched_ex_64 cublasGemmBatchedEx_64;
    }
    (
        op transA, op transB, int m, int n, [depth_of alpha] k, [scalar_of compute] alpha, any a, datatype a_type, int lda,
        stride stride_a, any b, datatype b_type, int ldb, stride stride_b, [scalar_of compute] beta, raw_any c,
        raw_datatype c_type, int ldc, stride stride_c, any_mut d, datatype d_type, int ldd, stride stride_d, int batch_count,
        datatype compute, algorithm algorithm, i32 solution, u32 flags
    ) => separate(
        [transA, transB], (m, n, k), [alpha, beta], compute,
        [
            Operand::new(a, a_type, lda, stride_a), Operand::new(b, b_type, ldb, stride_b),
            Operand::new(c, c_type, ldc, stride_c),
        ],
        Operand::new(d, d_type, ldd, stride_d), Batch::strided(batch_count)
    ) else (
        transA, transB, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, d, d_type, ldd, stride_d,
        batch_count, compute, ALGORITHM
    ) {
        s: rocblas_gemm_strided_batched_ex cublasGemmStridedBatchedEx,
            rocblas_gemm_strided_batched_ex_64 cublasGemmStridedBatchedEx_64;
    }
    (op transA, op transB, int m, int n, [depth_of alpha] k, scalar alpha, const A, int lda, const B, int ldb, scalar beta, mut C, int ldc)
    => (transA, transB, m, n, k, alpha, A, HALF, lda, B, HALF, ldb, beta, C, HALF, ldc, IN_HALF, ALGORITHM) {
        h: rocblas_hgemm cublasGemmEx, rocblas_hgemm_64 cublasGemmEx_64;
    }
    (op transA, op transB, int m, int n, [depth_of alpha] k, scalar alpha, consts A, int lda, consts B, int ldb, scalar beta, muts C, int ldc, int batch_count)
    => (transA, transB, m, n, k, alpha, A, HALF, lda, B, HALF, ldb, beta, C, HALF, ldc, batch_count, IN_HALF, ALGORITHM) {
        h: rocblas_hgemm_batched cublasGemmBatchedEx, rocblas_hgemm_batched_64 cublasGemmBatchedEx_64;
    }
    (op transA, op transB, int m, int n, [depth_of alpha] k, scalar alpha, const A, int lda, stride stride_a, const B, int ldb, stride stride_b, scalar beta, mut C, int ldc, stride stride_c, int batch_count)
    => (transA, transB, m, n, k, alpha, A, HALF, lda, stride_a, B, HALF, ldb, stride_b, beta, C, HALF, ldc, stride_c, batch_count, IN_HALF, ALGORITHM) {
        h: rocblas_hgemm_strided_batched cublasGemmStridedBatchedEx,
            rocblas_hgemm_strided_batched_64 cublasGemmStridedBatchedEx_64;
    }
    (int n, raw_const x(incx)[stride_x], raw_const y(incy)[stride_y]; raw_mut result)
    => (n, x.cast(), kind(x), incx, y.cast(), kind(y), incy, result.cast(), kind(x), SINGLE) {
        h: rocblas_hdot cublasDotEx rocblas_hdot_strided_batched, rocblas_hdot_64 cublasDotEx_64 rocblas_hdot_strided_batched_64;
        b: rocblas_bfdot cublasDotEx rocblas_bfdot_strided_batched, rocblas_bfdot_64 cublasDotEx_64 rocblas_bfdot_strided_batched_64;
    }
    (int n, half_scalar alpha, const x(incx)[stride_x], mut y(incy)[stride_y])
    => (n, alpha, SINGLE, x, HALF, incx, y, HALF, incy, SINGLE) {
        h: rocblas_haxpy cublasAxpyEx rocblas_haxpy_strided_batched, rocblas_haxpy_64 cublasAxpyEx_64 rocblas_haxpy_strided_batched_64;
    }
    (raw_op trans, int m, int n, single_const alpha, raw_consts A, int lda, raw_consts x, int incx, single_const beta, muts y, int incy, int batch_count)
    => (
        AS_IT_IS, turned(trans, incx > 0 && incy > 0)?, 1, length(trans, m, n), length(trans, n, m), alpha, x.cast(), kind_of_all(x),
        incx, A.cast(), kind_of_all(A), lda, beta, y, kind_of_all(x), incy, batch_count, IN_SINGLE, ALGORITHM
    ) {
        h: rocblas_hshgemv_batched cublasGemmBatchedEx, rocblas_hshgemv_batched_64 cublasGemmBatchedEx_64;
        b: rocblas_tstgemv_batched cublasGemmBatchedEx, rocblas_tstgemv_batched_64 cublasGemmBatchedEx_64;
    }
    (raw_op trans, int m, int n, single_const alpha, raw_consts A, int lda, raw_consts x, int incx, single_const beta, single_muts y, int incy, int batch_count)
    => (
        AS_IT_IS, turned(trans, incx > 0 && incy > 0)?, 1, length(trans, m, n), length(trans, n, m), alpha, x.cast(), kind_of_all(x),
        incx, A.cast(), kind_of_all(A), lda, beta, y.cast(), SINGLE, incy, batch_count, IN_SINGLE, ALGORITHM
    ) {
        h: rocblas_hssgemv_batched cublasGemmBatchedEx, rocblas_hssgemv_batched_64 cublasGemmBatchedEx_64;
        b: rocblas_tssgemv_batched cublasGemmBatchedEx, rocblas_tssgemv_batched_64 cublasGemmBatchedEx_64;
    }
    (raw_op trans, int m, int n, single_const alpha, raw_const A, int lda, stride stride_a, raw_const x, int incx, stride stride_x, single_const beta, mut y, int incy, stride stride_y, int batch_count)
    => (
        AS_IT_IS, turned(trans, incx > 0 && incy > 0)?, 1, length(trans, m, n), length(trans, n, m), alpha, x.cast(), kind(x), incx,
        stride_x, A.cast(), kind(A), lda, stride_a, beta, y, kind(x), incy, stride_y, batch_count, IN_SINGLE, ALGORITHM
    ) {
        h: rocblas_hshgemv_strided_batched cublasGemmStridedBatchedEx, rocblas_hshgemv_strided_batched_64 cublasGemmStridedBatchedEx_64;
        b: rocblas_tstgemv_strided_batched cublasGemmStridedBatchedEx, rocblas_tstgemv_strided_batched_64 cublasGemmStridedBatchedEx_64;
    }
    (raw_op trans, int m, int n, single_const alpha, raw_const A, int lda, stride stride_a, raw_const x, int incx, stride stride_x, single_const beta, single_mut y, int incy, stride stride_y, int batch_count)
    => (
        AS_IT_IS, turned(trans, incx > 0 && incy > 0)?, 1, length(trans, m, n), length(trans, n, m), alpha, x.cast(), kind(x), incx,
        stride_x, A.cast(), kind(A), lda, stride_a, beta, y.cast(), SINGLE, incy, stride_y, batch_count, IN_SINGLE, ALGORITHM
    ) {
        h: rocblas_hssgemv_strided_batched cublasGemmStridedBatchedEx, rocblas_hssgemv_strided_batched_64 cublasGemmStridedBatchedEx_64;
        b: rocblas_tssgemv_strided_batched cublasGemmStridedBatchedEx, rocblas_tssgemv_strided_batched_64 cublasGemmStridedBatchedEx_64;
    }
}
