// Differences between targets.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

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
    uint32_t found = 0;
    for (unsigned i = 0; i < 32; i += 8)
        found |= (table[at >> (i + 2) & 3] >> 8 * (at >> i & 3) & 255) << i;
    return found;
#endif
}

// A value that is the same in all threads of a wave. In functions that are not inlined, the compiler does not know this about
// arguments, nor that pointers lead to global memory.
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
