// Thrust's <thrust/extrema.h> for AMD targets: the largest and the smallest item.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/extrema.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/extrema.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "reduce.h"
#include "iterator/counting_iterator.h"
#include <algorithm>

namespace thrust {
using std::max;
using std::min;
namespace __ferrocm {
// The position of the better of two; of equal ones, the first.
template <typename I, typename F> struct better {
    I from;
    F before;
    __host__ __device__ ptrdiff_t operator()(ptrdiff_t a, ptrdiff_t b) {
        const ptrdiff_t low = a < b ? a : b, high = a < b ? b : a;
        return before(from[high], from[low]) ? high : low;
    }
};
template <typename F> struct swapped {
    F f;
    template <typename A, typename B> __host__ __device__ bool operator()(const A &a, const B &b) { return f(b, a); }
};
template <typename P, typename I, typename F> __host__ __device__ inline I min_element(const P &policy, I first, I last, F less) {
    if (first == last)
        return last;
    typedef typename iterator<I>::raw R;
    const counting_iterator<ptrdiff_t> places(0);
    return first + __ferrocm::transform_reduce(policy, places, places + (last - first), thrust::identity<>(), ptrdiff_t(0), better<R, F>{raw(first), less});
}
template <typename P, typename I, typename F> __host__ __device__ inline I max_element(const P &policy, I first, I last, F less) {
    return __ferrocm::min_element(policy, first, last, swapped<F>{less});
}
template <typename P, typename I> __host__ __device__ inline I min_element(const P &policy, I first, I last) {
    return __ferrocm::min_element(policy, first, last, thrust::less<>());
}
template <typename P, typename I> __host__ __device__ inline I max_element(const P &policy, I first, I last) {
    return __ferrocm::max_element(policy, first, last, thrust::less<>());
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(min_element, (typename I), (I first, I last), (first, last), (I), I)
__CUDA_THRUST_ALGORITHM(min_element, (typename I, typename F), (I first, I last, F less), (first, last, less), (I), I)
__CUDA_THRUST_ALGORITHM(max_element, (typename I), (I first, I last), (first, last), (I), I)
__CUDA_THRUST_ALGORITHM(max_element, (typename I, typename F), (I first, I last, F less), (first, last, less), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
