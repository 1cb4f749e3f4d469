// CUB's <cub/block/block_discontinuity.cuh> for AMD targets: flags where an item differs from its predecessor or successor.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0> class BlockDiscontinuity {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

  public:
    struct TempStorage {
        __cuda_slots<T, THREADS> first, last;
    };
    CUB_INLINE BlockDiscontinuity() : storage(__cuda_private_storage<BlockDiscontinuity>()), thread(__cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>()) {}
    CUB_INLINE explicit BlockDiscontinuity(TempStorage &storage)
        : storage(storage), thread(__cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>()) {}

    // Without an item before the first or after the last, these are flagged.
    template <int ITEMS, typename Flag, typename Op> CUB_INLINE void FlagHeads(Flag (&flags)[ITEMS], T (&input)[ITEMS], Op op) {
        Share(input);
        Heads(flags, input, op, thread > 0, input[0]);
    }
    template <int ITEMS, typename Flag, typename Op> CUB_INLINE void FlagHeads(Flag (&flags)[ITEMS], T (&input)[ITEMS], Op op, T before) {
        Share(input);
        Heads(flags, input, op, true, before);
    }
    template <int ITEMS, typename Flag, typename Op> CUB_INLINE void FlagTails(Flag (&flags)[ITEMS], T (&input)[ITEMS], Op op) {
        Share(input);
        Tails(flags, input, op, thread < THREADS - 1, input[0]);
    }
    template <int ITEMS, typename Flag, typename Op> CUB_INLINE void FlagTails(Flag (&flags)[ITEMS], T (&input)[ITEMS], Op op, T behind) {
        Share(input);
        Tails(flags, input, op, true, behind);
    }
    template <int ITEMS, typename Flag, typename Op>
    CUB_INLINE void FlagHeadsAndTails(Flag (&heads)[ITEMS], Flag (&tails)[ITEMS], T (&input)[ITEMS], Op op) {
        Share(input);
        Heads(heads, input, op, thread > 0, input[0]);
        Tails(tails, input, op, thread < THREADS - 1, input[0]);
    }

  private:
    TempStorage &storage;
    int thread;
    template <int ITEMS> CUB_INLINE void Share(T (&input)[ITEMS]) {
        storage.first[thread] = input[0];
        storage.last[thread] = input[ITEMS - 1];
        __syncthreads();
    }
    template <typename Op> static CUB_INLINE auto Call(Op &op, const T &a, const T &b, int i) {
        if constexpr (__cuda_callable_with<void, Op, const T &, const T &, int>::value)
            return op(a, b, i);
        else
            return op(a, b);
    }
    template <int ITEMS, typename Flag, typename Op>
    CUB_INLINE void Heads(Flag (&flags)[ITEMS], T (&input)[ITEMS], Op &op, bool has, const T &before) {
        flags[0] = has ? static_cast<Flag>(Call(op, thread > 0 ? storage.last[thread - 1] : before, input[0], thread * ITEMS)) : Flag(1);
        for (int i = 1; i < ITEMS; i++)
            flags[i] = Call(op, input[i - 1], input[i], thread * ITEMS + i);
    }
    template <int ITEMS, typename Flag, typename Op>
    CUB_INLINE void Tails(Flag (&flags)[ITEMS], T (&input)[ITEMS], Op &op, bool has, const T &behind) {
        for (int i = 0; i < ITEMS - 1; i++)
            flags[i] = Call(op, input[i], input[i + 1], thread * ITEMS + i + 1);
        flags[ITEMS - 1] = has ? static_cast<Flag>(Call(op, input[ITEMS - 1], thread < THREADS - 1 ? storage.first[thread + 1] : behind,
                                                        thread * ITEMS + ITEMS))
                               : Flag(1);
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
