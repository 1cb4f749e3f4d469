// CUDA's <cublas_api.h> for AMD targets: cuBLAS over rocBLAS.
#pragma once
#define CUBLAS_API_H_
#include <stdint.h>
#include <cuda_runtime_api.h>
#if defined(__cplusplus)
#include <cuComplex.h>
#include <library_types.h>
#if defined(__clang__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
// Other compilers lack what HIP's headers use for them.
struct __half;
struct __nv_bfloat16;
#endif
#else
#include "ferrocm_library_c.h"
#endif
#define CUBLASAPI
#define CUBLASWINAPI
#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VER_MINOR 8
#define CUBLAS_VER_PATCH 4
#define CUBLAS_VER_BUILD 1
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)
#include "ferrocm_cublas.h"
// Forms of the time when a type of numbers said in what a product is computed.
#if defined(__cplusplus)
static inline cublasStatus_t cublasMigrateComputeType(cublasHandle_t handle, cudaDataType_t type, cublasComputeType_t *compute) {
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    const cublasStatus_t status = cublasGetMathMode(handle, &mode);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    const bool pedantic = (mode & 0xf) == CUBLAS_PEDANTIC_MATH;
    switch (type) {
    case CUDA_R_32F: case CUDA_C_32F: *compute = pedantic ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F; break;
    case CUDA_R_64F: case CUDA_C_64F: *compute = pedantic ? CUBLAS_COMPUTE_64F_PEDANTIC : CUBLAS_COMPUTE_64F; break;
    case CUDA_R_16F: *compute = pedantic ? CUBLAS_COMPUTE_16F_PEDANTIC : CUBLAS_COMPUTE_16F; break;
    case CUDA_R_32I: *compute = pedantic ? CUBLAS_COMPUTE_32I_PEDANTIC : CUBLAS_COMPUTE_32I; break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                                          const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B, cudaDataType Btype,
                                          int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc, cudaDataType computeType,
                                          cublasGemmAlgo_t algo) {
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    const cublasStatus_t status = cublasMigrateComputeType(handle, computeType, &compute);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, compute, algo);
}
static inline cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                                                 int k, const void *alpha, const void *const Aarray[], cudaDataType Atype, int lda,
                                                 const void *const Barray[], cudaDataType Btype, int ldb, const void *beta,
                                                 void *const Carray[], cudaDataType Ctype, int ldc, int batchCount,
                                                 cudaDataType computeType, cublasGemmAlgo_t algo) {
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    const cublasStatus_t status = cublasMigrateComputeType(handle, computeType, &compute);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb, beta, Carray, Ctype, ldc,
                               batchCount, compute, algo);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                                        int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
                                                        long long strideA, const void *B, cudaDataType Btype, int ldb, long long strideB,
                                                        const void *beta, void *C, cudaDataType Ctype, int ldc, long long strideC,
                                                        int batchCount, cudaDataType computeType, cublasGemmAlgo_t algo) {
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    const cublasStatus_t status = cublasMigrateComputeType(handle, computeType, &compute);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype,
                                      ldc, strideC, batchCount, compute, algo);
}
#endif
