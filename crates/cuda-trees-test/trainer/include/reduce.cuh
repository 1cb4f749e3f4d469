#pragma once
#include <cassert>
#include <cfloat>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#define WARP_SIZE 32U

namespace trainer {
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xFFFFFFFF, value, offset);
    return value;
}
__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFF, value, offset));
    return value;
}

using reduction_func_t = float (*)(float);
// Every thread gets the block's result. Use `final_sync` if the block calls it again.
template <reduction_func_t warp_reduction>
__device__ inline float block_reduce(float value, bool final_sync = false, float out_of_bounds = 0.0f) {
    __shared__ float shared_value[WARP_SIZE];
    const int lane_id = threadIdx.x % WARP_SIZE;
    const int warp_id = threadIdx.x / WARP_SIZE;
    const int warps = blockDim.x / WARP_SIZE;
    float warp_value = warp_reduction(value);
    if (lane_id == 0)
        shared_value[warp_id] = warp_value;
    __syncthreads();
    warp_value = (lane_id < warps) ? shared_value[lane_id] : out_of_bounds;
    const float block_value = warp_reduction(warp_value);
    if (final_sync)
        __syncthreads();
    return block_value;
}
} // namespace trainer
