// The library that `plugins.hip` loads.
#include "check.h"

static __device__ int base = 2000;

__global__ void work(int* out, int by) { *out = base += by; }

extern "C" int run_plugin(int by) {
    int *out, value = 0;
    OK(hipMalloc(&out, sizeof *out));
    work<<<1, 1>>>(out, by);
    OK(hipGetLastError());
    OK(hipMemcpy(&value, out, sizeof value, hipMemcpyDeviceToHost));
    OK(hipFree(out));
    return value;
}
