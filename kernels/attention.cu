// Fused attention: softmax(scale * Q Kᵀ + bias) V for each head, without storing the scores.
//
// The rows of a workgroup are queries of all heads that share keys and values: the heads of a group at one position, then those at the
// next. A wave has as many rows as its matrix product has columns. It computes the transposes: Sᵀ = K Qᵀ, and Oᵀ = Vᵀ Pᵀ. So a row, its
// maximum and its sum are in one lane (or in a few, with different keys), and the result of the first product is the operand of the
// second, in registers where the target's matrix instructions allow it. Keys and values pass through LDS, a tile at a time, with a
// running maximum and sum of each row.
//
// A workgroup computes 128 dimensions of the result; heads of more have the scores computed once for each 128. `splits` workgroups share
// the keys of the same rows, if there are few rows; `attention_combine` adds what they give. Waves without rows only copy.
#include "attention_arguments.cuh"
#include "attention_nvidia.cuh"

template <typename T, unsigned KEYS>
__device__ __forceinline__ void rows_of(const Arguments<T> &given, unsigned batch, unsigned kv_head) {
    using M = ChainedMatrix<T, 32 / (WAVE / 8), 2>;
    using Tile = KeyTile<T, M, KEYS, DIM, THREADS>;
    constexpr unsigned BLOCKS = KEYS / M::ROWS, PARTS = M::ROWS / M::DEPTH, OUT_BLOCKS = DIM / M::ROWS, COLUMNS = M::LANE_COLUMNS;
    constexpr unsigned WAVES = THREADS / WAVE;
    static_assert(WAVES * M::COLUMNS == ROWS, "each wave has the rows of its product");
    // Queries stay in registers if they take no more than QUERY_BYTES / 4 of them.
    constexpr unsigned STEPS = DIM / M::DEPTH;
    constexpr bool KEEP = STEPS * sizeof(typename M::B) <= QUERY_BYTES;
    constexpr unsigned KEPT = KEEP ? STEPS : 1;
    constexpr unsigned SCRATCH_PITCH = KEYS + Tile::CHUNK;
    __shared__ alignas(16) unsigned char tile_bytes[Tile::SIZE * sizeof(T)];
    __shared__ alignas(16) unsigned char scratch_bytes[M::CHAINED_IN_LDS ? WAVES * M::COLUMNS * SCRATCH_PITCH * sizeof(T) : 16];
    T *tile = reinterpret_cast<T *>(tile_bytes);

    const Arguments<T> &from = read_again(given);
    const Shape &shape = from.shape;
    const unsigned lane = not_kept(threadIdx.x) % WAVE, wave = wave_index();
    T *scratch = reinterpret_cast<T *>(scratch_bytes) + (M::CHAINED_IN_LDS ? wave * M::COLUMNS * SCRATCH_PITCH : 0);
    const unsigned rows = shape.group * shape.q_len, row0 = blockIdx.x * ROWS;
    if (row0 >= rows)
        return;
    const unsigned split = split_of(shape);
    const int kv_len = from.kv_lens == nullptr ? shape.kv_len : min(from.kv_lens[batch], shape.kv_len);
    const int q_position = shape.flags & QUERIES_ARE_LAST ? kv_len - static_cast<int>(shape.q_len) : shape.q_position;
    const bool causal = shape.flags & CAUSAL;
    // The keys that the query at a position sees.
    const auto first_key = [&](unsigned position) {
        return shape.window == 0 ? 0 : max(0, q_position + static_cast<int>(position) + 1 - static_cast<int>(shape.window));
    };
    const auto end_key = [&](unsigned position) { return causal ? max(0, min(kv_len, q_position + static_cast<int>(position) + 1)) : kv_len; };

    // The lane's rows.
    int first[COLUMNS], end[COLUMNS], position[COLUMNS];
    float slope[COLUMNS];
    const T *query[COLUMNS];
    const unsigned wave_row = row0 + wave * M::COLUMNS;
#pragma unroll
    for (unsigned c = 0; c < COLUMNS; ++c) {
        const unsigned row = min(wave_row + M::lane_column(lane) + M::step_column(c), rows - 1);
        const unsigned index = row / shape.group, head = kv_head * shape.group + row % shape.group;
        first[c] = first_key(index);
        end[c] = end_key(index);
        position[c] = q_position + static_cast<int>(index);
        slope[c] = from.slopes == nullptr ? 0.0f : from.slopes[head] * LOG2_E;
        query[c] = from.q + batch * shape.q.batch + head * shape.q.head + index * shape.q.row + M::depth(lane);
    }
    const auto read_query = [&](unsigned depth) {
        typename M::B b;
#pragma unroll
        for (unsigned c = 0; c < COLUMNS; ++c)
            M::read_b(b, c, query[c] + depth);
        return b;
    };
    typename M::B kept[KEPT];
    const auto keep_queries = [&](unsigned from_dim, unsigned dims) {
#pragma unroll
        for (unsigned d = 0; d < KEPT; ++d)
            if (d * M::DEPTH < dims)
                kept[d] = read_query(from_dim + d * M::DEPTH);
    };
    if (KEEP)
        keep_queries(0, shape.dim);

    // The keys that the workgroup's rows see, and those that the wave's rows see.
    const unsigned last_row = min(row0 + WAVES * M::COLUMNS, rows) - 1;
    const int split_key = split * shape.split_keys;
    const int begin = max(first_key(row0 / shape.group), split_key) / static_cast<int>(KEYS) * static_cast<int>(KEYS);
    const int stop = min(end_key(last_row / shape.group), split_key + static_cast<int>(min(shape.split_keys, shape.kv_len)));
    const unsigned wave_last = min(wave_row + M::COLUMNS, rows) - 1;
    const bool has_rows = wave_row < rows;
    const int wave_begin = has_rows ? first_key(wave_row / shape.group) : 0, wave_end = has_rows ? end_key(wave_last / shape.group) : 0;
    const int wave_full_begin = has_rows ? first_key(wave_last / shape.group) : 0, wave_full_end = has_rows ? end_key(wave_row / shape.group) : 0;

    const unsigned last = kv_len > 0 ? kv_len - 1 : 0;
    float highest[COLUMNS], total[COLUMNS];
#pragma unroll
    for (unsigned c = 0; c < COLUMNS; ++c)
        highest[c] = -INFINITY, total[c] = 0.0f;
    typename M::Sums out[OUT_BLOCKS] = {};

#pragma unroll 1
    for (int key0 = begin; key0 < stop; key0 += KEYS) {
        const bool seen = key0 < wave_end && key0 + static_cast<int>(KEYS) > wave_begin;
        typename M::Sums scores[BLOCKS] = {};
        const unsigned dim = read_again(given).shape.dim;
        if (!KEEP) {
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c)
                query[c] = not_kept(query[c]);
        }
        unsigned from_dim = 0;
#pragma unroll 1
        do {
            const unsigned dims = min(dim - from_dim, DIM);
            __syncthreads();
            {
                const Arguments<T> &now = read_again(given);
                Tile::copy_keys(now.shape.stored, cache_of(now, false, batch, kv_head, last), tile, key0, from_dim, dims);
            }
            __syncthreads();
            if (KEEP && dim > DIM)
                keep_queries(from_dim, dims);
            constexpr unsigned UNROLLED = M::CHAINED_IN_LDS ? 1 : STEPS;
            const unsigned steps = !seen ? 0 : M::CHAINED_IN_LDS ? dims / M::DEPTH : STEPS;
#pragma unroll UNROLLED
            for (unsigned d = 0; d < steps; ++d) {
                if (!M::CHAINED_IN_LDS && d * M::DEPTH >= dims)
                    break;
                const typename M::B b = KEEP ? kept[d % KEPT] : read_query(from_dim + d * M::DEPTH);
#pragma unroll
                for (unsigned i = 0; i < BLOCKS; ++i) {
                    const T *piece = tile + (i * M::ROWS + M::a_row(lane)) * Tile::KEY_PITCH + M::depth(lane) + d * M::DEPTH;
                    M::multiply(scores[i], M::load_a(piece, Tile::KEY_PITCH), b);
                    if (M::CHAINED_IN_LDS)
                        schedule_fence();
                }
            }
            from_dim += DIM;
        } while (from_dim < dim);
        if (seen) {
            const auto each = [&](auto apply) {
#pragma unroll
                for (unsigned i = 0; i < BLOCKS; ++i)
#pragma unroll
                    for (unsigned s = 0; s < M::SUMS; ++s) {
                        float x = scores[i].x[s];
                        apply(x, key0 + static_cast<int>(i * M::ROWS + M::chained_depth(lane, s)), M::lane_column_of(s));
                        scores[i].x[s] = x;
                    }
            };
            // The factor that turns scores into exponents of 2.
            const Arguments<T> &now = read_again(given);
            float factor = now.shape.scale * LOG2_E;
            if (now.shape.soft_cap != 0.0f) {
                // tanh(x) = 1 - 2 / (exp(2x) + 1)
                const float cap = now.shape.soft_cap, inner = 2.0f * factor / cap;
                each([&](float &x, int, unsigned) { x = cap - 2.0f * cap * reciprocal(exp2_of(x * inner) + 1.0f); });
                factor = LOG2_E;
            }
            if (now.slopes != nullptr) {
                each([&](float &x, int key, unsigned c) { x = fmaf(slope[c], static_cast<float>(key - position[c]), x * factor); });
                factor = 1.0f;
            }
            if (key0 < wave_full_begin || key0 + static_cast<int>(KEYS) > wave_full_end) {
                each([&](float &x, int key, unsigned c) { x = key >= first[c] && key < end[c] ? x * factor : -INFINITY; });
                factor = 1.0f;
            }

            float higher[COLUMNS], base[COLUMNS];
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c)
                higher[c] = highest[c];
            each([&](float &x, int, unsigned c) {
                x *= factor;
                higher[c] = fmaxf(higher[c], x);
            });
#pragma unroll
            for (unsigned c = 0; c < COLUMNS; ++c) {
#pragma unroll
                for (unsigned mask = M::COLUMN_LANES; mask < WAVE; mask *= 2)
                    higher[c] = fmaxf(higher[c], from_lane_xor(higher[c], mask));
                // A row that has seen nothing yet has no maximum to subtract.
                const float subtracted = higher[c] == -INFINITY ? 0.0f : higher[c];
                base[c] = subtracted - WEIGHT_BITS;
                const float fade = exp2_of(highest[c] - subtracted);
                highest[c] = higher[c];
                if (fade != 1.0f) {
                    total[c] *= fade;
#pragma unroll
                    for (unsigned b = 0; b < OUT_BLOCKS; ++b)
#pragma unroll
                        for (unsigned s = 0; s < M::SUMS; ++s)
                            if (M::lane_column_of(s) == c)
                                out[b].x[s] *= fade;
                }
            }
            each([&](float &x, int, unsigned c) {
                x = exp2_of(x - base[c]);
                total[c] += x;
            });
            if (M::CHAINED_IN_LDS) {
#pragma unroll
                for (unsigned i = 0; i < BLOCKS; ++i)
                    M::chain(scores[i], lane, scratch + i * M::ROWS, SCRATCH_PITCH);
                wave_fence();
            }
        }
        __syncthreads();
        {
            const Arguments<T> &now = read_again(given);
            Tile::copy_values(now.shape.stored, cache_of(now, true, batch, kv_head, last), tile, key0, dim0_of(now.shape), out_dims_of(now.shape));
        }
        __syncthreads();
        if (seen) {
            const unsigned out_dims = out_dims_of(read_again(given).shape);
            const auto add_block = [&](unsigned b, unsigned part, typename M::B weights) {
                const T *piece = tile + (b * M::ROWS + M::a_row(lane)) * Tile::VALUE_PITCH + M::depth(lane) + part * M::DEPTH;
                M::multiply(out[b], M::load_a(piece, Tile::VALUE_PITCH), weights);
            };
            // All weights are in registers if they take at most 16: then each block of results is visited once.
            if constexpr (M::CHAINED_IN_LDS || BLOCKS * PARTS * sizeof(typename M::B) > 64) {
                constexpr unsigned UNROLLED = M::CHAINED_IN_LDS ? 1 : BLOCKS * PARTS;
#pragma unroll UNROLLED
                for (unsigned part = 0; part < BLOCKS * PARTS; ++part) {
                    const unsigned block = M::CHAINED_IN_LDS ? 0 : part / PARTS;
                    const typename M::B weights = M::chained(scores[block], lane, M::CHAINED_IN_LDS ? part : part % PARTS, scratch, SCRATCH_PITCH);
#pragma unroll
                    for (unsigned b = 0; b < OUT_BLOCKS; ++b) {
                        if (b * M::ROWS >= out_dims)
                            break;
                        add_block(b, part, weights);
                        schedule_fence();
                    }
                }
            } else {
                typename M::B weights[BLOCKS * PARTS];
#pragma unroll
                for (unsigned part = 0; part < BLOCKS * PARTS; ++part)
                    weights[part] = M::chained(scores[part / PARTS], lane, part % PARTS, scratch, SCRATCH_PITCH);
#pragma unroll
                for (unsigned b = 0; b < OUT_BLOCKS; ++b) {
                    if (b * M::ROWS >= out_dims)
                        break;
#pragma unroll
                    for (unsigned part = 0; part < BLOCKS * PARTS; ++part)
                        add_block(b, part, weights[part]);
                    schedule_fence();
                }
            }
        }
    }

    const Arguments<T> &to = read_again(given);
    const unsigned lane_then = not_kept(lane), dim0 = dim0_of(to.shape), out_dims = out_dims_of(to.shape);
