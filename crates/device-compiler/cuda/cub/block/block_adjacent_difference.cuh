// CUB's <cub/block/block_adjacent_difference.cuh> for AMD targets: each item with its predecessor or successor.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0> class BlockAdjacentDifference {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

  public:
    struct TempStorage {
        __cuda_slots<T, THREADS> ends;
    };
    CUB_INLINE BlockAdjacentDifference() : storage(__cuda_private_storage<BlockAdjacentDifference>()), thread(__cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>()) {}
    CUB_INLINE explicit BlockAdjacentDifference(TempStorage &storage)
        : storage(storage), thread(__cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>()) {}

    // The first item, or the last, is unchanged.
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractLeft(T (&input)[ITEMS], Out (&output)[ITEMS], Op op) {
        storage.ends[thread] = input[ITEMS - 1];
        __syncthreads();
        for (int i = ITEMS - 1; i > 0; i--)
            output[i] = op(input[i], input[i - 1]);
        const T first = input[0];
        if (thread > 0)
            output[0] = op(first, storage.ends[thread - 1]);
        else
            output[0] = first;
    }
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractLeft(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, T before) {
        const T first = input[0];
        SubtractLeft(input, output, op);
        if (thread == 0)
            output[0] = op(first, before);
    }
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractRight(T (&input)[ITEMS], Out (&output)[ITEMS], Op op) {
        storage.ends[thread] = input[0];
        __syncthreads();
        for (int i = 0; i < ITEMS - 1; i++)
            output[i] = op(input[i], input[i + 1]);
        const T last = input[ITEMS - 1];
        if (thread < THREADS - 1)
            output[ITEMS - 1] = op(last, storage.ends[thread + 1]);
        else
            output[ITEMS - 1] = last;
    }

  private:
    TempStorage &storage;
    int thread;
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
