//! Compiles a source to a code object whose metadata tells what each kernel takes and does with it.
//!
//! clang writes neither names nor types of a HIP kernel's arguments into code objects, nor whether the kernel writes
//! through a pointer. It knows all of that while it compiles, so [`Compilation::run`] compiles in two steps:
//! 1. the source to optimised IR, as text, with full debug information;
//! 2. that IR to machine code, after the facts were added in the form that LLVM has for OpenCL's kernels, which its
//!    AMDGPU target writes into the metadata as `.name`, `.type_name`, `.is_const` and `.access`.
//!
//! Optimising ends with the first step and generating code begins with the second, so the machine code is that of one
//! compilation. Debug information that was not asked for is dropped before the second step.
//!
//! One option is the exception: clang does not tell the second step of `-ffp-contract=fast`. The source's own arithmetic is
//! marked in the IR and contracted all the same, but not that of the device libraries, such as inside of `sinf`.
//!
//! What the facts mean:
//! - **Type**: the type in the source without typedefs and qualifiers: `float*` for `const real *__restrict__`. HIP's
//!   vectors have their usual names, `float4`.
//! - **`.is_const`**: what a pointer leads to is declared `const`.
//! - **Access**: `read_only` or `write_only` where the optimiser has proved it, for this target. Otherwise `read_write`,
//!   unless the source says `const` or the declaration is not known: then nothing is said.
//!
//! An argument of which something cannot be told for certain, such as a type without a name, lacks that fact.

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
use crate::{Error, metrics};

use debug::DebugInfo;

/// Changes when the same input would get other facts, or other code by another way: for keys of caches.
pub const SCHEME: &str = "kernel facts 1";

/// The same of code whose kernels [count what they do](Compilation::metrics).
pub const METRICS_SCHEME: &str = metrics::SCHEME;

/// Options that ask for source lines in code objects: what virtual GPUs name in their fault reports.
///
/// They come before the caller's own, which may say otherwise (`-g0`, `-g`). The sections are compressed.
pub const SOURCE_LINES: &[&str] = &["-gline-tables-only", "-gz"];

/// One source on its way to a code object.
#[derive(Clone, Copy, Debug)]
pub struct Compilation<'a> {
    /// The compiler.
    pub toolchain: &'a Toolchain,
    /// The target, as `--offload-arch` takes it.
    pub target: &'a str,
    /// A folder for files in between; the caller removes it.
    pub work: &'a Path,
    /// The code object to write.
    pub object: &'a Path,
    /// Whether the kernels count what they do (`code_object::metrics`).
    pub metrics: bool,
    /// What each process of the compiler may use.
    pub limits: Limits,
}

/// What a [`Compilation`] gave.
#[derive(Debug)]
pub struct Ran {
    /// What the step that failed has given, or else the last, with the messages of both.
    pub output: Output,
    /// What a compilation that went well has read and looked for; nothing where that is not known.
    pub reads: Option<Reads>,
}

impl Compilation<'_> {
    /// Runs both steps. `front` is a [command of the toolchain](Toolchain::command) with source, target and everything
    /// else that compiling takes, but no output and none of the options that name its kind. `options` are those of the
    /// caller, in order, which `front` has as well: some matter to the second step. `source` is the text of the source.
    ///
    /// # Errors
    /// [`Error::Program`] if clang cannot be run, [`Error::Limit`] if it was ended, [`Error::Io`] for files in between,
    /// [`Error::Metrics`].
    pub fn run<'o>(
        &self,
        front: Command,
        options: impl IntoIterator<Item = &'o OsStr>,
        source: &[u8],
    ) -> Result<Ran, Error> {
        self.run_with(front, options, &[], source)
    }

    /// As [`run`](Self::run), with the options of a precompiled header, which stands for what `front` has the compiler read.
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
        // The order of uses is not part of the text unless asked for, and some passes of the second step go by it.
        front.args(["-S", "-emit-llvm", "-Xclang", "-emit-llvm-uselists", "-fno-crash-diagnostics"]);
        // The last one counts. Paths must not depend on the folder that the compiler happens to run in.
        front.args(["-g", "-gno-simple-template-names", "-fdebug-compilation-dir=."]).arg("-o").arg(&ir);
        let folder = front.get_current_dir().map(Path::to_owned);
        let first = self.output(front)?;
        if !first.status.success() {
            return Ok(Ran { output: first, reads: None });
        }
        let text = std::fs::read(&ir).map_err(|e| Error::io("read", &ir, e))?;
        // clang writes bytes of sources as they are, such as those of texts that are not UTF-8, into names only.
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
        // Options that only matter to the first step are not the caller's mistake.
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

/// Those of the caller's options that the generation of code and the linker look at. What the compiler has noted in the IR
/// itself, such as features of the target and the precision of mathematics, does no harm.
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
            // Two arguments as well, and of the front end.
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
