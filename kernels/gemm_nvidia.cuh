// C = alpha * A * B + beta * C on NVIDIA's tensor cores by `wgmma`, of operands of 16 bits, or of f8 that become f16 on their way.
//
// Two warpgroups compute a tile of C. Operands pass through shared memory 64 deep, several tiles under way. Each lies there as it does in
// memory, by rows or by columns; `wgmma` takes both. Workgroups go from tile to tile, and the next tile's operands are on their way while one
// is written. Tiles that are computed at the same time are neighbours, so that they read the same operands.
#pragma once
#include "gemm.cuh"
#include "nvidia.cuh"

#if defined(NVIDIA_MMA)
namespace nvidia {
// A tile of an f32 operand on its way to shared memory, where each depth has a row: `SIDE` numbers.
struct FloatTile {
    static constexpr unsigned SIDE = 128, DEPTH = 16, PITCH = SIDE + 4, CHUNKS = SIDE * DEPTH / 4 / THREADS;
    float4 held[CHUNKS];

    // A thread's chunk: its first row and depth. By rows, 4 depths of a row; by columns, 4 rows of a depth.
    static __device__ __forceinline__ unsigned row(bool by_columns, unsigned i) {
        return by_columns ? threadIdx.x % (SIDE / 4) * 4 : threadIdx.x / (DEPTH / 4) + i * (THREADS / (DEPTH / 4));
    }
    static __device__ __forceinline__ unsigned depth(bool by_columns, unsigned i) {
        return by_columns ? threadIdx.x / (SIDE / 4) + i * (THREADS / (SIDE / 4)) : threadIdx.x % (DEPTH / 4) * 4;
    }
    // Zeros stand for what is beyond the matrix.
    __device__ __forceinline__ void fetch(const Operand<float> &from, bool in_chunks, unsigned row0, unsigned depth0) {
#pragma unroll
        for (unsigned i = 0; i < CHUNKS; ++i) {
            const unsigned r = row0 + row(from.by_columns, i), d = depth0 + depth(from.by_columns, i);
            const unsigned across = from.by_columns ? r : d, width = from.by_columns ? from.rows : from.depth;
            const bool there = from.by_columns ? d < from.depth : r < from.rows;
            const float *at = from.at + (from.by_columns ? d * from.stride + r : r * from.stride + d);
            held[i] = {};
            if (there && in_chunks && across + 4 <= width) {
                held[i] = *reinterpret_cast<const float4 *>(at);
            } else if (there) {
                held[i].x = across < width ? at[0] : 0.0f;
                held[i].y = across + 1 < width ? at[1] : 0.0f;
                held[i].z = across + 2 < width ? at[2] : 0.0f;
                held[i].w = across + 3 < width ? at[3] : 0.0f;
            }
        }
    }
    __device__ __forceinline__ void store(bool by_columns, float *tile) const {
#pragma unroll
        for (unsigned i = 0; i < CHUNKS; ++i) {
            float *at = tile + depth(by_columns, i) * PITCH + row(by_columns, i);
            if (by_columns)
                *reinterpret_cast<float4 *>(at) = held[i];
            else
                at[0] = held[i].x, at[PITCH] = held[i].y, at[2 * PITCH] = held[i].z, at[3 * PITCH] = held[i].w;
        }
    }
};

// A block of 128 by 128 sums by fused multiply-adds: a thread has 8 by 8 of them, 4 neighbours each way twice. A tile is multiplied while the
// next one is on its way.
__device__ __forceinline__ void float_block_of(const Operand<float> &from_a, const Operand<float> &from_b, unsigned row0, unsigned column0,
                                               const Result<float, Rows<float>> &given) {
    constexpr unsigned DEPTH = FloatTile::DEPTH, PITCH = FloatTile::PITCH;
    __shared__ alignas(16) float tiles[2][2][DEPTH * PITCH];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned first_row = warp % 2 * 64 + lane % 8 * 4, first_column = warp / 2 * 32 + lane / 8 * 4;
    const auto whole = [](const Operand<float> &from) { return (reinterpret_cast<size_t>(from.at) | from.stride * 4) % 16 == 0; };
    const bool a_in_chunks = whole(from_a), b_in_chunks = whole(from_b);
    FloatTile a, b;
    float sums[8][8] = {};
    // What the last block read from the tiles, other warps may be reading still.
    __syncthreads();
    if (from_a.depth > 0) {
        a.fetch(from_a, a_in_chunks, row0, 0);
        b.fetch(from_b, b_in_chunks, column0, 0);
        a.store(from_a.by_columns, tiles[0][0]);
        b.store(from_b.by_columns, tiles[0][1]);
        __syncthreads();
    }
    unsigned buffer = 0;
#pragma unroll 1
    for (unsigned depth = 0; depth < from_a.depth; depth += DEPTH, buffer ^= 1) {
        const bool more = depth + DEPTH < from_a.depth;
        if (more) {
            a.fetch(from_a, a_in_chunks, row0, depth + DEPTH);
            b.fetch(from_b, b_in_chunks, column0, depth + DEPTH);
        }
        const float *a_tile = tiles[buffer][0] + first_row, *b_tile = tiles[buffer][1] + first_column;
#pragma unroll
        for (unsigned d = 0; d < DEPTH; ++d) {
            float4 left[2], right[2];
#pragma unroll
            for (unsigned i = 0; i < 2; ++i) {
                left[i] = *reinterpret_cast<const float4 *>(a_tile + d * PITCH + i * 32);
                right[i] = *reinterpret_cast<const float4 *>(b_tile + d * PITCH + i * 16);
            }
            const float x[8] = {left[0].x, left[0].y, left[0].z, left[0].w, left[1].x, left[1].y, left[1].z, left[1].w};
            const float y[8] = {right[0].x, right[0].y, right[0].z, right[0].w, right[1].x, right[1].y, right[1].z, right[1].w};
#pragma unroll
            for (unsigned i = 0; i < 8; ++i)
#pragma unroll
                for (unsigned j = 0; j < 8; ++j)
                    sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
        }
        if (more) {
            a.store(from_a.by_columns, tiles[buffer ^ 1][0]);
            b.store(from_b.by_columns, tiles[buffer ^ 1][1]);
        }
        __syncthreads();
    }
    const float alpha = given.alpha, beta = given.beta;
    const auto &c = given.c;
    const bool c_in_chunks = beta == 0 && (reinterpret_cast<size_t>(c.at) | c.stride * 4) % 16 == 0;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
        const unsigned row = row0 + first_row + i / 4 * 32 + i % 4;
        if (row >= from_a.rows)
            continue;
#pragma unroll
        for (unsigned j = 0; j < 8; j += 4) {
            const unsigned column = column0 + first_column + j / 4 * 16;
            float *at = c.row(row) + column;
            // beta = 0 must not read C: it may hold anything, NaN included
            if (c_in_chunks && column + 4 <= from_b.rows) {
                *reinterpret_cast<float4 *>(at) = {alpha * sums[i][j], alpha * sums[i][j + 1], alpha * sums[i][j + 2], alpha * sums[i][j + 3]};
                continue;
            }
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                if (column + e < from_b.rows)
                    at[e] = beta == 0 ? alpha * sums[i][j + e] : alpha * sums[i][j + e] + beta * at[e];
        }
    }
}
} // namespace nvidia
#endif

