// AdamW on bf16 parameters with float master weights and stochastic rounding; the norms of gradients on a second stream.
#include "check.h"
#include "packed.cuh"
#include <algorithm>

using namespace trainer;

// Pseudo-random bits, the same on host and device.
__host__ __device__ constexpr unsigned scatter(unsigned position, unsigned seed) {
    unsigned bits = (position + 0x9e3779b9u * seed) ^ 0x5bf03635u;
    for (int round = 0; round < 3; round++)
        bits = (bits ^ bits >> 15) * (0x2c1b3c6du + 2u * round);
    return bits ^ bits >> 13;
}
static_assert(scatter(0, 1) != scatter(1, 0), "position and seed are not one");

// Rounds away from zero with a probability of the dropped bits over 65536.
__device__ __forceinline__ __nv_bfloat16 round_by_chance(float value, unsigned chance) {
    const unsigned bits = __float_as_uint(value);
    __nv_bfloat16_raw raw;
    raw.x = static_cast<unsigned short>((bits >> 16) + ((bits & 0xffffu) > (chance & 0xffffu)));
    return __nv_bfloat16(raw);
}

struct Options {
    float rate, beta1, beta2, correction1, correction2, eps, decay;
    unsigned seed;
};

template <typename P, typename G, bool kMaster>
__global__ void adamw_kernel(P *params, float *master, const G *grads, float *first, float *second, size_t n, ptrdiff_t stride,
                             const __grid_constant__ Options o) {
    const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const ptrdiff_t at = static_cast<ptrdiff_t>(i) + blockIdx.y * stride;
    const float grad = cast<float>(grads[at]);
    const float m = fmaf(o.beta1, first[at] - grad, grad), v = fmaf(o.beta2, second[at] - grad * grad, grad * grad);
    first[at] = m;
    second[at] = v;
    float old;
    if constexpr (kMaster)
        old = master[at];
    else
        old = cast<float>(params[at]);
    const float updated = old - o.rate * (m / o.correction1 / (sqrtf(v / o.correction2) + o.eps) + o.decay * old);
    params[at] = round_by_chance(updated, scatter(static_cast<unsigned>(i), o.seed));
    if constexpr (kMaster)
        master[at] = updated;
}

template <class T> __global__ void squares_kernel(float *out, const T *data, size_t count, ptrdiff_t stride) {
    extern __shared__ float partial[];
    float sum = 0.f;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        const float x = cast<float>(data[i + blockIdx.y * stride]);
        sum += x * x;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half_block = blockDim.x / 2; half_block > 0; half_block >>= 1) {
        if (threadIdx.x < half_block)
            partial[threadIdx.x] += partial[threadIdx.x + half_block];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(out + blockIdx.y, partial[0]);
}

// Master weights may be null.
extern "C" int trainer_adamw(__nv_bfloat16 *params, float *master, const __nv_bfloat16 *grads, float *first, float *second, size_t n,
                             ptrdiff_t stride, int slices, const Options *options, cudaStream_t stream) {
    const int block = 512;
    const dim3 grid(static_cast<unsigned>(CEIL_DIV(n, block)), slices);
    Options o = *options;
    void *arguments[] = {&params, &master, &grads, &first, &second, &n, &stride, &o};
    const void *kernel = master ? (const void *)adamw_kernel<__nv_bfloat16, __nv_bfloat16, true>
                                : (const void *)adamw_kernel<__nv_bfloat16, __nv_bfloat16, false>;
    CUDA_CHECK(cudaLaunchKernel(kernel, grid, dim3(block), arguments, 0, stream));
    return 0;
}

// On a second stream; the streams wait for each other.
extern "C" int trainer_squares(float *out, const __nv_bfloat16 *grads, size_t count, ptrdiff_t stride, int slices, cudaStream_t main_stream) {
    cudaStream_t side;
    cudaEvent_t ready, done;
    int device = -1, multiprocessors = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    if (properties.multiProcessorCount != multiprocessors || properties.maxThreadsPerBlock < 256)
        return static_cast<int>(cudaErrorInvalidDevice);
    CUDA_CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventRecord(ready, main_stream));
    CUDA_CHECK(cudaStreamWaitEvent(side, ready, 0));
    CUDA_CHECK(cudaMemsetAsync(out, 0, slices * sizeof(float), side));
    const int block = 256;
    const int grid = std::max(1, std::min<int>(multiprocessors, static_cast<int>(CEIL_DIV(count, block))));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid, slices);
    config.blockDim = block;
    config.dynamicSmemBytes = block * sizeof(float);
    config.stream = side;
    CUDA_CHECK(cudaLaunchKernelEx(&config, squares_kernel<__nv_bfloat16>, out, grads, count, stride));
    CUDA_CHECK(cudaEventRecord(done, side));
    CUDA_CHECK(cudaStreamWaitEvent(main_stream, done));
    CUDA_CHECK(cudaStreamSynchronize(side));
    CUDA_CHECK(cudaEventDestroy(ready));
    CUDA_CHECK(cudaEventDestroy(done));
    CUDA_CHECK(cudaStreamDestroy(side));
    return 0;
}
