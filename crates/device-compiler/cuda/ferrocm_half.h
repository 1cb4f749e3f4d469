// What CUDA's two 16-bit types have in common: bits, conversions to and from float, and sums of products. Their functions are written once
// for both, in ferrocm_half_functions.h; cuda_fp16.h and cuda_bf16.h include that for their types.
#pragma once
#include "cuda_runtime.h"
#include "ferrocm_letters_begin.h"
#define __CUDA_HALF static __host__ __device__ __attribute__((always_inline, unused)) inline
#define __CUDA_HALF_DEVICE static __device__ __attribute__((always_inline, unused)) inline

#if defined(__FERROCM_CUDA__)
namespace __cuda_half {
// A half's bits from a float: rounds to the nearest, ties to even. Host compilers need a library for their own conversion.
__CUDA_HALF unsigned short half_bits(float x) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
#else
    const unsigned all = __builtin_bit_cast(unsigned, x), sign = all >> 16 & 0x8000u, bits = all & 0x7fffffffu;
    if (bits > 0x7f800000u)
        return 0x7fff;
    if (bits >= 0x477ff000u)
        return static_cast<unsigned short>(sign | 0x7c00u);
    // Below 2^-14, halves are multiples of 2^-24, which is the last bit of floats from 0.5 to 1.
    if (bits < 0x38800000u)
        return static_cast<unsigned short>(sign | (__builtin_bit_cast(unsigned, __builtin_bit_cast(float, bits) + 0.5f) - 0x3f000000u));
    return static_cast<unsigned short>(sign | ((bits + 0xfffu + (bits >> 13 & 1u) - 0x38000000u) >> 13));
#endif
}
__CUDA_HALF float float_of_half(unsigned short bits) {
#if defined(__HIP_DEVICE_COMPILE__)
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
#else
    const unsigned sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
    if (size >= 0x7c00u)
        return __builtin_bit_cast(float, sign | 0x7f800000u | size << 13);
    const float x = size < 0x400u ? static_cast<float>(size) * 5.9604644775390625e-8f : __builtin_bit_cast(float, (size << 13) + 0x38000000u);
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned, x));
#endif
}
// The same for bfloat16.
__CUDA_HALF unsigned short bfloat16_bits(float x) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_bit_cast(unsigned short, static_cast<__bf16>(x));
#else
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    return static_cast<unsigned short>(x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}
__CUDA_HALF float float_of_bfloat16(unsigned short bits) { return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16); }

// The sum of two doubles. If it is not exact and its last bit is 0, it is the neighbour towards the exact sum, which ends in 1: rounding it
// to a narrow type gives what rounding the exact sum gives.
__CUDA_HALF double sticky_sum(double x, double y) {
#pragma clang fp contract(off) reassociate(off)
    const double sum = x + y, of_y = sum - x, rest = (x - (sum - of_y)) + (y - of_y);
    long long bits = __builtin_bit_cast(long long, sum);
    if (sum - sum == 0 && rest != 0 && (bits & 1) == 0)
        bits += (rest > 0) == (sum > 0) ? 1 : -1;
    return __builtin_bit_cast(double, bits);
}

