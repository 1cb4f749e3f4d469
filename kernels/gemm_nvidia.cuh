// C = alpha * A * B + beta * C on NVIDIA's tensor cores by `wgmma`, of operands of 16 bits, or of f8 that become f16 on their way.
//
// Two warpgroups compute a tile of C. Operands pass through shared memory 64 deep, several tiles under way. Each lies there as it does in
// memory, by rows or by columns; `wgmma` takes both. Workgroups go from tile to tile, and the next tile's operands are on their way while one
// is written. Tiles that are computed at the same time are neighbours, so that they read the same operands. Where there are fewer tiles than
// multiprocessors, two or four of these share a tile's depth, and add their sums through each other's shared memory.
#pragma once
#include "gemm.cuh"
#include "nvidia.cuh"
#include "overlap.cuh"

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
// A tile of C that two warpgroups compute: 64 rows and all columns each, or where there are only 64 rows, half of the columns. `STAGES` tiles of
// operands are in shared memory; each tiling has as much of it. The launcher has the same numbers: crates/kernels/src/nvidia.rs.
template <unsigned ROWS_OF, unsigned COLUMNS_OF, unsigned STAGES_OF> struct Tiling {
    static constexpr unsigned ROWS = ROWS_OF, COLUMNS = COLUMNS_OF, STAGES = STAGES_OF;
    static constexpr bool BESIDE = ROWS == WARPGROUP_ROWS;
    // A warpgroup's part: so many columns from its first row and column on.
    static constexpr unsigned N = BESIDE ? COLUMNS / 2 : COLUMNS;
    static __device__ __forceinline__ unsigned row(unsigned warpgroup) { return BESIDE ? 0 : warpgroup * WARPGROUP_ROWS; }
    static __device__ __forceinline__ unsigned column(unsigned warpgroup) { return BESIDE ? warpgroup * N : 0; }
};
using LargeTiling = Tiling<128, 256, 4>;
using MiddleTiling = Tiling<128, 128, 6>;
using SmallTiling = Tiling<64, 128, 8>;
// Depth of a tile in shared memory.
constexpr unsigned DEPTH = LINE_NUMBERS;
// Bytes of shared memory that the launch has to give.
template <typename Tile> constexpr unsigned TILES_SHARED = Tile::STAGES * (Tile::ROWS + Tile::COLUMNS) * LINE + TILE_ALIGN;

// Where a thread's chunks of a tile of `ROWS` rows are in memory: the same chunk of every 32nd line. Lines are rows of the operand, or by columns, for
// every 64 rows, depths. Zeros stand for what is beyond the matrix. Bytes are `HELD` in registers first, and converted.
__device__ __forceinline__ unsigned chunk_of_thread() { return threadIdx.x % 8; }
__device__ __forceinline__ unsigned line_of_thread() { return threadIdx.x / 8; }
// How many of a chunk's numbers are there.
__device__ __forceinline__ unsigned left_of_chunk(unsigned all, unsigned at) { return at < all ? min(all - at, 8u) : 0u; }

template <typename T, typename From, unsigned ROWS, bool BY_ROWS> struct Lines {
    static constexpr bool HELD = sizeof(From) == 1;
    Operand<From> from;
    unsigned row0;
    // Whether all chunks begin at multiples of 16 bytes.
    bool in_chunks;
    unsigned held[ROWS / 32 * 2];

    __device__ __forceinline__ void go_to(const Operand<From> &operand, unsigned row, bool whole) { from = operand, row0 = row, in_chunks = whole; }
    __device__ __forceinline__ unsigned row() const { return row0 + (BY_ROWS ? line_of_thread() : chunk_of_thread() * 8); }
    static __device__ __forceinline__ unsigned depth(unsigned depth0) { return depth0 + (BY_ROWS ? chunk_of_thread() * 8 : line_of_thread()); }
    __device__ __forceinline__ const From *at(unsigned i, unsigned depth0) const {
        const From *corner = from.at + (BY_ROWS ? row() * from.stride + depth(depth0) : depth(depth0) * from.stride + row());
        const size_t step = from.stride * 32;
        return BY_ROWS ? corner + i * step : corner + i % 2 * step + i / 2 * LINE_NUMBERS;
    }
    __device__ __forceinline__ unsigned count(unsigned i, unsigned depth0) const {
        if (BY_ROWS)
            return row() + i * 32 < from.rows ? left_of_chunk(from.depth, depth(depth0)) : 0u;
        return depth(depth0) + i % 2 * 32 < from.depth ? left_of_chunk(from.rows, row() + i / 2 * LINE_NUMBERS) : 0u;
    }
    __device__ __forceinline__ Chunk chunk(unsigned i) const { return chunk_of<T, From>(held + 2 * i); }
};

