// Compiled so that the first arguments arrive in registers.
#include <hip/hip_runtime.h>

extern "C" __global__ void preloaded(int *out, int a, int b, long long c, const int *more) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (a - b) * i + (int)(c >> 32) + more[i & 7];
}
