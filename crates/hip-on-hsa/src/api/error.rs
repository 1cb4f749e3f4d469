//! Error codes for programs: the last one of the thread, their names and texts.

use std::ffi::CStr;

use hip_sys::hipError_t;

use crate::caller;
use crate::error::{LAST_CODE, LAST_ERROR, Result, describe, entry};
use crate::unseen;

/// The thread sees its last failure, including that of a launch without a result.
fn told(code: hipError_t) -> hipError_t {
    if code != hipError_t::hipSuccess {
        unseen::asked();
    }
    code
}

/// `hipGetLastError`: returns the thread's last failure and forgets it.
pub(crate) unsafe extern "C" fn hipGetLastError() -> hipError_t {
    told(LAST_ERROR.replace(hipError_t::hipSuccess))
}

/// `hipPeekAtLastError`: returns the thread's last failure.
pub(crate) unsafe extern "C" fn hipPeekAtLastError() -> hipError_t {
    told(LAST_ERROR.get())
}

/// `hipExtGetLastError`: returns the code of the thread's last call and forgets it.
pub(crate) unsafe extern "C" fn hipExtGetLastError() -> hipError_t {
    told(LAST_CODE.replace(hipError_t::hipSuccess))
}

/// `hipGetErrorName`: the code's C name.
pub(crate) unsafe extern "C" fn hipGetErrorName(code: hipError_t) -> *const std::ffi::c_char {
    describe(code).map_or(c"hipErrorUnknown", |(name, _)| name).as_ptr()
}

/// `hipGetErrorString`: one phrase about the code.
pub(crate) unsafe extern "C" fn hipGetErrorString(code: hipError_t) -> *const std::ffi::c_char {
    describe(code).map_or(c"unknown error", |(_, text)| text).as_ptr()
}

/// `hipDrvGetErrorName`: as [`hipGetErrorName`], but an unknown code is an error.
pub(crate) unsafe extern "C" fn hipDrvGetErrorName(
    code: hipError_t,
    out: *mut *const std::ffi::c_char,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { write_text(out, describe(code).map(|(name, _)| name)) })
}

/// `hipDrvGetErrorString`: as [`hipGetErrorString`], but an unknown code is an error.
pub(crate) unsafe extern "C" fn hipDrvGetErrorString(
    code: hipError_t,
    out: *mut *const std::ffi::c_char,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { write_text(out, describe(code).map(|(_, text)| text)) })
}

/// # Safety
/// `out` is null or valid for writing a pointer.
unsafe fn write_text(out: *mut *const std::ffi::c_char, text: Option<&'static CStr>) -> Result {
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    *out = text.map_or(std::ptr::null(), CStr::as_ptr);
    text.map(|_| ()).ok_or(hipError_t::hipErrorInvalidValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stays_until_it_is_taken_and_success_does_not_clear_it() {
        // SAFETY: these functions have no preconditions.
        unsafe {
            let _ = hipGetLastError();
            assert_eq!(entry(|| Err(hipError_t::hipErrorInvalidValue)), hipError_t::hipErrorInvalidValue);
            assert_eq!(entry(|| Ok(())), hipError_t::hipSuccess);
            assert_eq!(entry(|| Err(hipError_t::hipErrorNotReady)), hipError_t::hipErrorNotReady);
            assert_eq!(hipExtGetLastError(), hipError_t::hipErrorNotReady);
            assert_eq!(hipPeekAtLastError(), hipError_t::hipErrorInvalidValue);
            assert_eq!(hipGetLastError(), hipError_t::hipErrorInvalidValue);
            assert_eq!(hipGetLastError(), hipError_t::hipSuccess);
        }
    }

    #[test]
    fn unknown_codes_have_texts_too() {
        // SAFETY: the functions take any code; the out pointer is valid.
        unsafe {
            let text = CStr::from_ptr(hipGetErrorString(hipError_t(12345)));
            assert_eq!(text, c"unknown error");
            let mut out = std::ptr::null();
            assert_eq!(hipDrvGetErrorName(hipError_t(12345), &mut out), hipError_t::hipErrorInvalidValue);
            assert!(out.is_null());
            assert_eq!(hipDrvGetErrorName(hipError_t::hipErrorNotFound, &mut out), hipError_t::hipSuccess);
            assert_eq!(CStr::from_ptr(out), c"hipErrorNotFound");
        }
    }
}