// The same of rows at given places.
template <typename T, typename From, unsigned ROWS> struct PlacedLines {
    static constexpr bool HELD = false;
    static_assert(sizeof(From) == 2, "not converted");
    // Null where there is no row.
    const From *rows[ROWS / 32];
    unsigned depth;
    bool in_chunks;

    __device__ __forceinline__ const From *at(unsigned i, unsigned depth0) const { return rows[i] + depth0 + chunk_of_thread() * 8; }
    __device__ __forceinline__ unsigned count(unsigned i, unsigned depth0) const {
        return rows[i] == nullptr ? 0u : left_of_chunk(depth, depth0 + chunk_of_thread() * 8);
    }
};

// Begins to read a tile of bytes, `depth0` on, that `copy_tile` converts.
template <unsigned ROWS, typename From> __device__ __forceinline__ void fetch_tile(From &lines, unsigned depth0) {
#pragma unroll
    for (unsigned i = 0; i < ROWS / 32; ++i) {
        const auto *at = lines.at(i, depth0);
        const unsigned count = lines.count(i, depth0);
        unsigned *held = lines.held + 2 * i;
        if (count == 8) {
            read_dwords<2>(held, at);
        } else {
            uint64_t bits = 0;
#pragma unroll 1
            for (unsigned e = 0; e < count; ++e)
                bits |= static_cast<uint64_t>(bits_as<uint8_t>(at[e])) << e * 8;
            held[0] = static_cast<unsigned>(bits), held[1] = static_cast<unsigned>(bits >> 32);
        }
    }
}

