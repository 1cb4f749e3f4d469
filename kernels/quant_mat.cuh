// Products of a quantised matrix with many vectors of Q8_1 blocks: tiles in LDS, products of bytes by the target's matrix instructions,
// sums in registers.
#pragma once
#include "matrix.cuh"
#include "quant.cuh"

// A workgroup of 32×4 threads computes tiles of SIDE rows by SIDE vectors one after the other; each wave computes half
// of the rows.
constexpr unsigned MAT_THREADS = 128;
constexpr unsigned SIDE = 64;
constexpr unsigned WAVE_ROWS = SIDE / 2;
constexpr unsigned WAVE_VECTORS = SIDE / (MAT_THREADS / WAVE / 2);

// 32 values of a row, and of a vector. It has 12 words, so that reads and writes of four words at once do not conflict in a bank.
struct alignas(16) RowPart {
    uint32_t q[2][QUADS];
    float d[2], m[2];
};
struct alignas(16) VectorPart {
    uint32_t a[2][QUADS];
    // sums include the scale; except with FINE, each is the sum of both halves
    float d, sum[2], gap;
};
static_assert(sizeof(RowPart) == 48 && sizeof(VectorPart) == 48);

// From one to another, both multiples of SIDE except at the end.
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
    // vectors are what the instruction calls rows, so that neighbouring lanes have neighbouring rows of the matrix
    using M = Matrix<int8_t, WAVE_VECTORS / (WAVE / 8), WAVE_ROWS / 8>;
    constexpr unsigned DOWN = WAVE_VECTORS / M::ROWS, ACROSS = WAVE_ROWS / M::COLUMNS, PIECES = Q::FINE ? 2 : 1;
    const unsigned lane = thread % WAVE, wave = uniform(thread / WAVE);
    const unsigned wave_row = wave % 2 * WAVE_ROWS, wave_vector = wave / 2 * WAVE_VECTORS;
    // Calls with the place of each sum that a lane has, and its row and vector in the tile.
    const auto each = [&](auto apply) {
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j)
#pragma unroll
                for (unsigned s = 0; s < M::SUMS; ++s)
                    apply(i, j, s, wave_row + M::lane_column(lane) + M::COLUMNS * j + M::step_column(s),
                          wave_vector + M::lane_row(lane) + M::ROWS * i + M::step_row(s));
    };

#pragma unroll 1
    for (unsigned row0 = rows.begin; row0 < rows.end; row0 += SIDE)
#pragma unroll 1
        for (unsigned vector0 = vectors.begin; vector0 < vectors.end; vector0 += SIDE) {
            float sum[DOWN][ACROSS][M::SUMS] = {};
            // what a thread loads of each part: a quad of four rows, and half of another row's scales and of a vector
            constexpr unsigned FETCHED = SIDE * 2 * QUADS / MAT_THREADS;
            const unsigned of = thread / 2, half = thread % 2, quad = thread % (2 * QUADS);
            const Q8_1 *vector = y + static_cast<size_t>(order.vector(min(vector0 + of, vectors.end - 1))) * y_stride;
#pragma unroll 1
            for (unsigned part = 0; part < columns / 32; ++part) {
                constexpr unsigned PARTS = Q::VALUES / 32;
                const unsigned group = part % PARTS * 2;
                const auto block = [&](unsigned row) -> const Q & {
                    // the last row repeats beyond the end
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
                if (!Q::FINE)
                    total += __shfl_xor_sync(0xffffffffu, total, 1);
                vector_parts[of].sum[half] = d * static_cast<float>(total);
                if (half == 0)
                    vector_parts[of].d = d;
                __syncthreads();

#pragma unroll 1
                for (unsigned piece = 0; piece < PIECES; ++piece) {
                    typename M::Sums dots[DOWN][ACROSS] = {};
#pragma unroll
                    for (unsigned depth = 0; depth < 32 / PIECES; depth += M::DEPTH) {
                        const unsigned from = GROUP * piece + depth;
                        // where an instruction takes more than one group, the other is zero
                        const bool mine = M::DEPTH <= 32 / PIECES || M::depth(lane) / GROUP == piece;
                        const unsigned at = (M::DEPTH <= 32 / PIECES ? from : 0) + M::depth(lane);
                        typename M::A left[DOWN];
                        typename M::B right[ACROSS];
                        for (unsigned i = 0; i < DOWN; ++i) {
                            const VectorPart &of = vector_parts[wave_vector + M::ROWS * i + M::a_row(lane)];
                            left[i] = M::load_a(reinterpret_cast<const int8_t *>(of.a) + at, sizeof of);
                            if (!mine)
                                left[i] = {};
                        }
                        for (unsigned j = 0; j < ACROSS; ++j) {
                            const RowPart &of = row_parts[wave_row + M::COLUMNS * j + M::b_column(lane)];
                            right[j] = M::load_b(reinterpret_cast<const int8_t *>(of.q) + at, sizeof of);
                        }
                        for (unsigned i = 0; i < DOWN; ++i)
                            for (unsigned j = 0; j < ACROSS; ++j)
                                M::multiply(dots[i][j], left[i], right[j]);
                    }
                    each([&](unsigned i, unsigned j, unsigned s, unsigned row, unsigned vector) {
                        const RowPart &left = row_parts[row];
                        const VectorPart &right = vector_parts[vector];
                        float &to = sum[i][j][s];
                        to = fmaf(right.d, left.d[piece] * static_cast<float>(dots[i][j].x[s]), to);
                        if (Q::OFFSET)
                            to = fmaf(left.m[piece], right.sum[piece], to);
                        if (s % 8 == 7)
                            no_loads_ahead();
                    });
                }
                __syncthreads();
            }
            for (unsigned pass = 0; pass < 2; ++pass) {
                each([&](unsigned i, unsigned j, unsigned s, unsigned row, unsigned vector) {
                    if (vector / (SIDE / 2) == pass)
                        results[vector % (SIDE / 2) * SIDE + row] = sum[i][j][s];
                });
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
