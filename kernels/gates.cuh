// The functions of gates.
#pragma once
#include "common.cuh"

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }
// The same, for results of 16 bits on NVIDIA's hardware: an exponential and a reciprocal that err by some units in the last place of f32 take few
// instructions there.
template <typename T> __device__ __forceinline__ float silu_as(float x) {
#if !defined(__AMDGCN__)
    if constexpr (sizeof(T) == 2) {
        float reciprocal;
        asm("rcp.approx.f32 %0, %1;" : "=f"(reciprocal) : "f"(1.0f + __expf(-x)));
        return x * reciprocal;
    }
#endif
    return silu(x);
}
__device__ __forceinline__ float gelu(float x) {
    const float sqrt_2_over_pi = 0.79788456080286535588f;
    return 0.5f * x * (1.0f + tanhf(sqrt_2_over_pi * x * (1.0f + 0.044715f * x * x)));
}
__device__ __forceinline__ float gelu_erf(float x) { return x * normcdff(x); }
// A NaN stays one.
__device__ __forceinline__ float swiglu_oai(float gate, float up, float alpha, float limit) {
    const float x = gate > limit ? limit : gate, y = up > limit ? limit : up < -limit ? -limit : up;
    return x / (1.0f + expf(-alpha * x)) * (y + 1.0f);
}
__device__ __forceinline__ float relu2(float x) { return x < 0.0f ? 0.0f : x * x; }
