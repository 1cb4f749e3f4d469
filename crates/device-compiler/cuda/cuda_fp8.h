// CUDA's <cuda_fp8.h> for AMD targets. OCP's formats stay OCP's: HIP's types with `_fnuz` are other formats.
#pragma once
#define __CUDA_FP8_H__
#define __CUDA_FP8_TYPES_EXIST__
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_round_mode.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "ferrocm_hip_begin.h"
// gfx942 converts only the `_fnuz` formats, so HIP supports OCP's only on the host there. Treated as a target without such
// instructions, it gets the software conversions of gfx90a and gfx11.
#pragma push_macro("__gfx942__")
#undef __gfx942__
#include <hip/hip_fp8.h>
#pragma pop_macro("__gfx942__")
#include "ferrocm_hip_end.h"

typedef __hip_fp8_storage_t __nv_fp8_storage_t;
typedef __hip_fp8x2_storage_t __nv_fp8x2_storage_t;
typedef __hip_fp8x4_storage_t __nv_fp8x4_storage_t;

#define __nv_saturation_t __hip_saturation_t
#define __nv_fp8_interpretation_t __hip_fp8_interpretation_t
#define __NV_NOSAT __HIP_NOSAT
#define __NV_SATFINITE __HIP_SATFINITE
#define __NV_E4M3 __HIP_E4M3
#define __NV_E5M2 __HIP_E5M2
#define __nv_cvt_fp8_to_halfraw __hip_cvt_fp8_to_halfraw
#define __nv_cvt_fp8x2_to_halfraw2 __hip_cvt_fp8x2_to_halfraw2

#define __CUDA_FP8 static __host__ __device__ __attribute__((always_inline, unused)) inline
// Where CUDA's results differ from HIP's. Saturation turns infinities into the largest finite number, too, where HIP makes them NaN or
// infinity; a finite number that is too large replaces them. Without saturation, a value above the largest number rounds to it if it is
// nearer to it than to the next step, or a tie and it is even: 448 to 464 in E4M3, 57344 to below 61440 in E5M2.
namespace __cuda_fp8 {
template <typename F> __CUDA_FP8 F as_cuda(F x, bool saturate, bool e4m3) {
    const F size = __builtin_fabs(x);
    if (saturate)
        return __builtin_isinf(x) ? static_cast<F>(__builtin_copysign(1e30, x)) : x;
    const bool fits = e4m3 ? size > 448 && size <= 464 : size > 57344 && size < 61440;
    return fits ? static_cast<F>(__builtin_copysign(e4m3 ? 448.0 : 57344.0, x)) : x;
}
__CUDA_FP8 float2 as_cuda(float2 x, bool saturate, bool e4m3) { return make_float2(as_cuda(x.x, saturate, e4m3), as_cuda(x.y, saturate, e4m3)); }
__CUDA_FP8 double2 as_cuda(double2 x, bool saturate, bool e4m3) { return make_double2(as_cuda(x.x, saturate, e4m3), as_cuda(x.y, saturate, e4m3)); }
// The 16-bit types can represent all of these numbers.
__CUDA_FP8 __half_raw as_cuda(__half_raw x, bool saturate, bool e4m3) {
    if (!saturate)
        return __half_raw(__float2half(as_cuda(__half2float(__half(x)), false, e4m3)));
    else if ((x.x & 0x7fff) == 0x7c00)
        x.x--;
    return x;
}
__CUDA_FP8 unsigned short as_cuda(unsigned short bits, bool saturate, bool e4m3) {
    const unsigned short size = bits & 0x7fff;
    if (saturate)
        return size == 0x7f80 ? bits - 1 : bits;
    const float x = __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
    return static_cast<unsigned short>(__builtin_bit_cast(unsigned, as_cuda(x, false, e4m3)) >> 16);
}
__CUDA_FP8 __nv_bfloat16_raw as_cuda(__nv_bfloat16_raw x, bool saturate, bool e4m3) {
    x.x = as_cuda(x.x, saturate, e4m3);
    return x;
}
__CUDA_FP8 __nv_bfloat162_raw as_cuda(__nv_bfloat162_raw x, bool saturate, bool e4m3) {
    x.x = as_cuda(x.x, saturate, e4m3);
    x.y = as_cuda(x.y, saturate, e4m3);
    return x;
}
} // namespace __cuda_fp8
#define __CUDA_FP8_FROM(NAME, FROM, TO)                                                                  \
    __CUDA_FP8 TO __nv_cvt_##NAME(FROM x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) { \
        return __hip_cvt_##NAME(__cuda_fp8::as_cuda(x, saturate == __NV_SATFINITE, kind == __NV_E4M3), saturate, kind); \
    }
