// Thrust's <thrust/iterator/transform_iterator.h> for AMD targets: a function of items, called when they are read.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/iterator/transform_iterator.h>)
#include "../../ferrocm_letters_begin.h"
#include_next <thrust/iterator/transform_iterator.h>
#include "../../ferrocm_letters_end.h"
#if THRUST_VERSION >= 200805
#include "../../cuda/std/functional"
#include "../../ferrocm_letters_begin.h"

THRUST_NAMESPACE_BEGIN
namespace detail {
// Values, as for the other identities: rocThrust does not know this one.
template <typename I> struct transform_iterator_reference<::cuda::std::identity, I> {
    using type = iterator_value_t<I>;
};
} // namespace detail
THRUST_NAMESPACE_END
#include "../../ferrocm_letters_end.h"
#endif
#else
#include "../../ferrocm_letters_begin.h"
#include "../detail/ferrocm.h"

namespace thrust {
template <typename F, typename I, typename... Unused> class transform_iterator {
    I from;
    F f;

  public:
    typedef typename std::decay<decltype(std::declval<const F &>()(*std::declval<I>()))>::type value_type;
    typedef value_type reference;
    typedef const value_type *pointer;
    typedef ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    __host__ __device__ transform_iterator(I from, F f) : from(from), f(f) {}
    __host__ __device__ const I &base() const { return from; }
    __host__ __device__ const F &functor() const { return f; }
    __host__ __device__ value_type operator*() const { return f(*from); }
    __host__ __device__ value_type operator[](difference_type n) const { return f(from[n]); }
    __host__ __device__ transform_iterator &operator++() { ++from; return *this; }
    __host__ __device__ transform_iterator &operator+=(difference_type n) { from += n; return *this; }
    __host__ __device__ transform_iterator operator+(difference_type n) const { return transform_iterator(from + n, f); }
    __host__ __device__ transform_iterator operator-(difference_type n) const { return transform_iterator(from - n, f); }
    __host__ __device__ difference_type operator-(const transform_iterator &o) const { return from - o.from; }
    __host__ __device__ bool operator==(const transform_iterator &o) const { return from == o.from; }
    __host__ __device__ bool operator!=(const transform_iterator &o) const { return from != o.from; }
};
template <typename F, typename I> __host__ __device__ inline transform_iterator<F, I> make_transform_iterator(I from, F f) {
    return transform_iterator<F, I>(from, f);
}
namespace __ferrocm {
template <typename F, typename I> struct iterator<transform_iterator<F, I>> {
    typedef transform_iterator<F, typename iterator<I>::raw> raw;
    static constexpr bool of_device = iterator<I>::of_device;
    static __host__ __device__ raw get(const transform_iterator<F, I> &i) { return raw(iterator<I>::get(i.base()), i.functor()); }
};
} // namespace __ferrocm
} // namespace thrust
#include "../../ferrocm_letters_end.h"
#endif
