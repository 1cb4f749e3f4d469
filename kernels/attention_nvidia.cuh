// Attention on NVIDIA's tensor cores, of queries of 16 bits.
//
// A few rows that share keys (a decoded token's heads) are bound by memory, and have kernels of their own, `attention_few_*`: each warp copies keys and values
// into its own part of shared memory, two steps of 16 keys or more under way, multiplies them by `mma`, and a workgroup adds what its warps have. Many rows pass keys and values through shared memory, two tiles of each under
// way, and are multiplied by `wgmma`, the rows' weights straight from registers. Strides and addresses that are not whole chunks are left to
// `rows_of`, and so are many rows on targets without `wgmma`, or without as much shared memory as they need.
#pragma once
#include "attention_arguments.cuh"
#include "nvidia.cuh"
#include "overlap.cuh"

namespace nvidia {
// The most rows that are few, and the work-items of a workgroup for them.
constexpr unsigned FEW_ROWS = 8;
constexpr unsigned FEW_THREADS = 128;
// Workgroups that share the keys of the same rows in `attention_few_by_8_*`.
constexpr unsigned FEW_CLUSTER = 8;
} // namespace nvidia

#if defined(NVIDIA_MMA)
namespace nvidia {
// Which keys rows see, within a workgroup's split.
struct Visible {
    int kv_len, q_position, window, split_begin, split_end;
    bool causal;

    // `even` splits have as many of the sequence's own keys each.
    template <typename T> __device__ __forceinline__ Visible(const Arguments<T> &from, unsigned batch, bool even = false) {
        const Shape &shape = from.shape;
        kv_len = from.kv_lens == nullptr ? shape.kv_len : min(from.kv_lens[batch], shape.kv_len);
        q_position = shape.flags & QUERIES_ARE_LAST ? kv_len - static_cast<int>(shape.q_len) : shape.q_position;
        window = static_cast<int>(shape.window);
        causal = shape.flags & CAUSAL;
        const unsigned keys = even ? (kv_len + 16 * shape.splits - 1) / (16 * shape.splits) * 16 : shape.split_keys;
        split_begin = static_cast<int>(split_of(shape) * keys);
        split_end = split_begin + static_cast<int>(min(keys, shape.kv_len));
    }
    __device__ __forceinline__ int first(unsigned position) const {
        return window == 0 ? split_begin : max(split_begin, q_position + static_cast<int>(position) + 1 - window);
    }
    __device__ __forceinline__ int end(unsigned position) const {
        return min(split_end, causal ? max(0, min(kv_len, q_position + static_cast<int>(position) + 1)) : kv_len);
    }
    __device__ __forceinline__ unsigned last_key() const { return kv_len > 0 ? kv_len - 1 : 0; }
};

// Two of a thread's rows: what they see, and what is known of them.
struct RowPair {
    int first[2], end[2], position[2];
    float slope[2];
    float highest[2] = {-INFINITY, -INFINITY}, total[2] = {};
    // What the exponents of the tile's weights have to be lessened by, and by what earlier results are to be multiplied.
    float base[2], fade[2];

    template <typename T>
    __device__ __forceinline__ void begin(const Arguments<T> &from, const Visible &visible, unsigned kv_head, unsigned c, unsigned row) {
        const unsigned group = from.shape.group, index = row / group;
        first[c] = visible.first(index);
        end[c] = visible.end(index);
        position[c] = visible.q_position + static_cast<int>(index);
        slope[c] = from.slopes == nullptr ? 0.0f : from.slopes[kv_head * group + row % group] * LOG2_E;
    }

    // Makes weights of products. `each` calls what it is given with every product, its key and its row of the two; `over_lanes` gives the
    // highest of all lanes that have the row.
    template <typename Each, typename OverLanes>
    __device__ __forceinline__ void weigh(const Shape &shape, bool sloped, bool masked, Each each, OverLanes over_lanes) {
        float factor = shape.scale * LOG2_E;
        if (shape.soft_cap != 0.0f) {
            const float cap = shape.soft_cap, inner = 2.0f * factor / cap;
            each([&](float &x, int, unsigned) { x = cap - 2.0f * cap * reciprocal(exp2_of(x * inner) + 1.0f); });
            factor = LOG2_E;
        }
        if (sloped || factor <= 0.0f) {
            each([&](float &x, int key, unsigned c) { x = fmaf(slope[c], static_cast<float>(key - position[c]), x * factor); });
            factor = 1.0f;
        }
        if (masked)
            each([&](float &x, int key, unsigned c) { x = key >= first[c] && key < end[c] ? x : -INFINITY; });
        float most[2] = {-INFINITY, -INFINITY};
        each([&](float &x, int, unsigned c) { most[c] = fmaxf(most[c], x); });
#pragma unroll
        for (unsigned c = 0; c < 2; ++c) {
            const float higher = fmaxf(highest[c], over_lanes(most[c]) * factor);
            // A row that has seen nothing yet has no maximum to subtract.
            const float subtracted = higher == -INFINITY ? 0.0f : higher;
            base[c] = subtracted - WEIGHT_BITS;
            fade[c] = exp2_of(highest[c] - subtracted);
            highest[c] = higher;
            total[c] *= fade[c];
        }
        each([&](float &x, int, unsigned c) {
            x = exp2_of(fmaf(x, factor, -base[c]));
            total[c] += x;
        });
    }
};

// Chunks of 8 numbers of a cache, as they are read and as what is multiplied.
template <typename T, bool BYTES> struct Cached {
    static constexpr unsigned ELEMENT = BYTES ? 1 : sizeof(T), SIZE = 8 * ELEMENT;
    unsigned x[SIZE / 4];

    __device__ __forceinline__ void read(const char *at) { read_dwords<SIZE / 4>(x, at); }
    __device__ __forceinline__ void read_shared(unsigned at) {
        if constexpr (BYTES)
            asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(at));
        else
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
    }
    __device__ __forceinline__ Chunk numbers(Stored stored, float scale) const {
        Chunk chunk;
        if constexpr (!BYTES)
            chunk = {x[0], x[1], x[2], x[3]};
        else if (stored == STORED_F8)
            widen<T, STORED_F8, 4>(chunk.x, x, scale);
        else
            widen<T, STORED_I8, 4>(chunk.x, x, scale);
        return chunk;
    }
};

