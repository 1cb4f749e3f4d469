// HIP's own dialect: waves of the device's size, 64-bit masks.
#include <hip/hip_runtime.h>

extern "C" __global__ void wave(unsigned long long *out) {
    const unsigned lane = threadIdx.x % warpSize;
    out[threadIdx.x * 3] = warpSize;
    out[threadIdx.x * 3 + 1] = __ballot_sync(__activemask(), lane % 3 == 0);
    out[threadIdx.x * 3 + 2] = __shfl_xor_sync(~0ull, threadIdx.x, warpSize / 2);
}
