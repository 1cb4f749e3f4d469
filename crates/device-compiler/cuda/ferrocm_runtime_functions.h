// CUDA's functions of host code that are more than another name for HIP's: overloads for typed pointers, kernels and symbols, default
// arguments, forms of CUDA 12 and 13, and what a program is told of the GPU. In CUDA's dialect.
#pragma once
#pragma GCC system_header
#include "ferrocm_letters_begin.h"
#define __CUDA_HOST static __attribute__((unused)) inline

// The GPU as device code sees it: warps of 32 lanes, and the architecture of an RTX 40.
__CUDA_HOST void __cuda_as_device_code_sees(hipDeviceProp_t *properties) {
#if defined(__FERROCM_CUDA__)
    properties->__cuda_warp_size = 32;
#else
    properties->warpSize = 32;
#endif
    properties->major = 8;
    properties->minor = 9;
}
#undef cudaGetDeviceProperties
__CUDA_HOST cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    const cudaError_t status = hipGetDeviceProperties(properties, device);
    if (status == hipSuccess)
        __cuda_as_device_code_sees(properties);
    return status;
}
#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties
#undef cudaFuncGetAttributes
template <typename F> __CUDA_HOST cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, F *kernel) {
    const cudaError_t status = (hipFuncGetAttributes)(attributes, reinterpret_cast<const void *>(kernel));
    if (status == hipSuccess)
        attributes->binaryVersion = attributes->ptxVersion = 89;
    return status;
}

// Memory
#undef cudaMallocHost
__CUDA_HOST cudaError_t cudaMallocHost(void **at, size_t size, unsigned flags = 0) { return (hipHostMalloc)(at, size, flags); }
template <typename T> __CUDA_HOST cudaError_t cudaMallocHost(T **at, size_t size, unsigned flags = 0) {
    return (hipHostMalloc)(reinterpret_cast<void **>(const_cast<typename std::remove_const<T>::type **>(at)), size, flags);
}
#undef cudaHostGetDevicePointer
__CUDA_HOST cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) { return (hipHostGetDevicePointer)(device, host, flags); }
template <typename T> __CUDA_HOST cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags) {
    return (hipHostGetDevicePointer)(reinterpret_cast<void **>(const_cast<typename std::remove_const<T>::type **>(device)), host, flags);
}
#undef cudaStreamAttachMemAsync
template <typename T>
__CUDA_HOST cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *at, size_t length = 0, unsigned flags = hipMemAttachSingle) {
    return (hipStreamAttachMemAsync)(stream, const_cast<void *>(static_cast<const void *>(at)), length, flags);
}
#undef cudaMalloc3DArray
__CUDA_HOST cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *description, cudaExtent extent, unsigned flags = 0) {
    return (hipMalloc3DArray)(array, description, extent, flags);
}
// Limits of NVIDIA's second cache are hints.
#undef cudaDeviceSetLimit
__CUDA_HOST cudaError_t cudaDeviceSetLimit(hipLimit_t limit, size_t value) {
    return limit == cudaLimitMaxL2FetchGranularity || limit == cudaLimitPersistingL2CacheSize ? hipSuccess : (hipDeviceSetLimit)(limit, value);
}
// CUDA 13 names a place where CUDA 12 names a device.
__CUDA_HOST int __cuda_device_of(hipMemLocation place) { return place.type == hipMemLocationTypeDevice ? place.id : hipCpuDeviceId; }
#undef cudaMemPrefetchAsync
__CUDA_HOST cudaError_t cudaMemPrefetchAsync(const void *at, size_t size, int device, cudaStream_t stream = nullptr) {
    return (hipMemPrefetchAsync)(at, size, device, stream);
}
__CUDA_HOST cudaError_t cudaMemPrefetchAsync(const void *at, size_t size, hipMemLocation place, unsigned, cudaStream_t stream = nullptr) {
    return (hipMemPrefetchAsync)(at, size, __cuda_device_of(place), stream);
}
#define cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync
#undef cudaMemAdvise
__CUDA_HOST cudaError_t cudaMemAdvise(const void *at, size_t size, hipMemoryAdvise advice, int device) {
    return (hipMemAdvise)(at, size, advice, device);
}
__CUDA_HOST cudaError_t cudaMemAdvise(const void *at, size_t size, hipMemoryAdvise advice, hipMemLocation place) {
    return (hipMemAdvise)(at, size, advice, __cuda_device_of(place));
}
#define cudaMemAdvise_v2 cudaMemAdvise

