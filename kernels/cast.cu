// Conversion of a strided tensor's elements to another type.
#include "common.cuh"

#define CAST(FROM, TO, NAME)                                                                                           \
    extern "C" __global__ void cast_##NAME(const size_t numel, const size_t num_dims, const size_t *info, const FROM *inp, TO *out) { \
        const Layout layout(num_dims, info);                                                                           \
        FOR_EACH_ELEMENT(i, numel) { out[i] = convert<TO>(inp[layout.offset(i)]); }                                    \
    }
#define ALL(FROM, NAME)                                                                                                \
    CAST(FROM, float, NAME##_f32)                                                                                      \
    CAST(FROM, __half, NAME##_f16)                                                                                     \
    CAST(FROM, __nv_bfloat16, NAME##_bf16)                                                                             \
    CAST(FROM, uint8_t, NAME##_u8)                                                                                     \
    CAST(FROM, uint32_t, NAME##_u32)                                                                                   \
    CAST(FROM, int64_t, NAME##_i64)
ALL(float, f32)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int64_t, i64)
