// Matrix multiplication: C = alpha * op(A) * op(B) + beta * C, by rows, any sizes, a batch of them; products of floats are summed in
// f32, of int8 in i32.
//
// A workgroup of 256 threads computes a SIDE by SIDE block of C. Its waves stand in two columns, and each has its part of C in
// registers. Both operands pass through LDS in blocks that are as deep as LDS allows.
#include "int4.cuh"

constexpr unsigned THREADS = 256;
// Bytes of both operands that a workgroup keeps in LDS, without what is between rows.
constexpr unsigned STAGED = 32 * 1024;

struct Shape {
    unsigned m, n, k, batches;
    size_t lda, ldb, ldc;
    // From one matrix of the batch to the next.
    size_t batch_a, batch_b, batch_c;
    // A is k×m in memory, B is n×k.
    unsigned transposed_a, transposed_b;
};

// How deep a block of operands is.
template <typename T, unsigned SIDE> constexpr unsigned DEPTH_OF = STAGED / 2 / SIDE / sizeof(T);

// Multiplies numbers of T, which the stagings make of the operands' elements.
template <typename T, typename AStage, typename BStage, typename Out, unsigned SIDE, typename A, typename B>
__device__ __forceinline__ void block_of(const Shape &shape, sum_t<T> alpha, const A &from_a, const B &from_b, sum_t<T> beta, Out *c,
                                         unsigned row0, unsigned column0) {
    constexpr unsigned DEPTH = DEPTH_OF<T, SIDE>, PITCH = AStage::PITCH;
    static_assert(PITCH == BStage::PITCH, "both operands lie in the same way");
    constexpr unsigned WAVE_ROWS = SIDE / (THREADS / WAVE / 2), WAVE_COLUMNS = SIDE / 2;
    using M = Matrix<T, WAVE_ROWS / (WAVE / 8), WAVE_COLUMNS / 8>;
    // How deep the waves multiply without looking whether there is more.
    constexpr unsigned STEP = 4 * M::DEPTH;
    constexpr unsigned DOWN = WAVE_ROWS / M::ROWS, ACROSS = WAVE_COLUMNS / M::COLUMNS;
    __shared__ alignas(16) unsigned char tiles[2 * SIDE * PITCH * sizeof(T)];
    T *a_tile = reinterpret_cast<T *>(tiles), *b_tile = a_tile + SIDE * PITCH;

    const unsigned lane = threadIdx.x % WAVE, wave = wave_index();
    const unsigned wave_row = wave / 2 * WAVE_ROWS, wave_column = wave % 2 * WAVE_COLUMNS;
    const T *a_piece = a_tile + (wave_row + M::a_row(lane)) * PITCH + M::depth(lane);
    const T *b_piece = b_tile + (wave_column + M::b_column(lane)) * PITCH + M::depth(lane);

    AStage a_stage(from_a, row0);
    BStage b_stage(from_b, column0);
    // Up to here, blocks pass through registers.
    const unsigned whole_depth = AStage::whole(from_a, row0) && BStage::whole(from_b, column0) ? shape.k / DEPTH * DEPTH : 0;
    if (whole_depth > 0) {
        a_stage.fetch(from_a, row0, 0);
        b_stage.fetch(from_b, column0, 0);
    }
    typename M::Sums sums[DOWN][ACROSS] = {};
#pragma unroll 1
    for (unsigned depth = 0; depth < shape.k; depth += DEPTH) {
        const unsigned used = min((shape.k - depth + STEP - 1) / STEP * STEP, DEPTH);
        if (depth < whole_depth) {
            a_stage.store(from_a, a_tile);
            b_stage.store(from_b, b_tile);
        } else {
            AStage::copy(from_a, row0, depth, used, a_tile);
            BStage::copy(from_b, column0, depth, used, b_tile);
        }
        __syncthreads();
        if (depth + DEPTH < whole_depth) {
            a_stage.fetch(from_a, row0, depth + DEPTH);
            b_stage.fetch(from_b, column0, depth + DEPTH);
        }
#pragma unroll 1
        for (unsigned from = 0; from < used; from += STEP) {
#pragma unroll
            for (unsigned d = 0; d < STEP; d += M::DEPTH) {
                typename M::A left[DOWN];
                typename M::B right[ACROSS];
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i)
                    left[i] = M::load_a(a_piece + i * M::ROWS * PITCH + from + d, PITCH);
#pragma unroll
                for (unsigned j = 0; j < ACROSS; ++j)
                    right[j] = M::load_b(b_piece + j * M::COLUMNS * PITCH + from + d, PITCH);
#pragma unroll
                for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
                    for (unsigned j = 0; j < ACROSS; ++j)
                        M::multiply(sums[i][j], left[i], right[j]);
            }
        }
        __syncthreads();
    }

    const unsigned first_row = row0 + wave_row, first_column = column0 + wave_column;
    const unsigned lane_row = M::lane_row(lane), lane_column = M::lane_column(lane);
    c += first_row * shape.ldc + first_column;
    // Calls `apply` with the place of each element within the wave's part, and with its sum.
    const auto each = [&](auto apply) {
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j)
#pragma unroll
                for (unsigned s = 0; s < M::SUMS; ++s)
                    apply(i * M::ROWS + M::step_row(s), j * M::COLUMNS + M::step_column(s), alpha * of_operands<T>(sums[i][j].x[s]));
    };
    const bool inside = first_row + WAVE_ROWS <= shape.m && first_column + WAVE_COLUMNS <= shape.n;
    // beta = 0 must not read C: it may hold anything, NaN included
    if (inside && beta == 0 && shape.ldc < LARGEST_NEAR_STRIDE) {
        const unsigned offset = (lane_row * static_cast<unsigned>(shape.ldc) + lane_column) * sizeof(Out);
        each([&](unsigned row, unsigned column, sum_t<T> product) {
            *reinterpret_cast<Out *>(reinterpret_cast<char *>(c + row * shape.ldc + column) + offset) = convert<Out>(product);
        });
    } else {
        each([&](unsigned row, unsigned column, sum_t<T> product) {
            row += lane_row, column += lane_column;
            if (first_row + row < shape.m && first_column + column < shape.n) {
                Out *at = c + row * shape.ldc + column;
                *at = convert<Out>(beta == 0 ? product : product + beta * load(at));
            }
        });
    }
}

