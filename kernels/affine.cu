// out = inp * mul + add, element by element; and y = a * x + y.
#include "common.cuh"

#define AFFINE(T, NAME)                                                                                                \
    extern "C" __global__ void affine_##NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *inp, T *out, \
                                             const T mul, const T add) {                                               \
        const Layout layout(num_dims, info);                                                                           \
        const compute_t<T> m = convert<compute_t<T>>(mul), a = convert<compute_t<T>>(add);                             \
        /* a null input means in place */                                                                              \
        const T *from = inp ? inp : out;                                                                               \
        FOR_EACH_ELEMENT(i, numel) { out[i] = convert<T>(load(from + (inp ? layout.offset(i) : i)) * m + a); }         \
    }

#define AXPY(T, NAME)                                                                                                  \
    extern "C" __global__ void axpy_##NAME(const size_t numel, const compute_t<T> a, const T *x, T *y) {               \
        FOR_EACH_ELEMENT(i, numel) { y[i] = convert<T>(a * load(x + i) + load(y + i)); }                               \
    }

#define ALL(T, NAME) AFFINE(T, NAME) AXPY(T, NAME)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
