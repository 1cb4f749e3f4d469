// What a warp multiplies at a time in products of a quantised matrix with two to eight vectors on NVIDIA's sm_90 and later: 256 columns of sixteen
// rows, by `mma`, whose other operand is all vectors.
//
// A lane reads parts of two rows, `lane / 4` and the one eight below it. `mma` has eight columns, which are vectors. If there are only two, each
// column is a vector and one of four parts of 32 matrix columns, which are multiplied ABREAST: lanes of a row then read different parts, and a column
// has zeros where other lanes' parts are. So each of a lane's four sums, of its rows with two columns, is worth computing.
//
// `mma` sums products in any order, so a lane may read neighbouring bytes of a row as long as it reads the vector's numbers in the same order.
#pragma once
#include "nvidia.cuh"
#include "quant_part.cuh"

#if defined(NVIDIA_BULK)
namespace few {
constexpr unsigned ROWS = 16, VECTORS = 8, PIECE = 256;
// Both of a lane's rows.
constexpr unsigned LANE_ROWS = 2;

// c plus the products of 32 columns, and of 16.
__device__ __forceinline__ void multiply(int (&c)[4], const uint32_t (&low)[LANE_ROWS], const uint32_t (&high)[LANE_ROWS], uint2 numbers) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(low[0]), "r"(low[1]), "r"(high[0]), "r"(high[1]), "r"(numbers.x), "r"(numbers.y));
}
__device__ __forceinline__ void multiply_unsigned(int (&c)[4], const uint32_t (&low)[LANE_ROWS], const uint32_t (&high)[LANE_ROWS], uint2 numbers) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(low[0]), "r"(low[1]), "r"(high[0]), "r"(high[1]), "r"(numbers.x), "r"(numbers.y));
}
__device__ __forceinline__ void multiply(int (&c)[4], const uint32_t (&bytes)[LANE_ROWS], uint32_t numbers) {
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(bytes[0]), "r"(bytes[1]), "r"(numbers));
}
// c plus the products of two bf16 of each row, and of four, of which the second two are the first again.
__device__ __forceinline__ void multiply_bf16(float (&c)[4], const uint32_t (&two)[LANE_ROWS], uint32_t numbers) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(two[0]), "r"(two[1]), "r"(numbers));
}
__device__ __forceinline__ void multiply_bf16(float (&c)[4], const uint32_t (&two)[LANE_ROWS], uint2 numbers) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %7}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(two[0]), "r"(two[1]), "r"(numbers.x), "r"(numbers.y));
}

// A sum of integers that begins with this is a float's bits: that of this number and the integer, if it is below 2^22. One subtraction leaves the
// integer.
constexpr int FLOAT_BITS = 0x4b400000;
__device__ __forceinline__ float as_float(int sum) { return __int_as_float(sum) - __int_as_float(FLOAT_BITS); }

// Reads shared memory at an address.
template <typename T> __device__ __forceinline__ const T *shared_at(unsigned address) {
    return static_cast<const T *>(__cvta_shared_to_generic(address));
}
template <typename T> __device__ __forceinline__ T load_at(unsigned address) { return *shared_at<T>(address); }
// The compiler does not compute this again.
__device__ __forceinline__ unsigned kept(unsigned x) {
    asm volatile("" : "+r"(x));
    return x;
}

// What sums of products begin with, besides what a centre makes of it: a float's bits, except where they are multiplied as integers.
template <typename Q> struct Begin {
    static constexpr int OF = FLOAT_BITS;
};
template <> struct Begin<Q6_K> {
    static constexpr int OF = 0;
};

