// Attributes of launches, streams and nodes, and launches with attributes, in C and C++. HIP knows a part of the attributes.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"
#if HIP_VERSION_MAJOR >= 7
typedef enum cudaClusterSchedulingPolicy {
    cudaClusterSchedulingPolicyDefault = 0,
    cudaClusterSchedulingPolicySpread = 1,
    cudaClusterSchedulingPolicyLoadBalancing = 2,
} cudaClusterSchedulingPolicy;
#undef cudaLaunchAttributeValue
#undef cudaStreamAttrValue
#undef cudaKernelNodeAttrValue
// As large as HIP's, with HIP's fields at the same place.
typedef union cudaLaunchAttributeValue {
    char pad[64];
    hipAccessPolicyWindow accessPolicyWindow;
    int cooperative;
    hipSynchronizationPolicy syncPolicy;
    struct {
        unsigned x, y, z;
    } clusterDim;
    cudaClusterSchedulingPolicy clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
    struct {
        hipEvent_t event;
        int flags;
        int triggerAtBlockStart;
    } programmaticEvent;
    int priority;
    hipLaunchMemSyncDomainMap memSyncDomainMap;
    hipLaunchMemSyncDomain memSyncDomain;
    struct {
        unsigned x, y, z;
    } preferredClusterDim;
    struct {
        hipEvent_t event;
        int flags;
    } launchCompletionEvent;
    struct {
        int deviceUpdatable;
        struct CUgraphDeviceUpdatableNode_st *devNode;
    } deviceUpdatableKernelNode;
    unsigned sharedMemCarveout;
    unsigned nvlinkUtilCentricScheduling;
} cudaLaunchAttributeValue;
#undef cudaLaunchAttribute
#undef cudaLaunchAttribute_st
typedef struct cudaLaunchAttribute_st {
    hipLaunchAttributeID id;
    char pad[8 - sizeof(hipLaunchAttributeID)];
    union {
        cudaLaunchAttributeValue val;
        cudaLaunchAttributeValue value;
    };
} cudaLaunchAttribute;
#if defined(__cplusplus)
static_assert(sizeof(cudaLaunchAttribute) == sizeof(hipLaunchAttribute), "HIP's size");
#endif
#undef cudaLaunchConfig_st
#undef cudaLaunchConfig_t
typedef struct cudaLaunchConfig_st {
    dim3 gridDim;
    dim3 blockDim;
    size_t dynamicSmemBytes;
    hipStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

// Attributes for HIP. Those that only allow an earlier start, or that hint, are left out. What would change the meaning of a kernel is
// refused: clusters of several blocks, and events that the launch should record.
__CUDA_API cudaError_t __cuda_launch_attributes(const cudaLaunchAttribute *from, unsigned n, hipLaunchAttribute *to, unsigned room, unsigned *filled) {
    unsigned i;
    *filled = 0;
    for (i = 0; i < n; ++i) {
        switch ((int)from[i].id) {
        case cudaLaunchAttributeIgnore:
        case cudaLaunchAttributeClusterSchedulingPolicyPreference:
        case cudaLaunchAttributeProgrammaticStreamSerialization:
        case cudaLaunchAttributePreferredClusterDimension:
        case cudaLaunchAttributePreferredSharedMemoryCarveout:
        case cudaLaunchAttributeNvlinkUtilCentricScheduling:
            break;
        case cudaLaunchAttributeClusterDimension:
            if (from[i].val.clusterDim.x > 1 || from[i].val.clusterDim.y > 1 || from[i].val.clusterDim.z > 1)
                return hipErrorNotSupported;
            break;
        case cudaLaunchAttributeProgrammaticEvent:
        case cudaLaunchAttributeLaunchCompletionEvent:
            return hipErrorNotSupported;
        case cudaLaunchAttributeDeviceUpdatableKernelNode:
            if (from[i].val.deviceUpdatableKernelNode.deviceUpdatable)
                return hipErrorNotSupported;
            break;
        default:
            if (*filled == room)
                return hipErrorInvalidValue;
            __builtin_memcpy(&to[*filled], &from[i], sizeof(from[i]));
            ++*filled;
        }
    }
    return hipSuccess;
}
#undef cudaLaunchKernelExC
__CUDA_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    hipLaunchAttribute attributes[16];
    hipLaunchConfig_t launch;
    cudaError_t status;
    if (config == 0)
        return hipErrorInvalidConfiguration;
    launch.gridDim = config->gridDim;
    launch.blockDim = config->blockDim;
    launch.dynamicSmemBytes = config->dynamicSmemBytes;
    launch.stream = config->stream;
    launch.attrs = attributes;
    status = __cuda_launch_attributes(config->attrs, config->numAttrs, attributes, 16, &launch.numAttrs);
    return status == hipSuccess ? (hipLaunchKernelExC)(&launch, kernel, arguments) : status;
}
#undef cudaStreamSetAttribute
__CUDA_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value) {
    return (hipStreamSetAttribute)(stream, id, (const hipLaunchAttributeValue *)value);
}
#undef cudaStreamGetAttribute
__CUDA_API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID id, cudaLaunchAttributeValue *value) {
    return (hipStreamGetAttribute)(stream, id, (hipLaunchAttributeValue *)value);
}
#undef cudaGraphKernelNodeSetAttribute
__CUDA_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value) {
    return (hipGraphKernelNodeSetAttribute)(node, id, (const hipLaunchAttributeValue *)value);
}
#undef cudaGraphKernelNodeGetAttribute
__CUDA_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id, cudaLaunchAttributeValue *value) {
    return (hipGraphKernelNodeGetAttribute)(node, id, (hipLaunchAttributeValue *)value);
}

// As in CUDA, these are macros of the names above.
#undef cudaStreamAttrID
#undef cudaKernelNodeAttrID
#define cudaStreamAttrID cudaLaunchAttributeID
#define cudaKernelNodeAttrID cudaLaunchAttributeID
#define cudaStreamAttrValue cudaLaunchAttributeValue
#define cudaKernelNodeAttrValue cudaLaunchAttributeValue
#define cudaKernelNodeAttributeClusterDimension cudaLaunchAttributeClusterDimension
#define cudaKernelNodeAttributeClusterSchedulingPolicyPreference cudaLaunchAttributeClusterSchedulingPolicyPreference
#define cudaKernelNodeAttributeDeviceUpdatableKernelNode cudaLaunchAttributeDeviceUpdatableKernelNode
#define cudaKernelNodeAttributeMemSyncDomain cudaLaunchAttributeMemSyncDomain
#define cudaKernelNodeAttributeMemSyncDomainMap cudaLaunchAttributeMemSyncDomainMap
#define cudaKernelNodeAttributeNvlinkUtilCentricScheduling cudaLaunchAttributeNvlinkUtilCentricScheduling
#define cudaKernelNodeAttributePreferredSharedMemoryCarveout cudaLaunchAttributePreferredSharedMemoryCarveout
#endif
