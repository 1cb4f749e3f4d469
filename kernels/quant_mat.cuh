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

// From one to another, both multiples of SIDE but for the end.
struct Range {
    unsigned begin, end;
};
__device__ __forceinline__ Range tile(unsigned index, unsigned size, unsigned most) { return {index * size, min((index + 1) * size, most)}; }

// Vectors in the order of results.
struct InOrder {
    __device__ __forceinline__ unsigned vector(unsigned i) const { return i; }
    __device__ __forceinline__ unsigned result(unsigned i) const { return i; }
};

// Computes some rows of products with some vectors, of a matrix whose first row is `first_row` of the blocks' rows; `y_stride` counts
// blocks, `out_stride` elements.
template <typename Q, typename Order>
__device__ __forceinline__ void mul_mat(const Q *x, size_t first_row, const Q8_1 *y, Order order, void *out, Out type, unsigned columns,
                                        Range rows, Range vectors, unsigned y_stride, unsigned out_stride) {
    // parts of rows and vectors, then results on their way out
    __shared__ alignas(16) char shared[SIDE * SIDE / 2 * sizeof(float)];
    static_assert(sizeof shared >= SIDE * (sizeof(RowPart) + sizeof(VectorPart)));
    RowPart *row_parts = reinterpret_cast<RowPart *>(shared);
    VectorPart *vector_parts = reinterpret_cast<VectorPart *>(row_parts + SIDE);
    float *results = reinterpret_cast<float *>(shared);
    const unsigned thread = threadIdx.y * 32 + threadIdx.x;
    const unsigned tx = thread % LANES, ty = thread / LANES;

#pragma unroll 1
    for (unsigned row0 = rows.begin; row0 < rows.end; row0 += SIDE)
#pragma unroll 1
        for (unsigned vector0 = vectors.begin; vector0 < vectors.end; vector0 += SIDE) {
            float sum[VECTORS][ROWS] = {};
            // what a thread brings of each part: a quad of four rows, and half of another row's scales and of a vector
            constexpr unsigned FETCHED = SIDE * 2 * QUADS / MAT_THREADS;
            const unsigned of = thread / 2, half = thread % 2, quad = thread % (2 * QUADS);
            const Q8_1 *vector = y + static_cast<size_t>(order.vector(min(vector0 + of, vectors.end - 1))) * y_stride;
#pragma unroll 1
            for (unsigned part = 0; part < columns / 32; ++part) {
                constexpr unsigned PARTS = Q::VALUES / 32;
                const unsigned group = part % PARTS * 2;
                const auto block = [&](unsigned row) -> const Q & {
                    // behind the last row is it once more
                    return x[(first_row + min(row0 + row, rows.end - 1)) * (columns / Q::VALUES) + part / PARTS];
                };
                uint32_t q[FETCHED], a[QUADS];
                for (unsigned i = 0; i < FETCHED; ++i)
                    q[i] = block((thread + i * MAT_THREADS) / (2 * QUADS)).quad(group + quad / QUADS, quad % QUADS);
                const Scale scale = block(of).scale(group + half);
                __builtin_memcpy(a, vector[part].qs + GROUP * half, sizeof a);
                const float d = half_at(vector[part].d);

                for (unsigned i = 0; i < FETCHED; ++i)
                    row_parts[(thread + i * MAT_THREADS) / (2 * QUADS)].q[quad / QUADS][quad % QUADS] = q[i];
                row_parts[of].d[half] = scale.d;
                row_parts[of].m[half] = scale.m;
                int total = 0;
                for (unsigned i = 0; i < QUADS; ++i) {
                    vector_parts[of].a[half][i] = a[i];
                    total = dot4(0x01010101u, a[i], total);
                }
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
                            if (Q::OFFSET)
                                sum[i][j] = fmaf(scale[j].m, vector.sum[half], sum[i][j]);
                        }
                    }
                }
                __syncthreads();
            }
            for (unsigned pass = 0; pass < 2; ++pass) {
                for (unsigned i = 0; i < VECTORS / 2; ++i)
                    for (unsigned j = 0; j < ROWS; ++j)
                        results[(ty + SIDE / VECTORS * i) * SIDE + tx + LANES * j] = sum[pass * (VECTORS / 2) + i][j];
                __syncthreads();
#pragma unroll 1
                for (unsigned i = thread; i < SIDE * SIDE / 2; i += MAT_THREADS) {
                    const unsigned row = row0 + i % SIDE, vector = vector0 + pass * (SIDE / 2) + i / SIDE;
                    if (row < rows.end && vector < vectors.end)
                        store_as(type, out, static_cast<size_t>(order.result(vector)) * out_stride + row, results[i]);
                }
                __syncthreads();
            }
        }
}
