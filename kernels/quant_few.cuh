// The product of a quantised matrix with two to eight vectors of Q8_1 blocks on NVIDIA's sm_90 and later, which reads the matrix once. Sixteen rows
// are a tile, and tiles take turns in the workgroups, of which each multiprocessor has one. Tiles pass through a ring in shared memory, some columns
// of all sixteen rows at a time. The vectors stay in shared memory.
//
// One warp copies, and WARPS multiply. Of each step, a warp multiplies one piece (`quant_piece.cuh`), or none. One more warp adds what the warps have
// of a tile. They tell each other by barriers in shared memory when something is there, so that none waits for all others.
//
// As with one vector (`quant_stream.cuh`), the kernel begins while the one in front ends, and then copies the first steps.
#pragma once
#include "overlap.cuh"
#include "quant_piece.cuh"

namespace few {
// Warps that multiply, and all warps of a workgroup.
constexpr unsigned WARPS = 16, ALL_WARPS = 18;
static_assert(ALL_WARPS == WARPS + 2);
// Registers of a thread: a workgroup of the kernel in front has room beside one of this.
constexpr unsigned REGISTERS = 88;
} // namespace few

#if defined(NVIDIA_BULK)
namespace few {
// Pieces of a row in a step, steps in the ring, if there is room for so many, and bytes that are copied before the kernel in front has ended.
constexpr unsigned MOST_PIECES = WARPS, LEAST_STEPS = 3, MOST_STEPS = 8, EARLY = 80 << 10;
// Tiles whose sums are kept at a time, and bytes of a warp's sums of one.
constexpr unsigned KEPT_TILES = 2, WARP_SUMS = 512;
static_assert(WARP_SUMS == 32 * sizeof(float4));

// A step of the ring has been copied, or read; a tile's sums are there, or have been added.
//
// A barrier tells no more than whether a phase is even or odd. A warp waits only for steps of which it has a piece, so that it may miss a phase of a
// barrier, but no two: each place in the ring has two barriers for copies, which take turns.
struct Barriers {
    uint64_t copied[2 * MOST_STEPS], used[MOST_STEPS], summed[KEPT_TILES], added[KEPT_TILES];
};
// The launcher leaves that much to what is declared.
static_assert(sizeof(Barriers) <= 256);

// A place in a ring of so many, and how often it has been filled. Who fills it waits for the phase before: the first is over before it began.
struct Place {
    unsigned at = 0, round = 0;
    __device__ __forceinline__ void advance(unsigned count) {
        if (++at == count)
            at = 0, ++round;
    }
    __device__ __forceinline__ unsigned copied() const { return 8 * (at + round % 2 * MOST_STEPS); }
    __device__ __forceinline__ unsigned copied_phase() const { return round / 2 % 2; }
    __device__ __forceinline__ unsigned phase() const { return round % 2; }
};

// How rows are divided into steps.
template <typename Q, unsigned ABREAST> struct Steps {
    // All rows begin at multiples of 16 if all blocks do; otherwise copies of them begin up to 15 bytes earlier, and end as much later.
    static constexpr bool ALIGNED = sizeof(Q) % 16 == 0;
    static constexpr unsigned PIECE_BYTES = PIECE / Q::VALUES * sizeof(Q);
    unsigned pieces, of_step, pitch, stages;
    // Warps that have pieces in turn: so many that each has one again within as many steps as the ring has.
    unsigned turns;

    static __device__ __forceinline__ unsigned pitch_of(unsigned pieces) {
        // Four lanes read 8 or 4 neighbouring bytes each; or two of them 16 of one chunk of 32, and two 16 of the next.
        constexpr unsigned GAP = !ALIGNED ? 16 : ABREAST == 1 ? 32 : 64;
        return (pieces * PIECE_BYTES + (ALIGNED ? 0 : 15) - GAP + 127) / 128 * 128 + GAP;
    }
    __device__ __forceinline__ Steps(unsigned columns, unsigned room) : pieces((columns + PIECE - 1) / PIECE), of_step(min(pieces, MOST_PIECES)) {
        while (of_step > 1 && LEAST_STEPS * ROWS * pitch_of(of_step) > room)
            --of_step;
        // as many in each step
        of_step = (pieces - 1) / count() + 1;
        pitch = pitch_of(of_step), stages = min(MOST_STEPS, room / (ROWS * pitch));
        // A row's last step may have fewer.
        const unsigned missing = count() * of_step - pieces;
        turns = min(WARPS, stages * of_step - ((stages - 1) / count() + 1) * missing);
    }
    // Steps of a tile.
    __device__ __forceinline__ unsigned count() const { return (pieces - 1) / of_step + 1; }
};

template <typename Q, unsigned ABREAST> struct Product {
    using S = Steps<Q, ABREAST>;
    using Y = LaneVectors<Q, ABREAST>;
    const Q *x;
    const Q8_1 *y;
    unsigned columns, rows;
    Vectors<Q, ABREAST> vectors;
    unsigned ring_at;
    S steps;
    // Where the vectors are.
    static constexpr unsigned VECTORS_AT = KEPT_TILES * WARPS * WARP_SUMS;

    __device__ __forceinline__ Product(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, unsigned count)
        : x(x), y(y), columns(columns), rows(rows), vectors{columns, count}, ring_at(VECTORS_AT + vectors.bytes()),
          steps(columns, nvidia::launched_shared_bytes() - ring_at) {}
    __device__ __forceinline__ unsigned row_bytes() const { return columns / Q::VALUES * sizeof(Q); }
    __device__ __forceinline__ unsigned step_bytes() const { return steps.of_step * S::PIECE_BYTES; }
    // Calls with the first row of each of the workgroup's tiles.
    template <typename F> __device__ __forceinline__ void each_tile(F apply) const {
#pragma unroll 1
        for (unsigned first = blockIdx.x * ROWS; first < rows; first += gridDim.x * ROWS)
            apply(first);
    }

    __device__ __forceinline__ void begin_barriers(Barriers &barriers, unsigned lane) const {
        const auto begin = [](uint64_t &barrier, unsigned count) { nvidia::begin_barrier(nvidia::shared_address(&barrier), count); };
        if (lane < MOST_STEPS)
            begin(barriers.copied[lane], ROWS), begin(barriers.copied[lane + MOST_STEPS], ROWS), begin(barriers.used[lane], steps.of_step);
        if (lane < KEPT_TILES)
            begin(barriers.summed[lane], 32 * WARPS), begin(barriers.added[lane], 32);
        nvidia::show_barriers();
    }

    // Copies one row of each tile: the lane's.
    __device__ __forceinline__ void copy(const Barriers &barriers, const char *room, unsigned lane) const {
        const unsigned copied = nvidia::shared_address(barriers.copied), used = nvidia::shared_address(barriers.used);
        const unsigned ring = nvidia::shared_address(room) + ring_at + lane * steps.pitch, of_row = steps.count();
        const unsigned early = EARLY / (ROWS * steps.pitch);
        Place place;
        unsigned filled = 0;
        each_tile([&](unsigned first) {
            const unsigned row = first + lane;
#pragma unroll 1
            for (unsigned step = 0; step < of_row; ++step, ++filled) {
                // More of them would be in the way of what the kernel in front reads.
                if (filled == early)
                    wait_for_previous();
                const unsigned there = copied + place.copied();
                nvidia::wait_for_phase(used + 8 * place.at, place.phase() ^ 1);
                const char *from = reinterpret_cast<const char *>(x) + static_cast<size_t>(row) * row_bytes() + step * step_bytes();
                unsigned bytes = min(row_bytes() - step * step_bytes(), step_bytes());
                if constexpr (!S::ALIGNED) {
                    const unsigned before = static_cast<unsigned>(reinterpret_cast<size_t>(from)) % 16;
                    from -= before, bytes = (before + bytes + 15) / 16 * 16;
                }
                if (row < rows) {
                    nvidia::arrive_and_expect(there, bytes);
                    nvidia::copy_bytes_once(ring + place.at * ROWS * steps.pitch, from, bytes, there);
                } else {
                    nvidia::arrive(there);
                }
                place.advance(steps.stages);
            }
        });
        let_next_begin();
    }

    // Puts the vectors into shared memory. A lane has a block of each chunk of 32, and a warp some chunks on the way at a time.
    __device__ __forceinline__ void put_vectors(char *at, unsigned lane, unsigned warp) const {
        constexpr unsigned AT_ONCE = 4, WORDS = sizeof(Q8_1) / 4;
        if constexpr (ABREAST > 1)
            for (unsigned i = 32 * warp + lane; i < Vectors<Q, ABREAST>::ZEROS / 4; i += 32 * WARPS)
                reinterpret_cast<uint32_t *>(at + vectors.zeros_at())[i] = 0;
        const unsigned parts = vectors.parts(), chunks = (parts + 31) / 32;
        struct Chunk {
            unsigned vector, at;
            __device__ __forceinline__ void advance(unsigned by, unsigned chunks, unsigned vectors) {
                for (at += by; at >= chunks && vector < vectors; ++vector)
                    at -= chunks;
            }
        };
        Chunk next = {0, 0};
        next.advance(warp, chunks, vectors.vectors);
        wait_for_previous();
#pragma unroll 1
        while (next.vector < vectors.vectors) {
            uint32_t blocks[AT_ONCE][WORDS];
            Chunk chunk = next;
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; ++i) {
                const unsigned part = 32 * next.at + lane;
                if (next.vector < vectors.vectors && part < parts) {
                    const uint32_t *block = reinterpret_cast<const uint32_t *>(y + next.vector * parts + part);
#pragma unroll
                    for (unsigned word = 0; word < WORDS; ++word)
                        blocks[i][word] = block[word];
                }
                next.advance(WARPS, chunks, vectors.vectors);
            }
#pragma unroll
            for (unsigned i = 0; i < AT_ONCE; ++i) {
                const unsigned part = 32 * chunk.at + lane;
                if (chunk.vector < vectors.vectors && part < parts)
                    vectors.put(at, blocks[i], chunk.vector, part);
                chunk.advance(WARPS, chunks, vectors.vectors);
            }
        }
        // all warps that multiply
        asm volatile("bar.sync 1, %0;" ::"n"(32 * WARPS) : "memory");
    }

