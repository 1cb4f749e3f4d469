// OPTIONS: keep-duplicate-headers
// RUN: nothing
#pragma once

#include <hip/hip_runtime.h>
# include <hip/hip_runtime.h>
#include "hip/hip_runtime_api.h" // trailing
#include <vector>
#include "hipblas/hipblas.h"
#include "hipblas/hipblas.h"
#include <hip/hip_vector_types.h>
  // not needed
#include <hip/hip_runtime.h>
#ifdef WITH_SPARSE
#include <hipsparse/hipsparse.h>
#endif
#include <hipsparse/hipsparse.h>
#if __has_include(<hip/hip_fp16.h>)
#include <hip/hip_fp16.h>
#endif
#include MY_HEADER
#include "cuda/my.h"
#include "sub/cuda.h"
#include <cuda/std/atomic>
#include <nvToolsExt.h>
#define FFT_HEADER <hipfft/hipfft.h>
#define RAND_HEADER "hiprand/hiprand.h"
extern "C" {
#
#include <hip/hip_runtime.h>
}