#if defined(NVIDIA_WGMMA)
namespace nvidia {
// What workgroups of `gemm_*_128` and `gemm_*_64` compute on NVIDIA's GPUs. The launcher has the same numbers: crates/kernels/src/nvidia.rs.
template <unsigned SIDE> struct Tiling;
template <> struct Tiling<128> {
    static constexpr unsigned ROWS = 128, COLUMNS = 256, STAGES = 4;
    // A warpgroup's part: so many columns from its first row and column on.
    static constexpr unsigned N = COLUMNS;
    static __device__ __forceinline__ unsigned row(unsigned warpgroup) { return warpgroup * WARPGROUP_ROWS; }
    static __device__ __forceinline__ unsigned column(unsigned) { return 0; }
};
template <> struct Tiling<64> {
    static constexpr unsigned ROWS = 64, COLUMNS = 64, STAGES = 4;
    static constexpr unsigned N = COLUMNS / 2;
    static __device__ __forceinline__ unsigned row(unsigned) { return 0; }
    static __device__ __forceinline__ unsigned column(unsigned warpgroup) { return warpgroup * N; }
};
// Depth of a tile in shared memory.
constexpr unsigned DEPTH = LINE_NUMBERS;

// Copies an operand's tile of `ROWS` rows from `row0`, `depth0` on; zeros stand for what is beyond the matrix. By rows, there is a line for each
// row; by columns, for every 64 rows a line for each depth.
template <typename T, unsigned ROWS, bool BY_ROWS, typename From>
__device__ __forceinline__ void copy_tile(const Operand<From> &from, bool in_chunks, unsigned row0, unsigned depth0, unsigned tile) {
    // A thread copies the same chunk of every 32nd line.
    const unsigned chunk = threadIdx.x % 8, first = threadIdx.x / 8, row = row0 + (BY_ROWS ? first : chunk * 8), depth = depth0 + (BY_ROWS ? chunk * 8 : first);
    const From *corner = from.at + (BY_ROWS ? row * from.stride + depth : depth * from.stride + row);
    const size_t step = from.stride * 32;
    const auto at = [&](unsigned i) { return BY_ROWS ? corner + i * step : corner + i % 2 * step + i / 2 * LINE_NUMBERS; };
    // How many of a chunk's numbers are there.
    const auto left = [](unsigned all, unsigned at) { return at < all ? min(all - at, 8u) : 0u; };
    const auto count = [&](unsigned i) {
        if (BY_ROWS)
            return row + i * 32 < from.rows ? left(from.depth, depth) : 0u;
        return depth + i % 2 * 32 < from.depth ? left(from.rows, row + i / 2 * LINE_NUMBERS) : 0u;
    };
    const unsigned to = tile + chunk_place(first, chunk);
    if constexpr (sizeof(From) == 2) {
        if (in_chunks) {
#pragma unroll
            for (unsigned i = 0; i < ROWS / 32; ++i)
                copy_chunk(to + i * (32 * LINE), at(i), count(i) * 2);
            return;
        }
    }
#pragma unroll 1
    for (unsigned i = 0; i < ROWS / 32; ++i) {
        Chunk result = {};
        if (sizeof(From) == 1 && count(i) == 8) {
            unsigned read[2 * sizeof(From)];
            read_dwords<2 * sizeof(From)>(read, at(i));
            result = chunk_of<T, From>(read);
        } else {
#pragma unroll
            for (unsigned e = 0; e < 8; ++e)
                if (e < count(i))
                    result.x[e / 2] |= static_cast<unsigned>(element<T>(at(i)[e])) << e % 2 * 16;
        }
        store_chunk(to + i * (32 * LINE), result);
    }
}

// Gives each of 4 neighbouring lanes what the 4 have at the place of its number.
__device__ __forceinline__ void exchange(unsigned (&x)[4]) {
    const unsigned lane = threadIdx.x % 4;
    const auto swap = [&](unsigned low, unsigned high, unsigned mask) {
        const bool upper = (lane & mask) != 0;
        const unsigned got = __shfl_xor_sync(0xffffffffu, upper ? x[low] : x[high], mask);
        (upper ? x[low] : x[high]) = got;
    };
    swap(0, 1, 1), swap(2, 3, 1), swap(0, 2, 2), swap(1, 3, 2);
}

// Computes a workgroup's tiles of all products.
template <typename T, unsigned SIDE, bool A_BY_ROWS, bool B_BY_ROWS, typename From, typename Out, typename Shape>
__device__ __forceinline__ void gemm_of(const Shape &shape, float alpha, const From *a, const From *b, float beta, Out *c, unsigned shared) {
    using Tile = Tiling<SIDE>;
    constexpr unsigned ROWS = Tile::ROWS, COLUMNS = Tile::COLUMNS, STAGES = Tile::STAGES, N = Tile::N, A_SIZE = ROWS * LINE, SIZE = (ROWS + COLUMNS) * LINE;
    const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const unsigned warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / WARPGROUP, 0);
    const unsigned down = (shape.m - 1) / ROWS + 1, across = (shape.n - 1) / COLUMNS + 1, steps = (shape.k + DEPTH - 1) / DEPTH;
    const size_t tiles = static_cast<size_t>(down) * across, all = tiles * shape.batches, workgroups = static_cast<size_t>(gridDim.x) * gridDim.y * gridDim.z;
    const auto whole = [](const From *at, size_t stride, size_t batch) {
        return (reinterpret_cast<size_t>(at) | stride * sizeof(From) | batch * sizeof(From)) % 16 == 0;
    };
    const bool a_in_chunks = whole(a, shape.lda, shape.batch_a), b_in_chunks = whole(b, shape.ldb, shape.batch_b);
    const bool c_in_chunks = (reinterpret_cast<size_t>(c) | shape.ldc * sizeof(Out) | shape.batch_c * sizeof(Out)) % 16 == 0;

