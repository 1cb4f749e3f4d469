// A part of `calls.hip`: the baselines that do not follow from the types of the arguments.

// NEW-HIP-FUNCTION: a valid call of it, unless its types are enough.
// The functions whose baseline does not follow from their types.
#define AS(name, ...) \
    if (!strcmp(wanted, #name)) return Function<Type_##name>::run<name>([](Arguments &a) __VA_ARGS__), true;

static const void *symbol() { return HIP_SYMBOL(variable); }
static const void *kernel() { return reinterpret_cast<const void *>(stub); }

// Makes an object for a call that releases it. Each call has its own, because an earlier call may have released a shared one.
static void *made(hipError_t (*make)(void **)) {
    void *out = nullptr;
    (void)make(&out);
    (void)hipGetLastError();
    return out;
}
static hipUserObject_t user_object() {
    hipUserObject_t object = nullptr;
    (void)hipUserObjectCreate(&object, nullptr, host_function, 1, hipUserObjectNoDestructorSync);
    return object;
}

static bool special(const char *wanted) {
    AS(hipMallocManaged, { a.set(2, hipMemAttachGlobal); })
    AS(hipMemAllocPitch, { a.set(4, 4); })
    AS(hipUserObjectCreate, { a.set(3, 1); a.set(4, hipUserObjectNoDestructorSync); })
    AS(hipGraphRetainUserObject, { a.set(2, 1); })
    AS(hipGraphReleaseUserObject, {
        hipUserObject_t object = user_object();
        (void)hipGraphRetainUserObject(it.graph, object, 1, 0);
        a.set(1, object); a.set(2, 1);
    })
    AS(hipStreamBeginCaptureToGraph, { a.set(2, static_cast<void *>(nullptr)); a.set(3, static_cast<void *>(nullptr)); a.set(4, 0); })
    AS(hipStreamGetAttribute, { a.set(1, hipLaunchAttributePriority); })
    AS(hipStreamSetAttribute, { a.set(1, hipLaunchAttributePriority); })
    AS(hipFuncSetAttribute, {
        a.set(0, kernel());
        a.set(1, hipFuncAttributeMaxDynamicSharedMemorySize);
    })
    AS(hipIpcGetMemHandle, { a.set(1, it.device_memory); })
    AS(hipMemcpyToSymbol, { a.set(0, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyToSymbol_spt, { a.set(0, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyToSymbolAsync, { a.set(0, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyToSymbolAsync_spt, { a.set(0, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyFromSymbol, { a.set(1, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyFromSymbol_spt, { a.set(1, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyFromSymbolAsync, { a.set(1, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipMemcpyFromSymbolAsync_spt, { a.set(1, symbol()); a.set(3, 0); a.set(4, hipMemcpyDeviceToDevice); })
    AS(hipGetSymbolAddress, { a.set(1, symbol()); })
    AS(hipGetSymbolSize, { a.set(1, symbol()); })
    AS(hipGetFuncBySymbol, { a.set(1, kernel()); })
    AS(hipFuncGetAttributes, { a.set(1, kernel()); })
    AS(hipFuncSetCacheConfig, { a.set(0, kernel()); })
    AS(hipFuncSetSharedMemConfig, { a.set(0, kernel()); })
    AS(hipOccupancyMaxActiveBlocksPerMultiprocessor, { a.set(1, kernel()); a.set(2, 64); })
    AS(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, { a.set(1, kernel()); a.set(2, 64); })
    AS(hipOccupancyMaxPotentialBlockSize, { a.set(2, kernel()); })
    AS(hipOccupancyAvailableDynamicSMemPerBlock, { a.set(1, kernel()); a.set(2, 1); a.set(3, 64); })
    AS(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, { a.set(2, 64); })
    AS(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, { a.set(2, 64); })
    AS(hipLaunchKernel, { a.set(0, kernel()); a.set(3, arguments); })
    AS(hipLaunchKernel_spt, { a.set(0, kernel()); a.set(3, arguments); })
    AS(hipExtLaunchKernel, { a.set(0, kernel()); a.set(3, arguments); a.set(4, 0); })
    AS(hipLaunchCooperativeKernel, { a.set(0, kernel()); a.set(3, arguments); })
    AS(hipLaunchCooperativeKernel_spt, { a.set(0, kernel()); a.set(3, arguments); })
    AS(hipModuleLaunchKernel, {
        a.set(1, 1); a.set(2, 1); a.set(3, 1); a.set(5, 1); a.set(6, 1); a.set(4, 32);
        a.set(9, arguments); a.set(10, static_cast<void *>(nullptr));
    })
    AS(hipModuleLaunchCooperativeKernel, {
        a.set(1, 1); a.set(2, 1); a.set(3, 1); a.set(5, 1); a.set(6, 1); a.set(4, 32); a.set(9, arguments);
    })
    AS(hipExtModuleLaunchKernel, {
        a.set(1, 32); a.set(4, 32); a.set(2, 1); a.set(3, 1); a.set(5, 1); a.set(6, 1);
        a.set(7, 0); a.set(9, static_cast<void *>(nullptr)); a.set(10, packed);
    })
    AS(hipHccModuleLaunchKernel, {
        a.set(1, 32); a.set(4, 32); a.set(2, 1); a.set(3, 1); a.set(5, 1); a.set(6, 1);
        a.set(7, 0); a.set(9, static_cast<void *>(nullptr)); a.set(10, packed);
    })
    AS(hipModuleLoadData, { a.set(1, it.image.data()); })
    AS(hipModuleLoadDataEx, { a.set(1, it.image.data()); a.set(2, 0); })
    AS(hipModuleLoadFatBinary, { a.set(1, it.image.data()); })
    AS(hipLibraryLoadData, { a.set(1, it.image.data()); a.set(4, 0); a.set(7, 0); })
    AS(hipModuleGetFunction, { a.set(2, "_Z4stubPi"); })
    AS(hipLibraryGetKernel, { a.set(2, "_Z4stubPi"); })
    AS(hipModuleGetGlobal, { a.set(3, "variable"); })
    AS(hipMemPoolExportPointer, { a.set(1, it.pool_memory); })
    AS(hipFree, { a.set(0, made([](void **out) { return hipMalloc(out, PAGE); })); })
    AS(hipFreeAsync, { a.set(0, made([](void **out) { return hipMallocAsync(out, PAGE, it.stream); })); })
    AS(hipHostFree, { a.set(0, made([](void **out) { return hipHostMalloc(out, PAGE, 0); })); })
    AS(hipFreeHost, { a.set(0, made([](void **out) { return hipHostMalloc(out, PAGE, 0); })); })
    AS(hipHostGetDevicePointer, { a.set(1, it.pinned); })
    AS(hipHostGetFlags, { a.set(1, it.pinned); })
    AS(hipHostRegister, {
        (void)hipHostUnregister(it.areas[18]);
        (void)hipGetLastError();
        a.set(0, it.areas[18]); a.set(1, PAGE);
    })
    AS(hipHostUnregister, {
        (void)hipHostRegister(it.areas[18], PAGE, 0);
        (void)hipGetLastError();
        a.set(0, it.areas[18]);
    })
    AS(hipMemAdvise, { a.set(0, it.managed); a.set(1, PAGE); a.set(2, hipMemAdviseSetReadMostly); })
    AS(hipMemAdvise_v2, { a.set(0, it.managed); a.set(1, PAGE); a.set(2, hipMemAdviseSetReadMostly); })
    AS(hipMemPrefetchAsync, { a.set(0, it.managed); })
    AS(hipMemPrefetchAsync_v2, { a.set(0, it.managed); })
    AS(hipMemRangeGetAttribute, { a.set(1, 4); a.set(2, hipMemRangeAttributeReadMostly); a.set(3, it.managed); a.set(4, PAGE); })
    AS(hipStreamAttachMemAsync, { a.set(1, it.managed); a.set(2, 0); })
    AS(hipMemMap, { a.set(0, static_cast<void *>(nullptr)); a.set(1, 1 << 21); a.set(2, 0); })
    AS(hipMemCreate, { a.set(1, 1 << 21); })
    AS(hipMemAddressReserve, { a.set(1, 1 << 21); a.set(2, 0); a.set(3, static_cast<void *>(nullptr)); })
    AS(hipGraphKernelNodeGetParams, { a.set(0, it.nodes[KERNEL]); })
    AS(hipGraphKernelNodeSetParams, { a.set(0, it.nodes[KERNEL]); })
    AS(hipGraphKernelNodeGetAttribute, { a.set(0, it.nodes[KERNEL]); a.set(1, hipLaunchAttributeCooperative); })
    AS(hipGraphKernelNodeSetAttribute, { a.set(0, it.nodes[KERNEL]); a.set(1, hipLaunchAttributeCooperative); })
    AS(hipGraphKernelNodeCopyAttributes, { a.set(0, it.nodes[KERNEL]); a.set(1, it.nodes[KERNEL]); })
    AS(hipGraphExecKernelNodeSetParams, { a.set(1, it.nodes[KERNEL]); })
    AS(hipGraphMemcpyNodeGetParams, { a.set(0, it.nodes[COPY]); })
    AS(hipGraphMemcpyNodeSetParams, { a.set(0, it.nodes[COPY]); })
    AS(hipGraphMemcpyNodeSetParams1D, { a.set(0, it.nodes[COPY]); })
    AS(hipGraphExecMemcpyNodeSetParams, { a.set(1, it.nodes[COPY]); })
    AS(hipGraphExecMemcpyNodeSetParams1D, { a.set(1, it.nodes[COPY]); })
    AS(hipDrvGraphMemcpyNodeGetParams, { a.set(0, it.nodes[DRIVER_COPY]); })
    AS(hipDrvGraphMemcpyNodeSetParams, { a.set(0, it.nodes[DRIVER_COPY]); })
    AS(hipDrvGraphExecMemcpyNodeSetParams, { a.set(1, it.nodes[DRIVER_COPY]); })
    AS(hipDrvGraphExecMemsetNodeSetParams, { a.set(1, it.nodes[FILL]); })
    AS(hipGraphAddBatchMemOpNode, { a.set(3, 1); })
    AS(hipGraphBatchMemOpNodeGetParams, { a.set(0, it.nodes[BATCH]); })
    AS(hipGraphBatchMemOpNodeSetParams, { a.set(0, it.nodes[BATCH]); })
    AS(hipGraphMemcpyNodeSetParamsToSymbol, { a.set(0, it.nodes[COPY]); a.set(1, symbol()); a.set(4, 0); a.set(5, hipMemcpyDeviceToDevice); })
    AS(hipGraphMemcpyNodeSetParamsFromSymbol, { a.set(0, it.nodes[COPY]); a.set(2, symbol()); a.set(4, 0); a.set(5, hipMemcpyDeviceToDevice); })
    AS(hipGraphExecMemcpyNodeSetParamsToSymbol, { a.set(1, it.nodes[COPY]); a.set(2, symbol()); a.set(5, 0); a.set(6, hipMemcpyDeviceToDevice); })
    AS(hipGraphExecMemcpyNodeSetParamsFromSymbol, { a.set(1, it.nodes[COPY]); a.set(3, symbol()); a.set(5, 0); a.set(6, hipMemcpyDeviceToDevice); })
    AS(hipGraphAddMemcpyNodeToSymbol, { a.set(3, 1); a.set(4, symbol()); a.set(7, 0); a.set(8, hipMemcpyDeviceToDevice); })
    AS(hipGraphAddMemcpyNodeFromSymbol, { a.set(3, 1); a.set(5, symbol()); a.set(7, 0); a.set(8, hipMemcpyDeviceToDevice); })
    AS(hipGraphAddKernelNode, { a.set(3, 1); })
    AS(hipGraphAddMemcpyNode, { a.set(3, 1); })
    AS(hipGraphAddMemcpyNode1D, { a.set(3, 1); })
    AS(hipDrvGraphAddMemcpyNode, { a.set(3, 1); })
    AS(hipDrvGraphAddMemsetNode, { a.set(3, 1); })
    AS(hipGraphAddMemsetNode, { a.set(3, 1); })
    AS(hipGraphAddHostNode, { a.set(3, 1); })
    AS(hipGraphAddEmptyNode, { a.set(3, 1); })
    AS(hipGraphAddEventRecordNode, { a.set(3, 1); })
    AS(hipGraphAddEventWaitNode, { a.set(3, 1); })
    AS(hipGraphAddChildGraphNode, { a.set(3, 1); a.set(4, it.other_graph); })
    AS(hipGraphAddMemAllocNode, { a.set(3, 1); })
    AS(hipGraphAddNode, { a.set(3, 1); })
    AS(hipGraphAddDependencies, { *a.at<hipGraphNode_t>(2) = it.nodes[KERNEL]; a.set(3, 1); })
    AS(hipGraphRemoveDependencies, { *a.at<hipGraphNode_t>(2) = it.nodes[KERNEL]; a.set(3, 1); })
    AS(hipGraphMemsetNodeGetParams, { a.set(0, it.nodes[FILL]); })
    AS(hipGraphMemsetNodeSetParams, { a.set(0, it.nodes[FILL]); })
    AS(hipGraphExecMemsetNodeSetParams, { a.set(1, it.nodes[FILL]); })
    AS(hipGraphHostNodeGetParams, { a.set(0, it.nodes[HOST]); })
    AS(hipGraphHostNodeSetParams, { a.set(0, it.nodes[HOST]); })
    AS(hipGraphExecHostNodeSetParams, { a.set(1, it.nodes[HOST]); })
    AS(hipGraphEventRecordNodeGetEvent, { a.set(0, it.nodes[RECORD]); })
    AS(hipGraphEventRecordNodeSetEvent, { a.set(0, it.nodes[RECORD]); })
    AS(hipGraphExecEventRecordNodeSetEvent, { a.set(1, it.nodes[RECORD]); })
    AS(hipGraphEventWaitNodeGetEvent, { a.set(0, it.nodes[WAIT]); })
    AS(hipGraphEventWaitNodeSetEvent, { a.set(0, it.nodes[WAIT]); })
    AS(hipGraphExecEventWaitNodeSetEvent, { a.set(1, it.nodes[WAIT]); })
    AS(hipGraphChildGraphNodeGetGraph, { a.set(0, it.nodes[CHILD]); })
    AS(hipGraphExecChildGraphNodeSetParams, { a.set(1, it.nodes[CHILD]); })
    AS(hipGraphMemAllocNodeGetParams, { a.set(0, it.nodes[ALLOCATE]); })
    AS(hipGraphMemFreeNodeGetParams, { a.set(0, it.nodes[FREE]); a.set(1, it.areas[1]); })
    AS(hipGraphNodeSetParams, { a.set(0, it.nodes[KERNEL]); })
    AS(hipGraphExecNodeSetParams, { a.set(1, it.nodes[KERNEL]); })
    AS(hipGraphNodeGetEnabled, { a.set(1, it.nodes[KERNEL]); })
    AS(hipGraphNodeSetEnabled, { a.set(1, it.nodes[KERNEL]); })
    AS(hipGraphInstantiate, { a.set(4, 64); })
    AS(hipDeviceGetGraphMemAttribute, { a.set(2, it.areas[2]); })
    AS(hipDeviceSetGraphMemAttribute, { a.set(1, hipGraphMemAttrUsedMemHigh); a.set(2, it.areas[2]); })
    AS(hipMemPoolGetAttribute, { a.set(1, hipMemPoolAttrReleaseThreshold); a.set(2, it.areas[2]); })
    AS(hipMemPoolSetAttribute, { a.set(1, hipMemPoolAttrReleaseThreshold); a.set(2, it.areas[2]); })
    AS(hipPointerGetAttribute, { a.set(0, it.areas[0]); a.set(1, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER); })
    AS(hipEventElapsedTime, { a.set(2, it.second_event); })
    AS(hipGraphDebugDotPrint, { a.set(1, "/dev/null"); })
    AS(hipStreamWaitValue32, { a.set(1, it.pinned); })
    AS(hipStreamWaitValue64, { a.set(1, it.pinned); })
    AS(hipStreamWriteValue32, { a.set(1, it.pinned); })
    AS(hipStreamWriteValue64, { a.set(1, it.pinned); })
    AS(hipMemset2D, { a.set(3, 64); a.set(4, 4); })
    AS(hipMemset2DAsync, { a.set(4, 4); })
    AS(hipMemset2D_spt, { a.set(4, 4); })
    AS(hipMemset2DAsync_spt, { a.set(4, 4); })
    AS(hipMemsetD2D8, { a.set(4, 4); })
    AS(hipMemsetD2D8Async, { a.set(4, 4); })
    AS(hipMemsetD2D16, { a.set(3, 16); a.set(4, 4); })
    AS(hipMemsetD2D16Async, { a.set(3, 16); a.set(4, 4); })
    AS(hipMemsetD2D32, { a.set(3, 16); a.set(4, 4); })
    AS(hipMemsetD2D32Async, { a.set(3, 16); a.set(4, 4); })
    AS(hipMemcpy2D, { a.set(5, 4); })
    AS(hipMemcpy2DAsync, { a.set(5, 4); })
    AS(hipMemcpy2D_spt, { a.set(5, 4); })
    AS(hipMemcpy2DAsync_spt, { a.set(5, 4); })
    AS(hipGetProcAddress, { a.set(0, "hipMalloc"); a.set(2, 70000000); })
    AS(hipGetDriverEntryPoint, { a.set(0, "hipMalloc"); })
    AS(hipGetDriverEntryPoint_spt, { a.set(0, "hipMalloc"); })
    AS(hipDeviceGetByPCIBusId, { a.set(1, "0000:c3:00.0"); })
    AS(hipDeviceGetName, { a.set(1, 64); })
    AS(hipDeviceGetPCIBusId, { a.set(1, 64); })
    AS(hipUserObjectRelease, { a.set(0, user_object()); a.set(1, 1); })
    AS(hipUserObjectRetain, { a.set(1, 1); })
    AS(hipExtStreamCreateWithCUMask, { a.set(1, 1); *a.at<uint32_t>(2) = 3; })
    AS(hipExtStreamGetCUMask, { a.set(1, 4); })
    return false;
}
