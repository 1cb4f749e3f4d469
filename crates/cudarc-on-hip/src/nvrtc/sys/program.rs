//! A program, and the result of its compilation.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use hip::code_object::{TargetId, text};
use hip::rtc;

use super::options::{Options, for_nvidia, translate};
use super::{Outcome, nvrtcResult};
use crate::backend;

/// Declarations that NVRTC adds before each source, in addition to nvcc's. Line numbers in messages are those
/// of the source.
const PRELUDE: &str = r"#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : __assert_fail(#__VA_ARGS__, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
#line 1
";

pub(super) struct Program {
    source: String,
    name: String,
    headers: Vec<(String, String)>,
    expressions: Vec<String>,
    compiled: Option<Compiled>,
    log: CString,
}

struct Compiled {
    code: Vec<u8>,
    text: CString,
    names: HashMap<String, CString>,
}

/// Foreign text; everything after a NUL is lost.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

impl Program {
    pub(super) fn new(source: String, name: String, headers: Vec<(String, String)>) -> Self {
        Self { source, name, headers, expressions: Vec::new(), compiled: None, log: CString::default() }
    }

    pub(super) fn add_expression(&mut self, expression: String) -> Outcome {
        if self.compiled.is_some() {
            return Err(nvrtcResult::NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
        }
        self.expressions.push(expression);
        Ok(())
    }

    pub(super) fn compile(&mut self, options: &[String]) -> Outcome {
        let (Options { target, options }, prelude) = match backend::takes_cuda_code() {
            true => (for_nvidia(options), ""),
            false => (translate(options), PRELUDE),
        };
        let mut program = rtc::Program::new(format!("{prelude}{}", self.source)).name(&*self.name);
        for (name, text) in &self.headers {
            program = program.header(&**name, &**text);
        }
        for option in options {
            program = program.option(option);
        }
        for expression in &self.expressions {
            program = program.expression(&**expression);
        }
        let compiled = target_of(target).and_then(|target| {
            let compiled = compiler().and_then(|compiler| compiler.compile(&program, &target));
            compiled.map_err(|error| refusal(&error))
        });
        match compiled {
            Ok(compiled) => {
                self.log = c_string(&compiled.log());
                let name = |expression: &String| {
                    let lowered = compiled.lowered_name(expression)?;
                    Some((expression.clone(), c_string(lowered)))
                };
                let names = self.expressions.iter().filter_map(name).collect();
                let text = c_string(&text::encode(&compiled.code));
                self.compiled = Some(Compiled { code: compiled.code, text, names });
                Ok(())
            }
            Err((code, log)) => {
                self.log = c_string(&log);
                Err(code)
            }
        }
    }

    fn compiled(&self) -> Outcome<&Compiled> {
        self.compiled.as_ref().ok_or(nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM)
    }

    /// The code as text.
    pub(super) fn text(&self) -> Outcome<&CStr> {
        self.compiled().map(|compiled| &*compiled.text)
    }

    /// The code object.
    pub(super) fn code(&self) -> Outcome<&[u8]> {
        self.compiled().map(|compiled| &*compiled.code)
    }

    pub(super) fn lowered_name(&self, expression: &str) -> Outcome<&CStr> {
        let compiled = self.compiled.as_ref();
        let compiled = compiled.ok_or(nvrtcResult::NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION)?;
        let name = compiled.names.get(expression);
        name.map(|name| &**name).ok_or(nvrtcResult::NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID)
    }

    /// The compiler's messages, or why it did not run.
    pub(super) fn log(&self) -> &CStr {
        &self.log
    }
}

/// The compiler of the process.
fn compiler() -> hip::Result<&'static rtc::Compiler> {
    static COMPILER: OnceLock<rtc::Compiler> = OnceLock::new();
    if let Some(compiler) = COMPILER.get() {
        return Ok(compiler);
    }
    let compiler = match backend::backend() {
        Ok(backend) => rtc::Compiler::open_for(&backend.devices[0])?,
        Err(_) => rtc::Compiler::open()?,
    };
    Ok(COMPILER.get_or_init(|| compiler))
}

/// The target that the options name, otherwise that of the calling thread's device, otherwise that of the
/// first device. For NVIDIA's GPUs the code is machine code, so only the device's own architecture counts,
/// with the suffix that the options give it.
fn target_of(named: Option<String>) -> Result<TargetId, (nvrtcResult, String)> {
    if let Some(name) = named.filter(|name| !backend::takes_cuda_code() || is_of_device(name)) {
        return name
            .parse()
            .map_err(|error| (nvrtcResult::NVRTC_ERROR_INVALID_OPTION, format!("{name}: {error}")));
    }
    let first = || backend::backend().map(|backend| &backend.devices[0]);
    let device = backend::current().map(|(device, _)| device).or_else(|_| first());
    device.map(|device| device.target().clone()).map_err(|_| {
        let reason = backend::no_device_because().unwrap_or("there is no device");
        (nvrtcResult::NVRTC_ERROR_INTERNAL_ERROR, format!("no device to compile for: {reason}"))
    })
}

/// Whether an architecture of NVIDIA's (`sm_90a`) is that of the calling thread's device, or of the first
/// one.
fn is_of_device(name: &str) -> bool {
    let first = || backend::backend().map(|backend| &backend.devices[0]);
    let device = backend::current().map(|(device, _)| device).or_else(|_| first());
    device.is_ok_and(|device| device.target().processor == name.trim_end_matches(['a', 'f']))
}

/// Why there is no code, as a status and as text.
fn refusal(error: &hip::Error) -> (nvrtcResult, String) {
    let code = match error {
        hip::Error::Compile(_) => nvrtcResult::NVRTC_ERROR_COMPILATION,
        hip::Error::CompilerUnavailable(_) => nvrtcResult::NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,
        hip::Error::Unsupported { .. } => nvrtcResult::NVRTC_ERROR_INVALID_OPTION,
        hip::Error::Rtc { code, .. } => nvrtcResult::from_code(i64::from(code.0))
            .filter(|code| *code != nvrtcResult::NVRTC_SUCCESS)
            .unwrap_or(nvrtcResult::NVRTC_ERROR_INTERNAL_ERROR),
        _ => nvrtcResult::NVRTC_ERROR_INTERNAL_ERROR,
    };
    (code, error.to_string())
}
