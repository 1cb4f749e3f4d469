// Conversion of a strided tensor's elements to another type: `convert` says how.
#include "elementwise.cuh"

#define CAST(FROM, TO, NAME)                                                                                           \
    extern "C" __global__ void cast_##NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const FROM *inp, TO *out) { \
        map(numel, num_dims, info, out, [](FROM x) { return convert<TO>(x); }, inp);\
    }
#define ALL(FROM, NAME)                                                                                                \
    CAST(FROM, float, NAME##_f32)                                                                                      \
    CAST(FROM, double, NAME##_f64)                                                                                     \
    CAST(FROM, __half, NAME##_f16)                                                                                     \
    CAST(FROM, __nv_bfloat16, NAME##_bf16)                                                                             \
    CAST(FROM, f8_e4m3, NAME##_f8_e4m3)                                                                                \
    CAST(FROM, uint8_t, NAME##_u8)                                                                                     \
    CAST(FROM, uint32_t, NAME##_u32)                                                                                   \
    CAST(FROM, int16_t, NAME##_i16)                                                                                    \
    CAST(FROM, int32_t, NAME##_i32)                                                                                    \
    CAST(FROM, int64_t, NAME##_i64)
ALL(float, f32)
ALL(double, f64)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(f8_e4m3, f8_e4m3)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int16_t, i16)
ALL(int32_t, i32)
ALL(int64_t, i64)
