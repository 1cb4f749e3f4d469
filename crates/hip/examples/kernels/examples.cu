// Kernels of the examples.

extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// One number per workgroup: the sum of its part of x. LDS has one number per work-item; the workgroup's size is a power of two.
extern "C" __global__ void partial_sums(unsigned n, const float *x, float *sums) {
    extern __shared__ float part[];
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    part[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
