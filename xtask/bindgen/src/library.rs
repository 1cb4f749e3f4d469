//! What is generated for each library.

/// One library: its headers, and what its function table needs to know.
pub(crate) struct Library {
    /// Name for people.
    pub(crate) what: &'static str,
    /// Folder of the generated files, from the workspace root.
    pub(crate) folder: &'static str,
    /// C text that includes the headers.
    pub(crate) headers: &'static str,
    /// Regular expression over the paths of headers whose items are wanted.
    pub(crate) files: &'static str,
    /// Items that come from another of our modules instead.
    pub(crate) imported: &'static [&'static str],
    /// `use` line that brings them in.
    pub(crate) imports: &'static str,
    /// The type that functions return to say how they went.
    pub(crate) status: &'static str,
    /// Its constant for "not supported", which stubs return.
    pub(crate) unsupported: &'static str,
    /// Unnamed C enums whose constants belong to a named one: prefix of the constants, name of the type.
    pub(crate) folded: &'static [(&'static str, &'static str)],
}

/// Every library of this workspace.
pub(crate) fn all() -> [Library; 3] {
    [
        Library {
            what: "HSA",
            folder: "crates/hsa-sys/src",
            headers: "#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <hsa/hsa.h>\n\
                      #include <hsa/hsa_ext_amd.h>\n#include <hsa/hsa_ven_amd_loader.h>\n\
                      #include <hsa/amd_hsa_queue.h>\n#include <hsa/amd_hsa_signal.h>\n\
                      #include <hsa/amd_hsa_kernel_code.h>\n",
            files: ".*/hsa/[a-z_]*\\.h",
            imported: &[],
            imports: "",
            status: "hsa_status_t",
            unsupported: "HSA_STATUS_ERROR_NOT_SUPPORTED",
            folded: &[
                ("HSA_STATUS_", "hsa_status_t"),
                ("HSA_EXT_STATUS_", "hsa_status_t"),
                ("HSA_EXT_AGENT_INFO_", "hsa_agent_info_t"),
            ],
        },
        Library {
            what: "HIP",
            folder: "crates/hip-sys/src",
            headers: "#include <stddef.h>\n#include <hip/hip_runtime_api.h>\n",
            files: ".*/hip/.*\\.h",
            imported: &[],
            imports: "",
            status: "hipError_t",
            unsupported: "hipErrorNotSupported",
            folded: &[("HIP_", "hipError_t")],
        },
        Library {
            what: "HIP RTC",
            folder: "crates/hip-sys/src/rtc",
            headers: "#include <stddef.h>\n#include <hip/hiprtc.h>\n",
            files: ".*/hip/hiprtc\\.h",
            imported: &["hipJit.*"],
            imports: "pub use crate::bindings::{hipJitInputType, hipJitOption};\n\n",
            status: "hiprtcResult",
            unsupported: "HIPRTC_ERROR_INTERNAL_ERROR",
            folded: &[],
        },
    ]
}
