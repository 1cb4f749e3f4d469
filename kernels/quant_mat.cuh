// Products of a quantised matrix with many vectors of Q8_1 blocks: tiles in LDS, products of bytes by the target's matrix instructions,
// sums in registers.
#pragma once
#include "nvidia.cuh"
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

// A thread has half of a row's part, and half of a vector's.
static_assert(SIDE * 2 == MAT_THREADS && SIDE * 2 * QUADS / MAT_THREADS == QUADS);

#if defined(NVIDIA_MMA)
// Parts of 64 rows, or vectors, as they are in memory: NVIDIA's hardware reads few bytes of many rows slowly. 16 bytes at a time are copied, from
// a multiple of 16 on, so that a row begins up to 15 bytes later in shared memory. A thread copies, and reads, its own row.
template <typename Block> struct RawTile {
    static constexpr unsigned PARTS = 8, OF_BLOCK = Block::VALUES / 32, BYTES = PARTS / OF_BLOCK * sizeof(Block);
    // An odd number of times 16 bytes, so that rows begin in different banks.
    static constexpr unsigned PITCH = ((BYTES + 15 + 15) / 16 | 1) * 16;
    const char *row;
    char *tile;

    __device__ __forceinline__ const char *place(unsigned part) const { return row + part / OF_BLOCK * sizeof(Block); }
    __device__ __forceinline__ char *line() const { return tile + (threadIdx.y * 32 + threadIdx.x) / 2 * PITCH; }
    // Begins to copy the parts from `part` on.
    __device__ __forceinline__ void copy(unsigned part, unsigned parts) const {
        const char *at = place(part);
        const unsigned skipped = static_cast<unsigned>(reinterpret_cast<uint64_t>(at) % 16);
        const unsigned bytes = skipped + min(parts - part, PARTS) / OF_BLOCK * sizeof(Block), to = nvidia::shared_address(line());
#pragma unroll
        for (unsigned i = 0; i < PITCH; i += 32) {
            const unsigned begin = i + threadIdx.x % 2 * 16;
            if (begin < bytes)
                nvidia::copy_chunk(to + begin, at - skipped + begin, min(bytes - begin, 16u));
        }
    }
    // The block of a part that has been copied.
    __device__ __forceinline__ const Block &block(unsigned part) const {
        const unsigned skipped = static_cast<unsigned>(reinterpret_cast<uint64_t>(place(part / PARTS * PARTS)) % 16);
        return *reinterpret_cast<const Block *>(line() + skipped + part % PARTS / OF_BLOCK * sizeof(Block));
    }
};
#endif

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
            // what a thread loads of each part: quads, half of a row's scales, and half of a vector
            constexpr unsigned FETCHED = SIDE * 2 * QUADS / MAT_THREADS, PARTS = Q::VALUES / 32;
            const unsigned of = thread / 2, half = thread % 2;
            [[maybe_unused]] const unsigned quad = thread % (2 * QUADS);
            const Q8_1 *vector = y + static_cast<size_t>(order.vector(min(vector0 + of, vectors.end - 1))) * y_stride;
            // the last row repeats beyond the end
            const auto row_at = [&](unsigned row) { return x + (first_row + min(row0 + row, rows.end - 1)) * (columns / Q::VALUES); };
#if defined(NVIDIA_MMA)
            __shared__ alignas(16) char raw[SIDE * (RawTile<Q>::PITCH + RawTile<Q8_1>::PITCH)];
            const RawTile<Q> raw_rows = {reinterpret_cast<const char *>(row_at(of)), raw};
            const RawTile<Q8_1> raw_vectors = {reinterpret_cast<const char *>(vector), raw + SIDE * RawTile<Q>::PITCH};
#endif
#pragma unroll 1
            for (unsigned part = 0; part < columns / 32; ++part) {
                const unsigned group = part % PARTS * 2;
                uint32_t q[FETCHED], a[QUADS];
#if defined(NVIDIA_MMA)
                if (part % RawTile<Q>::PARTS == 0) {
                    raw_rows.copy(part, columns / 32);
                    raw_vectors.copy(part, columns / 32);
                    nvidia::end_copies();
                    nvidia::wait_for_copies<0>();
                    __syncwarp();
                }
                const Q &own = raw_rows.block(part);
                const Q8_1 &values = raw_vectors.block(part);
                // the quads whose scale the thread has
                const auto place_of = [&](unsigned i) -> uint32_t & { return row_parts[of].q[half][i]; };
                for (unsigned i = 0; i < QUADS; ++i)
                    q[i] = own.quad(group + half, i), a[i] = word_at(values.qs + GROUP * half + 4 * i);
#else
                const Q &own = row_at(of)[part / PARTS];
                const Q8_1 &values = vector[part];
                const auto place_of = [&](unsigned i) -> uint32_t & { return row_parts[(thread + i * MAT_THREADS) / (2 * QUADS)].q[quad / QUADS][quad % QUADS]; };
                for (unsigned i = 0; i < FETCHED; ++i)
                    q[i] = row_at((thread + i * MAT_THREADS) / (2 * QUADS))[part / PARTS].quad(group + quad / QUADS, quad % QUADS);
                __builtin_memcpy(a, values.qs + GROUP * half, sizeof a);
#endif
                const Scale scale = own.scale(group + half);
                const float d = half_at(values.d);

                for (unsigned i = 0; i < FETCHED; ++i)
                    place_of(i) = q[i];
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
                        const unsigned at = (M::DEPTH <= 32 / PIECES ? from : 0) + M::depth(lane);
                        typename M::A left[DOWN];
                        typename M::B right[ACROSS];
#pragma unroll
                        for (unsigned i = 0; i < DOWN; ++i) {
                            const VectorPart &of = vector_parts[wave_vector + M::ROWS * i + M::a_row(lane)];
                            left[i] = M::load_a(reinterpret_cast<const int8_t *>(of.a) + at, sizeof of);
                            // where an instruction takes more than one group, the other is zero
                            if constexpr (M::DEPTH > 32 / PIECES)
                                M::keep_half(left[i], lane, piece);
                        }
#pragma unroll
                        for (unsigned j = 0; j < ACROSS; ++j) {
                            const RowPart &of = row_parts[wave_row + M::COLUMNS * j + M::b_column(lane)];
                            right[j] = M::load_b(reinterpret_cast<const int8_t *>(of.q) + at, sizeof of);
                        }
#pragma unroll
                        for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
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
                        if (!NVIDIA && s % 8 == 7)
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
