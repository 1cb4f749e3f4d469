// Since CUDA 13, vectors of four numbers of 64 bits have their alignment in their name.
#pragma once
#pragma GCC system_header
#if defined(__cplusplus)
#define __CUDA_ALIGNED(NAME, T, BYTES)                                                                                              \
    struct __attribute__((aligned(BYTES))) NAME {                                                                                   \
        T x, y, z, w;                                                                                                               \
    };                                                                                                                              \
    static __host__ __device__ __attribute__((always_inline, unused)) inline constexpr NAME make_##NAME(T x, T y, T z, T w) {        \
        return {x, y, z, w};                                                                                                        \
    }
#else
#define __CUDA_ALIGNED(NAME, T, BYTES)            \
    typedef struct __attribute__((aligned(BYTES))) { \
        T x, y, z, w;                             \
    } NAME;
#endif
__CUDA_ALIGNED(long4_16a, long, 16)
__CUDA_ALIGNED(long4_32a, long, 32)
__CUDA_ALIGNED(ulong4_16a, unsigned long, 16)
__CUDA_ALIGNED(ulong4_32a, unsigned long, 32)
__CUDA_ALIGNED(longlong4_16a, long long, 16)
__CUDA_ALIGNED(longlong4_32a, long long, 32)
__CUDA_ALIGNED(ulonglong4_16a, unsigned long long, 16)
__CUDA_ALIGNED(ulonglong4_32a, unsigned long long, 32)
__CUDA_ALIGNED(double4_16a, double, 16)
__CUDA_ALIGNED(double4_32a, double, 32)
#undef __CUDA_ALIGNED
