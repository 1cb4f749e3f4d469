// Functions of CUDA's runtime API that are one or a few of HIP's, in C and C++. Those that take kernels, or have another form since CUDA 13,
// are in ferrocm_runtime_functions.h for C++.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"

// A device for the time of some calls. The one before is current again afterwards, also when they fail.
__CUDA_API hipError_t __cuda_enter_device(int device, int *before) {
    const hipError_t status = (hipGetDevice)(before);
    return status != hipSuccess || *before == device ? status : (hipSetDevice)(device);
}
__CUDA_API hipError_t __cuda_leave_device(int device, int before, hipError_t status) {
    const hipError_t back = before == device ? hipSuccess : (hipSetDevice)(before);
    return status != hipSuccess ? status : back;
}

// Attributes that HIP has as a property only.
__CUDA_API hipError_t __cuda_property(int *value, int attribute, int device) {
    hipDeviceProp_t properties;
    hipError_t status;
    if (value == 0)
        return hipErrorInvalidValue;
    status = hipGetDeviceProperties(&properties, device);
    if (status != hipSuccess)
        return status;
    switch (attribute) {
    case cudaDevAttrMaxTexture1DLayeredLayers: *value = properties.maxTexture1DLayered[1]; break;
    case cudaDevAttrMaxTexture2DLayeredLayers: *value = properties.maxTexture2DLayered[2]; break;
    case cudaDevAttrMaxTextureCubemapLayeredLayers: *value = properties.maxTextureCubemapLayered[1]; break;
    case cudaDevAttrMaxSurface1DLayeredLayers: *value = properties.maxSurface1DLayered[1]; break;
    case cudaDevAttrMaxSurface2DLayeredLayers: *value = properties.maxSurface2DLayered[2]; break;
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers: *value = properties.maxSurfaceCubemapLayered[1]; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = (int)properties.reservedSharedMemPerBlock; break;
    case cudaDevAttrHostRegisterReadOnlySupported: *value = properties.hostRegisterReadOnlySupported; break;
    // -1 means that it is not known to be on any node.
    case cudaDevAttrNumaId: *value = -1; break;
    default: return hipErrorNotSupported;
    }
    return hipSuccess;
}
// What a program is told of the GPU is what device code sees: warps of 32 lanes, and the architecture of an RTX 40. Attributes that only
// CUDA has tell of features that no target has, or are not supported (ferrocm_values_begin.h has their numbers).
__CUDA_API hipError_t __cuda_device_attribute(int *value, hipDeviceAttribute_t attribute, int device) {
    hipError_t status;
    switch ((int)attribute) {
    case cudaDevAttrCanFlushRemoteWrites:
    case cudaDevAttrD3D12CigSupported:
    case cudaDevAttrDeferredMappingCudaArraySupported:
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
    case cudaDevAttrHostNumaMemoryPoolsSupported:
    case cudaDevAttrHostNumaMultinodeIpcSupported:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrMaxAccessPolicyWindowSize:
    case cudaDevAttrMaxPersistingL2CacheSize:
    case cudaDevAttrMpsEnabled:
    case cudaDevAttrSparseCudaArraySupported:
    case cudaDevAttrTimelineSemaphoreInteropSupported:
    case cudaDevAttrVulkanCigSupported:
    case cudaDevAttrNumaConfig:
    case CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
        if (value == 0)
            return hipErrorInvalidValue;
        *value = 0;
        return (hipGetDeviceCount)(value) != hipSuccess || device < 0 || device >= *value ? hipErrorInvalidDevice : (*value = 0, hipSuccess);
    default:
        break;
    }
    if ((int)attribute >= __CUDA_OWN_ATTRIBUTES)
        return __cuda_property(value, (int)attribute, device);
    status = (hipDeviceGetAttribute)(value, attribute, device);
    if (status == hipSuccess && attribute == hipDeviceAttributeWarpSize)
        *value = 32;
    else if (status == hipSuccess && attribute == hipDeviceAttributeComputeCapabilityMajor)
        *value = 8;
    else if (status == hipSuccess && attribute == hipDeviceAttributeComputeCapabilityMinor)
        *value = 9;
    return status;
}
__CUDA_API hipError_t __cuda_compute_capability(int *major, int *minor, hipDevice_t device) {
    const hipError_t status = (hipDeviceComputeCapability)(major, minor, device);
    if (status == hipSuccess) {
        *major = 8;
        *minor = 9;
    }
    return status;
}
__CUDA_API hipError_t __cuda_driver_version(int *version) {
    const hipError_t status = (hipDriverGetVersion)(version);
    if (status == hipSuccess)
        *version = CUDART_VERSION;
    return status;
}
__CUDA_API hipError_t __cuda_function_attribute(int *value, hipFunction_attribute attribute, hipFunction_t function) {
    const hipError_t status = (hipFuncGetAttribute)(value, attribute, function);
    if (status == hipSuccess && (attribute == HIP_FUNC_ATTRIBUTE_BINARY_VERSION || attribute == HIP_FUNC_ATTRIBUTE_PTX_VERSION))
        *value = 89;
    return status;
}
#undef cudaDeviceGetAttribute
__CUDA_API cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    return __cuda_device_attribute(value, attribute, device);
}
#undef cudaDriverGetVersion
__CUDA_API cudaError_t cudaDriverGetVersion(int *version) { return __cuda_driver_version(version); }
#undef cudaRuntimeGetVersion
__CUDA_API cudaError_t cudaRuntimeGetVersion(int *version) {
    const cudaError_t status = (hipRuntimeGetVersion)(version);
    if (status == hipSuccess)
        *version = CUDART_VERSION;
    return status;
}

