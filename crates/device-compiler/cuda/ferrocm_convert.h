// Conversions between numbers with CUDA's roundings, and arithmetic of doubles with other roundings than to the nearest. HIP's conversions
// ignore the rounding in part, and do not saturate. In CUDA's dialect.
#pragma once
#include "ferrocm_letters_begin.h"
#include "ferrocm_round_mode.h"
#define __CUDA_EITHER static __host__ __device__ __attribute__((always_inline, unused)) inline
#define __CUDA_CONVERT static __device__ __attribute__((always_inline, unused)) inline
namespace __cuda_convert {
enum rounding { rn, rz, rd, ru };
template <rounding R> __CUDA_EITHER double whole(double x) {
    return R == rz ? __builtin_trunc(x) : R == rd ? __builtin_floor(x) : R == ru ? __builtin_ceil(x) : __builtin_rint(x);
}
template <typename I> __CUDA_EITHER constexpr I lowest() { return I(-1) < I(0) ? static_cast<I>(1ull << (8 * sizeof(I) - 1)) : I(0); }
template <typename I> __CUDA_EITHER constexpr I highest() { return static_cast<I>(~lowest<I>()); }
// A number as an integer: the nearest that fits. A NaN becomes 0, or the highest bit alone if source or result has 64 bits.
template <typename I, rounding R, typename F> __CUDA_EITHER I integer(F from) {
    const double x = whole<R>(static_cast<double>(from));
    const double above = static_cast<double>(highest<I>() / 2 + 1) * 2;
    if (x != x)
        return sizeof(I) == 8 || (sizeof(I) == 4 && sizeof(F) == 8) ? static_cast<I>(1ull << (8 * sizeof(I) - 1)) : I(0);
    return x < static_cast<double>(lowest<I>()) ? lowest<I>() : x >= above ? highest<I>() : static_cast<I>(x);
}
// An integer as a double that rounds to at most 51 bits as the integer does: its last bit stands for all lower ones.
template <typename I> __CUDA_EITHER double sticky(I x) {
    const bool negative = x < I(0);
    unsigned long long size = negative ? 0ull - static_cast<unsigned long long>(x) : static_cast<unsigned long long>(x);
    double scale = 1.0;
    if (size >> 53) {
        size = size >> 11 | ((size & 0x7ffull) != 0);
        scale = 2048.0;
    }
    return (negative ? -static_cast<double>(size) : static_cast<double>(size)) * scale;
}
__CUDA_EITHER double power(int n) {
    const unsigned long long bits = static_cast<unsigned long long>(n + 1023) << 52;
    double x;
    __builtin_memcpy(&x, &bits, 8);
    return x;
}
// A double rounded to a format with so many bits after the leading one, its least exponent and its largest number.
template <rounding R> __CUDA_EITHER double to_format(double x, int bits, int least, double largest) {
    if (x - x != 0 || x == 0)
        return x;
    unsigned long long pattern;
    __builtin_memcpy(&pattern, &x, 8);
    const int exponent = static_cast<int>(pattern >> 52 & 0x7ff) - 1023;
    const int last = exponent - bits > least ? exponent - bits : least;
    const double up = power(-last), down = power(last);
    // What is below every number of the format has no bit of its own.
    const double y = exponent < least - 2 ? (x < 0 ? -0.25 : 0.25) : x * up;
    const double rounded = __builtin_copysign(whole<R>(y) * down, x);
    if (__builtin_fabs(rounded) <= largest)
        return rounded;
    const bool stays = R == rz || (R == rd && x > 0) || (R == ru && x < 0);
    return __builtin_copysign(stays ? largest : __builtin_inf(), x);
}
template <rounding R> __CUDA_EITHER float to_float(double x) { return static_cast<float>(to_format<R>(x, 23, -149, 3.40282346638528859812e+38)); }
template <rounding R> __CUDA_EITHER double to_half(double x) { return to_format<R>(x, 10, -24, 65504.0); }
// An integer as a double.
template <rounding R, typename I> __CUDA_EITHER double to_double(I x) {
    const bool negative = x < I(0);
    const unsigned long long size = negative ? 0ull - static_cast<unsigned long long>(x) : static_cast<unsigned long long>(x);
    const int shift = size >> 53 ? 11 - __builtin_clzll(size) : 0;
    unsigned long long top = size >> shift;
    const unsigned long long rest = size & ((1ull << shift) - 1), half = shift ? 1ull << (shift - 1) : 0;
    if (R == rn)
        top += rest > half || (rest == half && rest != 0 && (top & 1));
    else
        top += rest != 0 && (negative ? R == rd : R == ru);
    const double result = static_cast<double>(top) * static_cast<double>(1ull << shift);
    return negative ? -result : result;
}

#if !defined(__HIPCC_RTC__) || defined(__HIP_DEVICE_COMPILE__)
extern "C" {
#define __CUDA_ROUNDED(OP, ...)                                               \
    __device__ __attribute__((const)) double __ocml_##OP##_rtz_f64(__VA_ARGS__); \
    __device__ __attribute__((const)) double __ocml_##OP##_rtn_f64(__VA_ARGS__); \
    __device__ __attribute__((const)) double __ocml_##OP##_rtp_f64(__VA_ARGS__);
__CUDA_ROUNDED(add, double, double)
__CUDA_ROUNDED(sub, double, double)
__CUDA_ROUNDED(mul, double, double)
__CUDA_ROUNDED(fma, double, double, double)
#undef __CUDA_ROUNDED
}
#endif
template <rounding R> __CUDA_CONVERT double product(double x, double y) {
    return R == rz ? __ocml_mul_rtz_f64(x, y) : R == rd ? __ocml_mul_rtn_f64(x, y) : __ocml_mul_rtp_f64(x, y);
}
// A number that is not exact and ends in 0: its neighbour towards the rest, which ends in 1.
__CUDA_CONVERT double odd(double x, double rest) {
    long long bits = __builtin_bit_cast(long long, x);
    if (rest != 0 && (bits & 1) == 0)
        bits += (rest > 0) == (x > 0) ? 1 : -1;
    return __builtin_bit_cast(double, bits);
}
// A number that is not exact: itself, or its neighbour towards the rest, as the rounding says.
template <rounding R> __CUDA_CONVERT double directed(double x, double rest) {
    const bool up = rest > 0 && (R == ru || (R == rz && x < 0)), down = rest < 0 && (R == rd || (R == rz && x > 0));
    return __builtin_bit_cast(double, __builtin_bit_cast(long long, x) + (up || down ? (up == (x > 0) ? 1 : -1) : 0));
}
// x 2^n
template <rounding R> __CUDA_CONVERT double scaled(double x, int n) {
    const int first = n > 1000 ? 1000 : n < -1000 ? -1000 : n, second = n - first;
    return product<R>(x * power(first), power(second > 1023 ? 1023 : second < -1022 ? -1022 : second));
}
template <rounding R> __CUDA_CONVERT double quotient(double a, double b) {
    const double q = a / b;
    if (a - a != 0 || b - b != 0 || a == 0 || b == 0)
        return q;
    int of_a, of_b;
    const double x = __builtin_frexp(a, &of_a), y = __builtin_frexp(b, &of_b), z = x / y;
    const double rest = __builtin_fma(-z, y, x) * (y < 0 ? -1 : 1);
    // A result with fewer bits is rounded as it is scaled.
    return scaled<R>(of_a - of_b > -1020 ? directed<R>(z, rest) : odd(z, rest), of_a - of_b);
}
template <rounding R> __CUDA_CONVERT double root(double a) {
    const double r = __builtin_sqrt(a);
    if (!(r > 0) || r - r != 0)
        return r;
    int n;
    double x = __builtin_frexp(a, &n);
    if (n & 1) {
        x *= 2;
        --n;
    }
    const double s = __builtin_sqrt(x), rest = __builtin_fma(-s, s, x);
    return directed<R>(s, rest) * power(n / 2);
}
} // namespace __cuda_convert

