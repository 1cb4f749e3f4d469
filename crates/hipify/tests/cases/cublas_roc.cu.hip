// OPTIONS: roc
#include <rocblas/rocblas.h>
#include <hipblaslt/hipblaslt.h>
#include <hip/hip_runtime.h>
void multiply(rocblas_handle handle, int n, const float* a, const float* b, float* c) {
  const float one = 1.f, zero = 0.f;
  rocblas_status status = rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_transpose, n, n, n, &one, a, n, b, n, &zero, c, n);
  if (status != rocblas_status_success) return;
  rocblas_gemm_ex(handle, rocblas_operation_none, rocblas_operation_none, n, n, n, &one, a, rocblas_datatype_f16_r, n, b, rocblas_datatype_f16_r, n, &zero, c,
               rocblas_datatype_f32_r, n, c, rocblas_datatype_f32_r, n, rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0);
  rocblas_set_stream(handle, stream);
  hipblasLtMatmul(lt, desc, &one, a, la, b, lb, &zero, c, lc, c, lc, nullptr, nullptr, 0, 0);
  rocblas_set_math_mode(handle, HIPBLAS_TF32_TENSOR_OP_MATH);
}
