// D = alpha * op(A) * op(B) + beta * C as in matmul.cu, by blocks of a workgroup (`gemm.cuh`) instead of a wave's tiles: both operands pass through LDS,
// and an element is read once for each 64 or 128 rows of the other operand. Any operand may lie along the depth or across.
#include "../gemm.cuh"
#include "matmul.cuh"

// Stores sums to D, or to the memory of a part of the depth. D lies by columns, so its columns are the rows of a block.
template <typename T> struct ToColumns {
    using Number = sum_t<T>;
    const Shape &shape;
    const DepthPart &of;

    template <typename Part, typename Each> __device__ __forceinline__ void store(const Part &part, const Each &each) const {
        const Epilogue<Number> epilogue(shape);
        void *d = uniform(static_cast<char *>(shape.d.of(of.batch)));
        Number *partial = of.partial<Number>(shape);
        const bool shares = shape.partial != nullptr, plain = epilogue.beta == 0 && Epilogue<Number>::plain(shape);
        if (part.inside() && shape.rows < LARGEST_NEAR_STRIDE && shape.d_stride < LARGEST_NEAR_STRIDE) {
            if (shares || (plain && shape.d.type == TYPE_OF<Number>))
                return part.store(Rows<Number>{shares ? partial : static_cast<Number *>(d), shares ? shape.rows : shape.d_stride},
                                  shares ? Number(1) : epilogue.alpha, each);
            if constexpr (sizeof(T) == 2)
                if (plain && shape.d.type == shape.a.type)
                    return part.store(Rows<T>{static_cast<T *>(d), shape.d_stride}, epilogue.alpha, each);
        }
        const void *c = epilogue.beta == 0 ? nullptr : uniform(static_cast<char *>(shape.c.of(of.batch)));
        each_in_turn(part, each, [&](unsigned row, unsigned column, Number sum) {
            if (shares)
                partial[static_cast<size_t>(column) * shape.rows + row] = sum;
            else
                epilogue.finish(shape, c, d, row, column, sum);
        });
    }

    // Calls `finish` with the row and column in D of each element, and its sum. Sums pass through LDS, so that there is one piece of code for all.
    template <typename Part, typename Each, typename Finish>
    __device__ __forceinline__ static void each_in_turn(const Part &part, const Each &each, Finish finish) {
        constexpr unsigned MOST_ROWS = Part::BYTES / sizeof(Number) / Part::COLUMNS, ROWS = MOST_ROWS < Part::ROWS ? Part::ROWS / 2 : Part::ROWS;
        static_assert(ROWS <= MOST_ROWS, "half of the rows fit");
        Number *scratch = reinterpret_cast<Number *>(part.scratch);
#pragma unroll
        for (unsigned first = 0; first < Part::ROWS; first += ROWS) {
            each([&](unsigned row, unsigned column, Number sum) {
                // The lane's row does not leave the half.
                if (row / ROWS * ROWS == first)
                    scratch[(row % ROWS + part.lane_row) * Part::COLUMNS + column + part.lane_column] = sum;
            });
            wave_fence();
#pragma unroll 1
            for (unsigned e = threadIdx.x % WAVE; e < ROWS * Part::COLUMNS; e += WAVE) {
                const unsigned row = first + e / Part::COLUMNS, column = e % Part::COLUMNS;
                if (part.holds(row, column))
                    finish(part.column + column, part.row + row, scratch[e]);
            }
            wave_fence();
        }
    }
};

template <typename T, unsigned SIDE> __device__ __forceinline__ void block(const Shape &shape) {
    using Stage = Staging<T, SIDE, DEPTH_OF<T, SIDE>, THREADS>;
    const Epilogue<sum_t<T>> epilogue(shape);
    if (epilogue.changes_nothing(shape))
        return;
    // alpha = 0 must not read A and B
    const DepthPart of(shape, epilogue.alpha == 0 ? 0 : shape.depth);
    const auto operand = [&](const Memory &memory, unsigned rows, size_t stride, unsigned across) {
        const T *at = uniform(static_cast<const T *>(memory.of(of.batch))) + (across != 0 ? of.first * stride : of.first);
        return Operand<T>{at, rows, of.last - of.first, stride, across != 0};
    };
    const auto a = operand(shape.a, shape.rows, shape.a_stride, shape.a_across), b = operand(shape.b, shape.columns, shape.b_stride, shape.b_across);
    block_of<T, Stage, Stage, SIDE>(b, a, blockIdx.y * SIDE, blockIdx.x * SIDE, [&] { return ToColumns<T>{shape, of}; });
}

#define BLOCK(T, NAME, SIDE)                                                                                            \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void blas_blocks_##NAME##_##SIDE(const Shape shape) { block<T, SIDE>(shape); }
#define BLOCKS(T, NAME)                                                                                                 \
    BLOCK(T, NAME, 64)                                                                                                  \
    BLOCK(T, NAME, 128)
BLOCKS(float, f32)
BLOCKS(__half, f16)
BLOCKS(__nv_bfloat16, bf16)
BLOCKS(int8_t, i8)
#if defined(MATRIX_MFMA)
BLOCK(double, f64, 64)
#endif
