// Thrust's <thrust/iterator/constant_iterator.h> for AMD targets: one value, as often as it is read.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/iterator/constant_iterator.h>)
#include "../../ferrocm_letters_begin.h"
#include_next <thrust/iterator/constant_iterator.h>
#include "../../ferrocm_letters_end.h"
#else
#include "../../ferrocm_letters_begin.h"
#include "../detail/ferrocm.h"

namespace thrust {
template <typename T> class constant_iterator {
    T value;
    ptrdiff_t at;

  public:
    typedef T value_type;
    typedef T reference;
    typedef const T *pointer;
    typedef ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    constant_iterator() = default;
    __host__ __device__ explicit constant_iterator(T value, ptrdiff_t at = 0) : value(value), at(at) {}
    __host__ __device__ T operator*() const { return value; }
    __host__ __device__ T operator[](difference_type) const { return value; }
    __host__ __device__ constant_iterator &operator++() { ++at; return *this; }
    __host__ __device__ constant_iterator &operator+=(difference_type n) { at += n; return *this; }
    __host__ __device__ constant_iterator operator+(difference_type n) const { return constant_iterator(value, at + n); }
    __host__ __device__ constant_iterator operator-(difference_type n) const { return constant_iterator(value, at - n); }
    __host__ __device__ difference_type operator-(const constant_iterator &o) const { return at - o.at; }
    __host__ __device__ bool operator==(const constant_iterator &o) const { return at == o.at; }
    __host__ __device__ bool operator!=(const constant_iterator &o) const { return at != o.at; }
};
template <typename T> __host__ __device__ inline constant_iterator<T> make_constant_iterator(T value, ptrdiff_t at = 0) {
    return constant_iterator<T>(value, at);
}
} // namespace thrust
#include "../../ferrocm_letters_end.h"
#endif
