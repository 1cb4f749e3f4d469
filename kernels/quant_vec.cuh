// Products of a quantised matrix with one to eight vectors of Q8_1 blocks, exact except for the roundings of f32 products and sums. Shared
// by `quantized` and `mmvq_gguf`.
#pragma once
#include "overlap.cuh"
#include "quant_warp.cuh"
#include "reduce.cuh"

// Four vectors or fewer are multiplied by workgroups of 32×4 threads, more by 32×2; one vector by a workgroup for each row, more by one
// for each two rows. Callers must launch it so.
constexpr unsigned VEC_THREADS = 128;
constexpr unsigned SUMMANDS = 16;
// Of a product with one vector on NVIDIA: workgroups of a multiprocessor that share all rows, of eight that there is room for.
constexpr unsigned VEC_BUSY = 5;
// Up to so many rows for each multiprocessor, the next kernel may begin with it.
constexpr unsigned VEC_SMALL = 64;

// The sums of all threads for each value, with a gap so that threads that read different values access different banks.
__shared__ float sums[8 * (VEC_THREADS + VEC_THREADS / SUMMANDS)];

// Computes `ROWS` rows of `out` from `first_row`; `y_stride` counts blocks, `out_stride` elements. One function for any number of vectors:
// a thread's sums are in LDS, and the loop over vectors is not unrolled. Not inlined, because the 24 kernels of a type differ only in
// arguments.
template <typename Q, unsigned ROWS>
static __noinline__ __device__ void mul_mat_vec(const Q *x, const Q8_1 *y, void *out, Out type, unsigned first_row, unsigned columns,
                                                unsigned rows, unsigned y_stride, unsigned out_stride, unsigned vectors) {
    x = uniform(x), y = uniform(y), out = uniform(out), type = static_cast<Out>(uniform(static_cast<unsigned>(type)));
    first_row = uniform(first_row), columns = uniform(columns), rows = uniform(rows);
    y_stride = uniform(y_stride), out_stride = uniform(out_stride), vectors = uniform(vectors);
    const unsigned threads = vectors <= 4 ? VEC_THREADS : VEC_THREADS / 2;
    const unsigned parts = threads / SUMMANDS, pitch = threads + parts;
    const unsigned values = ROWS * vectors;
    const unsigned thread = threadIdx.y * 32 + threadIdx.x;
#pragma unroll 1
    for (unsigned value = 0; value < values; ++value)
        sums[value * pitch + thread] = 0.0f;

    constexpr unsigned GROUPS = Unit<Q>::GROUPS;
    const unsigned blocks = columns / Q::VALUES;
#pragma unroll 1
    for (unsigned unit = thread; unit < blocks * Unit<Q>::PER_BLOCK; unit += threads) {
        const Unit<Q> at(unit);
        uint32_t q[ROWS][GROUPS][QUADS];
        Scale scale[ROWS][GROUPS];
        for (unsigned r = 0; r < ROWS; ++r) {
            // the last row repeats beyond the end
            const Q &block = x[static_cast<size_t>(min(first_row + r, rows - 1)) * blocks + at.block];
            for (unsigned k = 0; k < GROUPS; ++k) {
                scale[r][k] = block.scale(at.group(k));
                for (unsigned i = 0; i < QUADS; ++i)
                    q[r][k][i] = block.quad(at.group(k), i);
            }
        }
        const Q8_1 *vector = y + at.block * (Q::VALUES / Q8_1::VALUES);
#pragma unroll 1
        for (unsigned value = 0; value < values; value += ROWS, vector += y_stride) {
            float sum[ROWS] = {};
            for (unsigned k = 0; k < GROUPS; ++k) {
                const Q8_1 &block = vector[at.group(k) / 2];
                uint32_t a[QUADS];
                __builtin_memcpy(a, block.qs + GROUP * (at.group(k) % 2), sizeof a);
                const float d = half_at(block.d);
                int total = 0;
                if (Q::OFFSET)
                    for (unsigned i = 0; i < QUADS; ++i)
                        total = dot4(0x01010101u, a[i], total);
                for (unsigned r = 0; r < ROWS; ++r) {
                    int dot = 0;
                    for (unsigned i = 0; i < QUADS; ++i)
                        dot = dot4(q[r][k][i], a[i], dot);
                    float product = scale[r][k].d * static_cast<float>(dot);
                    if (Q::OFFSET)
                        product = fmaf(scale[r][k].m, static_cast<float>(total), product);
                    sum[r] = fmaf(d, product, sum[r]);
                }
            }
            for (unsigned r = 0; r < ROWS; ++r)
                sums[(value + r) * pitch + thread] += sum[r];
        }
    }
    __syncthreads();

    const unsigned value = thread / parts, part = thread % parts;
    float sum = 0.0f;
    if (value < values)
        for (unsigned i = 0; i < SUMMANDS; ++i)
            sum += sums[value * pitch + i * parts + part];
    for (unsigned mask = parts / 2; mask > 0; mask /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    const unsigned row = first_row + value % ROWS;
    if (part == 0 && value < values && row < rows)
        store_as(type, out, static_cast<size_t>(value / ROWS) * out_stride + row, sum);
}

// A product with one vector on NVIDIA. The grid has a workgroup for each row, most of which end at once: what the others have of the vector serves
// several rows. Where a warp has two rows on the way, few workgroups are enough, the first ones; else every fourth has a row for each warp, so
// that there are always as many as there is room for.
template <typename Q>
__device__ __forceinline__ void vec_by_warps(const Q *x, const Q8_1 *y, void *out, Out type, unsigned columns, unsigned rows) {
    constexpr unsigned WARPS = VEC_THREADS / 32;
    Share share = {blockIdx.x, gridDim.x, threadIdx.y * 32 + threadIdx.x, VEC_THREADS};
    if constexpr (WARP_ROWS<Q> > 1) {
        share.blocks = min(gridDim.x, multiprocessors() * VEC_BUSY);
    } else {
        if (share.block % WARPS != 0)
            return;
        share.block /= WARPS, share.blocks = (gridDim.x - 1) / WARPS + 1;
    }
    if (share.block >= share.blocks)
        return;
    __shared__ alignas(16) Stage stage;
    // The next kernel's workgroups would be in the way of a large product.
    if (gridDim.x <= multiprocessors() * VEC_SMALL)
        let_next_begin();
    wait_for_previous();
    warp_product(x, y, columns, rows, share, stage, [=](unsigned row, float sum) { store_as(type, out, row, sum); });
}

// A workgroup's share of a product with `vectors` vectors.
template <typename Q>
__device__ __forceinline__ void vec_workgroup(const void *x, const void *y, void *out, Out type, int columns, int rows, int y_stride,
                                              int out_stride, unsigned vectors) {
    const Q *matrix = static_cast<const Q *>(x);
    const Q8_1 *blocks = static_cast<const Q8_1 *>(y);
    if constexpr (NVIDIA) {
        if (vectors == 1)
            return vec_by_warps(matrix, blocks, out, type, columns, rows);
    }
    if (vectors == 1)
        mul_mat_vec<Q, 1>(matrix, blocks, out, type, blockIdx.x, columns, rows, y_stride, out_stride, vectors);
    else
        mul_mat_vec<Q, 2>(matrix, blocks, out, type, 2 * blockIdx.x, columns, rows, y_stride, out_stride, vectors);
}

// Quantises rows of `columns` numbers to Q8_1 blocks, padded with zeros up to `padded`, a multiple of 32. A thread has a pack of numbers, and there may be
// more threads than packs, in whole warps.
template <typename T> __device__ __forceinline__ void quantize_q8_1_row(const T *x, void *out, int columns, int padded) {
    let_next_begin();
    wait_for_previous();
    const size_t row = blockIdx.y * blockDim.y + threadIdx.y, n = columns, end = padded;
    const size_t at = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * PACK<T>;
    const T *numbers = x + row * n + at;
    Pack<T> pack;
    if (at + PACK<T> <= n)
        pack = read_pack(numbers, is_wide(numbers));
    else
#pragma unroll
        for (unsigned j = 0; j < PACK<T>; ++j)
            pack.at[j] = at + j < n ? numbers[j] : convert<T>(0.0f);
    quantize_pack(pack, at < end, static_cast<Q8_1 *>(out) + row * (end / Q8_1::VALUES), at);
}
