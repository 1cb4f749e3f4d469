// Thrust's <thrust/scan.h> for AMD targets: prefix sums.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/scan.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/scan.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "functional.h"
#include "../cub/block/block_scan.cuh"

namespace thrust {
namespace __ferrocm {
// One block, tile by tile. A tile is read completely before its outputs are written, so `Out` may be the input.
template <bool EXCLUSIVE, bool INITIAL, typename T, typename I, typename O, typename Op>
__global__ void __launch_bounds__(threads) scan_tiles(size_t n, I from, O to, T initial, Op op) {
    typedef cub::BlockScan<T, threads> Scan;
    __shared__ typename Scan::TempStorage storage;
    T carry = initial;
    bool any = INITIAL;
    for (size_t start = 0; start < n; start += threads) {
        const size_t i = start + threadIdx.x;
        // Threads beyond the end repeat a value; no later thread uses it.
        const T value = static_cast<T>(from[i < n ? i : start]);
        T result, all;
        if (EXCLUSIVE) {
            Scan(storage).ExclusiveScan(value, result, op, all);
            if (threadIdx.x == 0)
                result = carry;
            else
                result = static_cast<T>(op(carry, result));
        } else {
            Scan(storage).InclusiveScan(value, result, op, all);
            if (any)
                result = static_cast<T>(op(carry, result));
        }
        carry = any ? static_cast<T>(op(carry, all)) : all;
        any = true;
        if (i < n)
            to[i] = result;
        __syncthreads();
    }
}
template <typename I, typename O, typename Op> __host__ __device__ inline O inclusive_scan(const seq_policy &, I first, I last, O to, Op op) {
    if (first == last)
        return to;
    value_of<I> total = *first;
    *to = total;
    for (++first, ++to; first != last; ++first, ++to)
        *to = total = static_cast<value_of<I>>(op(total, *first));
    return to;
}
template <typename P, typename I, typename O, typename Op> inline O inclusive_scan(const P &policy, I first, I last, O to, Op op) {
    if constexpr (on_device<P>::value) {
        typedef value_of<I> T;
        if (first != last)
            scan_tiles<false, false, T><<<dim3(1), dim3(threads), 0, policy.stream>>>(static_cast<size_t>(last - first), raw(first), raw(to), T(), op);
        end(policy);
        return to + (last - first);
    } else {
        return __ferrocm::inclusive_scan(seq, first, last, to, op);
    }
}
template <typename I, typename O, typename T, typename Op> __host__ __device__ inline O exclusive_scan(const seq_policy &, I first, I last, O to, T initial, Op op) {
    for (; first != last; ++first, ++to) {
        const T next = static_cast<T>(op(initial, *first));
        *to = initial;
        initial = next;
    }
    return to;
}
template <typename P, typename I, typename O, typename T, typename Op> inline O exclusive_scan(const P &policy, I first, I last, O to, T initial, Op op) {
    if constexpr (on_device<P>::value) {
        if (first != last)
            scan_tiles<true, true, T><<<dim3(1), dim3(threads), 0, policy.stream>>>(static_cast<size_t>(last - first), raw(first), raw(to), initial, op);
        end(policy);
        return to + (last - first);
    } else {
        return __ferrocm::exclusive_scan(seq, first, last, to, initial, op);
    }
}
template <typename P, typename I, typename O> __host__ __device__ inline O inclusive_scan(const P &policy, I first, I last, O to) {
    return __ferrocm::inclusive_scan(policy, first, last, to, thrust::plus<>());
}
template <typename P, typename I, typename O> __host__ __device__ inline O exclusive_scan(const P &policy, I first, I last, O to) {
    return __ferrocm::exclusive_scan(policy, first, last, to, value_of<I>(0), thrust::plus<>());
}
template <typename P, typename I, typename O, typename T> __host__ __device__ inline O exclusive_scan(const P &policy, I first, I last, O to, T initial) {
    return __ferrocm::exclusive_scan(policy, first, last, to, initial, thrust::plus<>());
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(inclusive_scan, (typename I, typename O), (I first, I last, O to), (first, last, to), (I, O), I)
__CUDA_THRUST_ALGORITHM(inclusive_scan, (typename I, typename O, typename Op), (I first, I last, O to, Op op), (first, last, to, op), (I, O), I)
__CUDA_THRUST_ALGORITHM(exclusive_scan, (typename I, typename O), (I first, I last, O to), (first, last, to), (I, O), I)
__CUDA_THRUST_ALGORITHM(exclusive_scan, (typename I, typename O, typename T), (I first, I last, O to, T initial), (first, last, to, initial), (I, O), I)
__CUDA_THRUST_ALGORITHM(exclusive_scan, (typename I, typename O, typename T, typename Op), (I first, I last, O to, T initial, Op op), (first, last, to, initial, op), (I, O), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
