// The compiler and the architecture that sources query. No guard: HIP's headers are read without these names.
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
// An RTX 40's, so that guards keep the kernels for bf16 and fp8. Newer ones need instructions without an equivalent here.
#define __CUDA_ARCH_LIST__ 890
#if defined(__HIP_DEVICE_COMPILE__)
#define __CUDA_ARCH__ 890
#endif
