// Compiled by `cargo xtask setup` before a toolchain is published.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void probe(const float* in, __half* half_out, __hip_bfloat16* bf16_out, float* sum, int n) {
    __shared__ float tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = i < n ? expf(in[i]) : 0.0f;
    tile[threadIdx.x & 63] = value;
    __syncthreads();
    if (i < n) {
        half_out[i] = __float2half(value);
        bf16_out[i] = __float2bfloat16(tile[(threadIdx.x + 1) & 63]);
        atomicAdd(sum, __shfl_xor(value, 1));
    }
}
