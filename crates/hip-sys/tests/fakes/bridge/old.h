// The parts of an older HIP's headers that a fake library needs, if those headers are not available.
// SHAPE is the version, as major * 10 + minor.

#include <stddef.h>
#include <stdint.h>

typedef unsigned hipError_t, hipMemoryType, hipDeviceAttribute_t, hipPointer_attribute, hipGraphNodeType;
typedef unsigned hipMemAllocationType, hipMemAllocationHandleType, hipMemAllocationGranularity_flags;
typedef unsigned hipKernelNodeAttrID, hipLaunchAttributeID, hipAccessProperty;
typedef unsigned hipExternalMemoryHandleType, hipExternalSemaphoreHandleType;
typedef void *hipArray_t, *hipStream_t, *hipGraph_t, *hipGraphNode_t, *hipGraphExec_t, *hipCtx_t, *hipMemPool_t;
typedef void *hipDeviceptr_t, *hipExternalMemory_t, *hipExternalSemaphore_t, *hipMemGenericAllocationHandle_t;
enum hipLimit_t { hipLimitMallocHeapSize = 2 };

typedef struct {
    char reserved[64];
} hipIpcMemHandle_t;
typedef struct {
    unsigned type;
    int id;
} hipMemLocation;

typedef struct {
    void *base_ptr;
    hipAccessProperty hitProp;
    float hitRatio;
    hipAccessProperty missProp;
    size_t num_bytes;
} hipAccessPolicyWindow;

typedef union {
    hipAccessPolicyWindow accessPolicyWindow;
    int cooperative;
    int priority;
} hipLaunchAttributeValue, hipKernelNodeAttrValue;

typedef struct {
    hipDeviceptr_t dst;
    size_t pitch;
    unsigned value;
    unsigned elementSize;
    size_t width;
    size_t height;
} HIP_MEMSET_NODE_PARAMS;

#if SHAPE >= 60
typedef struct {
    char bytes[1472];
} hipDeviceProp_tR0600;
#else
typedef struct {
    char name[256];
    size_t totalGlobalMem;
    char others[132];
    char gcnArchName[256];
    int integrated;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    int maxTexture1DLinear;
    char more[120];
    int pageableMemoryAccessUsesHostPageTables;
} hipDeviceProp_t;

typedef struct {
    hipMemoryType memoryType;
    int device;
    void *devicePointer;
    void *hostPointer;
    int isManaged;
    unsigned allocationFlags;
} hipPointerAttribute_t;

typedef struct {
    size_t srcXInBytes, srcY;
    hipMemoryType srcMemoryType;
    const void *srcHost;
    hipDeviceptr_t srcDevice;
    hipArray_t srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    hipMemoryType dstMemoryType;
    void *dstHost;
    hipDeviceptr_t dstDevice;
    hipArray_t dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} hip_Memcpy2D;

typedef struct {
    unsigned srcXInBytes, srcY, srcZ, srcLOD;
    hipMemoryType srcMemoryType;
    const void *srcHost;
    hipDeviceptr_t srcDevice;
    hipArray_t srcArray;
    unsigned srcPitch, srcHeight;
    unsigned dstXInBytes, dstY, dstZ, dstLOD;
    hipMemoryType dstMemoryType;
    void *dstHost;
    hipDeviceptr_t dstDevice;
    hipArray_t dstArray;
    unsigned dstPitch, dstHeight;
    unsigned WidthInBytes, Height, Depth;
} HIP_MEMCPY3D;

typedef struct {
    hipMemAllocationType allocType;
    hipMemAllocationHandleType handleTypes;
    hipMemLocation location;
    void *win32SecurityAttributes;
    unsigned char reserved[64];
} hipMemPoolProps;

typedef struct {
    hipMemPoolProps poolProps;
    const void *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    void *dptr;
} hipMemAllocNodeParams;

typedef struct {
    unsigned char compressionType;
    hipMemLocation location;
    hipMemAllocationHandleType requestedHandleType;
    hipMemAllocationType type;
    unsigned short usage;
    void *win32HandleMetaData;
} hipMemAllocationProp;

typedef struct {
    hipExternalMemoryHandleType type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
    } handle;
    unsigned long long size;
    unsigned flags;
} hipExternalMemoryHandleDesc;

typedef struct {
    unsigned long long offset;
    unsigned long long size;
    unsigned flags;
} hipExternalMemoryBufferDesc;

typedef struct {
    hipExternalSemaphoreHandleType type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
    } handle;
    unsigned flags;
} hipExternalSemaphoreHandleDesc;

typedef struct {
    struct {
        struct {
            unsigned long long value;
        } fence;
        struct {
            unsigned long long key;
        } keyedMutex;
        unsigned reserved[12];
    } params;
    unsigned flags;
    unsigned reserved[16];
} hipExternalSemaphoreSignalParams;

typedef struct {
    struct {
        struct {
            unsigned long long value;
        } fence;
        struct {
            unsigned long long key;
            unsigned timeoutMs;
        } keyedMutex;
        unsigned reserved[10];
    } params;
    unsigned flags;
    unsigned reserved[16];
} hipExternalSemaphoreWaitParams;
#endif