// Symbols: variables of device code, by name or by address.
__CUDA_HOST const void *__cuda_symbol(const void *symbol) { return symbol; }
template <typename T> __CUDA_HOST const void *__cuda_symbol(const T &symbol) { return __builtin_addressof(symbol); }
#undef cudaGetSymbolAddress
template <typename P, typename T> __CUDA_HOST cudaError_t cudaGetSymbolAddress(P **at, const T &symbol) {
    return (hipGetSymbolAddress)(reinterpret_cast<void **>(const_cast<typename std::remove_const<P>::type **>(at)), __cuda_symbol(symbol));
}
#undef cudaGetSymbolSize
template <typename T> __CUDA_HOST cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol) {
    return (hipGetSymbolSize)(size, __cuda_symbol(symbol));
}
#undef cudaGraphAddMemcpyNodeToSymbol
template <typename T>
__CUDA_HOST cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, const T &symbol,
                                                       const void *from, size_t size, size_t offset, cudaMemcpyKind kind) {
    return (hipGraphAddMemcpyNodeToSymbol)(node, graph, after, n, __cuda_symbol(symbol), from, size, offset, kind);
}
#undef cudaGraphAddMemcpyNodeFromSymbol
template <typename T>
__CUDA_HOST cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, void *to,
                                                         const T &symbol, size_t size, size_t offset, cudaMemcpyKind kind) {
    return (hipGraphAddMemcpyNodeFromSymbol)(node, graph, after, n, to, __cuda_symbol(symbol), size, offset, kind);
}
#undef cudaGraphMemcpyNodeSetParamsToSymbol
template <typename T>
__CUDA_HOST cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T &symbol, const void *from, size_t size, size_t offset,
                                                             cudaMemcpyKind kind) {
    return (hipGraphMemcpyNodeSetParamsToSymbol)(node, __cuda_symbol(symbol), from, size, offset, kind);
}
#undef cudaGraphMemcpyNodeSetParamsFromSymbol
template <typename T>
__CUDA_HOST cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const T &symbol, size_t size, size_t offset,
                                                               cudaMemcpyKind kind) {
    return (hipGraphMemcpyNodeSetParamsFromSymbol)(node, to, __cuda_symbol(symbol), size, offset, kind);
}
#undef cudaGraphExecMemcpyNodeSetParamsToSymbol
template <typename T>
__CUDA_HOST cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const T &symbol, const void *from,
                                                                 size_t size, size_t offset, cudaMemcpyKind kind) {
    return (hipGraphExecMemcpyNodeSetParamsToSymbol)(exec, node, __cuda_symbol(symbol), from, size, offset, kind);
}
#undef cudaGraphExecMemcpyNodeSetParamsFromSymbol
template <typename T>
__CUDA_HOST cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const T &symbol, size_t size,
                                                                   size_t offset, cudaMemcpyKind kind) {
    return (hipGraphExecMemcpyNodeSetParamsFromSymbol)(exec, node, to, __cuda_symbol(symbol), size, offset, kind);
}

// Events
#undef cudaEventCreate
__CUDA_HOST cudaError_t cudaEventCreate(cudaEvent_t *event) { return (hipEventCreate)(event); }
__CUDA_HOST cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) { return (hipEventCreateWithFlags)(event, flags); }

