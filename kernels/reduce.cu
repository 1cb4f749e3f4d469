// Reductions of groups of elements, softmax and norms of rows, rotary embeddings. Names and argument lists are those of candle 0.11.
//
// 16-bit floats are computed in f32, other types in the type itself. One workgroup of any shape computes a group or row.
#include "overlap.cuh"
#include "reduce.cuh"

// A group of elements: `group` consecutive ones of a tensor in row-major order, or fewer at its end.
template <typename T> struct Group {
    const Layout &layout;
    const T *src;
    size_t first, count;

    __device__ __forceinline__ Group(const Layout &layout, const T *src, size_t numel, size_t group, size_t number)
        : layout(layout), src(src), first(number * group), count(first >= numel ? 0 : numel - first < group ? numel - first : group) {}

    // Calls `f(i, element i)` for the elements of this thread.
    template <typename F> __device__ __forceinline__ void for_each(F f) const {
        if (layout.contiguous)
            return for_each_in_row<true>(src + first, count, f);
        for (size_t i = block_thread(); i < count; i += block_threads())
            f(i, load(src + layout.offset(first + i)));
    }
};

// The groups of a workgroup: the one with its number, which exists because of the grid even if it is empty, and those at
// multiples of the grid's size further.
#define FOR_EACH_GROUP(b, numel, group) for (size_t b = blockIdx.x; b == blockIdx.x || b * (group) < (numel); b += gridDim.x)

template <typename Op, typename T>
__device__ __forceinline__ void reduce(size_t numel, size_t size, size_t num_dims, const size_t *info, const T *src, T *dst,
                                       compute_t<T> neutral) {
    const Layout layout(num_dims, info);
    FOR_EACH_GROUP(b, numel, size) {
        compute_t<T> x = neutral;
        Group<T>(layout, src, numel, size, b).for_each([&](size_t, compute_t<T> y) { x = Op::apply(x, y); });
        x = block_combine<Op>(x);
        if (block_thread() == 0)
            dst[b] = convert<T>(x);
    }
}

// The largest or smallest element of each group and its index in the group; of equal ones, the first. The search begins at the first
// element: a NaN there is the result; a NaN elsewhere is ignored. An empty group gives the neutral element and 2³² - 1.
template <typename Order, typename T, typename F>
__device__ __forceinline__ void extremes(size_t numel, size_t size, size_t num_dims, const size_t *info, const T *src, F write) {
    using A = compute_t<T>;
    constexpr uint32_t NONE = 0xffffffffu;
    const Layout layout(num_dims, info);
    FOR_EACH_GROUP(b, numel, size) {
        const Group<T> group(layout, src, numel, size, b);
        Candidate<A> best = {Order::template neutral<A>(), NONE};
        // a thread's elements come in order
        group.for_each([&](size_t i, A x) {
            if (Order::better(x, best.value))
                best = {x, static_cast<uint32_t>(i)};
        });
        best = block_combine<First<Order>>(best);
        if (block_thread() == 0) {
            if (group.count > 0) {
                const A first = load(src + layout.offset(group.first));
                // none is better than the neutral element, so the first is as good as any
                if (first != first || best.index == NONE)
                    best = {first, 0};
            }
            write(b, best);
        }
    }
}

// As `fast_sum`, with a thread for each group, for groups too small for a workgroup.
template <typename T>
__device__ __forceinline__ void sum_small(size_t groups, size_t size, size_t num_dims, const size_t *info, const T *src, T *dst) {
    const Layout layout(num_dims, info);
    FOR_EACH_ELEMENT(b, groups) {
        compute_t<T> sum = 0;
        for (size_t i = b * size; i < (b + 1) * size; ++i)
            sum += load(src + layout.offset(i));
        dst[b] = convert<T>(sum);
    }
}

