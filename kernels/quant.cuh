// The quantised types of GGUF: each has the layout of a block and the two functions that decode its values. All kernels use these.
//
// A block holds groups of 16 values, and a group four quads of four. Value = scale.d * q + scale.m, where q is a byte of `quad(group,
// quad)`, in the order of values, and `scale(group)` has the group's factor and offset. With OFFSET, bytes are at most 127; without it,
// they are signed and m is 0. Two consecutive groups share a scale except with FINE.
//
// Two groups whose lower bits share bytes are a unit; they are STEP groups apart. A thread of a product takes a unit at a time.
#pragma once
#include "q8_1.cuh"
#include "target.cuh"

constexpr unsigned GROUP = 16;
constexpr unsigned QUADS = GROUP / 4;

struct Scale {
    float d, m;
};

// The four bytes at any address.
__device__ __forceinline__ uint32_t word_anywhere(const void *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}
// The same at an even address. NVIDIA's compiler reads bytes one after the other unless it knows that, or more.
__device__ __forceinline__ uint32_t word_at(const void *p) {
#if defined(__AMDGCN__)
    return word_anywhere(p);
#else
    return word_anywhere(__builtin_assume_aligned(p, 2));
#endif
}
__device__ __forceinline__ float half_at(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }

// Bits 0 to 3, each in bit 4 of a byte.
__device__ __forceinline__ uint32_t fifth_bits(uint32_t bits) { return ((bits & 15) * 0x00204081u & 0x01010101u) << 4; }

// 4 bits, centred.
struct Q4_0 {
    static constexpr unsigned GGUF = 2, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = true, FINE = false;
    uint16_t d;
    uint8_t qs[16];

    __device__ __forceinline__ Scale scale(unsigned) const {
        const float scale = half_at(d);
        return {scale, -8.0f * scale};
    }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const { return word_at(qs + 4 * i) >> 4 * group & 0x0f0f0f0fu; }
};
static_assert(sizeof(Q4_0) == 18);

// 4 bits and a minimum.
struct Q4_1 {
    static constexpr unsigned GGUF = 3, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = true, FINE = false;
    uint16_t d, m;
    uint8_t qs[16];

    __device__ __forceinline__ Scale scale(unsigned) const { return {half_at(d), half_at(m)}; }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const { return word_at(qs + 4 * i) >> 4 * group & 0x0f0f0f0fu; }
};
static_assert(sizeof(Q4_1) == 20);

// 5 bits, centred; `qh` has the fifth ones.
struct Q5_0 {
    static constexpr unsigned GGUF = 6, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = true, FINE = false;
    uint16_t d;
    uint8_t qh[4];
    uint8_t qs[16];

    __device__ __forceinline__ Scale scale(unsigned) const {
        const float scale = half_at(d);
        return {scale, -16.0f * scale};
    }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return (word_at(qs + 4 * i) >> 4 * group & 0x0f0f0f0fu) | fifth_bits(word_at(qh) >> (16 * group + 4 * i));
    }
};
static_assert(sizeof(Q5_0) == 22);

// 5 bits and a minimum.
struct Q5_1 {
    static constexpr unsigned GGUF = 7, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = true, FINE = false;
    uint16_t d, m;
    uint8_t qh[4];
    uint8_t qs[16];

    __device__ __forceinline__ Scale scale(unsigned) const { return {half_at(d), half_at(m)}; }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return (word_at(qs + 4 * i) >> 4 * group & 0x0f0f0f0fu) | fifth_bits(word_at(qh) >> (16 * group + 4 * i));
    }
};
static_assert(sizeof(Q5_1) == 24);

struct Q8_0 {
    static constexpr unsigned GGUF = 8, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = false, FINE = false;
    uint16_t d;
    int8_t qs[32];

    __device__ __forceinline__ Scale scale(unsigned) const { return {half_at(d), 0.0f}; }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const { return word_at(qs + GROUP * group + 4 * i); }
};
static_assert(sizeof(Q8_0) == 34);

// 2 bits; groups have scales and minima of 4 bits. Of 128 values, a byte has those at l, l + 32, l + 64 and l + 96.
struct Q2_K {
    static constexpr unsigned GGUF = 10, VALUES = 256, STEP = 2;
    static constexpr bool OFFSET = true, FINE = true;
    uint8_t scales[16];
    uint8_t qs[64];
    uint16_t d, m;

    __device__ __forceinline__ Scale scale(unsigned group) const {
        const unsigned both = scales[group];
        return {half_at(d) * static_cast<float>(both & 15), -half_at(m) * static_cast<float>(both >> 4)};
    }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return word_at(qs + 32 * (group / 8) + 16 * (group % 2) + 4 * i) >> 2 * (group / 2 % 4) & 0x03030303u;
    }
};
static_assert(sizeof(Q2_K) == 84);

