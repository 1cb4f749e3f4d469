// Included before headers of AMD's libraries of templates (rocPRIM, hipCUB, rocThrust), so that they find HIP's own names. ferrocm_hip_end.h
// ends this. No guard: it is included once for each.
#if defined(__FERROCM_CUDA__)
// CUDA's 16-bit types take the place of HIP's.
#if !defined(__HIPCC_RTC__)
#include "cuda_bf16.h"
#endif
#include "ferrocm_hip_names.h"
#undef __NVCC__
#undef __CUDACC__
#undef __CUDACC_VER_MAJOR__
#undef __CUDACC_VER_MINOR__
#undef __CUDACC_VER_BUILD__
#undef __CUDA_ARCH_LIST__
#undef __CUDA_ARCH__
// They do not compile without these, and CUDA's programs must not see them.
#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_PLATFORM_AMD__ 1
#if !defined(__HIPCC_RTC__)
#define atomicMin __cuda_hip_atomicMin
#define atomicMax __cuda_hip_atomicMax
#endif
#if !defined(__FERROCM_ROCM_VECTORS)
#define __FERROCM_ROCM_VECTORS
// rocPRIM's partition in three ways counts in pairs, which it adds with HIP's operator.
namespace rocprim {
__host__ __device__ inline uint2 operator+(const uint2 &a, const uint2 &b) { return make_uint2(a.x + b.x, a.y + b.y); }
}
#endif
#endif
