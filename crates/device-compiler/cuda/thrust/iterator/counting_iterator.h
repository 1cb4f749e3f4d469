// Thrust's <thrust/iterator/counting_iterator.h> for AMD targets: increasing numbers, computed when read.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/iterator/counting_iterator.h>)
#include "../../ferrocm_letters_begin.h"
#include_next <thrust/iterator/counting_iterator.h>
#include "../../ferrocm_letters_end.h"
#else
#include "../../ferrocm_letters_begin.h"
#include "../detail/ferrocm.h"

namespace thrust {
template <typename T, typename... Unused> class counting_iterator {
    T value;

  public:
    typedef T value_type;
    typedef T reference;
    typedef const T *pointer;
    typedef ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    counting_iterator() = default;
    __host__ __device__ explicit counting_iterator(T value) : value(value) {}
    __host__ __device__ T operator*() const { return value; }
    __host__ __device__ T operator[](difference_type n) const { return static_cast<T>(value + n); }
    __host__ __device__ counting_iterator &operator++() { ++value; return *this; }
    __host__ __device__ counting_iterator &operator+=(difference_type n) { value = static_cast<T>(value + n); return *this; }
    __host__ __device__ counting_iterator operator+(difference_type n) const { return counting_iterator(static_cast<T>(value + n)); }
    __host__ __device__ counting_iterator operator-(difference_type n) const { return counting_iterator(static_cast<T>(value - n)); }
    __host__ __device__ difference_type operator-(const counting_iterator &o) const {
        return static_cast<difference_type>(value) - static_cast<difference_type>(o.value);
    }
    __host__ __device__ bool operator==(const counting_iterator &o) const { return value == o.value; }
    __host__ __device__ bool operator!=(const counting_iterator &o) const { return value != o.value; }
};
template <typename T> __host__ __device__ inline counting_iterator<T> make_counting_iterator(T value) { return counting_iterator<T>(value); }
} // namespace thrust
#include "../../ferrocm_letters_end.h"
#endif
