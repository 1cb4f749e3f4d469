// Functions of CUDA's runtime API that HIP lacks, in C and C++. They return `cudaErrorNotSupported`. The page of CUDA's names gives the
// comment above a function as the reason.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"

// HIP has no conditional nodes of graphs.
__CUDA_REFUSED(cudaGraphConditionalHandleCreate, cudaGraphConditionalHandle *a, cudaGraph_t b, unsigned int c __CUDA_DEFAULT(0), unsigned int d __CUDA_DEFAULT(0))
// Arrays without a layout in HIP: planes, sparse arrays, and their memory.
__CUDA_REFUSED(cudaArrayGetMemoryRequirements, cudaArrayMemoryRequirements *a, cudaArray_t b, int c)
__CUDA_REFUSED(cudaArrayGetPlane, cudaArray_t *a, cudaArray_t b, unsigned int c)
__CUDA_REFUSED(cudaArrayGetSparseProperties, cudaArraySparseProperties *a, cudaArray_t b)
__CUDA_REFUSED(cudaMipmappedArrayGetMemoryRequirements, cudaArrayMemoryRequirements *a, cudaMipmappedArray_t b, int c)
__CUDA_REFUSED(cudaMipmappedArrayGetSparseProperties, cudaArraySparseProperties *a, cudaMipmappedArray_t b)
// HIP has no asynchronous copies to and from arrays by bytes, and none between arrays that are in device memory only.
__CUDA_REFUSED(cudaMemcpyArrayToArray, cudaArray_t a, size_t b, size_t c, cudaArray_const_t d, size_t e, size_t f, size_t g, cudaMemcpyKind h __CUDA_DEFAULT(hipMemcpyDeviceToDevice))
__CUDA_REFUSED(cudaMemcpyFromArrayAsync, void *a, cudaArray_const_t b, size_t c, size_t d, size_t e, cudaMemcpyKind f, cudaStream_t g __CUDA_DEFAULT(0))
__CUDA_REFUSED(cudaMemcpyToArrayAsync, cudaArray_t a, size_t b, size_t c, const void *d, size_t e, cudaMemcpyKind f, cudaStream_t g __CUDA_DEFAULT(0))
// HIP does not tell what a surface was made of.
__CUDA_REFUSED(cudaGetSurfaceObjectResourceDesc, cudaResourceDesc *a, cudaSurfaceObject_t b)
// HIP maps no mipmapped arrays of other libraries.
__CUDA_REFUSED(cudaExternalMemoryGetMappedMipmappedArray, cudaMipmappedArray_t *a, cudaExternalMemory_t b, const cudaExternalMemoryMipmappedArrayDesc *c)
__CUDA_REFUSED(cudaGraphicsResourceGetMappedMipmappedArray, cudaMipmappedArray_t *a, cudaGraphicsResource_t b)
// HIP fixes how a resource of a graphics library is used when it is registered.
__CUDA_REFUSED(cudaGraphicsResourceSetMapFlags, cudaGraphicsResource_t a, unsigned int b)
// HIP has no call that flushes what other devices wrote.
__CUDA_REFUSED(cudaDeviceFlushGPUDirectRDMAWrites, cudaFlushGPUDirectRDMAWritesTarget a, cudaFlushGPUDirectRDMAWritesScope b)
// HIP does not tell which atomic operations reach the host or another device.
__CUDA_REFUSED(cudaDeviceGetHostAtomicCapabilities, unsigned int *a, const cudaAtomicOperation *b, unsigned int c, int d)
__CUDA_REFUSED(cudaDeviceGetP2PAtomicCapabilities, unsigned int *a, const cudaAtomicOperation *b, unsigned int c, int d, int e)
// NvSci is NVIDIA's.
__CUDA_REFUSED(cudaDeviceGetNvSciSyncAttributes, void *a, int b, int c)
// HIP notifies of nothing.
__CUDA_REFUSED(cudaDeviceRegisterAsyncNotification, int a, cudaAsyncCallback b, void *c, cudaAsyncCallbackHandle_t *d)
__CUDA_REFUSED(cudaDeviceUnregisterAsyncNotification, int a, cudaAsyncCallbackHandle_t b)
// HIP keeps no log.
__CUDA_REFUSED(cudaLogsCurrent, cudaLogIterator *a, unsigned int b)
__CUDA_REFUSED(cudaLogsDumpToFile, cudaLogIterator *a, const char *b, unsigned int c)
__CUDA_REFUSED(cudaLogsDumpToMemory, cudaLogIterator *a, char *b, size_t *c, unsigned int d)
__CUDA_REFUSED(cudaLogsRegisterCallback, cudaLogsCallback_t a, void *b, cudaLogsCallbackHandle *c)
__CUDA_REFUSED(cudaLogsUnregisterCallback, cudaLogsCallbackHandle a)
// HIP does not tell a kernel's parameters.
__CUDA_REFUSED(cudaFuncGetParamInfo, const void *a, size_t b, size_t *c, size_t *d)
// HIP's libraries have kernels only.
__CUDA_REFUSED(cudaLibraryGetGlobal, void **a, size_t *b, cudaLibrary_t c, const char *d)
__CUDA_REFUSED(cudaLibraryGetManaged, void **a, size_t *b, cudaLibrary_t c, const char *d)
__CUDA_REFUSED(cudaLibraryGetUnifiedFunction, void **a, cudaLibrary_t b, const char *c)
// The tables of functions behind it are NVIDIA's secret.
__CUDA_REFUSED(cudaGetExportTable, const void **a, const cudaUUID_t *b)

