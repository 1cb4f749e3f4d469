// CUDA's <cublasLt.h> for AMD targets: products over rocBLAS.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "cublas_api.h"
#include "ferrocm_cublaslt.h"
#if defined(__cplusplus)
extern "C" {
#endif
static inline cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows, uint64_t cols,
                                                      int64_t ld) {
    return cublasLtMatrixLayoutInit_internal(layout, sizeof(*layout), type, rows, cols, ld);
}
static inline cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute, cudaDataType_t scale) {
    return cublasLtMatmulDescInit_internal(desc, sizeof(*desc), compute, scale);
}
static inline cublasStatus_t cublasLtMatrixTransformDescInit(cublasLtMatrixTransformDesc_t desc, cudaDataType scale) {
    return cublasLtMatrixTransformDescInit_internal(desc, sizeof(*desc), scale);
}
static inline cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
    return cublasLtMatmulPreferenceInit_internal(preference, sizeof(*preference));
}
#if defined(__cplusplus)
}
#endif
