// Shared by all kernels here: element types, conversions, strided indexing. Warps have 32 lanes on
// every target; a wave of 64 is two of them.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <type_traits>

#include "float8.cuh"
#include "target.cuh"

// The largest workgroup any kernel here is launched with, and so the most warps a workgroup can have.
constexpr unsigned MAX_BLOCK = 1024;
constexpr unsigned MAX_WARPS = MAX_BLOCK / 32;

// Types for storage only: arithmetic on them happens in f32, and its result is rounded once. `widen` is exact, `round` goes to nearest,
// ties to even.
template <typename T> struct Narrow {
    static constexpr bool IS = false;
};
template <> struct Narrow<__half> {
    static constexpr bool IS = true;
    static __device__ __forceinline__ float widen(__half x) { return __half2float(x); }
    static __device__ __forceinline__ __half round(float x) { return __float2half_rn(x); }
};
template <> struct Narrow<__nv_bfloat16> {
    static constexpr bool IS = true;
    static __device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
    static __device__ __forceinline__ __nv_bfloat16 round(float x) { return __float2bfloat16(x); }
};
template <> struct Narrow<f8_e4m3> {
    static constexpr bool IS = true;
    static __device__ __forceinline__ float widen(f8_e4m3 x) { return f8_to_float(x); }
    static __device__ __forceinline__ f8_e4m3 round(float x) { return float_to_f8(x); }
};

// The type in which arithmetic on a type happens.
template <typename T> using compute_t = std::conditional_t<Narrow<T>::IS, float, T>;

// An f32 that rounds to a narrow type as `x` itself does: `x` itself if it is exact, otherwise the neighbour of `x` whose last digit is
// odd, which is never in the middle between two narrow numbers. Rounding to nearest twice would be wrong.
__device__ __forceinline__ float for_rounding(float x) { return x; }
__device__ __forceinline__ float for_rounding(double x) {
    const float nearest = static_cast<float>(x);
    if (nearest == x || x != x)
        return nearest;
    const uint32_t bits = __float_as_uint(nearest);
    const bool away = fabs(static_cast<double>(nearest)) > fabs(x);
    return __uint_as_float((away ? bits - 1 : bits) | 1);
}
__device__ __forceinline__ float for_rounding(uint64_t x) {
    const int excess = 40 - __clzll(static_cast<long long>(x)); // digits more than f32 has
    if (excess <= 0)
        return static_cast<float>(x);
    const uint64_t kept = x >> excess, dropped = x & ((uint64_t(1) << excess) - 1);
    return ldexpf(static_cast<float>(kept | (dropped != 0)), excess);
}
__device__ __forceinline__ float for_rounding(int64_t x) {
    return x < 0 ? -for_rounding(uint64_t(0) - static_cast<uint64_t>(x)) : for_rounding(static_cast<uint64_t>(x));
}
// Exact in f64.
__device__ __forceinline__ float for_rounding(uint32_t x) { return for_rounding(static_cast<double>(x)); }
__device__ __forceinline__ float for_rounding(int32_t x) { return for_rounding(static_cast<double>(x)); }
__device__ __forceinline__ float for_rounding(int16_t x) { return static_cast<float>(x); }
__device__ __forceinline__ float for_rounding(uint8_t x) { return static_cast<float>(x); }

// Rounds towards zero and saturates; NaN becomes zero.
template <typename To, typename From> __device__ __forceinline__ To truncate(From x) {
    constexpr unsigned DIGITS = 8 * sizeof(To) - std::is_signed_v<To>;
    constexpr To LARGEST = static_cast<To>(~uint64_t(0) >> (64 - DIGITS)), LEAST = std::is_signed_v<To> ? static_cast<To>(-LARGEST - 1) : 0;
    constexpr From LIMIT = static_cast<From>(uint64_t(1) << (DIGITS - 1)) * 2;
    if (x >= LIMIT)
        return LARGEST;
    if (!(x > static_cast<From>(LEAST))) // NaN is neither
        return x != x ? 0 : LEAST;
    return static_cast<To>(x);
}

// Element conversion: to floats to nearest, ties to even, rounded once; from floats to integers as `truncate`; integers keep their low bits.
template <typename To, typename From> __device__ __forceinline__ To convert(From x) {
    if constexpr (std::is_same_v<To, From>)
        return x;
    else if constexpr (Narrow<From>::IS)
        return convert<To>(Narrow<From>::widen(x));
    else if constexpr (Narrow<To>::IS)
        return Narrow<To>::round(for_rounding(x));
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
        return truncate<To>(x);
    else
        return static_cast<To>(x);
}

// Loads an element in its compute type.
template <typename T> __device__ __forceinline__ compute_t<T> load(const T *p) { return convert<compute_t<T>>(*p); }

