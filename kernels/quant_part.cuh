// What the products with one vector, and some of those with a few, on NVIDIA's hardware read of a quantised block, in registers.
#pragma once
#include "quant.cuh"

// Neighbouring words that begin at a multiple of ALIGNMENT, 4 or 16. `read` reads what a pointer leads to.
template <unsigned ALIGNMENT, unsigned WORDS> struct Words {
    uint32_t words[WORDS];

    template <typename F> __device__ __forceinline__ void load(const char *p, F read) {
        if constexpr (ALIGNMENT == 16)
#pragma unroll
            for (unsigned i = 0; i < WORDS / 4; ++i)
                reinterpret_cast<uint4 *>(words)[i] = read(reinterpret_cast<const uint4 *>(p) + i);
        else
#pragma unroll
            for (unsigned i = 0; i < WORDS; ++i)
                words[i] = read(reinterpret_cast<const uint32_t *>(p) + i);
    }
    __device__ __forceinline__ uint32_t operator[](unsigned i) const { return words[i]; }
};

// Words from any byte of global memory on: they are read as the 16 bytes that they lie in, up to 15 bytes before and behind them included, and
// then moved to the beginning.
template <unsigned WORDS> struct AnyWords {
    uint32_t words[WORDS + 4];
    unsigned offset;

    __device__ __forceinline__ void load(const char *p) {
        const size_t address = reinterpret_cast<size_t>(p);
        offset = address % 16;
        const uint4 *from = reinterpret_cast<const uint4 *>(address - offset);
#pragma unroll
        for (unsigned i = 0; i < (WORDS + 3) / 4 + 1; ++i) {
            uint4 four = {};
            if (i < WORDS / 4 || offset + 4 * WORDS > 16 * i)
                four = load_weights(from + i);
            const uint32_t of_four[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (unsigned w = 0; w < 4; ++w)
                if (4 * i + w < WORDS + 4)
                    words[4 * i + w] = of_four[w];
        }
    }
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

// The same of shared memory: they are read as the words that they lie in, and one behind them.
template <unsigned WORDS> struct AnySharedWords {
    uint32_t words[WORDS + 1];
    unsigned shift;

    __device__ __forceinline__ void load(const char *word, unsigned place) {
        shift = place % 4 * 8;
#pragma unroll
        for (unsigned i = 0; i <= WORDS; ++i)
            words[i] = reinterpret_cast<const uint32_t *>(word + place / 4 * 4)[i];
    }
    __device__ __forceinline__ void align() {
#pragma unroll
        for (unsigned i = 0; i < WORDS; ++i)
            words[i] = __funnelshift_r(words[i], words[i + 1], shift);
    }
    __device__ __forceinline__ uint32_t operator[](unsigned i) const { return words[i]; }
};

// A block in global memory.
struct InGlobal {
    template <unsigned WORDS> using Any = AnyWords<WORDS>;
    const char *at;

    __device__ __forceinline__ unsigned byte(unsigned offset) const { return *reinterpret_cast<const uint8_t *>(at + offset); }
    __device__ __forceinline__ unsigned half(unsigned offset) const { return *reinterpret_cast<const uint16_t *>(at + offset); }
    template <unsigned ALIGNMENT, unsigned WORDS> __device__ __forceinline__ void load(Words<ALIGNMENT, WORDS> &to, unsigned offset) const {
        to.load(at + offset, [](const auto *p) { return load_weights(p); });
    }
    template <unsigned WORDS> __device__ __forceinline__ void load(AnyWords<WORDS> &to, unsigned offset) const { to.load(at + offset); }
};

// A block in shared memory, `odd` bytes behind a word. It is 0 where sizes of blocks are whole words.
struct InShared {
    template <unsigned WORDS> using Any = AnySharedWords<WORDS>;
    const char *word;
    unsigned odd;

    __device__ __forceinline__ unsigned byte(unsigned offset) const { return *reinterpret_cast<const uint8_t *>(word + odd + offset); }
    __device__ __forceinline__ unsigned half(unsigned offset) const { return *reinterpret_cast<const uint16_t *>(word + odd + offset); }
    template <unsigned ALIGNMENT, unsigned WORDS> __device__ __forceinline__ void load(Words<ALIGNMENT, WORDS> &to, unsigned offset) const {
        to.load(word + offset, [](const auto *p) { return *p; });
    }
    template <unsigned WORDS> __device__ __forceinline__ void load(AnySharedWords<WORDS> &to, unsigned offset) const { to.load(word, odd + offset); }
};

// What a unit of a block reads. `load` begins to read, `align` is behind it; then `quad` and `scale` are those of the unit's group k. ALIGNMENT is
// that of the matrix. With a CENTRE, the offset of `scale` is that many times its factor below zero. With NIBBLES, the second group has the upper
// halves of the bytes of `low`, the first one the lower halves, and nothing else. With TWO_SCALES, `scales` has those of both groups.
template <typename Q, typename From> struct Part;
template <unsigned OF, bool ARE_NIBBLES, unsigned AT, bool ARE_TWO = false> struct PartTraits {
    static constexpr unsigned ALIGNMENT = AT, CENTRE = OF;
    static constexpr bool NIBBLES = ARE_NIBBLES, TWO_SCALES = ARE_TWO;
};
__device__ __forceinline__ uint32_t nibbles(uint32_t word, unsigned k) { return word >> 4 * k & 0x0f0f0f0fu; }

template <typename From> struct Part<Q4_0, From> : PartTraits<8, true, 2> {
    unsigned d;
    typename From::template Any<4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<Q4_0> &) { d = block.half(0), block.load(low, __builtin_offsetof(Q4_0, qs)); }
    __device__ __forceinline__ void align(const Unit<Q4_0> &) { low.align(); }
    __device__ __forceinline__ Scale scale(const Unit<Q4_0> &, unsigned) const { return {half_at(d), -8.0f * half_at(d)}; }
    __device__ __forceinline__ uint32_t quad(const Unit<Q4_0> &, unsigned k, unsigned i) const { return nibbles(low[i], k); }
};
template <typename From> struct Part<Q4_1, From> : PartTraits<0, true, 4> {
    unsigned d, m;
    Words<4, 4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<Q4_1> &) {
        d = block.half(0), m = block.half(2), block.load(low, __builtin_offsetof(Q4_1, qs));
    }
    __device__ __forceinline__ void align(const Unit<Q4_1> &) {}
    __device__ __forceinline__ Scale scale(const Unit<Q4_1> &, unsigned) const { return {half_at(d), half_at(m)}; }
    __device__ __forceinline__ uint32_t quad(const Unit<Q4_1> &, unsigned k, unsigned i) const { return nibbles(low[i], k); }
};
// The first word has the fifth bits.
template <typename From> struct Part<Q5_0, From> : PartTraits<16, false, 2> {
    unsigned d;
    typename From::template Any<5> bits;

    __device__ __forceinline__ void load(const From &block, const Unit<Q5_0> &) { d = block.half(0), block.load(bits, __builtin_offsetof(Q5_0, qh)); }
    __device__ __forceinline__ void align(const Unit<Q5_0> &) { bits.align(); }
    __device__ __forceinline__ Scale scale(const Unit<Q5_0> &, unsigned) const { return {half_at(d), -16.0f * half_at(d)}; }
    __device__ __forceinline__ uint32_t quad(const Unit<Q5_0> &, unsigned k, unsigned i) const {
        return nibbles(bits[1 + i], k) | fifth_bits(bits[0] >> (16 * k + 4 * i));
    }
};
template <typename From> struct Part<Q5_1, From> : PartTraits<0, false, 4> {
    unsigned d, m;
    Words<4, 5> bits;

    __device__ __forceinline__ void load(const From &block, const Unit<Q5_1> &) {
        d = block.half(0), m = block.half(2), block.load(bits, __builtin_offsetof(Q5_1, qh));
    }
    __device__ __forceinline__ void align(const Unit<Q5_1> &) {}
    __device__ __forceinline__ Scale scale(const Unit<Q5_1> &, unsigned) const { return {half_at(d), half_at(m)}; }
    __device__ __forceinline__ uint32_t quad(const Unit<Q5_1> &, unsigned k, unsigned i) const {
        return nibbles(bits[1 + i], k) | fifth_bits(bits[0] >> (16 * k + 4 * i));
    }
};
template <typename From> struct Part<Q8_0, From> : PartTraits<0, false, 2> {
    unsigned d;
    typename From::template Any<8> bytes;

    __device__ __forceinline__ void load(const From &block, const Unit<Q8_0> &) { d = block.half(0), block.load(bytes, __builtin_offsetof(Q8_0, qs)); }
    __device__ __forceinline__ void align(const Unit<Q8_0> &) { bytes.align(); }
    __device__ __forceinline__ Scale scale(const Unit<Q8_0> &, unsigned) const { return {half_at(d), 0.0f}; }
    __device__ __forceinline__ uint32_t quad(const Unit<Q8_0> &, unsigned k, unsigned i) const { return bytes[QUADS * k + i]; }
};
template <typename From> struct Part<IQ4_NL, From> : PartTraits<0, false, 2> {
    unsigned d;
    typename From::template Any<4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<IQ4_NL> &) { d = block.half(0), block.load(low, __builtin_offsetof(IQ4_NL, qs)); }
    __device__ __forceinline__ void align(const Unit<IQ4_NL> &) { low.align(); }
    __device__ __forceinline__ Scale scale(const Unit<IQ4_NL> &, unsigned) const { return {half_at(d), 0.0f}; }
    __device__ __forceinline__ uint32_t quad(const Unit<IQ4_NL> &, unsigned k, unsigned i) const { return IQ4_NL::values(nibbles(low[i], k)); }
};
template <typename From> struct Part<IQ4_XS, From> : PartTraits<0, false, 4> {
    Words<4, 2> head;
    Words<4, 4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<IQ4_XS> &at) {
        block.load(head, 0);
        block.load(low, __builtin_offsetof(IQ4_XS, qs) + 16 * (at.first / 2));
    }
    __device__ __forceinline__ void align(const Unit<IQ4_XS> &) {}
    __device__ __forceinline__ Scale scale(const Unit<IQ4_XS> &at, unsigned) const {
        return IQ4_XS::scale_of_32(half_at(head[0] & 0xffff), head[0] >> 16, head[1], at.first / 2);
    }
    __device__ __forceinline__ uint32_t quad(const Unit<IQ4_XS> &, unsigned k, unsigned i) const { return IQ4_NL::values(nibbles(low[i], k)); }
};
template <typename From> struct Part<MXFP4, From> : PartTraits<0, false, 2> {
    unsigned e;
    typename From::template Any<4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<MXFP4> &) { e = block.byte(0), block.load(low, __builtin_offsetof(MXFP4, qs)); }
    __device__ __forceinline__ void align(const Unit<MXFP4> &) { low.align(); }
    __device__ __forceinline__ Scale scale(const Unit<MXFP4> &, unsigned) const { return {MXFP4::power(e), 0.0f}; }
    __device__ __forceinline__ uint32_t quad(const Unit<MXFP4> &, unsigned k, unsigned i) const { return MXFP4::values(nibbles(low[i], k)); }
};