__CUDA_FP8_FROM(float_to_fp8, float, __nv_fp8_storage_t)
__CUDA_FP8_FROM(float2_to_fp8x2, float2, __nv_fp8x2_storage_t)
__CUDA_FP8_FROM(double_to_fp8, double, __nv_fp8_storage_t)
__CUDA_FP8_FROM(double2_to_fp8x2, double2, __nv_fp8x2_storage_t)
__CUDA_FP8_FROM(halfraw_to_fp8, __half_raw, __nv_fp8_storage_t)
__CUDA_FP8_FROM(bfloat16raw_to_fp8, __nv_bfloat16_raw, __nv_fp8_storage_t)
__CUDA_FP8_FROM(bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, __nv_fp8x2_storage_t)
#undef __CUDA_FP8_FROM
#if defined(__FERROCM_CUDA__)
__CUDA_FP8 __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    __half_raw low, high;
    low.x = x.x, high.x = x.y;
    return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_halfraw_to_fp8(low, saturate, kind) | __nv_cvt_halfraw_to_fp8(high, saturate, kind) << 8);
}
#else
#define __nv_cvt_halfraw2_to_fp8x2 __hip_cvt_halfraw2_to_fp8x2
#endif

// Integers: towards zero, the nearest of the type; a NaN is zero, or the least one of 64 bits.
namespace __cuda_fp8 {
template <typename T> __CUDA_FP8 T to_integer(float x) {
    constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(1);
    constexpr int bits = static_cast<int>(sizeof(T)) * 8;
    constexpr unsigned long long most = ~0ull >> (64 - bits + (is_signed ? 1 : 0));
    const T least = is_signed ? static_cast<T>(-static_cast<long long>(most) - 1) : static_cast<T>(0);
    if (x != x)
        return bits == 64 ? static_cast<T>(1ull << 63) : static_cast<T>(0);
    if (x >= static_cast<float>(most))
        return static_cast<T>(most);
    return x <= static_cast<float>(least) ? least : static_cast<T>(x);
}
} // namespace __cuda_fp8

// The types. All conversions are explicit, as CUDA's are: HIP's are implicit, so that `__half(fp8)` is ambiguous with them. What HIP's
// types convert to, they calculate, except integers and double, where they lose infinities.
#define __CUDA_FP8_EXPLICIT __host__ __device__ __attribute__((always_inline)) inline explicit
#define __CUDA_FP8_TO(TYPE, T)           \
    __CUDA_FP8_EXPLICIT operator T() const { \
        TYPE bits;                       \
        bits.__x = __x;                  \
        return bits;                     \
    }
#define __CUDA_FP8_TO_INTEGER(T) \
    __CUDA_FP8_EXPLICIT operator T() const { return __cuda_fp8::to_integer<T>(static_cast<float>(*this)); }
#define __CUDA_FP8_INTEGER(NAME, T)                                \
    __CUDA_FP8_EXPLICIT NAME(T x) : NAME(static_cast<float>(x)) {} \
    __CUDA_FP8_TO_INTEGER(T)
