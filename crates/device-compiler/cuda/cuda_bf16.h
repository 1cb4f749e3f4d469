// CUDA's <cuda_bf16.h> for AMD targets: bfloat16, with CUDA's own types. HIP's dialect has HIP's.
#pragma once
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__
#include "ferrocm_half.h"
#include "cuda_fp16.h"
#include "ferrocm_letters_begin.h"

#if defined(__FERROCM_CUDA__)
#if defined(_HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_)
#error "<hip/hip_bf16.h> and <cuda_bf16.h> define the same types: in a source in CUDA's dialect, include <cuda_bf16.h> first"
#endif
// HIP's other headers find these types in place of HIP's.
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_
typedef __bf16 __bf16_2 __attribute__((ext_vector_type(2)));
struct __attribute__((aligned(2))) __nv_bfloat16_raw {
    unsigned short x;
};
struct __attribute__((aligned(4))) __nv_bfloat162_raw {
    unsigned short x, y;
};
#define __CUDA_T __nv_bfloat16
#define __CUDA_T2 __nv_bfloat162
#define __CUDA_T_RAW __nv_bfloat16_raw
#define __CUDA_T2_RAW __nv_bfloat162_raw
#define __CUDA_T_FORMAT __cuda_half::bfloat16_format
#define __CUDA_T_OTHER __half
#define __CUDA_T_NATIVE __bf16
#define __CUDA_T_NAMES(X) X(bfloat16, bfloat162)
#if !defined(__HIPCC_RTC__)
#define __CUDA_T2_FLOAT2 __cuda_hip_float2
#endif
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define __CUDA_T_CONVERSIONS
#endif
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define __CUDA_T_OPERATORS
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define __CUDA_T2_OPERATORS
#endif
#include "ferrocm_half_class.h"
#include "ferrocm_half_functions.h"
#undef __CUDA_T
#undef __CUDA_T2
#undef __CUDA_T_RAW
#undef __CUDA_T2_RAW
#undef __CUDA_T_FORMAT
#undef __CUDA_T_OTHER
#undef __CUDA_T_NATIVE
#undef __CUDA_T_NAMES
#undef __CUDA_T_CONVERSIONS
#undef __CUDA_T_OPERATORS
#undef __CUDA_T2_OPERATORS
#undef __CUDA_T2_FLOAT2
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
typedef __nv_bfloat16_raw __hip_bfloat16_raw;
typedef __nv_bfloat162_raw __hip_bfloat162_raw;

// Each of the two types from the other.
__host__ __device__ inline __nv_bfloat16::__nv_bfloat16(const __half &from)
    : __x(__cuda_half::bfloat16_bits(__cuda_half::float_of_half(__cuda_half::bits_of(from)))) {}
#if !defined(__HIPCC_RTC__)
__host__ __device__ inline __half::__half(const __nv_bfloat16 &from)
    : __x(__cuda_half::half_bits(__cuda_half::float_of_bfloat16(__cuda_half::bits_of(from)))) {}
#endif

static __device__ __attribute__((unused)) inline __nv_bfloat162 atomicAdd(__nv_bfloat162 *at, __nv_bfloat162 value) { return __cuda_atomic_add_pair(at, value); }
static __device__ __attribute__((unused)) inline __nv_bfloat16 atomicAdd(__nv_bfloat16 *at, __nv_bfloat16 value) { return __cuda_atomic_add_half(at, value); }

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fffu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7fu)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80u)
#else
#if defined(__HIPCC_RTC__) && !__has_include(<hip/hip_bf16.h>)
#error "<cuda_bf16.h>: AMD's run-time compiler lacks HIP's bf16 types; add the folder of ROCm's headers to its options (-I)"
#endif
#include <hip/hip_bf16.h>
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
typedef __hip_bfloat16 nv_bfloat16;
typedef __hip_bfloat162 nv_bfloat162;
typedef __hip_bfloat16_raw __nv_bfloat16_raw;
typedef __hip_bfloat162_raw __nv_bfloat162_raw;
#endif
#include "ferrocm_letters_end.h"