#pragma unroll
    for (unsigned c = 0; c < COLUMNS; ++c) {
#pragma unroll
        for (unsigned mask = M::COLUMN_LANES; mask < WAVE; mask *= 2)
            total[c] += from_lane_xor(total[c], mask);
        const unsigned row = wave_row + M::lane_column(lane_then) + M::step_column(c);
        if (row >= rows)
            continue;
        // A row that has seen nothing is 0.
        const float share = total[c] == 0.0f ? 0.0f : 1.0f / total[c];
        T *out_row = to.o + batch * to.shape.o.batch + (kv_head * to.shape.group + row % to.shape.group) * to.shape.o.head + row / to.shape.group * to.shape.o.row + dim0;
        const size_t all_rows = static_cast<size_t>(to.shape.batches) * to.shape.kv_heads * rows;
        const size_t partial_row = ((static_cast<size_t>(batch) * to.shape.kv_heads + kv_head) * rows + row) * to.shape.splits + split_of(to.shape);
        const auto each = [&](auto put) {
#pragma unroll
            for (unsigned b = 0; b < OUT_BLOCKS; ++b)
#pragma unroll
                for (unsigned s = 0; s < M::SUMS; ++s) {
                    const unsigned step = b * M::ROWS + M::step_row(s);
                    // Dimensions are multiples of 16, and `lane_row` stays below the next 16.
                    if (M::lane_column_of(s) == c && step / 16 * 16 < out_dims)
                        put(step + M::lane_row(lane_then), out[b].x[s] * share);
                }
        };
        if (to.shape.splits == 1) {
            each([&](unsigned d, float x) { out_row[d] = convert<T>(x); });
        } else {
            float *partial = to.partial + partial_row * to.shape.dim + dim0;
            each([&](unsigned d, float x) { partial[d] = x; });
        }
        if (to.shape.splits > 1 && M::lane_row(lane_then) == 0 && dim0 == 0)
            to.partial[all_rows * to.shape.splits * to.shape.dim + partial_row] = total[c] == 0.0f ? -INFINITY : highest[c] - WEIGHT_BITS + log2f(total[c]);
    }
}

