// Functions of CUDA's driver API that are one or a few of HIP's, in C and C++, and the other form that some have since CUDA 13.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"
#include "ferrocm_entries.h"
// HIP deprecates contexts.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// The driver tells the same of the GPU as the runtime.
#undef cuDeviceGetAttribute
__CUDA_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    return __cuda_device_attribute(value, attribute, device);
}
#undef cuDeviceComputeCapability
__CUDA_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) { return __cuda_compute_capability(major, minor, device); }
#undef cuDriverGetVersion
__CUDA_API CUresult cuDriverGetVersion(int *version) { return __cuda_driver_version(version); }
#undef cuFuncGetAttribute
__CUDA_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    return __cuda_function_attribute(value, attribute, function);
}
#undef cuProfilerStart
#undef cuProfilerStop
__CUDA_API CUresult cuProfilerStart(void) { return hipSuccess; }
__CUDA_API CUresult cuProfilerStop(void) { return hipSuccess; }

// A context for the time of some calls; null is the current one.
__CUDA_API hipError_t __cuda_enter_context(hipCtx_t context) { return context ? (hipCtxPushCurrent)(context) : hipSuccess; }
__CUDA_API hipError_t __cuda_leave_context(hipCtx_t context, hipError_t status) {
    hipCtx_t popped;
    const hipError_t back = context ? (hipCtxPopCurrent)(&popped) : hipSuccess;
    return status != hipSuccess ? status : back;
}
__CUDA_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
    const hipError_t status = __cuda_enter_context(context);
    return status != hipSuccess ? status : __cuda_leave_context(context, (hipCtxGetDevice)(device));
}
__CUDA_API CUresult cuCtxSynchronize_v2(CUcontext context) {
    const hipError_t status = __cuda_enter_context(context);
    return status != hipSuccess ? status : __cuda_leave_context(context, (hipCtxSynchronize)());
}
__CUDA_API CUresult cuCtxSetFlags(unsigned flags) { return (hipSetDeviceFlags)(flags); }
__CUDA_API CUresult cuCtxResetPersistingL2Cache(void) { return hipSuccess; }
// Contexts that have a part of the GPU, or are for graphics, are not supported.
__CUDA_API CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int n, unsigned flags, CUdevice device) {
    return affinity != 0 && n != 0 ? hipErrorNotSupported : (hipCtxCreate)(context, flags, device);
}
__CUDA_API CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device) {
    if (parameters != 0 && (parameters->numExecAffinityParams != 0 || parameters->cigParams != 0))
        return hipErrorNotSupported;
    return (hipCtxCreate)(context, flags, device);
}
__CUDA_API CUresult cuDeviceGetExecAffinitySupport(int *is_supported, CUexecAffinityType type, CUdevice device) {
    (void)type;
    (void)device;
    if (is_supported == 0)
        return hipErrorInvalidValue;
    *is_supported = 0;
    return hipSuccess;
}
__CUDA_API CUresult cuDeviceGetProperties(CUdevprop *to, CUdevice device) {
    hipError_t status = to ? hipSuccess : hipErrorInvalidValue;
#define __CUDA_PROPERTY(AT, ATTRIBUTE) \
    if (status == hipSuccess)          \
    status = (hipDeviceGetAttribute)(AT, ATTRIBUTE, device)
    __CUDA_PROPERTY(&to->maxThreadsPerBlock, hipDeviceAttributeMaxThreadsPerBlock);
    __CUDA_PROPERTY(&to->maxThreadsDim[0], hipDeviceAttributeMaxBlockDimX);
    __CUDA_PROPERTY(&to->maxThreadsDim[1], hipDeviceAttributeMaxBlockDimY);
    __CUDA_PROPERTY(&to->maxThreadsDim[2], hipDeviceAttributeMaxBlockDimZ);
    __CUDA_PROPERTY(&to->maxGridSize[0], hipDeviceAttributeMaxGridDimX);
    __CUDA_PROPERTY(&to->maxGridSize[1], hipDeviceAttributeMaxGridDimY);
    __CUDA_PROPERTY(&to->maxGridSize[2], hipDeviceAttributeMaxGridDimZ);
    __CUDA_PROPERTY(&to->sharedMemPerBlock, hipDeviceAttributeMaxSharedMemoryPerBlock);
    __CUDA_PROPERTY(&to->totalConstantMemory, hipDeviceAttributeTotalConstantMemory);
    __CUDA_PROPERTY(&to->memPitch, hipDeviceAttributeMaxPitch);
    __CUDA_PROPERTY(&to->regsPerBlock, hipDeviceAttributeMaxRegistersPerBlock);
    __CUDA_PROPERTY(&to->clockRate, hipDeviceAttributeClockRate);
    __CUDA_PROPERTY(&to->textureAlign, hipDeviceAttributeTextureAlignment);
#undef __CUDA_PROPERTY
    if (status == hipSuccess)
        to->SIMDWidth = 32;
    return status;
}
// HIP takes a channel's size and kind instead of a format.
__CUDA_API CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels, CUdevice device) {
    hipChannelFormatDesc channel;
    int bits;
    __builtin_memset(&channel, 0, sizeof(channel));
    switch ((int)format) {
    case HIP_AD_FORMAT_UNSIGNED_INT8:
    case HIP_AD_FORMAT_SIGNED_INT8:
        bits = 8;
        break;
    case HIP_AD_FORMAT_UNSIGNED_INT16:
    case HIP_AD_FORMAT_SIGNED_INT16:
    case HIP_AD_FORMAT_HALF:
        bits = 16;
        break;
    case HIP_AD_FORMAT_UNSIGNED_INT32:
    case HIP_AD_FORMAT_SIGNED_INT32:
    case HIP_AD_FORMAT_FLOAT:
        bits = 32;
        break;
    default:
        return hipErrorNotSupported;
    }
    if (channels != 1 && channels != 2 && channels != 4)
        return hipErrorInvalidValue;
    channel.x = bits;
    channel.y = channels > 1 ? bits : 0;
    channel.z = channel.w = channels > 2 ? bits : 0;
    channel.f = format == HIP_AD_FORMAT_HALF || format == HIP_AD_FORMAT_FLOAT ? hipChannelFormatKindFloat
                : (int)format < HIP_AD_FORMAT_SIGNED_INT8                      ? hipChannelFormatKindUnsigned
                                                                               : hipChannelFormatKindSigned;
    return (hipDeviceGetTexture1DLinearMaxWidth)(width, &channel, device);
}

