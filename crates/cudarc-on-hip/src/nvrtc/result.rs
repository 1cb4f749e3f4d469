//! NVRTC's functions, each with a `Result`.
#![allow(clippy::missing_safety_doc, reason = "the contract is the one of NVRTC's function of that name")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;

use super::sys::{self, nvrtcResult};

/// A status of NVRTC other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvrtcError(pub nvrtcResult);

impl nvrtcResult {
    /// An error, unless this is success.
    pub fn result(self) -> Result<(), NvrtcError> {
        match self {
            Self::NVRTC_SUCCESS => Ok(()),
            other => Err(NvrtcError(other)),
        }
    }
}

impl fmt::Display for NvrtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for NvrtcError {}

/// Creates a program from a source (`nvrtcCreateProgram`).
pub fn create_program(src: &CStr, name: Option<&CStr>) -> Result<sys::nvrtcProgram, NvrtcError> {
    let mut program = std::ptr::null_mut();
    let (name, none) = (name.map_or(std::ptr::null(), CStr::as_ptr), std::ptr::null());
    // SAFETY: the texts end in NUL, there are no headers, and the result is writable.
    unsafe { sys::nvrtcCreateProgram(&raw mut program, src.as_ptr(), name, 0, none, none) }.result()?;
    Ok(program)
}

/// Compiles a program (`nvrtcCompileProgram`).
///
/// # Panics
/// If an option has a NUL.
pub unsafe fn compile_program<O: Clone + Into<Vec<u8>>>(
    prog: sys::nvrtcProgram,
    options: &[O],
) -> Result<(), NvrtcError> {
    let texts: Vec<CString> =
        options.iter().cloned().map(|option| CString::new(option).expect("an option without NUL")).collect();
    let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    // SAFETY: there are this many texts, which outlive the call; the caller vouches for the program.
    unsafe { sys::nvrtcCompileProgram(prog, pointers.len() as c_int, pointers.as_ptr()) }.result()
}

/// Destroys a program (`nvrtcDestroyProgram`).
pub unsafe fn destroy_program(prog: sys::nvrtcProgram) -> Result<(), NvrtcError> {
    let mut program = prog;
    // SAFETY: the caller vouches for the program.
    unsafe { sys::nvrtcDestroyProgram(&raw mut program) }.result()
}

/// The code of a compiled program as text, with the terminating NUL (`nvrtcGetPTX`).
pub unsafe fn get_ptx(prog: sys::nvrtcProgram) -> Result<Vec<c_char>, NvrtcError> {
    // SAFETY: the caller vouches for the program.
    let size = |place| unsafe { sys::nvrtcGetPTXSize(prog, place) };
    // SAFETY: the caller vouches for the program, and there is as much room as was asked for.
    filled(size, |place| unsafe { sys::nvrtcGetPTX(prog, place) })
}

/// The compiler's messages, with the terminating NUL (`nvrtcGetProgramLog`).
pub unsafe fn get_program_log(prog: sys::nvrtcProgram) -> Result<Vec<c_char>, NvrtcError> {
    // SAFETY: the caller vouches for the program.
    let size = |place| unsafe { sys::nvrtcGetProgramLogSize(prog, place) };
    // SAFETY: the caller vouches for the program, and there is as much room as was asked for.
    filled(size, |place| unsafe { sys::nvrtcGetProgramLog(prog, place) })
}

fn filled(
    size: impl FnOnce(*mut usize) -> nvrtcResult,
    fill: impl FnOnce(*mut c_char) -> nvrtcResult,
) -> Result<Vec<c_char>, NvrtcError> {
    let mut bytes = 0;
    size(&raw mut bytes).result()?;
    let mut text = vec![0; bytes];
    fill(text.as_mut_ptr()).result()?;
    Ok(text)
}