// Kernels, which need no cast.
#undef cudaFuncSetAttribute
template <typename F> __CUDA_HOST cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute attribute, int value) {
    // Attributes of clusters.
    if (attribute > hipFuncAttributeMax)
        return hipErrorNotSupported;
    return (hipFuncSetAttribute)(reinterpret_cast<const void *>(kernel), attribute, value);
}
#undef cudaFuncSetCacheConfig
template <typename F> __CUDA_HOST cudaError_t cudaFuncSetCacheConfig(F *kernel, cudaFuncCache config) {
    return (hipFuncSetCacheConfig)(reinterpret_cast<const void *>(kernel), config);
}
#undef cudaFuncSetSharedMemConfig
template <typename F> __CUDA_HOST cudaError_t cudaFuncSetSharedMemConfig(F *kernel, cudaSharedMemConfig config) {
    return (hipFuncSetSharedMemConfig)(reinterpret_cast<const void *>(kernel), config);
}
#undef cudaLaunchKernel
template <typename F>
__CUDA_HOST cudaError_t cudaLaunchKernel(F *kernel, dim3 grid, dim3 block, void **arguments, size_t lds = 0, cudaStream_t stream = nullptr) {
    return (hipLaunchKernel)(reinterpret_cast<const void *>(kernel), grid, block, arguments, lds, stream);
}
#undef cudaLaunchCooperativeKernel
template <typename F>
__CUDA_HOST cudaError_t cudaLaunchCooperativeKernel(F *kernel, dim3 grid, dim3 block, void **arguments, size_t lds = 0, cudaStream_t stream = nullptr) {
    return (hipLaunchCooperativeKernel)(reinterpret_cast<const void *>(kernel), grid, block, arguments, static_cast<unsigned>(lds), stream);
}
#if HIP_VERSION_MAJOR >= 6
template <typename F> __CUDA_HOST cudaError_t cudaFuncGetName(const char **name, F *kernel) {
    *name = (hipKernelNameRefByPtr)(reinterpret_cast<const void *>(kernel), nullptr);
    return *name != nullptr ? hipSuccess : hipErrorInvalidDeviceFunction;
}
#endif
#if HIP_VERSION_MAJOR >= 7
template <typename F> __CUDA_HOST cudaError_t cudaGetKernel(cudaKernel_t *kernel, F *symbol) {
    return (hipGetFuncBySymbol)(reinterpret_cast<hipFunction_t *>(kernel), reinterpret_cast<const void *>(symbol));
}
#endif

// How shared memory and the first cache share: percents, and two ends.
enum cudaSharedCarveout { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };

// Occupancy
template <typename F>
__CUDA_HOST cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *size, F *kernel, int blocks, int threads) {
    // What a block may have, in equal shares of a multiprocessor.
    int device = 0, per_processor = 0, per_block = 0;
    cudaFuncAttributes attributes;
    cudaError_t status = (hipFuncGetAttributes)(&attributes, reinterpret_cast<const void *>(kernel));
    if (status == hipSuccess)
        status = (hipGetDevice)(&device);
    if (status == hipSuccess)
        status = (hipDeviceGetAttribute)(&per_processor, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, device);
    if (status == hipSuccess)
        status = (hipDeviceGetAttribute)(&per_block, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
    if (status != hipSuccess)
        return status;
    if (size == nullptr || blocks < 1 || threads < 1)
        return hipErrorInvalidValue;
    const size_t share = static_cast<size_t>(per_processor) / static_cast<size_t>(blocks);
    const size_t most = share < static_cast<size_t>(per_block) ? share : static_cast<size_t>(per_block);
    *size = most > attributes.sharedSizeBytes ? most - attributes.sharedSizeBytes : 0;
    return hipSuccess;
}
#if HIP_VERSION_MAJOR >= 7
template <typename T> struct __cuda_same { typedef T type; };
#undef cudaLaunchKernelEx
// Each argument is converted to the type of the kernel's parameter.
template <typename... P>
__CUDA_HOST cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), typename __cuda_same<P>::type... arguments) {
    void *all[] = {const_cast<void *>(static_cast<const void *>(__builtin_addressof(arguments)))..., nullptr};
    return cudaLaunchKernelExC(config, reinterpret_cast<const void *>(kernel), all);
}

