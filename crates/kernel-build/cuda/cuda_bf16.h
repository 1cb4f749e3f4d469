// CUDA's <cuda_bf16.h> for AMD targets.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#if !defined(__HIPCC_RTC__)
#include "ferrocm_hip_begin.h"
#include <hip/hip_bf16.h>
#include "ferrocm_hip_end.h"
#endif

typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
typedef __hip_bfloat16 nv_bfloat16;
typedef __hip_bfloat162 nv_bfloat162;
typedef __hip_bfloat16_raw __nv_bfloat16_raw;
typedef __hip_bfloat162_raw __nv_bfloat162_raw;

#if defined(__FERROCM_CUDA__)
static __device__ __attribute__((unused)) inline __nv_bfloat162 atomicAdd(__nv_bfloat162 *at, __nv_bfloat162 value) { return __cuda_atomic_add_pair(at, value); }
static __device__ __attribute__((unused)) inline __nv_bfloat16 atomicAdd(__nv_bfloat16 *at, __nv_bfloat16 value) { return __cuda_atomic_add_half(at, value); }

// One that is not a number makes the result not a number.
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

// Conversions with other ways to round, and those whose names HIP lacks.
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_rn(float a) { return __float2bfloat16(a); }
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __float2bfloat16_rz(float a) {
    unsigned bits = __cuda_bits<unsigned>(a);
    if (a != a)
        bits |= 0x400000;
    return __cuda_bits<__nv_bfloat16>(static_cast<unsigned short>(bits >> 16));
}
// Away from zero where the sign asks for it: the bits of a number grow with its size.
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
static __host__ __device__ __attribute__((always_inline, unused)) inline int __bfloat162int_rz(__nv_bfloat16 a) { return static_cast<int>(__bfloat162float(a)); }
static __host__ __device__ __attribute__((always_inline, unused)) inline int __bfloat162int_rn(__nv_bfloat16 a) { return static_cast<int>(__builtin_rintf(__bfloat162float(a))); }
static __host__ __device__ __attribute__((always_inline, unused)) inline __nv_bfloat16 __uint2bfloat16_rn(unsigned a) {
    // The sum of two roundings is one where the first keeps what the second looks at.
    return __double2bfloat16(static_cast<double>(a));
}
#endif
#include "ferrocm_letters_end.h"
