// D = alpha * op(A) * op(B) + beta * C of any types, strides and batches, of which A may be symmetric, Hermitian or triangular, and of D a
// triangle may be meant.
//
// A workgroup computes 64 by 64 elements of D, a thread 4 by 4 of them. Both operands pass through LDS. Where D is small and the depth
// large, several workgroups share the depth, and a second kernel adds what they have in order.
#include "number.cuh"

constexpr unsigned THREADS = 256;
constexpr unsigned SIDE = 64;
constexpr unsigned EACH = 4;

// `Matrix` of crates/blas-on-kernels/src/gemm/launch.rs.
struct Matrix {
    Memory operand;
    int64_t row, column; // elements from one row to the next, from one column to the next
    unsigned conjugate;
    // Where A has a structure: which triangle is there, and whether its diagonal is all ones.
    unsigned structure, upper, unit;
};

struct Shape {
    int64_t m, n, k;
    Matrix a, b, c, d;
    Factor alpha, beta;
    // Sums of each part of the depth and product of the batch, by columns, instead of D.
    void *partial;
    int64_t part; // depth of a part
    unsigned parts, batches;
    unsigned triangle;  // of D: 0 all, 1 upper, 2 lower
    unsigned hermitian; // D's diagonal is real
};

template <typename T> __device__ __forceinline__ T element(const Matrix &m, const void *p, int64_t i, int64_t j) {
    bool conjugate = m.conjugate != 0;
    if (m.structure != GENERAL) {
        if (m.upper != 0 ? i > j : i < j) {
            if (m.structure == TRIANGULAR)
                return zero<T>();
            const int64_t other = i;
            i = j;
            j = other;
            conjugate ^= m.structure == HERMITIAN;
        }
        if (i == j && m.structure == TRIANGULAR && m.unit != 0)
            return one<T>();
    }
    const T x = read<T>(p, m.operand.type, i * m.row + j * m.column);
    if (i == j && m.structure == HERMITIAN)
        return Number<T>::real(x);
    return conjugate ? Number<T>::conj(x) : x;
}

template <typename T> __device__ __forceinline__ bool wanted(const Shape &shape, int64_t i, int64_t j) {
    return i < shape.m && j < shape.n && (shape.triangle == 0 || (shape.triangle == 1 ? i <= j : i >= j));
}

// Writes an element of D from its sum.
template <typename T> __device__ __forceinline__ void finish(const Shape &shape, const void *c, void *d, int64_t i, int64_t j, T alpha, T sum, T beta) {
    T result = alpha * sum;
    // beta = 0 must not read C: it may hold anything, NaN included
    if (!(beta == zero<T>())) {
        T old = read<T>(c, shape.c.operand.type, i * shape.c.row + j * shape.c.column);
        if (shape.hermitian != 0 && i == j)
            old = Number<T>::real(old);
        result = result + beta * old;
    }
    if (shape.hermitian != 0 && i == j)
        result = Number<T>::real(result);
    write<T>(d, shape.d.operand.type, i * shape.d.row + j * shape.d.column, result);
}

// Whether D is C as it is: nothing is there to be read or written.
template <typename T> __device__ __forceinline__ bool changes_nothing(const Shape &shape) {
    return value<T>(shape.alpha) == zero<T>() && value<T>(shape.beta) == one<T>() && shape.c.operand.at == shape.d.operand.at;
}

