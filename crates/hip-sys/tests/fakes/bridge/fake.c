// A HIP runtime of an older version that compares its arguments with the test's values, in the form of that version,
// and returns known contents. SHAPE is the version, as major * 10 + minor. With HEADERS, it is compiled against the
// version's own headers. An unexpected value is reported as the error 10000 + line.

#ifdef HEADERS
#include <stddef.h>
#include <stdint.h>
#include <hip/hip_runtime_api.h>
#else
#include "old.h"
#endif

#define EXPECT(condition) \
    if (!(condition)) return (hipError_t)(10000 + __LINE__)
#define IS(value, expected) EXPECT((uintptr_t)(value) == (uintptr_t)(expected))
#define INVALID ((hipError_t)1)

hipError_t hipInit(unsigned flags) { return (hipError_t)flags; }

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device) {
    IS(device, 0);
    *value = (int)attribute;
    return (hipError_t)0;
}

#if SHAPE > 52
hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value) { return (hipError_t)(limit + value) * 0; }
#endif

#if SHAPE >= 60
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device) {
    if (device != 0) return (hipError_t)101;
    *(int *)((char *)properties + TEXTURE_OFFSET) = 4096;
    return (hipError_t)0;
}
#else

_Static_assert(sizeof(hipDeviceProp_t) == 792, "");
_Static_assert(offsetof(hipDeviceProp_t, gcnArchName) == 396, "");
_Static_assert(sizeof(HIP_MEMCPY3D) == 128, "");
_Static_assert(sizeof(hipExternalSemaphoreWaitParams) == 136, "");

static void put(char *to, const char *from) {
    while ((*to++ = *from++)) {
    }
}

static int is(const char *left, const char *right) {
    while (*left && *left == *right) left++, right++;
    return *left == *right;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
    if (!properties) return INVALID;
    if (device != 0) return (hipError_t)101;
    put(properties->name, SHAPE == 52 ? "fake 5.2" : "fake 5.7");
    put(properties->gcnArchName, "gfx90a:sramecc+:xnack-");
    properties->totalGlobalMem = 0x123456789a;
    properties->cooperativeMultiDeviceLaunch = 11;
    properties->maxTexture1DLinear = 1000;
    properties->pageableMemoryAccessUsesHostPageTables = 12;
    return (hipError_t)0;
}

hipError_t hipChooseDevice(int *device, const hipDeviceProp_t *properties) {
    if (!properties) return INVALID;
    EXPECT(is(properties->name, "wanted"));
    EXPECT(is(properties->gcnArchName, "gfx1030"));
    IS(properties->totalGlobalMem, 21);
    IS(properties->maxTexture1DLinear, 22);
    IS(properties->pageableMemoryAccessUsesHostPageTables, 23);
    *device = 3;
    return (hipError_t)0;
}

hipError_t hipIpcOpenMemHandle(void **pointer, hipIpcMemHandle_t handle, unsigned flags) {
    IS(handle.reserved[0], 1);
    IS(handle.reserved[63], 64);
    IS(flags, 0);
    *pointer = (void *)7;
    return (hipError_t)0;
}

// The pointer is the number of the memory type.
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer) {
    if (!attributes) return INVALID;
    if ((uintptr_t)pointer > 4) return INVALID;
    attributes->memoryType = (hipMemoryType)(uintptr_t)pointer;
    attributes->device = 1;
    attributes->devicePointer = (void *)2;
    attributes->hostPointer = (void *)3;
    attributes->isManaged = 4;
    attributes->allocationFlags = 5;
    return (hipError_t)0;
}

hipError_t hipPointerGetAttribute(void *data, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
    if (!data) return INVALID;
    IS((uintptr_t)attribute <= 3, 1);
    *(unsigned *)data = (unsigned)(uintptr_t)pointer;
    return (hipError_t)0;
}

hipError_t hipDrvPointerGetAttributes(
    unsigned count, hipPointer_attribute *attributes, void **data, hipDeviceptr_t pointer
) {
    if (!attributes || !data) return INVALID;
    for (unsigned i = 0; i < count; i++)
        if (data[i]) *(unsigned *)data[i] = (unsigned)(uintptr_t)pointer;
    return (hipError_t)0;
}

static hipError_t flat(const hip_Memcpy2D *copy) {
    if (!copy) return INVALID;
    IS(copy->srcXInBytes, 1);
    IS(copy->srcY, 2);
    IS(copy->srcMemoryType, 0);
    IS(copy->srcHost, 3);
    IS(copy->srcDevice, 4);
    IS(copy->srcArray, 5);
    IS(copy->srcPitch, 6);
    IS(copy->dstXInBytes, 7);
    IS(copy->dstY, 8);
    IS(copy->dstMemoryType, 1);
    IS(copy->dstHost, 9);
    IS(copy->dstDevice, 10);
    IS(copy->dstArray, 11);
    IS(copy->dstPitch, 12);
    IS(copy->WidthInBytes, 13);
    IS(copy->Height, 14);
    return (hipError_t)0;
}

hipError_t hipMemcpyParam2D(const hip_Memcpy2D *copy) { return flat(copy); }

hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *copy) { return flat(copy); }

hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *copy, hipStream_t stream) {
    IS(stream, 77);
    return flat(copy);
}

static hipError_t solid(const HIP_MEMCPY3D *copy) {
    if (!copy) return INVALID;
    IS(copy->srcXInBytes, 1);
    IS(copy->srcY, 2);
    IS(copy->srcZ, 3);
    IS(copy->srcLOD, 4);
    IS(copy->srcMemoryType, 3);
    IS(copy->srcHost, 5);
    IS(copy->srcDevice, 6);
    IS(copy->srcArray, 7);
    IS(copy->srcPitch, 8);
    IS(copy->srcHeight, 9);
    IS(copy->dstXInBytes, 10);
    IS(copy->dstY, 11);
    IS(copy->dstZ, 12);
    IS(copy->dstLOD, 13);
    IS(copy->dstMemoryType, 2);
    IS(copy->dstHost, 14);
    IS(copy->dstDevice, 15);
    IS(copy->dstArray, 16);
    IS(copy->dstPitch, 17);
    IS(copy->dstHeight, 18);
    IS(copy->WidthInBytes, 19);
    IS(copy->Height, 20);
    IS(copy->Depth, 0xffffffff);
    return (hipError_t)0;
}

hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *copy) { return solid(copy); }

hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *copy, hipStream_t stream) {
    IS(stream, 77);
    return solid(copy);
}

static hipError_t check_pool(const hipMemPoolProps *properties) {
    IS(properties->allocType, 1);
    IS(properties->handleTypes, 2);
    IS(properties->location.type, 1);
    IS(properties->location.id, 4);
    IS(properties->win32SecurityAttributes, 5);
    IS(properties->reserved[55], 0);
    IS(properties->reserved[63], 0);
    return (hipError_t)0;
}

hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *properties) {
    if (!properties) return INVALID;
    *pool = (hipMemPool_t)6;
    return check_pool(properties);
}

hipError_t hipImportExternalMemory(hipExternalMemory_t *memory, const hipExternalMemoryHandleDesc *description) {
    if (!description) return INVALID;
    IS(description->type, 2);
    IS(description->handle.win32.handle, 1);
    IS(description->handle.win32.name, 2);
    IS(description->size, 3);
    IS(description->flags, 4);
    *memory = (hipExternalMemory_t)5;
    return (hipError_t)0;
}

hipError_t hipExternalMemoryGetMappedBuffer(
    void **pointer, hipExternalMemory_t memory, const hipExternalMemoryBufferDesc *description
) {
    if (!description) return INVALID;
    IS(memory, 5);
    IS(description->offset, 6);
    IS(description->size, 7);
    IS(description->flags, 8);
    *pointer = (void *)9;
    return (hipError_t)0;
}

hipError_t hipImportExternalSemaphore(
    hipExternalSemaphore_t *semaphore, const hipExternalSemaphoreHandleDesc *description
) {
    if (!description) return INVALID;
    IS(description->type, 1);
    IS(description->handle.fd, 11);
    IS(description->flags, 12);
    *semaphore = (hipExternalSemaphore_t)13;
    return (hipError_t)0;
}

hipError_t hipSignalExternalSemaphoresAsync(
    const hipExternalSemaphore_t *semaphores, const hipExternalSemaphoreSignalParams *parameters, unsigned count,
    hipStream_t stream
) {
    IS(stream, 77);
    for (unsigned i = 0; i < count; i++) {
        if (!parameters) return INVALID;
        IS(semaphores[i], 1000 + i);
        IS(parameters[i].params.fence.value, 2000 + i);
        IS(parameters[i].params.keyedMutex.key, 3000 + i);
        IS(parameters[i].flags, 4000 + i);
        IS(parameters[i].reserved[15], 5000 + i);
    }
    return (hipError_t)0;
}

hipError_t hipWaitExternalSemaphoresAsync(
    const hipExternalSemaphore_t *semaphores, const hipExternalSemaphoreWaitParams *parameters, unsigned count,
    hipStream_t stream
) {
    IS(stream, 77);
    for (unsigned i = 0; i < count; i++) {
        if (!parameters) return INVALID;
        IS(semaphores[i], 1000 + i);
        IS(parameters[i].params.fence.value, 2000 + i);
        IS(parameters[i].params.keyedMutex.key, 3000 + i);
        IS(parameters[i].params.keyedMutex.timeoutMs, 3500 + i);
        IS(parameters[i].flags, 4000 + i);
        IS(parameters[i].reserved[15], 5000 + i);
    }
    return (hipError_t)0;
}

// The node is the number of its type.
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type) {
    if (!type) return INVALID;
    *type = (hipGraphNodeType)(uintptr_t)node;
    return (hipError_t)0;
}

hipError_t hipGraphKernelNodeSetAttribute(
    hipGraphNode_t node, hipKernelNodeAttrID attribute, const hipKernelNodeAttrValue *value
) {
    if (!value) return INVALID;
    IS(node, 1);
    IS(attribute, 2);
    IS(value->cooperative, 3);
    return (hipError_t)0;
}

