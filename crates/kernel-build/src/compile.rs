//! One source for one target: through the cache or through clang.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::time::Instant;

use code_object::{CodeObject, TargetId};
use device_compiler::cache::{Cache, Dependencies, Entry};
use device_compiler::cuda::{self, Dialect};
use device_compiler::facts::{self, Compilation, Ran};
use device_compiler::limits::Limits;
use device_compiler::overlay::Rewritten;
use device_compiler::reads::Reads;
use device_compiler::toolchain::Toolchain;
use device_compiler::{Diagnostic, Error as CompilerError, diagnostics, overlay};

use crate::discover::Source;
use crate::inputs::{Inputs, headers_of, headers_of_all, part};
use crate::prefix::{Prefix, Prefixes};
use crate::translate::{self, Translate};

use crate::{BuiltObject, CompileFailure, Error, Target, missing};

/// Changes when the same inputs would give other results.
const SCHEMA: &str = "ferrocm kernel cache 6";

/// Shared by all jobs of a build.
pub(crate) struct Context<'a> {
    pub(crate) toolchain: &'a Toolchain,
    /// Finds what was compiled of the same files in another folder.
    pub(crate) cache: Cache,
    pub(crate) folder: &'a Path,
    pub(crate) includes: &'a [PathBuf],
    pub(crate) options: &'a [OsString],
    pub(crate) language: Language,
    /// Where CUDA's headers are. The base hash covers their content.
    pub(crate) cuda_headers: PathBuf,
    pub(crate) code: Code,
    /// Hash of toolchain, options and header names.
    pub(crate) base: blake3::Hash,
    inputs: &'a Inputs<'a>,
    pub(crate) prefixes: Prefixes,
}

/// The caller's settings for the language of the sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    /// The dialect of every source.
    pub(crate) dialect: Option<Dialect>,
    /// Whether a source first reads its dialect's runtime header.
    pub(crate) runtime_header: bool,
    pub(crate) translate: Translate,
}

/// The caller's settings for the code objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    /// The version of the format.
    pub(crate) version: u8,
    /// Kernels count what they do.
    pub(crate) metrics: bool,
}

/// How a job failed.
pub(crate) enum Failed {
    /// The source is at fault; others may still compile.
    Source(CompileFailure),
    /// The build is at fault.
    Build(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Build(error)
    }
}

impl From<CompilerError> for Failed {
    fn from(error: CompilerError) -> Self {
        Self::Build(error.into())
    }
}

/// A source, and how to compile it.
pub(crate) struct Plan<'a> {
    pub(crate) source: &'a Source,
    pub(crate) targets: Vec<TargetId>,
    /// clang's options in addition to those of the build.
    pub(crate) options: Vec<OsString>,
    /// The same for nvcc.
    pub(crate) nvcc_options: Vec<OsString>,
    /// Whether another source has the same options.
    pub(crate) shares_options: bool,
}

impl Plan<'_> {
    /// Adds its options to a key.
    pub(crate) fn add_options(&self, key: &mut blake3::Hasher) {
        for option in &self.options {
            key.update(b"\0").update(option.as_encoded_bytes());
        }
    }
}

/// A source in the form that clang reads.
pub(crate) struct Prepared {
    /// The text that replaces the file, if it was translated.
    pub(crate) text: Option<String>,
    pub(crate) hash: blake3::Hash,
    pub(crate) dialect: Dialect,
    /// The files that clang reads in a rewritten form, set by the first compilation.
    rewritten: OnceLock<Vec<Rewritten>>,
    diagnostics: Vec<Diagnostic>,
}

impl Prepared {
    /// The file that clang reads: the source, or its translation in the work folder.
    pub(crate) fn input(&self, source: &Source, work: &Path) -> Result<PathBuf, Error> {
        let Some(text) = &self.text else { return Ok(source.path.clone()) };
        let translated = work.join("in.hip");
        std::fs::write(&translated, text).map_err(|e| Error::io("write", &translated, e))?;
        Ok(translated)
    }
}

