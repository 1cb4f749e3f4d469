#include "sample.h"

#include <cuda_runtime.h>

__global__ void scale(float* values, int count, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= factor;
}

int sample_scale(float* values, int count, float factor) {
    float* device = nullptr;
    size_t size = count * sizeof(float);
    cudaError_t error = cudaMalloc(&device, size);
    if (error != cudaSuccess) return error;
    error = cudaMemcpy(device, values, size, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) {
        scale<<<(count + 255) / 256, 256>>>(device, count, factor);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) error = cudaMemcpy(values, device, size, cudaMemcpyDeviceToHost);
    (void)cudaFree(device);
    return error;
}
