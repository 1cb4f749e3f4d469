// Included before each of HIP's headers, so that they find HIP's own names. No guard: it is included once for each.
#if defined(__FERROCM_CUDA__)
#include "ferrocm_hip_names.h"
#undef __CUDACC__
#undef __CUDACC_VER_MAJOR__
#undef __CUDACC_VER_MINOR__
#undef __CUDACC_VER_BUILD__
#undef __CUDA_ARCH_LIST__
#undef __CUDA_ARCH__
#endif
