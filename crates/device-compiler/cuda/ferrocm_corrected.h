// Mathematics for kernels that ROCm's library has otherwise than CUDA documents. These are preferred to clang's functions of the same types.
#pragma once
#if !defined(__HIPCC_RTC__)
#include "ferrocm_letters_begin.h"
#define __CUDA_BETTER static __device__ __attribute__((always_inline, unused, enable_if(true, ""))) inline
#define __CUDA_HELPER static __device__ __attribute__((unused)) inline

// A double, where clang has a float.
__CUDA_BETTER double pow(float x, int n) { return ::pow(static_cast<double>(x), n); }

// The sign of zero stays.
__CUDA_BETTER double expm1(double x) { return x == 0 ? x : __ocml_expm1_f64(x); }
__CUDA_BETTER float expm1f(float x) { return x == 0 ? x : __ocml_expm1_f32(x); }
__CUDA_BETTER float expm1(float x) { return x == 0 ? x : __ocml_expm1_f32(x); }
__CUDA_BETTER double log1p(double x) { return x == 0 ? x : __ocml_log1p_f64(x); }
__CUDA_BETTER float log1pf(float x) { return x == 0 ? x : __ocml_log1p_f32(x); }
__CUDA_BETTER float log1p(float x) { return x == 0 ? x : __ocml_log1p_f32(x); }

// The smallest integer for NaN.
__CUDA_BETTER int ilogb(double x) { return x != x ? -2147483647 - 1 : __ocml_ilogb_f64(x); }
__CUDA_BETTER int ilogbf(float x) { return x != x ? -2147483647 - 1 : __ocml_ilogb_f32(x); }
__CUDA_BETTER int ilogb(float x) { return x != x ? -2147483647 - 1 : __ocml_ilogb_f32(x); }

// ROCm's library has NaN for numbers that are very large, or negative.
__CUDA_BETTER double cyl_bessel_i1(double x) {
    const double size = __builtin_fabs(x);
    return __builtin_copysign(size > 720.0 ? __builtin_inf() : __ocml_i1_f64(size), x);
}

// By its expansion for large numbers, whose error is smaller there.
__CUDA_BETTER double erfcx(double x) {
    if (!(x >= 20.0))
        return __ocml_erfcx_f64(x);
    const double t = 0.5 / x / x;
    const double sum = 1 - t * (1 - t * (3 - t * (15 - t * (105 - t * (945 - t * (10395 - t * (135135 - t * 2027025)))))));
    return 0.56418958354775628695 / x * sum;
}

