// D = alpha * op(A) * op(B) + beta * C of any types, strides and batches. A may be symmetric, Hermitian or triangular, and the result may
// be limited to a triangle of D.
//
// A workgroup computes 64 by 64 elements of D, a thread 4 by 4 of them. Both operands pass through LDS. Where D is small and the depth
// large, several workgroups share the depth, and a second kernel adds their sums in order.
//
// Distances (`geam_ex`) are computed in the same way, with other operations instead of multiplication and addition.
#include "float8.cuh"

constexpr unsigned THREADS = 256;
constexpr unsigned SIDE = 64;
constexpr unsigned EACH = 4;

// `Matrix` of crates/blas-on-kernels/src/gemm/launch.rs.
struct Matrix {
    Memory operand;
    int64_t row, column; // elements from one row to the next, from one column to the next
    unsigned conjugate;
    // If A has a structure: which triangle is stored, and whether its diagonal is all ones.
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

// Element `i` of A or B: of a type that is computed in T, or of f32 if `NARROW`: f64 has a separate kernel for that.
template <typename T, bool NARROW> __device__ __forceinline__ T read_operand(const void *p, unsigned type, int64_t i) {
    if constexpr (NARROW) {
        if (type == F32)
            return static_cast<T>(static_cast<const float *>(p)[i]);
    }
    return read<T>(p, type, i);
}
// The same for C and D, which may also have 8 bits.
template <typename T, bool NARROW> __device__ __forceinline__ T read_result(const void *p, unsigned type, int64_t i) {
    if constexpr (NARROW)
        return read_operand<T, NARROW>(p, type, i);
    else
        return read_any<T>(p, type, i);
}
template <typename T, bool NARROW> __device__ __forceinline__ void write_result(void *p, unsigned type, int64_t i, T x) {
    if constexpr (NARROW) {
        if (type == F32) {
            static_cast<float *>(p)[i] = static_cast<float>(x);
            return;
        }
    }
    write_any<T>(p, type, i, x);
}

template <typename T, bool NARROW> __device__ __forceinline__ T element(const Matrix &m, const void *p, int64_t i, int64_t j) {
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
    const T x = read_operand<T, NARROW>(p, m.operand.type, i * m.row + j * m.column);
    if (i == j && m.structure == HERMITIAN)
        return Number<T>::real(x);
    return conjugate ? Number<T>::conj(x) : x;
}

template <typename T> __device__ __forceinline__ bool wanted(const Shape &shape, int64_t i, int64_t j) {
    return i < shape.m && j < shape.n && (shape.triangle == 0 || (shape.triangle == 1 ? i <= j : i >= j));
}

// The operations of a product.
template <typename T> struct Products {
    // Whether matrices have another type than T.
    static constexpr bool NARROW = false;
    // Whether alpha = 0 and beta = 1 leave C as it is.
    static constexpr bool KEEPS = true;
    static __device__ __forceinline__ T none() { return zero<T>(); }
    // The value used for elements beyond the matrices.
    static __device__ __forceinline__ T beyond() { return zero<T>(); }
    // An element of A or B as it is combined with others.
    static __device__ __forceinline__ T operand(T, T x) { return x; }
    static __device__ __forceinline__ T step(T sum, T left, T right) { return sum + left * right; }
    static __device__ __forceinline__ T both(T sum, T other) { return sum + other; }
    static __device__ __forceinline__ T scaled(T alpha, T sum) { return alpha * sum; }
    static __device__ __forceinline__ T with_none(T result) { return result; }
};

// The same for matrices that are narrower than the type that they are multiplied in.
template <typename T> struct NarrowProducts : Products<T> {
    static constexpr bool NARROW = true;
};

// The operations of `geam_ex`: min(alpha * (A + B), beta * C) and the sum of min(alpha * A, alpha * B), plus beta * C. With a negative
// alpha, operands change their signs. The minimum of a number and NaN is the number.
template <typename T> __device__ __forceinline__ T signed_as(T alpha, T x) { return alpha < 0 ? -x : x; }
template <typename T> struct MinPlus {
    static constexpr bool NARROW = false;
    static constexpr bool KEEPS = false;
    static __device__ __forceinline__ T none() { return static_cast<T>(INFINITY); }
    static __device__ __forceinline__ T beyond() { return none(); }
    static __device__ __forceinline__ T operand(T alpha, T x) { return signed_as(alpha, x); }
    static __device__ __forceinline__ T step(T least, T left, T right) { return both(least, left + right); }
    static __device__ __forceinline__ T both(T least, T other) { return fmin(least, other); }
    // A and B are not read where alpha = 0.
    static __device__ __forceinline__ T scaled(T alpha, T least) { return alpha == 0 ? T(0) : fabs(alpha) * least; }
    static __device__ __forceinline__ T with_none(T result) { return both(result, 0); }
};
template <typename T> struct PlusMin {
    static constexpr bool NARROW = false;
    static constexpr bool KEEPS = true;
    static __device__ __forceinline__ T none() { return 0; }
    static __device__ __forceinline__ T beyond() { return 0; }
    static __device__ __forceinline__ T operand(T alpha, T x) { return signed_as(alpha, x); }
    static __device__ __forceinline__ T step(T sum, T left, T right) { return both(sum, fmin(left, right)); }
    static __device__ __forceinline__ T both(T sum, T other) { return sum + other; }
    static __device__ __forceinline__ T scaled(T alpha, T sum) { return fabs(alpha) * sum; }
    static __device__ __forceinline__ T with_none(T result) { return result; }
};

// Writes an element of D from its sum.
template <typename T, typename Of> __device__ __forceinline__ void finish(const Shape &shape, const void *c, void *d, int64_t i, int64_t j, T alpha, T sum, T beta) {
    T result = Of::scaled(alpha, sum);
    // beta = 0 must not read C: it may hold anything, NaN included
    if (!(beta == zero<T>())) {
        T old = read_result<T, Of::NARROW>(c, shape.c.operand.type, i * shape.c.row + j * shape.c.column);
        if (shape.hermitian != 0 && i == j)
            old = Number<T>::real(old);
        result = Of::both(result, beta * old);
    } else {
        result = Of::with_none(result);
    }
    if (shape.hermitian != 0 && i == j)
        result = Number<T>::real(result);
    write_result<T, Of::NARROW>(d, shape.d.operand.type, i * shape.d.row + j * shape.d.column, result);
}

// Whether D is C unchanged: then nothing is read or written.
template <typename T, typename Of> __device__ __forceinline__ bool changes_nothing(const Shape &shape) {
    return Of::KEEPS && value<T>(shape.alpha) == zero<T>() && value<T>(shape.beta) == one<T>() && shape.c.operand.at == shape.d.operand.at;
}

template <typename T, typename Of> __device__ __forceinline__ void gemm(const Shape &given) {
    constexpr unsigned DEPTH = sizeof(T) > 8 ? 8 : 16, PITCH = SIDE + 1;
    // Reads as many operands at once as the registers allow.
    constexpr unsigned UNROLLED = sizeof(T) > 8 ? 1 : 4;
    __shared__ T tiles[2][DEPTH][PITCH];
    if (changes_nothing<T, Of>(given))
        return;
    const unsigned thread = threadIdx.x, across = thread % 16, down = thread / 16;
    const int64_t row_tiles = (given.m + SIDE - 1) / SIDE, all = row_tiles * ((given.n + SIDE - 1) / SIDE);
    for (size_t product = blockIdx.y; product < static_cast<size_t>(read_again(given).batches) * read_again(given).parts; product += gridDim.y) {
        for (int64_t tile = blockIdx.x; tile < all; tile += gridDim.x) {
            const Shape &shape = read_again(given);
            const size_t batch = product / shape.parts;
            const unsigned part = static_cast<unsigned>(product - batch * shape.parts);
            // alpha = 0 must not read A and B.
            const T factor = value<T>(shape.alpha);
            const bool sums_wanted = !(factor == zero<T>());
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
                    sums[i][j] = Of::none();
            if (!sums_wanted)
                last = first;
#pragma unroll 1
            for (int64_t depth = first; depth < last; depth += DEPTH) {
                // Neighbouring threads read neighbouring memory in either layout.
                const bool a_by_rows = shape.a.row <= shape.a.column, b_by_columns = shape.b.column <= shape.b.row;
#pragma unroll
                for (unsigned i = 0; i < SIDE * DEPTH / THREADS; ++i) {
                    const unsigned at = thread + i * THREADS;
                    unsigned row = a_by_rows ? at % SIDE : at / DEPTH, deep = a_by_rows ? at / SIDE : at % DEPTH;
                    tiles[0][deep][row] = row0 + row < shape.m && depth + deep < last ? Of::operand(factor, element<T, Of::NARROW>(shape.a, a, row0 + row, depth + deep)) : Of::beyond();
                    row = b_by_columns ? at % SIDE : at / DEPTH, deep = b_by_columns ? at / SIDE : at % DEPTH;
                    T x = Of::beyond();
                    if (column0 + row < shape.n && depth + deep < last)
                        x = Of::operand(factor, read_operand<T, Of::NARROW>(b, shape.b.operand.type, (depth + deep) * shape.b.row + (column0 + row) * shape.b.column));
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
                            sums[i][j] = Of::step(sums[i][j], left[i], right[j]);
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
                        finish<T, Of>(to, c, d, row, column, alpha, sums[i][j], beta);
                }
        }
    }
}

// Adds the parts of the depth.
template <typename T, typename Of> __device__ __forceinline__ void add(const Shape &given) {
    if (changes_nothing<T, Of>(given))
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
                sum = Of::both(sum, partial[part * all + at]);
            finish<T, Of>(shape, beta == zero<T>() ? nullptr : shape.c.operand.of(batch), shape.d.operand.of(batch), i, j, alpha, sum, beta);
        }
    }
}

#define GEMM(T, OF, NAME, TYPE)                                                                                         \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_##NAME##_##TYPE(const Shape shape) { gemm<T, OF<T>>(shape); } \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_##NAME##_add_##TYPE(const Shape shape) { add<T, OF<T>>(shape); }
GEMM(float, Products, gemm, f32)
GEMM(double, Products, gemm, f64)
GEMM(double, NarrowProducts, gemm, f64_of_f32)
GEMM(Complex<float>, Products, gemm, c32)
GEMM(Complex<double>, Products, gemm, c64)
GEMM(int, Products, gemm, i32)
GEMM(float, MinPlus, min_plus, f32)
GEMM(double, MinPlus, min_plus, f64)
GEMM(float, PlusMin, plus_min, f32)
GEMM(double, PlusMin, plus_min, f64)