// Kernels. All are loaded with their module.
__CUDA_API CUresult cuFuncGetName(const char **name, CUfunction function) {
    if (name == 0)
        return hipErrorInvalidValue;
    *name = (hipKernelNameRef)(function);
    return *name ? hipSuccess : hipErrorInvalidHandle;
}
__CUDA_API CUresult cuFuncLoad(CUfunction function) { return (hipKernelNameRef)(function) ? hipSuccess : hipErrorInvalidHandle; }
__CUDA_API CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
    if (state == 0)
        return hipErrorInvalidValue;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return cuFuncLoad(function);
}
__CUDA_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    if (mode == 0)
        return hipErrorInvalidValue;
    *mode = CU_MODULE_EAGER_LOADING;
    return hipSuccess;
}
// The runtime's names of attributes have the driver's numbers.
__CUDA_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    switch ((int)attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return (hipFuncSetAttribute)((const void *)function, hipFuncAttributeMaxDynamicSharedMemorySize, value);
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return (hipFuncSetAttribute)((const void *)function, hipFuncAttributePreferredSharedMemoryCarveout, value);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return hipErrorNotSupported;
    default:
        // The others can only be read.
        return hipErrorInvalidValue;
    }
}
__CUDA_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
    return (hipFuncSetCacheConfig)((const void *)function, config);
}
__CUDA_API CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
    return (hipFuncSetSharedMemConfig)((const void *)function, config);
}

