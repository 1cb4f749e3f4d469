// Products of rows with the matrices of their experts: the pairs of a token and an expert are sorted by expert, and C[pair] = alpha *
// A[its row] * (the expert's matrix, transposed).
//
// gemm_experts_T(shape, alpha, a, b, offsets, permutation, c)     T = f32, f16, bf16, i8, f8_e4m3
//   a             rows × k
//   b             experts × n × k
//   offsets       experts + 1: where each expert's pairs begin, and where the last ones end, from `moe_sort`
//   permutation   pairs: the number of each sorted pair; read only if `gathered` or `scattered`
//   c             pairs × n: sorted, or if `scattered`, at the place of the pair; rows without an expert are not written
//   A has a row for each sorted pair, or if `gathered`, for every `pairs_per_row` pairs, such as those of a token.
// Offsets that decrease or exceed the pairs, and pairs that do not exist, end the kernel with a trap.
//
// A workgroup computes a block of SIDE rows of one expert. The first block of expert e is offsets[e] / SIDE + e, and block s belongs to
// the last expert whose first block is at most s. So there are enough blocks for any distribution. Blocks without rows do nothing.
#include "gemm.cuh"

constexpr unsigned SIDE = 64;

struct Shape {
    unsigned experts, n, k, pairs;
    unsigned rows, pairs_per_row;
    unsigned gathered, scattered;
};

// Where the sorted pairs are among all pairs.
struct Places {
    // Null: they are in sorted order.
    const unsigned *__restrict__ numbers;
    unsigned shared, limit;

    // `shared` neighbours share a place.
    __device__ __forceinline__ unsigned operator()(unsigned sorted) const { return numbers == nullptr ? sorted : numbers[sorted] / shared; }
    __device__ __forceinline__ bool has(unsigned sorted) const { return (*this)(sorted) < limit; }
};

// Rows at given places.
template <typename T> struct PlacedRows {
    using Element = T;
    static constexpr bool REGULAR = false;
    T *at;
    Places places;
    // Rows up to the end of the expert's rows, and their elements.
    unsigned rows, depth;
    // The row that counting starts from.
    unsigned first = 0;

    __device__ __forceinline__ T *row(unsigned index) const { return at + static_cast<size_t>(places(first + index)) * depth; }
    __device__ __forceinline__ PlacedRows behind(unsigned row0, unsigned column0) const {
        return {at + column0, places, rows, depth, first + row0};
    }
};

// `Staging` of such rows.
template <typename T, unsigned ROWS, unsigned DEPTH, unsigned THREADS, typename From> struct PlacedStaging {
    using Elements = PlacedRows<const From>;
    static constexpr unsigned CHUNK = 16 / sizeof(T), PITCH = DEPTH + CHUNK, CHUNKS = DEPTH / CHUNK, COUNT = ROWS * CHUNKS / THREADS;
    static constexpr unsigned DWORDS = 4 * sizeof(From) / sizeof(T);
    static_assert(THREADS % CHUNKS == 0, "each thread has as much");

    unsigned held[COUNT * DWORDS];
    // Where the thread's chunks of the first block are.
    const From *first[COUNT];
    unsigned row, chunk;

    static __device__ __forceinline__ bool whole(const Elements &, unsigned) { return true; }

    __device__ __forceinline__ PlacedStaging(const Elements &from, unsigned row0) : row(threadIdx.x / CHUNKS), chunk(threadIdx.x % CHUNKS) {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            // Rows beyond the last repeat the last: their results are unused.
            first[i] = from.row(min(row0 + row + i * (THREADS / CHUNKS), from.rows - 1)) + chunk * CHUNK;
    }

    __device__ __forceinline__ void fetch(const Elements &, unsigned, unsigned depth0) {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            read_dwords<DWORDS>(held + i * DWORDS, first[i] + depth0);
    }

    __device__ __forceinline__ void store(const Elements &, T *tile) const {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            *reinterpret_cast<Chunk *>(tile + (row + i * (THREADS / CHUNKS)) * PITCH + chunk * CHUNK) = chunk_of<T, From>(held + i * DWORDS);
    }

    // Copies the first `used` columns of a block element by element; zeros stand for elements beyond the rows.
    static __device__ __forceinline__ void copy(const Elements &from, unsigned row0, unsigned depth0, unsigned used, T *tile) {
        using Bits = typename BitsOf<sizeof(T)>::type;
        Bits *target = reinterpret_cast<Bits *>(tile);
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < ROWS * DEPTH; i += THREADS) {
            const unsigned row = i / DEPTH, depth = i % DEPTH;
            if (depth < used)
                target[row * PITCH + depth] =
                    row0 + row < from.rows && depth0 + depth < from.depth ? element<T>(from.row(row0 + row)[depth0 + depth]) : Bits(0);
        }
    }
};