// 3 bits, centred; `hmask` has the third bits, one for each eighth of the block in a byte. Groups have scales of 6 bits: the lower 4 in
// the first 8 bytes, the upper 2 in the last 4.
struct Q3_K {
    static constexpr unsigned GGUF = 11, VALUES = 256, STEP = 2;
    static constexpr bool OFFSET = true, FINE = true;
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint16_t d;

    __device__ __forceinline__ Scale scale(unsigned group) const {
        const unsigned low = scales[group % 8] >> 4 * (group / 8) & 15, high = scales[8 + group % 4] >> 2 * (group / 4) & 3;
        const float scale = half_at(d) * static_cast<float>(static_cast<int>(low | high << 4) - 32);
        return {scale, -4.0f * scale};
    }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        const unsigned at = 16 * (group % 2) + 4 * i;
        return (word_at(qs + 32 * (group / 8) + at) >> 2 * (group / 2 % 4) & 0x03030303u) |
               (word_at(hmask + at) >> group / 2 & 0x01010101u) << 2;
    }
};
static_assert(sizeof(Q3_K) == 110);

// The scale and the minimum of 32 values of Q4_K and Q5_K, 6 bits each. Those of the first half have a byte each, whose upper 2 bits
// belong to the second half; the lower 4 bits of the second half share the last 4 bytes.
__device__ __forceinline__ Scale scale_of_32(uint32_t a, uint32_t b, uint32_t c, float d, float m, unsigned of) {
    const unsigned upper = of / 4, at = 8 * (of % 4);
    const unsigned factor = ((upper ? c : a) >> at & 15) | (a >> (at + 2 * upper) & 48);
    const unsigned minimum = ((upper ? c >> 4 : b) >> at & 15) | (b >> (at + 2 * upper) & 48);
    return {d * static_cast<float>(factor), -m * static_cast<float>(minimum)};
}
__device__ __forceinline__ Scale scale_of_32(const uint8_t *scales, float d, float m, unsigned of) {
    return scale_of_32(word_at(scales), word_at(scales + 4), word_at(scales + 8), d, m, of);
}

// Half a group.
struct Eighth {
    Scale scale;
    uint32_t quads[2];
};
// Blocks whose size is a multiple of 16 bytes all begin at one if the first does. `eighth` then reads the first 16 bytes of a block, which have all of
// its scales, at once, and what else it needs by 8: NVIDIA's hardware takes as long for two bytes.
template <typename Q> constexpr bool WIDE = sizeof(Q) % 16 == 0;
struct Head {
    uint4 bits;

    __device__ __forceinline__ explicit Head(const void *block) : bits(*static_cast<const uint4 *>(block)) {}
    __device__ __forceinline__ Scale scale(unsigned group) const {
        const auto half = [](uint32_t of) { return half_at(static_cast<uint16_t>(of)); };
        return scale_of_32(bits.y, bits.z, bits.w, half(bits.x), half(bits.x >> 16), group / 2);
    }
};
__device__ __forceinline__ uint2 two_words_at(const void *p) { return *static_cast<const uint2 *>(p); }

// 4 bits; 32 values have a scale and a minimum. Of 64 values, a byte has those at l and l + 32.
struct Q4_K {
    static constexpr unsigned GGUF = 12, VALUES = 256, STEP = 2;
    static constexpr bool OFFSET = true, FINE = false;
    uint16_t d, m;
    uint8_t scales[12];
    uint8_t qs[128];

    __device__ __forceinline__ Scale scale(unsigned group) const { return scale_of_32(scales, half_at(d), half_at(m), group / 2); }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return word_at(qs + 32 * (group / 4) + 16 * (group % 2) + 4 * i) >> 4 * (group / 2 % 2) & 0x0f0f0f0fu;
    }
    __device__ __forceinline__ Eighth eighth(unsigned group, unsigned half) const {
        const uint2 bits = two_words_at(qs + 32 * (group / 4) + 16 * (group % 2) + 8 * half);
        const auto quad = [&](uint32_t word) { return word >> 4 * (group / 2 % 2) & 0x0f0f0f0fu; };
        return {Head(this).scale(group), {quad(bits.x), quad(bits.y)}};
    }
};
static_assert(sizeof(Q4_K) == 144);

