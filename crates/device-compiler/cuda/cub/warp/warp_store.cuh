// CUB's <cub/warp/warp_store.cuh> for AMD targets: stores each lane's items to memory that belongs to its logical warp.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../block/block_store.cuh"

namespace cub {
enum WarpStoreAlgorithm { WARP_STORE_DIRECT, WARP_STORE_STRIPED, WARP_STORE_VECTORIZE, WARP_STORE_TRANSPOSE };

template <typename T, int ITEMS, WarpStoreAlgorithm ALGORITHM = WARP_STORE_DIRECT, int LOGICAL_WARP_THREADS = 32, int LEGACY_PTX_ARCH = 0>
class WarpStore {
  public:
    typedef NullType TempStorage;
    CUB_INLINE WarpStore() {}
    CUB_INLINE explicit WarpStore(TempStorage &) {}
    template <typename Iterator, typename... Rest> CUB_INLINE void Store(Iterator to, T (&items)[ITEMS], Rest... valid) {
        const int lane = LaneId() % LOGICAL_WARP_THREADS;
        if constexpr (ALGORITHM == WARP_STORE_STRIPED)
            StoreDirectStriped<LOGICAL_WARP_THREADS>(lane, to, items, valid...);
        else
            StoreDirectBlocked(lane, to, items, valid...);
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
