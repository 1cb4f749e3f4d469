#include <hip/hip_runtime.h>
__device__ float atomicMin(float* address, float value) { return 0; }
__device__ int atomicMin(int* address, float value) { return 0; }
__device__ void check(hipError_t e) { printf("%s", hipGetErrorString(e)); }
__host__ __device__ void both(hipError_t e) { printf("%s", hipGetErrorString(e)); }
__global__ void k() { if (true) { hipDeviceSynchronize(); } }
int main() { return hipDeviceSynchronize(); }
