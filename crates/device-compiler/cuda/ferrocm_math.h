// Parts of CUDA's mathematics and atomics that HIP's headers lack, in CUDA's dialect.
#pragma once
#include "ferrocm_letters_begin.h"
#define __CUDA_MATH static __device__ __attribute__((always_inline, unused)) inline

// Sums, products, quotients and roots of floats with the other rounding modes. A double has the exact result except for bits
// below its last one. The last bit stands for those, so rounding the double to a float gives the same as rounding the exact result.
namespace __cuda_rounded {
enum direction { down, up, zero };
// If x is not exact and ends in 0: its neighbour in the direction of `rest`, which ends in 1.
__CUDA_MATH double odd(double x, double rest) {
    long long bits = __builtin_bit_cast(long long, x);
    if (rest != 0 && (bits & 1) == 0 && x - x == 0)
        bits += (rest > 0) == (x > 0) ? 1 : -1;
    return __builtin_bit_cast(double, bits);
}
template <direction D> __CUDA_MATH float narrow(double x) {
    const float f = static_cast<float>(x);
    const double back = f;
    if (x - x != 0)
        return f;
    const bool above = back > x, below = back < x;
    int bits = __builtin_bit_cast(int, f);
    // Bits grow with the magnitude of a number.
    if (above && (D == down || (D == zero && x > 0)))
        bits = f > 0 ? bits - 1 : f < 0 ? bits + 1 : static_cast<int>(0x80000001u);
    else if (below && (D == up || (D == zero && x < 0)))
        bits = f < 0 ? bits - 1 : f > 0 ? bits + 1 : 1;
    return __builtin_bit_cast(float, bits);
}
// x + y; both are floats or products of floats.
__CUDA_MATH double sum(double x, double y) {
#pragma clang fp contract(off) reassociate(off)
    const double s = x + y, of_y = s - x, rest = (x - (s - of_y)) + (y - of_y);
    return odd(s, rest);
}
// The sign of zero: if nonzero numbers cancel, the sum rounded down is -0.
template <direction D> __CUDA_MATH float add(double x, double y) {
    if (D == down && x == -y && x != 0 && x - x == 0)
        return -0.0f;
    if (D == down && x == 0 && y == 0)
        return __builtin_signbit(x) || __builtin_signbit(y) ? -0.0f : 0.0f;
    return narrow<D>(sum(x, y));
}
template <direction D> __CUDA_MATH float div(float a, float b) {
    const double q = static_cast<double>(a) / b;
    if (b == 0 || q - q != 0 || __builtin_isinf(b))
        return static_cast<float>(q);
    const double rest = __builtin_fma(-q, static_cast<double>(b), static_cast<double>(a));
    return narrow<D>(odd(q, b < 0 ? -rest : rest));
}
template <direction D> __CUDA_MATH float root(float a) {
    const double r = __builtin_sqrt(static_cast<double>(a));
    return r > 0 && r - r == 0 ? narrow<D>(odd(r, __builtin_fma(-r, r, static_cast<double>(a)))) : static_cast<float>(r);
}
} // namespace __cuda_rounded
#define __CUDA_ROUNDED(END, D)                                                                                                             \
    __CUDA_MATH float __fadd_##END(float a, float b) { return __cuda_rounded::add<__cuda_rounded::D>(a, b); }                              \
    __CUDA_MATH float __fsub_##END(float a, float b) { return __cuda_rounded::add<__cuda_rounded::D>(a, -b); }                             \
    __CUDA_MATH float __fmul_##END(float a, float b) { return __cuda_rounded::narrow<__cuda_rounded::D>(static_cast<double>(a) * b); }     \
    __CUDA_MATH float __fmaf_##END(float a, float b, float c) { return __cuda_rounded::add<__cuda_rounded::D>(static_cast<double>(a) * b, c); } \
    __CUDA_MATH float __fdiv_##END(float a, float b) { return __cuda_rounded::div<__cuda_rounded::D>(a, b); }                              \
    __CUDA_MATH float __frcp_##END(float a) { return __cuda_rounded::div<__cuda_rounded::D>(1.0f, a); }                                    \
    __CUDA_MATH float __fsqrt_##END(float a) { return __cuda_rounded::root<__cuda_rounded::D>(a); }
