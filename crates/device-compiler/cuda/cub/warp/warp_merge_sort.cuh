// CUB's <cub/warp/warp_merge_sort.cuh> for AMD targets: a stable sort of a logical warp's items by a comparison.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
// Each item's rank is the number of items before it.
template <typename KeyT, int ITEMS, int LOGICAL_WARP_THREADS = 32, typename ValueT = NullType, int LEGACY_PTX_ARCH = 0> class WarpMergeSort {
    static constexpr int COUNT = LOGICAL_WARP_THREADS * ITEMS;

  public:
    struct TempStorage {
        __cuda_slots<KeyT, COUNT> keys;
        __cuda_slots<ValueT, COUNT> values;
    };
    WarpMergeSort() = delete;
    CUB_INLINE explicit WarpMergeSort(TempStorage &storage) : storage(storage), lane(LaneId() % LOGICAL_WARP_THREADS) {}
    CUB_INLINE unsigned get_member_mask() const { return WarpMask<LOGICAL_WARP_THREADS>(LaneId() / LOGICAL_WARP_THREADS); }

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
    int lane;
    CUB_INLINE void Pad(KeyT (&keys)[ITEMS], int valid, const KeyT &last) const {
        for (int i = 0; i < ITEMS; i++)
            if (lane * ITEMS + i >= valid)
                keys[i] = last;
    }
    template <typename V, typename Op> __device__ void All(KeyT (&keys)[ITEMS], V (&values)[ITEMS], Op op, int valid) {
        int ranks[ITEMS];
        for (int i = 0; i < ITEMS; i++)
            storage.keys[lane * ITEMS + i] = keys[i];
        __cuda_syncwarp();
        for (int i = 0; i < ITEMS; i++) {
            const int own = lane * ITEMS + i;
            ranks[i] = own;
            for (int j = 0; own < valid && j < valid; j++) {
                const KeyT other = storage.keys[j];
                ranks[i] += (j < own ? !op(keys[i], other) : op(other, keys[i])) - (j < own);
            }
        }
        __cuda_syncwarp();
        for (int i = 0; i < ITEMS; i++) {
            storage.keys[ranks[i]] = keys[i];
            if constexpr (!std::is_same<V, NullType>::value)
                storage.values[ranks[i]] = values[i];
        }
        __cuda_syncwarp();
        for (int i = 0; i < ITEMS; i++) {
            keys[i] = storage.keys[lane * ITEMS + i];
            if constexpr (!std::is_same<V, NullType>::value)
                values[i] = storage.values[lane * ITEMS + i];
        }
        __cuda_syncwarp();
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
