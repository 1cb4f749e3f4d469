// Products of a quantised matrix with many vectors of Q8_1 blocks: tiles in LDS, sums in registers.
#pragma once
#include "quant.cuh"

// A workgroup of 32×4 threads computes tiles of SIDE rows by SIDE vectors one after the other; a thread ROWS by VECTORS of each.
constexpr unsigned MAT_THREADS = 128;
constexpr unsigned SIDE = 64;
constexpr unsigned LANES = 16;
constexpr unsigned ROWS = SIDE / LANES;
constexpr unsigned VECTORS = SIDE * LANES / MAT_THREADS;

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

// Quantised rows of a type that is known at compile time.
template <typename Q> struct Typed {
    static constexpr bool OFFSET = Q::OFFSET;
    const Q *x;
    template <typename F> __device__ __forceinline__ void with(F f) const { f(x); }
};
// Rows of any type, by its number.
struct Numbered {
    static constexpr bool OFFSET = true;
    unsigned type;
    const void *x;
    template <typename F> __device__ __forceinline__ void with(F f) const { with_quant(type, x, f); }
};

// Computes `tile_rows` rows of `tile_vectors` results of a product, both multiples of SIDE; `y_stride` counts blocks, `out_stride` elements.
template <typename Matrix>
__device__ __forceinline__ void mul_mat(Matrix matrix, const Q8_1 *y, void *out, Out type, unsigned tile_rows, unsigned tile_vectors,
                                        unsigned columns, unsigned rows, unsigned vectors, unsigned y_stride, unsigned out_stride) {
    __shared__ RowPart row_parts[SIDE];
    __shared__ VectorPart vector_parts[SIDE];
    const unsigned thread = threadIdx.y * 32 + threadIdx.x;
    const unsigned tx = thread % LANES, ty = thread / LANES;
    const unsigned end_row = min((blockIdx.x + 1) * tile_rows, rows), end_vector = min((blockIdx.y + 1) * tile_vectors, vectors);

#pragma unroll 1
    for (unsigned row0 = blockIdx.x * tile_rows; row0 < end_row; row0 += SIDE)
#pragma unroll 1
        for (unsigned vector0 = blockIdx.y * tile_vectors; vector0 < end_vector; vector0 += SIDE) {
            float sum[VECTORS][ROWS] = {};
#pragma unroll 1
            for (unsigned part = 0; part < columns / 32; ++part) {
                const unsigned of = thread / 2, half = thread % 2;
                matrix.with([&](auto *x) {
                    using Q = std::remove_cv_t<std::remove_reference_t<decltype(*x)>>;
                    constexpr unsigned PARTS = Q::VALUES / 32;
                    const unsigned group = part % PARTS * 2;
                    const auto block = [&](unsigned row) -> const Q & {
                        // behind the last row is it once more
                        return x[static_cast<size_t>(min(row0 + row, rows - 1)) * (columns / Q::VALUES) + part / PARTS];
                    };
                    for (unsigned i = thread; i < SIDE * 2 * QUADS; i += MAT_THREADS) {
                        const unsigned row = i / (2 * QUADS), quad = i % (2 * QUADS);
                        row_parts[row].q[quad / QUADS][quad % QUADS] = block(row).quad(group + quad / QUADS, quad % QUADS);
                    }
                    const Scale scale = block(of).scale(group + half);
                    row_parts[of].d[half] = scale.d;
                    row_parts[of].m[half] = scale.m;
                });
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
                    uint32_t q[ROWS][QUADS];
                    Scale scale[ROWS];
                    for (unsigned j = 0; j < ROWS; ++j) {
                        const RowPart &from = row_parts[tx + LANES * j];
                        for (unsigned quad = 0; quad < QUADS; ++quad)
                            q[j][quad] = from.q[half][quad];
                        scale[j] = {from.d[half], from.m[half]};
                    }
                    for (unsigned i = 0; i < VECTORS; ++i) {
                        const VectorPart &vector = vector_parts[ty + SIDE / VECTORS * i];
                        for (unsigned j = 0; j < ROWS; ++j) {
                            int dot = 0;
                            for (unsigned quad = 0; quad < QUADS; ++quad)
                                dot = dot4(q[j][quad], vector.a[half][quad], dot);
                            sum[i][j] = fmaf(vector.d, scale[j].d * static_cast<float>(dot), sum[i][j]);
                            if (Matrix::OFFSET)
                                sum[i][j] = fmaf(scale[j].m, vector.sum[half], sum[i][j]);
                        }
                    }
                }
                __syncthreads();
            }
            with_type(type, out, [&](auto *to) {
                for (unsigned i = 0; i < VECTORS; ++i)
                    for (unsigned j = 0; j < ROWS; ++j) {
                        const unsigned row = row0 + tx + LANES * j, vector = vector0 + ty + SIDE / VECTORS * i;
                        if (row < rows && vector < vectors)
                            store(to + static_cast<size_t>(vector) * out_stride + row, sum[i][j]);
                    }
            });
        }
}
