// The 8-bit float e4m3 of the Open Compute Project ("e4m3fn"): a sign, 4 bits of exponent with bias 7, 3 of significand. It has
// no infinities; all ones after the sign is NaN. The largest number is 448, the smallest 2^-9.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

struct f8_e4m3 {
    uint8_t bits;
};

// Exact.
__device__ __forceinline__ float f8_to_float(f8_e4m3 x) {
    const uint32_t magnitude = x.bits & 0x7fu;
    const uint32_t sign = (x.bits & 0x80u) << 24;
    // As bits of an f32, exponent and significand give a number that is too small by 2^120; subnormal numbers are subnormal
    // there, too.
    const uint32_t bits = magnitude == 0x7fu ? 0x7fc00000u : __float_as_uint(__uint_as_float(magnitude << 20) * 0x1p120f);
    return __uint_as_float(bits | sign);
}

// To nearest, ties to even; numbers too large, and infinities, become the largest number, as in CUDA's __nv_fp8_e4m3.
__device__ __forceinline__ f8_e4m3 float_to_f8(float x) {
    const uint32_t bits = __float_as_uint(x);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = bits >> 24 & 0x80u;
    uint32_t rounded;
    if (magnitude > 0x7f800000u)
        rounded = 0x7f; // NaN
    else if (magnitude >= __float_as_uint(448.0f))
        rounded = 0x7e;
    else if (magnitude < __float_as_uint(0x1p-6f)) // subnormal: whole multiples of 2^-9, which is the last digit of 2^14 in f32
        rounded = __float_as_uint(__uint_as_float(magnitude) + 0x1p14f) - __float_as_uint(0x1p14f);
    else
        rounded = ((magnitude + 0x7ffffu + (magnitude >> 20 & 1u)) >> 20) - (120u << 3);
    return {static_cast<uint8_t>(rounded | sign)};
}
