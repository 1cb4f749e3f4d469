// How functions of CUDA's API are declared that are not HIP's by another name, in C and C++.
#pragma once
#pragma GCC system_header
#if defined(__cplusplus)
#include <cstddef>
#include <cstdint>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif
// A default argument, where the language has them.
#if defined(__cplusplus)
#define __CUDA_DEFAULT(VALUE) = VALUE
#else
#define __CUDA_DEFAULT(VALUE)
#endif
// A function of ours.
#define __CUDA_API static __attribute__((unused)) inline
// A function that is not supported: each header of such rows gives the reason above them.
#define __CUDA_REFUSED(NAME, ...) \
    __CUDA_API cudaError_t NAME(__VA_ARGS__) { return hipErrorNotSupported; }
#define __CU_REFUSED(NAME, ...) \
    __CUDA_API CUresult NAME(__VA_ARGS__) { return hipErrorNotSupported; }
