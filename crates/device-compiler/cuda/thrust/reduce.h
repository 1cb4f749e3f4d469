// Thrust's <thrust/reduce.h> for AMD targets: sums of all items.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/reduce.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/reduce.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "functional.h"
#include "../cub/block/block_reduce.cuh"

namespace thrust {
namespace __ferrocm {
static constexpr unsigned reduce_blocks = 256;
// Each block's part. Only a block with items has a part; with fewer items than threads, the last threads have none.
template <typename T, typename I, typename F, typename Op>
__global__ void __launch_bounds__(threads) reduce_parts(size_t n, I from, F f, T *parts, Op op) {
    typedef cub::BlockReduce<T, threads> Reduce;
    __shared__ typename Reduce::TempStorage storage;
    const size_t first = static_cast<size_t>(blockIdx.x) * threads;
    size_t i = first + threadIdx.x;
    T total = static_cast<T>(f(from[i < n ? i : first]));
    for (i += static_cast<size_t>(gridDim.x) * threads; i < n; i += static_cast<size_t>(gridDim.x) * threads)
        total = static_cast<T>(op(total, static_cast<T>(f(from[i]))));
    const size_t left = n - first;
    total = Reduce(storage).Reduce(total, op, left < threads ? static_cast<int>(left) : threads);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = total;
}
template <typename T, typename Op> __global__ void __launch_bounds__(threads) reduce_last(unsigned n, T *parts, T initial, Op op) {
    typedef cub::BlockReduce<T, threads> Reduce;
    __shared__ typename Reduce::TempStorage storage;
    const T total = Reduce(storage).Reduce(parts[threadIdx.x < n ? threadIdx.x : 0], op, static_cast<int>(n));
    if (threadIdx.x == 0)
        parts[0] = static_cast<T>(op(initial, total));
}
template <typename I, typename F, typename T, typename Op> __host__ __device__ inline T transform_reduce(const seq_policy &, I first, I last, F f, T total, Op op) {
    for (; first != last; ++first)
        total = static_cast<T>(op(total, f(*first)));
    return total;
}
template <typename P, typename I, typename F, typename T, typename Op> inline T transform_reduce(const P &policy, I first, I last, F f, T initial, Op op) {
    if constexpr (on_device<P>::value) {
        const size_t n = static_cast<size_t>(last - first);
        if (n == 0)
            return initial;
        const unsigned count = blocks(n, reduce_blocks);
        scratch<T> parts(count);
        reduce_parts<T><<<dim3(count), dim3(threads), 0, policy.stream>>>(n, raw(first), f, parts.at, op);
        reduce_last<T><<<dim3(1), dim3(threads), 0, policy.stream>>>(count, parts.at, initial, op);
        check((hipGetLastError)());
        alignas(T) char result[sizeof(T)];
        check((hipMemcpyAsync)(result, parts.at, sizeof(T), hipMemcpyDeviceToHost, policy.stream));
        check((hipStreamSynchronize)(policy.stream));
        return *reinterpret_cast<T *>(result);
    } else {
        return __ferrocm::transform_reduce(seq, first, last, f, initial, op);
    }
}
template <typename P, typename I, typename T, typename Op> __host__ __device__ inline T reduce(const P &policy, I first, I last, T initial, Op op) {
    return __ferrocm::transform_reduce(policy, first, last, thrust::identity<>(), initial, op);
}
template <typename P, typename I, typename T> __host__ __device__ inline T reduce(const P &policy, I first, I last, T initial) {
    return __ferrocm::transform_reduce(policy, first, last, thrust::identity<>(), initial, thrust::plus<>());
}
template <typename P, typename I> __host__ __device__ inline value_of<I> reduce(const P &policy, I first, I last) {
    return __ferrocm::reduce(policy, first, last, value_of<I>(0));
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(transform_reduce, (typename I, typename F, typename T, typename Op), (I first, I last, F f, T initial, Op op), (first, last, f, initial, op), (I), I)
__CUDA_THRUST_ALGORITHM(reduce, (typename I), (I first, I last), (first, last), (I), I)
__CUDA_THRUST_ALGORITHM(reduce, (typename I, typename T), (I first, I last, T initial), (first, last, initial), (I), I)
__CUDA_THRUST_ALGORITHM(reduce, (typename I, typename T, typename Op), (I first, I last, T initial, Op op), (first, last, initial, op), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
