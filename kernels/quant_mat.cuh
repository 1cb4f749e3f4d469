// Products of a quantised matrix with many vectors of Q8_1 blocks: tiles in LDS, sums in registers.
#pragma once
#include "quant.cuh"

// A workgroup of 32×4 threads computes tiles of SIDE rows by SIDE vectors one after the other; a thread ROWS by VECTORS of each.
constexpr unsigned MAT_THREADS = 128;
constexpr unsigned SIDE = 64;
constexpr unsigned LANES = 16;
constexpr unsigned VECTORS = SIDE / LANES;
constexpr unsigned ROWS = SIDE * LANES / MAT_THREADS;

// 32 values of a row, and of a vector. Of 12 words, so that neither reads nor writes of four words at once meet in a bank.
struct alignas(16) RowPart {
    uint32_t q[2][QUADS];
    float d[2], m[2];
};
struct alignas(16) VectorPart {
    uint32_t a[2][QUADS];
    // sums have the scale in them
    float d, sum[2], gap;
};
static_assert(sizeof(RowPart) == 48 && sizeof(VectorPart) == 48);

// Computes `tile_rows` rows of `tile_vectors` results of a product, both multiples of SIDE; `y_stride` counts blocks, `out_stride` elements.
template <typename Q>
__device__ __forceinline__ void mul_mat(const Q *x, const Q8_1 *y, float *out, unsigned tile_rows, unsigned tile_vectors, unsigned columns,
                                        unsigned rows, unsigned vectors, unsigned y_stride, unsigned out_stride) {
    __shared__ RowPart row_parts[SIDE];
    __shared__ VectorPart vector_parts[SIDE];
    constexpr unsigned PARTS = Q::VALUES / 32;
    const unsigned thread = threadIdx.y * 32 + threadIdx.x;
    const unsigned tx = thread % LANES, ty = thread / LANES;
    const unsigned blocks = columns / Q::VALUES;
    const unsigned end_row = min((blockIdx.x + 1) * tile_rows, rows), end_vector = min((blockIdx.y + 1) * tile_vectors, vectors);

#pragma unroll 1
    for (unsigned row0 = blockIdx.x * tile_rows; row0 < end_row; row0 += SIDE)
#pragma unroll 1
        for (unsigned vector0 = blockIdx.y * tile_vectors; vector0 < end_vector; vector0 += SIDE) {
            float sum[ROWS][VECTORS] = {};
#pragma unroll 1
            for (unsigned part = 0; part < blocks * PARTS; ++part) {
                const unsigned group = part % PARTS * 2;
                const auto block_of = [&](unsigned of) -> const Q & {
                    // behind the last row is it once more
                    return x[static_cast<size_t>(min(row0 + of, rows - 1)) * blocks + part / PARTS];
                };
                for (unsigned i = thread; i < SIDE * 2 * QUADS; i += MAT_THREADS) {
                    const unsigned of = i / (2 * QUADS), quad = i % (2 * QUADS);
                    row_parts[of].q[quad / QUADS][quad % QUADS] = block_of(of).quad(group + quad / QUADS, quad % QUADS);
                }
                const unsigned of = thread / 2, half = thread % 2;
                const Scale scale = block_of(of).scale(group + half);
                row_parts[of].d[half] = scale.d;
                row_parts[of].m[half] = scale.m;

                const Q8_1 &block = y[static_cast<size_t>(min(vector0 + of, vectors - 1)) * y_stride + part];
                uint32_t a[QUADS];
                __builtin_memcpy(a, block.qs + GROUP * half, sizeof a);
                int total = 0;
                for (unsigned i = 0; i < QUADS; ++i) {
                    vector_parts[of].a[half][i] = a[i];
                    total = dot4(0x01010101u, a[i], total);
                }
                const float d = half_at(block.d);
                vector_parts[of].sum[half] = d * static_cast<float>(total);
                if (half == 0)
                    vector_parts[of].d = d;
                __syncthreads();

#pragma unroll 1
                for (unsigned half = 0; half < 2; ++half) {
                    uint32_t right[VECTORS][QUADS];
                    float right_d[VECTORS], right_sum[VECTORS];
                    for (unsigned j = 0; j < VECTORS; ++j) {
                        const VectorPart &from = vector_parts[tx + LANES * j];
                        for (unsigned quad = 0; quad < QUADS; ++quad)
                            right[j][quad] = from.a[half][quad];
                        right_d[j] = from.d;
                        right_sum[j] = from.sum[half];
                    }
                    for (unsigned i = 0; i < ROWS; ++i) {
                        const RowPart &left = row_parts[ty + SIDE / ROWS * i];
                        for (unsigned j = 0; j < VECTORS; ++j) {
                            int dot = 0;
                            for (unsigned quad = 0; quad < QUADS; ++quad)
                                dot = dot4(left.q[half][quad], right[j][quad], dot);
                            sum[i][j] = fmaf(right_d[j], left.d[half] * static_cast<float>(dot), sum[i][j]);
                            if (Q::OFFSET)
                                sum[i][j] = fmaf(left.m[half], right_sum[j], sum[i][j]);
                        }
                    }
                }
                __syncthreads();
            }
            for (unsigned j = 0; j < VECTORS; ++j)
                for (unsigned i = 0; i < ROWS; ++i) {
                    const unsigned row = row0 + ty + SIDE / ROWS * i, vector = vector0 + tx + LANES * j;
                    if (row < rows && vector < vectors)
                        out[static_cast<size_t>(vector) * out_stride + row] = sum[i][j];
                }
        }
}
