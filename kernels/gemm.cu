// Matrix multiplication: C = alpha * op(A) * op(B) + beta * C, by rows, any sizes, a batch of them; a workgroup computes a SIDE by SIDE block
// of C.
#include "gemm.cuh"
#include "gemm_nvidia.cuh"
#include "int4.cuh"

struct Shape {
    unsigned m, n, k, batches;
    size_t lda, ldb, ldc;
    // From one matrix of the batch to the next.
    size_t batch_a, batch_b, batch_c;
    // A is k×m in memory, B is n×k.
    unsigned transposed_a, transposed_b;
};

// The kernel's parameters, in their order.
template <typename Number, typename From, typename Out> struct Arguments {
    Shape shape;
    Number alpha;
    const From *a, *b;
    Number beta;
    Out *c;
};

// Calls `block` with the batch and the first row and column of each of the workgroup's blocks.
template <unsigned SIDE, typename Arguments, typename Block> __device__ __forceinline__ void for_blocks(const Arguments &given, Block block) {
    const auto count = [](unsigned size) { return (size - 1) / SIDE + 1; };
    // There may be more of each than the grid has workgroups.
    for (size_t batch = blockIdx.z; batch < read_again(given).shape.batches; batch += gridDim.z)
        for (unsigned row = blockIdx.y; row < count(read_again(given).shape.m); row += gridDim.y)
            for (unsigned column = blockIdx.x; column < count(read_again(given).shape.n); column += gridDim.x)
                block(batch, row * SIDE, column * SIDE);
}

// The elements of `From` are converted to T on their way.
template <typename T, unsigned SIDE, typename From, typename Out>
__device__ __forceinline__ void gemm(const Arguments<sum_t<T>, From, Out> &given) {
    using Stage = Staging<T, SIDE, DEPTH_OF<T, SIDE>, THREADS, From>;
    for_blocks<SIDE>(given, [&](size_t batch, unsigned row0, unsigned column0) {
        const auto &[shape, alpha, a, b, beta, c] = read_again(given);
        const Operand<From> from_a = {a + batch * shape.batch_a, shape.m, shape.k, shape.lda, shape.transposed_a != 0};
        const Operand<From> from_b = {b + batch * shape.batch_b, shape.n, shape.k, shape.ldb, shape.transposed_b == 0};
#if defined(NVIDIA_MMA)
        if constexpr (std::is_same_v<T, float> && SIDE == nvidia::FloatTile::SIDE) {
            nvidia::float_block_of(from_a, from_b, row0, column0, Result<float, Rows<Out>>{alpha, beta, {c + batch * shape.batch_c, shape.ldc}});
            return;
        }
#endif
        block_of<T, Stage, Stage, SIDE>(from_a, from_b, row0, column0, [&] {
            const auto &now = read_again(given);
            return Result<sum_t<T>, Rows<Out>>{now.alpha, now.beta, {now.c + batch * now.shape.batch_c, now.shape.ldc}};
        });
    });
}

#define GEMM(T, FROM, OUT, NAME, SIDE)                                                                                  \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_##NAME##_##SIDE(const Shape shape, const sum_t<T> alpha, const FROM *a, \
                                                                                  const FROM *b, const sum_t<T> beta, OUT *c) { \
        gemm<T, SIDE>(Arguments<sum_t<T>, FROM, OUT>{shape, alpha, a, b, beta, c});                                    \
    }
#define GEMM_SIDES(T, FROM, OUT, NAME)                                                                                  \
    GEMM(T, FROM, OUT, NAME, 64)                                                                                        \
    GEMM(T, FROM, OUT, NAME, 128)
GEMM_SIDES(float, float, float, f32)
GEMM_SIDES(__half, __half, __half, f16)
GEMM_SIDES(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, bf16)
GEMM_SIDES(int8_t, int8_t, int, i8)
GEMM_SIDES(f8_factor, f8_e4m3, float, f8_e4m3)

