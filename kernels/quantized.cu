// Matrices of quantised blocks: dequantising, look-up of rows, and products with vectors and matrices.
#include "quant_mat.cuh"
#include "quant_vec.cuh"

// Dequantises every `step`-th quad of a row of blocks, starting with `first`, to an address aligned to four elements.
template <typename Q, typename T>
__device__ __forceinline__ void dequantize_quads(const Q *blocks, T *out, size_t first, size_t step, size_t values) {
    for (size_t quad = first; quad < values / 4; quad += step) {
        const unsigned at = quad % (Q::VALUES / 4);
        store_four(out + 4 * quad, dequantize(blocks[quad / (Q::VALUES / 4)], at / QUADS, at % QUADS));
    }
}

#define DEQUANTIZE_AS(Q, NAME, T)                                                                                      \
    extern "C" __global__ void dequantize_block_##NAME(const void *x, T *out) {                                        \
        /* a workgroup has the values of a block */                                                                         \
        dequantize_quads(static_cast<const Q *>(x) + blockIdx.x, out + Q::VALUES * static_cast<size_t>(blockIdx.x), threadIdx.x, \
                         blockDim.x, Q::VALUES);                                                                       \
    }
#define DEQUANTIZE_COUNTED_AS(Q, NAME, T, UNIT)                                                                        \
    extern "C" __global__ void dequantize_block_##NAME(const void *x, T *out, const int count) {                       \
        dequantize_quads(static_cast<const Q *>(x), out, static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x,   \
                         static_cast<size_t>(gridDim.x) * blockDim.x, static_cast<size_t>(count) * UNIT);              \
    }
#define DEQUANTIZE(Q, NAME, ...)                                                                                       \
    DEQUANTIZE_AS(Q, NAME##_f32, float)                                                                                \
    DEQUANTIZE_AS(Q, NAME##_f16, __half)
#define DEQUANTIZE_COUNTED(Q, NAME, UNIT)                                                                              \
    DEQUANTIZE_COUNTED_AS(Q, NAME##_f32, float, UNIT)                                                                  \
    DEQUANTIZE_COUNTED_AS(Q, NAME##_f16, __half, UNIT)
QUANT_K(DEQUANTIZE)
DEQUANTIZE(Q8_K, q8_K)
// `count` is the number of blocks, or of values
DEQUANTIZE_COUNTED(Q4_0, q4_0, 32)
DEQUANTIZE_COUNTED(Q4_1, q4_1, 32)
DEQUANTIZE_COUNTED(Q5_0, q5_0, 1)
DEQUANTIZE_COUNTED(Q5_1, q5_1, 1)
DEQUANTIZE_COUNTED(Q8_0, q8_0, 32)

// Row `rows[blockIdx.x]` of a matrix, in f32; `pitch` is in bytes. Rows of floats are dense.
#define GET_ROWS(Q, NAME, ...)                                                                                         \
    extern "C" __global__ void get_rows_##NAME(const void *x, const uint32_t *rows, float *out, const int64_t columns,  \
                                               const size_t pitch) {                                                   \
        const char *row = static_cast<const char *>(x) + rows[blockIdx.x] * pitch;                                     \
        const size_t first = static_cast<size_t>(blockIdx.y) * blockDim.x + threadIdx.x;                               \
        dequantize_quads(reinterpret_cast<const Q *>(row), out + static_cast<size_t>(blockIdx.x) * columns, first,     \
                         static_cast<size_t>(gridDim.y) * blockDim.x, columns);                                        \
    }
QUANT_32(GET_ROWS)
QUANT_K(GET_ROWS)

#define GET_ROWS_OF_FLOATS(T, NAME)                                                                                    \
    extern "C" __global__ void get_rows_##NAME(const T *x, const uint32_t *rows, float *out, const int64_t columns,     \
                                               const size_t pitch) {                                                   \
        const size_t row = static_cast<size_t>(rows[blockIdx.x]) * columns, step = static_cast<size_t>(gridDim.y) * blockDim.x; \
        for (size_t i = static_cast<size_t>(blockIdx.y) * blockDim.x + threadIdx.x; i < columns; i += step)            \
            out[static_cast<size_t>(blockIdx.x) * columns + i] = convert<float>(x[row + i]);                           \
    }
GET_ROWS_OF_FLOATS(float, f32)
GET_ROWS_OF_FLOATS(__half, f16)
GET_ROWS_OF_FLOATS(__nv_bfloat16, bf16)

// The product of a row with a vector of floats, by the 32 threads of a warp.
template <typename Q>
__device__ __forceinline__ void float_product(const Q *x, const float *y, float *out, unsigned columns, unsigned row) {
    const unsigned blocks = columns / Q::VALUES;
    x += static_cast<size_t>(row) * blocks;
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned unit = threadIdx.x; unit < blocks * Unit<Q>::PER_BLOCK; unit += 32) {
        const Unit<Q> at(unit);
        const Q &block = x[at.block];
        for (unsigned k = 0; k < Unit<Q>::GROUPS; ++k) {
            const float *values = y + at.block * Q::VALUES + GROUP * at.group(k);
            const Scale scale = block.scale(at.group(k));
            float product = 0.0f, total = 0.0f;
            for (unsigned i = 0; i < QUADS; ++i) {
                const uint32_t q = block.quad(at.group(k), i);
                float a[4];
                __builtin_memcpy(a, values + 4 * i, sizeof a);
                for (unsigned byte = 0; byte < 4; ++byte) {
                    product = fmaf(byte_of<Q>(q, byte), a[byte], product);
                    total += a[byte];
                }
            }
            sum = fmaf(scale.d, product, sum);
            if (Q::OFFSET)
                sum = fmaf(scale.m, total, sum);
        }
    }
    sum = warp_reduce<Sum>(sum);
    if (threadIdx.x == 0)
        out[row] = sum;
}

#define FLOAT_PRODUCT(Q, NAME)                                                                                         \
    extern "C" __global__ void dequantize_mul_mat_vec_##NAME(const void *x, const float *y, float *out, const int columns, \
                                                             const int rows) {                                         \
        const unsigned row = blockIdx.x * blockDim.y + threadIdx.y;                                                    \
        if (row < static_cast<unsigned>(rows))                                                                         \
            float_product(static_cast<const Q *>(x), y, out, columns, row);                                            \
    }
