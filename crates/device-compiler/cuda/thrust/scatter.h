// Thrust's <thrust/scatter.h> for AMD targets: items to given positions.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/scatter.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/scatter.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename M, typename O> struct scatter_one {
    I from;
    M map;
    O to;
    __host__ __device__ void operator()(size_t i) const { to[map[i]] = from[i]; }
};
template <typename P, typename I, typename M, typename O> inline auto scatter(const P &policy, I first, I last, M map, O to) {
    run(policy, static_cast<size_t>(last - first), scatter_one<typename iterator<I>::raw, typename iterator<M>::raw, typename iterator<O>::raw>{raw(first), raw(map), raw(to)});
    return to;
}
template <typename I, typename M, typename O> __host__ __device__ inline auto scatter(const seq_policy &policy, I first, I last, M map, O to) {
    loop(policy, static_cast<size_t>(last - first), scatter_one<typename iterator<I>::raw, typename iterator<M>::raw, typename iterator<O>::raw>{raw(first), raw(map), raw(to)});
    return to;
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(scatter, (typename I, typename M, typename O), (I first, I last, M map, O to), (first, last, map, to), (I, M, O), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
