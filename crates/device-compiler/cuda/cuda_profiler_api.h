// CUDA's <cuda_profiler_api.h> for AMD targets: cudaProfilerStart and cudaProfilerStop are in <cuda_runtime.h>.
#pragma once
#define __CUDA_PROFILER_API_H__
#include "cuda_runtime.h"
