// Element-wise functions of a strided tensor, written to a contiguous one. A null input means in place.
#include "elementwise.cuh"
#include "transpose.cuh"

__device__ __forceinline__ float normal_cdf(float x) { return normcdff(x); }
__device__ __forceinline__ float error_function(float x) { return erff(x); }
// Not inlined: a loop around them would keep their constants in too many scalar registers.
__device__ __noinline__ double normal_cdf(double x) { return normcdf(x); }
__device__ __noinline__ double error_function(double x) { return erf(x); }

// No exponential of a large number: e^-|x| does not overflow, and small results keep their digits.
template <typename T> __device__ __forceinline__ T sigmoid(T x) {
    const T e = exp(-fabs(x));
    return quotient(x < 0 ? e : T(1), 1 + e);
}

// x * p for a p that approaches 0 faster than x approaches minus infinity.
template <typename T> __device__ __forceinline__ T gated(T x, T p) { return p == 0 ? T(-0.0) : x * p; }

// The tanh approximation of the Gaussian error linear unit; (1 + tanh(u)) / 2 is sigmoid(2u), without the cancellation.
template <typename T> __device__ __forceinline__ T gelu(T x) {
    const T twice_sqrt_2_over_pi = T(1.59576912160573071176);
    return gated(x, sigmoid(twice_sqrt_2_over_pi * x * (1 + T(0.044715) * x * x)));
}

// log(1 + e^x) without the exponential of a large number.
template <typename T> __device__ __forceinline__ T softplus(T x) { return (x < 0 ? T(0) : x) + log1p(exp(-fabs(x))); }

template <typename T> __device__ __forceinline__ T sign(T x) { return x != x ? x : T((x > 0) - (x < 0)); }

#define UNARY(T, NAME, EXPR)                                                                                           \
    extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const T *inp, T *out) { \
        map_or_in_place(numel, num_dims, info, out, [](T value) {                                                                                  \
            const compute_t<T> x = convert<compute_t<T>>(value);                                                       \
            return convert<T>(compute_t<T>(EXPR));                                                                     \
        }, inp);                                                                      \
    }
#define UNARY_WITH(T, NAME, EXPR)                                                                                      \
    extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const T param, const T *inp, T *out) { \
        const compute_t<T> p = convert<compute_t<T>>(param);                                                           \
        map_or_in_place(numel, num_dims, info, out, [p](T value) {                                                                                 \
            const compute_t<T> x = convert<compute_t<T>>(value);                                                       \
            return convert<T>(compute_t<T>(EXPR));                                                                     \
        }, inp);                                                                      \
    }

#define ALL(T, NAME)                                                                                                   \
    UNARY(T, uneg_##NAME, -x)                                                                                          \
    UNARY(T, urecip_##NAME, 1 / x)                                                                                     \
    UNARY(T, uexp_##NAME, exp(x))                                                                                      \
    UNARY(T, ulog_##NAME, log(x))                                                                                      \
    UNARY(T, usin_##NAME, sin(x))                                                                                      \
    UNARY(T, ucos_##NAME, cos(x))                                                                                      \
    UNARY(T, utanh_##NAME, tanh(x))                                                                                    \
    UNARY(T, uerf_##NAME, error_function(x))                                                                           \
    UNARY(T, uceil_##NAME, ceil(x))                                                                                    \
    UNARY(T, ufloor_##NAME, floor(x))                                                                                  \
    UNARY(T, uround_##NAME, round(x))                                                                                  \
    UNARY(T, unormcdf_##NAME, normal_cdf(x))                                                                           \
    UNARY(T, uabs_##NAME, fabs(x))                                                                                     \
    UNARY(T, usqr_##NAME, x *x)                                                                                        \
    UNARY(T, usqrt_##NAME, sqrt(x))                                                                                    \
    UNARY(T, ugelu_##NAME, gelu(x))                                                                                    \
    UNARY(T, ugelu_erf_##NAME, gated(x, normal_cdf(x)))                                                                \
    UNARY(T, urelu_##NAME, x < 0 ? 0 : x)                                                                              \
    UNARY_WITH(T, uelu_##NAME, x > 0 ? x : p * expm1(x))                                                               \
    UNARY(T, usilu_##NAME, gated(x, sigmoid(x)))                                                                       \
    UNARY_WITH(T, upowf_##NAME, pow(x, p))                                                                             \
    UNARY(T, usign_##NAME, sign(x))                                                                                    \
    UNARY(T, usigmoid_##NAME, sigmoid(x))                                                                              \
    UNARY(T, usoftplus_##NAME, softplus(x))
ALL(float, f32)
ALL(double, f64)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(f8_e4m3, fp8_e4m3)

// Of a strided copy: elements of a thread where there are so many workgroups.
constexpr unsigned THREAD_ELEMENTS = 16, LARGE_GRID = 1 << 14;

// Copies of elements of a size, whatever their type.
template <typename T> __device__ __forceinline__ void copy(size_t numel, size_t num_dims, const size_t *info, const T *from, T *out) {
    constexpr unsigned N = 16 / sizeof(T);
    unsigned block = blockIdx.x, blocks = gridDim.x;
    if (NVIDIA && info && blocks >= LARGE_GRID && static_cast<size_t>(blocks) * blockDim.x >= numel) {
        // A thread has several elements. Workgroups without any end before they read something, and are not all behind the others.
        if (block % THREAD_ELEMENTS != 0)
            return;
        block /= THREAD_ELEMENTS, blocks = (blocks - 1) / THREAD_ELEMENTS + 1;
    }
    const Layout layout(num_dims, info);
    if constexpr (NVIDIA)
        if (!layout.contiguous) {
            const Transposition<T> transposition(numel, info, layout.rank);
            if (transposition.tiles > 0)
                return transposition.copy(from, out, block, blocks);
        }
    const bool wide = layout.contiguous && Lanes<T, N>::aligned(from) && Lanes<T, N>::aligned(out);
    const size_t vectors = wide ? numel / N : 0;
    const size_t step = static_cast<size_t>(blocks) * blockDim.x;
    for (size_t i = static_cast<size_t>(block) * blockDim.x + threadIdx.x; i < numel - vectors * (N - 1); i += step) {
        if (i < vectors) {
            reinterpret_cast<uint4 *>(out)[i] = reinterpret_cast<const uint4 *>(from)[i];
        } else {
            const size_t at = i + vectors * (N - 1);
            out[at] = from[layout.offset(at)];
        }
    }
}
#define COPY(T, NAME)                                                                                                  \
    extern "C" __global__ MOST_REGISTERS(40) void ucopy_##NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, \
                                                               const T *inp, T *out) {                                 \
        if (inp) /* in place there is nothing to do */                                                                 \
            copy(numel, num_dims, info, bits(inp), bits(out));                                                         \
    }
COPY(float, f32)
COPY(double, f64)
COPY(__half, f16)
COPY(__nv_bfloat16, bf16)
COPY(f8_e4m3, f8_e4m3)
COPY(uint8_t, u8)
COPY(uint32_t, u32)
COPY(int64_t, i64)
