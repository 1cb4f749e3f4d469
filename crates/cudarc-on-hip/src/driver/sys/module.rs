//! Modules: code, loaded on a device.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use hip::code_object::bundle::{self, Extent};
use hip::code_object::{CodeObject, text};
use hip_sys::hipModule_t;

use super::{CUdeviceptr, CUfunction, CUmodule, CUresult, functions, number_of};
use crate::backend::{Outcome, current, give, hip_call, result_of, table};

/// What a `CUmodule` points to.
struct Module {
    handle: hipModule_t,
    loaded: Loaded,
}

/// What keeps a module's code.
enum Loaded {
    /// By the table. HIP may refer to the image while the module is loaded.
    Raw { _image: Box<[u8]> },
    /// By `hip`, which also unloads it: NVIDIA's code, of which it keeps on disk what the driver compiles.
    Whole { _module: Box<hip::Module> },
}

functions! {
    fn cuModuleLoad(module: *mut CUmodule, fname: *const c_char) {
        if fname.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let name = CStr::from_ptr(fname).to_str().map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let bytes = std::fs::read(Path::new(name)).map_err(|error| {
            tracing::error!(name, %error, "a module cannot be read");
            CUresult::CUDA_ERROR_FILE_NOT_FOUND
        })?;
        give(module, load_bytes(&bytes)?)
    }

    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) {
        if image.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let length = image_length(image.cast())?;
        give(module, load_bytes(std::slice::from_raw_parts(image.cast::<u8>(), length))?)
    }

    fn cuModuleUnload(hmod: CUmodule) {
        let table = table()?;
        if hmod.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let module = hmod.cast::<Module>();
        if matches!((*module).loaded, Loaded::Raw { .. }) {
            hip_call!(table, hipModuleUnload((*module).handle))?;
        }
        drop(Box::from_raw(module));
        Ok(())
    }

    fn cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char) {
        let table = table()?;
        let module = hmod.cast::<Module>().as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        hip_call!(table, hipModuleGetFunction(hfunc.cast(), module.handle, name))
    }

    fn cuModuleGetGlobal_v2(
        dptr: *mut CUdeviceptr,
        bytes: *mut usize,
        hmod: CUmodule,
        name: *const c_char,
    ) {
        let table = table()?;
        let module = hmod.cast::<Module>().as_ref().ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        let mut place = std::ptr::null_mut();
        hip_call!(table, hipModuleGetGlobal(&raw mut place, bytes, module.handle, name))?;
        give(dptr, number_of(place))
    }
}

/// Loads code for the calling thread's device: a code object, a bundle of them, or either as text. For an
/// NVIDIA GPU, what its driver takes, or a bundle with it: a cubin, a fatbin, PTX.
pub(crate) fn load_bytes(bytes: &[u8]) -> Outcome<CUmodule> {
    let (device, table) = current()?;
    let bytes = match text::is_code(bytes) {
        true => Cow::Owned(text::decode(bytes).map_err(|error| {
            tracing::error!(%error, "a module cannot be loaded");
            CUresult::CUDA_ERROR_INVALID_IMAGE
        })?),
        false => Cow::Borrowed(bytes),
    };
    let bytes = &*bytes;
    if table.ext.driver_code.is_some() {
        let module = hip::Module::load(device, bytes).map_err(|error| result_of(&error))?;
        let handle = module.as_raw();
        return Ok(Box::into_raw(Box::new(Module {
            handle,
            loaded: Loaded::Whole { _module: Box::new(module) },
        }))
        .cast());
    }
    if is_ptx(bytes) {
        tracing::error!(
            "a module is PTX, for NVIDIA's GPUs; compile its source with `nvrtc`, or when the program is built"
        );
        return Err(CUresult::CUDA_ERROR_INVALID_PTX);
    }
    let code = bundle::code_for(bytes, device.target()).map_err(|error| refused(&error))?;
    let object = CodeObject::parse(&code).map_err(|error| refused(&error))?;
    if !object.target().runs_on(device.target()) {
        tracing::error!(code = %object.target(), device = %device.target(), "a module is for another target");
        return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    let image: Box<[u8]> = code.into_owned().into();
    let mut handle: hipModule_t = std::ptr::null_mut();
    // SAFETY: the image is a code object for this device, was parsed in full, and lives as long as the
    // module.
    unsafe { hip_call!(table, hipModuleLoadData(&raw mut handle, image.as_ptr().cast()))? };
    Ok(Box::into_raw(Box::new(Module { handle, loaded: Loaded::Raw { _image: image } })).cast())
}

/// Whether bytes are text as NVIDIA's compilers write it.
fn is_ptx(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    start.lines().any(|line| line.trim_start().starts_with(".version"))
}

/// The length of an image that is passed without one: a file of code, or NUL-terminated text.
///
/// # Safety
/// The image must be complete.
unsafe fn image_length(image: *const u8) -> Outcome<usize> {
    // SAFETY: the image is complete, and nothing is read beyond the end that its bytes indicate.
    unsafe {
        let text = || Ok(CStr::from_ptr(image.cast()).to_bytes().len());
        let mut known = 4;
        if (0..known).any(|place| image.add(place).read() == 0) {
            return text();
        }
        loop {
            match bundle::extent(std::slice::from_raw_parts(image, known)) {
                Ok(Extent::AtLeast(more)) => known = more,
                Ok(Extent::Bytes(length)) => return Ok(length),
                Err(hip::code_object::Error::NotElf { .. }) => return text(),
                Err(error) => return Err(refused(&error)),
            }
        }
    }
}

/// The status for code that cannot be read, or has nothing for the device.
fn refused(error: &hip::code_object::Error) -> CUresult {
    tracing::error!(%error, "a module cannot be loaded");
    match error {
        hip::code_object::Error::NoCode { .. } => CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        _ => CUresult::CUDA_ERROR_INVALID_IMAGE,
    }
}