// What the warps of a workgroup with few rows give each other, and what it gives the others of its cluster.
struct FewRowsShared {
    // A row's sums of 32 dimensions, in different banks.
    float sums[FEW_THREADS / 32][FEW_ROWS][33];
    float highest[FEW_THREADS / 32][FEW_ROWS], total[FEW_THREADS / 32][FEW_ROWS];
};
struct FewRowsGiven {
    float results[FEW_ROWS][DIM], sums[FEW_ROWS];
};
__device__ __forceinline__ FewRowsGiven &few_rows_given() {
    __shared__ FewRowsGiven given;
    return given;
}
__device__ __forceinline__ FewRowsShared &few_rows_shared() {
    __shared__ FewRowsShared shared;
    return shared;
}

// What is under way of keys and values of few rows: so many steps of 16 keys. Numbers of 16 bits lie by lines, as they are in memory. Of bytes, a
// lane copies what it makes numbers of itself, so that nothing is waited for but the copies.
template <typename T, unsigned DIMS, bool BYTES> struct FewRowsRing {
    static constexpr unsigned CHUNK = Cached<T, BYTES>::SIZE, KEY_CHUNKS = 2 * (DIMS / 32), VALUE_CHUNKS = 4 * ((DIMS < DIM ? DIMS : DIM) / 64);
    // A scale for each key of a lane.
    static constexpr unsigned KEY_SIZE = KEY_CHUNKS * CHUNK + (BYTES ? 2 * 4 : 0), VALUE_SIZE = VALUE_CHUNKS * CHUNK + (BYTES ? 4 * 4 : 0);
    static constexpr unsigned STEPS = DIMS * Cached<T, BYTES>::ELEMENT <= 128 ? 4 : 2;
    // Of all lanes of a warp, and of a workgroup.
    static constexpr unsigned STEP = (KEY_SIZE + VALUE_SIZE) * 32, SIZE = STEPS * STEP * (FEW_THREADS / 32);
};

// 16 keys or values in a warp's part of shared memory: a line for each, whose chunks are exchanged by the line's number.
template <unsigned D> __device__ __forceinline__ unsigned line_place(unsigned tile, unsigned line, unsigned chunk) {
    return tile + line * (D * 2) + (chunk ^ line % 8) * 16;
}
// Copies them from `block` on, lines of `dims` of D numbers, without waiting. Lines beyond the last are the last.
template <unsigned D>
__device__ __forceinline__ void copy_lines(unsigned tile, const char *block, size_t row, unsigned last, unsigned dim0, unsigned dims) {
    constexpr unsigned CHUNKS = D / 8, TOGETHER = 32 / CHUNKS == 0 ? 1 : 32 / CHUNKS;
    const unsigned lane = threadIdx.x % 32, chunk = lane % CHUNKS;
#pragma unroll
    for (unsigned i = 0; i < 16 / TOGETHER; ++i) {
        const unsigned line = i * TOGETHER + lane / CHUNKS;
        const bool there = chunk * 8 < dims;
        copy_chunk(line_place<D>(tile, line, chunk), block + (min(line, last) * row + dim0 + (there ? chunk * 8 : 0)) * 2, there ? 16 : 0);
    }
}

// Where scales are behind a step's chunks of keys, and of values.
template <typename Ring> constexpr unsigned KEY_CHUNKS_END = Ring::KEY_CHUNKS * Ring::CHUNK * 32;
template <typename Ring> constexpr unsigned VALUE_CHUNKS_END = Ring::VALUE_CHUNKS * Ring::CHUNK * 32;

// Copies so many bytes, or zeros, without waiting.
template <unsigned SIZE> __device__ __forceinline__ void copy_cached(unsigned to, const void *from, bool there) {
    if constexpr (SIZE == 16)
        copy_chunk(to, from, there ? 16 : 0);
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(SIZE), "r"(there ? SIZE : 0) : "memory");
}
__device__ __forceinline__ float read_shared_float(unsigned at) {
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at));
    return x;
}

