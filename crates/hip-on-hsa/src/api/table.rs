//! The table: which of HIP's functions this crate implements.

use std::sync::OnceLock;

use hip_sys::{Builder, Extensions, Table};

use super::{
    array, array_copy, context, copy, copy_batch, copy_param, cu_mask, device, error, event, external, fill,
    graph, ipc, ipc_event, launch, launch_devices, library, limits, lookup, managed, mem_pool, memory,
    module, occupancy, peer, per_thread, pointer, props, stream, stream_attribute, stream_value, stub,
    stub_launch, surface, texture, virtual_memory,
};
use crate::queue::hostcall;
use crate::{output, release};

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

// NEW-HIP-FUNCTION: its name, under its module.
functions! {
    array:
        hipArray3DCreate hipArray3DGetDescriptor hipArrayCreate hipArrayDestroy hipArrayGetDescriptor hipArrayGetInfo
        hipFreeArray hipFreeMipmappedArray hipGetChannelDesc hipMalloc3DArray hipMallocArray hipMipmappedArrayDestroy;
    array_copy:
        hipMemcpy2DArrayToArray hipMemcpy2DFromArray hipMemcpy2DFromArrayAsync hipMemcpy2DToArray
        hipMemcpy2DToArrayAsync hipMemcpyAtoA hipMemcpyAtoD hipMemcpyAtoH hipMemcpyAtoHAsync hipMemcpyDtoA
        hipMemcpyFromArray hipMemcpyFromArray_spt hipMemcpyHtoA hipMemcpyHtoAAsync hipMemcpyToArray;
    context:
        hipCtxCreate hipCtxDestroy hipCtxDisablePeerAccess hipCtxEnablePeerAccess hipCtxGetApiVersion
        hipCtxGetCacheConfig hipCtxGetCurrent hipCtxGetDevice hipCtxGetFlags hipCtxGetSharedMemConfig
        hipCtxPopCurrent hipCtxPushCurrent hipCtxSetCacheConfig hipCtxSetCurrent hipCtxSetSharedMemConfig
        hipCtxSynchronize hipDeviceGetCacheConfig hipDeviceGetSharedMemConfig hipDevicePrimaryCtxGetState
        hipDevicePrimaryCtxRelease hipDevicePrimaryCtxReset hipDevicePrimaryCtxRetain hipDevicePrimaryCtxSetFlags hipDeviceReset hipDeviceSetCacheConfig
        hipDeviceSetSharedMemConfig hipGetDeviceFlags hipSetDeviceFlags;
    copy:
        hipMemcpy hipMemcpy2D hipMemcpy2DAsync hipMemcpyAsync hipMemcpyDtoD hipMemcpyDtoDAsync hipMemcpyDtoH
        hipMemcpyDtoHAsync hipMemcpyHtoD hipMemcpyHtoDAsync hipMemcpyPeer hipMemcpyPeerAsync hipMemcpyWithStream;
    copy_batch:
        hipMemcpy3DBatchAsync hipMemcpyBatchAsync;
    copy_param:
        hipDrvMemcpy2DUnaligned hipDrvMemcpy3D hipDrvMemcpy3DAsync hipMemcpy3D hipMemcpy3DAsync hipMemcpy3DPeer
        hipMemcpy3DPeerAsync hipMemcpyParam2D hipMemcpyParam2DAsync;
    cu_mask:
        hipExtStreamCreateWithCUMask hipExtStreamGetCUMask;
    device:
        hipDeviceComputeCapability hipDeviceGet hipDeviceGetByPCIBusId hipDeviceGetName hipDeviceGetPCIBusId
        hipDeviceGetUuid hipDeviceTotalMem hipDriverGetVersion hipGetDevice hipGetDeviceCount hipInit hipMemGetInfo
        hipRuntimeGetVersion hipSetDevice hipSetValidDevices;
    error:
        hipDrvGetErrorName hipDrvGetErrorString hipExtGetLastError hipGetErrorName hipGetErrorString hipGetLastError
        hipPeekAtLastError;
    event:
        hipEventCreate hipEventCreateWithFlags hipEventDestroy hipEventElapsedTime hipEventQuery hipEventRecord
        hipEventRecordWithFlags hipEventSynchronize hipStreamWaitEvent;
    external:
        hipDestroyExternalMemory hipExternalMemoryGetMappedBuffer hipImportExternalMemory;
    fill:
        hipMemset hipMemset2D hipMemset2DAsync hipMemset3D hipMemset3DAsync hipMemsetAsync hipMemsetD16
        hipMemsetD16Async hipMemsetD2D16 hipMemsetD2D16Async hipMemsetD2D32 hipMemsetD2D32Async hipMemsetD2D8
        hipMemsetD2D8Async hipMemsetD32 hipMemsetD32Async hipMemsetD8 hipMemsetD8Async;
    graph:
        hipDeviceGetGraphMemAttribute hipDeviceGraphMemTrim hipDeviceSetGraphMemAttribute
        hipDrvGraphAddMemFreeNode hipDrvGraphAddMemcpyNode hipDrvGraphAddMemsetNode
        hipDrvGraphExecMemcpyNodeSetParams hipDrvGraphExecMemsetNodeSetParams hipDrvGraphMemcpyNodeGetParams
        hipDrvGraphMemcpyNodeSetParams hipGraphAddChildGraphNode hipGraphAddDependencies hipGraphAddEmptyNode
        hipGraphAddEventRecordNode hipGraphAddEventWaitNode hipGraphAddHostNode hipGraphAddKernelNode
        hipGraphAddBatchMemOpNode hipGraphAddMemAllocNode hipGraphAddMemFreeNode hipGraphAddMemcpyNode hipGraphAddMemcpyNode1D
        hipGraphAddMemcpyNodeFromSymbol hipGraphAddMemcpyNodeToSymbol
        hipGraphAddMemsetNode hipGraphAddNode hipGraphBatchMemOpNodeGetParams hipGraphBatchMemOpNodeSetParams hipGraphChildGraphNodeGetGraph hipGraphClone hipGraphCreate
        hipGraphDebugDotPrint hipGraphDestroy hipGraphDestroyNode hipGraphEventRecordNodeGetEvent
        hipGraphEventRecordNodeSetEvent hipGraphEventWaitNodeGetEvent hipGraphEventWaitNodeSetEvent
        hipGraphExecBatchMemOpNodeSetParams hipGraphExecChildGraphNodeSetParams hipGraphExecDestroy hipGraphExecEventRecordNodeSetEvent
        hipGraphExecEventWaitNodeSetEvent hipGraphExecGetFlags hipGraphExecHostNodeSetParams
        hipGraphExecKernelNodeSetParams hipGraphExecMemcpyNodeSetParams hipGraphExecMemcpyNodeSetParams1D
        hipGraphExecMemcpyNodeSetParamsFromSymbol hipGraphExecMemcpyNodeSetParamsToSymbol
        hipGraphExecMemsetNodeSetParams hipGraphExecNodeSetParams hipGraphExecUpdate hipGraphGetEdges
        hipGraphGetNodes hipGraphGetRootNodes hipGraphHostNodeGetParams hipGraphHostNodeSetParams
        hipGraphInstantiate hipGraphInstantiateWithFlags hipGraphInstantiateWithParams
        hipGraphKernelNodeCopyAttributes hipGraphKernelNodeGetAttribute hipGraphKernelNodeGetParams
        hipGraphKernelNodeSetAttribute hipGraphKernelNodeSetParams hipGraphLaunch hipGraphMemAllocNodeGetParams
        hipGraphMemFreeNodeGetParams hipGraphMemcpyNodeGetParams hipGraphMemcpyNodeSetParams
        hipGraphMemcpyNodeSetParams1D hipGraphMemcpyNodeSetParamsFromSymbol hipGraphMemcpyNodeSetParamsToSymbol
        hipGraphMemsetNodeGetParams hipGraphMemsetNodeSetParams
        hipGraphNodeFindInClone hipGraphNodeGetDependencies hipGraphNodeGetDependentNodes hipGraphNodeGetEnabled
        hipGraphNodeGetType hipGraphNodeSetEnabled hipGraphNodeSetParams hipGraphReleaseUserObject
        hipGraphRemoveDependencies hipGraphRetainUserObject hipGraphUpload hipStreamBeginCapture
        hipStreamBeginCaptureToGraph hipStreamEndCapture hipStreamGetCaptureInfo hipStreamGetCaptureInfo_v2
        hipStreamIsCapturing hipStreamUpdateCaptureDependencies hipThreadExchangeStreamCaptureMode
        hipUserObjectCreate hipUserObjectRelease hipUserObjectRetain;
    ipc:
        hipIpcCloseMemHandle hipIpcGetMemHandle hipIpcOpenMemHandle;
    ipc_event:
        hipIpcGetEventHandle hipIpcOpenEventHandle;
    launch:
        hipModuleLaunchCooperativeKernel hipModuleLaunchKernel;
    launch_devices:
        hipExtLaunchMultiKernelMultiDevice hipLaunchCooperativeKernelMultiDevice
        hipModuleLaunchCooperativeKernelMultiDevice;
    library:
        hipKernelGetLibrary hipKernelGetName hipLibraryEnumerateKernels hipLibraryGetKernel hipLibraryGetKernelCount
        hipLibraryLoadData hipLibraryLoadFromFile hipLibraryUnload;
    limits:
        hipDeviceGetLimit hipDeviceSetLimit;
    managed:
        hipMemAdvise hipMemAdvise_v2 hipMemPrefetchAsync hipMemPrefetchAsync_v2 hipMemRangeGetAttribute
        hipMemRangeGetAttributes hipStreamAttachMemAsync;
    mem_pool:
        hipDeviceGetDefaultMemPool hipDeviceGetMemPool hipDeviceSetMemPool hipMallocAsync hipMallocFromPoolAsync
        hipMemPoolCreate hipMemPoolDestroy hipMemPoolGetAccess hipMemPoolGetAttribute hipMemPoolSetAccess
        hipMemPoolSetAttribute hipMemPoolTrimTo;
    lookup:
        hipGetDriverEntryPoint hipGetDriverEntryPoint_spt hipGetProcAddress;
    memory:
        hipExtMallocWithFlags hipFree hipFreeAsync hipFreeHost hipHostAlloc hipHostFree hipHostGetDevicePointer
        hipHostGetFlags hipHostMalloc hipHostRegister hipHostUnregister hipMalloc hipMalloc3D hipMallocHost
        hipMallocManaged hipMallocPitch hipMemAllocHost hipMemAllocPitch;
    module:
        hipFuncGetAttribute hipFuncGetAttributes hipFuncSetAttribute hipFuncSetCacheConfig hipFuncSetSharedMemConfig
        hipKernelNameRef hipModuleGetFunction hipModuleGetFunctionCount hipModuleGetGlobal hipModuleLoad hipModuleLoadData hipModuleLoadDataEx
        hipModuleLoadFatBinary hipModuleUnload;
    occupancy:
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        hipModuleOccupancyMaxPotentialBlockSize hipModuleOccupancyMaxPotentialBlockSizeWithFlags
        hipOccupancyAvailableDynamicSMemPerBlock hipOccupancyMaxActiveBlocksPerMultiprocessor
        hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags hipOccupancyMaxPotentialBlockSize;
    per_thread:
        hipEventRecord_spt hipLaunchCooperativeKernel_spt hipLaunchHostFunc_spt hipLaunchKernel_spt hipMemcpy2DAsync_spt
        hipMemcpy2D_spt hipMemcpy2DFromArrayAsync_spt hipMemcpy2DFromArray_spt hipMemcpy2DToArrayAsync_spt hipMemcpy2DToArray_spt
        hipMemcpyAsync_spt hipMemcpyFromSymbolAsync_spt hipMemcpyFromSymbol_spt
        hipGraphLaunch_spt hipMemcpy3DAsync_spt hipMemcpy3D_spt hipMemcpyToSymbolAsync_spt hipMemcpyToSymbol_spt
        hipMemcpy_spt hipMemset3DAsync_spt hipMemset3D_spt hipStreamBeginCapture_spt hipStreamEndCapture_spt
        hipStreamGetCaptureInfo_spt hipStreamGetCaptureInfo_v2_spt hipStreamIsCapturing_spt
        hipMemset2DAsync_spt hipMemset2D_spt
        hipMemsetAsync_spt hipMemset_spt hipStreamAddCallback_spt hipStreamGetFlags_spt hipStreamGetPriority_spt
        hipStreamQuery_spt hipStreamSynchronize_spt hipStreamWaitEvent_spt;
    peer:
        hipDeviceCanAccessPeer hipDeviceDisablePeerAccess hipDeviceEnablePeerAccess hipDeviceGetP2PAttribute
        hipExtGetLinkTypeAndHopCount;
    pointer:
        hipDrvPointerGetAttributes hipMemGetAddressRange hipMemGetHandleForAddressRange hipMemPtrGetInfo
        hipPointerGetAttribute hipPointerGetAttributes hipPointerSetAttribute;
    props:
        hipChooseDevice hipChooseDeviceR0600 hipDeviceGetAttribute hipGetDeviceProperties hipGetDevicePropertiesR0600;
    stream:
        hipDeviceGetStreamPriorityRange hipDeviceSynchronize hipGetStreamDeviceId hipLaunchHostFunc hipStreamAddCallback hipStreamCreate
        hipStreamCreateWithFlags hipStreamCreateWithPriority hipStreamDestroy hipStreamGetDevice hipStreamGetFlags
        hipStreamGetPriority hipStreamQuery hipStreamSynchronize;
    stream_attribute:
        hipStreamCopyAttributes hipStreamGetAttribute hipStreamGetId hipStreamSetAttribute;
    stream_value:
        hipStreamBatchMemOp hipStreamWaitValue32 hipStreamWaitValue64 hipStreamWriteValue32 hipStreamWriteValue64;
    stub:
        hipGetFuncBySymbol hipGetSymbolAddress hipGetSymbolSize hipKernelNameRefByPtr hipMemcpyFromSymbol
        hipMemcpyFromSymbolAsync hipMemcpyToSymbol hipMemcpyToSymbolAsync;
    stub_launch:
        __hipPopCallConfiguration __hipPushCallConfiguration hipConfigureCall hipDrvLaunchKernelEx hipExtLaunchKernel
        hipExtModuleLaunchKernel hipHccModuleLaunchKernel hipLaunchByPtr hipLaunchCooperativeKernel hipLaunchKernel
        hipLaunchKernelExC hipSetupArgument;
    surface:
        hipCreateSurfaceObject hipDestroySurfaceObject;
    texture:
        hipCreateChannelDesc hipCreateTextureObject hipDestroyTextureObject hipDeviceGetTexture1DLinearMaxWidth
        hipGetTextureObjectResourceDesc hipGetTextureObjectResourceViewDesc hipGetTextureObjectTextureDesc
        hipTexObjectCreate hipTexObjectDestroy hipTexObjectGetResourceDesc hipTexObjectGetResourceViewDesc
        hipTexObjectGetTextureDesc;
    virtual_memory:
        hipMemAddressFree hipMemAddressReserve hipMemCreate hipMemExportToShareableHandle hipMemGetAccess
        hipMemGetAllocationGranularity hipMemGetAllocationPropertiesFromHandle hipMemImportFromShareableHandle
        hipMemMap hipMemRelease hipMemRetainAllocationHandle hipMemSetAccess hipMemUnmap;
}

/// The one table of the process.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        provide(&mut builder);
        builder.extensions(Extensions {
            stream_fault_report: Some(stream::stream_fault_report),
            stream_fault_json: Some(stream::stream_fault_json),
            launch_failure: Some(stream::launch_failure),
            stream_set_counters: Some(stream::stream_set_counters),
            stream_take_counters: Some(stream::stream_take_counters),
            device_output: Some(output::device_output),
            device_function: Some(hostcall::device_function),
            set_release_waits: Some(release::set_release_waits),
            host_code: Some(stub::HOST_CODE),
            has_exact_bounds: Some(device::has_exact_bounds),
            // The code that chose the HSA implementation sets these: reports and virtual devices.
            driver_code: None,
            driver_calls: None,
            leave_reports: None,
            open_virtual: None,
            records_calls: true,
        });
        // SAFETY: the functions keep HIP's contract: they check handles, need of the caller what HIP
        // documents, may be called from any thread, and live as long as the process.
        unsafe { builder.finish() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_exactly_what_is_listed() {
        let table = table();
        for name in Table::symbols() {
            assert_eq!(table.has(name), FUNCTIONS.contains(&name), "{name}");
        }
        for name in FUNCTIONS {
            assert!(table.has(name), "{name}");
        }
    }
}
