// OPTIONS: roc
#include <rocblas/rocblas.h>
#include <rocsparse/rocsparse.h>
void f(rocblas_handle h, rocsparse_handle s) {
  rocblas_gemm_strided_batched_ex(h, ta, tb, m, n, k, &one, a, rocblas_datatype_f16_r, lda, sa, b, rocblas_datatype_f16_r, ldb, sb, &zero,
                             c, rocblas_datatype_f16_r, ldc, (long long)m * n, c, rocblas_datatype_f16_r, ldc, (long long)m * n, count, rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0
);
  rocblas_gemm_batched_ex(h, ta, tb, m, n, k, &one, a, rocblas_datatype_f32_r, lda, b, rocblas_datatype_f32_r, ldb, &zero, c, rocblas_datatype_f32_r, ldc, c, rocblas_datatype_f32_r, ldc,
                      count, rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0);
  rocsparse_spmv(s, rocsparse_operation_none, &one, a, x, &zero, y, rocsparse_datatype_f32_r, rocsparse_spmv_alg_default, rocsparse_spmv_stage_buffer_size, &size, nullptr);
  rocsparse_spmm(s, op, op, &one, a, b, &zero, c, rocsparse_datatype_f32_r, rocsparse_spmm_alg_default, rocsparse_spmm_stage_compute, nullptr, buffer);
  rocsparse_scsrmv(s, op, m, n, nnz, &one, d, v, r, c, nullptr, x, &zero, y);
  rocsparse_dcsrsm_solve(s, op, op, m, n, nnz, &one, d, v, r, c, b, ldb, info, policy, buffer);
  rocsparse_zcsrilu0_analysis(s, m, nnz, d, v, r, c, info, rocsparse_analysis_policy_force, rocsparse_solve_policy_auto, buffer);
  rocsparse_dgtsv_interleaved_batch(s, 0, m, dl, d, du, x, count, count, buffer);
  rocsparse_csrsv_zero_pivot(s, info, &position);
  rocsparse_spsm(s, op, op, &one, a, b, c, rocsparse_datatype_f64_r, rocsparse_spsm_alg_default, rocsparse_spsm_stage_preprocess, nullptr, buffer);
  rocsparse_csr2csc_buffer_size(s, m, n, nnz, r, c, action, &size);
}