#if defined(NVIDIA_BULK)
// Adds what the workgroups of a cluster have of the same rows, each for some dimensions of some rows, as `combine` adds splits.
template <unsigned OUT, typename Store> __device__ __forceinline__ void combine_in_cluster(const FewRowsGiven &given, unsigned rows, Store store) {
    cluster_barrier();
    const unsigned results = shared_address(&given.results), sums = shared_address(&given.sums);
    for (unsigned i = cluster_rank() * FEW_THREADS + threadIdx.x; i < rows * OUT; i += FEW_CLUSTER * FEW_THREADS) {
        const unsigned row = i / OUT, d = i % OUT;
        float parts[FEW_CLUSTER], weights[FEW_CLUSTER], highest = -INFINITY, total = 0.0f, sum = 0.0f;
#pragma unroll
        for (unsigned w = 0; w < FEW_CLUSTER; ++w) {
            weights[w] = load_from(sums + row * 4, w);
            parts[w] = load_from(results + (row * DIM + d) * 4, w);
        }
#pragma unroll
        for (unsigned w = 0; w < FEW_CLUSTER; ++w)
            highest = fmaxf(highest, weights[w]);
        const float base = highest == -INFINITY ? 0.0f : highest;
#pragma unroll
        for (unsigned w = 0; w < FEW_CLUSTER; ++w) {
            const float weight = exp2_of(weights[w] - base);
            total += weight;
            // One that saw nothing adds nothing, whatever the others add.
            if (weight != 0.0f)
                sum = fmaf(weight, parts[w], sum);
        }
        store(row, d, total == 0.0f ? 0.0f : sum / total);
    }
    // None ends while others read what it has.
    cluster_barrier();
}
#endif

// Rows of one kv head, at most FEW_ROWS. With CLUSTER, the workgroups of a cluster share its keys. `DIMS` are at least those of a head, whose numbers beyond the last are zeros.
//
// The products are those of `rows_of`, 16 keys at a time: Sᵀ = K Qᵀ, Oᵀ = Vᵀ Pᵀ. Depth and rows of a product may be in any order that is the same
// for both operands: so, of a cache of bytes, a lane's numbers are those of whole chunks. It has keys g and g + 8 at dimensions 8t of every 32, and
// values of keys 2t, 2t + 1, 2t + 8, 2t + 9 at dimensions 8g of every 64.
template <typename T, unsigned DIMS, bool BYTES, bool CLUSTER>
__device__ __forceinline__ void few_rows_of(const Arguments<T> &from, unsigned batch, unsigned kv_head) {
    constexpr unsigned WARPS = FEW_THREADS / 32, KEYS = 16, OUT = DIMS < DIM ? DIMS : DIM, DEEP = DIMS / 32, PARTS = OUT / 64;
    auto &[shared_sums, shared_highest, shared_total] = few_rows_shared();

    const Shape &shape = from.shape;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const unsigned rows = shape.group * shape.q_len, dim = shape.dim, dim0 = dim0_of(shape), out_dims = out_dims_of(shape);
    const Visible visible(from, batch, CLUSTER);
    const Stored stored = shape.stored;
    const Cache keys = cache_of(from, false, batch, kv_head, visible.last_key()), values = cache_of(from, true, batch, kv_head, visible.last_key());
    RowPair pair;
    pair.begin(from, visible, kv_head, 0, min(2 * t, rows - 1));
    pair.begin(from, visible, kv_head, 1, min(2 * t + 1, rows - 1));

    Chunk query[DEEP];
    {
        const unsigned row = min(g, rows - 1);
        const T *at = from.q + batch * shape.q.batch + (kv_head * shape.group + row % shape.group) * shape.q.head + row / shape.group * shape.q.row;
#pragma unroll
        for (unsigned j = 0; j < DEEP; ++j) {
            query[j] = {};
            if (BYTES && 32 * j + 8 * t < dim)
                query[j] = *reinterpret_cast<const Chunk *>(at + 32 * j + 8 * t);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                if (!BYTES && 32 * j + 8 * i < dim)
                    query[j].x[i] = *reinterpret_cast<const unsigned *>(at + 32 * j + 8 * i + 2 * t);
        }
    }

    using Ring = FewRowsRing<T, DIMS, BYTES>;
    constexpr unsigned STEPS = Ring::STEPS, CHUNK = Ring::CHUNK, ELEMENT = Cached<T, BYTES>::ELEMENT;
    extern __shared__ uint4 few_rows_ring[];
    if (launched_shared_bytes() < Ring::SIZE)
        __trap();
    // Of each chunk, the lanes' are neighbours.
    const unsigned ring = shared_address(few_rows_ring) + warp * (STEPS * Ring::STEP), own = lane * CHUNK;
    const unsigned key_scales = KEY_CHUNKS_END<Ring> + lane * 4, value_scales = VALUE_CHUNKS_END<Ring> + lane * 4;
    const int begin = visible.first(0) / 16 * 16, stop = visible.end((rows - 1) / shape.group);
    // 16 keys from a multiple of 16 on are in one block.
    const auto copy_keys = [&](int key0, unsigned at) {
        if (key0 < stop) {
            const char *block = keys.place<ELEMENT>(key0);
            if constexpr (BYTES) {
#pragma unroll
                for (unsigned i = 0; i < 2; ++i) {
                    const unsigned number = min(key0 + g + 8 * i, keys.last);
                    const char *from_key = block + ((number - key0) * keys.row + 8 * t) * ELEMENT;
#pragma unroll
                    for (unsigned j = 0; j < DEEP; ++j)
                        copy_cached<CHUNK>(at + own + (i * DEEP + j) * (32 * CHUNK), from_key + 32 * j * ELEMENT, 32 * j + 8 * t < dim);
                    if (keys.scales != nullptr)
                        copy_cached<4>(at + key_scales + i * 128, keys.scale_place(number), true);
                }
            } else {
                copy_lines<DIMS>(at, block, keys.row, keys.last - key0, 0, dim);
            }
        }
        end_copies();
    };
    const auto copy_values = [&](int key0, unsigned at) {
        if (key0 < stop) {
            const char *block = values.place<ELEMENT>(key0);
            if constexpr (BYTES) {
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) {
                    const unsigned number = min(key0 + 2 * t + i % 2 + i / 2 * 8, values.last);
                    const char *from_value = block + ((number - key0) * values.row + dim0 + 8 * g) * ELEMENT;
#pragma unroll
                    for (unsigned h = 0; h < PARTS; ++h)
                        copy_cached<CHUNK>(at + own + (i * PARTS + h) * (32 * CHUNK), from_value + 64 * h * ELEMENT, 64 * h + 8 * g < out_dims);
                    if (values.scales != nullptr)
                        copy_cached<4>(at + value_scales + i * 128, values.scale_place(number), true);
                }
            } else {
                copy_lines<OUT>(at, block, values.row, values.last - key0, dim0, out_dims);
            }
        }
        end_copies();
    };

    float out[PARTS * 4][4] = {};
    constexpr int ROUND = WARPS * KEYS;
    int key0 = begin + static_cast<int>(warp * KEYS);
