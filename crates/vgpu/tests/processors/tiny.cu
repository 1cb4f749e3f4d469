// Compiled for every processor, so it is short.
#include <hip/hip_runtime.h>

// The sums of a workgroup's elements, through LDS. It takes more vector registers than leave every place for a wave, so that how many
// waves fit depends on how many registers the processor has.
extern "C" __global__ void sums(const int *x, int *out) {
    __shared__ int all[64];
    all[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    asm volatile("" ::: "v120");
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < 64; ++i)
            sum += all[i];
        out[blockIdx.x] = sum;
    }
}
