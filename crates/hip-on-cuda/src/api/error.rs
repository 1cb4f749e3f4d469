//! What errors are called.

use std::ffi::{CStr, c_char};
use std::ptr::null;

use hip_sys::hipError_t;

use crate::call::last;
use crate::error::{TABLE, cuda_error};
use crate::runtime::cuda;

/// `hipGetErrorString`: what the driver says about the error that this one stands for.
pub(crate) unsafe extern "C" fn hipGetErrorString(error: hipError_t) -> *const c_char {
    let mut text = null();
    if let (Some(cuda), Some(status)) = (cuda(), cuda_error(error)) {
        // SAFETY: the result is a place to write to.
        let _ = unsafe { (cuda.cuGetErrorString)(status, &raw mut text) };
    }
    if text.is_null() { name(error).as_ptr() } else { text }
}

/// `hipGetErrorName`: HIP's name.
pub(crate) unsafe extern "C" fn hipGetErrorName(error: hipError_t) -> *const c_char {
    name(error).as_ptr()
}

/// The names end where Rust's do, so those that can come are kept with a NUL behind them.
fn name(error: hipError_t) -> &'static CStr {
    use std::collections::HashMap;
    use std::ffi::CString;
    use std::sync::OnceLock;
    static NAMES: OnceLock<HashMap<hipError_t, CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let named = TABLE.iter().filter_map(|(_, hip)| Some((*hip, CString::new(hip.name()?).ok()?)));
        named.collect()
    });
    names.get(&error).map_or(c"an error of HIP's that NVIDIA's driver does not have", |name| name.as_c_str())
}

/// `hipGetLastError`: the thread's last failure, which is forgotten.
pub(crate) unsafe extern "C" fn hipGetLastError() -> hipError_t {
    last(false)
}

/// `hipPeekAtLastError`: the same, and it is kept.
pub(crate) unsafe extern "C" fn hipPeekAtLastError() -> hipError_t {
    last(true)
}