#if !defined(cudaDevAttrMemoryPoolSupportedHandleTypes)
#define cudaDevAttrMemoryPoolSupportedHandleTypes hipDeviceAttributeMemoryPoolSupportedHandleTypes
#endif

// Profilers of CUDA record between these; here, nothing listens.
#undef cudaProfilerStart
#undef cudaProfilerStop
__CUDA_API cudaError_t cudaProfilerStart(void) { return hipSuccess; }
__CUDA_API cudaError_t cudaProfilerStop(void) { return hipSuccess; }
// Makes a device ready without making it the current one.
#define cudaInitDeviceFlagsAreValid 1
__CUDA_API cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    int before = 0;
    hipError_t status = __cuda_enter_device(device, &before);
    if (status != hipSuccess)
        return status;
    status = flags & cudaInitDeviceFlagsAreValid ? (hipSetDeviceFlags)(device_flags) : hipSuccess;
    if (status == hipSuccess)
        status = (hipFree)(0);
    return __cuda_leave_device(device, before, status);
}
// Memory that stays in NVIDIA's second cache: a hint.
__CUDA_API cudaError_t cudaCtxResetPersistingL2Cache(void) { return hipSuccess; }
__CUDA_API cudaError_t cudaThreadGetLimit(size_t *value, cudaLimit limit) { return (hipDeviceGetLimit)(value, limit); }
__CUDA_API cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) { return (hipDeviceSetLimit)(limit, value); }
// They do nothing on devices with double precision.
__CUDA_API cudaError_t cudaSetDoubleForDevice(double *number) { return number ? hipSuccess : hipErrorInvalidValue; }
__CUDA_API cudaError_t cudaSetDoubleForHost(double *number) { return number ? hipSuccess : hipErrorInvalidValue; }
#define cudaEventElapsedTime_v2 hipEventElapsedTime
#define cudaSignalExternalSemaphoresAsync_v2 hipSignalExternalSemaphoresAsync
#define cudaWaitExternalSemaphoresAsync_v2 hipWaitExternalSemaphoresAsync

#if HIP_VERSION_MAJOR >= 7
#define cudaStreamCopyAttributes hipStreamCopyAttributes
#define cudaStreamGetDevice hipStreamGetDevice
#define cudaLibraryEnumerateKernels hipLibraryEnumerateKernels
// A kernel of a library is a function.
__CUDA_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
    int before = 0;
    hipError_t status = __cuda_enter_device(device, &before);
    if (status != hipSuccess)
        return status;
    status = (hipFuncSetAttribute)((const void *)kernel, attribute, value);
    return __cuda_leave_device(device, before, status);
}
// Dependencies have no data of their own in HIP.
__CUDA_API cudaError_t __cuda_no_edge_data(cudaError_t status, hipGraphEdgeData *edges, const size_t *n) {
    if (status == hipSuccess && edges != 0 && n != 0)
        __builtin_memset((void *)edges, 0, *n * sizeof(*edges));
    return status;
}
__CUDA_API cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *others, hipGraphEdgeData *edges, size_t *n) {
    return __cuda_no_edge_data((hipGraphNodeGetDependencies)(node, others, n), edges, n);
}
__CUDA_API cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *others, hipGraphEdgeData *edges, size_t *n) {
    return __cuda_no_edge_data((hipGraphNodeGetDependentNodes)(node, others, n), edges, n);
}

