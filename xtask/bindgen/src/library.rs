//! What to generate for each library, and from which versions of its headers.

/// One version of a library whose headers are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    /// The library's own version.
    pub(crate) version: &'static str,
    /// Its ROCm release, which names the folder of the headers.
    pub(crate) release: &'static str,
    /// Further arguments for clang.
    pub(crate) clang: &'static [&'static str],
}

/// Unsigned C constants that are flags of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlagGroup {
    /// Name of the generated type.
    pub(crate) name: &'static str,
    /// Their purpose, as a sentence.
    pub(crate) doc: &'static str,
    /// The macros.
    pub(crate) constants: &'static [&'static str],
}

/// A crate that exports the library's functions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropIn {
    /// Its folder.
    pub(crate) crate_folder: &'static str,
    /// Whether one file replaces every version, because all have the same `SONAME`; otherwise only the
    /// newest.
    pub(crate) every_version: bool,
    /// How an exported function calls the table.
    pub(crate) calls: Calls,
}

/// How a crate's exported functions call those of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Calls {
    /// Through the crate's `table`.
    Direct,
    /// The same, and the crate's `observe` gets the name and the result of each called function.
    Observed,
    /// Through the crate's `call`, which provides the table, or chooses the status if there is none.
    /// Functions that return no status, and these, use its `table`.
    Optional(&'static [&'static str]),
}

/// Whose headers a library has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// AMD: a tree for each ROCm release.
    Amd,
    /// NVIDIA: a tree for each CUDA version.
    Nvidia,
}

/// One library: its headers, and what its function table needs to know.
#[derive(Debug)]
pub(crate) struct Library {
    /// Whose headers it has. Layouts of AMD's are also compared with what a C compiler makes of them.
    pub(crate) vendor: Vendor,
    /// Name for people.
    pub(crate) what: &'static str,
    /// File name of its report in docs/generated/abi, without `.md`.
    pub(crate) report: &'static str,
    /// Folder of its crate.
    pub(crate) crate_folder: &'static str,
    /// Rust path of the module that holds the bindings.
    pub(crate) module: &'static str,
    /// Folder of the generated files inside the crate.
    pub(crate) folder: &'static str,
    /// The crates that export its functions.
    pub(crate) drop_ins: &'static [DropIn],
    /// Further exported symbols and their functions: C++ names, and names with a layout version.
    pub(crate) other_names: &'static [(&'static str, &'static str)],
    /// Versions, oldest first; at most eight.
    pub(crate) versions: &'static [Version],
    /// The Debian package of its headers.
    pub(crate) package: &'static str,
    /// C text that includes the headers.
    pub(crate) headers: &'static str,
    /// Regular expression over the paths of headers whose items are wanted.
    pub(crate) files: &'static str,
    /// Regular expression of functions that `headers` itself declares.
    pub(crate) declared_here: &'static str,
    /// Items imported from another of our modules instead.
    pub(crate) imported: &'static [&'static str],
    /// The enums among them that functions take.
    pub(crate) imported_enums: &'static [&'static str],
    /// The `use` line that imports them.
    pub(crate) imports: &'static str,
    /// Regular expressions of constants that only describe the headers, and of macros that are not values.
    pub(crate) ignored_constants: &'static str,
    /// The status type that functions return.
    pub(crate) status: &'static str,
    /// Its constant for "not supported", which stubs return.
    pub(crate) unsupported: &'static str,
    /// Unnamed C enums whose constants belong to a named one: prefix of the constants, name of the type.
    pub(crate) folded: &'static [(&'static str, &'static str)],
    /// C enums whose values are or-ed together.
    pub(crate) flag_enums: &'static [&'static str],
    /// Macros that are or-ed together.
    pub(crate) flag_groups: &'static [FlagGroup],
    /// Symbols that libraries export though a version's headers do not declare them.
    pub(crate) also_exported: &'static [(&'static str, &'static [&'static str])],
}

const fn version(version: &'static str, release: &'static str) -> Version {
    Version { version, release, clang: &[] }
}

/// HIP 5's headers use the name of the old layout of device properties that means the new one since HIP 6.
const HIP_5: &[&str] = &["-DhipDeviceProp_t=hipDeviceProp_tR0000"];

const HIP_VERSIONS: &[Version] = &[
    Version { version: "5.2.3", release: "5.2", clang: HIP_5 },
    Version { version: "5.7.1", release: "5.7", clang: HIP_5 },
    version("6.4.3", "6.4"),
    version("7.2.4", "7.2"),
];

