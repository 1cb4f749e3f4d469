// CUB's <cub/warp/warp_reduce.cuh> for AMD targets: reductions of logical warps of up to 32 lanes. The result is in their first lane.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int LOGICAL_WARP_THREADS = 32, int LEGACY_PTX_ARCH = 0> class WarpReduce {
    static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= 32, "a warp has 32 lanes");

  public:
    typedef NullType TempStorage;
    CUB_INLINE WarpReduce() {}
    CUB_INLINE explicit WarpReduce(TempStorage &) {}

    template <typename Op> CUB_INLINE T Reduce(T input, Op op) { return Reduce(input, op, LOGICAL_WARP_THREADS); }
    // Only over the first lanes.
    template <typename Op> CUB_INLINE T Reduce(T input, Op op, int valid_items) {
        const int lane = Lane(), within = lane % LOGICAL_WARP_THREADS;
        for (int distance = 1; distance < LOGICAL_WARP_THREADS; distance *= 2) {
            const bool has = within + distance < valid_items && within + distance < LOGICAL_WARP_THREADS;
            const T other = __cuda_from_lane(input, has ? lane + distance : lane);
            if (has)
                input = __cuda_apply(op, input, other);
        }
        return input;
    }
    CUB_INLINE T Sum(T input) { return Reduce(input, cub::Sum()); }
    CUB_INLINE T Sum(T input, int valid_items) { return Reduce(input, cub::Sum(), valid_items); }
    CUB_INLINE T Max(T input) { return Reduce(input, cub::Max()); }
    CUB_INLINE T Max(T input, int valid_items) { return Reduce(input, cub::Max(), valid_items); }
    CUB_INLINE T Min(T input) { return Reduce(input, cub::Min()); }
    CUB_INLINE T Min(T input, int valid_items) { return Reduce(input, cub::Min(), valid_items); }

    // The result of a segment is in the lane of its head.
    template <typename Flag, typename Op> CUB_INLINE T HeadSegmentedReduce(T input, Flag head, Op op) {
        const unsigned lane = Lane(), heads = Logical(__cuda_ballot(head ? 1 : 0));
        // The lanes after this one, up to the next head.
        const unsigned later = lane == 31 ? 0 : heads & (0xfffffffeu << lane);
        return Segment(input, op, later ? __builtin_ctz(later) : End());
    }
    template <typename Flag, typename Op> CUB_INLINE T TailSegmentedReduce(T input, Flag tail, Op op) {
        const unsigned lane = Lane(), tails = Logical(__cuda_ballot(tail ? 1 : 0)) & (0xffffffffu << lane);
        return Segment(input, op, tails ? __builtin_ctz(tails) + 1 : End());
    }
    template <typename Flag> CUB_INLINE T HeadSegmentedSum(T input, Flag head) { return HeadSegmentedReduce(input, head, cub::Sum()); }
    template <typename Flag> CUB_INLINE T TailSegmentedSum(T input, Flag tail) { return TailSegmentedReduce(input, tail, cub::Sum()); }

  private:
    static CUB_INLINE unsigned Lane() { return __cuda_lane(); }
    static CUB_INLINE unsigned End() { return Lane() / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS + LOGICAL_WARP_THREADS; }
    static CUB_INLINE unsigned Logical(unsigned ballot) { return ballot & WarpMask<LOGICAL_WARP_THREADS>(Lane() / LOGICAL_WARP_THREADS); }
    template <typename Op> CUB_INLINE T Segment(T input, Op op, unsigned end) {
        const unsigned lane = Lane();
        for (unsigned distance = 1; distance < LOGICAL_WARP_THREADS; distance *= 2) {
            const bool has = lane + distance < end;
            const T other = __cuda_from_lane(input, has ? lane + distance : lane);
            if (has)
                input = __cuda_apply(op, input, other);
        }
        return input;
    }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
