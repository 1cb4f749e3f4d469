// The product of a quantised matrix with one vector of Q8_1 blocks, which reads the matrix once and little else.
#pragma once
#include "quant_stream.cuh"

// A workgroup of 32×8 threads computes rows for each of its warps, from a vector in LDS.
constexpr unsigned ONE_WARPS = 8;
constexpr unsigned ONE_THREADS = 32 * ONE_WARPS;
constexpr unsigned ONE_ROWS = 2;
// Workgroups of a multiprocessor.
constexpr unsigned ONE_BUSY = 4;
// Values of the vector that are in LDS at a time.
constexpr unsigned STAGE = 4096;

// 32 values of the vector. Sums include the scale; except with FINE, each is the sum of both halves.
struct alignas(16) Activations {
    uint32_t a[2][QUADS];
    float d, sum[2], gap;
};

// The matrices of experts, one after the other, for pairs of a vector and an expert; blockIdx.y is the workgroup's pair. `ids` has each
// pair's expert; also the number of pairs of a vector. Without ids, there is one matrix and one vector.
struct Experts {
    const uint32_t *ids;
    unsigned count, pairs_of_vector;
};

// `lanes` threads, a power of two, share a row, and a warp has 32 / lanes pairs of rows. A thread takes half a block of 256 values, or a
// whole one of 32, so that it loads scales once.
template <typename Q>
__device__ __forceinline__ void mul_one(const Q *x, const Q8_1 *y, Experts experts, void *out, Out type, unsigned columns, unsigned rows,
                                        unsigned lanes) {
    constexpr unsigned PARTS = Q::VALUES == 32 ? 1 : 4, PIECES = Q::FINE ? 2 : 1;
    struct alignas(16) Record {
        Activations parts[PARTS];
    };
    // with a gap of four words if there are several parts, so that neighbouring parts do not start in the same bank
    constexpr unsigned PITCH = sizeof(Record) / 16 + (PARTS > 1);
    __shared__ float4 stage[STAGE / (32 * PARTS) * PITCH];
    const unsigned thread = threadIdx.y * 32 + threadIdx.x, lane = threadIdx.x % lanes;
    const unsigned first = ((blockIdx.x * ONE_WARPS + threadIdx.y) * (32 / lanes) + threadIdx.x / lanes) * ONE_ROWS;
    const size_t blocks = columns / Q::VALUES;
    // Nothing else is read before the kernel in front has ended, but rows of the one matrix.
    if (experts.ids)
        wait_for_previous();
    const unsigned expert = experts.ids ? experts.ids[blockIdx.y] : 0;
    // products with an expert that does not exist are NaN
    const bool there = expert < experts.count;
    x += there ? expert * blocks * rows : 0;
    y += static_cast<size_t>(blockIdx.y / experts.pairs_of_vector) * (columns / Q8_1::VALUES);

    if constexpr (NVIDIA) {
        // Rows are shared by as many workgroups as there is room for.
        const Share share = {blockIdx.x, min(gridDim.x, multiprocessors() * ONE_BUSY), thread, ONE_THREADS};
        product_by_some<Q, ONE_THREADS>(x, y, columns, rows, share, experts.ids != nullptr, [=](unsigned row, float sum) {
            store_as(type, out, static_cast<size_t>(blockIdx.y) * rows + row, there ? sum : NAN);
        });
        return;
    }
    float sum[ONE_ROWS] = {};
#pragma unroll 1
    for (unsigned begin = 0; begin < columns; begin += STAGE) {
        const unsigned values = min(STAGE, columns - begin);
        if (begin > 0)
            __syncthreads();
#pragma unroll 1
        for (unsigned i = thread; i < values / GROUP; i += ONE_THREADS) {
            const Q8_1 &block = y[begin / 32 + i / 2];
            Record &record = reinterpret_cast<Record &>(stage[i / (2 * PARTS) * PITCH]);
            Activations &part = record.parts[i / 2 % PARTS];
            uint32_t a[QUADS];
            __builtin_memcpy(a, block.qs + GROUP * (i % 2), sizeof a);
            int total = 0;
            for (unsigned quad = 0; quad < QUADS; ++quad) {
                part.a[i % 2][quad] = a[quad];
                total = dot4(0x01010101u, a[quad], total);
            }
            if (!Q::FINE)
                total += __shfl_xor_sync(0xffffffffu, total, 1);
            const float d = half_at(block.d);
            part.sum[i % 2] = d * static_cast<float>(total);
            if (i % 2 == 0)
                part.d = d;
        }
        __syncthreads();
#pragma unroll 1
        for (unsigned at = lane; at < values / (32 * PARTS); at += lanes) {
            const Record &record = reinterpret_cast<const Record &>(stage[at * PITCH]);
            const unsigned value = begin + at * 32 * PARTS;
            const unsigned group = value % Q::VALUES / GROUP;
            const Q *block[ONE_ROWS];
            // the last row repeats beyond the end
            for (unsigned r = 0; r < ONE_ROWS; ++r)
                block[r] = x + min(first + r, rows - 1) * blocks + value / Q::VALUES;
            for (unsigned p = 0; p < PARTS; ++p) {
                const Activations part = record.parts[p];
                for (unsigned r = 0; r < ONE_ROWS; ++r)
                    for (unsigned piece = 0; piece < PIECES; ++piece) {
                        const Scale scale = block[r]->scale(group + 2 * p + piece);
                        int dot = 0;
                        for (unsigned half = piece; half < piece + 2 / PIECES; ++half)
                            for (unsigned i = 0; i < QUADS; ++i)
                                dot = dot4(block[r]->quad(group + 2 * p + half, i), part.a[half][i], dot);
                        sum[r] = fmaf(part.d, scale.d * static_cast<float>(dot), sum[r]);
                        if (Q::OFFSET)
                            sum[r] = fmaf(scale.m, part.sum[piece], sum[r]);
                    }
            }
        }
    }
    for (unsigned r = 0; r < ONE_ROWS; ++r) {
        for (unsigned mask = lanes / 2; mask > 0; mask /= 2)
            sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], mask);
        if (lane == 0 && first + r < rows)
            store_as(type, out, static_cast<size_t>(blockIdx.y) * rows + first + r, there ? sum[r] : NAN);
    }
}
