//! Linking of bitcode made with `-fgpu-rdc` (`hiprtcLink…`).

use std::ffi::{CStr, OsStr, OsString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use code_object::{TargetId, bundle};
use device_compiler::limits;
use hip_sys::rtc::{hipJitInputType, hipJitOption, hiprtcResult};

use crate::program::{Compiler, Result, tell_end};

const LINKING: hiprtcResult = hiprtcResult::HIPRTC_ERROR_LINKING;
const INVALID_INPUT: hiprtcResult = hiprtcResult::HIPRTC_ERROR_INVALID_INPUT;

/// A `hiprtcLinkState`.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Modules of bitcode or textual IR, and bundles of these.
    inputs: Vec<Vec<u8>>,
    /// Options for LLVM (`HIPRTC_JIT_IR_TO_ISA_OPT_EXT`).
    llvm_options: Vec<OsString>,
    error_log: Buffer,
    /// Kept as long as the state, because the caller gets a pointer to it.
    pub(crate) output: Vec<u8>,
}

/// The caller's memory for messages.
#[derive(Debug)]
struct Buffer {
    start: *mut c_char,
    size: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { start: std::ptr::null_mut(), size: 0 }
    }
}

// SAFETY: the caller leaves the memory to the state, which is used by one thread at a time.
unsafe impl Send for Buffer {}

/// The number of the option with LLVM's options, an array of texts; the next one has their count. HIP's
/// headers name them as hiprtc 5 did.
const LLVM_OPTIONS: u32 = 10_000;
const LLVM_OPTION_COUNT: u32 = 10_001;

impl Link {
    /// Reads the options of a state. Options for NVIDIA's compiler are ignored.
    ///
    /// # Safety
    /// Each value is valid for its option as hiprtc documents it, and buffers for messages live as long as
    /// the state.
    pub(crate) unsafe fn new(options: &[(hipJitOption, *mut c_void)]) -> Result<Self> {
        let mut link = Self::default();
        let value =
            |wanted: u32| options.iter().find(|(option, _)| option.0 == wanted).map(|(_, value)| *value);
        if let Some(start) = value(hipJitOption::hipJitOptionErrorLogBuffer.0) {
            let size =
                value(hipJitOption::hipJitOptionErrorLogBufferSizeBytes.0).unwrap_or(std::ptr::null_mut());
            // The size is the value itself.
            link.error_log = Buffer { start: start.cast(), size: size.addr() };
        }
        if let Some(texts) = value(LLVM_OPTIONS) {
            let count = value(LLVM_OPTION_COUNT).unwrap_or(std::ptr::null_mut()).addr();
            let texts = texts.cast::<*const c_char>();
            if texts.is_null() && count > 0 {
                return Err(hiprtcResult::HIPRTC_ERROR_INVALID_OPTION);
            }
            for index in 0..count {
                // SAFETY: the caller passes as many texts as its count says.
                let text = unsafe { *texts.add(index) };
                if text.is_null() {
                    return Err(hiprtcResult::HIPRTC_ERROR_INVALID_OPTION);
                }
                // SAFETY: each text ends in NUL.
                let text = unsafe { CStr::from_ptr(text) };
                let text = text.to_str().map_err(|_| hiprtcResult::HIPRTC_ERROR_INVALID_OPTION)?;
                link.llvm_options.push(text.into());
            }
        }
        Ok(link)
    }

    /// Adds bitcode, or textual IR, which AMD's linker also accepts, or a bundle of these.
    pub(crate) fn add(&mut self, kind: hipJitInputType, mut bytes: Vec<u8>) -> Result {
        // A C text may include its final NUL.
        if !is_bitcode(&bytes) && !bundle::is_bundle(&bytes) {
            bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
        }
        let is_module = is_bitcode(&bytes) || (!bytes.is_empty() && std::str::from_utf8(&bytes).is_ok());
        let is_good = match kind {
            hipJitInputType::hipJitInputLLVMBitcode => is_module,
            hipJitInputType::hipJitInputLLVMBundledBitcode => is_module || bundle::is_bundle(&bytes),
            _ => false,
        };
        if !is_good {
            self.tell(&format!(
                "error: the input of type {kind:?} is not LLVM bitcode or a bundle of it; only these can be linked"
            ));
            return Err(INVALID_INPUT);
        }
        self.inputs.push(bytes);
        Ok(())
    }

    /// Links the inputs to a code object.
    pub(crate) fn complete(&mut self, compiler: &Compiler, current: Option<&TargetId>) -> Result {
        let mut log = String::new();
        let linked = self.run(compiler, current, &mut log);
        self.tell(&log);
        self.output = linked?;
        Ok(())
    }