template <typename T> __device__ __forceinline__ void gemm(const Shape &given) {
    constexpr unsigned DEPTH = sizeof(T) > 8 ? 8 : 16, PITCH = SIDE + 1;
    // As many operands as there are registers for are read at once.
    constexpr unsigned UNROLLED = sizeof(T) > 8 ? 1 : 4;
    __shared__ T tiles[2][DEPTH][PITCH];
    if (changes_nothing<T>(given))
        return;
    const unsigned thread = threadIdx.x, across = thread % 16, down = thread / 16;
    const int64_t row_tiles = (given.m + SIDE - 1) / SIDE, all = row_tiles * ((given.n + SIDE - 1) / SIDE);
    for (size_t product = blockIdx.y; product < static_cast<size_t>(read_again(given).batches) * read_again(given).parts; product += gridDim.y) {
        for (int64_t tile = blockIdx.x; tile < all; tile += gridDim.x) {
            const Shape &shape = read_again(given);
            const size_t batch = product / shape.parts;
            const unsigned part = static_cast<unsigned>(product - batch * shape.parts);
            // alpha = 0 must not read A and B.
            const bool sums_wanted = !(value<T>(shape.alpha) == zero<T>());
            const void *a = sums_wanted ? shape.a.operand.of(batch) : nullptr, *b = sums_wanted ? shape.b.operand.of(batch) : nullptr;
            const int64_t tile_column = tile / row_tiles, row0 = (tile - tile_column * row_tiles) * SIDE, column0 = tile_column * SIDE;
            if (shape.triangle == 1 ? row0 > column0 : shape.triangle == 2 && row0 < column0)
                continue;
            int64_t first = part * shape.part, last = min(first + shape.part, shape.k);
            if (shape.a.structure == TRIANGULAR) {
                if (shape.a.upper != 0)
                    first = max(first, row0);
                else
                    last = min(last, row0 + SIDE);
            }
            T sums[EACH][EACH];
            for (unsigned i = 0; i < EACH; ++i)
                for (unsigned j = 0; j < EACH; ++j)
                    sums[i][j] = zero<T>();
            if (!sums_wanted)
                last = first;
#pragma unroll 1
            for (int64_t depth = first; depth < last; depth += DEPTH) {
                // Neighbouring threads read neighbouring memory, whichever way it lies.
                const bool a_by_rows = shape.a.row <= shape.a.column, b_by_columns = shape.b.column <= shape.b.row;
#pragma unroll
                for (unsigned i = 0; i < SIDE * DEPTH / THREADS; ++i) {
                    const unsigned at = thread + i * THREADS;
                    unsigned row = a_by_rows ? at % SIDE : at / DEPTH, deep = a_by_rows ? at / SIDE : at % DEPTH;
                    tiles[0][deep][row] = row0 + row < shape.m && depth + deep < last ? element<T>(shape.a, a, row0 + row, depth + deep) : zero<T>();
                    row = b_by_columns ? at % SIDE : at / DEPTH, deep = b_by_columns ? at / SIDE : at % DEPTH;
                    T x = zero<T>();
                    if (column0 + row < shape.n && depth + deep < last)
                        x = read<T>(b, shape.b.operand.type, (depth + deep) * shape.b.row + (column0 + row) * shape.b.column);
                    tiles[1][deep][row] = shape.b.conjugate != 0 ? Number<T>::conj(x) : x;
                }
                __syncthreads();
#pragma unroll UNROLLED
                for (unsigned deep = 0; deep < DEPTH; ++deep) {
                    T left[EACH], right[EACH];
#pragma unroll
                    for (unsigned i = 0; i < EACH; ++i)
                        left[i] = tiles[0][deep][across + 16 * i], right[i] = tiles[1][deep][down + 16 * i];
#pragma unroll
                    for (unsigned i = 0; i < EACH; ++i)
#pragma unroll
                        for (unsigned j = 0; j < EACH; ++j)
                            sums[i][j] = sums[i][j] + left[i] * right[j];
                }
                __syncthreads();
            }
            const Shape &to = read_again(given);
            const T alpha = value<T>(to.alpha), beta = value<T>(to.beta);
            const void *c = beta == zero<T>() || to.partial != nullptr ? nullptr : to.c.operand.of(batch);
            void *d = to.partial != nullptr ? nullptr : to.d.operand.of(batch);
#pragma unroll
            for (unsigned j = 0; j < EACH; ++j)
#pragma unroll
                for (unsigned i = 0; i < EACH; ++i) {
                    const int64_t row = row0 + across + 16 * i, column = column0 + down + 16 * j;
                    if (!wanted<T>(to, row, column))
                        continue;
                    if (to.partial != nullptr)
                        static_cast<T *>(to.partial)[(product * to.n + column) * to.m + row] = sums[i][j];
                    else
                        finish<T>(to, c, d, row, column, alpha, sums[i][j], beta);
                }
        }
    }
}

// Adds the parts of the depth.
template <typename T> __device__ __forceinline__ void add(const Shape &given) {
    if (changes_nothing<T>(given))
        return;
    const int64_t all = given.m * given.n;
    for (size_t batch = blockIdx.y; batch < read_again(given).batches; batch += gridDim.y) {
        FOR_EACH_ELEMENT(at, static_cast<size_t>(all)) {
            const Shape &shape = read_again(given);
            const T alpha = value<T>(shape.alpha), beta = value<T>(shape.beta);
            const T *partial = static_cast<const T *>(shape.partial) + batch * shape.parts * all;
            const int64_t j = at / shape.m, i = at - j * shape.m;
            if (!wanted<T>(shape, i, j))
                continue;
            T sum = partial[at];
            for (unsigned part = 1; part < shape.parts; ++part)
                sum = sum + partial[part * all + at];
            finish<T>(shape, beta == zero<T>() ? nullptr : shape.c.operand.of(batch), shape.d.operand.of(batch), i, j, alpha, sum, beta);
        }
    }
}

#define GEMM(T, NAME)                                                                                                   \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_gemm_##NAME(const Shape shape) { gemm<T>(shape); }         \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_gemm_add_##NAME(const Shape shape) { add<T>(shape); }
GEMM(float, f32)
GEMM(double, f64)
GEMM(Complex<float>, c32)
GEMM(Complex<double>, c64)
GEMM(int, i32)
