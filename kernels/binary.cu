// Element-wise operations of two strided tensors. `info` holds the extents, then the left, then the right strides.
#include "common.cuh"

template <typename T, typename Out, typename Op>
__device__ __forceinline__ void binary(size_t numel, size_t num_dims, const size_t *info, const T *lhs, const T *rhs, Out *out, Op op) {
    const Layout left(num_dims, info, 0), right(num_dims, info, 1);
    FOR_EACH_ELEMENT(i, numel) { out[i] = convert<Out>(op(load(lhs + left.offset(i)), load(rhs + right.offset(i)))); }
}

#define BINARY(T, OUT, NAME, EXPR)                                                                                     \
    extern "C" __global__ void NAME(const size_t numel, const size_t num_dims, const size_t *info, const T *lhs, const T *rhs, OUT *out) { \
        binary(numel, num_dims, info, lhs, rhs, out, [](compute_t<T> x, compute_t<T> y) { return EXPR; });             \
    }

#define ALL(T, NAME)                                                                                                   \
    BINARY(T, T, badd_##NAME, x + y)                                                                                   \
    BINARY(T, T, bsub_##NAME, x - y)                                                                                   \
    BINARY(T, T, bmul_##NAME, x *y)                                                                                    \
    BINARY(T, T, bdiv_##NAME, x / y)                                                                                   \
    BINARY(T, T, bmaximum_##NAME, Max::apply(x, y))                                                                    \
    BINARY(T, T, bminimum_##NAME, Min::apply(x, y))                                                                    \
    BINARY(T, uint8_t, eq_##NAME, x == y)                                                                              \
    BINARY(T, uint8_t, ne_##NAME, x != y)                                                                              \
    BINARY(T, uint8_t, lt_##NAME, x < y)                                                                               \
    BINARY(T, uint8_t, le_##NAME, x <= y)                                                                              \
    BINARY(T, uint8_t, gt_##NAME, x > y)                                                                               \
    BINARY(T, uint8_t, ge_##NAME, x >= y)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
