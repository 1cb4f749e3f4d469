//! Compiles a source to a code object whose metadata describes each kernel's arguments and their use.
//!
//! For HIP kernels, clang writes neither the names and types of arguments into code objects nor whether the
//! kernel writes through a pointer. It knows these facts during compilation, so [`Compilation::run`] compiles
//! in two steps:
//! 1. the source to optimised IR, as text, with full debug information;
//! 2. that IR to machine code, after adding the facts in LLVM's form for OpenCL kernels, which its AMDGPU
//!    target writes to the metadata as `.name`, `.type_name`, `.is_const` and `.access`.
//!
//! Optimisation ends with the first step and code generation begins with the second, so the machine code is
//! the same as from a single step. Debug information that was not requested is dropped before the second
//! step.
//!
//! One option is an exception: clang does not pass `-ffp-contract=fast` to the second step. The source's own
//! arithmetic is marked in the IR and still contracted, but that of the device libraries, such as inside
//! `sinf`, is not.
//!
//! The facts:
//! - **Type**: the type in the source without typedefs and qualifiers: `float*` for `const real
//!   *__restrict__`. HIP's vectors have their usual names, `float4`.
//! - **`.is_const`**: the pointee is declared `const`.
//! - **Access**: `read_only` or `write_only` if the optimiser has proved it for this target. Otherwise
//!   `read_write`, or nothing if the source says `const` or the declaration is unknown.
//!
//! If a fact about an argument is uncertain, such as a type without a name, it is omitted.

mod debug;
mod forbidden;
mod kernels;
mod types;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Output};

use crate::limits::{self, Limits};
use crate::reads::{Learning, Reads, assembly};
use crate::toolchain::Toolchain;
use crate::{Error, metrics, retries};

use debug::DebugInfo;

/// Part of cache keys. Changes when the same input would get different facts, or be compiled in another way.
pub const SCHEME: &str = "kernel facts 1";

/// The same for code whose kernels [count what they do](Compilation::metrics).
pub const METRICS_SCHEME: &str = metrics::SCHEME;

/// Options for source lines in code objects, which virtual GPUs use in fault reports.
///
/// They precede the caller's own, which may override them (`-g0`, `-g`). The sections are compressed.
pub const SOURCE_LINES: &[&str] = &["-gline-tables-only", "-gz"];

/// One source on its way to a code object.
#[derive(Clone, Copy, Debug)]
pub struct Compilation<'a> {
    /// The compiler.
    pub toolchain: &'a Toolchain,
    /// The target, as `--offload-arch` takes it.
    pub target: &'a str,
    /// A folder for intermediate files; the caller removes it.
    pub work: &'a Path,
    /// The code object to write.
    pub object: &'a Path,
    /// Whether the kernels count what they do (`code_object::metrics`).
    pub metrics: bool,
    /// What each process of the compiler may use.
    pub limits: Limits,
}

/// The result of a [`Compilation`].
#[derive(Debug)]
pub struct Ran {
    /// The output of the failed step, else of the last one, with the messages of both.
    pub output: Output,
    /// What a successful compilation has read and looked for; `None` if unknown.
    pub reads: Option<Reads>,
}

