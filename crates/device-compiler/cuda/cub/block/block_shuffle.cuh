// CUB's <cub/block/block_shuffle.cuh> for AMD targets: moves items to other threads of a block.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0> class BlockShuffle {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

  public:
    struct TempStorage {
        __cuda_slots<T, THREADS> items;
    };
    CUB_INLINE BlockShuffle() : storage(__cuda_private_storage<BlockShuffle>()), thread(Thread()) {}
    CUB_INLINE explicit BlockShuffle(TempStorage &storage) : storage(storage), thread(Thread()) {}

    // A thread without a source keeps what it has in `output`.
    CUB_INLINE void Offset(T input, T &output, int distance = 1) {
        Share(input);
        if (thread + distance >= 0 && thread + distance < THREADS)
            output = storage.items[thread + distance];
    }
    CUB_INLINE void Rotate(T input, T &output, unsigned distance = 1) {
        Share(input);
        output = storage.items[(thread + distance) % THREADS];
    }
    template <int ITEMS> CUB_INLINE void Up(T (&input)[ITEMS], T (&previous)[ITEMS]) {
        Share(input[ITEMS - 1]);
        for (int i = ITEMS - 1; i > 0; i--)
            previous[i] = input[i - 1];
        if (thread > 0)
            previous[0] = storage.items[thread - 1];
    }
    // Every thread also gets the block's last item.
    template <int ITEMS> CUB_INLINE void Up(T (&input)[ITEMS], T (&previous)[ITEMS], T &last) {
        Up(input, previous);
        last = storage.items[THREADS - 1];
    }
    template <int ITEMS> CUB_INLINE void Down(T (&input)[ITEMS], T (&next)[ITEMS]) {
        Share(input[0]);
        for (int i = 0; i < ITEMS - 1; i++)
            next[i] = input[i + 1];
        if (thread < THREADS - 1)
            next[ITEMS - 1] = storage.items[thread + 1];
    }
    // Every thread also gets the block's first item.
    template <int ITEMS> CUB_INLINE void Down(T (&input)[ITEMS], T (&next)[ITEMS], T &first) {
        Down(input, next);
        first = storage.items[0];
    }

  private:
    TempStorage &storage;
    int thread;
    static CUB_INLINE int Thread() { return __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(); }
    CUB_INLINE void Share(const T &item) {
        storage.items[thread] = item;
        __syncthreads();
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
