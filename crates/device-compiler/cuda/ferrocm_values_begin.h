// Values that CUDA's enums have and HIP's lack, as values of HIP's enums: a program may use them wherever it uses the others. Each
// definition puts them before the last name, which HIP's header then defines. Numbers are CUDA's, or CUDA's and 0x4000 where HIP has
// given CUDA's to something else; attributes of devices have CUDA's and 0x6000. HIP's functions refuse them. Included before HIP's
// <hip_runtime_api.h>, and ferrocm_values_end.h after it.
#define __CUDA_OWN_ATTRIBUTES 0x6000
// hipError_t
#define hipErrorTbd \
    cudaErrorInvalidHostPointer = 16, cudaErrorInvalidTextureBinding = 19, cudaErrorAddressOfConstant = 22, cudaErrorTextureFetchFailed = 23, \
    cudaErrorTextureNotBound = 24, cudaErrorSynchronizationError = 25, cudaErrorInvalidFilterSetting = 26, cudaErrorInvalidNormSetting = 27, \
    cudaErrorMixedDeviceExecution = 28, cudaErrorNotYetImplemented = 31, cudaErrorMemoryValueTooLarge = 32, cudaErrorStubLibrary = 34, \
    cudaErrorCallRequiresNewerDriver = 36, cudaErrorInvalidSurface = 37, cudaErrorDuplicateVariableName = 43, \
    cudaErrorDuplicateTextureName = 44, cudaErrorDuplicateSurfaceName = 45, cudaErrorDevicesUnavailable = 46, \
    cudaErrorIncompatibleDriverContext = 49, cudaErrorLaunchMaxDepthExceeded = 65, cudaErrorLaunchFileScopedTex = 66, \
    cudaErrorLaunchFileScopedSurf = 67, cudaErrorSyncDepthExceeded = 68, cudaErrorLaunchPendingCountExceeded = 69, \
    cudaErrorDeviceNotLicensed = 102, cudaErrorSoftwareValidityNotEstablished = 103, cudaErrorStartupFailure = 127, \
    cudaErrorNvlinkUncorrectable = 220, cudaErrorJitCompilerNotFound = 221, cudaErrorUnsupportedPtxVersion = 222, \
    cudaErrorJitCompilationDisabled = 223, cudaErrorUnsupportedExecAffinity = 224, cudaErrorUnsupportedDevSideSync = 225, \
    cudaErrorContained = 226, cudaErrorLossyQuery = 402, cudaErrorLaunchIncompatibleTexturing = 703, cudaErrorTooManyPeers = 711, \
    cudaErrorHardwareStackError = 714, cudaErrorIllegalInstruction = 715, cudaErrorMisalignedAddress = 716, cudaErrorInvalidAddressSpace = 717, \
    cudaErrorInvalidPc = 718, cudaErrorTensorMemoryLeak = 721, cudaErrorNotPermitted = 800, cudaErrorSystemNotReady = 802, \
    cudaErrorSystemDriverMismatch = 803, cudaErrorCompatNotSupportedOnDevice = 804, cudaErrorMpsConnectionFailed = 805, \
    cudaErrorMpsRpcFailure = 806, cudaErrorMpsServerNotReady = 807, cudaErrorMpsMaxClientsReached = 808, \
    cudaErrorMpsMaxConnectionsReached = 809, cudaErrorMpsClientTerminated = 810, cudaErrorCdpNotSupported = 811, \
    cudaErrorCdpVersionMismatch = 812, cudaErrorTimeout = 909, cudaErrorExternalDevice = 17295, cudaErrorInvalidClusterSize = 17296, \
    cudaErrorFunctionNotLoaded = 913, cudaErrorInvalidResourceType = 914, cudaErrorInvalidResourceConfiguration = 915, \
    cudaErrorApiFailureBase = 10000, CUDA_ERROR_STUB_LIBRARY = 34, CUDA_ERROR_DEVICE_UNAVAILABLE = 46, CUDA_ERROR_DEVICE_NOT_LICENSED = 102, \
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220, CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221, CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222, \
    CUDA_ERROR_JIT_COMPILATION_DISABLED = 223, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224, CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 225, \
    CUDA_ERROR_CONTAINED = 226, CUDA_ERROR_LOSSY_QUERY = 402, CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703, CUDA_ERROR_TOO_MANY_PEERS = 711, \
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714, CUDA_ERROR_ILLEGAL_INSTRUCTION = 715, CUDA_ERROR_MISALIGNED_ADDRESS = 716, \
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717, CUDA_ERROR_INVALID_PC = 718, CUDA_ERROR_TENSOR_MEMORY_LEAK = 721, CUDA_ERROR_NOT_PERMITTED = 800, \
    CUDA_ERROR_SYSTEM_NOT_READY = 802, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, \
    CUDA_ERROR_MPS_CONNECTION_FAILED = 805, CUDA_ERROR_MPS_RPC_FAILURE = 806, CUDA_ERROR_MPS_SERVER_NOT_READY = 807, \
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809, CUDA_ERROR_MPS_CLIENT_TERMINATED = 810, \
    CUDA_ERROR_CDP_NOT_SUPPORTED = 811, CUDA_ERROR_CDP_VERSION_MISMATCH = 812, CUDA_ERROR_TIMEOUT = 909, CUDA_ERROR_EXTERNAL_DEVICE = 17295, \
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 17296, CUDA_ERROR_FUNCTION_NOT_LOADED = 913, CUDA_ERROR_INVALID_RESOURCE_TYPE = 914, \
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915, CUDA_ERROR_KEY_ROTATION = 916, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36, \
    hipErrorTbd = 1054
