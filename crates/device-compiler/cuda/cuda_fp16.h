// CUDA's <cuda_fp16.h> for AMD targets. HIP has CUDA's names for half precision.
#pragma once
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_half.h"
#include "ferrocm_hip_begin.h"
#if !defined(__HIPCC_RTC__)
#include <hip/hip_fp16.h>
#endif
typedef __half2_raw __cuda_hip_half2_raw;
#include "ferrocm_hip_end.h"

#if defined(__FERROCM_CUDA__)
static __device__ __attribute__((unused)) inline __half2 atomicAdd(__half2 *at, __half2 value) { return __cuda_atomic_add_pair(at, value); }
static __device__ __attribute__((unused)) inline __half atomicAdd(__half *at, __half value) { return __cuda_atomic_add_half(at, value); }

// A NaN operand makes the result a NaN.
static __device__ __attribute__((always_inline, unused)) inline __half2 __hmax2_nan(__half2 a, __half2 b) {
    return __halves2half2(__hmax_nan(__low2half(a), __low2half(b)), __hmax_nan(__high2half(a), __high2half(b)));
}
static __device__ __attribute__((always_inline, unused)) inline __half2 __hmin2_nan(__half2 a, __half2 b) {
    return __halves2half2(__hmin_nan(__low2half(a), __low2half(b)), __hmin_nan(__high2half(a), __high2half(b)));
}
static __device__ __attribute__((always_inline, unused)) inline __half2 __hmax2(__half2 a, __half2 b) {
    return __halves2half2(__hmax(__low2half(a), __low2half(b)), __hmax(__high2half(a), __high2half(b)));
}
static __device__ __attribute__((always_inline, unused)) inline __half2 __hmin2(__half2 a, __half2 b) {
    return __halves2half2(__hmin(__low2half(a), __low2half(b)), __hmin(__high2half(a), __high2half(b)));
}
static __device__ __attribute__((always_inline, unused)) inline __half __hfma_relu(__half a, __half b, __half c) {
    const __half sum = __hfma(a, b, c);
    return __hisnan(sum) || __half2float(sum) > 0 ? sum : __float2half(0);
}
__CUDA_HALF_COMMON(__half, __half2, __half2float, __float2half)
namespace __cuda_half {
// A double that is a half.
static __host__ __device__ __attribute__((always_inline, unused)) inline __half of(double x) { return __half(__half_raw{.data = static_cast<_Float16>(x)}); }
} // namespace __cuda_half
__CUDA_HALF_BOTH __half __double2half(double a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(a)); }
__CUDA_HALF_BOTH signed char __half2char_rz(__half a) { return __cuda_convert::integer<signed char, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH unsigned char __half2uchar_rz(__half a) { return __cuda_convert::integer<unsigned char, __cuda_convert::rz>(__half2float(a)); }

// To and from integers, and from floats, with every rounding.
__CUDA_HALF_BOTH int __half2int_rn(__half a) { return __cuda_convert::integer<int, __cuda_convert::rn>(__half2float(a)); }
__CUDA_HALF_BOTH __half __int2half_rn(int a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned __half2uint_rn(__half a) { return __cuda_convert::integer<unsigned, __cuda_convert::rn>(__half2float(a)); }
__CUDA_HALF_BOTH __half __uint2half_rn(unsigned a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH long long __half2ll_rn(__half a) { return __cuda_convert::integer<long long, __cuda_convert::rn>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ll2half_rn(long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned long long __half2ull_rn(__half a) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rn>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ull2half_rn(unsigned long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH short __half2short_rn(__half a) { return __cuda_convert::integer<short, __cuda_convert::rn>(__half2float(a)); }
__CUDA_HALF_BOTH __half __short2half_rn(short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned short __half2ushort_rn(__half a) { return __cuda_convert::integer<unsigned short, __cuda_convert::rn>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ushort2half_rn(unsigned short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rn>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH int __half2int_rz(__half a) { return __cuda_convert::integer<int, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH __half __int2half_rz(int a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned __half2uint_rz(__half a) { return __cuda_convert::integer<unsigned, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH __half __uint2half_rz(unsigned a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH long long __half2ll_rz(__half a) { return __cuda_convert::integer<long long, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ll2half_rz(long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned long long __half2ull_rz(__half a) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ull2half_rz(unsigned long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH short __half2short_rz(__half a) { return __cuda_convert::integer<short, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH __half __short2half_rz(short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned short __half2ushort_rz(__half a) { return __cuda_convert::integer<unsigned short, __cuda_convert::rz>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ushort2half_rz(unsigned short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH __half __float2half_rz(float a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rz>(static_cast<double>(a))); }
__CUDA_HALF_BOTH int __half2int_rd(__half a) { return __cuda_convert::integer<int, __cuda_convert::rd>(__half2float(a)); }
__CUDA_HALF_BOTH __half __int2half_rd(int a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned __half2uint_rd(__half a) { return __cuda_convert::integer<unsigned, __cuda_convert::rd>(__half2float(a)); }
__CUDA_HALF_BOTH __half __uint2half_rd(unsigned a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH long long __half2ll_rd(__half a) { return __cuda_convert::integer<long long, __cuda_convert::rd>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ll2half_rd(long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned long long __half2ull_rd(__half a) { return __cuda_convert::integer<unsigned long long, __cuda_convert::rd>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ull2half_rd(unsigned long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH short __half2short_rd(__half a) { return __cuda_convert::integer<short, __cuda_convert::rd>(__half2float(a)); }
__CUDA_HALF_BOTH __half __short2half_rd(short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned short __half2ushort_rd(__half a) { return __cuda_convert::integer<unsigned short, __cuda_convert::rd>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ushort2half_rd(unsigned short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH __half __float2half_rd(float a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::rd>(static_cast<double>(a))); }
__CUDA_HALF_BOTH int __half2int_ru(__half a) { return __cuda_convert::integer<int, __cuda_convert::ru>(__half2float(a)); }
__CUDA_HALF_BOTH __half __int2half_ru(int a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned __half2uint_ru(__half a) { return __cuda_convert::integer<unsigned, __cuda_convert::ru>(__half2float(a)); }
__CUDA_HALF_BOTH __half __uint2half_ru(unsigned a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH long long __half2ll_ru(__half a) { return __cuda_convert::integer<long long, __cuda_convert::ru>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ll2half_ru(long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned long long __half2ull_ru(__half a) { return __cuda_convert::integer<unsigned long long, __cuda_convert::ru>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ull2half_ru(unsigned long long a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH short __half2short_ru(__half a) { return __cuda_convert::integer<short, __cuda_convert::ru>(__half2float(a)); }
__CUDA_HALF_BOTH __half __short2half_ru(short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH unsigned short __half2ushort_ru(__half a) { return __cuda_convert::integer<unsigned short, __cuda_convert::ru>(__half2float(a)); }
__CUDA_HALF_BOTH __half __ushort2half_ru(unsigned short a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(__cuda_convert::sticky(a))); }
__CUDA_HALF_BOTH __half __float2half_ru(float a) { return __cuda_half::of(__cuda_convert::to_half<__cuda_convert::ru>(static_cast<double>(a))); }

// The bits of two halves, as in CUDA's raw pair. HIP's has structures instead.
struct __cuda_half2_raw {
    unsigned short x, y;
    __cuda_half2_raw() = default;
    __host__ __device__ __cuda_half2_raw(const __half2 &pair) : x(__half_raw(pair.x).x), y(__half_raw(pair.y).x) {}
    __host__ __device__ __cuda_half2_raw(const __cuda_hip_half2_raw &raw) : x(raw.x.x), y(raw.y.x) {}
    __host__ __device__ operator __half2() const { return __half2(half_of(x), half_of(y)); }

  private:
    static __host__ __device__ __half half_of(unsigned short bits) {
        __half_raw raw;
        raw.x = bits;
        return __half(raw);
    }
};
#endif
#include "ferrocm_letters_end.h"
