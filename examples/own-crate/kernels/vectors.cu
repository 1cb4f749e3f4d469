#include <cuda_runtime.h>

// y = a x + y
extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}

// *sum += the sum of x; the block is a multiple of 32.
extern "C" __global__ void sum(unsigned n, const float *x, float *sum) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, value);
}
