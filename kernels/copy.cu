// Copies between layouts. Elements are copied as words of 1, 2, 4 or 8 bytes, so that a kernel serves every type of its size.
//
// transpose_bN(src, dst, rows, columns, src_row, dst_row, src_matrix, dst_matrix)     N = 8, 16, 32, 64: bits of an element
//   dst[column, row] = src[row, column] for matrices whose rows begin `src_row` and `dst_row` elements apart, and the matrices
//   `src_matrix` and `dst_matrix`; a workgroup of 256 threads for each tile of 32 × 32, the grid being columns/32 × rows/32 × matrices
// copy_strided_bN(numel, rank, info, src, dst)
//   `info` holds the extents, then the strides of `src`, then those of `dst`, in elements
#include "common.cuh"

constexpr unsigned TILE = 32;
constexpr unsigned ROWS = 8; // rows of threads

template <typename T>
__device__ __forceinline__ void transpose(const T *src, T *dst, size_t rows, size_t columns, size_t src_row, size_t dst_row, size_t src_matrix,
                                          size_t dst_matrix) {
    // Rows of an odd number of words: the elements of a column are in different banks.
    constexpr unsigned PADDING = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    __shared__ T tile[TILE][TILE + PADDING];
    const unsigned x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const size_t column0 = static_cast<size_t>(blockIdx.x) * TILE, row0 = static_cast<size_t>(blockIdx.y) * TILE;
    src += blockIdx.z * src_matrix;
    dst += blockIdx.z * dst_matrix;
#pragma unroll
    for (unsigned i = y; i < TILE; i += ROWS)
        if (row0 + i < rows && column0 + x < columns)
            tile[i][x] = src[(row0 + i) * src_row + column0 + x];
    __syncthreads();
#pragma unroll
    for (unsigned i = y; i < TILE; i += ROWS)
        if (column0 + i < columns && row0 + x < rows)
            dst[(column0 + i) * dst_row + row0 + x] = tile[x][i];
}

#define COPIES(T, NAME)                                                                                                \
    extern "C" __global__ __launch_bounds__(TILE *ROWS) void transpose_##NAME(                                         \
        const T *src, T *dst, const size_t rows, const size_t columns, const size_t src_row, const size_t dst_row,     \
        const size_t src_matrix, const size_t dst_matrix) {                                                            \
        transpose(src, dst, rows, columns, src_row, dst_row, src_matrix, dst_matrix);                                  \
    }                                                                                                                  \
    extern "C" __global__ void copy_strided_##NAME(const size_t numel, const size_t rank, const size_t *info, const T *src, T *dst) { \
        const Layouts<2> layouts(rank, info);                                                                          \
        FOR_EACH_ELEMENT(i, numel) {                                                                                   \
            const Offsets<2> offsets = layouts.offsets(i);                                                             \
            dst[offsets.at[1]] = src[offsets.at[0]];                                                                   \
        }                                                                                                              \
    }
COPIES(uint8_t, b8)
COPIES(uint16_t, b16)
COPIES(uint32_t, b32)
COPIES(uint64_t, b64)