// The arithmetic of a type, by its name. `number` is what sums, products and quotients are computed in; its results round to those of the type.
template <typename T> struct format;
template <bool CONDITION> struct when {};
template <> struct when<true> { typedef void type; };
// An assignment of bits. As a template, it is no candidate for `= {}`.
template <typename A, typename B, typename T> struct only {};
template <typename A, typename T> struct only<A, A, T> { typedef T type; };
template <typename T> __CUDA_HALF T of_bits(unsigned short bits) { return __cuda_bits<T>(bits); }
template <typename T> __CUDA_HALF unsigned short bits_of(T x) { return __cuda_bits<unsigned short>(x); }
template <typename T> __CUDA_HALF float wide(T x) { return format<T>::to_float(__cuda_half::bits_of(x)); }
template <typename T> __CUDA_HALF T narrow(float x) { return __cuda_half::of_bits<T>(format<T>::from_float(x)); }
template <typename T> __CUDA_HALF typename format<T>::number number(T x) { return format<T>::to_number(__cuda_half::bits_of(x)); }
template <typename T> __CUDA_HALF T from_number(typename format<T>::number x) { return __cuda_half::of_bits<T>(format<T>::from_number(x)); }
template <typename T> __CUDA_HALF bool is_nan(T x) { return (__cuda_half::bits_of(x) & 0x7fff) > format<T>::infinity; }
// The number 1 or 0.
template <typename T> __CUDA_HALF T truth(bool x) { return __cuda_half::of_bits<T>(x ? format<T>::one : 0); }
// Clamped to 0 to 1; a NaN becomes 0.
template <typename T> __CUDA_HALF T unit(T x) {
    const float value = __cuda_half::wide(x);
    return value > 0 ? (value < 1 ? x : __cuda_half::of_bits<T>(format<T>::one)) : __cuda_half::of_bits<T>(0);
}
// At least 0; a NaN stays one.
template <typename T> __CUDA_HALF T positive(T x) { return __cuda_half::is_nan(x) ? __cuda_half::of_bits<T>(0x7fff) : __cuda_half::of_bits<T>(__cuda_half::bits_of(x) >> 15 ? 0 : __cuda_half::bits_of(x)); }
// An order of all numbers as integers, in which -0 is below 0.
template <typename T> __CUDA_HALF int order(T x) {
    const int bits = __cuda_half::bits_of(x);
    return bits & 0x8000 ? -1 - (bits & 0x7fff) : bits;
}
template <typename T> __CUDA_HALF T larger(T a, T b) { return __cuda_half::order(a) < __cuda_half::order(b) ? b : a; }
template <typename T> __CUDA_HALF T smaller(T a, T b) { return __cuda_half::order(b) < __cuda_half::order(a) ? b : a; }
// The larger and the smaller number; a NaN counts for nothing. The devices' instructions do this.
template <typename T> __CUDA_HALF T maximum(T a, T b) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __cuda_half::of_bits<T>(format<T>::exact(__builtin_elementwise_max(__cuda_half::number(a), __cuda_half::number(b))));
#else
    return __cuda_half::is_nan(a) ? (__cuda_half::is_nan(b) ? __cuda_half::of_bits<T>(0x7fff) : b) : __cuda_half::is_nan(b) ? a : __cuda_half::larger(a, b);
#endif
}
template <typename T> __CUDA_HALF T minimum(T a, T b) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __cuda_half::of_bits<T>(format<T>::exact(__builtin_elementwise_min(__cuda_half::number(a), __cuda_half::number(b))));
#else
    return __cuda_half::is_nan(a) ? (__cuda_half::is_nan(b) ? __cuda_half::of_bits<T>(0x7fff) : b) : __cuda_half::is_nan(b) ? a : __cuda_half::smaller(a, b);
#endif
}
// a b + c, rounded once.
template <typename T> __CUDA_HALF T fused(T a, T b, T c) { return __cuda_half::of_bits<T>(format<T>::fused(__cuda_half::bits_of(a), __cuda_half::bits_of(b), __cuda_half::bits_of(c))); }

