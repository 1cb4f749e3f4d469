#include <cuda_runtime.h>
template <typename T, int N> __global__ void k(T*);
void f() {
  k<float, 4><<<1, 2>>>(nullptr);
  k<float, 4><<<dim3(1), dim3(2), 0, cudaStreamPerThread>>>
      (nullptr);
}
