// Constant fill and two-dimensional copies.
#include "common.cuh"

// buf[i] = value
#define FILL(T, NAME)                                                                                                  \
    extern "C" __global__ void fill_##NAME(T *buf, T value, const size_t numel) {                                      \
        FOR_EACH_ELEMENT(i, numel) { buf[i] = value; }                                                                 \
    }

// Writes `value` to every element of a strided tensor.
#define CONST_SET(T, NAME)                                                                                             \
    extern "C" __global__ void const_set_##NAME(const size_t numel, const size_t num_dims, const size_t *info, T value, T *out) { \
        const Layout layout(num_dims, info);                                                                           \
        FOR_EACH_ELEMENT(i, numel) { out[layout.offset(i)] = value; }                                                  \
    }

// Copies a d1×d2 matrix between row pitches, in elements.
#define COPY2D(T, NAME)                                                                                                \
    extern "C" __global__ void copy2d_##NAME(const T *src, T *dst, unsigned d1, unsigned d2, unsigned src_stride, unsigned dst_stride) { \
        FOR_EACH_ELEMENT(i, static_cast<size_t>(d1) * d2) {                                                            \
            const size_t row = i / d2, column = i % d2;                                                                \
            dst[row * dst_stride + column] = src[row * src_stride + column];                                           \
        }                                                                                                              \
    }

#define ALL(T, NAME) FILL(T, NAME) CONST_SET(T, NAME) COPY2D(T, NAME)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int64_t, i64)