#pragma unroll
    for (unsigned step = 0; step < STEPS; ++step) {
        copy_keys(key0 + static_cast<int>(step) * ROUND, ring + step * Ring::STEP);
        copy_values(key0 + static_cast<int>(step) * ROUND, ring + step * Ring::STEP + Ring::KEY_SIZE * 32);
    }
    unsigned at = ring;
#pragma unroll 1
    for (; key0 < stop; key0 += ROUND) {
        const int next = key0 + static_cast<int>(STEPS) * ROUND;
        const unsigned values_at = at + Ring::KEY_SIZE * 32;
        float scores[4] = {};
        wait_for_copies<2 * STEPS - 1>();
        if constexpr (!BYTES) {
            __syncwarp();
#pragma unroll
            for (unsigned d = 0; d < DIMS / 16; ++d) {
                unsigned a[4];
                read_matrices(a, line_place<DIMS>(at, lane / 8 % 2 * 8 + lane % 8, 2 * d + lane / 16));
                mma<T>(scores, a, query[d / 2].x[d % 2 * 2], query[d / 2].x[d % 2 * 2 + 1]);
            }
            __syncwarp();
        } else {
            float scale[2] = {1.0f, 1.0f};
            if (BYTES && keys.scales != nullptr)
                scale[0] = read_shared_float(at + key_scales), scale[1] = read_shared_float(at + key_scales + 128);
#pragma unroll
            for (unsigned j = 0; j < DEEP; ++j) {
                Cached<T, BYTES> key[2];
                key[0].read_shared(at + own + j * (32 * CHUNK));
                key[1].read_shared(at + own + (DEEP + j) * (32 * CHUNK));
                const Chunk low = key[0].numbers(stored, scale[0]), high = key[1].numbers(stored, scale[1]);
                mma<T>(scores, {low.x[0], high.x[0], low.x[1], high.x[1]}, query[j].x[0], query[j].x[1]);
                mma<T>(scores, {low.x[2], high.x[2], low.x[3], high.x[3]}, query[j].x[2], query[j].x[3]);
            }
        }
        copy_keys(next, at);
        const auto each = [&](auto apply) {
#pragma unroll
            for (unsigned s = 0; s < 4; ++s)
                apply(scores[s], key0 + static_cast<int>(g + s / 2 * 8), s % 2);
        };
        pair.weigh(shape, from.slopes != nullptr, true, each, [](float x) {
#pragma unroll
            for (unsigned mask = 4; mask < 32; mask *= 2)
                x = fmaxf(x, from_lane_xor(x, mask));
            return x;
        });
        const unsigned b0 = transposed(packed<T>(scores[0], scores[1])), b1 = transposed(packed<T>(scores[2], scores[3]));
#pragma unroll
        for (unsigned b = 0; b < PARTS * 4; ++b)
#pragma unroll
            for (unsigned s = 0; s < 4; ++s)
                out[b][s] *= pair.fade[s % 2];
        wait_for_copies<2 * STEPS - 1>();
        if constexpr (!BYTES) {
            __syncwarp();
#pragma unroll
            for (unsigned b = 0; b < PARTS * 4; ++b) {
                unsigned a[4];
                read_transposed_matrices(a, line_place<OUT>(values_at, lane / 16 * 8 + lane % 8, 2 * b + lane / 8 % 2));
                mma<T>(out[b], a, b0, b1);
            }
            __syncwarp();
        } else {
            float scale[4] = {1.0f, 1.0f, 1.0f, 1.0f};
            if (values.scales != nullptr) {
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    scale[i] = read_shared_float(values_at + value_scales + i * 128);
            }
#pragma unroll
            for (unsigned h = 0; h < PARTS; ++h) {
                Chunk v[4];
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) {
                    Cached<T, BYTES> value;
                    value.read_shared(values_at + own + (i * PARTS + h) * (32 * CHUNK));
                    v[i] = value.numbers(stored, scale[i]);
                }
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    mma<T>(out[h * 4 + i],
                           {lower_halves(v[0].x[i], v[1].x[i]), upper_halves(v[0].x[i], v[1].x[i]), lower_halves(v[2].x[i], v[3].x[i]), upper_halves(v[2].x[i], v[3].x[i])},
                           b0, b1);
            }
        }
        copy_values(next, values_at);
        at = at + Ring::STEP == ring + STEPS * Ring::STEP ? ring : at + Ring::STEP;
    }

    // All warps' results are added, 32 dimensions at a time: those that products `i` of every 64 have.
    const auto place = [&](unsigned i, unsigned h, unsigned row) { return BYTES ? h * 64 + row % 8 * 8 + 2 * i + row / 8 : h * 64 + i * 16 + row; };
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
#pragma unroll
        for (unsigned mask = 4; mask < 32; mask *= 2)
            pair.total[c] += from_lane_xor(pair.total[c], mask);
        if (g == 0) {
            shared_highest[warp][2 * t + c] = pair.highest[c];
            shared_total[warp][2 * t + c] = pair.total[c];
        }
    }
    __syncthreads();
    // Each warp adds for some rows.
    constexpr unsigned EACH = FEW_ROWS / WARPS;
    const size_t all_rows = static_cast<size_t>(shape.batches) * shape.kv_heads * rows;
    const size_t group_row = (static_cast<size_t>(batch) * shape.kv_heads + kv_head) * rows;
    const auto store = [&](unsigned row, unsigned d, float x) {
        from.o[batch * shape.o.batch + (kv_head * shape.group + row % shape.group) * shape.o.head + row / shape.group * shape.o.row + dim0 + d] = convert<T>(x);
    };
    float share[EACH][WARPS], part[EACH];