__CUDA_ROUNDED(rd, down)
__CUDA_ROUNDED(ru, up)
__CUDA_ROUNDED(rz, zero)
#undef __CUDA_ROUNDED

// The same by older names, and on pairs.
#define __CUDA_ROUNDED(END)                                                                                                          \
    __CUDA_MATH float __fmaf_ieee_##END(float a, float b, float c) { return __fmaf_##END(a, b, c); }                                 \
    __CUDA_MATH float2 __fadd2_##END(float2 a, float2 b) { return make_float2(__fadd_##END(a.x, b.x), __fadd_##END(a.y, b.y)); }     \
    __CUDA_MATH float2 __fmul2_##END(float2 a, float2 b) { return make_float2(__fmul_##END(a.x, b.x), __fmul_##END(a.y, b.y)); }     \
    __CUDA_MATH float2 __ffma2_##END(float2 a, float2 b, float2 c) {                                                                 \
        return make_float2(__fmaf_##END(a.x, b.x, c.x), __fmaf_##END(a.y, b.y, c.y));                                                \
    }
__CUDA_ROUNDED(rn)
__CUDA_ROUNDED(rd)
__CUDA_ROUNDED(ru)
__CUDA_ROUNDED(rz)
#undef __CUDA_ROUNDED

__CUDA_MATH float __tanhf(float x) { return ::tanhf(x); }
__CUDA_MATH double fdivide(double a, double b) { return a / b; }

// Functions of floats by the names of those of doubles.
#define __CUDA_FLOAT(NAME) \
    __CUDA_MATH float NAME(float x) { return ::NAME##f(x); }
__CUDA_FLOAT(cospi)
__CUDA_FLOAT(sinpi)
__CUDA_FLOAT(cyl_bessel_i0)
__CUDA_FLOAT(cyl_bessel_i1)
__CUDA_FLOAT(erfcinv)
__CUDA_FLOAT(erfcx)
__CUDA_FLOAT(erfinv)
__CUDA_FLOAT(exp10)
__CUDA_FLOAT(j0)
__CUDA_FLOAT(j1)
__CUDA_FLOAT(y0)
__CUDA_FLOAT(y1)
__CUDA_FLOAT(normcdf)
__CUDA_FLOAT(normcdfinv)
__CUDA_FLOAT(rcbrt)
__CUDA_FLOAT(rsqrt)
#undef __CUDA_FLOAT
__CUDA_MATH void sincos(float x, float *sine, float *cosine) { ::sincosf(x, sine, cosine); }
__CUDA_MATH void sincospi(float x, float *sine, float *cosine) { ::sincospif(x, sine, cosine); }

// The address space of an address. Constants are in global memory.
__CUDA_MATH unsigned __isShared(const void *at) { return __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void *)at); }
__CUDA_MATH unsigned __isLocal(const void *at) { return __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void *)at); }
__CUDA_MATH unsigned __isGlobal(const void *at) { return !__isShared(at) && !__isLocal(at); }

// Constants have no space of their own, and parameters of kernels are copies.
__CUDA_MATH unsigned __isConstant(const void *) { return 0; }
__CUDA_MATH unsigned __isGridConstant(const void *) { return 0; }

// Counters that wrap, with block and system scope.
#define __CUDA_WRAPPED(NAME, SCOPE, NEXT)                                                                             \
    __CUDA_MATH unsigned NAME(unsigned *at, unsigned most) {                                                          \
        unsigned old = __hip_atomic_load(at, __ATOMIC_RELAXED, SCOPE);                                                \
        while (!__hip_atomic_compare_exchange_strong(at, &old, (NEXT), __ATOMIC_RELAXED, __ATOMIC_RELAXED, SCOPE)) {  \
        }                                                                                                             \
        return old;                                                                                                   \
    }
