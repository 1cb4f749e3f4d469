//! The functions of the table.

use std::ffi::{CStr, CString, c_char, c_int};

use cuda_sys::nvrtc::{Table, nvrtcProgram, nvrtcResult};
use hip_sys::rtc::{hiprtcProgram, hiprtcResult};

use crate::error::{name, translate};
use crate::includes::HEADERS;
use crate::option;
use crate::runtime::{architectures, identity, include_folders, nvrtc};

const INVALID_INPUT: hiprtcResult = hiprtcResult::HIPRTC_ERROR_INVALID_INPUT;
const INVALID_PROGRAM: hiprtcResult = hiprtcResult::HIPRTC_ERROR_INVALID_PROGRAM;

/// Calls NVRTC.
fn call(work: impl FnOnce(&Table) -> nvrtcResult) -> hiprtcResult {
    nvrtc().map_or(hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR, |nvrtc| translate(work(nvrtc)))
}

/// Defines functions that NVRTC has under another name.
macro_rules! same {
    ($($hiprtc:ident($($argument:ident: $type:ty),*) => $nvrtc:ident($($passed:expr),*);)*) => {
        $(
            #[doc = concat!("`", stringify!($hiprtc), "`: `", stringify!($nvrtc), "`.")]
            pub(crate) unsafe extern "C" fn $hiprtc($($argument: $type),*) -> hiprtcResult {
                // SAFETY: the caller keeps the contract of hiprtc's function, which is that of NVRTC's.
                call(|nvrtc| unsafe { (nvrtc.$nvrtc)($($passed),*) })
            }
        )*
    };
}

same! {
    hiprtcVersion(major: *mut c_int, minor: *mut c_int) => nvrtcVersion(major, minor);
    hiprtcDestroyProgram(program: *mut hiprtcProgram) => nvrtcDestroyProgram(program.cast());
    hiprtcAddNameExpression(program: hiprtcProgram, expression: *const c_char)
        => nvrtcAddNameExpression(program.cast(), expression);
    hiprtcGetLoweredName(program: hiprtcProgram, expression: *const c_char, name: *mut *const c_char)
        => nvrtcGetLoweredName(program.cast(), expression, name);
    hiprtcGetProgramLogSize(program: hiprtcProgram, size: *mut usize)
        => nvrtcGetProgramLogSize(program.cast(), size);
    hiprtcGetProgramLog(program: hiprtcProgram, log: *mut c_char) => nvrtcGetProgramLog(program.cast(), log);
}

/// # Safety
/// `texts` is null or has `count` elements, each null or NUL-terminated, for as long as the result is used.
unsafe fn texts<'a>(texts: *const *const c_char, count: c_int) -> Result<Vec<&'a CStr>, hiprtcResult> {
    let count = usize::try_from(count).map_err(|_| INVALID_INPUT)?;
    if count > 0 && texts.is_null() {
        return Err(INVALID_INPUT);
    }
    let one = |index| {
        // SAFETY: the array has as many elements.
        let text: *const c_char = unsafe { *texts.add(index) };
        if text.is_null() {
            return Err(INVALID_INPUT);
        }
        // SAFETY: the text ends in a NUL.
        Ok(unsafe { CStr::from_ptr(text) })
    };
    (0..count).map(one).collect()
}

fn pointers<T: AsRef<CStr>>(texts: &[T]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ref().as_ptr()).collect()
}

fn number(length: usize) -> Result<c_int, hiprtcResult> {
    c_int::try_from(length).map_err(|_| INVALID_INPUT)
}

