//! Exports besides the functions of the C headers: functions that compilers call from the host code of
//! kernels and variables, and functions for profilers and debuggers.
#![allow(non_snake_case, reason = "the functions have their C names")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip_on_hsa::stub::HOST_CODE;

use crate::table;

/// Registers a program's fat binary before `main`. Nothing is loaded yet.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFatBinary(header: *const c_void) -> *mut *mut c_void {
    // SAFETY: the compiler's code passes a header that stays until it unregisters it.
    unsafe { (HOST_CODE.register_fat_binary)(header) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipUnregisterFatBinary(binary: *mut *mut c_void) {
    // SAFETY: unknown handles are ignored.
    unsafe { (HOST_CODE.unregister_fat_binary)(binary) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFunction(
    binary: *mut *mut c_void,
    stub: *const c_void,
    device_function: *mut c_char,
    name: *const c_char,
    thread_limit: c_uint,
    thread: *mut c_void,
    block: *mut c_void,
    block_size: *mut c_void,
    grid_size: *mut c_void,
    wave_size: *mut c_int,
) {
    // SAFETY: the compiler's code passes a name that ends in a NUL.
    unsafe {
        (HOST_CODE.register_function)(
            binary,
            stub,
            device_function,
            name,
            thread_limit,
            thread,
            block,
            block_size,
            grid_size,
            wave_size,
        );
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterVar(
    binary: *mut *mut c_void,
    variable: *mut c_void,
    host_name: *mut c_char,
    name: *mut c_char,
    external: c_int,
    size: usize,
    constant: c_int,
    global: c_int,
) {
    // SAFETY: the compiler's code passes a name that ends in a NUL.
    unsafe {
        (HOST_CODE.register_variable)(binary, variable, host_name, name, external, size, constant, global);
    }
}

/// The variable must exist after the program's constructors have run, so this starts the devices.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterManagedVar(
    binary: *mut c_void,
    pointer: *mut *mut c_void,
    first: *mut c_void,
    name: *const c_char,
    size: usize,
    align: c_uint,
) {
    table();
    // SAFETY: the compiler's code passes its pointer, the first value and a name that ends in a NUL.
    unsafe { (HOST_CODE.register_managed_variable)(binary, pointer, first, name, size, align) };
}

/// Textures are not supported: calls that take one fail.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterTexture(
    _binary: *mut *mut c_void,
    _variable: *mut c_void,
    _host_name: *mut c_char,
    _name: *mut c_char,
    _kind: c_int,
    _normalised: c_int,
    _external: c_int,
) {
    tracing::warn!("the program has a texture reference; these are not supported");
}

/// Surfaces are not supported: calls that take one fail.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterSurface(
    _binary: *mut *mut c_void,
    _variable: *mut c_void,
    _host_name: *mut c_char,
    _name: *mut c_char,
    _kind: c_int,
    _external: c_int,
) {
    tracing::warn!("the program has a surface reference; these are not supported");
}

/// A name for profilers, which are not supported.
#[unsafe(no_mangle)]
extern "C" fn hipGetCmdName(_operation: c_uint) -> *const c_char {
    c"unknown".as_ptr()
}

/// Callbacks of profilers are not supported.
#[unsafe(no_mangle)]
extern "C" fn hipRegisterTracerCallback(_function: *const c_void) {
    tracing::warn!("a profiler registered a callback; these are not supported");
}

/// For debuggers: the name of this build.
#[unsafe(no_mangle)]
extern "C" fn amd_dbgapi_get_build_name() -> *const c_char {
    const NAME: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\0");
    NAME.as_ptr().cast()
}

/// For debuggers: not available.
#[unsafe(no_mangle)]
extern "C" fn amd_dbgapi_get_git_hash() -> *const c_char {
    c"".as_ptr()
}

/// For debuggers: not available.
#[unsafe(no_mangle)]
extern "C" fn amd_dbgapi_get_build_id() -> usize {
    0
}
