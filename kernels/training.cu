// Training: gradients of norms, gates, softmax and embeddings, the loss of a classifier with its gradient, and the optimiser's step. For
// f32, f16 and bf16; sums are in f32. The gradient of rope.cu's rotation is the same rotation with negated sines. There are no atomics,
// so results do not depend on execution order.
//
// rmsnorm_backward_T(src, alpha, grad, add, out, scales, columns, eps)     a workgroup for each row
//   grad     of the loss with respect to the norm's result; add   null, or the gradient that bypassed the norm, which is added
//   out      add + s · (grad·alpha − src · s² · mean(grad·alpha·src)), with s = 1 / sqrt(mean(src²) + eps); alpha may be null
//   scales   s of each row in f32, or null
// rmsnorm_weight_backward_T(src, scales, grad, out, rows, columns)     a workgroup of 256 work-items for each 32 columns
//   out      for each column the sum of grad · src · scales[row] over all rows
// silu_mul_backward_T(elements, gate, up, grad, gate_grad, up_grad)     of silu_mul in activation.cu
// softmax_causal_T(src, dst, queries, columns, scale)     a workgroup for each row
//   Row r is query r % queries, the last query sees all columns, and each preceding one a column less: `queries` is at most `columns`.
//   dst      softmax(scale · src) of what the query sees, followed by zeros
// softmax_backward_T(probabilities, grad, out, columns, scale)     a workgroup for each row
//   out      scale · p · (grad − sum(p · grad))
// cross_entropy_T_I(logits, targets, losses, grad, columns, factor)     I = u32, i64; a workgroup for each row
//   losses   −log softmax(logits)[target] of each row in f32; 0 if the target is not a column
//   grad     factor · (softmax(logits) − one at the target), zeros if the target is not a column; or null
// embedding_backward_T_I(grad, ids, table, tokens, columns, rows)     a workgroup for each token, of which there are fewer than 2³²
//   table    rows × columns: each row receives the sum of the rows of `grad` of its tokens, in their order, rounded once
// adamw_T(elements, param, master, grad, mean, square, grad_factor, rate, beta1, beta2, eps, decay, correction1, correction2)
//   master   the parameters in f32, or null: then only `param` is kept
//   mean, square   f32; with g = grad_factor · grad: mean = beta1·mean + (1 − beta1)·g, square = beta2·square + (1 − beta2)·g²
//   param    w − rate · decay · w − rate · (mean / correction1) / (sqrt(square / correction2) + eps)
#include "reduce.cuh"

// Calls `f(i)` for this thread's elements of a row.
template <typename F> __device__ __forceinline__ void for_each_column(size_t columns, F f) {
    for (size_t i = block_thread(); i < columns; i += block_threads())
        f(i);
}

template <typename T>
__device__ __forceinline__ void rmsnorm_backward(const T *src, const T *alpha, const T *grad, const T *add, T *out, float *scales,
                                                 size_t columns, float eps) {
    const size_t first = blockIdx.x * columns;
    const Weights<T> weights = {alpha, 1}, bypass = {add ? add + first : nullptr, 0};
    with_rows(src + first, grad + first, out + first, columns, [=](auto row, auto grads) {
        float squares = 0, products = 0;
        row.for_each(
            [&](size_t, float x, float g, float weight) {
                squares += x * x;
                products += x * (g * weight);
            },
            grads, weights);
        squares = block_combine<Sum>(squares);
        products = block_combine<Sum>(products);
        const float scale = 1.0f / sqrtf(squares / static_cast<float>(columns) + eps);
        const float along = products / static_cast<float>(columns) * scale * scale;
        if (scales && block_thread() == 0)
            scales[blockIdx.x] = scale;
        row.map([=](float x, float g, float weight, float bypassed) { return bypassed + scale * (g * weight - x * along); }, grads, weights, bypass);
    });
}

constexpr unsigned WEIGHT_COLUMNS = 32, WEIGHT_PARTS = 8, WEIGHT_THREADS = WEIGHT_COLUMNS * WEIGHT_PARTS;

// Adds a thread's rows for EACH neighbouring columns; `sums` receives those of all threads, and the result is the number of parts of rows.
template <unsigned EACH, typename T>
__device__ __forceinline__ unsigned add_rows(const T *src, const float *scales, const T *grad, float *sums, size_t rows, size_t columns) {
    constexpr unsigned ACROSS = WEIGHT_COLUMNS / EACH, PARTS = WEIGHT_THREADS / ACROSS, AHEAD = 4;
    const unsigned at = threadIdx.x % ACROSS * EACH, part = threadIdx.x / ACROSS;
    const size_t column = static_cast<size_t>(blockIdx.x) * WEIGHT_COLUMNS + at;
    float sum[EACH] = {};
    if (column < columns) {
        struct alignas(EACH * sizeof(T)) Several {
            T at[EACH];
        };
        const auto several = [=](const T *matrix, size_t row) {
            return *reinterpret_cast<const Several *>(matrix + row * columns + column);
        };
        for (size_t first = part; first < rows; first += AHEAD * PARTS) {
            Several x[AHEAD], g[AHEAD];
            float scale[AHEAD];
#pragma unroll
            for (unsigned k = 0; k < AHEAD; ++k) {
                const size_t row = first + k * PARTS;
                if (row < rows)
                    x[k] = several(src, row), g[k] = several(grad, row), scale[k] = scales[row];
            }
#pragma unroll
            for (unsigned k = 0; k < AHEAD; ++k)
                if (first + k * PARTS < rows) {
#pragma unroll
                    for (unsigned j = 0; j < EACH; ++j)
                        sum[j] += load(&g[k].at[j]) * load(&x[k].at[j]) * scale[k];
                }
        }
    }
#pragma unroll
    for (unsigned j = 0; j < EACH; ++j)
        sums[part * WEIGHT_COLUMNS + at + j] = sum[j];
    return PARTS;
}

