//! HIP and hiprtc.

use super::Topic;

const fn topic(name: &'static str, reason: &'static str, patterns: &'static [&'static str]) -> Topic {
    Topic { library: "HIP", name, reason, patterns }
}

pub(super) static TOPICS: &[Topic] = &[
    topic(
        "per-thread stream",
        "what code compiled for a default stream per thread calls; pass a `hip::Stream`",
        &["*_spt"],
    ),
    topic(
        "device, other ways",
        "devices are values, opened by URI; `hip::Properties` has most of what these return one by one",
        &[
            "hipChooseDevice*",
            "hipDeviceComputeCapability",
            "hipDeviceGet",
            "hipDeviceGetByPCIBusId",
            "hipDeviceGetName",
            "hipDeviceGetPCIBusId",
            "hipDeviceGetUuid",
            "hipDeviceTotalMem",
            "hipGetDevice",
        ],
    ),
    topic(
        "properties of HIP 5",
        "HIP 5's layout; `hip` asks for the newer one, `hipGetDevicePropertiesR0600`",
        &["hipGetDeviceProperties"],
    ),
    topic("versions", "not wrapped yet", &["hipRuntimeGetVersion"]),
    topic(
        "device state",
        "change the device for the whole process, under everything that uses it: not planned",
        &["hipDeviceReset", "hipGetDeviceFlags", "hipSetDeviceFlags", "hipSetValidDevices"],
    ),
    topic(
        "cache configuration",
        "the headers say that AMD devices have nothing to configure",
        &[
            "hipDeviceGetCacheConfig",
            "hipDeviceGetSharedMemConfig",
            "hipDeviceSetCacheConfig",
            "hipDeviceSetSharedMemConfig",
            "hipFuncSetCacheConfig",
            "hipFuncSetSharedMemConfig",
        ],
    ),
    topic(
        "contexts",
        "deprecated in the headers; `hip` makes a device current by itself",
        &["hipCtx*", "hipDevicePrimaryCtx*"],
    ),
    topic(
        "errors",
        "every status is returned as a `hip::Error` that names it, so there is no last one to ask for",
        &[
            "hipDrvGetErrorName",
            "hipDrvGetErrorString",
            "hipExtGetLastError",
            "hipGetErrorName",
            "hipGetLastError",
            "hipPeekAtLastError",
        ],
    ),
    // Before the graphs, whose names begin like these.
    topic(
        "OpenGL",
        "not planned: sharing buffers and images with OpenGL",
        &["hipGraphics*", "hipGLGetDevices"],
    ),
    topic(
        "stream memory operations",
        "`hip::Stream::wait_signal` waits for a number that the host raises, by `hipStreamWaitValue64`; other words of memory, and writing \
         them, are not wrapped",
        &["hipStreamBatchMemOp", "hipStreamWaitValue32", "hipStreamWriteValue*"],
    ),
    topic(
        "graphs",
        "`hip::Graph` has nodes of kernels, copies, fills, host functions, events and memory; other kinds, and what else nodes can be asked, are not wrapped",
        &[
            "hipDrvGraph*",
            "hipGraph*",
            "hipStreamBeginCapture*",
            "hipStreamGetCaptureInfo*",
            "hipStreamIsCapturing",
            "hipStreamUpdateCaptureDependencies",
            "hipThreadExchangeStreamCaptureMode",
            "hipUserObject*",
        ],
    ),
    // NEW-HIP-FUNCTION: why `hip` does not call it, if it does not.
    topic(
        "stream, other ways",
        "`hip::Device::stream` makes streams with `hipStreamCreateWithFlags`; a `hip::Stream` knows its device",
        &["hipStreamCreate", "hipStreamGetDevice", "hipStreamGetId", "hipGetStreamDeviceId"],
    ),
    topic(
        "stream attributes",
        "masks of compute units and access policies are not wrapped",
        &[
            "hipExtStreamCreateWithCUMask",
            "hipExtStreamGetCUMask",
            "hipStreamCopyAttributes",
            "hipStreamGetAttribute",
            "hipStreamSetAttribute",
        ],
    ),
    topic(
        "event, other ways",
        "`hip::Event` uses `hipEventCreateWithFlags` and `hipEventRecord`",
        &["hipEventCreate", "hipEventRecordWithFlags"],
    ),
    topic(
        "peer access",
        "`hip::DeviceBuffer::copy_from` copies between devices; links are described by `hip::PeerLink`",
        &["hipExtGetLinkTypeAndHopCount", "hipMemcpy3DPeer*", "hipMemcpyPeer*"],
    ),
    topic(
        "external resources",
        "`hip::ExternalMemory` has buffers of Vulkan's memory; AMD's library has no external semaphores on Linux \
         (`hipErrorNotSupported`), and images are not planned",
        &[
            "hipDestroyExternalSemaphore",
            "hipExternalMemoryGetMappedMipmappedArray",
            "hipImportExternalSemaphore",
            "hipSignalExternalSemaphoresAsync",
            "hipWaitExternalSemaphoresAsync",
        ],
    ),
    topic(
        "memory pools, other ways",
        "a device's current pool is its default one, `hip::MemoryPool::default_of`; access by other devices and sharing with other \
         processes are not wrapped",
        &["hipDeviceGetMemPool", "hipDeviceSetMemPool", "hipMemPool*"],
    ),
    topic(
        "managed memory",
        "`hip::ManagedBuffer` advises and prefetches; asking where it lies, and attaching it to a stream, are not wrapped",
        &["hipMemAdvise*", "hipMemPrefetchAsync*", "hipMemRangeGetAttribute*", "hipStreamAttachMemAsync"],
    ),
    topic("mapped host memory", "`hip::HostOptions` says what memory was made for", &["hipHostGetFlags"]),
    topic(
        "host memory, other ways",
        "`hip::HostBuffer` uses `hipHostMalloc` and `hipHostFree`",
        &["hipFreeHost", "hipHostAlloc", "hipMallocHost", "hipMemAllocHost"],
    ),
    topic(
        "texture references",
        "deprecated in the headers; texture objects supersede them",
        &[
            "hipBindTexture*",
            "hipGetTextureAlignmentOffset",
            "hipGetTextureReference",
            "hipModuleGetTexRef",
            "hipTexRef*",
            "hipUnbindTexture",
        ],
    ),
    topic(
        "textures, surfaces",
        "not planned: kernels here read buffers; the table has textures over linear memory, for programs in HIP C++",
        &[
            "hipCreateChannelDesc",
            "hipCreateSurfaceObject",
            "hipCreateTextureObject",
            "hipDestroySurfaceObject",
            "hipDestroyTextureObject",
            "hipDeviceGetTexture1DLinearMaxWidth",
            "hipGetChannelDesc",
            "hipGetTextureObject*",
            "hipTexObject*",
        ],
    ),
    topic(
        "arrays",
        "not planned: memory of textures, in a layout of the driver's",
        &[
            "hipArray*",
            "hipFreeArray",
            "hipFreeMipmappedArray",
            "hipGetMipmappedArrayLevel",
            "hipMalloc3DArray",
            "hipMallocArray",
            "hipMallocMipmappedArray",
            "hipMemMapArrayAsync",
            "hipMemcpy2DArrayToArray",
            "hipMemcpy2DFromArray*",
            "hipMemcpy2DToArray*",
            "hipMemcpyAto*",
            "hipMemcpyDtoA",
            "hipMemcpyFromArray",
            "hipMemcpyHtoA*",
            "hipMemcpyToArray",
            "hipMipmappedArray*",
        ],
    ),
    topic(
        "2D, 3D",
        "`hip::DeviceRect` and `hip::DeviceRectMut` are copied by `hipMemcpy3DAsync`, whatever their dimensions; `hip::PitchedBuffer` pads its rows itself",
        &[
            "hipDrvMemcpy2DUnaligned",
            "hipDrvMemcpy3D*",
            "hipMalloc3D",
            "hipMallocPitch",
            "hipMemAllocPitch",
            "hipMemcpy2D*",
            "hipMemcpy3D",
            "hipMemcpyParam2D*",
            "hipMemset2D*",
            "hipMemset3D*",
            "hipMemsetD2D*",
        ],
    ),
    topic(
        "batches of copies",
        "many copies in one call: not wrapped",
        &["hipMemcpy3DBatchAsync", "hipMemcpyBatchAsync"],
    ),
    // After everything else whose names begin so, and before the copies.
    topic(
        "symbols",
        "variables that a C++ compiler registers in the program; those of a module are planned",
        &["hipGetSymbolAddress", "hipGetSymbolSize", "hipMemcpyFromSymbol*", "hipMemcpyToSymbol*"],
    ),
    topic(
        "copies, other ways",
        "every copy of `hip` is `hipMemcpyAsync` on a stream, with a wait where it must have ended",
        &["hipMemcpy", "hipMemcpyDtoD*", "hipMemcpyDtoH*", "hipMemcpyHtoD*", "hipMemcpyWithStream"],
    ),
    topic(
        "fills, other ways",
        "fills of `hip` are `hipMemsetD8Async`, `D16` and `D32` on a stream",
        &["hipMemset", "hipMemsetAsync", "hipMemsetD16", "hipMemsetD32", "hipMemsetD8"],
    ),
    topic(
        "virtual memory",
        "what `hip` maps and shares knows its own properties and handles",
        &[
            "hipMemGetAllocationPropertiesFromHandle",
            "hipMemGetHandleForAddressRange",
            "hipMemRetainAllocationHandle",
        ],
    ),
    topic(
        "pointers",
        "a `hip::DeviceBuffer` knows its device, address and size itself",
        &[
            "hipDrvPointerGetAttributes",
            "hipMemPtrGetInfo",
            "hipPointerGetAttribute*",
            "hipPointerSetAttribute",
        ],
    ),
    topic(
        "module, other ways",
        "`hip::Module::load` and `load_file` take every form that code comes in; options are for intermediate code",
        &["hipModuleLoad", "hipModuleLoadDataEx", "hipModuleLoadFatBinary"],
    ),
    topic(
        "function attributes",
        "`hip::Module::kernels` reads them from the code object",
        &["hipModuleGetFunctionCount"],
    ),
    topic(
        "libraries",
        "modules under another name: use `hip::Module` and `hip::Function`",
        &["hipKernelGetLibrary", "hipKernelGetName", "hipLibrary*"],
    ),
    topic("linking", "not wrapped: `hip::rtc::Compiler` compiles a program as a whole", &["hipLinkAddFile"]),
    topic(
        "occupancy",
        "`hip::Function::max_active_blocks` and `suggest_block` call those without flags, which AMD's devices do not heed",
        &["hipModuleOccupancy*"],
    ),
    topic(
        "launches on several devices",
        "launch on each device's stream; kernels that wait for each other across devices are not wrapped",
        &[
            "hipExtLaunchMultiKernelMultiDevice",
            "hipLaunchCooperativeKernelMultiDevice",
            "hipModuleLaunchCooperativeKernelMultiDevice",
        ],
    ),
    topic(
        "launch, other ways",
        "`hip::Launch` uses `hipModuleLaunchKernel`; launch attributes, and events that belong to one launch, are not wrapped",
        &["hipDrvLaunchKernelEx", "hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"],
    ),
    topic(
        "compiled-in kernels",
        "take host functions that a C++ compiler registers; kernels of Rust programs are in modules: `hip::Module`",
        &[
            "__hipPopCallConfiguration",
            "__hipPushCallConfiguration",
            "hipConfigureCall",
            "hipExtLaunchKernel",
            "hipFuncGetAttributes",
            "hipGetFuncBySymbol",
            "hipLaunchByPtr",
            "hipLaunchCooperativeKernel",
            "hipLaunchKernel",
            "hipLaunchKernelExC",
            "hipOccupancy*",
            "hipSetupArgument",
        ],
    ),
    topic("compiler's own", "the headers say: internal use only", &["__hipGetPCH"]),
    topic(
        "entry points",
        "the functions are in the table: `hip_sys::Table::has` tells",
        &["hipGetDriverEntryPoint", "hipGetProcAddress"],
    ),
    topic(
        "profilers",
        "hooks and names for the vendor's tools, and switches that the headers deprecate: not planned",
        &[
            "hipApiName",
            "hipKernelNameRef*",
            "hipProfilerStart",
            "hipProfilerStop",
            "hipRegisterActivityCallback",
            "hipRegisterApiCallback",
            "hipRemoveActivityCallback",
            "hipRemoveApiCallback",
        ],
    ),
    Topic {
        library: "hiprtc",
        name: "linking",
        reason: "not wrapped: `hip::rtc::Compiler` compiles a program as a whole",
        patterns: &["hiprtcGetBitcode*", "hiprtcLink*"],
    },
    Topic {
        library: "hiprtc",
        name: "names of codes",
        reason: "`hip_sys::rtc::hiprtcResult` prints its name itself",
        patterns: &["hiprtcGetErrorString"],
    },
];
