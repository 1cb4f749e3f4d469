// The macros with which sources query compiler and architecture. No guard: HIP's headers are read without these names.
#undef __HIP__
#undef __HIPCC__
#undef __HIP_PLATFORM_AMD__
#undef __HIP_PLATFORM_HCC__
#define __NVCC__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
// The architecture of an RTX 40, so that guards keep the kernels for bf16 and fp8. Newer ones have instructions without a match here.
#define __CUDA_ARCH_LIST__ 890
#if defined(__HIP_DEVICE_COMPILE__)
#define __CUDA_ARCH__ 890
#endif