// The vectors in shared memory: their numbers, and what is computed of them once. That is for each 32 columns and pair of vectors their scales, and
// then what offsets of rows are multiplied with, for each scale of a row: the sum of the numbers, times the scale; or what sums of products begin
// with, if the rows' offset is always as many scales.
//
// With MINIMA, offsets are integers times a number for all 256 columns. Then `mma` multiplies them, and the sums of the numbers are in three bf16
// each, which together have all digits.
template <typename Q, unsigned ABREAST> struct Vectors {
    using P = Part<Q, InShared>;
    static constexpr bool MINIMA = P::TWO_SCALES && ABREAST == 1;
    static constexpr unsigned SUMS = !Q::OFFSET || MINIMA ? 0 : Q::FINE ? 2 : 1;
    // Where the upper halves of bytes are multiplied as they are, scales of the vector are 16 times less.
    static constexpr bool SIXTEENTHS = P::TWO_SCALES && P::NIBBLES;
    // Bytes of a pair of vectors for 32 columns.
    static constexpr unsigned PAIR = 8 + 8 * SUMS;
    // A lane reads eight numbers at a time: neighbours, or four from each half of 32.
    static constexpr bool NEIGHBOURS = P::TWO_SCALES;
    // As many zeros as a piece has numbers.
    static constexpr unsigned ZEROS = ABREAST == 1 ? 0 : PIECE;
    // Vectors are apart so that lanes read from different banks.
    static constexpr __device__ __forceinline__ unsigned apart(unsigned bytes, unsigned gap) { return (bytes + 127) / 128 * 128 + gap; }

    unsigned columns, vectors;
    __device__ __forceinline__ unsigned parts() const { return columns / Q8_1::VALUES; }
    __device__ __forceinline__ unsigned pairs() const { return (vectors + 1) / 2; }
    __device__ __forceinline__ unsigned number_pitch() const { return apart(columns, 32); }
    __device__ __forceinline__ unsigned pair_pitch() const { return apart(parts() * PAIR, 16); }
    __device__ __forceinline__ unsigned minima_pitch() const { return apart(columns / PIECE * 32, 32); }
    __device__ __forceinline__ unsigned last_pitch() const { return apart(columns / PIECE * 16, 16); }
    __device__ __forceinline__ unsigned pairs_at() const { return vectors * number_pitch(); }
    __device__ __forceinline__ unsigned minima_at() const { return pairs_at() + pairs() * pair_pitch(); }
    __device__ __forceinline__ unsigned last_at() const { return minima_at() + (MINIMA ? vectors * minima_pitch() : 0); }
    __device__ __forceinline__ unsigned zeros_at() const { return last_at() + (MINIMA ? vectors * last_pitch() : 0); }
    __device__ __forceinline__ unsigned bytes() const { return apart(zeros_at() + ZEROS, 0); }

    // Puts a block of a vector, and what is computed of it, in their places.
    __device__ __forceinline__ void put(char *at, const uint32_t (&block)[sizeof(Q8_1) / 4], unsigned vector, unsigned part) const {
        const uint32_t *q = block + 1;
        uint4 *numbers = reinterpret_cast<uint4 *>(at + vector * number_pitch() + part * Q8_1::VALUES);
        numbers[0] = NEIGHBOURS ? uint4{q[0], q[1], q[2], q[3]} : uint4{q[0], q[4], q[1], q[5]};
        numbers[1] = NEIGHBOURS ? uint4{q[4], q[5], q[6], q[7]} : uint4{q[2], q[6], q[3], q[7]};
        float *pair = reinterpret_cast<float *>(at + pairs_at() + vector / 2 * pair_pitch() + part * PAIR) + vector % 2;
        const float d = half_at(block[0] & 0xffff);
        pair[0] = SIXTEENTHS && part % 2 == 1 ? d / 16.0f : d;
        if constexpr (Q::OFFSET) {
            int totals[2] = {};
#pragma unroll
            for (unsigned i = 0; i < 2 * QUADS; ++i)
                totals[i / QUADS] = dot4(0x01010101u, q[i], totals[i / QUADS]);
            if constexpr (SUMS < 2)
                totals[0] += totals[1];
            if constexpr (SUMS > 0)
#pragma unroll
                for (unsigned k = 0; k < SUMS; ++k) {
                    const int begin = Begin<Q>::OF - static_cast<int>(P::CENTRE) * totals[k];
                    pair[2 + 2 * k] = P::CENTRE > 0 ? __int_as_float(begin) : d * static_cast<float>(totals[k]);
                }
            if constexpr (MINIMA) {
                // Of each the upper half is a bf16.
                const auto upper = [](float x) { return __float_as_uint(x) & 0xffff0000u; };
                const float sum = d * static_cast<float>(totals[0]), rest = sum - __uint_as_float(upper(sum));
                const float last = rest - __uint_as_float(upper(rest));
                const unsigned two = part / 2, of_two = part % 2;
                uint16_t *minima = reinterpret_cast<uint16_t *>(at + minima_at() + vector * minima_pitch() + two * 8) + of_two;
                minima[0] = upper(sum) >> 16, minima[2] = upper(rest) >> 16;
                reinterpret_cast<uint16_t *>(at + last_at() + vector * last_pitch() + two * 4)[of_two] = upper(last) >> 16;
            }
        }
    }
};

