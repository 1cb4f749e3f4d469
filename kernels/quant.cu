// Quantised matrices as this project's own launchers use them: rows, products with one vector, a few and many; results of three types.
// `quant` is a type's number in GGUF files.
#include "quant_mat.cuh"
#include "quant_one.cuh"
#include "quant_vec.cuh"

// Rows of a matrix: those that `ids` names, where a workgroup has one each, or all. A row that is not there is NaN.
extern "C" __global__ void quant_rows(const unsigned quant, const void *matrix, const uint32_t *ids, void *out, const Out type,
                                      const unsigned rows, const unsigned columns) {
    const unsigned row = ids ? ids[blockIdx.x] : blockIdx.x;
    for (unsigned quad = blockIdx.y * blockDim.x + threadIdx.x; quad < columns / 4; quad += gridDim.y * blockDim.x) {
        float4 values = {NAN, NAN, NAN, NAN};
        if (row < rows)
            with_quant(quant, matrix, [&](auto *x) {
                constexpr unsigned PER_BLOCK = std::remove_reference_t<decltype(*x)>::VALUES / 4;
                const unsigned at = quad % PER_BLOCK;
                values = dequantize(x[static_cast<size_t>(row) * (columns / 4 / PER_BLOCK) + quad / PER_BLOCK], at / QUADS, at % QUADS);
            });
        with_type(type, out, [&](auto *to) { store_four(to + static_cast<size_t>(blockIdx.x) * columns + 4 * quad, values); });
    }
}

extern "C" __global__ __launch_bounds__(MAT_THREADS) void quant_gemm(
    const unsigned quant, const void *x, const void *y, void *out, const Out type, const unsigned columns, const unsigned rows,
    const unsigned vectors, const unsigned y_stride, const unsigned out_stride) {
    mul_mat(Numbered{quant, x}, static_cast<const Q8_1 *>(y), out, type, SIDE, SIDE, columns, rows, vectors, y_stride, out_stride);
}

#define PRODUCTS(Q, NAME)                                                                                                \
    extern "C" __global__ __launch_bounds__(ONE_THREADS) void quant_gemv_##NAME(                                       \
        const void *x, const void *y, void *out, const Out type, const unsigned columns, const unsigned rows, const unsigned lanes) { \
        mul_one(static_cast<const Q *>(x), static_cast<const Q8_1 *>(y), out, type, columns, rows, lanes);             \
    }                                                                                                                  \
    extern "C" __global__ __launch_bounds__(VEC_THREADS) void quant_vec_##NAME(                                        \
        const void *x, const void *y, void *out, const Out type, const unsigned columns, const unsigned rows, const unsigned vectors, \
        const unsigned y_stride, const unsigned out_stride) {                                                          \
        mul_mat_vec<Q, 2>(static_cast<const Q *>(x), static_cast<const Q8_1 *>(y), out, type, 2 * blockIdx.x, columns, rows, y_stride, \
                          out_stride, vectors);                                                                        \
    }
QUANT_ALL(PRODUCTS)
