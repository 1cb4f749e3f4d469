// OPTIONS: hip-launches
#include <hip/hip_runtime.h>
#define LAUNCH(kernel, n, ...) hipLaunchKernelGGL(kernel, dim3((n + 255) / 256), dim3(256), 0, stream, __VA_ARGS__)
#define LAUNCH_TYPED(kernel, T)       \
  do {                                \
    hipLaunchKernelGGL(HIP_KERNEL_NAME(kernel<T, 4>),                      \
        dim3(grid), dim3(block), 0, 0,             \
        x, y);                       \
    CHECK(hipGetLastError());        \
  } while (0)
#define CONFIG <<<grid, block>>>
#define BOTH grid, block
void f() {
  LAUNCH(k, 10, x);
  CHECK(hipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0, x));
  k CONFIG (x);
  k<<<BOTH>>>(x);
  k<<<1, 2, 3, 4, 5>>>(x);
  k<<<1, 2>>>;
}
// k<<<1, 2>>>(x) in a comment stays
const char* text = "k<<<1, 2>>>(x) in a string, too";
