#include <hipblaslt/hipblaslt.h>
void f(hipblasLtHandle_t handle) {
  hipblasLtMatmulDesc_t operation;
  hipblasLtMatrixLayout_t a;
  hipblasLtMatmulDescCreate(&operation, HIPBLAS_COMPUTE_32F, HIP_R_32F);
  hipblasLtMatmulDescSetAttribute(operation, HIPBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof(transpose));
  hipblasLtMatrixLayoutCreate(&a, HIP_R_16F, m, k, lda);
  hipblasLtMatmul(handle, operation, &alpha, A, a, B, b, &beta, C, c, D, d, &algorithm, work, size, stream);
}