// hipFuncAttribute
#define hipFuncAttributeMax \
    cudaFuncAttributeClusterDimMustBeSet = 16394, cudaFuncAttributeRequiredClusterWidth = 11, cudaFuncAttributeRequiredClusterHeight = 12, \
    cudaFuncAttributeRequiredClusterDepth = 13, cudaFuncAttributeNonPortableClusterSizeAllowed = 14, \
    cudaFuncAttributeClusterSchedulingPolicyPreference = 15, hipFuncAttributeMax = 10
// hipLimit_t
#define hipLimitRange \
    cudaLimitDevRuntimeSyncDepth = 3, cudaLimitDevRuntimePendingLaunchCount = 4, cudaLimitMaxL2FetchGranularity = 5, \
    cudaLimitPersistingL2CacheSize = 6, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4, \
    CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5, CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6, CU_LIMIT_SHMEM_SIZE = 7, CU_LIMIT_CIG_ENABLED = 8, \
    CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9, CU_LIMIT_MAX = 10, hipLimitRange = 4099
// hipMemRangeAttribute
#define hipMemRangeAttributeCoherencyMode \
    cudaMemRangeAttributePreferredLocationType = 5, cudaMemRangeAttributePreferredLocationId = 6, \
    cudaMemRangeAttributeLastPrefetchLocationType = 7, cudaMemRangeAttributeLastPrefetchLocationId = 8, \
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE = 5, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID = 6, \
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE = 7, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID = 8, \
    hipMemRangeAttributeCoherencyMode
