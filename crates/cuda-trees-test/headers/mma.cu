// Fragments of every shape and type: D = 2 (A B + C), by each of two warps.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

template <typename Stored, typename T, typename Acc, int M, int N, int K, typename LA, typename LB, bool CRow>
static __device__ void tile(const Stored *a, const Stored *b, const Acc *c, Acc *d) {
    constexpr unsigned lda = std::is_same<LA, wmma::row_major>::value ? K : M;
    constexpr unsigned ldb = std::is_same<LB, wmma::row_major>::value ? N : K, ldc = CRow ? N : M;
    const int warp = threadIdx.x / 32;
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> fc, fd;
    wmma::load_matrix_sync(fa, a + warp * M * K, lda);
    wmma::load_matrix_sync(fb, b + warp * K * N, ldb);
    wmma::load_matrix_sync(fc, c + warp * M * N, ldc, CRow ? wmma::mem_row_major : wmma::mem_col_major);
    if constexpr (std::is_same<T, wmma::precision::tf32>::value) {
        for (int i = 0; i < fa.num_elements; i++)
            fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
        for (int i = 0; i < fb.num_elements; i++)
            fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    }
    wmma::mma_sync(fd, fa, fb, fc);
    for (int i = 0; i < fd.num_elements; i++)
        fd.x[i] = fd.x[i] + fd.x[i];
    wmma::store_matrix_sync(d + warp * M * N, fd, ldc, CRow ? wmma::mem_row_major : wmma::mem_col_major);
}
#define TILE(NAME, STORED, T, ACC, M, N, K, LA, LB, CROW)                                                             \
    extern "C" __global__ void NAME(const STORED *a, const STORED *b, const ACC *c, ACC *d) {                         \
        tile<STORED, T, ACC, M, N, K, wmma::LA, wmma::LB, CROW>(a, b, c, d);                                          \
    }
TILE(f16_16_16_16, half, half, float, 16, 16, 16, row_major, col_major, true)
TILE(f16_32_8_16, half, half, float, 32, 8, 16, col_major, row_major, false)
TILE(f16_8_32_16, half, half, half, 8, 32, 16, row_major, row_major, true)
TILE(bf16_16_16_16, __nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, col_major, col_major, false)
TILE(bf16_32_8_16, __nv_bfloat16, __nv_bfloat16, float, 32, 8, 16, row_major, col_major, true)
TILE(s8_16_16_16, signed char, signed char, int, 16, 16, 16, row_major, col_major, true)
TILE(u8_8_32_16, unsigned char, unsigned char, int, 8, 32, 16, col_major, row_major, false)
TILE(tf32_16_16_8, float, wmma::precision::tf32, float, 16, 16, 8, row_major, col_major, true)
TILE(f64_8_8_4, double, double, double, 8, 8, 4, row_major, col_major, true)

// Elements of four bits and of one: D = A B + C, then the counts of bits that differ and of bits in common.
template <typename T> static __device__ void packed(const int *a, const int *b, const int *c, int *d, bool satf) {
    wmma::fragment<wmma::matrix_a, 8, 8, 32, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, T, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
    wmma::load_matrix_sync(fa, a, 64);
    wmma::load_matrix_sync(fb, b, 32);
    wmma::load_matrix_sync(fc, c, 8, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc, satf);
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_col_major);
}
extern "C" __global__ void packed_s4(const int *a, const int *b, const int *c, int *d) {
    packed<wmma::experimental::precision::s4>(a, b, c, d, true);
}
extern "C" __global__ void packed_u4(const int *a, const int *b, const int *c, int *d) {
    packed<wmma::experimental::precision::u4>(a, b, c, d, false);
}
extern "C" __global__ void packed_b1(const int *a, const int *b, int *d) {
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
    wmma::load_matrix_sync(fa, a, 256);
    wmma::load_matrix_sync(fb, b, 128);
    wmma::fill_fragment(fc, 3);
    wmma::bmma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
    wmma::fill_fragment(fc, 0);
    wmma::bmma_sync(fc, fa, fb, fc, wmma::experimental::bmmaBitOpAND, wmma::experimental::bmmaAccumulateOpPOPC);
    wmma::store_matrix_sync(d + 64, fc, 8, wmma::mem_row_major);
}
