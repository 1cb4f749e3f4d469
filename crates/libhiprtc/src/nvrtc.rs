//! NVRTC's functions, for programs that `ferrocm nvcc` links with `-lnvrtc`: its `libnvrtc` jumps here.
//!
//! Programs are in CUDA C++ and become code objects for the current device, or for the target of AMD's that
//! `--gpu-architecture` names. What `nvrtcGetPTX` gives is the code object as text, which the driver's
//! functions load. [`device_compiler::nvrtc`] has the options.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use code_object::text;
use device_compiler::cuda;
use device_compiler::nvcc::{ARCHITECTURES, CUDA_VERSION};
use device_compiler::nvrtc::{Options, PRELUDE, Prepared, prepare, translate};
use hip_sys::rtc::{Table, hiprtcProgram, hiprtcResult};

/// `nvrtcResult`. The codes of hiprtc up to `INTERNAL_ERROR` are the same.
type Code = u32;
/// What a function does.
type Outcome<T = ()> = Result<T, Code>;
/// An `nvrtcProgram`: a number that is never reused.
type Handle = *mut c_void;
/// Called around a compilation; it cancels it if it returns 1.
type Flow = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// The codes' names, by code.
const NAMES: [&CStr; 19] = [
    c"NVRTC_SUCCESS",
    c"NVRTC_ERROR_OUT_OF_MEMORY",
    c"NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    c"NVRTC_ERROR_INVALID_INPUT",
    c"NVRTC_ERROR_INVALID_PROGRAM",
    c"NVRTC_ERROR_INVALID_OPTION",
    c"NVRTC_ERROR_COMPILATION",
    c"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    c"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    c"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    c"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    c"NVRTC_ERROR_INTERNAL_ERROR",
    c"NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
    c"NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED",
    c"NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED",
    c"NVRTC_ERROR_PCH_CREATE",
    c"NVRTC_ERROR_CANCELLED",
    c"NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED",
    c"NVRTC_ERROR_BUSY",
];
const INVALID_INPUT: Code = 3;
const INVALID_PROGRAM: Code = 4;
const INVALID_OPTION: Code = 5;
const NO_NAME_EXPRESSIONS_AFTER_COMPILATION: Code = 8;
const NO_LOWERED_NAMES_BEFORE_COMPILATION: Code = 9;
const NAME_EXPRESSION_NOT_VALID: Code = 10;
const INTERNAL_ERROR: Code = 11;
const NO_PCH_CREATE_ATTEMPTED: Code = 13;
const CANCELLED: Code = 16;

/// A program.
#[derive(Default)]
struct Program {
    source: String,
    name: String,
    /// Pairs of name and text.
    headers: Vec<(String, String)>,
    expressions: Vec<CString>,
    /// The callback and its argument, as an address.
    flow: Option<(Flow, usize)>,
    log: CString,
    compiled: Option<Compiled>,
}

/// The result of a compilation.
struct Compiled {
    code: Vec<u8>,
    /// The code as text.
    text: CString,
    /// By name expression.
    names: HashMap<CString, CString>,
}

#[derive(Default)]
struct Programs {
    last: usize,
    live: HashMap<usize, Arc<Mutex<Program>>>,
}

static PROGRAMS: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);
/// What the program has set. There are no precompiled headers.
static HEAP: AtomicUsize = AtomicUsize::new(256 << 20);

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A result of hiprtc.
fn check(result: hiprtcResult) -> Outcome {
    match Code::try_from(result.0) {
        Ok(0) => Ok(()),
        Ok(code) if code < INTERNAL_ERROR => Err(code),
        _ => Err(INTERNAL_ERROR),
    }
}

/// Foreign text; everything behind a NUL is lost.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// A program of hiprtc, which is destroyed with this.
struct Made {
    table: &'static Table,
    program: hiprtcProgram,
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // It can only fail for a handle that is not live.
            // SAFETY: the handle is live.
            let _ = unsafe { (self.table.hiprtcDestroyProgram)(&raw mut self.program) };
        }
    }
}

