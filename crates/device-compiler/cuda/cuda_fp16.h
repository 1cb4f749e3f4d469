// CUDA's <cuda_fp16.h> for AMD targets: half precision, with CUDA's own types. HIP's dialect, and kernels that AMD's library compiles at run
// time, have HIP's.
#pragma once
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__
#include "ferrocm_half.h"
#include "ferrocm_letters_begin.h"

#if defined(__FERROCM_CUDA__) && !defined(__HIPCC_RTC__)
#if defined(HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H)
#error "<hip/hip_fp16.h> and <cuda_fp16.h> define the same types: in a source in CUDA's dialect, include <cuda_fp16.h> first"
#endif
// HIP's other headers find these types in place of HIP's.
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H
typedef _Float16 _Float16_2 __attribute__((ext_vector_type(2)));
// The bits of a half. HIP's headers make it of a number.
struct __attribute__((aligned(2))) __half_raw {
    unsigned short x;
    __half_raw() = default;
    template <typename T, typename = typename __cuda_half::when<__is_integral(T)>::type>
    __host__ __device__ constexpr __half_raw(T bits) : x(static_cast<unsigned short>(bits)) {}
    // No conversion: a __half converts to both.
    template <typename T, typename __cuda_half::when<__is_same(T, _Float16)>::type * = nullptr>
    __host__ __device__ constexpr __half_raw(T number) : x(__builtin_bit_cast(unsigned short, number)) {}
};
struct __attribute__((aligned(4))) __half2_raw {
    unsigned short x, y;
};
struct __nv_bfloat16;
#define __CUDA_T __half
#define __CUDA_T2 __half2
#define __CUDA_T_RAW __half_raw
#define __CUDA_T2_RAW __half2_raw
#define __CUDA_T_FORMAT __cuda_half::half_format
#define __CUDA_T_OTHER __nv_bfloat16
#define __CUDA_T_NATIVE _Float16
#define __CUDA_T_VECTOR _Float16_2
#define __CUDA_T_NAMES(X) X(half, half2)
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
#define __CUDA_T_CONVERSIONS
#endif
#if !defined(__CUDA_NO_HALF_OPERATORS__)
#define __CUDA_T_OPERATORS
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
#define __CUDA_T2_OPERATORS
#endif
#include "ferrocm_half_class.h"
#include "ferrocm_half_functions.h"
#if !defined(CUDA_NO_HALF)
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
#endif
#else
#include "ferrocm_hip_begin.h"
#if !defined(__HIPCC_RTC__)
#include <hip/hip_fp16.h>
#endif
typedef __half2_raw __cuda_hip_half2_raw;
#include "ferrocm_hip_end.h"
#if defined(__FERROCM_CUDA__)
// HIP's run-time compiler has half precision built in, with most of CUDA's functions.
namespace __cuda_half {
template <> struct format<__half> : half_format {};
} // namespace __cuda_half
#define __CUDA_T __half
#define __CUDA_T2 __half2
#define __CUDA_T_FORMAT __cuda_half::half_format
#define __CUDA_T_NAMES(X) X(half, half2)
#define __CUDA_T_PARTS
#include "ferrocm_half_functions.h"
// The bits of two halves, as in CUDA's raw pair. HIP's has structures instead.
struct __cuda_half2_raw {
    unsigned short x, y;
    __cuda_half2_raw() = default;
    __host__ __device__ __cuda_half2_raw(const __half2 &pair) : x(__half_raw(pair.x).x), y(__half_raw(pair.y).x) {}
    __host__ __device__ __cuda_half2_raw(const __cuda_hip_half2_raw &raw) : x(raw.x.x), y(raw.y.x) {}
    __host__ __device__ operator __half2() const { return __half2(__cuda_half::of_bits<__half>(x), __cuda_half::of_bits<__half>(y)); }
};
#endif
#endif
#undef __CUDA_T
#undef __CUDA_T2
#undef __CUDA_T_RAW
#undef __CUDA_T2_RAW
#undef __CUDA_T_FORMAT
#undef __CUDA_T_OTHER
#undef __CUDA_T_NATIVE
#undef __CUDA_T_VECTOR
#undef __CUDA_T_NAMES
#undef __CUDA_T_CONVERSIONS
#undef __CUDA_T_OPERATORS
#undef __CUDA_T2_OPERATORS
#undef __CUDA_T_PARTS

#if defined(__FERROCM_CUDA__)
static __device__ __attribute__((unused)) inline __half2 atomicAdd(__half2 *at, __half2 value) { return __cuda_atomic_add_pair(at, value); }
static __device__ __attribute__((unused)) inline __half atomicAdd(__half *at, __half value) { return __cuda_atomic_add_half(at, value); }

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bffu)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000u)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00u)
#endif
#include "ferrocm_letters_end.h"