#pragma unroll
    for (unsigned r = 0; r < EACH; ++r) {
        const unsigned row = warp * EACH + r;
        float highest = -INFINITY, total = 0.0f;
#pragma unroll
        for (unsigned w = 0; w < WARPS; ++w)
            highest = fmaxf(highest, shared_highest[w][row]);
        const float subtracted = highest == -INFINITY ? 0.0f : highest;
#pragma unroll
        for (unsigned w = 0; w < WARPS; ++w) {
            share[r][w] = exp2_of(shared_highest[w][row] - subtracted);
            total = fmaf(shared_total[w][row], share[r][w], total);
        }
        part[r] = total == 0.0f ? 0.0f : 1.0f / total;
        const float logarithm = total == 0.0f ? -INFINITY : highest - WEIGHT_BITS + log2f(total);
        if (CLUSTER && lane == 0)
            few_rows_given().sums[row] = logarithm;
        if (!CLUSTER && shape.splits > 1 && row < rows && lane == 0 && dim0 == 0)
            from.partial[all_rows * shape.splits * dim + (group_row + row) * shape.splits + split_of(shape)] = logarithm;
    }
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
        for (unsigned h = 0; h < PARTS; ++h)
#pragma unroll
            for (unsigned s = 0; s < 4; ++s)
                shared_sums[warp][2 * t + s % 2][h * 16 + g + s / 2 * 8] = out[h * 4 + i][s];
        __syncthreads();
        const unsigned d = place(i, lane / 16, lane % 16);
#pragma unroll
        for (unsigned r = 0; r < EACH; ++r) {
            const unsigned row = warp * EACH + r;
            float sum = 0.0f;
#pragma unroll
            for (unsigned w = 0; w < WARPS; ++w)
                sum = fmaf(shared_sums[w][row][lane % (PARTS * 16)], share[r][w], sum);
            sum *= part[r];
            if (row >= rows || lane >= PARTS * 16 || d >= out_dims)
                continue;
            if (CLUSTER)
                few_rows_given().results[row][d] = sum;
            else if (shape.splits == 1)
                store(row, d, sum);
            else
                from.partial[((group_row + row) * shape.splits + split_of(shape)) * dim + dim0 + d] = sum;
        }
        __syncthreads();
    }
#if defined(NVIDIA_BULK)
    if constexpr (CLUSTER)
        combine_in_cluster<OUT>(few_rows_given(), rows, [&](unsigned row, unsigned d, float x) {
            if (d < out_dims)
                store(row, d, x);
        });
#endif
}

// Few rows. The grid's first dimension is all kv heads of all sequences.
template <bool CLUSTER, typename T> __device__ __forceinline__ void few_rows(const Arguments<T> &from) {
    const Shape &shape = from.shape;
    let_next_begin();
    wait_for_previous();
    const unsigned batch = blockIdx.x / shape.kv_heads, kv_head = blockIdx.x % shape.kv_heads;
    if (shape.stored != STORED_AS_QUERIES && shape.dim > 128)
        few_rows_of<T, 256, true, CLUSTER>(from, batch, kv_head);
    else if (shape.stored != STORED_AS_QUERIES)
        few_rows_of<T, 128, true, CLUSTER>(from, batch, kv_head);
    else if (shape.dim > 128)
        few_rows_of<T, 256, false, CLUSTER>(from, batch, kv_head);
    else if (shape.dim > 64)
        few_rows_of<T, 128, false, CLUSTER>(from, batch, kv_head);
    else
        few_rows_of<T, 64, false, CLUSTER>(from, batch, kv_head);
}

