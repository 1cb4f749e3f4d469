// CUB's <cub/block/block_reduce.cuh> for AMD targets: reductions of a block. The result is in thread 0.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../warp/warp_reduce.cuh"

namespace cub {
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

// All algorithms are the same here: each warp's result, then the results in order.
template <typename T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockReduce {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, WARPS = (THREADS + 31) / 32;

  public:
    struct TempStorage {
        __cuda_slots<T, WARPS> warps;
    };
    CUB_INLINE BlockReduce() : storage(__cuda_private_storage<BlockReduce>()) {}
    CUB_INLINE explicit BlockReduce(TempStorage &storage) : storage(storage) {}

    template <typename Op> CUB_INLINE T Reduce(T input, Op op) { return Reduce(input, op, THREADS); }
    template <int ITEMS, typename Op> CUB_INLINE T Reduce(T (&inputs)[ITEMS], Op op) {
        return Reduce(ThreadReduce<ITEMS>(static_cast<const T *>(inputs), op), op, THREADS);
    }
    // Only over the first threads.
    template <typename Op> CUB_INLINE T Reduce(T input, Op op, int num_valid) {
        const int thread = __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(), warp = thread / 32;
        const int valid = num_valid < THREADS ? num_valid : THREADS;
        T total = WarpReduce<T>().Reduce(input, op, valid - warp * 32);
        if (WARPS == 1)
            return total;
        if (thread % 32 == 0)
            storage.warps[warp] = total;
        __syncthreads();
        if (thread == 0)
            for (int i = 1; i < WARPS && i * 32 < valid; i++)
                total = __cuda_apply(op, total, storage.warps[i]);
        return total;
    }
    CUB_INLINE T Sum(T input) { return Reduce(input, cub::Sum()); }
    CUB_INLINE T Sum(T input, int num_valid) { return Reduce(input, cub::Sum(), num_valid); }
    template <int ITEMS> CUB_INLINE T Sum(T (&inputs)[ITEMS]) { return Reduce(inputs, cub::Sum()); }

  private:
    TempStorage &storage;
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
