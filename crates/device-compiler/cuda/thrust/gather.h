// Thrust's <thrust/gather.h> for AMD targets: items from given positions.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/gather.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/gather.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename M, typename I, typename O> struct gather_one {
    M map;
    I from;
    O to;
    __host__ __device__ void operator()(size_t i) const { to[i] = from[map[i]]; }
};
template <typename P, typename I, typename J, typename O> inline auto gather(const P &policy, I map, I map_last, J from, O to) {
    run(policy, static_cast<size_t>(map_last - map), gather_one<typename iterator<I>::raw, typename iterator<J>::raw, typename iterator<O>::raw>{raw(map), raw(from), raw(to)});
    return to + (map_last - map);
}
template <typename I, typename J, typename O> __host__ __device__ inline auto gather(const seq_policy &policy, I map, I map_last, J from, O to) {
    loop(policy, static_cast<size_t>(map_last - map), gather_one<typename iterator<I>::raw, typename iterator<J>::raw, typename iterator<O>::raw>{raw(map), raw(from), raw(to)});
    return to + (map_last - map);
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(gather, (typename I, typename J, typename O), (I map, I map_last, J from, O to), (map, map_last, from, to), (I, J, O), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
