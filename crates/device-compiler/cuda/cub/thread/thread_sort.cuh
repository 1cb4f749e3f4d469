// CUB's <cub/thread/thread_sort.cuh> for AMD targets: a stable sort of one thread's items.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename KeyT, typename ValueT, typename Compare, int ITEMS>
CUB_INLINE void StableOddEvenSort(KeyT (&keys)[ITEMS], ValueT (&values)[ITEMS], Compare compare) {
    for (int i = 0; i < ITEMS; i++)
        for (int j = i & 1; j < ITEMS - 1; j += 2)
            if (compare(keys[j + 1], keys[j])) {
                const KeyT key = keys[j];
                keys[j] = keys[j + 1], keys[j + 1] = key;
                const ValueT value = values[j];
                values[j] = values[j + 1], values[j + 1] = value;
            }
}
} // namespace cub
#include "../../ferrocm_letters_end.h"
