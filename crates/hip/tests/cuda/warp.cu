// The functions of CUDA's warps, each result a column of the output. `tests/device/cuda.rs` computes the same
// on the CPU.
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#define FULL 0xffffffff
constexpr int COLUMNS = 24;

extern "C" __global__ void warp(const int *in, unsigned *out) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % warpSize;
    const int v = in[thread];
    unsigned *o = out + thread * COLUMNS;
    *o++ = warpSize;
    *o++ = __shfl_sync(FULL, v, lane * 7 + 3);
    *o++ = __shfl_sync(-1, v, 3, 16);
    *o++ = __shfl_up_sync(FULL, v, 3);
    *o++ = __shfl_up_sync(FULL, v, 5, 8);
    *o++ = __shfl_down_sync(0xFFFFFFFFUL, v, 3);
    *o++ = __shfl_down_sync(FULL, v, 5, 8);
    *o++ = __shfl_xor_sync(FULL, v, 16);
    *o++ = __shfl_xor_sync(FULL, v, 12, 8);
    *o++ = __ballot_sync(FULL, v % 3 == 0);
    *o++ = __any_sync(FULL, v > 990);
    *o++ = __all_sync(FULL, v > 10);
    *o++ = __activemask();
    *o++ = __match_any_sync(FULL, v % 5);
    int all;
    const unsigned same = __match_all_sync(FULL, thread / 64, &all);
    *o++ = same + all;
    *o++ = __reduce_add_sync(FULL, v - 500);
    *o++ = __reduce_min_sync(FULL, v - 500);
    *o++ = __reduce_max_sync(FULL, static_cast<unsigned>(v) * 0x01000193u);
    *o++ = __reduce_xor_sync(FULL, static_cast<unsigned>(v));
    // Two groups in step, each with its own mask.
    const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    *o++ = __reduce_add_sync(half, v);
    *o++ = __ballot_sync(half, v & 1);
    __syncwarp(half);
    // Some lanes only.
    unsigned part = 0, votes = 0;
    int sum = 0;
    if (v % 4 != 0) {
        part = __activemask();
        votes = __match_any_sync(part, v & 3);
        sum = __shfl_sync(part, v, __ffs(part) - 1) + __reduce_max_sync(part, v);
    }
    *o++ = part;
    *o++ = votes;
    *o++ = sum;
}
