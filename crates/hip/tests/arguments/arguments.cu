// Kernels with arguments of all kinds.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

extern "C" __global__ void scale(int n, float factor, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}

extern "C" __global__ void count(unsigned *counter) { atomicAdd(counter, 1u); }

struct Pair {
    float first;
    int second;
};
extern "C" __global__ void types(const __half *h, const __hip_bfloat16 *b, const float4 *v, const unsigned *u,
                                 const Pair *p, const void *any, const bool *flags, Pair pair, float4 four, bool flag,
                                 __half half, float *out) {
    out[0] = __half2float(h[0]) + __bfloat162float(b[0]) + v[0].w + u[0] + p[0].first + p[0].second +
             *static_cast<const int *>(any) + flags[0] + pair.first + pair.second + four.w + flag + __half2float(half);
}
