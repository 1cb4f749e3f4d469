#include <hip/hip_runtime.h>
#include <cstdio>

#define CHECK(call)                                                     \
  do {                                                                  \
    hipError_t e = (call);                                             \
    if (e != hipSuccess) {                                             \
      fprintf(stderr, "%s\n", hipGetErrorString(e));                   \
    }                                                                   \
  } while (0)

int main() {
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  hipDeviceProp_t prop;
  CHECK(hipGetDeviceProperties(&prop, 0));
  float *host = nullptr, *device = nullptr;
  CHECK(hipHostMalloc(&host, 1024, hipHostMallocDefault));
  CHECK(hipMalloc((void**)&device, 1024));
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipMemcpyAsync(device, host, 1024, hipMemcpyHostToDevice, stream));
  hipEvent_t event;
  CHECK(hipEventCreate(&event));
  CHECK(hipEventRecord(event, stream));
  CHECK(hipEventSynchronize(event));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipFree(device));
  CHECK(hipHostFree(host));
  hipDeviceSynchronize();
  return 0;
}
