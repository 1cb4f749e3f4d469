#include <hip/hip_runtime.h>
#include <mma.h>
void f() {
  cudaFooBar();
  cudaDeviceId id;  // known to be programs' own
  hipDeviceReset();
  cudaStreamCopyAttributes(a, b);
  hipBindTexture(0, t, p);
  hipLaunchKernelExC(&config, f, args); cudaDeviceFlushGPUDirectRDMAWrites(a, b);
  cuMulticastCreate(&handle, &prop);
  cublasLtLoggerSetLevel(1);
  cublasXtCreate(&h);
  make_long4(1, 2, 3, 4);
  // cudaFooBar in a comment is none
  puts("cudaFooBar in a string is none");
}
