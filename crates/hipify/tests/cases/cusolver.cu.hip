#include <hipsolver/hipsolver.h>
void factorize(hipsolverHandle_t handle) {
  int size;
  hipsolverStatus_t status = hipsolverDnSgetrf_bufferSize(handle, n, n, a, n, &size);
  hipsolverDnSgetrf(handle, n, n, a, n, work, pivots, info);
  if (status == HIPSOLVER_STATUS_SUCCESS) hipsolverDnDestroy(handle);
  hipsolverRfHandle_t rf;
  cusolverDnXgesvdr(handle, params);
}
