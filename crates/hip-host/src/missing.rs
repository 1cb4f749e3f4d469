//! The results of functions without a table.

use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

use hip_sys::{Builder, Table, hipError_t};

/// The status that functions return.
pub(crate) const STATUS: hipError_t = hipError_t::hipErrorNoDevice;

/// A table that counts 0 devices, and has error texts for programs that print them.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        builder.hipGetDeviceCount(hipGetDeviceCount);
        builder.hipGetErrorName(hipGetErrorName).hipGetErrorString(hipGetErrorString);
        // SAFETY: the functions do what HIP's headers say; nothing else is called.
        unsafe { builder.finish() }
    })
}

#[allow(non_snake_case, reason = "the function has a C name")]
unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> hipError_t {
    if count.is_null() {
        return hipError_t::hipErrorInvalidValue;
    }
    // SAFETY: the caller passes null or a place for the number.
    unsafe { count.write(0) };
    STATUS
}

#[allow(non_snake_case, reason = "the function has a C name")]
unsafe extern "C" fn hipGetErrorName(code: hipError_t) -> *const c_char {
    let name = match code {
        hipError_t::hipSuccess => c"hipSuccess",
        STATUS => c"hipErrorNoDevice",
        hipError_t::hipErrorInvalidValue => c"hipErrorInvalidValue",
        _ => c"hipErrorUnknown",
    };
    name.as_ptr()
}

#[allow(non_snake_case, reason = "the function has a C name")]
unsafe extern "C" fn hipGetErrorString(code: hipError_t) -> *const c_char {
    let text = match code {
        hipError_t::hipSuccess => c"no error",
        STATUS => c"no device, and no HIP implementation",
        hipError_t::hipErrorInvalidValue => c"invalid argument",
        _ => c"unknown error",
    };
    text.as_ptr()
}
