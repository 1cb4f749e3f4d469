// Quantised matrices as this project's own launchers use them: rows, products with one vector, a few and many; results of three types.
// `quant` is a type's number in GGUF files.
#include "quant_few.cuh"
#include "quant_mat.cuh"
#include "quant_one.cuh"
#include "quant_vec.cuh"

template <typename T> struct alignas(16) Eight {
    Four<T> low, high;
};

// Of all numbers: threads of a workgroup, how many eighths a thread reads before it writes one, and workgroups of a multiprocessor.
constexpr unsigned ALL_THREADS = 256, ALL_AT_ONCE = 2, ALL_BUSY = 8;

// All numbers of a matrix, whose blocks follow each other. A thread takes eight at a time, half a group: neighbours write neighbouring memory, 16
// bytes each if results have two. BY_16 says that the blocks begin at multiples of 16 bytes.
template <bool BY_16, typename Q, typename T> __device__ __forceinline__ void write_all(const Q *x, T *out, const size_t eighths) {
    constexpr unsigned PER_BLOCK = Q::VALUES / 8, STEP = ALL_THREADS * ALL_AT_ONCE;
    for (size_t first = static_cast<size_t>(blockIdx.x) * STEP + threadIdx.x; first < eighths; first += static_cast<size_t>(gridDim.x) * STEP) {
        Eight<T> values[ALL_AT_ONCE];
#pragma unroll
        for (unsigned k = 0; k < ALL_AT_ONCE; ++k) {
            const size_t eighth = first + k * ALL_THREADS;
            if (eighth < eighths) {
                const unsigned at = eighth % PER_BLOCK, group = at / 2, half = at % 2;
                const Q &block = x[eighth / PER_BLOCK];
                Eighth of;
                if constexpr (BY_16)
                    of = block.eighth(group, half);
                else
                    of = {block.scale(group), {block.quad(group, 2 * half), block.quad(group, 2 * half + 1)}};
                const auto four = [&](unsigned i) {
                    const float4 y = values_of<Q>(of.scale, of.quads[i]);
                    return Four<T>{convert<T>(y.x), convert<T>(y.y), convert<T>(y.z), convert<T>(y.w)};
                };
                values[k] = {four(0), four(1)};
            }
        }
#pragma unroll
        for (unsigned k = 0; k < ALL_AT_ONCE; ++k)
            if (first + k * ALL_THREADS < eighths)
                reinterpret_cast<Eight<T> *>(out)[first + k * ALL_THREADS] = values[k];
    }
}

// Rows of a matrix: those that `ids` names, one for each workgroup, and a row that does not exist is NaN; or all, which the workgroups share.
extern "C" __global__ BLOCKS_OF(ALL_THREADS, ALL_BUSY) void quant_rows(const unsigned quant, const void *matrix, const uint32_t *ids, void *out,
                                                                       const Out type, const unsigned rows, const unsigned columns) {
    let_next_begin();
    wait_for_previous();
    if (!ids)
        return with_quant(quant, matrix, [&](auto *x) {
            with_type(type, out, [&](auto *to) {
                const size_t eighths = static_cast<size_t>(rows) * (columns / 8);
                if constexpr (WIDE<std::remove_cv_t<std::remove_pointer_t<decltype(x)>>>)
                    if (reinterpret_cast<uint64_t>(x) % 16 == 0)
                        return write_all<true>(x, to, eighths);
                write_all<false>(x, to, eighths);
            });
        });
    const unsigned row = ids[blockIdx.x];
    for (unsigned quad = blockIdx.y * blockDim.x + threadIdx.x; quad < columns / 4; quad += gridDim.y * blockDim.x) {
        float4 values = {NAN, NAN, NAN, NAN};
        if (row < rows)
            with_quant(quant, matrix, [&](auto *x) {
                constexpr unsigned PER_BLOCK = std::remove_reference_t<decltype(*x)>::VALUES / 4;
                const unsigned at = quad % PER_BLOCK;
                values = dequantize(x[static_cast<size_t>(row) * (columns / 4 / PER_BLOCK) + quad / PER_BLOCK], at / QUADS, at % QUADS);
            });
        with_type(type, out, [&](auto *to) { store_four(to + static_cast<size_t>(blockIdx.x) * columns + 4 * quad, values); });
    }
}

OVERLAPS(quant_rows)

// A tile of a product with experts' matrices: its expert, and its places in the order of pairs.
struct alignas(16) ExpertTile {
    unsigned expert;
    Range pairs;
    unsigned gap;
};

// Pairs of a vector and an expert, in the order of experts, and the number of pairs of a vector. Without an order, the vectors
// themselves.
struct Pairs {
    const uint32_t *order;
    unsigned of_vector;
    __device__ __forceinline__ unsigned vector(unsigned i) const { return order ? order[i] / of_vector : i; }
    __device__ __forceinline__ unsigned result(unsigned i) const { return order ? order[i] : i; }
};

