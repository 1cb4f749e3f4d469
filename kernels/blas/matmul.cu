// D = alpha * op(A) * op(B) + beta * C of real matrices with matrix instructions, or dot and multiply-add instructions where a target lacks
// them: a wave computes a tile of D. D's columns lie one after the other, its rows are neighbours in memory.
//
// An operand that lies along the depth is read into registers as the instructions take it. An operand that lies across passes through the
// wave's own LDS, as do both operands on targets without matrix instructions. Where D is small, several waves share the depth, and a
// second kernel adds their sums in order.
#include "matmul.cuh"

// Tiles by name: `Tile` of crates/blas-on-kernels/src/gemm/matmul.rs. There is no tile with fewer columns for matrix instructions of 32 by
// 32 elements; those of f64 have 16 by 16.
#define MATMUL(T, NAME, TILE, ROWS, COLUMNS, WAY, A_DIRECT, B_DIRECT)                                                   \
    extern "C" __global__ __launch_bounds__(WAVE) void blas_matmul_##NAME##_##TILE##_##WAY(const Shape shape) {          \
        matmul<T, ROWS, COLUMNS, A_DIRECT, B_DIRECT>(shape);                                                            \
    }
#define BY_BLOCKS(T, NAME)                                                                                              \
    MATMUL(T, NAME, tall, 64, 16, direct, true, true)                                                                   \
    MATMUL(T, NAME, small, 32, 32, direct, true, true)                                                                  \
    MATMUL(T, NAME, large, 64, 64, direct, true, true)                                                                  \
    MATMUL(T, NAME, tall, 64, 16, mixed, false, true)                                                                   \
    MATMUL(T, NAME, small, 32, 32, mixed, false, true)                                                                  \
    MATMUL(T, NAME, large, 64, 64, mixed, false, true)                                                                  \
    MATMUL(T, NAME, small, 32, 32, staged, false, false)
#define BY_LANES(T, NAME)                                                                                               \
    MATMUL(T, NAME, tall, 64, 16, staged, false, false)                                                                 \
    MATMUL(T, NAME, small, 32, 32, staged, false, false)                                                                \
    MATMUL(T, NAME, large, 64, 32, staged, false, false)                                                                \
    extern "C" __global__ __launch_bounds__(WAVE) void blas_matmul_##NAME##_thin(const Shape shape) { thin<T>(shape); }
#if defined(MATRIX_MFMA)
BY_BLOCKS(float, f32)
// Without matrix instructions, `gemm.cu` multiplies f64.
BY_BLOCKS(double, f64)
extern "C" __global__ __launch_bounds__(ADDERS) void blas_matmul_add_f64(const Shape shape) { add<double>(shape); }
#else
BY_LANES(float, f32)
#endif
#if defined(MATRIX_MFMA) || defined(MATRIX_WMMA)
BY_BLOCKS(__half, f16)
BY_BLOCKS(__nv_bfloat16, bf16)
BY_BLOCKS(int8_t, i8)
#else
BY_LANES(__half, f16)
BY_LANES(__nv_bfloat16, bf16)
BY_LANES(int8_t, i8)
#endif

// 8-bit floats as the target multiplies them; A and B each have one format. `float8.cu` lays operands out along the depth.
#if defined(__gfx942__)
template <bool A_BF8, bool B_BF8> struct Pair {
    uint8_t bits;
};
using F8F8 = Pair<false, false>;
using F8BF8 = Pair<false, true>;
using BF8F8 = Pair<true, false>;
using BF8BF8 = Pair<true, true>;
MFMA(F8F8, long, f32_32x32x16_fp8_fp8)
MFMA(F8BF8, long, f32_32x32x16_fp8_bf8)
MFMA(BF8F8, long, f32_32x32x16_bf8_fp8)
MFMA(BF8BF8, long, f32_32x32x16_bf8_bf8)
#define BY_PAIRS(T, NAME)                                                                                               \
    MATMUL(T, NAME, tall, 64, 16, direct, true, true)                                                                   \
    MATMUL(T, NAME, small, 32, 32, direct, true, true)                                                                  \
    MATMUL(T, NAME, large, 64, 64, direct, true, true)
BY_PAIRS(F8F8, f8_f8)
BY_PAIRS(F8BF8, f8_bf8)
BY_PAIRS(BF8F8, bf8_f8)
BY_PAIRS(BF8BF8, bf8_bf8)
#endif

extern "C" __global__ __launch_bounds__(ADDERS) void blas_matmul_add_f32(const Shape shape) { add<float>(shape); }
extern "C" __global__ __launch_bounds__(ADDERS) void blas_matmul_add_i32(const Shape shape) { add<int>(shape); }