hipError_t hipGraphKernelNodeGetAttribute(
    hipGraphNode_t node, hipKernelNodeAttrID attribute, hipKernelNodeAttrValue *value
) {
    if (!value) return INVALID;
    IS(node, 1);
    IS(attribute, 2);
    value->cooperative = 4;
    return (hipError_t)0;
}

#if SHAPE == 52
static hipError_t check_allocation(const hipMemAllocationProp *properties) {
    if (!properties) return INVALID;
    IS(properties->compressionType, 1);
    IS(properties->location.type, 1);
    IS(properties->location.id, 2);
    IS(properties->requestedHandleType, 4);
    IS(properties->type, 1);
    IS(properties->usage, 5);
    IS(properties->win32HandleMetaData, 6);
    return (hipError_t)0;
}

hipError_t hipMemCreate(
    hipMemGenericAllocationHandle_t *handle, size_t size, const hipMemAllocationProp *properties,
    unsigned long long flags
) {
    IS(size, 7);
    IS(flags, 8);
    *handle = (hipMemGenericAllocationHandle_t)9;
    return check_allocation(properties);
}

hipError_t hipMemGetAllocationGranularity(
    size_t *granularity, const hipMemAllocationProp *properties, hipMemAllocationGranularity_flags option
) {
    IS(option, 1);
    *granularity = 10;
    return check_allocation(properties);
}

hipError_t hipMemGetAllocationPropertiesFromHandle(
    hipMemAllocationProp *properties, hipMemGenericAllocationHandle_t handle
) {
    if (!properties) return INVALID;
    IS(handle, 9);
    properties->compressionType = 1;
    properties->location.type = 1;
    properties->location.id = 2;
    properties->requestedHandleType = 4;
    properties->type = 1;
    properties->usage = 5;
    properties->win32HandleMetaData = (void *)6;
    return (hipError_t)0;
}

// The C++ mangled name of hipDestroySurfaceObject.
hipError_t _Z23hipDestroySurfaceObjectP13__hip_surface(void *surface) {
    IS(surface, 1);
    return (hipError_t)0;
}
#else
hipError_t hipGraphAddMemAllocNode(
    hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
    hipMemAllocNodeParams *parameters
) {
    if (!parameters) return INVALID;
    IS(graph, 1);
    IS(dependencies, 2);
    IS(count, 3);
    IS(parameters->accessDescs, 4);
    IS(parameters->accessDescCount, 5);
    IS(parameters->bytesize, 6);
    parameters->dptr = (void *)7;
    *node = (hipGraphNode_t)8;
    return check_pool(&parameters->poolProps);
}

hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams *parameters) {
    if (!parameters) return INVALID;
    IS(node, 8);
    parameters->poolProps.location.id = 1;
    parameters->poolProps.reserved[0] = 2;
    parameters->accessDescs = (const void *)3;
    parameters->accessDescCount = 4;
    parameters->bytesize = 5;
    parameters->dptr = (void *)6;
    return (hipError_t)0;
}
#endif
#endif

#if SHAPE == 64
hipError_t hipGraphKernelNodeSetAttribute(
    hipGraphNode_t node, hipLaunchAttributeID attribute, const hipLaunchAttributeValue *value
) {
    if (!value) return INVALID;
    IS(node, 1);
    IS(attribute, 8);
    IS(value->priority, 3);
    return (hipError_t)0;
}

hipError_t hipGraphKernelNodeGetAttribute(
    hipGraphNode_t node, hipLaunchAttributeID attribute, hipLaunchAttributeValue *value
) {
    if (!value) return INVALID;
    IS(node, 1);
    IS(attribute, 8);
    value->priority = 4;
    return (hipError_t)0;
}

static hipError_t check_memset(const HIP_MEMSET_NODE_PARAMS *parameters) {
    if (!parameters) return INVALID;
    IS(parameters->dst, 1);
    IS(parameters->elementSize, 2);
    IS(parameters->height, 3);
    IS(parameters->pitch, 4);
    IS(parameters->value, 5);
    IS(parameters->width, 6);
    return (hipError_t)0;
}

hipError_t hipDrvGraphAddMemsetNode(
    hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
    const HIP_MEMSET_NODE_PARAMS *parameters, hipCtx_t context
) {
    IS(graph, 7);
    IS(dependencies, 8);
    IS(count, 9);
    IS(context, 10);
    *node = (hipGraphNode_t)11;
    return check_memset(parameters);
}

hipError_t hipDrvGraphExecMemsetNodeSetParams(
    hipGraphExec_t executable, hipGraphNode_t node, const HIP_MEMSET_NODE_PARAMS *parameters, hipCtx_t context
) {
    IS(executable, 12);
    IS(node, 11);
    IS(context, 10);
    return check_memset(parameters);
}
#endif

#if SHAPE == 70
hipError_t hipLaunchKernelExC(void) { return INVALID; }
#endif

#if SHAPE < 60
// No HIP 5 is known to export this, so its arguments are unknown.
hipError_t hipDrvGraphAddMemcpyNode(void) { return INVALID; }
#endif
