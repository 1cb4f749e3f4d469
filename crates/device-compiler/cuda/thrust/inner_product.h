// Thrust's <thrust/inner_product.h> for AMD targets: the sum of products of pairs.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/inner_product.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/inner_product.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "reduce.h"
#include "iterator/counting_iterator.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename J, typename F> struct pair_at {
    I first;
    J second;
    F f;
    __host__ __device__ auto operator()(ptrdiff_t i) { return f(first[i], second[i]); }
};
template <typename P, typename I, typename J, typename T, typename Op, typename F>
__host__ __device__ inline T inner_product(const P &policy, I first, I last, J second, T initial, Op op, F f) {
    const counting_iterator<ptrdiff_t> places(0);
    return __ferrocm::transform_reduce(policy, places, places + (last - first),
                                       pair_at<typename iterator<I>::raw, typename iterator<J>::raw, F>{raw(first), raw(second), f}, initial, op);
}
template <typename P, typename I, typename J, typename T> __host__ __device__ inline T inner_product(const P &policy, I first, I last, J second, T initial) {
    return __ferrocm::inner_product(policy, first, last, second, initial, thrust::plus<>(), thrust::multiplies<>());
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(inner_product, (typename I, typename J, typename T), (I first, I last, J second, T initial), (first, last, second, initial), (I, J), I)
__CUDA_THRUST_ALGORITHM(inner_product, (typename I, typename J, typename T, typename Op, typename F), (I first, I last, J second, T initial, Op op, F f), (first, last, second, initial, op, f), (I, J), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