// What a lane reads of a piece's vectors, as addresses in shared memory. Where there is no such vector, it reads another, and nobody reads its sums.
template <typename Q, unsigned ABREAST> struct LaneVectors {
    using V = Vectors<Q, ABREAST>;
    static constexpr unsigned PARTS = PIECE / 32;
    unsigned numbers, piece_bytes, pairs, minima, last;

    // Which of the parts is the lane's, and which place in it.
    static __device__ __forceinline__ unsigned part_of(unsigned lane) { return lane % 4 / (4 / ABREAST); }
    static __device__ __forceinline__ unsigned place_of(unsigned lane) { return lane % (4 / ABREAST); }

    __device__ __forceinline__ LaneVectors(const V &all, unsigned at, unsigned lane) {
        constexpr unsigned COLUMNS = VECTORS / ABREAST;
        const unsigned column = lane / 4, part = part_of(lane), place = place_of(lane);
        const unsigned vector = min(column % COLUMNS, all.vectors - 1), pair = min(place, all.pairs() - 1);
        const bool is_zero = column / COLUMNS != part;
        numbers = kept(at + (is_zero ? all.zeros_at() : vector * all.number_pitch() + part * Q8_1::VALUES + place * 8));
        piece_bytes = kept(is_zero ? 0 : PIECE);
        pairs = kept(at + all.pairs_at() + pair * all.pair_pitch() + part * V::PAIR);
        if constexpr (V::MINIMA) {
            minima = kept(at + all.minima_at() + vector * all.minima_pitch() + place * 8);
            last = kept(at + all.last_at() + vector * all.last_pitch() + place * 4);
        }
    }
    __device__ __forceinline__ LaneVectors of(unsigned piece) const {
        LaneVectors other = *this;
        other.numbers += piece * (ABREAST == 1 ? PIECE : piece_bytes), other.pairs += piece * (PARTS * V::PAIR);
        if constexpr (V::MINIMA)
            other.minima += piece * 32, other.last += piece * 16;
        return other;
    }
    // Of the parts that are abreast, as many eights of numbers.
    __device__ __forceinline__ uint2 numbers_of(unsigned parts, unsigned eight) const {
        return load_at<uint2>(numbers + parts * (ABREAST * Q8_1::VALUES) + eight * 8);
    }
    __device__ __forceinline__ float2 scales_of(unsigned parts) const { return load_at<float2>(pairs + parts * (ABREAST * V::PAIR)); }
    __device__ __forceinline__ float2 sums_of(unsigned parts, unsigned k) const {
        return load_at<float2>(pairs + parts * (ABREAST * V::PAIR) + 8 + 8 * k);
    }
};

// Words from an even byte of shared memory on.
struct WordsAt {
    unsigned address, shift;

    __device__ __forceinline__ explicit WordsAt(unsigned at) : address(at & ~3u), shift(8 * (at & 3)) {}
    __device__ __forceinline__ uint32_t operator[](unsigned i) const {
        return __funnelshift_r(load_at<uint32_t>(address + 4 * i), load_at<uint32_t>(address + 4 * i + 4), shift);
    }
};

// Whether parts can be multiplied abreast, and that is quicker.
template <typename Q> constexpr bool CAN_BE_ABREAST = Q::VALUES == Q8_1::VALUES || std::is_same_v<Q, Q4_K>;

