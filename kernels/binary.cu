// Element-wise operations of two strided tensors. `info` holds the extents, then the left, then the right strides.
#include "elementwise.cuh"

#define BINARY(T, OUT, NAME, EXPR)                                                                                     \
    extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const T *lhs, const T *rhs, OUT *out) { \
        map(numel, num_dims, info, out, [](T left, T right) {                                                                          \
            const compute_t<T> x = convert<compute_t<T>>(left), y = convert<compute_t<T>>(right);                      \
            return convert<OUT>(EXPR);                                                                                 \
        }, lhs, rhs);\
    }

#define ALL(T, NAME)                                                                                                   \
    BINARY(T, T, badd_##NAME, Add::apply(x, y))                                                                        \
    BINARY(T, T, bsub_##NAME, Subtract::apply(x, y))                                                                   \
    BINARY(T, T, bmul_##NAME, Multiply::apply(x, y))                                                                   \
    BINARY(T, T, bdiv_##NAME, Divide::apply(x, y))                                                                     \
    BINARY(T, T, bmaximum_##NAME, Max::apply(x, y))                                                                    \
    BINARY(T, T, bminimum_##NAME, Min::apply(x, y))                                                                    \
    BINARY(T, uint8_t, eq_##NAME, uint8_t(x == y))                                                                     \
    BINARY(T, uint8_t, ne_##NAME, uint8_t(x != y))                                                                     \
    BINARY(T, uint8_t, lt_##NAME, uint8_t(x < y))                                                                      \
    BINARY(T, uint8_t, le_##NAME, uint8_t(x <= y))                                                                     \
    BINARY(T, uint8_t, gt_##NAME, uint8_t(x > y))                                                                      \
    BINARY(T, uint8_t, ge_##NAME, uint8_t(x >= y))
ALL(float, f32)
ALL(double, f64)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(f8_e4m3, f8_e4m3)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int64_t, i64)
