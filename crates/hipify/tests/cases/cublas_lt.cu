#include <cublasLt.h>
void f(cublasLtHandle_t handle) {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a;
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof(transpose));
  cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, m, k, lda);
  cublasLtMatmul(handle, operation, &alpha, A, a, B, b, &beta, C, c, D, d, &algorithm, work, size, stream);
}
