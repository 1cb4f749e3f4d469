// Thrust's <thrust/count.h> for AMD targets: counts items.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/count.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/count.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "reduce.h"

namespace thrust {
namespace __ferrocm {
template <typename C> struct one_if {
    C choose;
    template <typename T> __host__ __device__ ptrdiff_t operator()(const T &value) { return choose(value) ? 1 : 0; }
};
template <typename T> struct is_equal_to {
    T wanted;
    template <typename U> __host__ __device__ bool operator()(const U &value) const { return value == wanted; }
};
template <typename P, typename I, typename C> __host__ __device__ inline ptrdiff_t count_if(const P &policy, I first, I last, C choose) {
    return __ferrocm::transform_reduce(policy, first, last, one_if<C>{choose}, ptrdiff_t(0), thrust::plus<ptrdiff_t>());
}
template <typename P, typename I, typename T> __host__ __device__ inline ptrdiff_t count(const P &policy, I first, I last, const T &value) {
    return __ferrocm::count_if(policy, first, last, is_equal_to<T>{value});
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(count_if, (typename I, typename C), (I first, I last, C choose), (first, last, choose), (I), I)
__CUDA_THRUST_ALGORITHM(count, (typename I, typename T), (I first, I last, const T &value), (first, last, value), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