// As Q4_K; `qh` has the fifth bits, one for each eighth of the block in a byte.
struct Q5_K {
    static constexpr unsigned GGUF = 13, VALUES = 256, STEP = 2;
    static constexpr bool OFFSET = true, FINE = false;
    uint16_t d, m;
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];

    __device__ __forceinline__ Scale scale(unsigned group) const { return scale_of_32(scales, half_at(d), half_at(m), group / 2); }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        const unsigned at = 16 * (group % 2) + 4 * i;
        return (word_at(qs + 32 * (group / 4) + at) >> 4 * (group / 2 % 2) & 0x0f0f0f0fu) |
               (word_at(qh + at) >> group / 2 & 0x01010101u) << 4;
    }
    __device__ __forceinline__ Eighth eighth(unsigned group, unsigned half) const {
        const unsigned at = 16 * (group % 2) + 8 * half;
        const uint2 low = two_words_at(qs + 32 * (group / 4) + at), high = two_words_at(qh + at);
        const auto quad = [&](uint32_t four, uint32_t fifth) {
            return (four >> 4 * (group / 2 % 2) & 0x0f0f0f0fu) | (fifth >> group / 2 & 0x01010101u) << 4;
        };
        return {Head(this).scale(group), {quad(low.x, high.x), quad(low.y, high.y)}};
    }
};
static_assert(sizeof(Q5_K) == 176);

// 6 bits, centred; groups have scales of 8 bits. Of 128 values, a byte of `ql` has the lower bits of those at l and l + 64, one of
// `qh` the upper ones of those at l, l + 32, l + 64 and l + 96.
struct Q6_K {
    static constexpr unsigned GGUF = 14, VALUES = 256, STEP = 4;
    static constexpr bool OFFSET = true, FINE = true;
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint16_t d;

    __device__ __forceinline__ Scale scale(unsigned group) const {
        const float scale = half_at(d) * static_cast<float>(scales[group]);
        return {scale, -32.0f * scale};
    }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        const unsigned half = group / 8, quarter = group / 2 % 4, at = 16 * (group % 2) + 4 * i;
        return (word_at(ql + 64 * half + 32 * (quarter % 2) + at) >> 4 * (quarter / 2) & 0x0f0f0f0fu) |
               (word_at(qh + 32 * half + at) >> 2 * quarter & 0x03030303u) << 4;
    }
};
static_assert(sizeof(Q6_K) == 210);

// For candle's CPU products; kernels only dequantise it.
struct Q8_K {
    static constexpr unsigned VALUES = 256;
    static constexpr bool OFFSET = false;
    float d;
    int8_t qs[256];
    int16_t sums[16];

    __device__ __forceinline__ Scale scale(unsigned) const { return {d, 0.0f}; }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const { return word_at(qs + GROUP * group + 4 * i); }
};
static_assert(sizeof(Q8_K) == 292);

// 4-bit indices into a table of values, which are denser near zero.
struct IQ4_NL {
    static constexpr unsigned GGUF = 20, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = false, FINE = false;
    uint16_t d;
    uint8_t qs[16];

    __device__ __forceinline__ Scale scale(unsigned) const { return {half_at(d), 0.0f}; }
    // The bytes for four indices.
    static __device__ __forceinline__ uint32_t values(uint32_t indices) {
        // -127 -104 -83 -65, -49 -35 -22 -10, 1 13 25 38, 53 69 89 113
        constexpr uint32_t TABLE[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
        return look_up(TABLE, indices);
    }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return values(word_at(qs + 4 * i) >> 4 * group & 0x0f0f0f0fu);
    }
};
static_assert(sizeof(IQ4_NL) == 18);

// Indices into the same table; 32 values have a scale of 6 bits, centred: the lower 4 bits of two share a byte, the upper 2 of all are in
// `scales_h`.
struct IQ4_XS {
    static constexpr unsigned GGUF = 23, VALUES = 256, STEP = 1;
    static constexpr bool OFFSET = false, FINE = false;
    uint16_t d, scales_h;
    uint8_t scales_l[4];
    uint8_t qs[128];

    static __device__ __forceinline__ Scale scale_of_32(float d, uint32_t high, uint32_t low, unsigned of) {
        const uint32_t bits = (low >> 4 * of & 15) | (high >> 2 * of & 3) << 4;
        return {d * static_cast<float>(static_cast<int>(bits) - 32), 0.0f};
    }
    __device__ __forceinline__ Scale scale(unsigned group) const { return scale_of_32(half_at(d), scales_h, word_at(scales_l), group / 2); }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return IQ4_NL::values(word_at(qs + 16 * (group / 2) + 4 * i) >> 4 * (group % 2) & 0x0f0f0f0fu);
    }
};
static_assert(sizeof(IQ4_XS) == 136);

// Floats of 4 bits (E2M1) with a power of two (E8M0) for 32 of them. Bytes are twice the floats.
struct MXFP4 {
    static constexpr unsigned GGUF = 39, VALUES = 32, STEP = 1;
    static constexpr bool OFFSET = false, FINE = false;
    uint8_t e;
    uint8_t qs[16];

