// CUB's <cub/iterator/counting_input_iterator.cuh> for AMD targets, and its other iterators, which compute values when they are read.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"

namespace cub {
#define __CUDA_CUB_ITERATOR(CLASS, MOVE)                                                                                       \
    typedef ValueType value_type;                                                                                              \
    typedef ValueType reference;                                                                                               \
    typedef ValueType *pointer;                                                                                                \
    typedef OffsetT difference_type;                                                                                           \
    typedef std::random_access_iterator_tag iterator_category;                                                                 \
    template <typename D> __host__ __device__ CLASS &operator+=(D n) { MOVE += n; return *this; }                              \
    template <typename D> __host__ __device__ CLASS &operator-=(D n) { MOVE -= n; return *this; }                              \
    template <typename D> __host__ __device__ CLASS operator+(D n) const { CLASS r = *this; r += n; return r; }                \
    template <typename D> __host__ __device__ CLASS operator-(D n) const { CLASS r = *this; r -= n; return r; }                \
    __host__ __device__ difference_type operator-(const CLASS &o) const { return MOVE - o.MOVE; }                              \
    __host__ __device__ CLASS &operator++() { ++MOVE; return *this; }                                                          \
    __host__ __device__ CLASS operator++(int) { CLASS r = *this; ++MOVE; return r; }                                           \
    template <typename D> __host__ __device__ ValueType operator[](D n) const { return *(*this + n); }                         \
    __host__ __device__ bool operator==(const CLASS &o) const { return MOVE == o.MOVE; }                                       \
    __host__ __device__ bool operator!=(const CLASS &o) const { return MOVE != o.MOVE; }

template <typename ValueType, typename OffsetT = ptrdiff_t> struct CountingInputIterator {
    ValueType value;
    __host__ __device__ CountingInputIterator(const ValueType &value) : value(value) {}
    __host__ __device__ ValueType operator*() const { return value; }
    __CUDA_CUB_ITERATOR(CountingInputIterator, value)
};
template <typename ValueType, typename OffsetT = ptrdiff_t> struct ConstantInputIterator {
    ValueType value;
    OffsetT at;
    __host__ __device__ ConstantInputIterator(const ValueType &value, OffsetT at = 0) : value(value), at(at) {}
    __host__ __device__ ValueType operator*() const { return value; }
    __CUDA_CUB_ITERATOR(ConstantInputIterator, at)
};
template <typename ValueType, typename ConversionOp, typename InputIteratorT, typename OffsetT = ptrdiff_t> struct TransformInputIterator {
    InputIteratorT from;
    ConversionOp op;
    __host__ __device__ TransformInputIterator(InputIteratorT from, ConversionOp op) : from(from), op(op) {}
    __host__ __device__ ValueType operator*() const { return op(*from); }
    __CUDA_CUB_ITERATOR(TransformInputIterator, from)
};
template <typename InputIteratorT, typename OffsetT = ptrdiff_t,
          typename ValueType = KeyValuePair<OffsetT, typename std::iterator_traits<InputIteratorT>::value_type>>
struct ArgIndexInputIterator {
    InputIteratorT from;
    OffsetT at;
    __host__ __device__ ArgIndexInputIterator(InputIteratorT from, OffsetT at = 0) : from(from), at(at) {}
    __host__ __device__ ValueType operator*() const { return ValueType(at, from[at]); }
    __CUDA_CUB_ITERATOR(ArgIndexInputIterator, at)
};
template <CacheLoadModifier MODIFIER, typename ValueType, typename OffsetT = ptrdiff_t> struct CacheModifiedInputIterator {
    const ValueType *from;
    template <typename Q> __host__ __device__ CacheModifiedInputIterator(Q *from) : from(from) {}
    __host__ __device__ ValueType operator*() const { return *from; }
    __CUDA_CUB_ITERATOR(CacheModifiedInputIterator, from)
};
#undef __CUDA_CUB_ITERATOR

// Iterators that are only written.
#define __CUDA_CUB_OUTPUT(CLASS, MOVE)                                                                                         \
    typedef void value_type;                                                                                                   \
    typedef Reference reference;                                                                                               \
    typedef void pointer;                                                                                                      \
    typedef OffsetT difference_type;                                                                                           \
    typedef std::random_access_iterator_tag iterator_category;                                                                 \
    template <typename D> __host__ __device__ CLASS &operator+=(D n) { MOVE += n; return *this; }                              \
    template <typename D> __host__ __device__ CLASS &operator-=(D n) { MOVE -= n; return *this; }                              \
    template <typename D> __host__ __device__ CLASS operator+(D n) const { CLASS r = *this; r += n; return r; }                \
    template <typename D> __host__ __device__ CLASS operator-(D n) const { CLASS r = *this; r -= n; return r; }                \
    __host__ __device__ difference_type operator-(const CLASS &o) const { return MOVE - o.MOVE; }                              \
    __host__ __device__ CLASS &operator++() { ++MOVE; return *this; }                                                          \
    __host__ __device__ CLASS operator++(int) { CLASS r = *this; ++MOVE; return r; }                                           \
    template <typename D> __host__ __device__ Reference operator[](D n) const { return *(*this + n); }                         \
    __host__ __device__ bool operator==(const CLASS &o) const { return MOVE == o.MOVE; }                                       \
    __host__ __device__ bool operator!=(const CLASS &o) const { return MOVE != o.MOVE; }

template <CacheStoreModifier MODIFIER, typename ValueType, typename OffsetT = ptrdiff_t> struct CacheModifiedOutputIterator {
    struct Reference {
        ValueType *to;
        __device__ ValueType operator=(ValueType value) { ThreadStore<MODIFIER>(to, value); return value; }
    };
    ValueType *to;
    template <typename Q> __host__ __device__ CacheModifiedOutputIterator(Q *to) : to(const_cast<typename std::remove_cv<Q>::type *>(to)) {}
    __host__ __device__ Reference operator*() const { return Reference{to}; }
    __CUDA_CUB_OUTPUT(CacheModifiedOutputIterator, to)
};
// What is written is lost.
template <typename OffsetT = ptrdiff_t> struct DiscardOutputIterator {
    struct Reference {
        template <typename T> __host__ __device__ const Reference &operator=(const T &) const { return *this; }
    };
    OffsetT at;
    __host__ __device__ DiscardOutputIterator(OffsetT at = 0) : at(at) {}
    __host__ __device__ Reference operator*() const { return Reference(); }
    __CUDA_CUB_OUTPUT(DiscardOutputIterator, at)
};
#undef __CUDA_CUB_OUTPUT
} // namespace cub
#include "../../ferrocm_letters_end.h"