impl Program {
    /// Asks the callback whether to go on.
    fn goes_on(&self, handle: Handle) -> Outcome {
        let Some((flow, payload)) = self.flow else { return Ok(()) };
        // SAFETY: the program passed the function and its argument for this.
        let answer = unsafe { flow(ptr::with_exposed_provenance_mut(payload), handle) };
        if answer == 1 { Err(CANCELLED) } else { Ok(()) }
    }

    fn compile(&mut self, handle: Handle, options: &[String]) -> Outcome {
        (self.log, self.compiled) = (CString::default(), None);
        self.goes_on(handle)?;
        let compiled = self.run(options)?;
        self.goes_on(handle)?;
        self.compiled = Some(compiled);
        Ok(())
    }

    fn run(&mut self, options: &[String]) -> Outcome<Compiled> {
        let (given, beside): (Vec<_>, Vec<_>) =
            options.iter().cloned().partition(|option| !NO_SOURCE_INCLUDE.contains(&option.trim()));
        let Options { target, options } = translate(&given);
        let target = target.or_else(|| crate::current_target().map(|target| target.to_string()));
        let Some(target) = target else {
            self.log = c_string(
                "error: there is no device to compile for; --gpu-architecture=gfx… names a target\n",
            );
            return Err(INVALID_OPTION);
        };
        let mut all: Vec<CString> = options.iter().map(|option| c_string(&absolute(option))).collect();
        if beside.is_empty() {
            let folder = Path::new(&self.name).parent().unwrap_or(Path::new(""));
            all.push(c_string(&absolute(&format!("-I{}", folder.display()))));
        }
        all.push(c_string(&format!("--gpu-architecture={target}")));
        all.push(c_string(cuda::DIALECT_OPTION));

        let Prepared { source, headers } = prepare(PRELUDE, &self.source, &self.headers, &options);
        let (source, name) = (c_string(&source), c_string(&self.name));
        let names: Vec<CString> = headers.iter().map(|(name, _)| c_string(name)).collect();
        let texts: Vec<CString> = headers.iter().map(|(_, text)| c_string(text)).collect();
        let pointers = |list: &[CString]| list.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let count = |list: &[CString]| c_int::try_from(list.len()).unwrap_or(c_int::MAX);
        let table = crate::table();
        let mut made = Made { table, program: ptr::null_mut() };
        let log = |program| -> Outcome<CString> {
            let mut size = 0;
            // SAFETY: the program is live, and the text has as many bytes as the first call says.
            let text = unsafe {
                check((table.hiprtcGetProgramLogSize)(program, &raw mut size))?;
                let mut text = vec![0_u8; size];
                check((table.hiprtcGetProgramLog)(program, text.as_mut_ptr().cast()))?;
                text
            };
            Ok(c_string(&String::from_utf8_lossy(&text)))
        };
        // SAFETY: all texts end in NUL and outlive the calls; the lists have as many elements as said.
        unsafe {
            check((table.hiprtcCreateProgram)(
                &raw mut made.program,
                source.as_ptr(),
                name.as_ptr(),
                count(&texts),
                pointers(&texts).as_ptr(),
                pointers(&names).as_ptr(),
            ))?;
            for expression in &self.expressions {
                check((table.hiprtcAddNameExpression)(made.program, expression.as_ptr()))?;
            }
            let compiled =
                check((table.hiprtcCompileProgram)(made.program, count(&all), pointers(&all).as_ptr()));
            self.log = log(made.program)?;
            compiled?;
        }
        let mut size = 0;
        // SAFETY: the program is compiled, and the code has as many bytes as the first call says.
        let code = unsafe {
            check((table.hiprtcGetCodeSize)(made.program, &raw mut size))?;
            let mut code = vec![0_u8; size];
            check((table.hiprtcGetCode)(made.program, code.as_mut_ptr().cast()))?;
            code
        };
        let lowered = |expression: &CString| {
            let mut name = ptr::null();
            // SAFETY: the name is the program's, which lives longer.
            let name = unsafe {
                check((table.hiprtcGetLoweredName)(made.program, expression.as_ptr(), &raw mut name))?;
                CStr::from_ptr(name).to_owned()
            };
            Ok((expression.clone(), name))
        };
        let names = self.expressions.iter().map(lowered).collect::<Outcome<_>>()?;
        let text = c_string(&text::encode(&code));
        Ok(Compiled { code, text, names })
    }

