// Matrices and vectors: products, updates and solutions with matrices stored by columns, by bands or packed.
#include "vector.cuh"

enum Storage : unsigned { DENSE, BAND, PACKED };

// `Stored` of crates/blas-on-kernels/src/level2.rs.
struct Stored {
    Memory operand;
    int64_t leading; // of DENSE and BAND: elements from one column to the next
    int64_t order;   // of PACKED: rows and columns
    int64_t diagonal; // of BAND: where the diagonal is in a column
    unsigned storage, structure, upper, unit;
    unsigned transposed, conjugate;
};

// Element of the matrix as it is used, transposed or not.
template <typename T> __device__ __forceinline__ T element(const Stored &m, const void *p, int64_t i, int64_t j) {
    bool conjugate = m.conjugate != 0, swap = m.transposed != 0;
    if (swap) {
        const int64_t other = i;
        i = j, j = other;
    }
    if (m.structure != GENERAL) {
        if (m.upper != 0 ? i > j : i < j) {
            if (m.structure == TRIANGULAR)
                return zero<T>();
            const int64_t other = i;
            i = j, j = other;
            conjugate ^= m.structure == HERMITIAN;
        }
        if (i == j && m.structure == TRIANGULAR && m.unit != 0)
            return one<T>();
    }
    int64_t at = i + j * m.leading;
    if (m.storage == BAND)
        at += m.diagonal - j;
    else if (m.storage == PACKED)
        at = i + (m.upper != 0 ? j * (j + 1) / 2 : j * (2 * m.order - j - 1) / 2);
    const T x = read<T>(p, m.operand.type, at);
    if (i == j && m.structure == HERMITIAN)
        return Number<T>::real(x);
    return conjugate ? Number<T>::conj(x) : x;
}

// `Multiplied` of crates/blas-on-kernels/src/level2.rs: y = alpha * A * x + beta * y.
struct Multiplied {
    int64_t m, n;
    int64_t below, above; // how far the elements of A extend from its diagonal
    Stored a;
    Vector x, y;
    Factor alpha, beta;
    unsigned rows; // of a workgroup: its other threads share their elements
    unsigned batches;
};

// Adds the sums of the threads of each row; the threads of the first part get the result.
template <typename T> __device__ __forceinline__ T add_parts(T *sums, T sum, unsigned row, unsigned part, unsigned rows, unsigned parts) {
    __syncthreads();
    sums[part * rows + row] = sum;
    for (unsigned half = parts / 2; half > 0; half /= 2) {
        __syncthreads();
        if (part < half)
            sums[part * rows + row] = sums[part * rows + row] + sums[(part + half) * rows + row];
    }
    __syncthreads();
    return sums[row];
}

template <typename T> __device__ __forceinline__ void multiply(const Multiplied &given) {
    __shared__ T sums[THREADS];
    {
        const T alpha = value<T>(given.alpha), beta = value<T>(given.beta);
        // There is nothing to read or write.
        if (alpha == zero<T>() && beta == one<T>())
            return;
    }
    const unsigned rows = given.rows, parts = THREADS / rows;
    // Neighbouring threads read neighbouring elements of a column in memory.
    const bool along = given.a.transposed != 0;
    const unsigned row = along ? threadIdx.x / parts : threadIdx.x % rows, part = along ? threadIdx.x % parts : threadIdx.x / rows;
    for (size_t batch = blockIdx.y; batch < read_again(given).batches; batch += gridDim.y)
        for (int64_t row0 = static_cast<int64_t>(blockIdx.x) * rows; row0 < read_again(given).m; row0 += static_cast<int64_t>(gridDim.x) * rows) {
            const Multiplied &by = read_again(given);
            const int64_t i = row0 + row;
            T sum = zero<T>();
            // alpha = 0 must not read A and x.
            if (i < by.m && !(value<T>(by.alpha) == zero<T>())) {
                const void *a = by.a.operand.of(batch);
                const Elements<T> x(by.x, batch);
                const int64_t first = max(int64_t(0), i - by.below), last = min(by.n, i + by.above + 1);
                for (int64_t j = first + part; j < last; j += parts)
                    sum = sum + element<T>(by.a, a, i, j) * x.get(j);
            }
            sum = add_parts(sums, sum, row, part, rows, parts);
            const Multiplied &to = read_again(given);
            if (part == 0 && i < to.m) {
                const Elements<T> y(to.y, batch);
                const T beta = value<T>(to.beta);
                T result = value<T>(to.alpha) * sum;
                // beta = 0 must not read y.
                if (!(beta == zero<T>()))
                    result = result + beta * y.get(i);
                y.set(i, result);
            }
        }
}

// `Updated` of crates/blas-on-kernels/src/level2.rs: A += alpha * x * yᵀ, and optionally the same with x and y exchanged.
struct Updated {
    int64_t m, n;
    Stored a;
    Vector x, y;
    Factor alpha;
    unsigned conjugate; // what is transposed
    unsigned both;      // alpha * y * xᵀ as well, with alpha conjugated if `conjugate`
    unsigned batches;
};

