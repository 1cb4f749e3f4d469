// CUDA's <cudaProfiler.h> for AMD targets: all of it is in <cuda.h>.
#pragma once
#define __cuda_cuda_profiler_h__
#include "cuda.h"
