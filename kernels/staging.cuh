// A workgroup copies blocks of a matrix from memory to LDS, for `matrix.cuh` to read. Rows run along the depth, with 16 bytes between
// them, so that lanes that each read 16 bytes of neighbouring rows use different banks.
//
// A matrix is stored by rows (neighbours along the depth) or by columns (neighbours are rows). Whole blocks pass through
// registers, 16 bytes at a time, so that the next block is loaded while this one is multiplied.
#pragma once
#include "float8.cuh"
#include "matrix.cuh"

// Code that the compiler does not merge with other code that does the same.
#if defined(__AMDGCN__)
#define TOLD_APART(NAME) asm volatile("; " NAME)
#else
#define TOLD_APART(NAME) asm volatile("// " NAME)
#endif

    // The chunk of row `row` in 4 rows of elements of `SIZE` bytes that stand by columns.
    template <unsigned SIZE> __device__ __forceinline__ Chunk turned(const unsigned *group, unsigned row) {
        Chunk chunk;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            if constexpr (SIZE == 8) {
                chunk.x[i] = group[i / 2 * 8 + row * 2 + i % 2];
            } else if constexpr (SIZE == 4) {
                chunk.x[i] = group[i * 4 + row];
            } else if constexpr (SIZE == 2) {
                const unsigned first = group[i * 4 + row / 2], second = group[i * 4 + 2 + row / 2];
                chunk.x[i] = row % 2 == 0 ? (first & 0xffffu) | second << 16 : first >> 16 | (second & 0xffff0000u);
            } else {
                chunk.x[i] = 0;
#pragma unroll
                for (unsigned d = 0; d < 4; ++d)
                    chunk.x[i] |= (group[i * 4 + d] >> row * 8 & 0xffu) << d * 8;
            }
        }
        return chunk;
    }

template <unsigned SIZE> struct BitsOf;
template <> struct BitsOf<1> {
    using type = uint8_t;
};
template <> struct BitsOf<2> {
    using type = uint16_t;
};
template <> struct BitsOf<4> {
    using type = uint32_t;
};
template <> struct BitsOf<8> {
    using type = uint64_t;
};

// A matrix in memory: `rows` by `depth` elements, `stride` from one row (column, if `by_columns`) to the next.
template <typename T> struct Operand {
    const T *at;
    unsigned rows, depth;
    size_t stride;
    bool by_columns;
};

// Offsets from a block's corner are 32-bit numbers of bytes below this many elements from one row to the next.
constexpr size_t LARGEST_NEAR_STRIDE = 1 << 22;

// Two neighbouring bytes of a dword, f8, as f16. Exact.
__device__ __forceinline__ unsigned widened(unsigned dword, unsigned pair) {
    const unsigned bytes = dword >> pair * 16, apart = (bytes & 0xffu) | (bytes & 0xff00u) << 8;
    // As bits of an f16, exponent and significand give a number that is too small by 2^8; subnormal numbers are subnormal there, too. NaN
    // becomes 480, whose bits with this one added are those of NaN.
    const unsigned magnitudes = (apart & 0x007f007fu) << 7, nan = (magnitudes + 0x00800080u) >> 1 & 0x20002000u;
    return bits_as<unsigned>(__hmul2(bits_as<__half2>(magnitudes), __half2half2(__float2half(0x1p8f)))) | nan | (apart & 0x00800080u) << 8;
}

template <typename T> __device__ __forceinline__ Chunk as_operands(const Chunk &chunk) {
    return {as_operand<T>(chunk.x[0]), as_operand<T>(chunk.x[1]), as_operand<T>(chunk.x[2]), as_operand<T>(chunk.x[3])};
}

// A chunk of neighbours of a row, as they are in memory.
template <typename T, typename From> __device__ __forceinline__ Chunk chunk_of(const unsigned *row) {
    if constexpr (sizeof(From) == sizeof(T))
        return as_operands<T>({row[0], row[1], row[2], row[3]});
    else
        return {widened(row[0], 0), widened(row[0], 1), widened(row[1], 0), widened(row[1], 1)};
}

// An element's bits in LDS.
template <typename T, typename From> __device__ __forceinline__ typename BitsOf<sizeof(T)>::type element(const From &x) {
    using Bits = typename BitsOf<sizeof(T)>::type;
    if constexpr (sizeof(T) == 8)
        return bits_as<Bits>(x);
    else if constexpr (sizeof(From) == sizeof(T))
        return static_cast<Bits>(as_operand<T>(bits_as<Bits>(x)));
    else
        return static_cast<Bits>(widened(bits_as<uint8_t>(x), 0));
}

