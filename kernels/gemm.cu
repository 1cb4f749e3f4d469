// Matrix multiplication: C = alpha * op(A) * op(B) + beta * C, by rows, any sizes, a batch of them; a workgroup computes a SIDE by SIDE block
// of C.
#include "gemm.cuh"
#include "int4.cuh"

struct Shape {
    unsigned m, n, k, batches;
    size_t lda, ldb, ldc;
    // From one matrix of the batch to the next.
    size_t batch_a, batch_b, batch_c;
    // A is k×m in memory, B is n×k.
    unsigned transposed_a, transposed_b;
};

// Calls `block` with the batch and the first row and column of each of the workgroup's blocks.
template <unsigned SIDE, typename Block> __device__ __forceinline__ void for_blocks(const Shape &shape, Block block) {
    // A grid has at most 65,535 blocks in its second and third dimension.
    for (size_t batch = blockIdx.z; batch < shape.batches; batch += gridDim.z)
        for (size_t row = static_cast<size_t>(blockIdx.y) * SIDE; row < shape.m; row += static_cast<size_t>(gridDim.y) * SIDE)
            block(batch, static_cast<unsigned>(row), blockIdx.x * SIDE);
}

// The elements of `From` are made into numbers of T on their way.
template <typename T, typename From, typename Out, unsigned SIDE>
__device__ __forceinline__ void gemm(const Shape &shape, sum_t<T> alpha, const From *a, const From *b, sum_t<T> beta, Out *c) {
    using Stage = Staging<T, SIDE, DEPTH_OF<T, SIDE>, THREADS, From>;
    for_blocks<SIDE>(shape, [&](size_t batch, unsigned row0, unsigned column0) {
        const Operand<From> from_a = {a + batch * shape.batch_a, shape.m, shape.k, shape.lda, shape.transposed_a != 0};
        const Operand<From> from_b = {b + batch * shape.batch_b, shape.n, shape.k, shape.ldb, shape.transposed_b == 0};
        const Rows<Out> to_c = {c + batch * shape.batch_c, shape.ldc};
        block_of<T, Stage, Stage, SIDE>(alpha, from_a, from_b, beta, to_c, row0, column0);
    });
}

#define GEMM(T, FROM, OUT, NAME, SIDE)                                                                                  \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_##NAME##_##SIDE(const Shape shape, const sum_t<T> alpha, const FROM *a, \
                                                                                  const FROM *b, const sum_t<T> beta, OUT *c) { \
        gemm<T, FROM, OUT, SIDE>(shape, alpha, a, b, beta, c);                                                         \
    }
#define GEMM_SIDES(T, FROM, OUT, NAME)                                                                                  \
    GEMM(T, FROM, OUT, NAME, 64)                                                                                        \
    GEMM(T, FROM, OUT, NAME, 128)
GEMM_SIDES(float, float, float, f32)
GEMM_SIDES(__half, __half, __half, f16)
GEMM_SIDES(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, bf16)
GEMM_SIDES(int8_t, int8_t, int, i8)
GEMM_SIDES(f8_factor, f8_e4m3, float, f8_e4m3)

// B is n×k numbers of 4 bits.
#define GEMM_INT4(T, NAME)                                                                                             \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_int4_##NAME(                                          \
        const Shape shape, const unsigned group_shift, const float alpha, const T *a, const uint8_t *b, const T *scales, const T *zeros, \
        const float beta, T *c) {                                                                                      \
        constexpr unsigned SIDE = 64, DEPTH = DEPTH_OF<T, SIDE>;                                                       \
        for_blocks<SIDE>(shape, [&](size_t, unsigned row0, unsigned column0) {                                         \
            const Operand<T> from_a = {a, shape.m, shape.k, shape.lda, false};                                         \
            const Int4Matrix<T> from_b = {b, scales, zeros, shape.n, shape.k, group_shift};                            \
            const Rows<T> to_c = {c, shape.ldc};                                                                       \
            block_of<T, Staging<T, SIDE, DEPTH, THREADS>, Int4Staging<T, SIDE, DEPTH, THREADS>, SIDE>(                 \
                alpha, from_a, from_b, beta, to_c, row0, column0);                                                     \
        });                                                                                                            \
    }
GEMM_INT4(__half, f16)
GEMM_INT4(__nv_bfloat16, bf16)
