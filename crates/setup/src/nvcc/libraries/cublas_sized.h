// Functions of cuBLAS that are composed here, for integers of one size.

cublasStatus_t CU(cublasGemmEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, INT k,
                                const void *alpha, const void *A, cudaDataType Atype, INT lda, const void *B, cudaDataType Btype, INT ldb,
                                const void *beta, void *C, cudaDataType Ctype, INT ldc, cublasComputeType_t computeType,
                                cublasGemmAlgo_t algo) {
    HANDLE;
    (void)algo;
    return status(SIZED(rocblas_gemm_ex)(handle->roc, operation(transa), operation(transb), m, n, k, alpha, A, datatype(Atype), lda, B,
                                         datatype(Btype), ldb, beta, C, datatype(Ctype), ldc, C, datatype(Ctype), ldc,
                                         compute_type(computeType, Ctype), 0, 0, 0));
}
cublasStatus_t CU(cublasGemmBatchedEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, INT k,
                                       const void *alpha, const void *const *Aarray, cudaDataType Atype, INT lda,
                                       const void *const *Barray, cudaDataType Btype, INT ldb, const void *beta, void *const *Carray,
                                       cudaDataType Ctype, INT ldc, INT batchCount, cublasComputeType_t computeType,
                                       cublasGemmAlgo_t algo) {
    HANDLE;
    (void)algo;
    return status(SIZED(rocblas_gemm_batched_ex)(handle->roc, operation(transa), operation(transb), m, n, k, alpha, Aarray,
                                                 datatype(Atype), lda, Barray, datatype(Btype), ldb, beta, Carray, datatype(Ctype), ldc,
                                                 Carray, datatype(Ctype), ldc, batchCount, compute_type(computeType, Ctype), 0, 0, 0));
}
cublasStatus_t CU(cublasGemmStridedBatchedEx)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n,
                                              INT k, const void *alpha, const void *A, cudaDataType Atype, INT lda, long long strideA,
                                              const void *B, cudaDataType Btype, INT ldb, long long strideB, const void *beta, void *C,
                                              cudaDataType Ctype, INT ldc, long long strideC, INT batchCount,
                                              cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
    HANDLE;
    (void)algo;
    return status(SIZED(rocblas_gemm_strided_batched_ex)(
        handle->roc, operation(transa), operation(transb), m, n, k, alpha, A, datatype(Atype), lda, strideA, B, datatype(Btype), ldb, strideB,
        beta, C, datatype(Ctype), ldc, strideC, C, datatype(Ctype), ldc, strideC, batchCount, compute_type(computeType, Ctype), 0, 0, 0));
}
// The older ones, which compute in floats.
#define GEMM_EX(name, number)                                                                                                              \
    cublasStatus_t CU(name)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, INT n, INT k,                 \
                            const number *alpha, const void *A, cudaDataType Atype, INT lda, const void *B, cudaDataType Btype, INT ldb,    \
                            const number *beta, void *C, cudaDataType Ctype, INT ldc) {                                                    \
        return CU(cublasGemmEx)(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,                  \
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);                                                                  \
    }
GEMM_EX(cublasSgemmEx, float)
GEMM_EX(cublasCgemmEx, cuComplex)
GEMM_EX(cublasCgemm3mEx, cuComplex)
#undef GEMM_EX
#define RANK_K_EX(name, same, number)                                                                                                      \
    cublasStatus_t CU(name)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n, INT k, const number *alpha,        \
                            const void *A, cudaDataType Atype, INT lda, const number *beta, void *C, cudaDataType Ctype, INT ldc) {          \
        HANDLE;                                                                                                                            \
        if (Atype != CUDA_C_32F || Ctype != CUDA_C_32F) return CUBLAS_STATUS_NOT_SUPPORTED;                                                 \
        return status(same(handle->roc, fill(uplo), operation(trans), n, k, alpha, A, lda, beta, C, ldc));                                 \
    }
RANK_K_EX(cublasCsyrkEx, SIZED(rocblas_csyrk), cuComplex)
RANK_K_EX(cublasCsyrk3mEx, SIZED(rocblas_csyrk), cuComplex)
RANK_K_EX(cublasCherkEx, SIZED(rocblas_cherk), float)
RANK_K_EX(cublasCherk3mEx, SIZED(rocblas_cherk), float)
#undef RANK_K_EX

// Vectors of a type.
#define BY_TYPE(type, S, D, C, Z)                                                                                                          \
    switch (type) {                                                                                                                        \
    case CUDA_R_32F: return status(S);                                                                                                     \
    case CUDA_R_64F: return status(D);                                                                                                     \
    case CUDA_C_32F: return status(C);                                                                                                     \
    case CUDA_C_64F: return status(Z);                                                                                                     \
    default: return CUBLAS_STATUS_NOT_SUPPORTED;                                                                                           \
    }