    // A warp's pieces of all tiles.
    __device__ __forceinline__ void multiply(const Barriers &barriers, char *room, unsigned lane, unsigned warp) const {
        const unsigned copied = nvidia::shared_address(barriers.copied), used = nvidia::shared_address(barriers.used);
        const unsigned summed = nvidia::shared_address(barriers.summed), added = nvidia::shared_address(barriers.added);
        const unsigned parts = vectors.parts(), of_row = steps.count(), base = nvidia::shared_address(room);
        const Y of_lane(vectors, base + VECTORS_AT, lane);
        const unsigned row_of_lane = lane / 4, pitch = steps.pitch, ring = kept(base + ring_at + row_of_lane * pitch);
        Place place, kept_place;
        // Pieces take turns in the warps.
        unsigned next_warp = 0;
        each_tile([&](unsigned first) {
            float sums[4] = {};
#pragma unroll 1
            for (unsigned step = 0; step < of_row; ++step) {
                const unsigned of_step = min(steps.pieces - step * steps.of_step, steps.of_step);
                const unsigned which = warp - next_warp + (warp < next_warp ? steps.turns : 0);
                next_warp = next_warp + of_step - (next_warp + of_step < steps.turns ? 0 : steps.turns);
                if (warp < steps.turns && which < of_step) {
                    nvidia::wait_for_phase(copied + place.copied(), place.copied_phase());
                    const unsigned piece = step * steps.of_step + which;
                    unsigned rows_of_lane[LANE_ROWS];
#pragma unroll
                    for (unsigned r = 0; r < LANE_ROWS; ++r) {
                        constexpr unsigned NEXT = ROWS / LANE_ROWS;
                        rows_of_lane[r] = ring + (place.at * ROWS + r * NEXT) * pitch + which * S::PIECE_BYTES;
                        if constexpr (!S::ALIGNED)
                            rows_of_lane[r] += ((first + row_of_lane + r * NEXT) * row_bytes() + step * step_bytes()) % 16;
                    }
                    const auto release = [&] {
                        __syncwarp();
                        // Where there are fewer pieces, the last one counts for those that are missing.
                        if (lane == 0)
                            nvidia::arrive(used + 8 * place.at, which + 1 == of_step ? steps.of_step - which : 1);
                    };
                    Piece<Q, ABREAST>::add(rows_of_lane, of_lane.of(piece), min(parts - piece * (PIECE / 32), PIECE / 32), lane, sums, release);
                }
                place.advance(steps.stages);
            }
            nvidia::wait_for_phase(added + 8 * kept_place.at, kept_place.phase() ^ 1);
            reinterpret_cast<float4 *>(room)[(kept_place.at * WARPS + warp) * 32 + lane] = {sums[0], sums[1], sums[2], sums[3]};
            nvidia::arrive(summed + 8 * kept_place.at);
            kept_place.advance(KEPT_TILES);
        });
    }