template <typename T>
__device__ __forceinline__ void rmsnorm_weight_backward(const T *src, const float *scales, const T *grad, T *out, size_t rows,
                                                        size_t columns) {
    __shared__ float sums[WEIGHT_THREADS * PACK<T>];
    const bool wide = columns % PACK<T> == 0 && is_wide(src) && is_wide(grad);
    const unsigned parts = wide ? add_rows<PACK<T>>(src, scales, grad, sums, rows, columns) : add_rows<1>(src, scales, grad, sums, rows, columns);
    __syncthreads();
    const unsigned at = threadIdx.x % WEIGHT_COLUMNS, group = threadIdx.x / WEIGHT_COLUMNS;
    float sum = 0;
    for (unsigned part = group; part < parts; part += WEIGHT_PARTS)
        sum += sums[part * WEIGHT_COLUMNS + at];
    __syncthreads();
    sums[threadIdx.x] = sum;
    __syncthreads();
    const size_t column = static_cast<size_t>(blockIdx.x) * WEIGHT_COLUMNS + at;
    if (group == 0 && column < columns) {
        for (unsigned other = 1; other < WEIGHT_PARTS; ++other)
            sum += sums[other * WEIGHT_COLUMNS + at];
        out[column] = convert<T>(sum);
    }
}

template <typename T>
__device__ __forceinline__ void silu_mul_backward(size_t elements, const T *gate, const T *up, const T *grad, T *gate_grad, T *up_grad) {
    FOR_EACH_ELEMENT(i, elements) {
        const float x = load(gate + i), y = load(up + i), g = load(grad + i);
        const float sigmoid = 1.0f / (1.0f + expf(-x));
        gate_grad[i] = convert<T>(g * y * sigmoid * (1.0f + x * (1.0f - sigmoid)));
        up_grad[i] = convert<T>(g * x * sigmoid);
    }
}

template <typename T> __device__ __forceinline__ void softmax_causal(const T *src, T *dst, size_t queries, size_t columns, float scale) {
    const size_t first = blockIdx.x * columns, seen = columns - queries + divide(blockIdx.x, queries).remainder + 1;
    // Whole packs, as all rows have them if one has.
    const size_t read = columns % PACK<T> == 0 ? (seen + PACK<T> - 1) / PACK<T> * PACK<T> : seen;
    with_row(src + first, dst + first, read, [=](auto row) {
        float largest = Limits<float>::lowest(), sum = 0;
        row.for_each([&](size_t i, float x) { largest = i < seen ? Max::apply(largest, scale * x) : largest; });
        largest = block_combine<Max>(largest);
        row.for_each([&](size_t i, float x) { sum += i < seen ? expf(scale * x - largest) : 0.0f; });
        sum = block_combine<Sum>(sum);
        row.map([=](float x, size_t i) { return i < seen ? expf(scale * x - largest) / sum : 0.0f; }, Positions<T>{});
    });
    for (size_t i = read + block_thread(); i < columns; i += block_threads())
        dst[first + i] = convert<T>(0.0f);
}

template <typename T>
__device__ __forceinline__ void softmax_backward(const T *probabilities, const T *grad, T *out, size_t columns, float scale) {
    const size_t first = blockIdx.x * columns;
    with_rows(probabilities + first, grad + first, out + first, columns, [=](auto row, auto grads) {
        float sum = 0;
        row.for_each([&](size_t, float p, float g) { sum += p * g; }, grads);
        sum = block_combine<Sum>(sum);
        row.map([=](float p, float g) { return scale * p * (g - sum); }, grads);
    });
}

template <typename T, typename I>
__device__ __forceinline__ void cross_entropy(const T *logits, const I *targets, float *losses, T *grad, size_t columns, float factor) {
    // as an unsigned number, a negative target is beyond all columns
    const size_t first = blockIdx.x * columns, target = static_cast<size_t>(targets[blockIdx.x]);
    const bool counts = target < columns;
    logits += first;
    with_row(logits, grad ? grad + first : nullptr, columns, [=](auto row) {
        float largest = Limits<float>::lowest(), sum = 0;
        if (counts) {
            row.for_each([&](size_t, float x) { largest = Max::apply(largest, x); });
            largest = block_combine<Max>(largest);
            row.for_each([&](size_t, float x) { sum += expf(x - largest); });
            sum = block_combine<Sum>(sum);
        }
        if (block_thread() == 0)
            losses[blockIdx.x] = counts ? logf(sum) + (largest - load(logits + target)) : 0.0f;
        if (grad)
            row.map([=](float x, size_t i) { return factor * ((counts ? expf(x - largest) / sum : 0.0f) - (i == target ? 1.0f : 0.0f)); }, Positions<T>{});
    });
}

