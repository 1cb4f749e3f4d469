#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_cooperative_groups.h>
#include <cooperative_groups/reduce.h>


namespace mine { __device__ unsigned umin(unsigned a, unsigned b); }
__device__ float saturate(float x);

__global__ void kernel(float4* out, __hip_bfloat16* b, __hip_fp8_e4m3 f, __hip_fp8x4_e5m2 g) {
  float4 v = make_float4(1, 2, 3, 4);
  int lane = __shfl_down_sync(0xffffffffffffffffull, threadIdx.x, 1) + __shfl(1, 2);
  unsigned a = umul24(3, 4) + mine::umul24(3, 4) + thing.umul24(3, 4) + ::umul24(1, 2);
  float s = saturate(2.f);
  longlong4_16a wide;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  atomicAdd(&out[0].x, v.x);
  __syncthreads();
#if __CUDA_ARCH__ >= 800
  out[threadIdx.x] = v;
#endif
}
#ifdef __HIPCC__
int is_cuda = 1;
#endif
void host() { asm volatile("nop"); }
