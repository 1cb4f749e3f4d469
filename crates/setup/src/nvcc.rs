//! nvcc: compiles and links CUDA programs for AMD GPUs, with the toolchain that was found or installed.
//!
//! A source is compiled once for each target, and once for the host. The targets' code goes into a bundle,
//! which the host's object file registers before `main`. Relocatable device code (`-dc`) stays LLVM bitcode
//! in the object files until device code is linked. The [table of options](device_compiler::nvcc::options)
//! says what becomes of each.

mod absent;
mod archive;
mod call;
mod libraries;
mod openmp;
mod plan;
mod relocatable;
mod steps;
mod toolkit;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use device_compiler::cache::Cache;
use device_compiler::nvcc::options::{self, Argument, Phase, State};
use device_compiler::nvcc::{ARCHITECTURES, CUDA_VERSION};

use self::call::{Call, Question};
use crate::hipcc::{Hipcc, Parts};

/// The architecture that nvcc 12.8 compiles for if none is named.
const DEFAULT_ARCHITECTURE: u32 = 52;
/// Examples for help texts.
pub const EXAMPLES: &str = "\
Examples:
  ferrocm nvcc saxpy.cu -o saxpy && ./saxpy
                                       compile for this machine's GPU, or the virtual one, and run there
  ferrocm nvcc -arch=gfx1100 -arch=gfx90a -dc a.cu b.cu
                                       object files with relocatable device code, for two targets
  export PATH=$(ferrocm nvcc --toolkit)/bin:$PATH CUDACXX=$(ferrocm nvcc --toolkit)/bin/nvcc
                                       for make, CMake and build scripts that call nvcc
  ferrocm nvcc --help                  all options, and what becomes of each

Environment: FERROCM_TARGETS (targets if none are named), NVCC_PREPEND_FLAGS, NVCC_APPEND_FLAGS, NVCC_CCBIN.

Exit status: the failed compiler's; 1 if something else is wrong.";
/// The exit status if something is wrong.
const FAILED: u8 = 1;

/// Why nothing was compiled. Texts are nvcc's, if it has one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something cannot be read, written or created.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted action.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// nvcc has no such option.
    #[error(
        "Unknown option '{option}'; -Xcompiler passes options to the host's compiler, and so does -forward-unknown-to-host-compiler"
    )]
    Unknown {
        /// The option.
        option: String,
    },
    /// An option has no meaning for AMD GPUs.
    #[error("The option '{option}' cannot be used: {reason}")]
    Refused {
        /// Its long name.
        option: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// An option is the last word, but takes an argument.
    #[error("argument expected after '{option}'")]
    NoArgument {
        /// The option as it was written.
        option: String,
    },
    /// An option does not have this value.
    #[error("Value '{value}' is not defined for option '{option}'")]
    Value {
        /// Its long name.
        option: &'static str,
        /// The value.
        value: String,
    },
    /// Neither NVIDIA nor AMD has this architecture.
    #[error("Unsupported gpu architecture '{name}'")]
    Architecture {
        /// The name.
        name: String,
    },
    /// There is nothing to do.
    #[error("No input files specified; use option --help for more information")]
    NoInput,
    /// A file's name does not say what it is.
    #[error("Don't know what to do with '{}'", name.to_string_lossy())]
    Strange {
        /// The name.
        name: OsString,
    },
    /// Code for NVIDIA GPUs is no input.
    #[error("{}: device code is no input here: AMD GPUs do not execute PTX, and other code is loaded by the program itself", path.display())]
    DeviceCode {
        /// The file.
        path: PathBuf,
    },
    /// Several sources have one output.
    #[error("A single input file is required for a non-link phase when an outputfile is specified")]
    SeveralInputs,
    /// `-cubin` with several targets.
    #[error(
        "-cubin writes the code of one target, not of {targets}: name one with -arch=gfx1100, or write all with -fatbin"
    )]
    SeveralTargets {
        /// The targets.
        targets: String,
    },
    /// Device code cannot be linked.
    #[error("{}: {reason}", path.display())]
    Link {
        /// The file at fault.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The compiler's relocatable code has another form.
    #[error(
        "relocatable device code (-dc, -rdc=true) needs clang {}; this one is \"{version}\"",
        relocatable::LEAST_CLANG
    )]
    OldClang {
        /// What it says of itself.
        version: String,
    },
    /// clang's OpenMP code has no library.
    #[error(
        "OpenMP in CUDA sources needs LLVM's libomp.so.5, which is not on this machine: install a package such as Debian's libomp-dev"
    )]
    NoOpenMp,
    /// A response file cannot be read, or the headers not be written.
    #[error(transparent)]
    Compiler(#[from] device_compiler::Error),
    /// The folders for build systems cannot be made, or there is no library.
    #[error(transparent)]
    Hipcc(#[from] crate::hipcc::Error),
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { doing, path, source }
}

/// Whether a command line needs this machine's targets, which take time to determine.
#[must_use]
pub fn needs_targets(given: &[OsString]) -> bool {
    // Whatever is wrong with it is said later.
    let has_variable = variables::TARGETS.text().ok().flatten().is_some();
    Call::parse(given, None).is_ok_and(|call| {
        let is_native = call.targets.iter().any(|target| target == "native");
        call.needs_targets() && (is_native || !has_variable)
    })
}

/// nvcc on one machine.
#[derive(Debug)]
pub struct Nvcc<'a> {
    hipcc: &'a Hipcc<'a>,
    /// CUDA's headers.
    headers: PathBuf,
    /// The folder laid out like CUDA's toolkit.
    toolkit: PathBuf,
}

