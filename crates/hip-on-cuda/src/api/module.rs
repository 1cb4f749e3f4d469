//! Modules: cubins, fatbins and PTX.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUfunction, CUjit_option, CUresult};
use hip_sys::{DriverCode, hipError_t, hipFunction_t, hipJitOption, hipModule_t};

use super::convert::place;
use super::kernel::launch_overlapping;
use crate::call::{call, failed, same, steps};
use crate::runtime::{check, cuda};

/// What is kept of the compiler's messages.
const LOG: usize = 8192;

thread_local! {
    /// What the driver's compiler has said of the module that failed to load last.
    static FAILURE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// `hipModuleLoadData`: a cubin, a fatbin, or PTX that ends in a NUL, which the driver compiles.
pub(crate) unsafe extern "C" fn hipModuleLoadData(
    module: *mut hipModule_t,
    image: *const c_void,
) -> hipError_t {
    if module.is_null() || image.is_null() {
        return failed(hipError_t::hipErrorInvalidValue);
    }
    let mut log = vec![0_u8; LOG];
    let status = steps(|cuda| {
        let mut options =
            [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_ptr().cast_mut().cast::<c_void>(), std::ptr::without_provenance_mut(LOG)];
        let count = options.len() as c_uint;
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: the caller vouches for the image and passes a place; the log has as many bytes as the
        // option says.
        check(unsafe { (cuda.cuModuleLoadDataEx)(module.cast(), image, count, options, values) })
    });
    if status != hipError_t::hipSuccess {
        log.truncate(log.iter().position(|byte| *byte == 0).unwrap_or(LOG));
        FAILURE.replace(log);
    }
    status
}

/// `hipModuleLoadDataEx`: options of AMD's compiler mean nothing to NVIDIA's.
pub(crate) unsafe extern "C" fn hipModuleLoadDataEx(
    module: *mut hipModule_t,
    image: *const c_void,
    _count: c_uint,
    _options: *mut hipJitOption,
    _values: *mut *mut c_void,
) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipModuleLoadData(module, image) }
}

same! {
    hipModuleLoad(module: *mut hipModule_t, file: *const c_char) => cuModuleLoad(module.cast(), file);
    hipModuleUnload(module: hipModule_t) => cuModuleUnload(module.cast());
    hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char)
        => cuModuleGetFunction(function.cast(), module.cast(), name);
    hipModuleGetGlobal(pointer: *mut *mut c_void, bytes: *mut usize, module: hipModule_t, name: *const c_char)
        => cuModuleGetGlobal_v2(place(pointer), bytes, module.cast(), name);
}

/// What the driver tells of its modules.
pub(crate) const DRIVER_CODE: DriverCode =
    DriverCode { kernels, parameter, load_failure, overlaps, launch_overlapping };

/// How the symbol begins by which a module says that a kernel waits itself for the one in front of it:
/// `OVERLAPS` of `kernels/overlap.cuh`.
const OVERLAPS: &[u8] = b"overlaps_";
/// The first driver that captures such launches into graphs.
const OVERLAPS_SINCE: i32 = 12_030;

unsafe extern "C" fn overlaps(module: hipModule_t, kernel: *const c_char) -> bool {
    let Some(cuda) = cuda().filter(|cuda| cuda.has("cuLaunchKernelEx")) else { return false };
    // SAFETY: the caller's name ends in a NUL.
    let symbol = [OVERLAPS, unsafe { CStr::from_ptr(kernel) }.to_bytes_with_nul()].concat();
    let (mut version, mut pointer, mut bytes) = (0, 0, 0);
    // SAFETY: the module is the caller's, the name ends in a NUL, and the results are places to write to.
    unsafe {
        check((cuda.cuDriverGetVersion)(&raw mut version)).is_ok()
            && version >= OVERLAPS_SINCE
            && check((cuda.cuModuleGetGlobal_v2)(
                &raw mut pointer,
                &raw mut bytes,
                module.cast(),
                symbol.as_ptr().cast(),
            ))
            .is_ok()
    }
}

/// Copies a text to a buffer, cut to its size, with a NUL behind it.
///
/// # Safety
/// The buffer has so many bytes.
unsafe fn give(text: &[u8], buffer: *mut c_char, size: usize) -> usize {
    if size > 0 {
        let shown = text.len().min(size - 1);
        // SAFETY: the caller's promise.
        unsafe {
            buffer.cast::<u8>().copy_from(text.as_ptr(), shown);
            buffer.add(shown).write(0);
        }
    }
    text.len()
}

unsafe extern "C" fn load_failure(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the caller's buffer has so many bytes.
    FAILURE.with_borrow(|text| unsafe { give(text.trim_ascii(), buffer, size) })
}

unsafe extern "C" fn kernels(module: hipModule_t, buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the module is the caller's.
    let names = unsafe { names(module) }.unwrap_or_default();
    // SAFETY: the caller's buffer has so many bytes.
    unsafe { give(names.join(&b'\n').as_slice(), buffer, size) }
}

/// # Safety
/// The module is one of the driver's.
unsafe fn names(module: hipModule_t) -> Result<Vec<Vec<u8>>, CUresult> {
    let cuda = cuda().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)?;
    let mut count = 0;
    // SAFETY: the module is valid, and the results are places to write to: as many functions as the driver
    // says there are.
    unsafe {
        check((cuda.cuModuleGetFunctionCount)(&raw mut count, module.cast()))?;
        let mut functions: Vec<CUfunction> = vec![null_mut(); count as usize];
        check((cuda.cuModuleEnumerateFunctions)(functions.as_mut_ptr(), count, module.cast()))?;
        let name = |function: &CUfunction| {
            let mut name = std::ptr::null();
            check((cuda.cuFuncGetName)(&raw mut name, *function))?;
            if name.is_null() {
                return Err(CUresult::CUDA_ERROR_UNKNOWN);
            }
            Ok(CStr::from_ptr(name).to_bytes().to_vec())
        };
        functions.iter().map(name).collect()
    }
}

unsafe extern "C" fn parameter(
    function: hipFunction_t,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> hipError_t {
    // SAFETY: the function is loaded, and the caller passes places.
    call(|cuda| unsafe { (cuda.cuFuncGetParamInfo)(function.cast(), index, offset, size) })
}
