// OPTIONS: roc
#include <cusparse.h>
void product(cusparseHandle_t handle) {
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t x;
  cusparseCreateCsr(&a, m, n, nnz, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
  cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, x, &zero, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);
  cusparseScsrmv(handle, op, m, n, nnz, &one, descr, v, r, c, x, &zero, y);
}
