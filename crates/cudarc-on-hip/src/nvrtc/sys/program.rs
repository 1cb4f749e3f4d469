//! A program, and the result of its compilation.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use device_compiler::nvrtc::PRELUDE;
use hip::TargetId;
use hip::code_object::text;
use hip::rtc;

use super::options::{Plan, Refusal, plan};
use super::{Outcome, nvrtcResult};
use crate::backend;

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
        match self.run(options) {
            Ok(compiled) => {
                self.compiled = Some(compiled);
                Ok(())
            }
            Err((code, log)) => {
                self.log = c_string(&log);
                Err(code)
            }
        }
    }

    fn run(&mut self, options: &[String]) -> Result<Compiled, (nvrtcResult, String)> {
        let Plan { by_nvidia, target, options } =
            plan(options, device()).map_err(|refused| not_planned(&refused))?;
        let source =
            if by_nvidia { self.source.clone() } else { format!("{PRELUDE}#line 1\n{}", self.source) };
        let mut program = rtc::Program::new(source).name(&*self.name);
        for (name, text) in &self.headers {
            program = program.header(&**name, &**text);
        }
        for option in options {
            program = program.option(option);
        }
        for expression in &self.expressions {
            program = program.expression(&**expression);
        }
        let compiled = compiler(by_nvidia).and_then(|compiler| compiler.compile(&program, &target));
        let compiled = compiled.map_err(|error| refusal(&error))?;
        self.log = c_string(&compiled.log());
        let name = |expression: &String| {
            let lowered = compiled.lowered_name(expression)?;
            Some((expression.clone(), c_string(lowered)))
        };
        let names = self.expressions.iter().filter_map(name).collect();
        let (code, text) = outputs(compiled.code, by_nvidia);
        Ok(Compiled { code, text, names })
    }

    fn compiled(&self) -> Outcome<&Compiled> {
        self.compiled.as_ref().ok_or(nvrtcResult::NVRTC_ERROR_INVALID_PROGRAM)
    }

    /// The code as text.
    pub(super) fn text(&self) -> Outcome<&CStr> {
        self.compiled().map(|compiled| &*compiled.text)
    }

    /// The code object or cubin; empty if the code is PTX.
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

/// What `nvrtcGetCUBIN` and `nvrtcGetPTX` give: code that is PTX is text already.
fn outputs(code: Vec<u8>, by_nvidia: bool) -> (Vec<u8>, CString) {
    if by_nvidia && !code.starts_with(b"\x7fELF") {
        return (Vec::new(), c_string(&String::from_utf8_lossy(&code)));
    }
    let text = c_string(&text::encode(&code));
    (code, text)
}

/// One of the compilers of the process.
fn compiler(nvidia: bool) -> hip::Result<&'static rtc::Compiler> {
    static COMPILERS: [OnceLock<rtc::Compiler>; 2] = [const { OnceLock::new() }; 2];
    let place = &COMPILERS[usize::from(nvidia)];
    if let Some(compiler) = place.get() {
        return Ok(compiler);
    }
    let compiler = if nvidia { rtc::Compiler::nvrtc() } else { rtc::Compiler::open() }?;
    Ok(place.get_or_init(|| compiler))
}

/// The target of the calling thread's device, otherwise that of the first device, and whether it is NVIDIA's.
fn device() -> Option<(bool, &'static TargetId)> {
    let backend = backend::backend().ok()?;
    let device = backend::current().map_or(&backend.devices[0], |(device, _)| device);
    Some((backend.takes_cuda_code(), device.target()))
}

/// Why there is no plan, as a status and as text.
fn not_planned(refused: &Refusal) -> (nvrtcResult, String) {
    match refused {
        Refusal::Architecture(reason) => (nvrtcResult::NVRTC_ERROR_INVALID_OPTION, reason.clone()),
        Refusal::NoTarget => {
            let reason = backend::no_device_because().unwrap_or("there is no device");
            (nvrtcResult::NVRTC_ERROR_INTERNAL_ERROR, format!("no device to compile for: {reason}"))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_its_own_text_and_machine_code_is_written_as_text() {
        let (code, text) = outputs(b".version 8.0\n\0".to_vec(), true);
        assert_eq!((code, text.as_c_str()), (Vec::new(), c".version 8.0\n"));
        for by_nvidia in [false, true] {
            let (code, text) = outputs(b"\x7fELF\0code".to_vec(), by_nvidia);
            assert_eq!(text::decode(text.to_bytes()).unwrap(), code);
            assert_eq!(code, b"\x7fELF\0code");
        }
    }
}
