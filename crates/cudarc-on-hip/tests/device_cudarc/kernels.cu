// The kernels of these tests, compiled at once.
#include <cooperative_groups.h>

struct Shape {
    size_t dims;
    size_t strides[64];
    float scale;
};

__constant__ float factors[4];

extern "C" __global__ void all(double *out, bool b, signed char c, unsigned short s, int i, unsigned long long l, float f,
                               double d, const float *in) {
    double values[] = {(double)b, (double)c, (double)s, (double)i, (double)l, f, d, in[0], in[1]};
    out[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void sum(float *out, const Shape shape) {
    float total = 0;
    for (size_t i = 0; i < shape.dims; ++i) total += shape.strides[i];
    *out = total * shape.scale;
}

extern "C" __global__ void where(unsigned *out) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void architecture(int *out) { *out = __CUDA_ARCH__; }

extern "C" __global__ void both(unsigned *x) {
    if (threadIdx.x == 0) x[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) x[gridDim.x + blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x];
}

extern "C" __global__ void __launch_bounds__(256) reverse(float *x) {
    __shared__ float part[256];
    extern __shared__ float more[];
    part[threadIdx.x] = x[threadIdx.x];
    more[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = part[255 - threadIdx.x] + more[255 - threadIdx.x];
}

// Takes a while, and adds one.
extern "C" __global__ void slow(unsigned *x, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i] + 1;
    for (int r = 0; r < rounds; ++r) {
        v = v * 1664525u + 1013904223u;
        v = (v - 1013904223u) * 4276115653u;
    }
    x[i] = v;
}

extern "C" __global__ void add(unsigned *to, const unsigned *from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += from[i];
}

extern "C" __global__ void add_number(unsigned *x, unsigned v) { x[threadIdx.x] += v; }

extern "C" __global__ void step(unsigned *x) { x[threadIdx.x] = x[threadIdx.x] * 2 + 1; }

// Leaves its memory.
extern "C" __global__ void wild(unsigned *x) { x[1ull << 42] = 1; }

extern "C" __global__ void check(int n) { assert(n == 3); }

extern "C" __global__ void polynomial(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factors[0] + in[i] * (factors[1] + in[i] * (factors[2] + in[i] * factors[3]));
}
