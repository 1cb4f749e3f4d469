// CUDA's <cuda_fp16.h> for AMD targets. HIP has CUDA's names for half precision.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#if !defined(__HIPCC_RTC__)
#include "ferrocm_hip_begin.h"
#include <hip/hip_fp16.h>
#include "ferrocm_hip_end.h"
#endif

#if defined(__FERROCM_CUDA__)
static __device__ __attribute__((unused)) inline __half2 atomicAdd(__half2 *at, __half2 value) { return __cuda_atomic_add_pair(at, value); }
static __device__ __attribute__((unused)) inline __half atomicAdd(__half *at, __half value) { return __cuda_atomic_add_half(at, value); }

// One that is not a number makes the result not a number.
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
#endif
#include "ferrocm_letters_end.h"
