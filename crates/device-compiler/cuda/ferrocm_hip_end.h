// Read behind each of HIP's headers: CUDA's names again.
#if defined(__FERROCM_CUDA__)
#include "ferrocm_warp_names.h"
#include "ferrocm_arch.h"
#endif
