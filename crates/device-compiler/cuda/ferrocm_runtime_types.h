// Types and values of CUDA's runtime API that HIP lacks, with CUDA's layout and numbers, in C and C++. Only functions that are not supported
// take most of them.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"
#define cudaArrayColorAttachment 0x20
#define cudaArrayDeferredMapping 0x80
#define cudaArraySparse 0x40
#define cudaArraySparsePropertiesSingleMipTail 0x1
#define cudaDeviceMask 0xff
#define cudaDeviceSyncMemops 0x80
#define cudaEventWaitDefault 0x0
#define cudaEventWaitExternal 0x1
#define cudaExternalSemaphoreSignalSkipNvSciBufMemSync 0x1
#define cudaExternalSemaphoreWaitSkipNvSciBufMemSync 0x2
#define cudaMemPoolCreateUsageHwDecompress 0x2
#define cudaNvSciSyncAttrSignal 0x1
#define cudaNvSciSyncAttrWait 0x2
#define cudaPeerAccessDefault 0x0
#define cudaStreamFireAndForget ((cudaStream_t)0x4)
#define cudaStreamGraphFireAndForget ((cudaStream_t)0x0200000000000000)
#define cudaStreamGraphFireAndForgetAsSibling ((cudaStream_t)0x0300000000000000)
#define cudaStreamGraphTailLaunch ((cudaStream_t)0x0100000000000000)
#define cudaStreamTailLaunch ((cudaStream_t)0x3)
#define cudaSurfaceType1D 0x1
#define cudaSurfaceType1DLayered 0xf1
#define cudaSurfaceType2D 0x2
#define cudaSurfaceType2DLayered 0xf2
#define cudaSurfaceType3D 0x3
#define cudaSurfaceTypeCubemap 0xc
#define cudaSurfaceTypeCubemapLayered 0xfc
#include "ferrocm_round_mode.h"
typedef struct cudaArraySparseProperties {
    struct {
        unsigned int width;
        unsigned int height;
        unsigned int depth;
    } tileExtent;
    unsigned int miptailFirstLevel;
    unsigned long long miptailSize;
    unsigned int flags;
    unsigned int reserved[4];
} cudaArraySparseProperties;
typedef struct cudaArrayMemoryRequirements {
    size_t size;
    size_t alignment;
    unsigned int reserved[4];
} cudaArrayMemoryRequirements;
typedef struct cudaMemsetParamsV2 {
    void *dst;
    size_t pitch;
    unsigned int value;
    unsigned int elementSize;
    size_t width;
    size_t height;
} cudaMemsetParamsV2;
typedef struct cudaHostNodeParamsV2 {
    cudaHostFn_t fn;
    void *userData;
} cudaHostNodeParamsV2;
typedef enum cudaGraphicsMapFlags {
    cudaGraphicsMapFlagsNone = 0, cudaGraphicsMapFlagsReadOnly = 1, cudaGraphicsMapFlagsWriteDiscard = 2,
} cudaGraphicsMapFlags;
typedef enum cudaGraphicsCubeFace {
    cudaGraphicsCubeFacePositiveX = 0, cudaGraphicsCubeFaceNegativeX = 1, cudaGraphicsCubeFacePositiveY = 2,
    cudaGraphicsCubeFaceNegativeY = 3, cudaGraphicsCubeFacePositiveZ = 4, cudaGraphicsCubeFaceNegativeZ = 5,
} cudaGraphicsCubeFace;
typedef enum cudaFlushGPUDirectRDMAWritesScope {
    cudaFlushGPUDirectRDMAWritesToOwner = 100, cudaFlushGPUDirectRDMAWritesToAllDevices = 200,
} cudaFlushGPUDirectRDMAWritesScope;
typedef enum cudaFlushGPUDirectRDMAWritesTarget {
    cudaFlushGPUDirectRDMAWritesTargetCurrentDevice = 0,
} cudaFlushGPUDirectRDMAWritesTarget;
typedef struct cudaMemAllocNodeParamsV2 {
    struct cudaMemPoolProps poolProps;
    const struct cudaMemAccessDesc *accessDescs;
    size_t accessDescCount;
    size_t bytesize;
    void *dptr;
} cudaMemAllocNodeParamsV2;
typedef enum cudaAtomicOperation {
    cudaAtomicOperationIntegerAdd = 0, cudaAtomicOperationIntegerMin = 1, cudaAtomicOperationIntegerMax = 2,
    cudaAtomicOperationIntegerIncrement = 3, cudaAtomicOperationIntegerDecrement = 4, cudaAtomicOperationAnd = 5, cudaAtomicOperationOr = 6,
    cudaAtomicOperationXOR = 7, cudaAtomicOperationExchange = 8, cudaAtomicOperationCAS = 9, cudaAtomicOperationFloatAdd = 10,
    cudaAtomicOperationFloatMin = 11, cudaAtomicOperationFloatMax = 12,
} cudaAtomicOperation;
typedef enum cudaAtomicOperationCapability {
    cudaAtomicCapabilitySigned = 1, cudaAtomicCapabilityUnsigned = 2, cudaAtomicCapabilityReduction = 4, cudaAtomicCapabilityScalar32 = 8,
    cudaAtomicCapabilityScalar64 = 16, cudaAtomicCapabilityScalar128 = 32, cudaAtomicCapabilityVector32x4 = 64,
} cudaAtomicOperationCapability;
typedef struct cudaMemFabricHandle_st {
    char reserved[64];
} cudaMemFabricHandle_st;
typedef struct cudaMemFabricHandle_st cudaMemFabricHandle_t;
typedef struct cudaExternalMemoryMipmappedArrayDesc {
    unsigned long long offset;
    struct cudaChannelFormatDesc formatDesc;
    struct cudaExtent extent;
    unsigned int flags;
    unsigned int numLevels;
    unsigned int reserved[16];
} cudaExternalMemoryMipmappedArrayDesc;
struct CUexternalMemory_st;
struct CUexternalSemaphore_st;
typedef unsigned long long cudaGraphConditionalHandle;
typedef struct cudalibraryHostUniversalFunctionAndDataTable {
    void *functionTable;
    size_t functionWindowSize;
    void *dataTable;
    size_t dataWindowSize;
} cudalibraryHostUniversalFunctionAndDataTable;
typedef enum cudaJit_CacheMode {
    cudaJitCacheOptionNone = 0, cudaJitCacheOptionCG = 1, cudaJitCacheOptionCA = 2,
} cudaJit_CacheMode;
typedef enum cudaJit_Fallback {
    cudaPreferPtx = 0, cudaPreferBinary = 1,
} cudaJit_Fallback;
typedef enum cudaCGScope {
    cudaCGScopeInvalid = 0, cudaCGScopeGrid = 1, cudaCGScopeMultiGrid = 2, cudaCGScopeReserved = 2,
} cudaCGScope;
typedef struct cudaKernelNodeParamsV2 {
    void *func;
    dim3 gridDim;
    dim3 blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
} cudaKernelNodeParamsV2;
typedef enum cudaGraphConditionalHandleFlags {
    cudaGraphCondAssignDefault = 1,
} cudaGraphConditionalHandleFlags;
typedef enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf = 0, cudaGraphCondTypeWhile = 1, cudaGraphCondTypeSwitch = 2,
} cudaGraphConditionalNodeType;
typedef struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned int size;
    cudaGraph_t *phGraph_out;
} cudaConditionalNodeParams;
typedef enum cudaGraphChildGraphNodeOwnership {
    cudaGraphChildGraphOwnershipClone = 0, cudaGraphChildGraphOwnershipMove = 1,
} cudaGraphChildGraphNodeOwnership;
struct CUgraphDeviceUpdatableNode_st;
typedef struct CUgraphDeviceUpdatableNode_st *cudaGraphDeviceNode_t;
typedef enum cudaGraphKernelNodeField {
    cudaGraphKernelNodeFieldInvalid = 0, cudaGraphKernelNodeFieldGridDim = 1, cudaGraphKernelNodeFieldParam = 2,
    cudaGraphKernelNodeFieldEnabled = 3,
} cudaGraphKernelNodeField;
typedef struct cudaGraphKernelNodeUpdate {
    cudaGraphDeviceNode_t node;
    enum cudaGraphKernelNodeField field;
    union {
        dim3 gridDim;
        struct {
            const void *pValue;
            size_t offset;
            size_t size;
        } param;
        unsigned int isEnabled;
    } updateData;
} cudaGraphKernelNodeUpdate;
#undef cudaEnableDefault
#undef cudaEnableLegacyStream
#undef cudaEnablePerThreadDefaultStream
typedef enum cudaGetDriverEntryPointFlags {
    cudaEnableDefault = 0, cudaEnableLegacyStream = 1, cudaEnablePerThreadDefaultStream = 2,
} cudaGetDriverEntryPointFlags;
typedef enum cudaDeviceNumaConfig {
    cudaDeviceNumaConfigNone = 0, cudaDeviceNumaConfigNumaNode = 1,
} cudaDeviceNumaConfig;
struct cudaAsyncCallbackEntry;
typedef struct cudaAsyncCallbackEntry *cudaAsyncCallbackHandle_t;
enum cudaAsyncNotificationType_enum {
    cudaAsyncNotificationTypeOverBudget = 1,
};
typedef enum cudaAsyncNotificationType_enum cudaAsyncNotificationType;
typedef struct cudaAsyncNotificationInfo {
    cudaAsyncNotificationType type;
    union {
        struct {
            unsigned long long bytesOverBudget;
        } overBudget;
    } info;
} cudaAsyncNotificationInfo;
typedef struct cudaAsyncNotificationInfo cudaAsyncNotificationInfo_t;
typedef void (*cudaAsyncCallback)(cudaAsyncNotificationInfo_t *, void *, cudaAsyncCallbackHandle_t);
enum CUDAlogLevel_enum {
    cudaLogLevelError = 0, cudaLogLevelWarning = 1,
};
typedef enum CUDAlogLevel_enum cudaLogLevel;
struct CUlogsCallbackEntry_st;
typedef struct CUlogsCallbackEntry_st *cudaLogsCallbackHandle;
typedef unsigned int cudaLogIterator;
typedef enum cudaSurfaceFormatMode {
    cudaFormatModeForced = 0, cudaFormatModeAuto = 1,
} cudaSurfaceFormatMode;
typedef enum cudaEmulationStrategy_t {
    CUDA_EMULATION_STRATEGY_DEFAULT = 0, CUDA_EMULATION_STRATEGY_PERFORMANT = 1, CUDA_EMULATION_STRATEGY_EAGER = 2,
} cudaEmulationStrategy_t;
typedef enum cudaEmulationStrategy_t cudaEmulationStrategy;
typedef enum cudaEmulationMantissaControl_t {
    CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC = 0, CUDA_EMULATION_MANTISSA_CONTROL_FIXED = 1,
} cudaEmulationMantissaControl_t;
typedef enum cudaEmulationMantissaControl_t cudaEmulationMantissaControl;
typedef enum cudaEmulationSpecialValuesSupport_t {
    CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT = 65535, CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_NONE = 0,
    CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_INFINITY = 1, CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_NAN = 2,
} cudaEmulationSpecialValuesSupport_t;
typedef enum cudaEmulationSpecialValuesSupport_t cudaEmulationSpecialValuesSupport;
typedef void (*cudaLogsCallback_t)(void *, cudaLogLevel, char *, size_t);
// Channels of more formats. HIP's enum has no room for them, so they are constants of its type in C++.
#if defined(__cplusplus)
#define __CUDA_KIND(NAME, NUMBER) static constexpr hipChannelFormatKind NAME = __builtin_bit_cast(hipChannelFormatKind, NUMBER);
#else
#define __CUDA_KIND(NAME, NUMBER) enum { NAME = NUMBER };
#endif
__CUDA_KIND(cudaChannelFormatKindNV12, 4)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized8X1, 5)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized8X2, 6)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized8X4, 7)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized16X1, 8)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized16X2, 9)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized16X4, 10)
__CUDA_KIND(cudaChannelFormatKindSignedNormalized8X1, 11)
__CUDA_KIND(cudaChannelFormatKindSignedNormalized8X2, 12)
__CUDA_KIND(cudaChannelFormatKindSignedNormalized8X4, 13)
__CUDA_KIND(cudaChannelFormatKindSignedNormalized16X1, 14)
__CUDA_KIND(cudaChannelFormatKindSignedNormalized16X2, 15)
__CUDA_KIND(cudaChannelFormatKindSignedNormalized16X4, 16)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed1, 17)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed1SRGB, 18)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed2, 19)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed2SRGB, 20)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed3, 21)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed3SRGB, 22)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed4, 23)
__CUDA_KIND(cudaChannelFormatKindSignedBlockCompressed4, 24)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed5, 25)
__CUDA_KIND(cudaChannelFormatKindSignedBlockCompressed5, 26)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed6H, 27)
__CUDA_KIND(cudaChannelFormatKindSignedBlockCompressed6H, 28)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed7, 29)
__CUDA_KIND(cudaChannelFormatKindUnsignedBlockCompressed7SRGB, 30)
__CUDA_KIND(cudaChannelFormatKindUnsignedNormalized1010102, 31)
#undef __CUDA_KIND