    fn compiled(&self) -> Outcome<&Compiled> {
        self.compiled.as_ref().ok_or(INVALID_PROGRAM)
    }
}

/// The options with which a source's own folder is not searched for headers.
const NO_SOURCE_INCLUDE: [&str; 2] = ["--no-source-include", "-no-source-include"];

/// An option whose folder, if it has one, is found from any other.
fn absolute(option: &str) -> String {
    match option.strip_prefix("-I") {
        Some(folder) => {
            let folder = if folder.is_empty() { "." } else { folder };
            let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
            format!("-I{}", whole.display())
        }
        None => option.to_owned(),
    }
}

fn with<T>(handle: Handle, work: impl FnOnce(&mut Program) -> Outcome<T>) -> Outcome<T> {
    let program = locked(&PROGRAMS).live.get(&handle.addr()).cloned().ok_or(INVALID_PROGRAM)?;
    work(&mut locked(&program))
}

/// # Safety
/// The text is null or ends in NUL.
unsafe fn owned(text: *const c_char) -> Outcome<CString> {
    // SAFETY: the caller vouches for it.
    if text.is_null() { Err(INVALID_INPUT) } else { Ok(unsafe { CStr::from_ptr(text) }.to_owned()) }
}

/// # Safety
/// As [`owned`].
unsafe fn string(text: *const c_char) -> Outcome<String> {
    // SAFETY: the caller vouches for it.
    unsafe { owned(text) }.map(|text| text.to_string_lossy().into_owned())
}

/// # Safety
/// The list is null or has this many texts, each null or ending in NUL.
unsafe fn strings(list: *const *const c_char, count: c_int) -> Outcome<Vec<String>> {
    let count = usize::try_from(count).map_err(|_| INVALID_INPUT)?;
    if count > 0 && list.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: the caller vouches for it.
    (0..count).map(|index| unsafe { string(*list.add(index)) }).collect()
}

/// # Safety
/// The place is null or writable.
unsafe fn give<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

/// # Safety
/// The place is null or has room for the bytes.
unsafe fn copy(bytes: &[u8], place: *mut c_char) -> Outcome {
    if place.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// NVRTC's functions, whose bodies end in an outcome. Panics never reach C.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, reason = "some bodies only look up the program")]
            unsafe extern "C" fn $name($($argument: $type),*) -> Code {
                // SAFETY: the caller keeps the contract of NVRTC's documentation.
                let run = AssertUnwindSafe(move || -> Outcome { unsafe { $body } });
                catch_unwind(run).unwrap_or(Err(INTERNAL_ERROR)).err().unwrap_or(0)
            }
        )+
    };
}