// What a lane reads of a row's part: bytes from each half, and their scales.
template <typename Q, unsigned ABREAST> struct LanePart {
    static constexpr unsigned SCALES = Q::FINE ? 2 : 1;
    uint32_t q[2][ABREAST];
    Scale scales[SCALES];

    // `row` leads to a block, and the part is `of_block` there.
    __device__ __forceinline__ LanePart(unsigned row, unsigned of_block, unsigned place) {
        if constexpr (ABREAST == 4) {
            static_assert(!Q::FINE && Q::VALUES == Q8_1::VALUES);
            constexpr bool ODD = sizeof(Q) % 4 != 0;
            const unsigned odd = ODD ? row % 4 : 0;
            const Unit<Q> unit(0);
            Part<Q, InShared> part;
            part.load(InShared{shared_at<char>(row - odd), odd}, unit);
            part.align(unit);
#pragma unroll
            for (unsigned k = 0; k < 2; ++k)
#pragma unroll
                for (unsigned i = 0; i < QUADS; ++i)
                    q[k][i] = part.quad(unit, k, i);
            scales[0] = part.scale(unit, 0);
        } else {
            const Q &block = *shared_at<Q>(row);
#pragma unroll
            for (unsigned k = 0; k < 2; ++k)
#pragma unroll
                for (unsigned i = 0; i < ABREAST; ++i)
                    q[k][i] = block.quad(2 * of_block + k, place);
#pragma unroll
            for (unsigned k = 0; k < SCALES; ++k)
                scales[k] = block.scale(2 * of_block + k);
        }
    }
};

// Adds a piece's products to a lane's sums. `rows` are the addresses of its rows' blocks, and there are `parts` of 32 columns. Calls `release` when
// the rows have been read.
template <typename Q, unsigned ABREAST> struct Piece {
    using Y = LaneVectors<Q, ABREAST>;
    static __device__ __forceinline__ void add_parts(const unsigned (&rows)[LANE_ROWS], unsigned of_block, const Y &y, unsigned parts, bool there,
                                                     unsigned place, float (&sums)[4]) {
        using V = typename Y::V;
        using L = LanePart<Q, ABREAST>;
        constexpr bool CENTRED = V::P::CENTRE > 0;
        const L of_row[LANE_ROWS] = {L(rows[0], of_block, place), L(rows[1], of_block, place)};
        uint2 numbers[ABREAST];
#pragma unroll
        for (unsigned i = 0; i < ABREAST; ++i)
            numbers[i] = y.numbers_of(parts, i);
        const float2 d = y.scales_of(parts);
        float products[4] = {}, offsets[4] = {};
#pragma unroll
        for (unsigned k = 0; k < L::SCALES; ++k) {
            float2 of_vectors = {};
            if constexpr (V::SUMS > 0)
                of_vectors = y.sums_of(parts, k);
            int dots[4];
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                dots[i] = CENTRED ? __float_as_int(i % 2 == 0 ? of_vectors.x : of_vectors.y) : FLOAT_BITS;
#pragma unroll
            for (unsigned i = 0; i < ABREAST; ++i) {
                const uint32_t first[LANE_ROWS] = {of_row[0].q[k][i], of_row[1].q[k][i]}, second[LANE_ROWS] = {of_row[0].q[1][i], of_row[1].q[1][i]};
                if constexpr (Q::FINE)
                    multiply(dots, first, k == 0 ? numbers[i].x : numbers[i].y);
                else
                    multiply(dots, first, second, numbers[i]);
            }
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                const Scale &scale = of_row[i / 2].scales[k];
                products[i] = k == 0 ? scale.d * as_float(dots[i]) : fmaf(scale.d, as_float(dots[i]), products[i]);
                if (Q::OFFSET && !CENTRED)
                    offsets[i] = fmaf(scale.m, i % 2 == 0 ? of_vectors.x : of_vectors.y, offsets[i]);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            float sum = fmaf(i % 2 == 0 ? d.x : d.y, products[i], sums[i]);
            if (Q::OFFSET && !CENTRED)
                sum += offsets[i];
            // Where there is no part, shared memory may hold anything, NaN included.
            sums[i] = there ? sum : sums[i];
        }
    }
    template <typename F>
    static __device__ __forceinline__ void add(const unsigned (&rows)[LANE_ROWS], const Y &y, unsigned parts, unsigned lane, float (&sums)[4],
                                               F release) {
        const unsigned place = Y::place_of(lane);
        if constexpr (Q::VALUES == PIECE) {
            static_assert(ABREAST == 1);
#pragma unroll
            for (unsigned part = 0; part < PIECE / 32; ++part)
                add_parts(rows, part, y, part, true, place, sums);
        } else {
            const unsigned of_lane = Y::part_of(lane);
#pragma unroll(ABREAST == 4 ? 2 : 4)
            for (unsigned first = 0; first < parts; first += ABREAST) {
                const unsigned at = (first + of_lane) * sizeof(Q), blocks[LANE_ROWS] = {rows[0] + at, rows[1] + at};
                add_parts(blocks, 0, y, first / ABREAST, ABREAST == 1 || first + of_lane < parts, place, sums);
            }
        }
        release();
    }
};