// hipDeviceAttribute_t
#define hipDeviceAttributeVendorSpecificBegin \
    cudaDevAttrMaxTexture2DLayeredLayers = 0x601d, cudaDevAttrMaxTexture1DLayeredLayers = 0x602b, \
    cudaDevAttrMaxTextureCubemapLayeredLayers = 0x6036, cudaDevAttrMaxSurface1DLayeredLayers = 0x603e, \
    cudaDevAttrMaxSurface2DLayeredLayers = 0x6041, cudaDevAttrMaxSurfaceCubemapLayeredLayers = 0x6044, cudaDevAttrReserved92 = 0x605c, \
    cudaDevAttrReserved93 = 0x605d, cudaDevAttrCanFlushRemoteWrites = 0x6062, cudaDevAttrMaxBlocksPerMultiprocessor = 0x606a, \
    cudaDevAttrMaxPersistingL2CacheSize = 0x606c, cudaDevAttrMaxAccessPolicyWindowSize = 0x606d, \
    cudaDevAttrReservedSharedMemoryPerBlock = 0x606f, cudaDevAttrSparseCudaArraySupported = 0x6070, \
    cudaDevAttrHostRegisterReadOnlySupported = 0x6071, cudaDevAttrTimelineSemaphoreInteropSupported = 0x6072, \
    cudaDevAttrMaxTimelineSemaphoreInteropSupported = 0x6072, cudaDevAttrGPUDirectRDMASupported = 0x6074, \
    cudaDevAttrGPUDirectRDMAFlushWritesOptions = 0x6075, cudaDevAttrGPUDirectRDMAWritesOrdering = 0x6076, cudaDevAttrClusterLaunch = 0x6078, \
    cudaDevAttrDeferredMappingCudaArraySupported = 0x6079, cudaDevAttrReserved122 = 0x607a, cudaDevAttrReserved123 = 0x607b, \
    cudaDevAttrReserved124 = 0x607c, cudaDevAttrIpcEventSupport = 0x607d, cudaDevAttrMemSyncDomainCount = 0x607e, \
    cudaDevAttrReserved127 = 0x607f, cudaDevAttrReserved128 = 0x6080, cudaDevAttrReserved129 = 0x6081, cudaDevAttrNumaConfig = 0x6082, \
    cudaDevAttrNumaId = 0x6083, cudaDevAttrReserved132 = 0x6084, cudaDevAttrMpsEnabled = 0x6085, cudaDevAttrHostNumaId = 0x6086, \
    cudaDevAttrD3D12CigSupported = 0x6087, cudaDevAttrGpuPciDeviceId = 0x608b, cudaDevAttrGpuPciSubsystemId = 0x608c, \
    cudaDevAttrHostNumaMultinodeIpcSupported = 0x608f, cudaDevAttrMax = 0x6094, cudaDevAttrVulkanCigSupported = 0x608a, \
    cudaDevAttrReserved141 = 0x608d, cudaDevAttrHostNumaMemoryPoolsSupported = 0x608e, cudaDevAttrHostMemoryPoolsSupported = 0x6090, \
    cudaDevAttrReserved145 = 0x6091, cudaDevAttrOnlyPartialHostNativeAtomicSupported = 0x6093, \
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 0x601d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES = 0x601d, \
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 0x602b, CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER = 0x602c, \
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 0x6036, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS = 0x603e, \
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS = 0x6041, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 0x6044, \
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 0x6055, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 = 0x605c, \
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 0x605d, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 0x6062, \
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 0x6067, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 0x6068, \
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 0x6069, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 0x606a, \
    CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 0x606b, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 0x606c, \
    CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE = 0x606d, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 0x606e, \
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 0x606f, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED = 0x6070, \
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 0x6071, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 0x6072, \
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 0x6074, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 0x6075, \
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 0x6076, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 0x6077, \
    CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 0x6078, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 0x6079, \
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 0x607a, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 0x607c, \
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = 0x607d, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT = 0x607e, \
    CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED = 0x607f, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 0x6080, \
    CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS = 0x6081, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG = 0x6082, CU_DEVICE_ATTRIBUTE_NUMA_ID = 0x6083, \
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 0x6084, CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 0x6085, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 0x6086, \
    CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED = 0x6087, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK = 0x6088, \
    CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH = 0x6089, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID = 0x608b, \
    CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID = 0x608c, CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED = 0x608f, \
    CU_DEVICE_ATTRIBUTE_MAX = 0x6094, CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED = 0x608a, \
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 0x608d, CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED = 0x608e, \
    CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED = 0x6090, CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 0x6091, \
    CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED = 0x6092, CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 0x6093, \
    hipDeviceAttributeVendorSpecificBegin
// hipMemAllocationType
#define hipMemAllocationTypeMax \
    cudaMemAllocationTypeManaged = 2, CU_MEM_ALLOCATION_TYPE_MANAGED = 2, hipMemAllocationTypeMax
// hipMemAllocationHandleType
#define hipMemHandleTypeWin32Kmt \
    cudaMemHandleTypeFabric = 8, CU_MEM_HANDLE_TYPE_FABRIC = 8, CU_MEM_HANDLE_TYPE_MAX = 2147483647, hipMemHandleTypeWin32Kmt
