// Reductions: sum, max and min of groups of elements, and softmax over rows. One workgroup per group or row, of any
// size that is a multiple of the warp size.
#include "common.cuh"

constexpr float INF = __builtin_huge_valf();

// dst[b] = the combination of elements b*group .. (b+1)*group of the source in row-major order, at most `numel` of them.
template <typename Op, typename T>
__device__ __forceinline__ void reduce_groups(size_t numel, size_t group, size_t num_dims, const size_t *info, const T *src, T *dst,
                                              compute_t<T> neutral) {
    const Layout layout(num_dims, info);
    const size_t first = static_cast<size_t>(blockIdx.x) * group;
    const size_t end = first + group < numel ? first + group : numel;
    compute_t<T> x = neutral;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x)
        x = Op::apply(x, load(src + layout.offset(i)));
    x = block_reduce<Op>(x, neutral);
    if (threadIdx.x == 0)
        dst[blockIdx.x] = convert<T>(x);
}

// dst[row] = exp(src[row] - max) / sum(exp(src[row] - max)), rows of `columns` contiguous elements.
template <typename T> __device__ __forceinline__ void softmax(const T *src, T *dst, unsigned columns) {
    const size_t row = static_cast<size_t>(blockIdx.x) * columns;
    float max = -INF;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
        max = Max::apply(max, load(src + row + i));
    max = block_reduce<Max>(max, -INF);
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(load(src + row + i) - max);
    const float scale = 1.0f / block_reduce<Sum>(sum, 0.0f);
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
        dst[row + i] = convert<T>(expf(load(src + row + i) - max) * scale);
}

#define REDUCE(T, NAME, OP, NEUTRAL)                                                                                   \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void NAME(const size_t numel, const size_t group, const size_t num_dims, \
                                                                  const size_t *info, const T *src, T *dst) {          \
        reduce_groups<OP>(numel, group, num_dims, info, src, dst, NEUTRAL);                                            \
    }
#define SOFTMAX(T, NAME)                                                                                               \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void NAME(const T *src, T *dst, const unsigned columns) {       \
        softmax(src, dst, columns);                                                                                    \
    }

#define ALL(T, NAME)                                                                                                   \
    REDUCE(T, fast_sum_##NAME, Sum, 0.0f)                                                                              \
    REDUCE(T, fast_max_##NAME, Max, -INF)                                                                              \
    REDUCE(T, fast_min_##NAME, Min, INF)                                                                               \
    SOFTMAX(T, softmax_##NAME)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
