// CUDA's <cuda_bf16.h> for AMD targets.
#pragma once
#include "cuda_runtime.h"
#if !defined(__HIPCC_RTC__)
#include "ferrocm_hip_begin.h"
#include <hip/hip_bf16.h>
#include "ferrocm_hip_end.h"
#endif

typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
typedef __hip_bfloat16 nv_bfloat16;
typedef __hip_bfloat162 nv_bfloat162;
typedef __hip_bfloat16_raw __nv_bfloat16_raw;
typedef __hip_bfloat162_raw __nv_bfloat162_raw;
