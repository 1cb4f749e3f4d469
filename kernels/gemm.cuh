// A block of a product of matrices, C = alpha * A * B + beta * C, by a workgroup of 256 threads; products of floats are summed in f32,
// those of int8 in i32.
//
// The workgroup's waves form two columns, and each has its part of C in registers. Both operands pass through LDS in blocks that are as
// deep as LDS allows.
#pragma once
#include "staging.cuh"

constexpr unsigned THREADS = 256;
// Bytes of both operands that a workgroup keeps in LDS, without the gaps between rows.
constexpr unsigned STAGED = 32 * 1024;

// The depth of a block of operands.
template <typename T, unsigned SIDE> constexpr unsigned DEPTH_OF = STAGED / 2 / SIDE / sizeof(T);

// A matrix to be written: where its rows begin. These are `stride` apart.
template <typename Out> struct Rows {
    using Element = Out;
    static constexpr bool REGULAR = true;
    Out *at;
    size_t stride;

    __device__ __forceinline__ Out *row(unsigned index) const { return at + index * stride; }
    // The matrix beginning at a place.
    __device__ __forceinline__ Rows behind(unsigned row0, unsigned column0) const { return {row(row0) + column0, stride}; }
};

// How a product is used: C = alpha * product + beta * C.
template <typename Number, typename To> struct Result {
    Number alpha, beta;
    To c;
};

// A block of C. Multiplies numbers of T, to which the stagings convert the operands' elements; A has the rows of C, B its columns, and
// both have the same depth. `result` returns the `Result`, and is called when the product is complete.
template <typename T, typename AStage, typename BStage, unsigned SIDE, typename A, typename B, typename GiveResult>
__device__ __forceinline__ void block_of(const A &from_a, const B &from_b, unsigned row0, unsigned column0, GiveResult result) {
    constexpr unsigned DEPTH = DEPTH_OF<T, SIDE>, PITCH = AStage::PITCH;
    static_assert(PITCH == BStage::PITCH, "both operands lie in the same way");
    constexpr unsigned WAVE_ROWS = SIDE / (THREADS / WAVE / 2), WAVE_COLUMNS = SIDE / 2;
    using M = Matrix<T, WAVE_ROWS / (WAVE / 8), WAVE_COLUMNS / 8>;
    // The depth that the waves multiply without checking whether there is more.
    constexpr unsigned STEP = 4 * M::DEPTH;
    constexpr unsigned DOWN = WAVE_ROWS / M::ROWS, ACROSS = WAVE_COLUMNS / M::COLUMNS;
    __shared__ alignas(16) unsigned char tiles[2 * SIDE * PITCH * sizeof(T)];
    T *a_tile = reinterpret_cast<T *>(tiles), *b_tile = a_tile + SIDE * PITCH;

    const unsigned lane = threadIdx.x % WAVE, wave = wave_index();
    const unsigned wave_row = wave / 2 * WAVE_ROWS, wave_column = wave % 2 * WAVE_COLUMNS;
    const T *a_piece = a_tile + (wave_row + M::a_row(lane)) * PITCH + M::depth(lane);
    const T *b_piece = b_tile + (wave_column + M::b_column(lane)) * PITCH + M::depth(lane);

    const unsigned depths = from_a.depth;
    AStage a_stage(from_a, row0);
    BStage b_stage(from_b, column0);
    // Up to here, blocks pass through registers.
    const unsigned whole_depth = AStage::whole(from_a, row0) && BStage::whole(from_b, column0) ? depths / DEPTH * DEPTH : 0;
    if (whole_depth > 0) {
        a_stage.fetch(from_a, row0, 0);
        b_stage.fetch(from_b, column0, 0);
    }
    typename M::Sums sums[DOWN][ACROSS] = {};
#pragma unroll 1
    for (unsigned depth = 0; depth < depths; depth += DEPTH) {
        const unsigned used = min((depths - depth + STEP - 1) / STEP * STEP, DEPTH);
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

    const auto given = result();
    const auto alpha = given.alpha, beta = given.beta;
    const auto &c = given.c;
    using To = decltype(given.c);
    using Out = typename To::Element;
    const unsigned first_row = row0 + wave_row, first_column = column0 + wave_column;
    const unsigned lane_row = M::lane_row(lane), lane_column = M::lane_column(lane);
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
    const To part = c.behind(first_row, first_column);
    if constexpr (To::REGULAR) {
        const bool inside = first_row + WAVE_ROWS <= from_a.rows && first_column + WAVE_COLUMNS <= from_b.rows;
        // beta = 0 must not read C: it may hold anything, NaN included
        if (inside && beta == 0 && c.stride < LARGEST_NEAR_STRIDE) {
            const unsigned offset = (lane_row * static_cast<unsigned>(c.stride) + lane_column) * sizeof(Out);
            each([&](unsigned row, unsigned column, sum_t<T> product) {
                *reinterpret_cast<Out *>(reinterpret_cast<char *>(part.row(row) + column) + offset) = convert<Out>(product);
            });
            return;
        }
    }
    each([&](unsigned row, unsigned column, sum_t<T> product) {
        row += lane_row, column += lane_column;
        if (first_row + row < from_a.rows && first_column + column < from_b.rows) {
            Out *at = part.row(row) + column;
            *at = convert<Out>(beta == 0 ? product : product + beta * load(at));
        }
    });
}
