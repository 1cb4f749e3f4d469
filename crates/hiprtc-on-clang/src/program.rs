//! Programs, and how clang compiles them.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::path::{Component, Path};

use code_object::{CodeObject, RelocationKind, SymbolKind};
use device_compiler::cache::{Dependencies, hash_of_file};
use device_compiler::cuda;
use device_compiler::facts::{self, Compilation, Ran};
use device_compiler::limits::{self, Exceeded, Limits};
use device_compiler::toolchain::Toolchain;
use hip_sys::rtc::hiprtcResult;

pub(crate) type Result<T = (), E = hiprtcResult> = std::result::Result<T, E>;

/// The compiler of the process.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) toolchain: Toolchain,
    pub(crate) identity: String,
    /// The limits of programs without their own.
    pub(crate) limits: Limits,
}

/// The prefix of variables that hold the addresses of name expressions.
const NAME_VARIABLE: &str = "__ferrocm_name_expression_";
/// The file name in messages about name expressions.
const NAME_FILE: &str = "<name expressions>";

/// A `hiprtcProgram`.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) source: Vec<u8>,
    pub(crate) name: String,
    /// Pairs of the name in `#include` and the text.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) expressions: Vec<CString>,
    pub(crate) limits: Option<Limits>,
    pub(crate) log: CString,
    pub(crate) output: Option<Output>,
    /// Lowered names by name expression. Kept as long as the program, because the caller gets pointers to
    /// them.
    pub(crate) lowered: HashMap<CString, CString>,
}

/// The output of a compilation.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    /// Whether it is LLVM bitcode (`-fgpu-rdc`) instead of a code object.
    pub(crate) bitcode: bool,
    /// The files of the machine that it depends on, if known.
    pub(crate) dependencies: Option<Dependencies>,
}

impl Program {
    /// Compiles with these options. The log has clang's output.
    pub(crate) fn compile(&mut self, compiler: &Compiler, options: &[&OsStr]) -> Result {
        self.log = CString::default();
        self.output = None;
        let mut log = String::new();
        let result = self.run(compiler, options, &mut log);
        // The compiler itself prints no NUL, but the source that it quotes may have some.
        self.log = CString::new(log.replace('\0', "\u{fffd}")).unwrap_or_default();
        let output = result?;
        if !output.bitcode {
            self.lowered = self.lowered_names(&output.bytes)?;
        }
        self.output = Some(output);
        Ok(())
    }