/// Every library of this workspace.
pub(crate) static LIBRARIES: &[Library] = &[
    Library {
        vendor: Vendor::Amd,
        what: "HSA",
        report: "hsa",
        package: "libhsa-runtime-dev",
        crate_folder: "crates/hsa-sys",
        module: "hsa_sys",
        folder: "src",
        drop_ins: &[DropIn {
            crate_folder: "crates/libhsa-runtime64",
            every_version: true,
            calls: Calls::Observed,
        }],
        other_names: &[],
        versions: &[
            version("5.2.3", "5.2"),
            version("6.1.2", "5.7"),
            version("6.4.3", "6.4"),
            version("7.2.4", "7.2"),
        ],
        headers: "#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <hsa/hsa.h>\n\
                  #include <hsa/hsa_ext_amd.h>\n#include <hsa/hsa_ext_finalize.h>\n\
                  #include <hsa/hsa_ext_image.h>\n#include <hsa/hsa_ven_amd_loader.h>\n\
                  #if __has_include(<hsa/hsa_ven_amd_pc_sampling.h>)\n\
                  #include <hsa/hsa_ven_amd_pc_sampling.h>\n#endif\n\
                  #include <hsa/amd_hsa_queue.h>\n#include <hsa/amd_hsa_signal.h>\n\
                  #include <hsa/amd_hsa_kernel_code.h>\n",
        files: ".*/hsa/(hsa|hsa_ext_amd|hsa_ext_finalize|hsa_ext_image|hsa_ven_amd_loader|hsa_ven_amd_pc_sampling|\
                amd_hsa_[a-z_]*)\\.h",
        declared_here: "",
        imported: &[],
        imported_enums: &[],
        imports: "",
        ignored_constants: "HSA_VERSION_.*|HSA_LARGE_MODEL|HSA_LITTLE_ENDIAN|HSA_AMD_INTERFACE_VERSION_.*|\
                            AMD_HSA_ABI_VERSION",
        status: "hsa_status_t",
        unsupported: "HSA_STATUS_ERROR_NOT_SUPPORTED",
        folded: &[
            ("HSA_STATUS_", "hsa_status_t"),
            ("HSA_EXT_STATUS_", "hsa_status_t"),
            ("HSA_EXT_AGENT_INFO_", "hsa_agent_info_t"),
        ],
        flag_enums: &[
            "hsa_access_permission_t",
            "hsa_amd_memory_pool_flag_s",
            "hsa_amd_memory_pool_global_flag_s",
            "hsa_amd_vmem_address_reserve_flag_s",
            "hsa_amd_log_flag_s",
            "hsa_region_global_flag_t",
            "hsa_exception_policy_t",
            "hsa_ext_image_capability_t",
        ],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Amd,
        what: "HIP",
        report: "hip",
        package: "libamdhip64-dev",
        crate_folder: "crates/hip-sys",
        module: "hip_sys",
        folder: "src",
        drop_ins: &[
            DropIn { crate_folder: "crates/libamdhip64", every_version: false, calls: Calls::Direct },
            DropIn {
                crate_folder: "crates/hip-host",
                every_version: false,
                calls: Calls::Optional(&["hipGetDeviceCount"]),
            },
        ],
        other_names: &[
            (
                "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j",
                "hipExtModuleLaunchKernel",
            ),
            (
                "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_",
                "hipHccModuleLaunchKernel",
            ),
            ("hipGetDevicePropertiesR0000", "hipGetDeviceProperties"),
            ("hipChooseDeviceR0000", "hipChooseDevice"),
        ],
        versions: HIP_VERSIONS,
        // The last lines repeat declarations in C that hip_ext.h has only for C++.
        headers: "#include <stddef.h>\n#include <stdint.h>\n#include <hip/hip_runtime_api.h>\n\
                  #if __has_include(<hip/hip_gl_interop.h>)\n#include <hip/hip_gl_interop.h>\n#endif\n\
                  hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t globalWorkSizeX,\n\
                  uint32_t globalWorkSizeY, uint32_t globalWorkSizeZ, uint32_t localWorkSizeX,\n\
                  uint32_t localWorkSizeY, uint32_t localWorkSizeZ, size_t sharedMemBytes,\n\
                  hipStream_t hStream, void** kernelParams, void** extra, hipEvent_t startEvent,\n\
                  hipEvent_t stopEvent, uint32_t flags);\n\
                  hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t globalWorkSizeX,\n\
                  uint32_t globalWorkSizeY, uint32_t globalWorkSizeZ, uint32_t localWorkSizeX,\n\
                  uint32_t localWorkSizeY, uint32_t localWorkSizeZ, size_t sharedMemBytes,\n\
                  hipStream_t hStream, void** kernelParams, void** extra, hipEvent_t startEvent,\n\
                  hipEvent_t stopEvent);\n",
        files: ".*/hip/.*\\.h",
        declared_here: "hip(Ext|Hcc)ModuleLaunchKernel",
        imported: &[],
        imported_enums: &[],
        imports: "",
        ignored_constants: "HIP_VERSION.*|HIP_HAS_GPU_FUSED_PRINTF|GENERIC_GRID_LAUNCH|__HIP_.*|HIP_DEPRECATED_MSG|DEPRECATED_MSG|.*_API_ID_.*",
        status: "hipError_t",
        unsupported: "hipErrorNotSupported",
        folded: &[("HIP_", "hipError_t")],
        flag_enums: &[
            "hipGraphInstantiateFlags",
            "hipGraphDebugDotFlags",
            "hipMemAllocationHandleType",
            "hipMemRangeFlags",
            "hipMemcpyFlags",
            "hipUserObjectFlags",
            "hipUserObjectRetainFlags",
        ],
        flag_groups: HIP_FLAGS,
        // The plain names still fill HIP 5's layout; headers since 6 rename the calls.
        also_exported: &[
            ("hipGetDeviceProperties", &["6.4.3", "7.2.4"]),
            ("hipChooseDevice", &["6.4.3", "7.2.4"]),
        ],
    },
    Library {
        vendor: Vendor::Amd,
        what: "HIP RTC",
        report: "hiprtc",
        package: "libamdhip64-dev",
        crate_folder: "crates/hip-sys",
        module: "hip_sys::rtc",
        folder: "src/rtc",
        drop_ins: &[DropIn { crate_folder: "crates/libhiprtc", every_version: false, calls: Calls::Direct }],
        other_names: &[],
        versions: HIP_VERSIONS,
        headers: "#include <stddef.h>\n#include <hip/hiprtc.h>\n",
        files: ".*/hip/hiprtc\\.h",
        declared_here: "",
        imported: &["hipJit.*"],
        imported_enums: &["hipJitInputType", "hipJitOption"],
        imports: "pub use crate::bindings::{hipJitInputType, hipJitOption};\n\n",
        ignored_constants: "HIP_VERSION.*",
        status: "hiprtcResult",
        unsupported: "HIPRTC_ERROR_INTERNAL_ERROR",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Amd,
        what: "rocBLAS",
        report: "rocblas",
        package: "librocblas-dev",
        crate_folder: "crates/rocblas-sys",
        module: "rocblas_sys",
        folder: "src",
        drop_ins: &[DropIn { crate_folder: "crates/librocblas", every_version: false, calls: Calls::Direct }],
        other_names: &[],
        versions: &[version("5.5.1", "5.7"), version("6.4.4", "6.4"), version("7.2.4", "7.2")],
        headers: "#define ROCBLAS_BETA_FEATURES_API\n#include <hip/hip_runtime_api.h>\n#include <rocblas/rocblas.h>\n",
        files: ".*/rocblas/.*\\.h",
        declared_here: "",
        imported: &["hip.*", "ihip.*"],
        imported_enums: &[],
        imports: "pub use hip_sys::{hipEvent_t, hipGraphNode_t, hipStream_t};\n\n",
        ignored_constants: "ROCBLAS_VERSION_.*|ROCBLAS_API_.*",
        status: "rocblas_status",
        unsupported: "rocblas_status_not_implemented",
        folded: &[],
        flag_enums: &["rocblas_gemm_flags_", "rocblas_layer_mode_", "rocblas_check_numerics_mode_"],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Amd,
        what: "RCCL",
        report: "rccl",
        package: "librccl-dev",
        crate_folder: "crates/rccl-sys",
        module: "rccl_sys",
        folder: "src",
        drop_ins: &[DropIn { crate_folder: "crates/librccl", every_version: false, calls: Calls::Direct }],
        other_names: &[],
        versions: &[version("5.4.3", "5.7"), version("7.2.4", "7.2")],
        // The runtime's C++ headers contain nothing for a C program here.
        headers: "#include <stddef.h>\n#include <stdint.h>\n#include <hip/hip_runtime_api.h>\n\
                  #define HIP_INCLUDE_HIP_HIP_RUNTIME_H\n#define HIP_INCLUDE_HIP_HIP_FP16_H\n\
                  #include <rccl/rccl.h>\n",
        files: ".*/rccl/rccl\\.h",
        declared_here: "",
        imported: &["hip.*", "ihip.*"],
        imported_enums: &[],
        imports: "pub use hip_sys::hipStream_t;\n\n",
        ignored_constants: "NCCL_(MAJOR|MINOR|PATCH|SUFFIX|VERSION_CODE)",
        status: "ncclResult_t",
        unsupported: "ncclInternalError",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[FlagGroup {
            name: "ncclWindowFlags",
            doc: "How `ncclCommWindowRegister` registers a buffer.",
            constants: &["NCCL_WIN_DEFAULT", "NCCL_WIN_COLL_SYMMETRIC"],
        }],
        also_exported: &[],
    },
    // A function's name says its version here (`cuMemAlloc_v2`): the header's macros, which hide that, are
    // not followed.
    Library {
        vendor: Vendor::Nvidia,
        what: "CUDA",
        report: "cuda",
        package: "nvidia-cuda-runtime",
        crate_folder: "crates/cuda-sys",
        module: "cuda_sys",
        folder: "src",
        drop_ins: &[],
        other_names: &[],
        versions: CUDA_VERSIONS,
        headers: "#include <stddef.h>\n#include <stdint.h>\n#include <cuda.h>\n",
        files: ".*/cuda\\.h",
        declared_here: "",
        imported: &[],
        imported_enums: &[],
        imports: "",
        ignored_constants: "CUDA_VERSION|CUDA_CB|CUDAAPI|__CUDA_.*",
        status: "CUresult",
        unsupported: "CUDA_ERROR_NOT_SUPPORTED",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Nvidia,
        what: "NVRTC",
        report: "nvrtc",
        package: "nvidia-cuda-nvrtc",
        crate_folder: "crates/cuda-sys",
        module: "cuda_sys::nvrtc",
        folder: "src/nvrtc",
        drop_ins: &[],
        other_names: &[],
        versions: CUDA_VERSIONS,
        headers: "#include <stddef.h>\n#include <nvrtc.h>\n",
        files: ".*/nvrtc\\.h",
        declared_here: "",
        imported: &[],
        imported_enums: &[],
        imports: "",
        ignored_constants: "__NVRTC_.*",
        status: "nvrtcResult",
        unsupported: "NVRTC_ERROR_INTERNAL_ERROR",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Nvidia,
        what: "cuBLAS",
        report: "cublas",
        package: "nvidia-cublas",
        crate_folder: "crates/cuda-sys",
        module: "cuda_sys::cublas",
        folder: "src/cublas",
        drop_ins: &[],
        other_names: &[],
        versions: CUDA_VERSIONS,
        // What the header takes from CUDA's runtime, so that this need not be there.
        headers: "#include <stddef.h>\n#include <stdint.h>\n\
                  #define __DRIVER_TYPES_H__\n#define CU_COMPLEX_H_\n\
                  #define __CUDA_FP16_H__\n#define __CUDA_BF16_H__\n\
                  typedef struct CUstream_st *cudaStream_t;\n\
                  typedef struct { float x, y; } cuComplex;\n\
                  typedef struct { double x, y; } cuDoubleComplex;\n\
                  #define CUBLASAPI\n#include <cublas_api.h>\n",
        files: ".*/(cublas_api|library_types)\\.h",
        declared_here: "",
        imported: &[],
        imported_enums: &[],
        imports: "",
        ignored_constants: "CUBLAS_VER_.*|CUBLAS_VERSION|CUBLASAPI|CUBLASWINAPI",
        status: "cublasStatus_t",
        unsupported: "CUBLAS_STATUS_NOT_SUPPORTED",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Nvidia,
        what: "cuBLASLt",
        report: "cublaslt",
        package: "nvidia-cublas",
        crate_folder: "crates/cuda-sys",
        module: "cuda_sys::cublas::lt",
        folder: "src/cublas/lt",
        drop_ins: &[],
        other_names: &[],
        versions: CUDA_VERSIONS,
        // As cuBLAS. Files of C are opaque.
        headers: "#include <stddef.h>\n#include <stdint.h>\n#define _STDIO_H\ntypedef struct FILE FILE;\n\
                  #define __DRIVER_TYPES_H__\n#define CU_COMPLEX_H_\n\
                  #define __CUDA_FP16_H__\n#define __CUDA_BF16_H__\n\
                  typedef struct CUstream_st *cudaStream_t;\n\
                  typedef struct { float x, y; } cuComplex;\n\
                  typedef struct { double x, y; } cuDoubleComplex;\n\
                  #define CUBLASAPI\n#include <cublasLt.h>\n",
        files: ".*/cublasLt\\.h",
        declared_here: "",
        imported: &[
            "cublasStatus_t",
            "cublasComputeType_t",
            "cublasLogCallback",
            "cudaDataType(_t)?",
            "libraryPropertyType(_t)?",
            "cudaStream_t",
            "CUstream_st",
            "cuComplex",
            "cuDoubleComplex",
        ],
        imported_enums: &["cublasStatus_t", "cublasComputeType_t", "cudaDataType", "libraryPropertyType_t"],
        imports: "pub use crate::cublas::bindings::{\n    cublasComputeType_t, cublasStatus_t, cudaDataType, cudaDataType_t, \
                  cudaStream_t, libraryPropertyType,\n    libraryPropertyType_t,\n};\n\n",
        ignored_constants: "CUBLASLT_VER_.*|CUBLASLTAPI",
        status: "cublasStatus_t",
        unsupported: "CUBLAS_STATUS_NOT_SUPPORTED",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
    // As the driver: a name says which form of a function it is.
    Library {
        vendor: Vendor::Nvidia,
        what: "NVML",
        report: "nvml",
        package: "nvidia-nvml-dev",
        crate_folder: "crates/cuda-sys",
        module: "cuda_sys::nvml",
        folder: "src/nvml",
        drop_ins: &[],
        other_names: &[],
        versions: CUDA_VERSIONS,
        headers: "#define NVML_NO_UNVERSIONED_FUNC_DEFS\n#include <nvml.h>\n",
        files: ".*/nvml\\.h",
        declared_here: "",
        imported: &[],
        imported_enums: &[],
        imports: "",
        ignored_constants: "NVML_API_VERSION|NVML_API_VERSION_STR|DECLDIR",
        status: "nvmlReturn_t",
        unsupported: "NVML_ERROR_FUNCTION_NOT_FOUND",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
    Library {
        vendor: Vendor::Nvidia,
        what: "NCCL",
        report: "nccl",
        package: "nvidia-nccl",
        crate_folder: "crates/cuda-sys",
        module: "cuda_sys::nccl",
        folder: "src/nccl",
        drop_ins: &[],
        other_names: &[],
        versions: NCCL_VERSIONS,
        // What the header takes from CUDA's runtime, so that this need not be there.
        headers: "#include <stddef.h>\n#include <stdint.h>\n\
                  #define __CUDA_RUNTIME_H__\n#define __CUDA_FP16_H__\n#define __CUDA_BF16_H__\n\
                  #define __CUDA_FP8_H__\n\
                  typedef struct CUstream_st *cudaStream_t;\n\
                  typedef struct CUevent_st *cudaEvent_t;\n#include <nccl.h>\n",
        files: ".*/nccl\\.h",
        declared_here: "",
        imported: &["cudaStream_t", "CUstream_st"],
        imported_enums: &[],
        imports: "pub use crate::cublas::bindings::cudaStream_t;\n\n",
        ignored_constants: "NCCL_(MAJOR|MINOR|PATCH|SUFFIX|VERSION_CODE)",
        status: "ncclResult_t",
        unsupported: "ncclInternalError",
        folded: &[],
        flag_enums: &[],
        flag_groups: &[],
        also_exported: &[],
    },
];

/// The CUDA versions whose headers are read.
const CUDA_VERSIONS: &[Version] = &[
    version("12.0", "12.0"),
    version("12.4", "12.4"),
    version("12.9", "12.9"),
    version("13.0", "13.0"),
    version("13.5", "13.5"),
];

/// Those of NCCL, in the trees of the CUDA versions for which its packages are.
const NCCL_VERSIONS: &[Version] = &[
    version("2.18.3", "12.0"),
    version("2.23.4", "12.4"),
    version("2.27.7", "13.0"),
    version("2.32.3", "13.5"),
];

const HIP_FLAGS: &[FlagGroup] = &[
    FlagGroup {
        name: "hipDeviceFlags",
        doc: "How the host waits for a device, and what its context maps: `hipSetDeviceFlags`, `hipCtxCreate`.",
        constants: &[
            "hipDeviceScheduleAuto",
            "hipDeviceScheduleSpin",
            "hipDeviceScheduleYield",
            "hipDeviceScheduleBlockingSync",
            "hipDeviceScheduleMask",
            "hipDeviceMapHost",
            "hipDeviceLmemResizeToMax",
        ],
    },
    FlagGroup {
        name: "hipStreamFlags",
        doc: "How a stream is ordered with the null stream: `hipStreamCreateWithFlags`.",
        constants: &["hipStreamDefault", "hipStreamNonBlocking"],
    },
    FlagGroup {
        name: "hipEventFlags",
        doc: "What an event keeps and how it is waited for: `hipEventCreateWithFlags`.",
        constants: &[
            "hipEventDefault",
            "hipEventBlockingSync",
            "hipEventDisableTiming",
            "hipEventInterprocess",
            "hipEventDisableSystemFence",
            "hipEventReleaseToDevice",
            "hipEventReleaseToSystem",
        ],
    },
    FlagGroup {
        name: "hipEventRecordFlags",
        doc: "How an event is recorded: `hipEventRecordWithFlags`.",
        constants: &["hipEventRecordDefault", "hipEventRecordExternal"],
    },
    FlagGroup {
        name: "hipEventWaitFlags",
        doc: "How a stream waits for an event: `hipStreamWaitEvent`.",
        constants: &["hipEventWaitDefault", "hipEventWaitExternal"],
    },
    FlagGroup {
        name: "hipHostMallocFlags",
        doc: "What kind of host memory to allocate: `hipHostMalloc`.",
        constants: &[
            "hipHostMallocDefault",
            "hipHostMallocPortable",
            "hipHostMallocMapped",
            "hipHostMallocWriteCombined",
            "hipHostMallocUncached",
            "hipHostMallocNumaUser",
            "hipHostMallocCoherent",
            "hipHostMallocNonCoherent",
        ],
    },
    FlagGroup {
        name: "hipHostRegisterFlags",
        doc: "How host memory is registered: `hipHostRegister`.",
        constants: &[
            "hipHostRegisterDefault",
            "hipHostRegisterPortable",
            "hipHostRegisterMapped",
            "hipHostRegisterIoMemory",
            "hipHostRegisterReadOnly",
            "hipExtHostRegisterCoarseGrained",
            "hipExtHostRegisterUncached",
        ],
    },
    FlagGroup {
        name: "hipDeviceMallocFlags",
        doc: "What kind of device memory to allocate: `hipExtMallocWithFlags`.",
        constants: &[
            "hipDeviceMallocDefault",
            "hipDeviceMallocFinegrained",
            "hipMallocSignalMemory",
            "hipDeviceMallocUncached",
            "hipDeviceMallocContiguous",
        ],
    },
    FlagGroup {
        name: "hipMemAttachFlags",
        doc: "Who may touch managed memory: `hipMallocManaged`, `hipStreamAttachMemAsync`.",
        constants: &["hipMemAttachGlobal", "hipMemAttachHost", "hipMemAttachSingle"],
    },
    FlagGroup {
        name: "hipIpcMemFlags",
        doc: "How another process's memory is opened: `hipIpcOpenMemHandle`.",
        constants: &["hipIpcMemLazyEnablePeerAccess"],
    },
    FlagGroup {
        name: "hipArrayFlags",
        doc: "What an array is for: `hipMallocArray`, `hipArray3DCreate`.",
        constants: &[
            "hipArrayDefault",
            "hipArrayLayered",
            "hipArraySurfaceLoadStore",
            "hipArrayCubemap",
            "hipArrayTextureGather",
        ],
    },
    FlagGroup {
        name: "hipOccupancyFlags",
        doc: "How occupancy is calculated: `hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.",
        constants: &["hipOccupancyDefault", "hipOccupancyDisableCachingOverride"],
    },
    FlagGroup {
        name: "hipCooperativeLaunchFlags",
        doc: "What a cooperative launch on several devices may skip: `hipLaunchCooperativeKernelMultiDevice`.",
        constants: &["hipCooperativeLaunchMultiDeviceNoPreSync", "hipCooperativeLaunchMultiDeviceNoPostSync"],
    },
    FlagGroup {
        name: "hipExternalMemoryFlags",
        doc: "How external memory is imported: `hipImportExternalMemory`.",
        constants: &["hipExternalMemoryDedicated"],
    },
];