    fn run(&self, compiler: &Compiler, current: Option<&TargetId>, log: &mut String) -> Result<Vec<u8>> {
        if self.inputs.is_empty() {
            log.push_str("error: there is nothing to link\n");
            return Err(LINKING);
        }
        let failed = |log: &mut String, what: &dyn std::fmt::Display| {
            log.push_str(&format!("error: {what}\n"));
            LINKING
        };
        let work = tempfile::Builder::new().prefix("ferrocm-hiprtc-").tempdir();
        let work = work.map_err(|error| failed(log, &error))?;
        let work = work.path();
        let mut modules = Vec::new();
        for (index, input) in self.inputs.iter().enumerate() {
            let bitcode = match (bundle::is_bundle(input), current) {
                (false, _) => input.into(),
                (true, Some(target)) => {
                    bundle::code_for(input, target).map_err(|error| failed(log, &error))?
                }
                (true, None) => {
                    return Err(failed(
                        log,
                        &"a bundle of bitcode needs a current device, but there is none",
                    ));
                }
            };
            let module = work.join(format!("{index}.{}", if is_bitcode(&bitcode) { "bc" } else { "ll" }));
            std::fs::write(&module, bitcode).map_err(|error| failed(log, &error))?;
            modules.push(module);
        }
        let mut machine = Machine::default();
        for module in &mut modules {
            machine.join(Machine::of(compiler, work, module, log)?).map_err(|error| failed(log, &error))?;
            if module.extension().is_some_and(|extension| extension == "ll") {
                *module = assembled(compiler, work, module, log)?;
            }
        }
        let Machine { cpu: Some(cpu), features } = machine else {
            return Err(failed(log, &"no function has a target"));
        };
        let output = work.join("linked");
        let mut command = compiler.toolchain.linker_command();
        command.current_dir(work).env("TMPDIR", work);
        command.args(["-m", "elf64_amdgpu", "--no-undefined", "-shared", "--whole-archive", "--lto-CGO3"]);
        command.args(["-plugin-opt=-amdgpu-internalize-symbols", "-plugin-opt=O3"]);
        command.arg(format!("-plugin-opt=mcpu={cpu}"));
        if !features.is_empty() {
            command.arg(format!("-plugin-opt=-mattr={}", features.join(",")));
        }
        for option in &self.llvm_options {
            command.arg("-mllvm").arg(option);
        }
        command.arg("-o").arg(&output).args(&modules);
        run(compiler, command, log)?;
        std::fs::read(&output).map_err(|error| failed(log, &error))
    }

    /// Writes to the caller's buffer for errors, as far as it fits.
    pub(crate) fn tell(&mut self, text: &str) {
        if text.is_empty() || self.error_log.start.is_null() || self.error_log.size == 0 {
            return;
        }
        let length = text.len().min(self.error_log.size - 1);
        // SAFETY: the caller guarantees this much space, as long as the state lives.
        unsafe {
            self.error_log.start.cast::<u8>().copy_from(text.as_ptr(), length);
            self.error_log.start.add(length).write(0);
        }
    }
}

fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde")
}

/// Converts textual IR to bitcode.
fn assembled(compiler: &Compiler, work: &Path, module: &Path, log: &mut String) -> Result<PathBuf> {
    let bitcode = module.with_extension("bc");
    let mut command = compiler.toolchain.ir_command();
    command.current_dir(work).env("TMPDIR", work);
    command.args(["-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o"]).arg(&bitcode).arg(module);
    run(compiler, command, log)?;
    Ok(bitcode)
}

/// The target of modules.
#[derive(Debug, Default, PartialEq, Eq)]
struct Machine {
    cpu: Option<String>,
    /// Features that are part of a target id: `+xnack`.
    features: Vec<String>,
}

impl Machine {
    /// Reads the target from the functions of a module.
    fn of(compiler: &Compiler, work: &Path, module: &Path, log: &mut String) -> Result<Self> {
        let text = module.with_extension("txt");
        let mut command = compiler.toolchain.ir_command();
        command.current_dir(work).env("TMPDIR", work);
        command.args(["-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o"]).arg(&text).arg(module);
        run(compiler, command, log)?;
        let text = std::fs::read(&text).unwrap_or_default();
        Ok(Self::in_text(&String::from_utf8_lossy(&text)))
    }

    fn in_text(text: &str) -> Self {
        let attribute = |name: &str| {
            let start = text.find(&format!("\"{name}\"=\""))? + name.len() + 4;
            text[start..].split('"').next()
        };
        let cpu = attribute("target-cpu").filter(|cpu| cpu.starts_with("gfx"));
        let features = attribute("target-features").unwrap_or_default().split(',');
        let features = features.filter(|feature| matches!(feature.get(1..), Some("xnack" | "sramecc")));
        Self { cpu: cpu.map(str::to_owned), features: features.map(str::to_owned).collect() }
    }

    /// Adds the target of another module. Where both specify something, they must agree.
    fn join(&mut self, other: Self) -> Result<(), String> {
        match (&self.cpu, other.cpu) {
            (Some(cpu), Some(other)) if *cpu != other => {
                return Err(format!("cannot link code for {cpu} and for {other}"));
            }
            (None, cpu) => self.cpu = cpu,
            _ => {}
        }
        for feature in other.features {
            match self.features.iter().find(|known| known[1..] == feature[1..]) {
                Some(known) if *known != feature => {
                    return Err(format!("cannot link code with {known} and with {feature}"));
                }
                Some(_) => {}
                None => self.features.push(feature),
            }
        }
        Ok(())
    }
}

/// Runs a program of the toolchain; the log gets the reason of a failure.
fn run(compiler: &Compiler, command: Command, log: &mut String) -> Result<Output> {
    let program: &OsStr = command.get_program();
    let program = program.to_string_lossy().into_owned();
    let ran = limits::output(command, compiler.limits).map_err(|error| {
        log.push_str(&format!("error: {program}: {error}\n"));
        LINKING
    })?;
    let output = ran.map_err(|exceeded| {
        tell_end(log, exceeded);
        LINKING
    })?;
    log.push_str(&String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(output) } else { Err(LINKING) }
}