// As `combine` of attention.cu. Each warp adds some splits of a row, 128 dimensions at a time.
template <typename T> __device__ __forceinline__ void combine(const Shape &shape, const float *partial, const float *sinks, T *o) {
    constexpr unsigned WARPS = THREADS / 32;
    __shared__ float4 shared[WARPS][32];
    let_next_begin();
    wait_for_previous();
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, rows = shape.group * shape.q_len, splits = shape.splits, dim = shape.dim;
    const size_t all_rows = static_cast<size_t>(shape.batches) * shape.kv_heads * rows;
    for (size_t row = blockIdx.x; row < all_rows; row += gridDim.x) {
        const float *sums = partial + all_rows * splits * dim + row * splits;
        const auto part = [&](unsigned split, unsigned d) { return *reinterpret_cast<const float4 *>(partial + (row * splits + split) * dim + d); };
        // The first ones are read before it is known what they weigh.
        constexpr unsigned EARLY = 4;
        float4 early[EARLY] = {};
#pragma unroll
        for (unsigned i = 0; i < EARLY; ++i)
            if (warp + i * WARPS < splits && lane * 4 < dim)
                early[i] = part(warp + i * WARPS, lane * 4);
        const float sink = sink_of(shape, sinks, row);
        float highest = sink, total = 0.0f;
        for (unsigned split = lane; split < splits; split += 32)
            highest = fmaxf(highest, sums[split]);
#pragma unroll
        for (unsigned mask = 1; mask < 32; mask *= 2)
            highest = fmaxf(highest, from_lane_xor(highest, mask));
        const float base = highest == -INFINITY ? 0.0f : highest;
        for (unsigned split = lane; split < splits; split += 32)
            total += exp2_of(sums[split] - base);
#pragma unroll
        for (unsigned mask = 1; mask < 32; mask *= 2)
            total += from_lane_xor(total, mask);
        total += exp2_of(sink - base);
        const float share = total == 0.0f ? 0.0f : 1.0f / total;
        const size_t kv_head = row / rows % shape.kv_heads, batch = row / rows / shape.kv_heads, position = row % rows / shape.group;
        T *to = o + batch * shape.o.batch + (kv_head * shape.group + row % rows % shape.group) * shape.o.head + position * shape.o.row;
        for (unsigned dim0 = 0; dim0 < dim; dim0 += DIM) {
            const unsigned d = dim0 + lane * 4;
            float4 sum = {};
            const auto add = [&](unsigned split, const float4 &x) {
                const float weight = exp2_of(sums[split] - base) * share;
                // A split that saw nothing gives nothing, whatever the others gave.
                if (weight != 0.0f)
                    sum = {fmaf(weight, x.x, sum.x), fmaf(weight, x.y, sum.y), fmaf(weight, x.z, sum.z), fmaf(weight, x.w, sum.w)};
            };
            if (d < dim) {
#pragma unroll
                for (unsigned i = 0; i < EARLY; ++i)
                    if (warp + i * WARPS < splits)
                        add(warp + i * WARPS, dim0 == 0 ? early[i] : part(warp + i * WARPS, d));
#pragma unroll 4
                for (unsigned split = warp + EARLY * WARPS; split < splits; split += WARPS)
                    add(split, part(split, d));
            }
            __syncthreads();
            shared[warp][lane] = sum;
            __syncthreads();
            if (threadIdx.x < DIM && dim0 + threadIdx.x < dim) {
                float all = 0.0f;
#pragma unroll
                for (unsigned w = 0; w < WARPS; ++w)
                    all += reinterpret_cast<const float *>(shared[w])[threadIdx.x];
                to[dim0 + threadIdx.x] = convert<T>(all);
            }
        }
    }
}

#if defined(NVIDIA_WGMMA)
// Tiles of many rows in shared memory; PAGED is a cache with a table.
template <typename T, unsigned DIMS, bool PAGED> struct ManyRows {
    static constexpr unsigned KEYS = DIMS > DIM ? 64 : 128;
    static constexpr unsigned QUERY_SIZE = ROWS * DIMS * sizeof(T), TILE_SIZE = KEYS * DIMS * sizeof(T);
    // There is room for two tiles of 256 dimensions' keys, but for one of values.
    static constexpr bool VALUES_AHEAD = DIMS <= DIM;
    static constexpr unsigned SIZE = QUERY_SIZE + (VALUES_AHEAD ? 4 : 3) * TILE_SIZE + TILE_ALIGN;
    static __device__ __forceinline__ unsigned values_of(unsigned buffer) { return VALUES_AHEAD ? buffer * TILE_SIZE : 0; }

    // A thread copies the same chunk of every STEP-th key.
    static constexpr unsigned CHUNKS = DIMS / 8, STEP = THREADS / CHUNKS, COUNT = KEYS / STEP;
    static __device__ __forceinline__ unsigned chunk() { return threadIdx.x % CHUNKS; }
    static __device__ __forceinline__ unsigned first() { return threadIdx.x / CHUNKS; }

    // Where the thread's keys of a tile are. The table of a paged cache is in memory, so it is asked for a tile ahead: copies do not wait for it.
    struct Found {
        unsigned block[PAGED ? COUNT : 1], row[PAGED ? COUNT : 1], key0;
    };
    // Keys beyond the last are the last.
    static __device__ __forceinline__ unsigned key(const Cache &cache, unsigned key0, unsigned i) { return min(key0 + first() + i * STEP, cache.last); }
    static __device__ __forceinline__ Found find(const Cache &cache, unsigned key0) {
        Found found;
        found.key0 = key0;
        if constexpr (PAGED) {
            const unsigned size = cache.block_size, shift = __popc(size - 1);
            const bool shifts = (size & (size - 1)) == 0;
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i) {
                const unsigned at = key(cache, key0, i), of = shifts ? at >> shift : at / size;
                found.block[i] = min(cache.table[of], cache.blocks - 1);
                found.row[i] = at - of * size;
            }
        }
        return found;
    }

    // Copies keys or values: for every 64 dimensions a tile of lines, one for each key.
    static __device__ __forceinline__ void copy(Stored stored, const Cache &cache, const Found &found, unsigned tile, unsigned dims) {
        const bool here = chunk() * 8 < dims;
        const unsigned dim = here ? chunk() * 8 : 0, to = tile + chunk() / 8 * (KEYS * LINE);
        const auto place = [&](unsigned i) { return to + chunk_place(first() + i * STEP, chunk() % 8); };
        // Of key `i`, from the distances of blocks and rows.
        const auto at = [&](unsigned i, size_t block, size_t row) {
            if constexpr (PAGED)
                return found.block[i] * block + found.row[i] * row;
            else
                return key(cache, found.key0, i) * row;
        };
        if (stored == STORED_AS_QUERIES) {
            const char *corner = cache.at + dim * sizeof(T);
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                copy_chunk(place(i), corner + at(i, cache.block, cache.row) * sizeof(T), here ? 16 : 0);
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < COUNT; i += 4) {
            Cached<T, true> held[4];
            float scales[4];
#pragma unroll
            for (unsigned j = 0; j < 4; ++j) {
                held[j].read(cache.at + at(i + j, cache.block, cache.row) + dim);
                scales[j] = cache.scales == nullptr ? 1.0f : cache.scales[at(i + j, cache.scale_block, cache.scale_row)];
            }
#pragma unroll
            for (unsigned j = 0; j < 4; ++j)
                store_chunk(place(i + j), here ? held[j].numbers(stored, scales[j]) : Chunk{});
        }
    }
};