cublasStatus_t CU(cublasCopyEx)(cublasHandle_t handle, INT n, const void *x, cudaDataType xType, INT incx, void *y, cudaDataType yType,
                                INT incy) {
    HANDLE;
    if (xType != yType) return CUBLAS_STATUS_NOT_SUPPORTED;
    BY_TYPE(xType, SIZED(rocblas_scopy)(handle->roc, n, x, incx, y, incy), SIZED(rocblas_dcopy)(handle->roc, n, x, incx, y, incy),
            SIZED(rocblas_ccopy)(handle->roc, n, x, incx, y, incy), SIZED(rocblas_zcopy)(handle->roc, n, x, incx, y, incy))
}
cublasStatus_t CU(cublasSwapEx)(cublasHandle_t handle, INT n, void *x, cudaDataType xType, INT incx, void *y, cudaDataType yType, INT incy) {
    HANDLE;
    if (xType != yType) return CUBLAS_STATUS_NOT_SUPPORTED;
    BY_TYPE(xType, SIZED(rocblas_sswap)(handle->roc, n, x, incx, y, incy), SIZED(rocblas_dswap)(handle->roc, n, x, incx, y, incy),
            SIZED(rocblas_cswap)(handle->roc, n, x, incx, y, incy), SIZED(rocblas_zswap)(handle->roc, n, x, incx, y, incy))
}
cublasStatus_t CU(cublasAsumEx)(cublasHandle_t handle, INT n, const void *x, cudaDataType xType, INT incx, void *result,
                                cudaDataType resultType, cudaDataType executiontype) {
    HANDLE;
    const cudaDataType real = xType == CUDA_C_32F ? CUDA_R_32F : xType == CUDA_C_64F ? CUDA_R_64F : xType;
    if (resultType != real || executiontype != real) return CUBLAS_STATUS_NOT_SUPPORTED;
    BY_TYPE(xType, SIZED(rocblas_sasum)(handle->roc, n, x, incx, result), SIZED(rocblas_dasum)(handle->roc, n, x, incx, result),
            SIZED(rocblas_scasum)(handle->roc, n, x, incx, result), SIZED(rocblas_dzasum)(handle->roc, n, x, incx, result))
}
cublasStatus_t CU(cublasIamaxEx)(cublasHandle_t handle, INT n, const void *x, cudaDataType xType, INT incx, INT *result) {
    HANDLE;
    BY_TYPE(xType, SIZED(rocblas_isamax)(handle->roc, n, x, incx, result), SIZED(rocblas_idamax)(handle->roc, n, x, incx, result),
            SIZED(rocblas_icamax)(handle->roc, n, x, incx, result), SIZED(rocblas_izamax)(handle->roc, n, x, incx, result))
}
cublasStatus_t CU(cublasIaminEx)(cublasHandle_t handle, INT n, const void *x, cudaDataType xType, INT incx, INT *result) {
    HANDLE;
    BY_TYPE(xType, SIZED(rocblas_isamin)(handle->roc, n, x, incx, result), SIZED(rocblas_idamin)(handle->roc, n, x, incx, result),
            SIZED(rocblas_icamin)(handle->roc, n, x, incx, result), SIZED(rocblas_izamin)(handle->roc, n, x, incx, result))
}
#undef BY_TYPE
cublasStatus_t CU(cublasRotmEx)(cublasHandle_t handle, INT n, void *x, cudaDataType xType, INT incx, void *y, cudaDataType yType, INT incy,
                                const void *param, cudaDataType paramType, cudaDataType executiontype) {
    HANDLE;
    if (yType != xType || paramType != xType || executiontype != xType) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (xType == CUDA_R_32F) return status(SIZED(rocblas_srotm)(handle->roc, n, x, incx, y, incy, param));
    if (xType == CUDA_R_64F) return status(SIZED(rocblas_drotm)(handle->roc, n, x, incx, y, incy, param));
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

// Groups of products: each group is a batch. The sizes are on the host, the arrays of pointers on the device.
cublasStatus_t CU(cublasGemmGroupedBatchedEx)(cublasHandle_t handle, const cublasOperation_t *transa_array,
                                              const cublasOperation_t *transb_array, const INT *m_array, const INT *n_array,
                                              const INT *k_array, const void *alpha_array, const void *const *Aarray, cudaDataType_t Atype,
                                              const INT *lda_array, const void *const *Barray, cudaDataType_t Btype, const INT *ldb_array,
                                              const void *beta_array, void *const *Carray, cudaDataType_t Ctype, const INT *ldc_array,
                                              INT group_count, const INT *group_size, cublasComputeType_t computeType) {
    HANDLE;
    size_t first = 0;
    size_t step;
    switch (compute_type(computeType, Ctype)) {
    case 150: step = 2; break;
    case 152: case 154: step = 8; break;
    case 155: step = 16; break;
    default: step = 4;
    }
    if (group_count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    for (INT i = 0; i < group_count; i++) {
        const void *alpha = (const char *)alpha_array + step * i, *beta = (const char *)beta_array + step * i;
        cublasStatus_t done = CU(cublasGemmBatchedEx)(handle, transa_array[i], transb_array[i], m_array[i], n_array[i], k_array[i], alpha,
                                                      Aarray + first, Atype, lda_array[i], Barray + first, Btype, ldb_array[i], beta,
                                                      Carray + first, Ctype, ldc_array[i], group_size[i], computeType, CUBLAS_GEMM_DEFAULT);
        if (done != CUBLAS_STATUS_SUCCESS) return done;
        first += group_size[i];
    }
    return CUBLAS_STATUS_SUCCESS;
}
#define GROUPED(name, number, type, compute)                                                                                               \
    cublasStatus_t CU(name)(cublasHandle_t handle, const cublasOperation_t *transa_array, const cublasOperation_t *transb_array,            \
                            const INT *m_array, const INT *n_array, const INT *k_array, const number *alpha_array,                          \
                            const number *const *Aarray, const INT *lda_array, const number *const *Barray, const INT *ldb_array,            \
                            const number *beta_array, number *const *Carray, const INT *ldc_array, INT group_count,                          \
                            const INT *group_size) {                                                                                       \
        return CU(cublasGemmGroupedBatchedEx)(handle, transa_array, transb_array, m_array, n_array, k_array, alpha_array,                   \
                                              (const void *const *)Aarray, type, lda_array, (const void *const *)Barray, type, ldb_array,    \
                                              beta_array, (void *const *)Carray, type, ldc_array, group_count, group_size, compute);         \
    }
GROUPED(cublasSgemmGroupedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GROUPED(cublasDgemmGroupedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
#undef GROUPED