#define __CUDA_FP8_TYPES(END, KIND)                                                                                                       \
    struct __nv_fp8_##END {                                                                                                               \
        __nv_fp8_storage_t __x;                                                                                                           \
        __nv_fp8_##END() = default;                                                                                                       \
        __CUDA_FP8_EXPLICIT __nv_fp8_##END(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, KIND)) {}                              \
        __CUDA_FP8_EXPLICIT __nv_fp8_##END(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND)) {}                            \
        __CUDA_FP8_EXPLICIT __nv_fp8_##END(__half x) : __x(__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, KIND)) {}                           \
        __CUDA_FP8_EXPLICIT __nv_fp8_##END(__nv_bfloat16 x) : __x(__nv_cvt_bfloat16raw_to_fp8(x, __NV_SATFINITE, KIND)) {}                \
        __CUDA_FP8_TO(__hip_fp8_##END, float)                                                                                             \
        __CUDA_FP8_EXPLICIT operator double() const { return static_cast<float>(*this); }                                                 \
        __CUDA_FP8_TO(__hip_fp8_##END, __half)                                                                                            \
        __CUDA_FP8_TO(__hip_fp8_##END, __nv_bfloat16)                                                                                     \
        __CUDA_FP8_TO(__hip_fp8_##END, bool)                                                                                              \
        __CUDA_FP8_TO_INTEGER(char)                                                                                                       \
        __CUDA_FP8_TO_INTEGER(signed char)                                                                                                \
        __CUDA_FP8_TO_INTEGER(unsigned char)                                                                                              \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, short)                                                                                         \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, unsigned short)                                                                                \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, int)                                                                                           \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, unsigned int)                                                                                  \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, long)                                                                                          \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, unsigned long)                                                                                 \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, long long)                                                                                     \
        __CUDA_FP8_INTEGER(__nv_fp8_##END, unsigned long long)                                                                            \
    };                                                                                                                                    \
    struct __nv_fp8x2_##END {                                                                                                             \
        __nv_fp8x2_storage_t __x;                                                                                                         \
        __nv_fp8x2_##END() = default;                                                                                                     \
        __CUDA_FP8_EXPLICIT __nv_fp8x2_##END(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}                        \
        __CUDA_FP8_EXPLICIT __nv_fp8x2_##END(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}                      \
        __CUDA_FP8_EXPLICIT __nv_fp8x2_##END(__half2 x) : __x(__nv_fp8_##END(x.x).__x | __nv_fp8_##END(x.y).__x << 8) {}                  \
        __CUDA_FP8_EXPLICIT __nv_fp8x2_##END(__nv_bfloat162 x) : __x(__nv_fp8_##END(x.x).__x | __nv_fp8_##END(x.y).__x << 8) {}           \
        __CUDA_FP8_TO(__hip_fp8x2_##END, float2)                                                                                          \
        __CUDA_FP8_TO(__hip_fp8x2_##END, __half2)                                                                                         \
    };                                                                                                                                    \
    struct __nv_fp8x4_##END {                                                                                                             \
        __nv_fp8x4_storage_t __x;                                                                                                         \
        __nv_fp8x4_##END() = default;                                                                                                     \
        __CUDA_FP8_EXPLICIT __nv_fp8x4_##END(float4 x)                                                                                    \
            : __x(__nv_fp8x2_##END(make_float2(x.x, x.y)).__x |                                                                           \
                  static_cast<unsigned>(__nv_fp8x2_##END(make_float2(x.z, x.w)).__x) << 16) {}                                            \
        __CUDA_FP8_EXPLICIT __nv_fp8x4_##END(double4 x)                                                                                   \
            : __x(__nv_fp8x2_##END(make_double2(x.x, x.y)).__x |                                                                          \
                  static_cast<unsigned>(__nv_fp8x2_##END(make_double2(x.z, x.w)).__x) << 16) {}                                           \
        __CUDA_FP8_EXPLICIT __nv_fp8x4_##END(__half2 low, __half2 high)                                                                   \
            : __x(__nv_fp8x2_##END(low).__x | static_cast<unsigned>(__nv_fp8x2_##END(high).__x) << 16) {}                                 \
        __CUDA_FP8_EXPLICIT __nv_fp8x4_##END(__nv_bfloat162 low, __nv_bfloat162 high)                                                     \
            : __x(__nv_fp8x2_##END(low).__x | static_cast<unsigned>(__nv_fp8x2_##END(high).__x) << 16) {}                                 \
        __CUDA_FP8_TO(__hip_fp8x4_##END, float4)                                                                                          \
    };
__CUDA_FP8_TYPES(e4m3, __NV_E4M3)
__CUDA_FP8_TYPES(e5m2, __NV_E5M2)
#undef __CUDA_FP8_TYPES
#undef __CUDA_FP8_INTEGER
#undef __CUDA_FP8_TO_INTEGER
#undef __CUDA_FP8_TO

// E8M0: only an exponent, 2^(bits - 127); 255 is NaN. The sign of a number is lost.
__CUDA_FP8 __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
    __nv_bfloat16_raw result;
    result.x = static_cast<unsigned short>(x == 255 ? 0x7fff : x == 0 ? 0x40 : x << 7);
    return result;
}
__CUDA_FP8 __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
    __nv_bfloat162_raw result;
    result.x = __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x)).x;
    result.y = __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x >> 8)).x;
    return result;
}
// Rounds to zero or to infinity. What is too large becomes the largest number, or NaN without saturation.
__CUDA_FP8 __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturate, cudaRoundMode mode) {
    const unsigned bits = __builtin_bit_cast(unsigned, x) & 0x7fffffffu, fraction = bits & 0x7fffffu;
    if (bits > 0x7f800000u)
        return 255;
    // The smallest number is half of the smallest normal float.
    const bool up = mode == cudaRoundPosInf && (bits >> 23 == 0 ? fraction > 0x400000u : fraction != 0);
    const unsigned result = (bits >> 23) + (up ? 1 : 0);
    return static_cast<__nv_fp8_storage_t>(result >= 255 && saturate == __NV_SATFINITE ? 254 : result);
}
__CUDA_FP8 __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x, __nv_saturation_t saturate, cudaRoundMode mode) {
    return __nv_cvt_float_to_e8m0(__builtin_bit_cast(float, static_cast<unsigned>(x.x) << 16), saturate, mode);
}
__CUDA_FP8 __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturate, cudaRoundMode mode) {
    const unsigned long long bits = __builtin_bit_cast(unsigned long long, x) & 0x7fffffffffffffffull;
    // A float that rounds as the double: its last bit stands for all that do not fit. What is below all floats is as their smallest.
    if (bits > 0x7ff0000000000000ull)
        return 255;
    const int exponent = static_cast<int>(bits >> 52) - 896;
    if (exponent >= 255)
        return static_cast<__nv_fp8_storage_t>(saturate == __NV_SATFINITE ? 254 : 255);
    if (exponent < 0)
        return 0;
    const bool rest = (bits & 0xfffffffffffffull) != 0;
    // Exponent 0 has the numbers from 2^-127 to 2^-126.
    return static_cast<__nv_fp8_storage_t>(exponent + (mode == cudaRoundPosInf && rest && (exponent < 254 || saturate == __NV_NOSAT) ? 1 : 0));
}
// The first number is in the lower bits.
#define __CUDA_FP8_E8M0(FROM2, TYPE2, FROM, FIRST, SECOND)                                                                             \
    __CUDA_FP8 __nv_fp8x2_storage_t __nv_cvt_##FROM2##_to_e8m0x2(TYPE2 x, __nv_saturation_t saturate, cudaRoundMode mode) {            \
        const unsigned low = __nv_cvt_##FROM##_to_e8m0(FIRST, saturate, mode), high = __nv_cvt_##FROM##_to_e8m0(SECOND, saturate, mode); \
        return static_cast<__nv_fp8x2_storage_t>(low | high << 8);                                                                     \
    }