#define FLOAT_PRODUCT_32(Q, NAME) FLOAT_PRODUCT(Q, NAME##_cuda)
QUANT_32(FLOAT_PRODUCT_32)
FLOAT_PRODUCT(Q2_K, q2_k)
FLOAT_PRODUCT(Q3_K, q3_k)
FLOAT_PRODUCT(Q4_K, q4_k)
FLOAT_PRODUCT(Q6_K, q6_k)
// this one has no parameter for rows, and is launched once for each row
extern "C" __global__ void dequantize_mul_mat_vec_q5_k(const void *x, const float *y, float *out, const int columns) {
    float_product(static_cast<const Q5_K *>(x), y, out, columns, blockIdx.x * blockDim.y + threadIdx.y);
}

OVERLAPS(quantize_q8_1)
extern "C" __global__ void quantize_q8_1(const float *x, void *out, const int columns, const int padded) {
    quantize_q8_1_row(x, out, columns, padded);
}

// `padded` is the columns of `y`
#define VEC_PRODUCT(Q, NAME, VECTORS)                                                                                  \
    extern "C" __global__ __launch_bounds__(VEC_THREADS) void mul_mat_vec_##NAME##_q8_1_cuda##VECTORS(                 \
        const void *x, const void *y, float *out, const int columns, const int rows, const int padded, const int out_stride) { \
        vec_workgroup<Q>(x, y, out, Out::F32, columns, rows, padded / Q8_1::VALUES, out_stride, VECTORS);              \
    }
