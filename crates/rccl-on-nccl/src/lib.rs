//! The RCCL function table, filled with NVIDIA's NCCL, for NVIDIA GPUs.
//!
//! RCCL is NCCL's interface for AMD GPUs: the functions that both have take the same arguments, with the same
//! numbers for types, operators and results, and streams are the driver's own, which is what `hip-on-cuda`
//! calls a stream. So nothing is translated here: [`table`] finds `libnccl.so.2`, and fills RCCL's table with
//! its functions. What NCCL lacks is a stub, as for any RCCL: `ncclAllToAll`, `ncclAllToAllv`,
//! `ncclAllReduceWithBias`, `ncclCommInitRankMulti`. So are functions that an old NCCL lacks.
//!
//! ```no_run
//! let rccl = rccl_on_nccl::table()?;
//! assert!(rccl.has("ncclAllReduce") && !rccl.has("ncclAllToAllv"));
//! # Ok::<(), rccl_sys::LoadError>(())
//! ```
#![warn(missing_docs)]

use std::sync::{Mutex, PoisonError};

use rccl_sys::{LoadError, Table};
use sys_load::{Functions as _, Library, Search};

/// What to look for. `ncclCommInitRank` is in every NCCL, and `ncclGetVersion` tells its version as RCCL's.
const SEARCH: Search = Search {
    what: "NCCL",
    variable: "FERROCM_NCCL_LIBRARY",
    names: if cfg!(windows) { &["nccl.dll"] } else { &["libnccl.so.2", "libnccl.so"] },
    rocm: false,
    ..Table::SEARCH
};

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
    // SAFETY: files of these names are NCCL, whose initialisers may run in any process, and which tells its
    // version as RCCL does.
    let library = unsafe { Library::find(&SEARCH)? };
    // SAFETY: the file is NCCL, whose functions have the arguments and the contract of RCCL's of their names.
    let filled = unsafe { Table::load_from(library.path())? };
    *table = Some(filled);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use rccl_sys::{ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
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

    /// What is handed over by value or number, as `nccl.h` has it.
    #[test]
    fn values_are_nccls() {
        assert_eq!(size_of::<ncclUniqueId>(), 128);
        let types = [
            (ncclDataType_t::ncclInt8, 0),
            (ncclDataType_t::ncclFloat16, 6),
            (ncclDataType_t::ncclFloat32, 7),
            (ncclDataType_t::ncclFloat64, 8),
            (ncclDataType_t::ncclBfloat16, 9),
            (ncclDataType_t::ncclFloat8e4m3, 10),
            (ncclDataType_t::ncclFloat8e5m2, 11),
        ];
        assert!(types.iter().all(|(value, number)| value.0 == *number));
        let operators =
            [ncclRedOp_t::ncclSum, ncclRedOp_t::ncclProd, ncclRedOp_t::ncclMax, ncclRedOp_t::ncclMin];
        assert!(operators.iter().zip(0..).all(|(value, number)| value.0 == number));
        assert_eq!((ncclRedOp_t::ncclAvg.0, ncclResult_t::ncclInProgress.0), (4, 7));
    }
}