// A byte of a word, as an integer.
__device__ __forceinline__ int byte(uint32_t word, unsigned i) { return static_cast<int>(__byte_perm(word, 0, 0x4440 + i)); }
__device__ __forceinline__ int signed_byte(uint32_t word, unsigned i) {
    int result;
    // The byte, and three times its sign.
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(word), "r"(0x8880 + 0x1111 * i));
    return result;
}

// Q4_K and Q5_K: 32 columns have a scale and a minimum, integers of 6 bits that all share a factor.
template <typename Q> struct PieceOfTwoScales {
    template <typename F>
    static __device__ __forceinline__ void add(const unsigned (&rows)[LANE_ROWS], const LaneVectors<Q, 1> &y, unsigned, unsigned lane, float (&sums)[4],
                                               F release) {
        constexpr bool FIFTH = sizeof(Q) > sizeof(Q4_K);
        const unsigned place = lane % 4;
        uint4 heads[LANE_ROWS];
        uint2 fourths[LANE_ROWS][PIECE / 64], fifths[LANE_ROWS] = {};
#pragma unroll
        for (unsigned r = 0; r < LANE_ROWS; ++r) {
            heads[r] = load_at<uint4>(rows[r]);
            const unsigned of_lane = rows[r] + 8 * place;
            if constexpr (FIFTH)
                fifths[r] = load_at<uint2>(of_lane + __builtin_offsetof(Q, qs) - 32);
#pragma unroll
            for (unsigned chunk = 0; chunk < PIECE / 64; ++chunk)
                fourths[r][chunk] = load_at<uint2>(of_lane + __builtin_offsetof(Q, qs) + 32 * chunk);
        }
        release();
        uint32_t factors[LANE_ROWS][2], minima[LANE_ROWS];
        float d[LANE_ROWS], m[LANE_ROWS];
#pragma unroll
        for (unsigned r = 0; r < LANE_ROWS; ++r) {
            const uint4 &head = heads[r];
            d[r] = half_at(head.x & 0xffff), m[r] = half_at(head.x >> 16);
            factors[r][0] = head.y & 0x3f3f3f3fu, factors[r][1] = (head.w & 0x0f0f0f0fu) | (head.y >> 2 & 0x30303030u);
            // Those of 64 columns, two bytes, as bf16: behind the bits of 128 they are added to it.
            const uint32_t of_half = place < 2 ? head.z & 0x3f3f3f3fu : (head.w >> 4 & 0x0f0f0f0fu) | (head.z >> 2 & 0x30303030u);
            const uint32_t two = __byte_perm(of_half, 0x43434343u, place % 2 == 0 ? 0x4140 : 0x4342);
            minima[r] = bits_as<uint32_t>(__hsub2(bits_as<__nv_bfloat162>(two), bits_as<__nv_bfloat162>(0x43004300u)));
        }
        float offsets[4] = {}, products[4] = {};
        multiply_bf16(offsets, minima, load_at<uint2>(y.minima));
        multiply_bf16(offsets, minima, load_at<uint32_t>(y.last));
#pragma unroll
        for (unsigned chunk = 0; chunk < PIECE / 64; ++chunk) {
#pragma unroll
            for (unsigned k = 0; k < 2; ++k) {
                const unsigned part = 2 * chunk + k;
                const auto bytes = [&](uint32_t four, uint32_t fifth) {
                    if constexpr (FIFTH)
                        return nibbles(four, k) | ((part < 4 ? fifth << (4 - part) : fifth >> (part - 4)) & 0x10101010u);
                    return four & (k == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u);
                };
                const uint32_t low[LANE_ROWS] = {bytes(fourths[0][chunk].x, fifths[0].x), bytes(fourths[1][chunk].x, fifths[1].x)};
                const uint32_t high[LANE_ROWS] = {bytes(fourths[0][chunk].y, fifths[0].y), bytes(fourths[1][chunk].y, fifths[1].y)};
                int dots[4] = {};
                multiply_unsigned(dots, low, high, y.numbers_of(part, 0));
                const float2 scales = y.scales_of(part);
                // Products of 31 * 128 * 32 and 63 have 24 bits, and where there are 4 more, they are zeros.
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) {
                    const int product = dots[i] * byte(factors[i / 2][part / 4], part % 4);
                    products[i] = fmaf(i % 2 == 0 ? scales.x : scales.y, static_cast<float>(product), products[i]);
                }
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            sums[i] = fmaf(d[i / 2], products[i], fmaf(-m[i / 2], offsets[i], sums[i]));
    }
};
template <> struct Piece<Q4_K, 1> : PieceOfTwoScales<Q4_K> {};
template <> struct Piece<Q5_K, 1> : PieceOfTwoScales<Q5_K> {};

template <> struct Piece<Q4_K, 4> {
    using Y = LaneVectors<Q4_K, 4>;
    template <typename F>
    static __device__ __forceinline__ void add(const unsigned (&rows)[LANE_ROWS], const Y &y, unsigned, unsigned lane, float (&sums)[4], F release) {
        // A lane's parts are halves of the bytes of two chunks.
        constexpr unsigned TIMES = 2, CHUNK = 32;
        const unsigned part = Y::part_of(lane), mask = part % 2 == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u;
        const unsigned from = __builtin_offsetof(Q4_K, qs) + part / 2 * CHUNK;
        uint4 heads[LANE_ROWS], chunks[LANE_ROWS][TIMES][2];
#pragma unroll
        for (unsigned r = 0; r < LANE_ROWS; ++r) {
            heads[r] = load_at<uint4>(rows[r]);
#pragma unroll
            for (unsigned time = 0; time < TIMES; ++time)
#pragma unroll
                for (unsigned i = 0; i < 2; ++i)
                    chunks[r][time][i] = load_at<uint4>(rows[r] + from + time * 2 * CHUNK + i * sizeof(uint4));
        }
        release();
        float products[4] = {}, offsets[4] = {};
#pragma unroll
        for (unsigned time = 0; time < TIMES; ++time) {
            int dots[4] = {};
            const auto add_eight = [&](unsigned i, uint32_t low0, uint32_t high0, uint32_t low1, uint32_t high1) {
                const uint32_t low[LANE_ROWS] = {low0 & mask, low1 & mask}, high[LANE_ROWS] = {high0 & mask, high1 & mask};
                multiply_unsigned(dots, low, high, y.numbers_of(time, i));
            };
#pragma unroll
            for (unsigned i = 0; i < 2; ++i) {
                const uint4 &first = chunks[0][time][i], &second = chunks[1][time][i];
                add_eight(2 * i, first.x, first.y, second.x, second.y), add_eight(2 * i + 1, first.z, first.w, second.z, second.w);
            }
            const float2 d = y.scales_of(time), totals = y.sums_of(time, 0);
            int factor[LANE_ROWS];
            float minimum[LANE_ROWS];
#pragma unroll
            for (unsigned r = 0; r < LANE_ROWS; ++r) {
                const uint4 &head = heads[r];
                const uint32_t factors = time == 0 ? head.y & 0x3f3f3f3fu : (head.w & 0x0f0f0f0fu) | (head.y >> 2 & 0x30303030u);
                const uint32_t minima = time == 0 ? head.z & 0x3f3f3f3fu : (head.w >> 4 & 0x0f0f0f0fu) | (head.z >> 2 & 0x30303030u);
                factor[r] = byte(factors, part), minimum[r] = static_cast<float>(byte(minima, part));
            }
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                products[i] = fmaf(i % 2 == 0 ? d.x : d.y, static_cast<float>(dots[i] * factor[i / 2]), products[i]);
                offsets[i] = fmaf(minimum[i / 2], i % 2 == 0 ? totals.x : totals.y, offsets[i]);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            const uint32_t both = heads[i / 2].x;
            sums[i] = fmaf(half_at(both & 0xffff), products[i], fmaf(-half_at(both >> 16), offsets[i], sums[i]));
        }
    }
};

template <> struct Piece<Q6_K, 1> {
    template <typename F>
    static __device__ __forceinline__ void add(const unsigned (&rows)[LANE_ROWS], const LaneVectors<Q6_K, 1> &y, unsigned, unsigned lane,
                                               float (&sums)[4], F release) {
        constexpr unsigned HALVES = 2, QUARTERS = 4;
        const unsigned place = 4 * (lane % 4);
        const WordsAt words[LANE_ROWS] = {WordsAt(rows[0]), WordsAt(rows[1])};
        const WordsAt of_lane[LANE_ROWS] = {WordsAt(rows[0] + place), WordsAt(rows[1] + place)};
        uint32_t scales[LANE_ROWS][4], lows[HALVES][2][LANE_ROWS][2], highs[HALVES][2][LANE_ROWS];
        float d[LANE_ROWS];
#pragma unroll
        for (unsigned r = 0; r < LANE_ROWS; ++r) {
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                scales[r][i] = words[r][__builtin_offsetof(Q6_K, scales) / 4 + i];
            d[r] = half_at(load_at<uint16_t>(rows[r] + __builtin_offsetof(Q6_K, d)));
#pragma unroll
            for (unsigned half = 0; half < HALVES; ++half)
#pragma unroll
                for (unsigned k = 0; k < 2; ++k) {
                    lows[half][k][r][0] = of_lane[r][16 * half + 4 * k], lows[half][k][r][1] = of_lane[r][16 * half + 8 + 4 * k];
                    highs[half][k][r] = of_lane[r][32 + 8 * half + 4 * k];
                }
        }
        release();
        float products[4] = {};
#pragma unroll
        for (unsigned half = 0; half < HALVES; ++half) {
            // Of the quarters, the first groups and the second.
            uint32_t q[QUARTERS][2][LANE_ROWS];
#pragma unroll
            for (unsigned r = 0; r < LANE_ROWS; ++r)
#pragma unroll
                for (unsigned k = 0; k < 2; ++k) {
                    const uint32_t high = highs[half][k][r];
#pragma unroll
                    for (unsigned quarter = 0; quarter < QUARTERS; ++quarter)
                        q[quarter][k][r] = nibbles(lows[half][k][r][quarter % 2], quarter / 2) |
                                           ((quarter < 2 ? high << (4 - 2 * quarter) : high >> (2 * quarter - 4)) & 0x30303030u);
                }
#pragma unroll
            for (unsigned quarter = 0; quarter < QUARTERS; ++quarter) {
                const unsigned part = QUARTERS * half + quarter;
                const uint2 numbers = y.numbers_of(part, 0);
                const float2 of_vectors = y.scales_of(part);
                int of_part[4];
#pragma unroll
                for (unsigned k = 0; k < 2; ++k) {
                    const float2 begin = y.sums_of(part, k);
                    int dots[4] = {__float_as_int(begin.x), __float_as_int(begin.y), __float_as_int(begin.x), __float_as_int(begin.y)};
                    multiply(dots, q[quarter][k], k == 0 ? numbers.x : numbers.y);
                    // The sum of both products of 32 * 128 * 16 and 128 is at most 2^24.
#pragma unroll
                    for (unsigned i = 0; i < 4; ++i) {
                        const int product = dots[i] * signed_byte(scales[i / 2][part / 2], (2 * part + k) % 4);
                        of_part[i] = k == 0 ? product : of_part[i] + product;
                    }
                }
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    products[i] = fmaf(i % 2 == 0 ? of_vectors.x : of_vectors.y, static_cast<float>(of_part[i]), products[i]);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            sums[i] = fmaf(d[i / 2], products[i], sums[i]);
    }
};
} // namespace few
#endif
