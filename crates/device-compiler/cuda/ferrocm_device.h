// Parts of CUDA's device code that HIP's headers lack, in both dialects.
#pragma once
#include "ferrocm_letters_begin.h"

// Versions that sources check before they use a function.
#if defined(CUDA_VERSION) && !defined(CUDART_VERSION)
#define CUDART_VERSION CUDA_VERSION
#endif
#if !defined(CUDART_VERSION)
#define CUDART_VERSION 12080
#endif
#if !defined(CUDA_VERSION)
#define CUDA_VERSION CUDART_VERSION
#endif

#if !defined(__grid_constant__)
#define __grid_constant__
#endif
#if !defined(__assume)
#define __assume(condition) __builtin_assume(condition)
#endif
#if defined(__FERROCM_CUDA__) || !defined(__cluster_dims__)
#undef __cluster_dims__
// Each block is a cluster by itself, which a kernel for larger ones may not expect. A program says so where it is compiled.
static constexpr __host__ __device__ __attribute__((unused)) unsigned __cuda_cluster_blocks(unsigned x, unsigned y = 1, unsigned z = 1) { return x * y * z; }
#define __cluster_dims__(...) \
    __attribute__((diagnose_if(__cuda_cluster_blocks(__VA_ARGS__) > 1, "AMD GPUs have no clusters: each block is one by itself", "warning")))
#endif

// Reinterprets bits as another type, which need not be trivially copyable.
template <typename To, typename From> static __host__ __device__ __attribute__((always_inline, unused)) inline To __cuda_bits(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    __builtin_memcpy(static_cast<void *>(&to), static_cast<const void *>(&from), sizeof(To));
    return to;
}

#if defined(__FERROCM_CUDA__)
// The third number is about clusters, which these targets lack.
#undef __launch_bounds__
#define __cuda_bounds_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __cuda_bounds_2(threads, blocks) __cuda_bounds_1(threads)
#define __cuda_bounds_3(threads, blocks, clusters) __cuda_bounds_1(threads)
#define __cuda_bounds_select(one, two, three, chosen, ...) chosen
// The second number counts blocks per multiprocessor, but HIP's counts waves per SIMD unit. It is only a register hint, so it is dropped.
#define __launch_bounds__(...) \
    __cuda_bounds_select(__VA_ARGS__, __cuda_bounds_3, __cuda_bounds_2, __cuda_bounds_1, )(__VA_ARGS__)

// Loads and stores with a cache hint. HIP's dialect uses HIP's own.
#define __CUDA_CACHE_HINT(NAME) \
    template <typename T> static __device__ __attribute__((always_inline, unused)) inline T NAME(const T *at) { return *at; }
#define __CUDA_CACHE_STORE(NAME) \
    template <typename T> static __device__ __attribute__((always_inline, unused)) inline void NAME(T *at, T value) { *at = value; }
// HIP has these for some types.
__CUDA_CACHE_HINT(__ldg)
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

// CUDA has it only for `long long`. For other integers, HIP's two overloads would be ambiguous.
static __device__ __attribute__((always_inline, unused)) inline int __ffsll(int x) { return __ffsll(static_cast<unsigned long long>(static_cast<long long>(x))); }
static __device__ __attribute__((always_inline, unused)) inline int __ffsll(long x) { return __ffsll(static_cast<unsigned long long>(x)); }

static __device__ __attribute__((always_inline, unused)) inline void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
static __device__ __attribute__((always_inline, unused)) inline void __brkpt() { __builtin_trap(); }
// Host functions may name it, too, when they are parsed for the device.
static __host__ __device__ __attribute__((always_inline, noreturn, unused)) inline void __trap() { __builtin_trap(); }

// Atomic sums of one or two 16-bit numbers in memory: a compare-exchange loop on their word.
template <typename Pair> static __device__ inline Pair __cuda_atomic_add_pair(Pair *at, Pair value) {
    unsigned *word = reinterpret_cast<unsigned *>(at), seen = *word, before;
    do {
        before = seen;
        seen = atomicCAS(word, before, __cuda_bits<unsigned>(__hadd2(__cuda_bits<Pair>(before), value)));
    } while (seen != before);
    return __cuda_bits<Pair>(before);
}
template <typename Half> static __device__ inline Half __cuda_atomic_add_half(Half *at, Half value) {
    const size_t address = reinterpret_cast<size_t>(at);
    unsigned *word = reinterpret_cast<unsigned *>(address & ~size_t(3)), seen = *word, before;
    const int shift = (address & 2) * 8;
    do {
        before = seen;
        const Half sum = __hadd(__cuda_bits<Half>(static_cast<unsigned short>(before >> shift)), value);
        seen = atomicCAS(word, before, (before & ~(0xffffu << shift)) | unsigned(__cuda_bits<unsigned short>(sum)) << shift);
    } while (seen != before);
    return __cuda_bits<Half>(static_cast<unsigned short>(before >> shift));
}

// Addresses of shared memory as in inline PTX: 32-bit offsets.
static __device__ __attribute__((always_inline, unused)) inline size_t __cvta_generic_to_shared(const void *at) {
    return reinterpret_cast<unsigned long>((const __attribute__((address_space(3))) void *)at);
}
static __device__ __attribute__((always_inline, unused)) inline void *__cvta_shared_to_generic(size_t at) {
    return (void *)reinterpret_cast<__attribute__((address_space(3))) void *>(static_cast<unsigned>(at));
}
static __device__ __attribute__((always_inline, unused)) inline size_t __cvta_generic_to_global(const void *at) {
    return reinterpret_cast<size_t>(at);
}
static __device__ __attribute__((always_inline, unused)) inline void *__cvta_global_to_generic(size_t at) {
    return reinterpret_cast<void *>(at);
}
#endif
#include "ferrocm_letters_end.h"
