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

    // Items without a predecessor, or without a successor, are unchanged, and so are those from `valid` on.
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractLeft(T (&input)[ITEMS], Out (&output)[ITEMS], Op op) {
        Left(input, output, op, THREADS * ITEMS, nullptr);
    }
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractLeft(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, T before) {
        Left(input, output, op, THREADS * ITEMS, &before);
    }
    template <int ITEMS, typename Out, typename Op>
    CUB_INLINE void SubtractLeftPartialTile(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, int valid) {
        Left(input, output, op, valid, nullptr);
    }
    template <int ITEMS, typename Out, typename Op>
    CUB_INLINE void SubtractLeftPartialTile(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, int valid, T before) {
        Left(input, output, op, valid, &before);
    }
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractRight(T (&input)[ITEMS], Out (&output)[ITEMS], Op op) {
        Right(input, output, op, THREADS * ITEMS, nullptr);
    }
    template <int ITEMS, typename Out, typename Op> CUB_INLINE void SubtractRight(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, T behind) {
        Right(input, output, op, THREADS * ITEMS, &behind);
    }
    template <int ITEMS, typename Out, typename Op>
    CUB_INLINE void SubtractRightPartialTile(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, int valid) {
        Right(input, output, op, valid, nullptr);
    }

  private:
    // From the last item on, so that the output may be the input. The operator may take references that are not const.
    template <int ITEMS, typename Out, typename Op>
    __device__ void Left(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, int valid, T *before) {
        storage.ends[thread] = input[ITEMS - 1];
        __syncthreads();
        for (int i = ITEMS - 1; i > 0; i--) {
            if (thread * ITEMS + i < valid)
                output[i] = op(input[i], input[i - 1]);
            else
                output[i] = input[i];
        }
        T first = input[0];
        if (thread * ITEMS >= valid || (thread == 0 && !before))
            output[0] = first;
        else
            output[0] = thread == 0 ? op(first, *before) : op(first, storage.ends[thread - 1]);
    }
    template <int ITEMS, typename Out, typename Op>
    __device__ void Right(T (&input)[ITEMS], Out (&output)[ITEMS], Op op, int valid, T *behind) {
        storage.ends[thread] = input[0];
        __syncthreads();
        for (int i = 0; i < ITEMS - 1; i++) {
            if (thread * ITEMS + i < valid - 1)
                output[i] = op(input[i], input[i + 1]);
            else
                output[i] = input[i];
        }
        T last = input[ITEMS - 1];
        const int at = thread * ITEMS + ITEMS - 1;
        if (thread == THREADS - 1 && behind)
            output[ITEMS - 1] = op(last, *behind);
        else if (at >= valid - 1)
            output[ITEMS - 1] = last;
        else
            output[ITEMS - 1] = op(last, storage.ends[thread + 1]);
    }
    TempStorage &storage;
    int thread;
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
