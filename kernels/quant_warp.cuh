// The product of a quantised matrix with one vector as NVIDIA's hardware wants it: a warp has whole rows, reads them 16 bytes at a time where
// blocks lie so, has the next units on the way while it multiplies the last, and finds the vector in shared memory.
#pragma once
#include "overlap.cuh"
#include "quant.cuh"

// Neighbouring bytes that begin at a multiple of ALIGNMENT. Where that is 2 (or 1), they are read as the words of 16 bytes that they lie in, up to 15
// bytes before and behind them included.
template <unsigned ALIGNMENT, unsigned WORDS> struct Run {
    uint32_t words[WORDS];

    __device__ __forceinline__ void load(const void *p) {
        if constexpr (ALIGNMENT == 16)
#pragma unroll
            for (unsigned i = 0; i < WORDS / 4; ++i)
                reinterpret_cast<uint4 *>(words)[i] = load_weights(static_cast<const uint4 *>(p) + i);
        else
#pragma unroll
            for (unsigned i = 0; i < WORDS; ++i)
                words[i] = load_weights(static_cast<const uint32_t *>(p) + i);
    }
    __device__ __forceinline__ void align() {}
    __device__ __forceinline__ uint32_t operator[](unsigned i) const { return words[i]; }
};
template <unsigned WORDS> struct Run<2, WORDS> {
    uint32_t words[WORDS + 4];
    unsigned offset;

    __device__ __forceinline__ void load(const void *p) {
        const size_t address = reinterpret_cast<size_t>(p);
        offset = address % 16;
        const uint4 *from = reinterpret_cast<const uint4 *>(address - offset);
#pragma unroll
        for (unsigned i = 0; i < WORDS / 4 + 1; ++i) {
            uint4 four = {};
            if (i < WORDS / 4 || offset > 0)
                four = load_weights(from + i);
            words[4 * i] = four.x, words[4 * i + 1] = four.y, words[4 * i + 2] = four.z, words[4 * i + 3] = four.w;
        }
    }
    // Moves the bytes to the beginning.
    __device__ __forceinline__ void align() {
        const bool by_8 = offset & 8, by_4 = offset & 4;
#pragma unroll
        for (unsigned i = 0; i < WORDS + 2; ++i)
            words[i] = by_8 ? words[i + 2] : words[i];
#pragma unroll
        for (unsigned i = 0; i < WORDS + 1; ++i)
            words[i] = by_4 ? words[i + 1] : words[i];
#pragma unroll
        for (unsigned i = 0; i < WORDS; ++i)
            words[i] = __funnelshift_r(words[i], words[i + 1], offset % 4 * 8);
    }
    __device__ __forceinline__ uint32_t operator[](unsigned i) const { return words[i]; }
};

// What a unit of a block reads, in registers. `load` begins to read, `align` is behind it; then `quad` and `scale` are those of the unit's
// group k. ALIGNMENT is that of the matrix.
template <typename Q> struct Part;

// Types of 32 values: a block is a unit.
template <typename Q, unsigned WORDS, unsigned HALVES> struct WholeBlock {
    static constexpr unsigned ALIGNMENT = (sizeof(Q) % 4 == 0) ? 4 : 2;
    uint16_t halves[HALVES];
    Run<ALIGNMENT, WORDS> run;

    __device__ __forceinline__ void load(const Q &block, const Unit<Q> &) {
#pragma unroll
        for (unsigned i = 0; i < HALVES; ++i)
            halves[i] = reinterpret_cast<const uint16_t *>(&block)[i];
        run.load(reinterpret_cast<const uint16_t *>(&block) + HALVES);
    }
    __device__ __forceinline__ void align(const Unit<Q> &) { run.align(); }
    __device__ __forceinline__ Q block() const {
        Q made;
        __builtin_memcpy(&made, halves, sizeof halves);
        __builtin_memcpy(reinterpret_cast<uint8_t *>(&made) + sizeof halves, run.words, 4 * WORDS);
        return made;
    }
    __device__ __forceinline__ Scale scale(const Unit<Q> &, unsigned k) const { return block().scale(k); }
    __device__ __forceinline__ uint32_t quad(const Unit<Q> &, unsigned k, unsigned i) const { return block().quad(k, i); }
};
template <> struct Part<Q4_0> : WholeBlock<Q4_0, 4, 1> {};
template <> struct Part<Q4_1> : WholeBlock<Q4_1, 4, 2> {};
template <> struct Part<Q5_0> : WholeBlock<Q5_0, 4, 3> {};
template <> struct Part<Q5_1> : WholeBlock<Q5_1, 4, 4> {};
template <> struct Part<Q8_0> : WholeBlock<Q8_0, 8, 1> {};
template <> struct Part<IQ4_NL> : WholeBlock<IQ4_NL, 4, 1> {};