// A tile of products with many vectors. With the `tiles` of `quant_tiles` and the order of `moe_sort`, it belongs to an expert's matrix,
// otherwise to the only matrix.
template <typename Q>
__device__ __forceinline__ void mul_tile(const Q *x, const Q8_1 *y, const ExpertTile *tiles, Pairs pairs, void *out, Out type,
                                         unsigned columns, unsigned rows, unsigned vectors, unsigned experts) {
    Range part = tile(blockIdx.y, SIDE, vectors);
    unsigned expert = 0;
    if (tiles) {
        expert = uniform(tiles[blockIdx.y].expert);
        part = {uniform(tiles[blockIdx.y].pairs.begin), uniform(tiles[blockIdx.y].pairs.end)};
    }
    const Range of_rows = tile(blockIdx.x, SIDE, rows);
    if (expert < experts)
        return mul_mat(x, static_cast<size_t>(expert) * rows, y, pairs, out, type, columns, of_rows, part, columns / Q8_1::VALUES, rows);
    // products with an expert that does not exist are NaN
    for (unsigned i = threadIdx.y * 32 + threadIdx.x; i < SIDE * (part.end - part.begin); i += MAT_THREADS)
        if (of_rows.begin + i % SIDE < rows)
            store_as(type, out, static_cast<size_t>(pairs.result(part.begin + i / SIDE)) * rows + of_rows.begin + i % SIDE, NAN);
}

// The sum of all threads before this one, of a workgroup of MAX_BLOCK.
__device__ __forceinline__ unsigned sum_before(unsigned x) {
    __shared__ unsigned sums[MAX_BLOCK];
    const unsigned thread = threadIdx.x;
    unsigned sum = x;
    for (unsigned step = 1; step < MAX_BLOCK; step *= 2) {
        __syncthreads();
        sums[thread] = sum;
        __syncthreads();
        sum += thread >= step ? sums[thread - step] : 0;
    }
    return sum - x;
}

// Tiles of SIDE pairs of one expert at most, for pairs in the order of experts: those of each begin at `offsets`, and those whose expert
// does not exist come last. One workgroup of MAX_BLOCK threads computes them; each thread has an expert, and one has the pairs without.
// There are `most` tiles; surplus ones are empty.
extern "C" __global__ __launch_bounds__(MAX_BLOCK) void quant_tiles(const uint32_t *offsets, const unsigned pairs, const unsigned experts,
                                                                    const unsigned most, ExpertTile *tiles) {
    const unsigned thread = threadIdx.x;
    const unsigned begin = thread <= experts ? offsets[thread] : pairs, end = thread < experts ? offsets[thread + 1] : pairs;
    const unsigned of_expert = (end - begin + SIDE - 1) / SIDE, first = sum_before(of_expert);
    for (unsigned i = 0; i < of_expert; ++i)
        tiles[first + i] = {thread, {begin + i * SIDE, min(begin + (i + 1) * SIDE, end)}, 0};
    __shared__ unsigned used;
    if (thread == MAX_BLOCK - 1)
        used = first + of_expert;
    __syncthreads();
    for (unsigned i = used + thread; i < most; i += MAX_BLOCK)
        tiles[i] = {experts, {0, 0}, 0};
}

#define PRODUCTS(Q, NAME)                                                                                              \
    extern "C" __global__ BLOCKS_OF(ONE_THREADS, ONE_BUSY) void quant_gemv_##NAME(                                \
        const void *x, const void *y, const uint32_t *ids, void *out, const Out type, const unsigned columns, const unsigned rows, \
        const unsigned lanes, const unsigned experts, const unsigned pairs_of_vector) {                                \
        mul_one(static_cast<const Q *>(x), static_cast<const Q8_1 *>(y), Experts{ids, experts, pairs_of_vector}, out, type, columns, rows, \
                lanes);                                                                                                \
    }                                                                                                                  \
    OVERLAPS(quant_gemv_##NAME)                                                                                        \
    extern "C" __global__ __launch_bounds__(VEC_THREADS) void quant_vec_##NAME(                                        \
        const void *x, const void *y, void *out, const Out type, const unsigned columns, const unsigned rows, const unsigned vectors) { \
        let_next_begin();                                                                                              \
        wait_for_previous();                                                                                           \
        mul_mat_vec<Q, 2>(static_cast<const Q *>(x), static_cast<const Q8_1 *>(y), out, type, 2 * blockIdx.x, columns, rows, \
                          columns / Q8_1::VALUES, rows, vectors);                                                      \
    }                                                                                                                  \
    OVERLAPS(quant_vec_##NAME)                                                                                         \
    extern "C" __global__ __launch_bounds__(MAT_THREADS) WAVES_PER_SIMD(3) void quant_gemm_##NAME(                     \
        const void *x, const void *y, const ExpertTile *tiles, const uint32_t *order, void *out, const Out type, const unsigned columns, \
        const unsigned rows, const unsigned vectors, const unsigned experts, const unsigned pairs_of_vector) {         \
        mul_tile(static_cast<const Q *>(x), static_cast<const Q8_1 *>(y), tiles, Pairs{order, pairs_of_vector}, out, type, columns, rows, \
                 vectors, experts);                                                                                    \
    }
QUANT_ALL(PRODUCTS)

#if !defined(__AMDGCN__)
// Products with up to eight vectors and a matrix that can be streamed, which the launcher has made sure of, for launches with shared memory on sm_90 and later.
#define FEW(Q, NAME)                                                                                                   \
    extern "C" __global__ MOST_REGISTERS(few::REGISTERS) void quant_few_##NAME(                                         \
        const void *x, const void *y, void *out, const Out type, const unsigned columns, const unsigned rows, const unsigned vectors) { \
        product_of_few(static_cast<const Q *>(x), static_cast<const Q8_1 *>(y), out, type, columns, rows, vectors);       \
    }                                                                                                                  \
    OVERLAPS(quant_few_##NAME)
QUANT_ALL(FEW)
#endif
