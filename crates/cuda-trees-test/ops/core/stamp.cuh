// Instantiates a kernel for each type, with extern "C" names for hosts that load modules.
#pragma once
#define CONCAT_(A, B) A##B
#define CONCAT(A, B) CONCAT_(A, B)
#define OPS_FOR_TYPE(MACRO, NAME, ...)             \
    MACRO(float, CONCAT(NAME, _f32), __VA_ARGS__)  \
    MACRO(double, CONCAT(NAME, _f64), __VA_ARGS__) \
    MACRO(half_t, CONCAT(NAME, _f16), __VA_ARGS__) \
    MACRO(bfloat_t, CONCAT(NAME, _bf16), __VA_ARGS__)
#define GRID_STRIDE(I, N) \
    for (unsigned I = blockIdx.x * blockDim.x + threadIdx.x; I < (N); I += blockDim.x * gridDim.x)
