// CUDA's <cooperative_groups/memcpy_async.h> for AMD targets: copies by the threads of a group.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda/barrier"

namespace cooperative_groups {
// The data is written when wait() returns, as with CUDA.
template <typename Group, typename T, typename Size>
__device__ inline void memcpy_async(const Group &group, T *to, const T *from, const Size &bytes) {
    ::cuda::__cuda_copy::copy(to, from, bytes, group.thread_rank(), group.size());
}
template <typename Group, typename T, typename Layout, typename U, typename FromLayout>
__device__ inline void memcpy_async(const Group &group, T *to, const Layout &to_count, const U *from, const FromLayout &from_count) {
    const size_t a = static_cast<size_t>(to_count), b = static_cast<size_t>(from_count);
    ::cuda::__cuda_copy::copy(to, from, (a < b ? a : b) * sizeof(T), group.thread_rank(), group.size());
}
template <typename Group> __device__ inline void wait(const Group &group) { group.sync(); }
template <unsigned PRIOR, typename Group> __device__ inline void wait_prior(const Group &group) { group.sync(); }
} // namespace cooperative_groups
#include "../ferrocm_letters_end.h"
