// Shared by all BLAS kernels: complex numbers, numbers in memory by a type known at run time, operands of batches.
#pragma once
#include "../common.cuh"

// `Type` of crates/blas-on-kernels/src/args.rs.
enum Type : unsigned { F32, F64, C32, C64, F16, BF16, I8, I32, F8, BF8 };

template <typename R> struct Complex {
    using Real = R;
    R re, im;
};
template <typename R> __device__ __forceinline__ Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <typename R> __device__ __forceinline__ Complex<R> operator-(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }
template <typename R> __device__ __forceinline__ Complex<R> operator*(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename R> __device__ __forceinline__ bool operator==(Complex<R> a, Complex<R> b) { return a.re == b.re && a.im == b.im; }
// Does not overflow unless the quotient does.
template <typename R> __device__ __forceinline__ Complex<R> operator/(Complex<R> a, Complex<R> b) {
    if (fabs(b.re) >= fabs(b.im)) {
        const R ratio = b.im / b.re, by = b.re + b.im * ratio;
        return {(a.re + a.im * ratio) / by, (a.im - a.re * ratio) / by};
    }
    const R ratio = b.re / b.im, by = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / by, (a.im * ratio - a.re) / by};
}

template <typename T> struct Number {
    using Real = T;
    static constexpr bool COMPLEX = false;
    static __device__ __forceinline__ T conj(T x) { return x; }
    static __device__ __forceinline__ T real(T x) { return x; }
    static __device__ __forceinline__ T of(double re, double) { return static_cast<T>(re); }
};
template <typename R> struct Number<Complex<R>> {
    using T = Complex<R>;
    using Real = R;
    static constexpr bool COMPLEX = true;
    static __device__ __forceinline__ T conj(T x) { return {x.re, -x.im}; }
    static __device__ __forceinline__ T real(T x) { return {x.re, R(0)}; }
    static __device__ __forceinline__ T of(double re, double im) { return {static_cast<R>(re), static_cast<R>(im)}; }
};
template <typename T> __device__ __forceinline__ T zero() { return Number<T>::of(0, 0); }
template <typename T> __device__ __forceinline__ T one() { return Number<T>::of(1, 0); }

// Element `i` of memory, of a type that is computed in T. Only f32 and i32 compute other types.
template <typename T> __device__ __forceinline__ T read(const void *p, unsigned type, int64_t i) {
    if constexpr (std::is_same_v<T, float>) {
        if (type == F16)
            return __half2float(static_cast<const __half *>(p)[i]);
        if (type == BF16)
            return __bfloat162float(static_cast<const __nv_bfloat16 *>(p)[i]);
    }
    if constexpr (std::is_same_v<T, int>) {
        if (type == I8)
            return static_cast<const int8_t *>(p)[i];
    }
    return static_cast<const T *>(p)[i];
}
template <typename T> __device__ __forceinline__ void write(void *p, unsigned type, int64_t i, T x) {
    if constexpr (std::is_same_v<T, float>) {
        if (type == F16) {
            static_cast<__half *>(p)[i] = __float2half_rn(x);
            return;
        }
        if (type == BF16) {
            static_cast<__nv_bfloat16 *>(p)[i] = __float2bfloat16(x);
            return;
        }
    }
    static_cast<T *>(p)[i] = x;
}

// A number from the caller: in device memory, or by value.
struct Factor {
    const void *at;
    double re, im;
    unsigned type, conjugate;
};
template <typename T> __device__ __forceinline__ T value(const Factor &factor) {
    T x = zero<T>();
    if (factor.at == nullptr) {
        x = Number<T>::of(factor.re, factor.im);
    } else {
        bool real = false;
        if constexpr (Number<T>::COMPLEX) {
            // Factors of Hermitian updates are real.
            using Real = typename Number<T>::Real;
            real = factor.type == F32 || factor.type == F64;
            if (real)
                x = {read<Real>(factor.at, factor.type, 0), Real(0)};
        }
        if (!real)
            x = read<T>(factor.at, factor.type, 0);
    }
    return factor.conjugate != 0 ? Number<T>::conj(x) : x;
}

// A vector or matrix of each product of a batch.
struct Memory {
    void *at;
    // Elements from one product's to the next, unless `at` is an array of pointers.
    int64_t stride;
    // The first element.
    int64_t first;
    unsigned indirect, type;

    __device__ __forceinline__ void *of(size_t batch) const {
        char *p = static_cast<char *>(indirect != 0 ? static_cast<void *const *>(at)[batch] : at);
        return p + (first + (indirect != 0 ? 0 : static_cast<int64_t>(batch) * stride)) * static_cast<int64_t>(size());
    }
    __device__ __forceinline__ size_t size() const {
        switch (type) {
        case F64:
        case C32:
            return 8;
        case C64:
            return 16;
        case F16:
        case BF16:
            return 2;
        case I8:
        case F8:
        case BF8:
            return 1;
        default:
            return 4;
        }
    }
};

// Which elements of a matrix are in memory, and the values of the others. `Structure` of crates/blas-on-kernels/src/gemm.rs.
enum Structure : unsigned { GENERAL, SYMMETRIC, HERMITIAN, TRIANGULAR };
