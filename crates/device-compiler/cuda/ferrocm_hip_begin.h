// Included before each of HIP's headers, so that they find HIP's own names. No guard: it is included once for each.
#include "ferrocm_rocm_begin.h"
#if defined(__FERROCM_CUDA__) && !defined(__HIPCC_RTC__)
#define float2 __cuda_hip_float2
#define float4 __cuda_hip_float4
#endif