    Operand<From> from_a, from_b;
    unsigned row0, column0;
    size_t batch;
    // Eight tiles down are computed, then those beside them.
    const auto place = [&](size_t index) {
        constexpr unsigned BAND = 8;
        batch = index / tiles;
        const unsigned tile = static_cast<unsigned>(index - batch * tiles), band = tile / (BAND * across), height = min(down - band * BAND, BAND);
        const unsigned within = tile - band * BAND * across;
        row0 = (band * BAND + within % height) * ROWS;
        column0 = within / height * COLUMNS;
        from_a = {a + batch * shape.batch_a, shape.m, shape.k, shape.lda, !A_BY_ROWS};
        from_b = {b + batch * shape.batch_b, shape.n, shape.k, shape.ldb, !B_BY_ROWS};
    };
    const auto copy = [&](unsigned step) {
        if (step < steps) {
            const unsigned at = shared + step % STAGES * SIZE;
            copy_tile<T, ROWS, A_BY_ROWS>(from_a, a_in_chunks, row0, step * DEPTH, at);
            copy_tile<T, COLUMNS, B_BY_ROWS>(from_b, b_in_chunks, column0, step * DEPTH, at + A_SIZE);
        }
        end_copies();
    };
    const auto begin = [&](size_t index) {
        place(index);
#pragma unroll
        for (unsigned step = 0; step < STAGES - 2; ++step)
            copy(step);
    };

