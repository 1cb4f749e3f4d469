// The 8-bit floats of rocBLAS 6, on every target: AMD's own formats, which gfx942 computes in ("FNUZ"). They have one zero, one NaN, whose
// code would otherwise be negative zero, and no infinities.
#pragma once
#include "number.cuh"

// A sign, an exponent, and this many bits of significand.
template <unsigned FRACTION> struct Fnuz {
    static constexpr unsigned SHIFT = 23 - FRACTION, BIAS = 1u << (6 - FRACTION);
    static constexpr uint32_t NOT_A_NUMBER = 0x80, LARGEST = 0x7f;
    // How much greater the exponent of an f32 is, in its place.
    static constexpr uint32_t FURTHER = (127 - BIAS) << 23;

    // Exact.
    static __device__ __forceinline__ float widen(uint8_t code) {
        if (code == NOT_A_NUMBER)
            return __uint_as_float(0x7fc00000u);
        // As bits of an f32, exponent and significand give a number that is too small by a constant factor; subnormal numbers
        // are subnormal there, too.
        const float magnitude = __uint_as_float((code & 0x7fu) << SHIFT) * __uint_as_float(FURTHER + (127u << 23));
        return __uint_as_float(__float_as_uint(magnitude) | (code & 0x80u) << 24);
    }

    // To nearest, ties to even. Numbers too large become the largest number; infinities and NaN become NaN.
    static __device__ __forceinline__ uint8_t round(float x) {
        // An f32 whose last digit is the last digit of the smallest number.
        constexpr uint32_t SUBNORMAL = (151 - BIAS - FRACTION) << 23;
        const uint32_t bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu;
        if (magnitude >= 0x7f800000u)
            return NOT_A_NUMBER;
        uint32_t rounded;
        if (magnitude >= (LARGEST << SHIFT) + FURTHER)
            rounded = LARGEST;
        else if (magnitude < FURTHER + (1u << 23))
            rounded = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(SUBNORMAL)) - SUBNORMAL;
        else
            rounded = (magnitude + ((1u << (SHIFT - 1)) - 1) + (magnitude >> SHIFT & 1u) - FURTHER) >> SHIFT;
        return static_cast<uint8_t>(rounded == 0 ? 0 : rounded | (bits >> 24 & 0x80u));
    }
};
using F8Format = Fnuz<3>;
using BF8Format = Fnuz<2>;

// `read` and `write` that also support 8-bit floats; few kernels need that.
template <typename T> __device__ __forceinline__ T read_any(const void *p, unsigned type, int64_t i) {
    if constexpr (std::is_same_v<T, float>) {
        if (type == F8)
            return F8Format::widen(static_cast<const uint8_t *>(p)[i]);
        if (type == BF8)
            return BF8Format::widen(static_cast<const uint8_t *>(p)[i]);
    }
    return read<T>(p, type, i);
}
template <typename T> __device__ __forceinline__ void write_any(void *p, unsigned type, int64_t i, T x) {
    if constexpr (std::is_same_v<T, float>) {
        if (type == F8 || type == BF8) {
            static_cast<uint8_t *>(p)[i] = type == F8 ? F8Format::round(x) : BF8Format::round(x);
            return;
        }
    }
    write<T>(p, type, i, x);
}
