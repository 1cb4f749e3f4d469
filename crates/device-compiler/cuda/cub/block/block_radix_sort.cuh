// CUB's <cub/block/block_radix_sort.cuh> for AMD targets: a stable sort of a block's keys, with values or without.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "block_exchange.cuh"
#include "block_scan.cuh"

namespace cub {
// Bit by bit: keys with 0 go before keys with 1, both in their previous order.
template <typename KeyT, int BLOCK_DIM_X, int ITEMS, typename ValueT = NullType, int RADIX_BITS = 4, bool MEMOIZE_OUTER_SCAN = true,
          BlockScanAlgorithm INNER_SCAN_ALGORITHM = BLOCK_SCAN_WARP_SCANS, hipSharedMemConfig SMEM_CONFIG = hipSharedMemBankSizeFourByte,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockRadixSort {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    static constexpr bool KEYS_ONLY = std::is_same<ValueT, NullType>::value;
    typedef BlockScan<int, BLOCK_DIM_X, INNER_SCAN_ALGORITHM, BLOCK_DIM_Y, BLOCK_DIM_Z> Scan;
    typedef BlockExchange<KeyT, BLOCK_DIM_X, ITEMS, false, BLOCK_DIM_Y, BLOCK_DIM_Z> ExchangeKeys;
    typedef BlockExchange<ValueT, BLOCK_DIM_X, ITEMS, false, BLOCK_DIM_Y, BLOCK_DIM_Z> ExchangeValues;
    typedef typename Traits<KeyT>::UnsignedBits Bits;
    static_assert(Traits<KeyT>::PRIMITIVE, "keys must be numbers");

  public:
    union TempStorage {
        typename Scan::TempStorage scan;
        typename ExchangeKeys::TempStorage keys;
        typename ExchangeValues::TempStorage values;
    };
    CUB_INLINE BlockRadixSort() : storage(__cuda_private_storage<BlockRadixSort>()) {}
    CUB_INLINE explicit BlockRadixSort(TempStorage &storage) : storage(storage) {}

    CUB_INLINE void Sort(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<false, false>(keys, none, begin_bit, end_bit);
    }
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<true, false>(keys, none, begin_bit, end_bit);
    }
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<false, true>(keys, none, begin_bit, end_bit);
    }
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        NullType none[ITEMS];
        All<true, true>(keys, none, begin_bit, end_bit);
    }
    template <typename V> CUB_INLINE void Sort(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<false, false>(keys, values, begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void SortDescending(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<true, false>(keys, values, begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void SortBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0, int end_bit = sizeof(KeyT) * 8) {
        All<false, true>(keys, values, begin_bit, end_bit);
    }
    template <typename V>
    CUB_INLINE void SortDescendingBlockedToStriped(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit = 0,
                                                   int end_bit = sizeof(KeyT) * 8) {
        All<true, true>(keys, values, begin_bit, end_bit);
    }

  private:
    TempStorage &storage;
    template <bool DESCENDING, bool STRIPED, typename V>
    __device__ void All(KeyT (&keys)[ITEMS], V (&values)[ITEMS], int begin_bit, int end_bit) {
        for (int bit = begin_bit; bit < end_bit; bit++) {
            int zeros[ITEMS], before[ITEMS], ranks[ITEMS], total;
            for (int i = 0; i < ITEMS; i++) {
                const bool set = static_cast<Bits>(Traits<KeyT>::Ordered(keys[i]) >> bit) & 1;
                zeros[i] = set == DESCENDING;
            }
            Scan(storage.scan).ExclusiveSum(zeros, before, total);
            const int first = __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>() * ITEMS;
            for (int i = 0; i < ITEMS; i++)
                ranks[i] = zeros[i] ? before[i] : total + first + i - before[i];
            __syncthreads();
            ExchangeKeys(storage.keys).ScatterToBlocked(keys, ranks);
            __syncthreads();
            if constexpr (!std::is_same<V, NullType>::value) {
                ExchangeValues(storage.values).ScatterToBlocked(values, ranks);
                __syncthreads();
            }
        }
        if constexpr (STRIPED) {
            ExchangeKeys(storage.keys).BlockedToStriped(keys);
            __syncthreads();
            if constexpr (!std::is_same<V, NullType>::value)
                ExchangeValues(storage.values).BlockedToStriped(values);
        }
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
