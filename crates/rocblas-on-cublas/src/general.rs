//! Handles, their settings, and texts.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

use cuda_sys::cublas::{cublasAtomicsMode_t, cublasMath_t, cublasPointerMode_t};
use hip_sys::hipStream_t;
use rocblas_sys::{
    Builder, rocblas_atomics_mode, rocblas_handle, rocblas_math_mode, rocblas_pointer_mode, rocblas_status,
};

use crate::convert::To;
use crate::library::{call, cublas};

const SUCCESS: rocblas_status = rocblas_status::rocblas_status_success;
const INVALID_POINTER: rocblas_status = rocblas_status::rocblas_status_invalid_pointer;

/// Writes a value to the caller's place.
///
/// # Safety
/// `place` is null or valid for writing.
unsafe fn put<T>(place: *mut T, value: Result<T, rocblas_status>) -> rocblas_status {
    match value {
        Err(status) => status,
        Ok(_) if place.is_null() => INVALID_POINTER,
        Ok(value) => {
            // SAFETY: the caller's promise.
            unsafe { place.write(value) };
            SUCCESS
        }
    }
}

/// Asks cuBLAS for a setting of a handle, and writes what rocBLAS calls it to the caller's place.
///
/// # Safety
/// `place` is null or valid for writing.
unsafe fn setting<C: Copy + To<R>, R>(
    handle: rocblas_handle,
    place: *mut R,
    mut value: C,
    get: impl FnOnce(
        &cuda_sys::cublas::Table,
        cuda_sys::cublas::cublasHandle_t,
        *mut C,
    ) -> cuda_sys::cublas::cublasStatus_t,
) -> rocblas_status {
    match call(handle, |cublas, handle| Ok(get(cublas, handle, &raw mut value))) {
        // SAFETY: the caller's promise.
        SUCCESS => unsafe { put(place, value.to()) },
        error => error,
    }
}

unsafe extern "C" fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status {
    if handle.is_null() {
        return rocblas_status::rocblas_status_invalid_handle;
    }
    let Some(cublas) = cublas() else { return rocblas_status::rocblas_status_internal_error };
    // SAFETY: the caller passes a place for the handle.
    let status = unsafe { (cublas.cublasCreate_v2)(handle.cast()) };
    status.to().unwrap_or_else(|status| status)
}

unsafe extern "C" fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status {
    // SAFETY: the caller passes a handle that nothing uses.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasDestroy_v2)(handle) }))
}

unsafe extern "C" fn rocblas_set_stream(handle: rocblas_handle, stream: hipStream_t) -> rocblas_status {
    // SAFETY: the caller passes a handle and a stream of its device.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasSetStream_v2)(handle, stream.cast()) }))
}

unsafe extern "C" fn rocblas_get_stream(handle: rocblas_handle, stream: *mut hipStream_t) -> rocblas_status {
    if stream.is_null() {
        return INVALID_POINTER;
    }
    // SAFETY: the caller passes a handle and a place.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasGetStream_v2)(handle, stream.cast()) }))
}

unsafe extern "C" fn rocblas_set_pointer_mode(
    handle: rocblas_handle,
    mode: rocblas_pointer_mode,
) -> rocblas_status {
    // SAFETY: the caller passes a handle.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasSetPointerMode_v2)(handle, mode.to()?) }))
}

unsafe extern "C" fn rocblas_get_pointer_mode(
    handle: rocblas_handle,
    mode: *mut rocblas_pointer_mode,
) -> rocblas_status {
    let first = cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST;
    // SAFETY: the caller passes a handle and a place.
    unsafe {
        setting(handle, mode, first, |cublas, handle, mode| (cublas.cublasGetPointerMode_v2)(handle, mode))
    }
}

unsafe extern "C" fn rocblas_set_atomics_mode(
    handle: rocblas_handle,
    mode: rocblas_atomics_mode,
) -> rocblas_status {
    // SAFETY: the caller passes a handle.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasSetAtomicsMode)(handle, mode.to()?) }))
}

unsafe extern "C" fn rocblas_get_atomics_mode(
    handle: rocblas_handle,
    mode: *mut rocblas_atomics_mode,
) -> rocblas_status {
    let first = cublasAtomicsMode_t::CUBLAS_ATOMICS_NOT_ALLOWED;
    // SAFETY: the caller passes a handle and a place.
    unsafe {
        setting(handle, mode, first, |cublas, handle, mode| (cublas.cublasGetAtomicsMode)(handle, mode))
    }
}

