// out = condition ? t : f, element by element, of three strided tensors. `info` holds the extents, then the strides of the condition, of
// `t` and of `f`. Only the size of elements matters.
#include "elementwise.cuh"

#define WHERE(CONDITION, T, NAME)                                                                                      \
    extern "C" __global__ void where_##NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, const CONDITION *ids, \
                                            const T *t, const T *f, T *out) {                                          \
        map(numel, num_dims, info, bits(out), [](CONDITION condition, bits_t<T> yes, bits_t<T> no) { return condition != 0 ? yes : no; }, ids, bits(t), bits(f)); \
    }
#define ALL(CONDITION, NAME)                                                                                           \
    WHERE(CONDITION, float, NAME##_f32)                                                                             \
    WHERE(CONDITION, double, NAME##_f64)                                                                             \
    WHERE(CONDITION, __half, NAME##_f16)                                                                             \
    WHERE(CONDITION, __nv_bfloat16, NAME##_bf16)                                                                            \
    WHERE(CONDITION, f8_e4m3, NAME##_fp8_e4m3)                                                                         \
    WHERE(CONDITION, uint8_t, NAME##_u8)                                                                               \
    WHERE(CONDITION, uint32_t, NAME##_u32)                                                                             \
    WHERE(CONDITION, int64_t, NAME##_i64)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int64_t, i64)
WHERE(int16_t, f8_e4m3, i16_fp8_e4m3)
WHERE(int32_t, f8_e4m3, i32_fp8_e4m3)