impl Compilation<'_> {
    /// Runs both steps. `front` is a [command of the toolchain](Toolchain::command) with source, target and
    /// everything else needed for compiling, but without an output and options for its kind. `options` are
    /// those of the caller, in order. `front` already has them, but some also matter to the second step.
    /// `source` is the text of the source.
    ///
    /// # Errors
    /// [`Error::Program`] if clang cannot be run, [`Error::Limit`] if it was stopped, [`Error::Io`] for
    /// intermediate files, [`Error::Metrics`].
    pub fn run<'o>(
        &self,
        front: Command,
        options: impl IntoIterator<Item = &'o OsStr>,
        source: &[u8],
    ) -> Result<Ran, Error> {
        self.run_with(front, options, &[], source)
    }

    /// Like [`run`](Self::run), with the options for a precompiled header that replaces the headers in
    /// `front`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with<'o>(
        &self,
        mut front: Command,
        options: impl IntoIterator<Item = &'o OsStr>,
        precompiled: &[OsString],
        source: &[u8],
    ) -> Result<Ran, Error> {
        let options: Vec<&OsStr> = options.into_iter().collect();
        let (ir, told) = (self.work.join("optimised.ll"), self.work.join("told.ll"));
        let learning = Learning::begin(&mut front, &options, self.work, self.limits)?;
        front.args(precompiled);
        // The order of uses is written only on request, and some passes of the second step depend on it.
        front.args(["-S", "-emit-llvm", "-Xclang", "-emit-llvm-uselists", "-fno-crash-diagnostics"]);
        // The last option counts. Paths must not depend on the compiler's current folder.
        front.args(["-g", "-gno-simple-template-names", "-fdebug-compilation-dir=."]).arg("-o").arg(&ir);
        let folder = front.get_current_dir().map(Path::to_owned);
        let first = retries::compile(&front, |front| self.output(front), retries::messages)?;
        if !first.status.success() {
            return Ok(Ran { output: first, reads: None });
        }
        let text = std::fs::read(&ir).map_err(|e| Error::io("read", &ir, e))?;
        // Only names contain raw bytes of sources, such as invalid UTF-8.
        let text = String::from_utf8_lossy(&text);
        let reads = learning.end(source)?.filter(|_| !assembly::may_read_files(&text));
        let mut with_facts = kernels::tell(&text, DebugInfo::wanted(&options));
        if self.metrics {
            with_facts = metrics::count(&with_facts, self.target)?;
        }
        std::fs::write(&told, with_facts).map_err(|e| Error::io("write", &told, e))?;

        let mut back = self.toolchain.ir_command();
        back.arg("-O3");
        back.arg(format!("-mcpu={}", self.target));
        back.args(for_code(&options)).args(["-Xclang", "-disable-llvm-passes"]);
        // Options that only matter to the first step must not cause warnings.
        back.args(["-Wno-unused-command-line-argument", "-fno-crash-diagnostics"]);
        back.arg("-o").arg(self.object).arg(&told).env("TMPDIR", self.work);
        if let Some(folder) = folder {
            back.current_dir(folder);
        }
        let mut second = self.output(back)?;
        if !second.status.success() {
            second.stderr = forbidden::explain(&String::from_utf8_lossy(&second.stderr), &text).into_bytes();
        }
        second.stderr.splice(0..0, first.stderr);
        Ok(Ran { output: second, reads })
    }

    fn output(&self, command: Command) -> Result<Output, Error> {
        let error = |e: std::io::Error| Error::Program {
            program: self.toolchain.clang.clone(),
            reason: e.to_string(),
        };
        limits::output(command, self.limits).map_err(error)?.map_err(Error::Limit)
    }
}

/// The caller's options for the code generator and the linker. Options already recorded in the IR, such as
/// target features and the precision of mathematics, do no harm.
fn for_code(options: &[&OsStr]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let bytes = option.as_encoded_bytes();
        let has = |start: &str| bytes.starts_with(start.as_bytes());
        match bytes {
            b"-mllvm" | b"-Xlinker" | b"-Xoffload-linker" => {
                let name = if bytes == b"-mllvm" { "-mllvm" } else { "-Xlinker" };
                kept.extend(
                    rest.next()
                        .map(|value| [OsString::from(name), (*value).to_owned()])
                        .into_iter()
                        .flatten(),
                );
            }
            // Also two arguments, for the front end.
            b"-Xclang" => drop(rest.next()),
            b"-fgpu-rdc" | b"-fno-gpu-rdc" => {}
            _ if has("-Wp,") || has("-Wa,") => {}
            _ if ["-O", "-m", "-f", "-gz", "-W", "-w", "-R"].iter().any(|start| has(start)) => {
                kept.push((*option).to_owned());
            }
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_step_gets_what_matters_to_code() {
        let options = [
            "-O1",
            "-DX=1",
            "-I",
            "folder",
            "-std=c++17",
            "-mllvm",
            "-amdgpu-x",
            "-Xclang",
            "-fsomething",
            "-ffast-math",
            "-Xoffload-linker",
            "--emit-relocs",
            "-g",
            "-gz",
            "-fgpu-rdc",
            "-Wl,-s",
            "-Wp,-x",
            "-mcumode",
        ];
        let kept = for_code(&options.map(OsStr::new));
        let expected = [
            "-O1",
            "-mllvm",
            "-amdgpu-x",
            "-ffast-math",
            "-Xlinker",
            "--emit-relocs",
            "-gz",
            "-Wl,-s",
            "-mcumode",
        ];
        assert_eq!(kept, expected);
        assert!(for_code(&[OsStr::new("-mllvm")]).is_empty());
    }
}