// The ROWS rows from `row0` on of one kv head.
template <typename T, unsigned DIMS, bool PAGED>
__device__ __forceinline__ void many_rows_of(const Arguments<T> &from, unsigned batch, unsigned kv_head, unsigned row0, unsigned shared) {
    using Tiles = ManyRows<T, DIMS, PAGED>;
    constexpr unsigned KEYS = Tiles::KEYS;
    const Shape &shape = from.shape;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const unsigned warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / WARPGROUP, 0);
    const unsigned rows = shape.group * shape.q_len, dim = shape.dim;
    const Visible visible(from, batch);
    const Stored stored = shape.stored;
    const unsigned queries = shared, keys = queries + Tiles::QUERY_SIZE, values = keys + 2 * Tiles::TILE_SIZE;
    const Cache key_cache = cache_of(from, false, batch, kv_head, visible.last_key()), value_cache = cache_of(from, true, batch, kv_head, visible.last_key());

    // What the workgroup's rows see, and what all of the warpgroup's do.
    const unsigned last_row = min(row0 + ROWS, rows) - 1, group_row = min(row0 + warpgroup * WARPGROUP_ROWS, rows - 1);
    const int begin = visible.first(row0 / shape.group) / 16 * 16, stop = visible.end(last_row / shape.group);
    const int full_begin = visible.first((min(group_row + WARPGROUP_ROWS, rows) - 1) / shape.group), full_end = visible.end(group_row / shape.group);
    const unsigned own_row = row0 + warp * 16 + g;
    RowPair pair;
    pair.begin(from, visible, kv_head, 0, min(own_row, rows - 1));
    pair.begin(from, visible, kv_head, 1, min(own_row + 8, rows - 1));

    // The table is the same for keys and values. A sequence without keys may have none.
    typename Tiles::Found found;
    // The last rows' tiles are still read by others.
    __syncthreads();
    if (begin < stop) {
        found = Tiles::find(key_cache, begin);
        const unsigned chunk = Tiles::chunk();
        const bool here = chunk * 8 < dim;
#pragma unroll
        for (unsigned i = 0; i < ROWS / Tiles::STEP; ++i) {
            const unsigned line = Tiles::first() + i * Tiles::STEP, row = min(row0 + line, rows - 1);
            const T *at = from.q + batch * shape.q.batch + (kv_head * shape.group + row % shape.group) * shape.q.head + row / shape.group * shape.q.row;
            copy_chunk(queries + chunk / 8 * (ROWS * LINE) + chunk_place(line, chunk % 8), at + (here ? chunk * 8 : 0), here ? 16 : 0);
        }
        Tiles::copy(stored, key_cache, found, keys, dim);
        end_copies();
        Tiles::copy(stored, value_cache, found, values, dim);
        end_copies();
        found = Tiles::find(key_cache, begin + KEYS);
    }

    float out[DIMS / 2] = {};
    unsigned buffer = 0;