// Calls `block` with the batch and the first row and column of each of the workgroup's blocks.
template <unsigned SIDE, typename Block> __device__ __forceinline__ void for_blocks(const Shape &shape, Block block) {
    // A grid has at most 65,535 blocks in its second and third dimension.
    for (size_t batch = blockIdx.z; batch < shape.batches; batch += gridDim.z)
        for (size_t row = static_cast<size_t>(blockIdx.y) * SIDE; row < shape.m; row += static_cast<size_t>(gridDim.y) * SIDE)
            block(batch, static_cast<unsigned>(row), blockIdx.x * SIDE);
}

// The elements of `From` are made into numbers of T on their way.
template <typename T, typename From, typename Out, unsigned SIDE>
__device__ __forceinline__ void gemm(const Shape &shape, sum_t<T> alpha, const From *a, const From *b, sum_t<T> beta, Out *c) {
    using Stage = Staging<T, SIDE, DEPTH_OF<T, SIDE>, THREADS, From>;
    for_blocks<SIDE>(shape, [&](size_t batch, unsigned row0, unsigned column0) {
        const Operand<From> from_a = {a + batch * shape.batch_a, shape.m, shape.k, shape.lda, shape.transposed_a != 0};
        const Operand<From> from_b = {b + batch * shape.batch_b, shape.n, shape.k, shape.ldb, shape.transposed_b == 0};
        block_of<T, Stage, Stage, Out, SIDE>(shape, alpha, from_a, from_b, beta, c + batch * shape.batch_c, row0, column0);
    });
}

#define GEMM(T, FROM, OUT, NAME, SIDE)                                                                                  \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_##NAME##_##SIDE(const Shape shape, const sum_t<T> alpha, const FROM *a, \
                                                                                  const FROM *b, const sum_t<T> beta, OUT *c) { \
        gemm<T, FROM, OUT, SIDE>(shape, alpha, a, b, beta, c);                                                         \
    }
#define GEMM_SIDES(T, FROM, OUT, NAME)                                                                                  \
    GEMM(T, FROM, OUT, NAME, 64)                                                                                        \
    GEMM(T, FROM, OUT, NAME, 128)
GEMM_SIDES(float, float, float, f32)
GEMM_SIDES(__half, __half, __half, f16)
GEMM_SIDES(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, bf16)
GEMM_SIDES(int8_t, int8_t, int, i8)
GEMM_SIDES(f8_factor, f8_e4m3, float, f8_e4m3)

// B is n×k numbers of 4 bits.
#define GEMM_INT4(T, NAME)                                                                                             \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_int4_##NAME(                                          \
        const Shape shape, const unsigned group_shift, const float alpha, const T *a, const uint8_t *b, const T *scales, const T *zeros, \
        const float beta, T *c) {                                                                                      \
        constexpr unsigned SIDE = 64, DEPTH = DEPTH_OF<T, SIDE>;                                                       \
        for_blocks<SIDE>(shape, [&](size_t, unsigned row0, unsigned column0) {                                         \
            const Operand<T> from_a = {a, shape.m, shape.k, shape.lda, false};                                         \
            const Int4Matrix<T> from_b = {b, scales, zeros, shape.n, shape.k, group_shift};                            \
            block_of<T, Staging<T, SIDE, DEPTH, THREADS>, Int4Staging<T, SIDE, DEPTH, THREADS>, T, SIDE>(              \
                shape, alpha, from_a, from_b, beta, c, row0, column0);                                                 \
        });                                                                                                            \
    }
GEMM_INT4(__half, f16)
GEMM_INT4(__nv_bfloat16, bf16)
