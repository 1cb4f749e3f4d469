// OPTIONS: roc
#include <cuda_runtime.h>
#include <cusolverDn.h>
void f(cusolverDnHandle_t handle) {
  cusolverStatus_t status = cusolverDnCreate(&handle);
  if (status != CUSOLVER_STATUS_SUCCESS) return;
  cusolverDnSetStream(handle, stream);
  cusolverDnSgetrf(handle, m, n, a, lda, work, pivots, info);
  cusolverDnDestroy(handle);
}
