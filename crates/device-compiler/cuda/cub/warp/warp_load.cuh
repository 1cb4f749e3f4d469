// CUB's <cub/warp/warp_load.cuh> for AMD targets: loads each lane's items from memory that belongs to its logical warp.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../block/block_load.cuh"

namespace cub {
enum WarpLoadAlgorithm { WARP_LOAD_DIRECT, WARP_LOAD_STRIPED, WARP_LOAD_VECTORIZE, WARP_LOAD_TRANSPOSE };

template <typename T, int ITEMS, WarpLoadAlgorithm ALGORITHM = WARP_LOAD_DIRECT, int LOGICAL_WARP_THREADS = 32, int LEGACY_PTX_ARCH = 0>
class WarpLoad {
  public:
    typedef NullType TempStorage;
    CUB_INLINE WarpLoad() {}
    CUB_INLINE explicit WarpLoad(TempStorage &) {}
    template <typename Iterator, typename... Rest> CUB_INLINE void Load(Iterator from, T (&items)[ITEMS], Rest... valid_and_other) {
        const int lane = LaneId() % LOGICAL_WARP_THREADS;
        if constexpr (ALGORITHM == WARP_LOAD_STRIPED)
            LoadDirectStriped<LOGICAL_WARP_THREADS>(lane, from, items, valid_and_other...);
        else
            LoadDirectBlocked(lane, from, items, valid_and_other...);
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
