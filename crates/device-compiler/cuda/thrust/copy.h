// Thrust's <thrust/copy.h> for AMD targets: copies on the device, and from and to it.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/copy.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/copy.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"
#include "../cub/block/block_scan.cuh"

namespace thrust {
namespace __ferrocm {
template <typename I, typename O> struct copy_one {
    I from;
    O to;
    __host__ __device__ void operator()(size_t i) const { to[i] = from[i]; }
};
template <typename I, typename O> __host__ __device__ inline O copy(const seq_policy &policy, I first, I last, O to) {
    loop(policy, static_cast<size_t>(last - first), copy_one<typename iterator<I>::raw, typename iterator<O>::raw>{raw(first), raw(to)});
    return to + (last - first);
}
// Between the host and the device: the items are contiguous on both sides.
template <typename P, typename I, typename O> inline O copy(const P &policy, I first, I last, O to) {
    const size_t n = static_cast<size_t>(last - first);
    constexpr bool known = on_device<P>::value;
    if constexpr (iterator<I>::of_device != iterator<O>::of_device && (!known || !std::is_pointer<I>::value) && (!known || !std::is_pointer<O>::value)) {
        typedef value_of<I> T;
        typedef value_of<O> U;
        if (n == 0)
            return to;
        hipStream_t stream = nullptr;
        if constexpr (known)
            stream = policy.stream;
        if constexpr (iterator<I>::of_device) {
            std::vector<T> host(n);
            check((hipMemcpyAsync)(host.data(), raw(first), n * sizeof(T), hipMemcpyDeviceToHost, stream));
            check((hipStreamSynchronize)(stream));
            for (size_t i = 0; i < n; i++)
                to[i] = host[i];
        } else {
            std::vector<U> host(n);
            for (size_t i = 0; i < n; i++)
                host[i] = first[i];
            check((hipMemcpyAsync)(raw(to), host.data(), n * sizeof(U), hipMemcpyHostToDevice, stream));
            check((hipStreamSynchronize)(stream));
        }
    } else {
        run(policy, n, copy_one<typename iterator<I>::raw, typename iterator<O>::raw>{raw(first), raw(to)});
    }
    return to + (last - first);
}
template <typename I, typename N, typename O> __host__ __device__ inline O copy_n(const seq_policy &policy, I first, N n, O to) {
    return __ferrocm::copy(policy, first, first + n, to);
}
template <typename P, typename I, typename N, typename O> inline O copy_n(const P &policy, I first, N n, O to) {
    return __ferrocm::copy(policy, first, first + n, to);
}

// Copies the selected items, in order, with one block.
template <typename I, typename S, typename O, typename C> __global__ void __launch_bounds__(threads) copy_chosen(size_t n, I from, S stencil, O to, C choose, size_t *count) {
    typedef cub::BlockScan<unsigned, threads> Scan;
    __shared__ typename Scan::TempStorage storage;
    size_t done = 0;
    for (size_t start = 0; start < n; start += threads) {
        const size_t i = start + threadIdx.x;
        unsigned chosen = i < n && choose(stencil[i]) ? 1 : 0, before, all;
        Scan(storage).ExclusiveSum(chosen, before, all);
        if (chosen)
            to[done + before] = from[i];
        done += all;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *count = done;
}
template <typename I, typename S, typename O, typename C> __host__ __device__ inline O copy_if(const seq_policy &, I first, I last, S stencil, O to, C choose) {
    for (; first != last; ++first, ++stencil)
        if (choose(*stencil)) {
            *to = *first;
            ++to;
        }
    return to;
}
template <typename P, typename I, typename S, typename O, typename C> inline O copy_if(const P &policy, I first, I last, S stencil, O to, C choose) {
    if constexpr (on_device<P>::value) {
        const size_t n = static_cast<size_t>(last - first);
        scratch<size_t> count(1);
        copy_chosen<<<dim3(1), dim3(threads), 0, policy.stream>>>(n, raw(first), raw(stencil), raw(to), choose, count.at);
        size_t found = 0;
        check((hipMemcpyAsync)(&found, count.at, sizeof(found), hipMemcpyDeviceToHost, policy.stream));
        check((hipStreamSynchronize)(policy.stream));
        return to + static_cast<ptrdiff_t>(found);
    } else {
        return __ferrocm::copy_if(seq, first, last, stencil, to, choose);
    }
}
template <typename I, typename O, typename C> __host__ __device__ inline O copy_if(const seq_policy &policy, I first, I last, O to, C choose) {
    return __ferrocm::copy_if(policy, first, last, first, to, choose);
}
template <typename P, typename I, typename O, typename C> inline O copy_if(const P &policy, I first, I last, O to, C choose) {
    return __ferrocm::copy_if(policy, first, last, first, to, choose);
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(copy, (typename I, typename O), (I first, I last, O to), (first, last, to), (I, O), I)
__CUDA_THRUST_ALGORITHM(copy_n, (typename I, typename N, typename O), (I first, N n, O to), (first, n, to), (I, O), I)
__CUDA_THRUST_ALGORITHM(copy_if, (typename I, typename O, typename C), (I first, I last, O to, C choose), (first, last, to, choose), (I, O), I)
__CUDA_THRUST_ALGORITHM(copy_if, (typename I, typename S, typename O, typename C), (I first, I last, S stencil, O to, C choose), (first, last, stencil, to, choose), (I, S, O), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
