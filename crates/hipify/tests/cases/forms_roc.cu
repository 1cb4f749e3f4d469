// OPTIONS: roc
#include <cublas_v2.h>
#include <cusparse.h>
void f(cublasHandle_t h, cusparseHandle_t s) {
  cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, &one, a, CUDA_R_16F, lda, sa, b, CUDA_R_16F, ldb, sb, &zero,
                             c, CUDA_R_16F, ldc, (long long)m * n, count, CUBLAS_COMPUTE_32F_FAST_16F,
                             CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  cublasGemmBatchedEx(h, ta, tb, m, n, k, &one, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, &zero, c, CUDA_R_32F, ldc,
                      count, CUDA_R_32F, CUBLAS_GEMM_DFALT);
  cusparseSpMV_bufferSize(s, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, x, &zero, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size);
  cusparseSpMM(s, op, op, &one, a, b, &zero, c, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, buffer);
  cusparseScsrmv(s, op, m, n, nnz, &one, d, v, r, c, x, &zero, y);
  cusparseDcsrsm2_solve(s, 0, op, op, m, n, nnz, &one, d, v, r, c, b, ldb, info, policy, buffer);
  cusparseZcsrilu02_analysis(s, m, nnz, d, v, r, c, info, CUSPARSE_SOLVE_POLICY_NO_LEVEL, buffer);
  cusparseDgtsvInterleavedBatch(s, 0, m, dl, d, du, x, count, buffer);
  cusparseXcsrsv2_zeroPivot(s, info, &position);
  cusparseSpSM_analysis(s, op, op, &one, a, b, c, CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, descriptor, buffer);
  cusparseCsr2cscEx2_bufferSize(s, m, n, nnz, v, r, c, cv, cp, ci, CUDA_R_32F, action, base, alg, &size);
}