__CUDA_WRAPPED(atomicInc_block, __HIP_MEMORY_SCOPE_WORKGROUP, old >= most ? 0u : old + 1u)
__CUDA_WRAPPED(atomicDec_block, __HIP_MEMORY_SCOPE_WORKGROUP, old == 0u || old > most ? most : old - 1u)
__CUDA_WRAPPED(atomicInc_system, __HIP_MEMORY_SCOPE_SYSTEM, old >= most ? 0u : old + 1u)
__CUDA_WRAPPED(atomicDec_system, __HIP_MEMORY_SCOPE_SYSTEM, old == 0u || old > most ? most : old - 1u)
#undef __CUDA_WRAPPED

// HIP's have forms for floats, which CUDA's lack (cuda_runtime.h hides them).
#if !defined(__HIPCC_RTC__)
#define __CUDA_EXTREME(TYPE)                                                                                                                      \
    __CUDA_MATH TYPE atomicMin(TYPE *at, TYPE value) { return __hip_atomic_fetch_min(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __CUDA_MATH TYPE atomicMax(TYPE *at, TYPE value) { return __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
__CUDA_EXTREME(int)
__CUDA_EXTREME(unsigned)
__CUDA_EXTREME(long long)
__CUDA_EXTREME(unsigned long long)
#undef __CUDA_EXTREME
#endif

// Atomic operations with block scope.
#define __CUDA_BLOCK_ATOMIC(NAME, BUILTIN, TYPE) \
    __CUDA_MATH TYPE NAME(TYPE *at, TYPE value) { return BUILTIN(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
#define __CUDA_BLOCK_ATOMICS(NAME, BUILTIN)               \
    __CUDA_BLOCK_ATOMIC(NAME, BUILTIN, int)               \
    __CUDA_BLOCK_ATOMIC(NAME, BUILTIN, unsigned)          \
    __CUDA_BLOCK_ATOMIC(NAME, BUILTIN, long long)         \
    __CUDA_BLOCK_ATOMIC(NAME, BUILTIN, unsigned long long)
__CUDA_BLOCK_ATOMICS(atomicAdd_block, __hip_atomic_fetch_add)
__CUDA_BLOCK_ATOMIC(atomicAdd_block, __hip_atomic_fetch_add, float)
__CUDA_BLOCK_ATOMIC(atomicAdd_block, __hip_atomic_fetch_add, double)
__CUDA_BLOCK_ATOMICS(atomicMin_block, __hip_atomic_fetch_min)
__CUDA_BLOCK_ATOMICS(atomicMax_block, __hip_atomic_fetch_max)
__CUDA_BLOCK_ATOMICS(atomicAnd_block, __hip_atomic_fetch_and)
__CUDA_BLOCK_ATOMICS(atomicOr_block, __hip_atomic_fetch_or)
__CUDA_BLOCK_ATOMICS(atomicXor_block, __hip_atomic_fetch_xor)
__CUDA_BLOCK_ATOMICS(atomicExch_block, __hip_atomic_exchange)
__CUDA_BLOCK_ATOMIC(atomicExch_block, __hip_atomic_exchange, float)
__CUDA_MATH int atomicSub_block(int *at, int value) { return atomicAdd_block(at, static_cast<int>(0u - static_cast<unsigned>(value))); }
__CUDA_MATH unsigned atomicSub_block(unsigned *at, unsigned value) { return atomicAdd_block(at, 0u - value); }
#define __CUDA_BLOCK_CAS(TYPE)                                                                                                         \
    __CUDA_MATH TYPE atomicCAS_block(TYPE *at, TYPE compare, TYPE value) {                                                             \
        __hip_atomic_compare_exchange_strong(at, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); \
        return compare;                                                                                                                \
    }
__CUDA_BLOCK_CAS(int)
__CUDA_BLOCK_CAS(unsigned)
__CUDA_BLOCK_CAS(unsigned long long)
#undef __CUDA_BLOCK_CAS
#undef __CUDA_BLOCK_ATOMICS
#undef __CUDA_BLOCK_ATOMIC

// Vectors: each element by itself.
__CUDA_MATH float2 atomicAdd(float2 *at, float2 value) { return make_float2(atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y)); }
__CUDA_MATH float4 atomicAdd(float4 *at, float4 value) {
    return make_float4(atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y), atomicAdd(&at->z, value.z), atomicAdd(&at->w, value.w));
}

// Quadruple precision.
#define __CUDA_NO_QUADRUPLE(NAME)                                                                            \
    template <typename... All>                                                                               \
    __device__ __attribute__((unavailable("AMD GPUs have no quadruple precision"))) double __nv_fp128_##NAME(All...);
__CUDA_NO_QUADRUPLE(acos)
__CUDA_NO_QUADRUPLE(acosh)
__CUDA_NO_QUADRUPLE(add)
__CUDA_NO_QUADRUPLE(asin)
__CUDA_NO_QUADRUPLE(asinh)
__CUDA_NO_QUADRUPLE(atan)
__CUDA_NO_QUADRUPLE(atanh)
__CUDA_NO_QUADRUPLE(ceil)
__CUDA_NO_QUADRUPLE(copysign)
__CUDA_NO_QUADRUPLE(cos)
__CUDA_NO_QUADRUPLE(cosh)
__CUDA_NO_QUADRUPLE(div)
__CUDA_NO_QUADRUPLE(exp)
__CUDA_NO_QUADRUPLE(exp10)
__CUDA_NO_QUADRUPLE(exp2)
__CUDA_NO_QUADRUPLE(expm1)
__CUDA_NO_QUADRUPLE(fabs)
__CUDA_NO_QUADRUPLE(fdim)
__CUDA_NO_QUADRUPLE(floor)
__CUDA_NO_QUADRUPLE(fma)
__CUDA_NO_QUADRUPLE(fmax)
__CUDA_NO_QUADRUPLE(fmin)
__CUDA_NO_QUADRUPLE(fmod)
__CUDA_NO_QUADRUPLE(frexp)
__CUDA_NO_QUADRUPLE(hypot)
__CUDA_NO_QUADRUPLE(ilogb)
__CUDA_NO_QUADRUPLE(isnan)
__CUDA_NO_QUADRUPLE(isunordered)
__CUDA_NO_QUADRUPLE(ldexp)
__CUDA_NO_QUADRUPLE(log)
__CUDA_NO_QUADRUPLE(log10)
__CUDA_NO_QUADRUPLE(log1p)
__CUDA_NO_QUADRUPLE(log2)
__CUDA_NO_QUADRUPLE(modf)
__CUDA_NO_QUADRUPLE(mul)
__CUDA_NO_QUADRUPLE(pow)
__CUDA_NO_QUADRUPLE(remainder)
__CUDA_NO_QUADRUPLE(rint)
__CUDA_NO_QUADRUPLE(round)
__CUDA_NO_QUADRUPLE(sin)
__CUDA_NO_QUADRUPLE(sinh)
__CUDA_NO_QUADRUPLE(sqrt)
__CUDA_NO_QUADRUPLE(sub)
__CUDA_NO_QUADRUPLE(tan)
__CUDA_NO_QUADRUPLE(tanh)
__CUDA_NO_QUADRUPLE(trunc)
#undef __CUDA_NO_QUADRUPLE

// Of CUDA's runtime for device code: no call there fails, because there are none that could.
#if !defined(__HIPCC_RTC__)
__CUDA_MATH const char *hipGetErrorName(hipError_t error) { return error == hipSuccess ? "cudaSuccess" : "cudaErrorUnknown"; }
__CUDA_MATH const char *hipGetErrorString(hipError_t error) { return error == hipSuccess ? "no error" : "unknown error"; }
__CUDA_MATH hipError_t hipGetLastError() { return hipSuccess; }
__CUDA_MATH hipError_t hipPeekAtLastError() { return hipSuccess; }
#endif

// Kernels start only after the earlier kernels of their stream have ended.
__CUDA_MATH void cudaGridDependencySynchronize() {}
__CUDA_MATH void cudaTriggerProgrammaticLaunchCompletion() {}
#undef __CUDA_MATH
#include "ferrocm_letters_end.h"
