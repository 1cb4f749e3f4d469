// CUDA's <cuda_bf16.h> for AMD targets.
#pragma once
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_half.h"
#if defined(__HIPCC_RTC__) && !__has_include(<hip/hip_bf16.h>)
#error "<cuda_bf16.h>: AMD's run-time compiler lacks HIP's bf16 types; add the folder of ROCm's headers to its options (-I)"
#endif
#include "ferrocm_hip_begin.h"
#include <hip/hip_bf16.h>
#include "ferrocm_hip_end.h"

typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
typedef __hip_bfloat16 nv_bfloat16;
typedef __hip_bfloat162 nv_bfloat162;
typedef __hip_bfloat16_raw __nv_bfloat16_raw;
typedef __hip_bfloat162_raw __nv_bfloat162_raw;

#if defined(__FERROCM_CUDA__)
static __device__ __attribute__((unused)) inline __nv_bfloat162 atomicAdd(__nv_bfloat162 *at, __nv_bfloat162 value) { return __cuda_atomic_add_pair(at, value); }
static __device__ __attribute__((unused)) inline __nv_bfloat16 atomicAdd(__nv_bfloat16 *at, __nv_bfloat16 value) { return __cuda_atomic_add_half(at, value); }

// A NaN operand makes the result a NaN.
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
    const float x = __bfloat162float(a), y = __bfloat162float(b);
    return x != x ? a : y != y ? b : x > y ? a : b;
}
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __hmin_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
    const float x = __bfloat162float(a), y = __bfloat162float(b);
    return x != x ? a : y != y ? b : x < y ? a : b;
}
static __device__ __attribute__((always_inline, unused)) inline __nv_bfloat162 __hmax2_nan(__nv_bfloat162 a, __nv_bfloat162 b) {
    return __halves2bfloat162(__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y));
}
static __device__ __attribute__((always_inline, unused)) inline __nv_bfloat162 __hmin2_nan(__nv_bfloat162 a, __nv_bfloat162 b) {
    return __halves2bfloat162(__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y));
}

// Conversions with other rounding modes, and those whose names HIP lacks.
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_rn(float a) { return __float2bfloat16(a); }
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_rz(float a) {
    unsigned bits = __cuda_bits<unsigned>(a);
    if (a != a)
        bits |= 0x400000;
    return __cuda_bits<__nv_bfloat16>(static_cast<unsigned short>(bits >> 16));
}
// Away from zero if the sign requires it: the bits of a number grow with its magnitude.
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_away(float a, bool away) {
    const __nv_bfloat16 cut = __float2bfloat16_rz(a);
    const bool exact = (__cuda_bits<unsigned>(a) & 0xffff) == 0 || a != a;
    const unsigned short bits = __cuda_bits<unsigned short>(cut);
    return __cuda_bits<__nv_bfloat16>(static_cast<unsigned short>(bits + (away && !exact)));
}
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_ru(float a) {
    return __float2bfloat16_away(a, a > 0);
}
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_rd(float a) {
    return __float2bfloat16_away(a, a < 0);
}
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
    return __halves2bfloat162(__float2bfloat16(a), __float2bfloat16(b));
}
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat162 __float2bfloat162_rn(float a) {
    return __halves2bfloat162(__float2bfloat16(a), __float2bfloat16(a));
}
__CUDA_HALF_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __halves2bfloat162(x, y); }

// To and from integers.
namespace __cuda_half {
template <__cuda_convert::rounding R> static __host__ __device__ __attribute__((always_inline)) inline __nv_bfloat16 to_bfloat16(double x) {
    const float rounded = static_cast<float>(__cuda_convert::to_format<R>(x, 7, -133, 3.38953138925153547590e+38));
    return __cuda_bits<__nv_bfloat16>(static_cast<unsigned short>(__cuda_bits<unsigned>(rounded) >> 16));
}
} // namespace __cuda_half
#define __CUDA_BF16_TO(NAME, TYPE, MODE) \
    __CUDA_HALF_BOTH TYPE NAME(__nv_bfloat16 a) { return __cuda_convert::integer<TYPE, __cuda_convert::MODE>(__bfloat162float(a)); }
#define __CUDA_BF16_FROM(NAME, TYPE, MODE) \
    __CUDA_HALF_BOTH __nv_bfloat16 NAME##_##MODE(TYPE a) { return __cuda_half::to_bfloat16<__cuda_convert::MODE>(__cuda_convert::sticky(a)); }
