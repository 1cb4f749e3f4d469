// CUB's <cub/block/block_scan.cuh> for AMD targets: prefix sums of a block, with one or several items per thread.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../warp/warp_scan.cuh"

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

// All algorithms are the same here: each warp's sums, then those of the warps before. The first warp calls a prefix callback with
// the block's aggregate; the result in its first lane is the prefix.
template <typename T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1,
          int LEGACY_PTX_ARCH = 0>
class BlockScan {
    static constexpr int THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, WARPS = (THREADS + 31) / 32;

  public:
    struct TempStorage {
        __cuda_slots<T, WARPS> warps;
        __cuda_slots<T, 1> prefix;
    };
    CUB_INLINE BlockScan() : storage(__cuda_private_storage<BlockScan>()) {}
    CUB_INLINE explicit BlockScan(TempStorage &storage) : storage(storage) {}

    // One item.
    CUB_INLINE void InclusiveSum(T input, T &output) { InclusiveScan(input, output, cub::Sum()); }
    CUB_INLINE void InclusiveSum(T input, T &output, T &aggregate) { InclusiveScan(input, output, cub::Sum(), aggregate); }
    template <typename Prefix, __cuda_if_unary<Prefix, T> = 0> CUB_INLINE void InclusiveSum(T input, T &output, Prefix &prefix) {
        InclusiveScan(input, output, cub::Sum(), prefix);
    }
    CUB_INLINE void ExclusiveSum(T input, T &output) { ExclusiveScan(input, output, T(0), cub::Sum()); }
    CUB_INLINE void ExclusiveSum(T input, T &output, T &aggregate) { ExclusiveScan(input, output, T(0), cub::Sum(), aggregate); }
    template <typename Prefix, __cuda_if_unary<Prefix, T> = 0> CUB_INLINE void ExclusiveSum(T input, T &output, Prefix &prefix) {
        ExclusiveScan(input, output, cub::Sum(), prefix);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void InclusiveScan(T input, T &output, Op op) {
        T aggregate;
        InclusiveScan(input, output, op, aggregate);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void InclusiveScan(T input, T &output, Op op, T &aggregate) {
        T inclusive, before;
        const bool any = Scan(input, inclusive, before, aggregate, op);
        output = any ? __cuda_apply(op, before, inclusive) : inclusive;
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void InclusiveScan(T input, T &output, T initial, Op op) {
        T aggregate;
        InclusiveScan(input, output, initial, op, aggregate);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void InclusiveScan(T input, T &output, T initial, Op op, T &aggregate) {
        InclusiveScan(input, output, op, aggregate);
        output = __cuda_apply(op, initial, output);
    }
    template <typename Op, typename Prefix, __cuda_if_binary<Op, T> = 0, __cuda_if_unary<Prefix, T> = 0>
    CUB_INLINE void InclusiveScan(T input, T &output, Op op, Prefix &prefix) {
        T aggregate;
        InclusiveScan(input, output, op, aggregate);
        output = __cuda_apply(op, Ask(prefix, aggregate), output);
    }
    // Without an initial value, the first thread's output is undefined.
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void ExclusiveScan(T input, T &output, Op op) {
        T aggregate;
        ExclusiveScan(input, output, op, aggregate);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void ExclusiveScan(T input, T &output, Op op, T &aggregate) {
        Exclusive(input, output, op, aggregate);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void ExclusiveScan(T input, T &output, T initial, Op op) {
        T aggregate;
        ExclusiveScan(input, output, initial, op, aggregate);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void ExclusiveScan(T input, T &output, T initial, Op op, T &aggregate) {
        output = Exclusive(input, output, op, aggregate) ? __cuda_apply(op, initial, output) : initial;
    }
    template <typename Op, typename Prefix, __cuda_if_binary<Op, T> = 0, __cuda_if_unary<Prefix, T> = 0>
    CUB_INLINE void ExclusiveScan(T input, T &output, Op op, Prefix &prefix) {
        T aggregate, exclusive;
        const bool any = Exclusive(input, exclusive, op, aggregate);
        const T initial = Ask(prefix, aggregate);
        output = any ? __cuda_apply(op, initial, exclusive) : initial;
    }

    // Several adjacent items per thread.
    template <int ITEMS> CUB_INLINE void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS]) { InclusiveScan(input, output, cub::Sum()); }
    template <int ITEMS> CUB_INLINE void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T &aggregate) {
        InclusiveScan(input, output, cub::Sum(), aggregate);
    }
    template <int ITEMS, typename Prefix, __cuda_if_unary<Prefix, T> = 0>
    CUB_INLINE void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], Prefix &prefix) {
        InclusiveScan(input, output, cub::Sum(), prefix);
    }
    template <int ITEMS> CUB_INLINE void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS]) { ExclusiveScan(input, output, T(0), cub::Sum()); }
    template <int ITEMS> CUB_INLINE void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T &aggregate) {
        ExclusiveScan(input, output, T(0), cub::Sum(), aggregate);
    }
    template <int ITEMS, typename Prefix, __cuda_if_unary<Prefix, T> = 0>
    CUB_INLINE void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], Prefix &prefix) {
        ExclusiveScan(input, output, cub::Sum(), prefix);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Op op) {
        T aggregate;
        InclusiveScan(input, output, op, aggregate);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Op op, T &aggregate) {
        T exclusive;
        const bool any = Exclusive(ThreadReduce<ITEMS>(static_cast<const T *>(input), op), exclusive, op, aggregate);
        ThreadScanInclusive(input, output, op, exclusive, any);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Op op) {
        T aggregate;
        InclusiveScan(input, output, initial, op, aggregate);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Op op, T &aggregate) {
        T exclusive;
        ExclusiveScan(ThreadReduce<ITEMS>(static_cast<const T *>(input), op), exclusive, initial, op, aggregate);
        ThreadScanInclusive(input, output, op, exclusive);
    }
    template <int ITEMS, typename Op, typename Prefix, __cuda_if_binary<Op, T> = 0, __cuda_if_unary<Prefix, T> = 0>
    CUB_INLINE void InclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Op op, Prefix &prefix) {
        T exclusive;
        ExclusiveScan(ThreadReduce<ITEMS>(static_cast<const T *>(input), op), exclusive, op, prefix);
        ThreadScanInclusive(input, output, op, exclusive);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Op op) {
        T aggregate;
        ExclusiveScan(input, output, op, aggregate);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Op op, T &aggregate) {
        T exclusive;
        const bool any = Exclusive(ThreadReduce<ITEMS>(static_cast<const T *>(input), op), exclusive, op, aggregate);
        ThreadScanExclusive(input, output, op, exclusive, any);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Op op) {
        T aggregate;
        ExclusiveScan(input, output, initial, op, aggregate);
    }
    template <int ITEMS, typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], T initial, Op op, T &aggregate) {
        T exclusive;
        ExclusiveScan(ThreadReduce<ITEMS>(static_cast<const T *>(input), op), exclusive, initial, op, aggregate);
        ThreadScanExclusive(input, output, op, exclusive);
    }
    template <int ITEMS, typename Op, typename Prefix, __cuda_if_binary<Op, T> = 0, __cuda_if_unary<Prefix, T> = 0>
    CUB_INLINE void ExclusiveScan(T (&input)[ITEMS], T (&output)[ITEMS], Op op, Prefix &prefix) {
        T exclusive;
        ExclusiveScan(ThreadReduce<ITEMS>(static_cast<const T *>(input), op), exclusive, op, prefix);
        ThreadScanExclusive(input, output, op, exclusive);
    }

  private:
    TempStorage &storage;
    static CUB_INLINE int Thread() { return __cuda_thread<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>(); }
    // `inclusive` is for the warp and `before` for the warps before it. Returns whether there are any.
    template <typename Op> CUB_INLINE bool Scan(T input, T &inclusive, T &before, T &aggregate, Op op) {
        const int thread = Thread(), warp = thread / 32;
        WarpScan<T>().InclusiveScan(input, inclusive, op);
        if (thread % 32 == 31 || thread == THREADS - 1)
            storage.warps[warp] = inclusive;
        __syncthreads();
        T total = storage.warps[0];
        before = total;
        for (int i = 1; i < WARPS; i++) {
            if (i == warp)
                before = total;
            total = __cuda_apply(op, total, storage.warps[i]);
        }
        aggregate = total;
        return warp != 0;
    }
    // Returns whether there is a thread before this one.
    template <typename Op> CUB_INLINE bool Exclusive(T input, T &output, Op op, T &aggregate) {
        T inclusive, before;
        const bool any = Scan(input, inclusive, before, aggregate, op);
        const unsigned lane = __cuda_lane();
        const T previous = __cuda_from_lane(inclusive, lane ? lane - 1 : 0);
        output = lane == 0 ? before : any ? __cuda_apply(op, before, previous) : previous;
        return any || lane != 0;
    }
    template <typename Prefix> CUB_INLINE T Ask(Prefix &prefix, T aggregate) {
        const int thread = Thread();
        if (thread < 32) {
            const T answer = prefix(aggregate);
            if (thread == 0)
                storage.prefix[0] = answer;
        }
        __syncthreads();
        return storage.prefix[0];
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
