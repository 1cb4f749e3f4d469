// Types and values of CUDA's driver API that HIP lacks, with CUDA's layout and numbers, in C and C++. Only functions that are not supported
// take most of them.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"
#include "ferrocm_runtime_types.h"
// An older name.
#define CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
#define CUDA_ARRAY3D_2DARRAY 0x1
#define CUDA_ARRAY3D_COLOR_ATTACHMENT 0x20
#define CUDA_ARRAY3D_DEFERRED_MAPPING 0x80
#define CUDA_ARRAY3D_DEPTH_TEXTURE 0x10
#define CUDA_ARRAY3D_SPARSE 0x40
#define CUDA_ARRAY3D_VIDEO_ENCODE_DECODE 0x100
#define CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC 0x1
#define CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC 0x2
#define CUDA_NVSCISYNC_ATTR_SIGNAL 0x1
#define CUDA_NVSCISYNC_ATTR_WAIT 0x2
#define CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL 0x1
#define CU_COMPUTE_ACCELERATED_TARGET_BASE 0x10000
#define CU_COMPUTE_FAMILY_TARGET_BASE 0x20000
#define CU_GRAPH_COND_ASSIGN_DEFAULT 0x1
#define CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM 1
#define CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT 0x1
#define CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT 0x2
#define CU_LAUNCH_PARAM_END_AS_INT 0x0
#define CU_MEM_CREATE_USAGE_HW_DECOMPRESS 0x2
#define CU_MEM_CREATE_USAGE_TILE_POOL 0x1
#define CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS 0x2
#define CU_PARAM_TR_DEFAULT (-1)
#define CU_TENSOR_MAP_NUM_QWORDS 0x10
#define CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION 0x20
#define CU_TRSF_SEAMLESS_CUBEMAP 0x40
#define RESOURCE_ABI_EXTERNAL_BYTES 0x30
#define RESOURCE_ABI_VERSION 0x1
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
struct CUsurfref_st;
typedef struct CUsurfref_st *CUsurfref;
struct CUextMemory_st;
struct CUextSemaphore_st;
typedef cuuint64_t CUgraphConditionalHandle;
typedef struct CUgraphDeviceUpdatableNode_st *CUgraphDeviceNode;
struct CUasyncCallbackEntry_st;
typedef struct CUasyncCallbackEntry_st *CUasyncCallbackHandle;
struct CUgreenCtx_st;
typedef struct CUgreenCtx_st *CUgreenCtx;
struct CUmemFabricHandle_st {
    unsigned char data[64];
};
typedef struct CUmemFabricHandle_st CUmemFabricHandle_v1;
typedef CUmemFabricHandle_v1 CUmemFabricHandle;
#undef CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
enum CUipcMem_flags_enum {
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,
};
typedef enum CUipcMem_flags_enum CUipcMem_flags;
#undef CU_MEM_ATTACH_GLOBAL
#undef CU_MEM_ATTACH_HOST
#undef CU_MEM_ATTACH_SINGLE
enum CUmemAttach_flags_enum {
    CU_MEM_ATTACH_GLOBAL = 1, CU_MEM_ATTACH_HOST = 2, CU_MEM_ATTACH_SINGLE = 4,
};
typedef enum CUmemAttach_flags_enum CUmemAttach_flags;
#undef CU_CTX_SCHED_AUTO
#undef CU_CTX_SCHED_SPIN
#undef CU_CTX_SCHED_YIELD
#undef CU_CTX_SCHED_BLOCKING_SYNC
#undef CU_CTX_BLOCKING_SYNC
#undef CU_CTX_SCHED_MASK
#undef CU_CTX_MAP_HOST
#undef CU_CTX_LMEM_RESIZE_TO_MAX
enum CUctx_flags_enum {
    CU_CTX_SCHED_AUTO = 0, CU_CTX_SCHED_SPIN = 1, CU_CTX_SCHED_YIELD = 2, CU_CTX_SCHED_BLOCKING_SYNC = 4, CU_CTX_BLOCKING_SYNC = 4,
    CU_CTX_SCHED_MASK = 7, CU_CTX_MAP_HOST = 8, CU_CTX_LMEM_RESIZE_TO_MAX = 16, CU_CTX_COREDUMP_ENABLE = 32,
    CU_CTX_USER_COREDUMP_ENABLE = 64, CU_CTX_SYNC_MEMOPS = 128, CU_CTX_FLAGS_MASK = 255,
};
typedef enum CUctx_flags_enum CUctx_flags;
enum CUevent_sched_flags_enum {
    CU_EVENT_SCHED_AUTO = 0, CU_EVENT_SCHED_SPIN = 1, CU_EVENT_SCHED_YIELD = 2, CU_EVENT_SCHED_BLOCKING_SYNC = 4,
};
typedef enum CUevent_sched_flags_enum CUevent_sched_flags;
enum cl_event_flags_enum {
    NVCL_EVENT_SCHED_AUTO = 0, NVCL_EVENT_SCHED_SPIN = 1, NVCL_EVENT_SCHED_YIELD = 2, NVCL_EVENT_SCHED_BLOCKING_SYNC = 4,
};
typedef enum cl_event_flags_enum cl_event_flags;
enum cl_context_flags_enum {
    NVCL_CTX_SCHED_AUTO = 0, NVCL_CTX_SCHED_SPIN = 1, NVCL_CTX_SCHED_YIELD = 2, NVCL_CTX_SCHED_BLOCKING_SYNC = 4,
};
typedef enum cl_context_flags_enum cl_context_flags;
#undef CU_STREAM_DEFAULT
#undef CU_STREAM_NON_BLOCKING
enum CUstream_flags_enum {
    CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1,
};
typedef enum CUstream_flags_enum CUstream_flags;
#undef CU_EVENT_DEFAULT
#undef CU_EVENT_BLOCKING_SYNC
#undef CU_EVENT_DISABLE_TIMING
#undef CU_EVENT_INTERPROCESS
enum CUevent_flags_enum {
    CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4,
};
typedef enum CUevent_flags_enum CUevent_flags;
#undef CU_EVENT_RECORD_DEFAULT
#undef CU_EVENT_RECORD_EXTERNAL
enum CUevent_record_flags_enum {
    CU_EVENT_RECORD_DEFAULT = 0, CU_EVENT_RECORD_EXTERNAL = 1,
};
typedef enum CUevent_record_flags_enum CUevent_record_flags;
enum CUevent_wait_flags_enum {
    CU_EVENT_WAIT_DEFAULT = 0, CU_EVENT_WAIT_EXTERNAL = 1,
};
typedef enum CUevent_wait_flags_enum CUevent_wait_flags;
#undef CU_STREAM_WAIT_VALUE_GEQ
#undef CU_STREAM_WAIT_VALUE_EQ
#undef CU_STREAM_WAIT_VALUE_AND
#undef CU_STREAM_WAIT_VALUE_NOR
enum CUstreamWaitValue_flags_enum {
    CU_STREAM_WAIT_VALUE_GEQ = 0, CU_STREAM_WAIT_VALUE_EQ = 1, CU_STREAM_WAIT_VALUE_AND = 2, CU_STREAM_WAIT_VALUE_NOR = 3,
    CU_STREAM_WAIT_VALUE_FLUSH = 1073741824,
};
typedef enum CUstreamWaitValue_flags_enum CUstreamWaitValue_flags;
enum CUstreamWriteValue_flags_enum {
    CU_STREAM_WRITE_VALUE_DEFAULT = 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1,
};
typedef enum CUstreamWriteValue_flags_enum CUstreamWriteValue_flags;
enum CUstreamMemoryBarrier_flags_enum {
    CU_STREAM_MEMORY_BARRIER_TYPE_SYS = 0, CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 1,
};
typedef enum CUstreamMemoryBarrier_flags_enum CUstreamMemoryBarrier_flags;
#undef CU_OCCUPANCY_DEFAULT
#undef CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE
enum CUoccupancy_flags_enum {
    CU_OCCUPANCY_DEFAULT = 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE = 1,
};
typedef enum CUoccupancy_flags_enum CUoccupancy_flags;
enum CUasyncNotificationType_enum {
    CU_ASYNC_NOTIFICATION_TYPE_OVER_BUDGET = 1,
};
typedef enum CUasyncNotificationType_enum CUasyncNotificationType;
struct CUasyncNotificationInfo_st {
    CUasyncNotificationType type;
    union {
        struct {
            unsigned long long bytesOverBudget;
        } overBudget;
    } info;
};
typedef struct CUasyncNotificationInfo_st CUasyncNotificationInfo;
typedef void (*CUasyncCallback)(CUasyncNotificationInfo *, void *, CUasyncCallbackHandle);
struct CUdevprop_st {
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int sharedMemPerBlock;
    int totalConstantMemory;
    int SIMDWidth;
    int memPitch;
    int regsPerBlock;
    int clockRate;
    int textureAlign;
};
typedef struct CUdevprop_st CUdevprop_v1;
typedef CUdevprop_v1 CUdevprop;
enum CUshared_carveout_enum {
    CU_SHAREDMEM_CARVEOUT_DEFAULT = -1, CU_SHAREDMEM_CARVEOUT_MAX_SHARED = 100, CU_SHAREDMEM_CARVEOUT_MAX_L1 = 0,
};
typedef enum CUshared_carveout_enum CUshared_carveout;
enum CUjit_target_enum {
    CU_TARGET_COMPUTE_30 = 30, CU_TARGET_COMPUTE_32 = 32, CU_TARGET_COMPUTE_35 = 35, CU_TARGET_COMPUTE_37 = 37, CU_TARGET_COMPUTE_50 = 50,
    CU_TARGET_COMPUTE_52 = 52, CU_TARGET_COMPUTE_53 = 53, CU_TARGET_COMPUTE_60 = 60, CU_TARGET_COMPUTE_61 = 61, CU_TARGET_COMPUTE_62 = 62,
    CU_TARGET_COMPUTE_70 = 70, CU_TARGET_COMPUTE_72 = 72, CU_TARGET_COMPUTE_75 = 75, CU_TARGET_COMPUTE_80 = 80, CU_TARGET_COMPUTE_86 = 86,
    CU_TARGET_COMPUTE_87 = 87, CU_TARGET_COMPUTE_89 = 89, CU_TARGET_COMPUTE_90 = 90, CU_TARGET_COMPUTE_100 = 100,
    CU_TARGET_COMPUTE_101 = 101, CU_TARGET_COMPUTE_120 = 120, CU_TARGET_COMPUTE_90A = 65626, CU_TARGET_COMPUTE_100A = 65636,
    CU_TARGET_COMPUTE_101A = 65637, CU_TARGET_COMPUTE_120A = 65656, CU_TARGET_COMPUTE_110 = 110, CU_TARGET_COMPUTE_103 = 103,
    CU_TARGET_COMPUTE_121 = 121, CU_TARGET_COMPUTE_110A = 65646, CU_TARGET_COMPUTE_103A = 65639, CU_TARGET_COMPUTE_121A = 65657,
    CU_TARGET_COMPUTE_100F = 131172, CU_TARGET_COMPUTE_110F = 131182, CU_TARGET_COMPUTE_103F = 131175, CU_TARGET_COMPUTE_120F = 131192,
    CU_TARGET_COMPUTE_121F = 131193,
};
typedef enum CUjit_target_enum CUjit_target;
enum CUjit_fallback_enum {
    CU_PREFER_PTX = 0, CU_PREFER_BINARY = 1,
};
typedef enum CUjit_fallback_enum CUjit_fallback;
enum CUjit_cacheMode_enum {
    CU_JIT_CACHE_OPTION_NONE = 0, CU_JIT_CACHE_OPTION_CG = 1, CU_JIT_CACHE_OPTION_CA = 2,
};
typedef enum CUjit_cacheMode_enum CUjit_cacheMode;
struct CUlinkState_st;
typedef struct CUlinkState_st *CUlinkState;
enum CUgraphicsMapResourceFlags_enum {
    CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE = 0, CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY = 1, CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2,
};
typedef enum CUgraphicsMapResourceFlags_enum CUgraphicsMapResourceFlags;
enum CUarray_cubemap_face_enum {
    CU_CUBEMAP_FACE_POSITIVE_X = 0, CU_CUBEMAP_FACE_NEGATIVE_X = 1, CU_CUBEMAP_FACE_POSITIVE_Y = 2, CU_CUBEMAP_FACE_NEGATIVE_Y = 3,
    CU_CUBEMAP_FACE_POSITIVE_Z = 4, CU_CUBEMAP_FACE_NEGATIVE_Z = 5,
};
typedef enum CUarray_cubemap_face_enum CUarray_cubemap_face;
typedef struct CUaccessPolicyWindow_st CUaccessPolicyWindow_v1;
struct CUDA_KERNEL_NODE_PARAMS_v2_st {
    CUfunction func;
    unsigned int gridDimX;
    unsigned int gridDimY;
    unsigned int gridDimZ;
    unsigned int blockDimX;
    unsigned int blockDimY;
    unsigned int blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
};
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st CUDA_KERNEL_NODE_PARAMS_v2;
struct CUDA_KERNEL_NODE_PARAMS_v3_st {
    CUfunction func;
    unsigned int gridDimX;
    unsigned int gridDimY;
    unsigned int gridDimZ;
    unsigned int blockDimX;
    unsigned int blockDimY;
    unsigned int blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
};
typedef struct CUDA_KERNEL_NODE_PARAMS_v3_st CUDA_KERNEL_NODE_PARAMS_v3;
struct CUDA_MEMSET_NODE_PARAMS_v2_st {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
    CUcontext ctx;
};
typedef struct CUDA_MEMSET_NODE_PARAMS_v2_st CUDA_MEMSET_NODE_PARAMS_v2;
struct CUDA_HOST_NODE_PARAMS_v2_st {
    CUhostFn fn;
    void *userData;
};
typedef struct CUDA_HOST_NODE_PARAMS_v2_st CUDA_HOST_NODE_PARAMS_v2;
enum CUgraphConditionalNodeType_enum {
    CU_GRAPH_COND_TYPE_IF = 0, CU_GRAPH_COND_TYPE_WHILE = 1, CU_GRAPH_COND_TYPE_SWITCH = 2,
};
typedef enum CUgraphConditionalNodeType_enum CUgraphConditionalNodeType;
typedef struct CUDA_CONDITIONAL_NODE_PARAMS {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned int size;
    CUgraph *phGraph_out;
    CUcontext ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;
enum CUclusterSchedulingPolicy_enum {
    CU_CLUSTER_SCHEDULING_POLICY_DEFAULT = 0, CU_CLUSTER_SCHEDULING_POLICY_SPREAD = 1, CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING = 2,
};
typedef enum CUclusterSchedulingPolicy_enum CUclusterSchedulingPolicy;
#undef CU_GET_PROC_ADDRESS_DEFAULT
#undef CU_GET_PROC_ADDRESS_LEGACY_STREAM
#undef CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
enum CUdriverProcAddress_flags_enum {
    CU_GET_PROC_ADDRESS_DEFAULT = 0, CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};
typedef enum CUdriverProcAddress_flags_enum CUdriverProcAddress_flags;
enum CUexecAffinityType_enum {
    CU_EXEC_AFFINITY_TYPE_SM_COUNT = 0, CU_EXEC_AFFINITY_TYPE_MAX = 1,
};
typedef enum CUexecAffinityType_enum CUexecAffinityType;
struct CUexecAffinitySmCount_st {
    unsigned int val;
};
typedef struct CUexecAffinitySmCount_st CUexecAffinitySmCount_v1;
typedef CUexecAffinitySmCount_v1 CUexecAffinitySmCount;
struct CUexecAffinityParam_st {
    CUexecAffinityType type;
    union {
        CUexecAffinitySmCount smCount;
    } param;
};
typedef struct CUexecAffinityParam_st CUexecAffinityParam_v1;
typedef CUexecAffinityParam_v1 CUexecAffinityParam;
enum CUcigDataType_enum {
    CIG_DATA_TYPE_D3D12_COMMAND_QUEUE = 1, CIG_DATA_TYPE_NV_BLOB = 2,
};
typedef enum CUcigDataType_enum CUcigDataType;
struct CUctxCigParam_st {
    CUcigDataType sharedDataType;
    void *sharedData;
};
typedef struct CUctxCigParam_st CUctxCigParam;
struct CUctxCreateParams_st {
    CUexecAffinityParam *execAffinityParams;
    int numExecAffinityParams;
    CUctxCigParam *cigParams;
};
typedef struct CUctxCreateParams_st CUctxCreateParams;
struct CUlibraryHostUniversalFunctionAndDataTable_st {
    void *functionTable;
    size_t functionWindowSize;
    void *dataTable;
    size_t dataWindowSize;
};
typedef struct CUlibraryHostUniversalFunctionAndDataTable_st CUlibraryHostUniversalFunctionAndDataTable;
enum CUatomicOperation_enum {
    CU_ATOMIC_OPERATION_INTEGER_ADD = 0, CU_ATOMIC_OPERATION_INTEGER_MIN = 1, CU_ATOMIC_OPERATION_INTEGER_MAX = 2,
    CU_ATOMIC_OPERATION_INTEGER_INCREMENT = 3, CU_ATOMIC_OPERATION_INTEGER_DECREMENT = 4, CU_ATOMIC_OPERATION_AND = 5,
    CU_ATOMIC_OPERATION_OR = 6, CU_ATOMIC_OPERATION_XOR = 7, CU_ATOMIC_OPERATION_EXCHANGE = 8, CU_ATOMIC_OPERATION_CAS = 9,
    CU_ATOMIC_OPERATION_FLOAT_ADD = 10, CU_ATOMIC_OPERATION_FLOAT_MIN = 11, CU_ATOMIC_OPERATION_FLOAT_MAX = 12,
    CU_ATOMIC_OPERATION_MAX = 13,
};
typedef enum CUatomicOperation_enum CUatomicOperation;
enum CUatomicOperationCapability_enum {
    CU_ATOMIC_CAPABILITY_SIGNED = 1, CU_ATOMIC_CAPABILITY_UNSIGNED = 2, CU_ATOMIC_CAPABILITY_REDUCTION = 4,
    CU_ATOMIC_CAPABILITY_SCALAR_32 = 8, CU_ATOMIC_CAPABILITY_SCALAR_64 = 16, CU_ATOMIC_CAPABILITY_SCALAR_128 = 32,
    CU_ATOMIC_CAPABILITY_VECTOR_32x4 = 64,
};
typedef enum CUatomicOperationCapability_enum CUatomicOperationCapability;
typedef size_t (*CUoccupancyB2DSize)(int);
struct CUDA_MEMCPY3D_PEER_st {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
};
typedef struct CUDA_MEMCPY3D_PEER_st CUDA_MEMCPY3D_PEER_v1;
typedef CUDA_MEMCPY3D_PEER_v1 CUDA_MEMCPY3D_PEER;
struct CUDA_ARRAY_SPARSE_PROPERTIES_st {
    struct {
        unsigned int width;
        unsigned int height;
        unsigned int depth;
    } tileExtent;
    unsigned int miptailFirstLevel;
    unsigned long long miptailSize;
    unsigned int flags;
    unsigned int reserved[4];
};
typedef struct CUDA_ARRAY_SPARSE_PROPERTIES_st CUDA_ARRAY_SPARSE_PROPERTIES_v1;
typedef CUDA_ARRAY_SPARSE_PROPERTIES_v1 CUDA_ARRAY_SPARSE_PROPERTIES;
struct CUDA_ARRAY_MEMORY_REQUIREMENTS_st {
    size_t size;
    size_t alignment;
    unsigned int reserved[4];
};
typedef struct CUDA_ARRAY_MEMORY_REQUIREMENTS_st CUDA_ARRAY_MEMORY_REQUIREMENTS_v1;
typedef CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 CUDA_ARRAY_MEMORY_REQUIREMENTS;
struct __attribute__((aligned(64))) CUtensorMap_st {
    cuuint64_t opaque[16];
};
typedef struct CUtensorMap_st CUtensorMap;
enum CUtensorMapDataType_enum {
    CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0, CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1, CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
    CU_TENSOR_MAP_DATA_TYPE_INT32 = 3, CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4, CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6, CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7, CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ = 10, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ = 12, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B = 13, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B = 14,
    CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B = 15,
};
typedef enum CUtensorMapDataType_enum CUtensorMapDataType;
enum CUtensorMapInterleave_enum {
    CU_TENSOR_MAP_INTERLEAVE_NONE = 0, CU_TENSOR_MAP_INTERLEAVE_16B = 1, CU_TENSOR_MAP_INTERLEAVE_32B = 2,
};
typedef enum CUtensorMapInterleave_enum CUtensorMapInterleave;
enum CUtensorMapSwizzle_enum {
    CU_TENSOR_MAP_SWIZZLE_NONE = 0, CU_TENSOR_MAP_SWIZZLE_32B = 1, CU_TENSOR_MAP_SWIZZLE_64B = 2, CU_TENSOR_MAP_SWIZZLE_128B = 3,
    CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B = 4, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B = 5, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B = 6,
};
typedef enum CUtensorMapSwizzle_enum CUtensorMapSwizzle;
enum CUtensorMapL2promotion_enum {
    CU_TENSOR_MAP_L2_PROMOTION_NONE = 0, CU_TENSOR_MAP_L2_PROMOTION_L2_64B = 1, CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
};
typedef enum CUtensorMapL2promotion_enum CUtensorMapL2promotion;
enum CUtensorMapFloatOOBfill_enum {
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1,
};
typedef enum CUtensorMapFloatOOBfill_enum CUtensorMapFloatOOBfill;
enum CUtensorMapIm2ColWideMode_enum {
    CU_TENSOR_MAP_IM2COL_WIDE_MODE_W = 0, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 = 1,
};
typedef enum CUtensorMapIm2ColWideMode_enum CUtensorMapIm2ColWideMode;
struct CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_st {
    unsigned long long p2pToken;
    unsigned int vaSpaceToken;
};
typedef struct CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_st CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_v1;
typedef CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_v1 CUDA_POINTER_ATTRIBUTE_P2P_TOKENS;
enum CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS_enum {
    CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE = 0, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ = 1, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE = 3,
};
typedef enum CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS_enum CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS;
struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st {
    unsigned long long offset;
    CUDA_ARRAY3D_DESCRIPTOR arrayDesc;
    unsigned int numLevels;
    unsigned int reserved[16];
};
typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_v1;
typedef CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_v1 CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
#undef CU_MEM_ALLOCATION_COMP_NONE
#undef CU_MEM_ALLOCATION_COMP_GENERIC
enum CUmemAllocationCompType_enum {
    CU_MEM_ALLOCATION_COMP_NONE = 0, CU_MEM_ALLOCATION_COMP_GENERIC = 1,
};
typedef enum CUmemAllocationCompType_enum CUmemAllocationCompType;
enum CUmulticastGranularity_flags_enum {
    CU_MULTICAST_GRANULARITY_MINIMUM = 0, CU_MULTICAST_GRANULARITY_RECOMMENDED = 1,
};
typedef enum CUmulticastGranularity_flags_enum CUmulticastGranularity_flags;
struct CUmulticastObjectProp_st {
    unsigned int numDevices;
    size_t size;
    unsigned long long handleTypes;
    unsigned long long flags;
};
typedef struct CUmulticastObjectProp_st CUmulticastObjectProp_v1;
typedef CUmulticastObjectProp_v1 CUmulticastObjectProp;
struct CUgraphExecUpdateResultInfo_st {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode;
    CUgraphNode errorFromNode;
};
typedef struct CUgraphExecUpdateResultInfo_st CUgraphExecUpdateResultInfo_v1;
typedef CUgraphExecUpdateResultInfo_v1 CUgraphExecUpdateResultInfo;
enum CUmemcpyFlags_enum {
    CU_MEMCPY_FLAG_DEFAULT = 0, CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1,
};
typedef enum CUmemcpyFlags_enum CUmemcpyFlags;
enum CUmemcpy3DOperandType_enum {
    CU_MEMCPY_OPERAND_TYPE_POINTER = 1, CU_MEMCPY_OPERAND_TYPE_ARRAY = 2, CU_MEMCPY_OPERAND_TYPE_MAX = 2147483647,
};
typedef enum CUmemcpy3DOperandType_enum CUmemcpy3DOperandType;
struct CUextent3D_st {
    size_t width;
    size_t height;
    size_t depth;
};
typedef struct CUextent3D_st CUextent3D_v1;
typedef CUextent3D_v1 CUextent3D;
struct CUDA_MEM_ALLOC_NODE_PARAMS_v2_st {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    CUdeviceptr dptr;
};
typedef struct CUDA_MEM_ALLOC_NODE_PARAMS_v2_st CUDA_MEM_ALLOC_NODE_PARAMS_v2;
enum CUgraphChildGraphNodeOwnership_enum {
    CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE = 0, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE = 1,
};
typedef enum CUgraphChildGraphNodeOwnership_enum CUgraphChildGraphNodeOwnership;
enum CUflushGPUDirectRDMAWritesScope_enum {
    CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER = 100, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES = 200,
};
typedef enum CUflushGPUDirectRDMAWritesScope_enum CUflushGPUDirectRDMAWritesScope;
enum CUflushGPUDirectRDMAWritesTarget_enum {
    CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX = 0,
};
typedef enum CUflushGPUDirectRDMAWritesTarget_enum CUflushGPUDirectRDMAWritesTarget;
enum CUdeviceNumaConfig_enum {
    CU_DEVICE_NUMA_CONFIG_NONE = 0, CU_DEVICE_NUMA_CONFIG_NUMA_NODE = 1,
};
typedef enum CUdeviceNumaConfig_enum CUdeviceNumaConfig;
enum CUprocessState_enum {
    CU_PROCESS_STATE_RUNNING = 0, CU_PROCESS_STATE_LOCKED = 1, CU_PROCESS_STATE_CHECKPOINTED = 2, CU_PROCESS_STATE_FAILED = 3,
};
typedef enum CUprocessState_enum CUprocessState;
struct CUcheckpointLockArgs_st {
    unsigned int timeoutMs;
    unsigned int reserved0;
    cuuint64_t reserved1[7];
};
typedef struct CUcheckpointLockArgs_st CUcheckpointLockArgs;
struct CUcheckpointCheckpointArgs_st {
    cuuint64_t reserved[8];
};
typedef struct CUcheckpointCheckpointArgs_st CUcheckpointCheckpointArgs;
struct CUcheckpointGpuPair_st {
    CUuuid oldUuid;
    CUuuid newUuid;
};
typedef struct CUcheckpointGpuPair_st CUcheckpointGpuPair;
struct CUcheckpointRestoreArgs_st {
    CUcheckpointGpuPair *gpuPairs;
    unsigned int gpuPairsCount;
    char reserved[44];
    cuuint64_t reserved1;
};
typedef struct CUcheckpointRestoreArgs_st CUcheckpointRestoreArgs;
struct CUcheckpointUnlockArgs_st {
    cuuint64_t reserved[8];
};
typedef struct CUcheckpointUnlockArgs_st CUcheckpointUnlockArgs;
enum CUmoduleLoadingMode_enum {
    CU_MODULE_EAGER_LOADING = 1, CU_MODULE_LAZY_LOADING = 2,
};
typedef enum CUmoduleLoadingMode_enum CUmoduleLoadingMode;
enum CUmemDecompressAlgorithm_enum {
    CU_MEM_DECOMPRESS_UNSUPPORTED = 0, CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE = 1, CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY = 2,
    CU_MEM_DECOMPRESS_ALGORITHM_LZ4 = 4,
};
typedef enum CUmemDecompressAlgorithm_enum CUmemDecompressAlgorithm;
struct CUmemDecompressParams_st {
    size_t srcNumBytes;
    size_t dstNumBytes;
    cuuint32_t *dstActBytes;
    const void *src;
    void *dst;
    CUmemDecompressAlgorithm algo;
    unsigned char padding[20];
};
typedef struct CUmemDecompressParams_st CUmemDecompressParams;
enum CUfunctionLoadingState_enum {
    CU_FUNCTION_LOADING_STATE_UNLOADED = 0, CU_FUNCTION_LOADING_STATE_LOADED = 1, CU_FUNCTION_LOADING_STATE_MAX = 2,
};
typedef enum CUfunctionLoadingState_enum CUfunctionLoadingState;
enum CUcoredumpSettings_enum {
    CU_COREDUMP_ENABLE_ON_EXCEPTION = 1, CU_COREDUMP_TRIGGER_HOST = 2, CU_COREDUMP_LIGHTWEIGHT = 3, CU_COREDUMP_ENABLE_USER_TRIGGER = 4,
    CU_COREDUMP_FILE = 5, CU_COREDUMP_PIPE = 6, CU_COREDUMP_GENERATION_FLAGS = 7, CU_COREDUMP_MAX = 8,
};
typedef enum CUcoredumpSettings_enum CUcoredumpSettings;
typedef enum CUCoredumpGenerationFlags {
    CU_COREDUMP_DEFAULT_FLAGS = 0, CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES = 1, CU_COREDUMP_SKIP_GLOBAL_MEMORY = 2,
    CU_COREDUMP_SKIP_SHARED_MEMORY = 4, CU_COREDUMP_SKIP_LOCAL_MEMORY = 8, CU_COREDUMP_SKIP_ABORT = 16,
    CU_COREDUMP_SKIP_CONSTBANK_MEMORY = 32, CU_COREDUMP_LIGHTWEIGHT_FLAGS = 47,
} CUCoredumpGenerationFlags;
struct CUdevResourceDesc_st;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
typedef enum {
    CU_GREEN_CTX_DEFAULT_STREAM = 1,
} CUgreenCtxCreate_flags;
typedef enum {
    CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE = 2,
} CUdevSmResourceSplit_flags;
typedef enum {
    CU_DEV_RESOURCE_TYPE_INVALID = 0, CU_DEV_RESOURCE_TYPE_SM = 1,
} CUdevResourceType;
struct CUdevSmResource_st {
    unsigned int smCount;
    unsigned int minSmPartitionSize;
    unsigned int smCoscheduledAlignment;
};
typedef struct CUdevSmResource_st CUdevSmResource;
struct CUdevResource_st {
    CUdevResourceType type;
    unsigned char _internal_padding[92];
    union {
        CUdevSmResource sm;
        unsigned char _oversize[48];
    };
};
typedef struct CUdevResource_st CUdevResource_v1;
typedef CUdevResource_v1 CUdevResource;
enum CUlogLevel_enum {
    CU_LOG_LEVEL_ERROR = 0, CU_LOG_LEVEL_WARNING = 1,
};
typedef enum CUlogLevel_enum CUlogLevel;
typedef struct CUlogsCallbackEntry_st *CUlogsCallbackHandle;
typedef void (*CUlogsCallback)(void *, CUlogLevel, char *, size_t);
typedef unsigned int CUlogIterator;
enum CUoutput_mode_enum {
    CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1,
};
typedef enum CUoutput_mode_enum CUoutput_mode;
