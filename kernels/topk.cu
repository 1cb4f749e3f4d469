// The k largest elements of each row, sorted, and where they are. For f32, f16 and bf16.
//
// topk_T(src, columns, k, values, indices)
//   src       rows of `columns` < 2³² elements, a workgroup for each, whose size is a multiple of the warp's
//   values    rows × k, in descending order; indices   rows × k, u32
//   k         at most 256 and at most `columns`
//   A NaN counts as larger than every number. Of equal elements, the first come first.
#include "select.cuh"

constexpr unsigned MOST = 256;

template <typename T>
__device__ __forceinline__ void topk(const T *src, size_t columns, unsigned k, T *values, uint32_t *indices) {
    __shared__ uint64_t best[MOST];
    __shared__ unsigned count;
    src += blockIdx.x * columns;
    const auto rank = [=](size_t i) { return rank_at(load(src + i), i); };
    const uint64_t least =
        select_rank(columns, 56, true, k, rank, [](size_t) { return uint64_t(1); }, [](uint64_t, uint64_t) { return uint64_t(1); });
    const unsigned thread = block_thread(), threads = block_threads();
    unsigned size = 1; // of the sorted array
    while (size < k)
        size *= 2;
    for (unsigned i = thread; i < size; i += threads)
        best[i] = 0;
    if (thread == 0)
        count = 0;
    __syncthreads();
    for (size_t i = thread; i < columns; i += threads) {
        const uint64_t r = rank(i);
        if (r >= least)
            best[atomicAdd(&count, 1u)] = r;
    }
    __syncthreads();
    // a bitonic sort, in descending order
    for (unsigned run = 2; run <= size; run *= 2) {
        for (unsigned distance = run / 2; distance > 0; distance /= 2) {
            for (unsigned i = thread; i < size / 2; i += threads) {
                const unsigned low = i / distance * 2 * distance + i % distance, high = low + distance;
                const uint64_t a = best[low], b = best[high];
                if ((low & run) == 0 ? a < b : a > b)
                    best[low] = b, best[high] = a;
            }
            __syncthreads();
        }
    }
    for (unsigned i = thread; i < k; i += threads) {
        const uint32_t at = index_of(best[i]);
        values[blockIdx.x * static_cast<size_t>(k) + i] = src[at];
        indices[blockIdx.x * static_cast<size_t>(k) + i] = at;
    }
}

#define TOPK(T, NAME)                                                                                                  \
    extern "C" __global__ __launch_bounds__(MAX_BLOCK) void topk_##NAME(const T *src, const size_t columns, const unsigned k, T *values, \
                                                                        uint32_t *indices) {                           \
        topk(src, columns, k, values, indices);                                                                        \
    }
TOPK(float, f32)
TOPK(__half, f16)
TOPK(__nv_bfloat16, bf16)
