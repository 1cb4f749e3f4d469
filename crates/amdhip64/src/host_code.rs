//! What the library exports besides the functions of its C headers: what the code calls that compilers write for the host
//! side of kernels and variables, and other names of functions.
#![allow(non_snake_case, reason = "the functions have their C names")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip_on_hsa::stub;
use hip_sys::{hipDeviceProp_tR0000, hipError_t, hipEvent_t, hipFunction_t, hipStream_t};

use crate::table;

/// Takes a program's fat binary before `main`; nothing is loaded yet.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFatBinary(header: *const c_void) -> *mut *mut c_void {
    // SAFETY: the compiler's code passes a header that stays until it unregisters it.
    unsafe { stub::register_fat_binary(header) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipUnregisterFatBinary(binary: *mut *mut c_void) {
    stub::unregister_fat_binary(binary);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFunction(
    binary: *mut *mut c_void,
    stub: *const c_void,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_uint,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _wave_size: *mut c_int,
) {
    // SAFETY: the compiler's code passes a name that ends in a NUL.
    unsafe { stub::register_function(binary, stub, name) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterVar(
    binary: *mut *mut c_void,
    variable: *mut c_void,
    _host_name: *mut c_char,
    name: *mut c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: the compiler's code passes a name that ends in a NUL.
    unsafe { stub::register_variable(binary, variable, name) };
}

/// The variable is there when the constructors of the program have run, so this starts the devices.
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
    let align = align as usize;
    // SAFETY: the compiler's code passes its pointer, the first value and a name that ends in a NUL.
    let code = unsafe { stub::register_managed_variable(binary.cast(), pointer, first, name, size, align) };
    if code != hipError_t::hipSuccess {
        tracing::error!(?code, "a managed variable cannot be allocated");
    }
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
    tracing::warn!("the program has a texture reference, which nothing can be done with");
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
    tracing::warn!("the program has a surface reference, which nothing can be done with");
}

/// `hipExtModuleLaunchKernel` as C++ declares it.
#[unsafe(export_name = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")]
unsafe extern "C" fn hipExtModuleLaunchKernel_cpp(
    function: hipFunction_t,
    items_x: u32,
    items_y: u32,
    items_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: usize,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: hipEvent_t,
    stop: hipEvent_t,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the headers.
    unsafe {
        (table().hipExtModuleLaunchKernel)(
            function,
            items_x,
            items_y,
            items_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            arguments,
            extra,
            start,
            stop,
            flags,
        )
    }
}

/// `hipHccModuleLaunchKernel` as C++ declares it.
#[unsafe(export_name = "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_")]
unsafe extern "C" fn hipHccModuleLaunchKernel_cpp(
    function: hipFunction_t,
    items_x: u32,
    items_y: u32,
    items_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: usize,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: hipEvent_t,
    stop: hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the headers.
    unsafe {
        (table().hipHccModuleLaunchKernel)(
            function,
            items_x,
            items_y,
            items_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            arguments,
            extra,
            start,
            stop,
        )
    }
}

/// The old layout's function under the name that says so.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetDevicePropertiesR0000(
    properties: *mut hipDeviceProp_tR0000,
    device: c_int,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the headers.
    unsafe { (table().hipGetDeviceProperties)(properties, device) }
}

/// The old layout's function under the name that says so.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipChooseDeviceR0000(
    device: *mut c_int,
    wanted: *const hipDeviceProp_tR0000,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the headers.
    unsafe { (table().hipChooseDevice)(device, wanted) }
}

/// Names of what profilers see; they see nothing here.
#[unsafe(no_mangle)]
extern "C" fn hipGetCmdName(_operation: c_uint) -> *const c_char {
    c"unknown".as_ptr()
}

/// Profilers are not called.
#[unsafe(no_mangle)]
extern "C" fn hipRegisterTracerCallback(_function: *const c_void) {
    tracing::warn!("a profiler asks to be called, which is not supported");
}

/// For debuggers: which build this is.
#[unsafe(no_mangle)]
extern "C" fn amd_dbgapi_get_build_name() -> *const c_char {
    const NAME: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\0");
    NAME.as_ptr().cast()
}

/// For debuggers: there is none.
#[unsafe(no_mangle)]
extern "C" fn amd_dbgapi_get_git_hash() -> *const c_char {
    c"".as_ptr()
}

/// For debuggers: there is none.
#[unsafe(no_mangle)]
extern "C" fn amd_dbgapi_get_build_id() -> usize {
    0
}
