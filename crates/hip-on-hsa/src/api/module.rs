//! Modules and functions: loading, look-up, queries.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::{
    hipDeviceptr_t, hipError_t, hipFuncAttribute, hipFuncAttributes, hipFuncCache_t, hipFunction_attribute,
    hipFunction_t, hipJitOption, hipModule_t, hipSharedMemConfig,
};

use crate::caller;
use crate::devices::device::current_device;
use crate::error::{Result, entry};
use crate::object::image;
use crate::object::module::{Code, Function, Module, function, load, modules};
use crate::object::symbols::by_pointer;
use crate::runtime::{Runtime, active};

const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;
const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

fn module(runtime: &Runtime, handle: hipModule_t) -> Result<Arc<Module>> {
    modules(runtime).get(handle as usize).ok_or_else(|| no_module(handle))
}

/// AMD's codes for invalid module handles: null and unknown handles have different codes.
fn no_module(handle: hipModule_t) -> hipError_t {
    if handle.is_null() { INVALID_HANDLE } else { hipError_t::hipErrorNotFound }
}

/// # Safety
/// `out` is null or valid for writing; `image` is null or an image, complete as its headers describe it.
unsafe fn load_data(out: *mut hipModule_t, image: *const c_void) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    // SAFETY: as this function's contract.
    *out = insert(runtime, unsafe { load(runtime, current_device(runtime)?, image) }?)?;
    Ok(())
}

fn insert(runtime: &'static Runtime, module: Module) -> Result<hipModule_t> {
    let handle = modules(runtime).insert(Arc::new(module)).ok_or(hipError_t::hipErrorOutOfMemory)?;
    Ok(handle as hipModule_t)
}

/// `hipModuleLoad`: loads a file with a code object or an offload bundle.
pub(crate) unsafe extern "C" fn hipModuleLoad(out: *mut hipModule_t, name: *const c_char) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        // SAFETY: the caller passes a NUL-terminated path.
        let path = unsafe { caller::text(name) }?;
        if path.is_empty() {
            return Err(INVALID_VALUE);
        }
        let path = std::path::Path::new(std::ffi::OsStr::new(path.to_str().map_err(|_| INVALID_VALUE)?));
        let device = current_device(runtime)?;
        let bytes = std::fs::read(path).map_err(|error| {
            tracing::error!(%error, path = %path.display(), "a module could not be read");
            hipError_t::hipErrorFileNotFound
        })?;
        let bytes = image::in_bytes(&bytes, &device.info.target)?;
        *out = insert(runtime, Module::new(Code::load(runtime, device, &bytes)?))?;
        Ok(())
    })
}

/// `hipModuleLoadData`.
pub(crate) unsafe extern "C" fn hipModuleLoadData(out: *mut hipModule_t, image: *const c_void) -> hipError_t {
    // SAFETY: the caller passes a valid place and a complete image.
    entry(|| unsafe { load_data(out, image) })
}

/// `hipModuleLoadDataEx`: the options are for compiling intermediate code and have no effect here.
pub(crate) unsafe extern "C" fn hipModuleLoadDataEx(
    out: *mut hipModule_t,
    image: *const c_void,
    _count: u32,
    _options: *mut hipJitOption,
    _values: *mut *mut c_void,
) -> hipError_t {
    // SAFETY: the caller passes a valid place and a complete image.
    entry(|| unsafe { load_data(out, image) })
}

/// `hipModuleLoadFatBinary`.
pub(crate) unsafe extern "C" fn hipModuleLoadFatBinary(
    out: *mut hipModule_t,
    image: *const c_void,
) -> hipError_t {
    // SAFETY: the caller passes a valid place and a complete image.
    entry(|| unsafe { load_data(out, image) })
}

/// `hipModuleUnload`: ends the handles of the module and its functions, and waits for the device.
pub(crate) unsafe extern "C" fn hipModuleUnload(handle: hipModule_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        modules(runtime).remove(handle as usize).ok_or_else(|| no_module(handle))?.unload(runtime);
        Ok(())
    })
}

/// # Safety
/// `name` is null or NUL-terminated.
pub(crate) unsafe fn text<'a>(name: *const c_char) -> Result<&'a str> {
    // SAFETY: as this function's contract.
    unsafe { caller::text(name) }?.to_str().map_err(|_| hipError_t::hipErrorNotFound)
}

/// As [`text`]; null has its own error code, as with AMD's runtime.
///
/// # Safety
/// As [`text`].
unsafe fn some_text<'a>(name: *const c_char) -> Result<&'a str> {
    // SAFETY: as this function's contract.
    let name = unsafe { text(name) }?;
    if name.is_empty() { Err(INVALID_VALUE) } else { Ok(name) }
}

/// `hipModuleGetFunction`: the same name gives the same handle.
pub(crate) unsafe extern "C" fn hipModuleGetFunction(
    out: *mut hipFunction_t,
    handle: hipModule_t,
    name: *const c_char,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        let module = module(runtime, handle)?;
        // SAFETY: the caller passes null or a NUL-terminated name.
        let name = unsafe { some_text(name) }?;
        *out = module.function(runtime, name)?;
        Ok(())
    })
}

/// `hipModuleGetFunctionCount`.
pub(crate) unsafe extern "C" fn hipModuleGetFunctionCount(
    count: *mut u32,
    handle: hipModule_t,
) -> hipError_t {
    entry(|| {
        let module = module(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(count) }? = module.code.object.kernels().len() as u32;
        Ok(())
    })
}