    // Adds what the warps have of a tile, and writes it.
    __device__ __forceinline__ void add(const Barriers &barriers, const char *room, unsigned lane, void *out, Out type) const {
        const unsigned summed = nvidia::shared_address(barriers.summed), added = nvidia::shared_address(barriers.added);
        wait_for_previous();
        Place place;
        each_tile([&](unsigned first) {
            nvidia::wait_for_phase(summed + 8 * place.at, place.phase());
            float sums[4] = {};
#pragma unroll
            for (unsigned warp = 0; warp < WARPS; ++warp) {
                const float4 of_warp = reinterpret_cast<const float4 *>(room)[(place.at * WARPS + warp) * 32 + lane];
                sums[0] += of_warp.x, sums[1] += of_warp.y, sums[2] += of_warp.z, sums[3] += of_warp.w;
            }
            nvidia::arrive(added + 8 * place.at);
            place.advance(KEPT_TILES);
            // Lanes whose parts are abreast have sums of the same rows and vectors.
#pragma unroll
            for (unsigned mask = 4 / ABREAST; mask < 4; mask *= 2)
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], mask);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                const unsigned row = first + lane / 4 + i / 2 * (ROWS / LANE_ROWS), vector = Y::place_of(lane) * 2 + i % 2;
                if (Y::part_of(lane) == 0 && row < rows && vector < vectors.vectors)
                    store_as(type, out, static_cast<size_t>(vector) * rows + row, sums[i]);
            }
        });
    }
};