// A node of any kind. As large as HIP's, with HIP's fields at the same place. HIP has no conditional nodes.
#undef cudaGraphNodeParams
typedef struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        hipKernelNodeParams kernel;
        hipMemcpyNodeParams memcpy;
        hipMemsetParams memset;
        hipHostNodeParams host;
        hipChildGraphNodeParams graph;
        hipEventWaitNodeParams eventWait;
        hipEventRecordNodeParams eventRecord;
        hipExternalSemaphoreSignalNodeParams extSemSignal;
        hipExternalSemaphoreWaitNodeParams extSemWait;
        hipMemAllocNodeParams alloc;
        hipMemFreeNodeParams free;
        cudaConditionalNodeParams conditional;
    };
    long long reserved2;
} cudaGraphNodeParams;
#if defined(__cplusplus)
static_assert(sizeof(cudaGraphNodeParams) == sizeof(hipGraphNodeParams), "HIP's size");
#endif
__CUDA_API int __cuda_is_conditional(const cudaGraphNodeParams *parameters) {
    return parameters != 0 && parameters->type == cudaGraphNodeTypeConditional;
}
__CUDA_API cudaError_t __cuda_graph_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                             cudaGraphNodeParams *parameters) {
    if (__cuda_is_conditional(parameters))
        return hipErrorNotSupported;
    return (hipGraphAddNode)(node, graph, after, n, (hipGraphNodeParams *)parameters);
}
#undef cudaGraphNodeSetParams
__CUDA_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams *parameters) {
    if (__cuda_is_conditional(parameters))
        return hipErrorNotSupported;
    return (hipGraphNodeSetParams)(node, (hipGraphNodeParams *)parameters);
}
#undef cudaGraphExecNodeSetParams
__CUDA_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams *parameters) {
    if (__cuda_is_conditional(parameters))
        return hipErrorNotSupported;
    return (hipGraphExecNodeSetParams)(exec, node, (hipGraphNodeParams *)parameters);
}

// The pool of a place: devices have pools, of memory that stays there.
__CUDA_API cudaError_t __cuda_check_pool_place(const hipMemLocation *place, hipMemAllocationType type) {
    if (place == 0)
        return hipErrorInvalidValue;
    return place->type == hipMemLocationTypeDevice && type == hipMemAllocationTypePinned ? hipSuccess : hipErrorNotSupported;
}
__CUDA_API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, hipMemLocation *place, hipMemAllocationType type) {
    cudaError_t refused = pool == 0 ? hipErrorInvalidValue : __cuda_check_pool_place(place, type);
    return refused != hipSuccess ? refused : (hipDeviceGetDefaultMemPool)(pool, place->id);
}
__CUDA_API cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, hipMemLocation *place, hipMemAllocationType type) {
    cudaError_t refused = pool == 0 ? hipErrorInvalidValue : __cuda_check_pool_place(place, type);
    return refused != hipSuccess ? refused : (hipDeviceGetMemPool)(pool, place->id);
}
__CUDA_API cudaError_t cudaMemSetMemPool(hipMemLocation *place, hipMemAllocationType type, cudaMemPool_t pool) {
    cudaError_t refused = __cuda_check_pool_place(place, type);
    return refused != hipSuccess ? refused : (hipDeviceSetMemPool)(place->id, pool);
}

// Several ranges: place i is that of the ranges from first[i] to first[i + 1].
__CUDA_API cudaError_t cudaMemPrefetchBatchAsync(void **at, size_t *sizes, size_t count, hipMemLocation *places, size_t *first, size_t places_count,
                                                 unsigned long long flags, cudaStream_t stream) {
    size_t i, place = 0;
    if (at == 0 || sizes == 0 || count == 0 || places == 0 || first == 0 || places_count == 0 || flags != 0 || first[0] != 0)
        return hipErrorInvalidValue;
    for (i = 1; i < places_count; ++i)
        if (first[i] <= first[i - 1] || first[i] >= count)
            return hipErrorInvalidValue;
    for (i = 0; i < count; ++i) {
        hipError_t status;
        if (place + 1 < places_count && first[place + 1] == i)
            ++place;
        status = (hipMemPrefetchAsync_v2)(at[i], sizes[i], places[place], 0, stream);
        if (status != hipSuccess)
            return status;
    }
    return hipSuccess;
}
// What is discarded may have any contents afterwards, also those from before.
__CUDA_API cudaError_t cudaMemDiscardBatchAsync(void **at, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream) {
    (void)stream;
    return at == 0 || sizes == 0 || count == 0 || flags != 0 ? hipErrorInvalidValue : hipSuccess;
}
__CUDA_API cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **at, size_t *sizes, size_t count, hipMemLocation *places, size_t *first,
                                                           size_t places_count, unsigned long long flags, cudaStream_t stream) {
    return cudaMemPrefetchBatchAsync(at, sizes, count, places, first, places_count, flags, stream);
}
#endif

