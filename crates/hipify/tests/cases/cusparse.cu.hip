#include <hipsparse/hipsparse.h>
void product(hipsparseHandle_t handle) {
  hipsparseSpMatDescr_t a;
  hipsparseDnVecDescr_t x;
  hipsparseCreateCsr(&a, m, n, nnz, rows, columns, values, HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_32I,
                    HIPSPARSE_INDEX_BASE_ZERO, HIP_R_32F);
  hipsparseSpMV(handle, HIPSPARSE_OPERATION_NON_TRANSPOSE, &one, a, x, &zero, y, HIP_R_32F, HIPSPARSE_SPMV_ALG_DEFAULT, buffer);
  hipsparseScsrmv(handle, op, m, n, nnz, &one, descr, v, r, c, x, &zero, y);
}