template <> struct Part<MXFP4> {
    static constexpr unsigned ALIGNMENT = 2;
    uint8_t e;
    Run<2, 4> run;

    __device__ __forceinline__ void load(const MXFP4 &block, const Unit<MXFP4> &) {
        e = block.e;
        run.load(block.qs);
    }
    __device__ __forceinline__ void align(const Unit<MXFP4> &) { run.align(); }
    __device__ __forceinline__ MXFP4 block() const {
        MXFP4 made;
        made.e = e;
        __builtin_memcpy(made.qs, run.words, sizeof made.qs);
        return made;
    }
    __device__ __forceinline__ Scale scale(const Unit<MXFP4> &, unsigned k) const { return block().scale(k); }
    __device__ __forceinline__ uint32_t quad(const Unit<MXFP4> &, unsigned k, unsigned i) const { return block().quad(k, i); }
};

template <> struct Part<Q2_K> {
    static constexpr unsigned ALIGNMENT = 4;
    uint8_t both[2];
    Run<4, 1> factors;
    Run<4, 4> low;

    __device__ __forceinline__ void load(const Q2_K &block, const Unit<Q2_K> &at) {
        both[0] = block.scales[at.group(0)], both[1] = block.scales[at.group(1)];
        factors.load(&block.d);
        low.load(block.qs + 32 * (at.first / 8) + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q2_K> &) {}
    __device__ __forceinline__ Scale scale(const Unit<Q2_K> &, unsigned k) const {
        return {half_at(factors[0] & 0xffff) * static_cast<float>(both[k] & 15), -half_at(factors[0] >> 16) * static_cast<float>(both[k] >> 4)};
    }
    __device__ __forceinline__ uint32_t quad(const Unit<Q2_K> &at, unsigned k, unsigned i) const {
        return low[i] >> 2 * (at.group(k) / 2 % 4) & 0x03030303u;
    }
};

template <> struct Part<Q3_K> {
    static constexpr unsigned ALIGNMENT = 2;
    uint8_t four[2], two[2];
    uint16_t d;
    Run<2, 4> low, high;

    __device__ __forceinline__ void load(const Q3_K &block, const Unit<Q3_K> &at) {
#pragma unroll
        for (unsigned k = 0; k < 2; ++k)
            four[k] = block.scales[at.group(k) % 8], two[k] = block.scales[8 + at.group(k) % 4];
        d = block.d;
        low.load(block.qs + 32 * (at.first / 8) + 16 * (at.first % 2));
        high.load(block.hmask + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q3_K> &) { low.align(), high.align(); }
    __device__ __forceinline__ Scale scale(const Unit<Q3_K> &at, unsigned k) const {
        const unsigned lower = four[k] >> 4 * (at.group(k) / 8) & 15, upper = two[k] >> 2 * (at.group(k) / 4) & 3;
        const float scale = half_at(d) * static_cast<float>(static_cast<int>(lower | upper << 4) - 32);
        return {scale, -4.0f * scale};
    }
    __device__ __forceinline__ uint32_t quad(const Unit<Q3_K> &at, unsigned k, unsigned i) const {
        return (low[i] >> 2 * (at.group(k) / 2 % 4) & 0x03030303u) | (high[i] >> at.group(k) / 2 & 0x01010101u) << 2;
    }
};

// The scales and minima of both groups of a unit of Q4_K or Q5_K, of 32 values each that follow each other, as `scale_of_32` has one.
struct TwoScales {
    Run<16, 4> head;
    uint32_t factors, minima; // a byte each

    __device__ __forceinline__ void decode(unsigned of) {
        const unsigned upper = of / 4, at = 8 * (of % 4);
        const uint32_t a = head[1], b = head[2], c = head[3];
        factors = ((upper ? c : a) >> at & 0x0f0fu) | (a >> (at + 2 * upper) & 0x3030u);
        minima = ((upper ? c >> 4 : b) >> at & 0x0f0fu) | (b >> (at + 2 * upper) & 0x3030u);
    }
    __device__ __forceinline__ Scale scale(unsigned k) const {
        const float d = half_at(head[0] & 0xffff), m = half_at(head[0] >> 16);
        return {d * static_cast<float>(factors >> 8 * k & 255), -m * static_cast<float>(minima >> 8 * k & 255)};
    }
};

template <> struct Part<Q4_K> {
    static constexpr unsigned ALIGNMENT = 16;
    TwoScales scales;
    Run<16, 4> low;

    __device__ __forceinline__ void load(const Q4_K &block, const Unit<Q4_K> &at) {
        scales.head.load(&block);
        low.load(block.qs + 32 * (at.first / 4) + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q4_K> &at) { scales.decode(at.first / 2); }
    __device__ __forceinline__ Scale scale(const Unit<Q4_K> &, unsigned k) const { return scales.scale(k); }
    // Its first group has the lower bits.
    __device__ __forceinline__ uint32_t quad(const Unit<Q4_K> &, unsigned k, unsigned i) const { return low[i] >> 4 * k & 0x0f0f0f0fu; }
};

template <> struct Part<Q5_K> {
    static constexpr unsigned ALIGNMENT = 16;
    TwoScales scales;
    Run<16, 4> high, low;

    __device__ __forceinline__ void load(const Q5_K &block, const Unit<Q5_K> &at) {
        scales.head.load(&block);
        high.load(block.qh + 16 * (at.first % 2));
        low.load(block.qs + 32 * (at.first / 4) + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q5_K> &at) { scales.decode(at.first / 2); }
    __device__ __forceinline__ Scale scale(const Unit<Q5_K> &, unsigned k) const { return scales.scale(k); }
    __device__ __forceinline__ uint32_t quad(const Unit<Q5_K> &at, unsigned k, unsigned i) const {
        return (low[i] >> 4 * k & 0x0f0f0f0fu) | (high[i] >> at.group(k) / 2 & 0x01010101u) << 4;
    }
};

template <> struct Part<Q6_K> {
    static constexpr unsigned ALIGNMENT = 2;
    int8_t factors[2];
    uint16_t d;
    Run<2, 4> low, high;

    __device__ __forceinline__ void load(const Q6_K &block, const Unit<Q6_K> &at) {
        factors[0] = block.scales[at.group(0)], factors[1] = block.scales[at.group(1)];
        d = block.d;
        const unsigned half = at.first / 8, quarter = at.first / 2 % 4, from = 16 * (at.first % 2);
        low.load(block.ql + 64 * half + 32 * quarter + from);
        high.load(block.qh + 32 * half + from);
    }
    __device__ __forceinline__ void align(const Unit<Q6_K> &) { low.align(), high.align(); }
    __device__ __forceinline__ Scale scale(const Unit<Q6_K> &, unsigned k) const {
        const float scale = half_at(d) * static_cast<float>(factors[k]);
        return {scale, -32.0f * scale};
    }
    __device__ __forceinline__ uint32_t quad(const Unit<Q6_K> &at, unsigned k, unsigned i) const {
        return (low[i] >> 4 * k & 0x0f0f0f0fu) | (high[i] >> 2 * (at.group(k) / 2 % 4) & 0x03030303u) << 4;
    }
};

// Rows that a warp has at a time: as many as there are registers for in eight workgroups of 128 threads.
template <typename Q> constexpr unsigned WARP_ROWS = sizeof(Part<Q>) > 44 ? 1 : 2;
// Blocks of the vector that are in shared memory at a time.
constexpr unsigned VECTOR_BLOCKS = 512;
using Stage = uint32_t[VECTOR_BLOCKS * sizeof(Q8_1) / 4]; // at a multiple of 16 bytes

// Adds a unit's products with the vector to the rows' sums.
template <typename Q, typename P, unsigned ROWS>
__device__ __forceinline__ void add_products(float (&sums)[ROWS], P (&parts)[ROWS], const Unit<Q> &at, const Q8_1 *vector) {
#pragma unroll
    for (P &part : parts)
        part.align(at);
#pragma unroll
    for (unsigned k = 0; k < Unit<Q>::GROUPS; ++k) {
        const uint32_t *block = reinterpret_cast<const uint32_t *>(vector + at.group(k) / 2);
        uint32_t a[QUADS];
        int total = 0;
#pragma unroll
        for (unsigned i = 0; i < QUADS; ++i) {
            a[i] = block[1 + at.group(k) % 2 * QUADS + i];
            if (Q::OFFSET)
                total = dot4(0x01010101u, a[i], total);
        }
        const float d = half_at(block[0] & 0xffff);
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
            const Scale scale = parts[r].scale(at, k);
            int dot = 0;
#pragma unroll
            for (unsigned i = 0; i < QUADS; ++i)
                dot = dot4(parts[r].quad(at, k, i), a[i], dot);
            float product = scale.d * static_cast<float>(dot);
            if (Q::OFFSET)
                product = fmaf(scale.m, static_cast<float>(total), product);
            sums[r] = fmaf(d, product, sums[r]);
        }
    }
}

// A unit that is read when its product is made: of matrices that are not aligned, and where bytes behind the last one would be read.
template <typename Q> struct PartInMemory {
    const Q *block;
    __device__ __forceinline__ void load(const Q &from, const Unit<Q> &) { block = &from; }
    __device__ __forceinline__ void align(const Unit<Q> &) {}
    __device__ __forceinline__ Scale scale(const Unit<Q> &at, unsigned k) const { return block->scale(at.group(k)); }
    __device__ __forceinline__ uint32_t quad(const Unit<Q> &at, unsigned k, unsigned i) const { return block->quad(at.group(k), i); }
};

// A thread, and a workgroup of so many.
struct Share {
    unsigned block, blocks, thread, threads;
};

// Puts blocks of the vector where all of the workgroup find them.
__device__ __forceinline__ void put(Stage &stage, const Q8_1 *blocks, unsigned count, const Share &share) {
    const unsigned words = count * (sizeof(Q8_1) / 4), fours = reinterpret_cast<size_t>(blocks) % 16 == 0 ? words / 4 : 0;
    const uint4 *from = reinterpret_cast<const uint4 *>(blocks);
#pragma unroll 4
    for (unsigned i = share.thread; i < fours; i += share.threads)
        reinterpret_cast<uint4 *>(stage)[i] = from[i];
#pragma unroll 4
    for (unsigned i = 4 * fours + share.thread; i < words; i += share.threads)
        stage[i] = reinterpret_cast<const uint32_t *>(blocks)[i];
}

// A workgroup's share of a product: calls `store(row, product)`. All of its threads have to call.
template <typename Q, typename P, typename F>
__device__ __forceinline__ void row_products(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, Share share, Stage &stage, F store) {
    constexpr unsigned PER_BLOCK = Unit<Q>::PER_BLOCK, STAGE = VECTOR_BLOCKS * Q8_1::VALUES, ROWS = WARP_ROWS<Q>;
    const unsigned lane = share.thread % 32, blocks = columns / Q::VALUES, units = blocks * PER_BLOCK;
    const unsigned step = share.blocks * ROWS; // from a warp's rows to those of the workgroup's next warp
    const auto load = [&](P(&parts)[ROWS], unsigned first, unsigned unit) {
        const Unit<Q> at(unit);
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) // behind the last row is it once more
            parts[r].load(x[static_cast<size_t>(min(first + r, rows - 1)) * blocks + at.block], at);
    };
    unsigned first = share.block * ROWS + share.thread / 32 * step;
    P parts[ROWS];
    if (first < rows && lane < units)
        load(parts, first, lane);
    // `of_block` is the first warp's `first`, so that all warps go on as long.
#pragma unroll 1
    for (unsigned of_block = share.block * ROWS; of_block < rows; of_block += share.threads / 32 * step) {
        const unsigned following = first + share.threads / 32 * step;
        float sums[ROWS] = {};
#pragma unroll 1
        for (unsigned begin = 0; begin < columns; begin += STAGE) {
            const unsigned values = min(STAGE, columns - begin);
            const bool again = of_block != share.block * ROWS;
            if (!again || columns > STAGE) {
                if (again || begin > 0)
                    __syncthreads();
                put(stage, y + begin / Q8_1::VALUES, values / Q8_1::VALUES, share);
                __syncthreads();
            }
            const unsigned end = first < rows ? (begin + values) / Q::VALUES * PER_BLOCK : 0;
#pragma unroll 1
            for (unsigned unit = begin / Q::VALUES * PER_BLOCK + lane; unit < end; unit += 32) {
                P next[ROWS];
                if (unit + 32 < units)
                    load(next, first, unit + 32);
                else if (following < rows)
                    load(next, following, lane);
                const Unit<Q> at(unit);
                const Q8_1 *vector = reinterpret_cast<const Q8_1 *>(stage) + (at.block * Q::VALUES - begin) / Q8_1::VALUES;
                add_products(sums, parts, at, vector);
#pragma unroll
                for (unsigned r = 0; r < ROWS; ++r)
                    parts[r] = next[r];
            }
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS; ++r) {
#pragma unroll
            for (unsigned mask = 16; mask > 0; mask /= 2)
                sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], mask);
            if (lane == 0 && first + r < rows)
                store(first + r, sums[r]);
        }
        first = following;
    }
}

// Whether all bytes that `Part`s of a matrix read are the matrix's, so that whole words can be read.
template <typename Q> __device__ __forceinline__ bool is_whole(const Q *x, size_t blocks) {
    const size_t from = reinterpret_cast<size_t>(x), to = reinterpret_cast<size_t>(x + blocks);
    return from % Part<Q>::ALIGNMENT == 0 && (Part<Q>::ALIGNMENT != 2 || (from | to) % 16 == 0);
}

// The product by some workgroups of a grid.
template <typename Q, typename F>
__device__ __forceinline__ void warp_product(const Q *x, const Q8_1 *y, unsigned columns, unsigned rows, const Share &share, F store) {
    __shared__ alignas(16) Stage stage;
    if (is_whole(x, static_cast<size_t>(rows) * (columns / Q::VALUES)))
        row_products<Q, Part<Q>>(x, y, columns, rows, share, stage, store);
    else
        row_products<Q, PartInMemory<Q>>(x, y, columns, rows, share, stage, store);
}