    static __device__ __forceinline__ float power(unsigned e) {
        // half of 2^(e - 127), which is subnormal for the two smallest
        return __uint_as_float(e < 2 ? 0x00200000u << e : e == 255 ? 0x7fc00000u : (e - 1u) << 23);
    }
    // The bytes for four floats.
    static __device__ __forceinline__ uint32_t values(uint32_t floats) {
        // 0 1 2 3, 4 6 8 12, and below zero
        constexpr uint32_t TABLE[4] = {0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu};
        return look_up(TABLE, floats);
    }
    __device__ __forceinline__ Scale scale(unsigned) const { return {power(e), 0.0f}; }
    __device__ __forceinline__ uint32_t quad(unsigned group, unsigned i) const {
        return values(word_anywhere(qs + 4 * i) >> 4 * group & 0x0f0f0f0fu);
    }
};
static_assert(sizeof(MXFP4) == 17);

// Bytes are signed where there is no offset.
template <typename Q> __device__ __forceinline__ float byte_of(uint32_t quad, unsigned i) {
    return Q::OFFSET ? static_cast<float>(quad >> 8 * i & 255) : static_cast<float>(static_cast<int8_t>(quad >> 8 * i));
}

// The values of a quad in f32, exact except for one rounding.
template <typename Q> __device__ __forceinline__ float4 values_of(const Scale &scale, uint32_t q) {
    const auto value = [&](unsigned byte) { return fmaf(scale.d, byte_of<Q>(q, byte), scale.m); };
    return {value(0), value(1), value(2), value(3)};
}
template <typename Q> __device__ __forceinline__ float4 dequantize(const Q &block, unsigned group, unsigned i) {
    return values_of<Q>(block.scale(group), block.quad(group, i));
}

template <typename T> struct alignas(4 * sizeof(T)) Four {
    T x, y, z, w;
};

template <typename T> __device__ __forceinline__ void store_four(T *out, float4 x) {
    *reinterpret_cast<Four<T> *>(out) = {convert<T>(x.x), convert<T>(x.y), convert<T>(x.z), convert<T>(x.w)};
}

// The type of results, for kernels that support all of them.
enum class Out : unsigned { F32, F16, BF16 };

// Calls with the results as their own type.
template <typename F> __device__ __forceinline__ void with_type(Out type, void *out, F store) {
    if (type == Out::F32)
        store(static_cast<float *>(out));
    else if (type == Out::F16)
        store(static_cast<__half *>(out));
    else
        store(static_cast<__nv_bfloat16 *>(out));
}
template <typename T> __device__ __forceinline__ void store(T *to, float x) { *to = convert<T>(x); }
__device__ __forceinline__ void store_as(Out type, void *out, size_t at, float x) {
    with_type(type, out, [&](auto *to) { store(to + at, x); });
}

// A unit of a row: its block, and those of the block's groups that belong to it.
template <typename Q> struct Unit {
    static constexpr unsigned GROUPS = 2;
    static constexpr unsigned PER_BLOCK = Q::VALUES / (GROUP * GROUPS);
    unsigned block, first;

    __device__ __forceinline__ explicit Unit(unsigned index)
        : block(index / PER_BLOCK), first(index % PER_BLOCK / Q::STEP * (Q::STEP * GROUPS) + index % Q::STEP) {}
    __device__ __forceinline__ unsigned group(unsigned k) const { return first + Q::STEP * k; }
};

// candle's types, as named in most of its kernels and in the rest; and all types.
#define QUANT_32(ROW) ROW(Q4_0, q4_0) ROW(Q4_1, q4_1) ROW(Q5_0, q5_0) ROW(Q5_1, q5_1) ROW(Q8_0, q8_0)
#define QUANT_K(ROW) ROW(Q2_K, q2_K, q2_k) ROW(Q3_K, q3_K, q3_k) ROW(Q4_K, q4_K, q4_k) ROW(Q5_K, q5_K, q5_k) ROW(Q6_K, q6_K, q6_k)
#define QUANT_ALL(ROW)                                                                                                 \
    ROW(Q4_0, q4_0) ROW(Q4_1, q4_1) ROW(Q5_0, q5_0) ROW(Q5_1, q5_1) ROW(Q8_0, q8_0) ROW(IQ4_NL, iq4_nl) ROW(MXFP4, mxfp4) \
    ROW(Q2_K, q2_k) ROW(Q3_K, q3_k) ROW(Q4_K, q4_k) ROW(Q5_K, q5_k) ROW(Q6_K, q6_k) ROW(IQ4_XS, iq4_xs)

// Calls with a matrix as its own type, by the type's number in GGUF files.
template <typename F> __device__ __forceinline__ void with_quant(unsigned type, const void *x, F f) {
    switch (type) {
#define CASE(Q, NAME)                                                                                                  \
    case Q::GGUF:                                                                                                      \
        return f(static_cast<const Q *>(x));
        QUANT_ALL(CASE)
#undef CASE
    }
}
