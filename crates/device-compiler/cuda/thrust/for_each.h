// Thrust's <thrust/for_each.h> for AMD targets: a call for each item.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/for_each.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/for_each.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename F> struct call_each {
    I first;
    F f;
    __host__ __device__ void operator()(size_t i) { f(first[i]); }
};
template <typename P, typename I, typename N, typename F> inline I for_each_n(const P &policy, I first, N n, F f) {
    typedef typename iterator<I>::raw R;
    run(policy, static_cast<size_t>(n), call_each<R, F>{raw(first), f});
    return first + n;
}
template <typename I, typename N, typename F> __host__ __device__ inline I for_each_n(const seq_policy &, I first, N n, F f) {
    for (N i = 0; i < n; i++)
        f(first[i]);
    return first + n;
}
template <typename P, typename I, typename F> inline I for_each(const P &policy, I first, I last, F f) {
    return __ferrocm::for_each_n(policy, first, last - first, f);
}
template <typename I, typename F> __host__ __device__ inline I for_each(const seq_policy &policy, I first, I last, F f) {
    return __ferrocm::for_each_n(policy, first, last - first, f);
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(for_each, (typename I, typename F), (I first, I last, F f), (first, last, f), (I), I)
__CUDA_THRUST_ALGORITHM(for_each_n, (typename I, typename N, typename F), (I first, N n, F f), (first, n, f), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
