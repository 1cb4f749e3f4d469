// CUDA's <cuda_runtime.h> for AMD targets. Every source in CUDA's dialect reads it first, as with nvcc; that is told by
// __FERROCM_CUDA__. Where a source in HIP's dialect reads it, it gives names, and leaves to HIP what HIP has.
#pragma once
#include "ferrocm_letters_begin.h"
#if !defined(__HIPCC_RTC__)
#if defined(__FERROCM_CUDA__)
// The field of cudaDeviceProp, which sources name as they do the variable.
#define warpSize __cuda_warp_size
// CUDA's programs may leave a status alone.
#pragma push_macro("nodiscard")
#undef nodiscard
#define nodiscard maybe_unused
#include <hip/hip_runtime_api.h>
#pragma pop_macro("nodiscard")
#undef warpSize
#endif
#include <hip/hip_runtime.h>
#endif
#include "ferrocm_runtime_names.h"
#include "ferrocm_device.h"
#if defined(__FERROCM_CUDA__)
// nvcc takes values in braces that might not fit, such as an int for a bool, with a warning.
#pragma clang diagnostic warning "-Wc++11-narrowing"
#include "ferrocm_warp.h"
#include "ferrocm_simd.h"
#include "ferrocm_math.h"
#include "ferrocm_ptx.h"
#include "ferrocm_warp_names.h"
#include "ferrocm_arch.h"
#endif
#include "ferrocm_letters_end.h"
