// Thrust's <thrust/binary_search.h> for AMD targets: positions of values in sorted items.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/binary_search.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/binary_search.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "functional.h"
#include "pair.h"

namespace thrust {
namespace __ferrocm {
// The first item that is not less than the value, or with `Upper` the first that is greater.
template <bool Upper, typename I, typename T, typename F> __host__ __device__ inline ptrdiff_t bound(const I &first, ptrdiff_t n, const T &value, F less) {
    ptrdiff_t low = 0;
    while (n > 0) {
        const ptrdiff_t half = n / 2;
        const bool after = Upper ? !less(value, first[low + half]) : less(first[low + half], value);
        low = after ? low + half + 1 : low;
        n = after ? n - half - 1 : half;
    }
    return low;
}
enum class search { lower, upper, member };
template <search S, typename I, typename T, typename F> __host__ __device__ inline ptrdiff_t searched(const I &first, ptrdiff_t n, const T &value, F less) {
    const ptrdiff_t at = bound<S == search::upper>(first, n, value, less);
    return S == search::member ? at < n && !less(value, first[at]) : at;
}
// One value for each item of a second range.
template <search S, typename I, typename V, typename O, typename F> struct search_one {
    I first;
    ptrdiff_t n;
    V values;
    O to;
    F less;
    __host__ __device__ void operator()(size_t i) { to[i] = searched<S>(first, n, values[i], less); }
};
template <search S, typename P, typename I, typename V, typename O, typename F>
__host__ __device__ inline O search_each(const P &policy, I first, I last, V values, V values_last, O to, F less) {
    typedef search_one<S, typename iterator<I>::raw, typename iterator<V>::raw, typename iterator<O>::raw, F> One;
    const size_t n = static_cast<size_t>(values_last - values);
    const One one{raw(first), static_cast<ptrdiff_t>(last - first), raw(values), raw(to), less};
    if constexpr (std::is_same<P, seq_policy>::value)
        loop(policy, n, one);
    else
        run(policy, n, one);
    return to + static_cast<ptrdiff_t>(n);
}
} // namespace __ferrocm

#define __CUDA_THRUST_SEARCH(NAME, S)                                                                                              \
    namespace __ferrocm {                                                                                                          \
    template <typename P, typename I, typename V, typename O, typename F>                                                          \
    __host__ __device__ inline O NAME(const P &policy, I first, I last, V values, V values_last, O to, F less) {                   \
        return search_each<search::S>(policy, first, last, values, values_last, to, less);                                         \
    }                                                                                                                              \
    template <typename P, typename I, typename V, typename O>                                                                      \
    __host__ __device__ inline O NAME(const P &policy, I first, I last, V values, V values_last, O to) {                           \
        return search_each<search::S>(policy, first, last, values, values_last, to, thrust::less<>());                             \
    }                                                                                                                              \
    }                                                                                                                              \
    __CUDA_THRUST_ALGORITHM(NAME, (typename I, typename V, typename O), (I first, I last, V values, V values_last, O to),          \
                            (first, last, values, values_last, to), (I, V, O), I)                                                  \
    __CUDA_THRUST_ALGORITHM(NAME, (typename I, typename V, typename O, typename F),                                                \
                            (I first, I last, V values, V values_last, O to, F less),                                              \
                            (first, last, values, values_last, to, less), (I, V, O), I)
__CUDA_THRUST_SEARCH(lower_bound, lower)
__CUDA_THRUST_SEARCH(upper_bound, upper)
__CUDA_THRUST_SEARCH(binary_search, member)
#undef __CUDA_THRUST_SEARCH

// One value, in a kernel or on the host.
#define __CUDA_THRUST_SEARCH_ONE(NAME, S, RESULT)                                                                                   \
    template <typename I, typename T, typename F> __host__ __device__ inline auto NAME(const seq_policy &, I first, I last, const T &value, F less) { \
        const ptrdiff_t n = last - first, at = __ferrocm::searched<__ferrocm::search::S>(first, n, value, less);                   \
        return RESULT;                                                                                                              \
    }                                                                                                                               \
    template <typename I, typename T> __host__ __device__ inline auto NAME(const seq_policy &policy, I first, I last, const T &value) { \
        return NAME(policy, first, last, value, thrust::less<>());                                                                  \
    }
__CUDA_THRUST_SEARCH_ONE(lower_bound, lower, first + at)
__CUDA_THRUST_SEARCH_ONE(upper_bound, upper, first + at)
__CUDA_THRUST_SEARCH_ONE(binary_search, member, at != 0)
#undef __CUDA_THRUST_SEARCH_ONE
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
