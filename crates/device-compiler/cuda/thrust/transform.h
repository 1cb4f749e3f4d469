// Thrust's <thrust/transform.h> for AMD targets: a function of each item, or of pairs.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/transform.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/transform.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
namespace __ferrocm {
template <typename I, typename O, typename F> struct transform_one {
    I from;
    O to;
    F f;
    __host__ __device__ void operator()(size_t i) { to[i] = f(from[i]); }
};
template <typename I, typename J, typename O, typename F> struct transform_two {
    I from;
    J second;
    O to;
    F f;
    __host__ __device__ void operator()(size_t i) { to[i] = f(from[i], second[i]); }
};
template <typename I, typename S, typename O, typename F, typename C> struct transform_chosen {
    I from;
    S stencil;
    O to;
    F f;
    C choose;
    __host__ __device__ void operator()(size_t i) {
        if (choose(stencil[i]))
            to[i] = f(from[i]);
    }
};
template <typename P, typename I, typename O, typename F> inline auto transform(const P &policy, I first, I last, O to, F f) {
    run(policy, static_cast<size_t>(last - first), transform_one<typename iterator<I>::raw, typename iterator<O>::raw, F>{raw(first), raw(to), f});
    return to + (last - first);
}
template <typename I, typename O, typename F> __host__ __device__ inline auto transform(const seq_policy &policy, I first, I last, O to, F f) {
    loop(policy, static_cast<size_t>(last - first), transform_one<typename iterator<I>::raw, typename iterator<O>::raw, F>{raw(first), raw(to), f});
    return to + (last - first);
}
template <typename P, typename I, typename J, typename O, typename F> inline auto transform(const P &policy, I first, I last, J second, O to, F f) {
    run(policy, static_cast<size_t>(last - first), transform_two<typename iterator<I>::raw, typename iterator<J>::raw, typename iterator<O>::raw, F>{raw(first), raw(second), raw(to), f});
    return to + (last - first);
}
template <typename I, typename J, typename O, typename F> __host__ __device__ inline auto transform(const seq_policy &policy, I first, I last, J second, O to, F f) {
    loop(policy, static_cast<size_t>(last - first), transform_two<typename iterator<I>::raw, typename iterator<J>::raw, typename iterator<O>::raw, F>{raw(first), raw(second), raw(to), f});
    return to + (last - first);
}
template <typename P, typename I, typename O, typename F, typename C> inline auto transform_if(const P &policy, I first, I last, O to, F f, C choose) {
    run(policy, static_cast<size_t>(last - first), transform_chosen<typename iterator<I>::raw, typename iterator<I>::raw, typename iterator<O>::raw, F, C>{raw(first), raw(first), raw(to), f, choose});
    return to + (last - first);
}
template <typename I, typename O, typename F, typename C> __host__ __device__ inline auto transform_if(const seq_policy &policy, I first, I last, O to, F f, C choose) {
    loop(policy, static_cast<size_t>(last - first), transform_chosen<typename iterator<I>::raw, typename iterator<I>::raw, typename iterator<O>::raw, F, C>{raw(first), raw(first), raw(to), f, choose});
    return to + (last - first);
}
template <typename P, typename I, typename S, typename O, typename F, typename C> inline auto transform_if(const P &policy, I first, I last, S stencil, O to, F f, C choose) {
    run(policy, static_cast<size_t>(last - first), transform_chosen<typename iterator<I>::raw, typename iterator<S>::raw, typename iterator<O>::raw, F, C>{raw(first), raw(stencil), raw(to), f, choose});
    return to + (last - first);
}
template <typename I, typename S, typename O, typename F, typename C> __host__ __device__ inline auto transform_if(const seq_policy &policy, I first, I last, S stencil, O to, F f, C choose) {
    loop(policy, static_cast<size_t>(last - first), transform_chosen<typename iterator<I>::raw, typename iterator<S>::raw, typename iterator<O>::raw, F, C>{raw(first), raw(stencil), raw(to), f, choose});
    return to + (last - first);
}
} // namespace __ferrocm
__CUDA_THRUST_ALGORITHM(transform, (typename I, typename O, typename F), (I first, I last, O to, F f), (first, last, to, f), (I, O), I)
__CUDA_THRUST_ALGORITHM(transform, (typename I, typename J, typename O, typename F), (I first, I last, J second, O to, F f), (first, last, second, to, f), (I, J, O), I)
__CUDA_THRUST_ALGORITHM(transform_if, (typename I, typename O, typename F, typename C), (I first, I last, O to, F f, C choose), (first, last, to, f, choose), (I, O), I)
__CUDA_THRUST_ALGORITHM(transform_if, (typename I, typename S, typename O, typename F, typename C), (I first, I last, S stencil, O to, F f, C choose), (first, last, stencil, to, f, choose), (I, S, O), I)
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