/// The result of a clang run.
struct Compiled {
    bytes: Vec<u8>,
    /// The inputs; `None` if they changed in the meantime.
    inputs: Option<Dependencies>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        toolchain: &'a Toolchain,
        cache: &'a Cache,
        inputs: &'a Inputs<'a>,
        options: &'a [OsString],
        language: Language,
        code: Code,
    ) -> Result<Self, Error> {
        let Inputs { folder, root, beside, includes, .. } = *inputs;
        let mut base = blake3::Hasher::new();
        part(&mut base, SCHEMA.as_bytes());
        part(&mut base, facts::SCHEME.as_bytes());
        part(&mut base, toolchain.identity()?.as_bytes());
        for option in toolchain.args.iter().chain(options) {
            part(&mut base, option.as_encoded_bytes());
        }
        part(&mut base, cuda::identity().as_bytes());
        part(&mut base, format!("{language:?}").as_bytes());
        if code.metrics {
            part(&mut base, facts::METRICS_SCHEME.as_bytes());
        }
        let cuda_headers = cache.cuda_headers()?;
        let mut of_prefixes = base.clone();
        // They know the headers by their paths: those of another cache would be read a second time.
        part(&mut of_prefixes, cuda_headers.as_os_str().as_encoded_bytes());
        headers_of_all(&mut of_prefixes, includes, None)?;
        headers_of_all(&mut base, includes, Some(root))?;
        for dir in beside {
            headers_of(&mut base, dir, Some(root))?;
        }
        Ok(Self {
            toolchain,
            cache: cache.relative_to(root, toolchain.folders().chain(includes.iter().cloned()).collect()),
            folder,
            includes,
            options,
            language,
            cuda_headers,
            code,
            base: base.finalize(),
            inputs,
            prefixes: Prefixes::new(of_prefixes.finalize(), cache.clone()),
        })
    }

    /// Reads and translates a source.
    pub(crate) fn prepare(&self, plan: &Plan<'_>) -> Result<Prepared, Error> {
        let source = plan.source;
        let bytes = std::fs::read(&source.path).map_err(|e| Error::io("read", &source.path, e))?;
        let hash = blake3::hash(&bytes);
        if self.language.translate == Translate::None {
            let dialect = self.language.dialect.unwrap_or_else(|| self.dialect(plan, &bytes));
            return Ok(Prepared {
                text: None,
                hash,
                dialect,
                rewritten: OnceLock::new(),
                diagnostics: Vec::new(),
            });
        }
        let text = String::from_utf8(bytes).map_err(|_| Error::Translate {
            source_file: source.path.clone(),
            reason: "it is not UTF-8".into(),
        })?;
        let (body, diagnostics) = translate::hipify(&source.path, &text);
        let dialect = self.language.dialect.unwrap_or(Dialect::Hip);
        let hash = blake3::hash(body.as_bytes());
        let text = format!("#line 1 {}\n{body}", quoted(&source.path));
        Ok(Prepared { hash, text: Some(text), dialect, rewritten: OnceLock::new(), diagnostics })
    }

    /// The dialect that a source's includes imply. Headers are searched as the compiler does: beside the
    /// file, then in the caller's folders.
    fn dialect(&self, plan: &Plan<'_>, text: &[u8]) -> Dialect {
        let text = String::from_utf8_lossy(text);
        let options = self.options.iter().chain(&plan.options).map(OsString::as_os_str);
        cuda::dialect(plan.source.path.clone(), &text, options, |file: &PathBuf, name| {
            let beside = file.parent().unwrap_or(self.folder);
            let folders = std::iter::once(beside).chain(self.includes.iter().map(PathBuf::as_path));
            folders.map(|folder| folder.join(name)).find_map(|path| {
                let bytes = std::fs::read(&path).ok()?;
                Some((overlay::named(&path), String::from_utf8_lossy(&bytes).into_owned()))
            })
        })
    }

    /// The options for the caller's folders, and those that include the headers of a dialect before the
    /// source.
    pub(crate) fn folder_options(&self, dialect: Dialect) -> Vec<OsString> {
        let includes = self.includes.iter();
        let mut options: Vec<OsString> =
            includes.flat_map(|include| ["-I".into(), include.clone().into_os_string()]).collect();
        options.extend(["-isystem".into(), self.cuda_headers.clone().into_os_string()]);
        options.push(joined("-ffile-prefix-map=", &self.cuda_headers, "=cuda"));
        let first = match dialect {
            Dialect::Cuda => {
                options.push(cuda::DIALECT_OPTION.into());
                self.cuda_headers.join(cuda::RUNTIME_HEADER)
            }
            Dialect::Hip => cuda::HIP_RUNTIME_HEADER.into(),
        };
        if self.language.runtime_header {
            options.extend(["-include".into(), first.into_os_string()]);
        }
        options
    }

    /// The hash of a file's content.
    pub(crate) fn hash(&self, path: &Path) -> Option<String> {
        self.inputs.hash(path)
    }

    /// Gets a source's code for a target.
    pub(crate) fn compile(
        &self,
        plan: &Plan<'_>,
        prepared: &Prepared,
        target: &TargetId,
    ) -> Result<BuiltObject, Failed> {
        let source = plan.source;
        let begin = Instant::now();
        let version = if target.is_generic() { 6 } else { self.code.version };
        let mut key = blake3::Hasher::new();
        key.update(self.base.as_bytes()).update(prepared.hash.as_bytes());
        key.update(format!("{target} {version} {} {}", prepared.dialect, source.relative).as_bytes());
        plan.add_options(&mut key);
        let key = key.finalize().to_hex();

        // An entry that is not a code object is replaced by every build that finds it.
        let _turn = match self.cache.lookup_or_turn(&key, |path| self.hash(path)) {
            Err(turn) => Some(turn),
            Ok((entry, bytes)) => match check(source, target, &bytes) {
                Err(_) => None,
                Ok(code_object) => {
                    let mut diagnostics = prepared.diagnostics.clone();
                    diagnostics.extend(entry.diagnostics);
                    return Ok(BuiltObject {
                        target: target.clone(),
                        bytes,
                        hash: entry.object,
                        code_object,
                        diagnostics,
                        cached: true,
                        duration: begin.elapsed(),
                    });
                }
            },
        };

        let work = self.cache.work_folder()?;
        let Compiled { bytes, inputs, diagnostics: told } =
            self.run(plan, prepared, target, version, work.path())?;
        let code_object = check(source, target, &bytes)?;
        let hash = blake3::hash(&bytes).to_hex().to_string();
        if let Some(inputs) = inputs {
            let entry = Entry { inputs, object: hash.clone(), diagnostics: told.clone(), ..Entry::default() };
            self.cache.store(&key, entry, &bytes)?;
        }
        let mut diagnostics = prepared.diagnostics.clone();
        diagnostics.extend(told);
        Ok(BuiltObject {
            target: target.clone(),
            bytes,
            hash,
            code_object,
            diagnostics,
            cached: false,
            duration: begin.elapsed(),
        })
    }

    /// The options that name the caller's folders in code as seen from that of the sources, wherever that is.
    pub(crate) fn names_of_folders(&self) -> Vec<OsString> {
        let mut folders: Vec<(&Path, PathBuf)> = self.inputs.names_beside().collect();
        folders.push((self.folder, ".".into()));
        // Of several that a path begins with, the last one counts: the longest.
        folders.sort();
        let option = |(folder, name): (&Path, PathBuf)| {
            let mut option = joined("-ffile-prefix-map=", folder, "=");
            option.push(name);
            option
        };
        folders.into_iter().map(option).collect()
    }

    /// The options of every compilation to device code.
    pub(crate) fn device_options(&self, plan: &Plan<'_>, target: &TargetId, version: u8) -> Vec<OsString> {
        let mut options: Vec<OsString> =
            ["--offload-device-only", "--no-gpu-bundle-output", "-fno-color-diagnostics"]
                .map(Into::into)
                .into();
        // A name that depends on the source's path would make the code depend on it.
        options.push("-fuse-cuid=none".into());
        options.push(format!("--offload-arch={target}").into());
        options.push(format!("-mcode-object-version={version}").into());
        options.extend(self.options.iter().chain(&plan.options).cloned());
        options
    }

    /// The options with which a source finds its headers.
    pub(crate) fn header_options(
        &self,
        plan: &Plan<'_>,
        prepared: &Prepared,
        work: &Path,
    ) -> Result<Vec<OsString>, Error> {
        let source = plan.source;
        let mut found = Vec::new();
        if prepared.text.is_some()
            && let Some(parent) = source.path.parent()
        {
            found.extend(["-iquote".into(), parent.as_os_str().to_owned()]);
        }
        found.extend(self.folder_options(prepared.dialect));
        if prepared.dialect == Dialect::Cuda && prepared.text.is_none() {
            let rewritten = prepared.rewritten.get_or_init(|| {
                overlay::rewritten(&source.path, self.includes, self.options.iter().chain(&plan.options))
            });
            found.extend(overlay::write(rewritten, work)?);
        }
        Ok(found)
    }

    fn run(
        &self,
        plan: &Plan<'_>,
        prepared: &Prepared,
        target: &TargetId,
        version: u8,
        work: &Path,
    ) -> Result<Compiled, Failed> {
        let source = plan.source;
        let object = work.join("out.hsaco");
        let input = prepared.input(source, work)?;
        let mut command = self.toolchain.command();
        command.args(self.names_of_folders());
        command.args(self.device_options(plan, target, version));
        command.args(self.header_options(plan, prepared, work)?);
        let prefix = self.prefix(plan, prepared.dialect, target, version)?;
        command.arg(&input).env("TMPDIR", work);

        let (toolchain, version) =
            (self.toolchain, OsString::from(format!("-mcode-object-version={version}")));
        let compilation = Compilation {
            toolchain,
            target: &target.to_string(),
            work,
            object: &object,
            metrics: self.code.metrics,
            limits: Limits::NONE,
        };
        let options =
            std::iter::once(&version).chain(self.options).chain(&plan.options).map(OsString::as_os_str);
        let text = prepared.text.as_deref().unwrap_or_default().as_bytes();
        let precompiled = prefix.as_ref().map(Prefix::options).unwrap_or_default();
        let Ran { output, reads } = compilation.run_with(command, options, &precompiled, text)?;
        let program = || toolchain.clang.clone();
        let text = diagnostics::without_counts(&String::from_utf8_lossy(&output.stderr));
        let text = diagnostics::in_folder(&text, self.folder);
        if !output.status.success() {
            let text = missing::with_notes(text);
            return Err(failure(source, Target::Amd(target.clone()), &output.status, text, program(), work));
        }
        let bytes = std::fs::read(&object).map_err(|e| Error::io("read", &object, e))?;
        let inputs = reads.and_then(|reads| self.inputs_of(&reads, work, &source.path));
        Ok(Compiled { bytes, inputs, diagnostics: Diagnostic::read_all(&text) })
    }

    /// The inputs in a compilation's dependency list, except its source and CUDA's headers. `None` if a file
    /// is newer than the build.
    pub(crate) fn listed(&self, list: &Path, source: &Path) -> Result<Option<Dependencies>, Error> {
        self.inputs.listed(list, |path| path == source || path.starts_with(&self.cuda_headers))
    }

    /// What a compilation has read and looked for, except what the key covers: its source, and CUDA's
    /// headers. `None` if that is unknown or if a file is newer than the build.
    pub(crate) fn inputs_of(&self, reads: &Reads, work: &Path, source: &Path) -> Option<Dependencies> {
        reads
            .since(self.inputs.begin)
            .dependencies(&[work, &self.cuda_headers, source], |path| self.hash(path))
    }
}

/// Why a compiler failed, according to its output.
pub(crate) fn failure(
    source: &Source,
    target: Target,
    status: &ExitStatus,
    text: String,
    program: PathBuf,
    work: &Path,
) -> Failed {
    if text.contains("No space left on device") {
        return Error::io("write", work, std::io::ErrorKind::StorageFull.into()).into();
    }
    if status.code().is_none() {
        return Error::program(program, status).into();
    }
    let diagnostics = Diagnostic::read_all(&text);
    Failed::Source(CompileFailure { source: source.path.clone(), target, diagnostics, text })
}

fn check(source: &Source, target: &TargetId, bytes: &[u8]) -> Result<CodeObject, Error> {
    let error = |reason| Error::Output {
        source_file: source.path.clone(),
        target: Target::Amd(target.clone()),
        reason,
    };
    let code_object = CodeObject::parse(bytes).map_err(|e| error(e.to_string()))?;
    if code_object.target() != target {
        return Err(error(format!("it is for {}", code_object.target())));
    }
    Ok(code_object)
}

pub(crate) fn joined(before: &str, path: &Path, after: &str) -> OsString {
    let mut joined = OsString::from(before);
    joined.push(path);
    joined.push(after);
    joined
}

/// A path as a C string literal.
fn quoted(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
