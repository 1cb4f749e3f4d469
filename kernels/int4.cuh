// Matrices of 4-bit numbers: two in a byte, the first one in its low half, row by row. Each `group` neighbours of a row share a scale, and
// a zero point (or 8): an element is scale * (number - zero).
#pragma once
#include "staging.cuh"

template <typename T> struct Int4Matrix {
    const uint8_t *at;
    const T *scales;
    // Null: 8 everywhere.
    const T *zeros;
    unsigned rows, depth;
    // The group's size is 2 to the power of this, at least 32.
    unsigned group_shift;

    __device__ __forceinline__ size_t group(unsigned row, unsigned depth0) const {
        return static_cast<size_t>(row) * (depth >> group_shift) + (depth0 >> group_shift);
    }
    __device__ __forceinline__ const char *place(unsigned row, unsigned depth0) const {
        return reinterpret_cast<const char *>(at) + static_cast<size_t>(row) * (depth / 2) + depth0 / 2;
    }
    __device__ __forceinline__ float zero(size_t group) const { return zeros == nullptr ? 8.0f : load(zeros + group); }
};

// 8 numbers of a dword as elements of T.
template <typename T> __device__ __forceinline__ Chunk int4_elements(unsigned dword, float scale, float zero) {
    float x[8];
#pragma unroll
    for (unsigned i = 0; i < 8; ++i)
        x[i] = (static_cast<float>(dword >> 4 * i & 15u) - zero) * scale;
    return packed_chunk<T>(x);
}

// `Staging` of such a matrix, stored by rows.
template <typename T, unsigned ROWS, unsigned DEPTH, unsigned THREADS> struct Int4Staging {
    static constexpr unsigned CHUNK = 8, PITCH = DEPTH + CHUNK, CHUNKS = DEPTH / CHUNK, COUNT = ROWS * CHUNKS / THREADS;
    static_assert(sizeof(T) == 2 && THREADS % CHUNKS == 0, "each thread has as much");

    unsigned held[COUNT];
    float scale[COUNT], zero[COUNT];
    unsigned row, chunk;

    static __device__ __forceinline__ bool whole(const Int4Matrix<T> &, unsigned) { return true; }

    __device__ __forceinline__ Int4Staging(const Int4Matrix<T> &, unsigned) : row(threadIdx.x / CHUNKS), chunk(threadIdx.x % CHUNKS) {}

    __device__ __forceinline__ void fetch(const Int4Matrix<T> &from, unsigned row0, unsigned depth0) {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i) {
            // Rows beyond the last repeat the last: their results are unused.
            const unsigned from_row = min(row0 + row + i * (THREADS / CHUNKS), from.rows - 1), depth = depth0 + chunk * CHUNK;
            const size_t group = from.group(from_row, depth);
            read_dwords<1>(held + i, from.place(from_row, depth));
            scale[i] = load(from.scales + group);
            zero[i] = from.zero(group);
        }
    }

    __device__ __forceinline__ void store(const Int4Matrix<T> &, T *tile) const {
#pragma unroll
        for (unsigned i = 0; i < COUNT; ++i)
            *reinterpret_cast<Chunk *>(tile + (row + i * (THREADS / CHUNKS)) * PITCH + chunk * CHUNK) = int4_elements<T>(held[i], scale[i], zero[i]);
    }

    // Copies a block; zeros stand for elements beyond the matrix.
    static __device__ __forceinline__ void copy(const Int4Matrix<T> &from, unsigned row0, unsigned depth0, unsigned, T *tile) {
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
            const unsigned row = i / CHUNKS, chunk = i % CHUNKS, depth = depth0 + chunk * CHUNK;
            Chunk elements = {};
            if (row0 + row < from.rows && depth < from.depth) {
                unsigned dword;
                read_dwords<1>(&dword, from.place(row0 + row, depth));
                const size_t group = from.group(row0 + row, depth);
                elements = int4_elements<T>(dword, load(from.scales + group), from.zero(group));
            }
            *reinterpret_cast<Chunk *>(tile + row * PITCH + chunk * CHUNK) = elements;
        }
    }
};