/// `hipModuleGetGlobal`: address and size of a variable; either may be null.
pub(crate) unsafe extern "C" fn hipModuleGetGlobal(
    address: *mut hipDeviceptr_t,
    bytes: *mut usize,
    handle: hipModule_t,
    name: *const c_char,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let module = module(runtime, handle)?;
        if address.is_null() && bytes.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a NUL-terminated name.
        let name = unsafe { some_text(name) }?;
        let (start, size) = module.variable(runtime, name)?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(address, start as hipDeviceptr_t)?;
            caller::store_optional(bytes, size)
        }
    })
}

/// `hipFuncGetAttribute`.
pub(crate) unsafe extern "C" fn hipFuncGetAttribute(
    value: *mut i32,
    attribute: hipFunction_attribute,
    handle: hipFunction_t,
) -> hipError_t {
    entry(|| {
        type A = hipFunction_attribute;
        let function = function(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        let value = unsafe { caller::place(value) }?;
        let found = match attribute {
            A::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => function.block_limit(),
            A::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => function.group_bytes,
            A::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => 0,
            A::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => function.scratch(),
            A::HIP_FUNC_ATTRIBUTE_NUM_REGS => function.vgprs,
            A::HIP_FUNC_ATTRIBUTE_PTX_VERSION | A::HIP_FUNC_ATTRIBUTE_BINARY_VERSION => {
                binary_version(&function)
            }
            A::HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA | A::HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => 0,
            A::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                function.max_dynamic_lds.load(Ordering::Relaxed)
            }
            _ => return Err(INVALID_VALUE),
        };
        *value = i32::try_from(found).unwrap_or(i32::MAX);
        Ok(())
    })
}

/// Major and minor version of the processor as one number, as for compute capabilities.
fn binary_version(function: &Function) -> u32 {
    let [major, minor, _] = function.code.device.info.gfx;
    major * 10 + minor
}

/// `hipFuncGetAttributes`: accepts a host stub's address or the handle of a function.
pub(crate) unsafe extern "C" fn hipFuncGetAttributes(
    out: *mut hipFuncAttributes,
    handle: *const c_void,
) -> hipError_t {
    entry(|| {
        let unknown = |code| if handle.is_null() { code } else { hipError_t::hipErrorInvalidSymbol };
        let function = by_pointer(handle).map_err(unknown)?;
        let int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = hipFuncAttributes {
            binaryVersion: int(binary_version(&function)),
            cacheModeCA: 0,
            constSizeBytes: 0,
            localSizeBytes: function.scratch() as usize,
            maxDynamicSharedSizeBytes: int(function.max_dynamic_lds.load(Ordering::Relaxed)),
            maxThreadsPerBlock: int(function.block_limit()),
            numRegs: int(function.vgprs),
            preferredShmemCarveout: 0,
            ptxVersion: int(binary_version(&function)),
            sharedSizeBytes: function.group_bytes as usize,
        };
        Ok(())
    })
}

/// `hipKernelNameRef`: null if the handle is not a function's.
pub(crate) unsafe extern "C" fn hipKernelNameRef(handle: hipFunction_t) -> *const c_char {
    let found = active().and_then(|runtime| function(runtime, handle));
    // The handle keeps the function and its name until the module is unloaded.
    found.map_or(std::ptr::null(), |function| function.name.as_ptr())
}

/// `hipFuncSetAttribute`: the limit of dynamic LDS is checked; a carve-out is only a hint.
pub(crate) unsafe extern "C" fn hipFuncSetAttribute(
    handle: *const c_void,
    attribute: hipFuncAttribute,
    value: i32,
) -> hipError_t {
    entry(|| {
        let function = by_pointer(handle)?;
        match attribute {
            hipFuncAttribute::hipFuncAttributeMaxDynamicSharedMemorySize => {
                let room = function.code.device.info.lds_bytes.saturating_sub(function.group_bytes);
                let value = u32::try_from(value).ok().filter(|&value| value <= room).ok_or(INVALID_VALUE)?;
                function.max_dynamic_lds.store(value, Ordering::Relaxed);
                Ok(())
            }
            hipFuncAttribute::hipFuncAttributePreferredSharedMemoryCarveout => {
                if (-1..=100).contains(&value) { Ok(()) } else { Err(INVALID_VALUE) }
            }
            // AMD's runtime accepts all other valid attributes and ignores them.
            attribute if attribute.0 <= hipFuncAttribute::hipFuncAttributeMax.0 => Ok(()),
            _ => Err(INVALID_VALUE),
        }
    })
}

/// `hipFuncSetCacheConfig`: a hint that AMD's devices ignore.
pub(crate) unsafe extern "C" fn hipFuncSetCacheConfig(
    handle: *const c_void,
    config: hipFuncCache_t,
) -> hipError_t {
    entry(|| match config.0 > hipFuncCache_t::hipFuncCachePreferEqual.0 {
        true => Err(INVALID_VALUE),
        false => by_pointer(handle).map(drop),
    })
}

/// `hipFuncSetSharedMemConfig`: a hint that AMD's devices ignore.
pub(crate) unsafe extern "C" fn hipFuncSetSharedMemConfig(
    handle: *const c_void,
    config: hipSharedMemConfig,
) -> hipError_t {
    entry(|| match config.0 > hipSharedMemConfig::hipSharedMemBankSizeEightByte.0 {
        true => Err(INVALID_VALUE),
        false => by_pointer(handle).map(drop),
    })
}
