// Kernels whose counters can be computed by hand.
#include <hip/hip_runtime.h>

// Every thread writes and reads one float of LDS, `stride` floats after that of the previous thread.
extern "C" __global__ void __launch_bounds__(64) lds_stride(float *out, unsigned stride) {
    __shared__ float values[64 * 32];
    unsigned i = threadIdx.x;
    values[i * stride] = (float)i;
    __syncthreads();
    out[i] = values[(63 - i) * stride];
}

// Every thread loads a float, `stride` floats after that of the previous thread.
extern "C" __global__ void __launch_bounds__(64) load_stride(const float *x, float *out, unsigned stride) {
    unsigned i = threadIdx.x;
    out[i] = x[i * stride];
}

// The first `count` threads of a workgroup do something.
extern "C" __global__ void __launch_bounds__(64) some_threads(int *out, unsigned count) {
    unsigned i = threadIdx.x;
    if (i < count) {
        asm volatile("s_nop 7");
        atomicAdd(&out[i], 5);
    }
}

// Two transcendental instructions.
extern "C" __global__ void __launch_bounds__(64) functions(float *out) {
    float x = out[threadIdx.x];
    out[threadIdx.x] = __builtin_amdgcn_sinf(x) + __builtin_amdgcn_rcpf(x);
}

// Every thread writes eight dwords of scratch memory and reads one.
extern "C" __global__ void __launch_bounds__(64) scratch(int *out, unsigned at) {
    volatile int local[8];
    for (unsigned j = 0; j < 8; j++)
        local[j] = j;
    out[threadIdx.x] = local[at];
}
