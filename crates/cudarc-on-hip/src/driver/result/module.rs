//! Modules (`cuModule…`).

use std::ffi::{CString, c_void};

use super::super::sys;
use super::{DriverError, doing, returning};

/// Loads a file: a code object, a bundle of them, or either as the text that [`nvrtc`](crate::nvrtc) writes
/// (`cuModuleLoad`).
pub fn load(fname: CString) -> Result<sys::CUmodule, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuModuleLoad(place, fname.as_ptr()))
}

/// Loads the same as [`load`], from memory (`cuModuleLoadData`).
pub unsafe fn load_data(image: *const c_void) -> Result<sys::CUmodule, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuModuleLoadData(place, image))
}

/// A function of a module (`cuModuleGetFunction`).
pub unsafe fn get_function(module: sys::CUmodule, name: CString) -> Result<sys::CUfunction, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuModuleGetFunction(place, module, name.as_ptr()))
}

/// The address of a variable of a module, and its size in bytes (`cuModuleGetGlobal`).
pub unsafe fn get_global(
    module: sys::CUmodule,
    name: CString,
) -> Result<(sys::CUdeviceptr, usize), DriverError> {
    let (mut place, mut bytes) = (0, 0);
    doing!(sys::cuModuleGetGlobal_v2(&raw mut place, &raw mut bytes, module, name.as_ptr()))?;
    Ok((place, bytes))
}

/// Unloads a module (`cuModuleUnload`).
pub unsafe fn unload(module: sys::CUmodule) -> Result<(), DriverError> {
    doing!(sys::cuModuleUnload(module))
}
