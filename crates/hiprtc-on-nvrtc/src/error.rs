//! Errors.

use std::ffi::CStr;
use std::fmt;

use cuda_sys::nvrtc::nvrtcResult;
use hip_sys::rtc::hiprtcResult;

/// [`table`](crate::table) was called with another NVRTC before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherCompiler;

impl fmt::Display for OtherCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hiprtc is already on top of another NVRTC")
    }
}

impl std::error::Error for OtherCompiler {}

/// Makes the table of results: NVRTC's, and hiprtc's.
macro_rules! results {
    ($($nvrtc:ident => $hiprtc:ident;)*) => {
        /// What hiprtc calls a result of NVRTC's. One that it has no name for is an internal error.
        pub(crate) fn translate(result: nvrtcResult) -> hiprtcResult {
            match result {
                $(nvrtcResult::$nvrtc => hiprtcResult::$hiprtc,)*
                _ => hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR,
            }
        }

        /// The name of a result.
        pub(crate) fn name(result: hiprtcResult) -> &'static CStr {
            let name = match result {
                $(hiprtcResult::$hiprtc => concat!(stringify!($hiprtc), "\0"),)*
                hiprtcResult::HIPRTC_ERROR_LINKING => "HIPRTC_ERROR_LINKING\0",
                _ => "Invalid HIPRTC error code\0",
            };
            CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
        }
    };
}

results! {
    NVRTC_SUCCESS => HIPRTC_SUCCESS;
    NVRTC_ERROR_OUT_OF_MEMORY => HIPRTC_ERROR_OUT_OF_MEMORY;
    NVRTC_ERROR_PROGRAM_CREATION_FAILURE => HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
    NVRTC_ERROR_INVALID_INPUT => HIPRTC_ERROR_INVALID_INPUT;
    NVRTC_ERROR_INVALID_PROGRAM => HIPRTC_ERROR_INVALID_PROGRAM;
    NVRTC_ERROR_INVALID_OPTION => HIPRTC_ERROR_INVALID_OPTION;
    NVRTC_ERROR_COMPILATION => HIPRTC_ERROR_COMPILATION;
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE => HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION => HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION => HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID => HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    NVRTC_ERROR_INTERNAL_ERROR => HIPRTC_ERROR_INTERNAL_ERROR;
}
