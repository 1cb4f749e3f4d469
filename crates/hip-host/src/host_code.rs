//! What is exported besides the functions of HIP's C headers: what the code calls that compilers write for the host's side of kernels
//! and variables, and other names of functions.
#![allow(non_snake_case, reason = "the functions have their C names")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip_sys::{hipDeviceProp_tR0000, hipError_t, hipEvent_t, hipFunction_t, hipStream_t};

use crate::call;
use crate::registered::{self, Address, Part};

/// Takes a fat binary before `main`. The handle is a number: nobody looks behind it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFatBinary(header: *const c_void) -> *mut *mut c_void {
    if header.is_null() {
        return std::ptr::null_mut();
    }
    std::ptr::without_provenance_mut(registered::add(header))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipUnregisterFatBinary(binary: *mut *mut c_void) {
    registered::forget(binary.addr());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterFunction(
    binary: *mut *mut c_void,
    stub: *const c_void,
    device_function: *mut c_char,
    name: *const c_char,
    thread_limit: c_uint,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _wave_size: *mut c_int,
) {
    let part = Part::Kernel {
        stub: Address(stub.cast_mut()),
        device_function: Address(device_function.cast()),
        name: Address(name.cast_mut().cast()),
        thread_limit,
    };
    registered::add_part(binary.addr(), part);
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
    let part = Part::Variable {
        variable: Address(variable),
        host_name: Address(host_name.cast()),
        name: Address(name.cast()),
        external,
        size,
        constant,
        global,
    };
    registered::add_part(binary.addr(), part);
}

/// The host may use the variable at once. Until there is a device, it is where its first value is, which goes with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterManagedVar(
    binary: *mut c_void,
    pointer: *mut *mut c_void,
    first: *mut c_void,
    name: *const c_char,
    size: usize,
    align: c_uint,
) {
    if pointer.is_null() {
        return;
    }
    // SAFETY: the compiler's code passes the place of its pointer.
    unsafe { pointer.write(first) };
    let part = Part::Managed {
        pointer: Address(pointer.cast()),
        first: Address(first),
        name: Address(name.cast_mut().cast()),
        size,
        align,
    };
    registered::add_part(binary.addr(), part);
}

/// Texture references are not supported: calls that take one fail.
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
}

/// Surface references are not supported: calls that take one fail.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipRegisterSurface(
    _binary: *mut *mut c_void,
    _variable: *mut c_void,
    _host_name: *mut c_char,
    _name: *mut c_char,
    _kind: c_int,
    _external: c_int,
) {
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
    call(|table| unsafe {
        (table.hipExtModuleLaunchKernel)(
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
    })
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
    call(|table| unsafe {
        (table.hipHccModuleLaunchKernel)(
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
    })
}

/// The old layout's function under the name that says so.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetDevicePropertiesR0000(
    properties: *mut hipDeviceProp_tR0000,
    device: c_int,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the headers.
    call(|table| unsafe { (table.hipGetDeviceProperties)(properties, device) })
}

/// The old layout's function under the name that says so.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipChooseDeviceR0000(
    device: *mut c_int,
    wanted: *const hipDeviceProp_tR0000,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the headers.
    call(|table| unsafe { (table.hipChooseDevice)(device, wanted) })
}