/// `hiprtcCreateProgram`: the program also has the headers that NVRTC lacks, unless it brings its own.
pub(crate) unsafe extern "C" fn hiprtcCreateProgram(
    program: *mut hiprtcProgram,
    source: *const c_char,
    name: *const c_char,
    count: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> hiprtcResult {
    let made = || {
        // SAFETY: the caller passes arrays of as many NUL-terminated texts as its count says.
        let (mut headers, mut names) = unsafe { (texts(headers, count)?, texts(names, count)?) };
        for (name, text) in HEADERS {
            if !names.contains(name) {
                names.push(name);
                headers.push(text);
            }
        }
        let count = number(names.len())?;
        let (headers, names) = (pointers(&headers), pointers(&names));
        // SAFETY: the caller passes a place and texts that NVRTC checks for null; the arrays have as many
        // texts as the count says.
        Ok(call(|nvrtc| unsafe {
            (nvrtc.nvrtcCreateProgram)(program.cast(), source, name, count, headers.as_ptr(), names.as_ptr())
        }))
    };
    made().unwrap_or_else(|error| error)
}

/// `hiprtcCompileProgram`: with the options in NVRTC's words, and the folder of CUDA's headers.
pub(crate) unsafe extern "C" fn hiprtcCompileProgram(
    program: hiprtcProgram,
    count: c_int,
    options: *const *const c_char,
) -> hiprtcResult {
    let compiled = || {
        let nvrtc = nvrtc().ok_or(hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR)?;
        // SAFETY: the caller passes as many NUL-terminated options as its count says.
        let options = unsafe { texts(options, count)? };
        let invalid = hiprtcResult::HIPRTC_ERROR_INVALID_OPTION;
        let options: Vec<&str> = options
            .into_iter()
            .map(|option| option.to_str().map_err(|_| invalid))
            .collect::<Result<_, _>>()?;
        let mut options = option::translate(&options, &architectures(nvrtc));
        // Last, so that folders of the program's come first.
        let folders = include_folders(nvrtc);
        options.extend(folders.iter().map(|folder| format!("--include-path={}", folder.display())));
        let options: Vec<CString> = options
            .into_iter()
            .map(|option| CString::new(option).map_err(|_| invalid))
            .collect::<Result<_, _>>()?;
        let (count, options) = (number(options.len())?, pointers(&options));
        // SAFETY: the caller passes a program, and the array has as many options as the count says.
        Ok(translate(unsafe { (nvrtc.nvrtcCompileProgram)(program.cast(), count, options.as_ptr()) }))
    };
    compiled().unwrap_or_else(|error| error)
}

/// A kind of output.
#[derive(Clone, Copy)]
enum Output {
    Cubin,
    Ptx,
    LtoIr,
}

impl Output {
    /// The bytes of the output of this kind, 0 if there is none.
    ///
    /// # Safety
    /// The program is one of NVRTC's.
    unsafe fn size(self, nvrtc: &Table, program: nvrtcProgram) -> Result<usize, hiprtcResult> {
        let get = match self {
            Self::Cubin => nvrtc.nvrtcGetCUBINSize,
            Self::Ptx => nvrtc.nvrtcGetPTXSize,
            Self::LtoIr => nvrtc.nvrtcGetLTOIRSize,
        };
        let mut size = 0;
        // SAFETY: the caller's promise, and a place for the number.
        match translate(unsafe { get(program, &raw mut size) }) {
            // The NUL that ends PTX, and nothing before it.
            hiprtcResult::HIPRTC_SUCCESS if matches!(self, Self::Ptx) && size <= 1 => Ok(0),
            hiprtcResult::HIPRTC_SUCCESS => Ok(size),
            error => Err(error),
        }
    }
}

/// The first kind of output that a program has, and its size.
///
/// # Safety
/// The program is one of NVRTC's.
unsafe fn output(program: hiprtcProgram, kinds: &[Output]) -> Result<(Output, usize), hiprtcResult> {
    let nvrtc = nvrtc().ok_or(hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR)?;
    for &kind in kinds {
        // SAFETY: the caller's promise.
        let size = unsafe { kind.size(nvrtc, program.cast())? };
        if size > 0 {
            return Ok((kind, size));
        }
    }
    Err(INVALID_PROGRAM)
}

/// # Safety
/// The program is one of NVRTC's, and `size` is null or a place to write to.
unsafe fn put_size(program: hiprtcProgram, kinds: &[Output], size: *mut usize) -> hiprtcResult {
    if size.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller's promise.
    match unsafe { output(program, kinds) } {
        Ok((_, found)) => {
            // SAFETY: the caller passes a place for the size.
            unsafe { size.write(found) };
            hiprtcResult::HIPRTC_SUCCESS
        }
        Err(error) => error,
    }
}

/// # Safety
/// The program is one of NVRTC's, and `bytes` is null or has as much room as [`put_size`] says.
unsafe fn put(program: hiprtcProgram, kinds: &[Output], bytes: *mut c_char) -> hiprtcResult {
    // SAFETY: the caller's promise.
    match unsafe { output(program, kinds) } {
        Ok((kind, _)) => call(|nvrtc| {
            let get = match kind {
                Output::Cubin => nvrtc.nvrtcGetCUBIN,
                Output::Ptx => nvrtc.nvrtcGetPTX,
                Output::LtoIr => nvrtc.nvrtcGetLTOIR,
            };
            // SAFETY: the caller's promise; NVRTC checks for null.
            unsafe { get(program.cast(), bytes) }
        }),
        Err(error) => error,
    }
}

/// What is loaded as code, best first.
const CODE: &[Output] = &[Output::Cubin, Output::Ptx];
/// What is linked.
const BITCODE: &[Output] = &[Output::LtoIr];

pub(crate) unsafe extern "C" fn hiprtcGetCodeSize(program: hiprtcProgram, size: *mut usize) -> hiprtcResult {
    // SAFETY: the caller passes a program and a place.
    unsafe { put_size(program, CODE, size) }
}

pub(crate) unsafe extern "C" fn hiprtcGetCode(program: hiprtcProgram, code: *mut c_char) -> hiprtcResult {
    // SAFETY: the caller passes a program and as much room as `hiprtcGetCodeSize` says.
    unsafe { put(program, CODE, code) }
}

pub(crate) unsafe extern "C" fn hiprtcGetBitcodeSize(
    program: hiprtcProgram,
    size: *mut usize,
) -> hiprtcResult {
    // SAFETY: the caller passes a program and a place.
    unsafe { put_size(program, BITCODE, size) }
}

pub(crate) unsafe extern "C" fn hiprtcGetBitcode(
    program: hiprtcProgram,
    bitcode: *mut c_char,
) -> hiprtcResult {
    // SAFETY: the caller passes a program and as much room as `hiprtcGetBitcodeSize` says.
    unsafe { put(program, BITCODE, bitcode) }
}

pub(crate) unsafe extern "C" fn hiprtcGetErrorString(result: hiprtcResult) -> *const c_char {
    name(result).as_ptr()
}

/// The extension function `compiler_identity`.
pub(crate) unsafe extern "C" fn compiler_identity(out: *mut c_char, size: usize) -> usize {
    let Some(nvrtc) = nvrtc() else { return 0 };
    let text = identity(nvrtc);
    if size > 0 {
        let shown = text.len().min(size - 1);
        // SAFETY: the caller gives `size` bytes.
        unsafe {
            out.cast::<u8>().copy_from(text.as_ptr(), shown);
            out.add(shown).write(0);
        }
    }
    text.len()
}
