//! Functions without a communicator: texts, versions, unique ids, memory.

use std::ffi::{c_char, c_int, c_void};

use rccl_sys::{ncclComm_t, ncclResult_t, ncclUniqueId};

use super::{hip_table, place};
use crate::comm::Comm;
use crate::error::{hip, keep_text, last_text, plain};
use crate::id::Id;

/// 2.27.7, the version of the headers that the functions follow.
const VERSION: c_int = 22_707;

/// `ncclGetVersion`: the version of the headers that the functions follow.
pub(crate) unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> ncclResult_t {
    // SAFETY: the caller passes null or a valid place.
    plain(|| unsafe { place(version, "version") }.map(|version| *version = VERSION))
}

/// `ncclGetUniqueId`.
pub(crate) unsafe extern "C" fn ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t {
    plain(|| {
        // SAFETY: the caller passes null or a valid place.
        let place = unsafe { place(id, "uniqueId") }?;
        *place = Id::fresh()?.raw();
        Ok(())
    })
}

/// `ncclGetErrorString`.
pub(crate) unsafe extern "C" fn ncclGetErrorString(code: ncclResult_t) -> *const c_char {
    let text = match code {
        ncclResult_t::ncclSuccess => c"no error",
        ncclResult_t::ncclUnhandledCudaError => c"unhandled HIP error; ncclGetLastError has details",
        ncclResult_t::ncclSystemError => c"unhandled system error; ncclGetLastError has details",
        ncclResult_t::ncclInternalError => c"internal error, or a function that is not supported",
        ncclResult_t::ncclInvalidArgument => c"invalid argument; ncclGetLastError has details",
        ncclResult_t::ncclInvalidUsage => c"invalid usage; ncclGetLastError has details",
        ncclResult_t::ncclRemoteError => c"remote process exited or there was a network error",
        ncclResult_t::ncclInProgress => c"in progress",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

/// `ncclGetLastError`: the text of the failure that ended the communicator, else of this thread's last failed
/// call. It lives until this thread's next call.
pub(crate) unsafe extern "C" fn ncclGetLastError(comm: ncclComm_t) -> *const c_char {
    match Comm::of(comm).and_then(|comm| comm.status()) {
        Err(failure) if !comm.is_null() && Comm::of(comm).is_ok() => keep_text(&failure.text),
        _ => last_text(),
    }
}

/// `ncclResetDebugInit`: nothing is printed, so there are no settings to read again.
pub(crate) unsafe extern "C" fn ncclResetDebugInit() {}

/// `ncclMemAlloc` (`hipMalloc`).
pub(crate) unsafe extern "C" fn ncclMemAlloc(pointer: *mut *mut c_void, size: usize) -> ncclResult_t {
    plain(|| {
        // SAFETY: the caller passes null or a valid place.
        let pointer = unsafe { place(pointer, "ptr") }?;
        // SAFETY: as above.
        unsafe { hip!(hip_table()?, hipMalloc(pointer, size)) }
    })
}

/// `ncclMemFree` (`hipFree`).
pub(crate) unsafe extern "C" fn ncclMemFree(pointer: *mut c_void) -> ncclResult_t {
    // SAFETY: the caller passes memory of `ncclMemAlloc` that is not in use.
    plain(|| unsafe { hip!(hip_table()?, hipFree(pointer)) })
}
