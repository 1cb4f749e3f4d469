// Copies to contiguous tensors in which neighbours along one dimension are neighbours in memory, and those along another one are in the
// source: tiles that a workgroup has in shared memory, so that both are accessed row by row.
#pragma once
#include "reduce.cuh"

// Extents from which on tiles are worth while.
constexpr unsigned LEAST_SIDE = 16;

template <typename T> struct Transposition {
    static constexpr unsigned SIDE = sizeof(T) == 1 ? 128 : sizeof(T) == 8 ? 32 : 64;
    // Rows of an odd number of words: the elements of a column are in different banks.
    static constexpr unsigned PADDING = sizeof(T) < 4 ? 4 / sizeof(T) : 1;

    const size_t *info; // as `Layouts` has it
    unsigned rank;
    unsigned across, along; // the dimension of neighbours in the result, and in the source
    unsigned tiles;

    __device__ __forceinline__ unsigned extent(unsigned d) const { return static_cast<unsigned>(info[d]); }
    __device__ __forceinline__ unsigned sides(unsigned d) const { return (extent(d) + SIDE - 1) / SIDE; }
    // Whether tiles have such a side. Its extent is counted in 32 bits.
    __device__ __forceinline__ bool is_side(unsigned d) const { return info[d] >= LEAST_SIDE && info[d] >> 32 == 0; }

    // Whether a copy is one, its tiles are counted in 32 bits, and the workgroup is one for them; else there are none.
    __device__ __forceinline__ Transposition(size_t numel, const size_t *info, unsigned rank) : info(info), rank(rank), across(rank), tiles(0) {
        if (block_threads() % SIDE != 0 || numel >> 40 != 0)
            return;
        for (unsigned d = rank; d-- > 0 && across == rank;)
            if (info[d] > 1)
                across = d;
        if (across == rank || info[rank + across] == 1 || !is_side(across))
            return;
        for (along = across; along-- > 0;)
            if (info[rank + along] == 1 && is_side(along)) {
                tiles = sides(across) * sides(along);
                for (unsigned d = 0; d < rank; ++d)
                    if (d != across && d != along)
                        tiles *= extent(d);
                return;
            }
    }

    // A workgroup's share, of so many.
    __device__ __forceinline__ void copy(const T *from, T *out, unsigned block, unsigned blocks) const {
        constexpr unsigned AHEAD = 4;
        __shared__ T tile[SIDE][SIDE + PADDING];
        const unsigned x = block_thread() % SIDE, y = block_thread() / SIDE, step = block_threads() / SIDE;
        const size_t stride = info[rank + across];
        size_t out_stride = 1;
        for (unsigned d = along + 1; d <= across; ++d)
            out_stride *= info[d];
#pragma unroll 1
        for (unsigned t = block; t < tiles; t += blocks) {
            const unsigned over = t / sides(along), i0 = (t - over * sides(along)) * SIDE;
            unsigned left = over / sides(across);
            const unsigned j0 = (over - left * sides(across)) * SIDE;
            const T *at = from + i0 + j0 * stride + (x + y * stride);
            T *to = out + i0 * out_stride + j0 + (x + y * out_stride);
            size_t out_step = 1;
#pragma unroll 1
            for (unsigned d = across + 1; d-- > 0;) {
                if (d != along && d != across) {
                    const unsigned quotient = left / extent(d), index = left - quotient * extent(d);
                    at += index * info[rank + d];
                    to += index * out_step;
                    left = quotient;
                }
                out_step *= info[d];
            }
            const unsigned across_left = min(extent(across) - j0, SIDE), along_left = min(extent(along) - i0, SIDE);
#pragma unroll 1
            for (unsigned first = y; first < SIDE; first += AHEAD * step) {
                T elements[AHEAD];
#pragma unroll
                for (unsigned k = 0; k < AHEAD; ++k, at += step * stride)
                    if (x < along_left && first + k * step < across_left)
                        elements[k] = *at;
#pragma unroll
                for (unsigned k = 0; k < AHEAD; ++k)
                    if (first + k * step < SIDE)
                        tile[first + k * step][x] = elements[k];
            }
            __syncthreads();
#pragma unroll 4
            for (unsigned i = y; i < along_left; i += step, to += step * out_stride)
                if (x < across_left)
                    *to = tile[x][i];
            __syncthreads();
        }
    }
};
