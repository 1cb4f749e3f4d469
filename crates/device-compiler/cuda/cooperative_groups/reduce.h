// CUDA's <cooperative_groups/reduce.h> for AMD targets: reductions over tiles and coalesced groups.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cooperative_groups.h"

namespace cooperative_groups {
#define __CUDA_GROUP_OPERATION(NAME, EXPRESSION)                                                                        \
    template <typename T = void> struct NAME {                                                                          \
        __device__ T operator()(const T &a, const T &b) const { return EXPRESSION; }                                    \
    };                                                                                                                  \
    template <> struct NAME<void> {                                                                                     \
        template <typename T> __device__ T operator()(const T &a, const T &b) const { return EXPRESSION; }              \
    };
__CUDA_GROUP_OPERATION(plus, a + b)
__CUDA_GROUP_OPERATION(less, b < a ? b : a)
__CUDA_GROUP_OPERATION(greater, a < b ? b : a)
__CUDA_GROUP_OPERATION(bit_and, a & b)
__CUDA_GROUP_OPERATION(bit_or, a | b)
__CUDA_GROUP_OPERATION(bit_xor, a ^ b)
#undef __CUDA_GROUP_OPERATION

// Every thread of the group gets the reduction of all values with `op`.
template <typename Group, typename T, typename Op> __device__ T reduce(const Group &group, T value, Op op) {
    const unsigned size = group.size();
    if ((size & (size - 1)) == 0) {
        for (unsigned distance = size / 2; distance > 0; distance /= 2)
            value = op(value, group.shfl(value, group.thread_rank() ^ distance));
        return value;
    }
    T total = group.shfl(value, 0);
    for (unsigned rank = 1; rank < size; rank++)
        total = op(total, group.shfl(value, rank));
    return total;
}
template <unsigned Size, typename Parent, typename T, typename Op>
__device__ T reduce(const thread_block_tile<Size, Parent, true> &tile, T value, Op op) {
    return tile.__cuda_reduce(value, op);
}
} // namespace cooperative_groups
#include "../ferrocm_letters_end.h"
