// Thrust's <thrust/system/cuda/error.h> for AMD targets: that for HIP of AMD's rocThrust.
#pragma once
#include <thrust/system/hip/error.h>

THRUST_NAMESPACE_BEGIN
// The category of CUDA's errors.
inline const error_category &cuda_category() { return hip_category(); }
THRUST_NAMESPACE_END