template <typename T> __device__ __forceinline__ void update(const Updated &given) {
    constexpr unsigned ROWS = 64, COLUMNS = THREADS / ROWS;
    if (value<T>(given.alpha) == zero<T>())
        return;
    const int64_t row_tiles = (given.m + ROWS - 1) / ROWS, tiles = row_tiles * ((given.n + COLUMNS - 1) / COLUMNS);
    for (size_t batch = blockIdx.y; batch < read_again(given).batches; batch += gridDim.y)
        for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Updated &by = read_again(given);
            const bool conjugate = by.conjugate != 0;
            const T alpha = value<T>(by.alpha), other = conjugate ? Number<T>::conj(alpha) : alpha;
            const int64_t across = tile / row_tiles;
            const int64_t i = (tile - across * row_tiles) * ROWS + threadIdx.x % ROWS, j = across * COLUMNS + threadIdx.x / ROWS;
            if (i >= by.m || j >= by.n || (by.a.structure != GENERAL && (by.a.upper != 0 ? i > j : i < j)))
                continue;
            const Elements<T> x(by.x, batch), y(by.y, batch);
            T left = y.get(j), right = zero<T>();
            left = alpha * x.get(i) * (conjugate ? Number<T>::conj(left) : left);
            if (by.both != 0) {
                right = x.get(j);
                right = other * y.get(i) * (conjugate ? Number<T>::conj(right) : right);
            }
            int64_t at = i + j * by.a.leading;
            if (by.a.storage == PACKED)
                at = i + (by.a.upper != 0 ? j * (j + 1) / 2 : j * (2 * by.a.order - j - 1) / 2);
            void *a = by.a.operand.of(batch);
            T sum = read<T>(a, by.a.operand.type, at) + left + right;
            if (by.a.structure == HERMITIAN && i == j)
                sum = Number<T>::real(sum);
            write<T>(a, by.a.operand.type, at, sum);
        }
}

// `Solved` of crates/blas-on-kernels/src/level2.rs: A * x = b, where x replaces b.
struct Solved {
    int64_t n;
    int64_t reach; // how far the elements of A extend from its diagonal
    Stored a;
    Vector x;
    unsigned lower; // A as it is used
    unsigned batches;
};

// A workgroup solves a system, in blocks: it subtracts the known part of the solution, then solves the block in LDS.
template <typename T> __device__ __forceinline__ void solve(const Solved &given) {
    constexpr unsigned ROWS = 64, PARTS = THREADS / ROWS;
    __shared__ T sums[THREADS], block[ROWS];
    const bool lower = given.lower != 0;
    const unsigned row = threadIdx.x % ROWS, part = threadIdx.x / ROWS;
    for (size_t batch = blockIdx.x; batch < read_again(given).batches; batch += gridDim.x) {
        const Solved &by = read_again(given);
        // The order of the unknowns: starting from the first or from the last.
        const auto place = [&](int64_t i) { return lower ? i : by.n - 1 - i; };
        const void *a = by.a.operand.of(batch);
        const Elements<T> x(by.x, batch);
        for (int64_t first = 0; first < by.n; first += ROWS) {
            const int64_t i = first + row;
            T sum = zero<T>();
            if (i < by.n)
                for (int64_t j = max(int64_t(0), i - by.reach) + part; j < first; j += PARTS)
                    sum = sum + element<T>(by.a, a, place(i), place(j)) * x.get(place(j));
            sum = add_parts(sums, sum, row, part, ROWS, PARTS);
            if (part == 0 && i < by.n)
                block[row] = x.get(place(i)) - sum;
            const unsigned rows = static_cast<unsigned>(min(int64_t(ROWS), by.n - first));
            for (unsigned r = 0; r < rows; ++r) {
                __syncthreads();
                if (threadIdx.x == 0 && by.a.unit == 0)
                    block[r] = block[r] / element<T>(by.a, a, place(first + r), place(first + r));
                __syncthreads();
                if (part == 0 && row > r && row < rows && static_cast<int64_t>(row - r) <= by.reach)
                    block[row] = block[row] - element<T>(by.a, a, place(i), place(first + r)) * block[r];
            }
            __syncthreads();
            if (part == 0 && i < by.n)
                x.set(place(i), block[row]);
            __syncthreads();
        }
    }
}

#define LEVEL2(T, NAME)                                                                                                 \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_multiply_##NAME(const Multiplied by) { multiply<T>(by); }  \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_update_##NAME(const Updated by) { update<T>(by); }         \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_solve_##NAME(const Solved by) { solve<T>(by); }
LEVEL2(float, f32)
LEVEL2(double, f64)
LEVEL2(Complex<float>, c32)
LEVEL2(Complex<double>, c64)
