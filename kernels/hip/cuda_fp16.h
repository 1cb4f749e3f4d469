// CUDA's <cuda_fp16.h> for AMD targets; HIP uses CUDA's names for half precision.
#pragma once
#include <hip/hip_fp16.h>
