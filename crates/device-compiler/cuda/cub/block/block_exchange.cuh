// CUB's <cub/block/block_exchange.cuh> for AMD targets: reorders a block's items.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int BLOCK_DIM_X, int ITEMS, bool WARP_TIME_SLICING = false, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1,
          int LEGACY_PTX_ARCH = 0>
class BlockExchange {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

  public:
    struct TempStorage {
        __cuda_slots<T, THREADS * ITEMS> items;
    };
    CUB_INLINE BlockExchange() : storage(__cuda_private_storage<BlockExchange>()), thread(__cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>()) {}
    CUB_INLINE explicit BlockExchange(TempStorage &storage)
        : storage(storage), thread(__cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>()) {}

#define __CUDA_CUB_EXCHANGE(NAME, FROM, TO)                                                          \
    template <typename Out> CUB_INLINE void NAME(const T (&input)[ITEMS], Out (&output)[ITEMS]) {    \
        for (int i = 0; i < ITEMS; i++)                                                              \
            storage.items[FROM(i)] = input[i];                                                       \
        __syncthreads();                                                                             \
        for (int i = 0; i < ITEMS; i++)                                                              \
            output[i] = storage.items[TO(i)];                                                        \
    }                                                                                                \
    CUB_INLINE void NAME(T (&items)[ITEMS]) { NAME(items, items); }
    __CUDA_CUB_EXCHANGE(StripedToBlocked, Striped, Blocked)
    __CUDA_CUB_EXCHANGE(BlockedToStriped, Blocked, Striped)
    __CUDA_CUB_EXCHANGE(WarpStripedToBlocked, WarpStriped, Blocked)
    __CUDA_CUB_EXCHANGE(BlockedToWarpStriped, Blocked, WarpStriped)
#undef __CUDA_CUB_EXCHANGE

    // Each item goes to its rank. Items without a valid rank are dropped.
    template <typename Out, typename Offset>
    CUB_INLINE void ScatterToBlocked(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            storage.items[ranks[i]] = input[i];
        __syncthreads();
        for (int i = 0; i < ITEMS; i++)
            output[i] = storage.items[Blocked(i)];
    }
    template <typename Offset> CUB_INLINE void ScatterToBlocked(T (&items)[ITEMS], Offset (&ranks)[ITEMS]) {
        ScatterToBlocked(items, items, ranks);
    }
    template <typename Out, typename Offset>
    CUB_INLINE void ScatterToStriped(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            storage.items[ranks[i]] = input[i];
        __syncthreads();
        for (int i = 0; i < ITEMS; i++)
            output[i] = storage.items[Striped(i)];
    }
    template <typename Offset> CUB_INLINE void ScatterToStriped(T (&items)[ITEMS], Offset (&ranks)[ITEMS]) {
        ScatterToStriped(items, items, ranks);
    }
    template <typename Out, typename Offset>
    CUB_INLINE void ScatterToStripedGuarded(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            if (ranks[i] >= 0)
                storage.items[ranks[i]] = input[i];
        __syncthreads();
        for (int i = 0; i < ITEMS; i++)
            output[i] = storage.items[Striped(i)];
    }
    template <typename Out, typename Offset, typename Flag>
    CUB_INLINE void ScatterToStripedFlagged(const T (&input)[ITEMS], Out (&output)[ITEMS], Offset (&ranks)[ITEMS], Flag (&valid)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++)
            if (valid[i])
                storage.items[ranks[i]] = input[i];
        __syncthreads();
        for (int i = 0; i < ITEMS; i++)
            output[i] = storage.items[Striped(i)];
    }

  private:
    TempStorage &storage;
    int thread;
    CUB_INLINE int Blocked(int i) const { return thread * ITEMS + i; }
    CUB_INLINE int Striped(int i) const { return i * THREADS + thread; }
    // The last warp may have fewer threads.
    CUB_INLINE int WarpStriped(int i) const {
        const int first = thread / 32 * 32, threads = THREADS - first < 32 ? THREADS - first : 32;
        return first * ITEMS + i * threads + thread % 32;
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
