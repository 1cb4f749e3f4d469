// Thrust's <thrust/sequence.h> for AMD targets: numbers in order.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/sequence.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/sequence.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename T> struct sequence_one {
    I first;
    T start, step;
    __host__ __device__ void operator()(size_t i) const { first[i] = static_cast<value_of<I>>(start + step * static_cast<T>(i)); }
};
template <typename P, typename I> inline auto sequence(const P &policy, I first, I last) {
    run(policy, static_cast<size_t>(last - first), sequence_one<typename iterator<I>::raw, value_of<I>>{raw(first), value_of<I>(0), value_of<I>(1)});
    return last;
}
template <typename I> __host__ __device__ inline auto sequence(const seq_policy &policy, I first, I last) {
    loop(policy, static_cast<size_t>(last - first), sequence_one<typename iterator<I>::raw, value_of<I>>{raw(first), value_of<I>(0), value_of<I>(1)});
    return last;
}
template <typename P, typename I, typename T> inline auto sequence(const P &policy, I first, I last, T start) {
    run(policy, static_cast<size_t>(last - first), sequence_one<typename iterator<I>::raw, T>{raw(first), start, T(1)});
    return last;
}
template <typename I, typename T> __host__ __device__ inline auto sequence(const seq_policy &policy, I first, I last, T start) {
    loop(policy, static_cast<size_t>(last - first), sequence_one<typename iterator<I>::raw, T>{raw(first), start, T(1)});
    return last;
}
template <typename P, typename I, typename T> inline auto sequence(const P &policy, I first, I last, T start, T step) {
    run(policy, static_cast<size_t>(last - first), sequence_one<typename iterator<I>::raw, T>{raw(first), start, step});
    return last;
}
template <typename I, typename T> __host__ __device__ inline auto sequence(const seq_policy &policy, I first, I last, T start, T step) {
    loop(policy, static_cast<size_t>(last - first), sequence_one<typename iterator<I>::raw, T>{raw(first), start, step});
    return last;
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(sequence, (typename I), (I first, I last), (first, last), (I), I)
__CUDA_THRUST_ALGORITHM(sequence, (typename I, typename T), (I first, I last, T start), (first, last, start), (I), I)
__CUDA_THRUST_ALGORITHM(sequence, (typename I, typename T), (I first, I last, T start, T step), (first, last, start, step), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
