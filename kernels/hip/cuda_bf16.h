// CUDA's <cuda_bf16.h> for AMD targets: CUDA's type names for HIP's bfloat16.
#pragma once
#include <hip/hip_bf16.h>

using __nv_bfloat16 = __hip_bfloat16;
using __nv_bfloat162 = __hip_bfloat162;
using nv_bfloat16 = __hip_bfloat16;
using nv_bfloat162 = __hip_bfloat162;
