// Thrust's <thrust/functional.h> for AMD targets: operations as objects.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/functional.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/functional.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
#define __CUDA_THRUST_BINARY(NAME, EXPRESSION)                                                                                \
    template <typename T = void> struct NAME {                                                                                \
        typedef T first_argument_type;                                                                                        \
        typedef T second_argument_type;                                                                                       \
        __CUDA_THRUST_INLINE constexpr auto operator()(const T &a, const T &b) const { return EXPRESSION; }                   \
    };                                                                                                                        \
    template <> struct NAME<void> {                                                                                           \
        template <typename A, typename B> __CUDA_THRUST_INLINE constexpr auto operator()(const A &a, const B &b) const { return EXPRESSION; } \
    };
__CUDA_THRUST_BINARY(plus, a + b)
__CUDA_THRUST_BINARY(minus, a - b)
__CUDA_THRUST_BINARY(multiplies, a * b)
__CUDA_THRUST_BINARY(divides, a / b)
__CUDA_THRUST_BINARY(modulus, a % b)
__CUDA_THRUST_BINARY(maximum, a < b ? b : a)
__CUDA_THRUST_BINARY(minimum, b < a ? b : a)
__CUDA_THRUST_BINARY(less, a < b)
__CUDA_THRUST_BINARY(greater, b < a)
__CUDA_THRUST_BINARY(less_equal, a <= b)
__CUDA_THRUST_BINARY(greater_equal, a >= b)
__CUDA_THRUST_BINARY(equal_to, a == b)
__CUDA_THRUST_BINARY(not_equal_to, a != b)
__CUDA_THRUST_BINARY(logical_and, a && b)
__CUDA_THRUST_BINARY(logical_or, a || b)
__CUDA_THRUST_BINARY(bit_and, a & b)
__CUDA_THRUST_BINARY(bit_or, a | b)
__CUDA_THRUST_BINARY(bit_xor, a ^ b)
#undef __CUDA_THRUST_BINARY
#define __CUDA_THRUST_UNARY(NAME, EXPRESSION)                                                                         \
    template <typename T = void> struct NAME {                                                                        \
        typedef T argument_type;                                                                                      \
        __CUDA_THRUST_INLINE constexpr auto operator()(const T &a) const { return EXPRESSION; }                       \
    };                                                                                                                \
    template <> struct NAME<void> {                                                                                   \
        template <typename A> __CUDA_THRUST_INLINE constexpr auto operator()(const A &a) const { return EXPRESSION; } \
    };
__CUDA_THRUST_UNARY(negate, -a)
__CUDA_THRUST_UNARY(square, a * a)
__CUDA_THRUST_UNARY(logical_not, !a)
__CUDA_THRUST_UNARY(bit_not, ~a)
__CUDA_THRUST_UNARY(identity, a)
#undef __CUDA_THRUST_UNARY
template <typename T = void, typename U = T> struct project1st {
    __CUDA_THRUST_INLINE constexpr T operator()(const T &a, const U &) const { return a; }
};
template <typename T = void, typename U = T> struct project2nd {
    __CUDA_THRUST_INLINE constexpr U operator()(const T &, const U &b) const { return b; }
};
template <typename F> struct unary_negate {
    F f;
    template <typename A> __CUDA_THRUST_INLINE constexpr bool operator()(const A &a) const { return !f(a); }
};
template <typename F> __host__ __device__ inline unary_negate<F> not1(const F &f) { return unary_negate<F>{f}; }
template <typename F> inline unary_negate<F> not_fn(const F &f) { return unary_negate<F>{f}; }
// Bases that only name types.
template <typename A, typename R> struct unary_function {
    typedef A argument_type;
    typedef R result_type;
};
template <typename A, typename B, typename R> struct binary_function {
    typedef A first_argument_type;
    typedef B second_argument_type;
    typedef R result_type;
};
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
