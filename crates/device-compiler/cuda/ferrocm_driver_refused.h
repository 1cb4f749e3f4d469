// Functions of CUDA's driver API that HIP lacks, in C and C++. They return `CUDA_ERROR_NOT_SUPPORTED`. The page of CUDA's names gives the
// comment above a function as the reason.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"

// Green contexts, which have a part of a GPU's multiprocessors: HIP has no contexts with resources.
__CU_REFUSED(cuCtxFromGreenCtx, CUcontext *a, CUgreenCtx b)
__CU_REFUSED(cuCtxGetDevResource, CUcontext a, CUdevResource *b, CUdevResourceType c)
__CU_REFUSED(cuDevResourceGenerateDesc, CUdevResourceDesc *a, CUdevResource *b, unsigned int c)
__CU_REFUSED(cuDevSmResourceSplitByCount, CUdevResource *a, unsigned int *b, const CUdevResource *c, CUdevResource *d, unsigned int e, unsigned int f)
__CU_REFUSED(cuDeviceGetDevResource, CUdevice a, CUdevResource *b, CUdevResourceType c)
__CU_REFUSED(cuGreenCtxCreate, CUgreenCtx *a, CUdevResourceDesc b, CUdevice c, unsigned int d)
__CU_REFUSED(cuGreenCtxDestroy, CUgreenCtx a)
__CU_REFUSED(cuGreenCtxGetDevResource, CUgreenCtx a, CUdevResource *b, CUdevResourceType c)
__CU_REFUSED(cuGreenCtxGetId, CUgreenCtx a, unsigned long long *b)
__CU_REFUSED(cuGreenCtxRecordEvent, CUgreenCtx a, CUevent b)
__CU_REFUSED(cuGreenCtxStreamCreate, CUstream *a, CUgreenCtx b, unsigned int c, int d)
__CU_REFUSED(cuGreenCtxWaitEvent, CUgreenCtx a, CUevent b)
// HIP has one context for a device, without numbers, events and affinity.
__CU_REFUSED(cuCtxAttach, CUcontext *a, unsigned int b)
__CU_REFUSED(cuCtxDetach, CUcontext a)
__CU_REFUSED(cuCtxGetExecAffinity, CUexecAffinityParam *a, CUexecAffinityType b)
__CU_REFUSED(cuCtxGetId, CUcontext a, unsigned long long *b)
__CU_REFUSED(cuCtxRecordEvent, CUcontext a, CUevent b)
__CU_REFUSED(cuCtxWaitEvent, CUcontext a, CUevent b)
// HIP has no conditional nodes of graphs.
__CU_REFUSED(cuGraphConditionalHandleCreate, CUgraphConditionalHandle *a, CUgraph b, CUcontext c, unsigned int d, unsigned int e)
// Arrays without a layout in HIP: planes, sparse arrays, and their memory.
__CU_REFUSED(cuArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *a, CUarray b, CUdevice c)
__CU_REFUSED(cuArrayGetPlane, CUarray *a, CUarray b, unsigned int c)
__CU_REFUSED(cuArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *a, CUarray b)
__CU_REFUSED(cuMipmappedArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *a, CUmipmappedArray b, CUdevice c)
__CU_REFUSED(cuMipmappedArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *a, CUmipmappedArray b)
// Checkpoints of a process are NVIDIA's.
__CU_REFUSED(cuCheckpointProcessCheckpoint, int a, CUcheckpointCheckpointArgs *b)
__CU_REFUSED(cuCheckpointProcessGetRestoreThreadId, int a, int *b)
__CU_REFUSED(cuCheckpointProcessGetState, int a, CUprocessState *b)
__CU_REFUSED(cuCheckpointProcessLock, int a, CUcheckpointLockArgs *b)
__CU_REFUSED(cuCheckpointProcessRestore, int a, CUcheckpointRestoreArgs *b)
__CU_REFUSED(cuCheckpointProcessUnlock, int a, CUcheckpointUnlockArgs *b)
// Core dumps of a GPU are NVIDIA's.
__CU_REFUSED(cuCoredumpGetAttribute, CUcoredumpSettings a, void *b, size_t *c)
__CU_REFUSED(cuCoredumpGetAttributeGlobal, CUcoredumpSettings a, void *b, size_t *c)
__CU_REFUSED(cuCoredumpSetAttribute, CUcoredumpSettings a, void *b, size_t *c)
__CU_REFUSED(cuCoredumpSetAttributeGlobal, CUcoredumpSettings a, void *b, size_t *c)
// HIP does not tell which atomic operations reach the host or another device.
__CU_REFUSED(cuDeviceGetHostAtomicCapabilities, unsigned int *a, const CUatomicOperation *b, unsigned int c, CUdevice d)
__CU_REFUSED(cuDeviceGetP2PAtomicCapabilities, unsigned int *a, const CUatomicOperation *b, unsigned int c, CUdevice d, CUdevice e)
// NvSci is NVIDIA's.
__CU_REFUSED(cuDeviceGetNvSciSyncAttributes, void *a, CUdevice b, int c)
// Windows only, also in CUDA.
__CU_REFUSED(cuDeviceGetLuid, char *a, unsigned int *b, CUdevice c)
// HIP notifies of nothing.
__CU_REFUSED(cuDeviceRegisterAsyncNotification, CUdevice a, CUasyncCallback b, void *c, CUasyncCallbackHandle *d)
__CU_REFUSED(cuDeviceUnregisterAsyncNotification, CUdevice a, CUasyncCallbackHandle b)
// HIP maps no mipmapped arrays of other libraries.
__CU_REFUSED(cuExternalMemoryGetMappedMipmappedArray, CUmipmappedArray *a, CUexternalMemory b, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *c)
__CU_REFUSED(cuGraphicsResourceGetMappedMipmappedArray, CUmipmappedArray *a, CUgraphicsResource b)
// HIP fixes how a resource of a graphics library is used when it is registered.
__CU_REFUSED(cuGraphicsResourceSetMapFlags_v2, CUgraphicsResource a, unsigned int b)
// HIP has no call that flushes what other devices wrote.
__CU_REFUSED(cuFlushGPUDirectRDMAWrites, CUflushGPUDirectRDMAWritesTarget a, CUflushGPUDirectRDMAWritesScope b)
// HIP does not tell a kernel's module and parameters, and does not list kernels.
__CU_REFUSED(cuFuncGetModule, CUmodule *a, CUfunction b)
__CU_REFUSED(cuFuncGetParamInfo, CUfunction a, size_t b, size_t *c, size_t *d)
__CU_REFUSED(cuKernelGetParamInfo, CUkernel a, size_t b, size_t *c, size_t *d)
__CU_REFUSED(cuModuleEnumerateFunctions, CUfunction *a, unsigned int b, CUmodule c)
// HIP's libraries have kernels only.
__CU_REFUSED(cuLibraryGetGlobal, CUdeviceptr *a, size_t *b, CUlibrary c, const char *d)
__CU_REFUSED(cuLibraryGetManaged, CUdeviceptr *a, size_t *b, CUlibrary c, const char *d)
__CU_REFUSED(cuLibraryGetModule, CUmodule *a, CUlibrary b)
__CU_REFUSED(cuLibraryGetUnifiedFunction, void **a, CUlibrary b, const char *c)
// How kernels were launched before CUDA 4. `cuLaunchKernel` does it since.
__CU_REFUSED(cuFuncSetBlockShape, CUfunction a, int b, int c, int d)
__CU_REFUSED(cuFuncSetSharedSize, CUfunction a, unsigned int b)
__CU_REFUSED(cuLaunch, CUfunction a)
__CU_REFUSED(cuLaunchGrid, CUfunction a, int b, int c)
__CU_REFUSED(cuLaunchGridAsync, CUfunction a, int b, int c, CUstream d)
__CU_REFUSED(cuParamSetSize, CUfunction a, unsigned int b)
__CU_REFUSED(cuParamSetTexRef, CUfunction a, int b, CUtexref c)
__CU_REFUSED(cuParamSetf, CUfunction a, int b, float c)
__CU_REFUSED(cuParamSeti, CUfunction a, int b, unsigned int c)
__CU_REFUSED(cuParamSetv, CUfunction a, int b, void *c, unsigned int d)
// The tables of functions behind it are NVIDIA's secret.
__CU_REFUSED(cuGetExportTable, const void **a, const CUuuid *b)
// HIP keeps no log.
__CU_REFUSED(cuLogsCurrent, CUlogIterator *a, unsigned int b)
__CU_REFUSED(cuLogsDumpToFile, CUlogIterator *a, const char *b, unsigned int c)
__CU_REFUSED(cuLogsDumpToMemory, CUlogIterator *a, char *b, size_t *c, unsigned int d)
__CU_REFUSED(cuLogsRegisterCallback, CUlogsCallback a, void *b, CUlogsCallbackHandle *c)
__CU_REFUSED(cuLogsUnregisterCallback, CUlogsCallbackHandle a)
// AMD's GPUs have no decompression engine.
__CU_REFUSED(cuMemBatchDecompressAsync, CUmemDecompressParams *a, size_t b, unsigned int c, size_t *d, CUstream e)
// Multicast objects are NVSwitch's.
__CU_REFUSED(cuMulticastAddDevice, CUmemGenericAllocationHandle a, CUdevice b)
__CU_REFUSED(cuMulticastBindAddr, CUmemGenericAllocationHandle a, size_t b, CUdeviceptr c, size_t d, unsigned long long e)
__CU_REFUSED(cuMulticastBindMem, CUmemGenericAllocationHandle a, size_t b, CUmemGenericAllocationHandle c, size_t d, size_t e, unsigned long long f)
__CU_REFUSED(cuMulticastCreate, CUmemGenericAllocationHandle *a, const CUmulticastObjectProp *b)
__CU_REFUSED(cuMulticastGetGranularity, size_t *a, const CUmulticastObjectProp *b, CUmulticastGranularity_flags c)
__CU_REFUSED(cuMulticastUnbind, CUmemGenericAllocationHandle a, CUdevice b, size_t c, size_t d)
// No target has clusters of blocks.
__CU_REFUSED(cuOccupancyMaxActiveClusters, int *a, CUfunction b, const CUlaunchConfig *c)
__CU_REFUSED(cuOccupancyMaxPotentialClusterSize, int *a, CUfunction b, const CUlaunchConfig *c)
// HIP makes surfaces of the runtime's descriptions only.
__CU_REFUSED(cuSurfObjectCreate, CUsurfObject *a, const CUDA_RESOURCE_DESC *b)
__CU_REFUSED(cuSurfObjectDestroy, CUsurfObject a)
__CU_REFUSED(cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC *a, CUsurfObject b)
// References to textures and surfaces, which CUDA 12 removed from device code.
__CU_REFUSED(cuModuleGetSurfRef, CUsurfref *a, CUmodule b, const char *c)
__CU_REFUSED(cuSurfRefGetArray, CUarray *a, CUsurfref b)
__CU_REFUSED(cuSurfRefSetArray, CUsurfref a, CUarray b, unsigned int c)
__CU_REFUSED(cuTexRefCreate, CUtexref *a)
__CU_REFUSED(cuTexRefDestroy, CUtexref a)
// AMD's GPUs have no engine that copies tensors.
__CU_REFUSED(cuTensorMapEncodeIm2col, CUtensorMap *a, CUtensorMapDataType b, cuuint32_t c, void *d, const cuuint64_t *e, const cuuint64_t *f, const int *g, const int *h, cuuint32_t i, cuuint32_t j, const cuuint32_t *k, CUtensorMapInterleave l, CUtensorMapSwizzle m, CUtensorMapL2promotion n, CUtensorMapFloatOOBfill o)
__CU_REFUSED(cuTensorMapEncodeIm2colWide, CUtensorMap *a, CUtensorMapDataType b, cuuint32_t c, void *d, const cuuint64_t *e, const cuuint64_t *f, int g, int h, cuuint32_t i, cuuint32_t j, const cuuint32_t *k, CUtensorMapInterleave l, CUtensorMapIm2ColWideMode m, CUtensorMapSwizzle n, CUtensorMapL2promotion o, CUtensorMapFloatOOBfill p)
__CU_REFUSED(cuTensorMapEncodeTiled, CUtensorMap *a, CUtensorMapDataType b, cuuint32_t c, void *d, const cuuint64_t *e, const cuuint64_t *f, const cuuint32_t *g, const cuuint32_t *h, CUtensorMapInterleave i, CUtensorMapSwizzle j, CUtensorMapL2promotion k, CUtensorMapFloatOOBfill l)
__CU_REFUSED(cuTensorMapReplaceAddress, CUtensorMap *a, void *b)
#define cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
// CUDA 11 deprecated it, and there is no profiler to set up.
__CU_REFUSED(cuProfilerInitialize, const char *a, const char *b, CUoutput_mode c)
