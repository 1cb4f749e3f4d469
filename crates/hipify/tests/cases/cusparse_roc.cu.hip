// OPTIONS: roc
#include <rocsparse/rocsparse.h>
void product(rocsparse_handle handle) {
  rocsparse_spmat_descr a;
  rocsparse_dnvec_descr x;
  rocsparse_create_csr_descr(&a, m, n, nnz, rows, columns, values, rocsparse_indextype_i32, rocsparse_indextype_i32,
                    rocsparse_index_base_zero, rocsparse_datatype_f32_r);
  rocsparse_spmv(handle, rocsparse_operation_none, &one, a, x, &zero, y, rocsparse_datatype_f32_r, rocsparse_spmv_alg_default, rocsparse_spmv_stage_compute, nullptr, buffer);
  rocsparse_scsrmv(handle, op, m, n, nnz, &one, descr, v, r, c, nullptr, x, &zero, y);
}