// HIP's functions take no shared memory that depends on the size of a block.
__CUDA_API hipError_t __cu_occupancy(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared, size_t size, int limit) {
    int device = 0, processors = 0, most = 0, best = 0, threads;
    hipError_t status = hipSuccess;
    if (shared == 0)
        return (hipModuleOccupancyMaxPotentialBlockSize)(grid, block, function, size, limit);
    if (grid == 0 || block == 0)
        return hipErrorInvalidValue;
    status = (hipGetDevice)(&device);
    if (status == hipSuccess)
        status = (hipDeviceGetAttribute)(&processors, hipDeviceAttributeMultiprocessorCount, device);
    if (status == hipSuccess)
        status = (hipFuncGetAttribute)(&most, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (status != hipSuccess)
        return status;
    if (limit > 0 && limit < most)
        most = limit;
    for (threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
        int blocks = 0;
        status = (hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function, threads, shared(threads));
        if (status != hipSuccess)
            return status;
        if (blocks * threads > best) {
            best = blocks * threads;
            *grid = blocks * processors;
            *block = threads;
        }
    }
    return best > 0 ? hipSuccess : hipErrorInvalidValue;
}
#undef cuOccupancyMaxPotentialBlockSize
__CUDA_API CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared, size_t size, int limit) {
    return __cu_occupancy(grid, block, function, shared, size, limit);
}
// The flag is about caches.
#undef cuOccupancyMaxPotentialBlockSizeWithFlags
__CUDA_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared, size_t size,
                                                              int limit, unsigned flags) {
    return flags > 1 ? hipErrorInvalidValue : __cu_occupancy(grid, block, function, shared, size, limit);
}

// Copies by addresses, which say themselves where they are.
__CUDA_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) { return (hipMemcpy)((void *)to, (const void *)from, size, hipMemcpyDefault); }
__CUDA_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return (hipMemcpyAsync)((void *)to, (const void *)from, size, hipMemcpyDefault, stream);
}
__CUDA_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size) {
    (void)there;
    (void)here;
    return (hipMemcpy)((void *)to, (const void *)from, size, hipMemcpyDefault);
}
__CUDA_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size, CUstream stream) {
    (void)there;
    (void)here;
    return (hipMemcpyAsync)((void *)to, (const void *)from, size, hipMemcpyDefault, stream);
}
__CUDA_API HIP_MEMCPY3D __cuda_without_contexts(const CUDA_MEMCPY3D_PEER *from) {
    HIP_MEMCPY3D to;
    __builtin_memset(&to, 0, sizeof(to));
#define __CUDA_SIDE(S)                        \
    to.S##XInBytes = from->S##XInBytes;       \
    to.S##Y = from->S##Y;                     \
    to.S##Z = from->S##Z;                     \
    to.S##LOD = from->S##LOD;                 \
    to.S##MemoryType = from->S##MemoryType;   \
    to.S##Host = from->S##Host;               \
    to.S##Device = (void *)from->S##Device;   \
    to.S##Array = from->S##Array;             \
    to.S##Pitch = from->S##Pitch;             \
    to.S##Height = from->S##Height
    __CUDA_SIDE(src);
    __CUDA_SIDE(dst);
#undef __CUDA_SIDE
    to.WidthInBytes = from->WidthInBytes;
    to.Height = from->Height;
    to.Depth = from->Depth;
    return to;
}
__CUDA_API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) {
    HIP_MEMCPY3D plain;
    if (copy == 0)
        return hipErrorInvalidValue;
    plain = __cuda_without_contexts(copy);
    return (hipDrvMemcpy3D)(&plain);
}
__CUDA_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
    HIP_MEMCPY3D plain;
    if (copy == 0)
        return hipErrorInvalidValue;
    plain = __cuda_without_contexts(copy);
    return (hipDrvMemcpy3DAsync)(&plain, stream);
}
#define cuIpcOpenMemHandle_v2 cuIpcOpenMemHandle

#if HIP_VERSION_MAJOR >= 7
// Streams. No stream is of a green context.
#define cuStreamGetDevice hipStreamGetDevice
__CUDA_API CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
    int device = 0, before = 0;
    hipError_t status = (hipStreamGetDevice)(stream, &device);
    if (status == hipSuccess)
        status = __cuda_enter_device(device, &before);
    return status != hipSuccess ? status : __cuda_leave_device(device, before, (hipCtxGetCurrent)(context));
}
__CUDA_API CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *context) {
    int device;
    if (context == 0)
        return hipErrorInvalidValue;
    *context = 0;
    return (hipStreamGetDevice)(stream, &device);
}
__CUDA_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green) {
    const hipError_t status = cuStreamGetGreenCtx(stream, green);
    return status != hipSuccess ? (CUresult)status : cuStreamGetCtx(stream, context);
}