// Copies an operand's tile, `depth0` on.
template <typename T, unsigned ROWS, typename From> __device__ __forceinline__ void copy_tile(const From &lines, unsigned depth0, unsigned tile) {
    const unsigned to = tile + chunk_place(line_of_thread(), chunk_of_thread());
    if constexpr (From::HELD) {
#pragma unroll
        for (unsigned i = 0; i < ROWS / 32; ++i)
            store_chunk(to + i * (32 * LINE), lines.chunk(i));
    } else if (lines.in_chunks) {
#pragma unroll
        for (unsigned i = 0; i < ROWS / 32; ++i)
            copy_chunk(to + i * (32 * LINE), lines.at(i, depth0), lines.count(i, depth0) * 2);
    } else {
#pragma unroll 1
        for (unsigned i = 0; i < ROWS / 32; ++i) {
            const auto *at = lines.at(i, depth0);
            const unsigned count = lines.count(i, depth0);
            Chunk result = {};
#pragma unroll
            for (unsigned e = 0; e < 8; ++e)
                if (e < count)
                    result.x[e / 2] |= static_cast<unsigned>(element<T>(at[e])) << e % 2 * 16;
            store_chunk(to + i * (32 * LINE), result);
        }
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

// A sum of a unit: 8 of a row, of 4 times 8 columns.
template <unsigned COUNT> __device__ __forceinline__ float &sum_of(float (&sums)[COUNT], unsigned unit, unsigned i) {
    return sums[(unit / 2 * 4 + i / 2) * 4 + 2 * (unit % 2) + i % 2];
}

// Computes a workgroup's tiles. `Work` has the number of `tiles` and their `depth`; `place` gives a tile's operands and its place in C, and says
// whether there is something to compute. The depth of a tile is shared by `PARTS` workgroups, which are a cluster; each then adds the others' sums
// of its part of the tile, always in the same order.
template <typename T, typename Tile, bool A_BY_ROWS, bool B_BY_ROWS, unsigned PARTS, typename Work>
__device__ __forceinline__ void compute_tiles(const Work &work, float alpha, float beta, unsigned shared) {
    using Out = typename Work::Out;
    constexpr unsigned ROWS = Tile::ROWS, COLUMNS = Tile::COLUMNS, STAGES = Tile::STAGES, N = Tile::N, A_SIZE = ROWS * LINE, SIZE = (ROWS + COLUMNS) * LINE;
    // Units of a warpgroup's sums: a thread has 8 of each.
    constexpr unsigned UNITS = N / 16;
    static_assert(UNITS % PARTS == 0 && ROWS * COLUMNS * 4 <= STAGES * SIZE, "each workgroup adds as many, and there is room for all");
    const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const unsigned warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / WARPGROUP, 0);
    const unsigned part = blockIdx.x % PARTS, all_steps = (work.depth + DEPTH - 1) / DEPTH;
    const unsigned first_step = PARTS == 1 ? 0 : all_steps * part / PARTS, steps = PARTS == 1 ? all_steps : all_steps * (part + 1) / PARTS - first_step;
    const size_t workgroups = gridDim.x / PARTS;

    typename Work::template A<T, ROWS, A_BY_ROWS> a;
    typename Work::template B<T, COLUMNS, B_BY_ROWS> b;
    typename Work::To to;
    const auto copy = [&](unsigned step) {
        if (step < steps) {
            const unsigned at = shared + step % STAGES * SIZE, depth0 = (first_step + step) * DEPTH;
            copy_tile<T, ROWS>(a, depth0, at);
            copy_tile<T, COLUMNS>(b, depth0, at + A_SIZE);
        }
        end_copies();
    };
    const auto fetch = [&](unsigned step) {
        if (step < steps) {
            if constexpr (decltype(a)::HELD)
                fetch_tile<ROWS>(a, (first_step + step) * DEPTH);
            if constexpr (decltype(b)::HELD)
                fetch_tile<COLUMNS>(b, (first_step + step) * DEPTH);
        }
    };
    // Begins with the next tile that has something to compute.
    const auto begin = [&](size_t index) {
        while (index < work.tiles && !work.template place<Tile>(index, a, b, to))
            index += workgroups;
        if (index < work.tiles) {
            fetch(0);
#pragma unroll
            for (unsigned step = 0; step < STAGES - 2; ++step) {
                copy(step);
                fetch(step + 1);
            }
        }
        return index;
    };

    size_t index = begin(blockIdx.x / PARTS);
#pragma unroll 1
    while (index < work.tiles) {
        float sums[N / 2] = {};
#pragma unroll 1
        for (unsigned step = 0; step < steps; ++step) {
            // The step's operands are there, and nobody multiplies those of the step before the last any more.
            wait_for_copies<STAGES - 3>();
            show_to_wgmma();
            __syncthreads();
            const unsigned a_tile = shared + step % STAGES * SIZE + Tile::row(warpgroup) * LINE;
            const unsigned b_tile = shared + step % STAGES * SIZE + A_SIZE + (B_BY_ROWS ? Tile::column(warpgroup) * LINE : Tile::column(warpgroup) / 64 * (DEPTH * LINE));
            begin_products();
#pragma unroll
            for (unsigned d = 0; d < DEPTH / 16; ++d)
                wgmma<T, N, A_BY_ROWS, B_BY_ROWS>(sums, described(a_tile + (A_BY_ROWS ? d * 32 : d * 16 * LINE), DEPTH * LINE),
                                                  described(b_tile + (B_BY_ROWS ? d * 32 : d * 16 * LINE), DEPTH * LINE), true);
            end_products();
            copy(step + STAGES - 2);
            fetch(step + STAGES - 1);
            wait_for_products<1>();
        }
        wait_for_products<0>();
        const typename Work::To written = to;
        const unsigned first_row = written.row0 + Tile::row(warpgroup) + threadIdx.x % WARPGROUP / 32 * 16 + g, first_column = written.column0 + Tile::column(warpgroup);
        __syncthreads();
        if constexpr (PARTS > 1) {
            // Two of a thread's sums are beside those of its neighbours.
            constexpr unsigned EACH = UNITS / PARTS;
            const auto place = [&](unsigned unit, unsigned i) { return shared + ((unit * 4 + i) * THREADS + threadIdx.x) * 8; };
#pragma unroll
            for (unsigned unit = 0; unit < UNITS; ++unit)
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    if (unit / EACH != part)
                        store_two(place(unit, i), sum_of(sums, unit, 2 * i), sum_of(sums, unit, 2 * i + 1));
            cluster_barrier();
            float2 others[PARTS - 1][EACH * 4];
#pragma unroll
            for (unsigned other = 1; other < PARTS; ++other)
#pragma unroll
                for (unsigned i = 0; i < EACH * 4; ++i)
                    others[other - 1][i] = load_two(place(part * EACH + i / 4, i % 4), (part + other) % PARTS);
#pragma unroll
            for (unsigned unit = 0; unit < UNITS; ++unit)
#pragma unroll
                for (unsigned other = 1; other < PARTS; ++other)
#pragma unroll
                    for (unsigned i = 0; i < 4; ++i) {
                        sum_of(sums, unit, 2 * i) += others[other - 1][unit % EACH * 4 + i].x;
                        sum_of(sums, unit, 2 * i + 1) += others[other - 1][unit % EACH * 4 + i].y;
                    }
            // The others have read this workgroup's sums.
            cluster_barrier();
        }
        index = begin(index + workgroups);

#pragma unroll
        for (unsigned r = 0; r < 2; ++r) {
            const unsigned row = first_row + 8 * r;
            const bool there = row < written.rows;
            Out *to_row = written.row(there ? row : written.row0);
#pragma unroll
            for (unsigned j = 0; j < N / 8; j += 4) {
                if (PARTS > 1 && (j / 2 + r) / (UNITS / PARTS) != part)
                    continue;
                float x[8];
#pragma unroll
                for (unsigned i = 0; i < 8; ++i)
                    x[i] = alpha * sum_of(sums, j / 2 + r, i);
                if constexpr (sizeof(Out) == 2) {
                    if (beta == 0 && written.in_chunks && first_column + (j + 4) * 8 <= written.columns) {
                        unsigned two[4];
#pragma unroll
                        for (unsigned i = 0; i < 4; ++i)
                            two[i] = packed<Out>(x[2 * i], x[2 * i + 1]);
                        exchange(two);
                        if (there)
                            *reinterpret_cast<uint4 *>(to_row + first_column + (j + t) * 8) = {two[0], two[1], two[2], two[3]};
                        continue;
                    }
                }
#pragma unroll
                for (unsigned i = 0; i < 8; ++i) {
                    const unsigned column = first_column + (j + i / 2) * 8 + 2 * t + i % 2;
                    if (there && column < written.columns)
                        to_row[column] = convert<Out>(beta == 0 ? x[i] : x[i] + beta * load(to_row + column));
                }
            }
        }
    }
    wait_for_copies<0>();
}

// The shared memory that the launch has given, from a multiple of TILE_ALIGN on.
template <typename Tile> __device__ __forceinline__ unsigned tiles_shared() {
    extern __shared__ unsigned char launched[];
    if (launched_shared_bytes() < TILES_SHARED<Tile>)
        __trap();
    return (shared_address(launched) + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN;
}

// Whether all rows of a matrix, of all matrices of a batch, begin at multiples of 16 bytes.
template <typename T> __device__ __forceinline__ bool all_in_chunks(const T *at, size_t stride, size_t batch) {
    return (reinterpret_cast<size_t>(at) | stride * sizeof(T) | batch * sizeof(T)) % 16 == 0;
}

// Where a tile of C is.
template <typename OutType> struct PlaceInC {
    OutType *c;
    size_t stride;
    unsigned row0, column0, rows, columns;
    bool in_chunks;

    __device__ __forceinline__ OutType *row(unsigned index) const { return c + index * stride; }
};

// The row and column of a tile of a matrix: eight tiles down are computed, then those beside them.
struct TilePlace {
    unsigned row, column;
};
__device__ __forceinline__ TilePlace banded(unsigned tile, unsigned down, unsigned across) {
    constexpr unsigned BAND = 8;
    const unsigned band = tile / (BAND * across), height = min(down - band * BAND, BAND), within = tile - band * BAND * across;
    return {band * BAND + within % height, within / height};
}

// A batch of products.
template <typename FromType, typename OutType, typename Shape> struct Products {
    using From = FromType;
    using Out = OutType;
    using To = PlaceInC<Out>;
    template <typename T, unsigned ROWS, bool BY_ROWS> using A = Lines<T, From, ROWS, BY_ROWS>;
    template <typename T, unsigned ROWS, bool BY_ROWS> using B = Lines<T, From, ROWS, BY_ROWS>;
    const Shape &shape;
    const From *a, *b;
    Out *c;
    unsigned depth, down, across;
    size_t tiles;
    bool a_in_chunks, b_in_chunks, c_in_chunks;

    template <typename Tile>
    static __device__ __forceinline__ Products of(const Shape &shape, const From *a, const From *b, Out *c) {
        const unsigned down = (shape.m - 1) / Tile::ROWS + 1, across = (shape.n - 1) / Tile::COLUMNS + 1;
        return {shape, a, b, c, shape.k, down, across, static_cast<size_t>(down) * across * shape.batches,
                all_in_chunks(a, shape.lda, shape.batch_a), all_in_chunks(b, shape.ldb, shape.batch_b), all_in_chunks(c, shape.ldc, shape.batch_c)};
    }

    template <typename Tile, typename ALines, typename BLines>
    __device__ __forceinline__ bool place(size_t index, ALines &from_a, BLines &from_b, To &to) const {
        const size_t each = static_cast<size_t>(down) * across, batch = index / each;
        const auto [row, column] = banded(static_cast<unsigned>(index - batch * each), down, across);
        const unsigned row0 = row * Tile::ROWS, column0 = column * Tile::COLUMNS;
        from_a.go_to({a + batch * shape.batch_a, shape.m, shape.k, shape.lda, shape.transposed_a != 0}, row0, a_in_chunks);
        from_b.go_to({b + batch * shape.batch_b, shape.n, shape.k, shape.ldb, shape.transposed_b == 0}, column0, b_in_chunks);
        to = {c + batch * shape.batch_c, shape.ldc, row0, column0, shape.m, shape.n, c_in_chunks};
        return true;
    }
};

template <typename T, typename Tile, unsigned PARTS, typename From, typename Out, typename Shape>
__device__ __forceinline__ void gemm(const Shape &shape, float alpha, const From *a, const From *b, float beta, Out *c) {
    let_next_begin();
    const unsigned shared = tiles_shared<Tile>();
    const auto work = Products<From, Out, Shape>::template of<Tile>(shape, a, b, c);
    wait_for_previous();
    if (shape.transposed_a == 0 && shape.transposed_b == 0)
        compute_tiles<T, Tile, true, false, PARTS>(work, alpha, beta, shared);
    else if (shape.transposed_a == 0)
        compute_tiles<T, Tile, true, true, PARTS>(work, alpha, beta, shared);
    else if (shape.transposed_b == 0)
        compute_tiles<T, Tile, false, false, PARTS>(work, alpha, beta, shared);
    else
        compute_tiles<T, Tile, false, true, PARTS>(work, alpha, beta, shared);
}
} // namespace nvidia
#endif
