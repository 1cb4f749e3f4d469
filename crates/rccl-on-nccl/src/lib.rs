//! The RCCL function table, filled with NVIDIA's NCCL, for NVIDIA GPUs.
//!
//! RCCL is NCCL's interface for AMD GPUs: the functions that both have take the same arguments, with the same
//! numbers for types, operators and results, and streams are the driver's own, which is what `hip-on-cuda`
//! calls a stream. So nothing is translated here: [`table`] finds `libnccl.so.2` ([`cuda_sys::nccl`]), and
//! fills RCCL's table with its functions. What NCCL lacks is a stub, as for any RCCL: `ncclAllToAll`,
//! `ncclAllToAllv`, `ncclAllReduceWithBias`, `ncclCommInitRankMulti`. So are functions that an old NCCL
//! lacks.
//!
//! ```no_run
//! let rccl = rccl_on_nccl::table()?;
//! assert!(rccl.has("ncclAllReduce") && !rccl.has("ncclAllToAllv"));
//! # Ok::<(), rccl_sys::LoadError>(())
//! ```
#![warn(missing_docs)]

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cuda_sys::nccl;
use rccl_sys::{LoadError, Table};

/// RCCL's table with NCCL's functions. The library is opened once; a failure is not remembered. No GPU is
/// needed.
///
/// # Errors
/// [`LoadError`] lists every place that was tried.
pub fn table() -> Result<&'static Table, LoadError> {
    static TABLE: Mutex<Option<&'static Table>> = Mutex::new(None);
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = *table {
        return Ok(table);
    }
    let found = nccl::Table::load()?;
    // A loaded table knows its file.
    let file = found.path().unwrap_or(Path::new(""));
    // SAFETY: the file is NCCL, whose functions have the arguments and the contract of RCCL's of their names.
    let filled = unsafe { Table::load_from(file)? };
    *table = Some(filled);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use rccl_sys::{ncclConfig_t, ncclResult_t, ncclUniqueId};
    use test_skip::{Lack, skip};

    use super::*;

    #[test]
    fn nccl_fills_rccls_table() {
        let table = match table() {
            Ok(table) => table,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("FERROCM_NCCL_LIBRARY") && text.contains("libnccl.so.2"), "{text}");
                assert!(!text.contains("rocm"), "NCCL is not part of ROCm: {text}");
                return skip(Lack::Machine, format_args!("no NCCL (PyPI has it: nvidia-nccl-cu12): {error}"));
            }
        };
        assert!(table.version().is_some_and(|version| version.major == 2), "{:?}", table.version());
        for name in ["ncclAllGather", "ncclAllReduce", "ncclCommInitRankConfig", "ncclGroupEnd", "ncclSend"] {
            assert!(table.has(name), "{name}");
        }
        assert!(!table.has("ncclAllToAllv"));
        // SAFETY: the function returns a constant.
        let text = unsafe { std::ffi::CStr::from_ptr((table.ncclGetErrorString)(ncclResult_t::ncclSuccess)) };
        assert_eq!(text, c"no error");
        assert!(std::ptr::eq(super::table().unwrap(), table));
    }

    /// What is handed over by value or number is what `nccl.h` has.
    #[test]
    fn values_are_nccls() {
        macro_rules! same {
            ($($type:ident: $($value:ident)*;)*) => {
                $($(assert_eq!(rccl_sys::$type::$value.0, nccl::$type::$value.0, stringify!($value));)*)*
            };
        }
        same! {
            ncclDataType_t: ncclInt8 ncclUint8 ncclInt32 ncclUint32 ncclInt64 ncclUint64 ncclFloat16 ncclFloat32
                ncclFloat64 ncclBfloat16 ncclFloat8e4m3 ncclFloat8e5m2;
            ncclRedOp_t: ncclSum ncclProd ncclMax ncclMin ncclAvg;
            ncclResult_t: ncclSuccess ncclUnhandledCudaError ncclSystemError ncclInternalError ncclInvalidArgument
                ncclInvalidUsage ncclRemoteError ncclInProgress;
            ncclScalarResidence_t: ncclScalarDevice ncclScalarHostImmediate;
        }
        assert_eq!(size_of::<ncclUniqueId>(), size_of::<nccl::ncclUniqueId>());
    }

    /// RCCL's configuration is the start of NCCL's, which reads as much as its first field says.
    #[test]
    fn a_configuration_is_the_start_of_nccls() {
        macro_rules! same {
            ($($field:ident)*) => {
                $(assert_eq!(offset_of!(ncclConfig_t, $field), offset_of!(nccl::ncclConfig_t, $field));)*
            };
        }
        same!(size magic version blocking cgaClusterSize minCTAs maxCTAs netName splitShare trafficClass);
        assert!(size_of::<ncclConfig_t>() <= size_of::<nccl::ncclConfig_t>());
    }

    /// What RCCL adds is a stub with NCCL; everything else NCCL has, under the same name.
    #[test]
    fn nccl_has_all_but_what_rccl_adds() {
        let added: Vec<_> =
            Table::symbols().filter(|name| nccl::Table::unsupported().availability(name).is_none()).collect();
        assert_eq!(added, ADDED);
    }

    /// What RCCL has and NCCL does not.
    const ADDED: &[&str] = &[
        "mscclLoadAlgo",
        "mscclRunAlgo",
        "mscclUnloadAlgo",
        "ncclAllReduceWithBias",
        "ncclAllToAll",
        "ncclAllToAllv",
        "ncclCommInitRankMulti",
        "pmscclLoadAlgo",
        "pmscclRunAlgo",
        "pmscclUnloadAlgo",
        "pncclAllReduceWithBias",
        "pncclAllToAll",
        "pncclAllToAllv",
        "pncclCommInitRankMulti",
        "pncclGetError",
    ];
}