// The elements of `From` are those of T, or f8 if T is f16; they are converted on their way.
template <typename T, unsigned ROWS, unsigned DEPTH, unsigned THREADS, typename From = T> struct Staging {
    using Bits = typename BitsOf<sizeof(T)>::type;
    static constexpr unsigned CHUNK = 16 / sizeof(T);
    static constexpr unsigned PITCH = DEPTH + CHUNK;
    static constexpr unsigned CHUNKS = DEPTH / CHUNK;
    static constexpr unsigned COUNT = ROWS * CHUNKS / THREADS;
    static_assert(THREADS % CHUNKS == 0 && COUNT % 4 == 0 && CHUNKS % 4 == 0 && ROWS % 8 == 0, "each thread has as much");

    // Dwords of a chunk in memory.
    static constexpr unsigned DWORDS = 4 * sizeof(From) / sizeof(T);
    // By rows: chunks. By columns: for every 4 chunks of 4 adjacent rows, the elements of these rows, by columns.
    unsigned held[COUNT * DWORDS];

    // Whether all of a block's rows can be read in 16 bytes. Rows beyond the last repeat the last: their results are unused.
    static __device__ __forceinline__ bool whole(const Operand<From> &from, unsigned row0) {
        return from.stride < LARGEST_NEAR_STRIDE && (!from.by_columns || row0 + ROWS <= from.rows || from.rows % 4 == 0);
    }

    // Where the thread's chunks are: in memory from the block's corner, bytes; in LDS, elements.
    unsigned near[COUNT], place[COUNT];

    // Starts with the blocks at `row0`.
    __device__ __forceinline__ Staging(const Operand<From> &from, unsigned row0) {
        const unsigned stride = static_cast<unsigned>(from.stride * sizeof(From));
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i) {
            const unsigned thread = threadIdx.x + i / 4 * THREADS;
            // 8 neighbouring lanes have 2 groups of rows and 4 chunks, so that they store to different banks.
            const unsigned group_row = (thread % 2 + thread / 8 % (ROWS / 8) * 2) * 4, group_chunk = thread / 2 % 4 + thread / ROWS * 4;
            const unsigned row = threadIdx.x / CHUNKS + i * (THREADS / CHUNKS), chunk = threadIdx.x % CHUNKS;
            if (from.by_columns) {
                place[i] = (group_row + i % 4) * PITCH + group_chunk * CHUNK;
                // 4 rows of 8 bytes are two reads.
                const unsigned first = min(row0 + group_row, from.rows - 4) - row0 + (sizeof(From) == 8 ? i % 2 * 2 : 0);
                near[i] = (group_chunk * CHUNK + i % 4 * CHUNK / 4) * stride + first * sizeof(From);
            } else {
                place[i] = row * PITCH + chunk * CHUNK;
                near[i] = (min(row0 + row, from.rows - 1) - row0) * stride + chunk * (DWORDS * 4);
            }
        }
    }

    // Begins to read the block at `row0`, `depth0`, which is whole.
    __device__ __forceinline__ void fetch(const Operand<From> &from, unsigned row0, unsigned depth0) {
        const size_t from_corner = from.by_columns ? depth0 * from.stride + row0 : row0 * from.stride + depth0;
        const char *corner = reinterpret_cast<const char *>(from.at + from_corner);
        // If an element has at least 4 bytes, 4 rows of 4 elements are as much as 16 bytes of a row or more.
        if (sizeof(From) >= 4 || !from.by_columns) {
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                read_dwords<DWORDS>(held + i * DWORDS, corner + lane_offset(near[i]));
        } else {
            const unsigned stride = static_cast<unsigned>(from.stride * sizeof(From));
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
#pragma unroll
                for (unsigned d = 0; d < CHUNK / 4; ++d)
                    read_dwords<sizeof(From)>(held + i * DWORDS + d * sizeof(From), corner + static_cast<size_t>(d) * stride + lane_offset(near[i]));
        }
    }

    // Chunk `i` of the fetched data.
    __device__ __forceinline__ Chunk by_rows(unsigned i) const { return chunk_of<T, From>(held + i * DWORDS); }
    __device__ __forceinline__ Chunk by_columns(unsigned i) const {
        const unsigned *group = held + i / 4 * 4 * DWORDS;
        if constexpr (DWORDS == 4) {
            return as_operands<T>(turned<sizeof(T)>(group, i % 4));
        } else {
            unsigned numbers[16];
#pragma unroll
            for (unsigned d = 0; d < 16; ++d)
                numbers[d] = widened(group[d / 2], d % 2);
            return turned<sizeof(T)>(numbers, i % 4);
        }
    }

    // Stores the fetched data.
    __device__ __forceinline__ void store(const Operand<From> &from, T *tile) const {
        // If the code of both ways were merged, selecting among their chunks would cost more than the ways themselves.
        if (from.by_columns) {
            TOLD_APART("by columns");
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                *reinterpret_cast<Chunk *>(tile + place[i]) = by_columns(i);
            TOLD_APART("by columns, stored");
        } else {
            TOLD_APART("by rows");
#pragma unroll
            for (unsigned i = 0; i < COUNT; ++i)
                *reinterpret_cast<Chunk *>(tile + place[i]) = by_rows(i);
            TOLD_APART("by rows, stored");
        }
    }

    // Copies the first `used` columns of a block element by element; zeros stand for elements beyond the matrix.
    static __device__ __forceinline__ void copy(const Operand<From> &from, unsigned row0, unsigned depth0, unsigned used, T *tile) {
        Bits *target = reinterpret_cast<Bits *>(tile);
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < ROWS * (from.by_columns ? used : DEPTH); i += THREADS) {
            const unsigned row = from.by_columns ? i % ROWS : i / DEPTH, depth = from.by_columns ? i / ROWS : i % DEPTH;
            const size_t at = from.by_columns ? (depth0 + depth) * from.stride + (row0 + row) : (row0 + row) * from.stride + (depth0 + depth);
            if (depth < used)
                target[row * PITCH + depth] = row0 + row < from.rows && depth0 + depth < from.depth ? element<T>(from.at[at]) : Bits(0);
        }
    }
};
