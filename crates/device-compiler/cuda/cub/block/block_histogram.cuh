// CUB's <cub/block/block_histogram.cuh> for AMD targets: counts of a block's items.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <typename T, int BLOCK_DIM_X, int ITEMS, int BINS, BlockHistogramAlgorithm ALGORITHM = BLOCK_HISTO_SORT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockHistogram {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

  public:
    typedef NullType TempStorage;
    CUB_INLINE BlockHistogram() {}
    CUB_INLINE explicit BlockHistogram(TempStorage &) {}
    template <typename Counter> CUB_INLINE void InitHistogram(Counter (&histogram)[BINS]) { InitHistogram(static_cast<Counter *>(histogram)); }
    template <typename Counter> CUB_INLINE void InitHistogram(Counter *histogram) {
        for (int i = __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(); i < BINS; i += THREADS)
            histogram[i] = 0;
    }
    template <typename Counter> CUB_INLINE void Composite(T (&items)[ITEMS], Counter *histogram) {
        for (int i = 0; i < ITEMS; i++)
            atomicAdd(histogram + items[i], Counter(1));
    }
    template <typename Counter> CUB_INLINE void Histogram(T (&items)[ITEMS], Counter *histogram) {
        InitHistogram(histogram);
        __syncthreads();
        Composite(items, histogram);
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
