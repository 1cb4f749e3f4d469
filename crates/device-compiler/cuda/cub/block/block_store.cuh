// CUB's <cub/block/block_store.cuh> for AMD targets: stores each thread's items to memory.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int ITEMS, typename Iterator> CUB_INLINE void StoreDirectBlocked(int thread, Iterator to, T (&items)[ITEMS]) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        to[thread * ITEMS + i] = items[i];
}
template <typename T, int ITEMS, typename Iterator>
CUB_INLINE void StoreDirectBlocked(int thread, Iterator to, T (&items)[ITEMS], int valid) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (thread * ITEMS + i < valid)
            to[thread * ITEMS + i] = items[i];
}
template <typename T, int ITEMS> CUB_INLINE void StoreDirectBlockedVectorized(int thread, T *to, T (&items)[ITEMS]) {
    StoreDirectBlocked(thread, to, items);
}
template <int THREADS, typename T, int ITEMS, typename Iterator> CUB_INLINE void StoreDirectStriped(int thread, Iterator to, T (&items)[ITEMS]) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        to[i * THREADS + thread] = items[i];
}
template <int THREADS, typename T, int ITEMS, typename Iterator>
CUB_INLINE void StoreDirectStriped(int thread, Iterator to, T (&items)[ITEMS], int valid) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (i * THREADS + thread < valid)
            to[i * THREADS + thread] = items[i];
}
template <typename T, int ITEMS, typename Iterator> CUB_INLINE void StoreDirectWarpStriped(int thread, Iterator to, T (&items)[ITEMS]) {
    StoreDirectStriped<32>(thread / 32 * 32 * ITEMS + thread % 32, to, items);
}
template <typename T, int ITEMS, typename Iterator>
CUB_INLINE void StoreDirectWarpStriped(int thread, Iterator to, T (&items)[ITEMS], int valid) {
    StoreDirectStriped<32>(thread / 32 * 32 * ITEMS + thread % 32, to, items, valid);
}

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <typename T, int BLOCK_DIM_X, int ITEMS, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockStore {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    static CUB_INLINE int Thread() { return __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(); }

  public:
    typedef NullType TempStorage;
    CUB_INLINE BlockStore() {}
    CUB_INLINE explicit BlockStore(TempStorage &) {}
    template <typename Iterator, typename... Rest> CUB_INLINE void Store(Iterator to, T (&items)[ITEMS], Rest... valid) {
        if constexpr (ALGORITHM == BLOCK_STORE_STRIPED)
            StoreDirectStriped<THREADS>(Thread(), to, items, valid...);
        else
            StoreDirectBlocked(Thread(), to, items, valid...);
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