unsafe extern "C" fn rocblas_set_math_mode(
    handle: rocblas_handle,
    mode: rocblas_math_mode,
) -> rocblas_status {
    // SAFETY: the caller passes a handle.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasSetMathMode)(handle, mode.to()?) }))
}

/// A mode of cuBLAS's own that the program has set by its means is rocBLAS's default one.
impl To<rocblas_math_mode> for cublasMath_t {
    fn to(self) -> Result<rocblas_math_mode, rocblas_status> {
        Ok(match self {
            cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH => rocblas_math_mode::rocblas_xf32_xdl_math_op,
            _ => rocblas_math_mode::rocblas_default_math,
        })
    }
}

unsafe extern "C" fn rocblas_get_math_mode(
    handle: rocblas_handle,
    mode: *mut rocblas_math_mode,
) -> rocblas_status {
    let first = cublasMath_t::CUBLAS_DEFAULT_MATH;
    // SAFETY: the caller passes a handle and a place.
    unsafe { setting(handle, mode, first, |cublas, handle, mode| (cublas.cublasGetMathMode)(handle, mode)) }
}

unsafe extern "C" fn rocblas_set_workspace(
    handle: rocblas_handle,
    address: *mut c_void,
    size: usize,
) -> rocblas_status {
    // SAFETY: the caller passes a handle, and memory of that size that it keeps.
    call(handle, |cublas, handle| Ok(unsafe { (cublas.cublasSetWorkspace_v2)(handle, address, size) }))
}

/// cuBLAS loads what it needs when it is first called.
unsafe extern "C" fn rocblas_initialize() {}

/// The version, as text.
fn version() -> &'static CStr {
    static VERSION: OnceLock<CString> = OnceLock::new();
    VERSION.get_or_init(|| {
        let version = cublas().and_then(|cublas| cublas.version());
        let version = version.map_or_else(|| "?".to_owned(), |version| version.to_string());
        CString::new(format!("cuBLAS {version}")).unwrap_or_default()
    })
}

unsafe extern "C" fn rocblas_get_version_string_size(size: *mut usize) -> rocblas_status {
    // SAFETY: the caller passes a place.
    unsafe { put(size, Ok(version().to_bytes_with_nul().len())) }
}

unsafe extern "C" fn rocblas_get_version_string(text: *mut c_char, size: usize) -> rocblas_status {
    let version = version().to_bytes_with_nul();
    if text.is_null() {
        return INVALID_POINTER;
    }
    if size < version.len() {
        return rocblas_status::rocblas_status_invalid_size;
    }
    // SAFETY: the caller passes as much room as it says.
    unsafe { text.cast::<u8>().copy_from(version.as_ptr(), version.len()) };
    SUCCESS
}

unsafe extern "C" fn rocblas_status_to_string(status: rocblas_status) -> *const c_char {
    macro_rules! names {
        ($($name:ident)*) => {
            match status {
                $(rocblas_status::$name => concat!(stringify!($name), "\0"),)*
                _ => "<undefined rocblas_status value>\0",
            }
        };
    }
    let name = names! {
        rocblas_status_success rocblas_status_invalid_handle rocblas_status_not_implemented
        rocblas_status_invalid_pointer rocblas_status_invalid_size rocblas_status_memory_error
        rocblas_status_internal_error rocblas_status_perf_degraded rocblas_status_size_query_mismatch
        rocblas_status_size_increased rocblas_status_size_unchanged rocblas_status_invalid_value
        rocblas_status_continue rocblas_status_check_numerics_fail rocblas_status_excluded_from_build
        rocblas_status_arch_mismatch
    };
    name.as_ptr().cast()
}

macro_rules! functions {
    ($($name:ident)*) => {
        /// The names of the functions.
        pub(crate) const FUNCTIONS: &[&str] = &[$(stringify!($name)),*];

        /// Puts the functions into a table.
        pub(crate) fn provide(builder: &mut Builder) {
            $(builder.$name($name);)*
        }
    };
}

functions! {
    rocblas_create_handle rocblas_destroy_handle rocblas_set_stream rocblas_get_stream
    rocblas_set_pointer_mode rocblas_get_pointer_mode rocblas_set_atomics_mode rocblas_get_atomics_mode
    rocblas_set_math_mode rocblas_get_math_mode rocblas_set_workspace rocblas_initialize
    rocblas_get_version_string_size rocblas_get_version_string rocblas_status_to_string
}
