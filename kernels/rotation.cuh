// The rotation of a pair of numbers by an angle, with the same rounding wherever it is used: left to itself, the compiler fuses one product or the
// other.
#pragma once

struct Rotated {
    float first, second;
    __device__ __forceinline__ Rotated(float x, float y, float cos, float sin) : first(fmaf(x, cos, -(y * sin))), second(fmaf(x, sin, y * cos)) {}
};
