// out = inp * mul + add, element by element; and y = a * x + y.
#include "elementwise.cuh"

#define AFFINE(T, NAME)                                                                                                \
    extern "C" __global__ void affine_##NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const T *inp, T *out, \
                                             const T mul, const T add) {                                               \
        const compute_t<T> m = convert<compute_t<T>>(mul), a = convert<compute_t<T>>(add);                             \
        map_or_in_place(numel, num_dims, info, out, [m, a](T x) {                                                                                  \
            return convert<T>(Add::apply(Multiply::apply(convert<compute_t<T>>(x), m), a));                            \
        }, inp);                                                                     \
    }
AFFINE(float, f32)
AFFINE(double, f64)
AFFINE(__half, f16)
AFFINE(__nv_bfloat16, bf16)
AFFINE(f8_e4m3, f8_e4m3)
AFFINE(uint8_t, u8)
AFFINE(uint32_t, u32)
AFFINE(int16_t, i16)
AFFINE(int32_t, i32)
AFFINE(int64_t, i64)

#define AXPY(T, NAME)                                                                                                  \
    extern "C" __global__ void axpy_##NAME(const size_t numel, const compute_t<T> a, const T *x, T *y) {               \
        map(numel, 0, nullptr, y, [a](T xi, T yi) {                                                                                \
            return convert<T>(a * convert<compute_t<T>>(xi) + convert<compute_t<T>>(yi));                              \
        }, x, static_cast<const T *>(y));                                      \
    }
AXPY(float, f32)
AXPY(double, f64)
AXPY(__half, f16)
AXPY(__nv_bfloat16, bf16)
AXPY(f8_e4m3, f8_e4m3)
