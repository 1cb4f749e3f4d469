#include <cuda_runtime.h>
#include <cstdio>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t e = (call);                                             \
    if (e != cudaSuccess) {                                             \
      fprintf(stderr, "%s\n", cudaGetErrorString(e));                   \
    }                                                                   \
  } while (0)

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  float *host = nullptr, *device = nullptr;
  CHECK(cudaMallocHost(&host, 1024, cudaHostAllocDefault));
  CHECK(cudaMalloc((void**)&device, 1024));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMemcpyAsync(device, host, 1024, cudaMemcpyHostToDevice, stream));
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  cudaThreadSynchronize();
  return 0;
}