// out[o] += the sum over some dimensions. `info` holds the extents, the strides, and the extents and row-major distances of the summed
// dimensions. A warp sums all terms of one element, so that only the result is rounded.
template <typename T>
__device__ __forceinline__ void sum_dims(size_t numel, size_t num_dims, size_t num_sum_dims, const size_t *info, const T *inp, T *out) {
    const Layout layout(num_dims, info);
    const size_t *extents = info + 2 * num_dims, *distances = extents + num_sum_dims;
    size_t each = 1;
    for (size_t d = 0; d < num_sum_dims; ++d)
        each *= extents[d];
    const size_t outputs = each > 0 ? numel / each : 0;
    const unsigned in_warp = blockDim.x - threadIdx.x / warpSize * warpSize, lanes = in_warp < warpSize ? in_warp : warpSize;
    const unsigned lane = threadIdx.x % warpSize, warps = (blockDim.x + warpSize - 1) / warpSize;
    for (size_t o = static_cast<size_t>(blockIdx.x) * warps + threadIdx.x / warpSize; o < outputs;
         o += static_cast<size_t>(gridDim.x) * warps) {
        compute_t<T> sum = 0;
        for (size_t i = lane; i < each; i += lanes) {
            size_t at = o, rest = i;
            for (size_t d = num_sum_dims; d-- > 0;) {
                const Division kept = divide(at, distances[d]), summed = divide(rest, extents[d]);
                at = (kept.quotient * extents[d] + summed.remainder) * distances[d] + kept.remainder;
                rest = summed.quotient;
            }
            sum += load(inp + layout.offset(at));
        }
        sum = warp_combine<Sum>(sum, lanes);
        if (lane == 0)
            out[o] = convert<T>(static_cast<compute_t<T>>(load(out + o) + sum));
    }
}

// The same where a row is read once for its largest element and the sum: a sum so far is that of exp(x - max so far).
template <typename T> __device__ __forceinline__ void softmax_again(const RowInMemory<T> &row) {
    using A = compute_t<T>;
    constexpr A LOWEST = Limits<A>::lowest();
    A max = LOWEST, sum = 0;
    const auto add = [&](const auto &values) {
        A most = max;
#pragma unroll
        for (const A x : values)
            most = Max::apply(most, x);
        const A shift = most == LOWEST ? 0 : most; // the difference of infinities would be NaN
        sum *= exponential(max - shift);
#pragma unroll
        for (const A x : values)
            sum += exponential(x - shift);
        max = most;
    };
    const size_t in_packs = is_wide(row.x) ? row.n / PACK<T> * PACK<T> : 0;
    packs_ahead<2, false>(row.x, in_packs, [&](size_t, const Pack<T> &pack) {
        A values[PACK<T>];
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            values[j] = load(&pack.at[j]);
        add(values);
    });
    for (size_t i = in_packs + block_thread(); i < row.n; i += block_threads()) {
        const A value[] = {load(row.x + i)};
        add(value);
    }
    const A most = block_combine<Max>(max);
    sum = block_combine<Sum>(sum * exponential(max - most));
    row.map([=](A x) { return quotient(exponential(x - most), sum); });
}

// dst = exp(src - max) / sum(exp(src - max)) of each row.
template <typename T> __device__ __forceinline__ void softmax(const T *src, T *dst, size_t columns) {
    using A = compute_t<T>;
    with_row(src + blockIdx.x * columns, dst + blockIdx.x * columns, columns, [=](auto row) {
        A max = Limits<A>::lowest(), sum = 0;
        if constexpr (row.KEPT) {
            row.for_each([&](size_t, A x) { max = Max::apply(max, x); });
            max = block_combine<Max>(max);
            row.for_each([&](size_t, A &x) { sum += x = exponential(x - max); });
            sum = block_combine<Sum>(sum);
            row.map([=](A x) { return quotient(x, sum); });
        } else if constexpr (NVIDIA && !row.IN_REGISTERS) {
            softmax_again(row);
        } else {
            row.for_each([&](size_t, A x) { max = Max::apply(max, x); });
            max = block_combine<Max>(max);
            row.for_each([&](size_t, A x) { sum += exponential(x - max); });
            sum = block_combine<Sum>(sum);
            row.map([=](A x) { return NVIDIA ? quotient(exponential(x - max), sum) : exponential(x - max) / sum; });
        }
    });
}

// dst = src / sqrt(mean(src²) + eps) * alpha of each row; alpha may be null.
template <typename T> __device__ __forceinline__ void rmsnorm(const T *src, T *dst, const T *alpha, size_t columns, float eps) {
    using A = compute_t<T>;
    with_row(src + blockIdx.x * columns, dst + blockIdx.x * columns, columns, [=](auto row) {
        A squares = 0;
        row.for_each([&](size_t, A x) { squares += x * x; });
        squares = block_combine<Sum>(squares);
        const A scale = 1 / square_root(squares / static_cast<A>(columns) + static_cast<A>(eps));
        row.map([=](A x, A weight) { return x * scale * weight; }, Weights<T>{alpha, 1});
    });
}

