#include "sample.h"

#include <cuda_runtime.h>

// One block: each thread sums a part, and the parts are added in shared memory.
template <int THREADS>
__global__ void sum(const float* values, int count, float* result) {
    __shared__ float parts[THREADS];
    float part = 0;
    for (int i = threadIdx.x; i < count; i += THREADS) part += values[i];
    parts[threadIdx.x] = part;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = parts[0];
}

int sample_sum(const float* values, int count, float* result) {
    float *device = nullptr, *device_result = nullptr;
    size_t size = count * sizeof(float);
    cudaError_t error = cudaMalloc(&device, size);
    if (error == cudaSuccess) error = cudaMalloc(&device_result, sizeof(float));
    if (error == cudaSuccess) error = cudaMemcpy(device, values, size, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) {
        sum<256><<<1, 256>>>(device, count, device_result);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) error = cudaMemcpy(result, device_result, sizeof(float), cudaMemcpyDeviceToHost);
    (void)cudaFree(device);
    (void)cudaFree(device_result);
    return error;
}
