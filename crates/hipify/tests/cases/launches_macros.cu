// OPTIONS: hip-launches
#include <cuda_runtime.h>
#define LAUNCH(kernel, n, ...) kernel<<<(n + 255) / 256, 256, 0, stream>>>(__VA_ARGS__)
#define LAUNCH_TYPED(kernel, T)       \
  do {                                \
    kernel<T, 4>                      \
        <<<grid, block>>>             \
        (x, y);                       \
    CHECK(cudaGetLastError());        \
  } while (0)
#define CONFIG <<<grid, block>>>
#define BOTH grid, block
void f() {
  LAUNCH(k, 10, x);
  CHECK(k<<<1, 2>>>(x));
  k CONFIG (x);
  k<<<BOTH>>>(x);
  k<<<1, 2, 3, 4, 5>>>(x);
  k<<<1, 2>>>;
}
// k<<<1, 2>>>(x) in a comment stays
const char* text = "k<<<1, 2>>>(x) in a string, too";