__CUDA_CONVERT int __float2int_rn(float x) { return __cuda_convert::integer<int, __cuda_convert::rn>(x); }
__CUDA_CONVERT int __double2int_rn(double x) { return __cuda_convert::integer<int, __cuda_convert::rn>(x); }
__CUDA_CONVERT float __int2float_rn(int x) { return __cuda_convert::to_float<__cuda_convert::rn>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT unsigned __float2uint_rn(float x) { return __cuda_convert::integer<unsigned, __cuda_convert::rn>(x); }
__CUDA_CONVERT unsigned __double2uint_rn(double x) { return __cuda_convert::integer<unsigned, __cuda_convert::rn>(x); }
__CUDA_CONVERT float __uint2float_rn(unsigned x) { return __cuda_convert::to_float<__cuda_convert::rn>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT long long __float2ll_rn(float x) { return __cuda_convert::integer<long long, __cuda_convert::rn>(x); }
__CUDA_CONVERT long long __double2ll_rn(double x) { return __cuda_convert::integer<long long, __cuda_convert::rn>(x); }
__CUDA_CONVERT float __ll2float_rn(long long x) { return __cuda_convert::to_float<__cuda_convert::rn>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ll2double_rn(long long x) { return __cuda_convert::to_double<__cuda_convert::rn>(x); }
__CUDA_CONVERT unsigned long long __float2ull_rn(float x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rn>(x); }
__CUDA_CONVERT unsigned long long __double2ull_rn(double x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rn>(x); }
__CUDA_CONVERT float __ull2float_rn(unsigned long long x) { return __cuda_convert::to_float<__cuda_convert::rn>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ull2double_rn(unsigned long long x) { return __cuda_convert::to_double<__cuda_convert::rn>(x); }
__CUDA_CONVERT float __double2float_rn(double x) { return __cuda_convert::to_float<__cuda_convert::rn>(x); }
__CUDA_CONVERT int __float2int_rz(float x) { return __cuda_convert::integer<int, __cuda_convert::rz>(x); }
__CUDA_CONVERT int __double2int_rz(double x) { return __cuda_convert::integer<int, __cuda_convert::rz>(x); }
__CUDA_CONVERT float __int2float_rz(int x) { return __cuda_convert::to_float<__cuda_convert::rz>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT unsigned __float2uint_rz(float x) { return __cuda_convert::integer<unsigned, __cuda_convert::rz>(x); }
__CUDA_CONVERT unsigned __double2uint_rz(double x) { return __cuda_convert::integer<unsigned, __cuda_convert::rz>(x); }
__CUDA_CONVERT float __uint2float_rz(unsigned x) { return __cuda_convert::to_float<__cuda_convert::rz>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT long long __float2ll_rz(float x) { return __cuda_convert::integer<long long, __cuda_convert::rz>(x); }
__CUDA_CONVERT long long __double2ll_rz(double x) { return __cuda_convert::integer<long long, __cuda_convert::rz>(x); }
__CUDA_CONVERT float __ll2float_rz(long long x) { return __cuda_convert::to_float<__cuda_convert::rz>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ll2double_rz(long long x) { return __cuda_convert::to_double<__cuda_convert::rz>(x); }
__CUDA_CONVERT unsigned long long __float2ull_rz(float x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rz>(x); }
__CUDA_CONVERT unsigned long long __double2ull_rz(double x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rz>(x); }
__CUDA_CONVERT float __ull2float_rz(unsigned long long x) { return __cuda_convert::to_float<__cuda_convert::rz>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ull2double_rz(unsigned long long x) { return __cuda_convert::to_double<__cuda_convert::rz>(x); }
__CUDA_CONVERT float __double2float_rz(double x) { return __cuda_convert::to_float<__cuda_convert::rz>(x); }
__CUDA_CONVERT int __float2int_rd(float x) { return __cuda_convert::integer<int, __cuda_convert::rd>(x); }
__CUDA_CONVERT int __double2int_rd(double x) { return __cuda_convert::integer<int, __cuda_convert::rd>(x); }
__CUDA_CONVERT float __int2float_rd(int x) { return __cuda_convert::to_float<__cuda_convert::rd>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT unsigned __float2uint_rd(float x) { return __cuda_convert::integer<unsigned, __cuda_convert::rd>(x); }
__CUDA_CONVERT unsigned __double2uint_rd(double x) { return __cuda_convert::integer<unsigned, __cuda_convert::rd>(x); }
__CUDA_CONVERT float __uint2float_rd(unsigned x) { return __cuda_convert::to_float<__cuda_convert::rd>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT long long __float2ll_rd(float x) { return __cuda_convert::integer<long long, __cuda_convert::rd>(x); }
__CUDA_CONVERT long long __double2ll_rd(double x) { return __cuda_convert::integer<long long, __cuda_convert::rd>(x); }
__CUDA_CONVERT float __ll2float_rd(long long x) { return __cuda_convert::to_float<__cuda_convert::rd>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ll2double_rd(long long x) { return __cuda_convert::to_double<__cuda_convert::rd>(x); }
__CUDA_CONVERT unsigned long long __float2ull_rd(float x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rd>(x); }
__CUDA_CONVERT unsigned long long __double2ull_rd(double x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rd>(x); }
__CUDA_CONVERT float __ull2float_rd(unsigned long long x) { return __cuda_convert::to_float<__cuda_convert::rd>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ull2double_rd(unsigned long long x) { return __cuda_convert::to_double<__cuda_convert::rd>(x); }
__CUDA_CONVERT float __double2float_rd(double x) { return __cuda_convert::to_float<__cuda_convert::rd>(x); }
__CUDA_CONVERT int __float2int_ru(float x) { return __cuda_convert::integer<int, __cuda_convert::ru>(x); }
__CUDA_CONVERT int __double2int_ru(double x) { return __cuda_convert::integer<int, __cuda_convert::ru>(x); }
__CUDA_CONVERT float __int2float_ru(int x) { return __cuda_convert::to_float<__cuda_convert::ru>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT unsigned __float2uint_ru(float x) { return __cuda_convert::integer<unsigned, __cuda_convert::ru>(x); }
__CUDA_CONVERT unsigned __double2uint_ru(double x) { return __cuda_convert::integer<unsigned, __cuda_convert::ru>(x); }
__CUDA_CONVERT float __uint2float_ru(unsigned x) { return __cuda_convert::to_float<__cuda_convert::ru>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT long long __float2ll_ru(float x) { return __cuda_convert::integer<long long, __cuda_convert::ru>(x); }
__CUDA_CONVERT long long __double2ll_ru(double x) { return __cuda_convert::integer<long long, __cuda_convert::ru>(x); }
__CUDA_CONVERT float __ll2float_ru(long long x) { return __cuda_convert::to_float<__cuda_convert::ru>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ll2double_ru(long long x) { return __cuda_convert::to_double<__cuda_convert::ru>(x); }
__CUDA_CONVERT unsigned long long __float2ull_ru(float x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::ru>(x); }
__CUDA_CONVERT unsigned long long __double2ull_ru(double x) { return __cuda_convert::integer<unsigned long long, __cuda_convert::ru>(x); }
__CUDA_CONVERT float __ull2float_ru(unsigned long long x) { return __cuda_convert::to_float<__cuda_convert::ru>(__cuda_convert::sticky(x)); }
__CUDA_CONVERT double __ull2double_ru(unsigned long long x) { return __cuda_convert::to_double<__cuda_convert::ru>(x); }
__CUDA_CONVERT float __double2float_ru(double x) { return __cuda_convert::to_float<__cuda_convert::ru>(x); }

__CUDA_CONVERT double __dadd_rz(double x, double y) { return __cuda_convert::__ocml_add_rtz_f64(x, y); }
__CUDA_CONVERT double __dsub_rz(double x, double y) { return __cuda_convert::__ocml_sub_rtz_f64(x, y); }
__CUDA_CONVERT double __dmul_rz(double x, double y) { return __cuda_convert::__ocml_mul_rtz_f64(x, y); }
__CUDA_CONVERT double __fma_rz(double x, double y, double z) { return __cuda_convert::__ocml_fma_rtz_f64(x, y, z); }
__CUDA_CONVERT double __ddiv_rz(double x, double y) { return __cuda_convert::quotient<__cuda_convert::rz>(x, y); }
__CUDA_CONVERT double __drcp_rz(double x) { return __cuda_convert::quotient<__cuda_convert::rz>(1.0, x); }
__CUDA_CONVERT double __dsqrt_rz(double x) { return __cuda_convert::root<__cuda_convert::rz>(x); }
__CUDA_CONVERT double __dadd_rd(double x, double y) { return __cuda_convert::__ocml_add_rtn_f64(x, y); }
__CUDA_CONVERT double __dsub_rd(double x, double y) { return __cuda_convert::__ocml_sub_rtn_f64(x, y); }
__CUDA_CONVERT double __dmul_rd(double x, double y) { return __cuda_convert::__ocml_mul_rtn_f64(x, y); }
__CUDA_CONVERT double __fma_rd(double x, double y, double z) { return __cuda_convert::__ocml_fma_rtn_f64(x, y, z); }
__CUDA_CONVERT double __ddiv_rd(double x, double y) { return __cuda_convert::quotient<__cuda_convert::rd>(x, y); }
__CUDA_CONVERT double __drcp_rd(double x) { return __cuda_convert::quotient<__cuda_convert::rd>(1.0, x); }
__CUDA_CONVERT double __dsqrt_rd(double x) { return __cuda_convert::root<__cuda_convert::rd>(x); }
__CUDA_CONVERT double __dadd_ru(double x, double y) { return __cuda_convert::__ocml_add_rtp_f64(x, y); }
__CUDA_CONVERT double __dsub_ru(double x, double y) { return __cuda_convert::__ocml_sub_rtp_f64(x, y); }
__CUDA_CONVERT double __dmul_ru(double x, double y) { return __cuda_convert::__ocml_mul_rtp_f64(x, y); }
__CUDA_CONVERT double __fma_ru(double x, double y, double z) { return __cuda_convert::__ocml_fma_rtp_f64(x, y, z); }
__CUDA_CONVERT double __ddiv_ru(double x, double y) { return __cuda_convert::quotient<__cuda_convert::ru>(x, y); }
__CUDA_CONVERT double __drcp_ru(double x) { return __cuda_convert::quotient<__cuda_convert::ru>(1.0, x); }
__CUDA_CONVERT double __dsqrt_ru(double x) { return __cuda_convert::root<__cuda_convert::ru>(x); }
__CUDA_CONVERT float __frsqrt_rn(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }
// Clamped to 0 to 1; a NaN becomes 0.
__CUDA_CONVERT float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
// The same with the rounding as an argument.
#define __CUDA_MODE_2(NAME, FUNCTION)                                                                    \
    __CUDA_CONVERT double NAME(double x, double y, cudaRoundMode mode = cudaRoundNearest) {              \
        return mode == cudaRoundZero     ? FUNCTION##_rz(x, y)                                           \
               : mode == cudaRoundPosInf ? FUNCTION##_ru(x, y)                                           \
               : mode == cudaRoundMinInf ? FUNCTION##_rd(x, y)                                           \
                                         : FUNCTION##_rn(x, y);                                          \
    }
__CUDA_MODE_2(dadd, __dadd)
__CUDA_MODE_2(dsub, __dsub)
__CUDA_MODE_2(dmul, __dmul)
#undef __CUDA_MODE_2
#define __CUDA_MODE_1(NAME, TO, FROM, FUNCTION, USUAL)                                                   \
    __CUDA_CONVERT TO NAME(FROM x, cudaRoundMode mode = USUAL) {                                         \
        return mode == cudaRoundZero     ? FUNCTION##_rz(x)                                              \
               : mode == cudaRoundPosInf ? FUNCTION##_ru(x)                                              \
               : mode == cudaRoundMinInf ? FUNCTION##_rd(x)                                              \
                                         : FUNCTION##_rn(x);                                             \
    }
__CUDA_MODE_1(double2int, int, double, __double2int, cudaRoundZero)
__CUDA_MODE_1(double2uint, unsigned, double, __double2uint, cudaRoundZero)
__CUDA_MODE_1(double2ll, long long, double, __double2ll, cudaRoundZero)
__CUDA_MODE_1(double2ull, unsigned long long, double, __double2ull, cudaRoundZero)
__CUDA_MODE_1(ll2double, double, long long, __ll2double, cudaRoundNearest)
__CUDA_MODE_1(ull2double, double, unsigned long long, __ull2double, cudaRoundNearest)
#undef __CUDA_MODE_1
// These are exact.
__CUDA_CONVERT double int2double(int x, cudaRoundMode = cudaRoundNearest) { return x; }
__CUDA_CONVERT double uint2double(unsigned x, cudaRoundMode = cudaRoundNearest) { return x; }
__CUDA_CONVERT double float2double(float x, cudaRoundMode = cudaRoundNearest) { return static_cast<double>(x); }
__CUDA_CONVERT double fma(double x, double y, double z, cudaRoundMode mode) {
    return mode == cudaRoundZero     ? __fma_rz(x, y, z)
           : mode == cudaRoundPosInf ? __fma_ru(x, y, z)
           : mode == cudaRoundMinInf ? __fma_rd(x, y, z)
                                     : __fma_rn(x, y, z);
}
#undef __CUDA_CONVERT
#undef __CUDA_EITHER
#include "ferrocm_letters_end.h"
