// C = alpha A B + beta C on tensor-core fragments, with shared memory between; a block of four warps has 32 x 32 of C.
#include "../core/types.cuh"
#include <mma.h>
using namespace nvcuda;

namespace {
template <typename T> struct Tile {
    static constexpr int M = 16, N = 16, K = 16, block = 32, pad = 8;
};
} // namespace

template <typename T>
static __device__ void gemm(const T *a, const T *b, float *c, int m, int n, int k, float alpha, float beta) {
    using S = Tile<T>;
    __shared__ __align__(32) T sa[S::block][S::K + S::pad];
    __shared__ __align__(32) T sb[S::block][S::K + S::pad];
    __shared__ __align__(32) float sc[S::block][S::block + 4];
    const int warp = threadIdx.x / 32, row0 = blockIdx.y * S::block, col0 = blockIdx.x * S::block;
    const int wr = warp / 2 * S::M, wc = warp % 2 * S::N;
    wmma::fragment<wmma::accumulator, S::M, S::N, S::K, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < k; k0 += S::K) {
        for (int i = threadIdx.x; i < S::block * S::K; i += blockDim.x) {
            const int r = i / S::K, q = i % S::K;
            sa[r][q] = row0 + r < m && k0 + q < k ? a[(row0 + r) * k + k0 + q] : to<T>(0.0f);
            // B is n x k: its columns are rows here.
            sb[r][q] = col0 + r < n && k0 + q < k ? b[(col0 + r) * k + k0 + q] : to<T>(0.0f);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, S::M, S::N, S::K, T, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, S::M, S::N, S::K, T, wmma::col_major> fb;
        wmma::load_matrix_sync(fa, &sa[wr][0], S::K + S::pad);
        wmma::load_matrix_sync(fb, &sb[wc][0], S::K + S::pad);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < acc.num_elements; i++)
        acc.x[i] *= alpha;
    wmma::store_matrix_sync(&sc[wr][wc], acc, S::block + 4, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < S::block * S::block; i += blockDim.x) {
        const int r = i / S::block, q = i % S::block;
        if (row0 + r < m && col0 + q < n) {
            float *at = c + (row0 + r) * n + col0 + q;
            *at = sc[r][q] + beta * *at;
        }
    }
}
extern "C" __global__ void __launch_bounds__(128) gemm_f16(const half_t *a, const half_t *b, float *c, int m, int n, int k, float alpha, float beta) {
    gemm(a, b, c, m, n, k, alpha, beta);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void __launch_bounds__(128) gemm_bf16(const bfloat_t *a, const bfloat_t *b, float *c, int m, int n, int k, float alpha, float beta) {
    gemm(a, b, c, m, n, k, alpha, beta);
}
#else
// Before Ampere: no such kernel.
#endif
