// The order of rows: dst[row, 0], dst[row, 1], … are the columns of a row's elements, sorted. Equal elements keep their order. NaN is above
// all numbers.
//
// A workgroup sorts a run of columns in LDS, by a bitonic network of indices. Rows that are longer are sorted in runs, which are merged: see
// `Kernels::argsort`.
#include "common.cuh"

// Whether x comes before y.
template <bool DESCENDING, typename T> __device__ __forceinline__ bool before(compute_t<T> x, compute_t<T> y) {
    if constexpr (DESCENDING)
        return x > y || (x != x && y == y);
    else
        return x < y || (y != y && x == x);
}
// The same for two columns of a row; no two are equal.
template <bool DESCENDING, typename T> __device__ __forceinline__ bool column_before(const T *row, uint32_t i, uint32_t j) {
    const compute_t<T> x = load(row + i), y = load(row + j);
    return before<DESCENDING, T>(x, y) || (i < j && !before<DESCENDING, T>(y, x));
}

// Sorts columns first .. first + columns of a row into `dst`, which is as long. `padded` is the next power of two; dynamic LDS has as many words.
template <bool DESCENDING, typename T>
__device__ __forceinline__ void sort_run(const T *row, uint32_t *dst, uint32_t first, unsigned columns, unsigned padded) {
    extern __shared__ uint32_t order[];
    for (unsigned i = threadIdx.x; i < padded; i += blockDim.x)
        order[i] = i;
    __syncthreads();
    row += first;
    for (unsigned length = 2; length <= padded; length *= 2) {
        for (unsigned distance = length / 2; distance > 0; distance /= 2) {
            for (unsigned pair = threadIdx.x; pair < padded / 2; pair += blockDim.x) {
                const unsigned low = pair / distance * distance + pair, high = low + distance; // 2 * (pair / distance) * distance + pair % distance
                const uint32_t a = order[low], b = order[high];
                // places beyond the end of the row come last
                const bool ordered = b >= columns || (a < columns && column_before<DESCENDING>(row, a, b));
                if (ordered == ((low & length) != 0)) {
                    order[low] = b;
                    order[high] = a;
                }
            }
            __syncthreads();
        }
    }
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
        dst[i] = first + order[i];
}

// Merges sorted runs of `run` columns in pairs: an element's place is its place in its own run plus the number of elements of the other
// run that come before it.
template <bool DESCENDING, typename T>
__device__ __forceinline__ void merge_runs(const T *x, const uint32_t *from, uint32_t *to, size_t rows, uint32_t columns, uint32_t run) {
    FOR_EACH_ELEMENT(i, rows *columns) {
        const Division at = divide(i, columns);
        const size_t start = at.quotient * columns;
        const T *const row = x + start;
        const uint32_t position = static_cast<uint32_t>(at.remainder), column = from[i];
        const uint32_t own = position / run * run, pair = position / run / 2 * 2 * run;
        const uint32_t left_end = columns - pair < run ? columns : pair + run;
        // the other run's elements are low .. high
        uint32_t low = own == pair ? left_end : pair;
        uint32_t high = own != pair ? left_end : columns - left_end < run ? columns : left_end + run;
        const uint32_t other = low;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (column_before<DESCENDING>(row, from[start + middle], column))
                low = middle + 1;
            else
                high = middle;
        }
        to[start + pair + (position - own) + (low - other)] = column;
    }
}

// asort: a workgroup for each row; ncols_pad words of dynamic LDS.
// asort_runs: a workgroup for each run of `run` columns, a power of two, of each row; `run` words of dynamic LDS.
#define SORT(T, NAME, DESCENDING)                                                                                      \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void asort_##NAME(const T *x, uint32_t *dst, const int ncols, int ncols_pad) { \
        const size_t start = static_cast<size_t>(blockIdx.x) * ncols;                                                  \
        sort_run<DESCENDING>(x + start, dst + start, 0, ncols, ncols_pad);                                             \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void asort_runs_##NAME(const T *x, uint32_t *dst, const uint32_t columns, const uint32_t run) { \
        const uint32_t runs = (columns - 1) / run + 1, first = blockIdx.x % runs * run;                                \
        const size_t start = static_cast<size_t>(blockIdx.x / runs) * columns;                                         \
        sort_run<DESCENDING>(x + start, dst + start + first, first, columns - first < run ? columns - first : run, run); \
    }                                                                                                                  \
    extern "C" __global__ void asort_merge_##NAME(const T *x, const uint32_t *from, uint32_t *to, const size_t rows, const uint32_t columns, \
                                                  const uint32_t run) {                                                \
        merge_runs<DESCENDING>(x, from, to, rows, columns, run);                                                       \
    }
#define ALL(T, NAME) SORT(T, asc_##NAME, false) SORT(T, desc_##NAME, true)
ALL(float, f32)
ALL(double, f64)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(f8_e4m3, f8_e4m3)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int64_t, i64)
