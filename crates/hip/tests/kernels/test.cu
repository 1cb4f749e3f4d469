// Kernels for the tests of `hip`.
#include <cooperative_groups.h>
#include <stdint.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    const unsigned i = INDEX;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void add_one(unsigned n, unsigned *data) {
    const unsigned i = INDEX;
    if (i < n) data[i] += 1;
}

// Adds a bias, or 1, and counts work-items if there is a counter.
extern "C" __global__ void biased(unsigned n, const float *bias, float *y, unsigned *count) {
    const unsigned i = INDEX;
    if (i < n) y[i] += bias ? bias[i] : 1;
    if (count) atomicAdd(count, 1);
}

extern "C" __global__ void nothing() {}

// Values of every size, with the padding that their alignment needs.
struct Pair {
    float first;
    uint16_t second[2];
};
extern "C" __global__ void mixed(int8_t a, double b, uint16_t c, Pair d, uint64_t e, double *out) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d.first;
    out[4] = d.second[0];
    out[5] = d.second[1];
    out[6] = static_cast<double>(e);
}

// Every work-item writes its position and all sizes.
extern "C" __global__ void places(uint32_t *out) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = block * 1000 + thread;
}

extern "C" __global__ void reverse(unsigned *data) {
    extern __shared__ unsigned block[];
    block[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = block[blockDim.x - 1 - threadIdx.x];
}

// 48 KiB of LDS of its own.
extern "C" __global__ void much_lds(unsigned *data) {
    __shared__ unsigned block[12288];
    for (unsigned i = threadIdx.x; i < 12288; i += blockDim.x) block[i] = data[i % 64];
    __syncthreads();
    data[threadIdx.x] = block[threadIdx.x * 97 % 12288];
}

extern "C" __global__ void __launch_bounds__(64) small_blocks(unsigned *data) { data[threadIdx.x] = threadIdx.x; }

// Only lane 5 accesses `index`.
extern "C" __global__ void write_at(float *data, int64_t index) {
    if (threadIdx.x == 5) data[index] = 1.0f;
}

extern "C" __global__ void read_at(const float *data, int64_t index, float *out) {
    if (threadIdx.x == 5) *out = data[index];
}

// Keeps the device busy, then writes.
extern "C" __global__ void slow(unsigned rounds, unsigned *out) {
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = x;
}

// Every block adds the values of all blocks, after all have written theirs.
extern "C" __global__ void sum_of_blocks(unsigned *values, unsigned *sums) {
    if (threadIdx.x == 0) values[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += values[i];
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Variables that the program reads and writes.
extern "C" {
__constant__ float factors[2];
__device__ unsigned launches[3];
// No kernel uses it.
__device__ unsigned numbers[13];
}

extern "C" __global__ void scaled(float *data) {
    data[threadIdx.x] = data[threadIdx.x] * factors[0] + factors[1];
    if (threadIdx.x == 0) launches[1]++;
}