// hipDeviceP2PAttr
#define hipDevP2PAttrHipArrayAccessSupported \
    cudaDevP2PAttrOnlyPartialNativeAtomicSupported = 5, CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED = 5, \
    hipDevP2PAttrHipArrayAccessSupported = 3
// hipExternalMemoryHandleType
#define hipExternalMemoryHandleTypeNvSciBuf \
    cudaExternalMemoryHandleTypeNvSciBuf = 8, CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF = 8, CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD = 9, \
    hipExternalMemoryHandleTypeNvSciBuf
// hipExternalSemaphoreHandleType
#define hipExternalSemaphoreHandleTypeTimelineSemaphoreWin32 \
    cudaExternalSemaphoreHandleTypeD3D11Fence = 5, cudaExternalSemaphoreHandleTypeNvSciSync = 6, cudaExternalSemaphoreHandleTypeKeyedMutex = 7, \
    cudaExternalSemaphoreHandleTypeKeyedMutexKmt = 8, cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd = 9, \
    cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32 = 10, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE = 5, \
    CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC = 6, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX = 7, \
    CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT = 8, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD = 9, \
    CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32 = 10, hipExternalSemaphoreHandleTypeTimelineSemaphoreWin32
// hipGraphNodeType
#define hipGraphNodeTypeCount \
    cudaGraphNodeTypeConditional = 16397, CU_GRAPH_NODE_TYPE_CONDITIONAL = 16397, hipGraphNodeTypeCount = 15
// hipGraphExecUpdateResult
#define hipGraphExecUpdateErrorUnsupportedFunctionChange \
    cudaGraphExecUpdateErrorAttributesChanged = 8, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED = 8, \
    hipGraphExecUpdateErrorUnsupportedFunctionChange
// hipGraphInstantiateResult
#define hipGraphInstantiateMultipleDevicesNotSupported \
    cudaGraphInstantiateConditionalHandleUnused = 5, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5, \
    hipGraphInstantiateMultipleDevicesNotSupported
// hipGraphDebugDotFlags
#define hipGraphDebugDotFlagsHandles \
    cudaGraphDebugDotFlagsConditionalNodeParams = 32768, CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES = 2, \
    CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS = 2048, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS = 4096, \
    CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS = 8192, CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO = 16384, \
    CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS = 32768, hipGraphDebugDotFlagsHandles
// hipLaunchAttributeID
#define hipLaunchAttributeMax \
    cudaLaunchAttributeIgnore = 0, cudaLaunchAttributeClusterDimension = 4, cudaLaunchAttributeClusterSchedulingPolicyPreference = 5, \
    cudaLaunchAttributeProgrammaticStreamSerialization = 6, cudaLaunchAttributeProgrammaticEvent = 7, \
    cudaLaunchAttributePreferredClusterDimension = 11, cudaLaunchAttributeLaunchCompletionEvent = 12, \
    cudaLaunchAttributeDeviceUpdatableKernelNode = 13, cudaLaunchAttributePreferredSharedMemoryCarveout = 14, \
    cudaLaunchAttributeNvlinkUtilCentricScheduling = 16, CU_LAUNCH_ATTRIBUTE_IGNORE = 0, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4, \
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6, \
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 7, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11, \
    CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13, \
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14, CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING = 16, \
    hipLaunchAttributeMax = 11
