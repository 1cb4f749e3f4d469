//! The driver's errors as HIP's.

use cuda_sys::CUresult;
use hip_sys::hipError_t;

macro_rules! table {
    ($($cuda:ident => $hip:ident,)+) => {
        /// Each error of the driver, and what HIP calls it: the same where both have it, else what a program
        /// does the same about.
        pub const TABLE: &[(CUresult, hipError_t)] = &[$((CUresult::$cuda, hipError_t::$hip),)+];
    };
}

table! {
    CUDA_SUCCESS => hipSuccess,
    CUDA_ERROR_INVALID_VALUE => hipErrorInvalidValue,
    CUDA_ERROR_OUT_OF_MEMORY => hipErrorOutOfMemory,
    CUDA_ERROR_NOT_INITIALIZED => hipErrorNotInitialized,
    CUDA_ERROR_DEINITIALIZED => hipErrorDeinitialized,
    CUDA_ERROR_PROFILER_DISABLED => hipErrorProfilerDisabled,
    CUDA_ERROR_PROFILER_NOT_INITIALIZED => hipErrorProfilerNotInitialized,
    CUDA_ERROR_PROFILER_ALREADY_STARTED => hipErrorProfilerAlreadyStarted,
    CUDA_ERROR_PROFILER_ALREADY_STOPPED => hipErrorProfilerAlreadyStopped,
    CUDA_ERROR_STUB_LIBRARY => hipErrorInsufficientDriver,
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER => hipErrorInsufficientDriver,
    CUDA_ERROR_DEVICE_UNAVAILABLE => hipErrorNoDevice,
    CUDA_ERROR_MULTICAST_RESOURCE_FULL => hipErrorOutOfMemory,
    CUDA_ERROR_NO_DEVICE => hipErrorNoDevice,
    CUDA_ERROR_INVALID_DEVICE => hipErrorInvalidDevice,
    CUDA_ERROR_DEVICE_NOT_LICENSED => hipErrorInvalidDevice,
    CUDA_ERROR_INVALID_IMAGE => hipErrorInvalidImage,
    CUDA_ERROR_INVALID_CONTEXT => hipErrorInvalidContext,
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT => hipErrorContextAlreadyCurrent,
    CUDA_ERROR_MAP_FAILED => hipErrorMapFailed,
    CUDA_ERROR_UNMAP_FAILED => hipErrorUnmapFailed,
    CUDA_ERROR_ARRAY_IS_MAPPED => hipErrorArrayIsMapped,
    CUDA_ERROR_ALREADY_MAPPED => hipErrorAlreadyMapped,
    CUDA_ERROR_NO_BINARY_FOR_GPU => hipErrorNoBinaryForGpu,
    CUDA_ERROR_ALREADY_ACQUIRED => hipErrorAlreadyAcquired,
    CUDA_ERROR_NOT_MAPPED => hipErrorNotMapped,
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY => hipErrorNotMappedAsArray,
    CUDA_ERROR_NOT_MAPPED_AS_POINTER => hipErrorNotMappedAsPointer,
    CUDA_ERROR_ECC_UNCORRECTABLE => hipErrorECCNotCorrectable,
    CUDA_ERROR_UNSUPPORTED_LIMIT => hipErrorUnsupportedLimit,
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE => hipErrorContextAlreadyInUse,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => hipErrorPeerAccessUnsupported,
    CUDA_ERROR_INVALID_PTX => hipErrorInvalidKernelFile,
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT => hipErrorInvalidGraphicsContext,
    CUDA_ERROR_NVLINK_UNCORRECTABLE => hipErrorECCNotCorrectable,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND => hipErrorSharedObjectInitFailed,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION => hipErrorInvalidKernelFile,
    CUDA_ERROR_JIT_COMPILATION_DISABLED => hipErrorNotSupported,
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY => hipErrorNotSupported,
    CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC => hipErrorNotSupported,
    CUDA_ERROR_CONTAINED => hipErrorLaunchFailure,
    CUDA_ERROR_INSUFFICIENT_LOADER_VERSION => hipErrorInsufficientDriver,
    CUDA_ERROR_INVALID_SOURCE => hipErrorInvalidSource,
    CUDA_ERROR_FILE_NOT_FOUND => hipErrorFileNotFound,
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND => hipErrorSharedObjectSymbolNotFound,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED => hipErrorSharedObjectInitFailed,
    CUDA_ERROR_OPERATING_SYSTEM => hipErrorOperatingSystem,
    CUDA_ERROR_INVALID_HANDLE => hipErrorInvalidHandle,
    CUDA_ERROR_ILLEGAL_STATE => hipErrorIllegalState,
    CUDA_ERROR_LOSSY_QUERY => hipErrorInvalidValue,
    CUDA_ERROR_NOT_FOUND => hipErrorNotFound,
    CUDA_ERROR_NOT_READY => hipErrorNotReady,
    CUDA_ERROR_ILLEGAL_ADDRESS => hipErrorIllegalAddress,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => hipErrorLaunchOutOfResources,
    CUDA_ERROR_LAUNCH_TIMEOUT => hipErrorLaunchTimeOut,
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING => hipErrorLaunchFailure,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => hipErrorPeerAccessAlreadyEnabled,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => hipErrorPeerAccessNotEnabled,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE => hipErrorSetOnActiveProcess,
    CUDA_ERROR_CONTEXT_IS_DESTROYED => hipErrorContextIsDestroyed,
    CUDA_ERROR_ASSERT => hipErrorAssert,
    CUDA_ERROR_TOO_MANY_PEERS => hipErrorPeerAccessUnsupported,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => hipErrorHostMemoryAlreadyRegistered,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED => hipErrorHostMemoryNotRegistered,
    CUDA_ERROR_HARDWARE_STACK_ERROR => hipErrorLaunchFailure,
    CUDA_ERROR_ILLEGAL_INSTRUCTION => hipErrorLaunchFailure,
    CUDA_ERROR_MISALIGNED_ADDRESS => hipErrorLaunchFailure,
    CUDA_ERROR_INVALID_ADDRESS_SPACE => hipErrorLaunchFailure,
    CUDA_ERROR_INVALID_PC => hipErrorLaunchFailure,
    CUDA_ERROR_LAUNCH_FAILED => hipErrorLaunchFailure,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => hipErrorCooperativeLaunchTooLarge,
    CUDA_ERROR_TENSOR_MEMORY_LEAK => hipErrorLaunchFailure,
    CUDA_ERROR_NOT_PERMITTED => hipErrorNotSupported,
    CUDA_ERROR_NOT_SUPPORTED => hipErrorNotSupported,
    CUDA_ERROR_SYSTEM_NOT_READY => hipErrorNotInitialized,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => hipErrorInsufficientDriver,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => hipErrorInsufficientDriver,
    CUDA_ERROR_MPS_CONNECTION_FAILED => hipErrorNotInitialized,
    CUDA_ERROR_MPS_RPC_FAILURE => hipErrorNotInitialized,
    CUDA_ERROR_MPS_SERVER_NOT_READY => hipErrorNotInitialized,
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED => hipErrorOutOfMemory,
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED => hipErrorOutOfMemory,
    CUDA_ERROR_MPS_CLIENT_TERMINATED => hipErrorLaunchFailure,
    CUDA_ERROR_CDP_NOT_SUPPORTED => hipErrorNotSupported,
    CUDA_ERROR_CDP_VERSION_MISMATCH => hipErrorNotSupported,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED => hipErrorStreamCaptureUnsupported,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED => hipErrorStreamCaptureInvalidated,
    CUDA_ERROR_STREAM_CAPTURE_MERGE => hipErrorStreamCaptureMerge,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED => hipErrorStreamCaptureUnmatched,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED => hipErrorStreamCaptureUnjoined,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION => hipErrorStreamCaptureIsolation,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT => hipErrorStreamCaptureImplicit,
    CUDA_ERROR_CAPTURED_EVENT => hipErrorCapturedEvent,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD => hipErrorStreamCaptureWrongThread,
    CUDA_ERROR_TIMEOUT => hipErrorLaunchTimeOut,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => hipErrorGraphExecUpdateFailure,
    CUDA_ERROR_EXTERNAL_DEVICE => hipErrorUnknown,
    CUDA_ERROR_INVALID_CLUSTER_SIZE => hipErrorInvalidConfiguration,
    CUDA_ERROR_FUNCTION_NOT_LOADED => hipErrorNotFound,
    CUDA_ERROR_INVALID_RESOURCE_TYPE => hipErrorInvalidValue,
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION => hipErrorInvalidConfiguration,
    CUDA_ERROR_KEY_ROTATION => hipErrorUnknown,
    CUDA_ERROR_STREAM_DETACHED => hipErrorInvalidHandle,
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE => hipErrorGraphExecUpdateFailure,
    CUDA_ERROR_FABRIC_NOT_READY => hipErrorUnknown,
    CUDA_ERROR_UNKNOWN => hipErrorUnknown,
}

/// HIP's status for one of the driver's. One that is newer than the headers is `hipErrorUnknown`.
pub fn hip_error(status: CUresult) -> hipError_t {
    let row = TABLE.iter().find(|(cuda, _)| *cuda == status);
    if row.is_none() {
        tracing::warn!(?status, "an unknown error of NVIDIA's driver");
    }
    row.map_or(hipError_t::hipErrorUnknown, |(_, hip)| *hip)
}

/// The driver's status that stands for one of HIP's: that of the same number, else the first in the table.
pub(crate) fn cuda_error(status: hipError_t) -> Option<CUresult> {
    let rows = || TABLE.iter().filter(|(_, hip)| *hip == status).map(|(cuda, _)| *cuda);
    rows().find(|cuda| cuda.0 == status.0).or_else(|| rows().next())
}

/// A second, different driver was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherDriver;

impl std::fmt::Display for OtherDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HIP over CUDA runs on another driver in this process already")
    }
}

impl std::error::Error for OtherDriver {}