struct Division {
    size_t quotient, remainder;
};
__device__ __noinline__ inline size_t divide_wide(size_t n, size_t by) { return n / by; }
// A 64-bit division takes a hundred instructions on a GPU; nearly all numbers here fit into 32 bits.
__device__ __forceinline__ Division divide(size_t n, size_t by) {
    if ((n | by) >> 32 == 0) {
        const uint32_t quotient = static_cast<uint32_t>(n) / static_cast<uint32_t>(by);
        return {quotient, static_cast<uint32_t>(n) - quotient * static_cast<uint32_t>(by)};
    }
    const size_t quotient = divide_wide(n, by);
    return {quotient, n - quotient * by};
}

// The memory offsets, in elements, of an element of K tensors of one shape.
template <unsigned K> struct Offsets {
    size_t at[K];

    // The offsets of element `linear` in row-major order, counted in 32 or 64 bits.
    template <typename Index> static __device__ __forceinline__ Offsets strided(Index linear, const size_t *info, unsigned rank) {
        Offsets offsets = {};
#pragma unroll 1
        for (unsigned d = rank; d-- > 0;) {
            const Index extent = static_cast<Index>(info[d]), quotient = linear / extent, index = linear - quotient * extent;
            for (unsigned k = 0; k < K; ++k)
                offsets.at[k] += index * info[(1 + k) * rank + d];
            linear = quotient;
        }
        return offsets;
    }
    // Not inlined: it is most of the code of a kernel, and every kernel uses it.
    static __device__ __noinline__ Offsets of(size_t linear, const size_t *info, unsigned rank, bool wide) {
        info = uniform(info);
        rank = uniform(rank);
        return uniform(wide) ? strided(linear, info, rank) : strided(static_cast<uint32_t>(linear), info, rank);
    }
};

// The layouts of K tensors of one shape, as kernels receive them: `info` points to `num_dims` extents, followed by as many strides for
// each of the K tensors, in elements, outermost first; null means contiguous. There is no limit to the number of dimensions.
template <unsigned K> struct Layouts {
    const size_t *info;
    unsigned rank;
    bool contiguous; // all of them
    bool wide;       // elements cannot be counted in 32 bits

    __device__ __forceinline__ Layouts(size_t num_dims, const size_t *info)
        : info(info), rank(static_cast<unsigned>(num_dims)), contiguous(true), wide(false) {
        if (info == nullptr)
            return;
        size_t expected = 1;
        if constexpr (NVIDIA) {
            // What is known of several dimensions is on the way at a time.
            constexpr unsigned AHEAD = 2;
            for (unsigned end = rank; end > 0; end -= min(end, AHEAD)) {
                size_t known[AHEAD][1 + K];
#pragma unroll
                for (unsigned j = 0; j < AHEAD; ++j)
#pragma unroll
                    for (unsigned k = 0; k <= K; ++k)
                        known[j][k] = j < end ? info[k * rank + end - 1 - j] : 1;
#pragma unroll
                for (unsigned j = 0; j < AHEAD; ++j) {
#pragma unroll
                    for (unsigned k = 1; k <= K; ++k)
                        contiguous &= known[j][0] <= 1 || known[j][k] == expected;
                    expected *= known[j][0];
                }
            }
        } else {
            for (unsigned d = rank; d-- > 0;) {
                if (info[d] > 1)
                    for (unsigned k = 1; k <= K; ++k)
                        contiguous = contiguous && info[k * rank + d] == expected;
                expected *= info[d];
            }
        }
        wide = expected >> 32 != 0;
    }

    // The place of element `linear`, in row-major order, in each tensor.
    __device__ __forceinline__ Offsets<K> offsets(size_t linear) const {
        if (!contiguous)
            return Offsets<K>::of(linear, info, rank, wide);
        Offsets<K> same;
        for (unsigned k = 0; k < K; ++k)
            same.at[k] = linear;
        return same;
    }
    // The same for the first tensor.
    __device__ __forceinline__ size_t offset(size_t linear) const { return offsets(linear).at[0]; }
};
using Layout = Layouts<1>;

// Grid-stride loop over `n` elements.
#define FOR_EACH_ELEMENT(i, n)                                                                                          \
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x, i##_step = static_cast<size_t>(gridDim.x) * blockDim.x; \
         i < (n); i += i##_step)

struct Sum {
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return a + b; }
};
// A NaN on either side gives NaN, as tensor libraries expect of max and min.
struct Max {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(__AMDGCN__)
    static __device__ __forceinline__ float apply(float a, float b) {
        float most;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
        return most;
    }
#endif
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return a > b || a != a ? a : b; }
};
struct Min {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(__AMDGCN__)
    static __device__ __forceinline__ float apply(float a, float b) {
        float least;
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
        return least;
    }
#endif
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return a < b || a != a ? a : b; }
};
