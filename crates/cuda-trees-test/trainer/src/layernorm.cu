// Layer normalisation: a warp per row, weights and bias in dynamic shared memory, 16 bytes a load.
#include "check.h"
#include "packed.cuh"
#include "reduce.cuh"

namespace cg = cooperative_groups;
using namespace trainer;

template <typename T, int kWarps>
__global__ void __launch_bounds__(kWarps *WARP_SIZE, 2)
    layernorm_kernel(T *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd, const T *__restrict__ in,
                     const T *__restrict__ weight, const T *__restrict__ bias, int rows, int width, float eps) {
    constexpr int step = x128<T>::count;
    assert(blockDim.x == WARP_SIZE);
    extern __shared__ int4 cached[];
    T *s_weight = reinterpret_cast<T *>(cached), *s_bias = s_weight + width;
    for (int i = (threadIdx.y * blockDim.x + threadIdx.x) * step; i < width; i += blockDim.x * blockDim.y * step) {
        store(s_weight + i, load(weight + i));
        store(s_bias + i, load(bias + i));
    }
    __syncthreads();

    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= rows)
        return;
    in += static_cast<size_t>(row) * width;
    out += static_cast<size_t>(row) * width;
    auto each = [&](auto &&f) {
        for (int i = warp.thread_rank() * step; i < width; i += warp.size() * step)
            f(i, load<Use::Once>(in + i));
    };

    float sum = 0.0f;
    each([&](int, const x128<T> &values) {
#pragma unroll
        for (int k = 0; k < step; k++)
            sum += cast<float>(values[k]);
    });
    const float middle = cg::reduce(warp, sum, cg::plus<float>{}) / width;
    float squares = 0.0f;
    each([&](int, const x128<T> &values) {
#pragma unroll
        for (int k = 0; k < step; k++) {
            const float off = cast<float>(values[k]) - middle;
            squares = fmaf(off, off, squares);
        }
    });
    const float scale = rsqrtf(warp_sum(squares) / width + eps);
    each([&](int i, const x128<T> &values) {
        x128<T> result;
        for (int k = 0; k < step; k++) {
            const float normal = (cast<float>(values[k]) - middle) * scale;
            result[k] = cast<T>(normal * cast<float>(s_weight[i + k]) + cast<float>(s_bias[i + k]));
        }
        store<Use::Once>(out + i, result);
    });
    if (warp.thread_rank() == 0) {
        __stcs(mean + row, middle);
        __stcg(rstd + row, scale);
    }
}

template <typename T>
static int layernorm(T *out, float *mean, float *rstd, const T *in, const T *weight, const T *bias, int rows, int width, cudaStream_t stream) {
    constexpr int kWarps = 4;
    const int smem = 2 * width * sizeof(T);
    auto kernel = layernorm_kernel<T, kWarps>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    kernel<<<
        CEIL_DIV(rows, kWarps),
        dim3(WARP_SIZE, kWarps),
        smem,
        stream
    >>>(out, mean, rstd, in,
        weight, bias,
        rows, width, 1e-5f);
    CUDA_CHECK(cudaGetLastError());
    return 0;
}

// 0: float, 1: bf16, 2: half. Others are invalid values.
extern "C" int trainer_layernorm(int type, void *out, float *mean, float *rstd, const void *in, const void *weight, const void *bias, int rows,
                                 int width, cudaStream_t stream) {
#define LAYERNORM_CASE(ID, T)                                                                                             \
    case ID:                                                                                                              \
        return layernorm<T>(static_cast<T *>(out), mean, rstd, static_cast<const T *>(in), static_cast<const T *>(weight), \
                            static_cast<const T *>(bias), rows, width, stream);
    switch (type) {
        LAYERNORM_CASE(0, float)
        LAYERNORM_CASE(1, __nv_bfloat16)
        LAYERNORM_CASE(2, half)
    default: return static_cast<int>(cudaErrorInvalidValue);
    }
#undef LAYERNORM_CASE
}

// The first failed call of this thread, and its place.
extern "C" const char *trainer_failure() { return failure().text; }
// Launches with more shared memory than any device has.
extern "C" int trainer_too_much(float *data, cudaStream_t stream) {
    failure() = Failure{};
    layernorm_kernel<float, 4><<<1, dim3(WARP_SIZE, 4), 1 << 28, stream>>>(data, data, data, data, data, data, 1, 32, 1e-5f);
    CUDA_CHECK(cudaGetLastError());
    return 0;
}