// dst = (src - mean) / sqrt(variance + eps) * alpha + beta of each row; alpha and beta may be null. The variance is computed from the
// differences from the mean, so that squares of large numbers do not cancel.
template <typename T>
__device__ __forceinline__ void layernorm(const T *src, T *dst, const T *alpha, const T *beta, size_t columns, float eps) {
    using A = compute_t<T>;
    with_row(src + blockIdx.x * columns, dst + blockIdx.x * columns, columns, [=](auto row) {
        A sum = 0, squares = 0;
        row.for_each([&](size_t, A x) { sum += x; });
        const A mean = block_combine<Sum>(sum) / static_cast<A>(columns);
        row.for_each([&](size_t, A x) { squares += (x - mean) * (x - mean); });
        squares = block_combine<Sum>(squares);
        const A scale = 1 / square_root(squares / static_cast<A>(columns) + static_cast<A>(eps));
        row.map([=](A x, A weight, A offset) { return (x - mean) * scale * weight + offset; }, Weights<T>{alpha, 1}, Weights<T>{beta, 0});
    });
}

// Rotates the pair of elements first, second by the angle whose cosine and sine are given.
template <typename T>
__device__ __forceinline__ void rotate(const T *src, T *dst, size_t first, size_t second, const T *cos, const T *sin, size_t angle) {
    const compute_t<T> x = load(src + first), y = load(src + second), c = load(cos + angle), s = load(sin + angle);
    dst[first] = convert<T>(x * c - y * s);
    dst[second] = convert<T>(x * s + y * c);
}
// Where the angles of a pair's batch begin: all batches share them, or each batch of `stride_b` elements has its own `angles`.
__device__ __forceinline__ size_t batch_angles(size_t pair, size_t stride_b, size_t angles) {
    return stride_b > 0 ? divide(2 * pair, stride_b).quotient * angles : 0;
}

#define REDUCE(T, NAME, OP, NEUTRAL)                                                                                   \
    extern "C" __global__ BLOCKS_OF(MAX_BLOCK, 2) void NAME(const size_t numel, const size_t group, const size_t num_dims, \
                                                                 const size_t *info, const T *src, T *dst) {           \
        reduce<OP>(numel, group, num_dims, info, src, dst, NEUTRAL);                                                   \
    }
#define EXTREMES(T, NAME, OP)                                                                                          \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void fast_##NAME(const size_t numel, const size_t group, const size_t num_dims, \
                                                                        const size_t *info, const T *src, T *dst) {    \
        extremes<OP>(numel, group, num_dims, info, src, [=](size_t b, auto best) { dst[b] = convert<T>(best.value); }); \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void fast_arg##NAME(                                            \
        const size_t numel, const size_t group, const size_t num_dims, const size_t *info, const T *src, uint32_t *dst) { \
        extremes<OP>(numel, group, num_dims, info, src, [=](size_t b, auto best) { dst[b] = best.index; });            \
    }
#define SUM_SMALL(T, NAME)                                                                                             \
    extern "C" __global__ void fast_sum_small_##NAME(const size_t groups, const size_t group, const size_t num_dims, const size_t *info, \
                                                     const T *src, T *dst) {                                           \
        sum_small(groups, group, num_dims, info, src, dst);                                                            \
    }
#define SUM_DIMS(T, NAME)                                                                                              \
    extern "C" __global__ void sum_##NAME(const size_t numel, const size_t num_dims, const size_t num_sum_dims, const size_t *info, \
                                          const T *inp, T *out) {                                                      \
        sum_dims(numel, num_dims, num_sum_dims, info, inp, out);                                                       \
    }
