// Matrices element by element, and the diagonal blocks of triangular systems with many right sides.
#include "vector.cuh"

// `Grid` of crates/blas-on-kernels/src/level3.rs: a matrix with its steps.
struct Grid {
    Memory operand;
    int64_t row, column; // elements from one row to the next, from one column to the next
    unsigned conjugate;
};
template <typename T> __device__ __forceinline__ T get(const Grid &m, const void *p, int64_t i, int64_t j) {
    const T x = read<T>(p, m.operand.type, i * m.row + j * m.column);
    return m.conjugate != 0 ? Number<T>::conj(x) : x;
}

// CLEAR: C becomes zero if alpha is zero, and is otherwise unchanged.
enum Combination : unsigned { SUM, LEFT_DIAGONAL, RIGHT_DIAGONAL, IDENTITY, CLEAR };

// `Combined` of crates/blas-on-kernels/src/level3.rs.
struct Combined {
    int64_t m, n;
    Grid a, b, c;
    Vector x; // the diagonal of a matrix
    Factor alpha, beta;
    unsigned combination, batches;
    unsigned triangle; // of C: 0 all, 1 upper, 2 lower
    unsigned cleared;  // the rest of C becomes zero
};

template <typename T> __device__ __forceinline__ void combine(const Combined &given) {
    constexpr unsigned ROWS = 64, COLUMNS = THREADS / ROWS;
    if (given.combination == CLEAR && !(value<T>(given.alpha) == zero<T>()))
        return;
    const int64_t row_tiles = (given.m + ROWS - 1) / ROWS, tiles = row_tiles * ((given.n + COLUMNS - 1) / COLUMNS);
    for (size_t batch = blockIdx.y; batch < read_again(given).batches; batch += gridDim.y)
        for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Combined &by = read_again(given);
            const int64_t across = tile / row_tiles;
            const int64_t i = (tile - across * row_tiles) * ROWS + threadIdx.x % ROWS, j = across * COLUMNS + threadIdx.x / ROWS;
            if (i >= by.m || j >= by.n)
                continue;
            const bool outside = by.triangle == 1 ? i > j : by.triangle == 2 && i < j;
            if (outside && by.cleared == 0)
                continue;
            T result = zero<T>();
            if (outside || by.combination == CLEAR) {
                // zero
            } else if (by.combination == IDENTITY) {
                result = i == j ? one<T>() : zero<T>();
            } else if (by.combination == SUM) {
                const T alpha = value<T>(by.alpha), beta = value<T>(by.beta);
                // Neither matrix is read where its factor is zero.
                if (!(alpha == zero<T>()))
                    result = alpha * get<T>(by.a, by.a.operand.of(batch), i, j);
                if (!(beta == zero<T>()))
                    result = result + beta * get<T>(by.b, by.b.operand.of(batch), i, j);
            } else {
                const Elements<T> x(by.x, batch);
                result = get<T>(by.a, by.a.operand.of(batch), i, j) * x.get(by.combination == LEFT_DIAGONAL ? i : j);
            }
            write<T>(by.c.operand.of(batch), by.c.operand.type, i * by.c.row + j * by.c.column, result);
        }
}

// `Block` of crates/blas-on-kernels/src/level3.rs: A * X = B, where X replaces B and A has at most SIDE rows.
struct Block {
    int64_t m, n;
    Grid a, b;
    unsigned lower, unit, batches;
};

template <typename T> __device__ __forceinline__ void solve_block(const Block &by) {
    constexpr unsigned SIDE = 32, COLUMNS = 64, PARTS = THREADS / COLUMNS;
    // Elements of 16 bytes have no gap: 48 KiB are all that there may be on NVIDIA.
    __shared__ T triangle[SIDE][SIDE + (sizeof(T) < 16)], right[SIDE][COLUMNS];
    const bool lower = by.lower != 0;
    const unsigned m = static_cast<unsigned>(by.m), column = threadIdx.x % COLUMNS, part = threadIdx.x / COLUMNS;
    const auto place = [&](unsigned i) { return lower ? i : m - 1 - i; };
    for (size_t batch = blockIdx.y; batch < by.batches; batch += gridDim.y) {
        const void *a = by.a.operand.of(batch);
        void *b = by.b.operand.of(batch);
        for (unsigned at = threadIdx.x; at < m * m; at += THREADS) {
            const unsigned i = at % m, j = at / m;
            // Elements outside the triangle are not read, nor is a diagonal of ones.
            if (j < i || (j == i && by.unit == 0))
                triangle[i][j] = get<T>(by.a, a, place(i), place(j));
        }
        for (int64_t column0 = static_cast<int64_t>(blockIdx.x) * COLUMNS; column0 < by.n; column0 += static_cast<int64_t>(gridDim.x) * COLUMNS) {
            const int64_t j = column0 + column;
            for (unsigned i = part; i < m; i += PARTS)
                right[i][column] = j < by.n ? get<T>(by.b, b, place(i), j) : zero<T>();
            for (unsigned r = 0; r < m; ++r) {
                __syncthreads();
                if (part == 0 && by.unit == 0)
                    right[r][column] = right[r][column] / triangle[r][r];
                __syncthreads();
                const T known = right[r][column];
                for (unsigned i = r + 1 + part; i < m; i += PARTS)
                    right[i][column] = right[i][column] - triangle[i][r] * known;
            }
            __syncthreads();
            if (j < by.n)
                for (unsigned i = part; i < m; i += PARTS)
                    write<T>(b, by.b.operand.type, place(i) * by.b.row + j * by.b.column, right[i][column]);
            __syncthreads();
        }
    }
}

#define LEVEL3(T, NAME)                                                                                                 \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_combine_##NAME(const Combined by) { combine<T>(by); }      \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_block_##NAME(const Block by) { solve_block<T>(by); }
LEVEL3(float, f32)
LEVEL3(double, f64)
LEVEL3(Complex<float>, c32)
LEVEL3(Complex<double>, c64)