// Graphs. Since CUDA 13, dependencies have data of their own; HIP's have none, so what is passed must be null.
#undef cudaStreamGetCaptureInfo
__CUDA_HOST cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id = nullptr,
                                                 cudaGraph_t *graph = nullptr, const cudaGraphNode_t **after = nullptr, size_t *n = nullptr) {
    return (hipStreamGetCaptureInfo_v2)(stream, status, id, graph, after, n);
}
__CUDA_HOST cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
                                                 const cudaGraphNode_t **after, const hipGraphEdgeData **edges, size_t *n) {
    if (edges != nullptr)
        *edges = nullptr;
    return (hipStreamGetCaptureInfo_v2)(stream, status, id, graph, after, n);
}
#undef cudaStreamGetCaptureInfo_v2
#define cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies
__CUDA_HOST cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after, size_t n, unsigned flags = 0) {
    return (hipStreamUpdateCaptureDependencies)(stream, after, n, flags);
}
// A template, so that a plain 0 is a number of nodes and no pointer.
template <typename E, typename = decltype(static_cast<const hipGraphEdgeData *>(E()))>
__CUDA_HOST cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after, E edges, size_t n, unsigned flags = 0) {
    return edges == nullptr ? (hipStreamUpdateCaptureDependencies)(stream, after, n, flags) : hipErrorNotSupported;
}
#define cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies
#undef cudaGraphAddNode
__CUDA_HOST cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, cudaGraphNodeParams *params) {
    return __cuda_graph_add_node(node, graph, after, n, params);
}
__CUDA_HOST cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, const hipGraphEdgeData *edges, size_t n,
                                         cudaGraphNodeParams *params) {
    return edges == nullptr ? __cuda_graph_add_node(node, graph, after, n, params) : hipErrorNotSupported;
}
#define cudaGraphAddNode_v2 cudaGraphAddNode
#define __CUDA_DEPENDENCIES(NAME, HIP)                                                                                                     \
    __CUDA_HOST cudaError_t NAME(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n) {                    \
        return (HIP)(graph, from, to, n);                                                                                                  \
    }                                                                                                                                      \
    __CUDA_HOST cudaError_t NAME(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const hipGraphEdgeData *edges, \
                                 size_t n) {                                                                                               \
        return edges == nullptr ? (HIP)(graph, from, to, n) : hipErrorNotSupported;                                                        \
    }
#undef cudaGraphAddDependencies
__CUDA_DEPENDENCIES(cudaGraphAddDependencies, hipGraphAddDependencies)
#define cudaGraphAddDependencies_v2 cudaGraphAddDependencies
#undef cudaGraphRemoveDependencies
__CUDA_DEPENDENCIES(cudaGraphRemoveDependencies, hipGraphRemoveDependencies)
#define cudaGraphRemoveDependencies_v2 cudaGraphRemoveDependencies
#undef __CUDA_DEPENDENCIES
#undef cudaGraphGetEdges
__CUDA_HOST cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n) {
    return (hipGraphGetEdges)(graph, from, to, n);
}
__CUDA_HOST cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, hipGraphEdgeData *edges, size_t *n) {
    const cudaError_t status = (hipGraphGetEdges)(graph, from, to, n);
    if (status == hipSuccess && edges != nullptr)
        __builtin_memset(static_cast<void *>(edges), 0, *n * sizeof(*edges));
    return status;
}
#define cudaGraphGetEdges_v2 cudaGraphGetEdges
#undef cudaGraphNodeGetDependencies
__CUDA_HOST cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *others, size_t *n) {
    return (hipGraphNodeGetDependencies)(node, others, n);
}
__CUDA_HOST cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *others, hipGraphEdgeData *edges, size_t *n) {
    return cudaGraphNodeGetDependencies_v2(node, others, edges, n);
}
#undef cudaGraphNodeGetDependentNodes
__CUDA_HOST cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *others, size_t *n) {
    return (hipGraphNodeGetDependentNodes)(node, others, n);
}
__CUDA_HOST cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *others, hipGraphEdgeData *edges, size_t *n) {
    return cudaGraphNodeGetDependentNodes_v2(node, others, edges, n);
}