#define VEC_PRODUCTS(Q, NAME, ...)                                                                                     \
    VEC_PRODUCT(Q, NAME, 1)                                                                                            \
    VEC_PRODUCT(Q, NAME, 2)                                                                                            \
    VEC_PRODUCT(Q, NAME, 3)                                                                                            \
    VEC_PRODUCT(Q, NAME, 4)                                                                                            \
    VEC_PRODUCT(Q, NAME, 5)                                                                                            \
    VEC_PRODUCT(Q, NAME, 6)                                                                                            \
    VEC_PRODUCT(Q, NAME, 7)                                                                                            \
    VEC_PRODUCT(Q, NAME, 8)
QUANT_32(VEC_PRODUCTS)
QUANT_K(VEC_PRODUCTS)

// Workgroups are launched for this many rows and vectors.
#define MAT_PRODUCT(Q, NAME, TILE_ROWS, TILE_VECTORS)                                                                  \
    extern "C" __global__ __launch_bounds__(MAT_THREADS) WAVES_PER_SIMD(3) void mul_mat_##NAME(                         \
        const void *x, const void *y, float *out, const int columns, const int rows, const int vectors, const int padded, \
        const int out_stride) {                                                                                        \
        mul_mat(static_cast<const Q *>(x), 0, static_cast<const Q8_1 *>(y), InOrder{}, out, Out::F32, columns,             \
                tile(blockIdx.x, TILE_ROWS, rows), tile(blockIdx.y, TILE_VECTORS, vectors), padded / Q8_1::VALUES, out_stride); \
    }
MAT_PRODUCT(Q4_0, q4_0, 128, 64)
MAT_PRODUCT(Q4_1, q4_1, 128, 64)
MAT_PRODUCT(Q5_0, q5_0, 64, 128)
MAT_PRODUCT(Q5_1, q5_1, 64, 128)
MAT_PRODUCT(Q8_0, q8_0, 64, 128)
MAT_PRODUCT(Q2_K, q2_K, 128, 64)
MAT_PRODUCT(Q3_K, q3_K, 128, 128)
MAT_PRODUCT(Q4_K, q4_K, 128, 64)
MAT_PRODUCT(Q5_K, q5_K, 128, 64)
MAT_PRODUCT(Q6_K, q6_K, 64, 64)

// A row of an expert's matrix times a vector: workgroup (row, token, choice of the token). `experts` has the number of each pair's matrix;
// a token has one vector, or one for each of its experts.
template <typename Q>
__device__ __forceinline__ void expert_product(const void *x, const void *y, const uint32_t *experts, float *out, int rows, int columns,
                                               int padded, int vectors_of_token) {
    const size_t pair = static_cast<size_t>(blockIdx.y) * gridDim.z + blockIdx.z;
    const size_t vector = vectors_of_token == 1 ? blockIdx.y : pair;
    const size_t blocks = static_cast<size_t>(rows) * (columns / Q::VALUES);
    const unsigned y_stride = padded / Q8_1::VALUES;
    mul_mat_vec<Q, 1>(static_cast<const Q *>(x) + experts[pair] * blocks, static_cast<const Q8_1 *>(y) + vector * y_stride,
                      out + pair * rows, Out::F32, blockIdx.x, columns, rows, y_stride, rows, 1);
}
#define EXPERT_PRODUCT(Q, NAME)                                                                                        \
    extern "C" __global__ __launch_bounds__(VEC_THREADS) void indexed_moe_forward_##NAME##_q8_1(                       \
        const void *x, const void *y, const uint32_t *experts, float *out, const int rows, const int columns, const int tokens, \
        const int experts_of_token, const int padded, const int vectors_of_token) {                                    \
        expert_product<Q>(x, y, experts, out, rows, columns, padded, vectors_of_token);                                \
    }
EXPERT_PRODUCT(Q2_K, q2k)
EXPERT_PRODUCT(Q3_K, q3k)
EXPERT_PRODUCT(Q4_K, q4k)
EXPERT_PRODUCT(Q5_K, q5k)
EXPERT_PRODUCT(Q6_K, q6k)
EXPERT_PRODUCT(Q8_0, q8_0)
