// CUDA's <cuda.h> for AMD targets: the driver's names, mapped to HIP's.
#pragma once
#define __cuda_cuda_h__
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_driver_table.h"
#if defined(__cplusplus) && !defined(__HIPCC_RTC__)
// The driver's status is another type than the runtime's: programs overload functions for both.
#undef CUresult
struct CUresult {
    hipError_t status;
    CUresult() = default;
    constexpr CUresult(hipError_t status) : status(status) {}
    constexpr explicit CUresult(int status) : status(static_cast<hipError_t>(status)) {}
    constexpr operator hipError_t() const { return status; }
};
#endif
#if !defined(__HIPCC_RTC__) && (defined(__FERROCM_CUDA__) || !defined(__HIPCC__))
#include "ferrocm_driver_addresses.h"
#include "ferrocm_driver_types.h"
#include "ferrocm_driver_composed.h"
#include "ferrocm_driver_refused.h"
#endif
#include "ferrocm_letters_end.h"
