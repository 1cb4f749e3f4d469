#include <cusolverDn.h>
void factorize(cusolverDnHandle_t handle) {
  int size;
  cusolverStatus_t status = cusolverDnSgetrf_bufferSize(handle, n, n, a, n, &size);
  cusolverDnSgetrf(handle, n, n, a, n, work, pivots, info);
  if (status == CUSOLVER_STATUS_SUCCESS) cusolverDnDestroy(handle);
  cusolverRfHandle_t rf;
  cusolverDnXgesvdr(handle, params);
}
