// Included after each of HIP's headers, and AMD's of templates: restores CUDA's names.
#if defined(__FERROCM_CUDA__)
#undef float2
#undef float4
#undef atomicMin
#undef atomicMax
#include "ferrocm_warp_names.h"
#include "ferrocm_arch.h"
#endif
