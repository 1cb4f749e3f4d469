// CUDA's <cuda_profiler_api.h> for AMD targets: cudaProfilerStart and cudaProfilerStop are in <cuda_runtime.h>.
#pragma once
#include "cuda_runtime.h"
