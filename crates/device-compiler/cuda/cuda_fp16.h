// CUDA's <cuda_fp16.h> for AMD targets. HIP has CUDA's names for half precision.
#pragma once
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
__CUDA_HALF_BOTH __half __double2half(double a) { return __half(__half_raw{.data = static_cast<_Float16>(a)}); }
__CUDA_HALF_DEVICE signed char __half2char_rz(__half a) { return __cuda_half::whole<signed char, ::__cuda_ptx::rz>(__half2float(a)); }
__CUDA_HALF_DEVICE unsigned char __half2uchar_rz(__half a) { return __cuda_half::whole<unsigned char, ::__cuda_ptx::rz>(__half2float(a)); }

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
