// CUB's <cub/warp/warp_scan.cuh> for AMD targets: prefix sums of logical warps of up to 32 lanes.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
template <typename T, int LOGICAL_WARP_THREADS = 32, int LEGACY_PTX_ARCH = 0> class WarpScan {
    static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= 32, "a warp has 32 lanes");

  public:
    typedef NullType TempStorage;
    CUB_INLINE WarpScan() {}
    CUB_INLINE explicit WarpScan(TempStorage &) {}

    CUB_INLINE void InclusiveSum(T input, T &output) { InclusiveScan(input, output, cub::Sum()); }
    CUB_INLINE void InclusiveSum(T input, T &output, T &aggregate) { InclusiveScan(input, output, cub::Sum(), aggregate); }
    CUB_INLINE void ExclusiveSum(T input, T &output) { ExclusiveScan(input, output, T(0), cub::Sum()); }
    CUB_INLINE void ExclusiveSum(T input, T &output, T &aggregate) { ExclusiveScan(input, output, T(0), cub::Sum(), aggregate); }

    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void InclusiveScan(T input, T &output, Op op) { output = Inclusive(input, op); }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void InclusiveScan(T input, T &output, Op op, T &aggregate) {
        output = Inclusive(input, op);
        aggregate = Last(output);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void InclusiveScan(T input, T &output, T initial, Op op) {
        output = __cuda_apply(op, initial, Inclusive(input, op));
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void InclusiveScan(T input, T &output, T initial, Op op, T &aggregate) {
        const T inclusive = Inclusive(input, op);
        output = __cuda_apply(op, initial, inclusive);
        aggregate = Last(inclusive);
    }
    // Without an initial value, the first lane's output is undefined.
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void ExclusiveScan(T input, T &output, Op op) {
        output = Before(Inclusive(input, op));
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void ExclusiveScan(T input, T &output, Op op, T &aggregate) {
        const T inclusive = Inclusive(input, op);
        output = Before(inclusive);
        aggregate = Last(inclusive);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void ExclusiveScan(T input, T &output, T initial, Op op) {
        output = After(initial, Before(Inclusive(input, op)), op);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void ExclusiveScan(T input, T &output, T initial, Op op, T &aggregate) {
        const T inclusive = Inclusive(input, op);
        output = After(initial, Before(inclusive), op);
        aggregate = Last(inclusive);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0> CUB_INLINE void Scan(T input, T &inclusive, T &exclusive, Op op) {
        inclusive = Inclusive(input, op);
        exclusive = Before(inclusive);
    }
    template <typename Op, __cuda_if_binary<Op, T> = 0>
    CUB_INLINE void Scan(T input, T &inclusive, T &exclusive, T initial, Op op) {
        const T total = Inclusive(input, op);
        exclusive = After(initial, Before(total), op);
        inclusive = __cuda_apply(op, initial, total);
    }
    CUB_INLINE T Broadcast(T input, unsigned lane) { return __cuda_from_lane(input, First() + lane); }

  private:
    static CUB_INLINE unsigned First() { return __cuda_lane() / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS; }
    static CUB_INLINE unsigned Within() { return __cuda_lane() % LOGICAL_WARP_THREADS; }
    template <typename Op> static CUB_INLINE T Inclusive(T input, Op op) {
        const unsigned lane = __cuda_lane();
        for (unsigned distance = 1; distance < LOGICAL_WARP_THREADS; distance *= 2) {
            const bool has = Within() >= distance;
            const T other = __cuda_from_lane(input, has ? lane - distance : lane);
            if (has)
                input = __cuda_apply(op, other, input);
        }
        return input;
    }
    static CUB_INLINE T Before(T inclusive) { return __cuda_from_lane(inclusive, Within() ? __cuda_lane() - 1 : __cuda_lane()); }
    template <typename Op> static CUB_INLINE T After(T initial, T before, Op op) {
        return Within() ? __cuda_apply(op, initial, before) : initial;
    }
    static CUB_INLINE T Last(T inclusive) { return __cuda_from_lane(inclusive, First() + LOGICAL_WARP_THREADS - 1); }
};
} // namespace cub
#include "../../ferrocm_letters_end.h"