#if !defined(__cplusplus)
// In C, a name has one form: that of the version.
#if HIP_VERSION_MAJOR >= 7
#undef cudaGraphAddNode
__CUDA_API cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, const hipGraphEdgeData *edges,
                                           size_t n, cudaGraphNodeParams *parameters) {
    return edges == 0 ? __cuda_graph_add_node(node, graph, after, n, parameters) : hipErrorNotSupported;
}
__CUDA_API cudaError_t __cuda_memcpy_batch(void *const *to, const void *const *from, const size_t *sizes, size_t count, hipMemcpyAttributes *attributes,
                                           size_t *first, size_t attributes_count, cudaStream_t stream) {
    size_t failed;
    return (hipMemcpyBatchAsync)((void **)to, (void **)from, (size_t *)sizes, count, attributes, first, attributes_count, &failed, stream);
}
__CUDA_API cudaError_t __cuda_memcpy3d_batch(size_t count, struct hipMemcpy3DBatchOp *copies, unsigned long long flags, cudaStream_t stream) {
    size_t failed;
    return (hipMemcpy3DBatchAsync)(count, copies, &failed, flags, stream);
}
#define cudaMemAdvise_v2 hipMemAdvise_v2
#define cudaMemPrefetchAsync_v2 hipMemPrefetchAsync_v2
__CUDA_API cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                                   const hipGraphEdgeData *edges, size_t n) {
    return edges == 0 ? (hipGraphAddDependencies)(graph, from, to, n) : hipErrorNotSupported;
}
__CUDA_API cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                                      const hipGraphEdgeData *edges, size_t n) {
    return edges == 0 ? (hipGraphRemoveDependencies)(graph, from, to, n) : hipErrorNotSupported;
}
__CUDA_API cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, hipGraphEdgeData *edges, size_t *n) {
    return __cuda_no_edge_data((hipGraphGetEdges)(graph, from, to, n), edges, n);
}
__CUDA_API cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *after, const hipGraphEdgeData *edges, size_t n,
                                                              unsigned flags) {
    return edges == 0 ? (hipStreamUpdateCaptureDependencies)(stream, after, n, flags) : hipErrorNotSupported;
}
__CUDA_API cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
                                                   const cudaGraphNode_t **after, const hipGraphEdgeData **edges, size_t *n) {
    if (edges != 0)
        *edges = 0;
    return (hipStreamGetCaptureInfo_v2)(stream, status, id, graph, after, n);
}
#if CUDART_VERSION >= 13000
#define cudaGraphAddNode cudaGraphAddNode_v2
#undef cudaMemcpyBatchAsync
#define cudaMemcpyBatchAsync __cuda_memcpy_batch
#undef cudaMemcpy3DBatchAsync
#define cudaMemcpy3DBatchAsync __cuda_memcpy3d_batch
#undef cudaMemAdvise
#define cudaMemAdvise cudaMemAdvise_v2
#undef cudaMemPrefetchAsync
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2
#undef cudaGraphAddDependencies
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#undef cudaGraphRemoveDependencies
#define cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2
#undef cudaGraphGetEdges
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#undef cudaGraphNodeGetDependencies
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#undef cudaGraphNodeGetDependentNodes
#define cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
#undef cudaStreamUpdateCaptureDependencies
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#undef cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#else
#define cudaGraphAddNode __cuda_graph_add_node
#undef cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo hipStreamGetCaptureInfo_v2
#endif
#undef cudaStreamGetCaptureInfo_v2
#define cudaStreamGetCaptureInfo_v2 hipStreamGetCaptureInfo_v2
#undef cudaGraphExecUpdateResultInfo
typedef struct cudaGraphExecUpdateResultInfo_st {
    hipGraphExecUpdateResult result;
    hipGraphNode_t errorNode, errorFromNode;
} cudaGraphExecUpdateResultInfo;
#undef cudaGraphExecUpdate
__CUDA_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    info->errorFromNode = 0;
    return (hipGraphExecUpdate)(exec, graph, &info->errorNode, &info->result);
}
#undef cudaGraphInstantiate
#define cudaGraphInstantiate hipGraphInstantiateWithFlags
#undef cudaGetDeviceProperties
__CUDA_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    const cudaError_t status = hipGetDeviceProperties(properties, device);
    if (status == hipSuccess) {
        properties->warpSize = 32;
        properties->major = 8;
        properties->minor = 9;
    }
    return status;
}
#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties
#define cudaOccupancyAvailableDynamicSMemPerBlock hipOccupancyAvailableDynamicSMemPerBlock
__CUDA_API cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *symbol) { return (hipGetFuncBySymbol)((hipFunction_t *)kernel, symbol); }
__CUDA_API cudaError_t cudaFuncGetName(const char **name, const void *kernel) {
    if (name == 0)
        return hipErrorInvalidValue;
    *name = (hipKernelNameRefByPtr)(kernel, 0);
    return *name ? hipSuccess : hipErrorInvalidDeviceFunction;
}
#endif
typedef enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxL1 = 0,
    cudaSharedmemCarveoutMaxShared = 100,
} cudaSharedCarveout;
#endif
