// The base of every kernel file. Uses only CUDA's names; the compiler has read cuda_runtime.h.
#pragma once
#include <cuda/std/array>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include "cuda_fp16.h"
#include "cuda_bf16.h"
#include "cuda_fp8.h"

using half_t = __half;
using bfloat_t = __nv_bfloat16;
namespace std_ = ::cuda::std;

#ifndef __CUDA_ARCH__
#define OPS_ARCH 0
#else
#define OPS_ARCH __CUDA_ARCH__
#endif
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#define OPS_INLINE static __device__ __forceinline__
#else
#error this tree is for nvcc
#endif

// float and narrower types compute as float, double as double.
template <typename T> struct compute { using type = float; };
template <> struct compute<double> { using type = double; };
template <> struct compute<int> { using type = int; };
template <typename T> using compute_t = typename compute<T>::type;

template <typename To, typename From> OPS_INLINE To to(From x) {
    if constexpr (std_::is_same_v<To, From>)
        return x;
    else if constexpr (std_::is_same_v<From, half_t>)
        return static_cast<To>(__half2float(x));
    else if constexpr (std_::is_same_v<From, bfloat_t>)
        return static_cast<To>(__bfloat162float(x));
    else if constexpr (std_::is_same_v<To, half_t>)
        return __float2half(static_cast<float>(x));
    else if constexpr (std_::is_same_v<To, bfloat_t>)
        return __float2bfloat16(static_cast<float>(x));
    else
        return static_cast<To>(x);
}

// A shape and its strides, passed to kernels by value.
template <int Rank> struct Strides {
    unsigned sizes[Rank], steps[Rank];
};
