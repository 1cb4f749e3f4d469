//! The functions of the table.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStringExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use device_compiler::cache::Dependencies;
use device_compiler::limits::Limits;
use hip_sys::rtc::{hipJitInputType, hipJitOption, hiprtcLinkState, hiprtcProgram, hiprtcResult};

use crate::COMPILER;
use crate::link::Link;
use crate::program::{Program, Result, owned};

const SUCCESS: hiprtcResult = hiprtcResult::HIPRTC_SUCCESS;
const INVALID_INPUT: hiprtcResult = hiprtcResult::HIPRTC_ERROR_INVALID_INPUT;
const INVALID_PROGRAM: hiprtcResult = hiprtcResult::HIPRTC_ERROR_INVALID_PROGRAM;

/// Programs, or linker states, by handle. Handles are numbers that are never reused, so a stale one is an
/// error.
struct Live<T> {
    last: usize,
    live: HashMap<usize, Arc<Mutex<T>>>,
}

impl<T> Default for Live<T> {
    fn default() -> Self {
        Self { last: 0, live: HashMap::new() }
    }
}

impl<T> Live<T> {
    /// Stores a value and returns its handle.
    fn add(&mut self, made: T) -> usize {
        self.last += 1;
        self.live.insert(self.last, Arc::new(Mutex::new(made)));
        self.last
    }
}

static PROGRAMS: LazyLock<Mutex<Live<Program>>> = LazyLock::new(Mutex::default);
static LINKS: LazyLock<Mutex<Live<Link>>> = LazyLock::new(Mutex::default);

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an entry point. Panics never reach C.
fn entry(work: impl FnOnce() -> Result) -> hiprtcResult {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(error)) => error,
        Err(_) => hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR,
    }
}

fn with<T>(handle: hiprtcProgram, work: impl FnOnce(&mut Program) -> Result<T>) -> Result<T> {
    let program = locked(&PROGRAMS).live.get(&handle.addr()).cloned().ok_or(INVALID_PROGRAM)?;
    let mut program = locked(&program);
    work(&mut program)
}

/// # Safety
/// `text` is null or NUL-terminated, for as long as the result is used.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a CStr> {
    if text.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: required by this function's contract.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// # Safety