// Kernels of libraries are functions.
__CUDA_API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    if (function == 0)
        return hipErrorInvalidValue;
    *function = (CUfunction)kernel;
    return cuFuncLoad(*function);
}
#define cuKernelGetLibrary hipKernelGetLibrary
#define cuKernelGetName hipKernelGetName
__CUDA_API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
    int before = 0;
    const hipError_t status = __cuda_enter_device(device, &before);
    return status != hipSuccess ? status : __cuda_leave_device(device, before, __cuda_function_attribute(value, attribute, (CUfunction)kernel));
}
__CUDA_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
    int before = 0;
    const hipError_t status = __cuda_enter_device(device, &before);
    return status != hipSuccess ? status : __cuda_leave_device(device, before, cuFuncSetAttribute((CUfunction)kernel, attribute, value));
}
__CUDA_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
    int before = 0;
    const hipError_t status = __cuda_enter_device(device, &before);
    return status != hipSuccess ? status : __cuda_leave_device(device, before, cuFuncSetCacheConfig((CUfunction)kernel, config));
}

// Entry points by name.
#undef cuGetProcAddress
#undef cuGetProcAddress_v2
__CUDA_API CUresult cuGetProcAddress_v2(const char *name, void **at, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *answer) {
    bool is_found;
    if (name == 0 || at == 0)
        return hipErrorInvalidValue;
    is_found = __cuda_find_entry(name, version, flags, at);
    if (answer != 0)
        *answer = is_found ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return is_found || answer != 0 ? hipSuccess : hipErrorNotFound;
}
#define cuGetProcAddress cuGetProcAddress_v2

// Linking: HIP has it in its runtime, too.
#undef cuLinkAddData
#undef cuLinkAddData_v2
#undef cuLinkAddFile
#undef cuLinkAddFile_v2
#undef cuLinkComplete
#undef cuLinkCreate
#undef cuLinkCreate_v2
#undef cuLinkDestroy
#define cuLinkAddData hipLinkAddData
#define cuLinkAddData_v2 hipLinkAddData
#define cuLinkAddFile hipLinkAddFile
#define cuLinkAddFile_v2 hipLinkAddFile
#define cuLinkComplete hipLinkComplete
#define cuLinkCreate hipLinkCreate
#define cuLinkCreate_v2 hipLinkCreate
#define cuLinkDestroy hipLinkDestroy

// Launches with attributes.
#undef CUlaunchAttribute
#undef CUlaunchAttribute_st
#undef CUlaunchAttributeValue
#undef CUlaunchAttributeValue_union
#undef CUkernelNodeAttrValue
#undef CUkernelNodeAttrValue_union
#undef CUkernelNodeAttrValue_v1
#undef CUstreamAttrValue
#undef CUstreamAttrValue_union
#undef CUstreamAttrValue_v1
#define CUlaunchAttribute cudaLaunchAttribute
#define CUlaunchAttribute_st cudaLaunchAttribute_st
#define CUlaunchAttributeValue cudaLaunchAttributeValue
#define CUlaunchAttributeValue_union cudaLaunchAttributeValue
#define CUkernelNodeAttrValue cudaLaunchAttributeValue
#define CUkernelNodeAttrValue_union cudaLaunchAttributeValue
#define CUkernelNodeAttrValue_v1 cudaLaunchAttributeValue
#define CUstreamAttrValue cudaLaunchAttributeValue
#define CUstreamAttrValue_union cudaLaunchAttributeValue
#define CUstreamAttrValue_v1 cudaLaunchAttributeValue
#define CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
#define CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
#define CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE
#define CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
#define CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
#define CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
#define CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
#undef CUlaunchConfig
#undef CUlaunchConfig_st
typedef struct CUlaunchConfig_st {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    hipStream_t hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;
#undef cuLaunchKernelEx
__CUDA_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
    hipLaunchAttribute attributes[16];
    HIP_LAUNCH_CONFIG launch;
    hipError_t status;
    if (config == 0)
        return hipErrorInvalidValue;
    launch.gridDimX = config->gridDimX;
    launch.gridDimY = config->gridDimY;
    launch.gridDimZ = config->gridDimZ;
    launch.blockDimX = config->blockDimX;
    launch.blockDimY = config->blockDimY;
    launch.blockDimZ = config->blockDimZ;
    launch.sharedMemBytes = config->sharedMemBytes;
    launch.hStream = config->hStream;
    launch.attrs = attributes;
    status = __cuda_launch_attributes(config->attrs, config->numAttrs, attributes, 16, &launch.numAttrs);
    return status == hipSuccess ? (hipDrvLaunchKernelEx)(&launch, function, arguments, extra) : status;
}
#undef cuStreamSetAttribute
__CUDA_API CUresult cuStreamSetAttribute(CUstream stream, CUlaunchAttributeID id, const CUlaunchAttributeValue *value) {
    return cudaStreamSetAttribute(stream, id, value);
}
#undef cuStreamGetAttribute
__CUDA_API CUresult cuStreamGetAttribute(CUstream stream, CUlaunchAttributeID id, CUlaunchAttributeValue *value) {
    return cudaStreamGetAttribute(stream, id, value);
}
#undef cuGraphKernelNodeSetAttribute
__CUDA_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id, const CUlaunchAttributeValue *value) {
    return cudaGraphKernelNodeSetAttribute(node, id, value);
}
#undef cuGraphKernelNodeGetAttribute
__CUDA_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID id, CUlaunchAttributeValue *value) {
    return cudaGraphKernelNodeGetAttribute(node, id, value);
}

