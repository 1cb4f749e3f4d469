// CUB's <cub/util_debug.cuh> for AMD targets: errors of the runtime, which are printed if CUB_STDERR is defined.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#if !defined(__HIPCC_RTC__)
#include <cstdio>
#include <cstdlib>

namespace cub {
static __host__ __device__ __attribute__((unused)) inline cudaError_t Debug(cudaError_t error, const char *file, int line) {
#if defined(CUB_STDERR)
    if (error != cudaSuccess)
        printf("CUDA error %d [%s, %d]: %s\n", static_cast<int>(error), file, line, cudaGetErrorString(error));
#endif
    (void)file, (void)line;
    return error;
}
} // namespace cub
#define CubDebug(error) cub::Debug(static_cast<cudaError_t>(error), __FILE__, __LINE__)
#define CubDebugExit(error) \
    if (CubDebug(error))    \
        exit(1);
#define _CubLog(format, ...) printf(format, __VA_ARGS__)
#endif
#include "../ferrocm_letters_end.h"
