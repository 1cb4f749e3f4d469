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
#include "gemm_nvidia.cuh"

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

// An expert's pairs are in blocks of `ROWS`. The first block of expert e is offsets[e] / ROWS + e, and block s belongs to the last expert whose
// first block is at most s. So there are enough blocks for any distribution; some have no rows.
template <unsigned ROWS> struct ExpertBlock {
    unsigned expert;
    // The block's first pair, and the last one of the expert.
    unsigned begin, end;

    static __device__ __forceinline__ unsigned count(const Shape &shape) { return shape.pairs / ROWS + shape.experts; }
    __device__ __forceinline__ ExpertBlock(const Shape &shape, const unsigned *__restrict__ offsets, unsigned block) : expert(0) {
        const auto first_block = [&](unsigned expert) { return offsets[expert] / ROWS + expert; };
        for (unsigned above = shape.experts; above - expert > 1;) {
            const unsigned middle = expert + (above - expert) / 2;
            (first_block(middle) <= block ? expert : above) = middle;
        }
        begin = offsets[expert], end = offsets[expert + 1];
        if (begin > end || end > shape.pairs)
            __trap();
        const unsigned skipped = block - first_block(expert);
        begin = skipped >= (end - begin + ROWS - 1) / ROWS ? end : begin + skipped * ROWS;
    }
    __device__ __forceinline__ bool empty() const { return begin == end; }
};

// Where the pairs' rows are in A and in C.
__device__ __forceinline__ Places places_in_a(const Shape &shape, const unsigned *__restrict__ permutation) {
    return {shape.gathered ? permutation : nullptr, shape.pairs_per_row, shape.rows};
}
__device__ __forceinline__ Places places_in_c(const Shape &shape, const unsigned *__restrict__ permutation) {
    return {shape.scattered ? permutation : nullptr, 1, shape.pairs};
}

// A workgroup computes a block of SIDE rows of one expert.
template <typename T, typename From, typename Out>
__device__ __forceinline__ void experts(const Shape &shape, sum_t<T> alpha, const From *a, const From *b, const unsigned *__restrict__ offsets,
                                        const unsigned *__restrict__ permutation, Out *c) {
    constexpr unsigned DEPTH = DEPTH_OF<T, SIDE>;
    const unsigned blocks = ExpertBlock<SIDE>::count(shape);
    // A grid has at most 65,535 blocks in its second dimension.
    for (size_t at = blockIdx.y; at < blocks; at += gridDim.y) {
        const ExpertBlock<SIDE> block(shape, offsets, static_cast<unsigned>(at));
        if (block.empty())
            continue;
        const PlacedRows<const From> from_a = {a, places_in_a(shape, permutation), block.end, shape.k};
        const Operand<From> from_b = {b + static_cast<size_t>(block.expert) * shape.n * shape.k, shape.n, shape.k, shape.k, false};
        const PlacedRows<Out> to_c = {c, places_in_c(shape, permutation), block.end, shape.n};
        const unsigned row = min(block.begin + threadIdx.x % SIDE, block.end - 1);
        if (__syncthreads_or(!from_a.places.has(row) || !to_c.places.has(row)))
            __trap();
        block_of<T, PlacedStaging<T, SIDE, DEPTH, THREADS, From>, Staging<T, SIDE, DEPTH, THREADS, From>, SIDE>(
            from_a, from_b, block.begin, blockIdx.x * SIDE, [&] { return Result<sum_t<T>, PlacedRows<Out>>{alpha, sum_t<T>(0), to_c}; });
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

#if defined(NVIDIA_WGMMA)
// The tiles of all experts.
template <typename Number> struct ExpertProducts {
    using Out = Number;
    struct To {
        PlacedRows<Out> c;
        unsigned row0, column0, rows, columns;
        bool in_chunks;

        __device__ __forceinline__ Out *row(unsigned index) const { return c.row(index); }
    };
    template <typename T, unsigned ROWS, bool> using A = nvidia::PlacedLines<T, Number, ROWS>;
    template <typename T, unsigned ROWS, bool BY_ROWS> using B = nvidia::Lines<T, Number, ROWS, BY_ROWS>;
    const Shape &shape;
    const Number *a, *b;
    const unsigned *__restrict__ offsets, *__restrict__ permutation;
    Out *c;
    unsigned depth, blocks;
    size_t tiles;
    bool a_in_chunks, b_in_chunks, c_in_chunks;

    template <typename Tile>
    static __device__ __forceinline__ ExpertProducts of(const Shape &shape, const Number *a, const Number *b, const unsigned *__restrict__ offsets,
                                                        const unsigned *__restrict__ permutation, Number *c) {
        const unsigned blocks = ExpertBlock<Tile::ROWS>::count(shape);
        const size_t tiles = static_cast<size_t>(blocks) * ((shape.n - 1) / Tile::COLUMNS + 1);
        return {shape, a, b, offsets, permutation, c, shape.k, blocks, tiles, nvidia::all_in_chunks(a, shape.k, 0),
                nvidia::all_in_chunks(b, shape.k, static_cast<size_t>(shape.n) * shape.k), nvidia::all_in_chunks(c, shape.n, 0)};
    }

    // Blocks that are computed at the same time have the same columns, and neighbours the same expert.
    template <typename Tile, typename ALines, typename BLines>
    __device__ __forceinline__ bool place(size_t index, ALines &from_a, BLines &from_b, To &to) const {
        const unsigned column = static_cast<unsigned>(index / blocks), at = static_cast<unsigned>(index - static_cast<size_t>(column) * blocks);
        const ExpertBlock<Tile::ROWS> block(shape, offsets, at);
        if (block.empty())
            return false;
        const Places in_a = places_in_a(shape, permutation), in_c = places_in_c(shape, permutation);
        const unsigned checked = min(block.begin + threadIdx.x % Tile::ROWS, block.end - 1);
        if (!in_a.has(checked) || !in_c.has(checked))
            __trap();
#pragma unroll
        for (unsigned i = 0; i < Tile::ROWS / 32; ++i) {
            const unsigned row = block.begin + threadIdx.x / 8 + i * 32;
            from_a.rows[i] = row < block.end ? a + static_cast<size_t>(in_a(row)) * shape.k : nullptr;
        }
        from_a.depth = shape.k, from_a.in_chunks = a_in_chunks;
        from_b.go_to({b + static_cast<size_t>(block.expert) * shape.n * shape.k, shape.n, shape.k, shape.k, false}, column * Tile::COLUMNS, b_in_chunks);
        to = {{c, in_c, block.end, shape.n}, block.begin, column * Tile::COLUMNS, block.end, shape.n, c_in_chunks};
        return true;
    }
};

// A tile is `nvidia::LargeTiling`: with few rows for each expert, too, it is the quickest.
#define GEMM_EXPERTS_TILES(T, NAME)                                                                                     \
    extern "C" __global__ __launch_bounds__(THREADS, 1) void gemm_experts_##NAME##_128x256(                             \
        const Shape shape, const float alpha, const T *a, const T *b, const unsigned *offsets, const unsigned *permutation, T *c) { \
        using Tile = nvidia::LargeTiling;                                                                              \
        nvidia::compute_tiles<T, Tile, true, true, 1>(ExpertProducts<T>::of<Tile>(shape, a, b, offsets, permutation, c), alpha, 0.0f, \
                                                      nvidia::tiles_shared<Tile>());                                   \
    }
GEMM_EXPERTS_TILES(__half, f16)
GEMM_EXPERTS_TILES(__nv_bfloat16, bf16)
#endif