template <typename T, unsigned KEYS> __device__ __forceinline__ void attention(const Arguments<T> &from) {
#if defined(NVIDIA_WGMMA)
    if constexpr (sizeof(T) == 2) {
        if (nvidia::attention(from))
            return;
    }
#endif
    // A grid has at most 65,535 blocks in its second dimension.
    unsigned batch = blockIdx.y / from.shape.kv_heads, kv_head = blockIdx.y % from.shape.kv_heads;
    while (batch < read_again(from).shape.batches) {
        rows_of<T, KEYS>(from, batch, kv_head);
        const unsigned kv_heads = read_again(from).shape.kv_heads;
        kv_head += gridDim.y % kv_heads;
        batch += gridDim.y / kv_heads + (kv_head >= kv_heads);
        kv_head -= kv_head >= kv_heads ? kv_heads : 0;
    }
}

#define ATTENTION(T, NAME, KEYS)                                                                                       \
    extern "C" __global__ __launch_bounds__(THREADS) void attention_##NAME(                                             \
        const Shape shape, const T *q, const void *k, const void *v, const float *k_scales, const float *v_scales, const unsigned *kv_lens, \
        const unsigned *tables, const float *slopes, T *o, float *partial) {                                           \
        attention<T, KEYS>({shape, q, k, v, k_scales, v_scales, kv_lens, tables, slopes, o, partial});                 \
    }
