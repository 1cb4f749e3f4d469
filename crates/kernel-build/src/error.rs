use std::fmt;
use std::path::{Path, PathBuf};

use code_object::ParseTargetError;
use device_compiler::toolchain::NotFound;
use device_compiler::{Diagnostic, Error as CompilerError};

use crate::{ParseArchError, Target};

/// Why kernels could not be built. Each variant names the thing at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no compiler, it cannot be run, or a file or folder, including the cache's, cannot be used.
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    /// A target's name is wrong.
    #[error("{origin}: {error}")]
    Target {
        /// Who named the target: the caller or `FERROCM_TARGETS`.
        origin: &'static str,
        /// What is wrong.
        error: ParseTargetError,
    },
    /// An option of nvcc that AMD's compiler cannot serve.
    #[error("nvcc's option {option}: {reason}")]
    Option {
        /// The option.
        option: String,
        /// Why not.
        reason: String,
    },
    /// A list of targets is empty.
    #[error("{origin}: no target is named")]
    NoTargets {
        /// Who wrote the list.
        origin: &'static str,
    },
    /// A part of `FERROCM_TARGETS_FOR` is not understood.
    #[error(
        "FERROCM_TARGETS_FOR: `{entry}` is not a pattern of sources, `=` and targets or `none`, as in `mmq_*=none moe_*=gfx1100,gfx90a`"
    )]
    TargetsFor {
        /// The part.
        entry: String,
    },
    /// The name of an architecture of NVIDIA's is wrong.
    #[error("{origin}: {error}")]
    CudaArch {
        /// Who named it: the caller, a flag or a variable.
        origin: &'static str,
        /// What is wrong.
        error: ParseArchError,
    },
    /// The features that select GPUs are both off.
    #[error(
        "there is nothing to compile for: the features `{amd}` (AMD GPUs) and `{nvidia}` (NVIDIA GPUs) are both off; turn on one or \
         both, for example with `--features {amd}`"
    )]
    NoFeature {
        /// The feature for AMD GPUs.
        amd: String,
        /// The feature for NVIDIA GPUs.
        nvidia: String,
    },
    /// A package's prebuilt code does not match the request.
    #[error("the code in {} {reason}", folder.display())]
    Prebuilt {
        /// Its folder.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernels' folder has no device sources.
    #[error("no .cu file in {}", folder.display())]
    NoSources {
        /// The folder.
        folder: PathBuf,
    },
    /// A list of sources is empty.
    #[error("no source is named")]
    NoFiles,
    /// A pattern for sources is malformed, leads out of their folder, or matches no source.
    #[error("the pattern `{pattern}`: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A source is not a file, its name is not text, or two sources would get the same name in the generated
    /// module.
    #[error("{}: {reason}", source_file.display())]
    SourceName {
        /// The source.
        source_file: PathBuf,
        /// What is wrong with its name.
        reason: String,
    },
    /// The compiler rejected sources.
    #[error("{}", CompileErrors(failures))]
    Compile {
        /// Each source and target that failed, in the order of the sources and targets.
        failures: Vec<CompileFailure>,
    },
    /// The compiler rejected the host code of a source.
    #[error("the host code of {} does not compile:\n{}", source_file.display(), text.trim_end())]
    HostCode {
        /// The source.
        source_file: PathBuf,
        /// The compiler's output, without the final count of messages.
        text: String,
    },
    /// A library of host code cannot be created.
    #[error("cannot make the library {}: {reason}", path.display())]
    Library {
        /// The library.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The compiler succeeded, but its output is not the requested code.
    #[error("{} for {target}: the compiler's output is not usable: {reason}", source_file.display())]
    Output {
        /// The device source.
        source_file: PathBuf,
        /// The target.
        target: Target,
        /// What is wrong with the output.
        reason: String,
    },
    /// The code objects of a source cannot be compressed.
    #[error("{}: its code objects cannot be compressed: {error}", source_file.display())]
    Bundle {
        /// The device source.
        source_file: PathBuf,
        /// What is wrong.
        error: code_object::Error,
    },
    /// A translation was requested, but the source is not text.
    #[error("cannot translate {}: {reason}", source_file.display())]
    Translate {
        /// The device source.
        source_file: PathBuf,
        /// What happened.
        reason: String,
    },
    /// A variable that Cargo sets for build scripts is missing.
    #[error("{name} is not set: this function is for build scripts")]
    NotABuildScript {
        /// The variable.
        name: &'static str,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        CompilerError::io(action, path, source).into()
    }

    pub(crate) fn program(program: PathBuf, reason: impl fmt::Display) -> Self {
        CompilerError::Program { program, reason: reason.to_string() }.into()
    }

    /// Whether a full disk or quota is the cause.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Compiler(error) if error.is_disk_full())
    }
}

impl From<NotFound> for Error {
    fn from(error: NotFound) -> Self {
        CompilerError::from(error).into()
    }
}

impl From<variables::Error> for Error {
    fn from(error: variables::Error) -> Self {
        CompilerError::from(error).into()
    }
}

/// A source that the compiler rejected for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileFailure {
    /// The source.
    pub source: PathBuf,
    /// The target.
    pub target: Target,
    /// The messages, one by one, at their places in the original source.
    pub diagnostics: Vec<Diagnostic>,
    /// The compiler's whole output, without the final count of messages.
    pub text: String,
}

struct CompileErrors<'a>(&'a [CompileFailure]);

impl fmt::Display for CompileErrors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A text that is the same for several targets is shown once.
        let mut told: Vec<(&Path, &str, Vec<String>)> = Vec::new();
        for failure in self.0 {
            let target = failure.target.to_string();
            match told.iter_mut().find(|(source, text, _)| *source == failure.source && *text == failure.text)
            {
                Some((_, _, targets)) => targets.push(target),
                None => told.push((&failure.source, &failure.text, vec![target])),
            }
        }
        for (i, (source, text, targets)) in told.iter().enumerate() {
            let line = if i == 0 { "" } else { "\n" };
            write!(
                f,
                "{line}{} does not compile for {}:\n{}",
                source.display(),
                targets.join(", "),
                text.trim_end()
            )?;
        }
        Ok(())
    }
}
