// CUB's <cub/block/block_run_length_decode.cuh> for AMD targets: repeats each item as often as its run is long.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "block_scan.cuh"

namespace cub {
template <typename ItemT, int BLOCK_DIM_X, int RUNS, int DECODED, typename DecodedOffsetT = uint32_t, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class BlockRunLengthDecode {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, COUNT = THREADS * RUNS;
    typedef BlockScan<DecodedOffsetT, BLOCK_DIM_X, BLOCK_SCAN_RAKING, BLOCK_DIM_Y, BLOCK_DIM_Z> Scan;

  public:
    struct TempStorage {
        typename Scan::TempStorage scan;
        __cuda_slots<ItemT, COUNT> items;
        // Where each run begins among the decoded items.
        DecodedOffsetT begin[COUNT];
    };
    template <typename Length, typename Total>
    CUB_INLINE BlockRunLengthDecode(TempStorage &storage, ItemT (&items)[RUNS], Length (&lengths)[RUNS], Total &total) : storage(storage) {
        DecodedOffsetT begin[RUNS], all;
        for (int i = 0; i < RUNS; i++)
            begin[i] = static_cast<DecodedOffsetT>(lengths[i]);
        Scan(storage.scan).ExclusiveSum(begin, begin, all);
        total = static_cast<Total>(all);
        Keep(items, begin);
    }
    template <typename Offset>
    CUB_INLINE BlockRunLengthDecode(TempStorage &storage, ItemT (&items)[RUNS], Offset (&begin)[RUNS]) : storage(storage) {
        Keep(items, begin);
    }

    // The items from `from` on, adjacent ones for each thread; and the position of each in its run.
    template <typename Relative> CUB_INLINE void RunLengthDecode(ItemT (&items)[DECODED], Relative (&offsets)[DECODED], DecodedOffsetT from = 0) {
        for (int i = 0; i < DECODED; i++) {
            const DecodedOffsetT at = from + static_cast<DecodedOffsetT>(Thread() * DECODED + i);
            // The last run that begins at or before it.
            int low = 0, high = COUNT;
            while (high - low > 1) {
                const int middle = (low + high) / 2;
                if (storage.begin[middle] <= at)
                    low = middle;
                else
                    high = middle;
            }
            items[i] = storage.items[low];
            offsets[i] = static_cast<Relative>(at - storage.begin[low]);
        }
    }
    CUB_INLINE void RunLengthDecode(ItemT (&items)[DECODED], DecodedOffsetT from = 0) {
        DecodedOffsetT offsets[DECODED];
        RunLengthDecode(items, offsets, from);
    }

  private:
    TempStorage &storage;
    static CUB_INLINE int Thread() { return __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(); }
    template <typename Offset> CUB_INLINE void Keep(ItemT (&items)[RUNS], Offset (&begin)[RUNS]) {
        for (int i = 0; i < RUNS; i++) {
            storage.items[Thread() * RUNS + i] = items[i];
            storage.begin[Thread() * RUNS + i] = static_cast<DecodedOffsetT>(begin[i]);
        }
        __syncthreads();
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
