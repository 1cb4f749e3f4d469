// Attention of one query per block: keys arrive in tiles by asynchronous copies, double-buffered, with an online
// softmax. Then sampling from the scores: a sort and a prefix sum of the block.
#include "check.h"
#include "packed.cuh"
#include "reduce.cuh"
#include <cub/cub.cuh>
#include <cuda_pipeline.h>

using namespace trainer;

#define DISPATCH_HEAD_DIM(dim, NAME, ...)                     \
    switch (dim) {                                            \
    case 32: { constexpr int NAME = 32; __VA_ARGS__ } break;  \
    case 64: { constexpr int NAME = 64; __VA_ARGS__ } break;  \
    case 128: { constexpr int NAME = 128; __VA_ARGS__ } break; \
    default: return static_cast<int>(cudaErrorInvalidValue);  \
    }

template <int vec_bytes> __device__ __forceinline__ void copy_async(void *smem, const void *gmem) {
    static_assert(vec_bytes == 4 || vec_bytes == 8 || vec_bytes == 16, "");
    __pipeline_memcpy_async(smem, gmem, vec_bytes);
}
// The usual form: zero if the predicate is false.
__device__ __forceinline__ void copy_async_or_zero(void *smem, const void *gmem, bool predicate) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(smem));
    const int bytes = predicate ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;\n" ::"r"(address), "l"(gmem), "n"(16), "r"(bytes));
}

template <int kDim, int kTile>
__global__ void __launch_bounds__(kTile)
    decode_attention_kernel(half *__restrict__ out, const half *__restrict__ q, const half *__restrict__ k, const half *__restrict__ v, int length,
                            float scale) {
    static_assert(kDim % 8 == 0 && kTile % WARP_SIZE == 0, "");
    extern __shared__ __align__(16) unsigned char raw[];
    half(*keys)[kTile][kDim] = reinterpret_cast<half(*)[kTile][kDim]>(raw);
    float *scores = reinterpret_cast<float *>(raw + 2 * sizeof(half) * kTile * kDim);
    const int head = blockIdx.x, thread = threadIdx.x;
    q += head * kDim;
    k += static_cast<size_t>(head) * length * kDim;
    v += static_cast<size_t>(head) * length * kDim;

    auto fetch = [&](int tile, int slot) {
        const int row = tile * kTile + thread;
#pragma unroll
        for (int c = 0; c < kDim; c += 8)
            if (row < length)
                copy_async<16>(&keys[slot][thread][c], k + static_cast<size_t>(row) * kDim + c);
            else
                copy_async_or_zero(&keys[slot][thread][c], k, false);
        __pipeline_commit();
    };
    const int tiles = CEIL_DIV(length, kTile);
    fetch(0, 0);
    float running_max = -INFINITY, running_sum = 0.0f;
    float acc[CEIL_DIV(kDim, kTile)] = {};
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            fetch(tile + 1, (tile + 1) & 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        const int row = tile * kTile + thread;
        float2 dot = make_float2(0.f, 0.f);
        const half2 *key = reinterpret_cast<const half2 *>(keys[tile & 1][thread]);
        const half2 *query = reinterpret_cast<const half2 *>(q);
#pragma unroll 8
        for (int c = 0; c < kDim / 2; c++) {
            const float2 a = __half22float2(key[c]), b = __half22float2(__ldg(query + c));
            dot.x = __fmaf_rn(a.x, b.x, dot.x);
            dot.y = __fmaf_rn(a.y, b.y, dot.y);
        }
        const float score = row < length ? (dot.x + dot.y) * scale : -INFINITY;
        const float tile_max = block_reduce<warp_max>(score, true, -INFINITY);
        const float new_max = fmaxf(running_max, tile_max);
        const float correction = exp2f((running_max - new_max) * 1.44269504f);
        const float weight = row < length ? exp2f((score - new_max) * 1.44269504f) : 0.0f;
        scores[thread] = weight;
        running_sum = running_sum * correction + block_reduce<warp_sum>(weight, true);
        running_max = new_max;
        __syncthreads();
        for (int c = thread, n = 0; c < kDim; c += kTile, n++) {
            acc[n] *= correction;
            for (int i = 0; i < kTile && tile * kTile + i < length; i++)
                acc[n] += scores[i] * __half2float(v[static_cast<size_t>(tile * kTile + i) * kDim + c]);
        }
        __syncthreads();
    }
    for (int c = thread, n = 0; c < kDim; c += kTile, n++)
        out[head * kDim + c] = __float2half_rn(acc[n] * __frcp_rn(running_sum));
}

extern "C" int trainer_attention(half *out, const half *q, const half *k, const half *v, int heads, int length, int dim, cudaStream_t stream) {
    DISPATCH_HEAD_DIM(dim, kDim, {
        constexpr int kTile = 64;
        constexpr size_t smem = 2 * sizeof(half) * kTile * kDim + sizeof(float) * kTile;
        auto kernel = &decode_attention_kernel<kDim, kTile>;
        CUDA_CHECK(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
        CUDA_CHECK(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
        (*kernel)<<<heads, kTile, smem, stream>>>(out, q, k, v, length, 1.0f / sqrtf(static_cast<float>(kDim)));
    })
    CUDA_CHECK(cudaPeekAtLastError());
    return 0;
}

// The smallest set of tokens whose probabilities sum to top_p: their number, and the tokens in order.
template <int kThreads, int kItems>
__global__ void top_p_kernel(int *__restrict__ count, int *__restrict__ order, const float *__restrict__ probabilities, int n, float top_p) {
    using Sort = cub::BlockRadixSort<float, kThreads, kItems, int>;
    using Scan = cub::BlockScan<float, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
    using Load = cub::BlockLoad<float, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Scan::TempStorage scan;
        typename Load::TempStorage load;
    } temp;
    float keys[kItems], sums[kItems];
    int tokens[kItems];
    Load(temp.load).Load(probabilities + blockIdx.x * n, keys, n, 0.0f);
#pragma unroll
    for (int i = 0; i < kItems; i++)
        tokens[i] = threadIdx.x * kItems + i;
    __syncthreads();
    Sort(temp.sort).SortDescending(keys, tokens);
    __syncthreads();
    Scan(temp.scan).ExclusiveSum(keys, sums);
    int kept = 0;
    for (int i = 0; i < kItems; i++) {
        const bool keep = sums[i] < top_p && keys[i] > 0.0f;
        kept += keep;
        if (const int at = threadIdx.x * kItems + i; at < n)
            order[blockIdx.x * n + at] = keep ? tokens[i] : -1;
    }
    const int total = __syncthreads_count(kept > 0) > 0 ? static_cast<int>(block_reduce<warp_sum>(static_cast<float>(kept))) : 0;
    if (threadIdx.x == 0)
        count[blockIdx.x] = total;
}

extern "C" int trainer_top_p(int *count, int *order, const float *probabilities, int rows, int n, float top_p, cudaStream_t stream) {
    constexpr int kThreads = 128, kItems = 4;
    if (n > kThreads * kItems)
        return static_cast<int>(cudaErrorInvalidValue);
    top_p_kernel<kThreads, kItems><<<rows, kThreads, 0, stream>>>(count, order, probabilities, n, top_p);
    CUDA_CHECK(cudaGetLastError());
    return 0;
}
