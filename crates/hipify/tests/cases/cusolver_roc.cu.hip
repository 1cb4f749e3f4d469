// OPTIONS: roc
#include <hip/hip_runtime.h>
#include <rocsolver/rocsolver.h>
void f(rocblas_handle handle) {
  rocblas_status status = rocblas_create_handle(&handle);
  if (status != rocblas_status_success) return;
  rocblas_set_stream(handle, stream);
  hipsolverDnSgetrf(handle, m, n, a, lda, work, pivots, info);
  rocblas_destroy_handle(handle);
}
