//! Exported functions that are not in HIP's C headers: compilers generate calls of them for the host side of
//! kernels and variables.
#![allow(non_snake_case, reason = "the functions have C names")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::registered::{self, Address, Part};

/// Registers a fat binary before `main`. The handle is only a number; nothing dereferences it.
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

/// The host may use the variable at once. Until there is a device, the variable's memory is that of its
/// initial value.
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
    // SAFETY: the compiler's code passes the address of its pointer.
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
