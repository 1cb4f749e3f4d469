// Differences between targets.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

// NVIDIA's hardware wants loops that are unrolled, several loads on the way at a time, and few instructions between them.
#ifdef __AMDGCN__
constexpr bool NVIDIA = false;
#else
constexpr bool NVIDIA = true;
#endif

// How many workgroups of so many threads an NVIDIA multiprocessor shall hold at least: the compiler makes do with the registers that this leaves.
#ifdef __AMDGCN__
#define BLOCKS_OF(THREADS, COUNT) __launch_bounds__(THREADS)
#else
#define BLOCKS_OF(THREADS, COUNT) __launch_bounds__(THREADS, COUNT)
#endif

// How many registers a thread has at most on NVIDIA, if the compiler can be told.
#if !defined(__AMDGCN__) && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4))
#define MOST_REGISTERS(COUNT) __maxnreg__(COUNT)
#else
#define MOST_REGISTERS(COUNT)
#endif

// A load of what is read once: it takes no place in the nearest cache that something else has.
template <typename T> __device__ __forceinline__ T load_once(const T *p) {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    static_assert(sizeof(T) == 16);
    const uint4 words = __ldcs(reinterpret_cast<const uint4 *>(p));
    T x;
    __builtin_memcpy(&x, &words, sizeof x);
    return x;
#else
    return *p;
#endif
}

// A load of weights, of which there are more than the caches hold: they make way first, so that the kernels' code and what is read again stay.
template <typename T> __device__ __forceinline__ T load_weights(const T *p) {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    return __ldcs(p);
#else
    return *p;
#endif
}

// c plus the products of four signed bytes by four. One instruction (v_dot4_i32_i8, v_dot4_i32_iu8) where the target has it;
// see kernel-build's __dp4a.
__device__ __forceinline__ int dot4(uint32_t a, uint32_t b, int c) { return __dp4a(static_cast<int>(a), static_cast<int>(b), c); }

// Looks up four bytes at a time in a table of 16; each byte of `at` is below 16.
__device__ __forceinline__ uint32_t look_up(const uint32_t (&table)[4], uint32_t at) {
#ifdef __AMDGCN__
    const uint32_t low = __builtin_amdgcn_perm(table[1], table[0], at & 0x07070707u);
    const uint32_t high = __builtin_amdgcn_perm(table[3], table[2], at & 0x07070707u);
    const uint32_t upper = (at >> 3 & 0x01010101u) * 255;
    return (high & upper) | (low & ~upper);
#else
    // It takes places of 4 bits, one after the other.
    uint32_t places = at & 0x07070707u;
    places = (places | places >> 4) & 0x00ff00ffu;
    places |= places >> 8;
    const uint32_t low = __byte_perm(table[0], table[1], places & 0xffffu), high = __byte_perm(table[2], table[3], places & 0xffffu);
    const uint32_t upper = (at >> 3 & 0x01010101u) * 255;
    return (high & upper) | (low & ~upper);
#endif
}

// a / b to the last digit but one, where b, 1 / b and the quotient are normal numbers, or NaN.
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
__device__ __forceinline__ float quotient(float a, float b) {
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    const float near = a * inverse;
    return fmaf(fmaf(-near, b, a), inverse, near);
#else
    return a / b;
#endif
}

// How many multiprocessors an NVIDIA GPU has.
__device__ __forceinline__ unsigned multiprocessors() {
    unsigned count = 1;
#if defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    asm("mov.u32 %0, %%nsmid;" : "=r"(count));
#endif
    return count;
}

// A value that all threads of a wave have. Functions that are not inlined cannot know it of their arguments, nor that pointers lead to
// global memory.
__device__ __forceinline__ unsigned uniform(unsigned x) {
#ifdef __AMDGCN__
    return __builtin_amdgcn_readfirstlane(x);
#else
    return x;
#endif
}
template <typename T> __device__ __forceinline__ T *uniform(T *p) {
#ifdef __AMDGCN__
    const uint64_t bits = reinterpret_cast<uint64_t>(p);
    const uint64_t same = static_cast<uint64_t>(uniform(static_cast<unsigned>(bits >> 32))) << 32 | uniform(static_cast<unsigned>(bits));
    return (T *)reinterpret_cast<__attribute__((address_space(1))) T *>(same);
#else
    return p;
#endif
}

// The kernel's parameters in memory, if the target keeps them there; `Arguments` has them in order. The compiler reads them again after
// each call; otherwise it would keep all of them, and values computed from them, in scalar registers, of which there are too few.
template <typename Arguments> __device__ __forceinline__ const Arguments &read_again(const Arguments &given) {
#if defined(__AMDGCN__)
    auto at = __builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(at));
    return *(const Arguments *)(at);
#else
    return given;
#endif
}

// The compiler does not move later loads before this, where they would take registers.
__device__ __forceinline__ void no_loads_ahead() { asm volatile("" ::: "memory"); }

// The minimum number of waves that a SIMD unit must hold: the compiler limits itself to the registers that this leaves.
#ifdef __AMDGCN__
#define WAVES_PER_SIMD(COUNT) __attribute__((amdgpu_waves_per_eu(COUNT)))
#else
#define WAVES_PER_SIMD(COUNT)
#endif