template <typename T, typename I>
__device__ __forceinline__ void embedding_backward(const T *grad, const I *ids, T *table, size_t tokens, size_t columns, size_t rows) {
    const unsigned token = blockIdx.x, count = static_cast<unsigned>(tokens);
    const size_t id = static_cast<size_t>(ids[token]);
    if (id >= rows)
        return;
    // The first token of an id does the work of all tokens of the id, and needs to know the last one.
    unsigned earlier = 0, last = token;
    for (unsigned i = block_thread(); i < count; i += block_threads())
        if (static_cast<size_t>(ids[i]) == id) {
            earlier |= i < token;
            last = i > last ? i : last;
        }
    if (block_combine<Max>(earlier))
        return;
    last = block_combine<Max>(last);
    for_each_column(columns, [=](size_t column) {
        float sum = load(table + id * columns + column);
        for (unsigned i = token; i <= last; ++i)
            if (static_cast<size_t>(ids[i]) == id)
                sum += load(grad + i * columns + column);
        table[id * columns + column] = convert<T>(sum);
    });
}

template <typename T>
__device__ __forceinline__ void adamw(size_t elements, T *param, float *master, const T *grad, float *mean, float *square,
                                      float grad_factor, float rate, float beta1, float beta2, float eps, float decay, float correction1, float correction2) {
    FOR_EACH_ELEMENT(i, elements) {
        const float g = grad_factor * load(grad + i);
        const float m = beta1 * mean[i] + (1.0f - beta1) * g, v = beta2 * square[i] + (1.0f - beta2) * g * g;
        float w = master ? master[i] : load(param + i);
        w -= rate * decay * w;
        w -= rate * (m / correction1) / (sqrtf(v / correction2) + eps);
        mean[i] = m, square[i] = v;
        if (master)
            master[i] = w;
        param[i] = convert<T>(w);
    }
}

#define ROWS(T, NAME)                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void rmsnorm_backward_##NAME(                                   \
        const T *src, const T *alpha, const T *grad, const T *add, T *out, float *scales, const size_t columns, const float eps) { \
        rmsnorm_backward(src, alpha, grad, add, out, scales, columns, eps);                                            \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(256) void rmsnorm_weight_backward_##NAME(                                  \
        const T *src, const float *scales, const T *grad, T *out, const size_t rows, const size_t columns) {           \
        rmsnorm_weight_backward(src, scales, grad, out, rows, columns);                                                \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void softmax_causal_##NAME(                                     \
        const T *src, T *dst, const size_t queries, const size_t columns, const float scale) {                         \
        softmax_causal(src, dst, queries, columns, scale);                                                             \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void softmax_backward_##NAME(                                   \
        const T *probabilities, const T *grad, T *out, const size_t columns, const float scale) {                      \
        softmax_backward(probabilities, grad, out, columns, scale);                                                    \
    }
#define BY_INDEX(T, NAME, I, INDEX)                                                                                    \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void cross_entropy_##NAME##_##INDEX(                            \
        const T *logits, const I *targets, float *losses, T *grad, const size_t columns, const float factor) {         \
        cross_entropy(logits, targets, losses, grad, columns, factor);                                                 \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void embedding_backward_##NAME##_##INDEX(                       \
        const T *grad, const I *ids, T *table, const size_t tokens, const size_t columns, const size_t rows) {         \
        embedding_backward(grad, ids, table, tokens, columns, rows);                                                   \
    }
#define ELEMENTS(T, NAME)                                                                                              \
    extern "C" __global__ void silu_mul_backward_##NAME(const size_t elements, const T *gate, const T *up, const T *grad, T *gate_grad, \
                                                        T *up_grad) {                                                  \
        silu_mul_backward(elements, gate, up, grad, gate_grad, up_grad);                                               \
    }                                                                                                                  \
    extern "C" __global__ void adamw_##NAME(const size_t elements, T *param, float *master, const T *grad, float *mean, float *square, \
                                            const float grad_factor, const float rate, const float beta1, const float beta2, \
                                            const float eps, const float decay, const float correction1, const float correction2) { \
        adamw(elements, param, master, grad, mean, square, grad_factor, rate, beta1, beta2, eps, decay, correction1, correction2); \
    }
#define ALL(T, NAME)                                                                                                   \
    ROWS(T, NAME)                                                                                                      \
    BY_INDEX(T, NAME, uint32_t, u32)                                                                                   \
    BY_INDEX(T, NAME, int64_t, i64)                                                                                    \
    ELEMENTS(T, NAME)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
