// Headers and names of CUDA programs, with a value from each.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <math_constants.h>
#include <vector_types.h>

namespace cg = cooperative_groups;

#ifndef __CUDACC__
#error a compiler of CUDA defines __CUDACC__
#endif

__device__ cudaError_t status(int fine) { return fine ? cudaSuccess : cudaErrorInvalidValue; }

template <typename T> __device__ T next(T x) { return __shfl_down_sync(0xffffffff, x, 1); }
#ifndef __AMDGCN__
// These vectors are HIP's addition.
template <> __device__ float2 next(float2 v) { return {next(v.x), next(v.y)}; }
#endif

extern "C" __global__ void __launch_bounds__(128, 2)
    types(double *d, long long *l, __half *h, __nv_bfloat16 *b, unsigned char *c, float2 *f) {
    const int i = threadIdx.x;
    d[i] = next(d[i]);
    l[i] = next(l[i]);
    h[i] = next(h[i]);
    b[i] = next(b[i]);
    c[i] = next(c[i]);
    f[i] = next(f[i]);
}

extern "C" __global__ void block_sum(const float *__restrict__ in, float *out, const __grid_constant__ int n) {
    __shared__ float parts[32];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float sum = 0.0f;
    for (int i = block.thread_rank(); i < n; i += block.size())
        sum += __ldg(in + i);
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0)
        parts[tile.meta_group_rank()] = sum;
    block.sync();
    if (threadIdx.x < warpSize) {
        sum = threadIdx.x < block.size() / warpSize ? parts[threadIdx.x] : 0.0f;
        for (int offset = warpSize / 2; offset > 0; offset >>= 1)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (threadIdx.x == 0)
            atomicAdd(out, sum);
    }
}

extern "C" __global__ void names(float *out) {
    const cuFloatComplex product = cuCmulf(make_cuFloatComplex(1.0f, 2.0f), make_cuFloatComplex(3.0f, 4.0f));
    const __half2 half = __hadd2(__floats2half2_rn(1.0f, 2.0f), __float2half2_rn(0.5f));
    out[0] = product.x;
    out[1] = product.y;
    out[2] = __low2float(half);
    out[3] = __high2float(half);
    out[4] = static_cast<float>(__nv_fp8_e4m3(0.3f));
    out[5] = CUDART_INF_F;
    out[6] = status(1) == cudaSuccess && status(0) == cudaErrorInvalidValue;
    out[7] = __dp4a(0x01020304, 0x7f01ff02, 10);
    out[8] = __ldcs(out) + (CUDART_VERSION >= 11000);
}

// Each code's value, and the code of each value.
extern "C" __global__ void fp8(float *e4m3, float *e5m2, unsigned char *from_e4m3, unsigned char *from_e5m2) {
    const int i = threadIdx.x;
    __nv_fp8_e4m3 small;
    __nv_fp8_e5m2 wide;
    small.__x = i;
    wide.__x = i;
    e4m3[i] = static_cast<float>(small);
    e5m2[i] = static_cast<float>(wide);
    from_e4m3[i] = __nv_fp8_e4m3(e4m3[i]).__x;
    from_e5m2[i] = __nv_fp8_e5m2(e5m2[i]).__x;
}

// Host code is compiled for its messages only.
#define CHECK(call)                              \
    do {                                         \
        cudaError_t error = (call);              \
        if (error != cudaSuccess)                \
            return cudaGetErrorString(error);    \
    } while (0)
const char *host(const float *in, float *sum, int n, cudaStream_t stream) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    float *device = nullptr;
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(device, in, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    block_sum<<<properties.multiProcessorCount, 4 * properties.warpSize, 0, stream>>>(device, sum, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(device));
    return nullptr;
}
