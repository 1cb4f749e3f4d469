// HIP kernels on memory shared with Vulkan.

#include <cstdint>

extern "C" __global__ void affine(unsigned n, unsigned factor, unsigned offset, const unsigned *from, unsigned *to) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] * factor + offset;
}

extern "C" __global__ void add(unsigned n, const unsigned *from, unsigned *sum) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] += from[i];
}

// Only lane 5 accesses `index`.
extern "C" __global__ void write_at(unsigned *data, int64_t index) {
    if (threadIdx.x == 5) data[index] = 1;
}
