#include <cuda_runtime.h>

// y = a x + y
extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