// Several copies. Since CUDA 13, none is named that failed.
#undef cudaMemcpyBatchAsync
__CUDA_HOST cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count, hipMemcpyAttributes *attributes, size_t *first,
                                             size_t attributes_count, size_t *failed, cudaStream_t stream) {
    return (hipMemcpyBatchAsync)(to, from, sizes, count, attributes, first, attributes_count, failed, stream);
}
__CUDA_HOST cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                                             hipMemcpyAttributes *attributes, size_t *first, size_t attributes_count, cudaStream_t stream) {
    size_t failed;
    return (hipMemcpyBatchAsync)(const_cast<void **>(to), const_cast<void **>(from), const_cast<size_t *>(sizes), count,
                                 attributes, first, attributes_count, &failed, stream);
}
#undef cudaMemcpy3DBatchAsync
__CUDA_HOST cudaError_t cudaMemcpy3DBatchAsync(size_t count, hipMemcpy3DBatchOp *copies, size_t *failed, unsigned long long flags, cudaStream_t stream) {
    return (hipMemcpy3DBatchAsync)(count, copies, failed, flags, stream);
}
__CUDA_HOST cudaError_t cudaMemcpy3DBatchAsync(size_t count, hipMemcpy3DBatchOp *copies, unsigned long long flags, cudaStream_t stream) {
    size_t failed;
    return (hipMemcpy3DBatchAsync)(count, copies, &failed, flags, stream);
}
#endif
#undef cudaGraphInstantiate
// Since CUDA 12, instantiating a graph takes three arguments, and an update takes a structure for errors.
__CUDA_HOST cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags = 0) {
    return (hipGraphInstantiateWithFlags)(exec, graph, flags);
}
__CUDA_HOST cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *node, char *log, size_t size) {
    return (hipGraphInstantiate)(exec, graph, node, log, size);
}
#undef cudaGraphExecUpdateResultInfo
struct cudaGraphExecUpdateResultInfo_st {
    hipGraphExecUpdateResult result;
    hipGraphNode_t errorNode, errorFromNode;
};
typedef cudaGraphExecUpdateResultInfo_st cudaGraphExecUpdateResultInfo;
#undef cudaGraphExecUpdate
__CUDA_HOST cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    info->errorFromNode = nullptr;
    return (hipGraphExecUpdate)(exec, graph, &info->errorNode, &info->result);
}
__CUDA_HOST cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *node, hipGraphExecUpdateResult *result) {
    return (hipGraphExecUpdate)(exec, graph, node, result);
}

// Channels of named formats.
__CUDA_HOST cudaChannelFormatDesc cudaCreateChannelDescHalf() { return (hipCreateChannelDesc)(16, 0, 0, 0, hipChannelFormatKindFloat); }
__CUDA_HOST cudaChannelFormatDesc cudaCreateChannelDescHalf1() { return (hipCreateChannelDesc)(16, 0, 0, 0, hipChannelFormatKindFloat); }
__CUDA_HOST cudaChannelFormatDesc cudaCreateChannelDescHalf2() { return (hipCreateChannelDesc)(16, 16, 0, 0, hipChannelFormatKindFloat); }
__CUDA_HOST cudaChannelFormatDesc cudaCreateChannelDescHalf4() { return (hipCreateChannelDesc)(16, 16, 16, 16, hipChannelFormatKindFloat); }
__CUDA_HOST cudaChannelFormatDesc cudaCreateChannelDescNV12() { return (hipCreateChannelDesc)(8, 8, 8, 0, cudaChannelFormatKindNV12); }
#undef __CUDA_HOST

// No graph is launched from device code, and no handle of a conditional node exists: a program cannot get here with a valid one.
static __device__ __attribute__((unused)) inline cudaGraphExec_t cudaGetCurrentGraphExec() { return nullptr; }
static __device__ __attribute__((unused)) inline void cudaGraphSetConditional(cudaGraphConditionalHandle, unsigned) { __builtin_trap(); }

// clang calls these for bfloat16 in host code. Debian 12's libgcc and Rust's libraries lack them.
#if defined(__FERROCM_CUDA__) && !defined(__HIP_DEVICE_COMPILE__) && defined(__x86_64__) && defined(__SSE2__)
extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, 4);
    // To the nearest, ties to even; a NaN stays one.
    const unsigned short half = static_cast<unsigned short>(x != x ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    __bf16 to;
    __builtin_memcpy(&to, &half, 2);
    return to;
}
extern "C" __attribute__((weak)) __bf16 __truncdfbf2(double x) {
    // A float that stands for the double: its last bit says whether anything lies below.
    float near = static_cast<float>(x);
    unsigned bits;
    __builtin_memcpy(&bits, &near, 4);
    if (static_cast<double>(near) != x && near - near == 0) {
        if ((near < 0 ? static_cast<double>(near) < x : static_cast<double>(near) > x) && near != 0)
            --bits;
        bits |= 1u;
        if (near == 0)
            bits = (x < 0 ? 0x80000000u : 0u) | 1u;
    }
    __builtin_memcpy(&near, &bits, 4);
    return __truncsfbf2(near);
}
#endif
#include "ferrocm_letters_end.h"
