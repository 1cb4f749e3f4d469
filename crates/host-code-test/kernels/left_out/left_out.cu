#include <cuda_runtime.h>

static __global__ void left_out(int *to) { *to = 1; }

// Does not check whether the launch failed.
extern "C" void set_left_out(int *to, cudaStream_t stream) { left_out<<<1, 1, 0, stream>>>(to); }