#define __CUDA_BF16_INTEGER(NAME, TYPE)          \
    __CUDA_BF16_TO(__bfloat162##NAME##_rn, TYPE, rn) \
    __CUDA_BF16_TO(__bfloat162##NAME##_rz, TYPE, rz) \
    __CUDA_BF16_TO(__bfloat162##NAME##_rd, TYPE, rd) \
    __CUDA_BF16_TO(__bfloat162##NAME##_ru, TYPE, ru)
__CUDA_BF16_INTEGER(int, int)
__CUDA_BF16_INTEGER(uint, unsigned)
__CUDA_BF16_INTEGER(short, short)
__CUDA_BF16_INTEGER(ushort, unsigned short)
__CUDA_BF16_INTEGER(ll, long long)
__CUDA_BF16_INTEGER(ull, unsigned long long)
__CUDA_BF16_TO(__bfloat162char_rz, signed char, rz)
__CUDA_BF16_TO(__bfloat162uchar_rz, unsigned char, rz)
__CUDA_BF16_FROM(__int2bfloat16, int, rn)
__CUDA_BF16_FROM(__int2bfloat16, int, rz)
__CUDA_BF16_FROM(__int2bfloat16, int, rd)
__CUDA_BF16_FROM(__int2bfloat16, int, ru)
__CUDA_BF16_FROM(__uint2bfloat16, unsigned, rn)
__CUDA_BF16_FROM(__uint2bfloat16, unsigned, rz)
__CUDA_BF16_FROM(__uint2bfloat16, unsigned, rd)
__CUDA_BF16_FROM(__uint2bfloat16, unsigned, ru)
__CUDA_BF16_FROM(__short2bfloat16, short, rn)
__CUDA_BF16_FROM(__short2bfloat16, short, rz)
__CUDA_BF16_FROM(__short2bfloat16, short, rd)
__CUDA_BF16_FROM(__short2bfloat16, short, ru)
__CUDA_BF16_FROM(__ushort2bfloat16, unsigned short, rn)
__CUDA_BF16_FROM(__ushort2bfloat16, unsigned short, rz)
__CUDA_BF16_FROM(__ushort2bfloat16, unsigned short, rd)
__CUDA_BF16_FROM(__ushort2bfloat16, unsigned short, ru)
__CUDA_BF16_FROM(__ll2bfloat16, long long, rn)
__CUDA_BF16_FROM(__ll2bfloat16, long long, rz)
__CUDA_BF16_FROM(__ll2bfloat16, long long, rd)
__CUDA_BF16_FROM(__ll2bfloat16, long long, ru)
__CUDA_BF16_FROM(__ull2bfloat16, unsigned long long, rn)
__CUDA_BF16_FROM(__ull2bfloat16, unsigned long long, rz)
__CUDA_BF16_FROM(__ull2bfloat16, unsigned long long, rd)
__CUDA_BF16_FROM(__ull2bfloat16, unsigned long long, ru)
__CUDA_HALF_BOTH __nv_bfloat16 __double2bfloat16(double a) { return __cuda_half::to_bfloat16<__cuda_convert::rn>(a); }
#undef __CUDA_BF16_INTEGER
#undef __CUDA_BF16_FROM
#undef __CUDA_BF16_TO

// At least 0; NaN stays NaN.
__CUDA_HALF_DEVICE __nv_bfloat16 __hfma_relu(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    const __nv_bfloat16 sum = __hfma(a, b, c);
    return __bfloat162float(sum) <= 0 ? __float2bfloat16(0) : sum;
}
__CUDA_HALF_COMMON(__nv_bfloat16, __nv_bfloat162, __bfloat162float, __float2bfloat16)

// Comparisons of pairs that are true if an operand is NaN: 1 or 0 in each half.
#define __CUDA_BF16_UNORDERED(NAME)                                                                        \
    __CUDA_HALF_DEVICE __nv_bfloat162 NAME(__nv_bfloat162 a, __nv_bfloat162 b) {                           \
        const unsigned mask = NAME##_mask(a, b);                                                           \
        return __nv_bfloat162(__float2bfloat16(mask & 1 ? 1.0f : 0.0f), __float2bfloat16(mask >> 31 ? 1.0f : 0.0f)); \
    }
__CUDA_BF16_UNORDERED(__hequ2)
__CUDA_BF16_UNORDERED(__hneu2)
__CUDA_BF16_UNORDERED(__hleu2)
__CUDA_BF16_UNORDERED(__hgeu2)
__CUDA_BF16_UNORDERED(__hltu2)
__CUDA_BF16_UNORDERED(__hgtu2)
#undef __CUDA_BF16_UNORDERED
#endif
#include "ferrocm_letters_end.h"
