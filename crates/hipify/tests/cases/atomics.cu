#include <cuda_fp16.h>
__global__ void k(__half* h, float* f) {
  __half2* pairs = reinterpret_cast<__half2*>(h);
  atomicAdd(&pairs[threadIdx.x], __half2{});
  atomicAdd(f, 1.f);
  atomicAdd(&f[2], 1.f);
  atomicAdd((half*)f, 1.f);
}
template <typename T> __device__ T atomicAdd2(T* h) { return atomicAdd(h, T(1)); }
