// CUB's <cub/warp/warp_exchange.cuh> for AMD targets: reorders the items of a logical warp.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

template <typename T, int ITEMS, int LOGICAL_WARP_THREADS = 32, WarpExchangeAlgorithm ALGORITHM = WARP_EXCHANGE_SMEM> class WarpExchange {
    static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= 32, "a warp has 32 lanes");

  public:
    struct TempStorage {
        __cuda_slots<T, LOGICAL_WARP_THREADS * ITEMS> items;
    };
    WarpExchange() = delete;
    CUB_INLINE explicit WarpExchange(TempStorage &storage) : storage(storage), lane(LaneId() % LOGICAL_WARP_THREADS) {}

    template <typename Out> CUB_INLINE void BlockedToStriped(const T (&input)[ITEMS], Out (&output)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            storage.items[lane * ITEMS + i] = input[i];
        Striped(output);
    }
    template <typename Out> CUB_INLINE void StripedToBlocked(const T (&input)[ITEMS], Out (&output)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            storage.items[i * LOGICAL_WARP_THREADS + lane] = input[i];
        __cuda_syncwarp();
        for (int i = 0; i < ITEMS; i++)
            output[i] = storage.items[lane * ITEMS + i];
    }
    // Each item goes to its rank.
    template <typename Out, typename Offset>
    CUB_INLINE void ScatterToStriped(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            storage.items[ranks[i]] = input[i];
        Striped(output);
    }
    template <typename Offset> CUB_INLINE void ScatterToStriped(T (&items)[ITEMS], Offset (&ranks)[ITEMS]) {
        ScatterToStriped(items, items, ranks);
    }

  private:
    TempStorage &storage;
    int lane;
    template <typename Out> CUB_INLINE void Striped(Out (&output)[ITEMS]) {
        __cuda_syncwarp();
        for (int i = 0; i < ITEMS; i++)
            output[i] = storage.items[i * LOGICAL_WARP_THREADS + lane];
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
