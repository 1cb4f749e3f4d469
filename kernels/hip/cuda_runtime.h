// CUDA's <cuda_runtime.h> for AMD targets: kernels in CUDA dialect include it unchanged.
#pragma once
#include <hip/hip_runtime.h>
