// The types of CUDA's libraries for C, whose compilers do not read the headers that C++ has them in.
#pragma once
#include <stddef.h>
#include <stdint.h>
typedef struct { float x, y; } cuFloatComplex;
typedef cuFloatComplex cuComplex;
typedef struct { double x, y; } cuDoubleComplex;
typedef struct { uint16_t x; } __half;
typedef struct { uint16_t x; } __nv_bfloat16;
