#include <cuda_runtime.h>
__device__ float atomicMin(float* address, float value) { return 0; }
__device__ int atomicMin(int* address, float value) { return 0; }
__device__ void check(cudaError_t e) { printf("%s", cudaGetErrorString(e)); }
__host__ __device__ void both(cudaError_t e) { printf("%s", cudaGetErrorString(e)); }
__global__ void k() { if (true) { cudaDeviceSynchronize(); } }
int main() { return cudaDeviceSynchronize(); }