#if defined(__HIP_DEVICE_COMPILE__)
#define __CUDA_HALF_NUMBER _Float16
#else
#define __CUDA_HALF_NUMBER float
#endif
struct half_format {
    static constexpr unsigned short infinity = 0x7c00, one = 0x3c00;
    typedef __CUDA_HALF_NUMBER number;
    static __host__ __device__ float to_float(unsigned short bits) { return float_of_half(bits); }
    static __host__ __device__ unsigned short from_float(float x) { return half_bits(x); }
    template <__cuda_convert::rounding R> static __host__ __device__ unsigned short rounded(double x) {
        return half_bits(static_cast<float>(__cuda_convert::to_half<R>(x)));
    }
    template <__cuda_convert::rounding R> static __host__ __device__ unsigned short directed(float x) { return rounded<R>(x); }
    static __host__ __device__ unsigned short from_double(double x) { return rounded<__cuda_convert::rn>(x); }
    // Integers that a float has to round are larger than any half.
    template <typename I> static __host__ __device__ unsigned short from_integer(I x) { return half_bits(static_cast<float>(x)); }
#if defined(__HIP_DEVICE_COMPILE__)
    static __host__ __device__ number to_number(unsigned short bits) { return __builtin_bit_cast(_Float16, bits); }
    static __host__ __device__ unsigned short from_number(number x) { return __builtin_bit_cast(unsigned short, x); }
    static __host__ __device__ unsigned short exact(number x) { return from_number(x); }
    static __host__ __device__ unsigned short fused(unsigned short a, unsigned short b, unsigned short c) {
        return from_number(__builtin_elementwise_fma(to_number(a), to_number(b), to_number(c)));
    }
#else
    static __host__ __device__ number to_number(unsigned short bits) { return float_of_half(bits); }
    static __host__ __device__ unsigned short from_number(number x) { return half_bits(x); }
    static __host__ __device__ unsigned short fused(unsigned short a, unsigned short b, unsigned short c) {
        const double sum = sticky_sum(static_cast<double>(to_float(a)) * to_float(b), to_float(c));
        return half_bits(static_cast<float>(__cuda_convert::to_half<__cuda_convert::rn>(sum)));
    }
#endif
};
#undef __CUDA_HALF_NUMBER
struct bfloat16_format {
    static constexpr unsigned short infinity = 0x7f80, one = 0x3f80;
    typedef float number;
    static __host__ __device__ float to_float(unsigned short bits) { return float_of_bfloat16(bits); }
    static __host__ __device__ unsigned short from_float(float x) { return bfloat16_bits(x); }
    template <__cuda_convert::rounding R> static __host__ __device__ unsigned short rounded(double x) {
        return bfloat16_bits(static_cast<float>(__cuda_convert::to_format<R>(x, 7, -133, 3.38953138925153547590e+38)));
    }
    // Away from zero if the sign requires it: the bits of a number grow with its magnitude.
    template <__cuda_convert::rounding R> static __host__ __device__ unsigned short directed(float x) {
        const unsigned bits = __builtin_bit_cast(unsigned, x);
        const bool away = (bits & 0xffffu) != 0 && (R == __cuda_convert::ru ? x > 0 : R == __cuda_convert::rd && x < 0);
        return static_cast<unsigned short>(x != x ? 0x7fffu : (bits >> 16) + (away ? 1u : 0u));
    }
    static __host__ __device__ unsigned short from_double(double x) { return rounded<__cuda_convert::rn>(x); }
    template <typename I> static __host__ __device__ unsigned short from_integer(I x) { return from_double(__cuda_convert::sticky(x)); }
    static __host__ __device__ number to_number(unsigned short bits) { return float_of_bfloat16(bits); }
    static __host__ __device__ unsigned short from_number(number x) { return bfloat16_bits(x); }
    // Without a rounding.
    static __host__ __device__ unsigned short exact(number x) { return static_cast<unsigned short>(__builtin_bit_cast(unsigned, x) >> 16); }
    // A float that lies in the middle of two numbers does not say on which side of it the exact sum is.
    static __host__ __device__ unsigned short fused(unsigned short a, unsigned short b, unsigned short c) {
#pragma clang fp contract(off) reassociate(off)
        const float x = to_float(a), y = to_float(b), z = to_float(c), sum = __builtin_fmaf(x, y, z);
        unsigned bits = __builtin_bit_cast(unsigned, sum);
        if (__builtin_expect((bits & 0xffffu) == 0x8000u, 0)) {
            const double product = static_cast<double>(x) * y, near = product + z, of_z = near - product;
            const double rest = (near - sum) + ((product - (near - of_z)) + (z - of_z));
            if (rest != 0)
                bits += (rest > 0) == (sum > 0) ? 1u : ~0u;
        }
        return bfloat16_bits(__builtin_bit_cast(float, bits));
    }
};
} // namespace __cuda_half
#endif
#include "ferrocm_letters_end.h"