__CUDA_FP8_E8M0(float2, float2, float, x.x, x.y)
__CUDA_FP8_E8M0(double2, double2, double, x.x, x.y)
__CUDA_FP8_E8M0(bfloat162raw, __nv_bfloat162_raw, bfloat16raw, __nv_bfloat16_raw{x.x}, __nv_bfloat16_raw{x.y})
#undef __CUDA_FP8_E8M0
struct __nv_fp8_e8m0 {
    __nv_fp8_storage_t __x;
    __nv_fp8_e8m0() = default;
    __CUDA_FP8_EXPLICIT __nv_fp8_e8m0(float x) : __x(__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
    __CUDA_FP8_EXPLICIT __nv_fp8_e8m0(double x) : __x(__nv_cvt_double_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
    __CUDA_FP8_EXPLICIT __nv_fp8_e8m0(__nv_bfloat16 x) : __x(__nv_cvt_bfloat16raw_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
    __CUDA_FP8_EXPLICIT operator float() const { return __builtin_bit_cast(float, static_cast<unsigned>(__nv_cvt_e8m0_to_bf16raw(__x).x) << 16); }
    __CUDA_FP8_EXPLICIT operator double() const { return static_cast<float>(*this); }
    __CUDA_FP8_EXPLICIT operator __nv_bfloat16() const { return __nv_cvt_e8m0_to_bf16raw(__x); }
};
#undef __CUDA_FP8_EXPLICIT
#undef __CUDA_FP8
#include "ferrocm_letters_end.h"
