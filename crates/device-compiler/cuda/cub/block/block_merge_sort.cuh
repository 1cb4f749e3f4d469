// CUB's <cub/block/block_merge_sort.cuh> for AMD targets: a stable sort of a block's items by a comparison.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "block_exchange.cuh"

namespace cub {
// Each item's rank is the number of items before it.
template <typename KeyT, int BLOCK_DIM_X, int ITEMS, typename ValueT = NullType, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class BlockMergeSort {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, COUNT = THREADS * ITEMS;
    typedef BlockExchange<KeyT, BLOCK_DIM_X, ITEMS, false, BLOCK_DIM_Y, BLOCK_DIM_Z> ExchangeKeys;
    typedef BlockExchange<ValueT, BLOCK_DIM_X, ITEMS, false, BLOCK_DIM_Y, BLOCK_DIM_Z> ExchangeValues;

  public:
    union TempStorage {
        typename ExchangeKeys::TempStorage keys;
        typename ExchangeValues::TempStorage values;
    };
    CUB_INLINE BlockMergeSort() : storage(__cuda_private_storage<BlockMergeSort>()) {}
    CUB_INLINE explicit BlockMergeSort(TempStorage &storage) : storage(storage) {}

    template <typename Op> CUB_INLINE void Sort(KeyT (&keys)[ITEMS], Op op) {
        NullType none[ITEMS];
        All(keys, none, op, COUNT);
    }
    // Sorts only the first `valid` items. Later ones become `last`, as in CUB.
    template <typename Op> CUB_INLINE void Sort(KeyT (&keys)[ITEMS], Op op, int valid, KeyT last) {
        NullType none[ITEMS];
        Pad(keys, valid, last);
        All(keys, none, op, valid);
    }
    template <typename Op> CUB_INLINE void Sort(KeyT (&keys)[ITEMS], ValueT (&values)[ITEMS], Op op) { All(keys, values, op, COUNT); }
    template <typename Op> CUB_INLINE void Sort(KeyT (&keys)[ITEMS], ValueT (&values)[ITEMS], Op op, int valid, KeyT last) {
        Pad(keys, valid, last);
        All(keys, values, op, valid);
    }
    template <typename... A> CUB_INLINE void StableSort(A &&...arguments) { Sort(arguments...); }

  private:
    TempStorage &storage;
    static CUB_INLINE int First() { return __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>() * ITEMS; }
    static CUB_INLINE void Pad(KeyT (&keys)[ITEMS], int valid, const KeyT &last) {
        for (int i = 0; i < ITEMS; i++)
            if (First() + i >= valid)
                keys[i] = last;
    }
    template <typename V, typename Op> __device__ void All(KeyT (&keys)[ITEMS], V (&values)[ITEMS], Op op, int valid) {
        int ranks[ITEMS];
        for (int i = 0; i < ITEMS; i++) {
            storage.keys.items[First() + i] = keys[i];
            ranks[i] = 0;
        }
        __syncthreads();
        for (int j = 0; j < valid; j++) {
            const KeyT other = storage.keys.items[j];
            for (int i = 0; i < ITEMS; i++)
                ranks[i] += j < First() + i ? !op(keys[i], other) : op(other, keys[i]);
        }
        for (int i = 0; i < ITEMS; i++)
            if (First() + i >= valid)
                ranks[i] = First() + i;
        __syncthreads();
        ExchangeKeys(storage.keys).ScatterToBlocked(keys, ranks);
        if constexpr (!std::is_same<V, NullType>::value) {
            __syncthreads();
            ExchangeValues(storage.values).ScatterToBlocked(values, ranks);
        }
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
