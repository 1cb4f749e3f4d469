// Thrust's <thrust/fill.h> for AMD targets: one value for many items.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/fill.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/fill.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename T> struct fill_one {
    I first;
    T value;
    __host__ __device__ void operator()(size_t i) const { first[i] = value; }
};
template <typename P, typename I, typename T> inline auto fill(const P &policy, I first, I last, const T &value) {
    run(policy, static_cast<size_t>(last - first), fill_one<typename iterator<I>::raw, T>{raw(first), value});
    return last;
}
template <typename I, typename T> __host__ __device__ inline auto fill(const seq_policy &policy, I first, I last, const T &value) {
    loop(policy, static_cast<size_t>(last - first), fill_one<typename iterator<I>::raw, T>{raw(first), value});
    return last;
}
template <typename P, typename I, typename N, typename T> inline auto fill_n(const P &policy, I first, N n, const T &value) {
    run(policy, static_cast<size_t>(n), fill_one<typename iterator<I>::raw, T>{raw(first), value});
    return first + n;
}
template <typename I, typename N, typename T> __host__ __device__ inline auto fill_n(const seq_policy &policy, I first, N n, const T &value) {
    loop(policy, static_cast<size_t>(n), fill_one<typename iterator<I>::raw, T>{raw(first), value});
    return first + n;
}
template <typename P, typename I, typename T> inline auto uninitialized_fill(const P &policy, I first, I last, const T &value) {
    run(policy, static_cast<size_t>(last - first), fill_one<typename iterator<I>::raw, T>{raw(first), value});
    return last;
}
template <typename I, typename T> __host__ __device__ inline auto uninitialized_fill(const seq_policy &policy, I first, I last, const T &value) {
    loop(policy, static_cast<size_t>(last - first), fill_one<typename iterator<I>::raw, T>{raw(first), value});
    return last;
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(fill, (typename I, typename T), (I first, I last, const T &value), (first, last, value), (I), I)
__CUDA_THRUST_ALGORITHM(fill_n, (typename I, typename N, typename T), (I first, N n, const T &value), (first, n, value), (I), I)
__CUDA_THRUST_ALGORITHM(uninitialized_fill, (typename I, typename T), (I first, I last, const T &value), (first, last, value), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