template <typename T, typename From, typename Out>
__device__ __forceinline__ void experts(const Shape &shape, sum_t<T> alpha, const From *a, const From *b, const unsigned *__restrict__ offsets,
                                        const unsigned *__restrict__ permutation, Out *c) {
    constexpr unsigned DEPTH = DEPTH_OF<T, SIDE>;
    const unsigned blocks = shape.pairs / SIDE + shape.experts;
    const auto first_block = [&](unsigned expert) { return offsets[expert] / SIDE + expert; };
    // A grid has at most 65,535 blocks in its second dimension.
    for (size_t at = blockIdx.y; at < blocks; at += gridDim.y) {
        const unsigned block = static_cast<unsigned>(at);
        unsigned expert = 0;
        for (unsigned end = shape.experts; end - expert > 1;) {
            const unsigned middle = expert + (end - expert) / 2;
            (first_block(middle) <= block ? expert : end) = middle;
        }
        const unsigned begin = offsets[expert], end = offsets[expert + 1];
        if (begin > end || end > shape.pairs)
            __trap();
        const unsigned skipped = block - first_block(expert);
        if (skipped >= (end - begin + SIDE - 1) / SIDE)
            continue;
        const PlacedRows<const From> from_a = {a, {shape.gathered ? permutation : nullptr, shape.pairs_per_row, shape.rows}, end, shape.k};
        const Operand<From> from_b = {b + static_cast<size_t>(expert) * shape.n * shape.k, shape.n, shape.k, shape.k, false};
        const PlacedRows<Out> to_c = {c, {shape.scattered ? permutation : nullptr, 1, shape.pairs}, end, shape.n};
        const unsigned row0 = begin + skipped * SIDE, row = min(row0 + threadIdx.x % SIDE, end - 1);
        if (__syncthreads_or(!from_a.places.has(row) || !to_c.places.has(row)))
            __trap();
        block_of<T, PlacedStaging<T, SIDE, DEPTH, THREADS, From>, Staging<T, SIDE, DEPTH, THREADS, From>, SIDE>(
            from_a, from_b, row0, blockIdx.x * SIDE, [&] { return Result<sum_t<T>, PlacedRows<Out>>{alpha, sum_t<T>(0), to_c}; });
    }
}

#define GEMM_EXPERTS(T, FROM, OUT, NAME)                                                                                \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_experts_##NAME(                                       \
        const Shape shape, const sum_t<T> alpha, const FROM *a, const FROM *b, const unsigned *offsets, const unsigned *permutation, OUT *c) { \
        experts<T, FROM, OUT>(shape, alpha, a, b, offsets, permutation, c);                                            \
    }
GEMM_EXPERTS(float, float, float, f32)
GEMM_EXPERTS(__half, __half, __half, f16)
GEMM_EXPERTS(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, bf16)
GEMM_EXPERTS(int8_t, int8_t, int, i8)
GEMM_EXPERTS(f8_factor, f8_e4m3, float, f8_e4m3)
