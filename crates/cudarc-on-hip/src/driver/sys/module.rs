//! Modules: code, loaded on a device.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use hip::code_object::{CodeObject, bundle};
use hip_sys::hipModule_t;

use super::{CUdeviceptr, CUfunction, CUmodule, CUresult, decode, functions, number_of};
use crate::backend::{Outcome, current, give, hip_call, table};

/// What a `CUmodule` points to.
struct Module {
    handle: hipModule_t,
    /// HIP may refer to it as long as the module is loaded.
    _image: Box<[u8]>,
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
        let length = image_length(image.cast());
        give(module, load_bytes(std::slice::from_raw_parts(image.cast::<u8>(), length))?)
    }

    fn cuModuleUnload(hmod: CUmodule) {
        let table = table()?;
        if hmod.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let handle = (*hmod.cast::<Module>()).handle;
        hip_call!(table, hipModuleUnload(handle))?;
        drop(Box::from_raw(hmod.cast::<Module>()));
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

/// Loads code for the calling thread's device: a code object, a bundle of them, or either as text.
pub(crate) fn load_bytes(bytes: &[u8]) -> Outcome<CUmodule> {
    let (device, table) = current()?;
    let decoded;
    let bytes = match decode(bytes) {
        Some(Ok(code)) => {
            decoded = code;
            decoded.as_slice()
        }
        Some(Err(damaged)) => {
            tracing::error!(?damaged, "a module's text is not whole");
            return Err(CUresult::CUDA_ERROR_INVALID_IMAGE);
        }
        None => bytes,
    };
    if is_ptx(bytes) {
        tracing::error!(
            "a module is PTX, for NVIDIA's GPUs; compile its source with `nvrtc`, or when the program is built"
        );
        return Err(CUresult::CUDA_ERROR_INVALID_PTX);
    }
    let refused = |error: hip::code_object::Error| {
        tracing::error!(%error, "a module cannot be loaded");
        match error {
            hip::code_object::Error::NoCode { .. } => CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
            _ => CUresult::CUDA_ERROR_INVALID_IMAGE,
        }
    };
    let code = bundle::code_for(bytes, device.target()).map_err(refused)?;
    let object = CodeObject::parse(&code).map_err(refused)?;
    if !object.target().runs_on(device.target()) {
        tracing::error!(code = %object.target(), device = %device.target(), "a module is for another target");
        return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    let image: Box<[u8]> = code.into_owned().into();
    let mut handle: hipModule_t = std::ptr::null_mut();
    // SAFETY: the image is a code object for this device, was parsed in full, and lives as long as the module.
    unsafe { hip_call!(table, hipModuleLoadData(&raw mut handle, image.as_ptr().cast()))? };
    Ok(Box::into_raw(Box::new(Module { handle, _image: image })).cast())
}

/// Whether bytes are text as NVIDIA's compilers write it.
fn is_ptx(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    start.lines().any(|line| line.trim_start().starts_with(".version"))
}

/// How long an image is that comes without its length: an ELF file, a bundle, or text that ends in NUL.
///
/// # Safety
/// The image is whole.
unsafe fn image_length(image: *const u8) -> usize {
    const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
    // SAFETY: the image is whole, and no byte is read behind one that says that it ends there or before.
    unsafe {
        let starts =
            |magic: &[u8]| magic.iter().enumerate().all(|(place, byte)| image.add(place).read() == *byte);
        let word = |place: usize| image.add(place).cast::<u64>().read_unaligned() as usize;
        let half = |place: usize| image.add(place).cast::<u16>().read_unaligned() as usize;
        if starts(b"\x7fELF") {
            // Segments, sections, and the sections' headers.
            let (segments, sections) = (word(32), word(40));
            let (segment_size, segment_count) = (half(54), half(56));
            let (section_size, section_count) = (half(58), half(60));
            let ends = (0..segment_count).map(|index| segments + index * segment_size);
            let segments_end = ends.map(|at| word(at + 8) + word(at + 32)).max().unwrap_or(64);
            const NO_BITS: u32 = 8;
            let headers = (0..section_count).map(|index| sections + index * section_size);
            let stored = headers.filter(|at| image.add(at + 4).cast::<u32>().read_unaligned() != NO_BITS);
            let sections_end = stored.map(|at| word(at + 24) + word(at + 32)).max().unwrap_or(64);
            segments_end.max(sections_end).max(sections + section_count * section_size)
        } else if starts(BUNDLE) {
            let (mut at, mut end) = (BUNDLE.len() + 8, 0);
            for _ in 0..word(BUNDLE.len()) {
                end = end.max(word(at) + word(at + 8));
                at += 24 + word(at + 16);
            }
            end.max(at)
        } else if starts(b"CCOB") {
            // The version is in two bytes, and the second and third one have the length behind the method.
            match half(4) {
                2 => image.add(8).cast::<u32>().read_unaligned() as usize,
                3 => word(8),
                _ => 8,
            }
        } else {
            CStr::from_ptr(image.cast()).to_bytes().len()
        }
    }
}
