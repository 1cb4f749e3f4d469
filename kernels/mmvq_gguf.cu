// Products of a quantised matrix with one to eight vectors, which are first quantised to Q8_1 blocks; results of three types.
#include "quant_vec.cuh"

#define PRODUCT(Q, NAME, T, TYPE, VECTORS)                                                                             \
    extern "C" __global__ BLOCKS_OF(VEC_THREADS, (VECTORS) == 1 ? 8 : 1) void NAME##_plain_cuda##VECTORS(                              \
        const void *x, const void *y, T *out, const int columns, const int rows, const int y_stride, const int out_stride) { \
        vec_workgroup<Q>(x, y, out, Out::TYPE, columns, rows, y_stride, out_stride, VECTORS);                          \
    }
#define COUNTS(Q, NAME, T, TYPE)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 1)                                                                                       \
    OVERLAPS(NAME##_plain_cuda1)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 2)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 3)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 4)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 5)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 6)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 7)                                                                                       \
    PRODUCT(Q, NAME, T, TYPE, 8)
#define TYPES(Q, NAME)                                                                                                 \
    COUNTS(Q, mmvq_gguf_##NAME##_f32, float, F32)                                                                      \
    COUNTS(Q, mmvq_gguf_##NAME##_f16, __half, F16)                                                                     \
    COUNTS(Q, mmvq_gguf_##NAME##_bf16, __nv_bfloat16, BF16)
#define TYPES_K(Q, NAME, LOWER) TYPES(Q, LOWER)
QUANT_32(TYPES)
QUANT_K(TYPES_K)

#define QUANTIZE(T, NAME)                                                                                              \
    extern "C" __global__ void mmvq_gguf_quantize_q8_1_##NAME(const T *x, void *out, const int columns, const int padded) { \
        quantize_q8_1_row(x, out, columns, padded);                                                                    \
    }                                                                                                                  \
    OVERLAPS(mmvq_gguf_quantize_q8_1_##NAME)
QUANTIZE(float, f32)
QUANTIZE(__half, f16)
QUANTIZE(__nv_bfloat16, bf16)