impl<'a> Nvcc<'a> {
    /// Creates the headers and the folder for build systems below the cache folder `cache`, if they are
    /// missing.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn new(hipcc: &'a Hipcc<'a>, cache: &Path) -> Result<Self, Error> {
        let headers = Cache::open(&cache.join("kernels"))?.cuda_headers()?;
        let toolkit = toolkit::make(cache, hipcc.parts(), &headers)?;
        Ok(Self { hipcc, headers, toolkit })
    }

    fn parts(&self) -> &Parts<'a> {
        self.hipcc.parts()
    }

    /// The folder laid out like CUDA's toolkit.
    #[must_use]
    pub fn toolkit(&self) -> &Path {
        &self.toolkit
    }

    /// Executes a command line. Messages go to standard error. Returns the status to exit with.
    #[must_use]
    pub fn run(&self, given: &[OsString]) -> u8 {
        match self.try_run(given) {
            Ok(status) => status,
            Err(error) => {
                tell(&format!("nvcc fatal   : {error}\n"));
                FAILED
            }
        }
    }

    fn try_run(&self, given: &[OsString]) -> Result<u8, Error> {
        let call = Call::parse(given, Some(&self.toolkit))?;
        if let Some(question) = call.question {
            let answer = self.answer(question);
            let _ = io::stdout().write_all(answer.as_bytes());
            return Ok(0);
        }
        let questions = call.host_questions();
        if !questions.is_empty() {
            // Of clang, which compiles the host code of CUDA sources, so that its options are chosen for
            // them.
            let mut clang = self.parts().toolchain.command();
            clang.args(questions.into_iter().map(|question| match question == "-dumpfullversion" {
                // GCC's; clang's version is always full.
                true => OsStr::new("-dumpversion"),
                false => question.as_os_str(),
            }));
            let path = &self.parts().toolchain.clang;
            let status = clang.status().map_err(io_error("start", path))?;
            return Ok(status.code().and_then(|code| code.try_into().ok()).unwrap_or(FAILED));
        }
        if call.is_verbose || call.is_dry {
            tell(&self.settings());
        }
        if let Some(name) = call.strange {
            return Err(Error::Strange { name });
        }
        for folder in &call.missing {
            tell(&format!("nvcc warning : the folder of headers {} does not exist\n", folder.display()));
        }
        let plan = plan::Plan::new(self, &call)?;
        if call.cleans {
            for output in plan.outputs() {
                match fs::remove_file(output) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(io_error("remove", output)(error));
                    }
                    _ => {}
                }
            }
            return Ok(0);
        }
        steps::perform(self, &call, plan)
    }

    /// What nvcc prints of its places, which CMake reads.
    fn settings(&self) -> String {
        let top = self.toolkit.display();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let (headers, libraries) = (toolkit::HEADERS, self.library_options());
        format!(
            "#$ _NVVM_BRANCH_=nvvm\n#$ _SPACE_= \n#$ _CUDART_=cudart\n#$ _HERE_={top}/bin\n#$ _THERE_={top}/bin\n#$ _TARGET_SIZE_=\n\
             #$ _TARGET_DIR_=\n#$ _TARGET_SIZE_=64\n#$ TOP={top}\n#$ NVVMIR_LIBRARY_DIR={top}/{}\n#$ PATH={top}/bin:{}\n#$ INCLUDES=\"-I{top}/{headers}\"  \n\
             #$ SYSTEM_INCLUDES=\n#$ LIBRARIES=  {libraries}\n#$ CUDAFE_FLAGS=\n#$ PTXAS_FLAGS=\n",
            toolkit::DEVICE_LIBRARIES,
            path.to_string_lossy()
        )
    }

    /// The libraries' folders as options, exactly as in the command that links: CMake compares them.
    fn library_options(&self) -> String {
        let folder = self.toolkit.join(toolkit::LIBRARIES);
        format!("\"-L{0}/stubs\" \"-L{0}\"", folder.display())
    }

    fn answer(&self, question: Question) -> String {
        let list = |prefix: &str| -> String {
            ARCHITECTURES.iter().map(|number| format!("{prefix}{number}\n")).collect()
        };
        match question {
            Question::Version => version(&self.parts().toolchain.version_text),
            Question::Help => options_help(),
            Question::ListCode => list("sm_"),
            Question::ListArch => list("compute_"),
            Question::Toolkit => format!("{}\n", self.toolkit.display()),
        }
    }
}

