// Mathematics that CUDA has in host code beyond the C library, in CUDA's dialect. HIP has it for the device.
#pragma once
#include "ferrocm_letters_begin.h"
#define __CUDA_HOST_MATH static __host__ __attribute__((unused)) inline
__CUDA_HOST_MATH double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__CUDA_HOST_MATH double rcbrt(double x) { return 1.0 / ::cbrt(x); }
__CUDA_HOST_MATH double rhypot(double x, double y) { return 1.0 / ::hypot(x, y); }
// A multiple of pi, by quarters of the circle: what is left of x is exact.
__CUDA_HOST_MATH void sincospi(double x, double *sine, double *cosine) {
    // Infinities and NaN, and even numbers.
    if (x - x != 0 || __builtin_fabs(x) >= 9007199254740992.0) {
        *sine = x - x != 0 ? __builtin_nan("") : __builtin_copysign(0.0, x);
        *cosine = x - x != 0 ? __builtin_nan("") : 1.0;
        return;
    }
    const double quarters = __builtin_rint(2.0 * x), angle = (x - 0.5 * quarters) * 3.14159265358979323846;
    const double s = ::sin(angle), c = ::cos(angle);
    switch (static_cast<int>(::fmod(quarters, 4.0)) & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s;
    }
    if (__builtin_trunc(x) == x)
        *sine = __builtin_copysign(0.0, x);
    if (*cosine == 0)
        *cosine = 0.0;
}
__CUDA_HOST_MATH double sinpi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
__CUDA_HOST_MATH double cospi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return c;
}
// exp(x x) erfc(x)
__CUDA_HOST_MATH double erfcx(double x) {
    if (x < -30)
        return __builtin_inf();
    if (x < 10) {
        const double square = x * x, rest = __builtin_fma(x, x, -square);
        return ::exp(square) * (1 + rest) * ::erfc(x);
    }
    double sum = 1, term = 1;
    for (int n = 1; n < 30; ++n)
        sum += term *= -(2 * n - 1) / (2 * x * x);
    return sum / x / 1.77245385090551602730;
}
// The inverses of the error functions: an estimate, then Newton's steps, for large results on the logarithm.
__CUDA_HOST_MATH double __cuda_small_erfinv(double y) {
    double x = 0.88622692545275801365 * y;
    for (int i = 0; i < 6; ++i) {
        const double error = ::erf(x) - y;
        x -= error / (1.12837916709551257390 * ::exp(-x * x) + x * error);
    }
    return x;
}
__CUDA_HOST_MATH double erfcinv(double y) {
    if (!(y > 0 && y < 2))
        return y == 0 ? __builtin_inf() : y == 2 ? -__builtin_inf() : __builtin_nan("");
    if (y > 0.5 && y < 1.5)
        return __cuda_small_erfinv(1 - y);
    const double small = y < 1 ? y : 2 - y, logarithm = ::log(small), t = __builtin_sqrt(-2 * (logarithm - 0.69314718055994530942));
    double x = 0.70710678118654752 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (int i = 0; i < 5; ++i) {
        const double scaled = erfcx(x);
        x += (::log(scaled) - x * x - logarithm) * 0.88622692545275801365 * scaled;
    }
    return y < 1 ? x : -x;
}
__CUDA_HOST_MATH double erfinv(double y) {
    if (!(y > -0.5 && y < 0.5))
        return y < 0 ? -erfcinv(1 + y) : erfcinv(1 - y);
    return y == 0 ? y : __cuda_small_erfinv(y);
}
// The argument's rounding matters far from 0: the second part of 1 / sqrt(2) corrects it.
__CUDA_HOST_MATH double normcdf(double x) {
    const double t = -x * 0.70710678118654752440, rest = __builtin_fma(-x, 0.70710678118654752440, -t) + x * 4.8336466567264567e-17;
    const double slope = 1.12837916709551257390 * ::exp(-t * t);
    return 0.5 * (::erfc(t) - (slope == 0 ? 0 : slope * rest));
}
__CUDA_HOST_MATH double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2 * p); }
// Modified Bessel functions: a series, and an expansion for large numbers.
__CUDA_HOST_MATH double __cuda_bessel_i(int order, double x) {
    const double size = __builtin_fabs(x);
    double sum = 1, term = 1;
    if (size < 30) {
        for (int k = 1; k < 200 && term > sum * 1e-18; ++k)
            sum += term *= size * size / 4 / k / (k + order);
        return order ? sum * x / 2 : sum;
    }
    for (int k = 1; k < 30; ++k)
        sum += term *= ((2 * k - 1) * (2 * k - 1) - 4.0 * order) / (8 * size * k);
    const double half = ::exp(size / 2), result = half / __builtin_sqrt(6.28318530717958647693 * size) * sum * half;
    return order && x < 0 ? -result : result;
}
__CUDA_HOST_MATH double cyl_bessel_i0(double x) { return __cuda_bessel_i(0, x); }
__CUDA_HOST_MATH double cyl_bessel_i1(double x) { return __cuda_bessel_i(1, x); }
// Lengths of vectors. A long double neither overflows nor underflows.
__CUDA_HOST_MATH double norm(int n, const double *x) {
    long double sum = 0;
    for (int i = 0; i < n; ++i) {
        if (__builtin_isinf(x[i]))
            return __builtin_inf();
        sum += static_cast<long double>(x[i]) * x[i];
    }
    return static_cast<double>(__builtin_sqrtl(sum));
}
__CUDA_HOST_MATH double norm3d(double x, double y, double z) {
    const double all[] = {x, y, z};
    return norm(3, all);
}
__CUDA_HOST_MATH double norm4d(double x, double y, double z, double w) {
    const double all[] = {x, y, z, w};
    return norm(4, all);
}
__CUDA_HOST_MATH double rnorm(int n, const double *x) { return 1.0 / norm(n, x); }
__CUDA_HOST_MATH double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
__CUDA_HOST_MATH double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }

// The same for floats.
#define __CUDA_HOST_FLOAT(NAME)                                                                                  \
    __CUDA_HOST_MATH float NAME##f(float x) { return static_cast<float>(NAME(static_cast<double>(x))); }          \
    __CUDA_HOST_MATH float NAME(float x) { return NAME##f(x); }
__CUDA_HOST_FLOAT(rsqrt)
__CUDA_HOST_FLOAT(rcbrt)
__CUDA_HOST_FLOAT(sinpi)
__CUDA_HOST_FLOAT(cospi)
__CUDA_HOST_FLOAT(erfcinv)
__CUDA_HOST_FLOAT(erfinv)
__CUDA_HOST_FLOAT(normcdf)
__CUDA_HOST_FLOAT(normcdfinv)
__CUDA_HOST_FLOAT(erfcx)
__CUDA_HOST_FLOAT(cyl_bessel_i0)
__CUDA_HOST_FLOAT(cyl_bessel_i1)
// These are the C library's.
#define __CUDA_HOST_NAMED(NAME) \
    __CUDA_HOST_MATH float NAME(float x) { return ::NAME##f(x); }
__CUDA_HOST_NAMED(exp10)
__CUDA_HOST_NAMED(j0)
__CUDA_HOST_NAMED(j1)
__CUDA_HOST_NAMED(y0)
__CUDA_HOST_NAMED(y1)
#undef __CUDA_HOST_NAMED
__CUDA_HOST_MATH float jn(int n, float x) { return ::jnf(n, x); }
__CUDA_HOST_MATH float yn(int n, float x) { return ::ynf(n, x); }
__CUDA_HOST_MATH void sincos(float x, float *sine, float *cosine) { ::sincosf(x, sine, cosine); }
#undef __CUDA_HOST_FLOAT
__CUDA_HOST_MATH float rhypotf(float x, float y) { return static_cast<float>(rhypot(static_cast<double>(x), static_cast<double>(y))); }
__CUDA_HOST_MATH float rhypot(float x, float y) { return rhypotf(x, y); }
__CUDA_HOST_MATH void sincospif(float x, float *sine, float *cosine) {
    double s, c;
    sincospi(static_cast<double>(x), &s, &c);
    *sine = static_cast<float>(s);
    *cosine = static_cast<float>(c);
}
__CUDA_HOST_MATH void sincospi(float x, float *sine, float *cosine) { sincospif(x, sine, cosine); }
__CUDA_HOST_MATH float norm3df(float x, float y, float z) { return static_cast<float>(norm3d(x, y, z)); }
__CUDA_HOST_MATH float norm4df(float x, float y, float z, float w) { return static_cast<float>(norm4d(x, y, z, w)); }
__CUDA_HOST_MATH float rnorm3df(float x, float y, float z) { return static_cast<float>(rnorm3d(x, y, z)); }
__CUDA_HOST_MATH float rnorm4df(float x, float y, float z, float w) { return static_cast<float>(rnorm4d(x, y, z, w)); }
__CUDA_HOST_MATH float normf(int n, const float *x) {
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += static_cast<double>(x[i]) * x[i];
    return static_cast<float>(__builtin_sqrt(sum));
}
__CUDA_HOST_MATH float rnormf(int n, const float *x) { return 1.0f / normf(n, x); }
__CUDA_HOST_MATH float fdividef(float x, float y) { return x / y; }
#undef __CUDA_HOST_MATH
#include "ferrocm_letters_end.h"
