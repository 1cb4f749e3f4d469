// What every kernel here shares: element types, conversions, strided indexing.
// Warps have 32 lanes on every target; a wave of 64 is two of them.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// The largest workgroup any kernel here is launched with, and so the most warps a workgroup can have.
constexpr unsigned MAX_BLOCK = 1024;
constexpr unsigned MAX_WARPS = MAX_BLOCK / 32;

// Arithmetic on 16-bit floats happens in f32; every other type computes in itself.
template <typename T> struct Compute {
    using type = T;
};
template <> struct Compute<__half> {
    using type = float;
};
template <> struct Compute<__nv_bfloat16> {
    using type = float;
};
template <typename T> using compute_t = typename Compute<T>::type;

// Element conversion; to 16-bit floats by round-to-nearest-even, to integers by truncation.
template <typename To, typename From> struct Convert {
    static __device__ __forceinline__ To apply(From x) { return static_cast<To>(x); }
};
template <typename T> struct Convert<T, T> {
    static __device__ __forceinline__ T apply(T x) { return x; }
};
template <typename To> struct Convert<To, __half> {
    static __device__ __forceinline__ To apply(__half x) { return Convert<To, float>::apply(__half2float(x)); }
};
template <typename To> struct Convert<To, __nv_bfloat16> {
    static __device__ __forceinline__ To apply(__nv_bfloat16 x) { return Convert<To, float>::apply(__bfloat162float(x)); }
};
template <typename From> struct Convert<__half, From> {
    static __device__ __forceinline__ __half apply(From x) { return __float2half_rn(static_cast<float>(x)); }
};
template <typename From> struct Convert<__nv_bfloat16, From> {
    static __device__ __forceinline__ __nv_bfloat16 apply(From x) { return __float2bfloat16(static_cast<float>(x)); }
};
template <> struct Convert<__half, __half> {
    static __device__ __forceinline__ __half apply(__half x) { return x; }
};
template <> struct Convert<__nv_bfloat16, __nv_bfloat16> {
    static __device__ __forceinline__ __nv_bfloat16 apply(__nv_bfloat16 x) { return x; }
};
template <> struct Convert<__half, __nv_bfloat16> {
    static __device__ __forceinline__ __half apply(__nv_bfloat16 x) { return __float2half_rn(__bfloat162float(x)); }
};
template <> struct Convert<__nv_bfloat16, __half> {
    static __device__ __forceinline__ __nv_bfloat16 apply(__half x) { return __float2bfloat16(__half2float(x)); }
};

template <typename To, typename From> __device__ __forceinline__ To convert(From x) { return Convert<To, From>::apply(x); }

// Loads an element in its compute type.
template <typename T> __device__ __forceinline__ compute_t<T> load(const T *p) { return convert<compute_t<T>>(*p); }

struct Division {
    size_t quotient, remainder;
};
__device__ __noinline__ inline size_t divide_wide(size_t n, size_t by) { return n / by; }
// A division of 64 bits is a hundred instructions on a GPU; nearly all numbers here have 32.
__device__ __forceinline__ Division divide(size_t n, size_t by) {
    if ((n | by) >> 32 == 0) {
        const uint32_t quotient = static_cast<uint32_t>(n) / static_cast<uint32_t>(by);
        return {quotient, static_cast<uint32_t>(n) - quotient * static_cast<uint32_t>(by)};
    }
    const size_t quotient = divide_wide(n, by);
    return {quotient, n - quotient * by};
}

// A tensor's layout as kernels receive it: `info` points to `num_dims` extents followed by one set of `num_dims` strides
// per operand, in elements, outermost first; null means contiguous.
struct Layout {
    const size_t *dims;
    const size_t *strides;
    unsigned rank;
    bool contiguous;

    __device__ __forceinline__ Layout(size_t num_dims, const size_t *info, unsigned operand = 0)
        : dims(info), strides(info + (1 + operand) * num_dims), rank(static_cast<unsigned>(num_dims)), contiguous(true) {
        if (info == nullptr)
            return;
        size_t expected = 1;
#pragma unroll 1
        for (unsigned d = rank; d-- > 0;) {
            contiguous = contiguous && (dims[d] <= 1 || strides[d] == expected);
            expected *= dims[d];
        }
    }

    // The memory offset, in elements, of element `linear` counted in row-major order.
    __device__ __forceinline__ size_t offset(size_t linear) const {
        if (contiguous)
            return linear;
        size_t at = 0;
#pragma unroll 1
        for (unsigned d = rank; d-- > 0;) {
            const Division division = divide(linear, dims[d]);
            at += division.remainder * strides[d];
            linear = division.quotient;
        }
        return at;
    }
};

// Grid-stride loop over `n` elements.
#define FOR_EACH_ELEMENT(i, n)                                                                                          \
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x, i##_step = static_cast<size_t>(gridDim.x) * blockDim.x; \
         i < (n); i += i##_step)

struct Sum {
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return a + b; }
};
// A NaN on either side is the result, as tensor libraries expect of max and min.
struct Max {
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return a > b || a != a ? a : b; }
};
struct Min {
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return a < b || a != a ? a : b; }
};
