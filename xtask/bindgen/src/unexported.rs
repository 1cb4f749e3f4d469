//! Functions that a version's headers declare but its library does not export.
//!
//! Found by comparing the headers with the symbols of the libraries in Debian's packages. `cargo xtask test
//! rocm` checks every row against those libraries, and that there are no others.

/// Library (as its report is named), versions, symbol; one row per symbol.
pub(crate) static UNEXPORTED: &[(&str, &[&str], &str)] = &[
    // Entries of the table that `hsa_system_get_major_extension_table` fills; they are never symbols.
    (
        "hsa",
        &["5.2.3", "6.1.2", "6.4.3", "7.2.4"],
        "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
    ),
    (
        "hsa",
        &["5.2.3", "6.1.2", "6.4.3", "7.2.4"],
        "hsa_ven_amd_loader_executable_iterate_loaded_code_objects",
    ),
    ("hsa", &["5.2.3", "6.1.2", "6.4.3", "7.2.4"], "hsa_ven_amd_loader_iterate_executables"),
    ("hsa", &["5.2.3", "6.1.2", "6.4.3", "7.2.4"], "hsa_ven_amd_loader_loaded_code_object_get_info"),
    ("hsa", &["5.2.3", "6.1.2", "6.4.3", "7.2.4"], "hsa_ven_amd_loader_query_executable"),
    ("hsa", &["5.2.3", "6.1.2", "6.4.3", "7.2.4"], "hsa_ven_amd_loader_query_host_address"),
    ("hsa", &["5.2.3", "6.1.2", "6.4.3", "7.2.4"], "hsa_ven_amd_loader_query_segment_descriptors"),
    ("hip", &["6.4.3"], "hipDeviceGetTexture1DLinearMaxWidth"),
    // HIP 5 exports this one and `hipHccModuleLaunchKernel` only under their C++ names.
    ("hip", &["5.2.3", "5.7.1"], "hipExtModuleLaunchKernel"),
    ("hip", &["6.4.3", "7.2.4"], "hipExternalMemoryGetMappedMipmappedArray"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphAddExternalSemaphoresSignalNode"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphAddExternalSemaphoresWaitNode"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphExecExternalSemaphoresSignalNodeSetParams"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphExecExternalSemaphoresWaitNodeSetParams"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphExternalSemaphoresSignalNodeGetParams"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphExternalSemaphoresSignalNodeSetParams"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphExternalSemaphoresWaitNodeGetParams"),
    ("hip", &["5.7.1", "6.4.3"], "hipGraphExternalSemaphoresWaitNodeSetParams"),
    ("hip", &["5.2.3"], "hipGraphKernelNodeGetAttribute"),
    ("hip", &["5.2.3"], "hipGraphKernelNodeSetAttribute"),
    ("hip", &["5.2.3", "5.7.1"], "hipHccModuleLaunchKernel"),
    ("hip", &["5.2.3"], "hipLaunchHostFunc"),
    ("hip", &["5.2.3", "5.7.1"], "hipTexRefGetMipMappedArray"),
    // Names for profilers, present only in builds with PROFAPI.
    ("rccl", &["7.2.4"], "pmscclLoadAlgo"),
    ("rccl", &["7.2.4"], "pmscclRunAlgo"),
    ("rccl", &["7.2.4"], "pmscclUnloadAlgo"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclAllGather"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclAllReduce"),
    ("rccl", &["7.2.4"], "pncclAllReduceWithBias"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclAllToAll"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclAllToAllv"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclBcast"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclBroadcast"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommAbort"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommCount"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommCuDevice"),
    ("rccl", &["7.2.4"], "pncclCommDeregister"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommDestroy"),
    ("rccl", &["7.2.4"], "pncclCommFinalize"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommGetAsyncError"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommInitAll"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommInitRank"),
    ("rccl", &["7.2.4"], "pncclCommInitRankConfig"),
    ("rccl", &["5.4.3"], "pncclCommInitRankMulti"),
    ("rccl", &["7.2.4"], "pncclCommInitRankScalable"),
    ("rccl", &["7.2.4"], "pncclCommRegister"),
    ("rccl", &["7.2.4"], "pncclCommShrink"),
    ("rccl", &["7.2.4"], "pncclCommSplit"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclCommUserRank"),
    ("rccl", &["7.2.4"], "pncclCommWindowDeregister"),
    ("rccl", &["7.2.4"], "pncclCommWindowRegister"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclGather"),
    ("rccl", &["5.4.3"], "pncclGetError"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclGetErrorString"),
    ("rccl", &["7.2.4"], "pncclGetLastError"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclGetUniqueId"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclGetVersion"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclGroupEnd"),
    ("rccl", &["7.2.4"], "pncclGroupSimulateEnd"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclGroupStart"),
    ("rccl", &["7.2.4"], "pncclMemAlloc"),
    ("rccl", &["7.2.4"], "pncclMemFree"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclRecv"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclRedOpCreatePreMulSum"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclRedOpDestroy"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclReduce"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclReduceScatter"),
    ("rccl", &["7.2.4"], "pncclResetDebugInit"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclScatter"),
    ("rccl", &["5.4.3", "7.2.4"], "pncclSend"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_unique() {
        for pair in UNEXPORTED.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            assert!(pair[0].2 < pair[1].2, "{} before {}", pair[0].2, pair[1].2);
        }
    }

    #[test]
    fn rows_name_libraries_and_versions_that_are_read() {
        for (name, versions, symbol) in UNEXPORTED {
            let library = crate::library::LIBRARIES.iter().find(|library| library.report == *name);
            let library = library.unwrap_or_else(|| panic!("{symbol}: no library is named {name}"));
            for version in *versions {
                assert!(library.versions.iter().any(|v| v.version == *version), "{symbol}: {version}");
            }
        }
    }
}
