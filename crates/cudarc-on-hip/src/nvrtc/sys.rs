//! NVRTC's functions.
#![allow(missing_docs, reason = "names and contracts are those of NVRTC's header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the one in NVRTC's documentation")]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are NVRTC's")]

mod options;
mod program;

use std::ffi::{CStr, c_char, c_int};

use crate::codes::codes;
use program::Program;

codes! {
    u32 nvrtcResult;
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
    NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
    NVRTC_ERROR_TIME_FILE_WRITE_FAILED = 12,
    NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED = 13,
    NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED = 14,
    NVRTC_ERROR_PCH_CREATE = 15,
    NVRTC_ERROR_CANCELLED = 16,
    NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED = 17,
    NVRTC_ERROR_BUSY = 18,
}

#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct _nvrtcProgram {
    _unused: [u8; 0],
}
pub type nvrtcProgram = *mut _nvrtcProgram;

type Outcome<T = ()> = Result<T, nvrtcResult>;

/// The version of NVRTC whose functions these are.
const VERSION: (c_int, c_int) = (12, 9);

/// NVRTC functions, whose bodies end in an outcome.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> nvrtcResult {
                // SAFETY: the caller keeps the contract in NVRTC's documentation of this function: programs
                // are from `nvrtcCreateProgram`, and pointers are as documented.
                let run = move || -> Outcome { unsafe { $body } };
                run().err().unwrap_or(nvrtcResult::NVRTC_SUCCESS)
            }
        )+
    };
}

functions! {
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) {
        give(major, VERSION.0)?;
        give(minor, VERSION.1)
    }

    fn nvrtcCreateProgram(
        prog: *mut nvrtcProgram,
        src: *const c_char,
        name: *const c_char,
        numHeaders: c_int,
        headers: *const *const c_char,
        includeNames: *const *const c_char,
    ) {
        let source = text(src)?;
        let name = if name.is_null() { "default_program".to_owned() } else { text(name)? };
        let count = usize::try_from(numHeaders).map_err(|_| nvrtcResult::NVRTC_ERROR_INVALID_INPUT)?;
        let mut pairs = Vec::new();
        for index in 0..count {
            if headers.is_null() || includeNames.is_null() {
                return Err(nvrtcResult::NVRTC_ERROR_INVALID_INPUT);
            }
            pairs.push((text(*includeNames.add(index))?, text(*headers.add(index))?));
        }
        let program = Box::new(Program::new(source, name, pairs));
        give(prog, Box::into_raw(program).cast())
    }

    fn nvrtcDestroyProgram(prog: *mut nvrtcProgram) {
        let place = prog.as_mut().ok_or(nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM)?;
        if place.is_null() {
            return Err(nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM);
        }
        drop(Box::from_raw(std::mem::replace(place, std::ptr::null_mut()).cast::<Program>()));
        Ok(())
    }

    fn nvrtcAddNameExpression(prog: nvrtcProgram, name_expression: *const c_char) {
        program(prog)?.add_expression(text(name_expression)?)
    }

    fn nvrtcCompileProgram(prog: nvrtcProgram, numOptions: c_int, options: *const *const c_char) {
        let count = usize::try_from(numOptions).map_err(|_| nvrtcResult::NVRTC_ERROR_INVALID_INPUT)?;
        if count > 0 && options.is_null() {
            return Err(nvrtcResult::NVRTC_ERROR_INVALID_INPUT);
        }
        let options = (0..count).map(|index| text(*options.add(index))).collect::<Outcome<Vec<_>>>()?;
        program(prog)?.compile(&options)
    }

    fn nvrtcGetLoweredName(
        prog: nvrtcProgram,
        name_expression: *const c_char,
        lowered_name: *mut *const c_char,
    ) {
        give(lowered_name, program(prog)?.lowered_name(&text(name_expression)?)?.as_ptr())
    }

    /// With the terminating NUL.
    fn nvrtcGetPTXSize(prog: nvrtcProgram, ptxSizeRet: *mut usize) {
        give(ptxSizeRet, program(prog)?.text()?.to_bytes_with_nul().len())
    }

    fn nvrtcGetPTX(prog: nvrtcProgram, ptx: *mut c_char) {
        copy(program(prog)?.text()?.to_bytes_with_nul(), ptx)
    }

    fn nvrtcGetCUBINSize(prog: nvrtcProgram, cubinSizeRet: *mut usize) {
        give(cubinSizeRet, program(prog)?.code()?.len())
    }

    fn nvrtcGetCUBIN(prog: nvrtcProgram, cubin: *mut c_char) {
        copy(program(prog)?.code()?, cubin)
    }

    /// With the terminating NUL.
    fn nvrtcGetProgramLogSize(prog: nvrtcProgram, logSizeRet: *mut usize) {
        give(logSizeRet, program(prog)?.log().to_bytes_with_nul().len())
    }

    fn nvrtcGetProgramLog(prog: nvrtcProgram, log: *mut c_char) {
        copy(program(prog)?.log().to_bytes_with_nul(), log)
    }
}

/// The name of a status.
pub unsafe fn nvrtcGetErrorString(result: nvrtcResult) -> *const c_char {
    result.c_name().as_ptr()
}

/// # Safety
/// The text must be null or end in NUL.
unsafe fn text(text: *const c_char) -> Outcome<String> {
    if text.is_null() {
        return Err(nvrtcResult::NVRTC_ERROR_INVALID_INPUT);
    }
    // SAFETY: the caller vouches for it.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
/// The program must be null, or live and not be in use elsewhere.
unsafe fn program<'a>(program: nvrtcProgram) -> Outcome<&'a mut Program> {
    // SAFETY: the caller vouches for it.
    unsafe { program.cast::<Program>().as_mut() }.ok_or(nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM)
}

/// # Safety
/// The pointer must be null or writable.
unsafe fn give<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(nvrtcResult::NVRTC_ERROR_INVALID_INPUT);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

/// # Safety
/// The pointer must be null or have room for the bytes.
unsafe fn copy(bytes: &[u8], place: *mut c_char) -> Outcome {
    if place.is_null() {
        return Err(nvrtcResult::NVRTC_ERROR_INVALID_INPUT);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len()) };
    Ok(())
}