#pragma unroll 1
    for (int key0 = begin; key0 < stop; key0 += KEYS, buffer ^= 1) {
        const bool more = key0 + static_cast<int>(KEYS) < stop;
        // Keys are there, values not yet.
        wait_for_copies<1>();
        show_to_wgmma();
        __syncthreads();
        float scores[KEYS / 2];
        begin_products();
#pragma unroll
        for (unsigned d = 0; d < DIMS / 16; ++d)
            wgmma<T, KEYS, true, true>(scores, described(queries + d / 4 * (ROWS * LINE) + warpgroup * (WARPGROUP_ROWS * LINE) + d % 4 * 32, 16),
                                       described(keys + buffer * Tiles::TILE_SIZE + d / 4 * (KEYS * LINE) + d % 4 * 32, 16), d > 0);
        end_products();
        if (more)
            Tiles::copy(stored, key_cache, found, keys + (buffer ^ 1) * Tiles::TILE_SIZE, dim);
        end_copies();
        wait_for_products<0>();
        const auto each = [&](auto apply) {
#pragma unroll
            for (unsigned s = 0; s < KEYS / 2; ++s)
                apply(scores[s], key0 + static_cast<int>(s / 4 * 8 + 2 * t + s % 2), s / 2 % 2);
        };
        pair.weigh(shape, from.slopes != nullptr, key0 < full_begin || key0 + static_cast<int>(KEYS) > full_end, each, [](float x) {
            x = fmaxf(x, from_lane_xor(x, 1));
            return fmaxf(x, from_lane_xor(x, 2));
        });
        unsigned weights[KEYS / 16][4];
#pragma unroll
        for (unsigned i = 0; i < KEYS / 4; ++i)
            weights[i / 4][i % 4] = packed<T>(scores[2 * i], scores[2 * i + 1]);
#pragma unroll
        for (unsigned s = 0; s < DIMS / 2; ++s)
            out[s] *= pair.fade[s / 2 % 2];
        wait_for_copies<1>();
        show_to_wgmma();
        __syncthreads();
        begin_products();
#pragma unroll
        for (unsigned k = 0; k < KEYS / 16; ++k)
            wgmma<T, DIMS, false>(out, weights[k], described(values + Tiles::values_of(buffer) + k * 16 * LINE, KEYS * LINE), true);
        end_products();
        if (!Tiles::VALUES_AHEAD) {
            wait_for_products<0>();
            __syncthreads();
        }
        if (more)
            Tiles::copy(stored, value_cache, found, values + Tiles::values_of(buffer ^ 1), dim);
        end_copies();
        found = Tiles::find(key_cache, key0 + 2 * KEYS);
        wait_for_products<0>();
    }
    wait_for_copies<0>();

    const size_t all_rows = static_cast<size_t>(shape.batches) * shape.kv_heads * rows;
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
        pair.total[c] += from_lane_xor(pair.total[c], 1);
        pair.total[c] += from_lane_xor(pair.total[c], 2);
        const unsigned row = own_row + 8 * c;
        if (row >= rows)
            continue;
        const float total = pair.total[c], share = total == 0.0f ? 0.0f : 1.0f / total;
        const size_t partial_row = ((static_cast<size_t>(batch) * shape.kv_heads + kv_head) * rows + row) * shape.splits + split_of(shape);
        T *out_row = from.o + batch * shape.o.batch + (kv_head * shape.group + row % shape.group) * shape.o.head + row / shape.group * shape.o.row;
        float *partial = from.partial + partial_row * dim;
#pragma unroll
        for (unsigned i = 0; i < DIMS / 8; ++i) {
            const unsigned d = i * 8 + 2 * t;
            const float low = out[i * 4 + c * 2] * share, high = out[i * 4 + c * 2 + 1] * share;
            if (d >= dim)
                break;
            if (shape.splits == 1)
                *reinterpret_cast<unsigned *>(out_row + d) = packed<T>(low, high);
            else
                *reinterpret_cast<float2 *>(partial + d) = {low, high};
        }
        if (shape.splits > 1 && t == 0)
            from.partial[all_rows * shape.splits * dim + partial_row] = total == 0.0f ? -INFINITY : pair.highest[c] - WEIGHT_BITS + log2f(total);
    }
}

// Whether all that is read in chunks lies so.
template <typename T> __device__ __forceinline__ bool in_chunks(const Arguments<T> &from) {
    const Shape &shape = from.shape;
    const auto bits = [](const Strides &strides) { return strides.batch | strides.head | strides.row; };
    const size_t cache = reinterpret_cast<size_t>(from.k) | reinterpret_cast<size_t>(from.v), own = reinterpret_cast<size_t>(from.q) | reinterpret_cast<size_t>(from.o);
    return ((bits(shape.q) | bits(shape.k) | bits(shape.v) | bits(shape.o)) % 8 | cache % (shape.stored == STORED_AS_QUERIES ? 16 : 8) | own % 16) == 0;
}

// Computes everything, or says that it is for `rows_of`. A workgroup has all dimensions, so launchers need no second part of them.
template <typename T> __device__ __forceinline__ bool attention(const Arguments<T> &from) {
    const Shape &shape = from.shape;
    const bool halves = shape.dim > DIM && gridDim.z > shape.splits;
    if (!in_chunks(from)) {
        if (shape.dim > DIM && !halves)
            __trap();
        return false;
    }
    if (halves && blockIdx.z >= shape.splits)
        return true;
    extern __shared__ unsigned char launched[];
    const unsigned shared = (shared_address(launched) + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN;
    const unsigned needed = shape.dim <= 64 ? ManyRows<T, 64, false>::SIZE : shape.dim <= 128 ? ManyRows<T, 128, false>::SIZE : ManyRows<T, 256, false>::SIZE;
    if (launched_shared_bytes() < needed)
        return false;
    const unsigned rows = shape.group * shape.q_len, groups = shape.batches * shape.kv_heads;
    // The last rows of causal attention see the most keys, and come first.
    const unsigned item = blockIdx.x + gridDim.x * blockIdx.y, row0 = (gridDim.x - 1 - item / gridDim.y) * ROWS;
    if (row0 >= rows)
        return true;
    for (unsigned at = item % gridDim.y; at < groups; at += gridDim.y) {
        const unsigned batch = at / shape.kv_heads, kv_head = at % shape.kv_heads;
        const auto of = [&](auto paged) {
            if (shape.dim <= 64)
                many_rows_of<T, 64, paged.value>(from, batch, kv_head, row0, shared);
            else if (shape.dim <= 128)
                many_rows_of<T, 128, paged.value>(from, batch, kv_head, row0, shared);
            else
                many_rows_of<T, 256, paged.value>(from, batch, kv_head, row0, shared);
        };
        if (from.tables == nullptr)
            of(std::false_type{});
        else
            of(std::true_type{});
    }
    return true;
}
#endif
} // namespace nvidia
#endif