#if defined(NVIDIA_WGMMA)
// Tiles by name, and how many workgroups share one's depth: `GEMM_TILINGS` of crates/kernels/src/nvidia.rs.
#define GEMM_TILES(T, FROM, OUT, NAME, TILE, PARTS, CLUSTER)                                                            \
    OVERLAPS(gemm_##NAME)                                                                                               \
    extern "C" __global__ CLUSTER __launch_bounds__(THREADS, 1) void gemm_##NAME(const Shape shape, const float alpha, const FROM *a, const FROM *b, \
                                                                         const float beta, OUT *c) {                   \
        nvidia::gemm<T, nvidia::TILE, PARTS>(shape, alpha, a, b, beta, c);                                             \
    }
#define GEMM_ALONE(T, FROM, OUT, NAME)                                                                                  \
    GEMM_TILES(T, FROM, OUT, NAME##_128x256, LargeTiling, 1, )                                                          \
    GEMM_TILES(T, FROM, OUT, NAME##_128x128, MiddleTiling, 1, )                                                         \
    GEMM_TILES(T, FROM, OUT, NAME##_64x128, SmallTiling, 1, )
#define GEMM_SHARED(T, NAME)                                                                                            \
    GEMM_TILES(T, T, T, NAME##_128x256_by_2, LargeTiling, 2, __cluster_dims__(2))                                       \
    GEMM_TILES(T, T, T, NAME##_128x128_by_2, MiddleTiling, 2, __cluster_dims__(2))                                      \
    GEMM_TILES(T, T, T, NAME##_64x128_by_2, SmallTiling, 2, __cluster_dims__(2))                                        \
    GEMM_TILES(T, T, T, NAME##_64x128_by_4, SmallTiling, 4, __cluster_dims__(4))
GEMM_ALONE(__half, __half, __half, f16)
GEMM_ALONE(__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, bf16)
GEMM_ALONE(__half, f8_e4m3, float, f8_e4m3)
GEMM_SHARED(__half, f16)
GEMM_SHARED(__nv_bfloat16, bf16)
#endif

// The parameters of a product where B is n×k 4-bit numbers, in their order.
template <typename T> struct Int4Arguments {
    Shape shape;
    unsigned group_shift;
    float alpha;
    const T *a;
    const uint8_t *b;
    const T *scales, *zeros;
    float beta;
    T *c;
};

template <typename T, unsigned SIDE> __device__ __forceinline__ void gemm_int4(const Int4Arguments<T> &given) {
    constexpr unsigned DEPTH = DEPTH_OF<T, SIDE>;
    for_blocks<SIDE>(given, [&](size_t, unsigned row0, unsigned column0) {
        const Int4Arguments<T> &from = read_again(given);
        const Operand<T> from_a = {from.a, from.shape.m, from.shape.k, from.shape.lda, false};
        const Int4Matrix<T> from_b = {from.b, from.scales, from.zeros, from.shape.n, from.shape.k, from.group_shift};
        block_of<T, Staging<T, SIDE, DEPTH, THREADS>, Int4Staging<T, SIDE, DEPTH, THREADS>, SIDE>(from_a, from_b, row0, column0, [&] {
            const Int4Arguments<T> &now = read_again(given);
            return Result<float, Rows<T>>{now.alpha, now.beta, {now.c, now.shape.ldc}};
        });
    });
}

#define GEMM_INT4(T, NAME, SIDE)                                                                                       \
    extern "C" __global__ __launch_bounds__(THREADS, 2) void gemm_int4_##NAME(                                          \
        const Shape shape, const unsigned group_shift, const float alpha, const T *a, const uint8_t *b, const T *scales, const T *zeros, \
        const float beta, T *c) {                                                                                      \
        gemm_int4<T, SIDE>(Int4Arguments<T>{shape, group_shift, alpha, a, b, scales, zeros, beta, c});                 \
    }
GEMM_INT4(__half, f16, 64)
GEMM_INT4(__nv_bfloat16, bf16, 64)
#if defined(NVIDIA_MMA)
GEMM_INT4(__half, f16_128, 128)
GEMM_INT4(__nv_bfloat16, bf16_128, 128)
#endif