// No target has clusters of blocks.
#if defined(__cplusplus)
template <typename F> __CUDA_REFUSED(cudaOccupancyMaxActiveClusters, int *a, F *b, const cudaLaunchConfig_t *c)
template <typename F> __CUDA_REFUSED(cudaOccupancyMaxPotentialClusterSize, int *a, F *b, const cudaLaunchConfig_t *c)
#else
__CUDA_REFUSED(cudaOccupancyMaxActiveClusters, int *a, const void *b, const cudaLaunchConfig_t *c)
__CUDA_REFUSED(cudaOccupancyMaxPotentialClusterSize, int *a, const void *b, const cudaLaunchConfig_t *c)
#endif

#if defined(__FERROCM_CUDA__)
// Functions of device code.
#define __CUDA_REFUSED_ON_DEVICE(NAME, ...) \
    static __device__ __attribute__((unused)) inline cudaError_t NAME(__VA_ARGS__) { return hipErrorNotSupported; }
#define __CUDA_UNAVAILABLE(RESULT, NAME, REASON, ...) __device__ __attribute__((unavailable(REASON))) RESULT NAME(__VA_ARGS__);
// No graph has device nodes that kernels may change.
__CUDA_REFUSED_ON_DEVICE(cudaGraphKernelNodeSetEnabled, cudaGraphDeviceNode_t a, bool b)
__CUDA_REFUSED_ON_DEVICE(cudaGraphKernelNodeSetGridDim, cudaGraphDeviceNode_t a, dim3 b)
__CUDA_REFUSED_ON_DEVICE(cudaGraphKernelNodeSetParam, cudaGraphDeviceNode_t a, size_t b, const void *c, size_t d)
__CUDA_REFUSED_ON_DEVICE(cudaGraphKernelNodeUpdatesApply, const cudaGraphKernelNodeUpdate *a, size_t b)
__CUDA_UNAVAILABLE(void *, cudaGetParameterBuffer, "kernels cannot launch kernels on AMD GPUs", size_t a, size_t b)
__CUDA_UNAVAILABLE(void *, cudaGetParameterBufferV2, "kernels cannot launch kernels on AMD GPUs", void *a, dim3 b, dim3 c, unsigned int d)
__CUDA_UNAVAILABLE(cudaError_t, cudaLaunchDevice, "kernels cannot launch kernels on AMD GPUs", void *a, void *b, dim3 c, dim3 d, unsigned int e, cudaStream_t f)
__CUDA_UNAVAILABLE(cudaError_t, cudaLaunchDeviceV2, "kernels cannot launch kernels on AMD GPUs", void *a, cudaStream_t b)
__CUDA_UNAVAILABLE(cudaError_t, cudaLaunchDeviceV2_ptsz, "kernels cannot launch kernels on AMD GPUs", void *a, cudaStream_t b)
__CUDA_UNAVAILABLE(cudaError_t, cudaLaunchDevice_ptsz, "kernels cannot launch kernels on AMD GPUs", void *a, void *b, dim3 c, dim3 d, unsigned int e, cudaStream_t f)
__CUDA_UNAVAILABLE(unsigned long long, cudaCGGetIntrinsicHandle, "cooperative_groups.h is not built on this function, use the groups", cudaCGScope a)
__CUDA_UNAVAILABLE(cudaError_t, cudaCGGetRank, "cooperative_groups.h is not built on this function, use the groups", unsigned int *a, unsigned int *b, unsigned long long c)
__CUDA_UNAVAILABLE(cudaError_t, cudaCGGetSize, "cooperative_groups.h is not built on this function, use the groups", unsigned int *a, unsigned int *b, unsigned long long c)
__CUDA_UNAVAILABLE(cudaError_t, cudaCGSynchronize, "cooperative_groups.h is not built on this function, use the groups", unsigned long long a, unsigned int b)
__CUDA_UNAVAILABLE(cudaError_t, cudaCGSynchronizeGrid, "cooperative_groups.h is not built on this function, use the groups", unsigned long long a, unsigned int b)
#undef __CUDA_REFUSED_ON_DEVICE
#undef __CUDA_UNAVAILABLE
#endif
