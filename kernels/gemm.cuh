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

// A wave's part of C: where it begins, where the lane's first element is in it, and how many rows and columns C has. Also LDS that is the wave's own now.
template <unsigned ROWS_OF_PART, unsigned COLUMNS_OF_PART, unsigned BYTES_OF_WAVE> struct PartOfC {
    static constexpr unsigned ROWS = ROWS_OF_PART, COLUMNS = COLUMNS_OF_PART, BYTES = BYTES_OF_WAVE;
    unsigned row, column, lane_row, lane_column, rows, columns;
    unsigned char *scratch;

    __device__ __forceinline__ bool inside() const { return row + ROWS <= rows && column + COLUMNS <= columns; }
    __device__ __forceinline__ bool holds(unsigned row_of_part, unsigned column_of_part) const {
        return row + row_of_part < rows && column + column_of_part < columns;
    }
    // Stores all of it, without bounds, to a matrix whose rows are near each other.
    template <typename Number, typename Out, typename Each>
    __device__ __forceinline__ void store(const Rows<Out> &c, Number alpha, const Each &each) const {
        const Rows<Out> place = c.behind(row, column);
        const unsigned offset = (lane_row * static_cast<unsigned>(c.stride) + lane_column) * sizeof(Out);
        each([&](unsigned row, unsigned column, Number sum) {
            *reinterpret_cast<Out *>(reinterpret_cast<char *>(place.row(row) + column) + offset) = convert<Out>(alpha * sum);
        });
    }
};

// How a product is used: C = alpha * product + beta * C.
template <typename Number, typename To> struct Result {
    Number alpha, beta;
    To c;

    // `each` calls what it is given with the row and column of each element, without the lane's, and its sum.
    template <typename Part, typename Each> __device__ __forceinline__ void store(const Part &part, const Each &each) const {
        using Out = typename To::Element;
        // beta = 0 must not read C: it may hold anything, NaN included
        if constexpr (To::REGULAR)
            if (part.inside() && beta == 0 && c.stride < LARGEST_NEAR_STRIDE)
                return part.store(c, alpha, each);
        const To place = c.behind(part.row, part.column);
        each([&](unsigned row, unsigned column, Number sum) {
            row += part.lane_row, column += part.lane_column;
            if (part.holds(row, column)) {
                Out *at = place.row(row) + column;
                *at = convert<Out>(beta == 0 ? alpha * sum : alpha * sum + beta * load(at));
            }
        });
    }
};

// A block of C. Multiplies numbers of T, to which the stagings convert the operands' elements; A has the rows of C, B its columns, and
// both have the same depth. `result` returns what stores the product, a `Result` or its like, and is called when the product is complete.
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

    constexpr unsigned WAVE_BYTES = sizeof(tiles) / (THREADS / WAVE) / 16 * 16;
    using Part = PartOfC<WAVE_ROWS, WAVE_COLUMNS, WAVE_BYTES>;
    const Part part = {row0 + wave_row, column0 + wave_column, M::lane_row(lane), M::lane_column(lane), from_a.rows, from_b.rows, tiles + wave * WAVE_BYTES};
    result().store(part, [&](auto apply) {
#pragma unroll
        for (unsigned i = 0; i < DOWN; ++i)
#pragma unroll
            for (unsigned j = 0; j < ACROSS; ++j)
#pragma unroll
                for (unsigned s = 0; s < M::SUMS; ++s)
                    apply(i * M::ROWS + M::step_row(s), j * M::COLUMNS + M::step_column(s), of_operands<T>(sums[i][j].x[s]));
    });
}