// hipArray_Format
#define HIP_AD_FORMAT_FLOAT \
    CU_AD_FORMAT_NV12 = 176, CU_AD_FORMAT_UNORM_INT8X1 = 192, CU_AD_FORMAT_UNORM_INT8X2 = 193, CU_AD_FORMAT_UNORM_INT8X4 = 194, \
    CU_AD_FORMAT_UNORM_INT16X1 = 195, CU_AD_FORMAT_UNORM_INT16X2 = 196, CU_AD_FORMAT_UNORM_INT16X4 = 197, CU_AD_FORMAT_SNORM_INT8X1 = 198, \
    CU_AD_FORMAT_SNORM_INT8X2 = 199, CU_AD_FORMAT_SNORM_INT8X4 = 200, CU_AD_FORMAT_SNORM_INT16X1 = 201, CU_AD_FORMAT_SNORM_INT16X2 = 202, \
    CU_AD_FORMAT_SNORM_INT16X4 = 203, CU_AD_FORMAT_BC1_UNORM = 145, CU_AD_FORMAT_BC1_UNORM_SRGB = 146, CU_AD_FORMAT_BC2_UNORM = 147, \
    CU_AD_FORMAT_BC2_UNORM_SRGB = 148, CU_AD_FORMAT_BC3_UNORM = 149, CU_AD_FORMAT_BC3_UNORM_SRGB = 150, CU_AD_FORMAT_BC4_UNORM = 151, \
    CU_AD_FORMAT_BC4_SNORM = 152, CU_AD_FORMAT_BC5_UNORM = 153, CU_AD_FORMAT_BC5_SNORM = 154, CU_AD_FORMAT_BC6H_UF16 = 155, \
    CU_AD_FORMAT_BC6H_SF16 = 156, CU_AD_FORMAT_BC7_UNORM = 157, CU_AD_FORMAT_BC7_UNORM_SRGB = 158, CU_AD_FORMAT_P010 = 159, \
    CU_AD_FORMAT_P016 = 161, CU_AD_FORMAT_NV16 = 162, CU_AD_FORMAT_P210 = 163, CU_AD_FORMAT_P216 = 164, CU_AD_FORMAT_YUY2 = 165, \
    CU_AD_FORMAT_Y210 = 166, CU_AD_FORMAT_Y216 = 167, CU_AD_FORMAT_AYUV = 168, CU_AD_FORMAT_Y410 = 169, CU_AD_FORMAT_Y416 = 177, \
    CU_AD_FORMAT_Y444_PLANAR8 = 178, CU_AD_FORMAT_Y444_PLANAR10 = 179, CU_AD_FORMAT_YUV444_8bit_SemiPlanar = 180, \
    CU_AD_FORMAT_YUV444_16bit_SemiPlanar = 181, CU_AD_FORMAT_UNORM_INT_101010_2 = 80, CU_AD_FORMAT_MAX = 2147483647, HIP_AD_FORMAT_FLOAT
// hipPointer_attribute
#define HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE \
    CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20, \
    CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE = 21, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
// hipFunction_attribute
#define HIP_FUNC_ATTRIBUTE_MAX \
    CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 16394, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11, \
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13, \
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15, \
    HIP_FUNC_ATTRIBUTE_MAX = 10
// hipJitOption
#define hipJitOptionIRtoISAOptCountExt \
    CU_JIT_REFERENCED_KERNEL_NAMES = 16409, CU_JIT_REFERENCED_KERNEL_COUNT = 16410, CU_JIT_REFERENCED_VARIABLE_NAMES = 16411, \
    CU_JIT_REFERENCED_VARIABLE_COUNT = 16412, CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES = 16413, CU_JIT_SPLIT_COMPILE = 34, \
    hipJitOptionIRtoISAOptCountExt = 10001
// hipLibraryOption_e
#define hipLibraryBinaryIsPreserved \
    CU_LIBRARY_NUM_OPTIONS = 2, hipLibraryBinaryIsPreserved
// hipMemAccessFlags
#define hipMemAccessFlagsProtReadWrite \
    CU_MEM_ACCESS_FLAGS_PROT_MAX = 2147483647, hipMemAccessFlagsProtReadWrite
// hipMemLocationType
#define hipMemLocationTypeHostNumaCurrent \
    CU_MEM_LOCATION_TYPE_MAX = 2147483647, hipMemLocationTypeHostNumaCurrent
// hipMemcpySrcAccessOrder
#define hipMemcpySrcAccessOrderMax \
    CU_MEMCPY_SRC_ACCESS_ORDER_INVALID = 0, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2, \
    CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3, CU_MEMCPY_SRC_ACCESS_ORDER_MAX = 2147483647, hipMemcpySrcAccessOrderMax
