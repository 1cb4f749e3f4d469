#include <cuda_runtime.h>
#define FULL 0xffffffff
#define shuffle(v, n) __shfl_sync(FULL, v, n)
#define __all_sync(mask, v) all_of(mask, v)
__device__ float f(float x, unsigned mask, unsigned long long wide) {
  x += __shfl_down_sync(0xffffffff, x, 1);
  x += __shfl_down_sync( 0xFFFFFFFFU , x, 2, 8);
  x += __shfl_up_sync(~0u, x, 4) + __shfl_xor_sync(-1, x, 8) + __shfl_sync(4294967295u, x, 16);
  x += __shfl_sync(0xffu, x, 1) + __shfl_sync(255, x, 2) + __shfl_sync(0xff'ff, x, 3);
  x += __shfl_sync(mask, x, 1) + __shfl_sync(mask & 0xff, __shfl_sync(FULL, x, 2), 3);
  x += __shfl_sync(__activemask(), x, 1) + __shfl_sync(__activemask() & 1, x, 1);
  x += __shfl_sync(0xffffffffffffffffull, x, 1) + __shfl_sync((unsigned long long)mask, x, 1);
  x += __shfl_sync(static_cast<uint64_t>(mask), x, 1) + __shfl_sync((1ull << 5) - 1, x, 1);
  x += __shfl_sync(masks[static_cast<size_t>(x)], x, 1);
  auto active = __ballot_sync(FULL, x > 0);
  x += __ffs(active) + __popc(__activemask()) + __ffs(mask) + __popc(mask & 3);
  __syncwarp();
  __syncwarp(mask);
  return x + __ballot_sync(FULL, x > 0) + own.__any_sync(1, x);
}
__device__ int others(unsigned active) { return __ffs(active) + __popc(active); }