template <typename From> struct Part<Q2_K, From> : PartTraits<0, false, 4> {
    unsigned both[2];
    Words<4, 1> factors;
    Words<4, 4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<Q2_K> &at) {
        both[0] = block.byte(at.group(0)), both[1] = block.byte(at.group(1));
        block.load(factors, __builtin_offsetof(Q2_K, d));
        block.load(low, __builtin_offsetof(Q2_K, qs) + 32 * (at.first / 8) + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q2_K> &) {}
    __device__ __forceinline__ Scale scale(const Unit<Q2_K> &, unsigned k) const {
        return {half_at(factors[0] & 0xffff) * static_cast<float>(both[k] & 15), -half_at(factors[0] >> 16) * static_cast<float>(both[k] >> 4)};
    }
    __device__ __forceinline__ uint32_t quad(const Unit<Q2_K> &at, unsigned k, unsigned i) const {
        return low[i] >> 2 * (at.group(k) / 2 % 4) & 0x03030303u;
    }
};

template <typename From> struct Part<Q3_K, From> : PartTraits<4, false, 2> {
    unsigned four[2], two[2], d;
    typename From::template Any<4> low, high;

    __device__ __forceinline__ void load(const From &block, const Unit<Q3_K> &at) {
#pragma unroll
        for (unsigned k = 0; k < 2; ++k) {
            four[k] = block.byte(__builtin_offsetof(Q3_K, scales) + at.group(k) % 8);
            two[k] = block.byte(__builtin_offsetof(Q3_K, scales) + 8 + at.group(k) % 4);
        }
        d = block.half(__builtin_offsetof(Q3_K, d));
        block.load(low, __builtin_offsetof(Q3_K, qs) + 32 * (at.first / 8) + 16 * (at.first % 2));
        block.load(high, __builtin_offsetof(Q3_K, hmask) + 16 * (at.first % 2));
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

// A byte of a word.
__device__ __forceinline__ float float_of_byte(uint32_t word, unsigned i) { return static_cast<float>(word >> 8 * i & 255); }

// The scales and minima of both groups of a unit of Q4_K or Q5_K, of 32 values each that follow each other, as `scale_of_32` has one.
struct TwoScales {
    Words<16, 4> head;
    uint32_t bytes; // two factors, two minima

    __device__ __forceinline__ void decode(unsigned of) {
        const bool upper = of / 4;
        // two bytes of the first word, and two of the second
        const unsigned two = of % 4 == 0 ? 0x5410 : 0x7632;
        const uint32_t ab = __byte_perm(head[1], head[2], two), c = __byte_perm(head[3], head[3] >> 4, two);
        bytes = ((upper ? c : ab) & 0x0f0f0f0fu) | (ab >> (upper ? 2 : 0) & 0x30303030u);
    }
    __device__ __forceinline__ float d() const { return half_at(head[0] & 0xffff); }
    __device__ __forceinline__ float m() const { return half_at(head[0] >> 16); }
    __device__ __forceinline__ float factor(unsigned k) const { return float_of_byte(bytes, k); }
    __device__ __forceinline__ float minimum(unsigned k) const { return float_of_byte(bytes, 2 + k); }
    __device__ __forceinline__ Scale scale(unsigned k) const { return {d() * factor(k), -m() * minimum(k)}; }
};

// Its first group has the lower bits.
template <typename From> struct Part<Q4_K, From> : PartTraits<0, true, 16, true> {
    TwoScales scales;
    Words<16, 4> low;

    __device__ __forceinline__ void load(const From &block, const Unit<Q4_K> &at) {
        block.load(scales.head, 0);
        block.load(low, __builtin_offsetof(Q4_K, qs) + 32 * (at.first / 4) + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q4_K> &at) { scales.decode(at.first / 2); }
    __device__ __forceinline__ Scale scale(const Unit<Q4_K> &, unsigned k) const { return scales.scale(k); }
    __device__ __forceinline__ uint32_t quad(const Unit<Q4_K> &, unsigned k, unsigned i) const { return nibbles(low[i], k); }
};

template <typename From> struct Part<Q5_K, From> : PartTraits<0, false, 16, true> {
    TwoScales scales;
    Words<16, 4> high, low;

    __device__ __forceinline__ void load(const From &block, const Unit<Q5_K> &at) {
        block.load(scales.head, 0);
        block.load(high, __builtin_offsetof(Q5_K, qh) + 16 * (at.first % 2));
        block.load(low, __builtin_offsetof(Q5_K, qs) + 32 * (at.first / 4) + 16 * (at.first % 2));
    }
    __device__ __forceinline__ void align(const Unit<Q5_K> &at) { scales.decode(at.first / 2); }
    __device__ __forceinline__ Scale scale(const Unit<Q5_K> &, unsigned k) const { return scales.scale(k); }
    __device__ __forceinline__ uint32_t quad(const Unit<Q5_K> &at, unsigned k, unsigned i) const {
        return nibbles(low[i], k) | (high[i] >> at.group(k) / 2 & 0x01010101u) << 4;
    }
};

template <typename From> struct Part<Q6_K, From> : PartTraits<32, false, 2> {
    unsigned factors[2], d;
    typename From::template Any<4> low, high;

    __device__ __forceinline__ void load(const From &block, const Unit<Q6_K> &at) {
        factors[0] = block.byte(__builtin_offsetof(Q6_K, scales) + at.group(0)), factors[1] = block.byte(__builtin_offsetof(Q6_K, scales) + at.group(1));
        d = block.half(__builtin_offsetof(Q6_K, d));
        const unsigned half = at.first / 8, quarter = at.first / 2 % 4, from = 16 * (at.first % 2);
        block.load(low, 64 * half + 32 * quarter + from);
        block.load(high, __builtin_offsetof(Q6_K, qh) + 32 * half + from);
    }
    __device__ __forceinline__ void align(const Unit<Q6_K> &) { low.align(), high.align(); }
    __device__ __forceinline__ Scale scale(const Unit<Q6_K> &, unsigned k) const {
        const float scale = half_at(d) * static_cast<float>(static_cast<int8_t>(factors[k]));
        return {scale, -32.0f * scale};
    }
    // The first group's upper bits are the lowest two of a byte, or the next ones, those of the second group four above.
    __device__ __forceinline__ uint32_t quad(const Unit<Q6_K> &at, unsigned k, unsigned i) const {
        const unsigned place = 2 * (at.first / 2 % 2);
        return nibbles(low[i], k) | ((k == 0 ? high[i] << (4 - place) : high[i] >> place) & 0x30303030u);
    }
};
