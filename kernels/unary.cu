// Element-wise functions of a strided tensor, written to a contiguous one.
#include "common.cuh"

template <typename T, typename Op>
__device__ __forceinline__ void unary(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out, Op op) {
    const Layout layout(num_dims, info);
    // a null input means in place
    const T *from = inp ? inp : out;
    FOR_EACH_ELEMENT(i, numel) { out[i] = convert<T>(op(load(from + (inp ? layout.offset(i) : i)))); }
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// The tanh approximation of the Gaussian error linear unit.
__device__ __forceinline__ float gelu(float x) {
    const float sqrt_2_over_pi = 0.79788456080286535588f;
    return 0.5f * x * (1.0f + tanhf(sqrt_2_over_pi * x * (1.0f + 0.044715f * x * x)));
}

#define UNARY(T, NAME, EXPR)                                                                                           \
    extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, T *out) { \
        unary(numel, num_dims, info, inp, out, [](compute_t<T> x) { return EXPR; });                                   \
    }
#define UNARY_WITH(T, NAME, EXPR)                                                                                      \
    extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T param, const T *inp, T *out) { \
        const compute_t<T> p = convert<compute_t<T>>(param);                                                           \
        unary(numel, num_dims, info, inp, out, [p](compute_t<T> x) { return EXPR; });                                  \
    }

#define ALL(T, NAME)                                                                                                   \
    UNARY(T, ucopy_##NAME, x)                                                                                          \
    UNARY(T, uneg_##NAME, -x)                                                                                          \
    UNARY(T, urecip_##NAME, 1.0f / x)                                                                                  \
    UNARY(T, uexp_##NAME, expf(x))                                                                                     \
    UNARY(T, ulog_##NAME, logf(x))                                                                                     \
    UNARY(T, usin_##NAME, sinf(x))                                                                                     \
    UNARY(T, ucos_##NAME, cosf(x))                                                                                     \
    UNARY(T, utanh_##NAME, tanhf(x))                                                                                   \
    UNARY(T, uerf_##NAME, erff(x))                                                                                     \
    UNARY(T, uceil_##NAME, ceilf(x))                                                                                   \
    UNARY(T, ufloor_##NAME, floorf(x))                                                                                 \
    UNARY(T, uround_##NAME, roundf(x))                                                                                 \
    UNARY(T, unormcdf_##NAME, normcdff(x))                                                                             \
    UNARY(T, uabs_##NAME, fabsf(x))                                                                                    \
    UNARY(T, usqr_##NAME, x *x)                                                                                        \
    UNARY(T, usqrt_##NAME, sqrtf(x))                                                                                   \
    UNARY(T, ugelu_##NAME, gelu(x))                                                                                    \
    UNARY(T, ugelu_erf_##NAME, x *normcdff(x))                                                                         \
    UNARY(T, urelu_##NAME, x < 0.0f ? 0.0f : x)                                                                        \
    UNARY_WITH(T, uelu_##NAME, x > 0.0f ? x : p * expm1f(x))                                                           \
    UNARY(T, usilu_##NAME, x *sigmoid(x))                                                                              \
    UNARY_WITH(T, upowf_##NAME, powf(x, p))                                                                            \
    UNARY(T, usign_##NAME, x != x ? x : static_cast<float>((x > 0.0f) - (x < 0.0f)))                                   \
    UNARY(T, usigmoid_##NAME, sigmoid(x))
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