template <unsigned ABREAST, typename Q>
__device__ __forceinline__ void multiply(const Q *x, const Q8_1 *y, void *out, Out type, unsigned columns, unsigned rows, unsigned vectors,
                                         Barriers &barriers) {
    extern __shared__ __align__(128) char room[];
    const Product<Q, ABREAST> product(x, y, columns, rows, vectors);
    const unsigned lane = threadIdx.x, warp = threadIdx.y;
    if (warp == WARPS)
        product.begin_barriers(barriers, lane);
    __syncthreads();
    if (warp == WARPS) {
        if (lane < ROWS)
            product.copy(barriers, room, lane);
    } else if (warp > WARPS) {
        product.add(barriers, room, lane, out, type);
    } else {
        product.put_vectors(room + Product<Q, ABREAST>::VECTORS_AT, lane, warp);
        product.multiply(barriers, room, lane, warp);
    }
}

// The product. The matrix begins at a multiple of 16, and has such a number of bytes, and some columns. Of the shared memory that the launch gave,
// the ring has what the rest leaves; there must be room for two steps of one piece.
template <typename Q>
__device__ __forceinline__ void product(const Q *x, const Q8_1 *y, void *out, Out type, unsigned columns, unsigned rows, unsigned vectors) {
    __shared__ Barriers barriers;
    if constexpr (CAN_BE_ABREAST<Q>)
        if (vectors <= VECTORS / 4)
            return multiply<4>(x, y, out, type, columns, rows, vectors, barriers);
    multiply<1>(x, y, out, type, columns, rows, vectors, barriers);
}
} // namespace few
#endif

// Nothing before sm_90, where it is not launched.
template <typename Q>
__device__ __forceinline__ void product_of_few(const Q *x, const Q8_1 *y, void *out, Out type, unsigned columns, unsigned rows, unsigned vectors) {
#if defined(NVIDIA_BULK)
    few::product(x, y, out, type, columns, rows, vectors);
#endif
}
