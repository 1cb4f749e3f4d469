// OPTIONS: hip-launches
#include <hip/hip_runtime.h>
void f() {
  hipLaunchKernelGGL(HIP_KERNEL_NAME(a<x(hipLaunchKernelGGL(b, dim3(1), dim3(2), 0, 0, c))>), dim3(3), dim3(4), 0, 0);
  d<<<1>>>(e);
}