/// What nvcc 12.8 answers, with a line that says whose this is. Programs look for the version behind the last
/// capital V.
fn version(clang: &str) -> String {
    let (major, minor, build) = CUDA_VERSION;
    format!(
        "nvcc: NVIDIA (R) Cuda compiler driver\n{OWN} {}, which compiles CUDA for AMD GPUs\nBuilt on {clang}\n\
         Cuda compilation tools, release {major}.{minor}, V{major}.{minor}.{build}\nBuild cuda_{major}.{minor}.r{major}.{minor}/compiler.0\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Begins the line that says whose nvcc this is.
const OWN: &str = device_compiler::nvcc::OWN;

/// The help text, if a command line asks for it.
#[must_use]
pub fn help(given: &[OsString]) -> Option<String> {
    let call = Call::parse(given, None).ok()?;
    (call.question == Some(Question::Help)).then(options_help)
}

fn options_help() -> String {
    let mut text = String::from(
        "Usage: nvcc [options] files\n\nCompiles and links CUDA programs for AMD GPUs. Without -arch=gfx1100 or similar, the code is for the default\n\
         device (FERROCM_DEVICE), or for the targets in FERROCM_TARGETS.\n\n",
    );
    text.push_str(EXAMPLES);
    text.push('\n');
    for (state, title) in [(State::Used, "Options"), (State::Ignored, "Ignored"), (State::Refused, "Refused")]
    {
        text.push_str(&format!("\n{title}:\n"));
        for row in options::OPTIONS.iter().filter(|row| row.role.state() == state) {
            let argument = match row.argument {
                Argument::None => String::new(),
                Argument::One(name) => format!(" <{name}>"),
                Argument::List(name) => format!(" <{name}>,..."),
            };
            let short = if row.short.is_empty() { String::new() } else { format!("(-{})", row.short) };
            text.push_str(&format!(
                "  {:<52} {short}\n        {}\n",
                format!("--{}{argument}", row.long),
                row.note
            ));
        }
    }
    text
}

/// Prints a message.
fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The extension of a phase's output.
fn extension(phase: Phase) -> &'static str {
    match phase {
        Phase::Cubin => "cubin",
        Phase::Fatbin => "fatbin",
        Phase::Ptx => "ptx",
        Phase::Library => "a",
        Phase::Preprocess => "ii",
        Phase::Dependencies => "d",
        Phase::Compile | Phase::DeviceLink => "o",
        Phase::Link | Phase::Run => "out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_where_programs_look_for_it() {
        let text = version("clang version 22.1.8");
        assert!(text.starts_with("nvcc: NVIDIA (R) Cuda compiler driver\n"), "CMake");
        assert!(text.contains("release 12.8, V12.8.93"), "PyTorch, bindgen_cuda");
        assert!(text.rsplit('V').next().is_some_and(|rest| rest.starts_with("12.8.93\n")), "Meson");
        assert_eq!(text.lines().count(), 5);
        assert!(text.contains("ferrocm"));
        let help = help(&["--help".into()]).expect("asked for");
        assert!(
            help.contains("--gpu-architecture <architecture>") && help.contains("Examples:\n  ferrocm nvcc")
        );
    }
}
