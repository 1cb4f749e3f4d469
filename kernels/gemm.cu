// Tiled matrix multiplication: C = alpha * A * B + beta * C, row-major, any sizes; products are summed in f32.
#include "common.cuh"

// A workgroup of 256 threads computes a TILE×TILE block of C; each thread PER_THREAD×PER_THREAD of it, in registers.
constexpr unsigned TILE = 64;
constexpr unsigned DEPTH = 16;
constexpr unsigned PER_THREAD = 4;
constexpr unsigned SIDE = TILE / PER_THREAD;
constexpr unsigned THREADS = SIDE * SIDE;

template <typename T>
__device__ __forceinline__ void gemm(unsigned m, unsigned n, unsigned k, float alpha, const T *a, unsigned lda, const T *b, unsigned ldb,
                                     float beta, T *c, unsigned ldc) {
    __shared__ float a_tile[DEPTH][TILE];
    __shared__ float b_tile[DEPTH][TILE];
    const unsigned row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    const unsigned ty = threadIdx.x / SIDE, tx = threadIdx.x % SIDE;

    float sum[PER_THREAD][PER_THREAD] = {};
    for (unsigned k0 = 0; k0 < k; k0 += DEPTH) {
        for (unsigned i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            const unsigned row = row0 + i / DEPTH, depth = k0 + i % DEPTH;
            a_tile[i % DEPTH][i / DEPTH] = row < m && depth < k ? load(a + static_cast<size_t>(row) * lda + depth) : 0.0f;
        }
        for (unsigned i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
            const unsigned depth = k0 + i / TILE, column = column0 + i % TILE;
            b_tile[i / TILE][i % TILE] = depth < k && column < n ? load(b + static_cast<size_t>(depth) * ldb + column) : 0.0f;
        }
        __syncthreads();
        for (unsigned d = 0; d < DEPTH; ++d) {
            float x[PER_THREAD], y[PER_THREAD];
            for (unsigned i = 0; i < PER_THREAD; ++i) {
                x[i] = a_tile[d][ty * PER_THREAD + i];
                y[i] = b_tile[d][tx * PER_THREAD + i];
            }
            for (unsigned i = 0; i < PER_THREAD; ++i)
                for (unsigned j = 0; j < PER_THREAD; ++j)
                    sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < PER_THREAD; ++i) {
        const unsigned row = row0 + ty * PER_THREAD + i;
        for (unsigned j = 0; j < PER_THREAD; ++j) {
            const unsigned column = column0 + tx * PER_THREAD + j;
            if (row < m && column < n) {
                T *at = c + static_cast<size_t>(row) * ldc + column;
                // beta = 0 must not read C: it may hold anything, NaN included
                *at = convert<T>(beta == 0.0f ? alpha * sum[i][j] : alpha * sum[i][j] + beta * load(at));
            }
        }
    }
}

#define GEMM(T, NAME)                                                                                                  \
    extern "C" __global__ __launch_bounds__(THREADS) void gemm_##NAME(const unsigned m, const unsigned n, const unsigned k, const float alpha, \
                                                                      const T *a, const unsigned lda, const T *b, const unsigned ldb, \
                                                                      const float beta, T *c, const unsigned ldc) {    \
        gemm(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                            \
    }
GEMM(float, f32)
GEMM(__half, f16)
GEMM(__nv_bfloat16, bf16)
