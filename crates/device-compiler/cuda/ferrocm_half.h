// Parts of CUDA's half and bf16 that HIP's lack, written once for both: cuda_fp16.h and cuda_bf16.h instantiate them for their types.
//
// T is the number and T2 the pair; FROM converts to float, TO from float. A comparison that ends in `u` is true if an operand is NaN.
#pragma once
#include "cuda_runtime.h"

#define __CUDA_HALF_DEVICE static __device__ __attribute__((always_inline, unused)) inline
#define __CUDA_HALF_BOTH static __host__ __device__ __attribute__((always_inline, unused)) inline

#define __CUDA_HALF_MASK(NAME, T2, FROM, EXPRESSION)                                          \
    __CUDA_HALF_DEVICE unsigned NAME(T2 pa, T2 pb) {                                          \
        unsigned mask = 0;                                                                    \
        {                                                                                     \
            const float a = FROM(pa.x), b = FROM(pb.x);                                       \
            mask |= (EXPRESSION) ? 0xffffu : 0u;                                              \
        }                                                                                     \
        {                                                                                     \
            const float a = FROM(pa.y), b = FROM(pb.y);                                       \
            mask |= (EXPRESSION) ? 0xffff0000u : 0u;                                          \
        }                                                                                     \
        return mask;                                                                          \
    }

// Functions that both types lack in HIP.
#define __CUDA_HALF_COMMON(T, T2, FROM, TO)                                                                                  \
    __CUDA_HALF_DEVICE T htanh(T a) { return TO(::tanhf(FROM(a))); }                                                         \
    __CUDA_HALF_DEVICE T htanh_approx(T a) { return TO(::tanhf(FROM(a))); }                                                  \
    __CUDA_HALF_DEVICE T2 h2tanh(T2 a) { return T2(htanh(a.x), htanh(a.y)); }                                                \
    __CUDA_HALF_DEVICE T2 h2tanh_approx(T2 a) { return T2(htanh(a.x), htanh(a.y)); }                                         \
    __CUDA_HALF_DEVICE T2 __hfma2_relu(T2 a, T2 b, T2 c) { return T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)); } \
    /* Results clamped to 0 to 1; NaN becomes 0. */                                                                           \
    __CUDA_HALF_DEVICE T __hadd_sat(T a, T b) { return TO(::__cuda_ptx::unit<float>(FROM(__hadd(a, b)))); }                  \
    __CUDA_HALF_DEVICE T __hsub_sat(T a, T b) { return TO(::__cuda_ptx::unit<float>(FROM(__hsub(a, b)))); }                  \
    __CUDA_HALF_DEVICE T __hmul_sat(T a, T b) { return TO(::__cuda_ptx::unit<float>(FROM(__hmul(a, b)))); }                  \
    __CUDA_HALF_DEVICE T __hfma_sat(T a, T b, T c) { return TO(::__cuda_ptx::unit<float>(FROM(__hfma(a, b, c)))); }          \
    __CUDA_HALF_DEVICE T2 __hadd2_sat(T2 a, T2 b) { return T2(__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)); }                 \
    __CUDA_HALF_DEVICE T2 __hsub2_sat(T2 a, T2 b) { return T2(__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)); }                 \
    __CUDA_HALF_DEVICE T2 __hmul2_sat(T2 a, T2 b) { return T2(__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)); }                 \
    __CUDA_HALF_DEVICE T2 __hfma2_sat(T2 a, T2 b, T2 c) { return T2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)); } \
    /* Complex numbers: a b + c. */                                                                                          \
    __CUDA_HALF_DEVICE T2 __hcmadd(T2 a, T2 b, T2 c) {                                                                       \
        return T2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));                 \
    }                                                                                                                        \
    __CUDA_HALF_MASK(__heq2_mask, T2, FROM, a == b)                                                                          \
    __CUDA_HALF_MASK(__hne2_mask, T2, FROM, a < b || a > b)                                                                  \
    __CUDA_HALF_MASK(__hle2_mask, T2, FROM, a <= b)                                                                          \
    __CUDA_HALF_MASK(__hge2_mask, T2, FROM, a >= b)                                                                          \
    __CUDA_HALF_MASK(__hlt2_mask, T2, FROM, a < b)                                                                           \
    __CUDA_HALF_MASK(__hgt2_mask, T2, FROM, a > b)                                                                           \
    __CUDA_HALF_MASK(__hequ2_mask, T2, FROM, !(a < b || a > b))                                                              \
    __CUDA_HALF_MASK(__hneu2_mask, T2, FROM, a != b)                                                                         \
    __CUDA_HALF_MASK(__hleu2_mask, T2, FROM, !(a > b))                                                                       \
    __CUDA_HALF_MASK(__hgeu2_mask, T2, FROM, !(a < b))                                                                       \
    __CUDA_HALF_MASK(__hltu2_mask, T2, FROM, !(a >= b))                                                                      \
    __CUDA_HALF_MASK(__hgtu2_mask, T2, FROM, !(a <= b))