    fn run(&self, compiler: &Compiler, options: &[&OsStr], log: &mut String) -> Result<Output> {
        let mut targets: Vec<&str> = options.iter().filter_map(|option| target_of(option)).collect();
        let current = if targets.is_empty() { crate::current_target() } else { None };
        let current = current.map(|target| target.to_string());
        targets.extend(current.as_deref());
        let [target] = targets[..] else {
            log.push_str(
                "error: exactly one target is needed: --offload-arch=gfx… or --gpu-architecture=gfx…\n",
            );
            return Err(hiprtcResult::HIPRTC_ERROR_INVALID_OPTION);
        };
        let internal = |log: &mut String, what: &str, error: std::io::Error| {
            log.push_str(&format!("error: {what}: {error}\n"));
            hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR
        };
        let work = tempfile::Builder::new()
            .prefix("ferrocm-hiprtc-")
            .tempdir()
            .map_err(|error| internal(log, "a folder for the compiler", error))?;
        let (sources, object) = (work.path().join("src"), work.path().join("out"));
        let write = |log: &mut String, name: &str, text: &[u8]| -> Result {
            let relative = Path::new(name);
            if name.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_))) {
                log.push_str(&format!(
                    "error: `{name}` cannot be a file name: it must be relative, without `..`\n"
                ));
                return Err(hiprtcResult::HIPRTC_ERROR_INVALID_INPUT);
            }
            let path = sources.join(relative);
            let written = match path.parent() {
                Some(folder) => std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)),
                None => std::fs::write(&path, text),
            };
            written.map_err(|error| internal(log, name, error))
        };
        for (name, text) in &self.headers {
            write(log, name, text)?;
        }
        // The file has our name; messages show the program's.
        let mut source =
            format!("#line 1 \"{}\"\n", self.name.replace('\\', "\\\\").replace('"', "\\\"")).into_bytes();
        source.extend_from_slice(&self.source);
        source.extend_from_slice(format!("\n#line 1 \"{NAME_FILE}\"\n").as_bytes());
        for (index, expression) in self.expressions.iter().enumerate() {
            source.extend_from_slice(
                format!("extern \"C\" __device__ __attribute__((used)) const void *const {NAME_VARIABLE}{index} = (const void *)(")
                    .as_bytes(),
            );
            source.extend_from_slice(expression.as_bytes());
            source.extend_from_slice(b");\n");
        }
        const INPUT: &str = "__ferrocm_program.hip";
        write(log, INPUT, &source)?;

        let bitcode = options.contains(&OsStr::new("-fgpu-rdc"));
        let mut command = compiler.toolchain.command();
        command.current_dir(&sources).env("TMPDIR", work.path());
        command.args(["--offload-device-only", "--no-gpu-bundle-output", "-fno-color-diagnostics"]);
        // Symbols of bitcode include this id in their names, so it must be unique for each module.
        match bitcode {
            true => command.arg(format!("-cuid={}", self.id())),
            false => command.arg("-fuse-cuid=none"),
        };
        // The defaults of hiprtc, and source lines for the reports of virtual GPUs.
        command.args(["-O3", "-std=c++17", "-I", "."]);
        command.args(facts::SOURCE_LINES);
        // CUDA's dialect includes this header itself, after a definition that it needs.
        if !options.contains(&OsStr::new(cuda::DIALECT_OPTION)) {
            command.args(["-include", cuda::HIP_RUNTIME_HEADER]);
        }
        command.args(options.iter().filter(|option| target_of(option).is_none()));
        command.arg(format!("--offload-arch={target}")).arg(INPUT);
        let limits = self.limits.unwrap_or(compiler.limits);
        let clang = compiler.toolchain.clang.to_string_lossy();
        let ended = |log: &mut String, exceeded| {
            tell_end(log, exceeded);
            hiprtcResult::HIPRTC_ERROR_COMPILATION
        };
        let (ran, reads) = if bitcode {
            command.args(["-emit-llvm", "-c", "-fno-crash-diagnostics", "-o"]).arg(&object);
            let ran = limits::output(command, limits).map_err(|error| internal(log, &clang, error))?;
            (ran.map_err(|exceeded| ended(log, exceeded))?, None)
        } else {
            let (toolchain, work) = (&compiler.toolchain, work.path());
            let compilation =
                Compilation { toolchain, target, work, object: &object, metrics: false, limits };
            let own = facts::SOURCE_LINES.iter().map(OsStr::new);
            let ran = compilation.run(command, own.chain(options.iter().copied()), &source);
            let Ran { output, reads } = ran.map_err(|error| match error {
                device_compiler::Error::Limit(exceeded) => ended(log, exceeded),
                error => {
                    log.push_str(&format!("error: {error}\n"));
                    hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR
                }
            })?;
            (output, reads)
        };
        log.push_str(&String::from_utf8_lossy(&ran.stderr));
        if !ran.status.success() {
            if ran.status.code().is_none() {
                log.push_str(&format!("error: the compiler was ended: {}\n", ran.status));
            }
            return Err(hiprtcResult::HIPRTC_ERROR_COMPILATION);
        }
        let bytes = std::fs::read(&object).map_err(|error| internal(log, "the compiler's output", error))?;
        let dependencies = reads.and_then(|reads| reads.dependencies(&[work.path()], hash_of_file));
        Ok(Output { bytes, bitcode, dependencies })
    }

    /// A text that is unique to this source.
    fn id(&self) -> String {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        (&self.name, &self.source, &self.headers).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// The symbol of each name expression: the variable holds the symbol's address.
    fn lowered_names(&self, code: &[u8]) -> Result<HashMap<CString, CString>> {
        let mut names = HashMap::new();
        if self.expressions.is_empty() {
            return Ok(names);
        }
        let invalid = hiprtcResult::HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
        let object = CodeObject::parse(code).map_err(|error| {
            tracing::error!(%error, "cannot read the compiler's output");
            hiprtcResult::HIPRTC_ERROR_INTERNAL_ERROR
        })?;
        for (index, expression) in self.expressions.iter().enumerate() {
            let variable = object.symbol(&format!("{NAME_VARIABLE}{index}")).ok_or(invalid)?;
            let relocation =
                object.relocations().iter().find(|found| found.offset == variable.value).ok_or(invalid)?;
            let named = match (relocation.kind, relocation.symbol) {
                (RelocationKind::Relative64, None) => object.symbols().iter().find(|symbol| {
                    symbol.value as i64 == relocation.addend
                        && matches!(symbol.kind, SymbolKind::Function | SymbolKind::Object)
                }),
                (RelocationKind::Abs64, Some(symbol)) => object.symbols().get(symbol),
                _ => None,
            };
            let name = CString::new(named.ok_or(invalid)?.name.as_str()).map_err(|_| invalid)?;
            names.insert(expression.clone(), name);
        }
        Ok(names)
    }
}

/// Writes to the log at which limit the compiler was ended, and how to raise the limit.
pub(crate) fn tell_end(log: &mut String, exceeded: Exceeded) {
    let remedy = match exceeded {
        Exceeded::Time(_) => "; FERROCM_RTC_TIMEOUT (seconds, or `none`) raises it",
        Exceeded::Memory(_) => "; FERROCM_RTC_MEMORY (as in `4GiB`, or `none`) raises it",
        _ => "",
    };
    log.push_str(&format!("error: {exceeded}{remedy}\n"));
}

/// The target, if the option sets one.
fn target_of(option: &OsStr) -> Option<&str> {
    let option = option.to_str()?;
    option.strip_prefix("--gpu-architecture=").or_else(|| option.strip_prefix("--offload-arch="))
}

/// Copies a text of the caller.
pub(crate) fn owned(text: &CStr) -> Vec<u8> {
    text.to_bytes().to_vec()
}
