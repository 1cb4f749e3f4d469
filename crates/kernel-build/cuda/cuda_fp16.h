// CUDA's <cuda_fp16.h> for AMD targets. HIP has CUDA's names for half precision.
#pragma once
#include "cuda_runtime.h"
#if !defined(__HIPCC_RTC__)
#include "ferrocm_hip_begin.h"
#include <hip/hip_fp16.h>
#include "ferrocm_hip_end.h"
#endif