// Pools and ranges.
__CUDA_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *place, CUmemAllocationType type) {
    return cudaMemGetDefaultMemPool(pool, place, type);
}
__CUDA_API CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *place, CUmemAllocationType type) { return cudaMemGetMemPool(pool, place, type); }
__CUDA_API CUresult cuMemSetMemPool(CUmemLocation *place, CUmemAllocationType type, CUmemoryPool pool) { return cudaMemSetMemPool(place, type, pool); }
__CUDA_API CUresult cuMemPrefetchBatchAsync(CUdeviceptr *at, size_t *sizes, size_t count, CUmemLocation *places, size_t *first, size_t places_count,
                                            unsigned long long flags, CUstream stream) {
    return cudaMemPrefetchBatchAsync((void **)at, sizes, count, places, first, places_count, flags, stream);
}
__CUDA_API CUresult cuMemDiscardBatchAsync(CUdeviceptr *at, size_t *sizes, size_t count, unsigned long long flags, CUstream stream) {
    return cudaMemDiscardBatchAsync((void **)at, sizes, count, flags, stream);
}
__CUDA_API CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *at, size_t *sizes, size_t count, CUmemLocation *places, size_t *first,
                                                      size_t places_count, unsigned long long flags, CUstream stream) {
    return cudaMemDiscardAndPrefetchBatchAsync((void **)at, sizes, count, places, first, places_count, flags, stream);
}

