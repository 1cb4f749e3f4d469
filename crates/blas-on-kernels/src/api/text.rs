//! Versions, and names of statuses.

use std::ffi::{CStr, c_char};

use rocblas_sys::rocblas_status;

use crate::call::{INVALID_POINTER, INVALID_SIZE, Result, entry};

/// The version of the rocBLAS whose headers define the table, and this crate's.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!("5.2.0.ferrocm-", env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"5.2.0",
    };
/// A program cannot know a commit, so there is none.
const COMMIT: &CStr = c"ferrocm";

/// # Safety
/// `out` must be null or have room for `length` bytes.
unsafe fn copy(out: *mut c_char, length: usize, text: &CStr) -> Result {
    if out.is_null() {
        return Err(INVALID_POINTER);
    }
    let bytes = text.to_bytes_with_nul();
    if length < bytes.len() {
        return Err(INVALID_SIZE);
    }
    // SAFETY: as this function's contract.
    unsafe { out.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// # Safety
/// `out` must be null or valid for writing.
unsafe fn size(out: *mut usize, text: &CStr) -> Result {
    if out.is_null() {
        return Err(INVALID_POINTER);
    }
    // SAFETY: as this function's contract.
    unsafe { out.write(text.to_bytes_with_nul().len()) };
    Ok(())
}

pub(super) unsafe extern "C" fn rocblas_get_version_string(
    out: *mut c_char,
    length: usize,
) -> rocblas_status {
    // SAFETY: the caller passes room for this many bytes.
    entry(|| unsafe { copy(out, length, VERSION) })
}

pub(super) unsafe extern "C" fn rocblas_get_version_string_size(out: *mut usize) -> rocblas_status {
    // SAFETY: the caller passes a place for a number.
    entry(|| unsafe { size(out, VERSION) })
}

pub(super) unsafe extern "C" fn rocblas_get_commit_hash_string(
    out: *mut c_char,
    length: usize,
) -> rocblas_status {
    // SAFETY: the caller passes room for this many bytes.
    entry(|| unsafe { copy(out, length, COMMIT) })
}

pub(super) unsafe extern "C" fn rocblas_get_commit_hash_string_size(out: *mut usize) -> rocblas_status {
    // SAFETY: the caller passes a place for a number.
    entry(|| unsafe { size(out, COMMIT) })
}

macro_rules! names {
    ($($name:ident)+) => {
        pub(super) unsafe extern "C" fn rocblas_status_to_string(status: rocblas_status) -> *const c_char {
            let text: &CStr = match status {
                $(rocblas_status::$name => {
                    // The names contain no NUL and end with one.
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(text) => text,
                        Err(_) => c"",
                    }
                })+
                _ => c"<undefined rocblas_status value>",
            };
            text.as_ptr()
        }
    };
}
names! {
    rocblas_status_success rocblas_status_invalid_handle rocblas_status_not_implemented rocblas_status_invalid_pointer
    rocblas_status_invalid_size rocblas_status_memory_error rocblas_status_internal_error rocblas_status_perf_degraded
    rocblas_status_size_query_mismatch rocblas_status_size_increased rocblas_status_size_unchanged
    rocblas_status_invalid_value rocblas_status_continue rocblas_status_check_numerics_fail
    rocblas_status_excluded_from_build rocblas_status_arch_mismatch
}
