// CUB's <cub/block/block_load.cuh> for AMD targets: loads each thread's items from memory.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
// Item i of a thread is at thread * ITEMS + i. Items from `valid` on keep their value, or get `other`.
template <typename T, int ITEMS, typename Iterator> CUB_INLINE void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS]) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        items[i] = from[thread * ITEMS + i];
}
template <typename T, int ITEMS, typename Iterator>
CUB_INLINE void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS], int valid) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (thread * ITEMS + i < valid)
            items[i] = from[thread * ITEMS + i];
}
template <typename T, int ITEMS, typename Iterator, typename Default>
CUB_INLINE void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS], int valid, Default other) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        items[i] = static_cast<T>(other);
    LoadDirectBlocked(thread, from, items, valid);
}
template <typename T, int ITEMS> CUB_INLINE void LoadDirectBlockedVectorized(int thread, T *from, T (&items)[ITEMS]) {
    LoadDirectBlocked(thread, from, items);
}
// Item i is at i * THREADS + thread.
template <int THREADS, typename T, int ITEMS, typename Iterator> CUB_INLINE void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS]) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        items[i] = from[i * THREADS + thread];
}
template <int THREADS, typename T, int ITEMS, typename Iterator>
CUB_INLINE void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS], int valid) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (i * THREADS + thread < valid)
            items[i] = from[i * THREADS + thread];
}
template <int THREADS, typename T, int ITEMS, typename Iterator, typename Default>
CUB_INLINE void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS], int valid, Default other) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        items[i] = static_cast<T>(other);
    LoadDirectStriped<THREADS>(thread, from, items, valid);
}
// The same within each warp's part.
template <typename T, int ITEMS, typename Iterator> CUB_INLINE void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[ITEMS]) {
    LoadDirectStriped<32>(thread / 32 * 32 * ITEMS + thread % 32, from, items);
}
template <typename T, int ITEMS, typename Iterator>
CUB_INLINE void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[ITEMS], int valid) {
    LoadDirectStriped<32>(thread / 32 * 32 * ITEMS + thread % 32, from, items, valid);
}
template <typename T, int ITEMS, typename Iterator, typename Default>
CUB_INLINE void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[ITEMS], int valid, Default other) {
    LoadDirectStriped<32>(thread / 32 * 32 * ITEMS + thread % 32, from, items, valid, other);
}

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};

// All except the striped one give a thread adjacent items. They load these directly and rely on the caches.
template <typename T, int BLOCK_DIM_X, int ITEMS, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockLoad {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    static CUB_INLINE int Thread() { return __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(); }

  public:
    typedef NullType TempStorage;
    CUB_INLINE BlockLoad() {}
    CUB_INLINE explicit BlockLoad(TempStorage &) {}
    template <typename Iterator, typename... Rest> CUB_INLINE void Load(Iterator from, T (&items)[ITEMS], Rest... valid_and_other) {
        if constexpr (ALGORITHM == BLOCK_LOAD_STRIPED)
            LoadDirectStriped<THREADS>(Thread(), from, items, valid_and_other...);
        else
            LoadDirectBlocked(Thread(), from, items, valid_and_other...);
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
