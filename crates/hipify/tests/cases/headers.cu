// RUN: nothing
#pragma once

#include <cuda.h>
# include <cuda_runtime.h>
#include "cuda_runtime_api.h" // trailing
#include <vector>
#include "cublas.h"
#include "cublas_v2.h"
#include <vector_types.h>
#include <texture_fetch_functions.h>  // not needed
#include <hip/hip_runtime.h>
#ifdef WITH_SPARSE
#include <cusparse.h>
#endif
#include <cusparse_v2.h>
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#endif
#include MY_HEADER
#include "cuda/my.h"
#include "sub/cuda.h"
#include <cuda/std/atomic>
#include <nvToolsExt.h>
#define FFT_HEADER <cufft.h>
#define RAND_HEADER "curand.h"
extern "C" {
#include <device_launch_parameters.h>
#include <cuda.h>
}
