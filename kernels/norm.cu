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
// add_rmsnorm_q8_1_T(src, residual, alpha, sum, dst, blocks, columns, eps)
//   The same, and dst as blocks, too, as `quantize_q8_1` would make them. Without `src`, the sum is `residual`, and `sum` is not written.
//   `columns` is a multiple of 32, and workgroups have whole warps.
#include "overlap.cuh"
#include "q8_1.cuh"
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
    let_next_begin();
    wait_for_previous();
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

template <typename T>
__device__ __forceinline__ void add_rmsnorm_q8_1(const T *src, const T *residual, const T *alpha, T *sum, T *dst, Q8_1 *blocks, size_t columns,
                                                 float eps) {
    let_next_begin();
    wait_for_previous();
    const size_t row = blockIdx.x * columns;
    residual += row, dst += row, blocks += row / Q8_1::VALUES;
    const bool adds = src != nullptr;
    src = adds ? src + row : residual, sum = adds ? sum + row : nullptr;
    const bool wide = is_wide(src) && is_wide(residual) && is_wide(sum) && is_wide(dst);
    const size_t begin = static_cast<size_t>(block_thread()) * PACK<T>, step = static_cast<size_t>(block_threads()) * PACK<T>;
    float squares = 0;
    Pack<T> kept = {}; // the first of this thread's packs, most often the only one
    for (size_t i = begin; i < columns; i += step) {
        Pack<T> z = read_pack(residual + i, wide);
        if (adds) {
            const Pack<T> x = read_pack(src + i, wide);
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                z.at[j] = convert<T>(load(&x.at[j]) + load(&z.at[j]));
            write_pack(sum + i, z, wide);
        }
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            squares += load(&z.at[j]) * load(&z.at[j]);
        if (i == begin)
            kept = z;
    }
    const float scale = 1.0f / sqrtf(block_combine<Sum>(squares) / static_cast<float>(columns) + eps);
    const Weights<T> weights = {alpha, 1.0f};
    // All lanes of a warp go on as long.
    for (size_t i = begin; i < columns + begin % (WARP * PACK<T>); i += step) {
        const bool there = i < columns;
        Pack<T> x = kept;
        if (i != begin && there)
            x = read_pack((adds ? sum : residual) + i, wide);
        if (there) {
            const auto weight = weights.several(0, i);
#pragma unroll
            for (unsigned j = 0; j < PACK<T>; ++j)
                x.at[j] = convert<T>(load(&x.at[j]) * scale * weight.at[j]);
            write_pack(dst + i, x, wide);
        }
        quantize_pack(x, there, blocks, i);
    }
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
    }                                                                                                                  \
    OVERLAPS(add_rmsnorm_##NAME)                                                                                       \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void add_rmsnorm_q8_1_##NAME(                                   \
        const T *src, const T *residual, const T *alpha, T *sum, T *dst, void *blocks, const size_t columns, const float eps) { \
        add_rmsnorm_q8_1(src, residual, alpha, sum, dst, static_cast<Q8_1 *>(blocks), columns, eps);                   \
    }                                                                                                                  \
    OVERLAPS(add_rmsnorm_q8_1_##NAME)
NORMS(float, f32)
NORMS(__half, f16)
NORMS(__nv_bfloat16, bf16)
