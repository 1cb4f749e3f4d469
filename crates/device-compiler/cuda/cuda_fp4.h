// CUDA's <cuda_fp4.h> for AMD targets: OCP's E2M1, whose numbers are 0, 0.5, 1, 1.5, 2, 3, 4 and 6, converted in software.
#pragma once
#define __CUDA_FP4_H__
#define __CUDA_FP4_TYPES_EXIST__
#include "ferrocm_letters_begin.h"
#include "cuda_fp8.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 = 0 };

#define __CUDA_FP4 static __host__ __device__ __attribute__((always_inline, unused)) inline
// Rounds to the nearest, ties to even, and saturates at 6. NaN becomes 6.
__CUDA_FP4 __nv_fp4_storage_t __nv_cvt_double_to_fp4(double x, __nv_fp4_interpretation_t, cudaRoundMode) {
    const double size = __builtin_fabs(x);
    // The midpoints between adjacent numbers. A midpoint rounds to the even number.
    const unsigned code = (size > 0.25) + (size >= 0.75) + (size > 1.25) + (size >= 1.75) + (size > 2.5) + (size >= 3.5) + !(size <= 5.0);
    return static_cast<__nv_fp4_storage_t>(code | (__builtin_signbit(x) && x == x ? 8 : 0));
}
__CUDA_FP4 __nv_fp4_storage_t __nv_cvt_float_to_fp4(float x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    return __nv_cvt_double_to_fp4(x, kind, mode);
}
__CUDA_FP4 __nv_fp4_storage_t __nv_cvt_halfraw_to_fp4(__half_raw x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    return __nv_cvt_double_to_fp4(__half2float(__half(x)), kind, mode);
}
__CUDA_FP4 __nv_fp4_storage_t __nv_cvt_bfloat16raw_to_fp4(__nv_bfloat16_raw x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    return __nv_cvt_double_to_fp4(__bfloat162float(__nv_bfloat16(x)), kind, mode);
}
// The first number is in the lower bits.
__CUDA_FP4 __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(float2 x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_float_to_fp4(x.x, kind, mode) | __nv_cvt_float_to_fp4(x.y, kind, mode) << 4);
}
__CUDA_FP4 __nv_fp4x2_storage_t __nv_cvt_double2_to_fp4x2(double2 x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_double_to_fp4(x.x, kind, mode) | __nv_cvt_double_to_fp4(x.y, kind, mode) << 4);
}
__CUDA_FP4 __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t x, __nv_fp4_interpretation_t) {
    // Read as a half's exponent, whose bias is larger by 14, it makes the number 2^14 times too small.
    __half_raw raw;
    raw.x = static_cast<unsigned short>((x & 8) << 12 | (x & 7) << 9);
    return __half_raw(__float2half(__half2float(__half(raw)) * 16384.0f));
}
__CUDA_FP4 __nv_fp4x2_storage_t __nv_cvt_bfloat16raw2_to_fp4x2(__nv_bfloat162_raw x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    __nv_bfloat16_raw low, high;
    low.x = x.x, high.x = x.y;
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_bfloat16raw_to_fp4(low, kind, mode) | __nv_cvt_bfloat16raw_to_fp4(high, kind, mode) << 4);
}
#if defined(__FERROCM_CUDA__)
__CUDA_FP4 __nv_fp4x2_storage_t __nv_cvt_halfraw2_to_fp4x2(__half2_raw x, __nv_fp4_interpretation_t kind, cudaRoundMode mode) {
    __half_raw low, high;
    low.x = x.x, high.x = x.y;
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_halfraw_to_fp4(low, kind, mode) | __nv_cvt_halfraw_to_fp4(high, kind, mode) << 4);
}
__CUDA_FP4 __half2_raw __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t x, __nv_fp4_interpretation_t kind) {
    __half2_raw raw;
    raw.x = __nv_cvt_fp4_to_halfraw(x & 15, kind).x;
    raw.y = __nv_cvt_fp4_to_halfraw(x >> 4, kind).x;
    return raw;
}
#endif

struct __nv_fp4_e2m1 {
    __nv_fp4_storage_t __x;
    __nv_fp4_e2m1() = default;
    __host__ __device__ explicit __nv_fp4_e2m1(float x) : __x(__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
    __host__ __device__ explicit __nv_fp4_e2m1(double x) : __x(__nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
    __host__ __device__ explicit __nv_fp4_e2m1(__half x) : __x(__nv_cvt_halfraw_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
    __host__ __device__ explicit __nv_fp4_e2m1(__nv_bfloat16 x) : __x(__nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
    __host__ __device__ explicit operator __half() const { return __half(__nv_cvt_fp4_to_halfraw(__x, __NV_E2M1)); }
    __host__ __device__ explicit operator float() const { return __half2float(__half(__nv_cvt_fp4_to_halfraw(__x, __NV_E2M1))); }
};
struct __nv_fp4x2_e2m1 {
    __nv_fp4x2_storage_t __x;
    __nv_fp4x2_e2m1() = default;
    __host__ __device__ explicit __nv_fp4x2_e2m1(float2 x) : __x(__nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
    __host__ __device__ explicit __nv_fp4x2_e2m1(double2 x) : __x(__nv_cvt_double2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
    __host__ __device__ explicit operator float2() const {
        const __half_raw low = __nv_cvt_fp4_to_halfraw(__x & 15, __NV_E2M1), high = __nv_cvt_fp4_to_halfraw(__x >> 4, __NV_E2M1);
        return make_float2(__half2float(__half(low)), __half2float(__half(high)));
    }
};
struct __nv_fp4x4_e2m1 {
    __nv_fp4x4_storage_t __x;
    __nv_fp4x4_e2m1() = default;
    __host__ __device__ explicit __nv_fp4x4_e2m1(float4 x)
        : __x(static_cast<__nv_fp4x4_storage_t>(__nv_fp4x2_e2m1(make_float2(x.x, x.y)).__x | __nv_fp4x2_e2m1(make_float2(x.z, x.w)).__x << 8)) {}
    __host__ __device__ explicit operator float4() const {
        __nv_fp4x2_e2m1 low, high;
        low.__x = __x & 0xff, high.__x = __x >> 8;
        const float2 a = static_cast<float2>(low), b = static_cast<float2>(high);
        return make_float4(a.x, a.y, b.x, b.y);
    }
};
#undef __CUDA_FP4
#include "ferrocm_letters_end.h"
