//! The table: which of HIP's functions this crate implements.

use std::sync::OnceLock;

use hip_sys::{Builder, Extensions, Table};

use super::{
    capture, copy, device, driver, error, event, external, fill, graph, ipc, kernel, limits, link, memory,
    module, nodes, occupancy, peer, pointer, pool, properties, stream, stub, virtual_memory,
};

macro_rules! functions {
    ($($module:ident: $($name:ident)+;)+) => {
        fn provide(builder: &mut Builder) {
            $($(builder.$name($module::$name);)+)+
        }

        /// The C names of the functions that [`table`](crate::table) implements. All others return
        /// `hipErrorNotSupported`.
        pub const FUNCTIONS: &[&str] = &[$($(stringify!($name),)+)+];
    };
}

functions! {
    capture:
        hipStreamBeginCapture hipStreamEndCapture hipStreamGetCaptureInfo hipStreamGetCaptureInfo_v2
        hipStreamIsCapturing hipThreadExchangeStreamCaptureMode;
    copy:
        hipDrvMemcpy2DUnaligned hipMemcpy hipMemcpy2D hipMemcpy2DAsync hipMemcpy3D hipMemcpy3DAsync hipMemcpyAsync
        hipMemcpyDtoD hipMemcpyDtoDAsync hipMemcpyDtoH hipMemcpyDtoHAsync hipMemcpyHtoD hipMemcpyHtoDAsync
        hipMemcpyParam2D hipMemcpyParam2DAsync hipMemcpyPeer hipMemcpyPeerAsync hipMemcpyWithStream;
    device:
        hipCtxGetCurrent hipCtxSetCurrent hipDeviceComputeCapability hipDeviceGet hipDeviceGetByPCIBusId
        hipDeviceGetName hipDeviceGetPCIBusId hipDeviceGetStreamPriorityRange hipDeviceGetUuid
        hipDevicePrimaryCtxGetState hipDevicePrimaryCtxRelease hipDevicePrimaryCtxRetain hipDeviceSynchronize
        hipDeviceTotalMem hipDriverGetVersion hipGetDevice hipGetDeviceCount hipGetDeviceFlags hipInit hipMemGetInfo
        hipRuntimeGetVersion hipSetDevice hipSetDeviceFlags;
    error:
        hipGetErrorName hipGetErrorString hipGetLastError hipPeekAtLastError;
    event:
        hipEventCreate hipEventCreateWithFlags hipEventDestroy hipEventElapsedTime hipEventQuery hipEventRecord
        hipEventRecordWithFlags hipEventSynchronize hipStreamWaitEvent;
    external:
        hipDestroyExternalMemory hipExternalMemoryGetMappedBuffer hipImportExternalMemory;
    fill:
        hipMemset hipMemset2DAsync hipMemset3DAsync hipMemsetAsync hipMemsetD16 hipMemsetD16Async hipMemsetD32
        hipMemsetD32Async hipMemsetD8 hipMemsetD8Async;
    graph:
        hipDeviceGetGraphMemAttribute hipDeviceGraphMemTrim hipDeviceSetGraphMemAttribute hipGraphAddDependencies
        hipGraphClone hipGraphCreate hipGraphDebugDotPrint hipGraphDestroy hipGraphDestroyNode hipGraphExecDestroy
        hipGraphExecUpdate hipGraphGetEdges hipGraphGetNodes hipGraphGetRootNodes hipGraphInstantiate
        hipGraphInstantiateWithFlags hipGraphLaunch hipGraphNodeFindInClone hipGraphNodeGetEnabled hipGraphNodeGetType
        hipGraphNodeSetEnabled hipGraphReleaseUserObject hipGraphRetainUserObject hipGraphUpload hipUserObjectCreate
        hipUserObjectRelease hipUserObjectRetain;
    ipc:
        hipIpcCloseMemHandle hipIpcGetEventHandle hipIpcGetMemHandle hipIpcOpenEventHandle hipIpcOpenMemHandle;
    kernel:
        hipFuncGetAttribute hipFuncSetAttribute hipFuncSetCacheConfig hipModuleLaunchCooperativeKernel
        hipModuleLaunchKernel;
    limits:
        hipDeviceGetCacheConfig hipDeviceGetLimit hipDeviceSetCacheConfig hipDeviceSetLimit;
    link:
        hipLinkAddData hipLinkAddFile hipLinkComplete hipLinkCreate hipLinkDestroy;
    memory:
        hipExtMallocWithFlags hipFree hipFreeHost hipHostAlloc hipHostFree hipHostGetDevicePointer hipHostGetFlags
        hipHostMalloc hipHostRegister hipHostUnregister hipMalloc hipMallocHost hipMallocManaged hipMallocPitch
        hipMemAdvise hipMemGetAddressRange hipMemPrefetchAsync;
    module:
        hipModuleGetFunction hipModuleGetGlobal hipModuleLoad hipModuleLoadData hipModuleLoadDataEx hipModuleUnload;
    nodes:
        hipGraphAddChildGraphNode hipGraphAddEmptyNode hipGraphAddEventRecordNode hipGraphAddEventWaitNode
        hipGraphAddHostNode hipGraphAddKernelNode hipGraphAddMemAllocNode hipGraphAddMemFreeNode hipGraphAddMemcpyNode
        hipGraphAddMemcpyNode1D hipGraphAddMemsetNode hipGraphExecKernelNodeSetParams hipGraphKernelNodeGetAttribute
        hipGraphKernelNodeGetParams hipGraphKernelNodeSetAttribute hipGraphMemcpyNodeGetParams
        hipGraphMemsetNodeGetParams;
    occupancy:
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        hipModuleOccupancyMaxPotentialBlockSize hipModuleOccupancyMaxPotentialBlockSizeWithFlags
        hipOccupancyAvailableDynamicSMemPerBlock;
    peer:
        hipDeviceCanAccessPeer hipDeviceDisablePeerAccess hipDeviceEnablePeerAccess hipDeviceGetP2PAttribute;
    pointer:
        hipPointerGetAttributes;
    pool:
        hipDeviceGetDefaultMemPool hipDeviceGetMemPool hipDeviceSetMemPool hipFreeAsync hipMallocAsync
        hipMallocFromPoolAsync hipMemPoolCreate hipMemPoolDestroy hipMemPoolGetAccess hipMemPoolGetAttribute
        hipMemPoolSetAccess hipMemPoolSetAttribute hipMemPoolTrimTo;
    properties:
        hipDeviceGetAttribute hipGetDevicePropertiesR0600;
    stream:
        hipLaunchHostFunc hipStreamAddCallback hipStreamAttachMemAsync hipStreamCreate hipStreamCreateWithFlags
        hipStreamCreateWithPriority hipStreamDestroy hipStreamGetDevice hipStreamGetFlags hipStreamGetPriority
        hipStreamQuery hipStreamSynchronize hipStreamWaitValue32 hipStreamWaitValue64 hipStreamWriteValue32
        hipStreamWriteValue64;
    stub:
        __hipPopCallConfiguration __hipPushCallConfiguration hipFuncGetAttributes hipGetFuncBySymbol
        hipGetSymbolAddress hipGetSymbolSize hipLaunchCooperativeKernel hipLaunchKernel hipMemcpyFromSymbol
        hipMemcpyFromSymbolAsync hipMemcpyToSymbol hipMemcpyToSymbolAsync hipOccupancyMaxActiveBlocksPerMultiprocessor
        hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags hipOccupancyMaxPotentialBlockSize;
    virtual_memory:
        hipMemAddressFree hipMemAddressReserve hipMemCreate hipMemExportToShareableHandle hipMemGetAccess
        hipMemGetAllocationGranularity hipMemImportFromShareableHandle hipMemMap hipMemRelease hipMemSetAccess
        hipMemUnmap;
}

/// The one table.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new("hip-on-cuda", env!("CARGO_PKG_VERSION"));
        provide(&mut builder);
        let (driver_code, host_code) = (Some(module::DRIVER_CODE), Some(stub::HOST_CODE));
        let driver_calls = Some(driver::DRIVER_CALLS);
        builder.extensions(Extensions { driver_code, driver_calls, host_code, ..Extensions::NONE });
        // SAFETY: each function does what HIP's documentation says, by the driver's function that does the
        // same, or returns an error.
        unsafe { builder.finish() }
    })
}