// The number of threads comes from the workgroup itself, so `block_size` is not read.
#define ROWS(T, NAME)                                                                                                  \
    extern "C" __global__ BLOCKS_OF(MAX_BLOCK, sizeof(T) > 4 ? 1 : 2) void softmax_##NAME(const T *src, T *dst, const unsigned columns) { \
        softmax(src, dst, columns);                                                                                    \
    }                                                                                                                  \
    extern "C" __global__ BLOCKS_OF(MAX_BLOCK, sizeof(T) > 4 ? 1 : 2) void rmsnorm_##NAME(                                     \
        const T *src, T *dst, const T *alpha, const unsigned columns, const int block_size, const float eps) {         \
        let_next_begin();                                                                                              \
        wait_for_previous();                                                                                           \
        rmsnorm(src, dst, alpha, columns, eps);                                                                        \
    }                                                                                                                  \
    OVERLAPS(rmsnorm_##NAME)                                                                                                                 \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void layernorm_##NAME(                                          \
        const T *src, T *dst, const T *alpha, const T *beta, const unsigned columns, const int block_size, const float eps) { \
        layernorm(src, dst, alpha, beta, columns, eps);                                                                \
    }
// Rows of d elements at t positions of b·h sequences, td = t·d; `cos` and `sin` have d/2 angles for each position. `rope_i` rotates
// neighbours, the others element i with i + d/2; in `rope_thd`, the heads are inside the positions.
#define ROPE(T, NAME)                                                                                                  \
    extern "C" __global__ void rope_i_##NAME(const T *src, const T *cos, const T *sin, T *dst, const uint32_t bh, const uint32_t td, \
                                             const uint32_t stride_b) {                                                \
        const size_t half = td / 2;                                                                                    \
        FOR_EACH_ELEMENT(i, bh * half) {                                                                               \
            rotate(src, dst, 2 * i, 2 * i + 1, cos, sin, divide(i, half).remainder + batch_angles(i, stride_b, half));                  \
        }                                                                                                              \
    }                                                                                                                  \
    extern "C" __global__ void rope_##NAME(const T *src, const T *cos, const T *sin, T *dst, const uint32_t bh, const uint32_t td, \
                                           const uint32_t d, const uint32_t stride_b) {                                \
        const size_t half = td / 2, row = d / 2;                                                                       \
        FOR_EACH_ELEMENT(i, bh * half) {                                                                               \
            const Division at = divide(i, row);                                                                        \
            const size_t first = at.quotient * d + at.remainder, angle = divide(i, half).remainder;                    \
            rotate(src, dst, first, first + row, cos, sin, angle + batch_angles(i, stride_b, half));                   \
        }                                                                                                              \
    }                                                                                                                  \
    extern "C" __global__ void rope_thd_##NAME(const T *src, const T *cos, const T *sin, T *dst, const uint32_t b, const uint32_t t, \
                                               const uint32_t h, const uint32_t d, const uint32_t stride_b) {          \
        const size_t row = d / 2;                                                                                      \
        FOR_EACH_ELEMENT(i, static_cast<size_t>(b) * t * h * row) {                                                    \
            const Division at = divide(i, row);                                                                        \
            const size_t first = at.quotient * d + at.remainder, position = divide(divide(at.quotient, h).quotient, t).remainder; \
            rotate(src, dst, first, first + row, cos, sin, position * row + at.remainder + batch_angles(i, stride_b, t * row)); \
        }                                                                                                              \
    }
// For these two, which candle does not have, a NaN anywhere in a group gives NaN.
#define REDUCE_NAN(T, NAME)                                                                                            \
    REDUCE(T, reduce_max_##NAME, Max, Limits<compute_t<T>>::lowest())                                                  \
    REDUCE(T, reduce_min_##NAME, Min, Limits<compute_t<T>>::highest())

#define FAST(T, NAME)                                                                                                  \
    REDUCE(T, fast_sum_##NAME, Sum, 0)                                                                                 \
    SUM_SMALL(T, NAME)                                                                                                 \
    EXTREMES(T, max_##NAME, Largest)                                                                                   \
    EXTREMES(T, min_##NAME, Smallest)
#define FLOATS(T, NAME) FAST(T, NAME) SUM_DIMS(T, NAME) ROWS(T, NAME) ROPE(T, NAME)
FLOATS(float, f32)
FLOATS(double, f64)
FLOATS(__half, f16)
FLOATS(__nv_bfloat16, bf16)
REDUCE_NAN(float, f32)
REDUCE_NAN(__half, f16)
REDUCE_NAN(__nv_bfloat16, bf16)
FAST(uint8_t, u8)
FAST(uint32_t, u32)
FAST(int64_t, i64)
SUM_DIMS(uint32_t, u32)