// Graphs. CUDA's newer forms of kernel nodes differ in a field that HIP lacks.
#define cuGraphAddKernelNode_v2 hipGraphAddKernelNode
#define cuGraphKernelNodeGetParams_v2 hipGraphKernelNodeGetParams
#define cuGraphKernelNodeSetParams_v2 hipGraphKernelNodeSetParams
#define cuGraphExecKernelNodeSetParams_v2 hipGraphExecKernelNodeSetParams
#undef CUgraphNodeParams
#undef CUgraphNodeParams_st
#define CUgraphNodeParams cudaGraphNodeParams
#define CUgraphNodeParams_st cudaGraphNodeParams
__CUDA_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    if (info == 0)
        return hipErrorInvalidValue;
    info->errorFromNode = 0;
    return (hipGraphExecUpdate)(exec, graph, &info->errorNode, &info->result);
}
// Functions with two forms: without a suffix, the version of CUDA decides in C, and the arguments in C++.
__CUDA_API CUresult cuMemAdvise_v2(CUdeviceptr at, size_t size, CUmem_advise advice, CUmemLocation place) {
    return (hipMemAdvise_v2)((const void *)at, size, advice, place);
}
__CUDA_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr at, size_t size, CUmemLocation place, unsigned flags, CUstream stream) {
    return (hipMemPrefetchAsync_v2)((const void *)at, size, place, flags, stream);
}
__CUDA_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
                                          size_t *first, size_t attributes_count, CUstream stream) {
    size_t failed;
    return (hipMemcpyBatchAsync)((void **)to, (void **)from, sizes, count, attributes, first, attributes_count, &failed, stream);
}
__CUDA_API CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags, CUstream stream) {
    size_t failed;
    return (hipMemcpy3DBatchAsync)(count, copies, &failed, flags, stream);
}
__CUDA_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n) {
    return edges == 0 ? (hipGraphAddDependencies)(graph, from, to, n) : hipErrorNotSupported;
}
__CUDA_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n) {
    return edges == 0 ? (hipGraphRemoveDependencies)(graph, from, to, n) : hipErrorNotSupported;
}
__CUDA_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n) {
    return __cuda_no_edge_data((hipGraphGetEdges)(graph, from, to, n), edges, n);
}
__CUDA_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *others, CUgraphEdgeData *edges, size_t *n) {
    return cudaGraphNodeGetDependencies_v2(node, others, edges, n);
}
__CUDA_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *others, CUgraphEdgeData *edges, size_t *n) {
    return cudaGraphNodeGetDependentNodes_v2(node, others, edges, n);
}
__CUDA_API CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges, size_t n,
                                      CUgraphNodeParams *parameters) {
    return edges == 0 ? __cuda_graph_add_node(node, graph, after, n, parameters) : hipErrorNotSupported;
}
#undef cuGraphNodeSetParams
__CUDA_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *parameters) { return cudaGraphNodeSetParams(node, parameters); }
#undef cuGraphExecNodeSetParams
__CUDA_API CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *parameters) {
    return cudaGraphExecNodeSetParams(exec, node, parameters);
}
__CUDA_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **after,
                                              const CUgraphEdgeData **edges, size_t *n) {
    if (edges != 0)
        *edges = 0;
    return (hipStreamGetCaptureInfo_v2)(stream, status, (unsigned long long *)id, graph, after, n);
}
__CUDA_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *after, const CUgraphEdgeData *edges, size_t n, unsigned flags) {
    return edges == 0 ? (hipStreamUpdateCaptureDependencies)(stream, after, n, flags) : hipErrorNotSupported;
}
#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddNode
#undef cuGraphExecUpdate
#undef cuGraphInstantiate
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#if defined(__cplusplus)
__CUDA_API CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    return (hipGraphInstantiateWithFlags)(exec, graph, flags);
}
// CUDA 11's form.
__CUDA_API CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *failed, char *log, size_t size) {
    return (hipGraphInstantiate)(exec, graph, failed, log, size);
}
__CUDA_API CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device) { return (hipCtxCreate)(context, flags, device); }
__CUDA_API CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device) {
    return cuCtxCreate_v4(context, parameters, flags, device);
}
__CUDA_API CUresult cuMemAdvise(CUdeviceptr at, size_t size, CUmem_advise advice, CUdevice device) { return (hipMemAdvise)((const void *)at, size, advice, device); }
__CUDA_API CUresult cuMemAdvise(CUdeviceptr at, size_t size, CUmem_advise advice, CUmemLocation place) { return cuMemAdvise_v2(at, size, advice, place); }
__CUDA_API CUresult cuMemPrefetchAsync(CUdeviceptr at, size_t size, CUdevice device, CUstream stream) {
    return (hipMemPrefetchAsync)((const void *)at, size, device, stream);
}
__CUDA_API CUresult cuMemPrefetchAsync(CUdeviceptr at, size_t size, CUmemLocation place, unsigned flags, CUstream stream) {
    return cuMemPrefetchAsync_v2(at, size, place, flags, stream);
}
__CUDA_API CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *first,
                                       size_t attributes_count, size_t *failed, CUstream stream) {
    return (hipMemcpyBatchAsync)((void **)to, (void **)from, sizes, count, attributes, first, attributes_count, failed, stream);
}
__CUDA_API CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *first,
                                       size_t attributes_count, CUstream stream) {
    return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, first, attributes_count, stream);
}
__CUDA_API CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *failed, unsigned long long flags, CUstream stream) {
    return (hipMemcpy3DBatchAsync)(count, copies, failed, flags, stream);
}
__CUDA_API CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags, CUstream stream) {
    return cuMemcpy3DBatchAsync_v2(count, copies, flags, stream);
}
__CUDA_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n) {
    return (hipGraphAddDependencies)(graph, from, to, n);
}
__CUDA_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n) {
    return cuGraphAddDependencies_v2(graph, from, to, edges, n);
}
__CUDA_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n) {
    return (hipGraphRemoveDependencies)(graph, from, to, n);
}
__CUDA_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n) {
    return cuGraphRemoveDependencies_v2(graph, from, to, edges, n);
}
__CUDA_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n) { return (hipGraphGetEdges)(graph, from, to, n); }
__CUDA_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n) {
    return cuGraphGetEdges_v2(graph, from, to, edges, n);
}
__CUDA_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *others, size_t *n) { return (hipGraphNodeGetDependencies)(node, others, n); }
__CUDA_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *others, CUgraphEdgeData *edges, size_t *n) {
    return cuGraphNodeGetDependencies_v2(node, others, edges, n);
}
__CUDA_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *others, size_t *n) {
    return (hipGraphNodeGetDependentNodes)(node, others, n);
}
__CUDA_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *others, CUgraphEdgeData *edges, size_t *n) {
    return cuGraphNodeGetDependentNodes_v2(node, others, edges, n);
}
__CUDA_API CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, CUgraphNodeParams *parameters) {
    return __cuda_graph_add_node(node, graph, after, n, parameters);
}
__CUDA_API CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges, size_t n,
                                   CUgraphNodeParams *parameters) {
    return cuGraphAddNode_v2(node, graph, after, edges, n, parameters);
}
__CUDA_API CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) { return cuGraphExecUpdate_v2(exec, graph, info); }
__CUDA_API CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result) {
    return (hipGraphExecUpdate)(exec, graph, node, result);
}
__CUDA_API CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **after,
                                           size_t *n) {
    return (hipStreamGetCaptureInfo_v2)(stream, status, (unsigned long long *)id, graph, after, n);
}
__CUDA_API CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **after,
                                           const CUgraphEdgeData **edges, size_t *n) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, after, edges, n);
}
#undef cuStreamGetCaptureInfo_v2
#define cuStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo
__CUDA_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *after, size_t n, unsigned flags) {
    return (hipStreamUpdateCaptureDependencies)(stream, after, n, flags);
}
__CUDA_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *after, const CUgraphEdgeData *edges, size_t n, unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, after, edges, n, flags);
}
#else
#define cuGraphExecUpdate cuGraphExecUpdate_v2
#define cuGraphInstantiate hipGraphInstantiateWithFlags
#if CUDA_VERSION >= 13000
#define cuCtxCreate cuCtxCreate_v4
#define cuMemAdvise cuMemAdvise_v2
#define cuMemPrefetchAsync cuMemPrefetchAsync_v2
#define cuMemcpyBatchAsync cuMemcpyBatchAsync_v2
#define cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_v2
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
#define cuGraphGetEdges cuGraphGetEdges_v2
#define cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
#define cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2
#define cuGraphAddNode cuGraphAddNode_v2
#define cuStreamGetCaptureInfo cuStreamGetCaptureInfo_v3
#define cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2
#else
#define cuCtxCreate hipCtxCreate
CUresult cuMemAdvise(CUdeviceptr at, size_t size, CUmem_advise advice, CUdevice device) __asm__("hipMemAdvise");
CUresult cuMemPrefetchAsync(CUdeviceptr at, size_t size, CUdevice device, CUstream stream) __asm__("hipMemPrefetchAsync");
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *first,
                            size_t attributes_count, size_t *failed, CUstream stream) __asm__("hipMemcpyBatchAsync");
#define cuMemcpy3DBatchAsync hipMemcpy3DBatchAsync
#define cuGraphAddDependencies hipGraphAddDependencies
#define cuGraphRemoveDependencies hipGraphRemoveDependencies
#define cuGraphGetEdges hipGraphGetEdges
#define cuGraphNodeGetDependencies hipGraphNodeGetDependencies
#define cuGraphNodeGetDependentNodes hipGraphNodeGetDependentNodes
#define cuGraphAddNode __cuda_graph_add_node
#define cuStreamGetCaptureInfo hipStreamGetCaptureInfo_v2
#define cuStreamUpdateCaptureDependencies hipStreamUpdateCaptureDependencies
#endif
#endif
#endif
#pragma GCC diagnostic pop
