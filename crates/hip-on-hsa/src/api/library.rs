//! Libraries: modules under a different name, with kernels that know their library.
//!
//! A library is loaded on the device that is current at that time.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{
    hipError_t, hipFunction_t, hipJitOption, hipKernel_t, hipLibrary_t, hipLibraryOption, hipModule_t,
};

use crate::api::module::{hipModuleLoad, hipModuleLoadData, hipModuleUnload, text};
use crate::caller;
use crate::error::{Result, entry, succeed};
use crate::object::module::{Module, function, modules};
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// The handles of modules that are libraries.
static LIBRARIES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn libraries() -> MutexGuard<'static, Vec<usize>> {
    LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module of a library.
fn library(runtime: &Runtime, handle: hipLibrary_t) -> Result<Arc<Module>> {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    if !libraries().contains(&(handle as usize)) {
        return Err(INVALID_HANDLE);
    }
    modules(runtime).get(handle as usize).ok_or(INVALID_HANDLE)
}

/// Loads a module without compiler options and marks it as a library.
///
/// # Safety
/// `out` is null or valid for writing.
unsafe fn load(
    out: *mut hipLibrary_t,
    options: u32,
    load: impl FnOnce(*mut hipModule_t) -> hipError_t,
) -> Result {
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    if options > 0 {
        return Err(INVALID_VALUE);
    }
    let mut module = std::ptr::null_mut();
    succeed(load(&mut module))?;
    libraries().push(module as usize);
    *out = module.cast();
    Ok(())
}

/// `hipLibraryLoadData`: options for compiling intermediate code, which is not supported, give
/// `hipErrorInvalidValue`; options for the time of loading have no effect here.
pub(crate) unsafe extern "C" fn hipLibraryLoadData(
    out: *mut hipLibrary_t,
    code: *const c_void,
    _jit_options: *mut hipJitOption,
    _jit_values: *mut *mut c_void,
    jit_count: u32,
    _options: *mut hipLibraryOption,
    _values: *mut *mut c_void,
    _count: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place, and a complete image.
    entry(|| unsafe { load(out, jit_count, |module| hipModuleLoadData(module, code)) })
}

/// `hipLibraryLoadFromFile`: as [`hipLibraryLoadData`].
pub(crate) unsafe extern "C" fn hipLibraryLoadFromFile(
    out: *mut hipLibrary_t,
    name: *const c_char,
    _jit_options: *mut hipJitOption,
    _jit_values: *mut *mut c_void,
    jit_count: u32,
    _options: *mut hipLibraryOption,
    _values: *mut *mut c_void,
    _count: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place, and a path.
    entry(|| unsafe {
        load(out, jit_count, |module| match hipModuleLoad(module, name) {
            hipError_t::hipErrorFileNotFound => INVALID_VALUE,
            other => other,
        })
    })
}

/// `hipLibraryUnload`: as `hipModuleUnload`.
pub(crate) unsafe extern "C" fn hipLibraryUnload(handle: hipLibrary_t) -> hipError_t {
    entry(|| {
        let mut all = libraries();
        let index = all.iter().position(|&known| known == handle as usize).ok_or(INVALID_HANDLE)?;
        all.swap_remove(index);
        drop(all);
        // SAFETY: the handle is a module's.
        succeed(unsafe { hipModuleUnload(handle.cast()) })
    })
}

/// `hipLibraryGetKernel`: the kernel can be used wherever a function can.
pub(crate) unsafe extern "C" fn hipLibraryGetKernel(
    out: *mut hipKernel_t,
    handle: hipLibrary_t,
    name: *const c_char,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, name) = unsafe { (caller::place(out)?, text(name)?) };
        *out = library(runtime, handle)?.function(runtime, name)?.cast();
        Ok(())
    })
}

/// `hipLibraryGetKernelCount`.
pub(crate) unsafe extern "C" fn hipLibraryGetKernelCount(
    count: *mut u32,
    handle: hipLibrary_t,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let count = unsafe { caller::place(count) }?;
        *count = library(active()?, handle)?.kernel_names().count() as u32;
        Ok(())
    })
}

/// `hipLibraryEnumerateKernels`: as many as fit into the list, in the order of the code object.
pub(crate) unsafe extern "C" fn hipLibraryEnumerateKernels(
    list: *mut hipKernel_t,
    room: u32,
    handle: hipLibrary_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if list.is_null() {
            return Err(INVALID_VALUE);
        }
        let module = library(runtime, handle)?;
        let count = module.kernel_names().count().min(room as usize);
        // SAFETY: the caller's list has as many places as it says.
        let places = unsafe { caller::places(list, count) }?;
        for (place, name) in places.iter_mut().zip(module.kernel_names()) {
            let kernel: hipFunction_t = module.function(runtime, name)?;
            *place = kernel.cast();
        }
        Ok(())
    })
}

/// `hipKernelGetLibrary`.
pub(crate) unsafe extern "C" fn hipKernelGetLibrary(
    out: *mut hipLibrary_t,
    kernel: hipKernel_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if kernel.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let all = libraries().clone();
        let has = |&handle: &usize| {
            modules(runtime).get(handle).is_some_and(|module| module.has_function(kernel as usize))
        };
        *out = all.into_iter().find(has).ok_or(INVALID_HANDLE)? as hipLibrary_t;
        Ok(())
    })
}

/// `hipKernelGetName`: valid as long as the library.
pub(crate) unsafe extern "C" fn hipKernelGetName(out: *mut *const c_char, kernel: hipKernel_t) -> hipError_t {
    entry(|| {
        if kernel.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = function(active()?, kernel.cast())?.name.as_ptr();
        Ok(())
    })
}
