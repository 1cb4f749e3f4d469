// Thrust's <thrust/system/cuda/error.h> for AMD targets: that for HIP of AMD's rocThrust, else <thrust/system_error.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include(<thrust/system/hip/error.h>)
#include "../../../ferrocm_letters_begin.h"
#include <thrust/system/hip/error.h>
#include "../../../ferrocm_letters_end.h"

THRUST_NAMESPACE_BEGIN
// The category of CUDA's errors.
inline const error_category &cuda_category() { return hip_category(); }
THRUST_NAMESPACE_END
#else
#include "../../system_error.h"
#endif
