// Norms beyond those of reduce.cu: by groups of channels, by the Euclidean length, and of a residual stream. For f32, f16 and bf16; sums
// are in f32. One workgroup of any shape computes a row or group.
//
// groupnorm_T(src, dst, alpha, beta, channels, groups, spatial, eps)
//   src, dst   batch × channels × spatial; a workgroup for each batch and group; `groups` divides `channels`
//   alpha, beta   one number for each channel, or null
//   dst = (src - mean) / sqrt(variance + eps) * alpha + beta, with the mean and variance of channels / groups channels of a batch
// l2norm_T(src, dst, columns, eps)
//   dst = src / max(sqrt(sum(src²)), eps) of each row
// add_rmsnorm_T(src, residual, alpha, sum, dst, columns, eps)
//   sum = src + residual, rounded to T; dst = sum / sqrt(mean(sum²) + eps) * alpha, computed from the rounded sums, as two kernels would.
//   `sum` may be `src` or `residual`; alpha may be null.
#include "reduce.cuh"

template <typename T>
__device__ __forceinline__ void groupnorm(const T *src, T *dst, const T *alpha, const T *beta, size_t channels, size_t groups, size_t spatial,
                                          float eps) {
    const size_t each = channels / groups, count = each * spatial;
    const size_t first_channel = blockIdx.x % groups * each;
    src += blockIdx.x * count;
    float sum = 0, squares = 0;
    for_each_in_row(src, count, [&](size_t, float x) { sum += x; });
    const float mean = block_combine<Sum>(sum) / static_cast<float>(count);
    for_each_in_row(src, count, [&](size_t, float x) { squares += (x - mean) * (x - mean); });
    squares = block_combine<Sum>(squares);
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(count) + eps);
    map_row(src, dst + blockIdx.x * count, count, [=](size_t i, float x) {
        const size_t channel = first_channel + divide(i, spatial).quotient;
        const float y = (x - mean) * scale;
        return (alpha ? y * load(alpha + channel) : y) + (beta ? load(beta + channel) : 0.0f);
    });
}

template <typename T> __device__ __forceinline__ void l2norm(const T *src, T *dst, size_t columns, float eps) {
    with_row(src + blockIdx.x * columns, dst + blockIdx.x * columns, columns, [=](auto row) {
        float squares = 0;
        row.for_each([&](size_t, float x) { squares += x * x; });
        const float length = sqrtf(block_combine<Sum>(squares));
        const float divisor = length < eps ? eps : length; // a NaN stays one
        row.map([=](float x) { return x / divisor; });
    });
}

template <typename T>
__device__ __forceinline__ void add_rmsnorm(const T *src, const T *residual, const T *alpha, T *sum, T *dst, size_t columns, float eps) {
    const size_t row = blockIdx.x * columns;
    src += row, residual += row, sum += row, dst += row;
    const bool wide = is_wide(src) && is_wide(residual) && is_wide(sum) && is_wide(dst);
    float squares = 0;
    const auto add = [&](T x, T y) {
        const T z = convert<T>(load(&x) + load(&y));
        squares += load(&z) * load(&z);
        return z;
    };
    split_row<T>(
        columns, wide,
        [&](size_t i) {
            const Pack<T> x = pack_at(src + i), y = pack_at(residual + i);
            Pack<T> z;
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                z.at[j] = add(x.at[j], y.at[j]);
            pack_at(sum + i) = z;
        },
        [&](size_t i) { sum[i] = add(src[i], residual[i]); });
    const float scale = 1.0f / sqrtf(block_combine<Sum>(squares) / static_cast<float>(columns) + eps);
    const auto norm = [&](size_t i, T x) {
        const float y = load(&x) * scale;
        return convert<T>(alpha ? y * load(alpha + i) : y);
    };
    // a thread reads what it wrote
    split_row<T>(
        columns, wide,
        [&](size_t i) {
            Pack<T> x = pack_at(sum + i);
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                x.at[j] = norm(i + j, x.at[j]);
            pack_at(dst + i) = x;
        },
        [&](size_t i) { dst[i] = norm(i, sum[i]); });
}

#define NORMS(T, NAME)                                                                                                 \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void groupnorm_##NAME(const T *src, T *dst, const T *alpha, const T *beta, \
                                                                             const unsigned channels, const unsigned groups, \
                                                                             const size_t spatial, const float eps) {  \
        groupnorm(src, dst, alpha, beta, channels, groups, spatial, eps);                                              \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void l2norm_##NAME(const T *src, T *dst, const size_t columns, const float eps) { \
        l2norm(src, dst, columns, eps);                                                                                \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void add_rmsnorm_##NAME(                                        \
        const T *src, const T *residual, const T *alpha, T *sum, T *dst, const size_t columns, const float eps) {      \
        add_rmsnorm(src, residual, alpha, sum, dst, columns, eps);                                                     \
    }
NORMS(float, f32)
NORMS(__half, f16)
NORMS(__nv_bfloat16, bf16)