/// `texts` is null or has `count` elements, each null or NUL-terminated, for as long as the result is used.
unsafe fn texts<'a>(texts: *const *const c_char, count: c_int) -> Result<Vec<&'a CStr>> {
    let count = usize::try_from(count).map_err(|_| INVALID_INPUT)?;
    if count > 0 && texts.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: required by this function's contract.
    (0..count).map(|index| unsafe { text(*texts.add(index)) }).collect()
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn put<T>(out: *mut T, value: T) -> Result {
    if out.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: required by this function's contract.
    unsafe { out.write(value) };
    Ok(())
}

/// # Safety
/// `out` is null or has room for the bytes.
unsafe fn copy(out: *mut c_char, bytes: &[u8]) -> Result {
    if out.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: required by this function's contract.
    unsafe { out.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

pub(crate) unsafe extern "C" fn hiprtcCreateProgram(
    program: *mut hiprtcProgram,
    source: *const c_char,
    name: *const c_char,
    count: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> hiprtcResult {
    entry(|| {
        if program.is_null() {
            return Err(INVALID_PROGRAM);
        }
        // SAFETY: the caller passes NUL-terminated texts and arrays of as many as its count says.
        let (source, headers, names) =
            unsafe { (text(source)?, texts(headers, count)?, texts(names, count)?) };
        let utf8 = |text: &CStr| text.to_str().map(str::to_owned).map_err(|_| INVALID_INPUT);
        // SAFETY: the caller passes null or a NUL-terminated text.
        let name = if name.is_null() { "program.hip".to_owned() } else { utf8(unsafe { text(name)? })? };
        let header = |(name, text): (&CStr, &CStr)| Ok((utf8(name)?, owned(text)));
        let made = Program {
            source: owned(source),
            name,
            headers: names.into_iter().zip(headers).map(header).collect::<Result<_>>()?,
            ..Program::default()
        };
        let handle = locked(&PROGRAMS).add(made);
        // SAFETY: the caller passes a place for a handle.
        unsafe { put(program, std::ptr::without_provenance_mut(handle)) }
    })
}

pub(crate) unsafe extern "C" fn hiprtcDestroyProgram(program: *mut hiprtcProgram) -> hiprtcResult {
    entry(|| {
        if program.is_null() {
            return Err(INVALID_INPUT);
        }
        // SAFETY: the caller passes a place with a handle.
        let handle = unsafe { program.replace(std::ptr::null_mut()) };
        locked(&PROGRAMS).live.remove(&handle.addr()).map(drop).ok_or(INVALID_PROGRAM)
    })
}

pub(crate) unsafe extern "C" fn hiprtcAddNameExpression(
    program: hiprtcProgram,
    expression: *const c_char,
) -> hiprtcResult {
    entry(|| {
        // SAFETY: the caller passes null or a NUL-terminated text.
        let expression = unsafe { text(expression)? };
        with(program, |program| {
            if program.output.is_some() {
                return Err(hiprtcResult::HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
            }
            // A line break would shift the line numbers of messages.
            if expression.is_empty() || expression.to_bytes().contains(&b'\n') {
                return Err(hiprtcResult::HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
            }
            if program.expressions.iter().all(|known| known.as_c_str() != expression) {
                program.expressions.push(expression.to_owned());
            }
            Ok(())
        })
    })
}

pub(crate) unsafe extern "C" fn hiprtcCompileProgram(
    program: hiprtcProgram,
    count: c_int,
    options: *const *const c_char,
) -> hiprtcResult {
    entry(|| {
        let compiler = COMPILER.get().ok_or(hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR)?;
        // SAFETY: the caller passes as many NUL-terminated options as its count says.
        let options = unsafe { texts(options, count)? };
        let options: Vec<&str> = options
            .into_iter()
            .map(|option| option.to_str().map_err(|_| hiprtcResult::HIPRTC_ERROR_INVALID_OPTION))
            .collect::<Result<_>>()?;
        let options: Vec<&OsStr> = options.into_iter().map(OsStr::new).collect();
        with(program, |program| program.compile(compiler, &options))
    })
}

pub(crate) unsafe extern "C" fn hiprtcGetProgramLogSize(
    program: hiprtcProgram,
    size: *mut usize,
) -> hiprtcResult {
    // SAFETY: the caller passes null or a place for the size, which counts the NUL.
    entry(|| with(program, |program| unsafe { put(size, program.log.as_bytes_with_nul().len()) }))
}

pub(crate) unsafe extern "C" fn hiprtcGetProgramLog(
    program: hiprtcProgram,
    log: *mut c_char,
) -> hiprtcResult {
    // SAFETY: the caller passes as much space as `hiprtcGetProgramLogSize` reports.
    entry(|| with(program, |program| unsafe { copy(log, program.log.as_bytes_with_nul()) }))
}

/// Returns the code object or the bitcode.
fn output(program: &Program, bitcode: bool) -> Result<&[u8]> {
    match &program.output {
        Some(output) if output.bitcode == bitcode => Ok(&output.bytes),
        _ => Err(INVALID_PROGRAM),
    }
}

pub(crate) unsafe extern "C" fn hiprtcGetCodeSize(program: hiprtcProgram, size: *mut usize) -> hiprtcResult {
    // SAFETY: the caller passes null or a place for the size.
    entry(|| with(program, |program| unsafe { put(size, output(program, false)?.len()) }))
}

pub(crate) unsafe extern "C" fn hiprtcGetCode(program: hiprtcProgram, code: *mut c_char) -> hiprtcResult {
    // SAFETY: the caller passes as much space as `hiprtcGetCodeSize` reports.
    entry(|| with(program, |program| unsafe { copy(code, output(program, false)?) }))
}

pub(crate) unsafe extern "C" fn hiprtcGetBitcodeSize(
    program: hiprtcProgram,
    size: *mut usize,
) -> hiprtcResult {
    // SAFETY: the caller passes null or a place for the size.
    entry(|| with(program, |program| unsafe { put(size, output(program, true)?.len()) }))
}

pub(crate) unsafe extern "C" fn hiprtcGetBitcode(
    program: hiprtcProgram,
    bitcode: *mut c_char,
) -> hiprtcResult {
    // SAFETY: the caller passes as much space as `hiprtcGetBitcodeSize` reports.
    entry(|| with(program, |program| unsafe { copy(bitcode, output(program, true)?) }))
}

pub(crate) unsafe extern "C" fn hiprtcGetLoweredName(
    program: hiprtcProgram,
    expression: *const c_char,
    name: *mut *const c_char,
) -> hiprtcResult {
    entry(|| {
        // SAFETY: the caller passes null or a NUL-terminated text.
        let expression = unsafe { text(expression)? };
        with(program, |program| {
            if program.output.is_none() {
                return Err(hiprtcResult::HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
            }
            let lowered: Option<&CString> = program.lowered.get(expression);
            let lowered = lowered.ok_or(hiprtcResult::HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID)?;
            // SAFETY: the caller passes null or a place for a pointer, which is valid as long as the program
            // is.
            unsafe { put(name, lowered.as_ptr()) }
        })
    })
}

fn with_link<T>(handle: hiprtcLinkState, work: impl FnOnce(&mut Link) -> Result<T>) -> Result<T> {
    let link = locked(&LINKS).live.get(&handle.addr()).cloned().ok_or(INVALID_INPUT)?;
    let mut link = locked(&link);
    work(&mut link)
}

pub(crate) unsafe extern "C" fn hiprtcLinkCreate(
    count: c_uint,
    options: *mut hipJitOption,
    values: *mut *mut c_void,
    link: *mut hiprtcLinkState,
) -> hiprtcResult {
    entry(|| {
        if link.is_null() || (count > 0 && (options.is_null() || values.is_null())) {
            return Err(INVALID_INPUT);
        }
        // SAFETY: the caller passes as many options and values as its count says.
        let options: Vec<_> =
            (0..count as usize).map(|index| unsafe { (*options.add(index), *values.add(index)) }).collect();
        // SAFETY: the caller keeps the contract of each option.
        let handle = locked(&LINKS).add(unsafe { Link::new(&options)? });
        // SAFETY: the caller passes a place for a handle.
        unsafe { put(link, std::ptr::without_provenance_mut(handle)) }
    })
}

pub(crate) unsafe extern "C" fn hiprtcLinkAddFile(
    link: hiprtcLinkState,
    kind: hipJitInputType,
    path: *const c_char,
    _count: c_uint,
    _options: *mut hipJitOption,
    _values: *mut *mut c_void,
) -> hiprtcResult {
    entry(|| {
        // SAFETY: the caller passes null or a NUL-terminated text.
        let path = OsString::from_vec(owned(unsafe { text(path)? }));
        with_link(link, |link| {
            let bytes = std::fs::read(&path).map_err(|error| {
                link.tell(&format!("error: {}: {error}\n", path.display()));
                hiprtcResult::HIPRTC_ERROR_PROGRAM_CREATION_FAILURE
            })?;
            link.add(kind, bytes)
        })
    })
}

pub(crate) unsafe extern "C" fn hiprtcLinkAddData(
    link: hiprtcLinkState,
    kind: hipJitInputType,
    image: *mut c_void,
    size: usize,
    _name: *const c_char,
    _count: c_uint,
    _options: *mut hipJitOption,
    _values: *mut *mut c_void,
) -> hiprtcResult {
    entry(|| {
        if image.is_null() || size == 0 {
            return Err(INVALID_INPUT);
        }
        with_link(link, |link| {
            // SAFETY: the caller passes as many bytes as its count says.
            let bytes = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) };
            link.add(kind, bytes.to_vec())
        })
    })
}

pub(crate) unsafe extern "C" fn hiprtcLinkComplete(
    link: hiprtcLinkState,
    out: *mut *mut c_void,
    size: *mut usize,
) -> hiprtcResult {
    entry(|| {
        let compiler = COMPILER.get().ok_or(hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR)?;
        let current = crate::current_target();
        with_link(link, |link| {
            if out.is_null() {
                return Err(INVALID_INPUT);
            }
            link.complete(compiler, current.as_ref())?;
            // SAFETY: the caller passes places for both, the second one or null. The code lives as long as
            // the state.
            unsafe {
                put(out, link.output.as_mut_ptr().cast())?;
                if !size.is_null() {
                    size.write(link.output.len());
                }
            }
            Ok(())
        })
    })
}

pub(crate) unsafe extern "C" fn hiprtcLinkDestroy(link: hiprtcLinkState) -> hiprtcResult {
    entry(|| locked(&LINKS).live.remove(&link.addr()).map(drop).ok_or(INVALID_INPUT))
}

pub(crate) unsafe extern "C" fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult {
    entry(|| {
        let version = COMPILER.get().ok_or(hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR)?.toolchain.hip_version;
        let number = |number: u32| c_int::try_from(number).unwrap_or(c_int::MAX);
        // SAFETY: the caller passes null or places for both.
        unsafe {
            put(major, number(version.major))?;
            put(minor, number(version.minor))
        }
    })
}

pub(crate) unsafe extern "C" fn hiprtcGetErrorString(result: hiprtcResult) -> *const c_char {
    macro_rules! names {
        ($($name:ident)*) => {
            match result {
                $(hiprtcResult::$name => concat!(stringify!($name), "\0"),)*
                _ => "Invalid HIPRTC error code\0",
            }
        };
    }
    let name = names! {
        HIPRTC_SUCCESS HIPRTC_ERROR_OUT_OF_MEMORY HIPRTC_ERROR_PROGRAM_CREATION_FAILURE HIPRTC_ERROR_INVALID_INPUT
        HIPRTC_ERROR_INVALID_PROGRAM HIPRTC_ERROR_INVALID_OPTION HIPRTC_ERROR_COMPILATION
        HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION
        HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID
        HIPRTC_ERROR_INTERNAL_ERROR HIPRTC_ERROR_LINKING
    };
    name.as_ptr().cast()
}

/// The extension function `compiler_identity`.
pub(crate) unsafe extern "C" fn compiler_identity(out: *mut c_char, size: usize) -> usize {
    let Some(compiler) = COMPILER.get() else { return 0 };
    // SAFETY: the caller gives `size` bytes.
    unsafe { copy_cut(out, size, compiler.identity.as_bytes()) }
}

/// The extension function `set_limits`.
pub(crate) unsafe extern "C" fn set_limits(
    program: hiprtcProgram,
    milliseconds: u64,
    bytes: u64,
) -> hiprtcResult {
    entry(|| {
        with(program, |program| {
            let some = |number: u64| (number != 0).then_some(number);
            let time = some(milliseconds).map(Duration::from_millis);
            program.limits = Some(Limits { time, memory: some(bytes) });
            Ok(())
        })
    })
}

/// The extension function `dependencies`.
pub(crate) unsafe extern "C" fn dependencies(program: hiprtcProgram, out: *mut c_char, size: usize) -> usize {
    let mut length = 0;
    let _ = entry(|| {
        with(program, |program| {
            let known = program.output.as_ref().and_then(|output| output.dependencies.as_ref());
            let text = known.map(Dependencies::to_json).unwrap_or_default();
            // SAFETY: the caller gives `size` bytes.
            length = unsafe { copy_cut(out, size, text.as_bytes()) };
            Ok(())
        })
    });
    length
}

/// Copies a text with a final NUL, truncated to the size. Returns its full length.
///
/// # Safety
/// `out` is null or has room for `size` bytes.
unsafe fn copy_cut(out: *mut c_char, size: usize, text: &[u8]) -> usize {
    if size > 0 && !out.is_null() {
        let copied = text.len().min(size - 1);
        // SAFETY: required by this function's contract.
        unsafe {
            out.cast::<u8>().copy_from(text.as_ptr(), copied);
            out.add(copied).write(0);
        }
    }
    text.len()
}