ATTENTION(__half, f16, 64)
ATTENTION(__nv_bfloat16, bf16, 64)
ATTENTION(float, f32, 32)

// The same for few rows that share keys, whose strides and addresses are whole chunks of 16 bytes (8 of a cache of bytes), by workgroups of
// FEW_THREADS.
#if defined(__NVCC__)
#define ATTENTION_FEW(T, NAME, ATTRIBUTES, CLUSTER)                                                                    \
    extern "C" __global__ ATTRIBUTES __launch_bounds__(nvidia::FEW_THREADS) void attention_few_##NAME(                 \
        const Shape shape, const T *q, const void *k, const void *v, const float *k_scales, const float *v_scales, const unsigned *kv_lens, \
        const unsigned *tables, const float *slopes, T *o, float *partial) {                                           \
        ATTENTION_FEW_BODY(T, CLUSTER)                                                                                 \
    }                                                                                                                  \
    OVERLAPS(attention_few_##NAME)
#if defined(NVIDIA_MMA)
#define ATTENTION_FEW_BODY(T, CLUSTER) nvidia::few_rows<CLUSTER, T>({shape, q, k, v, k_scales, v_scales, kv_lens, tables, slopes, o, partial});
#else
#define ATTENTION_FEW_BODY(T, CLUSTER) __trap();
#endif
ATTENTION_FEW(__half, f16, , false)
ATTENTION_FEW(__nv_bfloat16, bf16, , false)
// By clusters, which need no `attention_combine` behind them: as many splits as a cluster has workgroups, which have as many keys of a sequence each.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTERED
#else
#define CLUSTERED __cluster_dims__(1, 1, nvidia::FEW_CLUSTER)
#endif
ATTENTION_FEW(__half, by_8_f16, CLUSTERED, true)
ATTENTION_FEW(__nv_bfloat16, by_8_bf16, CLUSTERED, true)
#endif

// Adds the results of all splits of a row, each as much as its sum is of all sums. Those include the head's sink, if there are any.
template <typename T> __device__ __forceinline__ void combine(const Shape &shape, const float *partial, const float *sinks, T *o) {
    const unsigned rows = shape.group * shape.q_len;
    const size_t all_rows = static_cast<size_t>(shape.batches) * shape.kv_heads * rows;
    for (size_t row = blockIdx.x; row < all_rows; row += gridDim.x) {
        const float *sums = partial + all_rows * shape.splits * shape.dim + row * shape.splits;
        const float sink = sink_of(shape, sinks, row);
        float highest = sink, total = 0.0f;
        for (unsigned split = 0; split < shape.splits; ++split)
            highest = fmaxf(highest, sums[split]);
        const float base = highest == -INFINITY ? 0.0f : highest;
        for (unsigned split = 0; split < shape.splits; ++split)
            total += exp2_of(sums[split] - base);
        total += exp2_of(sink - base);
        const float share = total == 0.0f ? 0.0f : 1.0f / total;
        const size_t kv_head = row / rows % shape.kv_heads, batch = row / rows / shape.kv_heads, position = row % rows / shape.group;
        T *to = o + batch * shape.o.batch + (kv_head * shape.group + row % rows % shape.group) * shape.o.head + position * shape.o.row;
        for (unsigned d = threadIdx.x; d < shape.dim; d += blockDim.x) {
            float sum = 0.0f;
            for (unsigned split = 0; split < shape.splits; ++split) {
                const float weight = exp2_of(sums[split] - base) * share;
                // A split that saw nothing adds nothing, whatever the others add.
                if (weight != 0.0f)
                    sum += weight * partial[(row * shape.splits + split) * shape.dim + d];
            }
            to[d] = convert<T>(sum);
        }
    }
}

#if defined(NVIDIA_MMA)
#define COMBINED nvidia::combine
#else
#define COMBINED combine
#endif
#define COMBINE(T, NAME)                                                                                               \
    extern "C" __global__ __launch_bounds__(THREADS) void attention_combine_##NAME(const Shape shape, const float *partial, const float *sinks, T *o) { \
        COMBINED(shape, partial, sinks, o);                                                                            \
    }                                                                                                                  \
    OVERLAPS(attention_combine_##NAME)
COMBINE(__half, f16)
COMBINE(__nv_bfloat16, bf16)
COMBINE(float, f32)
