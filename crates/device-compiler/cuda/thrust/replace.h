// Thrust's <thrust/replace.h> for AMD targets: replaces values.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/replace.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/replace.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename C, typename T> struct replace_one {
    I first;
    C choose;
    T value;
    __host__ __device__ void operator()(size_t i) {
        if (choose(first[i]))
            first[i] = value;
    }
};
template <typename T> struct is_old {
    T old;
    template <typename U> __host__ __device__ bool operator()(const U &value) const { return value == old; }
};
template <typename P, typename I, typename T> inline auto replace(const P &policy, I first, I last, const T &old, const T &value) {
    run(policy, static_cast<size_t>(last - first), replace_one<typename iterator<I>::raw, is_old<T>, T>{raw(first), is_old<T>{old}, value});
    return last;
}
template <typename I, typename T> __host__ __device__ inline auto replace(const seq_policy &policy, I first, I last, const T &old, const T &value) {
    loop(policy, static_cast<size_t>(last - first), replace_one<typename iterator<I>::raw, is_old<T>, T>{raw(first), is_old<T>{old}, value});
    return last;
}
template <typename P, typename I, typename C, typename T> inline auto replace_if(const P &policy, I first, I last, C choose, const T &value) {
    run(policy, static_cast<size_t>(last - first), replace_one<typename iterator<I>::raw, C, T>{raw(first), choose, value});
    return last;
}
template <typename I, typename C, typename T> __host__ __device__ inline auto replace_if(const seq_policy &policy, I first, I last, C choose, const T &value) {
    loop(policy, static_cast<size_t>(last - first), replace_one<typename iterator<I>::raw, C, T>{raw(first), choose, value});
    return last;
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(replace, (typename I, typename T), (I first, I last, const T &old, const T &value), (first, last, old, value), (I), I)
__CUDA_THRUST_ALGORITHM(replace_if, (typename I, typename C, typename T), (I first, I last, C choose, const T &value), (first, last, choose, value), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
