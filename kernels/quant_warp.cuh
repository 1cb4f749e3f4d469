// The product of a quantised matrix with one vector as NVIDIA's hardware wants it: a warp has whole rows, reads them 16 bytes at a time where
// blocks lie so, has the next units on the way while it multiplies the last, and finds the vector in shared memory.
#pragma once
#include "quant_part.cuh"

// Rows that a warp has at a time: as many as there are registers for in eight workgroups of 128 threads.
template <typename Q> constexpr unsigned WARP_ROWS = sizeof(Part<Q, InGlobal>) > 44 ? 1 : 2;
// Blocks of the vector that are in shared memory at a time.
constexpr unsigned VECTOR_BLOCKS = 512;
using Stage = uint32_t[VECTOR_BLOCKS * sizeof(Q8_1) / 4]; // at a multiple of 16 bytes

// Adds a unit's products with the vector to the rows' sums.
template <typename Q, typename P, unsigned ROWS>
__device__ __forceinline__ void add_products(float (&sums)[ROWS], P (&parts)[ROWS], const Unit<Q> &at, const Q8_1 *vector) {
#pragma unroll
    for (P &part : parts)
        part.align(at);
#pragma unroll
    for (unsigned k = 0; k < Unit<Q>::GROUPS; ++k) {
        const uint32_t *block = reinterpret_cast<const uint32_t *>(vector + at.group(k) / 2);
        uint32_t a[QUADS];
        int total = 0;
#pragma unroll
        for (unsigned i = 0; i < QUADS; ++i) {
            a[i] = block[1 + at.group(k) % 2 * QUADS + i];
            if (Q::OFFSET)
                total = dot4(0x01010101u, a[i], total);
        }
        const float d = half_at(block[0] & 0xffff);
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            const Scale scale = parts[r].scale(at, k);
            int dot = 0;
#pragma unroll
            for (unsigned i = 0; i < QUADS; ++i)
                dot = dot4(parts[r].quad(at, k, i), a[i], dot);
            float product = scale.d * static_cast<float>(dot);
            if (Q::OFFSET)
                product = fmaf(scale.m, static_cast<float>(total), product);
            sums[r] = fmaf(d, product, sums[r]);
        }
    }
}

// A unit that is read when its product is made: of matrices that are not aligned, and where bytes behind the last one would be read.
template <typename Q> struct PartInMemory {
    const Q *block;
    __device__ __forceinline__ void load(const InGlobal &from, const Unit<Q> &) { block = reinterpret_cast<const Q *>(from.at); }
    __device__ __forceinline__ void align(const Unit<Q> &) {}
    __device__ __forceinline__ Scale scale(const Unit<Q> &at, unsigned k) const { return block->scale(at.group(k)); }
    __device__ __forceinline__ uint32_t quad(const Unit<Q> &at, unsigned k, unsigned i) const { return block->quad(at.group(k), i); }
};

// A thread, and a workgroup of so many.
struct Share {
    unsigned block, blocks, thread, threads;
};

// Puts blocks of the vector where all of the workgroup find them.
__device__ __forceinline__ void put(Stage &stage, const Q8_1 *blocks, unsigned count, const Share &share) {
    const unsigned words = count * (sizeof(Q8_1) / 4), fours = reinterpret_cast<size_t>(blocks) % 16 == 0 ? words / 4 : 0;
    const uint4 *from = reinterpret_cast<const uint4 *>(blocks);
#pragma unroll 4
    for (unsigned i = share.thread; i < fours; i += share.threads)
        reinterpret_cast<uint4 *>(stage)[i] = from[i];
#pragma unroll 4
    for (unsigned i = 4 * fours + share.thread; i < words; i += share.threads)
        stage[i] = reinterpret_cast<const uint32_t *>(blocks)[i];
}

// A workgroup's share of a product: calls `store(row, product)`. All of its threads have to call.
template <typename Q, typename P, unsigned ROWS, typename F>
__device__ __forceinline__ void row_products(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, Share share, Stage &stage, F store) {
    constexpr unsigned PER_BLOCK = Unit<Q>::PER_BLOCK, STAGE = VECTOR_BLOCKS * Q8_1::VALUES;
    const unsigned lane = share.thread % 32, blocks = columns / Q::VALUES, units = blocks * PER_BLOCK;
    const unsigned step = share.blocks * ROWS; // from a warp's rows to those of the workgroup's next warp
    const auto load = [&](P(&parts)[ROWS], unsigned first, unsigned unit) {
        const Unit<Q> at(unit);
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) // behind the last row is it once more
            parts[r].load({reinterpret_cast<const char *>(x + static_cast<size_t>(min(first + r, rows - 1)) * blocks + at.block)}, at);
    };
    unsigned first = share.block * ROWS + share.thread / 32 * step;
    P parts[ROWS];
    if (first < rows && lane < units)
        load(parts, first, lane);
    // `of_block` is the first warp's `first`, so that all warps go on as long.
#pragma unroll 1
    for (unsigned of_block = share.block * ROWS; of_block < rows; of_block += share.threads / 32 * step) {
        const unsigned following = first + share.threads / 32 * step;
        float sums[ROWS] = {};
#pragma unroll 1
        for (unsigned begin = 0; begin < columns; begin += STAGE) {
            const unsigned values = min(STAGE, columns - begin);
            const bool again = of_block != share.block * ROWS;
            if (!again || columns > STAGE) {
                if (again || begin > 0)
                    __syncthreads();
                put(stage, y + begin / Q8_1::VALUES, values / Q8_1::VALUES, share);
                __syncthreads();
            }
            const unsigned end = first < rows ? (begin + values) / Q::VALUES * PER_BLOCK : 0;
#pragma unroll 1
            for (unsigned unit = begin / Q::VALUES * PER_BLOCK + lane; unit < end; unit += 32) {
                P next[ROWS];
                if (unit + 32 < units)
                    load(next, first, unit + 32);
                else if (following < rows)
                    load(next, following, lane);
                const Unit<Q> at(unit);
                const Q8_1 *vector = reinterpret_cast<const Q8_1 *>(stage) + (at.block * Q::VALUES - begin) / Q8_1::VALUES;
                add_products(sums, parts, at, vector);
#pragma unroll
                for (unsigned r = 0; r < ROWS; ++r)
                    parts[r] = next[r];
            }
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
#pragma unroll
            for (unsigned mask = 16; mask > 0; mask /= 2)
                sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], mask);
            if (lane == 0 && first + r < rows)
                store(first + r, sums[r]);
        }
        first = following;
    }
}

// Whether all bytes that `Part`s of a matrix read are the matrix's, so that whole words can be read.
template <typename Q> __device__ __forceinline__ bool is_whole(const Q *x, size_t blocks) {
    const size_t from = reinterpret_cast<size_t>(x), to = reinterpret_cast<size_t>(x + blocks);
    return from % Part<Q, InGlobal>::ALIGNMENT == 0 && (Part<Q, InGlobal>::ALIGNMENT != 2 || (from | to) % 16 == 0);
}

// The product by some workgroups of a grid; a warp has so many rows at a time.
template <typename Q, unsigned ROWS = WARP_ROWS<Q>, typename F>
__device__ __forceinline__ void warp_product(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, const Share &share, Stage &stage, F store) {
    if (is_whole(x, static_cast<size_t>(rows) * (columns / Q::VALUES)))
        row_products<Q, Part<Q, InGlobal>, ROWS>(x, y, columns, rows, share, stage, store);
    else
        row_products<Q, PartInMemory<Q>, ROWS>(x, y, columns, rows, share, stage, store);
}
