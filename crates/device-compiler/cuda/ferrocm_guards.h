// What CUDA's headers define beside their functions: their include guards, by which programs tell what has been included, and the
// macros of host_defines.h and driver_types.h.
#pragma once
#define __BUILTIN_TYPES_H__
#define __CHANNEL_DESCRIPTOR_H__
#define __COMMON_FUNCTIONS_H__
#define __CUDA_DEVICE_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_H__
#define __CUDA_SURFACE_TYPES_H__
#define __CUDA_TEXTURE_TYPES_H__
#define __DEVICE_ATOMIC_FUNCTIONS_H__
#define __DEVICE_DOUBLE_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_TYPES_H__
#define __DRIVER_FUNCTIONS_H__
#define __DRIVER_TYPES_H__
#define __HOST_CONFIG_H__
#define __HOST_DEFINES_H__
#define __LIBRARY_TYPES_H__
#define __MATH_FUNCTIONS_H__
#define __SM_20_ATOMIC_FUNCTIONS_H__
#define __SM_20_INTRINSICS_H__
#define __SM_30_INTRINSICS_H__
#define __SM_32_ATOMIC_FUNCTIONS_H__
#define __SM_32_INTRINSICS_H__
#define __SM_35_ATOMIC_FUNCTIONS_H__
#define __SM_35_INTRINSICS_H__
#define __SM_60_ATOMIC_FUNCTIONS_H__
#define __SM_61_INTRINSICS_H__
#define __SURFACE_FUNCTIONS_H__
#define __SURFACE_INDIRECT_FUNCTIONS_H__
#define __SURFACE_TYPES_H__
#define __TEXTURE_FETCH_FUNCTIONS_H__
#define __TEXTURE_INDIRECT_FUNCTIONS_H__
#define __TEXTURE_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __VECTOR_TYPES_H__

#define CUDART_CB
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDA_CB
#define CUDAAPI
#if !defined(__align__)
#define __align__(n) __attribute__((aligned(n)))
#endif
#if !defined(__builtin_align__)
#define __builtin_align__(n) __align__(n)
#endif
#if !defined(__CUDA_ARCH_HAS_FEATURE__)
#define __CUDA_ARCH_HAS_FEATURE__(feature) 0
#endif
#if !defined(__cudart_builtin__)
#define __cudart_builtin__
#endif
#if !defined(__device_builtin__)
#define __device_builtin__
#endif
#if !defined(__device_builtin_surface_type__)
#define __device_builtin_surface_type__
#endif
#if !defined(__device_builtin_texture_type__)
#define __device_builtin_texture_type__
#endif
#if !defined(__location__)
#define __location__(a) __annotate__(a)
#endif
#if !defined(__annotate__)
#define __annotate__(a) __attribute__((a))
#endif
#if !defined(__no_return__)
#define __no_return__ __attribute__((noreturn))
#endif
#if !defined(__thread__)
#define __thread__ __thread
#endif
#if !defined(__import__)
#define __import__
#endif
#if !defined(__export__)
#define __export__
#endif
#if !defined(__inline_hint__)
#define __inline_hint__
#endif
#if !defined(__nv_pure__)
#define __nv_pure__ __attribute__((pure))
#endif
