// Activations as blocks of 8-bit integers: what quantised matrices are multiplied with.
#pragma once
#include "reduce.cuh"

// The blocks that activations are quantised to. `s` is the sum of the 32 original numbers.
struct Q8_1 {
    static constexpr unsigned VALUES = 32;
    uint16_t d, s;
    int8_t qs[32];
};
static_assert(sizeof(Q8_1) == 36);

// Neighbouring numbers, as one access if `wide`.
template <typename T> __device__ __forceinline__ Pack<T> read_pack(const T *from, bool wide) {
    if (wide)
        return pack_at(from);
    Pack<T> pack;
#pragma unroll
    for (unsigned j = 0; j < PACK<T>; ++j)
        pack.at[j] = from[j];
    return pack;
}
template <typename T> __device__ __forceinline__ void write_pack(T *to, const Pack<T> &pack, bool wide) {
    if (wide) {
        pack_at(to) = pack;
        return;
    }
#pragma unroll
    for (unsigned j = 0; j < PACK<T>; ++j)
        to[j] = pack.at[j];
}

// Makes blocks of numbers of which each lane has a pack, the one from number `first` on, a multiple of the pack's length; lanes whose pack is not
// `there` have none. Neighbouring lanes have neighbouring packs, and all lanes of the warp call this. If there is a NaN or an infinity among 32
// numbers, the scale is NaN or infinite, too.
template <typename T> __device__ __forceinline__ void quantize_pack(const Pack<T> &pack, bool there, Q8_1 *blocks, size_t first) {
    constexpr unsigned LANES = Q8_1::VALUES / PACK<T>;
    float most = 0, sum = 0;
#pragma unroll
    for (unsigned j = 0; j < PACK<T>; ++j) {
        const float x = load(&pack.at[j]);
        most = Max::apply(most, fabsf(x));
        sum += x;
    }
#pragma unroll
    for (unsigned mask = LANES / 2; mask > 0; mask /= 2) {
        most = Max::apply(most, from_lane_xor(most, mask));
        sum += from_lane_xor(sum, mask);
    }
    if (!there)
        return;
    const float d = most / 127.0f;
    const bool whole = d > 0.0f && d < INFINITY;
    Q8_1 &block = blocks[first / Q8_1::VALUES];
    uint32_t words[PACK<T> / 4] = {};
#pragma unroll
    for (unsigned j = 0; j < PACK<T>; ++j) {
        const int q = whole ? static_cast<int>(roundf(load(&pack.at[j]) / d)) : 0;
        words[j / 4] |= (static_cast<uint32_t>(q) & 0xffu) << 8 * (j % 4);
    }
#pragma unroll
    for (unsigned i = 0; i < PACK<T> / 4; ++i)
        reinterpret_cast<uint32_t *>(block.qs + first % Q8_1::VALUES)[i] = words[i];
    if (first % Q8_1::VALUES == 0) {
        block.d = __half_as_ushort(convert<__half>(d));
        block.s = __half_as_ushort(convert<__half>(sum));
    }
}