    size_t index = blockIdx.x + static_cast<size_t>(gridDim.x) * (blockIdx.y + static_cast<size_t>(gridDim.y) * blockIdx.z);
    if (index < all)
        begin(index);
#pragma unroll 1
    for (; index < all; index += workgroups) {
        float sums[N / 2] = {};
#pragma unroll 1
        for (unsigned step = 0; step < steps; ++step) {
            // The step's operands are there, and nobody multiplies those of the step before the last any more.
            wait_for_copies<STAGES - 3>();
            show_to_wgmma();
            __syncthreads();
            const unsigned a_tile = shared + step % STAGES * SIZE + Tile::row(warpgroup) * LINE;
            const unsigned b_tile = shared + step % STAGES * SIZE + A_SIZE + (B_BY_ROWS ? Tile::column(warpgroup) * LINE : Tile::column(warpgroup) * 2);
            begin_products();
#pragma unroll
            for (unsigned d = 0; d < DEPTH / 16; ++d)
                wgmma<T, N, A_BY_ROWS, B_BY_ROWS>(sums, described(a_tile + (A_BY_ROWS ? d * 32 : d * 16 * LINE), DEPTH * LINE),
                                                  described(b_tile + (B_BY_ROWS ? d * 32 : d * 16 * LINE), DEPTH * LINE), true);
            end_products();
            copy(step + STAGES - 2);
            wait_for_products<1>();
        }
        wait_for_products<0>();
        const unsigned first_row = row0 + Tile::row(warpgroup) + threadIdx.x % WARPGROUP / 32 * 16 + g, first_column = column0 + Tile::column(warpgroup);
        Out *to = c + batch * shape.batch_c;
        __syncthreads();
        if (index + workgroups < all)
            begin(index + workgroups);

#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
            const unsigned row = first_row + 8 * r;
            Out *to_row = to + row * shape.ldc;
#pragma unroll
            for (unsigned j = 0; j < N / 8; j += 4) {
                const auto sum = [&](unsigned i) { return alpha * sums[(j + i / 2) * 4 + 2 * r + i % 2]; };
                const bool all_there = beta == 0 && c_in_chunks && first_column + (j + 4) * 8 <= shape.n;
                if constexpr (sizeof(Out) == 2) {
                    if (all_there) {
                        unsigned x[4];
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i)
                            x[i] = packed<Out>(sum(2 * i), sum(2 * i + 1));
                        exchange(x);
                        if (row < shape.m)
                            *reinterpret_cast<uint4 *>(to_row + first_column + (j + t) * 8) = {x[0], x[1], x[2], x[3]};
                        continue;
                    }
                }
#pragma unroll
                for (unsigned i = 0; i < 8; ++i) {
                    const unsigned column = first_column + (j + i / 2) * 8 + 2 * t + i % 2;
                    if (row < shape.m && column < shape.n)
                        to_row[column] = convert<Out>(beta == 0 ? sum(i) : sum(i) + beta * load(to_row + column));
                }
            }
        }
    }
    wait_for_copies<0>();
}

// Bytes of shared memory that the launch has to give.
template <unsigned SIDE> constexpr unsigned GEMM_SHARED = Tiling<SIDE>::STAGES * (Tiling<SIDE>::ROWS + Tiling<SIDE>::COLUMNS) * LINE + TILE_ALIGN;

template <typename T, unsigned SIDE, typename From, typename Out, typename Shape>
__device__ __forceinline__ void gemm(const Shape &shape, float alpha, const From *a, const From *b, float beta, Out *c) {
    extern __shared__ unsigned char launched[];
    const unsigned shared = (shared_address(launched) + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN;
    if (launched_shared_bytes() < GEMM_SHARED<SIDE>)
        __trap();
    if (shape.transposed_a == 0 && shape.transposed_b == 0)
        gemm_of<T, SIDE, true, false>(shape, alpha, a, b, beta, c, shared);
    else if (shape.transposed_a == 0)
        gemm_of<T, SIDE, true, true>(shape, alpha, a, b, beta, c, shared);
    else if (shape.transposed_b == 0)
        gemm_of<T, SIDE, false, false>(shape, alpha, a, b, beta, c, shared);
    else
        gemm_of<T, SIDE, false, true>(shape, alpha, a, b, beta, c, shared);
}
} // namespace nvidia
#endif
