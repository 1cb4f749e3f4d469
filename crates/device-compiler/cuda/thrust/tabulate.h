// Thrust's <thrust/tabulate.h> for AMD targets: sets each item to a function of its position.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/tabulate.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/tabulate.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename F> struct tabulate_one {
    I first;
    F f;
    __host__ __device__ void operator()(size_t i) { first[i] = f(i); }
};
template <typename P, typename I, typename F> inline auto tabulate(const P &policy, I first, I last, F f) {
    run(policy, static_cast<size_t>(last - first), tabulate_one<typename iterator<I>::raw, F>{raw(first), f});
    return last;
}
template <typename I, typename F> __host__ __device__ inline auto tabulate(const seq_policy &policy, I first, I last, F f) {
    loop(policy, static_cast<size_t>(last - first), tabulate_one<typename iterator<I>::raw, F>{raw(first), f});
    return last;
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(tabulate, (typename I, typename F), (I first, I last, F f), (first, last, f), (I), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
