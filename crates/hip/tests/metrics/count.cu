// Kernels whose accesses can be counted by hand.
#include <cuda_runtime.h>

// y = a x + y through LDS.
extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    __shared__ float tile[256];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n)
        y[i] += a * tile[threadIdx.x ^ 1];
}

__device__ __noinline__ float squared(const float *x, unsigned i) {
    return x[i] * x[i];
}

// A loop whose length depends on the work-item, a call, an atomic addition, and an early exit.
extern "C" __global__ void triangle(unsigned n, const float4 *x, const float *z, float *y, double *sum) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float all = 0.0f;
    for (unsigned j = 0; j <= i; ++j) {
        const float4 v = x[j];
        all += v.x + v.y + v.z + v.w;
    }
    y[i] = all + squared(z, i);
    atomicAdd(sum, 1.0);
}
