// What CUDA's device code has and HIP's headers lack, in both dialects.
#pragma once

// Versions that sources ask for before they use a function. __CUDA_ARCH__ stays undefined: what it guards is mostly for NVIDIA's
// instructions.
#if !defined(CUDA_VERSION)
#define CUDA_VERSION 12000
#endif
#if !defined(CUDART_VERSION)
#define CUDART_VERSION 12000
#endif

#if !defined(__grid_constant__)
#define __grid_constant__
#endif
#if !defined(__cluster_dims__)
#define __cluster_dims__(...)
#endif

#if defined(__FERROCM_CUDA__)
// The third number is of clusters, which these targets have not.
#undef __launch_bounds__
#define __cuda_bounds_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __cuda_bounds_2(threads, blocks) __cuda_bounds_1(threads)
#define __cuda_bounds_3(threads, blocks, clusters) __cuda_bounds_1(threads)
#define __cuda_bounds_select(one, two, three, chosen, ...) chosen
// The second number is of blocks on a multiprocessor, where HIP's is of waves on a SIMD unit: a hint about registers, left out.
#define __launch_bounds__(...) \
    __cuda_bounds_select(__VA_ARGS__, __cuda_bounds_3, __cuda_bounds_2, __cuda_bounds_1, )(__VA_ARGS__)

// Loads and stores with a hint for the caches. Those of HIP's dialect are HIP's business.
#define __CUDA_CACHE_HINT(NAME) \
    template <typename T> static __device__ __attribute__((always_inline, unused)) inline T NAME(const T *at) { return *at; }
#define __CUDA_CACHE_STORE(NAME) \
    template <typename T> static __device__ __attribute__((always_inline, unused)) inline void NAME(T *at, T value) { *at = value; }
__CUDA_CACHE_HINT(__ldcg)
__CUDA_CACHE_HINT(__ldca)
__CUDA_CACHE_HINT(__ldcs)
__CUDA_CACHE_HINT(__ldlu)
__CUDA_CACHE_HINT(__ldcv)
__CUDA_CACHE_STORE(__stwb)
__CUDA_CACHE_STORE(__stcg)
__CUDA_CACHE_STORE(__stcs)
__CUDA_CACHE_STORE(__stwt)
#undef __CUDA_CACHE_HINT
#undef __CUDA_CACHE_STORE

// Sums of products of four bytes.
static __device__ __attribute__((always_inline, unused)) inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8)
        c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
    return c;
}
static __device__ __attribute__((always_inline, unused)) inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 0xff) * (b >> i & 0xff);
    return c;
}
static __device__ __attribute__((always_inline, unused)) inline void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
static __device__ __attribute__((always_inline, unused)) inline void __brkpt() { __builtin_trap(); }
#endif