namespace __cuda_corrected {
__CUDA_HELPER float bessel_j(int n, float x) { return n ? ::j1f(x) : ::j0f(x); }
__CUDA_HELPER double bessel_j(int n, double x) { return n ? ::j1(x) : ::j0(x); }
__CUDA_HELPER float bessel_y(int n, float x) { return n ? ::y1f(x) : ::y0f(x); }
__CUDA_HELPER double bessel_y(int n, double x) { return n ? ::y1(x) : ::y0(x); }
// J of order n: upwards from orders 0 and 1 if x is larger than n, otherwise downwards from an order at which it is next to nothing, divided
// by a sum of all even orders that is 1. Small numbers have a short series.
template <typename T> __CUDA_HELPER T jn(int n, T x) {
    if (n < 0 || x != x)
        return static_cast<T>(__builtin_nan(""));
    if (n < 2)
        return bessel_j(n, x);
    const T size = x < 0 ? -x : x;
    T result = 0;
    if (size == 0 || size - size != 0)
        return result;
    if (size <= 1) {
        T term = 1, sum = 1;
        for (int k = 1; k <= n && term != 0; ++k)
            term *= size / 2 / k;
        T part = 1;
        for (int k = 1; k < 12; ++k)
            sum += part *= -size * size / 4 / k / (static_cast<T>(n) + k);
        result = term * sum;
    } else if (size > n) {
        T below = bessel_j(0, size), here = bessel_j(1, size);
        for (int k = 1; k < n; ++k) {
            const T above = 2 * k / size * here - below;
            below = here;
            here = above;
        }
        result = here;
    } else {
        T above = 0, here = 1, even = 0;
        for (int k = 2 * ((n + static_cast<int>(__builtin_sqrtf(sizeof(T) * 40.0f * n))) / 2); k > 0; --k) {
            const T below = 2 * k / size * here - above;
            above = here;
            here = below;
            if (__builtin_fabs(static_cast<double>(here)) > 1e10) {
                here *= static_cast<T>(1e-10);
                above *= static_cast<T>(1e-10);
                result *= static_cast<T>(1e-10);
                even *= static_cast<T>(1e-10);
            }
            // Now of order k - 1.
            if (k & 1)
                even += k == 1 ? here : 2 * here;
            if (k == n)
                result = above;
        }
        result /= even;
    }
    return x < 0 && (n & 1) ? -result : result;
}
template <typename T> __CUDA_HELPER T yn(int n, T x) {
    if (n < 0 || x != x || x < 0)
        return static_cast<T>(__builtin_nan(""));
    if (n < 2)
        return bessel_y(n, x);
    if (x == 0)
        return -static_cast<T>(__builtin_inf());
    if (x - x != 0)
        return 0;
    T below = bessel_y(0, x), here = bessel_y(1, x);
    for (int k = 1; k < n && here - here == 0; ++k) {
        const T above = 2 * k / x * here - below;
        below = here;
        here = above;
    }
    return here;
}
// The length of a vector, as squares of numbers that a power of two brings near 1; infinite if an element is.
template <typename T> __CUDA_HELPER T scaled_norm(int n, const T *x, int *exponent) {
    T largest = 0;
    bool nan = false;
    for (int i = 0; i < n; ++i) {
        const T size = x[i] < 0 ? -x[i] : x[i];
        nan |= x[i] != x[i];
        largest = size > largest ? size : largest;
    }
    *exponent = 0;
    if (largest - largest != 0 || nan || largest == 0)
        return largest - largest != 0 ? static_cast<T>(__builtin_inf()) : nan ? static_cast<T>(__builtin_nan("")) : T(0);
    *exponent = ::ilogb(largest);
    T sum = 0;
    for (int i = 0; i < n; ++i) {
        const T part = ::scalbn(x[i], -*exponent);
        sum += part * part;
    }
    return ::sqrt(sum);
}
} // namespace __cuda_corrected
__CUDA_BETTER double jn(int n, double x) { return __cuda_corrected::jn(n, x); }
__CUDA_BETTER float jnf(int n, float x) { return __cuda_corrected::jn(n, x); }
__CUDA_BETTER float jn(int n, float x) { return __cuda_corrected::jn(n, x); }
__CUDA_BETTER double yn(int n, double x) { return __cuda_corrected::yn(n, x); }
__CUDA_BETTER float ynf(int n, float x) { return __cuda_corrected::yn(n, x); }
__CUDA_BETTER float yn(int n, float x) { return __cuda_corrected::yn(n, x); }
#define __CUDA_NORM(NAME, INVERSE, T)                                            \
    __CUDA_BETTER T NAME(int n, const T *x) {                                    \
        int exponent;                                                            \
        const T length = __cuda_corrected::scaled_norm(n, x, &exponent);         \
        return ::scalbn(length, exponent);                                       \
    }                                                                            \
    __CUDA_BETTER T INVERSE(int n, const T *x) {                                 \
        int exponent;                                                            \
        const T length = __cuda_corrected::scaled_norm(n, x, &exponent);         \
        return ::scalbn(1 / length, -exponent);                                  \
    }
__CUDA_NORM(norm, rnorm, double)
__CUDA_NORM(normf, rnormf, float)
#undef __CUDA_NORM
#undef __CUDA_HELPER
#undef __CUDA_BETTER
namespace std {
using ::expm1;
using ::ilogb;
using ::log1p;
using ::pow;
}
#include "ferrocm_letters_end.h"
#endif