functions! {
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) {
        give(major, CUDA_VERSION.0 as c_int)?;
        give(minor, CUDA_VERSION.1 as c_int)
    }
    fn nvrtcGetNumSupportedArchs(count: *mut c_int) {
        give(count, ARCHITECTURES.len() as c_int)
    }
    fn nvrtcGetSupportedArchs(architectures: *mut c_int) {
        for (i, architecture) in ARCHITECTURES.into_iter().enumerate() {
            give(if architectures.is_null() { architectures } else { architectures.add(i) }, architecture as c_int)?;
        }
        Ok(())
    }
    fn nvrtcCreateProgram(
        program: *mut Handle,
        source: *const c_char,
        name: *const c_char,
        count: c_int,
        headers: *const *const c_char,
        names: *const *const c_char,
    ) {
        let name = if name.is_null() { "default_program".to_owned() } else { string(name)? };
        let headers = strings(names, count)?.into_iter().zip(strings(headers, count)?).collect();
        let made = Program { source: string(source)?, name, headers, ..Program::default() };
        if program.is_null() {
            return Err(INVALID_INPUT);
        }
        let mut programs = locked(&PROGRAMS);
        programs.last += 1;
        let handle = programs.last;
        programs.live.insert(handle, Arc::new(Mutex::new(made)));
        give(program, ptr::without_provenance_mut(handle))
    }
    fn nvrtcDestroyProgram(program: *mut Handle) {
        if program.is_null() {
            return Err(INVALID_PROGRAM);
        }
        let handle = program.replace(ptr::null_mut());
        locked(&PROGRAMS).live.remove(&handle.addr()).map(drop).ok_or(INVALID_PROGRAM)
    }
    fn nvrtcAddNameExpression(program: Handle, expression: *const c_char) {
        let expression = owned(expression)?;
        with(program, |program| match program.compiled {
            Some(_) => Err(NO_NAME_EXPRESSIONS_AFTER_COMPILATION),
            None => {
                program.expressions.push(expression);
                Ok(())
            }
        })
    }
    fn nvrtcCompileProgram(program: Handle, count: c_int, options: *const *const c_char) {
        let options = strings(options, count)?;
        with(program, |found| found.compile(program, &options))
    }
    fn nvrtcGetLoweredName(program: Handle, expression: *const c_char, name: *mut *const c_char) {
        let expression = owned(expression)?;
        with(program, |program| {
            let compiled = program.compiled.as_ref().ok_or(NO_LOWERED_NAMES_BEFORE_COMPILATION)?;
            let lowered = compiled.names.get(&expression).ok_or(NAME_EXPRESSION_NOT_VALID)?;
            give(name, lowered.as_ptr())
        })
    }
    fn nvrtcGetPTXSize(program: Handle, size: *mut usize) {
        with(program, |program| give(size, program.compiled()?.text.as_bytes_with_nul().len()))
    }
    fn nvrtcGetPTX(program: Handle, ptx: *mut c_char) {
        with(program, |program| copy(program.compiled()?.text.as_bytes_with_nul(), ptx))
    }
    fn nvrtcGetCUBINSize(program: Handle, size: *mut usize) {
        with(program, |program| give(size, program.compiled()?.code.len()))
    }
    fn nvrtcGetCUBIN(program: Handle, cubin: *mut c_char) {
        with(program, |program| copy(&program.compiled()?.code, cubin))
    }
    fn nvrtcGetProgramLogSize(program: Handle, size: *mut usize) {
        with(program, |program| give(size, program.log.as_bytes_with_nul().len()))
    }
    fn nvrtcGetProgramLog(program: Handle, log: *mut c_char) {
        with(program, |program| copy(program.log.as_bytes_with_nul(), log))
    }
    // There is no other intermediate code: a program compiled without the options for it has none.
    fn nvrtcGetLTOIRSize(program: Handle, size: *mut usize) {
        with(program, |program| { program.compiled()?; give(size, 0) })
    }
    fn nvrtcGetLTOIR(program: Handle, _ir: *mut c_char) {
        with(program, |_| Err(INVALID_PROGRAM))
    }
    fn nvrtcGetOptiXIRSize(program: Handle, size: *mut usize) {
        with(program, |program| { program.compiled()?; give(size, 0) })
    }
    fn nvrtcGetOptiXIR(program: Handle, _ir: *mut c_char) {
        with(program, |_| Err(INVALID_PROGRAM))
    }
    fn nvrtcGetPCHHeapSize(size: *mut usize) {
        give(size, HEAP.load(Ordering::Relaxed))
    }
    fn nvrtcSetPCHHeapSize(size: usize) {
        HEAP.store(size, Ordering::Relaxed);
        Ok(())
    }
    fn nvrtcGetPCHCreateStatus(program: Handle) {
        with(program, |_| Err(NO_PCH_CREATE_ATTEMPTED))
    }
    fn nvrtcGetPCHHeapSizeRequired(program: Handle, _size: *mut usize) {
        with(program, |_| Err(NO_PCH_CREATE_ATTEMPTED))
    }
    fn nvrtcSetFlowCallback(program: Handle, callback: Option<Flow>, payload: *mut c_void) {
        with(program, |program| {
            program.flow = Some((callback.ok_or(INVALID_INPUT)?, payload.expose_provenance()));
            Ok(())
        })
    }
}

/// The name of a code.
#[unsafe(no_mangle)]
extern "C" fn nvrtcGetErrorString(result: Code) -> *const c_char {
    NAMES.get(result as usize).copied().unwrap_or(c"NVRTC_ERROR unknown").as_ptr()
}
