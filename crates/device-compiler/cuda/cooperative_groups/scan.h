// CUDA's <cooperative_groups/scan.h> for AMD targets: prefix sums over tiles and coalesced groups.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "reduce.h"

namespace cooperative_groups {
template <typename Group, typename T, typename Op> __device__ T inclusive_scan(const Group &group, T value, Op op) {
    const unsigned rank = group.thread_rank(), size = group.size();
    for (unsigned distance = 1; distance < size; distance *= 2) {
        const T before = group.shfl(value, rank >= distance ? rank - distance : rank);
        if (rank >= distance)
            value = op(before, value);
    }
    return value;
}
template <unsigned Size, typename Parent, typename T, typename Op>
__device__ T inclusive_scan(const thread_block_tile<Size, Parent, true> &tile, T value, Op op) {
    return tile.__cuda_inclusive_scan(value, op);
}
// The value of the thread before.
template <typename Group, typename T> __device__ T __cuda_before(const Group &group, T value) {
    const unsigned rank = group.thread_rank();
    return group.shfl(value, rank ? rank - 1 : 0);
}
template <unsigned Size, typename Parent, typename T> __device__ T __cuda_before(const thread_block_tile<Size, Parent, true> &tile, T value) {
    const unsigned lane = __cuda_lane();
    const T last = tile.__cuda_last_of_warp_before(value);
    const T before = __cuda_from_lane(value, lane ? lane - 1 : 0);
    return lane ? before : last;
}
template <typename Group, typename T> __device__ T inclusive_scan(const Group &group, T value) {
    return inclusive_scan(group, value, plus<T>());
}
// The first thread of the group gets T().
template <typename Group, typename T, typename Op> __device__ T exclusive_scan(const Group &group, T value, Op op) {
    const T inclusive = inclusive_scan(group, value, op);
    const T before = __cuda_before(group, inclusive);
    return group.thread_rank() ? before : T();
}
template <typename Group, typename T> __device__ T exclusive_scan(const Group &group, T value) {
    return exclusive_scan(group, value, plus<T>());
}
} // namespace cooperative_groups
#include "../ferrocm_letters_end.h"
